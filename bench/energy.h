/* Energy that a GPU or the host's processors take: NVML's counter of the whole card, or those of RAPL
 * (Linux's powercap) of all packages and their memory; and for a card its power over time, too.
 *
 * Counters advance in steps, on some cards of a tenth of a second, and NVML's power is that of a part of the
 * time (Yang, Adámek and Armour, arXiv:2312.02741). So a window begins and ends when the
 * counter advances, and several windows begin at shifted times. */
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
    double idle; /* watts with nothing to do; 0: not measured. The caller keeps it here */
} bench_energy;

/* The counters of a backend's device, the first one. FE_FAILED says why there are none, or why they cannot be
 * read. */
fe_status bench_energy_open(const fe_backend *backend, bench_energy *e);
/* Those of the host, in a folder such as /sys/class/powercap. */
fe_status bench_energy_open_host(const char *folder, bench_energy *e);
/* microjoules [n] */
fe_status bench_energy_read(const bench_energy *e, uint64_t *microjoules);
/* Joules between two readings. No counter may have begun again more than once in between. */
double bench_energy_between(const bench_energy *e, const uint64_t *before, const uint64_t *after);

/* Six: their range is then an interval of the median with more than 95 %. */
enum { BENCH_N_WINDOW = 6 };
typedef struct bench_energy_window {
    double seconds, calls;
    double joules;   /* by the counters */
    double by_power; /* power over time; NAN: it cannot be read */
} bench_energy_window;
/* Some milliseconds of what is measured, and *calls, how many these were. It may return while as much again
 * is still at work, so that a card is read at work. */
typedef fe_status (*bench_energy_work)(void *context, int64_t *calls);

/* Windows of so many seconds, window [BENCH_N_WINDOW], in which the work goes on without pause, and before
 * them for 0.3 s. FE_FAILED where a counter does not advance within a second. */
fe_status bench_energy_windows(const bench_energy *e, double seconds, bench_energy_work work, void *context,
                               bench_energy_window *window);
/* Watts by the counters over so many seconds in which this process does nothing, and a second before. */
fe_status bench_energy_idle(const bench_energy *e, double seconds, double *watts);

#ifdef __cplusplus
}
#endif
#endif
