/* element_team: a few lanes compute one element, and a warp computes several elements. On Hex8 there are
 * eight lanes: each holds a corner and the point nearest to it, gradients form by exchanges along the three
 * axes, forces return by the transposed exchanges, and each lane adds its own corner to the node with
 * atomics. */
#ifndef ELEMENT_TEAM_ASSEMBLY_H
#define ELEMENT_TEAM_ASSEMBLY_H

#include "common/physics/lanes.h"

/* Lanes per element: 8, 4 or 2 for Hex8; 4 or 1 for Tet4, whose only point is computed by one lane or
 * repeated by four. Those of a Tet10 hold a point each, and so do those of a Hex27: 27 in a warp, and on a
 * host, whose vectors are shorter, one that holds all. */
enum { HEX8_TEAM = 8, TET4_TEAM = 1 };
FE_BOTH int element_team_lanes(int kind)
{
    if (kind == FE_TET10) return FE_TET10_TEAM;
    if (kind == FE_HEX27) return FE_ON_DEVICE ? FE_WARP : 1;
    const int team = kind == FE_TET4 ? TET4_TEAM : kind == FE_TET4_P4 ? 4 : HEX8_TEAM;
    return team < FE_WARP ? team : FE_WARP;
}
/* Elements of a warp or vector. */
FE_BOTH int element_team_elements(int kind) { return FE_WARP / element_team_lanes(kind); }

/* The value at the other end of the edge along an axis. Axes are bits of the corner's index: the high bits
 * number the lanes, the low bits the corners of a lane. */
FE_BODY fe_real element_team_neighbour(int held, int axis, const fe_real a[], int h)
{
    return axis < held ? a[h ^ axis] : fe_exchange(a[h], axis / held);
}

/* One axis of a field: differences d to the neighbours, and values s at the points, each as seen from its own
 * corner. Both maps are symmetric. */
FE_BODY void element_team_step(int held, int axis, const fe_real a[], fe_real d[], fe_real s[])
{
    FE_UNROLL_FOR (int h = 0; h < held; h++) {
        d[h] = element_team_neighbour(held, axis, a, h) - a[h];
        s[h] = a[h] + FE_FAR * d[h];
    }
}

/* y = transpose of both maps, for the price of one exchange. */
FE_BODY void element_team_transpose(int held, int axis, const fe_real d[], const fe_real s[], fe_real y[])
{
    fe_real away[2];
    FE_UNROLL_FOR (int h = 0; h < held; h++) away[h] = d[h] + FE_FAR * s[h];
    FE_UNROLL_FOR (int h = 0; h < held; h++)
        y[h] = element_team_neighbour(held, axis, away, h) + (FE_NEAR * s[h] - d[h]);
}

enum { AXIS_X = 1, AXIS_Y = 2, AXIS_Z = 4 };

/* Gradients of a Hex8 field at the held points, G[h][c][j] = d f_c / d s_j: 6 exchanges a held corner and
 * component. */
FE_BODY void element_team_gradient(int held, fe_real f[][3], fe_real G[2][3][3])
{
    FE_UNROLL_FOR (int c = 0; c < 3; c++) {
        fe_real a[2], z[2], at_z[2], y[2], at_yz[2], z_at_y[2], g[3][2], unused[2];
        FE_UNROLL_FOR (int h = 0; h < held; h++) a[h] = f[h][c];
        element_team_step(held, AXIS_Z, a, z, at_z);
        element_team_step(held, AXIS_Y, at_z, y, at_yz);
        element_team_step(held, AXIS_Y, z, unused, z_at_y);
        element_team_step(held, AXIS_X, at_yz, g[0], unused);
        element_team_step(held, AXIS_X, y, unused, g[1]);
        element_team_step(held, AXIS_X, z_at_y, unused, g[2]);
        FE_UNROLL_FOR (int h = 0; h < held; h++)
            FE_UNROLL_FOR (int j = 0; j < 3; j++) G[h][c][j] = g[j][h];
    }
}

