/* Calls of CUDA, cuBLAS, cuSPARSE and NCCL between the program and their libraries, one of which fails, as
 * FE_DEVICE_FAULT says. `make` links a second `solve` with them (the linker's --wrap), for device.sh.
 *
 *   FE_DEVICE_FAULT=KIND:N   the N-th call of the kind, counted from 1; 0: none
 *
 * Kinds: memory (calls that allocate report that there is none left), lost (the call and all later ones
 * of that device report an error), nan (after a launch a number in the device's memory becomes NaN), nccl
 * (reports a failure of the system), poll (the same of what ranks ask again and again while they wait, so the
 * number of these calls differs from run to run). FE_DEVICE_COUNT=FILE: when the program ends, lines "KIND
 * CALLS" for all kinds are written there. */
#include "common/base/fe.h"
#include "have/cusparse.h"
#include "have/nccl.h"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#if FE_HAVE_CUSPARSE
#include <cusparse.h>
#endif
#if FE_HAVE_NCCL
#include <nccl.h>
#endif

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char kind[16];
static long wanted;
enum { MOST_DEVICES = 64 };
static int lost[MOST_DEVICES];
static struct {
    const char *kind;
    long calls;
} seen[] = {{"memory", 0}, {"lost", 0}, {"nan", 0}, {"nccl", 0}, {"poll", 0}};
enum { KINDS = sizeof seen / sizeof *seen };

__attribute__((constructor)) static void begin(void)
{
    const char *text = getenv("FE_DEVICE_FAULT");
    const char *colon = text ? strchr(text, ':') : NULL;
    if (!colon) return;
    snprintf(kind, sizeof kind, "%.*s", (int)(colon - text), text);
    wanted = strtol(colon + 1, NULL, 10);
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("FE_DEVICE_COUNT");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file) return;
    for (int i = 0; i < KINDS; i++) fprintf(file, "%s %ld\n", seen[i].kind, seen[i].calls);
    fclose(file);
}

/* Whether this call of a kind is the one. */
static int is_due(const char *what)
{
    int i = 0;
    while (strcmp(seen[i].kind, what)) i++;
    const long call = __atomic_add_fetch(&seen[i].calls, 1, __ATOMIC_RELAXED);
    return !strcmp(kind, what) && call == wanted;
}

/* A device that has failed reports this from then on. */
static const cudaError_t loss = cudaErrorECCUncorrectable;
static int *own_loss(void)
{
    int own = 0;
    cudaGetDevice(&own);
    return &lost[own % MOST_DEVICES];
}
static int is_lost(void)
{
    int *own = own_loss();
    if (is_due("lost")) *own = 1;
    return *own;
}

/* --- memory of the device, for nan ------------------------------------------------------------------- */

enum { MOST = 4096 };
static struct {
    char *memory;
    size_t bytes;
} block[MOST];
static int n_block;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

cudaError_t __real_cudaMemcpy(void *to, const void *from, size_t n, enum cudaMemcpyKind how);

static void note_block(void *memory, size_t bytes)
{
    pthread_mutex_lock(&lock);
    if (n_block < MOST) block[n_block].memory = memory, block[n_block++].bytes = bytes;
    pthread_mutex_unlock(&lock);
}

static void forget_block(const void *memory)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < n_block; i++)
        if (block[i].memory == memory) block[i] = block[--n_block];
    pthread_mutex_unlock(&lock);
}

/* Some double (or two floats) in the device's memory becomes NaN; integers do not look like one, zeros
 * neither.
 */
static void poison(void)
{
    uint64_t state = fe_mix((uint64_t)wanted);
    const double nan_value = NAN;
    pthread_mutex_lock(&lock);
    cudaDeviceSynchronize();
    for (int trial = 0; trial < 20000 && n_block; trial++) {
        double value = 0.0;
        const int i = (int)((state = fe_mix(state)) % (uint64_t)n_block);
        if (block[i].bytes < 8) continue;
        char *at = block[i].memory + 8 * ((state = fe_mix(state)) % (block[i].bytes / 8));
        if (__real_cudaMemcpy(&value, at, 8, cudaMemcpyDeviceToHost)) break;
        if (!(fabs(value) > 1e-30 && fabs(value) < 1e30)) continue;
        __real_cudaMemcpy(at, &nan_value, 8, cudaMemcpyHostToDevice);
        break;
    }
    pthread_mutex_unlock(&lock);
}

/* After a launch; while a graph is recorded nothing runs, and the next launch counts. */
static void launched(cudaStream_t stream)
{
    enum cudaStreamCaptureStatus recording = cudaStreamCaptureStatusNone;
    if (cudaStreamIsCapturing(stream, &recording) || recording != cudaStreamCaptureStatusNone) return;
    if (is_due("nan")) poison();
}

