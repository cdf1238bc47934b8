/* What a step's record holds of an element: integrals, extremes and mean fields; one body for both backends.
 */
#ifndef FE_SUMMARY_H
#define FE_SUMMARY_H

#include "common/physics/element.h"
#include "common/problem/state.h"

FE_BODY fe_real fe_mises(const fe_real s[6])
{
    const fe_real mean = (s[0] + s[1] + s[2]) / 3.0;
    const fe_real d[6] = {s[0] - mean, s[1] - mean, s[2] - mean, s[3], s[4], s[5]};
    return fe_sqrt(1.5 * fe_double_dot(d, d));
}

/* sqrt(sum of (du_i / dx_k)²) from the gradients of x and u on the reference element. */
FE_BODY fe_real fe_gradient_size(fe_real J[3][3], fe_real G[3][3])
{
    fe_real A[3][3], square = fe_splat(0.0);
    const fe_real det = fe_cofactor(J, A);
    FE_UNROLL_FOR (int i = 0; i < 3; i++)
        FE_UNROLL_FOR (int k = 0; k < 3; k++) {
            const fe_real entry = (G[i][0] * A[k][0] + G[i][1] * A[k][1] + G[i][2] * A[k][2]) / det;
            square += entry * entry;
        }
    return fe_sqrt(square);
}

/* Number c of point q of the elements, for output. */
#ifdef __CUDACC__
FE_BODY void fe_put_point(int kind, int ld, fe_element e, int q, int c, fe_real value, double *points)
{
    points[fe_out_point_index(kind, ld, c, q, e.e)] = value;
}
#else
FE_BODY void fe_put_point(int kind, int ld, fe_element e, int q, int c, fe_real value, double *points)
{
    fe_store(points + fe_out_point_index(kind, ld, c, q, e.e.lane[0]), value); /* lanes are neighbours */
}
#endif

/* How much point q counts at corner a: the shape function of a Hex8, or the mean over the points of a Tet4,
 * in which all points have one strain. Shape functions of quadratic elements have both signs: Bernstein's
 * polynomials take their places, which are positive and have the sum 1, too. */
FE_BOTH double fe_corner_share(int kind, int a, int q)
{
    double share = 1.0;
    if (kind == FE_TET10) {
        const int v = a < 4              ? a
                      : a == 4 || a == 7 ? 0
                      : a == 5 || a == 9 ? 1
                                         : 2,
                  w = a < 4    ? a
                      : a == 4 ? 1
                      : a == 5 ? 2
                      : a == 6 ? 0
                               : 3;
        const double far = (double)FE_TET10_FAR, at_v = v == q ? 1.0 - 3.0 * far : far,
                     at_w = w == q ? 1.0 - 3.0 * far : far;
        return (v == w ? 1.0 : 2.0) * at_v * at_w;
    }
    if (kind == FE_HEX27) {
        for (int i = 0; i < 3; i++, a /= 3, q /= 3) {
            const double s = 0.5 + 0.5 * (q % 3 - 1) * (double)FE_HEX27_ROOT;
            share *= a % 3 == 0 ? (1.0 - s) * (1.0 - s) : a % 3 == 1 ? 2.0 * s * (1.0 - s) : s * s;
        }
        return share;
    }
    if (fe_corners(kind) == 4) return 0.25;
    for (int i = 0; i < 3; i++) share *= ((a ^ q) >> i & 1) ? (double)FE_FAR : (double)FE_NEAR;
    return share;
}

/* fe_node_stress of one node. */
FE_BOTH void fe_node_stress_of(int kind, const fe_view *m, int node, const double *points, double stress[6])
{
    double sum[FE_N_OUT_POINT] = {0};
    for (int k = m->corner_first[node]; k < m->corner_first[node + 1]; k++) {
        const int e = fe_code_element(kind, m->corner[k]), a = fe_code_corner(kind, m->corner[k]);
        for (int q = 0; q < fe_points(kind); q++) {
            const double weight =
                fe_corner_share(kind, a, q) * points[fe_out_point_index(kind, m->ld, 6, q, e)];
            for (int i = 0; i < 6; i++) sum[i] += weight * points[fe_out_point_index(kind, m->ld, i, q, e)];
            sum[6] += weight;
        }
    }
    for (int i = 0; i < 6; i++) stress[i] = sum[i] / sum[6];
}

