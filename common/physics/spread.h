/* A quadratic element spread over neighbouring lanes of a device, one point each, for strategies that gather:
 * four lanes for a Tet10, whose corners each sees turned by its number, and a warp for a Hex27, five of whose
 * lanes repeat others. Each lane adds what its point gives to a corner; sums over lanes come at the end. */
#ifndef FE_SPREAD_H
#define FE_SPREAD_H

#include "common/physics/lanes.h"

/* Lanes of an element; 1: it is not spread. */
FE_BOTH int fe_spread_lanes(int kind)
{
    return !FE_ON_DEVICE ? 1 : kind == FE_TET10 ? FE_TET10_TEAM : kind == FE_HEX27 ? FE_WARP : 1;
}

#ifdef __CUDACC__
/* Corners that a lane holds: a Tet10's vertex and the three edges there, or one. */
FE_BODY int fe_spread_held(int kind) { return kind == FE_TET10 ? 4 : 1; }
enum { FE_SPREAD_HELD = 4 };

/* What of a lane is the same in all elements. */
typedef struct fe_spread {
    int own;        /* its number among those of the element */
    int point;      /* of which it computes this point */
    int adds;       /* whether it does not repeat another lane */
    fe_triple t[3]; /* of a Hex27 */
} fe_spread;
FE_BODY fe_spread fe_spread_open(int kind)
{
    fe_spread s;
    s.own = s.point = fe_lane() % fe_spread_lanes(kind), s.adds = 1;
    if (kind == FE_HEX27) {
        s.point = fe_hex27_lane(), s.adds = s.own < FE_HEX27_LANES;
        FE_UNROLL_FOR (int j = 0; j < 3; j++) s.t[j] = fe_triple_open(s.point, j == 0 ? 1 : j == 1 ? 3 : 9);
    }
    return s;
}
/* The number of the lane's element, when blocks of `threads` take one after the other. */
FE_BODY int fe_spread_item(int kind, int threads)
{
    return blockIdx.x * (threads / fe_spread_lanes(kind)) + threadIdx.x / fe_spread_lanes(kind);
}

/* The element as the lane sees it, and the number of the lane's point there. */
FE_BODY fe_element fe_spread_element(int kind, const fe_spread *s, const fe_view *m, int e)
{
    return fe_element_open(m, e, kind == FE_TET10 ? s->own : 0);
}
FE_BODY int fe_spread_point(int kind, const fe_spread *s) { return kind == FE_TET10 ? 0 : s->point; }

/* The corner that a lane holds in place b, its node, and a field there. */
FE_BODY int fe_spread_corner(int kind, const fe_spread *s, int b)
{
    return kind == FE_TET10 ? fe_tet10_held(b, s->own) : s->point;
}
FE_BODY void fe_spread_nodes(int kind, const fe_spread *s, const fe_view *m, int e, int node[])
{
    FE_UNROLL_FOR (int b = 0; b < fe_spread_held(kind); b++)
        node[b] = fe_read_index(m->conn, fe_spread_corner(kind, s, b) * m->ld + e, 0);
}
FE_BODY void fe_spread_read(int kind, const int node[], const fe_number *field, fe_real f[][3])
{
    FE_UNROLL_FOR (int b = 0; b < fe_spread_held(kind); b++) fe_read3(field, node[b], f[b]);
}

/* Derivatives at the lane's point, and the transpose: forces on the corners that it holds. All lanes of the
 * warp take part. */
FE_BODY void fe_spread_gradient(int kind, const fe_spread *s, fe_real f[][3], fe_real G[3][3])
{
    if (kind == FE_TET10)
        fe_tet10_team_gradient(f, G);
    else
        fe_hex27_warp_gradient(s->t, f[0], G);
}
FE_BODY void fe_spread_scatter(int kind, const fe_spread *s, fe_real P[3][3], fe_real y[][3])
{
    if (kind == FE_TET10)
        fe_tet10_team_scatter(P, y);
    else
        fe_hex27_warp_scatter(s->t, P, y[0]);
}
/* Whether a lane is the one that adds the force on its corner b: two hold each edge of a Tet10. */
FE_BODY int fe_spread_adds(int kind, const fe_spread *s, int b)
{
    return kind == FE_TET10 ? fe_tet10_adds(s->own, b) : s->adds;
}

