/* element_atomic on the device: one element per thread. */
#define FE_STARTS_EARLY
#include "common/problem/kernels.h"
#include "variants/element_atomic/assembly.h"

/* Tet4 that follow each other share nodes, and additions of one instruction to one node wait for each other.
 * So the lanes of a warp take elements that are TET4_APART apart, and the other warps of the block take those
 * in between. Tuning of this strategy alone: a copy for another idea deletes it, and BLOCK_SIZE is 128. */
enum { TET4_APART = 6 };
#define BLOCK_SIZE(kind) ((kind) == FE_TET4 ? 32 * TET4_APART : 128)
FE_BODY int element_atomic_element(int kind)
{
    const int t = threadIdx.x, start = blockIdx.x * blockDim.x;
    return start + (kind == FE_TET4 ? t % 32 * TET4_APART + t / 32 : t);
}

#define FORCES(KIND, name, OP, operation)                                                                    \
    __global__ void __launch_bounds__(BLOCK_SIZE(KIND)) element_atomic_##operation##_##name(                 \
        fe_view m, int first, int last, const fe_number *displacement, fe_number *y)                         \
    {                                                                                                        \
        fe_wait_for_earlier();                                                                               \
        const int e = first + element_atomic_element(KIND);                                                  \
        if (e < last) element_atomic_forces(KIND, OP, &m, e, 1, 1, displacement, y);                         \
    }
#define KERNEL(KIND, name)                                                                                   \
    FE_EACH_OPERATION(FORCES, KIND, name)                                                                    \
    __global__ void __launch_bounds__(BLOCK_SIZE(KIND))                                                      \
        element_atomic_diagonal_##name(fe_view m, fe_number *d)                                              \
    {                                                                                                        \
        fe_wait_for_earlier();                                                                               \
        const int e = element_atomic_element(KIND);                                                          \
        if (e < m.n_elem) element_atomic_diagonal(KIND, &m, e, 1, 1, d);                                     \
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
    FE_LAUNCH_OPERATION(p, op, last - first, BLOCK_SIZE(p->kind), element_atomic, p->view, first, last,
                        displacement, y);
    return FE_OK;
}
FE_FORCE_OPERATIONS(forces)

static fe_status diagonal(const fe_problem *p, void *work, void *d)
{
    (void)work;
    FE_LAUNCH_KIND(p, p->view.n_elem, BLOCK_SIZE(p->kind), element_atomic_diagonal, p->view, (fe_number *)d);
    return FE_OK;
}

FE_TABLE(element_atomic_cuda, .residual = residual, .material = fe_material_cuda, .jacvec = jacvec,
         .diagonal = diagonal, .traits = FE_INDEPENDENT)