/* --- CUDA -------------------------------------------------------------------------------------------- */

/* A call that a lost device refuses. */
#define WORK(name, parameters, ...)                                                                          \
    cudaError_t __real_##name parameters;                                                                    \
    cudaError_t __wrap_##name parameters;                                                                    \
    cudaError_t __wrap_##name parameters { return is_lost() ? loss : __real_##name(__VA_ARGS__); }
/* One that ranks repeat while they wait, so that the number of calls differs from run to run: it is refused,
 * but not counted. */
#define QUESTION(name, parameters, ...)                                                                      \
    cudaError_t __real_##name parameters;                                                                    \
    cudaError_t __wrap_##name parameters;                                                                    \
    cudaError_t __wrap_##name parameters { return *own_loss() ? loss : __real_##name(__VA_ARGS__); }
/* One that allocates, too. */
#define ALLOCATION(name, parameters, ...)                                                                    \
    cudaError_t __real_##name parameters;                                                                    \
    cudaError_t __wrap_##name parameters;                                                                    \
    cudaError_t __wrap_##name parameters                                                                     \
    {                                                                                                        \
        if (is_due("memory")) return cudaErrorMemoryAllocation;                                              \
        return is_lost() ? loss : __real_##name(__VA_ARGS__);                                                \
    }

ALLOCATION(cudaMallocHost, (void **memory, size_t n), memory, n)
ALLOCATION(cudaHostAlloc, (void **memory, size_t n, unsigned flags), memory, n, flags)
ALLOCATION(cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned flags), stream, flags)
ALLOCATION(cudaStreamCreateWithPriority, (cudaStream_t * stream, unsigned flags, int priority), stream, flags,
           priority)
ALLOCATION(cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned flags), event, flags)
ALLOCATION(cudaGraphInstantiate, (cudaGraphExec_t * executable, cudaGraph_t graph, unsigned long long flags),
           executable, graph, flags)
WORK(cudaMemcpy, (void *to, const void *from, size_t n, enum cudaMemcpyKind how), to, from, n, how)
WORK(cudaMemcpyAsync, (void *to, const void *from, size_t n, enum cudaMemcpyKind how, cudaStream_t stream),
     to, from, n, how, stream)
WORK(cudaMemsetAsync, (void *memory, int value, size_t n, cudaStream_t stream), memory, value, n, stream)
WORK(cudaStreamSynchronize, (cudaStream_t stream), stream)
QUESTION(cudaStreamQuery, (cudaStream_t stream), stream)
WORK(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned flags), stream, event, flags)
WORK(cudaStreamBeginCapture, (cudaStream_t stream, enum cudaStreamCaptureMode mode), stream, mode)
WORK(cudaStreamEndCapture, (cudaStream_t stream, cudaGraph_t *graph), stream, graph)
WORK(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), event, stream)
QUESTION(cudaEventQuery, (cudaEvent_t event), event)
WORK(cudaEventSynchronize, (cudaEvent_t event), event)

cudaError_t __real_cudaMalloc(void **memory, size_t n);
cudaError_t __wrap_cudaMalloc(void **memory, size_t n);
cudaError_t __wrap_cudaMalloc(void **memory, size_t n)
{
    if (is_due("memory")) return cudaErrorMemoryAllocation;
    if (is_lost()) return loss;
    const cudaError_t error = __real_cudaMalloc(memory, n);
    if (!error) note_block(*memory, n);
    return error;
}

/* Not counted: what it returns at the end is of no use to anybody. */
cudaError_t __real_cudaFree(void *memory);
cudaError_t __wrap_cudaFree(void *memory);
cudaError_t __wrap_cudaFree(void *memory)
{
    forget_block(memory);
    return *own_loss() ? loss : __real_cudaFree(memory);
}

cudaError_t __real_cudaFreeHost(void *memory);
cudaError_t __wrap_cudaFreeHost(void *memory);
cudaError_t __wrap_cudaFreeHost(void *memory) { return *own_loss() ? loss : __real_cudaFreeHost(memory); }

/* Thousands of them, all alike: only the first counts. */
cudaError_t __real_cudaEventCreate(cudaEvent_t *event);
cudaError_t __wrap_cudaEventCreate(cudaEvent_t *event);
cudaError_t __wrap_cudaEventCreate(cudaEvent_t *event)
{
    static int n;
    if (__atomic_fetch_add(&n, 1, __ATOMIC_RELAXED) == 0 && is_due("memory"))
        return cudaErrorMemoryAllocation;
    return *own_loss() ? loss : __real_cudaEventCreate(event);
}

