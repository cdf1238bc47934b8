/* Operations of multigrid's cycle with vectors in double precision (cycle_exact.c), on the matrices that
 * the cycle in single precision has. They are for systems whose softest modes are lost in floats, and not
 * tuned. A vector of a coarser level is in two halves, [2][n][3], translations and rotations, so that the
 * ghosts of each half are exchanged like those of displacements; one of the finest level is [n][3]. */
#ifndef FE_BLOCK_EXACT_H
#define FE_BLOCK_EXACT_H

#include "common/multigrid/block_matrix.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Number c of node i in a vector of `size` numbers, 3 or 6, for each of n nodes. */
FE_BOTH size_t fe_exact_place(int size, int n, int i, int c)
{
    return size == 3 ? 3 * (size_t)i + (size_t)c
                     : 3 * ((size_t)(c / 3) * (size_t)n + (size_t)i) + (size_t)(c % 3);
}

/* Row r of D^-1 x of node i: D^-1 is [rows][6], xx yy zz xy yz xz, for size 3, else [rows][6][6]. */
FE_BOTH double fe_exact_row(int size, const float *inverse, int n, const double *x, int i, int r)
{
    const float *D = inverse + (size_t)(size == 3 ? 6 : 36) * (size_t)i;
    double sum = 0.0;
    for (int c = 0; c < size; c++) {
        const int place = size == 6 ? 6 * r + c : r == c ? r : r + c == 1 ? 3 : r + c == 3 ? 4 : 5;
        sum += (double)D[place] * x[fe_exact_place(size, n, i, c)];
    }
    return sum;
}
FE_BOTH double fe_dense_entry(const fe_dense *M, int i, int j)
{
    const size_t at = (size_t)i * (size_t)M->n + (size_t)j;
    return M->exact ? M->exact[at] : (double)M->single[at];
}

/* y += M x. x has n_x nodes, y n_y, with ghosts. */
fe_status fe_host_exact_product(fe_device *d, const fe_block_matrix *M, int n_x, const double *x, int n_y,
                                double *y);
/* y = D^-1 x of the first `rows` of n nodes (fe_exact_row) */
fe_status fe_host_exact_inverse(fe_device *d, int size, int rows, const float *inverse, int n,
                                const double *x, double *y);
/* y = M x, of a level of n nodes that all ranks have */
fe_status fe_host_exact_dense(fe_device *d, const fe_dense *M, int n, const double *x, double *y);
#if FE_HAVE_CUDA
fe_status fe_cuda_exact_product(fe_device *d, const fe_block_matrix *M, int n_x, const double *x, int n_y,
                                double *y);
fe_status fe_cuda_exact_inverse(fe_device *d, int size, int rows, const float *inverse, int n,
                                const double *x, double *y);
fe_status fe_cuda_exact_dense(fe_device *d, const fe_dense *M, int n, const double *x, double *y);
#endif

#ifdef __cplusplus
}
#endif
#endif
