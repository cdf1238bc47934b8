/* A cycle's operations on the finest level, on the device: first sweep, sweeps, transfers to the next level.
 */
#include "common/multigrid/block_rows.h"

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

/* Block k of R, and the numbers of r - Ax for its column. Ax may be NULL. */
__device__ factors<6, 3> read_restriction(const fe_block_matrix &R, int k, const float *__restrict__ r,
                                          const float *__restrict__ Ax)
{
    factors<6, 3> f;
    read_block(R, k, &f);
    read_numbers(r, &f);
    if (Ax) {
#pragma unroll
        for (int c = 0; c < 3; c++) f.x[c] -= Ax[3 * (size_t)f.column + c];
    }
    return f;
}

/* Rows of R are long, so two blocks are on their way at a time. */
template <int WARPS>
__global__ void __launch_bounds__(THREADS)
    block_fine_restrict(fe_block_matrix R, const float *__restrict__ r, const float *__restrict__ Ax,
                        fe_first_sweep first, float *__restrict__ coarse)
{
    bool owner;
    const int i = team_row<WARP * WARPS>(R.n_row, &owner), lane = threadIdx.x % WARP,
              warp = threadIdx.x / WARP % WARPS;
    const bool stores = owner && warp == 0 && lane < 6;
    const size_t at = 6 * (size_t)i + lane;
    const int end = R.first[i + 1], step = WARP * WARPS;
    int k = R.first[i] + lane + WARP * warp;
    const inverse_row inverse = read_inverse(first.inverse, at, first.x && stores);
    float sum[6] = {};
    fe_let_next_start();
    for (; k + step < end; k += 2 * step) {
        const factors<6, 3> one = read_restriction(R, k, r, Ax), two = read_restriction(R, k + step, r, Ax);
        multiply(one, sum), multiply(two, sum);
    }
    if (k < end) multiply(read_restriction(R, k, r, Ax), sum);
    add_lanes<6, WARP>(sum);
    const float own = add_warps<WARPS>(entry_of<6>(sum, lane));
    if (stores) coarse[at] = own;
    if (first.x) sweep_first<WARP>(first, inverse, at, own, stores);
}

__global__ void __launch_bounds__(THREADS)
    block_fine_prolong(fe_block_matrix P, const float *coarse, float *x, float *clear)
{
    enum { TEAM = 8 };
    bool owner;
    const int i = team_row<TEAM>(P.n_row, &owner), lane = threadIdx.x % TEAM;
    const bool stores = owner && lane < 3;
    const size_t at = 3 * (size_t)i + lane;
    const row_part<3, 6> part = begin_row<3, 6, TEAM>(P, i);
    float sum[3];
    fe_wait_for_earlier();
    const float before = stores ? x[at] : 0.0f;
    end_row<3, 6, TEAM>(P, part, coarse, sum);
    if (!stores) return;
    x[at] = before + entry_of<3>(sum, lane);
    if (clear) clear[at] = 0.0f;
}

fe_status fe_cuda_fine_start(fe_device *d, const fe_fine_start *start, const double *exact_b)
{
    FE_LAUNCH(d, (start->n + 1) / 2, THREADS, block_fine_start, *start, exact_b);
    return FE_OK;
}

fe_status fe_cuda_fine_sweep(fe_device *d, int n, const float *inverse, fe_sweep sweep, const float *b,
                             const float *Ax, float *direction, float *x, float *clear, double *out)
{
    FE_LAUNCH(d, (n + 1) / 2, THREADS, block_fine_sweep, n, inverse, sweep, b, Ax, direction, x, clear, out);
    return FE_OK;
}

fe_status fe_cuda_fine_inverse(fe_device *d, int n, const float *inverse, const float *x, float *y)
{
    FE_LAUNCH(d, (n + 1) / 2, THREADS, block_fine_inverse, n, inverse, x, y);
    return FE_OK;
}

fe_status fe_cuda_fine_residual(fe_device *d, int n, const float *b, const float *Ax, float *r)
{
    FE_LAUNCH(d, 3 * (size_t)n, THREADS, block_fine_residual, 3 * (size_t)n, b, Ax, r);
    return FE_OK;
}

fe_status fe_cuda_fine_restrict(fe_device *d, const fe_block_matrix *R, const float *r, const float *Ax,
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

fe_status fe_cuda_fine_prolong(fe_device *d, const fe_block_matrix *P, const float *coarse, float *x,
                               float *clear)
{
    FE_LAUNCH_CHAINED(d, 1, 8 * (size_t)P->n_row, THREADS, block_fine_prolong, *P, coarse, x, clear);
    return FE_OK;
}
