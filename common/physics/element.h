/* One element: its corners' forces, its material update and its diagonal blocks. Bodies take the kind (and
 * the operation) as constants and are inlined. */
#ifndef FE_ELEMENT_H
#define FE_ELEMENT_H

#include "common/physics/points.h"
#include "common/physics/shape.h"

/* Symmetric part of M = G A^T, det J × strain, in the order xx yy zz xy yz xz; its shears are twice the
 * tensor's. */
FE_BODY void fe_symmetric_gradient(fe_real G[3][3], fe_real A[3][3], fe_real s[6])
{
    FE_UNROLL_FOR (int i = 0; i < 3; i++) {
        const int k = (i + 1) % 3;
        s[i] = G[i][0] * A[i][0] + G[i][1] * A[i][1] + G[i][2] * A[i][2];
        s[3 + i] = G[i][0] * A[k][0] + G[i][1] * A[k][1] + G[i][2] * A[k][2] + G[k][0] * A[i][0] +
                   G[k][1] * A[i][1] + G[k][2] * A[i][2];
    }
}

/* The strain from det J × strain with doubled shears. */
FE_BODY void fe_strain(fe_real inverse, fe_real strain[6])
{
    const fe_real half = 0.5f * inverse;
    FE_UNROLL_FOR (int i = 0; i < 6; i++) strain[i] *= i < 3 ? inverse : half;
}

/* scale × stress after the return from a state. */
FE_BODY void fe_return_stress(int hardening, const fe_constants *m, fe_real scale, const fe_real strain[6],
                              const fe_real state[FE_N_STATE], fe_real stress[6])
{
    fe_return mapped;
    fe_return_map(hardening, m, strain, state, stress, &mapped);
    FE_UNROLL_FOR (int i = 0; i < 6; i++) stress[i] *= scale;
}

/* w |J| sigma of a point of this weight, and A = det J J^-T. Residuals: stress after the return from the
 * committed state. FE_JACVEC: C(trial) : strain(u), which is linear in u, so that there is one division by
 * det J; FE_JACVEC_FULL: from all numbers of C. FE_JACVEC_ELASTIC: the same where no element is softened,
 * which is known before the launch: fewer registers, no flag is read. */
FE_BODY void fe_point_stress(int kind, int op, fe_scalar weight, const fe_view *m, fe_element e, int q,
                             fe_real J[3][3], fe_real G[3][3], fe_real A[3][3], fe_real stress[6])
{
    fe_real strain[6];
    const fe_real inverse = fe_reciprocal(fe_cofactor(J, A));
    fe_real scale = weight * fe_turn_sign(kind, e.turn);
    fe_symmetric_gradient(G, A, strain);
    const fe_constants material = fe_material_at(fe_is_several(op), m, e.e);
    if (!fe_is_residual(op)) {
        scale *= inverse;
        const fe_mask softened = fe_has_bit(e.trial, FE_SOFTENED);
        if (!fe_is_elastic(op) && fe_any(softened)) {
            if (op == FE_JACVEC_FULL) {
                fe_point_full_stress(kind, m, &material, softened, e, q, scale, strain, stress);
            } else {
                fe_real tangent[FE_N_TANGENT];
                fe_point_tangent(kind, m, softened, e, q, tangent);
                fe_tangent_stress(&material, scale, tangent, strain, stress);
            }
        } else {
            fe_elastic_stress(&material, scale, strain, stress);
        }
    } else {
        fe_real state[FE_N_STATE];
        fe_strain(inverse, strain);
        fe_point_state(kind, &m->committed, e.committed, e, q, state);
        fe_return_stress(fe_hardening_in(kind, op, m, &material), &material, scale, strain, state, stress);
    }
}

/* Numbers that op reads of a point: its committed state or its tangent; elastic ones if the element has
 * none. */
FE_BODY void fe_point_numbers(int kind, int op, const fe_view *m, fe_element e, int q,
                              fe_real number[FE_N_NUMBER])
{
    if (fe_is_residual(op))
        fe_point_state(kind, &m->committed, e.committed, e, q, number);
    else
        fe_point_tangent(kind, m, fe_has_bit(e.trial, FE_SOFTENED), e, q, number);
}

/* fe_point_stress of a point of a residual or FE_JACVEC whose numbers were read before, so that nothing here
 * waits for memory. The scale is the weight, with the turn's sign. */
