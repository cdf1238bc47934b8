/* The CUDA backend: one stream a device, cuBLAS with scalars on the device, a clock of events. */
#include "common/backend/blocks.h"
#include "common/backend/cuda.h"
#include "common/backend/hessenberg.h"

#include <cublas_v2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 256, N_EVENT = 1024 };
/* Sums of pairs: columns of a panel, blocks that a multiprocessor is to hold, blocks of a panel at most (all
 * that an H100 holds). */
enum { PANEL = 16, PAIR_RESIDENT = 2, PAIR_BLOCKS = 264 };

struct allocation {
    allocation *next;
    void *memory;
    size_t bytes;
};

struct cuda_device {
    fe_device base;
    int ordinal;
    cudaStream_t stream, side; /* side: work beside it */
    cudaEvent_t forked, ended; /* where that begins and has ended */
    cublasHandle_t blas;
    allocation *memory;
    double *constants;  /* 1, -1, 0: cuBLAS factors that live on the device */
    double *pinned;     /* [64] landing place of scalars */
    double *partial;    /* [panels][PAIR_BLOCKS][32] sums of blocks */
    unsigned *finished; /* [panels] blocks that have left theirs */
    int panels;
    cudaEvent_t event[N_EVENT];
    int phase[N_EVENT]; /* phase that began at the event */
    int n_event;
    int recording;       /* work goes into a graph */
    double *arrived;     /* [2] pinned */
    cudaEvent_t read[2]; /* a number has arrived */
    double seconds[FE_N_PHASE];
};

static cuda_device *self(fe_device *d) { return (cuda_device *)d; }
extern "C" cudaStream_t fe_cuda_stream(fe_device *d) { return self(d)->stream; }

