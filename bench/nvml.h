/* A GPU as NVML shows it, the library that comes with the driver. It is looked for when the program runs, and
 * stays open. */
#ifndef BENCH_NVML_H
#define BENCH_NVML_H

#include "common/base/fe.h"

#ifdef __cplusplus
extern "C" {
#endif

/* nvmlFieldValue_t: `id` says what is asked for, the rest is the answer. */
typedef struct bench_nvml_field {
    unsigned id, scope;
    long long timestamp, latency; /* microseconds */
    unsigned type;                /* of the value, BENCH_NVML_DOUBLE ... */
    int code;                     /* 0: there is a value */
    union {
        double real;
        int whole;
        unsigned natural;
        unsigned long natural_long;
        unsigned long long natural_long_long;
        long long whole_long_long;
    } value;
} bench_nvml_field;
enum {
    BENCH_NVML_DOUBLE,
    BENCH_NVML_UINT,
    BENCH_NVML_ULONG,
    BENCH_NVML_ULLONG,
    BENCH_NVML_LLONG,
    BENCH_NVML_INT
};
enum { BENCH_NVML_SM_CLOCK = 1, BENCH_NVML_MEMORY_CLOCK = 2 };
/* NVML_FI_DEV_POWER_INSTANT, milliwatts: power now, where nvmlDeviceGetPowerUsage is a mean over 1 s on most
 * cards since Ampere. */
enum { BENCH_NVML_POWER_INSTANT = 186 };

/* A card and the functions of NVML that read it; NULL: the driver lacks it. They return 0 where all went
 * well. */
typedef struct bench_nvml {
    void *card;
    int (*clock)(void *card, int which, unsigned *megahertz);
    int (*fields)(void *card, int n, bench_nvml_field *field);
    int (*power)(void *card, unsigned *milliwatts);
    int (*temperature)(void *card, int sensor, unsigned *celsius);
    int (*reasons)(void *card, unsigned long long *bits);
    int (*energy)(void *card, unsigned long long *millijoules);
    const char *(*explain)(int code);
} bench_nvml;

/* The card at a place on the bus, by a library such as libnvidia-ml.so.1. FE_FAILED says why it was not
 * found.
 */
fe_status bench_nvml_open(const char *library, const char *bus, bench_nvml *nvml);
/* The first card of CUDA, that of bench_workload_open. NVML numbers all cards of the machine, CUDA those that
 * CUDA_VISIBLE_DEVICES names, so it is found by its place on the bus. */
fe_status bench_nvml_open_first(bench_nvml *nvml);
/* Power in watts, instantaneous where the driver tells it, otherwise nvmlDeviceGetPowerUsage; NAN: not known.
 */
double bench_nvml_watt(const bench_nvml *nvml);

#ifdef __cplusplus
}
#endif
#endif
