#include "common/backend/cuda_dense.h"
#include "common/backend/cuda_device.h"

enum { WIDTH = 32, THREADS = 256 };

#define CUBLAS_TRY(call)                                                                                     \
    do {                                                                                                     \
        const cublasStatus_t cublas_try_status = (call);                                                     \
        if (cublas_try_status != CUBLAS_STATUS_SUCCESS)                                                      \
            return fe_fail(FE_FAILED, "%s:%d: cuBLAS: %s", __FILE__, __LINE__,                               \
                           cublasGetStatusString(cublas_try_status));                                        \
    } while (0)

__global__ void keep_diagonal(int n, const double *M, double *diagonal, int *poor)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n) diagonal[i] = M[(size_t)i * (n + 1)];
    if (i == 0) *poor = 0;
}

/* inverse [WIDTH][WIDTH] of the block of `width` rows and columns from k on; one block of threads, one thread
 * per number. */
__global__ void __launch_bounds__(WIDTH *WIDTH)
    invert_block(int n, int k, int width, const double *M, const double *diagonal, double *inverse, int *poor)
{
    __shared__ double A[WIDTH][WIDTH + 1];
    const int i = threadIdx.x / WIDTH, j = threadIdx.x % WIDTH;
    const bool in = i < width && j < width;
    A[i][j] = in ? M[(size_t)(k + i) * n + k + j] : i == j ? 1.0 : 0.0;
    for (int p = 0; p < WIDTH; p++) {
        __syncthreads();
        const double pivot = A[p][p], row = A[p][j], column = A[i][p], own = A[i][j];
        __syncthreads();
        if (threadIdx.x == 0 && p < width && !(pivot > 1e-12 * diagonal[k + p])) *poor = 1;
        A[i][j] = i == p   ? (j == p ? 1.0 / pivot : row / pivot)
                  : j == p ? -column / pivot
                           : own - column * (row / pivot);
    }
    __syncthreads();
    inverse[threadIdx.x] = A[i][j];
}

/* What the update M -= column × row needs, so that it eliminates the block: row [width][n] = inverse times
 * M's rows, with the inverse in place of the block; column [n][width] = M's columns, with minus one in place
 * of the block; and M's rows and columns become zero. M is symmetric in its first call only, so both are
 * read. */
__global__ void __launch_bounds__(THREADS)
    take_panels(int n, int k, int width, const double *inverse, double *M, double *row, double *column)
{
    const int j = blockIdx.x * THREADS + threadIdx.x;
    if (j >= n) return;
    const bool own = j >= k && j < k + width;
    double x[WIDTH];
    for (int p = 0; p < width; p++) {
        x[p] = own ? (j - k == p ? 1.0 : 0.0) : M[(size_t)(k + p) * n + j];
        column[(size_t)j * WIDTH + p] = own ? (j - k == p ? -1.0 : 0.0) : M[(size_t)j * n + k + p];
    }
    for (int p = 0; p < width; p++) {
        double sum = 0.0;
        for (int q = 0; q < width; q++) sum += inverse[p * WIDTH + q] * x[q];
        row[(size_t)p * n + j] = sum;
    }
}
__global__ void __launch_bounds__(THREADS) clear_panels(int n, int k, int width, double *M)
{
    const int j = blockIdx.x * THREADS + threadIdx.x;
    if (j >= n) return;
    for (int p = 0; p < width; p++) M[(size_t)(k + p) * n + j] = 0.0;
    for (int p = 0; p < width; p++) M[(size_t)j * n + k + p] = 0.0;
}

fe_status fe_cuda_invert(fe_device *d, int n, double *M, double *work, int *poor)
{
    cuda_device *c = self(d);
    double *diagonal = work, *row = diagonal + n, *column = row + (size_t)WIDTH * n,
           *inverse = column + (size_t)WIDTH * n;
    int *found = (int *)(inverse + WIDTH * WIDTH);
    FE_LAUNCH(d, n, THREADS, keep_diagonal, n, M, diagonal, found);
    for (int k = 0; k < n; k += WIDTH) {
        const int width = n - k < WIDTH ? n - k : WIDTH;
        FE_LAUNCH(d, WIDTH * WIDTH, WIDTH * WIDTH, invert_block, n, k, width, M, diagonal, inverse, found);
        FE_LAUNCH(d, n, THREADS, take_panels, n, k, width, inverse, M, row, column);
        FE_LAUNCH(d, n, THREADS, clear_panels, n, k, width, M);
        /* rows are cuBLAS's columns: M^T -= row^T × column^T */
        CUBLAS_TRY(cublasDgemm(c->blas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, width, c->constants + 1, row, n,
                               column, WIDTH, c->constants, M, n));
    }
    return d->ops->memory.download(d, sizeof *poor, found, poor);
}
