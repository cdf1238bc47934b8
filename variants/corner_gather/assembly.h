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

/* The same with forces in floats. */
static inline fe_status corner_gather_setup_from(fe_problem *p, void *in_double, void **work)
{
    FE_TRY(fe_device_keep(p->device, sizeof(corner_gather), "corner_gather", work));
    corner_gather *w = (corner_gather *)*work;
    *w = *(const corner_gather *)in_double;
    return (FE_ON_DEVICE ? fe_device_reserve : fe_device_allocate)(
        p->device, 3 * w->n_slot, sizeof(float), "corner_gather: corner forces", (void **)&w->value);
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

/* Forces on the corners that a lane holds, of the elements first, first + 1, … < last of one warp. */
FE_BODY fe_element corner_gather_forces(int kind, int op, const fe_view *m, int first, int last,
                                        const fe_number *displacement, fe_real force[][3])
{
    fe_index node[FE_MOST_CORNERS];
    fe_real x[FE_MOST_CORNERS][3], f[FE_MOST_CORNERS][3];
    const int team = corner_gather_team(kind), held = fe_corners(kind) / team;
    const fe_element element = corner_gather_open(kind, team, m, first, last, node);
    fe_team_read(kind, held, m, element, node, fe_coordinates(m), x);
    fe_team_read(kind, held, m, element, node, displacement, f);
    fe_team_forces(kind, op, team, m, element, x, f, force);
    return element;
}

/* For the diagonal: coordinates of all corners, because a lane sums over all points of its element. */
FE_BODY fe_element corner_gather_corners(int kind, const fe_view *m, int first, int last, fe_real x[][3])
{
    fe_index node[FE_MOST_CORNERS];
    const int team = corner_gather_team(kind), held = fe_corners(kind) / team;
    const fe_element element = corner_gather_open(kind, team, m, first, last, node);
    fe_team_read(kind, held, m, element, node, fe_coordinates(m), x);
    fe_team_spread(fe_corners(kind), held, x);
    return element;
}

#endif
