/* Measured limits of the hardware: copies through memory and reads, and fused multiply-adds in registers. And
 * the device's own clock. */
#ifndef BENCH_CEILING_H
#define BENCH_CEILING_H

#include "common/backend/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Medians of repeated runs, about a second: (bytes read + bytes written) / s of the fastest of several copies
 * and reads that are larger than the caches, and FP64 operations / s of fused multiply-adds (two each). */
fe_status bench_ceilings(fe_device *d, double *memory, double *flop);

/* Seconds between two points of the device's work: wall clock on the host, events on the device's stream.
 * read waits until the work up to the mark is done; what is enqueued after the mark does not count. */
fe_status bench_clock_start(fe_device *d);
fe_status bench_clock_mark(fe_device *d);
fe_status bench_clock_read(fe_device *d, double *seconds);

/* The same on the device; only in a build with CUDA. */
fe_status bench_ceilings_cuda(fe_device *d, double *memory, double *flop);
fe_status bench_clock_start_cuda(fe_device *d);
fe_status bench_clock_mark_cuda(fe_device *d);
fe_status bench_clock_read_cuda(double *seconds);

#ifdef __cplusplus
}
#endif
#endif