extern "C" fe_status fe_cuda_side_stream(cudaStream_t *stream, cudaEvent_t *begin, cudaEvent_t *end)
{
    int least, greatest;
    CUDA_TRY(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CUDA_TRY(cudaStreamCreateWithPriority(stream, cudaStreamNonBlocking, greatest));
    CUDA_TRY(cudaEventCreateWithFlags(begin, cudaEventDisableTiming));
    CUDA_TRY(cudaEventCreateWithFlags(end, cudaEventDisableTiming));
    return FE_OK;
}

extern "C" void fe_cuda_side_stream_close(cudaStream_t *stream, cudaEvent_t *begin, cudaEvent_t *end)
{
    if (*begin) cudaEventDestroy(*begin);
    if (*end) cudaEventDestroy(*end);
    if (*stream) cudaStreamDestroy(*stream);
}

#define CUBLAS_TRY(call)                                                                                     \
    do {                                                                                                     \
        const cublasStatus_t cublas_try_status = (call);                                                     \
        if (cublas_try_status != CUBLAS_STATUS_SUCCESS)                                                      \
            return fe_fail(FE_FAILED, "%s:%d: cuBLAS: %s", __FILE__, __LINE__,                               \
                           cublasGetStatusString(cublas_try_status));                                        \
    } while (0)

/* Waits for an event, or where it is NULL for all enqueued work. With a watcher it polls, for kernels that
 * wait for other ranks may never end. */
static fe_status await(cuda_device *c, cudaEvent_t event)
{
    if (!c->base.watch) {
        CUDA_TRY(event ? cudaEventSynchronize(event) : cudaStreamSynchronize(c->stream));
        return FE_OK;
    }
    const double since = fe_seconds();
    for (double asked = since;;) {
        const cudaError_t state = event ? cudaEventQuery(event) : cudaStreamQuery(c->stream);
        if (state != cudaErrorNotReady) {
            CUDA_TRY(state);
            return FE_OK;
        }
        if (fe_seconds() - asked < 1e-3) continue;
        asked = fe_seconds();
        FE_TRY(c->base.watch(c->base.watcher, since));
    }
}

extern "C" int fe_cuda_devices(void)
{
    int n = 0;
    if (cudaGetDeviceCount(&n) == cudaSuccess) return n;
    cudaGetLastError();
    return 0;
}

static void cuda_close(fe_device *d)
{
    if (!d) return;
    cuda_device *c = self(d);
    cudaSetDevice(c->ordinal);
    if (c->stream) cudaStreamSynchronize(c->stream);
    if (c->side) cudaStreamSynchronize(c->side);
    fe_device_release_kept(d);
    for (allocation *a = c->memory, *next; a; a = next) {
        next = a->next;
        cudaFree(a->memory);
        free(a);
    }
    for (int i = 0; i < N_EVENT; i++)
        if (c->event[i]) cudaEventDestroy(c->event[i]);
    for (int i = 0; i < 2; i++)
        if (c->read[i]) cudaEventDestroy(c->read[i]);
    if (c->arrived) cudaFreeHost(c->arrived);
    if (c->blas) cublasDestroy(c->blas);
    if (c->constants) cudaFree(c->constants);
    if (c->pinned) cudaFreeHost(c->pinned);
    fe_cuda_side_stream_close(&c->side, &c->forked, &c->ended);
    if (c->stream) cudaStreamDestroy(c->stream);
    free(c);
}

static fe_status cuda_start(cuda_device *c)
{
    static const double constants[3] = {1.0, -1.0, 0.0};
    cudaDeviceProp properties;
    CUDA_TRY(cudaSetDevice(c->ordinal));
    CUDA_TRY(cudaGetDeviceProperties(&properties, c->ordinal));
    snprintf(c->base.name, sizeof c->base.name, "%.127s", properties.name);
    CUDA_TRY(cudaStreamCreateWithFlags(&c->stream, cudaStreamNonBlocking));
    FE_TRY(fe_cuda_side_stream(&c->side, &c->forked, &c->ended));
    CUBLAS_TRY(cublasCreate(&c->blas));
    CUBLAS_TRY(cublasSetStream(c->blas, c->stream));
    CUBLAS_TRY(cublasSetPointerMode(c->blas, CUBLAS_POINTER_MODE_DEVICE));
    CUDA_TRY(cudaMalloc((void **)&c->constants, sizeof constants));
    CUDA_TRY(cudaMemcpy(c->constants, constants, sizeof constants, cudaMemcpyHostToDevice));
    CUDA_TRY(cudaMallocHost((void **)&c->pinned, 64 * sizeof(double)));
    CUDA_TRY(cudaMallocHost((void **)&c->arrived, 2 * sizeof(double)));
    for (int i = 0; i < 2; i++) CUDA_TRY(cudaEventCreateWithFlags(&c->read[i], cudaEventDisableTiming));
    for (int i = 0; i < N_EVENT; i++) CUDA_TRY(cudaEventCreate(&c->event[i]));
    CUDA_TRY(cudaEventRecord(c->event[0], c->stream));
    c->phase[0] = FE_PHASE_OTHER, c->n_event = 1;
    return FE_OK;
}

static fe_status cuda_open(int ordinal, int threads, fe_device **out)
{
    *out = NULL;
    if (ordinal < 0 || ordinal >= fe_cuda_devices())
        return fe_fail(FE_BAD_INPUT, "CUDA device %d: %d were found", ordinal, fe_cuda_devices());
    cuda_device *c = NULL;
    FE_ALLOCATE(c, 1, "device");
    c->base.ops = &fe_backend_cuda;
    c->base.threads = threads;
    c->ordinal = ordinal;
    const fe_status status = cuda_start(c);
    if (status != FE_OK) {
        cuda_close(&c->base);
        return status;
    }
    *out = &c->base;
    return FE_OK;
}

static fe_status cuda_allocate(fe_device *d, size_t bytes, void **memory)
{
    allocation *a = (allocation *)calloc(1, sizeof *a);
    if (!a) return FE_OUT_OF_MEMORY;
    const cudaError_t error = cudaMalloc(&a->memory, bytes);
    if (error != cudaSuccess) {
        free(a);
        cudaGetLastError();
        if (error == cudaErrorMemoryAllocation) return FE_OUT_OF_MEMORY;
        CUDA_TRY(error);
    }
    a->bytes = bytes, a->next = self(d)->memory;
    self(d)->memory = a;
    CUDA_TRY(cudaMemsetAsync(a->memory, 0, bytes, self(d)->stream));
    *memory = a->memory;
    return FE_OK;
}

static void cuda_release(fe_device *d, void *memory)
{
    for (allocation **a = &self(d)->memory; *a; a = &(*a)->next)
        if ((*a)->memory == memory) {
            allocation *found = *a;
            cudaStreamSynchronize(self(d)->stream);
            cudaFree(found->memory);
            d->bytes_resident -= found->bytes;
            *a = found->next;
            free(found);
            return;
        }
}

static fe_status cuda_zero(fe_device *d, size_t bytes, void *memory)
{
    CUDA_TRY(cudaMemsetAsync(memory, 0, bytes, self(d)->stream));
    return FE_OK;
}

static fe_status cuda_upload(fe_device *d, size_t bytes, const void *host, void *memory)
{
    d->bytes_to_device += (int64_t)bytes;
    CUDA_TRY(cudaMemcpyAsync(memory, host, bytes, cudaMemcpyHostToDevice, self(d)->stream));
    return await(self(d), NULL); /* the caller may free its memory */
}

static fe_status cuda_download(fe_device *d, size_t bytes, const void *memory, void *host)
{
    cuda_device *c = self(d);
    d->bytes_from_device += (int64_t)bytes;
    void *landing = bytes <= 64 * sizeof(double) ? (void *)c->pinned : host;
    CUDA_TRY(cudaMemcpyAsync(landing, memory, bytes, cudaMemcpyDeviceToHost, c->stream));
    FE_TRY(await(c, NULL));
    if (landing != host) memcpy(host, landing, bytes);
    return FE_OK;
}

static fe_status cuda_wait(fe_device *d)
{
    FE_TRY(await(self(d), NULL));
    CUDA_TRY(cudaGetLastError());
    return FE_OK;
}

static fe_status cuda_copy(fe_device *d, size_t n, const double *x, double *y)
{
    CUDA_TRY(cudaMemcpyAsync(y, x, n * sizeof *y, cudaMemcpyDeviceToDevice, self(d)->stream));
    return FE_OK;
}

/* y = a x + b y with factors of the host, or of the device where pointers are given */
__global__ void linear(size_t n, double a, const double *a_scalar, const double *x, double b,
                       const double *b_scalar, double *y)
{
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (a_scalar) a *= *a_scalar;
    if (b_scalar) b *= *b_scalar;
    y[i] = b == 0.0 ? a * x[i] : a * x[i] + b * y[i];
}

static fe_status cuda_axpy(fe_device *d, size_t n, double a, const double *x, double *y)
{
    FE_LAUNCH(d, n, THREADS, linear, n, a, NULL, x, 1.0, NULL, y);
    return FE_OK;
}

static fe_status cuda_scale(fe_device *d, size_t n, double a, double *x)
{
    FE_LAUNCH(d, n, THREADS, linear, n, a, NULL, x, 0.0, NULL, x);
    return FE_OK;
}

static fe_status cuda_axpy_scalar(fe_device *d, size_t n, double sign, const double *a, const double *x,
                                  double *y)
{
    FE_LAUNCH(d, n, THREADS, linear, n, sign, a, x, 1.0, NULL, y);
    return FE_OK;
}

static fe_status cuda_xpay_scalar(fe_device *d, size_t n, const double *x, const double *a, double *y)
{
    FE_LAUNCH(d, n, THREADS, linear, n, 1.0, NULL, x, 1.0, a, y);
    return FE_OK;
}

__global__ void divide(size_t n, const double *x, const double *a, double *y)
{
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) y[i] = *a != 0.0 ? x[i] / *a : 0.0;
}

