/* The CUDA backend: one stream per device, cuBLAS with scalars on the device, times from events. */
#include "common/algebra/blocks.h"
#include "common/backend/cuda_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_SIZE = 256 };

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

/* Waits for an event, or where it is NULL for all enqueued work. With a watcher it polls, because kernels
 * that wait for other ranks may never end. */
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

/* Code for compute capability 9.0 and later, even if the driver translated it for a later device. */
__global__ void probe(int *out) { *out = 1; }
static fe_status find_overlap(cuda_device *c)
{
    cudaFuncAttributes code;
    CUDA_TRY(cudaFuncGetAttributes(&code, probe));
    c->overlaps = code.ptxVersion >= 90;
    return FE_OK;
}

extern "C" int fe_cuda_may_overlap(fe_device *d)
{
    const cuda_device *c = self(d);
    cudaStreamCaptureStatus capture;
    const cudaGraphNode_t *before = NULL;
    const cudaGraphEdgeData *edge = NULL;
    cudaGraphNodeType type;
    size_t n = 0;
    if (!c->base.overlap || !c->recording || !c->overlaps) return 0;
#if CUDART_VERSION >= 13000
    const cudaError_t error = cudaStreamGetCaptureInfo(c->stream, &capture, NULL, NULL, &before, &edge, &n);
#else
    const cudaError_t error =
        cudaStreamGetCaptureInfo_v3(c->stream, &capture, NULL, NULL, &before, &edge, &n);
#endif
    return error == cudaSuccess && capture == cudaStreamCaptureStatusActive && n == 1 &&
           cudaGraphNodeGetType(before[0], &type) == cudaSuccess && type == cudaGraphNodeTypeKernel;
}

static fe_status cuda_start(cuda_device *c)
{
    static const double constants[3] = {1.0, -1.0, 0.0};
    cudaDeviceProp properties;
    CUDA_TRY(cudaSetDevice(c->ordinal));
    CUDA_TRY(cudaGetDeviceProperties(&properties, c->ordinal));
    FE_TRY(find_overlap(c));
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

__global__ void __launch_bounds__(BLOCK_SIZE) clear(size_t n, double *x)
{
    const size_t i = blockIdx.x * (size_t)BLOCK_SIZE + threadIdx.x;
    fe_wait_for_last_kernel();
    if (i < n) x[i] = 0.0;
}

/* A kernel may overlap with its neighbours, which cudaMemsetAsync may not. */
static fe_status cuda_zero(fe_device *d, size_t bytes, void *memory)
{
    if (d->overlap && self(d)->recording && bytes % sizeof(double) == 0) {
        FE_LAUNCH_OVERLAPPED(d, bytes / sizeof(double), BLOCK_SIZE, clear, bytes / sizeof(double),
                             (double *)memory);
        return FE_OK;
    }
    CUDA_TRY(cudaMemsetAsync(memory, 0, bytes, self(d)->stream));
    return FE_OK;
}

static fe_status cuda_upload(fe_device *d, size_t bytes, const void *host, void *memory)
{
    d->bytes_to_device += (int64_t)bytes;
    CUDA_TRY(cudaMemcpyAsync(memory, host, bytes, cudaMemcpyHostToDevice, self(d)->stream));
    return await(self(d), NULL); /* the caller may free its memory */
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

static fe_status cuda_download(fe_device *d, size_t bytes, const void *memory, void *host)
{
    cuda_device *c = self(d);
    d->bytes_from_device += (int64_t)bytes;
    void *landing = bytes <= 64 * sizeof(double) ? (void *)c->pinned : host;
    const int phase = c->phase[c->n_event - 1];
    FE_TRY(cuda_phase(d, FE_PHASE_HOST));
    CUDA_TRY(cudaMemcpyAsync(landing, memory, bytes, cudaMemcpyDeviceToHost, c->stream));
    FE_TRY(await(c, NULL));
    if (landing != host) memcpy(host, landing, bytes);
    return cuda_phase(d, phase);
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
    FE_LAUNCH(d, n, BLOCK_SIZE, linear, n, a, NULL, x, 1.0, NULL, y);
    return FE_OK;
}

static fe_status cuda_scale(fe_device *d, size_t n, double a, double *x)
{
    FE_LAUNCH(d, n, BLOCK_SIZE, linear, n, a, NULL, x, 0.0, NULL, x);
    return FE_OK;
}

__global__ void add(size_t n, const double *x, double a, const double *y, double *out)
{
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] + a * y[i];
}

static fe_status cuda_add(fe_device *d, size_t n, const double *x, double a, const double *y, double *out)
{
    FE_LAUNCH(d, n, BLOCK_SIZE, add, n, x, a, y, out);
    return FE_OK;
}

static fe_status cuda_axpy_scalar(fe_device *d, size_t n, double sign, const double *a, const double *x,
                                  double *y)
{
    FE_LAUNCH(d, n, BLOCK_SIZE, linear, n, sign, a, x, 1.0, NULL, y);
    return FE_OK;
}

static fe_status cuda_xpay_scalar(fe_device *d, size_t n, const double *x, const double *a, double *y)
{
    FE_LAUNCH(d, n, BLOCK_SIZE, linear, n, 1.0, NULL, x, 1.0, a, y);
    return FE_OK;
}

__global__ void divide(size_t n, const double *x, const double *a, double *y)
{
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) y[i] = *a != 0.0 ? x[i] / *a : 0.0;
}

static fe_status cuda_divide(fe_device *d, size_t n, const double *x, const double *a, double *y)
{
    FE_LAUNCH(d, n, BLOCK_SIZE, divide, n, x, a, y);
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

__global__ void put(int n, const int *at, double a, const double *values, double *x)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    fe_wait_for_last_kernel();
    if (i < n) x[at[i]] = values ? a * values[i] : 0.0;
}

