/* element_color on the host: elements of one colour are shared among threads and fill the lanes. */
#include "common/problem/loops.h"
#include "variants/element_color/assembly.h"

/* The common update; then what jacvec reads is copied in the order of the places, one array after the
 * other. */
static fe_status material(fe_problem *p, void *work, fe_linearization mode, const double *displacement)
{
    const element_color_order *order = work;
    const int n_point = fe_points(p->kind),
              n_row = mode == FE_LINEARIZATION_ELASTIC ? 1 : FE_N_TANGENT * n_point,
              threads = p->device->threads;
    FE_TRY(fe_material_host(p, NULL, mode, displacement));
    const fe_view m = fe_problem_in(p, FE_PRECISION).view;
    FE_PARALLEL_FOR (k, 0, n_row, 1, threads)
        for (int i = 0; i < m.ld; i++) element_color_sort(p->kind, &m, order, k / n_point, k % n_point, i);
    return FE_OK;
}

static fe_status forces(const fe_problem *p, void *work, int op, fe_part part, const fe_number *displacement,
                        fe_number *y)
{
    const element_color_order *order = work;
    const fe_view m = element_color_view(p, fe_is_residual(op), order);
    const int threads = p->device->threads;
    for (int color = 0; color < order->n_color[part]; color++) {
        const int first = order->first[part][color], last = order->first[part][color + 1];
#define FORCES(KIND, OP)                                                                                     \
    FE_PARALLEL_FOR (i, first, last, FE_LANES, threads)                                                      \
    element_color_forces(KIND, OP, &m, order->elem, fe_lanes_from(i), last - i, displacement, y)
        FE_FOR_OPERATION(p->kind, op, FORCES);
#undef FORCES
    }
    return FE_OK;
}
FE_FORCE_OPERATIONS(forces)

static fe_status diagonal(const fe_problem *p, void *work, void *blocks)
{
    const element_color_order *order = work;
    const fe_view m = element_color_view(p, 0, order);
    const int threads = p->device->threads;
    fe_number *d = blocks;
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++)
        for (int color = 0; color < order->n_color[part]; color++) {
            const int first = order->first[part][color], last = order->first[part][color + 1];
#define DIAGONAL(KIND)                                                                                       \
    FE_PARALLEL_FOR (i, first, last, FE_LANES, threads)                                                      \
    element_color_diagonal(KIND, &m, fe_lanes_from(i), last - i, d)
            FE_FOR_KIND(p->kind, DIAGONAL);
#undef DIAGONAL
        }
    return FE_OK;
}

FE_TABLE(element_color_host, .setup = element_color_setup,
         .setup_from = FE_SETUP_FROM(element_color_setup_from), .residual = residual, .material = material,
         .jacvec = jacvec, .diagonal = diagonal)
