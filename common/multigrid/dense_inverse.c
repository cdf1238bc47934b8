#include "common/multigrid/dense_inverse.h"

#include <cblas.h>
#include <lapacke.h>
#include <stdlib.h>
#include <string.h>

/* The largest sum of absolute values of a row: the 1-norm of a symmetric matrix. */
static double norm_of(int n, const double *M)
{
    double norm = 0.0;
    for (int i = 0; i < n; i++) norm = fmax(norm, cblas_dasum(n, M + (size_t)i * (size_t)n, 1));
    return norm;
}

/* Eigenvalues below this share of the largest are zero but for rounding: of boxes of up to 24³ cells that are
 * free to move they are below 1e-14 of it, of a bar of 1000 : 1 the smallest one is above 1e-12. */
#define ZERO_EIGENVALUE 1e-13

/* The inverse on the range of A [n][n], which is overwritten, by its eigenvectors. work [n][n]. */
static int invert_range(int n, double *A, double *work, double *M, double *condition, int *singular)
{
    double *const values = work + (size_t)n * (size_t)n, least = INFINITY;
    const int info = LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'L', n, A, n, values);
    if (info != 0) return info;
    const double largest = values[n - 1];
    for (int j = 0; j < n; j++) {
        const int zero = !(values[j] > ZERO_EIGENVALUE * largest);
        *singular |= zero;
        least = zero ? least : fmin(least, values[j]);
        for (int i = 0; i < n; i++) {
            const size_t at = (size_t)j * (size_t)n + (size_t)i;
            work[at] = zero ? 0.0 : A[at] / values[j];
        }
    }
    *condition = largest / least;
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, n, n, n, 1.0, work, n, A, n, 0.0, M, n);
    return 0;
}

fe_status fe_dense_invert(int n, const uint8_t *absent, double *M, double *condition, int *singular)
{
    double *copy = NULL;
    const size_t square = (size_t)n * (size_t)n;
    FE_ALLOCATE(copy, 2 * square + (size_t)n, "coarsest matrix");
    memcpy(copy, M, square * sizeof *M);
    const double norm = norm_of(n, M);
    int info = LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', n, M, n);
    for (int i = 0; i < n && info == 0; i++) { /* pivots; those of an absent unknown are one */
        const double pivot = M[(size_t)i * (size_t)(n + 1)];
        if (!absent[i] && !(pivot * pivot > 1e-12 * copy[(size_t)i * (size_t)(n + 1)])) info = 1;
    }
    if (info == 0) info = LAPACKE_dpotri(LAPACK_COL_MAJOR, 'L', n, M, n);
    const int by_range = info != 0;
    if (by_range) info = invert_range(n, copy, copy + square, M, condition, singular);
    free(copy);
    for (int j = 0; j < n; j++) /* the upper half as the lower one */
        for (int i = j + 1; i < n; i++)
            M[(size_t)i * (size_t)n + (size_t)j] = M[(size_t)j * (size_t)n + (size_t)i];
    if (!by_range) *condition = norm * norm_of(n, M);
    return info == 0 ? FE_OK : fe_fail(FE_FAILED, "LAPACK returned %d on the coarsest matrix", info);
}

fe_status fe_dense_open(fe_device *d, int n, double condition, fe_dense *kept)
{
    const int exact = !(condition <= FE_SINGLE_CONDITION);
    const size_t square = (size_t)n * (size_t)n;
    *kept = (fe_dense){.n = n};
    return exact
               ? fe_device_allocate(d, square, sizeof *kept->exact, "coarsest matrix", (void **)&kept->exact)
               : fe_device_allocate(d, square, sizeof *kept->single, "coarsest matrix",
                                    (void **)&kept->single);
}
