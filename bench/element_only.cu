/* element_only on the device: one element per thread, a Hex27 per warp. */
#include "bench/element_only.h"
#include "common/problem/kernels.h"

enum { BLOCK_SIZE = 128 };
#define LANES(kind) ((kind) == FE_HEX27 ? FE_WARP : 1)

#define FORCES(KIND, name, OP, operation)                                                                    \
    __global__ void __launch_bounds__(BLOCK_SIZE) element_only_##operation##_##name(                         \
        fe_view m, int first, int last, const fe_number *displacement, fe_number *y)                         \
    {                                                                                                        \
        const int thread = blockIdx.x * blockDim.x + threadIdx.x, e = first + thread / LANES(KIND);          \
        if (e >= last) return;                                                                               \
        if (KIND == FE_HEX27)                                                                                \
            bench_element_only_warp(OP, &m, e, displacement, y);                                             \
        else                                                                                                 \
            bench_element_only_forces(KIND, OP, &m, e, displacement, y);                                     \
    }
#define KERNEL(KIND, name) FE_EACH_OPERATION(FORCES, KIND, name)
FE_EACH_KIND(KERNEL)
#undef KERNEL
#undef FORCES

static fe_status forces(const fe_problem *p, void *work, int op, fe_part part, const fe_number *displacement,
                        fe_number *y)
{
    (void)work;
    int first, last;
    fe_part_elements(&p->view, part, &first, &last);
    const size_t n = (size_t)(last - first) * LANES(p->kind);
    FE_LAUNCH_OPERATION(p, op, n, BLOCK_SIZE, element_only, p->view, first, last, displacement, y);
    return FE_OK;
}
FE_FORCE_OPERATIONS(forces)

FE_TABLE(bench_element_only_cuda, .residual = residual, .material = fe_material_cuda, .jacvec = jacvec,
         .traits = FE_STORES)