static fe_status cuda_divide(fe_device *d, size_t n, const double *x, const double *a, double *y)
{
    FE_LAUNCH(d, n, THREADS, divide, n, x, a, y);
    return FE_OK;
}

static fe_status cuda_dots(fe_device *d, size_t n, int k, const double *V, size_t ld, const double *w,
                           double *out)
{
    const double *one = self(d)->constants, *zero = self(d)->constants + 2;
    if (k == 1)
        CUBLAS_TRY(cublasDdot_64(self(d)->blas, (int64_t)n, V, 1, w, 1, out));
    else
        CUBLAS_TRY(cublasDgemv_64(self(d)->blas, CUBLAS_OP_T, (int64_t)n, k, one, V, (int64_t)ld, w, 1, zero,
                                  out, 1));
    return FE_OK;
}

static fe_status cuda_combine(fe_device *d, size_t n, int k, double sign, const double *V, size_t ld,
                              const double *h, double *y)
{
    const double *one = self(d)->constants, *factor = sign < 0.0 ? one + 1 : one;
    CUBLAS_TRY(
        cublasDgemv_64(self(d)->blas, CUBLAS_OP_N, (int64_t)n, k, factor, V, (int64_t)ld, h, 1, one, y, 1));
    return FE_OK;
}

/* One block: thread i sums entries i, i + 1024, …; then a tree. The order is fixed. */
template <bool LARGEST> __device__ void block_reduce(double value, double *out)
{
    __shared__ double shared[1024];
    shared[threadIdx.x] = value;
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            const double other = shared[threadIdx.x + half];
            shared[threadIdx.x] = LARGEST ? fmax(shared[threadIdx.x], other) : shared[threadIdx.x] + other;
        }
    }
    if (threadIdx.x == 0) *out = shared[0];
}

