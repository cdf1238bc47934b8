/* Calls that find no data of theirs in the last-level cache. */
#ifndef BENCH_COLD_H
#define BENCH_COLD_H

#include "common/backend/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of what was in a cache that replaces lines at random, reading four times its size leaves exp(-4), 2 %. */
enum { BENCH_COLD_TIMES = 4 };
/* Memory on a device, so many times as large as its last-level cache: level 2 of a GPU, on the host all that
 * the cores of this process share. It lives as long as the device. */
typedef struct bench_cold {
    fe_device *device;
    size_t n; /* words */
    uint64_t *word, *sum;
} bench_cold;

fe_status bench_cold_open(fe_device *d, bench_cold *cold);
/* Reads all of it, so that the cache holds nothing else. Reading leaves nothing that has to be written back
 * during the call that follows. Only enqueues. */
fe_status bench_cold_fill(const bench_cold *cold);

/* Bytes of the last-level caches that the cores of this process use, by a folder such as
 * /sys/devices/system/cpu; 0: not known. */
size_t bench_cache_bytes(const char *folder);

#ifdef __cplusplus
}
#endif
#endif
