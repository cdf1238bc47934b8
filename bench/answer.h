/* What `solve` prints at the end of a run. */
#ifndef BENCH_ANSWER_H
#define BENCH_ANSWER_H

#include "common/report/result.h"

/* The state after the last accepted load step: extremes, probes, reactions and loads; then how the run ended,
 * its iterations and its time. moved: with what was moved to and from the device. */
void answer_print(const fe_result *r, double seconds, int moved);

#endif
