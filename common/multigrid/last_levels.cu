/* The last two levels on the device: sweeps with a part of the correction beside them. */
#include "common/multigrid/block_rows.h"

enum { MOST_DENSE = 6 * 256, AHEAD = 20 };

/* As begin_row. */
static __device__ row_part<6, 6> begin_roomy(const fe_roomy_matrix &Q, int i, int own, int teams)
{
    row_part<6, 6> part;
    const int first = i * Q.room;
    part.end = first + Q.count[i], part.step = teams * WARP;
    part.k = first + threadIdx.x % WARP + own * WARP;
    if (part.k < part.end) read_block(Q.M, part.k, &part.next);
    return part;
}

/* A part of a row of Q^T b: each thread has a block. */
static __device__ void restrict_part(const fe_last_levels &w, int at, const float *b)
{
    const int j = at / w.parts, p = at % w.parts, lane = threadIdx.x % WARP;
    const int k = p * THREADS + threadIdx.x, n = w.R.count[j];
    if (p * THREADS >= n) return;
    factors<6, 6> f;
    float sum[6] = {};
    if (k < n) read_block(w.R.M, j * w.R.room + k, &f);
    fe_let_next_start();
    fe_wait_for_earlier();
    if (k < n) {
        read_numbers(b, &f);
        multiply(f, sum);
    }
    add_lanes<6, WARP>(sum);
    const float total = add_warps<MANY_WARPS>(entry_of<6>(sum, lane));
    if (threadIdx.x < 6) w.part[((size_t)p * w.m + j) * 6 + lane] = total;
}

/* Rows of y = M Q^T b, a warp each; the vector in shared memory. */
static __device__ void solve_rows(const fe_last_levels &w, const float *__restrict__ M, int at)
{
    __shared__ float c[MOST_DENSE];
    const int n = 6 * w.m, i = at * MANY_WARPS + threadIdx.x / WARP, lane = threadIdx.x % WARP;
    const float *const row = M + (size_t)(i < n ? i : n - 1) * n;
    float ahead[AHEAD], sum = 0.0f;
#pragma unroll
    for (int q = 0; q < AHEAD; q++) ahead[q] = lane + q * WARP < n ? row[lane + q * WARP] : 0.0f;
    fe_let_next_start();
    fe_wait_for_earlier();
    for (int t = threadIdx.x; t < n; t += THREADS) {
        float total = 0.0f;
        for (int p = 0; p < w.parts; p++) total += w.part[(size_t)p * n + t];
        c[t] = total;
    }
    __syncthreads();
#pragma unroll
    for (int q = 0; q < AHEAD; q++)
        if (lane + q * WARP < n) sum += ahead[q] * c[lane + q * WARP];
    for (int t = lane + AHEAD * WARP; t < n; t += WARP) sum += row[t] * c[t];
#pragma unroll
    for (int half = WARP / 2; half > 0; half /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, half);
    if (lane == 0 && i < n) w.y[i] = sum;
}

/* A block of threads per row, and behind these those of what is beside. */
template <int BESIDE>
__global__ void __launch_bounds__(THREADS)
    last_sweep(fe_block_matrix A, const float *__restrict__ inverse, fe_sweep sweep, const float *b,
               const float *x, float *direction, float *out, fe_last_levels w, const float *__restrict__ M)
{
    const int i = blockIdx.x, lane = threadIdx.x % WARP, team = threadIdx.x / WARP;
    if (BESIDE == FE_BESIDE_RESTRICTION && i >= A.n_row) {
        restrict_part(w, i - A.n_row, b);
        return;
    }
    if (BESIDE == FE_BESIDE_SOLUTION && i >= A.n_row) {
        solve_rows(w, M, i - A.n_row);
        return;
    }
    const size_t at = 6 * (size_t)i + lane;
    const bool stores = threadIdx.x < 6;
    const inverse_row D = read_inverse(inverse, at, stores);
    const row_part<6, 6> part = begin_row<6, 6, WARP>(A, i, team, MANY_WARPS);
    row_part<6, 6> of_Q;
    if (BESIDE == FE_BESIDE_CORRECTION) of_Q = begin_roomy(w.Q, i, team, MANY_WARPS);
    fe_let_next_start();
    fe_wait_for_earlier();
    const float given = stores ? b[at] : 0.0f, old = stores ? direction[at] : 0.0f,
                here = stores ? x[at] : 0.0f;
    float sum[6], correction = 0.0f;
    if (BESIDE == FE_BESIDE_CORRECTION) {
        end_row<6, 6, WARP>(w.Q.M, of_Q, w.y, sum);
        correction = add_warps<MANY_WARPS>(entry_of<6>(sum, lane));
        __syncthreads(); /* they add again */
    }
    end_row<6, 6, WARP>(A, part, x, sum);
    const float product = add_warps<MANY_WARPS>(entry_of<6>(sum, lane));
    const float y = apply_inverse<WARP>(D, stores ? given - product : 0.0f);
    if (!stores) return;
    const float d = sweep.new_factor * y + sweep.old_factor * old;
    direction[at] = d;
    out[at] = here + d + correction;
}

fe_status fe_cuda_last_sweep(fe_device *d, const fe_block_matrix *A, const float *inverse, fe_sweep sweep,
                             const float *b, const float *x, float *direction, float *out,
                             const fe_last_levels *w, const float *M, int beside)
{
    const size_t n = (size_t)A->n_row;
    if (beside == FE_BESIDE_RESTRICTION)
        FE_LAUNCH_CHAINED(d, 1, (n + (size_t)w->m * w->parts) * THREADS, THREADS,
                          last_sweep<FE_BESIDE_RESTRICTION>, *A, inverse, sweep, b, x, direction, out, *w, M);
    else if (beside == FE_BESIDE_SOLUTION)
        FE_LAUNCH_CHAINED(d, 1, (n + fe_grid(6 * (size_t)w->m, MANY_WARPS)) * THREADS, THREADS,
                          last_sweep<FE_BESIDE_SOLUTION>, *A, inverse, sweep, b, x, direction, out, *w, M);
    else
        FE_LAUNCH_CHAINED(d, 1, n * THREADS, THREADS, last_sweep<FE_BESIDE_CORRECTION>, *A, inverse, sweep, b,
                          x, direction, out, *w, M);
    return FE_OK;
}
