/* A cycle's operations on coarser levels, on the device, and the table of all. */
#include "common/multigrid/block_exact.h"
#include "common/multigrid/block_rows.h"

/* r = b - A x of a row, then D^-1 r. */
template <int TEAM, int TEAMS>
__global__ void __launch_bounds__(THREADS)
    block_sweep(fe_block_matrix A, const float *__restrict__ inverse, fe_sweep sweep, const float *b,
                const float *x, float *direction, float *out)
{
    bool owner;
    const int i = team_row<TEAM * TEAMS>(A.n_row, &owner), lane = threadIdx.x % TEAM,
              team = threadIdx.x / TEAM % TEAMS;
    const size_t at = 6 * (size_t)i + lane;
    const bool stores = owner && team == 0 && lane < 6;
    const inverse_row D = read_inverse(inverse, at, stores);
    row_part<6, 6> part;
    if (x) part = begin_row<6, 6, TEAM>(A, i, team, TEAMS);
    fe_let_next_start();
    fe_wait_for_earlier();
    const float given = stores ? b[at] : 0.0f, old = x && stores ? direction[at] : 0.0f,
                here = x && stores ? x[at] : 0.0f;
    float sum[6] = {0.0f};
    if (x) end_row<6, 6, TEAM>(A, part, x, sum);
    const float product = add_warps<TEAMS>(entry_of<6>(sum, lane));
    const float y = apply_inverse<TEAM>(D, stores ? given - product : 0.0f);
    if (!stores) return;
    const float d = sweep.new_factor * y + sweep.old_factor * old;
    direction[at] = d;
    out[at] = here + d;
}

enum { RESIDUAL, PRODUCT, ADD_PRODUCT };

/* first: what follows a product, if it has an x. */
template <int WHAT, int TEAM, int TEAMS>
__global__ void __launch_bounds__(THREADS)
    block_product(fe_block_matrix A, const float *b, const float *x, fe_first_sweep first, float *y)
{
    bool owner;
    const int i = team_row<TEAM * TEAMS>(A.n_row, &owner), lane = threadIdx.x % TEAM,
              team = threadIdx.x / TEAM % TEAMS;
    const size_t at = 6 * (size_t)i + lane;
    const bool stores = owner && team == 0 && lane < 6, sweeps = WHAT == PRODUCT && first.x;
    const inverse_row D = read_inverse(first.inverse, at, sweeps && stores);
    const row_part<6, 6> part = begin_row<6, 6, TEAM>(A, i, team, TEAMS);
    fe_let_next_start();
    fe_wait_for_earlier();
    const float before = WHAT == PRODUCT || !stores ? 0.0f : WHAT == RESIDUAL ? b[at] : y[at];
    float sum[6];
    end_row<6, 6, TEAM>(A, part, x, sum);
    const float product = add_warps<TEAMS>(entry_of<6>(sum, lane));
    if (stores) y[at] = WHAT == RESIDUAL ? before - product : before + product;
    if (sweeps) sweep_first<TEAM>(first, D, at, product, stores);
}

/* A kernel<.., TEAM, TEAMS> over n block rows, with the teams that suit so many. */
#define LAUNCH_ROWS(d, chained, n, KERNEL, ...)                                                              \
    do {                                                                                                     \
        if ((n) < FEW_ROWS)                                                                                  \
            FE_LAUNCH_CHAINED(d, chained, THREADS *(n), THREADS, (KERNEL(WARP, MANY_WARPS)), __VA_ARGS__);   \
        else if ((n) < MANY_ROWS)                                                                            \
            FE_LAUNCH_CHAINED(d, chained, WARP *(n), THREADS, (KERNEL(WARP, 1)), __VA_ARGS__);               \
        else                                                                                                 \
            FE_LAUNCH_CHAINED(d, chained, HALF_WARP *(n), THREADS, (KERNEL(HALF_WARP, 1)), __VA_ARGS__);     \
    } while (0)
