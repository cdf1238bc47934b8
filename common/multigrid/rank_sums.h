/* What the ranks know together in the multigrid's set-up. All of them call each function. */
#ifndef FE_RANK_SUMS_H
#define FE_RANK_SUMS_H

#include "common/multigrid/setup_steps.h"

#ifdef __cplusplus
extern "C" {
#endif

/* x [n] in host memory becomes its sum over the ranks. */
fe_status fe_multigrid_sum(fe_setup *k, size_t n, double *x);

/* FE_OUT_OF_MEMORY on all ranks if any has it as its status; else the rank's own status. Ranks meet here
 * before they send each other anything: a rank that has too little memory comes here, too, at the end of its
 * set-up. most: becomes the largest of the ranks', or NULL. */
fe_status fe_setup_agree(fe_setup *k, fe_status status, int *most);

/* Ranks wait for each other where this status is found: it cannot be too little memory of one of them, which
 * they have to agree on, and becomes a failure. */
fe_status fe_setup_failure(fe_status status);

#ifdef __cplusplus
}
#endif
#endif