/* N = 2, 4, … 32 sums over a warp: value i's in lanes i 32 / N and on. Half of the values go to the other
 * half of the lanes at each step, so that N - 1 are exchanged instead of 5 N. */
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

/* A block's rows of V_j · u and of V_j · w, for W columns from `first` on of V's k. Lane l gets that with u
 * of column l W / 16, and in its upper half with w. All of a row's numbers are loaded before the first is
 * needed; columns beyond the last are that one again. */
template <int W> __device__ double pair_lanes(size_t n, int k, int first, const double *V, size_t ld)
{
    const double *u = V + (size_t)(k - 2) * ld, *w = u + ld;
    const size_t step = gridDim.x * (size_t)THREADS;
    double sum[2 * W] = {0.0};
    for (size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x; i < n; i += step) {
        double v[W];
#pragma unroll
        for (int j = 0; j < W; j++) v[j] = V[(size_t)min(first + j, k - 1) * ld + i];
        const double ui = u[i], wi = w[i];
#pragma unroll
        for (int j = 0; j < W; j++) sum[j] += v[j] * ui, sum[W + j] += v[j] * wi;
    }
    return warp_sums<2 * W>(sum);
}

/* The warps' values of each lane, added in their order, in the first warp. */
__device__ double add_warps(double value, double shared[THREADS / 32][32])
{
    __syncthreads();
    shared[threadIdx.x / 32][threadIdx.x % 32] = value;
    __syncthreads();
    double sum = 0.0;
    for (int i = 0; i < THREADS / 32 && threadIdx.x < 32; i++) sum += shared[i][threadIdx.x];
    return sum;
}

/* Block (x, y): rows x, x + gridDim.x, … of panel y. The block of a panel that ends last adds up what all
 * have left in partial [panel][block][lane], in the order of blocks. */
