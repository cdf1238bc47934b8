/* LU factors of a sparse symmetric positive matrix of 3 × 3 blocks, by SuperLU: for systems that no iteration
 * solves. */
#ifndef FE_SPARSE_LU_H
#define FE_SPARSE_LU_H

#include "common/multigrid/multigrid.h"
#include "have/superlu.h"

typedef struct fe_lu fe_lu;

/* What the factors take, found without computing them. */
typedef struct fe_lu_size {
    double entries; /* of both factors */
    double bytes, flops;
} fe_lu_size;

/* More operations than this are refused: SuperLU makes about 2e9 a second. */
extern double fe_lu_most_flops;

/* Factorises D^-1/2 A D^-1/2, where D is A's diagonal. A: whole, in host memory. Unknowns with fixed [3 n]
 * set, or a diagonal of zero, are left out: fe_lu_solve gives zeros there. *lu NULL without a failure: what
 * *size says does not fit into half of the memory of this machine, or takes more than fe_lu_most_flops.
 * FE_FAILED: a pivot is zero, so A has a null space, or this build has no SuperLU. */
fe_status fe_lu_open(const fe_sparse *A, const uint8_t *fixed, fe_lu_size *size, fe_lu **lu);
/* x [3 n]: the right-hand side becomes the solution. */
fe_status fe_lu_solve(fe_lu *lu, double *x);
void fe_lu_close(fe_lu *lu);

#endif
