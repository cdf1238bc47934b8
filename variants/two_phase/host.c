/* two_phase on the host: one point per SIMD lane, then one corner of the CSR per lane. */
#include "common/problem/loops.h"
#include "common/problem/rows.h"
#include "variants/two_phase/assembly.h"

static fe_status setup(fe_problem *p, void **work)
{
    FE_TRY(fe_device_keep(p->device, sizeof(two_phase), "two_phase", work));
    return two_phase_allocate(p, *work);
}

/* Phase 1 of quadratic elements, which are not turned. */
FE_BODY void quadratic_points(int kind, int op, const fe_view *m, const two_phase *w, fe_index e,
                              const fe_number *displacement)
{
    fe_index node[FE_MOST_CORNERS];
    fe_real x[FE_MOST_CORNERS][3], f[FE_MOST_CORNERS][3];
    const fe_element element = fe_element_load(kind, m, e, fe_no_turn(), node, x);
    if (op != TWO_PHASE_DIAGONAL) fe_element_read(kind, node, displacement, f);
    for (int k = 0; k < fe_planes(kind); k++) {
        fe_plane gx[3], gu[3];
        fe_gradient_plane(kind, x, k, gx);
        if (op != TWO_PHASE_DIAGONAL) fe_gradient_plane(kind, f, k, gu);
        for (int p = 0; p < fe_plane_points(kind); p++) {
            const int q = fe_point_of(kind, k, p);
            fe_real J[3][3], G[3][3];
            fe_gradient_at(kind, x, gx, k, p, J);
            if (op != TWO_PHASE_DIAGONAL) fe_gradient_at(kind, f, gu, k, p, G);
            two_phase_store(kind, op, m, w, element, q, q, J, G);
        }
    }
}

/* Phase 1 for some elements: their corners are read once and turned for each point. */
FE_BODY void points(int kind, int op, const fe_view *m, const two_phase *w, fe_index e,
                    const fe_number *displacement)
{
    if (fe_is_quadratic(kind)) {
        quadratic_points(kind, op, m, w, e, displacement);
        return;
    }
    fe_index node[8];
    fe_real x[8][3], f[8][3], turned_x[8][3], turned_f[8][3];
    fe_element_load(kind, m, e, fe_no_turn(), node, x);
    if (op != TWO_PHASE_DIAGONAL) fe_element_read(kind, node, displacement, f);
    FE_UNROLL_LARGE_FOR (int q = 0; q < fe_points(kind); q++) {
        FE_UNROLL_FOR (int i = 0; i < 3 * fe_corners(kind); i++) {
            turned_x[i / 3][i % 3] = x[i / 3 ^ q][i % 3];
            if (op != TWO_PHASE_DIAGONAL) turned_f[i / 3][i % 3] = f[i / 3 ^ q][i % 3];
        }
        two_phase_point(kind, op, m, w, fe_element_open(m, e, two_phase_all(q)), q, turned_x, turned_f);
    }
}

FE_BODY void block_points(int kind, int op, const fe_view *m, const two_phase *w, int block,
                          const fe_number *displacement)
{
    for (int i = 0; i < TWO_PHASE_BLOCK; i += FE_LANES)
        points(kind, op, m, w, fe_lanes_from(TWO_PHASE_BLOCK * block + i), displacement);
}

/* Phase 2: y rows [first, last) += forces on their corners. */
FE_BODY void rows_forces(int kind, const fe_view *m, const two_phase *w, int first, int last, fe_number *y)
{
    const int end = m->corner_first[last];
    for (int at = m->corner_first[first], row = first; at < end; at += FE_LANES) {
        const fe_corners_at c = fe_open_corners(kind, m, at, end, &row);
        fe_real force[3] = {fe_splat(0.0f), fe_splat(0.0f), fe_splat(0.0f)};
        if (TWO_PHASE_STORE == 9) {
            for (int q = 0; q < fe_points(kind); q++) two_phase_add_force(kind, w, c.e, c.corner, q, force);
        } else {
            two_phase_force(kind, m, w, c.e, c.corner, force);
        }
        fe_add3(y, c.row, c.active, 0, force);
    }
}

FE_BODY void rows_diagonal(int kind, const fe_view *m, const two_phase *w, int first, int last, fe_number *d)
{
    const int end = m->corner_first[last];
    for (int at = m->corner_first[first], row = first; at < end; at += FE_LANES) {
        const fe_corners_at c = fe_open_corners(kind, m, at, end, &row);
        fe_real block[6];
        for (int i = 0; i < 6; i++) block[i] = fe_splat(0.0f);
        for (int q = 0; q < fe_points(kind); q++) two_phase_add_block(kind, m, w, c.e, c.corner, q, block);
        fe_add_blocks(d, &c, block);
    }
}

static fe_status forces(const fe_problem *p, void *work, int op, fe_part part, const fe_number *displacement,
                        fe_number *y)
{
    const fe_view *m = &p->view;
    const two_phase *w = work;
    const int threads = p->device->threads;
    int block_first, block_last, first, last;
    two_phase_part_blocks(m, part, &block_first, &block_last);
    fe_part_nodes(m, part, &first, &last);
#define POINTS(KIND, OP)                                                                                     \
    FE_PARALLEL_FOR (block, block_first, block_last, 1, threads)                                             \
    block_points(KIND, OP, m, w, block, displacement)
#define ROWS(KIND)                                                                                           \
    FE_PARALLEL_FOR (i, first, last, FE_ROW_BLOCK, threads)                                                  \
    rows_forces(KIND, m, w, i, fe_row_block_end(i, last), y)
    FE_FOR_OPERATION(p->kind, op, POINTS);
    FE_FOR_KIND(p->kind, ROWS);
#undef POINTS
#undef ROWS
    return FE_OK;
}
FE_FORCE_OPERATIONS(forces)

static fe_status diagonal(const fe_problem *p, void *work, void *blocks)
{
    fe_number *d = blocks;
    const fe_view *m = &p->view;
    const two_phase *w = work;
    const int threads = p->device->threads, last = m->n_owned;
    const int n_block = (m->n_elem + TWO_PHASE_BLOCK - 1) / TWO_PHASE_BLOCK;
#define POINTS(KIND)                                                                                         \
    FE_PARALLEL_FOR (block, 0, n_block, 1, threads) block_points(KIND, TWO_PHASE_DIAGONAL, m, w, block, NULL)
#define ROWS(KIND)                                                                                           \
    FE_PARALLEL_FOR (i, 0, last, FE_ROW_BLOCK, threads)                                                      \
    rows_diagonal(KIND, m, w, i, fe_row_block_end(i, last), d)
    FE_FOR_KIND(p->kind, POINTS);
    FE_FOR_KIND(p->kind, ROWS);
#undef POINTS
#undef ROWS
    return FE_OK;
}

FE_TABLE(two_phase_host, .setup = setup, .residual = residual, .material = fe_material_host, .jacvec = jacvec,
         .diagonal = diagonal)
