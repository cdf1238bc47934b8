/* dof_csr on the host: one corner of the CSR per SIMD lane, one direction after the other. */
#include "common/problem/loops.h"
#include "common/problem/rows.h"
#include "variants/dof_csr/assembly.h"

/* Entries `axis` of y's rows [first, last) += forces on their corners. */
FE_BODY void rows_forces(int kind, int op, const fe_view *m, int axis, int first, int last,
                         const fe_number *displacement, fe_number *y)
{
    const int end = m->corner_first[last];
    for (int at = m->corner_first[first], row = first; at < end; at += FE_LANES) {
        const fe_corners_at c = fe_open_corners(kind, m, at, end, &row);
        fe_real own[2][3];
        fe_read3(fe_coordinates(m), c.row, own[0]);
        fe_read3(displacement, c.row, own[1]);
        const fe_real force = dof_csr_force(kind, op, m, c.e, c.corner, axis, displacement, own);
        for (int l = 0; l < c.active; l++) y[3 * (size_t)c.row.lane[l] + axis] += force[l];
    }
}

FE_BODY void rows_diagonal(int kind, const fe_view *m, int axis, int first, int last, fe_number *d)
{
    const int end = m->corner_first[last];
    for (int at = m->corner_first[first], row = first; at < end; at += FE_LANES) {
        const fe_corners_at c = fe_open_corners(kind, m, at, end, &row);
        fe_real own[3], sum[3];
        fe_read3(fe_coordinates(m), c.row, own);
        dof_csr_block_row(kind, m, c.e, c.corner, axis, own, sum);
        for (int l = 0; l < c.active; l++)
            for (int i = 0; i < 3; i++) d[9 * (size_t)c.row.lane[l] + 3 * axis + i] += sum[i][l];
    }
}

#define FORCES(KIND, OP)                                                                                     \
    FE_PARALLEL_FOR (i, first, last, FE_ROW_BLOCK, threads)                                                  \
        FE_UNROLL_LARGE_FOR (int axis = 0; axis < 3; axis++)                                                 \
    rows_forces(KIND, OP, m, axis, i, fe_row_block_end(i, last), displacement, y)
FE_HOST_FORCES(fe_part_nodes, FORCES)
#undef FORCES

#define DIAGONAL(KIND)                                                                                       \
    FE_PARALLEL_FOR (i, first, last, FE_ROW_BLOCK, threads)                                                  \
        FE_UNROLL_LARGE_FOR (int axis = 0; axis < 3; axis++)                                                 \
    rows_diagonal(KIND, m, axis, i, fe_row_block_end(i, last), d)
FE_HOST_DIAGONAL(n_owned, DIAGONAL)
#undef DIAGONAL

FE_TABLE(dof_csr_host, .residual = residual, .material = fe_material_host, .jacvec = jacvec,
         .diagonal = diagonal)
