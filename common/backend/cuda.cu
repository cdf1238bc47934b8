/* The CUDA backend: one stream per device, cuBLAS with scalars on the device. */
#include "common/algebra/blocks.h"
#include "common/backend/cuda_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_SIZE = 256 };

extern "C" int fe_cuda_devices(void)
{
    int n = 0;
    if (cudaGetDeviceCount(&n) == cudaSuccess) return n;
    cudaGetLastError();
    return 0;
}

static void free_spare(cuda_device *c)
{
    if (!c->spare) return;
    cudaFree(c->spare->memory);
    free(c->spare);
    c->spare = NULL;
}

static void cuda_close(fe_device *d)
{
    if (!d) return;
    cuda_device *c = self(d);
    cudaSetDevice(c->ordinal);
    if (c->stream) cudaStreamSynchronize(c->stream);
    if (c->side) cudaStreamSynchronize(c->side);
    fe_device_release_kept(d);
    free_spare(c);
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
    if (c->staged) cudaFreeHost(c->staged);
    fe_cuda_side_stream_close(&c->side, &c->forked, &c->ended);
    if (c->stream) cudaStreamDestroy(c->stream);
    free(c);
}

/* Sums over blocks have their memory from the beginning: who allocates later may wait for the device, which
 * may wait for another rank. */
static fe_status reserve(cuda_device *c)
{
    fe_device *d = &c->base;
    const size_t panels = FE_SUM_PANELS;
    FE_TRY(fe_device_allocate(d, panels * FE_SUM_BLOCKS * 32, sizeof(double), "partial sums",
                              (void **)&c->partial));
    FE_TRY(fe_device_allocate(d, panels, sizeof(unsigned), "partial sums", (void **)&c->finished));
    FE_TRY(fe_device_allocate(d, 3 * FE_WAVE_BLOCKS + 32, sizeof(double), "partial sums",
                              (void **)&c->cg_partial));
    return fe_device_allocate(d, 1, sizeof(unsigned), "partial sums", (void **)&c->cg_finished);
}

