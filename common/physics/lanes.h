/* Elements on teams of lanes: what the lanes of a warp (device) or of a vector (host) exchange.
 *
 * A team of `team` lanes, a power of two, computes one element. Each lane holds n_corner / team = `held`
 * corners and the points at them, and sees the element turned by rank × held, so that they come first. With s
 * a power of two and b < s held, corner b + s held of a lane is corner b of the lane s away (rank ^ s):
 * exchanges are the same for every lane. */
#ifndef FE_LANES_H
#define FE_LANES_H

#include "common/physics/element.h"

#ifdef __CUDACC__

enum { FE_WARP = 32 };
/* First element of this thread's warp, when each takes n. */
FE_BODY int fe_warp_first(int n) { return (blockIdx.x * (blockDim.x / FE_WARP) + threadIdx.x / FE_WARP) * n; }
FE_BODY int fe_lane(void) { return threadIdx.x % FE_WARP; }

/* y[3 to..] += f of each lane with to >= 0, atomically, called by all lanes of a warp at once. Three
 * scattered additions a lane are slow: the warp's 96 numbers go out in three rounds of 32 that follow each
 * other in memory, a row's components side by side: number k = 32 i + lane of round i is component k % 3 of
 * lane k / 3. */
FE_BODY void fe_add3_together(fe_number *y, int to, const fe_real f[3])
{
    const int lane = fe_lane();
    fe_real sent[3];
    FE_UNROLL_FOR (int c = 0; c < 3; c++) {
        const int round = (2 * c + lane) % 3; /* in which component c of a lane arrives here */
        sent[c] = __shfl_sync(0xffffffffu, f[c], (FE_WARP * round + lane - c) / 3);
    }
    FE_UNROLL_FOR (int i = 0; i < 3; i++) {
        const int k = FE_WARP * i + lane, c = k % 3, row = __shfl_sync(0xffffffffu, to, k / 3);
        if (row >= 0)
            atomicAdd(y + 3 * (size_t)row + c, (fe_number)(c == 0 ? sent[0] : c == 1 ? sent[1] : sent[2]));
    }
}
/* The value of lane ^ mask. All lanes of the warp take part. */
FE_BODY fe_real fe_exchange(fe_real a, int mask) { return __shfl_xor_sync(0xffffffffu, a, mask); }
/* Turn of a lane in a team whose lanes hold `held` corners each, and of corner b of them. */
FE_BODY fe_index fe_team_turn(int team, int held) { return fe_lane() % team * held; }
FE_BODY fe_index fe_turn_more(fe_index turn, int b) { return turn ^ b; }
/* Element of the lane's team, from `first` on. Beyond the last element it may be any element that can be
 * read. */
FE_BODY fe_index fe_team_element(int team, int first, int last)
{
    return min(first + fe_lane() / team, last - 1);
}

#else

