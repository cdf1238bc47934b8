/* element_atomic on the device: one element a thread. */
#include "common/backend/cuda.h"
#include "common/problem/state.h"
#include "variants/element_atomic/assembly.h"

enum { THREADS = 128 };

#define FORCES(KIND, name, OP, operation)                                                                    \
    __global__ void __launch_bounds__(THREADS)                                                               \
        element_atomic_##operation##_##name(fe_view m, int first, int last, const double *v, double *y)      \
    {                                                                                                        \
        const int e = first + blockIdx.x * blockDim.x + threadIdx.x;                                         \
        if (e < last) element_atomic_forces(KIND, OP, &m, e, 1, 1, v, y);                                    \
    }
#define KERNEL(KIND, name)                                                                                   \
    FE_EACH_OPERATION(FORCES, KIND, name)                                                                    \
    __global__ void __launch_bounds__(THREADS) element_atomic_diagonal_##name(fe_view m, double *d)          \
    {                                                                                                        \
        const int e = blockIdx.x * blockDim.x + threadIdx.x;                                                 \
        if (e < m.n_elem) element_atomic_diagonal(KIND, &m, e, 1, 1, d);                                     \
    }
FE_EACH_KIND(KERNEL)
#undef KERNEL
#undef FORCES

static fe_status forces(const fe_problem *p, void *work, int op, fe_part part, const double *v, double *y)
{
    (void)work;
    int first, last;
    fe_part_elements(&p->view, part, &first, &last);
    FE_LAUNCH_OPERATION(p, op, last - first, THREADS, element_atomic, p->view, first, last, v, y)
    return FE_OK;
}
FE_FORCE_OPERATIONS(forces)

static fe_status diagonal(const fe_problem *p, void *work, double *d)
{
    (void)work;
    FE_LAUNCH_KIND(p, p->view.n_elem, THREADS, element_atomic_diagonal, p->view, d);
    return FE_OK;
}

extern "C" const fe_assembly element_atomic_cuda = {NULL, residual, fe_material_cuda, jacvec, diagonal};