static fe_status cuda_start(cuda_device *c)
{
    static const double constants[3] = {1.0, -1.0, 0.0};
    cudaDeviceProp properties;
    CUDA_TRY(cudaSetDevice(c->ordinal));
    CUDA_TRY(cudaGetDeviceProperties(&properties, c->ordinal));
    snprintf(c->base.name, sizeof c->base.name, "%.127s", properties.name);
    int driver = 0;
    CUDA_TRY(cudaDriverGetVersion(&driver));
    c->starts_early = properties.major >= 9 && driver >= 12030; /* older drivers do not record such starts */
    c->total = properties.totalGlobalMem;
    c->multiprocessors = properties.multiProcessorCount, c->cg_resident = -1;
    c->early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    c->early.val.programmaticStreamSerializationAllowed = 1;
    CUDA_TRY(cudaStreamCreateWithFlags(&c->stream, cudaStreamNonBlocking));
    FE_TRY(fe_cuda_side_stream(&c->side, &c->forked, &c->ended));
    CUBLAS_TRY(cublasCreate(&c->blas));
    CUBLAS_TRY(cublasSetStream(c->blas, c->stream));
    CUBLAS_TRY(cublasSetPointerMode(c->blas, CUBLAS_POINTER_MODE_DEVICE));
    CUDA_TRY(cudaMalloc((void **)&c->constants, sizeof constants));
    CUDA_TRY(cudaMemcpy(c->constants, constants, sizeof constants, cudaMemcpyHostToDevice));
    CUDA_TRY(cudaMallocHost((void **)&c->pinned, (FE_FEW + 1) * sizeof(double)));
    memset(c->pinned, 0, (FE_FEW + 1) * sizeof(double));
    CUDA_TRY(cudaMallocHost((void **)&c->staged, FE_STAGED * FE_STAGE_BYTES));
    CUDA_TRY(cudaMallocHost((void **)&c->arrived, 2 * sizeof(double)));
    for (int i = 0; i < 2; i++) CUDA_TRY(cudaEventCreateWithFlags(&c->read[i], cudaEventDisableTiming));
    for (int i = 0; i < N_EVENT; i++) CUDA_TRY(cudaEventCreate(&c->event[i]));
    CUDA_TRY(cudaEventRecord(c->event[0], c->stream));
    c->phase[0] = FE_PHASE_OTHER, c->n_event = 1;
    return reserve(c);
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

/* Whether all that was enqueued has ended; what led here keeps its message. */
static bool has_ended(cuda_device *c)
{
    char message[FE_MESSAGE_LENGTH];
    snprintf(message, sizeof message, "%s", fe_message());
    const bool ended = fe_cuda_await(c, NULL) == FE_OK;
    if (!ended) fe_fail(FE_FAILED, "%s", message);
    return ended;
}

static fe_status cuda_reserve(fe_device *d, size_t bytes, void **memory)
{
    allocation *a = (allocation *)calloc(1, sizeof *a);
    if (!a) return FE_OUT_OF_MEMORY;
    cudaError_t error = cudaMalloc(&a->memory, bytes);
    if (error == cudaErrorMemoryAllocation && self(d)->spare && has_ended(self(d))) {
        cudaGetLastError();
        free_spare(self(d));
        error = cudaMalloc(&a->memory, bytes);
    }
    if (error != cudaSuccess) {
        free(a);
        cudaGetLastError();
        if (error == cudaErrorMemoryAllocation) return FE_OUT_OF_MEMORY;
        CUDA_TRY(error);
    }
    a->bytes = bytes, a->next = self(d)->memory;
    self(d)->memory = a;
    *memory = a->memory;
    return FE_OK;
}

static fe_status cuda_allocate(fe_device *d, size_t bytes, void **memory)
{
    FE_TRY(cuda_reserve(d, bytes, memory));
    CUDA_TRY(cudaMemsetAsync(*memory, 0, bytes, self(d)->stream));
    return FE_OK;
}

/* What a kernel may still use that waits for a rank which is gone stays until the device is closed. */
static void cuda_release(fe_device *d, void *memory)
{
    for (allocation **a = &self(d)->memory; *a; a = &(*a)->next)
        if ((*a)->memory == memory) {
            allocation *found = *a;
            if (!has_ended(self(d))) return;
            cudaFree(found->memory);
            d->bytes_resident -= found->bytes;
            *a = found->next;
            free(found);
            return;
        }
}

extern "C" fe_status fe_cuda_take_spare(fe_device *d, size_t bytes, const char *what, void **memory)
{
    cuda_device *c = self(d);
    allocation *const spare = c->spare;
    if (!spare || spare->bytes < bytes) {
        free_spare(c);
        return fe_device_reserve(d, bytes, 1, what, memory);
    }
    spare->next = c->memory, c->memory = spare, c->spare = NULL;
    d->bytes_resident += spare->bytes;
    if (d->bytes_resident > d->bytes_peak) d->bytes_peak = d->bytes_resident;
    *memory = spare->memory;
    return FE_OK;
}

extern "C" void fe_cuda_leave_spare(fe_device *d, void *memory)
{
    cuda_device *c = self(d);
    for (allocation **a = &c->memory; *a; a = &(*a)->next) {
        allocation *const found = *a;
        if (found->memory != memory) continue;
        if (c->spare || d->bytes_resident + found->bytes > c->total / 2 || !has_ended(c)) break;
        d->bytes_resident -= found->bytes;
        *a = found->next, c->spare = found;
        return;
    }
    cuda_release(d, memory);
}

static fe_status cuda_zero(fe_device *d, size_t bytes, void *memory)
{
    CUDA_TRY(cudaMemsetAsync(memory, 0, bytes, self(d)->stream));
    return FE_OK;
}

/* The last thread clears what is no whole uint4. */
static __global__ void clear_memory(size_t n_word, uint32_t *memory)
{
    const size_t i = 4 * ((size_t)blockIdx.x * blockDim.x + threadIdx.x);
    fe_let_next_start();
    if (i + 4 <= n_word)
        *(uint4 *)(memory + i) = make_uint4(0, 0, 0, 0);
    else
        for (size_t k = i; k < n_word; k++) memory[k] = 0;
}
static fe_status cuda_clear(fe_device *d, size_t bytes, void *memory)
{
    if ((uintptr_t)memory % sizeof(uint4) || bytes % sizeof(uint32_t)) return cuda_zero(d, bytes, memory);
    const size_t n_word = bytes / sizeof(uint32_t);
    FE_LAUNCH(d, (n_word + 3) / 4, 256, clear_memory, n_word, (uint32_t *)memory);
    d->overlaps = bytes > 0;
    return FE_OK;
}

/* Few bytes go by way of memory that stays, so nobody waits for them, except when all places have been used.
 */
static fe_status upload_staged(cuda_device *c, size_t bytes, const void *host, void *memory)
{
    if (c->n_staged == FE_STAGED) {
        FE_TRY(fe_cuda_await(c, NULL));
        c->n_staged = 0;
    }
    char *const place = c->staged + (size_t)FE_STAGE_BYTES * c->n_staged++;
    memcpy(place, host, bytes);
    CUDA_TRY(cudaMemcpyAsync(memory, place, bytes, cudaMemcpyHostToDevice, c->stream));
    return FE_OK;
}

static fe_status cuda_upload(fe_device *d, size_t bytes, const void *host, void *memory)
{
    d->bytes_to_device += (int64_t)bytes;
    if (bytes <= FE_STAGE_BYTES) return upload_staged(self(d), bytes, host, memory);
    CUDA_TRY(cudaMemcpyAsync(memory, host, bytes, cudaMemcpyHostToDevice, self(d)->stream));
    return fe_cuda_await(self(d), NULL); /* the caller may free its memory */
}

/* Numbers to the host, and then the turn that says that they are there. */
__global__ void show(int n, const uint32_t *from, volatile uint32_t *to, volatile uint64_t *turn,
                     uint64_t now)
{
    if (threadIdx.x < n) to[threadIdx.x] = from[threadIdx.x];
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0) *turn = now;
}

