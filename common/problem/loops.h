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

/* statement(KIND), or statement(KIND, OPERATION), with constants for kind and operation, so that bodies are
 * compiled for each. A statement may be a parallel loop. */
#define FE_FOR_KIND(kind, statement)                                                                         \
    do {                                                                                                     \
        switch (kind) {                                                                                      \
            FE_EACH_KIND(FE_KIND_CASE, statement)                                                            \
        }                                                                                                    \
    } while (0)
#define FE_KIND_CASE(KIND, name, statement)                                                                  \
    case KIND:                                                                                               \
        statement(KIND);                                                                                     \
        break;
#define FE_FOR_OPERATION(kind, op, statement)                                                                \
    do {                                                                                                     \
        switch (kind) {                                                                                      \
            FE_EACH_KIND(FE_OPERATION_CASE, op, statement)                                                   \
        }                                                                                                    \
    } while (0)
#define FE_OPERATION_CASE(KIND, name, op, statement)                                                         \
    case KIND:                                                                                               \
        if (op == FE_JACVEC_ELASTIC) statement(KIND, FE_JACVEC_ELASTIC);                                     \
        FE_PLASTIC_##name(FE_PLASTIC_CASES, KIND, op, statement)                                             \
            FE_FULL_##name(FE_FULL_CASE, KIND, op, statement)                                                \
                FE_PLASTIC_##name(FE_SEVERAL_##name, FE_PLASTIC_SEVERAL_CASES, KIND, op, statement)          \
                    FE_SEVERAL_##name(FE_SEVERAL_CASE, KIND, op, statement) break;
#define FE_PLASTIC_CASES(KIND, op, statement)                                                                \
    else if (op == FE_RESIDUAL) statement(KIND, FE_RESIDUAL);                                                \
    else if (op == FE_JACVEC) statement(KIND, FE_JACVEC);
#define FE_FULL_CASE(KIND, op, statement) else if (op == FE_JACVEC_FULL) statement(KIND, FE_JACVEC_FULL);
#define FE_PLASTIC_SEVERAL_CASES(KIND, op, statement)                                                        \
    else if (op == FE_RESIDUAL_SEVERAL) statement(KIND, FE_RESIDUAL_SEVERAL);                                \
    else if (op == FE_JACVEC_SEVERAL) statement(KIND, FE_JACVEC_SEVERAL);
#define FE_SEVERAL_CASE(KIND, op, statement) else statement(KIND, FE_JACVEC_ELASTIC_SEVERAL);

/* The functions of a table that are one loop. `forces`, and with it residual and jacvec, runs
 * statement(KIND, OPERATION) over a part, fe_part_elements or fe_part_nodes; `diagonal` runs statement(KIND)
 * over all elements (n_elem) or owned nodes (n_owned). Statements see the view m, the items [first, last),
 * the number of threads, the strategy's work, and what they read and write: displacement and y, or d. */
#define FE_HOST_FORCES(items_of_part, statement)                                                             \
    static fe_status forces(const fe_problem *p, void *work, int op, fe_part part,                           \
                            const fe_number *displacement, fe_number *y)                                     \
    {                                                                                                        \
        const fe_view *m = &p->view;                                                                         \
        const int threads = p->device->threads;                                                              \
        int first, last;                                                                                     \
        (void)work;                                                                                          \
        items_of_part(m, part, &first, &last);                                                               \
        FE_FOR_OPERATION(p->kind, op, statement);                                                            \
        return FE_OK;                                                                                        \
    }                                                                                                        \
    FE_FORCE_OPERATIONS(forces)
#define FE_HOST_DIAGONAL(n_item, statement)                                                                  \
    static fe_status diagonal(const fe_problem *p, void *work, void *blocks)                                 \
    {                                                                                                        \
        fe_number *d = blocks;                                                                               \
        const fe_view *m = &p->view;                                                                         \
        const int threads = p->device->threads, first = 0, last = m->n_item;                                 \
        (void)work;                                                                                          \
        FE_FOR_KIND(p->kind, statement);                                                                     \
        return FE_OK;                                                                                        \
    }

#endif
