/* Block matrices on the device: a team of lanes owns a block row. The lanes take its blocks in turn, and then
 * add their sums. */
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

/* The three numbers of each of two neighbouring nodes, which a thread has together: fewer and wider accesses.
 * What is loaded beyond the last node is in the padding, or another node's; it is not stored. */
__device__ void load_two(const float *from, float two[6])
{
#pragma unroll
    for (int c = 0; c < 3; c++) {
        const float2 part = ((const float2 *)from)[c];
        two[2 * c] = part.x, two[2 * c + 1] = part.y;
    }
}
__device__ void load_two(const double *from, float two[6])
{
#pragma unroll
    for (int c = 0; c < 3; c++) {
        const double2 part = ((const double2 *)from)[c];
        two[2 * c] = (float)part.x, two[2 * c + 1] = (float)part.y;
    }
}
__device__ void store_two(const float two[6], bool both, float *to)
{
#pragma unroll
    for (int c = 0; c < 3; c++)
        if (both)
            ((float2 *)to)[c] = make_float2(two[2 * c], two[2 * c + 1]);
        else
            to[c] = two[c];
}
__device__ void store_two(const float two[6], bool both, double *to)
{
#pragma unroll
    for (int c = 0; c < 3; c++)
        if (both)
            ((double2 *)to)[c] = make_double2((double)two[2 * c], (double)two[2 * c + 1]);
        else
            to[c] = (double)two[c];
}
/* y = inverse r of both. */
__device__ void apply_two(const float *inverse, const float r[6], float y[6])
{
    float D[12];
#pragma unroll
    for (int c = 0; c < 3; c++) {
        const float4 part = ((const float4 *)inverse)[c];
        D[4 * c] = part.x, D[4 * c + 1] = part.y, D[4 * c + 2] = part.z, D[4 * c + 3] = part.w;
    }
    fe_apply_six(D, r, y);
    fe_apply_six(D + 6, r + 3, y + 3);
}

/* A thread has two nodes. */
__global__ void __launch_bounds__(THREADS)
    block_fine_start(fe_fine_start s, const double *__restrict__ exact_b)
{
    const int i = 2 * (blockIdx.x * THREADS + threadIdx.x);
    if (i >= s.n) return;
    const bool both = i + 1 < s.n;
    const size_t at = 3 * (size_t)i;
    float r[6], y[6];
    load_two(exact_b + at, r);
    apply_two(s.inverse + 2 * at, r, y);
#pragma unroll
    for (int c = 0; c < 6; c++) y[c] *= s.sweep.new_factor;
    store_two(r, both, s.b + at);
    store_two(y, both, s.direction + at);
    store_two(y, both, s.x + at);
}

__global__ void __launch_bounds__(THREADS)
    block_fine_sweep(int n, const float *__restrict__ inverse, fe_sweep sweep, const float *__restrict__ b,
                     const float *Ax, float *__restrict__ direction, float *__restrict__ x, float *clear,
                     double *__restrict__ out)
{
    const int i = 2 * (blockIdx.x * THREADS + threadIdx.x);
    if (i >= n) return;
    const bool both = i + 1 < n;
    const size_t at = 3 * (size_t)i;
    float r[6], product[6], y[6], step[6], here[6];
    const float zero[6] = {};
    load_two(b + at, r);
    load_two(Ax + at, product);
    load_two(direction + at, step);
    load_two(x + at, here);
#pragma unroll
    for (int c = 0; c < 6; c++) r[c] -= product[c];
    apply_two(inverse + 2 * at, r, y);
#pragma unroll
    for (int c = 0; c < 6; c++) {
        step[c] = sweep.new_factor * y[c] + sweep.old_factor * step[c];
        here[c] += step[c];
    }
    if (clear) store_two(zero, both, clear + at);
    if (out) {
        store_two(here, both, out + at);
    } else {
        store_two(step, both, direction + at);
        store_two(here, both, x + at);
    }
}

__global__ void __launch_bounds__(THREADS)
    block_fine_inverse(int n, const float *__restrict__ inverse, const float *__restrict__ x,
                       float *__restrict__ y)
{
    const int i = 2 * (blockIdx.x * THREADS + threadIdx.x);
    if (i >= n) return;
    float own[6], out[6];
    load_two(x + 3 * (size_t)i, own);
    apply_two(inverse + 6 * (size_t)i, own, out);
    store_two(out, i + 1 < n, y + 3 * (size_t)i);
}