/* A kernel and a host that looks take half the time of a copy and a host that is told. */
static fe_status download_few(cuda_device *c, size_t bytes, const void *memory, void *host)
{
    const int n = (int)(bytes / sizeof(uint32_t));
    volatile uint64_t *const turn = (volatile uint64_t *)(c->pinned + FE_FEW);
    show<<<1, 2 * FE_FEW, 0, c->stream>>>(n, (const uint32_t *)memory, (volatile uint32_t *)c->pinned, turn,
                                          ++c->turn);
    CUDA_TRY(cudaGetLastError());
    FE_TRY(fe_cuda_await_word(c, turn, c->turn - 1));
    memcpy(host, c->pinned, bytes);
    return FE_OK;
}

static fe_status cuda_download(fe_device *d, size_t bytes, const void *memory, void *host)
{
    cuda_device *c = self(d);
    d->bytes_from_device += (int64_t)bytes;
    const int phase = c->phase[c->n_event - 1];
    FE_TRY(fe_cuda_phase(d, FE_PHASE_HOST));
    if (bytes <= FE_FEW * sizeof(double) && bytes % sizeof(uint32_t) == 0) {
        FE_TRY(download_few(c, bytes, memory, host));
    } else {
        CUDA_TRY(cudaMemcpyAsync(host, memory, bytes, cudaMemcpyDeviceToHost, c->stream));
        FE_TRY(fe_cuda_await(c, NULL));
    }
    return fe_cuda_phase(d, phase);
}

static fe_status cuda_wait(fe_device *d)
{
    FE_TRY(fe_cuda_await(self(d), NULL));
    CUDA_TRY(cudaGetLastError());
    return FE_OK;
}

static fe_status cuda_copy(fe_device *d, size_t n, const double *x, double *y)
{
    CUDA_TRY(cudaMemcpyAsync(y, x, n * sizeof *y, cudaMemcpyDeviceToDevice, self(d)->stream));
    return FE_OK;
}

__global__ void axpy(size_t n, double a, const double *x, double *y)
{
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}

static fe_status cuda_axpy(fe_device *d, size_t n, double a, const double *x, double *y)
{
    FE_LAUNCH(d, n, BLOCK_SIZE, axpy, n, a, x, y);
    return FE_OK;
}

__global__ void scale(size_t n, double a, double *x)
{
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) x[i] *= a;
}

