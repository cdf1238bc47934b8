/* Measured ceilings and the clock, CUDA version. */
#include "bench/ceiling.h"
#include "common/backend/cuda.h"
#include "common/report/row.h"

enum { N_RUN = 9, BLOCK_SIZE = 256, CHAINS = 8, STEPS = 4096 };

__global__ void copy_all(size_t n, const double2 *from, double2 *to)
{
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += stride) to[i] = from[i];
}

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

extern "C" fe_status bench_clock_stop_cuda(fe_device *d, double *seconds)
{
    float milliseconds = 0.0f;
    CUDA_TRY(cudaEventRecord(event[1], fe_cuda_stream(d)));
    CUDA_TRY(cudaEventSynchronize(event[1]));
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(cudaEventElapsedTime(&milliseconds, event[0], event[1]));
    *seconds = 1e-3 * milliseconds;
    return FE_OK;
}

static fe_status run(fe_device *d, int blocks, size_t n, double2 *from, double2 *to, double *copy,
                     double *flop)
{
    double copies[N_RUN], chains[N_RUN];
    for (int i = -1; i < N_RUN; i++) { /* the first round warms up */
        double seconds;
        FE_TRY(bench_clock_start_cuda(d));
        copy_all<<<32 * blocks, BLOCK_SIZE, 0, fe_cuda_stream(d)>>>(n, from, to);
        FE_TRY(bench_clock_stop_cuda(d, &seconds));
        if (i >= 0) copies[i] = seconds;
        FE_TRY(bench_clock_start_cuda(d));
        for (int k = 0; k < 10; k++)
            fma_chains<<<16 * blocks, BLOCK_SIZE, 0, fe_cuda_stream(d)>>>(0.999, 1e-9, (double *)to);
        FE_TRY(bench_clock_stop_cuda(d, &seconds));
        if (i >= 0) chains[i] = seconds;
    }
    *copy = 2.0 * (double)(n * sizeof(double2)) / fe_statistics_of(N_RUN, copies).median;
    *flop = 10.0 * 2.0 * CHAINS * STEPS * 16.0 * blocks * BLOCK_SIZE / fe_statistics_of(N_RUN, chains).median;
    return FE_OK;
}

extern "C" fe_status bench_ceilings_cuda(fe_device *d, double *copy, double *flop)
{
    const size_t n = (size_t)1 << 26; /* 1 GiB: twenty times the largest cache */
    int device = 0, blocks = 0;
    void *from = NULL, *to = NULL;
    CUDA_TRY(cudaGetDevice(&device));
    CUDA_TRY(cudaDeviceGetAttribute(&blocks, cudaDevAttrMultiProcessorCount, device));
    fe_status status = fe_device_allocate(d, n, sizeof(double2), "copy benchmark", &from);
    if (status == FE_OK) status = fe_device_allocate(d, n, sizeof(double2), "copy benchmark", &to);
    if (status == FE_OK) status = run(d, blocks, n, (double2 *)from, (double2 *)to, copy, flop);
    if (to) d->ops->memory.release(d, to);
    if (from) d->ops->memory.release(d, from);
    return status;
}