__global__ void __launch_bounds__(THREADS)
    block_fine_residual(size_t n, const float *__restrict__ b, const float *__restrict__ Ax,
                        float *__restrict__ r)
{
    const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
    if (i < n) r[i] = b[i] - Ax[i];
}

template <int WARPS>
__global__ void __launch_bounds__(THREADS)
    block_fine_restrict(fe_block_matrix R, const float *__restrict__ r, const float *__restrict__ Ax,
                        fe_first_sweep first, float *__restrict__ coarse)
{
    bool owner;
    const int i = team_row<WARP * WARPS>(R.n_row, &owner), lane = threadIdx.x % WARP,
              warp = threadIdx.x / WARP % WARPS;
    float sum[6];
    times_row<6, 3, WARP>(R, i, r, sum, warp, WARPS, Ax);
    const float own = add_warps<WARPS>(entry_of<6>(sum, lane));
    const bool stores = owner && warp == 0 && lane < 6;
    if (stores) coarse[6 * (size_t)i + lane] = own;
    if (first.x) sweep_first<WARP>(first, i, own, stores);
}

__global__ void __launch_bounds__(THREADS)
    block_fine_prolong(fe_block_matrix P, const float *__restrict__ coarse, float *__restrict__ x,
                       float *__restrict__ clear)
{
    enum { TEAM = 8 };
    bool owner;
    const int i = team_row<TEAM>(P.n_row, &owner), lane = threadIdx.x % TEAM;
    float sum[3];
    times_row<3, 6, TEAM>(P, i, coarse, sum);
    if (!owner || lane >= 3) return;
    x[3 * (size_t)i + lane] += entry_of<3>(sum, lane);
    if (clear) clear[3 * (size_t)i + lane] = 0.0f;
}

/* r = b - A x of a row, then D^-1 r. */
template <int TEAM, int TEAMS>
__global__ void __launch_bounds__(THREADS)
    block_sweep(fe_block_matrix A, const float *__restrict__ inverse, fe_sweep sweep,
                const float *__restrict__ b, const float *__restrict__ x, float *__restrict__ direction,
                float *__restrict__ out)
{
    bool owner;
    const int i = team_row<TEAM * TEAMS>(A.n_row, &owner), lane = threadIdx.x % TEAM,
              team = threadIdx.x / TEAM % TEAMS;
    const size_t at = 6 * (size_t)i + lane;
    const bool stores = owner && team == 0 && lane < 6;
    float sum[6] = {0.0f};
    if (x) times_row<6, 6, TEAM>(A, i, x, sum, team, TEAMS);
    const float product = add_warps<TEAMS>(entry_of<6>(sum, lane));
    const float y = apply_inverse<TEAM>(inverse, at, stores ? b[at] - product : 0.0f, stores);
    if (!stores) return;
    const float d = sweep.new_factor * y + (x ? sweep.old_factor * direction[at] : 0.0f);
    direction[at] = d;
    out[at] = (x ? x[at] : 0.0f) + d;
}

enum { RESIDUAL, PRODUCT, ADD_PRODUCT };

/* first: what follows a product, if it has an x. */
template <int WHAT, int TEAM, int TEAMS>
__global__ void __launch_bounds__(THREADS)
    block_product(fe_block_matrix A, const float *__restrict__ b, const float *__restrict__ x,
                  fe_first_sweep first, float *__restrict__ y)
{
    bool owner;
    const int i = team_row<TEAM * TEAMS>(A.n_row, &owner), lane = threadIdx.x % TEAM,
              team = threadIdx.x / TEAM % TEAMS;
    float sum[6];
    times_row<6, 6, TEAM>(A, i, x, sum, team, TEAMS);
    const float product = add_warps<TEAMS>(entry_of<6>(sum, lane));
    const size_t at = 6 * (size_t)i + lane;
    const bool stores = owner && team == 0 && lane < 6;
    if (stores) y[at] = WHAT == RESIDUAL ? b[at] - product : WHAT == PRODUCT ? product : y[at] + product;
    if (WHAT == PRODUCT && first.x) sweep_first<TEAM>(first, i, product, stores);
}

