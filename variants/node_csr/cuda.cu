/* node_csr on the device: one owned node per thread. */
#include "common/problem/kernels.h"
#include "variants/node_csr/assembly.h"
#include "variants/node_csr/lists.h"

enum { BLOCK_SIZE = 128 };

FE_BODY void add_corner(int kind, int op, const fe_view *m, int corner, const double *displacement,
                        double sum[3])
{
    double force[3];
    node_csr_corner(kind, op, m, corner >> 3, corner & 7, displacement, force);
    for (int c = 0; c < 3; c++) sum[c] += force[c];
}

FE_BODY void row_forces(int kind, int op, const fe_view *m, int row, const double *displacement, double *y)
{
    double sum[3] = {0.0, 0.0, 0.0};
    const int first = m->corner_first[row], end = m->corner_first[row + 1];
#pragma unroll 1
    for (int k = first; k < end; k++) add_corner(kind, op, m, m->corner[k], displacement, sum);
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
    double rows[3][3];
    fe_block_rows(sum, rows);
    for (int i = 0; i < 9; i++) d[9 * (size_t)row + i] = rows[i / 3][i % 3];
}

#define FORCES(KIND, name, OP, operation)                                                                    \
    __global__ void __launch_bounds__(BLOCK_SIZE)                                                            \
        node_csr_##operation##_##name(fe_view m, int first, int last, const double *displacement, double *y) \
    {                                                                                                        \
        const int row = first + blockIdx.x * blockDim.x + threadIdx.x;                                       \
        if (row < last) row_forces(KIND, OP, &m, row, displacement, y);                                      \
    }
#define KERNEL(KIND, name)                                                                                   \
    FE_EACH_OPERATION(FORCES, KIND, name)                                                                    \
    __global__ void __launch_bounds__(BLOCK_SIZE) node_csr_diagonal_##name(fe_view m, double *d)             \
    {                                                                                                        \
        const int row = blockIdx.x * blockDim.x + threadIdx.x;                                               \
        if (row < m.n_owned) row_diagonal(KIND, &m, row, d);                                                 \
    }
FE_EACH_KIND(KERNEL)
#undef KERNEL
#undef FORCES

FE_BODY void list_forces(int op, const fe_view *m, const node_csr_lists *w, int row, double *y)
{
    double sum[3] = {0.0, 0.0, 0.0};
    node_csr_visit_row(op, m, w, row,
                       [&](const double *stress, const double *g) { fe_add_product(stress, g, sum); });
    for (int c = 0; c < 3; c++) y[3 * (size_t)row + c] = sum[c];
}

#define LISTS(KIND, name, OP, operation)                                                                     \
    __global__ void __launch_bounds__(BLOCK_SIZE, NODE_CSR_RESIDENT)                                         \
        node_csr_##operation##_lists(fe_view m, node_csr_lists w, int last, double *y)                       \
    {                                                                                                        \
        const int row = blockIdx.x * blockDim.x + threadIdx.x;                                               \
        if (row < last) list_forces(OP, &m, &w, row, y);                                                     \
    }
FE_EACH_OPERATION(LISTS, FE_TET4, tet4)
#undef LISTS

/* Rows of the interior, which see owned nodes only. */
static fe_status forces_by_lists(const fe_problem *p, const node_csr_lists *w, int op,
                                 const double *displacement, double *y)
{
    const fe_view *m = &p->view;
    const int last = m->n_node_interior;
    FE_TRY(node_csr_split_input(p, w, displacement));
    if (op == FE_RESIDUAL)
        FE_LAUNCH(p->device, last, BLOCK_SIZE, node_csr_residual_lists, *m, *w, last, y);
    else if (op == FE_JACVEC)
        FE_LAUNCH(p->device, last, BLOCK_SIZE, node_csr_jacvec_lists, *m, *w, last, y);
    else
        FE_LAUNCH(p->device, last, BLOCK_SIZE, node_csr_jacvec_elastic_lists, *m, *w, last, y);
    return FE_OK;
}

/* The border part uses no lists, so it may run at the same time. */
static fe_status forces(const fe_problem *p, void *work, int op, fe_part part, const double *displacement,
                        double *y)
{
    if (work && part == FE_INTERIOR)
        return forces_by_lists(p, (const node_csr_lists *)work, op, displacement, y);
    int first, last;
    fe_part_nodes(&p->view, part, &first, &last);
    FE_LAUNCH_OPERATION(p, op, last - first, BLOCK_SIZE, node_csr, p->view, first, last, displacement, y);
    return FE_OK;
}
FE_FORCE_OPERATIONS(forces)

static fe_status diagonal(const fe_problem *p, void *work, double *d)
{
    (void)work;
    FE_LAUNCH_KIND(p, p->view.n_owned, BLOCK_SIZE, node_csr_diagonal, p->view, d);
    return FE_OK;
}

extern "C" const fe_assembly node_csr_cuda = {.setup = node_csr_setup,
                                              .residual = residual,
                                              .material = fe_material_cuda,
                                              .jacvec = jacvec,
                                              .diagonal = diagonal,
                                              .traits = FE_STORES | FE_INDEPENDENT};
