/* Host loops of strategies: one for each element kind and operation, and the choice of the one that is asked
 * for. The twin of kernels.h. */
#ifndef FE_LOOPS_H
#define FE_LOOPS_H

#include "common/backend/device.h"
#include "common/problem/state.h"
#include "common/variant.h"

/* Host loops over work items, shared among the rank's threads in equal, fixed ranges. */
#define FE_PARALLEL_FOR(i, first, last, step, threads)                                                       \
    _Pragma("omp parallel for schedule(static) num_threads(threads)") for (int i = first; i < last; i += step)

/* statement(KIND), or statement(KIND, OPERATION), with constants in place of the run's kind and operation:
 * bodies are compiled for each. A statement may be a parallel loop. */
#define FE_FOR_KIND(kind, statement)                                                                         \
    switch (kind) {                                                                                          \
        FE_EACH_KIND(FE_KIND_CASE, statement)                                                                \
    }
#define FE_KIND_CASE(KIND, name, statement)                                                                  \
    case KIND:                                                                                               \
        statement(KIND);                                                                                     \
        break;
#define FE_FOR_OPERATION(kind, op, statement)                                                                \
    switch (kind) {                                                                                          \
        FE_EACH_KIND(FE_OPERATION_CASE, op, statement)                                                       \
    }
#define FE_OPERATION_CASE(KIND, name, op, statement)                                                         \
    case KIND:                                                                                               \
        if (op == FE_RESIDUAL)                                                                               \
            statement(KIND, FE_RESIDUAL);                                                                    \
        else if (op == FE_JACVEC)                                                                            \
            statement(KIND, FE_JACVEC);                                                                      \
        else                                                                                                 \
            statement(KIND, FE_JACVEC_ELASTIC);                                                              \
        break;

#endif