FE_BODY void fe_point_stress_of(int kind, int op, fe_real scale, const fe_view *m, fe_index e,
                                const fe_real number[FE_N_NUMBER], fe_real J[3][3], fe_real G[3][3],
                                fe_real A[3][3], fe_real stress[6])
{
    fe_real strain[6];
    const fe_constants material = fe_material_at(fe_is_several(op), m, e);
    const fe_real inverse = fe_reciprocal(fe_cofactor(J, A));
    fe_symmetric_gradient(G, A, strain);
    if (fe_is_residual(op)) {
        fe_strain(inverse, strain);
        fe_return_stress(fe_hardening_in(kind, op, m, &material), &material, scale, strain, number, stress);
    } else {
        fe_tangent_stress(&material, scale * inverse, number, strain, stress);
    }
}

/* P[c][j] += sum over i of stress_ci A_ij: what the point adds to the reference gradients' transpose. */
FE_BODY void fe_point_force(const fe_real stress[6], fe_real A[3][3], fe_real P[3][3])
{
    const int place[3][3] = {{0, 3, 5}, {3, 1, 4}, {5, 4, 2}};
    FE_UNROLL_FOR (int k = 0; k < 3; k++)
        FE_UNROLL_FOR (int i = 0; i < 3; i++)
            FE_UNROLL_FOR (int j = 0; j < 3; j++) P[i][j] += stress[place[i][k]] * A[k][j];
}

/* The modes of a vector field at a Hex8's corners. */
FE_BODY void fe_modes_read(fe_real f[][3], fe_real modes[3][8])
{
    FE_UNROLL_LARGE_FOR (int c = 0; c < 3; c++) {
        const fe_real component[8] = {f[0][c], f[1][c], f[2][c], f[3][c], f[4][c], f[5][c], f[6][c], f[7][c]};
        fe_modes_of(component, modes[c]);
    }
}

/* A line of two points along an axis: derivatives along it of coordinates and field, and what the points add
 * to the transpose. */
typedef struct fe_line {
    fe_real x[3], u[3], sum[3];
} fe_line;

/* Opens the lines along all axes from the modes of coordinates and field. */
FE_BODY void fe_lines_open(fe_real x[3][8], fe_real u[3][8], fe_line line[3][4])
{
    FE_UNROLL_LARGE_FOR (int c = 0; c < 3; c++)
        FE_UNROLL_FOR (int j = 0; j < 3; j++) {
            fe_real gx[4], gu[4];
            fe_modes_gradient(x[c], j, gx);
            fe_modes_gradient(u[c], j, gu);
            FE_UNROLL_FOR (int i = 0; i < 4; i++) {
                line[j][i].x[c] = gx[i], line[j][i].u[c] = gu[i], line[j][i].sum[c] = fe_splat(FE_EMPTY);
            }
        }
}

/* fe_points_forces over all points of a Hex8. */
FE_BODY void fe_modes_forces(int op, const fe_view *m, fe_element e, fe_real x[][3], fe_real u[][3],
                             fe_real y[][3])
{
    fe_real x_modes[3][8], u_modes[3][8];
    fe_line line[3][4];
    fe_modes_read(x, x_modes);
    fe_modes_read(u, u_modes);
    fe_lines_open(x_modes, u_modes, line);
    FE_UNROLL_LARGE_FOR (int q = 0; q < 8; q++) {
        fe_real J[3][3], G[3][3], A[3][3], P[3][3], stress[6];
        FE_UNROLL_FOR (int j = 0; j < 3; j++) {
            const fe_line *at = &line[j][fe_line_of(j, q)];
            FE_UNROLL_FOR (int c = 0; c < 3; c++)
                J[c][j] = at->x[c], G[c][j] = at->u[c], P[c][j] = at->sum[c];
        }
        fe_point_stress(FE_HEX8, op, FE_MODES_WEIGHT, m, e, q, J, G, A, stress);
        fe_point_force(stress, A, P);
        FE_UNROLL_FOR (int j = 0; j < 3; j++)
            FE_UNROLL_FOR (int c = 0; c < 3; c++) line[j][fe_line_of(j, q)].sum[c] = P[c][j];
    }
    FE_UNROLL_LARGE_FOR (int c = 0; c < 3; c++) {
        fe_real along[3][4], component[8];
        FE_UNROLL_FOR (int j = 0; j < 3; j++)
            FE_UNROLL_FOR (int i = 0; i < 4; i++) along[j][i] = line[j][i].sum[c];
        fe_modes_scatter(along, component);
        FE_UNROLL_FOR (int a = 0; a < 8; a++) y[a][c] = component[a];
    }
}