static fe_status cuda_scale(fe_device *d, size_t n, double a, double *x)
{
    FE_LAUNCH(d, n, BLOCK_SIZE, scale, n, a, x);
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

static fe_status cuda_dot(fe_device *d, size_t n, const double *x, const double *y, double *out)
{
    CUBLAS_TRY(cublasDdot_64(self(d)->blas, (int64_t)n, x, 1, y, 1, out));
    return FE_OK;
}

/* The sum over a block of threads, in thread 0; the order is fixed. */
static __device__ double block_sum(double value)
{
    __shared__ double shared[BLOCK_SIZE / 32];
    double sum = 0.0;
#pragma unroll
    for (int half = 16; half > 0; half /= 2) value += __shfl_down_sync(0xffffffffu, value, half);
    __syncthreads(); /* shared may still be read from the call before */
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
    __syncthreads();
    for (int i = 0; i < BLOCK_SIZE / 32 && threadIdx.x == 0; i++) sum += shared[i];
    return sum;
}

/* A thread's part of a product. */
static __device__ double part_of(const fe_scalar_product &p)
{
    const size_t step = gridDim.x * (size_t)BLOCK_SIZE;
    double sum = 0.0;
#pragma unroll 4
    for (size_t k = blockIdx.x * (size_t)BLOCK_SIZE + threadIdx.x; k < p.n; k += step) {
        const size_t i = p.at ? (size_t)p.at[k] : k;
        sum += p.x[i] * p.y[i];
    }
    return sum;
}

struct products {
    fe_scalar_product product[FE_MOST_PRODUCTS];
};

/* The block that ends last adds the sums of all blocks, in their order: partial [n][blocks]. */
__global__ void __launch_bounds__(BLOCK_SIZE)
    dots(int n, products all, double *partial, unsigned *finished, double *out)
{
    __shared__ bool last;
    for (int i = 0; i < n; i++) {
        const double sum = block_sum(part_of(all.product[i]));
        if (threadIdx.x == 0) __stcg(partial + (size_t)i * gridDim.x + blockIdx.x, sum);
    }
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(finished, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    for (int i = 0; i < n; i++) {
        double sum = 0.0;
        for (unsigned b = threadIdx.x; b < gridDim.x; b += BLOCK_SIZE)
            sum += __ldcg(partial + (size_t)i * gridDim.x + b);
        sum = block_sum(sum);
        if (threadIdx.x == 0) out[i] = sum;
    }
    if (threadIdx.x == 0) *finished = 0;
}

static fe_status cuda_dots(fe_device *d, int n, const fe_scalar_product *product, double *out)
{
    cuda_device *c = self(d);
    products all = {};
    size_t most = 1;
    for (int i = 0; i < n; i++) {
        all.product[i] = product[i];
        if (product[i].n > most) most = product[i].n;
    }
    const unsigned chunks = fe_grid(most, BLOCK_SIZE),
                   blocks = chunks < FE_SUM_BLOCKS ? chunks : FE_SUM_BLOCKS;
    dots<<<blocks, BLOCK_SIZE, 0, c->stream>>>(n, all, c->partial, c->finished, out);
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
    FE_LAUNCH(d, n, BLOCK_SIZE, put, n, at, a, values, x);
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

__global__ void round_nodes(size_t n, const double *x, const double *origin, float *out)
{
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) out[i] = (float)(x[i] - origin[i % 3]);
}

static fe_status cuda_round_nodes(fe_device *d, int n, int origin, const double *x, float *out)
{
    FE_LAUNCH(d, 3 * (size_t)n, BLOCK_SIZE, round_nodes, 3 * (size_t)n, x, x + 3 * (size_t)origin, out);
    return FE_OK;
}

/* A block of threads per group. */
__global__ void __launch_bounds__(BLOCK_SIZE)
    take_sums(fe_groups groups, const double *x, const double *y, double *out)
{
    double sum = 0.0;
#pragma unroll 4
    for (int k = groups.first[blockIdx.x] + threadIdx.x; k < groups.first[blockIdx.x + 1]; k += BLOCK_SIZE) {
        const int i = groups.at[k];
        sum += y ? x[i] - y[i] : x[i];
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

static fe_status cuda_take_sums(fe_device *d, const fe_groups *groups, const double *x, const double *y,
                                double *out)
{
    FE_LAUNCH(d, (size_t)groups->n * BLOCK_SIZE, BLOCK_SIZE, take_sums, *groups, x, y, out);
    return FE_OK;
}

/* Doubles that are not negative are in the order of their bits. Of each warp one thread raises *out,
 * which is zero before, to its largest. */
__global__ void largest(size_t n, const double *x, unsigned long long *out)
{
    const size_t step = gridDim.x * (size_t)blockDim.x;
    double value = 0.0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += step)
        value = fmax(value, fabs(x[i]));
    for (int half = 16; half > 0; half /= 2) value = fmax(value, __shfl_down_sync(0xffffffffu, value, half));
    if (threadIdx.x % 32 == 0) atomicMax(out, (unsigned long long)__double_as_longlong(value));
}

static fe_status cuda_largest(fe_device *d, size_t n, const double *x, double *out)
{
    CUDA_TRY(cudaMemsetAsync(out, 0, sizeof *out, self(d)->stream));
    FE_LAUNCH(d, n < 1 << 18 ? n : 1 << 18, BLOCK_SIZE, largest, n, x, (unsigned long long *)out);
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
    if (i < n_node) fe_block_apply(inverse + 6 * (size_t)i, x + 3 * (size_t)i, y + 3 * (size_t)i);
}

static fe_status cuda_block_apply(fe_device *d, int n_node, const float *inverse, const double *x, double *y)
{
    FE_LAUNCH(d, n_node, BLOCK_SIZE, apply_blocks, n_node, inverse, x, y);
    return FE_OK;
}

__global__ void apply_blocks_absolute(int n_node, const double *D, const double *x, double *y)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n_node) fe_block_apply_absolute(D + 9 * (size_t)i, x + 3 * (size_t)i, y + 3 * (size_t)i);
}

static fe_status cuda_block_apply_absolute(fe_device *d, int n_node, const double *D, const double *x,
                                           double *y)
{
    FE_LAUNCH(d, n_node, BLOCK_SIZE, apply_blocks_absolute, n_node, D, x, y);
    return FE_OK;
}

__global__ void square_root(double *a) { *a = sqrt(*a); }

static fe_status cuda_square_root(fe_device *d, double *a)
{
    FE_LAUNCH(d, 1, 1, square_root, a);
    return FE_OK;
}

template <typename From, typename To> static __global__ void convert(size_t n, const From *x, To *y)
{
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) y[i] = (To)x[i];
}

