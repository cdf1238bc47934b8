/* element_warp: a warp computes one element. Lane q computes point q from all corners, the forces are summed
 * over the lanes by shuffles, and one lane per corner and component adds them to the nodes with atomics. */
#ifndef ELEMENT_WARP_ASSEMBLY_H
#define ELEMENT_WARP_ASSEMBLY_H

#include "common/physics/lanes.h"

enum { ELEMENT_WARP_BLOCK = 128 }; /* threads */

/* Lanes with a corner of their own; the others of the warp repeat them. */
FE_BOTH int element_warp_lanes(int kind) { return fe_corners(kind) < FE_WARP ? fe_corners(kind) : FE_WARP; }
/* Elements of a warp: one, but on a host, whose vectors are no warps for them, a quadratic one in each lane.
 */
FE_BOTH int element_warp_elements(int kind) { return !FE_ON_DEVICE && fe_is_quadratic(kind) ? FE_WARP : 1; }

/* y[node] += f of the first `team` lanes. On the device the repetitions share the work: team c adds component
 * c, 24 lanes of a Hex8 at once. */
#ifdef __CUDACC__
FE_BODY void element_warp_add(int team, fe_number *y, fe_index node, int contended, const fe_real f[3])
{
    const int c = fe_lane() / team;
    (void)contended;
    if (c < 3) atomicAdd(y + 3 * (size_t)node + c, (fe_number)(c == 0 ? f[0] : c == 1 ? f[1] : f[2]));
}
#else
FE_BODY void element_warp_add(int team, fe_number *y, fe_index node, int contended, const fe_real f[3])
{
    fe_add3(y, node, team, contended, f);
}
#endif

#ifdef __CUDACC__
/* --- quadratic elements: a warp's corners and points meet in shared memory ----------------------------- */

typedef struct element_warp_shared {
    fe_scalar corner[FE_MOST_CORNERS][6]; /* x and u */
    fe_scalar point[FE_MOST_POINTS][9];   /* P of fe_point_force */
} element_warp_shared;

/* Factors of shape functions along the three axes of a Hex27, [axis][place]: at the lane's point of the
 * corner in a place, or of the lane's corner at the point in a place. */
typedef struct element_warp_factors {
    fe_scalar value[3][3], slope[3][3];
} element_warp_factors;
FE_BODY element_warp_factors element_warp_factors_of(int own, int is_corner)
{
    element_warp_factors f;
    const int place[3] = {own % 3, own / 3 % 3, own / 9};
    FE_UNROLL_FOR (int i = 0; i < 3; i++)
        FE_UNROLL_FOR (int k = 0; k < 3; k++) {
            const int a = is_corner ? place[i] : k, q = is_corner ? k : place[i];
            f.value[i][k] = fe_triple_value(a, q), f.slope[i][k] = fe_triple_slope(a, q);
        }
    return f;
}
/* Derivatives of the shape function of corner a at point q, one of which is the lane's own and the other,
 * `there`, a constant. */
FE_BODY void element_warp_gradient(int kind, const element_warp_factors *f, int a, int q, int there,
                                   fe_scalar g[3])
{
    if (kind == FE_TET10) {
        FE_UNROLL_FOR (int j = 0; j < 3; j++) g[j] = fe_tet10_shape_gradient(a, q, j);
        return;
    }
    const int i = there % 3, j = there / 3 % 3, k = there / 9;
    g[0] = f->slope[0][i] * (f->value[1][j] * f->value[2][k]);
    g[1] = f->value[0][i] * (f->slope[1][j] * f->value[2][k]);
    g[2] = f->value[0][i] * (f->value[1][j] * f->slope[2][k]);
}

/* P of the lane's point, of which there are fewer than lanes: the others repeat them. */
FE_BODY void element_warp_point(int kind, int op, const fe_view *m, int e, int q, element_warp_shared *s)
{
    const element_warp_factors f = element_warp_factors_of(kind == FE_HEX27 ? q : 0, 0);
    fe_real J[3][3], G[3][3], A[3][3], P[3][3], stress[6];
    FE_UNROLL_FOR (int i = 0; i < 9; i++) J[i / 3][i % 3] = G[i / 3][i % 3] = 0.0f;
    FE_UNROLL_FOR (int a = 0; a < fe_corners(kind); a++) {
        fe_scalar g[3];
        element_warp_gradient(kind, &f, a, q, a, g);
        FE_UNROLL_FOR (int i = 0; i < 9; i++) {
            J[i / 3][i % 3] += s->corner[a][i / 3] * g[i % 3];
            G[i / 3][i % 3] += s->corner[a][3 + i / 3] * g[i % 3];
        }
    }
    fe_point_stress(kind, op, fe_weight_at(kind, q), m, fe_element_open(m, e, fe_no_turn()), q, J, G, A,
                    stress);
    fe_point_force_start(P);
    fe_point_force(stress, A, P);
    if (fe_lane() < fe_points(kind))
        FE_UNROLL_FOR (int i = 0; i < 9; i++) s->point[q][i] = P[i / 3][i % 3];
}