/* Its transpose, from the points' P[h][c][j] to the forces on the held corners: 6 exchanges again. */
FE_BODY void element_team_scatter(int held, fe_real P[2][3][3], fe_real force[][3])
{
    FE_UNROLL_FOR (int c = 0; c < 3; c++) {
        fe_real p[3][2], x[2], y[2], z[2], plane[2], z_at_y[2], a[2], unused[2];
        FE_UNROLL_FOR (int h = 0; h < held; h++)
            FE_UNROLL_FOR (int j = 0; j < 3; j++) p[j][h] = P[h][c][j];
        element_team_step(held, AXIS_X, p[0], x, unused);
        element_team_step(held, AXIS_X, p[1], unused, y);
        element_team_step(held, AXIS_X, p[2], unused, z);
        element_team_transpose(held, AXIS_Y, y, x, plane);
        element_team_step(held, AXIS_Y, z, unused, z_at_y);
        element_team_transpose(held, AXIS_Z, z_at_y, plane, a);
        FE_UNROLL_FOR (int h = 0; h < held; h++) force[h][c] = a[h];
    }
}

/* Forces on the held corners of a Hex8. Point h is seen from its own corner, turned by h more. */
FE_BODY void element_team_hex8(int held, int op, const fe_view *m, fe_element e, fe_real x[][3],
                               fe_real u[][3], fe_real force[][3])
{
    fe_real J[2][3][3], G[2][3][3], P[2][3][3], A[3][3], stress[6];
    const fe_index turn = e.turn;
    element_team_gradient(held, x, J);
    element_team_gradient(held, u, G);
    FE_UNROLL_FOR (int h = 0; h < held; h++) {
        e.turn = fe_turn_more(turn, h);
        fe_point_stress(FE_HEX8, op, fe_weight(FE_HEX8), m, e, 0, J[h], G[h], A, stress);
        fe_point_force_start(P[h]);
        fe_point_force(stress, A, P[h]);
    }
    element_team_scatter(held, P, force);
}

/* y[node] += f of the first `active` lanes; of a Tet10's corner b those of them that add it. */
enum { TOGETHER = 1 };
FE_BODY void element_team_add(fe_number *y, fe_index node, int active, int contended, const fe_real f[3])
{
#ifdef __CUDACC__
    if (TOGETHER)
        fe_add3_together(y, fe_lane() < active ? node : -1, f);
    else if (fe_lane() < active)
        fe_add3(y, node, 1, contended, f);
#else
    fe_add3(y, node, active, contended, f);
#endif
}

#ifdef __CUDACC__
FE_BODY void element_team_add_held(fe_number *y, fe_index node, int active, int contended, int b,
                                   const fe_real f[3])
{
    (void)contended;
    fe_add3_together(y, fe_lane() < active && fe_tet10_adds(fe_lane() % FE_TET10_TEAM, b) ? node : -1, f);
}
#else
FE_BODY void element_team_add_held(fe_number *y, fe_index node, int active, int contended, int b,
                                   const fe_real f[3])
{
    for (int l = 0; l < FE_LANES && l < active; l++) {
        fe_number *to = y + 3 * (size_t)node.lane[l];
        if (!fe_tet10_adds(l % FE_TET10_TEAM, b)) continue;
        for (int c = 0; c < 3; c++) {
            if (contended) {
                _Pragma("omp atomic") to[c] += f[c][l];
            } else {
                to[c] += f[c][l];
            }
        }
    }
}
#endif

FE_BODY void element_team_tet10(int op, const fe_view *m, int first, int last, int contended,
                                const fe_number *displacement, fe_number *y)
{
    fe_index node[4];
    fe_real x[4][3], u[4][3], force[4][3];
    const fe_element e = fe_tet10_team_open(m, first, last, node);
    FE_UNROLL_FOR (int b = 0; b < 4; b++) {
        fe_read3(fe_coordinates(m), node[b], x[b]);
        fe_read3(displacement, node[b], u[b]);
    }
    fe_tet10_team_forces(op, m, e, x, u, force);
    FE_UNROLL_FOR (int b = 0; b < 4; b++)
        element_team_add_held(y, node[b], (last - first) * FE_TET10_TEAM, contended, b, force[b]);
}

#ifdef __CUDACC__
FE_BODY void element_team_hex27(int op, const fe_view *m, int e, const fe_number *displacement, fe_number *y)
{
    fe_real x[3], u[3], force[3];
    const fe_index node = m->conn[(size_t)fe_hex27_lane() * m->ld + e];
    fe_read3(fe_coordinates(m), node, x);
    fe_read3(displacement, node, u);
    fe_hex27_warp_forces(op, m, fe_element_open(m, e, fe_no_turn()), x, u, force);
    element_team_add(y, node, FE_HEX27_LANES, 1, force);
}
#endif

