/* element_warp on the device: one element per warp. */
#define FE_STARTS_EARLY
#include "common/problem/kernels.h"
#include "variants/element_warp/assembly.h"

enum { BLOCK_SIZE = ELEMENT_WARP_BLOCK };

#define FORCES(KIND, name, OP, operation)                                                                    \
    __global__ void __launch_bounds__(BLOCK_SIZE) element_warp_##operation##_##name(                         \
        fe_view m, int first, int last, const fe_number *displacement, fe_number *y)                         \
    {                                                                                                        \
        fe_wait_for_earlier();                                                                               \
        const int e = first + fe_warp_first(1);                                                              \
        if (e < last) element_warp_forces(KIND, OP, &m, e, last, 1, displacement, y);                        \
    }
#define KERNEL(KIND, name)                                                                                   \
    FE_EACH_OPERATION(FORCES, KIND, name)                                                                    \
    __global__ void __launch_bounds__(BLOCK_SIZE) element_warp_diagonal_##name(fe_view m, fe_number *d)      \
    {                                                                                                        \
        fe_wait_for_earlier();                                                                               \
        const int e = fe_warp_first(1);                                                                      \
        if (e < m.n_elem) element_warp_diagonal(KIND, &m, e, m.n_elem, 1, d);                                \
    }
FE_EACH_KIND(KERNEL)
#undef KERNEL
#undef FORCES

static fe_status forces(const fe_problem *p, void *work, int op, fe_part part, const fe_number *displacement,
                        fe_number *y)
{
    (void)work;
    int first, last;
    fe_part_elements(&p->view, part, &first, &last);
    const size_t lanes = (size_t)(last - first) * FE_WARP;
    FE_LAUNCH_OPERATION(p, op, lanes, BLOCK_SIZE, element_warp, p->view, first, last, displacement, y);
    return FE_OK;
}
FE_FORCE_OPERATIONS(forces)

static fe_status diagonal(const fe_problem *p, void *work, void *d)
{
    (void)work;
    FE_LAUNCH_KIND(p, (size_t)p->view.n_elem * FE_WARP, BLOCK_SIZE, element_warp_diagonal, p->view,
                   (fe_number *)d);
    return FE_OK;
}

FE_TABLE(element_warp_cuda, .residual = residual, .material = fe_material_cuda, .jacvec = jacvec,
         .diagonal = diagonal, .traits = FE_INDEPENDENT)
