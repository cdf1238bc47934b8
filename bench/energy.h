/* Energy that a GPU or the host's processors have taken: NVML's counter of the whole card, or those of RAPL
 * (Linux's powercap) of all packages and their memory. */
#ifndef BENCH_ENERGY_H
#define BENCH_ENERGY_H

#include "bench/nvml.h"
#include "common/backend/device.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { BENCH_MOST_COUNTERS = 32, BENCH_COUNTER_PATH = 256 };
/* Counters of one device, in microjoules; their sum is the energy. */
typedef struct bench_energy {
    int n;
    uint64_t range[BENCH_MOST_COUNTERS]; /* the value after which a counter begins at 0 again; 0: never */
    char path[BENCH_MOST_COUNTERS][BENCH_COUNTER_PATH]; /* of the host: files energy_uj */
    bench_nvml nvml;                                    /* of a GPU */
} bench_energy;

/* The counters of a backend's device, the first one. FE_FAILED says why there are none, or why they cannot be
 * read. */
fe_status bench_energy_open(const fe_backend *backend, bench_energy *e);
/* Those of the host, in a folder such as /sys/class/powercap. */
fe_status bench_energy_open_host(const char *folder, bench_energy *e);
/* microjoules [n] */
fe_status bench_energy_read(const bench_energy *e, uint64_t *microjoules);
/* Nanojoules between two readings, over n. No counter may have begun again more than once in between. */
double bench_energy_per(const bench_energy *e, const uint64_t *before, const uint64_t *after, double n);

#ifdef __cplusplus
}
#endif
#endif
