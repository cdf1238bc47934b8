/* The inverse of the coarsest matrix, dense and symmetric. */
#ifndef FE_DENSE_INVERSE_H
#define FE_DENSE_INVERSE_H

#include "common/multigrid/block_matrix.h"

#ifdef __cplusplus
extern "C" {
#endif

/* M [n][n] in host memory becomes its inverse, of a symmetric matrix; fe_setup_steps has the rest. absent
 * [n]: unknowns that have a row of the identity. */
fe_status fe_dense_invert(int n, const uint8_t *absent, double *M, double *condition, int *singular);
/* Room for it as the condition number asks. */
fe_status fe_dense_open(fe_device *d, int n, double condition, fe_dense *kept);

/* On the device: M [n][n] becomes its inverse, by Gauss-Jordan elimination of 32 columns at a time without
 * exchanges. work: (fe_cuda_invert_size) doubles. *poor becomes 1 where a pivot is below 1e-12 of what stood
 * on the diagonal: then M is undefined. Waits. */
fe_status fe_cuda_invert(fe_device *d, int n, double *M, double *work, int *poor);
static inline size_t fe_cuda_invert_size(int n) { return 65 * (size_t)n + 1024 + 8; }

#ifdef __cplusplus
}
#endif
#endif
