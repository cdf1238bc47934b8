/* patch on the device: forces and diagonal blocks of a patch's elements at their corners. */
#ifndef PATCH_ELEMENTS_H
#define PATCH_ELEMENTS_H

#include "common/physics/plane.h"
#include "variants/patch/fan_forces.h"
#include "variants/patch/quadratic_forces.h"

/* Forces on corners 4k … 4k + 3 of the Hex8 of a slot in y[0 … 3]: two neighbouring threads compute the
 * points of plane k = 0 and 1. */
FE_BODY void patch_plane_forces(int op, const fe_view *m, const patch_here *p, int slot, int round, int k,
                                fe_real x[8][3], fe_real u[8][3], fe_real y[8][3])
{
    const int fetched = patch_fetches(FE_HEX8, op), rounds = 2 * PATCH_ELEMENTS(FE_HEX8) / PATCH_BLOCK_SIZE;
    fe_scalar *at[2] = {patch_plane_place(FE_HEX8, p)};
    at[1] = at[0] + FE_N_NUMBER * patch_form_of(FE_HEX8).row;
    const fe_element e = fe_element_open(m, p->elem[slot], 0);
    const auto stress_at = [&](int q, fe_real J[3][3], fe_real G[3][3], fe_real A[3][3], fe_real stress[6]) {
        if (!fetched) {
            fe_point_stress(FE_HEX8, op, 1.0f, m, e, q + 4 * k, J, G, A, stress);
            return;
        }
        __pipeline_wait_prior(round == 0 && q < 2 ? 2 : 1); /* later copies may still be on their way */
        patch_point_stress(FE_HEX8, op, 1.0f, m, patch_material_of(op, p->elem[slot]), at[q & 1], J, G, A,
                           stress);
        const int more = q < 2 ? slot : slot + PATCH_BLOCK_SIZE / 2, there = q < 2 || round + 1 < rounds;
        patch_fetch_point(FE_HEX8, op, m, there ? p->elem[more] : -1, (q + 2) % 4 + 4 * k, at[q & 1]);
    };
    fe_plane_forces(k, x, u, stress_at, y);
}

/* Corner forces of all elements of the patch. */
FE_BODY void patch_elements_forces(int kind, int op, const fe_view *m, const patch_plan *plan,
                                   const patch_here *p)
{
    const patch_form form = patch_form_of(kind);
    const int team = patch_team(kind), held = form.nodes / team;
    if (fe_is_quadratic(kind)) {
        patch_quadratic_forces(kind, op, m, plan, p);
        return;
    }
    FE_UNROLL_FOR (int t = threadIdx.x, r = 0; r < form.slots * team; r += PATCH_BLOCK_SIZE) {
        const int slot = (t + r) / team, k = (t + r) % team;
        if (team == 1 && slot >= p->head->n_slot) break;
        if (patch_fanned(kind)) {
            patch_fan_forces(kind, op, m, plan, p, slot);
            continue;
        }
        fe_index node[8];
        fe_real x[8][3], u[8][3], y[8][3];
        patch_slot_nodes(kind, p->rest + plan->conn, slot, node);
        FE_UNROLL_FOR (int b = 0; b < form.nodes; b++) {
            fe_read3((const fe_scalar *)(p->rest + plan->x), node[b], x[b]);
            patch_read_value(p, node[b], u[b]);
        }
        if (team == 2)
            patch_plane_forces(op, m, p, slot, r / PATCH_BLOCK_SIZE, k, x, u, y);
        else
            fe_element_forces(kind, op, m, fe_element_open(m, p->elem[slot], 0), x, u, y);
        FE_UNROLL_FOR (int b = 0; b < held; b++) patch_keep_force(kind, p, slot, b + held * k, y[b]);
    }
}

/* Three entries of an element's diagonal blocks at its corners: xx yy zz, or xy yz xz. */
FE_BODY void patch_blocks(int kind, int half, const fe_view *m, int elem, fe_real x[8][3], fe_real d[8][3])
{
    FE_UNROLL_FOR (int b = 0; b < fe_corners(kind); b++) {
        fe_real block[6];
        fe_element_diagonal(kind, m, fe_element_open(m, elem, 0), x, b, block);
        FE_UNROLL_FOR (int c = 0; c < 3; c++) d[b][c] = half ? block[3 + c] : block[c];
    }
}
FE_BODY void patch_elements_blocks(int kind, int half, const fe_view *m, const patch_plan *plan,
                                   const patch_here *p)
{
    const patch_form form = patch_form_of(kind);
    if (fe_is_quadratic(kind)) {
        patch_quadratic_blocks(kind, half, m, plan, p);
        return;
    }
    for (int slot = threadIdx.x; slot < form.slots; slot += PATCH_BLOCK_SIZE) {
        fe_index node[8];
        fe_real x[8][3], sum[8][3], corner[8][3], d[8][3];
        patch_slot_nodes(kind, p->rest + plan->conn, slot, node);
        FE_UNROLL_FOR (int b = 0; b < form.nodes; b++) {
            fe_read3((const fe_scalar *)(p->rest + plan->x), node[b], x[b]);
            FE_UNROLL_FOR (int c = 0; c < 3; c++) sum[b][c] = 0.0f;
        }
        FE_UNROLL_FOR (int i = 0; i < form.together; i++) {
            const int elem = p->elem[form.together * slot + i];
            if (elem < 0) break;
            FE_UNROLL_FOR (int b = 0; b < fe_corners(kind); b++)
                FE_UNROLL_FOR (int c = 0; c < 3; c++) corner[b][c] = x[patch_corner(kind, i, b)][c];
            patch_blocks(kind, half, m, elem, corner, d);
            FE_UNROLL_FOR (int b = 0; b < fe_corners(kind); b++)
                FE_UNROLL_FOR (int c = 0; c < 3; c++) sum[patch_corner(kind, i, b)][c] += d[b][c];
        }
        FE_UNROLL_FOR (int b = 0; b < form.nodes; b++) patch_keep_force(kind, p, slot, b, sum[b]);
    }
}

#endif
