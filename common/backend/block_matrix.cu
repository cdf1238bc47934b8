/* Block matrices on the device: a team of lanes owns a block row. A lane takes one of its rows, and every so
 * manieth block; then the lanes of a row add up. */
#include "common/backend/block_matrix.h"
#include "common/backend/cuda.h"

enum { THREADS = 128, WARP = 32 };

/* A team of TEAM lanes computes R rows: PARTS lanes a row; the last lanes may have none. */
template <int R, int TEAM> struct team {
    enum { PARTS = TEAM / R, BUSY = PARTS * R };
};

/* A row of a block times x, before the block's scale. C is even or 3: pairs of numbers are read together. */
template <int C> __device__ float times(const int16_t *value, const float x[C])
{
    float sum = 0.0f;
    if (C % 2 == 0) {
#pragma unroll
        for (int c = 0; c < C; c += 2) {
            const short2 two = *(const short2 *)(value + c);
            sum += (float)two.x * x[c] + (float)two.y * x[c + 1];
        }
    } else {
#pragma unroll
        for (int c = 0; c < C; c++) sum += (float)value[c] * x[c];
    }
    return sum;
}

/* Row threadIdx % TEAM % R of block row i of M times x, in all lanes of that row. Of `teams` that share the
 * block row this is the one of number `own`. */
template <int R, int C, int TEAM>
__device__ float row_times(const fe_block_matrix &M, int i, const float *x, int own = 0, int teams = 1)
{
    const int lane = threadIdx.x % TEAM, r = lane % R, part = lane / R + own * team<R, TEAM>::PARTS;
    float sum = 0.0f;
    if (lane < team<R, TEAM>::BUSY)
#pragma unroll 4
        for (int k = M.first[i] + part; k < M.first[i + 1]; k += teams * team<R, TEAM>::PARTS) {
            const float *from = x + (size_t)C * M.column[k];
            float xk[C];
#pragma unroll
            for (int c = 0; c < C; c++) xk[c] = from[c];
            sum += M.scale[k] * times<C>(M.value + ((size_t)k * R + r) * C, xk);
        }
    return sum;
}

/* Adds the parts of each row, in their order: the sum is in the lanes of part 0. */
template <int R, int TEAM> __device__ float add_parts(float value)
{
    const int lane = threadIdx.x % TEAM, r = lane % R;
    float sum = 0.0f;
#pragma unroll
    for (int part = 0; part < team<R, TEAM>::PARTS; part++)
        sum += __shfl_sync(0xffffffffu, value, part * R + r, TEAM);
    return sum;
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

/* Few rows leave multiprocessors idle: then four warps share a row. */
enum { FEW_ROWS = 2048, MANY_WARPS = THREADS / WARP };

/* A team's row; teams beyond the last repeat it, so that warps stay whole. */
template <int TEAM> __device__ int team_row(int n_row, bool *owner)
{
    const int row = (int)((blockIdx.x * (size_t)THREADS + threadIdx.x) / TEAM);
    *owner = row < n_row;
    return row < n_row ? row : n_row - 1;
}

__global__ void __launch_bounds__(THREADS)
    block_fine_sweep(int n, const float *__restrict__ inverse, fe_sweep sweep, const double *__restrict__ b,
                     const double *Ax, float *__restrict__ direction, double *__restrict__ x, double *clear)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= n) return;
    const size_t at = 3 * (size_t)i;
    float D[6], r[3], y[3];
#pragma unroll
    for (int c = 0; c < 6; c++) D[c] = inverse[6 * (size_t)i + c];
#pragma unroll
    for (int c = 0; c < 3; c++) r[c] = (float)(Ax ? b[at + c] - Ax[at + c] : b[at + c]);
    fe_apply_six(D, r, y);
#pragma unroll
    for (int c = 0; c < 3; c++) {
        const float d = sweep.new_factor * y[c] + (Ax ? sweep.old_factor * direction[at + c] : 0.0f);
        direction[at + c] = d;
        x[at + c] = (Ax ? x[at + c] : 0.0) + (double)d;
        if (clear) clear[at + c] = 0.0;
    }
}

