/* node_csr on the device: one owned node per thread. */
#include "common/problem/kernels.h"
#include "variants/node_csr/assembly.h"

enum { BLOCK_SIZE = 128 };

FE_BODY void add_corner(int kind, int op, const fe_view *m, int corner, const fe_number *displacement,
                        fe_number sum[3])
{
    fe_real force[3];
    node_csr_corner(kind, op, m, corner >> 3, corner & 7, displacement, force);
    for (int c = 0; c < 3; c++) sum[c] += force[c];
}

FE_BODY void row_forces(int kind, int op, const fe_view *m, int row, const fe_number *displacement,
                        fe_number *y)
{
    fe_number sum[3] = {0.0f, 0.0f, 0.0f};
    const int first = m->corner_first[row], end = m->corner_first[row + 1];
#pragma unroll 1
    for (int k = first; k < end; k++) add_corner(kind, op, m, m->corner[k], displacement, sum);
    for (int c = 0; c < 3; c++) y[3 * (size_t)row + c] = sum[c];
}

FE_BODY void row_diagonal(int kind, const fe_view *m, int row, fe_number *d)
{
    fe_real sum[6] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
    for (int k = m->corner_first[row]; k < m->corner_first[row + 1]; k++) {
        const int corner = m->corner[k];
        fe_real block[6];
        node_csr_block(kind, m, corner >> 3, corner & 7, block);
        for (int i = 0; i < 6; i++) sum[i] += block[i];
    }
    fe_real rows[3][3];
    fe_block_rows(sum, rows);
    for (int i = 0; i < 9; i++) d[9 * (size_t)row + i] = rows[i / 3][i % 3];
}

#define FORCES(KIND, name, OP, operation)                                                                    \
    __global__ void __launch_bounds__(BLOCK_SIZE) node_csr_##operation##_##name(                             \
        fe_view m, int first, int last, const fe_number *displacement, fe_number *y)                         \
    {                                                                                                        \
        const int row = first + blockIdx.x * blockDim.x + threadIdx.x;                                       \
        if (row < last) row_forces(KIND, OP, &m, row, displacement, y);                                      \
    }
#define KERNEL(KIND, name)                                                                                   \
    FE_EACH_OPERATION(FORCES, KIND, name)                                                                    \
    __global__ void __launch_bounds__(BLOCK_SIZE) node_csr_diagonal_##name(fe_view m, fe_number *d)          \
    {                                                                                                        \
        const int row = blockIdx.x * blockDim.x + threadIdx.x;                                               \
        if (row < m.n_owned) row_diagonal(KIND, &m, row, d);                                                 \
    }
FE_EACH_KIND(KERNEL)
#undef KERNEL
#undef FORCES

/* Force on corner 0 of one turned Tet4 of a list. own: coordinates and displacement of the node, which in
 * mixed precision are subtracted before rounding. */
FE_BODY void list_corner(int op, const fe_view *m, const node_csr_lists *w, node_csr_entry entry,
                         const fe_number own[2][3], fe_real force[3])
{
    fe_real x[8][3], u[8][3];
    FE_UNROLL_FOR (int c = 0; c < 3; c++) {
        const int from = FE_PRECISION == FE_MIXED;
        x[0][c] = from ? 0.0f : (fe_real)own[0][c], u[0][c] = from ? 0.0f : (fe_real)own[1][c];
        FE_UNROLL_FOR (int b = 1; b < 4; b++) {
            const int node = entry.node[b - 1];
            x[b][c] = from ? (fe_real)(w->x[c * w->n + node] - own[0][c]) : fe_read(w->x, node, c * w->n);
            u[b][c] = from ? (fe_real)(w->displacement[c * w->n + node] - own[1][c])
                           : fe_read(w->displacement, node, c * w->n);
        }
    }
    fe_corner_force(FE_TET4, op, m, fe_element_open(m, entry.corner >> 3, entry.corner & 7), x, u, force);
}

