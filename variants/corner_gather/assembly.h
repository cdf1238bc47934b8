/* corner_gather: elements store the forces on their corners, each in a place of its own (libraries call this
 * an E-vector); then every node sums the places of its corners. Each element is computed once, no atomics. */
#ifndef CORNER_GATHER_ASSEMBLY_H
#define CORNER_GATHER_ASSEMBLY_H

#include "common/backend/device.h"
#include "common/physics/spread.h"
#include "common/variant.h"

/* Places are in the order in which nodes read them, in slices of 32 rows: corner k of row n is place
 *   slice[n / 32] + 32 (k - k % run) + run (n % 32) + k % run.
 * Reads are then coalesced on every mesh and need no index. With run 1 elements store where neighbouring
 * elements have neighbouring nodes. On the device, except on regular Hex8, run corners of a row stand side by
 * side, and a block stores the forces on its corners sorted by place: of a row's corners it has several. */
enum { CORNER_GATHER_SLICE = 32 };
FE_BOTH int corner_gather_run(int kind) { return fe_is_tet(kind) ? 4 : 2; }

typedef struct corner_gather {
    fe_scalar
        *value; /* [6][n_slot] forces x y z, or diagonal blocks xx yy zz xy yz xz; 0 where no corner is */
    size_t n_slot;
    int run;
    /* place of each corner, also of ghosts. run 1: [n_corner][ld]. Otherwise [n_block][block_corners],
     * for each block in ascending order, and */
    const int *place;
    const uint16_t *source; /* which of the block's corners it is: thread + 128 × corner of the thread */
    const int *slice;       /* [slices + 1] first place of 32 rows */
} corner_gather;

#ifdef __cplusplus
extern "C"
#endif
    /* on_device: runs may be longer than 1. */
    fe_status
    corner_gather_make(fe_problem *p, int on_device, size_t value_bytes, void **work);

static inline fe_status corner_gather_setup(fe_problem *p, void **work)
{
    return corner_gather_make(p, FE_ON_DEVICE, sizeof(fe_scalar), work);
}

/* The same places for forces in floats. */
static inline fe_status corner_gather_setup_from(fe_problem *p, void *in_double, void **work)
{
    FE_TRY(fe_device_keep(p->device, sizeof(corner_gather), "corner_gather", work));
    corner_gather *w = (corner_gather *)*work;
    *w = *(const corner_gather *)in_double;
    return fe_device_allocate(p->device, 3 * w->n_slot, sizeof(float), "corner_gather: corner forces",
                              (void **)&w->value);
}

/* Threads of a block on the device, and their corners: at most four each. */
enum { CORNER_GATHER_THREADS = 128, CORNER_GATHER_BLOCK = 4 * CORNER_GATHER_THREADS };
/* Threads that share an element on the device: two a Hex8, those of spread.h a quadratic one. */
FE_BOTH int corner_gather_device_team(int kind)
{
    return fe_corners(kind) == 8 ? 2 : kind == FE_TET10 ? FE_TET10_TEAM : kind == FE_HEX27 ? 32 : 1;
}
FE_BOTH int corner_gather_block_elements(int kind)
{
    return CORNER_GATHER_THREADS / corner_gather_device_team(kind);
}
FE_BOTH int corner_gather_block_corners(int kind)
{
    return corner_gather_block_elements(kind) * fe_corners(kind);
}
FE_BOTH int corner_gather_team(int kind) { return FE_ON_DEVICE ? corner_gather_device_team(kind) : 1; }
/* Elements of a warp or vector. */
FE_BOTH int corner_gather_elements(int kind) { return FE_WARP / corner_gather_team(kind); }

/* The elements first, first + 1, … < last of one warp, and the nodes of each lane's corners. Beyond the end,
 * threads repeat the last element. Vectors stay whole: what they store there belongs to the border part,
 * which comes later, or to no corner. */
FE_BODY fe_element corner_gather_open(int kind, int team, const fe_view *m, int first, int last,
                                      fe_index node[])
{
    if (FE_LANES == 1 || team > 1) return fe_team_open(kind, team, m, first, last, node);
    const fe_element e = fe_element_open(m, fe_lanes_from(first), fe_no_turn());
    fe_element_nodes(kind, m, e, node);
    return e;
}

/* Value of corner b of turned elements: into its slot, or, where sorted, into the block's memory,
 * sorted [width][CORNER_GATHER_BLOCK]. */
FE_BODY void corner_gather_store(const fe_view *m, const corner_gather *w, fe_element e, int b, int width,
                                 const fe_real value[], fe_scalar *sorted)
{
#ifdef __CUDACC__
    if (sorted) {
        FE_UNROLL_FOR (int c = 0; c < width; c++)
            sorted[CORNER_GATHER_BLOCK * c + CORNER_GATHER_THREADS * b + threadIdx.x] = value[c];
        return;
    }
#endif
    const fe_mask all = fe_splat(1.0f) > fe_splat(0.0f);
    const fe_index at = fe_read_index(w->place, fe_corner_place(b, e.turn, m->ld, e.e), 0);
    (void)sorted;
    FE_UNROLL_FOR (int c = 0; c < width; c++) fe_write(w->value, at, c * w->n_slot, all, value[c]);
}