/* Estimated error of the plastic strain that an increment from `state` to `next` has added to a point: of the
 * tensor, as an equivalent strain, or of the equivalent plastic strain, whichever is larger. Backward Euler
 * is exact where the flow does not turn, and otherwise of first order: n increments of an n-th of the strain,
 * which is taken to grow in proportion, have an n-th of its error (Richardson). Most of a turn of 90 degrees
 * happens within an elastic strain, so n is not 2. */
FE_BODY fe_real fe_flow_error(int hardening, const fe_constants *m, const fe_real before[6],
                              const fe_real strain[6], const fe_real state[FE_N_STATE],
                              const fe_real next[FE_N_STATE])
{
    enum { PARTS = 8 };
    fe_real now[FE_N_STATE], off[5], tensor[6];
    for (int i = 0; i < FE_N_STATE; i++) now[i] = state[i];
    for (int k = 1; k <= PARTS; k++) {
        fe_real part[6], stress[6], from[FE_N_STATE];
        fe_return mapped;
        const double share = (double)k / PARTS;
        for (int i = 0; i < 6; i++) part[i] = before[i] + share * (strain[i] - before[i]);
        for (int i = 0; i < FE_N_STATE; i++) from[i] = now[i];
        fe_return_map(hardening, m, part, from, stress, &mapped);
        fe_update_state(&mapped, from, now);
    }
    for (int i = 0; i < 5; i++) off[i] = now[i] - next[i];
    fe_trace_free(off, tensor);
    return fe_max(fe_sqrt(fe_double_dot(tensor, tensor) / 1.5), fe_max(now[5] - next[5], next[5] - now[5])) *
           (PARTS / (PARTS - 1.0));
}

/* What the increment from displacement `before` to u added to one element, from its trial state: the
 * integrals of the equivalent plastic strain and of its error. Apart from the summary, for it takes many
 * registers and most increments of most elements are elastic. */
FE_BODY void fe_element_flow(int kind, const fe_view *m, fe_element e, fe_real x[][3], fe_real u[][3],
                             fe_real before[][3], fe_real sum[FE_N_FLOW])
{
    const int several = m->materials != NULL;
    const fe_constants material = fe_material_at(several, m, e.e);
    const int hardening = fe_hardening_at(several, kind, m, &material);
    for (int i = 0; i < FE_N_FLOW; i++) sum[i] = fe_splat(0.0);
    for (int q = 0; q < fe_rolled(kind, fe_points(kind)); q++) {
        fe_real old[FE_N_STATE], state[FE_N_STATE], J[3][3], G[3][3], strain[6], strain_before[6];
        fe_point_state(kind, &m->committed, e.committed, e, q, old);
        fe_point_state(kind, &m->trial, e.trial, e, q, state);
        const fe_mask hardened = state[5] > old[5];
        if (!fe_any(hardened)) continue;
        fe_plane gx[3], gu[3];
        const int of_plane = kind == FE_HEX27 ? 9 : 4, k = q / of_plane, p = q % of_plane;
        fe_gradient_plane(kind, x, k, gx);
        fe_gradient_at(kind, x, gx, k, p, J);
        fe_gradient_plane(kind, u, k, gu);
        fe_gradient_at(kind, u, gu, k, p, G);
        const fe_real volume = fe_point_strain(kind, q, J, G, strain);
        fe_gradient_plane(kind, before, k, gu);
        fe_gradient_at(kind, before, gu, k, p, G);
        fe_point_strain(kind, q, J, G, strain_before);
        const fe_real error = fe_flow_error(hardening, &material, strain_before, strain, old, state);
        sum[FE_FLOW] += volume * fe_select(hardened, state[5] - old[5], fe_splat(0.0));
        sum[FE_FLOW_ERROR] += volume * fe_select(hardened, error, fe_splat(0.0));
    }
}

/* Integrals, extremes and mean fields of one element at displacement u, from its trial state. points, where
 * not NULL: the problem's, which get those of these elements. */
