/* bound on the device: one element a thread. */
#include "bench/bound.h"
#include "common/problem/kernels.h"

enum { THREADS = 128 };

#define FORCES(KIND, name, OP, operation)                                                                    \
    __global__ void __launch_bounds__(THREADS)                                                               \
        bound_##operation##_##name(fe_view m, int first, int last, const double *v, double *y)               \
    {                                                                                                        \
        const int e = first + blockIdx.x * blockDim.x + threadIdx.x;                                         \
        if (e < last) bench_bound_forces(KIND, OP, &m, e, v, y);                                             \
    }
#define KERNEL(KIND, name) FE_EACH_OPERATION(FORCES, KIND, name)
FE_EACH_KIND(KERNEL)
#undef KERNEL
#undef FORCES

static fe_status forces(const fe_problem *p, void *work, int op, fe_part part, const double *v, double *y)
{
    (void)work;
    int first, last;
    fe_part_elements(&p->view, part, &first, &last);
    FE_LAUNCH_OPERATION(p, op, last - first, THREADS, bound, p->view, first, last, v, y)
    return FE_OK;
}
FE_FORCE_OPERATIONS(forces)

extern "C" const fe_assembly bench_bound_cuda = {NULL, residual, fe_material_cuda, jacvec, NULL, 1};