static fe_status cuda_put(fe_device *d, int n, const int *at, double a, const double *values, double *x)
{
    FE_LAUNCH_OVERLAPPED(d, n, BLOCK_SIZE, put, n, at, a, values, x);
    return FE_OK;
}

__global__ void take(int n, const int *at, const double *x, double *out)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[at[i]];
}

static fe_status cuda_take(fe_device *d, int n, const int *at, const double *x, double *out)
{
    FE_LAUNCH(d, n, BLOCK_SIZE, take, n, at, x, out);
    return FE_OK;
}

__global__ void take_nodes(int n, const int *node, const double *x, double *out)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 3 * n) out[i] = x[3 * (size_t)node[i / 3] + i % 3];
}

static fe_status cuda_take_nodes(fe_device *d, int n, const int *node, const double *x, double *out)
{
    FE_LAUNCH(d, 3 * n, BLOCK_SIZE, take_nodes, n, node, x, out);
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

/* The threads of a warp form their sum; then one of them adds it to *out. */
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
    FE_LAUNCH(d, 1 << 18, BLOCK_SIZE, fingerprint, n, (const uint64_t *)memory, (unsigned long long *)out);
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

static fe_status cuda_block_constrain(fe_device *d, int n, const int *at, double *D)
{
    FE_LAUNCH(d, n, BLOCK_SIZE, constrain_blocks, n, at, D);
    return FE_OK;
}

__global__ void invert_blocks(int n_node, const double *D, const double *scale, float *inverse)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n_node) fe_block_invert(D + 9 * (size_t)i, *scale, inverse + 6 * (size_t)i);
}

static fe_status cuda_block_invert(fe_device *d, int n_node, const double *D, const double *scale,
                                   float *inverse)
{
    FE_LAUNCH(d, n_node, BLOCK_SIZE, invert_blocks, n_node, D, scale, inverse);
    return FE_OK;
}

__global__ void apply_blocks(int n_node, const float *inverse, const double *x, double *y)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    fe_wait_for_last_kernel();
    if (i < n_node) fe_block_apply(inverse + 6 * (size_t)i, x + 3 * (size_t)i, y + 3 * (size_t)i);
}

static fe_status cuda_block_apply(fe_device *d, int n_node, const float *inverse, const double *x, double *y)
{
    FE_LAUNCH_OVERLAPPED(d, n_node, BLOCK_SIZE, apply_blocks, n_node, inverse, x, y);
    return FE_OK;
}

__global__ void ratio(const double *a, const double *b, double *out) { *out = *b != 0.0 ? *a / *b : 0.0; }
__global__ void square_root(double *a) { *a = sqrt(*a); }

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

/* Work on the side stream waits for all work enqueued so far. */
static fe_status fork_side(cuda_device *c)
{
    CUDA_TRY(cudaEventRecord(c->forked, c->stream));
    CUDA_TRY(cudaStreamWaitEvent(c->side, c->forked, 0));
    return FE_OK;
}

/* Until `end`, the side stream is the device's stream. */
static fe_status cuda_side_begin(fe_device *d)
{
    cuda_device *c = self(d);
    FE_TRY(fork_side(c));
    const cudaStream_t stream = c->stream;
    c->stream = c->side, c->side = stream;
    return FE_OK;
}

static fe_status cuda_side_end(fe_device *d)
{
    cuda_device *c = self(d);
    const cudaStream_t stream = c->side;
    c->side = c->stream, c->stream = stream;
    CUDA_TRY(cudaEventRecord(c->ended, c->side));
    return FE_OK;
}

static fe_status cuda_side_join(fe_device *d)
{
    CUDA_TRY(cudaStreamWaitEvent(self(d)->stream, self(d)->ended, 0));
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
    FE_TRY(fork_side(c));
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
    .wait = cuda_wait,
    .phase = cuda_phase,
    .seconds = cuda_seconds,
    .memory = {.allocate = cuda_allocate,
               .release = cuda_release,
               .zero = cuda_zero,
               .upload = cuda_upload,
               .download = cuda_download,
               .fingerprint = cuda_fingerprint},
    .vector = {.copy = cuda_copy,
               .axpy = cuda_axpy,
               .scale = cuda_scale,
               .add = cuda_add,
               .axpy_scalar = cuda_axpy_scalar,
               .xpay_scalar = cuda_xpay_scalar,
               .divide = cuda_divide,
               .largest = cuda_largest,
               .put = cuda_put,
               .take = cuda_take,
               .take_sum = cuda_take_sum,
               .take_nodes = cuda_take_nodes,
               .ratio = cuda_ratio,
               .square_root = cuda_square_root},
    .column = {.dots = cuda_dots,
               .dots_pair = fe_cuda_dots_pair,
               .combine = cuda_combine,
               .hessenberg_column = fe_cuda_hessenberg_column,
               .hessenberg_solve = fe_cuda_hessenberg_solve,
               .delayed_column = fe_cuda_delayed_column,
               .delayed_finish = fe_cuda_delayed_finish,
               .cg_sums = fe_cuda_cg_sums,
               .cg_update = fe_cuda_cg_update},
    .block = {.constrain = cuda_block_constrain, .invert = cuda_block_invert, .apply = cuda_block_apply},
    .side = {.begin = cuda_side_begin,
             .end = cuda_side_end,
             .join = cuda_side_join,
             .read_begin = cuda_read_begin,
             .read_end = cuda_read_end},
    .recording = {.begin = cuda_record_begin,
                  .end = cuda_record_end,
                  .replay = cuda_replay,
                  .forget = cuda_forget},
};
