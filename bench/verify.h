/* Checks that the results of a benchmark workload are right and the same in every run. */
#ifndef BENCH_VERIFY_H
#define BENCH_VERIFY_H

#include "bench/workload.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A result whose error is above this is recorded with its error and without a time. Tangents in floats are
 * exact to 6e-8. Arithmetic in floats leaves some hundred times as much where a plastic tangent, the small
 * difference of two large terms, meets a distorted element. In single precision coordinates and displacements
 * are floats, too, so that their differences within an element lose the more the smaller it is beside the
 * mesh: the bound grows with c->across. In the state of a part the displacements are many times what strains
 * an element, and its residual may lose as many digits more (sample.c). */
double bench_tolerance(const bench_workload *c);
/* A strategy counts as deterministic if so many more runs give the same bits. */
#define BENCH_RUNS 20

/* Runs the operation on cleared state and output, and measures its error: the largest of
 * |difference from the oracle| / (sum of the absolute values of all terms), over rows (or points) of a
 * random sample of nodes, and |difference from the first strategy that was checked| / (the largest such sum),
 * over all rows. material: |difference| / largest plastic strain over the points of sampled elements, and
 * infinity where a flag is wrong. */
fe_status bench_verify(bench_workload *c, const fe_assembly *a, void *work, bench_operation op,
                       double *error);

/* The same error of what stands in the output, which the caller had the operation compute: for answers after
 * they were timed. */
fe_status bench_verify_result(bench_workload *c, bench_operation op, double *error);

/* After bench_verify: runs the operation again from the same input. *other is the first of the runs whose
 * output (of material: state, flags and tangent) has other bits than the run that was checked, 0 where none
 * has. Bits are compared by a hash of 64 bits, on the device. */
fe_status bench_repeat(bench_workload *c, const fe_assembly *a, void *work, bench_operation op, int runs,
                       int *other);

#ifdef __cplusplus
}
#endif
#endif