/* Lane q computes point q from all corners; then lane a sums all points for corner a. */
FE_BODY void element_warp_quadratic(int kind, int op, const fe_view *m, int e, const fe_number *displacement,
                                    fe_number *y)
{
    __shared__ element_warp_shared shared[ELEMENT_WARP_BLOCK / FE_WARP];
    element_warp_shared *s = &shared[threadIdx.x / FE_WARP];
    const int n = fe_corners(kind), lane = fe_lane(), a = lane % n;
    const int node = m->conn[(size_t)a * m->ld + e];
    fe_real x[3], u[3], force[3] = {0.0f, 0.0f, 0.0f};
    fe_read3(fe_coordinates(m), node, x);
    fe_read3(displacement, node, u);
    if (lane < n)
        FE_UNROLL_FOR (int c = 0; c < 3; c++) s->corner[a][c] = x[c], s->corner[a][3 + c] = u[c];
    __syncwarp();
    element_warp_point(kind, op, m, e, lane % fe_points(kind), s);
    __syncwarp();
    const element_warp_factors f = element_warp_factors_of(kind == FE_HEX27 ? a : 0, 1);
    FE_UNROLL_FOR (int q = 0; q < fe_points(kind); q++) {
        fe_scalar g[3];
        element_warp_gradient(kind, &f, a, q, q, g);
        FE_UNROLL_FOR (int i = 0; i < 9; i++) force[i / 3] += s->point[q][i] * g[i % 3];
    }
    fe_add3_together(y, lane < n ? node : -1, force);
}

/* d[node] += the block of the lane's corner, over all points. */
FE_BODY void element_warp_quadratic_diagonal(int kind, const fe_view *m, int e, fe_number *d)
{
    fe_index node[FE_MOST_CORNERS];
    fe_real x[FE_MOST_CORNERS][3], block[6], rows[3][3];
    const int n = fe_corners(kind), lane = fe_lane(), a = lane % n, own = m->conn[(size_t)a * m->ld + e];
    const fe_element element = fe_element_load(kind, m, e, fe_no_turn(), node, x);
    fe_corner_diagonal(kind, m, element, x, a, block);
    fe_block_rows(block, rows);
    FE_UNROLL_FOR (int i = 0; i < 3; i++) fe_add3_together(d, lane < n ? 3 * own + i : -1, rows[i]);
}
#else
/* One element in each lane. */
FE_BODY void element_warp_quadratic(int kind, int op, const fe_view *m, int e, int active, int contended,
                                    const fe_number *displacement, fe_number *y)
{
    fe_index node[FE_MOST_CORNERS];
    fe_real x[FE_MOST_CORNERS][3], f[FE_MOST_CORNERS][3], force[FE_MOST_CORNERS][3];
    const fe_element element = fe_element_load(kind, m, fe_lanes_from(e), fe_no_turn(), node, x);
    fe_element_read(kind, node, displacement, f);
    fe_element_forces(kind, op, m, element, x, f, force);
    for (int b = 0; b < fe_corners(kind); b++) fe_add3(y, node[b], active, contended, force[b]);
}
FE_BODY void element_warp_quadratic_diagonal(int kind, const fe_view *m, int e, int active, int contended,
                                             fe_number *d)
{
    fe_index node[FE_MOST_CORNERS];
    fe_real x[FE_MOST_CORNERS][3], block[6], rows[3][3];
    const fe_element element = fe_element_load(kind, m, fe_lanes_from(e), fe_no_turn(), node, x);
    for (int b = 0; b < fe_corners(kind); b++) {
        fe_element_diagonal(kind, m, element, x, b, block);
        fe_block_rows(block, rows);
        FE_UNROLL_FOR (int i = 0; i < 3; i++) fe_add3(d, fe_times3(node[b], i), active, contended, rows[i]);
    }
}
#endif

/* y[node] += corner forces of element e, or of the quadratic ones from e on. */
FE_BODY void element_warp_forces(int kind, int op, const fe_view *m, int e, int last, int contended,
                                 const fe_number *displacement, fe_number *y)
{
    if (fe_is_quadratic(kind)) {
#ifdef __CUDACC__
        element_warp_quadratic(kind, op, m, e, displacement, y);
#else
        element_warp_quadratic(kind, op, m, e, last - e, contended, displacement, y);
#endif
        return;
    }
    fe_index node[FE_MOST_CORNERS];
    fe_real x[FE_MOST_CORNERS][3], f[FE_MOST_CORNERS][3], force[FE_MOST_CORNERS][3];
    const int team = element_warp_lanes(kind), held = fe_corners(kind) / team;
    const fe_element element = fe_team_load(kind, team, m, e, e + 1, node, x);
    fe_team_read(kind, held, m, element, node, displacement, f);
    fe_team_forces(kind, op, team, m, element, x, f, force);
    FE_UNROLL_FOR (int b = 0; b < held; b++) element_warp_add(team, y, node[b], contended, force[b]);
}

/* d[node] += diagonal blocks of element e: a lane visits all points for its own corner. */
FE_BODY void element_warp_diagonal(int kind, const fe_view *m, int e, int last, int contended, fe_number *d)
{
    if (fe_is_quadratic(kind)) {
#ifdef __CUDACC__
        element_warp_quadratic_diagonal(kind, m, e, d);
#else
        element_warp_quadratic_diagonal(kind, m, e, last - e, contended, d);
#endif
        return;
    }
    fe_index node[FE_MOST_CORNERS];
    fe_real x[FE_MOST_CORNERS][3], block[6], rows[3][3];
    const int team = element_warp_lanes(kind), held = fe_corners(kind) / team;
    const fe_element element = fe_team_load(kind, team, m, e, e + 1, node, x);
    fe_team_spread(fe_corners(kind), held, x);
    FE_UNROLL_LARGE_FOR (int b = 0; b < held; b++) {
        fe_element_diagonal(kind, m, element, x, b, block);
        fe_block_rows(block, rows);
        FE_UNROLL_FOR (int i = 0; i < 3; i++)
            element_warp_add(team, d, fe_times3(node[b], i), contended, rows[i]);
    }
}

#endif