FE_BODY void list_forces(int op, const fe_view *m, const node_csr_lists *w, int row, fe_number *y)
{
    fe_number sum[3] = {0.0f, 0.0f, 0.0f}, own[2][3];
    const int n = m->corner_first[row + 1] - m->corner_first[row];
    const int4 *entry = (const int4 *)w->entry + w->slice[row / NODE_CSR_SLICE] + row % NODE_CSR_SLICE;
    for (int c = 0; c < 3; c++) own[0][c] = w->x[c * w->n + row], own[1][c] = w->displacement[c * w->n + row];
#pragma unroll 2
    for (int k = 0; k < n; k++) {
        const int4 at = __ldcs(entry + NODE_CSR_SLICE * k);
        fe_real force[3];
        list_corner(op, m, w, node_csr_entry{{at.x, at.y, at.z}, at.w}, own, force);
        for (int c = 0; c < 3; c++) sum[c] += force[c];
    }
    for (int c = 0; c < 3; c++) y[3 * (size_t)row + c] = sum[c];
}

#define LISTS(KIND, name, OP, operation)                                                                     \
    static __global__ void __launch_bounds__(BLOCK_SIZE)                                                     \
        node_csr_##operation##_lists(fe_view m, node_csr_lists w, int last, fe_number *y)                    \
    {                                                                                                        \
        const int row = blockIdx.x * blockDim.x + threadIdx.x;                                               \
        if (row < last) list_forces(OP, &m, &w, row, y);                                                     \
    }
FE_EACH_OPERATION(LISTS, FE_TET4, tet4)
#undef LISTS

/* w->displacement = displacement by component at the owned nodes. */
static __global__ void __launch_bounds__(BLOCK_SIZE)
    node_csr_split(node_csr_lists w, int n_owned, const fe_number *displacement)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 3 * n_owned) w.displacement[i % 3 * w.n + i / 3] = displacement[i];
}

/* Rows of the interior, which see owned nodes only. */
static fe_status forces_by_lists(const fe_problem *p, const node_csr_lists *w, int op,
                                 const fe_number *displacement, fe_number *y)
{
    const fe_view *m = &p->view;
    const int last = m->n_node_interior;
    FE_LAUNCH(p->device, 3 * (size_t)m->n_owned, BLOCK_SIZE, node_csr_split, *w, m->n_owned, displacement);
    if (op == FE_RESIDUAL)
        FE_LAUNCH(p->device, last, BLOCK_SIZE, node_csr_residual_lists, *m, *w, last, y);
    else if (op == FE_JACVEC)
        FE_LAUNCH(p->device, last, BLOCK_SIZE, node_csr_jacvec_lists, *m, *w, last, y);
    else
        FE_LAUNCH(p->device, last, BLOCK_SIZE, node_csr_jacvec_elastic_lists, *m, *w, last, y);
    return FE_OK;
}

/* The border part uses no lists, so it may run at the same time. */
static fe_status forces(const fe_problem *p, void *work, int op, fe_part part, const fe_number *displacement,
                        fe_number *y)
{
    if (work && part == FE_INTERIOR)
        return forces_by_lists(p, (const node_csr_lists *)work, op, displacement, y);
    int first, last;
    fe_part_nodes(&p->view, part, &first, &last);
    FE_LAUNCH_OPERATION(p, op, last - first, BLOCK_SIZE, node_csr, p->view, first, last, displacement, y)
    return FE_OK;
}
FE_FORCE_OPERATIONS(forces)

static fe_status diagonal(const fe_problem *p, void *work, void *d)
{
    (void)work;
    FE_LAUNCH_KIND(p, p->view.n_owned, BLOCK_SIZE, node_csr_diagonal, p->view, (fe_number *)d);
    return FE_OK;
}

static fe_status setup(fe_problem *p, void **work) { return node_csr_open(p, FE_PRECISION, work); }
FE_TABLE(node_csr_cuda, .setup = setup, .residual = residual, .material = fe_material_cuda, .jacvec = jacvec,
         .diagonal = diagonal, .traits = FE_STORES | FE_INDEPENDENT)
