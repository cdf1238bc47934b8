#include "common/backend/cuda.h"
#include "common/multigrid/block_exact.h"

enum { THREADS = 128, WARP = 32 };

/* The sum over a warp, in all lanes. */
__device__ static double add_warp(double value)
{
#pragma unroll
    for (int apart = WARP / 2; apart > 0; apart /= 2) value += __shfl_xor_sync(0xffffffffu, value, apart);
    return value;
}
__device__ static int warp_row() { return (int)((blockIdx.x * (size_t)THREADS + threadIdx.x) / WARP); }

/* A warp per block row, whose lanes take blocks in turn. */
template <int R, int C>
__global__ void __launch_bounds__(THREADS)
    exact_product(fe_block_matrix M, int n_x, const double *__restrict__ x, int n_y, double *y)
{
    const int i = warp_row(), lane = threadIdx.x % WARP;
    double sum[R] = {};
    if (i >= M.n_row) return;
    for (int k = M.first[i] + lane; k < M.first[i + 1]; k += WARP) {
        const int16_t *value = M.value + (size_t)FE_BLOCK_STRIDE(R * C) * k;
        const double scale = *(const float *)(value + R * C);
#pragma unroll
        for (int c = 0; c < C; c++) {
            const double xc = scale * x[fe_exact_place(C, n_x, M.column[k], c)];
#pragma unroll
            for (int r = 0; r < R; r++) sum[r] += value[r * C + c] * xc;
        }
    }
#pragma unroll
    for (int r = 0; r < R; r++) {
        const double whole = add_warp(sum[r]);
        if (lane == r) y[fe_exact_place(R, n_y, i, r)] += whole;
    }
}

fe_status fe_cuda_exact_product(fe_device *d, const fe_block_matrix *M, int n_x, const double *x, int n_y,
                                double *y)
{
    const size_t threads = (size_t)M->n_row * WARP;
    if (M->rows == 3)
        FE_LAUNCH(d, threads, THREADS, (exact_product<3, 6>), *M, n_x, x, n_y, y);
    else if (M->columns == 3)
        FE_LAUNCH(d, threads, THREADS, (exact_product<6, 3>), *M, n_x, x, n_y, y);
    else
        FE_LAUNCH(d, threads, THREADS, (exact_product<6, 6>), *M, n_x, x, n_y, y);
    return FE_OK;
}

__global__ void __launch_bounds__(THREADS)
    exact_inverse(int size, int rows, const float *inverse, int n, const double *x, double *y)
{
    const size_t t = blockIdx.x * (size_t)THREADS + threadIdx.x;
    const int i = (int)(t / size), r = (int)(t % size);
    if (i < rows) y[fe_exact_place(size, n, i, r)] = fe_exact_row(size, inverse, n, x, i, r);
}

fe_status fe_cuda_exact_inverse(fe_device *d, int size, int rows, const float *inverse, int n,
                                const double *x, double *y)
{
    FE_LAUNCH(d, (size_t)size * (size_t)rows, THREADS, exact_inverse, size, rows, inverse, n, x, y);
    return FE_OK;
}

/* A warp per row. */
__global__ void __launch_bounds__(THREADS) exact_dense(fe_dense M, int n, const double *x, double *y)
{
    const int i = warp_row(), lane = threadIdx.x % WARP;
    double sum = 0.0;
    if (i >= M.n) return;
    for (int j = lane; j < M.n; j += WARP)
        sum += fe_dense_entry(&M, i, j) * x[fe_exact_place(6, n, j / 6, j % 6)];
    sum = add_warp(sum);
    if (lane == 0) y[fe_exact_place(6, n, i / 6, i % 6)] = sum;
}

fe_status fe_cuda_exact_dense(fe_device *d, const fe_dense *M, int n, const double *x, double *y)
{
    FE_LAUNCH(d, (size_t)M->n * WARP, THREADS, exact_dense, *M, n, x, y);
    return FE_OK;
}
