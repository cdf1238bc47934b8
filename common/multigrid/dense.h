/* The inverse of a dense symmetric positive matrix on the device. */
#ifndef FE_CUDA_DENSE_H
#define FE_CUDA_DENSE_H

#include "common/backend/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* M [n][n] becomes its inverse, by Gauss-Jordan elimination of 32 columns at a time without exchanges. work:
 * (fe_cuda_invert_size) doubles. *poor becomes 1 where a pivot is below 1e-12 of what stood on the diagonal:
 * then M is undefined. Waits. */
fe_status fe_cuda_invert(fe_device *d, int n, double *M, double *work, int *poor);
static inline size_t fe_cuda_invert_size(int n) { return 65 * (size_t)n + 1024 + 8; }

#ifdef __cplusplus
}
#endif
#endif