/* y_a = sum over q of w_q |J_q| sigma_q · grad N_a for all corners a, over the first points of an element:
 * n_point of each of n_plane planes. */
FE_BODY void fe_points_forces(int kind, int op, const fe_view *m, fe_element e, int n_plane, int n_point,
                              fe_real x[][3], fe_real u[][3], fe_real y[][3])
{
    if (kind == FE_HEX8 && n_plane == 2 && n_point == 4) {
        fe_modes_forces(op, m, e, x, u, y);
        return;
    }
    /* Sums over a plane pay only with more than one point. */
    const int back = kind == FE_HEX8 && n_point == 1 ? FE_HEX8_NAIVE : kind;
    FE_UNROLL_FOR (int b = 0; b < fe_corners(kind); b++)
        FE_UNROLL_FOR (int c = 0; c < 3; c++) y[b][c] = fe_splat(FE_EMPTY);
    FE_UNROLL_LARGE_FOR (int k = 0; k < fe_rolled(kind, n_plane); k++) {
        fe_plane gx[3], gu[3], t[3];
        fe_gradient_plane(kind, x, k, gx);
        fe_gradient_plane(kind, u, k, gu);
        fe_gradient_start(back, t);
        FE_UNROLL_LARGE_FOR (int p = 0; p < fe_rolled(kind, n_point); p++) {
            fe_real J[3][3], G[3][3], A[3][3], P[3][3], stress[6];
            const int q = fe_point_of(kind, k, p);
            fe_gradient_at(kind, x, gx, k, p, J);
            fe_gradient_at(kind, u, gu, k, p, G);
            fe_point_stress(kind, op, fe_weight_at(kind, q), m, e, q, J, G, A, stress);
            fe_gradient_open(back, t, p, P);
            fe_point_force(stress, A, P);
            fe_gradient_close(back, P, k, p, t, y);
        }
        fe_gradient_end(back, t, k, y);
    }
}

/* The same over all of them. */
FE_BODY void fe_element_forces(int kind, int op, const fe_view *m, fe_element e, fe_real x[][3],
                               fe_real u[][3], fe_real y[][3])
{
    fe_points_forces(kind, op, m, e, fe_planes(kind), fe_plane_points(kind), x, u, y);
}

/* g = A times the reference gradient of corner a's shape function: det J grad N_a. */
FE_BODY void fe_corner_gradient(int kind, fe_real A[3][3], int a, int q, fe_real g[3])
{
    FE_UNROLL_FOR (int i = 0; i < 3; i++)
        g[i] = A[i][0] * fe_shape_gradient(kind, a, q, 0) + A[i][1] * fe_shape_gradient(kind, a, q, 1) +
               A[i][2] * fe_shape_gradient(kind, a, q, 2);
}

/* y += stress g */
FE_BODY void fe_add_product(const fe_real stress[6], const fe_real g[3], fe_real y[3])
{
    y[0] += stress[0] * g[0] + stress[3] * g[1] + stress[5] * g[2];
    y[1] += stress[3] * g[0] + stress[1] * g[1] + stress[4] * g[2];
    y[2] += stress[5] * g[0] + stress[4] * g[1] + stress[2] * g[2];
}

/* The same of the corner that a gather by node looks at: corner 0 of linear elements, which are turned so,
 * and one in each lane of quadratic ones. */
FE_BODY void fe_own_gradient(int kind, fe_real A[3][3], fe_index corner, int q, fe_real g[3])
{
    if (!fe_is_quadratic(kind)) {
        fe_corner_gradient(kind, A, 0, q, g);
        return;
    }
    fe_real shape[3];
    fe_quadratic_gradients(kind, corner, q, shape);
    FE_UNROLL_FOR (int i = 0; i < 3; i++) g[i] = A[i][0] * shape[0] + A[i][1] * shape[1] + A[i][2] * shape[2];
}

