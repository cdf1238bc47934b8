/* Opens NVML; see nvml.h. */
#include "bench/nvml.h"
#include "have/cuda.h"

#include <dlfcn.h>
#include <math.h>

#if FE_HAVE_CUDA
#include <cuda_runtime_api.h>
#endif

fe_status bench_nvml_open(const char *library, const char *bus, bench_nvml *n)
{
    *n = (bench_nvml){0};
    void *nvml = dlopen(library, RTLD_NOW);
    if (!nvml) return fe_fail(FE_FAILED, "%s", dlerror());
    int (*const start)(void) = dlsym(nvml, "nvmlInit_v2");
    int (*const find)(const char *, void **) = dlsym(nvml, "nvmlDeviceGetHandleByPciBusId_v2");
    n->explain = dlsym(nvml, "nvmlErrorString");
    if (!start || !find || !n->explain) return fe_fail(FE_FAILED, "%s: is not NVML", library);
    n->clock = dlsym(nvml, "nvmlDeviceGetClockInfo");
    n->fields = dlsym(nvml, "nvmlDeviceGetFieldValues");
    n->power = dlsym(nvml, "nvmlDeviceGetPowerUsage");
    n->temperature = dlsym(nvml, "nvmlDeviceGetTemperature");
    n->reasons = dlsym(nvml, "nvmlDeviceGetCurrentClocksEventReasons"); /* since driver 535 */
    if (!n->reasons) n->reasons = dlsym(nvml, "nvmlDeviceGetCurrentClocksThrottleReasons");
    n->energy = dlsym(nvml, "nvmlDeviceGetTotalEnergyConsumption");
    int code = start();
    if (!code) code = find(bus, &n->card);
    return code ? fe_fail(FE_FAILED, "NVML: %s: %s", bus, n->explain(code)) : FE_OK;
}

fe_status bench_nvml_open_first(bench_nvml *n)
{
#if FE_HAVE_CUDA
    char bus[32];
    const cudaError_t error = cudaDeviceGetPCIBusId(bus, sizeof bus, 0);
    if (error != cudaSuccess) return fe_fail(FE_FAILED, "CUDA: %s", cudaGetErrorString(error));
    return bench_nvml_open("libnvidia-ml.so.1", bus, n);
#else
    *n = (bench_nvml){0};
    return fe_fail(FE_FAILED, "this build has no CUDA");
#endif
}

static double number_of(const bench_nvml_field *f)
{
    switch (f->type) {
    case BENCH_NVML_DOUBLE: return f->value.real;
    case BENCH_NVML_UINT: return f->value.natural;
    case BENCH_NVML_ULONG: return (double)f->value.natural_long;
    case BENCH_NVML_ULLONG: return (double)f->value.natural_long_long;
    case BENCH_NVML_LLONG: return (double)f->value.whole_long_long;
    case BENCH_NVML_INT: return f->value.whole;
    default: return NAN;
    }
}

double bench_nvml_watt(const bench_nvml *n)
{
    bench_nvml_field field = {.id = BENCH_NVML_POWER_INSTANT};
    unsigned milliwatts;
    if (n->fields && !n->fields(n->card, 1, &field) && !field.code) return 1e-3 * number_of(&field);
    return n->power && !n->power(n->card, &milliwatts) ? 1e-3 * milliwatts : NAN;
}
