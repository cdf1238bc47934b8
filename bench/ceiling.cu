/* Measured ceilings and the clock, CUDA version. */
#include "bench/ceiling.h"
#include "common/backend/cuda.h"
#include "common/report/row.h"

enum { N_RUN = 9, BLOCK_SIZE = 256, CHAINS = 8, STEPS = 4096 };

/* A thread has IN_FLIGHT loads of 16 bytes on their way at a time; they bypass the cache. The store of the
 * reading kernel is never executed; it stops the compiler from removing the work. */
#define MEMORY_KERNELS(IN_FLIGHT)                                                                            \
    __global__ void copy_##IN_FLIGHT(size_t n, const double2 *from, double2 *to)                             \
    {                                                                                                        \
        const size_t stride = (size_t)gridDim.x * blockDim.x;                                                \
        size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;                                            \
        for (; i + (IN_FLIGHT - 1) * stride < n; i += IN_FLIGHT * stride) {                                  \
            double2 x[IN_FLIGHT];                                                                            \
            for (int k = 0; k < IN_FLIGHT; k++) x[k] = __ldcs(from + i + k * stride);                        \
            for (int k = 0; k < IN_FLIGHT; k++) __stcs(to + i + k * stride, x[k]);                           \
        }                                                                                                    \
        for (; i < n; i += stride) to[i] = from[i];                                                          \
    }                                                                                                        \
    __global__ void read_##IN_FLIGHT(size_t n, const double2 *from, double2 *to)                             \
    {                                                                                                        \
        const size_t stride = (size_t)gridDim.x * blockDim.x;                                                \
        double sum = 0.0;                                                                                    \
        size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;                                            \
        for (; i + (IN_FLIGHT - 1) * stride < n; i += IN_FLIGHT * stride) {                                  \
            double2 x[IN_FLIGHT];                                                                            \
            for (int k = 0; k < IN_FLIGHT; k++) x[k] = __ldcs(from + i + k * stride);                        \
            for (int k = 0; k < IN_FLIGHT; k++) sum += x[k].x + x[k].y;                                      \
        }                                                                                                    \
        for (; i < n; i += stride) sum += from[i].x + from[i].y;                                             \
        if (sum == -1.0) to[0].x = sum;                                                                      \
    }
MEMORY_KERNELS(1)
MEMORY_KERNELS(4)
MEMORY_KERNELS(8)
#undef MEMORY_KERNELS

/* How often each byte goes through memory: a copy reads and writes. */
typedef struct memory_kernel {
    void (*launch)(size_t n, const double2 *from, double2 *to);
    double moves;
} memory_kernel;
static const memory_kernel memory_kernels[] = {{copy_1, 2.0}, {copy_4, 2.0}, {copy_8, 2.0},
                                               {read_1, 1.0}, {read_4, 1.0}, {read_8, 1.0}};
static const int blocks_each[] = {2, 4, 8, 16, 32}; /* thread blocks per multiprocessor */
enum {
    N_KERNEL = sizeof memory_kernels / sizeof *memory_kernels,
    N_BLOCKS = sizeof blocks_each / sizeof *blocks_each
};

/* CHAINS independent multiply-adds per thread. The store is never executed; it stops the compiler from
 * removing the work. */
__global__ void fma_chains(double factor, double add, double *out)
{
    double x[CHAINS], sum = 0.0;
    for (int i = 0; i < CHAINS; i++) x[i] = threadIdx.x + 0.1 * i;
    for (int step = 0; step < STEPS; step++) {
#pragma unroll
        for (int i = 0; i < CHAINS; i++) x[i] = fma(x[i], factor, add);
    }
    for (int i = 0; i < CHAINS; i++) sum += x[i];
    if (sum == -1.0) out[0] = sum;
}

static cudaEvent_t event[2];

extern "C" fe_status bench_clock_start_cuda(fe_device *d)
{
    for (int i = 0; i < 2; i++)
        if (!event[i]) CUDA_TRY(cudaEventCreate(&event[i]));
    CUDA_TRY(cudaEventRecord(event[0], fe_cuda_stream(d)));
    return FE_OK;
}

extern "C" fe_status bench_clock_mark_cuda(fe_device *d)
{
    CUDA_TRY(cudaEventRecord(event[1], fe_cuda_stream(d)));
    return FE_OK;
}

extern "C" fe_status bench_clock_read_cuda(double *seconds)
{
    float milliseconds = 0.0f;
    CUDA_TRY(cudaEventSynchronize(event[1]));
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(cudaEventElapsedTime(&milliseconds, event[0], event[1]));
    *seconds = 1e-3 * milliseconds;
    return FE_OK;
}

/* Bytes per second of a kernel, the median. */
static fe_status measure_memory(fe_device *d, const memory_kernel *kernel, int blocks, size_t n,
                                const double2 *from, double2 *to, double *rate)
{
    double all[N_RUN];
    for (int i = -1; i < N_RUN; i++) { /* the first one warms up */
        double seconds;
        FE_TRY(bench_clock_start_cuda(d));
        kernel->launch<<<blocks, BLOCK_SIZE, 0, fe_cuda_stream(d)>>>(n, from, to);
        FE_TRY(bench_clock_mark_cuda(d));
        FE_TRY(bench_clock_read_cuda(&seconds));
        if (i >= 0) all[i] = seconds;
    }
    *rate = kernel->moves * (double)(n * sizeof *from) / fe_statistics_of(N_RUN, all).median;
    return FE_OK;
}

static fe_status run(fe_device *d, int blocks, size_t n, double2 *from, double2 *to, double *memory,
                     double *flop)
{
    double chains[N_RUN];
    *memory = 0.0;
    for (int k = 0; k < N_KERNEL * N_BLOCKS; k++) {
        double rate;
        FE_TRY(measure_memory(d, &memory_kernels[k / N_BLOCKS], blocks_each[k % N_BLOCKS] * blocks, n, from,
                              to, &rate));
        *memory = fmax(*memory, rate);
    }
    for (int i = -1; i < N_RUN; i++) {
        double seconds;
        FE_TRY(bench_clock_start_cuda(d));
        for (int k = 0; k < 10; k++)
            fma_chains<<<16 * blocks, BLOCK_SIZE, 0, fe_cuda_stream(d)>>>(0.999, 1e-9, (double *)to);
        FE_TRY(bench_clock_mark_cuda(d));
        FE_TRY(bench_clock_read_cuda(&seconds));
        if (i >= 0) chains[i] = seconds;
    }
    *flop = 10.0 * 2.0 * CHAINS * STEPS * 16.0 * blocks * BLOCK_SIZE / fe_statistics_of(N_RUN, chains).median;
    return FE_OK;
}

extern "C" fe_status bench_ceilings_cuda(fe_device *d, double *memory, double *flop)
{
    const size_t n = (size_t)1 << 26; /* 1 GiB: twenty times the largest cache */
    int device = 0, blocks = 0;
    void *from = NULL, *to = NULL;
    CUDA_TRY(cudaGetDevice(&device));
    CUDA_TRY(cudaDeviceGetAttribute(&blocks, cudaDevAttrMultiProcessorCount, device));
    fe_status status = fe_device_allocate(d, n, sizeof(double2), "copy benchmark", &from);
    if (status == FE_OK) status = fe_device_allocate(d, n, sizeof(double2), "copy benchmark", &to);
    if (status == FE_OK) status = run(d, blocks, n, (double2 *)from, (double2 *)to, memory, flop);
    if (to) d->ops->memory.release(d, to);
    if (from) d->ops->memory.release(d, from);
    return status;
}
