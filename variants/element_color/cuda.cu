/* element_color on the device: one launch per colour, one element per thread. */
#include "common/problem/kernels.h"
#include "variants/element_color/assembly.h"

enum { BLOCK_SIZE = 128 };

#define FORCES(KIND, name, OP, operation)                                                                    \
    __global__ void __launch_bounds__(BLOCK_SIZE) element_color_##operation##_##name(                        \
        fe_view m, const int *elem, int first, int last, const fe_number *displacement, fe_number *y)        \
    {                                                                                                        \
        const int i = first + blockIdx.x * blockDim.x + threadIdx.x;                                         \
        if (i < last) element_color_forces(KIND, OP, &m, elem, i, 1, displacement, y);                       \
    }
#define KERNEL(KIND, name)                                                                                   \
    FE_EACH_OPERATION(FORCES, KIND, name)                                                                    \
    __global__ void __launch_bounds__(BLOCK_SIZE)                                                            \
        element_color_diagonal_##name(fe_view m, int first, int last, fe_number *d)                          \
    {                                                                                                        \
        const int i = first + blockIdx.x * blockDim.x + threadIdx.x;                                         \
        if (i < last) element_color_diagonal(KIND, &m, i, 1, d);                                             \
    }
FE_EACH_KIND(KERNEL)
#undef KERNEL
#undef FORCES

static __global__ void __launch_bounds__(BLOCK_SIZE)
    element_color_material(int kind, fe_view m, element_color_order order, int n_row)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < m.ld)
        for (int k = 0; k < n_row; k++)
            element_color_sort(kind, &m, &order, k / fe_points(kind), k % fe_points(kind), i);
}

/* The common update; then what jacvec reads is copied in the order of the places. */
static fe_status material(fe_problem *p, void *work, fe_linearization mode, const double *displacement)
{
    const element_color_order order = *(const element_color_order *)work;
    const int n_row = mode == FE_LINEARIZATION_ELASTIC ? 1 : FE_N_TANGENT * fe_points(p->kind);
    FE_TRY(fe_material_cuda(p, NULL, mode, displacement));
    FE_LAUNCH(p->device, p->view.ld, BLOCK_SIZE, element_color_material, p->kind,
              fe_problem_in(p, FE_PRECISION).view, order, n_row);
    return FE_OK;
}

static fe_status forces(const fe_problem *p, void *work, int op, fe_part part, const fe_number *displacement,
                        fe_number *y)
{
    const element_color_order *order = (const element_color_order *)work;
    const fe_view view = element_color_view(p, order);
    for (int color = 0; color < order->n_color[part]; color++) {
        const int first = order->first[part][color], last = order->first[part][color + 1];
        FE_LAUNCH_OPERATION(p, op, last - first, BLOCK_SIZE, element_color, view, order->elem, first, last,
                            displacement, y)
    }
    return FE_OK;
}
FE_FORCE_OPERATIONS(forces)

static fe_status diagonal(const fe_problem *p, void *work, void *blocks)
{
    const element_color_order *order = (const element_color_order *)work;
    const fe_view view = element_color_view(p, order);
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++)
        for (int color = 0; color < order->n_color[part]; color++) {
            const int first = order->first[part][color], last = order->first[part][color + 1];
            FE_LAUNCH_KIND(p, last - first, BLOCK_SIZE, element_color_diagonal, view, first, last,
                           (fe_number *)blocks)
        }
    return FE_OK;
}

FE_TABLE(element_color_cuda, .setup = element_color_setup, .residual = residual, .material = material,
         .jacvec = jacvec, .diagonal = diagonal)