enum { FE_WARP = FE_LANES };
FE_BODY fe_real fe_exchange(fe_real a, int mask)
{
#if FE_LANES == 16
    if (mask == 4) return FE_SHUFFLE(a, a, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
    if (mask == 2) return FE_SHUFFLE(a, a, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
    return FE_SHUFFLE(a, a, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
#elif FE_LANES == 8
    if (mask == 4) return FE_SHUFFLE(a, a, 4, 5, 6, 7, 0, 1, 2, 3);
    if (mask == 2) return FE_SHUFFLE(a, a, 2, 3, 0, 1, 6, 7, 4, 5);
    return FE_SHUFFLE(a, a, 1, 0, 3, 2, 5, 4, 7, 6);
#else
    if (mask == 2) return FE_SHUFFLE(a, a, 2, 3, 0, 1);
    return FE_SHUFFLE(a, a, 1, 0, 3, 2);
#endif
}
FE_BODY fe_index fe_team_turn(int team, int held)
{
    fe_index turn;
    for (int l = 0; l < FE_LANES; l++) turn.lane[l] = l % team * held;
    return turn;
}
FE_BODY fe_index fe_turn_more(fe_index turn, int b)
{
    for (int l = 0; l < FE_LANES; l++) turn.lane[l] ^= b;
    return turn;
}
FE_BODY fe_index fe_team_element(int team, int first, int last)
{
    fe_index e;
    (void)last; /* arrays reach a vector further */
    for (int l = 0; l < FE_LANES; l++) e.lane[l] = first + l / team;
    return e;
}

#endif

/* --- a Tet10 on four lanes ---------------------------------------------------------------------------- */

/* Lane v, which has turn v, computes point v. It holds vertex v and the three edges there, whose middles are
 * all corners of which the point needs more than the values of the vertices (quadratic.h); and these are one
 * exchange away. Corner b of a lane: 0 is the vertex, others the middle between vertices v and v ^ b. Two
 * lanes hold each edge, and the lower one adds the force. Turned reference coordinates have vertex v as their
 * origin, so constants are the same in all lanes. */
enum { FE_TET10_TEAM = 4 };

#ifdef __CUDACC__
FE_BODY fe_index fe_tet10_held(int b, fe_index turn) { return fe_tet10_between(turn, turn ^ b); }
FE_BODY fe_real fe_tet10_exchange(fe_real a, int b) { return fe_exchange(a, b); }
#else
FE_BODY fe_index fe_tet10_held(int b, fe_index turn)
{
    fe_index corner;
    for (int l = 0; l < FE_LANES; l++) corner.lane[l] = fe_tet10_between(turn.lane[l], turn.lane[l] ^ b);
    return corner;
}
FE_BODY fe_real fe_tet10_exchange(fe_real a, int b)
{
    if (b & 1) a = fe_exchange(a, 1);
    return b & 2 ? fe_exchange(a, 2) : a;
}
#endif
/* Whether the lane of a vertex adds the force on its corner b. */
FE_BODY int fe_tet10_adds(int vertex, int b) { return vertex <= (vertex ^ b); }

FE_BODY void fe_tet10_team_gradient(fe_real f[][3], fe_real G[3][3])
{
    FE_UNROLL_FOR (int c = 0; c < 3; c++) {
        const fe_real own =
            (4.0f * FE_TET10_FAR) * (f[1][c] + f[2][c] + f[3][c]) + (4.0f * FE_TET10_FAR - 1.0f) * f[0][c];
        const fe_real origin = own + FE_TET10_STEP * f[0][c];
        FE_UNROLL_FOR (int j = 0; j < 3; j++)
            G[c][j] = (fe_tet10_exchange(own, j + 1) + FE_TET10_STEP * f[j + 1][c]) - origin;
    }
}

/* The transpose: forces on the lane's corners, those on edges in both lanes. */
FE_BODY void fe_tet10_team_scatter(fe_real P[3][3], fe_real y[][3])
{
    FE_UNROLL_FOR (int c = 0; c < 3; c++) {
        const fe_real value[4] = {-(P[c][0] + P[c][1] + P[c][2]), P[c][0], P[c][1], P[c][2]};
        fe_real sum = value[0];
        FE_UNROLL_FOR (int b = 1; b < 4; b++) sum += fe_tet10_exchange(value[b], b);
        y[0][c] = (4.0f * FE_TET10_FAR - 1.0f) * sum + FE_TET10_STEP * value[0];
        FE_UNROLL_FOR (int b = 1; b < 4; b++) {
            const fe_real part = (4.0f * FE_TET10_FAR) * sum + FE_TET10_STEP * value[b];
            y[b][c] = part + fe_tet10_exchange(part, b);
        }
    }
}

/* Forces on the lane's four corners, from x and u there. */
FE_BODY void fe_tet10_team_forces(int op, const fe_view *m, fe_element e, fe_real x[][3], fe_real u[][3],
                                  fe_real y[][3])
{
    fe_real J[3][3], G[3][3], A[3][3], P[3][3], stress[6];
    fe_tet10_team_gradient(x, J);
    fe_tet10_team_gradient(u, G);
    fe_point_stress(FE_TET10, op, fe_weight(FE_TET10), m, e, 0, J, G, A, stress);
    fe_point_force_start(P);
    fe_point_force(stress, A, P);
    fe_tet10_team_scatter(P, y);
}

/* The team's element of [first, last), and the nodes of the lane's corners. */
FE_BODY fe_element fe_tet10_team_open(const fe_view *m, int first, int last, fe_index node[])
{
    const fe_element e =
        fe_element_open(m, fe_team_element(FE_TET10_TEAM, first, last), fe_team_turn(FE_TET10_TEAM, 1));
    FE_UNROLL_FOR (int b = 0; b < 4; b++)
        node[b] = fe_read_index(m->conn, fe_corner_place(0, fe_tet10_held(b, e.turn), m->ld, e.e), 0);
    return e;
}

#ifdef __CUDACC__
/* --- a Hex27 on a warp -------------------------------------------------------------------------------- */

/* Lane i + 3 j + 9 k holds the corner and computes the point of this number. Derivatives form by exchanges
 * along the three axes, each among the three lanes of a line, and forces return by the transposed exchanges.
 * Five lanes of the warp repeat others. */
enum { FE_HEX27_LANES = 27 };
FE_BODY int fe_hex27_lane(void) { return fe_lane() % FE_HEX27_LANES; }

/* A lane's place on its line along an axis, and the two lanes further on, in a circle; value[r] and slope[r]
 * at the lane's own point of the corner that is r places further. */
typedef struct fe_triple {
    int lane[3];
    fe_scalar value[3], slope[3];
} fe_triple;
FE_BODY fe_triple fe_triple_open(int own, int stride)
{
    fe_triple t;
    const int place = own / stride % 3;
    FE_UNROLL_FOR (int r = 0; r < 3; r++) {
        const int next = place + r < 3 ? place + r : place + r - 3;
        t.lane[r] = own + (next - place) * stride;
        t.value[r] = fe_triple_value(next, place), t.slope[r] = fe_triple_slope(next, place);
    }
    return t;
}
/* Values and derivatives at the lanes' points from the values of their corners. */
FE_BODY void fe_triple_read(const fe_triple *t, fe_real a, fe_real *value, fe_real *slope)
{
    *value = t->value[0] * a, *slope = t->slope[0] * a;
    FE_UNROLL_FOR (int r = 1; r < 3; r++) {
        const fe_real other = __shfl_sync(0xffffffffu, a, t->lane[r]);
        *value += t->value[r] * other, *slope += t->slope[r] * other;
    }
}
/* The transpose: what the points' values and slopes add to the lanes' corners. A lane sends what the corner r
 * places further gets, and that comes from the lane 3 - r places further. */
FE_BODY fe_real fe_triple_write(const fe_triple *t, fe_real value, fe_real slope)
{
    fe_real sum = t->value[0] * value + t->slope[0] * slope;
    FE_UNROLL_FOR (int r = 1; r < 3; r++)
        sum += __shfl_sync(0xffffffffu, t->value[r] * value + t->slope[r] * slope, t->lane[3 - r]);
    return sum;
}

FE_BODY void fe_hex27_warp_gradient(const fe_triple t[3], const fe_real f[3], fe_real G[3][3])
{
    FE_UNROLL_FOR (int c = 0; c < 3; c++) {
        fe_real z[2], y[3], unused;
        fe_triple_read(&t[2], f[c], &z[0], &z[1]);
        fe_triple_read(&t[1], z[0], &y[0], &y[1]);
        fe_triple_read(&t[1], z[1], &y[2], &unused);
        fe_triple_read(&t[0], y[0], &unused, &G[c][0]);
        fe_triple_read(&t[0], y[1], &G[c][1], &unused);
        fe_triple_read(&t[0], y[2], &G[c][2], &unused);
    }
}
FE_BODY void fe_hex27_warp_scatter(const fe_triple t[3], fe_real P[3][3], fe_real y[3])
{
    FE_UNROLL_FOR (int c = 0; c < 3; c++) {
        const fe_real none = 0.0f, x = fe_triple_write(&t[0], none, P[c][0]),
                      along_y = fe_triple_write(&t[0], P[c][1], none),
                      along_z = fe_triple_write(&t[0], P[c][2], none);
        y[c] =
            fe_triple_write(&t[2], fe_triple_write(&t[1], x, along_y), fe_triple_write(&t[1], along_z, none));
    }
}

/* The force on the lane's corner, from x and u there. All lanes of the warp take part. */
FE_BODY void fe_hex27_warp_forces(int op, const fe_view *m, fe_element e, const fe_real x[3],
                                  const fe_real u[3], fe_real y[3])
{
    const int own = fe_hex27_lane();
    const fe_triple t[3] = {fe_triple_open(own, 1), fe_triple_open(own, 3), fe_triple_open(own, 9)};
    fe_real J[3][3], G[3][3], A[3][3], P[3][3], stress[6];
    fe_hex27_warp_gradient(t, x, J);
    fe_hex27_warp_gradient(t, u, G);
    fe_point_stress(FE_HEX27, op, fe_hex27_weight(own), m, e, own, J, G, A, stress);
    fe_point_force_start(P);
    fe_point_force(stress, A, P);
    fe_hex27_warp_scatter(t, P, y);
}
#endif

/* --- powers of two ----------------------------------------------------------------------------------- */

/* The team's element of [first, last), turned, and the nodes of the lane's corners. */
FE_BODY fe_element fe_team_open(int kind, int team, const fe_view *m, int first, int last, fe_index node[])
{
    const int held = fe_corners(kind) / team;
    const fe_element e = fe_element_open(m, fe_team_element(team, first, last), fe_team_turn(team, held));
    FE_UNROLL_FOR (int b = 0; b < held; b++) {
        node[b] = fe_read_index(m->conn, fe_corner_place(b, e.turn, m->ld, e.e), 0);
    }
    return e;
}

/* A field at the lane's corners; in mixed precision minus its value at corner 0 of the element without turn,
 * as fe_element_read. */
FE_BODY void fe_team_read(int kind, int held, const fe_view *m, fe_element e, const fe_index node[],
                          const fe_number *field, fe_real f[][3])
{
    fe_index from = node[0];
    if (FE_PRECISION == FE_MIXED && held < fe_corners(kind)) from = fe_read_index(m->conn, e.e, 0);
    FE_UNROLL_FOR (int b = 0; b < held; b++) {
        if (FE_PRECISION == FE_MIXED)
            fe_read3_from(field, node[b], from, f[b]);
        else
            fe_read3(field, node[b], f[b]);
    }
}

/* The same, and the coordinates there. */
FE_BODY fe_element fe_team_load(int kind, int team, const fe_view *m, int first, int last, fe_index node[],
                                fe_real x[][3])
{
    const fe_element e = fe_team_open(kind, team, m, first, last, node);
    fe_team_read(kind, fe_corners(kind) / team, m, e, node, fe_coordinates(m), x);
    return e;
}

/* Gives each lane all n corners: the number that it knows doubles with every exchange. */
FE_BODY void fe_team_spread(int n, int held, fe_real f[][3])
{
    FE_UNROLL_FOR (int b = 1; b < n; b++) {
        const int axis = b < 2 ? 1 : b < 4 ? 2 : 4; /* the highest bit of b */
        if (axis < held) continue;
        FE_UNROLL_FOR (int c = 0; c < 3; c++) f[b][c] = fe_exchange(f[b - axis][c], axis / held);
    }
}

/* The transpose: sums all n corners over the team, and leaves each sum in the lane that holds the corner. The
 * number of sums halves with every exchange. */
FE_BODY void fe_team_sum(int n, int held, fe_real y[][3])
{
    FE_UNROLL_FOR (int b = n - 1; b > 0; b--) {
        const int axis = b < 2 ? 1 : b < 4 ? 2 : 4;
        if (axis < held) continue;
        FE_UNROLL_FOR (int c = 0; c < 3; c++) y[b - axis][c] += fe_exchange(y[b][c], axis / held);
    }
}

/* Forces on the lane's corners, from x and u there. Lanes compute their own points from all corners and sum
 * over the team. Where there are fewer points than lanes (Tet4 has one), all lanes compute it, each for its
 * own corner. */
FE_BODY void fe_team_forces(int kind, int op, int team, const fe_view *m, fe_element e, fe_real x[][3],
                            fe_real u[][3], fe_real y[][3])
{
    const int n = fe_corners(kind), held = n / team, n_point = fe_points(kind) / team;
    if (fe_is_quadratic(kind)) { /* of one lane */
        fe_element_forces(kind, op, m, e, x, u, y);
        return;
    }
    fe_team_spread(n, held, x);
    fe_team_spread(n, held, u);
    if (n_point == 0) {
        fe_corner_force(kind, op, m, e, fe_no_turn(), x, u, y[0]);
    } else {
        fe_points_forces(kind, op, m, e, n_point > 4 ? 2 : 1, n_point > 4 ? 4 : n_point, x, u, y);
        fe_team_sum(n, held, y);
    }
}

#endif