/* The force on that corner alone. */
FE_BODY void fe_corner_force(int kind, int op, const fe_view *m, fe_element e, fe_index corner,
                             fe_real x[][3], fe_real u[][3], fe_real y[3])
{
    FE_UNROLL_FOR (int c = 0; c < 3; c++) y[c] = fe_splat(FE_EMPTY);
    FE_UNROLL_LARGE_FOR (int k = 0; k < fe_rolled(kind, fe_planes(kind)); k++) {
        fe_plane gx[3], gu[3];
        fe_gradient_plane(kind, x, k, gx);
        fe_gradient_plane(kind, u, k, gu);
        FE_UNROLL_LARGE_FOR (int p = 0; p < fe_rolled(kind, fe_plane_points(kind)); p++) {
            fe_real J[3][3], G[3][3], A[3][3], g[3], stress[6];
            const int q = fe_point_of(kind, k, p);
            fe_gradient_at(kind, x, gx, k, p, J);
            fe_gradient_at(kind, u, gu, k, p, G);
            fe_point_stress(kind, op, fe_weight_at(kind, q), m, e, q, J, G, A, stress);
            fe_own_gradient(kind, A, corner, q, g);
            fe_add_product(stress, g, y);
        }
    }
}

/* Strain and w |J| of point q. */
FE_BODY fe_real fe_point_strain(int kind, int q, fe_real J[3][3], fe_real G[3][3], fe_real strain[6])
{
    fe_real A[3][3];
    const fe_real det = fe_cofactor(J, A);
    fe_symmetric_gradient(G, A, strain);
    fe_strain(1.0f / det, strain);
    return fe_weight_at(kind, q) * det;
}

/* fe_element_material of kinds with many points, whose states are not kept until the flags are known: what is
 * stored begins with the first point that yields, and the points before it, which are elastic, follow then.
 */
FE_BODY fe_index fe_points_material(int kind, int hardening, fe_linearization mode, const fe_view *m,
                                    const fe_constants *material, fe_element e, fe_mask active,
                                    fe_real x[][3], fe_real u[][3])
{
    const int consistent = mode == FE_LINEARIZATION_CONSISTENT;
    fe_real virgin[FE_N_STATE], elastic[FE_N_TANGENT];
    fe_mask yielded = fe_has_bit(e.committed, FE_YIELDED), softened = fe_has_bit(e.committed, 0);
    FE_UNROLL_FOR (int c = 0; c < FE_N_STATE; c++) virgin[c] = fe_splat(0.0f);
    FE_UNROLL_FOR (int c = 0; c < FE_N_TANGENT; c++) elastic[c] = fe_splat(c ? 0.0f : 1.0f);
    FE_UNROLL_LARGE_FOR (int k = 0; k < fe_rolled(kind, fe_planes(kind)); k++) {
        fe_plane gx[3], gu[3];
        fe_gradient_plane(kind, x, k, gx);
        fe_gradient_plane(kind, u, k, gu);
        FE_UNROLL_LARGE_FOR (int p = 0; p < fe_rolled(kind, fe_plane_points(kind)); p++) {
            fe_real J[3][3], G[3][3], strain[6], stress[6], state[FE_N_STATE], next[FE_N_STATE],
                tangent[FE_N_TANGENT];
            fe_return mapped;
            const int q = fe_point_of(kind, k, p);
            fe_gradient_at(kind, x, gx, k, p, J);
            fe_gradient_at(kind, u, gu, k, p, G);
            fe_point_strain(kind, q, J, G, strain);
            fe_point_state(kind, &m->committed, e.committed, e, q, state);
            fe_return_map(hardening, material, strain, state, stress, &mapped);
            fe_update_state(&mapped, state, next);
            fe_consistent_tangent(hardening, material, &mapped, next[5], tangent);
            const fe_mask begins = mapped.plastic & ~softened & active;
            if (q > 0 && fe_any(begins)) {
                for (int before = 0; before < q; before++) {
                    fe_state_write(kind, m->trial.point, e, before, begins & ~yielded, virgin);
                    if (consistent) fe_tangent_write(kind, fe_tangents(m), e, before, begins, elastic);
                }
            }
            softened = softened | mapped.plastic;
            yielded = yielded | softened;
            if (fe_any(yielded & active)) fe_state_write(kind, m->trial.point, e, q, yielded & active, next);
            if (consistent && fe_any(softened & active))
                fe_tangent_write(kind, fe_tangents(m), e, q, softened & active, tangent);
        }
    }
    return fe_flags_of(yielded, consistent ? softened : fe_has_bit(e.committed, 0));
}

