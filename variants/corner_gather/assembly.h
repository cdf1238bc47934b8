/* corner_gather: elements store the forces on their corners, each in a slot of its own (libraries call this
 * an E-vector); then every node sums the slots of its corners. Each element is computed once, no atomics. */
#ifndef CORNER_GATHER_ASSEMBLY_H
#define CORNER_GATHER_ASSEMBLY_H

#include "common/backend/device.h"
#include "common/physics/lanes.h"
#include "common/variant.h"

/* Slots stand as nodes read them, in slices of 32 rows: corner k of row n at
 *   slice[n / 32] + 32 (k - k % run) + run (n % 32) + k % run.
 * Reads are then coalesced on every mesh and need no index. On the device a run of corners of a row stands
 * side by side, since elements of one block often are next to each other there, and a block stores the forces
 * of its corners in the order of their slots. On the host a vector reads one corner of neighbouring rows: run
 * is 1, and elements store as they are computed. */
enum { CORNER_GATHER_SLICE = 32 };
FE_BOTH int corner_gather_run(int kind) { return fe_corners(kind) == 8 ? 2 : 4; }

/* Threads that share an element: 4, 2 or 1 for Hex8. */
#ifdef __CUDACC__
enum { CORNER_GATHER_HEX8_TEAM = 2 };
#else
enum { CORNER_GATHER_HEX8_TEAM = 1 };
#endif
FE_BOTH int corner_gather_team(int kind) { return fe_corners(kind) == 8 ? CORNER_GATHER_HEX8_TEAM : 1; }
/* Threads on the device whose corners are sorted together, four of each. */
enum { CORNER_GATHER_UNIT = 128, CORNER_GATHER_HELD = 4, CORNER_GATHER_CORNERS = 4 * CORNER_GATHER_UNIT };

typedef struct corner_gather {
    fe_scalar
        *value; /* [6][n_slot] forces x y z, or diagonal blocks xx yy zz xy yz xz; 0 where no corner is */
    size_t n_slot;
    /* slot of each corner, also of ghosts. Host: [n_corner][ld]. Device: [n_unit][CORNERS], of each unit in
     * ascending order, and */
    const int *place;
    const uint16_t *source; /* [n_unit][CORNERS] which of the unit's corners it is: UNIT × held + thread */
    const int *slice;       /* [slices + 1] first slot of 32 rows */
} corner_gather;

#ifdef __cplusplus
extern "C"
#endif
    /* sorted: for the device. */
    fe_status
    corner_gather_make(fe_problem *p, int sorted, size_t value_bytes, void **work);

static inline fe_status corner_gather_setup(fe_problem *p, void **work)
{
    return corner_gather_make(p, FE_ON_DEVICE, sizeof(fe_scalar), work);
}

/* The same slots for forces in floats. */
static inline fe_status corner_gather_setup_from(fe_problem *p, void *in_double, void **work)
{
    FE_TRY(fe_device_keep(p->device, sizeof(corner_gather), "corner_gather", work));
    corner_gather *w = (corner_gather *)*work;
    *w = *(const corner_gather *)in_double;
    return fe_device_allocate(p->device, 3 * w->n_slot, sizeof(float), "corner_gather: corner forces",
                              (void **)&w->value);
}

/* Elements of a warp or vector. */
FE_BOTH int corner_gather_elements(int kind) { return FE_WARP / corner_gather_team(kind); }

/* The elements first, first + 1, … < last of one warp, and the nodes of each lane's corners. Beyond the end,
 * threads repeat the last element. Vectors stay whole: what they store there belongs to the border part,
 * which comes later, or to no corner. */
FE_BODY fe_element corner_gather_open(int kind, int team, const fe_view *m, int first, int last,
                                      fe_index node[8])
{
    if (FE_LANES == 1 || team > 1) return fe_team_open(kind, team, m, first, last, node);
    const fe_element e = fe_element_open(m, fe_lanes_from(first), fe_no_turn());
    fe_element_nodes(kind, m, e, node);
    return e;
}

#ifdef __CUDACC__
/* Value of corner b of this thread's element, into the unit's memory, values [width][CORNERS]. */
FE_BODY void corner_gather_store(const fe_view *m, const corner_gather *w, fe_element e, int b, int width,
                                 const fe_real value[], fe_scalar *values)
{
    (void)m, (void)w, (void)e;
    FE_UNROLL_FOR (int c = 0; c < width; c++)
        values[CORNER_GATHER_CORNERS * c + CORNER_GATHER_UNIT * b + threadIdx.x % CORNER_GATHER_UNIT] =
            value[c];
}
#else
/* Value of corner b of elements, into its slot. */
FE_BODY void corner_gather_store(const fe_view *m, const corner_gather *w, fe_element e, int b, int width,
                                 const fe_real value[], fe_scalar *values)
{
    const fe_mask all = fe_splat(1.0f) > fe_splat(0.0f);
    const fe_index at = fe_read_index(w->place, fe_corner_place(b, e.turn, m->ld, e.e), 0);
    (void)values;
    FE_UNROLL_FOR (int c = 0; c < width; c++) fe_write(w->value, at, c * w->n_slot, all, value[c]);
}
#endif

/* Stores the forces on the corners of the elements first, first + 1, … < last of one warp. */
FE_BODY void corner_gather_forces(int kind, int op, const fe_view *m, const corner_gather *w, int first,
                                  int last, const fe_number *displacement, fe_scalar *values)
{
    fe_index node[8];
    fe_real x[8][3], f[8][3], force[8][3];
    const int team = corner_gather_team(kind), held = fe_corners(kind) / team;
    const fe_element element = corner_gather_open(kind, team, m, first, last, node);
    fe_team_read(kind, held, m, element, node, fe_coordinates(m), x);
    fe_team_read(kind, held, m, element, node, displacement, f);
    fe_team_forces(kind, op, team, m, element, x, f, force);
    FE_UNROLL_FOR (int b = 0; b < held; b++) corner_gather_store(m, w, element, b, 3, force[b], values);
}

/* The same with diagonal blocks; a lane visits all points for its own corners. */
FE_BODY void corner_gather_diagonal(int kind, const fe_view *m, const corner_gather *w, int first, int last,
                                    fe_scalar *values)
{
    fe_index node[8];
    fe_real x[8][3], block[6];
    const int team = corner_gather_team(kind), held = fe_corners(kind) / team;
    const fe_element element = corner_gather_open(kind, team, m, first, last, node);
    fe_team_read(kind, held, m, element, node, fe_coordinates(m), x);
    fe_team_spread(fe_corners(kind), held, x);
    FE_UNROLL_LARGE_FOR (int b = 0; b < held; b++) {
        fe_element_diagonal(kind, m, element, x, b, block);
        corner_gather_store(m, w, element, b, 6, block, values);
    }
}

#endif
