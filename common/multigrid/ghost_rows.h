/* Ghosts of a level that ranks share, while it is set up: rows of matrices go from the owners of nodes to the
 * ranks that have these as ghosts. All ranks call each function, except fe_ghosts_close. */
#ifndef FE_GHOST_ROWS_H
#define FE_GHOST_ROWS_H

#include "common/multigrid/setup_steps.h"

#ifdef __cplusplus
extern "C" {
#endif

/* For a shared level at hand, whose halo is attached: n_all, and the exchange of rows. */
fe_status fe_ghosts_open(fe_setup *k);
void fe_ghosts_close(fe_setup *k);

/* The two below do nothing where the level at hand is not shared.
 *
 * C has counts for this rank's rows in C->first [1 ..], with room for those of ghosts, which come behind. */
fe_status fe_ghost_counts(fe_setup *k, fe_sparse *C);
/* Columns and values of C's rows of ghosts from their owners. Columns are aggregates as in rank_steps.h. */
fe_status fe_ghost_rows(fe_setup *k, fe_sparse *C);

#ifdef __cplusplus
}
#endif
#endif
