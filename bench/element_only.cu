/* element_only on the device: one element per thread. */
#include "bench/element_only.h"
#include "common/problem/kernels.h"

enum { BLOCK_SIZE = 128 };

#define FORCES(KIND, name, OP, operation)                                                                    \
    __global__ void __launch_bounds__(BLOCK_SIZE) element_only_##operation##_##name(                         \
        fe_view m, int first, int last, const fe_number *displacement, fe_number *y)                         \
    {                                                                                                        \
        const int e = first + blockIdx.x * blockDim.x + threadIdx.x;                                         \
        if (e < last) bench_element_only_forces(KIND, OP, &m, e, displacement, y);                           \
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
    FE_LAUNCH_OPERATION(p, op, last - first, BLOCK_SIZE, element_only, p->view, first, last, displacement, y);
    return FE_OK;
}
FE_FORCE_OPERATIONS(forces)

FE_TABLE(bench_element_only_cuda, .residual = residual, .material = fe_material_cuda, .jacvec = jacvec,
         .traits = FE_STORES)
