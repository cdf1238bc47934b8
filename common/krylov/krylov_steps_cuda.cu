/* Krylov solvers' own operations on the device: sums with two vectors at a time, and the small matrices. */
#include "common/backend/cuda_device.h"
#include "common/krylov/hessenberg.h"
#include "common/krylov/krylov_cuda.h"

enum { BLOCK_SIZE = 256 };
/* Sums with columns: columns of a panel, blocks that a multiprocessor should hold. */
enum { PANEL = 16, PAIR_RESIDENT = 2 };

/* N = 1, 2, … 32 sums over a warp: that of value i ends in the lanes from i 32 / N on. At each step half of
 * the values go to the other half of the lanes, until one is left: N - 1 values and that one are exchanged,
 * instead of 5 N. */
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

/* What a block sums: products of k columns with one vector w, or with a pair. The columns of a pair are those
 * of V and then u and w themselves. */
template <typename T> struct operands {
    size_t n, ld;
    int k;
    const T *V;
    const double *u, *w; /* u: NULL where there is one vector */
};

/* The part of a block's rows in N = 1 or 2 vectors times W columns from `first` on. Of the 32 lanes the first
 * half of a pair gets the products with u, the other those with w; lane l of N W sums gets number l N W / 32.
 * All numbers of a row are loaded before the first is used, with few columns those of several rows. Columns
 * after the last repeat the last. */