FE_BODY void fe_element_summary(int kind, const fe_view *m, fe_element e, fe_real x[][3], fe_real u[][3],
                                fe_real sum[FE_N_SUM], fe_real largest[FE_N_MAX], fe_real out[FE_N_OUT],
                                double *points)
{
    const fe_real zero = fe_splat(0.0), one = fe_splat(1.0);
    const int several = m->materials != NULL;
    const fe_constants material = fe_material_at(several, m, e.e);
    for (int i = 0; i < FE_N_SUM; i++) sum[i] = zero;
    for (int i = 0; i < FE_N_MAX; i++) largest[i] = zero;
    for (int i = 0; i < FE_N_OUT; i++) out[i] = zero;
    for (int k = 0; k < fe_rolled(kind, fe_planes(kind)); k++) {
        fe_plane gx[3], gu[3];
        fe_gradient_plane(kind, x, k, gx);
        fe_gradient_plane(kind, u, k, gu);
        FE_UNROLL_LARGE_FOR (int p = 0; p < fe_rolled(kind, fe_plane_points(kind)); p++) {
            const int q = fe_point_of(kind, k, p);
            fe_real J[3][3], G[3][3], strain[6], plastic[6], elastic[6], doubled[6], stress[6],
                old[FE_N_STATE], state[FE_N_STATE];
            fe_gradient_at(kind, x, gx, k, p, J);
            fe_gradient_at(kind, u, gu, k, p, G);
            const fe_real volume = fe_point_strain(kind, q, J, G, strain);
            fe_point_state(kind, &m->committed, e.committed, e, q, old);
            fe_point_state(kind, &m->trial, e.trial, e, q, state);
            fe_trace_free(state, plastic);
            for (int i = 0; i < 6; i++) elastic[i] = strain[i] - plastic[i];
            for (int i = 0; i < 6; i++) doubled[i] = i < 3 ? elastic[i] : 2.0 * elastic[i];
            fe_elastic_stress(&material, one, doubled, stress);
            const fe_real mises = fe_mises(stress), alpha = state[5];
            const fe_mask hardened = alpha > old[5];
            const fe_real work =
                fe_yield_stress(fe_hardening_at(several, kind, m, &material), &material, alpha) *
                (alpha - old[5]);
            sum[FE_SUM_VOLUME] += volume;
            sum[FE_SUM_ELASTIC_ENERGY] += 0.5 * volume * fe_double_dot(stress, elastic);
            sum[FE_SUM_PLASTIC_WORK] += volume * fe_select(hardened, work, zero);
            sum[FE_SUM_PEEQ] += volume * alpha;
            sum[FE_SUM_PLASTIC_POINTS] += fe_select(alpha > zero, one, zero);
            largest[FE_MAX_PEEQ] = fe_max(alpha, largest[FE_MAX_PEEQ]);
            largest[FE_MAX_MISES] = fe_max(mises, largest[FE_MAX_MISES]);
            largest[FE_MAX_GRADIENT] = fe_max(fe_gradient_size(J, G), largest[FE_MAX_GRADIENT]);
            const double share = 1.0 / fe_points(kind);
            for (int i = 0; i < 6; i++) out[FE_OUT_STRESS + i] += share * stress[i];
            for (int i = 0; i < 6; i++) out[FE_OUT_PLASTIC_STRAIN + i] += share * plastic[i];
            out[FE_OUT_PEEQ] += share * alpha;
            for (int i = 0; points && i < FE_N_OUT_POINT; i++)
                fe_put_point(kind, m->ld, e, q, i, i < 6 ? stress[i] : volume, points);
        }
    }
    const fe_real *stress = out + FE_OUT_STRESS, pressure = (stress[0] + stress[1] + stress[2]) / 3.0;
    for (int i = 0; i < 6; i++) { /* of the means, for they depend on each other as the points' own do */
        const fe_real mean = i < 3 ? pressure : zero;
        out[FE_OUT_STRAIN + i] = out[FE_OUT_PLASTIC_STRAIN + i] + mean / (3.0 * material.bulk) +
                                 (stress[i] - mean) / (2.0 * material.shear);
    }
    out[FE_OUT_MISES] = fe_mises(stress);
    out[FE_OUT_MISES_MAX] = largest[FE_MAX_MISES];
    out[FE_OUT_PEEQ_MAX] = largest[FE_MAX_PEEQ];
}

#endif