template <int WARPS>
__global__ void __launch_bounds__(THREADS)
    block_fine_restrict(fe_block_matrix R, const double *__restrict__ b, const double *__restrict__ Ax,
                        float *__restrict__ coarse)
{
    enum { PARTS = team<6, WARP>::PARTS };
    bool owner;
    const int i = team_row<WARP * WARPS>(R.n_row, &owner), lane = threadIdx.x % WARP, r = lane % 6,
              warp = threadIdx.x / WARP % WARPS;
    float sum = 0.0f;
    if (lane < team<6, WARP>::BUSY)
#pragma unroll 4
        for (int k = R.first[i] + lane / 6 + warp * PARTS; k < R.first[i + 1]; k += PARTS * WARPS) {
            const size_t at = 3 * (size_t)R.column[k];
            float left[3];
#pragma unroll
            for (int c = 0; c < 3; c++) left[c] = (float)(b[at + c] - Ax[at + c]);
            sum += R.scale[k] * times<3>(R.value + 18 * (size_t)k + 3 * r, left);
        }
    sum = add_warps<WARPS>(add_parts<6, WARP>(sum));
    if (owner && warp == 0 && lane < 6) coarse[6 * (size_t)i + r] = sum;
}

__global__ void __launch_bounds__(THREADS)
    block_fine_prolong(fe_block_matrix P, const float *__restrict__ coarse, double *__restrict__ x,
                       double *__restrict__ clear)
{
    enum { TEAM = 16 };
    bool owner;
    const int i = team_row<TEAM>(P.n_row, &owner), lane = threadIdx.x % TEAM;
    const float sum = add_parts<3, TEAM>(row_times<3, 6, TEAM>(P, i, coarse));
    if (!owner || lane >= 3) return;
    x[3 * (size_t)i + lane] += (double)sum;
    if (clear) clear[3 * (size_t)i + lane] = 0.0;
}

/* r = b - A x of a row, then D^-1 r: the six numbers of the block row go around the team. */
__global__ void __launch_bounds__(THREADS)
    block_sweep(fe_block_matrix A, const float *__restrict__ inverse, fe_sweep sweep,
                const float *__restrict__ b, const float *__restrict__ x, float *__restrict__ direction,
                float *__restrict__ out)
{
    enum { TEAM = 32 };
    bool owner;
    const int i = team_row<TEAM>(A.n_row, &owner), lane = threadIdx.x % TEAM, c = lane % 6;
    const size_t at = 6 * (size_t)i + c;
    const float product = x ? add_parts<6, TEAM>(row_times<6, 6, TEAM>(A, i, x)) : 0.0f;
    const float r = b[at] - product;
    float y = 0.0f;
#pragma unroll
    for (int j = 0; j < 6; j++) y += inverse[6 * at + j] * __shfl_sync(0xffffffffu, r, j);
    if (!owner || lane >= 6) return;
    const float d = sweep.new_factor * y + (x ? sweep.old_factor * direction[at] : 0.0f);
    direction[at] = d;
    out[at] = (x ? x[at] : 0.0f) + d;
}

enum { RESIDUAL, PRODUCT, ADD_PRODUCT };

template <int WHAT, int WARPS>
__global__ void __launch_bounds__(THREADS) block_product(fe_block_matrix A, const float *__restrict__ b,
                                                         const float *__restrict__ x, float *__restrict__ y)
{
    bool owner;
    const int i = team_row<WARP * WARPS>(A.n_row, &owner), lane = threadIdx.x % WARP,
              warp = threadIdx.x / WARP % WARPS;
    const float product = add_warps<WARPS>(add_parts<6, WARP>(row_times<6, 6, WARP>(A, i, x, warp, WARPS)));
    const size_t at = 6 * (size_t)i + lane;
    if (!owner || warp > 0 || lane >= 6) return;
    y[at] = WHAT == RESIDUAL ? b[at] - product : WHAT == PRODUCT ? product : y[at] + product;
}

template <int WHAT>
static fe_status launch_product(fe_device *d, const fe_block_matrix *A, const float *b, const float *x,
                                float *y)
{
    const size_t n = (size_t)A->n_row;
    if (n < FEW_ROWS)
        FE_LAUNCH(d, THREADS * n, THREADS, (block_product<WHAT, MANY_WARPS>), *A, b, x, y);
    else
        FE_LAUNCH(d, WARP * n, THREADS, (block_product<WHAT, 1>), *A, b, x, y);
    return FE_OK;
}