/* Stores the forces on the corners of the elements first, first + 1, … < last of one warp. */
FE_BODY void corner_gather_forces(int kind, int op, const fe_view *m, const corner_gather *w, int first,
                                  int last, const fe_number *displacement, fe_scalar *sorted)
{
    fe_index node[FE_MOST_CORNERS];
    fe_real x[FE_MOST_CORNERS][3], f[FE_MOST_CORNERS][3], force[FE_MOST_CORNERS][3];
    const int team = corner_gather_team(kind), held = fe_corners(kind) / team;
    const fe_element element = corner_gather_open(kind, team, m, first, last, node);
    fe_team_read(kind, held, m, element, node, fe_coordinates(m), x);
    fe_team_read(kind, held, m, element, node, displacement, f);
    fe_team_forces(kind, op, team, m, element, x, f, force);
    FE_UNROLL_FOR (int b = 0; b < held; b++) corner_gather_store(m, w, element, b, 3, force[b], sorted);
}

/* The same with diagonal blocks; a lane visits all points for its own corners. */
FE_BODY void corner_gather_diagonal(int kind, const fe_view *m, const corner_gather *w, int first, int last,
                                    fe_scalar *sorted)
{
    fe_index node[FE_MOST_CORNERS];
    fe_real x[FE_MOST_CORNERS][3], block[6];
    const int team = corner_gather_team(kind), held = fe_corners(kind) / team;
    const fe_element element = corner_gather_open(kind, team, m, first, last, node);
    fe_team_read(kind, held, m, element, node, fe_coordinates(m), x);
    fe_team_spread(fe_corners(kind), held, x);
    FE_UNROLL_LARGE_FOR (int b = 0; b < held; b++) {
        fe_element_diagonal(kind, m, element, x, b, block);
        corner_gather_store(m, w, element, b, 6, block, sorted);
    }
}

#ifdef __CUDACC__
/* Both of quadratic elements, always sorted. Threads hold the corners of spread.h. */
FE_BODY void corner_gather_spread_forces(int kind, int op, const fe_view *m, int first, int last,
                                         const fe_number *displacement, fe_scalar *sorted)
{
    const fe_spread s = fe_spread_open(kind);
    const int e = fe_team_element(fe_spread_lanes(kind), first, last);
    int node[FE_SPREAD_HELD];
    fe_real x[FE_SPREAD_HELD][3], u[FE_SPREAD_HELD][3], A[3][3], P[3][3], stress[6];
    fe_spread_nodes(kind, &s, m, e, node);
    fe_spread_read(kind, node, fe_coordinates(m), x);
    fe_spread_read(kind, node, displacement, u);
    fe_spread_stress(kind, op, m, fe_spread_element(kind, &s, m, e), &s, x, u, A, stress);
    fe_point_force_start(P);
    fe_point_force(stress, A, P);
    fe_spread_scatter(kind, &s, P, u);
    FE_UNROLL_FOR (int b = 0; b < fe_spread_held(kind); b++)
        FE_UNROLL_FOR (int c = 0; c < 3; c++)
            sorted[CORNER_GATHER_BLOCK * c + CORNER_GATHER_THREADS * b + threadIdx.x] = u[b][c];
}

/* Corner by corner: threads sum what their points give to it. */
FE_BODY void corner_gather_spread_diagonal(int kind, const fe_view *m, int first, int last, fe_scalar *sorted)
{
    const fe_spread s = fe_spread_open(kind);
    const int e = fe_team_element(fe_spread_lanes(kind), first, last);
    int node[FE_SPREAD_HELD];
    fe_real x[FE_SPREAD_HELD][3], J[3][3], A[3][3];
    fe_spread_nodes(kind, &s, m, e, node);
    fe_spread_read(kind, node, fe_coordinates(m), x);
    fe_spread_gradient(kind, &s, x, J);
    const fe_element element = fe_spread_element(kind, &s, m, e);
    const fe_real scale = fe_weight_at(kind, s.point) / fe_cofactor(J, A);
#pragma unroll 1
    for (int a = 0; a < fe_corners(kind); a++) {
        fe_real g[3], block[6] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
        fe_spread_own(kind, &s, A, a, g);
        fe_point_block(kind, m, element, fe_spread_point(kind, &s), g, scale, block);
        const int place = fe_spread_place(kind, a);
        FE_UNROLL_FOR (int c = 0; c < 6; c++) {
            const fe_real sum = fe_spread_sum(kind, block[c]);
            if (s.own == place % fe_spread_lanes(kind))
                sorted[CORNER_GATHER_BLOCK * c + CORNER_GATHER_THREADS * (place / fe_spread_lanes(kind)) +
                       threadIdx.x] = sum;
        }
    }
}
#endif

#endif
