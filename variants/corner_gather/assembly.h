/* corner_gather: elements store the forces on their corners, each in a place of its own (libraries call this
 * an E-vector); then every node sums the places of its corners. Each element is computed once, no atomics. */
#ifndef CORNER_GATHER_ASSEMBLY_H
#define CORNER_GATHER_ASSEMBLY_H

#include "common/backend/device.h"
#include "common/physics/spread.h"
#include "common/variant.h"

/* On the device forces are in the order of elements, all numbers of a corner side by side: elements write
 * what follows each other, and rows find their corners by the view's list.
 *
 * On the host places are in the order in which nodes read them, in slices of 32 rows, so that a vector reads
 * neighbours: corner k of row n is place slice[n / 32] + 32 k + n % 32. */
enum { CORNER_GATHER_SLICE = 32 };

typedef struct corner_gather {
    /* Forces x y z, or diagonal blocks xx yy zz xy yz xz. On the device [n_elem][n_corner][3] or [6]; on the
     * host [6][n_slot], 0 where no corner is. */
    fe_scalar *value;
    size_t n_slot;
    const int *place; /* [n_corner][ld] of the host: place of each corner, also of ghosts */
    const int *slice; /* [slices + 1] of the host: first place of 32 rows */
} corner_gather;

#ifdef __cplusplus
extern "C"
#endif
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

/* Threads that share an element: on the device two a Hex8, those of spread.h a quadratic one. */
FE_BOTH int corner_gather_team(int kind)
{
    return !FE_ON_DEVICE ? 1 : fe_corners(kind) == 8 ? 2 : fe_spread_lanes(kind);
}
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

#ifdef __CUDACC__
/* Numbers that an element has in a warp's shared memory; one more where that keeps lanes from one bank. */
FE_BOTH int corner_gather_stride(int kind, int width) { return width * fe_corners(kind) | 1; }
#endif

/* Value of corner b of a lane's turned element: into its place, or on the device to the warp's memory,
 * kept[element][stride], where corners have no turn. */
FE_BODY void corner_gather_store(int kind, const fe_view *m, const corner_gather *w, fe_element e, int b,
                                 int width, const fe_real value[], fe_scalar *kept)
{
#ifdef __CUDACC__
    const int team = corner_gather_team(kind), own = fe_lane() % team,
              corner = fe_is_quadratic(kind) ? b : fe_corners(kind) / team * own + b;
    FE_UNROLL_FOR (int c = 0; c < width; c++)
        kept[corner_gather_stride(kind, width) * (fe_lane() / team) + width * corner + c] = value[c];
    (void)m, (void)w, (void)e;
#else
    const fe_mask all = fe_splat(1.0f) > fe_splat(0.0f);
    const fe_index at = fe_read_index(w->place, fe_corner_place(b, e.turn, m->ld, e.e), 0);
    (void)kind, (void)kept;
    FE_UNROLL_FOR (int c = 0; c < width; c++) fe_write(w->value, at, c * w->n_slot, all, value[c]);
#endif
}

/* Stores the forces on the corners of the elements first, first + 1, … < last of one warp. */
FE_BODY void corner_gather_forces(int kind, int op, const fe_view *m, const corner_gather *w, int first,
                                  int last, const fe_number *displacement, fe_scalar *kept)
{
    fe_index node[FE_MOST_CORNERS];
    fe_real x[FE_MOST_CORNERS][3], f[FE_MOST_CORNERS][3], force[FE_MOST_CORNERS][3];
    const int team = corner_gather_team(kind), held = fe_corners(kind) / team;
    const fe_element element = corner_gather_open(kind, team, m, first, last, node);
    fe_team_read(kind, held, m, element, node, fe_coordinates(m), x);
    fe_team_read(kind, held, m, element, node, displacement, f);
    fe_team_forces(kind, op, team, m, element, x, f, force);
    FE_UNROLL_FOR (int b = 0; b < held; b++) corner_gather_store(kind, m, w, element, b, 3, force[b], kept);
}

/* The same with diagonal blocks; a lane visits all points for its own corners. */
FE_BODY void corner_gather_diagonal(int kind, const fe_view *m, const corner_gather *w, int first, int last,
                                    fe_scalar *kept)
{
    fe_index node[FE_MOST_CORNERS];
    fe_real x[FE_MOST_CORNERS][3], block[6];
    const int team = corner_gather_team(kind), held = fe_corners(kind) / team;
    const fe_element element = corner_gather_open(kind, team, m, first, last, node);
    fe_team_read(kind, held, m, element, node, fe_coordinates(m), x);
    fe_team_spread(fe_corners(kind), held, x);
    FE_UNROLL_LARGE_FOR (int b = 0; b < held; b++) {
        fe_element_diagonal(kind, m, element, x, b, block);
        corner_gather_store(kind, m, w, element, b, 6, block, kept);
    }
}

#ifdef __CUDACC__
/* Both of quadratic elements. Threads hold the corners of spread.h. */
FE_BODY void corner_gather_spread_forces(int kind, int op, const fe_view *m, int first, int last,
                                         const fe_number *displacement, fe_scalar *kept)
{
    const fe_spread s = fe_spread_open(kind);
    const int e = fe_team_element(fe_spread_lanes(kind), first, last);
    int node[FE_SPREAD_HELD];
    fe_real x[FE_SPREAD_HELD][3], u[FE_SPREAD_HELD][3], A[3][3], P[3][3], stress[6];
    fe_spread_nodes(kind, &s, m, e, node);
    fe_spread_read(kind, node, fe_coordinates(m), x);
    fe_spread_read(kind, node, displacement, u);
    const fe_element element = fe_spread_element(kind, &s, m, e);
    fe_spread_stress(kind, op, m, element, &s, x, u, A, stress);
    fe_point_force_start(P);
    fe_point_force(stress, A, P);
    fe_spread_scatter(kind, &s, P, u);
    FE_UNROLL_FOR (int b = 0; b < fe_spread_held(kind); b++)
        if (fe_spread_adds(kind, &s, b))
            corner_gather_store(kind, m, NULL, element, fe_spread_corner(kind, &s, b), 3, u[b], kept);
}

/* Corner by corner: threads sum what their points give to it. */
FE_BODY void corner_gather_spread_diagonal(int kind, const fe_view *m, int first, int last, fe_scalar *kept)
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
        for (int c = 0; c < 6; c++) block[c] = fe_spread_sum(kind, block[c]);
        if (s.own == a % fe_spread_lanes(kind))
            corner_gather_store(kind, m, NULL, element, a, 6, block, kept);
    }
}
#endif

#endif
