/* Krylov solvers' own operations on the device: sums with two vectors at a time, and the small matrices. */
#include "common/algebra/hessenberg.h"
#include "common/backend/cuda_device.h"

enum { BLOCK_SIZE = 256 };
/* Sums of pairs: columns of a panel, blocks that a multiprocessor should hold, largest number of blocks of a
 * panel (all that an H100 holds). */
enum { PANEL = 16, PAIR_RESIDENT = 2, PAIR_BLOCKS = 264 };

/* N = 2, 4, … 32 sums over a warp: that of value i ends in the lanes from i 32 / N on. At each step half of
 * the values go to the other half of the lanes, so N - 1 values are exchanged instead of 5 N. */
template <int N> __device__ double warp_sums(double value[N])
{
#pragma unroll
    for (int step = 0; step < 5; step++) {
        const int far = 16 >> step, half = N >> (step + 1);
        const bool upper = threadIdx.x & far;
#pragma unroll
        for (int i = 0; i < N / 2; i++) {
            if (i >= half) break;
            const double other = __shfl_xor_sync(0xffffffffu, upper ? value[i] : value[i + half], far);
            value[i] = (upper ? value[i + half] : value[i]) + other;
        }
        if (half == 0) value[0] += __shfl_xor_sync(0xffffffffu, value[0], far);
    }
    return value[0];
}

/* The part of V_j · u and V_j · w from a block's rows, for W of V's k columns from `first` on. Lanes of the
 * lower half of a warp get the products with u, those of the upper half with w; lane l gets that of column l
 * W / 16. All numbers of a row are loaded before the first is used. Columns after the last repeat the
 * last. */
template <int W> __device__ double pair_lanes(size_t n, int k, int first, const double *V, size_t ld)
{
    const double *u = V + (size_t)(k - 2) * ld, *w = u + ld;
    const size_t step = gridDim.x * (size_t)BLOCK_SIZE;
    double sum[2 * W] = {0.0};
    for (size_t i = blockIdx.x * (size_t)BLOCK_SIZE + threadIdx.x; i < n; i += step) {
        double v[W];
#pragma unroll
        for (int j = 0; j < W; j++) v[j] = V[(size_t)min(first + j, k - 1) * ld + i];
        const double ui = u[i], wi = w[i];
#pragma unroll
        for (int j = 0; j < W; j++) sum[j] += v[j] * ui, sum[W + j] += v[j] * wi;
    }
    return warp_sums<2 * W>(sum);
}

/* Adds the values of each lane over the warps, in the order of warps; the first warp gets the sums. */
__device__ double add_warps(double value, double shared[BLOCK_SIZE / 32][32])
{
    __syncthreads();
    shared[threadIdx.x / 32][threadIdx.x % 32] = value;
    __syncthreads();
    double sum = 0.0;
    for (int i = 0; i < BLOCK_SIZE / 32 && threadIdx.x < 32; i++) sum += shared[i][threadIdx.x];
    return sum;
}

/* Block (x, y): rows x, x + gridDim.x, … of panel y. The block of a panel that ends last adds the sums of all
 * blocks, partial [panel][block][lane], in the order of blocks. */
__global__ void __launch_bounds__(BLOCK_SIZE, PAIR_RESIDENT)
    pair_sums(size_t n, int k, const double *V, size_t ld, double *partial, unsigned *finished, double *out)
{
    __shared__ double shared[BLOCK_SIZE / 32][32];
    __shared__ bool last;
    const int first = PANEL * blockIdx.y, columns = min(PANEL, k - first), lane = threadIdx.x % 32;
    const int width = columns > 8 ? 16 : columns > 4 ? 8 : 4;
    double *panel = partial + (size_t)blockIdx.y * gridDim.x * 32;
    double sum = width == 16  ? pair_lanes<16>(n, k, first, V, ld)
                 : width == 8 ? pair_lanes<8>(n, k, first, V, ld)
                              : pair_lanes<4>(n, k, first, V, ld);
    sum = add_warps(sum, shared);
    if (threadIdx.x < 32) __stcg(panel + blockIdx.x * 32 + lane, sum), __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd(finished + blockIdx.y, 1u) == gridDim.x - 1;
    __syncthreads();
    if (!last) return;
    __threadfence();
    sum = 0.0;
#pragma unroll 8
    for (int i = threadIdx.x / 32; i < gridDim.x; i += BLOCK_SIZE / 32) sum += __ldcg(panel + i * 32 + lane);
    sum = add_warps(sum, shared);
    if (threadIdx.x == 0) finished[blockIdx.y] = 0;
    const int j = lane % 16 * width / 16;
    if (threadIdx.x < 32 && lane % (16 / width) == 0 && j < columns) out[lane / 16 * k + first + j] = sum;
}

/* Both columns at the price of one: cuBLAS's dgemv takes as long with one, and its dgemm with two took 190 to
 * 420 us where sums of pairs took 17 to 390 (H200, 3 million rows, 2 to 64 columns). */
extern "C" fe_status fe_cuda_dots_pair(fe_device *d, size_t n, int k, const double *V, size_t ld, double *out)
{
    cuda_device *c = self(d);
    const int panels = (k + PANEL - 1) / PANEL;
    const unsigned chunks = fe_grid(n, BLOCK_SIZE);
    const dim3 grid(chunks < PAIR_BLOCKS ? chunks : PAIR_BLOCKS, panels);
    if (c->panels < panels) {
        c->panels = 0; /* older buffers stay, because recordings may use them */
        FE_TRY(fe_device_allocate(d, (size_t)panels * PAIR_BLOCKS * 32, sizeof(double), "partial sums",
                                  (void **)&c->partial));
        FE_TRY(
            fe_device_allocate(d, (size_t)panels, sizeof(unsigned), "partial sums", (void **)&c->finished));
        c->panels = panels;
    }
    if (n > 0)
        pair_sums<<<grid, BLOCK_SIZE, 0, c->stream>>>(n, k, V, ld, c->partial, c->finished, out);
    else
        FE_TRY(d->ops->memory.zero(d, 2 * (size_t)k * sizeof *out, out));
    CUDA_TRY(cudaGetLastError());
    return FE_OK;
}

