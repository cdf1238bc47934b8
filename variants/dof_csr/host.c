/* dof_csr on the host: one corner of the CSR a SIMD lane, one direction after the other. */
#include "common/problem/loops.h"
#include "common/problem/rows.h"
#include "variants/dof_csr/assembly.h"

/* Entries `axis` of y's rows [first, last) += forces on their corners. */
FE_BODY void rows_forces(int kind, int op, const fe_view *m, int axis, int first, int last, const double *v,
                         double *y)
{
    const int end = m->corner_first[last];
    for (int at = m->corner_first[first], row = first; at < end; at += FE_LANES) {
        const fe_corners_at c = fe_open_corners(m, at, end, &row);
        fe_real own[2][3];
        fe_read3(m->x, c.row, own[0]);
        fe_read3(v, c.row, own[1]);
        const fe_real force = dof_csr_force(kind, op, m, c.e, c.corner, axis, v, own);
        for (int l = 0; l < c.active; l++) y[3 * (size_t)c.row.lane[l] + axis] += force[l];
    }
}

FE_BODY void rows_diagonal(int kind, const fe_view *m, int axis, int first, int last, double *d)
{
    const int end = m->corner_first[last];
    for (int at = m->corner_first[first], row = first; at < end; at += FE_LANES) {
        const fe_corners_at c = fe_open_corners(m, at, end, &row);
        fe_real own[3], sum[3];
        fe_read3(m->x, c.row, own);
        dof_csr_block_row(kind, m, c.e, c.corner, axis, own, sum);
        for (int l = 0; l < c.active; l++)
            for (int i = 0; i < 3; i++) d[9 * (size_t)c.row.lane[l] + 3 * axis + i] += sum[i][l];
    }
}

static fe_status forces(const fe_problem *p, void *work, int op, fe_part part, const double *v, double *y)
{
    (void)work;
    const fe_view *m = &p->view;
    const int threads = p->device->threads;
    int first, last;
    fe_part_nodes(m, part, &first, &last);
#define FORCES(KIND, OP)                                                                                     \
    FE_PARALLEL_FOR(i, first, last, FE_ROW_BLOCK, threads)                                                   \
    FE_UNROLL_LARGE for (int axis = 0; axis < 3; axis++)                                                           \
        rows_forces(KIND, OP, m, axis, i, fe_row_block_end(i, last), v, y)
    FE_FOR_OPERATION(p->kind, op, FORCES)
#undef FORCES
    return FE_OK;
}
FE_FORCE_OPERATIONS(forces)

static fe_status diagonal(const fe_problem *p, void *work, double *d)
{
    (void)work;
    const fe_view *m = &p->view;
    const int threads = p->device->threads, last = m->n_owned;
#define DIAGONAL(KIND)                                                                                       \
    FE_PARALLEL_FOR(i, 0, last, FE_ROW_BLOCK, threads)                                                       \
    FE_UNROLL_LARGE for (int axis = 0; axis < 3; axis++)                                                           \
        rows_diagonal(KIND, m, axis, i, fe_row_block_end(i, last), d)
    FE_FOR_KIND(p->kind, DIAGONAL)
#undef DIAGONAL
    return FE_OK;
}

const fe_assembly dof_csr_host = {NULL, residual, fe_material_host, jacvec, diagonal};