/* A warp a row. */
__global__ void __launch_bounds__(THREADS)
    block_dense(int n, const float *__restrict__ M, const float *__restrict__ x, float *__restrict__ y)
{
    const int i = (blockIdx.x * THREADS + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (i >= n) return;
    float sum = 0.0f;
#pragma unroll 4
    for (int j = lane; j < n; j += 32) sum += M[(size_t)i * n + j] * x[j];
#pragma unroll
    for (int half = 16; half > 0; half /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, half);
    if (lane == 0) y[i] = sum;
}

__global__ void block_widen(size_t n, const float *x, double *y)
{
    const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
    if (i < n) y[i] = (double)x[i];
}

__global__ void block_narrow(size_t n, const double *x, float *y)
{
    const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
    if (i < n) y[i] = (float)x[i];
}

__global__ void block_noise(size_t n, double *x)
{
    const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
    if (i < n) x[i] = fe_noise(i);
}

static fe_status fine_sweep(fe_device *d, int n, const float *inverse, fe_sweep sweep, const double *b,
                            const double *Ax, float *direction, double *x, double *clear)
{
    FE_LAUNCH(d, n, THREADS, block_fine_sweep, n, inverse, sweep, b, Ax, direction, x, clear);
    return FE_OK;
}

static fe_status fine_restrict(fe_device *d, const fe_block_matrix *R, const double *b, const double *Ax,
                               float *coarse)
{
    const size_t n = (size_t)R->n_row;
    if (n < FEW_ROWS)
        FE_LAUNCH(d, THREADS * n, THREADS, block_fine_restrict<MANY_WARPS>, *R, b, Ax, coarse);
    else
        FE_LAUNCH(d, WARP * n, THREADS, block_fine_restrict<1>, *R, b, Ax, coarse);
    return FE_OK;
}

static fe_status fine_prolong(fe_device *d, const fe_block_matrix *P, const float *coarse, double *x,
                              double *clear)
{
    FE_LAUNCH(d, 16 * (size_t)P->n_row, THREADS, block_fine_prolong, *P, coarse, x, clear);
    return FE_OK;
}

static fe_status sweep_coarse(fe_device *d, const fe_block_matrix *A, const float *inverse, fe_sweep sweep,
                              const float *b, const float *x, float *direction, float *out)
{
    FE_LAUNCH(d, 32 * (size_t)A->n_row, THREADS, block_sweep, *A, inverse, sweep, b, x, direction, out);
    return FE_OK;
}

static fe_status residual(fe_device *d, const fe_block_matrix *A, const float *b, const float *x, float *r)
{
    return launch_product<RESIDUAL>(d, A, b, x, r);
}

static fe_status product(fe_device *d, const fe_block_matrix *M, const float *x, float *y)
{
    return launch_product<PRODUCT>(d, M, NULL, x, y);
}

static fe_status add_product(fe_device *d, const fe_block_matrix *M, const float *x, float *y)
{
    return launch_product<ADD_PRODUCT>(d, M, NULL, x, y);
}

static fe_status dense(fe_device *d, int n, const float *M, const float *x, float *y)
{
    FE_LAUNCH(d, 32 * (size_t)n, THREADS, block_dense, n, M, x, y);
    return FE_OK;
}

static fe_status widen(fe_device *d, size_t n, const float *x, double *y)
{
    FE_LAUNCH(d, n, THREADS, block_widen, n, x, y);
    return FE_OK;
}

static fe_status narrow(fe_device *d, size_t n, const double *x, float *y)
{
    FE_LAUNCH(d, n, THREADS, block_narrow, n, x, y);
    return FE_OK;
}

static fe_status noise(fe_device *d, size_t n, double *x)
{
    FE_LAUNCH(d, n, THREADS, block_noise, n, x);
    return FE_OK;
}

extern "C" const fe_block_ops fe_block_ops_cuda = {
    .fine_sweep = fine_sweep,
    .fine_restrict = fine_restrict,
    .fine_prolong = fine_prolong,
    .sweep = sweep_coarse,
    .residual = residual,
    .product = product,
    .add_product = add_product,
    .dense = dense,
    .widen = widen,
    .narrow = narrow,
    .noise = noise,
};
