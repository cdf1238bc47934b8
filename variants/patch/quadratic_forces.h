/* patch on the device: a thread computes a Tet10, a warp a Hex27, whose lanes read a corner each from shared
 * memory, compute a point each, and exchange what they need of other corners (lanes.h). */
#ifndef PATCH_QUADRATIC_FORCES_H
#define PATCH_QUADRATIC_FORCES_H

#include "common/physics/lanes.h"
#include "variants/patch/stage.h"

/* Forces of the Tet10 of a slot, by one thread. */
FE_BODY void patch_tet10_forces(int op, const fe_view *m, const patch_plan *plan, const patch_here *p,
                                int slot)
{
    const int fetched = patch_fetches(FE_TET10, op);
    const fe_element e = fe_element_open(m, p->elem[slot], 0);
    fe_index node[12];
    fe_real x[10][3], u[10][3], force[10][3];
    fe_plane gx[3], gu[3], sum[3];
    patch_slot_nodes(FE_TET10, p->rest + plan->conn, slot, node);
    FE_UNROLL_FOR (int b = 0; b < 10; b++) {
        patch_read_node(plan, p, node[b], x[b], u[b]);
        FE_UNROLL_FOR (int c = 0; c < 3; c++) force[b][c] = 0.0f;
    }
    fe_gradient_plane(FE_TET10, x, 0, gx);
    fe_gradient_plane(FE_TET10, u, 0, gu);
    fe_gradient_start(FE_TET10, sum);
    FE_UNROLL_FOR (int q = 0; q < 4; q++) {
        fe_real J[3][3], G[3][3], A[3][3], P[3][3], stress[6];
        fe_gradient_at(FE_TET10, x, gx, 0, q, J);
        fe_gradient_at(FE_TET10, u, gu, 0, q, G);
        if (fetched) {
            __pipeline_wait_prior(4 - q); /* of later points, and of the next patches */
            patch_point_stress(FE_TET10, op, fe_weight(FE_TET10), m, p->elem[slot],
                               patch_own_place(FE_TET10, p, slot, q), J, G, A, stress);
        } else {
            fe_point_stress(FE_TET10, op, fe_weight(FE_TET10), m, e, q, J, G, A, stress);
        }
        fe_gradient_open(FE_TET10, sum, q, P);
        fe_point_force(stress, A, P);
        fe_gradient_close(FE_TET10, P, 0, q, sum, force);
    }
    fe_gradient_end(FE_TET10, sum, 0, force);
    FE_UNROLL_FOR (int b = 0; b < 10; b++) patch_keep_force(FE_TET10, p, slot, b, force[b]);
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

/* Corner forces of all elements of the patch. */
FE_BODY void patch_quadratic_forces(int kind, int op, const fe_view *m, const patch_plan *plan,
                                    const patch_here *p)
{
    if (kind == FE_TET10) {
        if (threadIdx.x < p->head->n_slot) patch_tet10_forces(op, m, plan, p, threadIdx.x);
        return;
    }
    for (int slot = threadIdx.x / FE_WARP; slot < p->head->n_slot; slot += PATCH_THREADS(kind) / FE_WARP)
        patch_hex27_forces(op, m, plan, p, slot);
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
