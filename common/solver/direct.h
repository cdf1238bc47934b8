/* The elastic matrix's factors as a preconditioner: it solves an elastic system at once, whatever its
 * condition, and is as frozen as multigrid. It runs on the host, in one thread of rank 0: a last resort, for
 * systems that no other preconditioner solves and that fit. */
#ifndef FE_DIRECT_H
#define FE_DIRECT_H

#include "common/solver/sparse_lu.h"

struct fe_solver;

/* One for each process, whose ranks share it. */
typedef struct fe_direct {
    fe_lu *lu;                      /* rank 0's */
    double *x;                      /* [n_node][3] a right-hand side in the mesh's order, then the solution */
    double *count, *column, *value; /* rows of the matrix, while they are gathered */
    fe_lu_size size;                /* rank 0's */
    double seconds;                 /* of gathering and factorising, rank 0's */
} fe_direct;

/* Gathers the elastic matrix from all ranks and factorises it. *fits 0: it is too large, or this build has no
 * SuperLU, and rank 0 has said so. */
fe_status fe_direct_open(struct fe_solver *s, int *fits);
/* z = K^-1 r of owned entries, all ranks together: fe_operator's apply with a fe_solver context. Waits. */
fe_status fe_direct_apply(void *context, double *r, double *z);
void fe_direct_close(fe_direct *direct);

#endif
