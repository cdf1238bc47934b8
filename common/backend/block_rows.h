/* What kernels over rows of a block matrix share on the device: a team of lanes owns a block row. The lanes
 * take its blocks in turn, and then add their sums. */
#ifndef FE_BLOCK_ROWS_H
#define FE_BLOCK_ROWS_H

#include "common/backend/block_matrix.h"
#include "common/backend/cuda.h"

enum { THREADS = 128, WARP = 32 };

/* A block of M, and what it multiplies. */
template <int R, int C> struct factors {
    unsigned word[FE_BLOCK_STRIDE(R * C) / 2];
    float x[C];
};

/* Block k of M and the numbers of x for its column, or of x - less. A lane reads the whole block, by pieces
 * as wide as its place allows. */
template <int R, int C>
__device__ factors<R, C> read_factors(const fe_block_matrix &M, int k, const float *__restrict__ x,
                                      const float *__restrict__ less)
{
    enum { WORDS = FE_BLOCK_STRIDE(R * C) / 2 };
    factors<R, C> f;
    const int16_t *block = M.value + (size_t)(2 * WORDS) * k;
    const float *const from = x + (size_t)C * M.column[k];
    if (R * C == 18) {
#pragma unroll
        for (int i = 0; i < WORDS / 2; i++) {
            const uint2 two = ((const uint2 *)block)[i];
            f.word[2 * i] = two.x, f.word[2 * i + 1] = two.y;
        }
    } else {
#pragma unroll
        for (int i = 0; i < WORDS / 4; i++) {
            const uint4 four = ((const uint4 *)block)[i];
            f.word[4 * i] = four.x, f.word[4 * i + 1] = four.y, f.word[4 * i + 2] = four.z,
                       f.word[4 * i + 3] = four.w;
        }
    }
    if (C % 2 == 0) {
#pragma unroll
        for (int c = 0; c < C; c += 2) {
            const float2 two = *(const float2 *)(from + c);
            f.x[c] = two.x, f.x[c + 1] = two.y;
        }
    } else {
#pragma unroll
        for (int c = 0; c < C; c++) f.x[c] = from[c];
        if (less) {
#pragma unroll
            for (int c = 0; c < C; c++) f.x[c] -= less[(size_t)C * M.column[k] + c];
        }
    }
    return f;
}

/* sum += block times numbers. */
template <int R, int C> __device__ void multiply(const factors<R, C> &f, float sum[R])
{
    const float scale = __uint_as_float(f.word[R * C / 2]);
    float x[C];
#pragma unroll
    for (int c = 0; c < C; c++) x[c] = scale * f.x[c];
#pragma unroll
    for (int j = 0; j < R * C; j++) {
        const int number = j % 2 ? (int)f.word[j / 2] >> 16 : (int)(f.word[j / 2] << 16) >> 16;
        sum[j / C] += (float)number * x[j % C];
    }
}

/* Block row i of M times x, in all lanes of a team; two blocks are on their way at a time. Of `teams` that
 * share the row this is the one of number `own`. Instead of x, where M has columns of three: x - less. */
template <int R, int C, int TEAM>
__device__ void times_row(const fe_block_matrix &M, int i, const float *__restrict__ x, float sum[R],
                          int own = 0, int teams = 1, const float *__restrict__ less = NULL)
{
    const int end = M.first[i + 1], step = teams * TEAM;
    int k = M.first[i] + threadIdx.x % TEAM + own * TEAM;
#pragma unroll
    for (int r = 0; r < R; r++) sum[r] = 0.0f;
    for (; k + step < end; k += 2 * step) {
        const factors<R, C> one = read_factors<R, C>(M, k, x, less),
                            two = read_factors<R, C>(M, k + step, x, less);
        multiply(one, sum), multiply(two, sum);
    }
    if (k < end) multiply(read_factors<R, C>(M, k, x, less), sum);
#pragma unroll
    for (int apart = TEAM / 2; apart > 0; apart /= 2)
#pragma unroll
        for (int r = 0; r < R; r++) sum[r] += __shfl_xor_sync(0xffffffffu, sum[r], apart);
}

/* Number `at` of sum, which stays in registers; 0 from R on. */
template <int R> __device__ float entry_of(const float sum[R], int at)
{
    float entry = 0.0f;
#pragma unroll
    for (int r = 0; r < R; r++)
        if (at == r) entry = sum[r];
    return entry;
}

/* Where all WARPS warps of a block of threads have the same row of 6: their sums, in their order, in lanes 0
 * to 5 of each. */
template <int WARPS> __device__ float add_warps(float value)
{
    if (WARPS == 1) return value;
    __shared__ float shared[WARPS][6];
    const int lane = threadIdx.x % WARP;
    float sum = 0.0f;
    if (lane < 6) shared[threadIdx.x / WARP % WARPS][lane] = value;
    __syncthreads();
    for (int w = 0; w < WARPS && lane < 6; w++) sum += shared[w][lane];
    return sum;
}

/* D^-1 r of a row. Each of a team's first six lanes gives one number of r, and gets one of the result if it
 * stores. All lanes of a team take part. at: 6 times the row, plus the lane. */
template <int TEAM> __device__ float apply_inverse(const float *inverse, size_t at, float r, bool stores)
{
    float y = 0.0f;
#pragma unroll
    for (int j = 0; j < 6; j++) {
        const float rj = __shfl_sync(0xffffffffu, r, j, TEAM);
        if (stores) y += inverse[6 * at + j] * rj;
    }
    return y;
}

/* The first sweep of row i, whose number of each lane below 6 is given; by whole teams, and the owner's lanes
 * store. */
template <int TEAM> __device__ void sweep_first(const fe_first_sweep &first, int i, float own, bool stores)
{
    const size_t at = 6 * (size_t)i + threadIdx.x % TEAM;
    const float y = apply_inverse<TEAM>(first.inverse, at, own, stores);
    if (stores) first.direction[at] = first.x[at] = first.sweep.new_factor * y;
}

/* Few rows leave multiprocessors idle: then four warps share a row. Where rows are many, half a warp has one.
 */
enum { FEW_ROWS = 2048, MANY_ROWS = 16384, MANY_WARPS = THREADS / WARP, HALF_WARP = WARP / 2 };

/* A team's row; teams beyond the last repeat it, so that warps stay whole. */
template <int TEAM> __device__ int team_row(int n_row, bool *owner)
{
    const int row = (int)((blockIdx.x * (size_t)THREADS + threadIdx.x) / TEAM);
    *owner = row < n_row;
    return row < n_row ? row : n_row - 1;
}

/* Operations of the finest level: see fe_block_ops. */
fe_status fe_cuda_fine_start(fe_device *d, const fe_fine_start *start, const double *exact_b);
fe_status fe_cuda_fine_sweep(fe_device *d, int n, const float *inverse, fe_sweep sweep, const float *b,
                             const float *Ax, float *direction, float *x, float *clear, double *out);
fe_status fe_cuda_fine_inverse(fe_device *d, int n, const float *inverse, const float *x, float *y);
fe_status fe_cuda_fine_residual(fe_device *d, int n, const float *b, const float *Ax, float *r);
fe_status fe_cuda_fine_restrict(fe_device *d, const fe_block_matrix *R, const float *r, const float *Ax,
                                const fe_first_sweep *given, float *coarse);
fe_status fe_cuda_fine_prolong(fe_device *d, const fe_block_matrix *P, const float *coarse, float *x,
                               float *clear);

#endif
