/* What kernels over rows of a block matrix share on the device: a team of lanes owns a block row. The lanes
 * take its blocks in turn, and then add their sums.
 *
 * A cycle's steps on coarser levels last a few microseconds each, most of which they wait for memory. So they
 * are a chain (FE_LAUNCH_CHAINED), from the finest level's restriction to its prolongation: a step by rows
 * reads its first blocks, which set-up has written, and then waits for the vectors. */
#ifndef FE_BLOCK_ROWS_H
#define FE_BLOCK_ROWS_H

#include "common/backend/cuda.h"
#include "common/multigrid/last_levels.h"

enum { THREADS = 128, WARP = 32 };

/* A block of M, and what it multiplies. */
template <int R, int C> struct factors {
    unsigned word[FE_BLOCK_STRIDE(R * C) / 2];
    int column;
    float x[C];
};

/* Reads block k of M: a lane the whole block, by pieces as wide as its place allows. */
template <int R, int C> __device__ void read_block(const fe_block_matrix &M, int k, factors<R, C> *f)
{
    enum { WORDS = FE_BLOCK_STRIDE(R * C) / 2 };
    const int16_t *block = M.value + (size_t)(2 * WORDS) * k;
    f->column = M.column[k];
    if (R * C == 18) {
#pragma unroll
        for (int i = 0; i < WORDS / 2; i++) {
            const uint2 two = ((const uint2 *)block)[i];
            f->word[2 * i] = two.x, f->word[2 * i + 1] = two.y;
        }
    } else {
#pragma unroll
        for (int i = 0; i < WORDS / 4; i++) {
            const uint4 four = ((const uint4 *)block)[i];
            f->word[4 * i] = four.x, f->word[4 * i + 1] = four.y, f->word[4 * i + 2] = four.z,
                        f->word[4 * i + 3] = four.w;
        }
    }
}

/* Reads the numbers of x for its column. */
template <int R, int C> __device__ void read_numbers(const float *x, factors<R, C> *f)
{
    const size_t at = (size_t)C * f->column;
    if (C % 2 == 0) {
#pragma unroll
        for (int c = 0; c < C; c += 2) {
            const float2 two = *(const float2 *)(x + at + c);
            f->x[c] = two.x, f->x[c + 1] = two.y;
        }
    } else {
#pragma unroll
        for (int c = 0; c < C; c++) f->x[c] = x[at + c];
    }
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

/* A lane's part of a block row: every step-th block from k on. */
template <int R, int C> struct row_part {
    int k, end, step;
    factors<R, C> next; /* block k, unless it is beyond the end */
};

/* Row i, with the first blocks already read, which needs no vector: a kernel does this while the one ahead of
 * it ends. Of `teams` that share the row this is the one of number `own`. */
template <int R, int C, int TEAM>
__device__ row_part<R, C> begin_row(const fe_block_matrix &M, int i, int own = 0, int teams = 1)
{
    row_part<R, C> part;
    part.end = M.first[i + 1], part.step = teams * TEAM;
    part.k = M.first[i] + threadIdx.x % TEAM + own * TEAM;
    if (part.k < part.end) read_block(M, part.k, &part.next);
    return part;
}

/* Sums over the lanes of a team, in all of them. */
template <int R, int TEAM> __device__ void add_lanes(float sum[R])
{
#pragma unroll
    for (int apart = TEAM / 2; apart > 0; apart /= 2)
#pragma unroll
        for (int r = 0; r < R; r++) sum[r] += __shfl_xor_sync(0xffffffffu, sum[r], apart);
}

/* The row times x, in all lanes of its team. */
template <int R, int C, int TEAM>
__device__ void end_row(const fe_block_matrix &M, row_part<R, C> part, const float *x, float sum[R])
{
#pragma unroll
    for (int r = 0; r < R; r++) sum[r] = 0.0f;
    while (part.k < part.end) {
        read_numbers(x, &part.next);
        multiply(part.next, sum);
        part.k += part.step;
        if (part.k < part.end) read_block(M, part.k, &part.next);
    }
    add_lanes<R, TEAM>(sum);
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

/* A row of the inverse of a diagonal block, in each of a team's first six lanes that stores: read ahead of
 * what it multiplies. at: 6 times the row, plus the lane. */
typedef struct inverse_row {
    float D[6];
} inverse_row;
__device__ static inline inverse_row read_inverse(const float *__restrict__ inverse, size_t at, bool stores)
{
    inverse_row row = {};
    if (stores) {
#pragma unroll
        for (int j = 0; j < 6; j += 2) {
            const float2 two = *(const float2 *)(inverse + 6 * at + j);
            row.D[j] = two.x, row.D[j + 1] = two.y;
        }
    }
    return row;
}
/* D^-1 r of a row. Each of a team's first six lanes gives one number of r, and gets one of the result. All
 * lanes of a team take part. */
template <int TEAM> __device__ float apply_inverse(const inverse_row &row, float r)
{
    float y = 0.0f;
#pragma unroll
    for (int j = 0; j < 6; j++) y += row.D[j] * __shfl_sync(0xffffffffu, r, j, TEAM);
    return y;
}

/* The first sweep of a row, whose number of each lane below 6 is given; by whole teams, and the owner's lanes
 * store. */
template <int TEAM>
__device__ void sweep_first(const fe_first_sweep &first, const inverse_row &row, size_t at, float own,
                            bool stores)
{
    const float y = apply_inverse<TEAM>(row, own);
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
fe_status fe_cuda_last_sweep(fe_device *d, const fe_block_matrix *A, const float *inverse, fe_sweep sweep,
                             const float *b, const float *x, float *direction, float *out,
                             const fe_last_levels *w, const float *M, int beside);

#endif
