/* patch on the device: four threads compute a Tet10, a warp a Hex27. Each reads its corners from shared
 * memory and computes one point; what they need of other corners they exchange (lanes.h). */
#ifndef PATCH_QUADRATIC_FORCES_H
#define PATCH_QUADRATIC_FORCES_H

#include "common/physics/lanes.h"
#include "variants/patch/stage.h"

/* Forces of the Tet10 of a slot, which all threads of the team take part in. */
FE_BODY void patch_tet10_forces(int op, const fe_view *m, const patch_plan *plan, const patch_here *p,
                                int slot)
{
    const uint16_t *conn = (const uint16_t *)(p->rest + plan->conn) + patch_form_of(FE_TET10).width * slot;
    fe_real x[4][3], u[4][3], force[4][3];
    const fe_element e = fe_element_open(m, p->elem[slot], fe_team_turn(FE_TET10_TEAM, 1));
    FE_UNROLL_FOR (int b = 0; b < 4; b++)
        patch_read_node(plan, p, conn[fe_tet10_held(b, e.turn)], x[b], u[b]);
    fe_tet10_team_forces(op, m, e, x, u, force);
    FE_UNROLL_FOR (int b = 0; b < 4; b++)
        if (fe_tet10_adds(e.turn, b)) patch_keep_force(FE_TET10, p, slot, fe_tet10_held(b, e.turn), force[b]);
}

/* The same of a Hex27, by a warp. */
FE_BODY void patch_hex27_forces(int op, const fe_view *m, const patch_plan *plan, const patch_here *p,
                                int slot)
{
    const uint16_t *conn = (const uint16_t *)(p->rest + plan->conn) + patch_form_of(FE_HEX27).width * slot;
    fe_real x[3], u[3], force[3];
    patch_read_node(plan, p, conn[fe_hex27_lane()], x, u);
    fe_hex27_warp_forces(op, m, fe_element_open(m, p->elem[slot], fe_no_turn()), x, u, force);
    if (fe_lane() < FE_HEX27_LANES) patch_keep_force(FE_HEX27, p, slot, fe_lane(), force);
}

/* Corner forces of all elements of the patch. Slots behind the last one of a warp repeat it. */
FE_BODY void patch_quadratic_forces(int kind, int op, const fe_view *m, const patch_plan *plan,
                                    const patch_here *p)
{
    const int team = patch_team(kind), lane = fe_lane() / team;
    for (int first = threadIdx.x / FE_WARP * (FE_WARP / team); first < p->head->n_slot;
         first += PATCH_THREADS(kind) / team)
        if (kind == FE_TET10)
            patch_tet10_forces(op, m, plan, p, first + lane);
        else
            patch_hex27_forces(op, m, plan, p, first);
}

/* Three entries of the elements' diagonal blocks, xx yy zz or xy yz xz: a corner per thread, over all points.
 */
FE_BODY void patch_quadratic_blocks(int kind, int half, const fe_view *m, const patch_plan *plan,
                                    const patch_here *p)
{
    const patch_form form = patch_form_of(kind);
    for (int t = threadIdx.x; t < form.nodes * p->head->n_slot; t += PATCH_THREADS(kind)) {
        const int slot = t / form.nodes, corner = t % form.nodes;
        const uint16_t *conn = (const uint16_t *)(p->rest + plan->conn) + form.width * slot;
        fe_real x[FE_MOST_CORNERS][3], block[6], d[3];
        FE_UNROLL_FOR (int b = 0; b < form.nodes; b++)
            fe_read3((const fe_scalar *)(p->rest + plan->x), conn[b], x[b]);
        fe_corner_diagonal(kind, m, fe_element_open(m, p->elem[slot], fe_no_turn()), x, corner, block);
        FE_UNROLL_FOR (int c = 0; c < 3; c++) d[c] = half ? block[3 + c] : block[c];
        patch_keep_force(kind, p, slot, corner, d);
    }
}

#endif