/* Trial state and tangent of an element's points at displacement u, and its flags. Elastic mode leaves the
 * tangent elastic. `active` masks lanes beyond the end of the work. */
FE_BODY fe_index fe_element_material(int kind, int hardening, fe_linearization mode, const fe_view *m,
                                     const fe_constants *material, fe_element e, fe_mask active,
                                     fe_real x[][3], fe_real u[][3])
{
    if (fe_is_quadratic(kind)) return fe_points_material(kind, hardening, mode, m, material, e, active, x, u);
    fe_real next[8][FE_N_STATE], tangent[8][FE_N_TANGENT];
    fe_mask yielded = fe_has_bit(e.committed, FE_YIELDED), softened = fe_has_bit(e.committed, 0);
    FE_UNROLL_LARGE_FOR (int k = 0; k < fe_planes(kind); k++) {
        fe_plane gx[3], gu[3];
        fe_gradient_plane(kind, x, k, gx);
        fe_gradient_plane(kind, u, k, gu);
        FE_UNROLL_LARGE_FOR (int p = 0; p < fe_plane_points(kind); p++) {
            fe_real J[3][3], G[3][3], strain[6], stress[6], state[FE_N_STATE];
            fe_return mapped;
            const int q = p + 4 * k;
            fe_gradient_at(kind, x, gx, k, p, J);
            fe_gradient_at(kind, u, gu, k, p, G);
            fe_point_strain(kind, q, J, G, strain);
            fe_point_state(kind, &m->committed, e.committed, e, q, state);
            fe_return_map(hardening, material, strain, state, stress, &mapped);
            fe_update_state(&mapped, state, next[q]);
            fe_consistent_tangent(hardening, material, &mapped, next[q][5], tangent[q]);
            softened = softened | mapped.plastic;
        }
    }
    yielded = yielded | softened;
    FE_UNROLL_LARGE_FOR (int q = 0; q < fe_points(kind); q++) {
        if (fe_any(yielded & active)) fe_state_write(kind, m->trial.point, e, q, yielded & active, next[q]);
        if (mode == FE_LINEARIZATION_CONSISTENT && fe_any(softened & active)) {
            fe_tangent_write(kind, fe_tangents(m), e, q, softened & active, tangent[q]);
        }
    }
    return fe_flags_of(yielded, mode == FE_LINEARIZATION_CONSISTENT ? softened : fe_has_bit(e.committed, 0));
}

/* The full tangents of softened elements' points from the stored ones. */
FE_BODY void fe_element_expand(int kind, const fe_view *m, fe_element e, fe_mask active)
{
    const fe_mask softened = fe_has_bit(e.trial, FE_SOFTENED) & active;
    const fe_constants material = fe_material_at(m->materials != NULL, m, e.e);
    for (int q = 0; q < fe_points(kind); q++) {
        fe_real tangent[FE_N_TANGENT], full[FE_N_FULL];
        fe_tangent_read(kind, fe_tangents(m), e, q, tangent);
        fe_full_tangent(&material, tangent, full);
        fe_full_write(kind, m->full, e, q, softened, full);
    }
}

/* y = stress g */
FE_BODY void fe_product(const fe_real stress[6], const fe_real g[3], fe_real y[3])
{
    y[0] = stress[0] * g[0] + stress[3] * g[1] + stress[5] * g[2];
    y[1] = stress[3] * g[0] + stress[1] * g[1] + stress[4] * g[2];
    y[2] = stress[5] * g[0] + stress[4] * g[1] + stress[2] * g[2];
}

/* theta and m of point q, xx yy zz xy yz xz: 1 and 0 where the tangent is elastic. Returns 0 if it is so in
 * all lanes. */
FE_BODY int fe_point_softening(int kind, const fe_view *m, fe_element e, int q, fe_real *theta, fe_real n[6])
{
    const fe_mask softened = fe_has_bit(e.trial, FE_SOFTENED);
    *theta = fe_splat(1.0f);
    FE_UNROLL_FOR (int i = 0; i < 6; i++) n[i] = fe_splat(0.0f);
    if (!fe_any(softened)) return 0;
    fe_real tangent[FE_N_TANGENT];
    fe_point_tangent(kind, m, softened, e, q, tangent);
    *theta = tangent[0];
    fe_trace_free(tangent + 1, n);
    return 1;
}