static fe_status cuda_widen(fe_device *d, size_t n, const float *x, double *y)
{
    FE_LAUNCH(d, n, BLOCK_SIZE, convert, n, x, y);
    return FE_OK;
}

static fe_status cuda_narrow(fe_device *d, size_t n, const double *x, float *y)
{
    FE_LAUNCH(d, n, BLOCK_SIZE, convert, n, x, y);
    return FE_OK;
}

const fe_backend fe_backend_cuda = {
    .name = "cuda",
    .on_gpu = 1,
    .open = cuda_open,
    .close = cuda_close,
    .wait = cuda_wait,
    .phase = fe_cuda_phase,
    .seconds = fe_cuda_seconds,
    .memory = {.allocate = cuda_allocate,
               .reserve = cuda_reserve,
               .release = cuda_release,
               .zero = cuda_zero,
               .clear = cuda_clear,
               .upload = cuda_upload,
               .download = cuda_download,
               .fingerprint = cuda_fingerprint},
    .vector = {.copy = cuda_copy,
               .axpy = cuda_axpy,
               .scale = cuda_scale,
               .add = cuda_add,
               .dot = cuda_dot,
               .dots = cuda_dots,
               .largest = cuda_largest,
               .put = cuda_put,
               .take = cuda_take,
               .take_sums = cuda_take_sums,
               .take_nodes = cuda_take_nodes,
               .round_nodes = cuda_round_nodes,
               .square_root = cuda_square_root,
               .widen = cuda_widen,
               .narrow = cuda_narrow},
    .block = {.constrain = cuda_block_constrain,
              .invert = cuda_block_invert,
              .apply = cuda_block_apply,
              .apply_absolute = cuda_block_apply_absolute},
    .side = {.begin = fe_cuda_side_begin,
             .end = fe_cuda_side_end,
             .join = fe_cuda_side_join,
             .read_begin = fe_cuda_read_begin,
             .read_end = fe_cuda_read_end,
             .landing = fe_cuda_landing,
             .expect = fe_cuda_expect},
    .recording = {.begin = fe_cuda_record_begin,
                  .end = fe_cuda_record_end,
                  .replay = fe_cuda_replay,
                  .forget = fe_cuda_forget},
};
