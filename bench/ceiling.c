/* Measured ceilings and the clock, host version. */
#include "bench/ceiling.h"
#include "common/physics/real.h"
#include "common/report/row.h"
#include "have/cuda.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_RUN = 7, COPY_MB = 192, CHAINS = 12, STEPS = 120000000 };

/* Each thread copies its share with memcpy, which streams past the caches at this size. */
static double copy_seconds(int threads, size_t bytes, const char *from, char *to)
{
    const double start = fe_seconds();
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int t = 0; t < threads; t++) {
        const size_t first = bytes * (size_t)t / (size_t)threads,
                     last = bytes * (size_t)(t + 1) / (size_t)threads;
        memcpy(to + first, from + first, last - first);
    }
    return fe_seconds() - start;
}

/* Sum of count vectors. */
static double sum_of(size_t count, const fe_real *from)
{
    fe_real sum[4] = {fe_splat(0.0), fe_splat(0.0), fe_splat(0.0), fe_splat(0.0)};
    for (size_t i = 0; i + 4 <= count; i += 4)
        _Pragma("GCC unroll 4") for (int k = 0; k < 4; k++) sum[k] += from[i + k];
    return (sum[0] + sum[1] + sum[2] + sum[3])[0];
}

/* Each thread reads its share. */
static double read_seconds(int threads, size_t bytes, const char *from, double *sink)
{
    const size_t count = bytes / sizeof(fe_real);
    double total = 0.0;
    const double start = fe_seconds();
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : total)
    for (int t = 0; t < threads; t++) {
        const size_t first = count * (size_t)t / (size_t)threads,
                     last = count * (size_t)(t + 1) / (size_t)threads;
        total += sum_of(last - first, (const fe_real *)from + first);
    }
    *sink += total;
    return fe_seconds() - start;
}

/* CHAINS independent multiply-adds in flight: more than latency × units of current cores. */
static double fma_chains(double a)
{
    fe_real x[CHAINS], sum = fe_splat(0.0);
    const fe_real factor = fe_splat(a), add = fe_splat(1e-9);
    for (int i = 0; i < CHAINS; i++) x[i] = fe_splat(1.0 + 0.1 * i);
    for (int step = 0; step < STEPS / CHAINS; step++)
        _Pragma("GCC unroll 12") for (int i = 0; i < CHAINS; i++) x[i] = x[i] * factor + add;
    for (int i = 0; i < CHAINS; i++) sum += x[i];
    return sum[0];
}

static double fma_seconds(int threads, double *sink)
{
    double total = 0.0;
    const double start = fe_seconds();
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : total)
    for (int t = 0; t < threads; t++) total += fma_chains(0.999 + 1e-6 * t);
    *sink += total;
    return fe_seconds() - start;
}

static fe_status ceilings_host(fe_device *d, double *memory, double *flop)
{
    const int threads = d->threads;
    const size_t bytes = (size_t)COPY_MB << 20;
    char *from = NULL, *to = NULL;
    double seconds[N_RUN];
    volatile double sink = 0.0;
    fe_status status = fe_allocate(bytes, 1, "copy benchmark", (void **)&from);
    if (status == FE_OK) status = fe_allocate(bytes, 1, "copy benchmark", (void **)&to);
    if (status == FE_OK) {
        copy_seconds(threads, bytes, from, to);
        for (int i = 0; i < N_RUN; i++) seconds[i] = copy_seconds(threads, bytes, from, to);
        double total = to[bytes / 2];
        *memory = 2.0 * (double)bytes / fe_statistics_of(N_RUN, seconds).median;
        for (int i = 0; i < N_RUN; i++) seconds[i] = read_seconds(threads, bytes, from, &total);
        *memory = fmax(*memory, (double)bytes / fe_statistics_of(N_RUN, seconds).median);
        for (int i = 0; i < N_RUN; i++) seconds[i] = fma_seconds(threads, &total);
        sink = total;
        *flop = 2.0 * FE_LANES * (double)threads * (STEPS / CHAINS * CHAINS) /
                fe_statistics_of(N_RUN, seconds).median;
    }
    (void)sink;
    free(from), free(to);
    return status;
}

fe_status bench_ceilings(fe_device *d, double *memory, double *flop)
{
#if FE_HAVE_CUDA
    if (d->ops->on_gpu) return bench_ceilings_cuda(d, memory, flop);
#endif
    return ceilings_host(d, memory, flop);
}

static double started, marked;

fe_status bench_clock_start(fe_device *d)
{
#if FE_HAVE_CUDA
    if (d->ops->on_gpu) return bench_clock_start_cuda(d);
#endif
    FE_TRY(d->ops->wait(d));
    started = fe_seconds();
    return FE_OK;
}

fe_status bench_clock_mark(fe_device *d)
{
#if FE_HAVE_CUDA
    if (d->ops->on_gpu) return bench_clock_mark_cuda(d);
#endif
    FE_TRY(d->ops->wait(d));
    marked = fe_seconds();
    return FE_OK;
}

fe_status bench_clock_read(fe_device *d, double *seconds)
{
#if FE_HAVE_CUDA
    if (d->ops->on_gpu) return bench_clock_read_cuda(seconds);
#endif
    (void)d;
    *seconds = marked - started;
    return FE_OK;
}
