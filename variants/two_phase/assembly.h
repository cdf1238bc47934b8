/* two_phase: first points, then nodes. Phase 1 computes the stress of every integration point and stores it;
 * phase 2 sums, node by node, what the points of its elements give to it. No atomics, each stress computed
 * once.
 *
 * A thread of phase 1 sees its element turned by the number of its point, which is then point 0. So one
 * thread per point needs no table that is indexed at run time. Quadratic elements are not turned on the host,
 * and spread over threads on the device (spread.h), where those of a Tet10 see it turned. */
#ifndef TWO_PHASE_ASSEMBLY_H
#define TWO_PHASE_ASSEMBLY_H

#include "common/backend/device.h"
#include "common/physics/spread.h"
#include "variants/two_phase/tiles.h"

/* 9: w |J| sigma J^-T, so that phase 2 multiplies by constants and reads no coordinates.
 * 6: w sigma; phase 2 reads the coordinates and computes the geometry again. */
enum { TWO_PHASE_STORE = 9 };
/* Phase 1 of the diagonal; the others are those of forces. */
enum { TWO_PHASE_DIAGONAL = FE_N_FORCES };

/* Every part that has an element of a block computes the whole block. */
enum { TWO_PHASE_BLOCK = 32, TWO_PHASE_WIDTH = 9 };

static inline fe_status two_phase_allocate(fe_problem *p, two_phase *w)
{
    return fe_device_allocate(p->device, (size_t)TWO_PHASE_WIDTH * fe_points(p->kind) * p->view.ld,
                              sizeof *w->value, "two_phase: stresses", (void **)&w->value);
}

/* Blocks of a part's elements. */
FE_BOTH void two_phase_part_blocks(const fe_view *m, fe_part part, int *first, int *last)
{
    const int from = part == FE_INTERIOR ? 0 : m->n_elem_interior;
    const int to = part == FE_INTERIOR ? m->n_elem_interior : m->n_elem;
    *first = from / TWO_PHASE_BLOCK;
    *last = to > from ? (to + TWO_PHASE_BLOCK - 1) / TWO_PHASE_BLOCK : *first;
}

/* Place of number c of point q of element e. On the device the numbers of an element are together, since
 * nodes read elements in any order: [e][c][q], which the threads of its points read and write side by side;
 * of one point column by column. On the host, where lanes are elements, points of several are at [e /
 * 32][c][q][e % 32]. */
FE_BOTH size_t two_phase_place(int kind, int c, int q, int e)
{
    const int row = c * fe_points(kind) + q, n_row = TWO_PHASE_WIDTH * fe_points(kind);
    if (fe_points(kind) == 1)
        return (size_t)TWO_PHASE_WIDTH * e + (TWO_PHASE_STORE == 9 ? c % 3 * 3 + c / 3 : c);
    if (FE_ON_DEVICE) return (size_t)n_row * e + row;
    const size_t block = (unsigned)e / TWO_PHASE_BLOCK;
    return block * (n_row * TWO_PHASE_BLOCK) + row * TWO_PHASE_BLOCK + (unsigned)e % TWO_PHASE_BLOCK;
}

/* Differences between device and host: the same number in all lanes; reads and writes of stored values. */
#ifdef __CUDACC__
FE_BODY fe_index two_phase_all(int q) { return q; }
FE_BODY fe_real two_phase_read(int kind, const two_phase *w, int c, fe_index q, fe_index e)
{
    return w->value[two_phase_place(kind, c, q, e)];
}
FE_BODY void two_phase_write(int kind, const two_phase *w, int c, int q, fe_index e, fe_real value)
{
    w->value[two_phase_place(kind, c, q, e)] = value;
}
#else
FE_BODY fe_index two_phase_all(int q)
{
    fe_index all;
    for (int l = 0; l < FE_LANES; l++) all.lane[l] = q;
    return all;
}
FE_BODY fe_real two_phase_read(int kind, const two_phase *w, int c, fe_index q, fe_index e)
{
    fe_real value;
    for (int l = 0; l < FE_LANES; l++) value[l] = w->value[two_phase_place(kind, c, q.lane[l], e.lane[l])];
    return value;
}
FE_BODY void two_phase_write(int kind, const two_phase *w, int c, int q, fe_index e, fe_real value)
{
    if (fe_points(kind) > 1)
        memcpy(w->value + two_phase_place(kind, c, q, e.lane[0]), &value, sizeof value);
    else
        for (int l = 0; l < FE_LANES; l++) w->value[two_phase_place(kind, c, q, e.lane[l])] = value[l];
}
#endif

