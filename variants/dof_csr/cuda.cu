/* dof_csr on the device: one entry of the vector per thread, the three of a node side by side. */
#include "common/problem/kernels.h"
#include "variants/dof_csr/assembly.h"

enum { BLOCK_SIZE = 128 };

FE_BODY void entry_force(int kind, int op, const fe_view *m, int row, int axis, const fe_number *displacement,
                         fe_number *y)
{
    fe_number sum = 0.0f;
    fe_real own[2][3];
    const int from = dof_csr_turns(kind, op) ? axis : 0;
    dof_csr_read3(fe_coordinates(m), row, from, own[0]);
    dof_csr_read3(displacement, row, from, own[1]);
    for (int k = m->corner_first[row]; k < m->corner_first[row + 1]; k++) {
        const int corner = m->corner[k];
        sum += dof_csr_force(kind, op, m, corner >> 3, corner & 7, axis, displacement, own);
    }
    y[3 * (size_t)row + axis] = sum;
}

FE_BODY void entry_diagonal(int kind, const fe_view *m, int row, int axis, fe_number *d)
{
    fe_real sum[3] = {0.0f, 0.0f, 0.0f}, own[3];
    fe_read3(fe_coordinates(m), row, own);
    for (int k = m->corner_first[row]; k < m->corner_first[row + 1]; k++) {
        const int corner = m->corner[k];
        fe_real block_row[3];
        dof_csr_block_row(kind, m, corner >> 3, corner & 7, axis, own, block_row);
        for (int i = 0; i < 3; i++) sum[i] += block_row[i];
    }
    for (int i = 0; i < 3; i++) d[9 * (size_t)row + 3 * axis + i] = sum[i];
}

#define FORCES(KIND, name, OP, operation)                                                                    \
    __global__ void __launch_bounds__(BLOCK_SIZE) dof_csr_##operation##_##name(                              \
        fe_view m, int first, int n, const fe_number *displacement, fe_number *y)                            \
    {                                                                                                        \
        const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                                            \
        if (i < 3 * (unsigned)n) entry_force(KIND, OP, &m, first + i / 3, i % 3, displacement, y);           \
    }
#define KERNEL(KIND, name)                                                                                   \
    FE_EACH_OPERATION(FORCES, KIND, name)                                                                    \
    __global__ void __launch_bounds__(BLOCK_SIZE) dof_csr_diagonal_##name(fe_view m, fe_number *d)           \
    {                                                                                                        \
        const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                                            \
        if (i < 3 * (unsigned)m.n_owned) entry_diagonal(KIND, &m, i / 3, i % 3, d);                          \
    }
FE_EACH_KIND(KERNEL)
#undef KERNEL
#undef FORCES

static fe_status forces(const fe_problem *p, void *work, int op, fe_part part, const fe_number *displacement,
                        fe_number *y)
{
    (void)work;
    int first, last;
    fe_part_nodes(&p->view, part, &first, &last);
    const size_t entries = 3 * (size_t)(last - first);
    FE_LAUNCH_OPERATION(p, op, entries, BLOCK_SIZE, dof_csr, p->view, first, last - first, displacement, y);
    return FE_OK;
}
FE_FORCE_OPERATIONS(forces)

static fe_status diagonal(const fe_problem *p, void *work, void *d)
{
    (void)work;
    FE_LAUNCH_KIND(p, 3 * (size_t)p->view.n_owned, BLOCK_SIZE, dof_csr_diagonal, p->view, (fe_number *)d);
    return FE_OK;
}

FE_TABLE(dof_csr_cuda, .residual = residual, .material = fe_material_cuda, .jacvec = jacvec,
         .diagonal = diagonal, .traits = FE_STORES | FE_INDEPENDENT)