/* Serial work on small matrices goes through shared memory, whose latency is a tenth of the cache's: one
 * block copies the n numbers, works, and copies them back. Larger matrices stay in global memory. */
enum { STAGED = 5600 };
__device__ double *stage(double *memory, size_t n, double *shared)
{
    if (n > STAGED) return memory;
    for (size_t i = threadIdx.x; i < n; i += blockDim.x) shared[i] = memory[i];
    __syncthreads();
    return shared;
}
__device__ void unstage(double *memory, size_t n, const double *shared)
{
    __syncthreads();
    for (size_t i = threadIdx.x; i < n && n <= STAGED; i += blockDim.x) memory[i] = shared[i];
}

__global__ void hessenberg_column(int j, int restart, double *workspace)
{
    __shared__ double shared[STAGED];
    const size_t n = fe_hessenberg_size(restart);
    double *w = stage(workspace, n, shared);
    if (threadIdx.x == 0) fe_hessenberg_column(w, restart, j);
    unstage(workspace, n, shared);
}

__global__ void hessenberg_solve(int k, int restart, double *workspace, double *y)
{
    __shared__ double shared[STAGED];
    double *w = stage(workspace, fe_hessenberg_size(restart), shared);
    double *solution = w == shared ? fe_hessenberg_cosines(w, restart) : y; /* no longer needed */
    if (threadIdx.x == 0) fe_hessenberg_solve(w, restart, k, solution);
    __syncthreads();
    for (int i = threadIdx.x; i < k && solution != y; i += blockDim.x) y[i] = solution[i];
}

/* The first block computes the column of the small matrix. The others combine the columns of the basis, one
 * row per thread at a time, so that u and w are read before they are written. Every block computes the
 * factors itself. */
__global__ void __launch_bounds__(BLOCK_SIZE)
    delayed_column(size_t n, int j, int restart, double *workspace, double *V, size_t ld, const double *pair)
{
    extern __shared__ double memory[];
    const int k = j + 2, thread = threadIdx.x;
    double *dots = memory, *q = dots + 2 * k, *u = q + k, *rest = u + k; /* [2][k], [k], [k] */
    for (int i = thread; i < 2 * k; i += BLOCK_SIZE) dots[i] = pair[i];
    __syncthreads();
    const fe_delayed d = fe_delayed_of(j, dots);
    if (blockIdx.x == 0) {
        const size_t size = fe_delayed_size(restart);
        double *w = stage(workspace, size, rest);
        fe_delayed_column(w, restart, j, dots, &d, thread, BLOCK_SIZE);
        unstage(workspace, size, rest);
        return;
    }
    for (int i = thread; i < k; i += BLOCK_SIZE) fe_delayed_factors(j, dots, &d, i, q + i, u + i);
    __syncthreads();
    const size_t i = (blockIdx.x - 1) * (size_t)BLOCK_SIZE + thread;
    if (i >= n) return;
    double qi = 0.0, ui = 0.0;
#pragma unroll 8
    for (int c = 0; c < k; c++) {
        const double v = V[(size_t)c * ld + i];
        qi += q[c] * v, ui += u[c] * v;
    }
    V[(size_t)j * ld + i] = qi, V[(size_t)(j + 1) * ld + i] = ui;
}
__global__ void delayed_finish(int j, int restart, double *workspace, const double *s)
{
    __shared__ double shared[STAGED];
    const size_t n = fe_delayed_size(restart);
    double *w = stage(workspace, n, shared);
    fe_delayed_finish(w, restart, j, s, fe_delayed_alpha(j, s), threadIdx.x, blockDim.x);
    unstage(workspace, n, shared);
}

extern "C" fe_status fe_cuda_hessenberg_column(fe_device *d, int j, int restart, double *workspace)
{
    FE_LAUNCH(d, BLOCK_SIZE, BLOCK_SIZE, hessenberg_column, j, restart, workspace);
    return FE_OK;
}

extern "C" fe_status fe_cuda_hessenberg_solve(fe_device *d, int k, int restart, double *workspace, double *y)
{
    FE_LAUNCH(d, BLOCK_SIZE, BLOCK_SIZE, hessenberg_solve, k, restart, workspace, y);
    return FE_OK;
}

/* 48 KiB of shared memory per block need no attribute: 4 (m + 2) numbers, and the workspace where it fits. */
extern "C" fe_status fe_cuda_delayed_column(fe_device *d, size_t n, int j, int restart, double *workspace,
                                            double *V, size_t ld, const double *pair)
{
    const size_t size = fe_delayed_size(restart), staged = size <= STAGED ? size : 0;
    const size_t shared = (4 * (size_t)(j + 2) + staged) * sizeof(double);
    delayed_column<<<1 + fe_grid(n, BLOCK_SIZE), BLOCK_SIZE, shared, self(d)->stream>>>(
        n, j, restart, workspace, V, ld, pair);
    CUDA_TRY(cudaGetLastError());
    return FE_OK;
}

extern "C" fe_status fe_cuda_delayed_finish(fe_device *d, int j, int restart, double *workspace,
                                            const double *s)
{
    FE_LAUNCH(d, BLOCK_SIZE, BLOCK_SIZE, delayed_finish, j, restart, workspace, s);
    return FE_OK;
}