/* --- phase 1 ----------------------------------------------------------------------------------------------
 */

/* d f_c / d s_j at point 0. */
FE_BODY void two_phase_gradient(int kind, fe_real f[8][3], fe_real G[3][3])
{
    fe_plane g[3];
    fe_gradient_plane(kind, f, 0, g);
    fe_gradient_at(kind, f, g, 0, 0, G);
}

/* Stores the stress of point q of elements e, which is number `point` as they are seen, from the gradients of
 * coordinates and field there. */
FE_BODY void two_phase_stress(int kind, int op, const fe_view *m, const two_phase *w, fe_element e, int point,
                              int q, fe_real J[3][3], fe_real G[3][3])
{
    fe_real A[3][3], P[3][3], stress[6];
    fe_point_stress(kind, op, fe_weight_at(kind, q), m, e, point, J, G, A, stress);
    if (TWO_PHASE_STORE == 9) {
        fe_point_force_start(P);
        fe_point_force(stress, A, P);
        FE_UNROLL_FOR (int i = 0; i < 9; i++) two_phase_write(kind, w, i, q, e.e, P[i / 3][i % 3]);
    } else {
        const fe_real sign = fe_turn_sign(kind, e.turn);
        FE_UNROLL_FOR (int i = 0; i < 6; i++) two_phase_write(kind, w, i, q, e.e, sign * stress[i]);
    }
}

/* Stores sqrt(w |J|) J^-T: what the diagonal, a square of gradients, needs of the geometry. */
FE_BODY void two_phase_geometry(int kind, const two_phase *w, fe_element e, int q, fe_real J[3][3])
{
    fe_real A[3][3];
    const fe_real det = fe_turn_sign(kind, e.turn) * fe_cofactor(J, A);
    const fe_real scale = fe_sqrt(fe_weight_at(kind, q) / det);
    FE_UNROLL_FOR (int i = 0; i < 9; i++) two_phase_write(kind, w, i, q, e.e, scale * A[i / 3][i % 3]);
}

FE_BODY void two_phase_store(int kind, int op, const fe_view *m, const two_phase *w, fe_element e, int point,
                             int q, fe_real J[3][3], fe_real G[3][3])
{
    if (op == TWO_PHASE_DIAGONAL)
        two_phase_geometry(kind, w, e, q, J);
    else
        two_phase_stress(kind, op, m, w, e, point, q, J, G);
}

/* The same of elements turned by q, whose corners stand at x and have the values u. */
FE_BODY void two_phase_point(int kind, int op, const fe_view *m, const two_phase *w, fe_element e, int q,
                             fe_real x[8][3], fe_real u[8][3])
{
    fe_real J[3][3], G[3][3];
    two_phase_gradient(kind, x, J);
    if (op != TWO_PHASE_DIAGONAL) two_phase_gradient(kind, u, G);
    two_phase_store(kind, op, m, w, e, 0, q, J, G);
}

/* --- phase 2 ----------------------------------------------------------------------------------------------
 */

/* Reference gradient at point 0 of the shape function of corner b. */
FE_BODY void two_phase_shape(int kind, fe_index b, fe_real g[3])
{
    const fe_real zero = fe_splat(0.0f), one = fe_splat(1.0f);
    const fe_mask bit[3] = {fe_has_bit(b, 1), fe_has_bit(b, 2), fe_has_bit(b, 4)};
    if (fe_corners(kind) == 8) {
        fe_real s[3];
        for (int i = 0; i < 3; i++) s[i] = fe_select(bit[i], fe_splat(FE_FAR), fe_splat(FE_NEAR));
        for (int i = 0; i < 3; i++) g[i] = fe_select(bit[i], one, -one) * s[(i + 1) % 3] * s[(i + 2) % 3];
    } else { /* corner 0: -1 -1 -1; corner j + 1: 1 at j */
        g[0] = fe_select(bit[0], fe_select(bit[1], zero, one), fe_select(bit[1], zero, -one));
        g[1] = fe_select(bit[1], fe_select(bit[0], zero, one), fe_select(bit[0], zero, -one));
        g[2] = fe_select(bit[0], fe_select(bit[1], one, zero), fe_select(bit[1], zero, -one));
    }
}

