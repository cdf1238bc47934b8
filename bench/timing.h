/* Clocks of the program `kernels`: energies, and samples with their conditions. C++. */
#ifndef BENCH_TIMING_H
#define BENCH_TIMING_H

#include "bench/point.h"

#include <benchmark/benchmark.h>

namespace bench
{

/* Takes what Google Benchmark counts as one sample of a point. The first one of a group opens its workloads,
 * checks all its points and measures their energies. */
void run_point(benchmark::State &state, point *p);

} // namespace bench
#endif