/* What point q adds to the diagonal block of a corner with g = det J grad N_a, symmetric: xx yy zz xy yz xz.
 * d += scale (K g g^T + mu theta (g·g I + g g^T / 3) - (m g)(m g)^T), scale = w / |J|. */
FE_BODY void fe_point_block(int kind, const fe_view *m, fe_element e, int q, const fe_real g[3],
                            fe_real scale, fe_real d[6])
{
    const fe_constants material = fe_material_at(m->materials != NULL, m, e.e);
    const fe_constant bulk = material.bulk, shear = material.shear;
    fe_real theta, n[6], mg[3] = {fe_splat(0.0f), fe_splat(0.0f), fe_splat(0.0f)};
    if (fe_point_softening(kind, m, e, q, &theta, n)) fe_product(n, g, mg);
    const fe_real isotropic = shear * theta * (g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
    const fe_real along = bulk + shear / 3.0f * theta;
    const int row[6] = {0, 1, 2, 0, 1, 0}, column[6] = {0, 1, 2, 1, 2, 2};
    FE_UNROLL_FOR (int i = 0; i < 6; i++) {
        fe_real entry = along * g[row[i]] * g[column[i]] - mg[row[i]] * mg[column[i]];
        if (i < 3) entry += isotropic;
        d[i] += scale * entry;
    }
}

/* Diagonal block of the corner that a gather looks at (fe_own_gradient). */
FE_BODY void fe_corner_diagonal(int kind, const fe_view *m, fe_element e, fe_real x[][3], fe_index corner,
                                fe_real d[6])
{
    FE_UNROLL_FOR (int i = 0; i < 6; i++) d[i] = fe_splat(FE_EMPTY);
    FE_UNROLL_LARGE_FOR (int k = 0; k < fe_rolled(kind, fe_planes(kind)); k++) {
        fe_plane gx[3];
        fe_gradient_plane(kind, x, k, gx);
        FE_UNROLL_LARGE_FOR (int p = 0; p < fe_rolled(kind, fe_plane_points(kind)); p++) {
            fe_real J[3][3], A[3][3], g[3];
            const int q = fe_point_of(kind, k, p);
            fe_gradient_at(kind, x, gx, k, p, J);
            const fe_real scale = fe_weight_at(kind, q) * fe_turn_sign(kind, e.turn) / fe_cofactor(J, A);
            fe_own_gradient(kind, A, corner, q, g);
            fe_point_block(kind, m, e, q, g, scale, d);
        }
    }
}

/* Diagonal block of one corner: of linear elements a constant. */
FE_BODY void fe_element_diagonal(int kind, const fe_view *m, fe_element e, fe_real x[][3], int corner,
                                 fe_real d[6])
{
    if (fe_is_quadratic(kind)) {
        fe_corner_diagonal(kind, m, e, x, fe_same_index(corner), d);
        return;
    }
    FE_UNROLL_FOR (int i = 0; i < 6; i++) d[i] = fe_splat(FE_EMPTY);
    FE_UNROLL_LARGE_FOR (int k = 0; k < fe_planes(kind); k++) {
        fe_plane gx[3];
        fe_gradient_plane(kind, x, k, gx);
        FE_UNROLL_FOR (int p = 0; p < fe_plane_points(kind); p++) {
            fe_real J[3][3], A[3][3], g[3];
            fe_gradient_at(kind, x, gx, k, p, J);
            const fe_real scale = fe_weight(kind) * fe_turn_sign(kind, e.turn) / fe_cofactor(J, A);
            fe_corner_gradient(kind, A, corner, p + 4 * k, g);
            fe_point_block(kind, m, e, p + 4 * k, g, scale, d);
        }
    }
}

/* Rows of a symmetric block. */
FE_BODY void fe_block_rows(const fe_real b[6], fe_real rows[3][3])
{
    const int place[3][3] = {{0, 3, 5}, {3, 1, 4}, {5, 4, 2}};
    FE_UNROLL_FOR (int i = 0; i < 3; i++)
        FE_UNROLL_FOR (int j = 0; j < 3; j++) rows[i][j] = b[place[i][j]];
}

#endif