__global__ void __launch_bounds__(THREADS, PAIR_RESIDENT)
    pair_sums(size_t n, int k, const double *V, size_t ld, double *partial, unsigned *finished, double *out)
{
    __shared__ double shared[THREADS / 32][32];
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
    for (int i = threadIdx.x / 32; i < gridDim.x; i += THREADS / 32) sum += __ldcg(panel + i * 32 + lane);
    sum = add_warps(sum, shared);
    if (threadIdx.x == 0) finished[blockIdx.y] = 0;
    const int j = lane % 16 * width / 16;
    if (threadIdx.x < 32 && lane % (16 / width) == 0 && j < columns) out[lane / 16 * k + first + j] = sum;
}

/* Both columns at the price of one: cuBLAS's dgemv takes as long with one, and its dgemm with two took 190 to
 * 420 us where sums of pairs took 17 to 390 (H200, 3 million rows, 2 to 64 columns). */
static fe_status cuda_dots_pair(fe_device *d, size_t n, int k, const double *V, size_t ld, double *out)
{
    cuda_device *c = self(d);
    const int panels = (k + PANEL - 1) / PANEL;
    const dim3 grid(fe_grid(n, THREADS) < PAIR_BLOCKS ? fe_grid(n, THREADS) : PAIR_BLOCKS, panels);
    if (c->panels < panels) {
        c->panels = 0; /* the older ones stay: recordings may use them */
        FE_TRY(fe_device_allocate(d, (size_t)panels * PAIR_BLOCKS * 32, sizeof(double), "partial sums",
                                  (void **)&c->partial));
        FE_TRY(
            fe_device_allocate(d, (size_t)panels, sizeof(unsigned), "partial sums", (void **)&c->finished));
        c->panels = panels;
    }
    if (n > 0)
        pair_sums<<<grid, THREADS, 0, c->stream>>>(n, k, V, ld, c->partial, c->finished, out);
    else
        FE_TRY(d->ops->zero(d, 2 * (size_t)k * sizeof *out, out));
    CUDA_TRY(cudaGetLastError());
    return FE_OK;
}

__global__ void put(int n, const int *at, double a, const double *values, double *x)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[at[i]] = values ? a * values[i] : 0.0;
}

static fe_status cuda_put(fe_device *d, int n, const int *at, double a, const double *values, double *x)
{
    FE_LAUNCH(d, n, THREADS, put, n, at, a, values, x);
    return FE_OK;
}

__global__ void take(int n, const int *at, const double *x, double *out)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[at[i]];
}

static fe_status cuda_take(fe_device *d, int n, const int *at, const double *x, double *out)
{
    FE_LAUNCH(d, n, THREADS, take, n, at, x, out);
    return FE_OK;
}

__global__ void take_nodes(int n, const int *node, const double *x, double *out)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 3 * n) out[i] = x[3 * (size_t)node[i / 3] + i % 3];
}

static fe_status cuda_take_nodes(fe_device *d, int n, const int *node, const double *x, double *out)
{
    FE_LAUNCH(d, 3 * n, THREADS, take_nodes, n, node, x, out);
    return FE_OK;
}

__global__ void take_sum(int n, const int *at, const double *x, double *out)
{
    double sum = 0.0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += x[at[i]];
    block_reduce<false>(sum, out);
}

static fe_status cuda_take_sum(fe_device *d, int n, const int *at, const double *x, double *out)
{
    FE_LAUNCH(d, 1024, 1024, take_sum, n, at, x, out);
    return FE_OK;
}

__global__ void largest(size_t n, const double *x, double *out)
{
    double value = 0.0;
    for (size_t i = threadIdx.x; i < n; i += blockDim.x) value = fmax(value, fabs(x[i]));
    block_reduce<true>(value, out);
}

static fe_status cuda_largest(fe_device *d, size_t n, const double *x, double *out)
{
    FE_LAUNCH(d, 1024, 1024, largest, n, x, out);
    return FE_OK;
}

