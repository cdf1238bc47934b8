/* The next level of several ranks. All of them call each function. */
#ifndef FE_SHARED_LEVEL_H
#define FE_SHARED_LEVEL_H

#include "common/multigrid/setup_steps.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Numbering of the aggregates that each rank has made of its nodes. */
fe_status fe_number_aggregates(fe_setup *k);

/* Decides whether the ranks share the next level, of which each has its rows: then columns become local
 * numbers, and the level gets its halo; else all ranks get all rows. P is its own rows from here on, with the
 * same columns. n_next, next_x, next_size, next_absent are those of the next level. */
fe_status fe_share_or_gather(fe_setup *k, fe_sparse *next);

#ifdef __cplusplus
}
#endif
#endif