/* What a kernel's launch found is asked for with this. */
cudaError_t __real_cudaGetLastError(void);
cudaError_t __wrap_cudaGetLastError(void);
cudaError_t __wrap_cudaGetLastError(void) { return *own_loss() ? loss : __real_cudaGetLastError(); }

cudaError_t __real_cudaLaunchKernel(const void *kernel, dim3 grid, dim3 threads, void **arguments,
                                    size_t shared, cudaStream_t stream);
cudaError_t __wrap_cudaLaunchKernel(const void *kernel, dim3 grid, dim3 threads, void **arguments,
                                    size_t shared, cudaStream_t stream);
cudaError_t __wrap_cudaLaunchKernel(const void *kernel, dim3 grid, dim3 threads, void **arguments,
                                    size_t shared, cudaStream_t stream)
{
    if (is_lost()) return loss;
    const cudaError_t error = __real_cudaLaunchKernel(kernel, grid, threads, arguments, shared, stream);
    launched(stream);
    return error;
}

cudaError_t __real_cudaLaunchKernelExC(const cudaLaunchConfig_t *how, const void *kernel, void **arguments);
cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t *how, const void *kernel, void **arguments);
cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t *how, const void *kernel, void **arguments)
{
    if (is_lost()) return loss;
    const cudaError_t error = __real_cudaLaunchKernelExC(how, kernel, arguments);
    launched(how->stream);
    return error;
}

#if CUDART_VERSION >= 13000 /* what kernel<<<...>>> calls */
cudaError_t __real___cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 threads, void **arguments,
                                      size_t shared, cudaStream_t stream);
cudaError_t __wrap___cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 threads, void **arguments,
                                      size_t shared, cudaStream_t stream);
cudaError_t __wrap___cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 threads, void **arguments,
                                      size_t shared, cudaStream_t stream)
{
    if (is_lost()) return loss;
    const cudaError_t error = __real___cudaLaunchKernel(kernel, grid, threads, arguments, shared, stream);
    launched(stream);
    return error;
}
#endif

cudaError_t __real_cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream);
cudaError_t __wrap_cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream);
cudaError_t __wrap_cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream)
{
    if (is_lost()) return loss;
    const cudaError_t error = __real_cudaGraphLaunch(graph, stream);
    launched(stream);
    return error;
}

/* --- libraries --------------------------------------------------------------------------------------- */

cublasStatus_t __real_cublasCreate_v2(cublasHandle_t *handle);
cublasStatus_t __wrap_cublasCreate_v2(cublasHandle_t *handle);
cublasStatus_t __wrap_cublasCreate_v2(cublasHandle_t *handle)
{
    return is_due("memory") ? CUBLAS_STATUS_ALLOC_FAILED : __real_cublasCreate_v2(handle);
}

#if FE_HAVE_CUSPARSE
cusparseStatus_t __real_cusparseCreate(cusparseHandle_t *handle);
cusparseStatus_t __wrap_cusparseCreate(cusparseHandle_t *handle);
cusparseStatus_t __wrap_cusparseCreate(cusparseHandle_t *handle)
{
    return is_due("memory") ? CUSPARSE_STATUS_ALLOC_FAILED : __real_cusparseCreate(handle);
}
#endif

#if FE_HAVE_NCCL
#define NCCL_CALL(which, name, parameters, ...)                                                              \
    ncclResult_t __real_##name parameters;                                                                   \
    ncclResult_t __wrap_##name parameters;                                                                   \
    ncclResult_t __wrap_##name parameters                                                                    \
    {                                                                                                        \
        return is_due(which) ? ncclSystemError : __real_##name(__VA_ARGS__);                                 \
    }
NCCL_CALL("nccl", ncclGetUniqueId, (ncclUniqueId * id), id)
NCCL_CALL("nccl", ncclCommInitRank, (ncclComm_t * comm, int n, ncclUniqueId id, int rank), comm, n, id, rank)
NCCL_CALL("nccl", ncclGroupStart, (void), )
NCCL_CALL("nccl", ncclGroupEnd, (void), )
NCCL_CALL("nccl", ncclSend,
          (const void *from, size_t n, ncclDataType_t type, int to, ncclComm_t comm, cudaStream_t stream),
          from, n, type, to, comm, stream)
NCCL_CALL("nccl", ncclRecv,
          (void *to, size_t n, ncclDataType_t type, int from, ncclComm_t comm, cudaStream_t stream), to, n,
          type, from, comm, stream)
NCCL_CALL("nccl", ncclAllReduce,
          (const void *from, void *to, size_t n, ncclDataType_t type, ncclRedOp_t how, ncclComm_t comm,
           cudaStream_t stream),
          from, to, n, type, how, comm, stream)
NCCL_CALL("poll", ncclCommGetAsyncError, (ncclComm_t comm, ncclResult_t *error), comm, error)
#endif
