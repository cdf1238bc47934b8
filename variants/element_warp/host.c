/* element_warp on the host: a vector is the warp, its lanes are the points of one element. */
#include "common/problem/loops.h"
#include "variants/element_warp/assembly.h"

static fe_status forces(const fe_problem *p, void *work, int op, fe_part part, const double *v, double *y)
{
    (void)work;
    const fe_view *m = &p->view;
    const int threads = p->device->threads;
    int first, last;
    fe_part_elements(m, part, &first, &last);
#define FORCES(KIND, OP)                                                                                     \
    FE_PARALLEL_FOR(e, first, last, 1, threads)                                                              \
    element_warp_forces(KIND, OP, m, e, threads > 1, v, y)
    FE_FOR_OPERATION(p->kind, op, FORCES)
#undef FORCES
    return FE_OK;
}
FE_FORCE_OPERATIONS(forces)

static fe_status diagonal(const fe_problem *p, void *work, double *d)
{
    (void)work;
    const fe_view *m = &p->view;
    const int threads = p->device->threads;
#define DIAGONAL(KIND)                                                                                       \
    FE_PARALLEL_FOR(e, 0, m->n_elem, 1, threads)                                                             \
    element_warp_diagonal(KIND, m, e, threads > 1, d)
    FE_FOR_KIND(p->kind, DIAGONAL)
#undef DIAGONAL
    return FE_OK;
}

const fe_assembly element_warp_host = {NULL, residual, fe_material_host, jacvec, diagonal};