/* y[node] += corner forces of the elements first, first + 1, … < last of one warp. */
FE_BODY void element_team_forces(int kind, int op, const fe_view *m, int first, int last, int contended,
                                 const fe_number *displacement, fe_number *y)
{
    if (kind == FE_TET10) {
        element_team_tet10(op, m, first, last, contended, displacement, y);
        return;
    }
#ifdef __CUDACC__
    if (kind == FE_HEX27) {
        element_team_hex27(op, m, first, displacement, y);
        return;
    }
#endif
    fe_index node[FE_MOST_CORNERS];
    fe_real x[FE_MOST_CORNERS][3], f[FE_MOST_CORNERS][3], force[FE_MOST_CORNERS][3];
    const int team = element_team_lanes(kind), held = fe_corners(kind) / team, active = (last - first) * team;
    const fe_element element = fe_team_load(kind, team, m, first, last, node, x);
    fe_team_read(kind, held, m, element, node, displacement, f);
    if (kind == FE_HEX8 && held <= 2)
        element_team_hex8(held, op, m, element, x, f, force);
    else
        fe_team_forces(kind, op, team, m, element, x, f, force);
    FE_UNROLL_FOR (int b = 0; b < held; b++) element_team_add(y, node[b], active, contended, force[b]);
}

/* d[node] += diagonal blocks of a corner of quadratic elements in each lane, which visits all points for it.
 */
FE_BODY void element_team_corner_diagonal(int kind, const fe_view *m, fe_index e, fe_index corner, int active,
                                          int contended, fe_number *d)
{
    fe_index node[FE_MOST_CORNERS];
    fe_real x[FE_MOST_CORNERS][3], block[6], rows[3][3];
    const fe_element element = fe_element_load(kind, m, e, fe_no_turn(), node, x);
    const fe_index own = fe_read_index(m->conn, fe_corner_place(0, corner, m->ld, e), 0);
    fe_corner_diagonal(kind, m, element, x, corner, block);
    fe_block_rows(block, rows);
    FE_UNROLL_FOR (int i = 0; i < 3; i++) element_team_add(d, fe_times3(own, i), active, contended, rows[i]);
}

#ifdef __CUDACC__
/* A warp takes all corners of its elements in turn. */
FE_BODY void element_team_quadratic_diagonal(int kind, const fe_view *m, int first, int last, int contended,
                                             fe_number *d)
{
    const int n_corner = fe_corners(kind), n = min(element_team_elements(kind), last - first) * n_corner;
    for (int from = 0; from < n; from += FE_WARP) {
        const int item = min(from + fe_lane(), n - 1);
        element_team_corner_diagonal(kind, m, first + item / n_corner, item % n_corner, n - from, contended,
                                     d);
    }
}
#else
/* One element per lane, corner by corner. */
FE_BODY void element_team_quadratic_diagonal(int kind, const fe_view *m, int first, int last, int contended,
                                             fe_number *d)
{
    const int most = element_team_elements(kind), active = last - first < most ? last - first : most;
    for (int a = 0; a < fe_corners(kind); a++)
        element_team_corner_diagonal(kind, m, fe_lanes_from(first), fe_same_index(a), active, contended, d);
}
#endif

/* d[node] += diagonal blocks of the same elements: a lane visits all points for its own corners. */
FE_BODY void element_team_diagonal(int kind, const fe_view *m, int first, int last, int contended,
                                   fe_number *d)
{
    if (fe_is_quadratic(kind)) {
        element_team_quadratic_diagonal(kind, m, first, last, contended, d);
        return;
    }
    fe_index node[FE_MOST_CORNERS];
    fe_real x[FE_MOST_CORNERS][3], block[6], rows[3][3];
    const int team = element_team_lanes(kind), held = fe_corners(kind) / team, active = (last - first) * team;
    const fe_element element = fe_team_load(kind, team, m, first, last, node, x);
    fe_team_spread(fe_corners(kind), held, x);
    FE_UNROLL_LARGE_FOR (int b = 0; b < held; b++) {
        fe_element_diagonal(kind, m, element, x, b, block);
        fe_block_rows(block, rows);
        FE_UNROLL_FOR (int i = 0; i < 3; i++)
            element_team_add(d, fe_times3(node[b], i), active, contended, rows[i]);
    }
}

#endif