/* The threads of a warp add up before one of them adds to *out. */
__global__ void fingerprint(size_t n, const uint64_t *word, unsigned long long *out)
{
    const size_t step = gridDim.x * (size_t)blockDim.x;
    unsigned long long sum = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += step)
        sum += fe_mix(word[i] + FE_WORD_STEP * i);
    for (int half = 16; half > 0; half /= 2) sum += __shfl_down_sync(0xffffffffu, sum, half);
    if (threadIdx.x % 32 == 0) atomicAdd(out, sum);
}

static fe_status cuda_fingerprint(fe_device *d, size_t n, const void *memory, uint64_t *out)
{
    FE_LAUNCH(d, 1 << 18, THREADS, fingerprint, n, (const uint64_t *)memory, (unsigned long long *)out);
    return FE_OK;
}

/* A node's constrained components stand next to each other in the sorted list, one thread each. */
__global__ void constrain_blocks(int n, const int *at, double *D)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || (i > 0 && at[i - 1] / 3 == at[i] / 3)) return;
    for (int j = i; j < n && at[j] / 3 == at[i] / 3; j++)
        fe_block_constrain(D + 9 * (size_t)(at[i] / 3), at[j] % 3);
}

static fe_status cuda_constrain_blocks(fe_device *d, int n, const int *at, double *D)
{
    FE_LAUNCH(d, n, THREADS, constrain_blocks, n, at, D);
    return FE_OK;
}

__global__ void invert_blocks(int n_node, double *D)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n_node) fe_block_invert(D + 9 * (size_t)i);
}

static fe_status cuda_invert_blocks(fe_device *d, int n_node, double *D)
{
    FE_LAUNCH(d, n_node, THREADS, invert_blocks, n_node, D);
    return FE_OK;
}

__global__ void apply_blocks(int n_node, const double *D, const double *x, double *y)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n_node) fe_block_apply(D + 9 * (size_t)i, x + 3 * (size_t)i, y + 3 * (size_t)i);
}

static fe_status cuda_apply_blocks(fe_device *d, int n_node, const double *D, const double *x, double *y)
{
    FE_LAUNCH(d, n_node, THREADS, apply_blocks, n_node, D, x, y);
    return FE_OK;
}

__global__ void ratio(const double *a, const double *b, double *out) { *out = *b != 0.0 ? *a / *b : 0.0; }
__global__ void square_root(double *a) { *a = sqrt(*a); }

/* Serial work on small matrices goes through shared memory, whose latency is a tenth of the cache's: one
 * block copies the n numbers, works, and copies them back. What is too large stays where it is. */
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

/* The first block makes the column of the small matrix while the others combine those of the basis, a row a
 * thread at a time, so that u and w are read before they are written. All find the factors for themselves. */
