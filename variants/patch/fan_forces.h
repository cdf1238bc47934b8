/* patch on the device: a thread computes a fan of Tet4, which follow each other around an edge. */
#ifndef PATCH_FAN_FORCES_H
#define PATCH_FAN_FORCES_H

#include "variants/patch/stage.h"

/* Full tangents of a Tet4. Its 21 numbers have no room in shared memory, and elements of a fan are scattered
 * in memory. So threads take elements twice: by fans, strains and then forces, and in between in the order of
 * their numbers, where neighbouring threads read neighbouring numbers: strains become stresses. Both stand in
 * the fan's own places. */
FE_BODY int patch_transposes(int kind, int op) { return op == FE_JACVEC_FULL && kind == FE_TET4; }

/* w |J| strain of a slot's elements. */
FE_BODY void patch_fan_strains(int kind, const patch_plan *plan, const patch_here *p, int slot)
{
    const int row = patch_form_of(kind).row;
    fe_index node[8];
    fe_real x[8][3], u[8][3];
    patch_slot_nodes(kind, p->rest + plan->conn, slot, node);
    FE_UNROLL_FOR (int b = 0; b < 3; b++) {
        fe_read3((const fe_scalar *)(p->rest + plan->x), node[patch_corner(kind, 0, b)], x[b]);
        patch_read_value(p, node[patch_corner(kind, 0, b)], u[b]);
    }
    FE_UNROLL_FOR (int i = 0; i < PATCH_FAN; i++) {
        fe_real J[3][3], G[3][3], A[3][3], strain[6];
        fe_read3((const fe_scalar *)(p->rest + plan->x), node[i + 1], x[3]);
        patch_read_value(p, node[i + 1], u[3]);
        fe_gradient_at(kind, x, NULL, 0, 0, J);
        fe_gradient_at(kind, u, NULL, 0, 0, G);
        const fe_real scale = fe_weight(kind) * fe_reciprocal(fe_cofactor(J, A));
        fe_symmetric_gradient(G, A, strain);
        fe_scalar *to = patch_own_place(kind, p, slot, i);
        FE_UNROLL_FOR (int c = 0; c < 6; c++) to[c * row] = scale * strain[c];
        FE_UNROLL_FOR (int c = 0; c < 3; c++) x[2][c] = x[3][c], u[2][c] = u[3][c];
        if (i + 1 == PATCH_FAN || p->elem[PATCH_FAN * slot + i + 1] == -1) break;
    }
}

/* Stresses of the patch's elements from strains. */
FE_BODY void patch_full_stresses(int kind, const fe_view *m, const patch_here *p)
{
    const int row = patch_form_of(kind).row;
    FE_UNROLL_FOR (int i = 0; i < PATCH_FAN; i++) {
        const int entry = patch_entry(kind, p, i);
        if (entry < 0) break;
        const fe_element e = fe_element_open(m, p->elem[entry], 0);
        const fe_constants material = fe_material_at(0, m, e.e);
        fe_scalar *at = patch_own_place(kind, p, entry / PATCH_FAN, entry % PATCH_FAN);
        fe_real strain[6], stress[6];
        FE_UNROLL_FOR (int c = 0; c < 6; c++) strain[c] = at[c * row];
        fe_point_full_stress(kind, m, &material, fe_has_bit(e.trial, FE_SOFTENED), e, 0, 1.0f, strain,
                             stress);
        FE_UNROLL_FOR (int c = 0; c < 6; c++) at[c * row] = stress[c];
    }
}

/* Forces on the corners of element i of a fan. */
FE_BODY void patch_tet4_forces(int kind, int op, const fe_view *m, const patch_here *p, int slot, int i,
                               fe_real x[8][3], fe_real u[8][3], fe_real y[8][3])
{
    if (!patch_fetches(kind, op) && !patch_transposes(kind, op)) {
        fe_element_forces(kind, op, m, fe_element_open(m, p->elem[PATCH_FAN * slot + i], 0), x, u, y);
        return;
    }
    fe_real J[3][3], G[3][3], A[3][3], P[3][3], stress[6];
    FE_UNROLL_FOR (int b = 0; b < 4; b++)
        FE_UNROLL_FOR (int c = 0; c < 3; c++) y[b][c] = FE_EMPTY;
    fe_gradient_at(kind, x, NULL, 0, 0, J);
    const fe_scalar *at = patch_own_place(kind, p, slot, i);
    if (patch_transposes(kind, op)) {
        fe_cofactor(J, A);
        FE_UNROLL_FOR (int c = 0; c < 6; c++) stress[c] = at[c * patch_form_of(kind).row];
    } else {
        fe_gradient_at(kind, u, NULL, 0, 0, G);
        patch_point_stress(kind, op, fe_weight(kind), m, p->elem[PATCH_FAN * slot + i], at, J, G, A, stress);
    }
    fe_point_force_start(P);
    fe_point_force(stress, A, P);
    fe_gradient_close(kind, P, 0, 0, NULL, y);
}

/* Forces on the nodes of a fan. Its elements follow each other around the edge of corners 0 and 1. After each
 * element the force on one node is complete. */
FE_BODY void patch_fan_forces(int kind, int op, const fe_view *m, const patch_plan *plan, const patch_here *p,
                              int slot)
{
    fe_index node[8];
    fe_real x[8][3], u[8][3], y[4][3], f[8][3];
    patch_slot_nodes(kind, p->rest + plan->conn, slot, node);
    FE_UNROLL_FOR (int b = 0; b < 3; b++) {
        fe_read3((const fe_scalar *)(p->rest + plan->x), node[patch_corner(kind, 0, b)], x[b]);
        patch_read_value(p, node[patch_corner(kind, 0, b)], u[b]);
        FE_UNROLL_FOR (int c = 0; c < 3; c++) y[b][c] = 0.0f;
    }
    FE_UNROLL_FOR (int i = 0; i < PATCH_FAN; i++) {
        fe_read3((const fe_scalar *)(p->rest + plan->x), node[i + 1], x[3]);
        patch_read_value(p, node[i + 1], u[3]);
        patch_tet4_forces(kind, op, m, p, slot, i, x, u, f);
        FE_UNROLL_FOR (int c = 0; c < 3; c++) {
            y[0][c] += f[0][c], y[1][c] += f[1][c], y[2][c] += f[2][c], y[3][c] = f[3][c];
        }
        patch_keep_force(kind, p, slot, i, y[2]);
        FE_UNROLL_FOR (int c = 0; c < 3; c++) x[2][c] = x[3][c], u[2][c] = u[3][c], y[2][c] = y[3][c];
        if (i + 1 == PATCH_FAN || p->elem[PATCH_FAN * slot + i + 1] == -1) {
            patch_keep_force(kind, p, slot, i + 1, y[2]);
            break;
        }
    }
    patch_keep_force(kind, p, slot, patch_corner(kind, 0, 0), y[0]);
    patch_keep_force(kind, p, slot, patch_corner(kind, 0, 1), y[1]);
}

#endif