/* w |J| sigma of the lane's point, as fe_point_stress, from x and u at the corners that it holds. */
FE_BODY void fe_spread_stress(int kind, int op, const fe_view *m, fe_element e, const fe_spread *s,
                              fe_real x[][3], fe_real u[][3], fe_real A[3][3], fe_real stress[6])
{
    fe_real J[3][3], G[3][3];
    fe_spread_gradient(kind, s, x, J);
    fe_spread_gradient(kind, s, u, G);
    fe_point_stress(kind, op, fe_weight_at(kind, s->point), m, e, fe_spread_point(kind, s), J, G, A, stress);
}

/* Derivatives of the shape function of a corner at a point, as the point's lane sees them. */
FE_BODY void fe_spread_shape(int kind, int point, int corner, fe_real g[3])
{
    if (kind == FE_TET10) {
        int end[2];
        fe_tet10_ends(corner, end);
        fe_quadratic_gradients(kind, fe_tet10_between(end[0] ^ point, end[1] ^ point), 0, g);
    } else {
        fe_quadratic_gradients(kind, corner, point, g);
    }
}
/* det J times the gradient, of a lane that adds nothing 0. */
FE_BODY void fe_spread_own(int kind, const fe_spread *s, fe_real A[3][3], int corner, fe_real g[3])
{
    fe_real shape[3];
    fe_spread_shape(kind, s->point, corner, shape);
    FE_UNROLL_FOR (int i = 0; i < 3; i++) {
        g[i] = A[i][0] * shape[0] + A[i][1] * shape[1] + A[i][2] * shape[2];
        if (!s->adds) g[i] = 0.0f;
    }
}

/* force += what the lane's point of element e gives to the corner. All lanes of the warp take part. */
FE_BODY void fe_spread_add_force(int kind, int op, const fe_view *m, const fe_spread *s, int e, int corner,
                                 const fe_number *displacement, fe_real force[3])
{
    int node[FE_SPREAD_HELD];
    fe_real x[FE_SPREAD_HELD][3], u[FE_SPREAD_HELD][3], A[3][3], stress[6], g[3];
    fe_spread_nodes(kind, s, m, e, node);
    fe_spread_read(kind, node, fe_coordinates(m), x);
    fe_spread_read(kind, node, displacement, u);
    fe_spread_stress(kind, op, m, fe_spread_element(kind, s, m, e), s, x, u, A, stress);
    fe_spread_own(kind, s, A, corner, g);
    fe_add_product(stress, g, force);
}
/* block += the same of the corner's diagonal block. */
FE_BODY void fe_spread_add_block(int kind, const fe_view *m, const fe_spread *s, int e, int corner,
                                 fe_real block[6])
{
    int node[FE_SPREAD_HELD];
    fe_real x[FE_SPREAD_HELD][3], J[3][3], A[3][3], g[3];
    fe_spread_nodes(kind, s, m, e, node);
    fe_spread_read(kind, node, fe_coordinates(m), x);
    fe_spread_gradient(kind, s, x, J);
    const fe_real scale = fe_weight_at(kind, s->point) / fe_cofactor(J, A);
    fe_spread_own(kind, s, A, corner, g);
    fe_point_block(kind, m, fe_spread_element(kind, s, m, e), fe_spread_point(kind, s), g, scale, block);
}

/* The sum over an element's lanes, the same bits in each. */
FE_BODY fe_real fe_spread_sum(int kind, fe_real value)
{
    FE_UNROLL_FOR (int b = 1; b < fe_spread_lanes(kind); b *= 2) value += fe_exchange(value, b);
    return value;
}
/* The largest number of a warp's lanes. */
FE_BODY int fe_warp_most(int n)
{
    FE_UNROLL_FOR (int b = 1; b < FE_WARP; b *= 2) n = max(n, __shfl_xor_sync(0xffffffffu, n, b));
    return n;
}

/* Rows of which a warp's lanes take one together: row number `at` of those below `last`, for as many elements
 * as the longest row of the warp has. Beyond its own a lane visits element 0, which it does not add. */
typedef struct fe_spread_row {
    int row, active, first, n, longest;
} fe_spread_row;
FE_BODY fe_spread_row fe_spread_row_open(const fe_view *m, int at, int last)
{
    fe_spread_row r;
    r.active = at < last, r.row = r.active ? at : last - 1;
    r.first = m->corner_first[r.row], r.n = r.active ? m->corner_first[r.row + 1] - r.first : 0;
    r.longest = fe_warp_most(r.n);
    return r;
}
FE_BODY int fe_spread_row_corner(const fe_view *m, const fe_spread_row *r, int k)
{
    return k < r->n ? m->corner[r->first + k] : 0;
}
#endif

#endif
