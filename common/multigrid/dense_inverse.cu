#include "common/backend/cuda.h"
#include "common/multigrid/dense_inverse.h"

enum { WIDTH = 32, TALL = 8, THREADS = WIDTH * TALL };

__global__ void keep_diagonal(int n, const double *M, double *diagonal, int *poor)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n) diagonal[i] = M[(size_t)i * (n + 1)];
    if (i == 0) *poor = 0;
}

/* A block of `width` rows and columns from k on, in shared memory, with rows of the identity beyond; and what
 * is left of it while it is inverted. */
typedef double square[WIDTH][WIDTH + 1];

/* inverse [WIDTH][WIDTH] of A[0], by all threads of a block, of which each has a few numbers of a row. A step
 * reads one square and writes the other. */
static __device__ void invert_square(square A[2], int k, int width, const double *diagonal, double *inverse,
                                     int *poor)
{
    enum { EACH = WIDTH / TALL };
    const int i = threadIdx.x % WIDTH, first = threadIdx.x / WIDTH * EACH;
    for (int p = 0; p < WIDTH; p++) {
        const square &from = A[p % 2];
        square &to = A[1 - p % 2];
        __syncthreads();
        const double pivot = from[p][p], over = 1.0 / pivot, own = from[i][p] * over;
#pragma unroll
        for (int e = 0; e < EACH; e++) {
            const int j = first + e;
            const double row = from[p][j];
            to[i][j] = i == p ? (j == p ? over : row * over) : j == p ? -own : from[i][j] - own * row;
        }
        if (threadIdx.x == 0 && p < width && !(pivot > 1e-12 * diagonal[k + p])) *poor = 1;
    }
    __syncthreads();
    for (int t = threadIdx.x; t < WIDTH * WIDTH; t += THREADS)
        inverse[t] = A[WIDTH % 2][t / WIDTH][t % WIDTH];
}

/* That of the first block. */
__global__ void __launch_bounds__(THREADS)
    invert_first(int n, int width, const double *M, const double *diagonal, double *inverse, int *poor)
{
    __shared__ square A[2];
    for (int t = threadIdx.x; t < WIDTH * WIDTH; t += THREADS) {
        const int r = t / WIDTH, c = t % WIDTH;
        A[0][r][c] = r < width && c < width ? M[(size_t)r * n + c] : r == c ? 1.0 : 0.0;
    }
    invert_square(A, 0, width, diagonal, inverse, poor);
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

/* M -= column × row; M's rows and columns of the block count as zero. The block of threads that has the next
 * block to be eliminated, the first of all, inverts that at once. */
__global__ void __launch_bounds__(THREADS)
    update(int n, int k, int width, const double *row, const double *column, double *M,
           const double *diagonal, double *inverse, int *poor)
{
    __shared__ double r[WIDTH][WIDTH], c[WIDTH][WIDTH];
    __shared__ square A[2];
    const int next = k + WIDTH, at = next / WIDTH, x = blockIdx.x, y = blockIdx.y;
    const bool first = x == 0 && y == 0, inverts = first && next < n, other = x == at && y == at;
    const int lane = threadIdx.x % WIDTH, tall = threadIdx.x / WIDTH;
    const int j = (inverts ? at : other ? 0 : x) * WIDTH + lane, top = (inverts ? at : other ? 0 : y) * WIDTH;
    for (int p = tall; p < WIDTH; p += TALL) {
        r[p][lane] = p < width && j < n ? row[(size_t)p * n + j] : 0.0;
        c[p][lane] = p < width && top + lane < n ? column[(size_t)p * n + top + lane] : 0.0;
    }
    __syncthreads();
    for (int a = tall; a < WIDTH; a += TALL) {
        const int i = top + a;
        if (inverts) A[0][a][lane] = a == lane ? 1.0 : 0.0;
        if (i >= n || j >= n) continue;
        double sum = 0.0;
#pragma unroll
        for (int p = 0; p < WIDTH; p++) sum += c[p][a] * r[p][lane];
        const bool eliminated = (i >= k && i < k + width) || (j >= k && j < k + width);
        double *const entry = M + (size_t)i * n + j;
        const double value = (eliminated ? 0.0 : *entry) - sum;
        *entry = value;
        if (inverts) A[0][a][lane] = value;
    }
    if (inverts) invert_square(A, next, min((int)WIDTH, n - next), diagonal, inverse, poor);
}

fe_status fe_cuda_invert(fe_device *d, int n, double *M, double *work, int *poor)
{
    double *diagonal = work, *row = diagonal + n, *column = row + (size_t)WIDTH * n,
           *inverse = column + (size_t)WIDTH * n;
    int *found = (int *)(inverse + WIDTH * WIDTH);
    const dim3 tiles(fe_grid((size_t)n, WIDTH), fe_grid((size_t)n, WIDTH));
    FE_LAUNCH(d, n, THREADS, keep_diagonal, n, M, diagonal, found);
    FE_LAUNCH(d, THREADS, THREADS, invert_first, n, n < WIDTH ? n : WIDTH, M, diagonal, inverse, found);
    for (int k = 0; k < n; k += WIDTH) {
        const int width = n - k < WIDTH ? n - k : WIDTH;
        FE_LAUNCH(d, tiles.x * (size_t)THREADS, THREADS, take_panels, n, k, width, inverse, M, row, column);
        update<<<tiles, THREADS, 0, fe_cuda_stream(d)>>>(n, k, width, row, column, M, diagonal, inverse,
                                                         found);
        CUDA_TRY(cudaGetLastError());
    }
    return d->ops->memory.download(d, sizeof *poor, found, poor);
}