__global__ void __launch_bounds__(THREADS)
    delayed_column(size_t n, int j, int restart, double *workspace, double *V, size_t ld, const double *pair)
{
    extern __shared__ double memory[];
    const int k = j + 2, thread = threadIdx.x;
    double *dots = memory, *q = dots + 2 * k, *u = q + k, *rest = u + k; /* [2][k], [k], [k] */
    for (int i = thread; i < 2 * k; i += THREADS) dots[i] = pair[i];
    __syncthreads();
    const fe_delayed d = fe_delayed_of(j, dots);
    if (blockIdx.x == 0) {
        const size_t size = fe_delayed_size(restart);
        double *w = stage(workspace, size, rest);
        fe_delayed_column(w, restart, j, dots, &d, thread, THREADS);
        unstage(workspace, size, rest);
        return;
    }
    for (int i = thread; i < k; i += THREADS) fe_delayed_factors(j, dots, &d, i, q + i, u + i);
    __syncthreads();
    const size_t i = (blockIdx.x - 1) * (size_t)THREADS + thread;
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

static fe_status cuda_ratio(fe_device *d, const double *a, const double *b, double *out)
{
    FE_LAUNCH(d, 1, 1, ratio, a, b, out);
    return FE_OK;
}

static fe_status cuda_square_root(fe_device *d, double *a)
{
    FE_LAUNCH(d, 1, 1, square_root, a);
    return FE_OK;
}

static fe_status cuda_hessenberg_column(fe_device *d, int j, int restart, double *workspace)
{
    FE_LAUNCH(d, THREADS, THREADS, hessenberg_column, j, restart, workspace);
    return FE_OK;
}

static fe_status cuda_hessenberg_solve(fe_device *d, int k, int restart, double *workspace, double *y)
{
    FE_LAUNCH(d, THREADS, THREADS, hessenberg_solve, k, restart, workspace, y);
    return FE_OK;
}

/* 48 KiB of shared memory a block need no leave: 4 (m + 2) numbers, and the workspace where it fits. */
static fe_status cuda_delayed_column(fe_device *d, size_t n, int j, int restart, double *workspace, double *V,
                                     size_t ld, const double *pair)
{
    const size_t size = fe_delayed_size(restart), staged = size <= STAGED ? size : 0;
    const size_t shared = (4 * (size_t)(j + 2) + staged) * sizeof(double);
    delayed_column<<<1 + fe_grid(n, THREADS), THREADS, shared, self(d)->stream>>>(n, j, restart, workspace, V,
                                                                                  ld, pair);
    CUDA_TRY(cudaGetLastError());
    return FE_OK;
}

static fe_status cuda_delayed_finish(fe_device *d, int j, int restart, double *workspace, const double *s)
{
    FE_LAUNCH(d, THREADS, THREADS, delayed_finish, j, restart, workspace, s);
    return FE_OK;
}

/* Until `end` the device's stream is the other one. */
static fe_status cuda_beside_begin(fe_device *d)
{
    cuda_device *c = self(d);
    CUDA_TRY(cudaEventRecord(c->forked, c->stream));
    CUDA_TRY(cudaStreamWaitEvent(c->side, c->forked, 0));
    const cudaStream_t stream = c->stream;
    c->stream = c->side, c->side = stream;
    return FE_OK;
}

static fe_status cuda_beside_end(fe_device *d)
{
    cuda_device *c = self(d);
    const cudaStream_t stream = c->side;
    c->side = c->stream, c->stream = stream;
    CUDA_TRY(cudaEventRecord(c->ended, c->side));
    return FE_OK;
}

static fe_status cuda_join(fe_device *d)
{
    CUDA_TRY(cudaStreamWaitEvent(self(d)->stream, self(d)->ended, 0));
    return FE_OK;
}

/* Adds the time between recorded events to the phases that they began; keeps the last one as a start. */
static fe_status flush_events(cuda_device *c)
{
    FE_TRY(await(c, NULL)); /* the last event is behind all that was enqueued */
    for (int i = 0; i + 1 < c->n_event; i++) {
        float milliseconds = 0.0f;
        CUDA_TRY(cudaEventElapsedTime(&milliseconds, c->event[i], c->event[i + 1]));
        c->seconds[c->phase[i]] += 1e-3 * milliseconds;
    }
    const int last = c->n_event - 1;
    const cudaEvent_t swap = c->event[0];
    c->event[0] = c->event[last], c->event[last] = swap;
    c->phase[0] = c->phase[last], c->n_event = 1;
    return FE_OK;
}

/* Other ranks' threads of this process go on with their own work. */
static fe_status cuda_record_begin(fe_device *d)
{
    CUDA_TRY(cudaStreamBeginCapture(self(d)->stream, cudaStreamCaptureModeThreadLocal));
    self(d)->recording = 1;
    return FE_OK;
}

static fe_status cuda_record_end(fe_device *d, void **recording)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t executable = NULL;
    self(d)->recording = 0;
    CUDA_TRY(cudaStreamEndCapture(self(d)->stream, &graph));
    const cudaError_t error = cudaGraphInstantiate(&executable, graph, 0);
    cudaGraphDestroy(graph);
    CUDA_TRY(error);
    *recording = executable;
    return FE_OK;
}

