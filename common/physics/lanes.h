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
