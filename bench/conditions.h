/* The conditions of a sample: clocks, power, temperature and throttling of the GPU by NVML; on the host the
 * share of its cores that other processes take, and their frequency.
 *
 * Nothing here runs between the two readings of a sample's clock. */
#ifndef BENCH_CONDITIONS_H
#define BENCH_CONDITIONS_H

#include "bench/nvml.h"
#include "common/backend/device.h"
#include "common/report/row.h"

#include <sched.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bench_conditions {
    bench_nvml nvml;      /* card NULL: there is no GPU to read */
    int on_host;          /* what is timed runs on the host's cores: their frequency counts */
    const char *stat;     /* /proc/stat */
    const char *cpu;      /* /sys/devices/system/cpu */
    const char *cpu_info; /* /proc/cpuinfo */
    cpu_set_t cores;      /* that this process may use */
    /* where the window of a sample begins: seconds of the clock, of this process on cores, and of idle cores,
     * and how many of these there are (0: not known) */
    double start, own, idle;
    int n_core;
} bench_conditions;

/* Of a backend's first device. What cannot be read stays unknown; a line on stderr says why a GPU cannot. */
void bench_conditions_open(const fe_backend *backend, bench_conditions *c);
/* Before a sample, and before what warms it up. */
void bench_conditions_begin(bench_conditions *c);
/* Behind a sample, whose own numbers it leaves as they are: on a GPU while the device is still at work. */
void bench_conditions_end(const bench_conditions *c, fe_sample *sample);

/* UTC, seconds since the epoch. */
double bench_utc(void);

#ifdef __cplusplus
}
#endif
#endif