/* Reference gradient of the shape function of a corner at point q, as seen in phase 1. */
FE_BODY void two_phase_shape_at(int kind, fe_index corner, int q, fe_real g[3])
{
    if (!fe_is_quadratic(kind)) {
        two_phase_shape(kind, fe_turn_more(corner, q), g);
        return;
    }
#ifdef __CUDACC__
    fe_spread_shape(kind, q, corner, g);
#else
    fe_quadratic_gradients(kind, corner, q, g);
#endif
}

/* force += what point q of elements e gives to their corners, from nine stored numbers. */
FE_BODY void two_phase_add_force(int kind, const two_phase *w, fe_index e, fe_index corner, int q,
                                 fe_real force[3])
{
    fe_real g[3];
    two_phase_shape_at(kind, corner, q, g);
    FE_UNROLL_FOR (int j = 0; j < 3; j++) {
        /* Three of four corners of Tet4 need one column alone. */
        if (fe_corners(kind) >= 8 || fe_any(g[j] != fe_splat(0.0f)))
            FE_UNROLL_FOR (int c = 0; c < 3; c++)
                force[c] += g[j] * two_phase_read(kind, w, 3 * c + j, two_phase_all(q), e);
    }
}

/* Force on a corner of elements, from six stored numbers: corner 0 of turned linear ones, and of quadratic
 * ones as they are. */
FE_BODY void two_phase_force(int kind, const fe_view *m, const two_phase *w, fe_index e, fe_index corner,
                             fe_real force[3])
{
    fe_index node[FE_MOST_CORNERS];
    fe_real x[FE_MOST_CORNERS][3];
    const fe_index turn = fe_is_quadratic(kind) ? fe_no_turn() : corner;
    fe_element_load(kind, m, e, turn, node, x);
    FE_UNROLL_FOR (int c = 0; c < 3; c++) force[c] = fe_splat(0.0f);
    FE_UNROLL_LARGE_FOR (int k = 0; k < fe_rolled(kind, fe_planes(kind)); k++) {
        fe_plane gx[3];
        fe_gradient_plane(kind, x, k, gx);
        FE_UNROLL_FOR (int p = 0; p < fe_rolled(kind, fe_plane_points(kind)); p++) {
            const int point = fe_point_of(kind, k, p);
            const fe_index q = fe_points(kind) == 1 ? fe_no_turn() : fe_turn_more(turn, point);
            fe_real J[3][3], A[3][3], g[3], stress[6];
            fe_gradient_at(kind, x, gx, k, p, J);
            fe_cofactor(J, A);
            fe_own_gradient(kind, A, corner, point, g);
            FE_UNROLL_FOR (int i = 0; i < 6; i++) stress[i] = two_phase_read(kind, w, i, q, e);
            fe_add_product(stress, g, force);
        }
    }
    FE_UNROLL_FOR (int c = 0; c < 3; c++) force[c] *= fe_turn_sign(kind, turn);
}

/* block += what point q of elements e gives to the diagonal blocks of their corners. */
FE_BODY void two_phase_add_block(int kind, const fe_view *m, const two_phase *w, fe_index e, fe_index corner,
                                 int q, fe_real block[6])
{
    fe_real shape[3], g[3];
    two_phase_shape_at(kind, corner, q, shape);
    FE_UNROLL_FOR (int c = 0; c < 3; c++) {
        g[c] = fe_splat(0.0f);
        FE_UNROLL_FOR (int j = 0; j < 3; j++)
            g[c] += shape[j] * two_phase_read(kind, w, 3 * c + j, two_phase_all(q), e);
    }
    fe_point_block(kind, m, fe_element_open(m, e, fe_no_turn()), q, g, fe_splat(1.0f), block);
}

#endif
