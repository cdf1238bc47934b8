/* element_atomic on the host: one element a SIMD lane, OpenMP over groups of lanes. */
#include "common/backend/device.h"
#include "common/problem/state.h"
#include "variants/element_atomic/assembly.h"

#define FORCES(op, kind)                                                                                     \
    _Pragma("omp parallel for schedule(static) num_threads(threads)") for (int e = first; e < last;          \
                                                                           e += FE_LANES)                    \
        element_atomic_forces(kind, op, m, fe_lanes_from(e), last - e, threads > 1, v, y)

static void forces(const fe_problem *p, int op, fe_part part, const double *v, double *y)
{
    const fe_view *m = &p->view;
    const int threads = p->device->threads;
    int first, last;
    fe_part_elements(m, part, &first, &last);
#define CASE(KIND, name)                                                                                     \
    case KIND:                                                                                               \
        if (op == FE_JACVEC)                                                                                 \
            FORCES(FE_JACVEC, KIND);                                                                         \
        else                                                                                                 \
            FORCES(FE_RESIDUAL, KIND);                                                                       \
        break;
    switch (p->kind) { FE_EACH_KIND(CASE) }
#undef CASE
}

static fe_status residual(const fe_problem *p, void *work, fe_part part, const double *u, double *r)
{
    (void)work;
    forces(p, FE_RESIDUAL, part, u, r);
    return FE_OK;
}

static fe_status jacvec(const fe_problem *p, void *work, fe_part part, const double *v, double *y)
{
    (void)work;
    forces(p, FE_JACVEC, part, v, y);
    return FE_OK;
}

static fe_status diagonal(const fe_problem *p, void *work, double *d)
{
    (void)work;
    const fe_view *m = &p->view;
    const int threads = p->device->threads, last = m->n_elem;
#define CASE(KIND, name)                                                                                     \
    case KIND:                                                                                               \
        _Pragma("omp parallel for schedule(static) num_threads(threads)") for (int e = 0; e < last;          \
                                                                               e += FE_LANES)                \
            element_atomic_diagonal(KIND, m, fe_lanes_from(e), last - e, threads > 1, d);                    \
        break;
    switch (p->kind) { FE_EACH_KIND(CASE) }
#undef CASE
    return FE_OK;
}

const fe_assembly element_atomic_host = {NULL, residual, fe_material_host, jacvec, diagonal};