#define PRODUCT(TEAM, TEAMS) block_product<WHAT, TEAM, TEAMS>
#define SWEEP(TEAM, TEAMS) block_sweep<TEAM, TEAMS>

/* Set-up takes products by matrices that it has just written, so these are not chained. */
template <int WHAT>
static fe_status launch_product(fe_device *d, const fe_block_matrix *A, const float *b, const float *x,
                                float *y, int chained, const fe_first_sweep *given = NULL)
{
    const fe_first_sweep first = given ? *given : fe_first_sweep{};
    LAUNCH_ROWS(d, chained, (size_t)A->n_row, PRODUCT, *A, b, x, first, y);
    return FE_OK;
}

/* A warp per row; sums in the matrix's precision. */
template <typename number>
__global__ void __launch_bounds__(THREADS)
    block_dense(int n, const number *__restrict__ M, const float *x, float *y)
{
    const int i = (blockIdx.x * THREADS + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (i >= n) return;
    number sum = 0;
    fe_let_next_start();
    fe_wait_for_earlier();
#pragma unroll 4
    for (int j = lane; j < n; j += 32) sum += M[(size_t)i * n + j] * x[j];
#pragma unroll
    for (int half = 16; half > 0; half /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, half);
    if (lane == 0) y[i] = (float)sum;
}

__global__ void block_noise(size_t n, float *x)
{
    const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
    if (i < n) x[i] = (float)fe_noise(i);
}

static fe_status sweep_coarse(fe_device *d, const fe_block_matrix *A, const float *inverse, fe_sweep sweep,
                              const float *b, const float *x, float *direction, float *out)
{
    LAUNCH_ROWS(d, x != NULL, (size_t)A->n_row, SWEEP, *A, inverse, sweep, b, x, direction, out);
    return FE_OK;
}

static fe_status residual(fe_device *d, const fe_block_matrix *A, const float *b, const float *x, float *r)
{
    return launch_product<RESIDUAL>(d, A, b, x, r, 1);
}

static fe_status coarse_restrict(fe_device *d, const fe_block_matrix *R, const float *r,
                                 const fe_first_sweep *first, float *coarse)
{
    return launch_product<PRODUCT>(d, R, NULL, r, coarse, 1, first);
}

static fe_status product(fe_device *d, const fe_block_matrix *M, const float *x, float *y)
{
    return launch_product<PRODUCT>(d, M, NULL, x, y, 0);
}

static fe_status add_product(fe_device *d, const fe_block_matrix *M, const float *x, float *y)
{
    return launch_product<ADD_PRODUCT>(d, M, NULL, x, y, 1);
}

static fe_status dense(fe_device *d, const fe_dense *M, const float *x, float *y)
{
    const size_t threads = 32 * (size_t)M->n;
    if (M->exact)
        FE_LAUNCH_CHAINED(d, 1, threads, THREADS, block_dense<double>, M->n, M->exact, x, y);
    else
        FE_LAUNCH_CHAINED(d, 1, threads, THREADS, block_dense<float>, M->n, M->single, x, y);
    return FE_OK;
}

static fe_status noise(fe_device *d, size_t n, float *x)
{
    FE_LAUNCH(d, n, THREADS, block_noise, n, x);
    return FE_OK;
}

extern "C" const fe_block_ops fe_block_ops_cuda = {
    .fine_start = fe_cuda_fine_start,
    .fine_sweep = fe_cuda_fine_sweep,
    .fine_inverse = fe_cuda_fine_inverse,
    .fine_residual = fe_cuda_fine_residual,
    .fine_restrict = fe_cuda_fine_restrict,
    .fine_prolong = fe_cuda_fine_prolong,
    .sweep = sweep_coarse,
    .residual = residual,
    .coarse_restrict = coarse_restrict,
    .product = product,
    .add_product = add_product,
    .dense = dense,
    .last_sweep = fe_cuda_last_sweep,
    .exact_product = fe_cuda_exact_product,
    .exact_inverse = fe_cuda_exact_inverse,
    .exact_dense = fe_cuda_exact_dense,
    .noise = noise,
};
