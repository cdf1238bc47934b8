#include "common/backend/cuda.h"
#include "common/multigrid/dense_inverse.h"

enum { WIDTH = 32, TALL = 8, THREADS = WIDTH * TALL };

__global__ void keep_diagonal(int n, const double *M, double *diagonal, int *poor)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n) diagonal[i] = M[(size_t)i * (n + 1)];
    if (i == 0) *poor = 0;
}

/* inverse [WIDTH][WIDTH] of the block of `width` rows and columns from k on: one block of threads, of which
 * each has a few numbers of a row. */
__global__ void __launch_bounds__(THREADS)
    invert_block(int n, int k, int width, const double *M, const double *diagonal, double *inverse, int *poor)
{
    enum { EACH = WIDTH / TALL };
    __shared__ double A[WIDTH][WIDTH + 1];
    const int i = threadIdx.x % WIDTH, first = threadIdx.x / WIDTH * EACH;
    for (int t = threadIdx.x; t < WIDTH * WIDTH; t += THREADS) {
        const int r = t / WIDTH, c = t % WIDTH;
        A[r][c] = r < width && c < width ? M[(size_t)(k + r) * n + k + c] : r == c ? 1.0 : 0.0;
    }
    for (int p = 0; p < WIDTH; p++) {
        double value[EACH];
        __syncthreads();
        const double pivot = A[p][p], over = 1.0 / pivot, own = A[i][p] * over;
#pragma unroll
        for (int e = 0; e < EACH; e++) {
            const int j = first + e;
            const double row = A[p][j];
            value[e] = i == p ? (j == p ? over : row * over) : j == p ? -own : A[i][j] - own * row;
        }
        if (threadIdx.x == 0 && p < width && !(pivot > 1e-12 * diagonal[k + p])) *poor = 1;
        __syncthreads();
#pragma unroll
        for (int e = 0; e < EACH; e++) A[i][first + e] = value[e];
    }
    __syncthreads();
    for (int t = threadIdx.x; t < WIDTH * WIDTH; t += THREADS) inverse[t] = A[t / WIDTH][t % WIDTH];
}

/* What the update M -= column × row needs so that it eliminates the block: row [WIDTH][n] = inverse times M's
 * rows, with the inverse instead of the block; column [WIDTH][n] = M's columns, with minus one instead of
 * the block. Columns are read as rows: M stays symmetric, except that entries between
 * eliminated and other unknowns change their sign. A block of threads takes WIDTH places along a row. */
__global__ void __launch_bounds__(THREADS)
    take_panels(int n, int k, int width, const double *inverse, const double *M, double *row, double *column)
{
    __shared__ double x[WIDTH][WIDTH], D[WIDTH][WIDTH];
    const int lane = threadIdx.x % WIDTH, j = blockIdx.x * WIDTH + lane;
    const bool own = j >= k && j < k + width;
    for (int p = threadIdx.x / WIDTH; p < WIDTH; p += TALL) {
        const double value = p < width && j < n ? M[(size_t)(k + p) * n + j] : 0.0,
                     one = j - k == p ? 1.0 : 0.0;
        x[p][lane] = own ? one : value, D[p][lane] = inverse[p * WIDTH + lane];
        if (j < n) column[(size_t)p * n + j] = own ? -one : j < k ? -value : value;
    }
    __syncthreads();
    for (int p = threadIdx.x / WIDTH; p < WIDTH && j < n; p += TALL) {
        double sum = 0.0;
        for (int q = 0; q < width; q++) sum += D[p][q] * x[q][lane];
        row[(size_t)p * n + j] = sum;
    }
}

/* M -= column × row; M's rows and columns of the block count as zero. */
__global__ void __launch_bounds__(THREADS)
    update(int n, int k, int width, const double *row, const double *column, double *M)
{
    __shared__ double r[WIDTH][WIDTH], c[WIDTH][WIDTH];
    const int lane = threadIdx.x % WIDTH, tall = threadIdx.x / WIDTH;
    const int j = blockIdx.x * WIDTH + lane, top = blockIdx.y * WIDTH;
    for (int p = tall; p < WIDTH; p += TALL) {
        r[p][lane] = p < width && j < n ? row[(size_t)p * n + j] : 0.0;
        c[p][lane] = p < width && top + lane < n ? column[(size_t)p * n + top + lane] : 0.0;
    }
    __syncthreads();
    for (int a = tall; a < WIDTH; a += TALL) {
        const int i = top + a;
        if (i >= n || j >= n) continue;
        double sum = 0.0;
#pragma unroll
        for (int p = 0; p < WIDTH; p++) sum += c[p][a] * r[p][lane];
        const bool eliminated = (i >= k && i < k + width) || (j >= k && j < k + width);
        double *const entry = M + (size_t)i * n + j;
        *entry = (eliminated ? 0.0 : *entry) - sum;
    }
}

fe_status fe_cuda_invert(fe_device *d, int n, double *M, double *work, int *poor)
{
    double *diagonal = work, *row = diagonal + n, *column = row + (size_t)WIDTH * n,
           *inverse = column + (size_t)WIDTH * n;
    int *found = (int *)(inverse + WIDTH * WIDTH);
    const dim3 tiles(fe_grid((size_t)n, WIDTH), fe_grid((size_t)n, WIDTH));
    FE_LAUNCH(d, n, THREADS, keep_diagonal, n, M, diagonal, found);
    for (int k = 0; k < n; k += WIDTH) {
        const int width = n - k < WIDTH ? n - k : WIDTH;
        FE_LAUNCH(d, THREADS, THREADS, invert_block, n, k, width, M, diagonal, inverse, found);
        FE_LAUNCH(d, tiles.x * (size_t)THREADS, THREADS, take_panels, n, k, width, inverse, M, row, column);
        update<<<tiles, THREADS, 0, fe_cuda_stream(d)>>>(n, k, width, row, column, M);
        CUDA_TRY(cudaGetLastError());
    }
    return d->ops->memory.download(d, sizeof *poor, found, poor);
}
