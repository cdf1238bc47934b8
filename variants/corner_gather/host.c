/* corner_gather on the host: one element per SIMD lane, then one row per lane. */
#include "common/problem/loops.h"
#include "variants/corner_gather/assembly.h"

/* Value of corner b of elements into its place. */
FE_BODY void store(const fe_view *m, const corner_gather *w, fe_element e, int b, int width,
                   const fe_real value[])
{
    const fe_mask all = fe_splat(1.0f) > fe_splat(0.0f);
    const fe_index at = fe_read_index(w->place, fe_corner_place(b, e.turn, m->ld, e.e), 0);
    for (int c = 0; c < width; c++) fe_write(w->value, at, c * w->n_slot, all, value[c]);
}

/* The elements first, first + 1, … < last of one vector. */
FE_BODY void store_forces(int kind, int op, const fe_view *m, const corner_gather *w, int first, int last,
                          const fe_number *displacement)
{
    fe_real force[FE_MOST_CORNERS][3];
    const fe_element e = corner_gather_forces(kind, op, m, first, last, displacement, force);
    for (int b = 0; b < fe_corners(kind); b++) store(m, w, e, b, 3, force[b]);
}
FE_BODY void store_diagonal(int kind, const fe_view *m, const corner_gather *w, int first, int last)
{
    fe_real x[FE_MOST_CORNERS][3], block[6];
    const fe_element e = corner_gather_corners(kind, m, first, last, x);
    for (int b = 0; b < fe_corners(kind); b++) {
        fe_element_diagonal(kind, m, e, x, b, block);
        store(m, w, e, b, 6, block);
    }
}

/* Sums over the places of rows row, row + 1, … of one slice; those beyond a row's corners hold 0. */
FE_BODY void sum_rows(const corner_gather *w, int row, int width, fe_real sum[])
{
    const int *slice = w->slice + row / CORNER_GATHER_SLICE;
    for (int c = 0; c < width; c++) sum[c] = fe_splat(0.0f);
    for (int at = slice[0]; at < slice[1]; at += CORNER_GATHER_SLICE)
        FE_UNROLL_FOR (int c = 0; c < width; c++)
            sum[c] += fe_read(w->value, fe_lanes_from(at + row % CORNER_GATHER_SLICE), c * w->n_slot);
}

/* Rows row, row + 1, … of y, if they are in [first, last). */
FE_BODY void rows_forces(const corner_gather *w, int row, int first, int last, fe_number *y)
{
    fe_real sum[3];
    sum_rows(w, row, 3, sum);
    for (int l = 0; l < FE_LANES; l++)
        if (row + l >= first && row + l < last)
            for (int c = 0; c < 3; c++) y[3 * (size_t)(row + l) + c] = sum[c][l];
}

FE_BODY void rows_diagonal(const fe_view *m, const corner_gather *w, int row, fe_number *d)
{
    fe_real sum[6], rows[3][3];
    sum_rows(w, row, 6, sum);
    fe_block_rows(sum, rows);
    for (int l = 0; l < FE_LANES && row + l < m->n_owned; l++)
        for (int i = 0; i < 9; i++) d[9 * (size_t)(row + l) + i] = rows[i / 3][i % 3][l];
}

static fe_status forces(const fe_problem *p, void *work, int op, fe_part part, const fe_number *displacement,
                        fe_number *y)
{
    const fe_view *m = &p->view;
    const corner_gather *w = work;
    const int threads = p->device->threads;
    int first, last;
    fe_part_elements(m, part, &first, &last);
#define FORCES(KIND, OP)                                                                                     \
    FE_PARALLEL_FOR (e, first, last, corner_gather_elements(KIND), threads)                                  \
    store_forces(KIND, OP, m, w, e, last, displacement)
    FE_FOR_OPERATION(p->kind, op, FORCES);
#undef FORCES
    fe_part_nodes(m, part, &first, &last);
    FE_PARALLEL_FOR (row, first / FE_LANES * FE_LANES, last, FE_LANES, threads)
        rows_forces(w, row, first, last, y);
    return FE_OK;
}
FE_FORCE_OPERATIONS(forces)

static fe_status diagonal(const fe_problem *p, void *work, void *d)
{
    const fe_view *m = &p->view;
    const corner_gather *w = work;
    const int threads = p->device->threads, n = m->n_elem;
#define DIAGONAL(KIND)                                                                                       \
    FE_PARALLEL_FOR (e, 0, n, corner_gather_elements(KIND), threads) store_diagonal(KIND, m, w, e, n)
    FE_FOR_KIND(p->kind, DIAGONAL);
#undef DIAGONAL
    FE_PARALLEL_FOR (row, 0, m->n_owned, FE_LANES, threads) rows_diagonal(m, w, row, d);
    return FE_OK;
}

FE_TABLE(corner_gather_host, .setup = corner_gather_setup,
         .setup_from = FE_SETUP_FROM(corner_gather_setup_from), .residual = residual,
         .material = fe_material_host, .jacvec = jacvec, .diagonal = diagonal, .traits = FE_STORES)
