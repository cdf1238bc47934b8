/* What ranks tell each other in the multigrid's set-up. Every function here is called by all ranks, except
 * fe_ranks_close. */
#ifndef FE_MULTIGRID_RANKS_H
#define FE_MULTIGRID_RANKS_H

#include "common/multigrid/setup_steps.h"

#ifdef __cplusplus
extern "C" {
#endif

/* x [n] in host memory becomes its sum over the ranks. */
fe_status fe_multigrid_sum(fe_device *d, fe_comm *comm, size_t n, double *x);

/* FE_OUT_OF_MEMORY on all ranks if any has it as its status; else the rank's own status. Ranks meet here
 * before they send each other anything: a rank that has too little memory comes here, too, at the end of its
 * set-up. most: becomes the largest of the ranks', or NULL. */
fe_status fe_ranks_agree(fe_setup *k, fe_status status, int *most);

/* For a shared level at hand, whose halo is attached: n_all, and the exchange of rows. */
fe_status fe_ranks_open(fe_setup *k);
void fe_ranks_close(fe_setup *k);
/* Numbering of the aggregates that each rank has made of its nodes. */
fe_status fe_ranks_number(fe_setup *k);

/* The two below do nothing where the level at hand is not shared.
 *
 * C has counts for this rank's rows in C->first [1 ..], with room for those of ghosts, which come behind. */
fe_status fe_ghost_counts(fe_setup *k, fe_sparse *C);
/* Columns and values of C's rows of ghosts from their owners. Columns are aggregates as in
 * setup_ghosts.h. */
fe_status fe_ghost_rows(fe_setup *k, fe_sparse *C);

/* Decides whether the ranks share the next level, of which each has its rows: then columns become local
 * numbers, and the level gets its halo; else all ranks get all rows. P is its own rows from here on, with the
 * same columns. n_next, next_x, next_size, next_absent are those of the next level. */
fe_status fe_ranks_settle(fe_setup *k, fe_sparse *next);

#ifdef __cplusplus
}
#endif
#endif
