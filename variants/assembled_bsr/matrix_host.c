/* Assembly on the host: one corner of the CSR per SIMD lane; each thread owns blocks of rows and adds the
 * lanes to them in the CSR's order. */
#include "common/problem/loops.h"
#include "common/problem/rows.h"
#include "variants/assembled_bsr/matrix.h"

#include <string.h>

/* Which block of row i has a column that the row has. Long rows are halved; the diagonal's column fills up
 * the row's end. */
FE_BODY int find(int kind, const bsr_rows *r, int i, int column)
{
    const int slice = bsr_slice(r, i), first = r->first[slice], diagonal = r->diagonal[i];
    int k = 0;
    if (!fe_is_quadratic(kind)) {
        while (r->column[bsr_column_at(r, first + k, bsr_lane(r, i))] != column) k++;
        return k;
    }
    for (int n = r->first[slice + 1] - first; n > 1;) {
        const int half = n / 2, at = k + half, here = r->column[bsr_column_at(r, first + at, bsr_lane(r, i))];
        if (here <= column && (at <= diagonal || here != bsr_node(r, i))) k = at;
        n -= half;
    }
    return k;
}

static void clear(const bsr_rows *r, int slice)
{
    const int from = r->first[slice], to = r->first[slice + 1];
    memset(r->value + bsr_value_at(r, from, 0, 0), 0,
           (9 * (size_t)(to - from) << r->shift) * sizeof *r->value);
}

/* Blocks of the corners' rows with `column` += K. */
FE_BODY void add_blocks(int kind, const bsr_rows *r, const fe_corners_at *c, const fe_index *column,
                        const fe_real K[9])
{
    for (int l = 0; l < c->active; l++) {
        if (r->upper && column->lane[l] < c->row.lane[l]) continue;
        const int i = bsr_row_of(r, c->row.lane[l]), k = find(kind, r, i, column->lane[l]);
        for (int j = 0; j < 9; j++) r->value[bsr_entry(r, i, k, j)] += K[j][l];
    }
}

FE_BODY void assemble_rows(int kind, const fe_view *m, const bsr_rows *r, int first, int last)
{
    const int end = m->corner_first[last];
    for (int at = m->corner_first[first], row = first; at < end; at += FE_LANES) {
        const fe_corners_at c = fe_open_corners(kind, m, at, end, &row);
        fe_index node[FE_MOST_CORNERS];
        fe_real x[FE_MOST_CORNERS][3], K[FE_MOST_CORNERS][9];
        const fe_index turn = fe_is_quadratic(kind) ? fe_no_turn() : c.corner;
        const fe_element e = fe_element_load(kind, m, c.e, turn, node, x);
        for (int i = 0; i < 9 * fe_corners(kind); i++) K[i / 9][i % 9] = fe_splat(FE_EMPTY);
        FE_UNROLL_LARGE_FOR (int k = 0; k < fe_planes(kind); k++)
            fe_add_stiffness(kind, m, e, c.corner, k, x, 0, fe_corners(kind), K);
        for (int b = 0; b < fe_corners(kind); b++) add_blocks(kind, r, &c, &node[b], K[b]);
    }
}

static void assemble(const fe_problem *p, const bsr_matrix *matrix)
{
    const fe_view *m = &p->view;
    const int threads = p->device->threads;
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++) {
        const bsr_rows *r = &matrix->part[part];
        const int last = r->row + r->n_row, n_slice = (r->n_row + (1 << r->shift) - 1) >> r->shift;
        FE_PARALLEL_FOR (i, 0, n_slice, 1, threads) clear(r, i);
#define ASSEMBLE(KIND)                                                                                       \
    FE_PARALLEL_FOR (i, r->row, last, FE_ROW_BLOCK, threads)                                                 \
    assemble_rows(KIND, m, r, i, fe_row_block_end(i, last))
        FE_FOR_KIND(p->kind, ASSEMBLE);
#undef ASSEMBLE
    }
}

fe_status FE_PRECISE(bsr_material_host)(fe_problem *p, void *work, fe_linearization mode,
                                        const double *displacement)
{
    FE_TRY(fe_material_host(p, NULL, mode, displacement));
    const fe_problem in = fe_problem_in(p, FE_PRECISION);
    assemble(&in, work);
    return FE_OK;
}

fe_status FE_PRECISE(bsr_elastic_host)(const fe_problem *p, const bsr_matrix *matrix)
{
    fe_problem elastic;
    FE_TRY(bsr_without_plasticity(p, FE_PRECISION, &elastic));
    assemble(&elastic, matrix);
    p->device->ops->memory.release(p->device, elastic.view.trial.flags);
    return FE_OK;
}

fe_status FE_PRECISE(bsr_diagonal_host)(const fe_problem *p, void *work, void *blocks)
{
    fe_number *d = blocks;
    const bsr_matrix *matrix = work;
    const int threads = p->device->threads;
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++) {
        const bsr_rows *r = &matrix->part[part];
        FE_PARALLEL_FOR (i, 0, r->n_row, 1, threads)
            for (int c = 0; c < 9; c++)
                d[9 * (size_t)bsr_node(r, i) + c] += r->value[bsr_entry(r, i, r->diagonal[i], c)];
    }
    return FE_OK;
}