static fe_status cuda_replay(fe_device *d, void *recording)
{
    CUDA_TRY(cudaGraphLaunch((cudaGraphExec_t)recording, self(d)->stream));
    return FE_OK;
}

static fe_status cuda_read_begin(fe_device *d, int slot, const double *x)
{
    cuda_device *c = self(d);
    d->bytes_from_device += (int64_t)sizeof *x;
    CUDA_TRY(cudaEventRecord(c->forked, c->stream));
    CUDA_TRY(cudaStreamWaitEvent(c->side, c->forked, 0));
    CUDA_TRY(cudaMemcpyAsync(c->arrived + slot, x, sizeof *x, cudaMemcpyDeviceToHost, c->side));
    CUDA_TRY(cudaEventRecord(c->read[slot], c->side));
    return FE_OK;
}

static fe_status cuda_read_end(fe_device *d, int slot, double *host)
{
    FE_TRY(await(self(d), self(d)->read[slot]));
    *host = self(d)->arrived[slot];
    return FE_OK;
}

static void cuda_forget(fe_device *d, void *recording)
{
    (void)d;
    if (recording) cudaGraphExecDestroy((cudaGraphExec_t)recording);
}

static fe_status cuda_phase(fe_device *d, int phase)
{
    cuda_device *c = self(d);
    if (c->recording) return FE_OK;
    if (c->phase[c->n_event - 1] == phase) return FE_OK;
    if (c->n_event == N_EVENT) FE_TRY(flush_events(c));
    CUDA_TRY(cudaEventRecord(c->event[c->n_event], c->stream));
    c->phase[c->n_event++] = phase;
    return FE_OK;
}

static fe_status cuda_seconds(fe_device *d, double seconds[FE_N_PHASE])
{
    cuda_device *c = self(d);
    const int phase = c->phase[c->n_event - 1];
    if (c->n_event == N_EVENT) FE_TRY(flush_events(c));
    CUDA_TRY(cudaEventRecord(c->event[c->n_event], c->stream));
    c->phase[c->n_event++] = phase;
    FE_TRY(flush_events(c));
    memcpy(seconds, c->seconds, sizeof c->seconds);
    memset(c->seconds, 0, sizeof c->seconds);
    return FE_OK;
}

const fe_backend fe_backend_cuda = {
    .name = "cuda",
    .open = cuda_open,
    .close = cuda_close,
    .allocate = cuda_allocate,
    .release = cuda_release,
    .zero = cuda_zero,
    .upload = cuda_upload,
    .download = cuda_download,
    .wait = cuda_wait,
    .copy = cuda_copy,
    .axpy = cuda_axpy,
    .scale = cuda_scale,
    .axpy_scalar = cuda_axpy_scalar,
    .xpay_scalar = cuda_xpay_scalar,
    .divide = cuda_divide,
    .dots = cuda_dots,
    .combine = cuda_combine,
    .dots_pair = cuda_dots_pair,
    .put = cuda_put,
    .take = cuda_take,
    .take_nodes = cuda_take_nodes,
    .take_sum = cuda_take_sum,
    .largest = cuda_largest,
    .fingerprint = cuda_fingerprint,
    .constrain_blocks = cuda_constrain_blocks,
    .invert_blocks = cuda_invert_blocks,
    .apply_blocks = cuda_apply_blocks,
    .ratio = cuda_ratio,
    .square_root = cuda_square_root,
    .hessenberg_column = cuda_hessenberg_column,
    .hessenberg_solve = cuda_hessenberg_solve,
    .delayed_column = cuda_delayed_column,
    .delayed_finish = cuda_delayed_finish,
    .beside_begin = cuda_beside_begin,
    .beside_end = cuda_beside_end,
    .join = cuda_join,
    .record_begin = cuda_record_begin,
    .record_end = cuda_record_end,
    .replay = cuda_replay,
    .read_begin = cuda_read_begin,
    .read_end = cuda_read_end,
    .forget = cuda_forget,
    .phase = cuda_phase,
    .seconds = cuda_seconds,
};
