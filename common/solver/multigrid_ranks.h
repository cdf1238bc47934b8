/* What ranks tell each other in the multigrid's set-up, in host memory, by way of their vectors. */
#ifndef FE_MULTIGRID_RANKS_H
#define FE_MULTIGRID_RANKS_H

#include "common/ranks/comm.h"
#include "common/solver/sparse.h"
#include "common/variant.h"

/* x [n] becomes its sum over the ranks. */
fe_status fe_multigrid_sum(fe_device *d, fe_comm *comm, size_t n, double *x);

typedef struct fe_multigrid_share {
    fe_device *d;
    fe_comm *comm;
    const fe_view *view;
    int threads;
} fe_multigrid_share;

/* A rank's aggregates, or those of all ranks. */
typedef struct fe_multigrid_aggregates {
    int n;
    int *of;         /* [n_local] aggregate of each node, -1: none */
    uint8_t *fixed;  /* [n_local][3] */
    uint8_t *absent; /* [n][6] */
    double *x;       /* [n][3] */
    double *size;    /* [n] */
} fe_multigrid_aggregates;

/* From a rank's own aggregates to those of all: numbers count through, ghosts learn theirs and their
 * supports, arrays grow to all aggregates (and are the caller's to free, also after a failure). */
fe_status fe_multigrid_number(const fe_multigrid_share *s, fe_multigrid_aggregates *a);

/* P^T A P of all ranks, the same on each, from the rows of nodes that each owns: A up to n_local columns,
 * P and its transpose R with aggregates of all ranks. */
fe_status fe_multigrid_galerkin(const fe_multigrid_share *s, const fe_sparse *A, const fe_sparse *P,
                                const fe_sparse *R, fe_sparse *next);

#endif
