/* node_csr on the device: one owned node a thread. */
#include "common/backend/cuda.h"
#include "common/problem/state.h"
#include "variants/node_csr/assembly.h"

enum { THREADS = 128 };

FE_BODY void add_corner(int kind, int op, const fe_view *m, int corner, const double *v, double sum[3])
{
    double force[3];
    node_csr_corner(kind, op, m, corner >> 3, corner & 7, v, force);
    for (int c = 0; c < 3; c++) sum[c] += force[c];
}

/* Two Tet4 in flight: 8.5 GDoF/s in place of 7.9, H100, 6.4 M DoF. */
FE_BODY void row_forces(int kind, int op, const fe_view *m, int row, const double *v, double *y)
{
    double sum[3] = {0.0, 0.0, 0.0};
    const int first = m->corner_first[row], end = m->corner_first[row + 1];
    if (fe_corners(kind) == 4) {
#pragma unroll 2
        for (int k = first; k < end; k++) add_corner(kind, op, m, m->corner[k], v, sum);
    } else {
#pragma unroll 1
        for (int k = first; k < end; k++) add_corner(kind, op, m, m->corner[k], v, sum);
    }
    for (int c = 0; c < 3; c++) y[3 * (size_t)row + c] = sum[c];
}

FE_BODY void row_diagonal(int kind, const fe_view *m, int row, double *d)
{
    double sum[6] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
    for (int k = m->corner_first[row]; k < m->corner_first[row + 1]; k++) {
        const int corner = m->corner[k];
        double block[6];
        node_csr_block(kind, m, corner >> 3, corner & 7, block);
        for (int i = 0; i < 6; i++) sum[i] += block[i];
    }
    const int place[9] = {0, 3, 5, 3, 1, 4, 5, 4, 2};
    for (int i = 0; i < 9; i++) d[9 * (size_t)row + i] = sum[place[i]];
}

#define FORCES(KIND, name, OP, operation)                                                                    \
    __global__ void __launch_bounds__(THREADS)                                                               \
        node_csr_##operation##_##name(fe_view m, int first, int last, const double *v, double *y)            \
    {                                                                                                        \
        const int row = first + blockIdx.x * blockDim.x + threadIdx.x;                                       \
        if (row < last) row_forces(KIND, OP, &m, row, v, y);                                                 \
    }
#define KERNEL(KIND, name)                                                                                   \
    FE_EACH_OPERATION(FORCES, KIND, name)                                                                    \
    __global__ void __launch_bounds__(THREADS) node_csr_diagonal_##name(fe_view m, double *d)                \
    {                                                                                                        \
        const int row = blockIdx.x * blockDim.x + threadIdx.x;                                               \
        if (row < m.n_owned) row_diagonal(KIND, &m, row, d);                                                 \
    }
FE_EACH_KIND(KERNEL)
#undef KERNEL
#undef FORCES

/* The elastic kernel of Tet4 takes 64 registers, so that 1024 threads run on a multiprocessor. Their nodes do
 * not fit its cache: 5.2 GDoF/s (H100, 6.4 M DoF), where the general kernel, with 110 registers, reaches 8.5.
 */
static int best_kernel(const fe_problem *p, int op)
{
    return op == FE_JACVEC_ELASTIC && fe_corners(p->kind) == 4 ? FE_JACVEC : op;
}

static fe_status forces(const fe_problem *p, void *work, int op, fe_part part, const double *v, double *y)
{
    (void)work;
    int first, last;
    fe_part_nodes(&p->view, part, &first, &last);
    op = best_kernel(p, op);
    FE_LAUNCH_OPERATION(p, op, last - first, THREADS, node_csr, p->view, first, last, v, y)
    return FE_OK;
}
FE_FORCE_OPERATIONS(forces)

static fe_status diagonal(const fe_problem *p, void *work, double *d)
{
    (void)work;
    FE_LAUNCH_KIND(p, p->view.n_owned, THREADS, node_csr_diagonal, p->view, d);
    return FE_OK;
}

extern "C" const fe_assembly node_csr_cuda = {NULL, residual, fe_material_cuda, jacvec, diagonal};
