/* element_warp: a warp computes one element. Lane q computes point q from all corners, the forces are summed
 * over the lanes by shuffles, and one lane per corner and component adds them to the nodes with atomics. */
#ifndef ELEMENT_WARP_ASSEMBLY_H
#define ELEMENT_WARP_ASSEMBLY_H

#include "common/physics/lanes.h"

/* Lanes with a corner of their own; the others of the warp repeat them. */
FE_BOTH int element_warp_lanes(int kind) { return fe_corners(kind) < FE_WARP ? fe_corners(kind) : FE_WARP; }

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

/* y[node] += corner forces of element e. */
FE_BODY void element_warp_forces(int kind, int op, const fe_view *m, int e, int contended,
                                 const fe_number *displacement, fe_number *y)
{
    fe_index node[FE_MOST_CORNERS];
    fe_real x[FE_MOST_CORNERS][3], f[FE_MOST_CORNERS][3], force[FE_MOST_CORNERS][3];
    const int team = element_warp_lanes(kind), held = fe_corners(kind) / team;
    const fe_element element = fe_team_load(kind, team, m, e, e + 1, node, x);
    fe_team_read(kind, held, m, element, node, displacement, f);
    fe_team_forces(kind, op, team, m, element, x, f, force);
    FE_UNROLL_FOR (int b = 0; b < held; b++) element_warp_add(team, y, node[b], contended, force[b]);
}

/* d[node] += diagonal blocks of element e: a lane visits all points for its own corner. */
FE_BODY void element_warp_diagonal(int kind, const fe_view *m, int e, int contended, fe_number *d)
{
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
