/* What ranks tell each other in the multigrid's set-up, in host memory, by way of their vectors. */
#ifndef FE_MULTIGRID_RANKS_H
#define FE_MULTIGRID_RANKS_H

#include "common/backend/comm.h"
#include "common/solver/sparse.h"
#include "common/variant.h"

/* x [n] becomes its sum over the ranks. */
fe_status fe_multigrid_sum(fe_device *d, fe_comm *comm, size_t n, double *x);

/* A rank's part of the finest level. */
typedef struct fe_multigrid_share {
    fe_device *d;
    fe_comm *comm;
    const fe_view *view;
    const fe_sparse *A; /* [n_owned] rows, columns up to n_local */
    fe_sparse *P;       /* [n_owned][aggregates of the rank] */
    const fe_sparse *R; /* its transpose */
    int threads;
} fe_multigrid_share;

/* Level 1 of all ranks, the same on each: positions [n][3], sizes [n], absent unknowns [n][6] and the matrix
 * P^T A P. The arrays of this rank's aggregates are taken over and grow to all of them; *offset is where its
 * own begin, and P's columns are renumbered so. */
fe_status fe_multigrid_gather(const fe_multigrid_share *s, double **x, double **size, uint8_t **absent,
                              int *offset, fe_sparse *next);

#endif
