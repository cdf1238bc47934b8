/* element_atomic on the host: one element a SIMD lane, OpenMP over groups of lanes. */
#include "common/problem/loops.h"
#include "variants/element_atomic/assembly.h"

static fe_status forces(const fe_problem *p, void *work, int op, fe_part part, const double *v, double *y)
{
    (void)work;
    const fe_view *m = &p->view;
    const int threads = p->device->threads;
    int first, last;
    fe_part_elements(m, part, &first, &last);
#define FORCES(KIND, OP)                                                                                     \
    FE_PARALLEL_FOR(e, first, last, FE_LANES, threads)                                                       \
    element_atomic_forces(KIND, OP, m, fe_lanes_from(e), last - e, threads > 1, v, y)
    FE_FOR_OPERATION(p->kind, op, FORCES)
#undef FORCES
    return FE_OK;
}
FE_FORCE_OPERATIONS(forces)

static fe_status diagonal(const fe_problem *p, void *work, double *d)
{
    (void)work;
    const fe_view *m = &p->view;
    const int threads = p->device->threads, last = m->n_elem;
#define DIAGONAL(KIND)                                                                                       \
    FE_PARALLEL_FOR(e, 0, last, FE_LANES, threads)                                                           \
    element_atomic_diagonal(KIND, m, fe_lanes_from(e), last - e, threads > 1, d)
    FE_FOR_KIND(p->kind, DIAGONAL)
#undef DIAGONAL
    return FE_OK;
}

const fe_assembly element_atomic_host = {NULL, residual, fe_material_host, jacvec, diagonal};
