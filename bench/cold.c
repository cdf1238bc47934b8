/* Fills caches with other data; see cold.h. */
#include "bench/cold.h"
#include "common/base/cores.h"
#include "have/cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#if FE_HAVE_CUDA
#include <cuda_runtime_api.h>
#endif

/* How many cores of a set a list such as 0-3,8 names. */
static int count_listed(const char *list, const cpu_set_t *cores)
{
    int n = 0, first, last, length;
    for (; sscanf(list, "%d%n", &first, &length) == 1; list += *list == ',') {
        last = first, list += length;
        if (sscanf(list, "-%d%n", &last, &length) == 1) list += length;
        for (int core = first; core <= last && core < CPU_SETSIZE; core++) n += CPU_ISSET(core, cores) != 0;
    }
    return n;
}

static int read_line(const char *folder, int core, int index, const char *name, char text[256])
{
    char path[320];
    snprintf(path, sizeof path, "%s/cpu%d/cache/index%d/%s", folder, core, index, name);
    FILE *file = fopen(path, "re");
    const int read = file && fgets(text, 256, file);
    if (file) fclose(file);
    return read;
}

/* A core's part of its last cache: those that share it add up to the whole. */
static double part_of(const char *folder, int core, const cpu_set_t *cores)
{
    char text[256];
    double part = 0.0;
    for (int index = 0, last = 0; read_line(folder, core, index, "level", text); index++) {
        const int level = atoi(text);
        if (level < last || !read_line(folder, core, index, "size", text)) continue;
        const double kilobytes = atof(text);
        const int sharing =
            read_line(folder, core, index, "shared_cpu_list", text) ? count_listed(text, cores) : 0;
        if (sharing) last = level, part = 1024.0 * kilobytes / sharing;
    }
    return part;
}

size_t bench_cache_bytes(const char *folder)
{
    cpu_set_t cores;
    double bytes = 0.0;
    for (int core = 0; fe_cores_set(&cores) && core < CPU_SETSIZE; core++)
        if (CPU_ISSET(core, &cores)) bytes += part_of(folder, core, &cores);
    const long listed = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return bytes > 0.0 ? (size_t)(bytes + 0.5) : listed > 0 ? (size_t)listed : 0;
}

static fe_status find_cache(const fe_device *d, size_t *bytes)
{
#if FE_HAVE_CUDA
    if (d->ops->on_gpu) {
        int level2 = 0;
        const cudaError_t error = cudaDeviceGetAttribute(&level2, cudaDevAttrL2CacheSize, 0);
        if (error != cudaSuccess) return fe_fail(FE_FAILED, "CUDA: %s", cudaGetErrorString(error));
        *bytes = (size_t)level2;
        return FE_OK;
    }
#endif
    (void)d;
    *bytes = bench_cache_bytes("/sys/devices/system/cpu");
    return *bytes ? FE_OK : fe_fail(FE_FAILED, "the size of the last-level cache is not known");
}

fe_status bench_cold_open(fe_device *d, bench_cold *cold)
{
    size_t bytes;
    FE_TRY(find_cache(d, &bytes));
    *cold = (bench_cold){.n = BENCH_COLD_TIMES * bytes / sizeof *cold->word};
    FE_TRY(fe_device_allocate(d, cold->n, sizeof *cold->word, "data that fills the cache",
                              (void **)&cold->word));
    FE_TRY(fe_device_allocate(d, 1, sizeof *cold->sum, "data that fills the cache", (void **)&cold->sum));
    cold->device = d;
    return FE_OK;
}

fe_status bench_cold_fill(const bench_cold *cold)
{
    return cold->device->ops->memory.fingerprint(cold->device, cold->n, cold->word, cold->sum);
}
