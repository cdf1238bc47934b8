/* The model of what an operation costs: its bytes and flop, and the time that the ceilings of a machine
 * allow. C++. */
#ifndef BENCH_MODEL_H
#define BENCH_MODEL_H

#include "bench/point.h"
#include "common/report/machine.h"

namespace bench
{

/* Of one call, counted. */
double flop(const bench_workload &c, bench_operation op);
/* Whether an operation uses a stored matrix: flop and ceiling_seconds are not of such a product. Its product
 * reads that matrix once, and a vector; it writes a vector. */
bool by_matrix(const entrant &e, bench_operation op);
/* The least bytes that an operation of a strategy has to move, with a matrix or without. */
double bytes_of(const bench_workload &c, const entrant &e, bench_operation op);
/* The longer of the times that memory and arithmetic need; 0 where the ceilings are unknown. The ceiling of
 * arithmetic is one of doubles: with floats that of memory is all. */
double ceiling_seconds(const bench_workload &c, const fe_machine &m, bench_operation op);

} // namespace bench
#endif