template <int N, int W, typename T> __device__ double lanes(const operands<T> a, int first)
{
    enum { TOGETHER = W >= 16 ? 1 : W == 8 ? 2 : W == 4 ? 4 : 8 };
    const size_t step = gridDim.x * (size_t)BLOCK_SIZE;
    const int own = N == 2 ? a.k - 2 : a.k; /* columns of V */
    double sum[N * W] = {0.0};
#pragma unroll TOGETHER
    for (size_t i = blockIdx.x * (size_t)BLOCK_SIZE + threadIdx.x; i < a.n; i += step) {
        double v[W];
        const double w = a.w[i], u = N == 2 ? a.u[i] : 0.0;
#pragma unroll
        for (int j = 0; j < W; j++) {
            const int c = min(first + j, a.k - 1);
            v[j] = c < own ? (double)a.V[(size_t)c * a.ld + i] : c == own ? u : w;
        }
#pragma unroll
        for (int j = 0; j < W; j++) {
            if (N == 2) sum[j] += v[j] * u;
            sum[(N - 1) * W + j] += v[j] * w;
        }
    }
    return warp_sums<N * W>(sum);
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

/* Block (x, y): rows x, x + gridDim.x, … of panel y, counted from `panel`. The block of a panel that ends
 * last adds the sums of all blocks, partial [y][block][lane], in the order of blocks. */
template <int N, typename T>
__global__ void __launch_bounds__(BLOCK_SIZE, PAIR_RESIDENT)
    column_sums(const operands<T> a, int panel, double *partial, unsigned *finished, double *out)
{
    __shared__ double shared[BLOCK_SIZE / 32][32];
    __shared__ bool last;
    const int first = PANEL * (panel + blockIdx.y), columns = min(PANEL, a.k - first),
              lane = threadIdx.x % 32;
    const int width = columns > 8            ? 16
                      : columns > 4          ? 8
                      : columns > 1 || N > 1 ? 4
                                             : 1,
              share = 32 / (N * width);
    double *own = partial + (size_t)blockIdx.y * gridDim.x * 32;
    double sum = width == 16  ? lanes<N, 16>(a, first)
                 : width == 8 ? lanes<N, 8>(a, first)
                 : width == 4 ? lanes<N, 4>(a, first)
                              : lanes<N, 1>(a, first);
    sum = add_warps(sum, shared);
    if (threadIdx.x < 32) __stcg(own + blockIdx.x * 32 + lane, sum), __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd(finished + blockIdx.y, 1u) == gridDim.x - 1;
    __syncthreads();
    if (!last) return;
    __threadfence();
    sum = 0.0;
#pragma unroll 8
    for (int i = threadIdx.x / 32; i < gridDim.x; i += BLOCK_SIZE / 32) sum += __ldcg(own + i * 32 + lane);
    sum = add_warps(sum, shared);
    if (threadIdx.x == 0) finished[blockIdx.y] = 0;
    const int vector = lane / share / width, j = lane / share % width;
    if (threadIdx.x < 32 && lane % share == 0 && j < columns) out[vector * a.k + first + j] = sum;
}

template <int N, typename T> static fe_status sum_columns(fe_device *d, const operands<T> a, double *out)
{
    cuda_device *c = self(d);
    const int panels = (a.k + PANEL - 1) / PANEL;
    const unsigned chunks = fe_grid(a.n, BLOCK_SIZE),
                   blocks = chunks < FE_SUM_BLOCKS ? chunks : FE_SUM_BLOCKS;
    if (a.n == 0) return d->ops->memory.zero(d, N * (size_t)a.k * sizeof *out, out);
    for (int panel = 0; panel < panels; panel += FE_SUM_PANELS) {
        const dim3 grid(blocks, panels - panel < FE_SUM_PANELS ? panels - panel : FE_SUM_PANELS);
        column_sums<N><<<grid, BLOCK_SIZE, 0, c->stream>>>(a, panel, c->partial, c->finished, out);
    }
    CUDA_TRY(cudaGetLastError());
    return FE_OK;
}

/* cuBLAS, and for columns of floats, which it cannot multiply with doubles, our own sums. */
static fe_status krylov_dots(fe_device *d, size_t n, int k, fe_columns V, const double *w, double *out)
{
    const double *one = self(d)->constants, *zero = self(d)->constants + 2;
    if (k == 0) return FE_OK;
    if (V.single) {
        const operands<float> a = {n, V.ld, k, (const float *)V.memory, NULL, w};
        return sum_columns<1>(d, a, out);
    }
    if (k == 1) return d->ops->vector.dot(d, n, (const double *)V.memory, w, out);
    CUBLAS_TRY(cublasDgemv_64(self(d)->blas, CUBLAS_OP_T, (int64_t)n, k, one, (const double *)V.memory,
                              (int64_t)V.ld, w, 1, zero, out, 1));
    return FE_OK;
}

/* Both columns at the price of one: cuBLAS's dgemv takes as long with one, and its dgemm with two took 190 to
 * 420 us where sums of pairs took 17 to 390 (H200, 3 million rows, 2 to 64 columns). */
static fe_status krylov_dots_pair(fe_device *d, size_t n, int k, fe_columns V, const double *u,
                                  const double *w, double *out)
{
    if (V.single) {
        const operands<float> a = {n, V.ld, k + 2, (const float *)V.memory, u, w};
        return sum_columns<2>(d, a, out);
    }
    const operands<double> a = {n, V.ld, k + 2, (const double *)V.memory, u, w};
    return sum_columns<2>(d, a, out);
}

/* y += sign V h, a row per thread */
template <typename T>
__global__ void combine(size_t n, int k, double sign, const T *V, size_t ld, const double *h, double *y)
{
    const size_t i = blockIdx.x * (size_t)BLOCK_SIZE + threadIdx.x;
    if (i >= n) return;
    const double before = y[i]; /* loaded before the columns are waited for */
    double sum = 0.0;
#pragma unroll 8
    for (int c = 0; c < k; c++) sum += h[c] * (double)V[(size_t)c * ld + i];
    y[i] = before + sign * sum;
}

static fe_status krylov_combine(fe_device *d, size_t n, int k, double sign, fe_columns V, const double *h,
                                double *y)
{
    const double *one = self(d)->constants, *factor = sign < 0.0 ? one + 1 : one;
    if (V.single)
        FE_LAUNCH(d, n, BLOCK_SIZE, combine, n, k, sign, (const float *)V.memory, V.ld, h, y);
    else if (k == 1)
        FE_LAUNCH(d, n, BLOCK_SIZE, combine, n, k, sign, (const double *)V.memory, V.ld, h, y);
    else
        CUBLAS_TRY(cublasDgemv_64(self(d)->blas, CUBLAS_OP_N, (int64_t)n, k, factor, (const double *)V.memory,
                                  (int64_t)V.ld, h, 1, one, y, 1));
    return FE_OK;
}

/* x, v and V may be the same memory. */
template <typename T> __global__ void store(size_t n, const double *x, const double *a, T *V, double *v)
{
    const size_t i = blockIdx.x * (size_t)BLOCK_SIZE + threadIdx.x;
    if (i >= n) return;
    const T value = (T)(*a != 0.0 ? x[i] / *a : 0.0);
    V[i] = value;
    if ((void *)v != (void *)V) v[i] = (double)value;
}

static fe_status krylov_store(fe_device *d, size_t n, const double *x, const double *a, fe_columns V,
                              double *v)
{
    if (V.single)
        FE_LAUNCH(d, n, BLOCK_SIZE, store, n, x, a, (float *)V.memory, v);
    else
        FE_LAUNCH(d, n, BLOCK_SIZE, store, n, x, a, (double *)V.memory, v);
    return FE_OK;
}

__global__ void load(size_t n, const float *V, double *v)
{
    const size_t i = blockIdx.x * (size_t)BLOCK_SIZE + threadIdx.x;
    if (i < n) v[i] = (double)V[i];
}

static fe_status krylov_load(fe_device *d, size_t n, fe_columns V, double *v)
{
    if (!V.single) return d->ops->vector.copy(d, n, (const double *)V.memory, v);
    FE_LAUNCH(d, n, BLOCK_SIZE, load, n, (const float *)V.memory, v);
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

/* The first block computes the column of the small matrix. The others make column j of V and the next u, a
 * row per thread at a time, so that u and w are read before they are written: u may be column j, and w
 * becomes the next u. Every block computes the factors itself, so there are no more than run at a time. */
template <typename T>
__global__ void __launch_bounds__(BLOCK_SIZE)
    delayed_column(size_t n, int j, int restart, double *workspace, T *V, size_t ld, const double *u,
                   double *w, const double *pair)
{
    extern __shared__ double memory[];
    const int k = j + 2, thread = threadIdx.x;
    double *dots = memory, *q = dots + 2 * k, *next = q + k, *rest = next + k; /* [2][k], [k], [k] */
    for (int i = thread; i < 2 * k; i += BLOCK_SIZE) dots[i] = pair[i];
    __syncthreads();
    const fe_delayed d = fe_delayed_of(j, dots);
    if (blockIdx.x == 0) {
        const size_t size = fe_delayed_size(restart);
        double *small = stage(workspace, size, rest);
        fe_delayed_column(small, restart, j, dots, &d, thread, BLOCK_SIZE);
        unstage(workspace, size, rest);
        return;
    }
    for (int i = thread; i < k; i += BLOCK_SIZE) fe_delayed_factors(j, dots, &d, i, q + i, next + i);
    __syncthreads();
    const size_t step = (gridDim.x - 1) * (size_t)BLOCK_SIZE;
    for (size_t i = (blockIdx.x - 1) * (size_t)BLOCK_SIZE + thread; i < n; i += step) {
        const double uv = u[i], wv = w[i];
        double qi = 0.0, ui = 0.0;
#pragma unroll 8
        for (int c = 0; c < j; c++) {
            const double v = (double)V[(size_t)c * ld + i];
            qi += q[c] * v, ui += next[c] * v;
        }
        qi += q[j] * uv, ui += next[j] * uv;
        qi += q[j + 1] * wv, ui += next[j + 1] * wv;
        V[(size_t)j * ld + i] = (T)qi, w[i] = ui;
    }
}

__global__ void delayed_finish(int j, int restart, double *workspace, const double *s)
{
    __shared__ double shared[STAGED];
    const size_t n = fe_delayed_size(restart);
    double *w = stage(workspace, n, shared);
    fe_delayed_finish(w, restart, j, s, fe_delayed_alpha(j, s), threadIdx.x, blockDim.x);
    unstage(workspace, n, shared);
}

static fe_status krylov_hessenberg_column(fe_device *d, int j, int restart, double *workspace)
{
    FE_LAUNCH(d, BLOCK_SIZE, BLOCK_SIZE, hessenberg_column, j, restart, workspace);
    return FE_OK;
}

static fe_status krylov_hessenberg_solve(fe_device *d, int k, int restart, double *workspace, double *y)
{
    FE_LAUNCH(d, BLOCK_SIZE, BLOCK_SIZE, hessenberg_solve, k, restart, workspace, y);
    return FE_OK;
}

/* 48 KiB of shared memory per block need no attribute: 4 (m + 2) numbers, and the workspace where it fits. */
static fe_status krylov_delayed_column(fe_device *d, size_t n, int j, int restart, double *workspace,
                                       fe_columns V, const double *u, double *w, const double *pair)
{
    const size_t size = fe_delayed_size(restart), staged = size <= STAGED ? size : 0;
    const size_t shared = (4 * (size_t)(j + 2) + staged) * sizeof(double);
    const unsigned chunks = fe_grid(n, BLOCK_SIZE),
                   blocks = chunks < FE_WAVE_BLOCKS ? 1 + chunks : FE_WAVE_BLOCKS;
    if (V.single)
        delayed_column<<<blocks, BLOCK_SIZE, shared, self(d)->stream>>>(n, j, restart, workspace,
                                                                        (float *)V.memory, V.ld, u, w, pair);
    else
        delayed_column<<<blocks, BLOCK_SIZE, shared, self(d)->stream>>>(n, j, restart, workspace,
                                                                        (double *)V.memory, V.ld, u, w, pair);
    CUDA_TRY(cudaGetLastError());
    return FE_OK;
}

static fe_status krylov_delayed_finish(fe_device *d, int j, int restart, double *workspace, const double *s)
{
    FE_LAUNCH(d, BLOCK_SIZE, BLOCK_SIZE, delayed_finish, j, restart, workspace, s);
    return FE_OK;
}

extern "C" const fe_krylov_steps fe_krylov_steps_cuda = {
    .dots = krylov_dots,
    .dots_pair = krylov_dots_pair,
    .combine = krylov_combine,
    .store = krylov_store,
    .load = krylov_load,
    .hessenberg_column = krylov_hessenberg_column,
    .hessenberg_solve = krylov_hessenberg_solve,
    .delayed_column = krylov_delayed_column,
    .delayed_finish = krylov_delayed_finish,
    .cg_begin = fe_cuda_cg_begin,
    .cg_sums = fe_cuda_cg_sums,
    .cg_update = fe_cuda_cg_update,
    .cg_step = fe_cuda_cg_step,
    .lanczos_step = fe_cuda_lanczos_step,
    .lanczos_sums = fe_cuda_lanczos_sums,
    .lanczos_update = fe_cuda_lanczos_update,
};