template <int WHAT>
static fe_status launch_product(fe_device *d, const fe_block_matrix *A, const float *b, const float *x,
                                float *y, const fe_first_sweep *given = NULL)
{
    const size_t n = (size_t)A->n_row;
    const fe_first_sweep first = given ? *given : fe_first_sweep{};
    if (n < FEW_ROWS)
        FE_LAUNCH(d, THREADS * n, THREADS, (block_product<WHAT, WARP, MANY_WARPS>), *A, b, x, first, y);
    else if (n < MANY_ROWS)
        FE_LAUNCH(d, WARP * n, THREADS, (block_product<WHAT, WARP, 1>), *A, b, x, first, y);
    else
        FE_LAUNCH(d, HALF_WARP * n, THREADS, (block_product<WHAT, HALF_WARP, 1>), *A, b, x, first, y);
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

__global__ void block_noise(size_t n, float *x)
{
    const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
    if (i < n) x[i] = (float)fe_noise(i);
}

static fe_status fine_start(fe_device *d, const fe_fine_start *start, const double *exact_b)
{
    FE_LAUNCH(d, (start->n + 1) / 2, THREADS, block_fine_start, *start, exact_b);
    return FE_OK;
}

static fe_status fine_sweep(fe_device *d, int n, const float *inverse, fe_sweep sweep, const float *b,
                            const float *Ax, float *direction, float *x, float *clear, double *out)
{
    FE_LAUNCH(d, (n + 1) / 2, THREADS, block_fine_sweep, n, inverse, sweep, b, Ax, direction, x, clear, out);
    return FE_OK;
}

static fe_status fine_inverse(fe_device *d, int n, const float *inverse, const float *x, float *y)
{
    FE_LAUNCH(d, (n + 1) / 2, THREADS, block_fine_inverse, n, inverse, x, y);
    return FE_OK;
}

static fe_status fine_residual(fe_device *d, int n, const float *b, const float *Ax, float *r)
{
    FE_LAUNCH(d, 3 * (size_t)n, THREADS, block_fine_residual, 3 * (size_t)n, b, Ax, r);
    return FE_OK;
}

static fe_status fine_restrict(fe_device *d, const fe_block_matrix *R, const float *r, const float *Ax,
                               const fe_first_sweep *given, float *coarse)
{
    const size_t n = (size_t)R->n_row;
    const fe_first_sweep first = given ? *given : fe_first_sweep{};
    if (n < FEW_ROWS)
        FE_LAUNCH(d, THREADS * n, THREADS, block_fine_restrict<MANY_WARPS>, *R, r, Ax, first, coarse);
    else
        FE_LAUNCH(d, WARP * n, THREADS, block_fine_restrict<1>, *R, r, Ax, first, coarse);
    return FE_OK;
}

static fe_status fine_prolong(fe_device *d, const fe_block_matrix *P, const float *coarse, float *x,
                              float *clear)
{
    FE_LAUNCH(d, 8 * (size_t)P->n_row, THREADS, block_fine_prolong, *P, coarse, x, clear);
    return FE_OK;
}

static fe_status sweep_coarse(fe_device *d, const fe_block_matrix *A, const float *inverse, fe_sweep sweep,
                              const float *b, const float *x, float *direction, float *out)
{
    const size_t n = (size_t)A->n_row;
    if (n < FEW_ROWS)
        FE_LAUNCH(d, THREADS * n, THREADS, (block_sweep<WARP, MANY_WARPS>), *A, inverse, sweep, b, x,
                  direction, out);
    else if (n < MANY_ROWS)
        FE_LAUNCH(d, WARP * n, THREADS, (block_sweep<WARP, 1>), *A, inverse, sweep, b, x, direction, out);
    else
        FE_LAUNCH(d, HALF_WARP * n, THREADS, (block_sweep<HALF_WARP, 1>), *A, inverse, sweep, b, x, direction,
                  out);
    return FE_OK;
}

static fe_status residual(fe_device *d, const fe_block_matrix *A, const float *b, const float *x, float *r)
{
    return launch_product<RESIDUAL>(d, A, b, x, r);
}

static fe_status coarse_restrict(fe_device *d, const fe_block_matrix *R, const float *r,
                                 const fe_first_sweep *first, float *coarse)
{
    return launch_product<PRODUCT>(d, R, NULL, r, coarse, first);
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

static fe_status noise(fe_device *d, size_t n, float *x)
{
    FE_LAUNCH(d, n, THREADS, block_noise, n, x);
    return FE_OK;
}

extern "C" const fe_block_ops fe_block_ops_cuda = {
    .fine_start = fine_start,
    .fine_sweep = fine_sweep,
    .fine_inverse = fine_inverse,
    .fine_residual = fine_residual,
    .fine_restrict = fine_restrict,
    .fine_prolong = fine_prolong,
    .sweep = sweep_coarse,
    .residual = residual,
    .coarse_restrict = coarse_restrict,
    .product = product,
    .add_product = add_product,
    .dense = dense,
    .widen = widen,
    .narrow = narrow,
    .noise = noise,
};
