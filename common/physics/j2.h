/* J2 plasticity with isotropic hardening at one point: return mapping and consistent tangent. The law of
 * hardening is FE_LINEAR or FE_VOCE (common/physics/material.h); code for the latter knows both.
 *
 * Symmetric tensors have six components in the order xx yy zz xy yz xz (tensor shears). A point's state is
 * six numbers: plastic strain xx yy xy yz xz (zz follows, the tensor is trace-free) and the equivalent
 * plastic strain. Simo & Hughes, Computational Inelasticity, box 3.2; with one invariant
 * q = sqrt(3/2 s:s) instead of |s|. */
#ifndef FE_J2_H
#define FE_J2_H

#include "common/physics/exponential.h"
#include "common/physics/material.h"

enum { FE_N_STATE = 6, FE_N_TANGENT = 6, FE_N_FULL = 21 };

/* Elastic constants and yield stress sigma_y + hardening p + saturation (1 - exp(-rate p)) over the
 * equivalent plastic strain p. sigma_y = infinity is elasticity. Stresses in the problem's unit. */
typedef struct fe_j2 {
    double bulk, shear, sigma_y, hardening;
    double lame;             /* bulk - 2/3 shear */
    double saturation, rate; /* of Voce's law: sigma_inf - sigma_y, delta; linear: 0, 0 */
} fe_j2;
FE_BOTH int fe_hardening_of(const fe_j2 *m) { return m->rate > 0.0 ? FE_VOCE : FE_LINEAR; }

/* The same numbers in bodies: those of the material of each lane's element. */
typedef struct fe_constants {
    fe_constant bulk, shear, sigma_y, hardening, lame, saturation, rate;
} fe_constants;
FE_BODY fe_constants fe_constants_of(const fe_j2 *m)
{
    const fe_constants c = {fe_alike(m->bulk),      fe_alike(m->shear), fe_alike(m->sigma_y),
                            fe_alike(m->hardening), fe_alike(m->lame),  fe_alike(m->saturation),
                            fe_alike(m->rate)};
    return c;
}
/* Of material i of a table. */
FE_BODY fe_constants fe_constants_in(const fe_j2 *table, fe_index i)
{
    const int row = (int)(sizeof *table / sizeof(double));
    const fe_constants c = {fe_pick(&table->bulk, row, i),    fe_pick(&table->shear, row, i),
                            fe_pick(&table->sigma_y, row, i), fe_pick(&table->hardening, row, i),
                            fe_pick(&table->lame, row, i),    fe_pick(&table->saturation, row, i),
                            fe_pick(&table->rate, row, i)};
    return c;
}

/* scale × stress of an elastic strain, K tr(e) I + 2 mu dev(e). The strain has doubled shears, 2 e_xy and so
 * on, here and in the other functions that stress is linear in. */
FE_BODY void fe_elastic_stress(const fe_constants *m, fe_real scale, const fe_real strain[6],
                               fe_real stress[6])
{
    const fe_real trace = strain[0] + strain[1] + strain[2], volumetric = m->lame * (scale * trace);
    const fe_real shear = m->shear * scale, twice = shear + shear;
    for (int i = 0; i < 3; i++) stress[i] = twice * strain[i] + volumetric;
    for (int i = 3; i < 6; i++) stress[i] = shear * strain[i];
}

/* a:b of two symmetric tensors; the shears stand twice in the sum. */
FE_BODY fe_real fe_double_dot(const fe_real a[6], const fe_real b[6])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + 2.0f * (a[3] * b[3] + a[4] * b[4] + a[5] * b[5]);
}

/* Trace-free tensor of its five stored components. */
FE_BODY void fe_trace_free(const fe_real five[5], fe_real six[6])
{
    six[0] = five[0], six[1] = five[1], six[2] = -(five[0] + five[1]);
    six[3] = five[2], six[4] = five[3], six[5] = five[4];
}

typedef struct fe_return {
    fe_real deviator[6]; /* of the trial stress                                         */
    fe_real q;           /* its von Mises stress; set where `plastic`                   */
    fe_real increment;   /* of equivalent plastic strain, 0 where elastic               */
    fe_real factor;      /* of the deviator after the return: 1 - 3 mu increment / q    */
    fe_mask plastic;
} fe_return;

/* Stress that Voce's law has yet to gain at the equivalent plastic strain p. */
FE_CALLED fe_real fe_voce_left(fe_constant saturation, fe_constant rate, fe_real p)
{
    return saturation * fe_exp(-rate * p);
}

/* Yield stress at p. */
FE_BODY fe_real fe_yield_stress(int hardening, const fe_constants *m, fe_real p)
{
    fe_real yield = m->sigma_y + m->hardening * p;
    if (hardening == FE_VOCE) yield += m->saturation - fe_voce_left(m->saturation, m->rate, p);
    return yield;
}

/* Iterations of fe_voce_increment at most. */
enum { FE_VOCE_MOST = 16 };

/* Increment of equivalent plastic strain from alpha by Voce's law: the root d of
 *   g(d) = excess - fixed d - left (1 - exp(-rate d)), fixed = 3 mu + H,
 * where `excess` is the trial stress q beyond the yield stress at alpha, `left` is fe_voce_left there, and
 * `line` is the linear part of that yield stress; 0 where q is not beyond it. g is convex and falls, so
 * Newton's iterates from 0 rise to the root and never pass it: no step needs a safeguard. After a step, g is
 * at most g''/2 step², because g'' falls, too. A lane stops, independently of the others, where this bound is
 * below the rounding of the yield stress. The convergence is quadratic once rate × (root - d) is below 1, and
 * until then every step gains 1 / rate or more. So the number of iterations grows with
 * log(left rate / 3 mu), which FE_VOCE_STEEPEST bounds: 9 were the most in a million random cases, 3 or 4 are
 * usual. */
FE_CALLED fe_real fe_voce_increment(fe_constant fixed, fe_constant saturation, fe_constant rate,
                                    fe_real alpha, fe_real line, fe_real q)
{
    const fe_real left = saturation * fe_exp(-rate * alpha), yield = line + (saturation - left);
    const fe_real limit = 0x1p-53f * yield;
    const fe_real excess = fe_max(q - yield, fe_splat(0.0f));
    fe_real increment = fe_splat(0.0f), g = excess, now = left; /* left exp(-rate increment) */
    for (int n = 1;; n++) {
        const fe_real slope = rate * now, step = g * fe_reciprocal(fixed + slope);
        increment += step;
        const fe_mask more = 0.5f * rate * slope * (step * step) > limit;
        if (n == FE_VOCE_MOST || !fe_any(more)) return increment;
        now = left * fe_exp(-rate * increment);
        g = fe_select(more, excess - fixed * increment - (left - now), fe_splat(0.0f));
    }
}

/* Backward-Euler return from (plastic strain, alpha) to `strain`; writes the stress. f <= 0 is elastic;
 * else increment = f / (3 mu + H), or by Voce's law the root above, and q(stress) is the yield stress at
 * alpha + increment to rounding. */
FE_BODY void fe_return_map(int hardening, const fe_constants *m, const fe_real strain[6],
                           const fe_real state[FE_N_STATE], fe_real stress[6], fe_return *r)
{
    fe_real plastic[6], elastic[6];
    fe_trace_free(state, plastic);
    for (int i = 0; i < 6; i++) elastic[i] = strain[i] - plastic[i];
    const fe_real trace = elastic[0] + elastic[1] + elastic[2];
    for (int i = 0; i < 6; i++)
        r->deviator[i] = 2.0f * m->shear * (i < 3 ? elastic[i] - trace / 3.0f : elastic[i]);
    const fe_real yield = m->sigma_y + m->hardening * state[5];
    const fe_real q2 = 1.5f * fe_double_dot(r->deviator, r->deviator);
    r->plastic = q2 > yield * yield; /* by Voce's law: beyond the line that it rises from */
    r->factor = fe_splat(1.0f), r->increment = fe_splat(0.0f), r->q = fe_splat(1.0f);
    if (fe_any(r->plastic)) {
        r->q = fe_select(r->plastic, fe_sqrt(q2), r->q);
        fe_real increment = (r->q - yield) / (3.0f * m->shear + m->hardening);
        if (hardening == FE_VOCE) {
            increment = fe_voce_increment(3.0f * m->shear + m->hardening, m->saturation, m->rate, state[5],
                                          yield, r->q);
            r->plastic = r->plastic & (increment > fe_splat(0.0f));
        }
        r->increment = fe_select(r->plastic, increment, r->increment);
        r->factor = 1.0f - 3.0f * m->shear * r->increment / r->q;
    }
    for (int i = 0; i < 6; i++)
        stress[i] = r->factor * r->deviator[i] + (i < 3 ? m->bulk * trace : fe_splat(0.0f));
}

/* State after the return. */
FE_BODY void fe_update_state(const fe_return *r, const fe_real state[FE_N_STATE], fe_real next[FE_N_STATE])
{
    const fe_real scale = 1.5f * r->increment / r->q;
    next[0] = state[0] + scale * r->deviator[0], next[1] = state[1] + scale * r->deviator[1];
    for (int i = 2; i < 5; i++) next[i] = state[i] + scale * r->deviator[i + 1];
    next[5] = state[5] + r->increment;
}

/* Consistent tangent C = K I×I + 2 mu theta I_dev - m×m as six numbers: theta = 1 - 3 mu increment / q and
 * five components of m = sqrt(2 mu theta_bar) n, with n the unit deviator and
 * theta_bar = 3 mu / (3 mu + H') - 3 mu increment / q >= 0, with H' at alpha, which is that after the return.
 * Elastic: 1, 0 0 0 0 0. */
FE_BODY void fe_consistent_tangent(int hardening, const fe_constants *m, const fe_return *r, fe_real alpha,
                                   fe_real tangent[FE_N_TANGENT])
{
    const fe_constant limit = 3.0f * m->shear / (3.0f * m->shear + m->hardening);
    fe_real theta_bar = limit - 1.0f + r->factor;
    if (hardening == FE_VOCE && fe_any(r->plastic)) {
        const fe_real slope = m->hardening + m->rate * fe_voce_left(m->saturation, m->rate, alpha);
        theta_bar = r->factor - slope / (3.0f * m->shear + slope);
    }
    theta_bar = fe_max(theta_bar, fe_splat(0.0f));
    /* |s| = sqrt(2/3) q */
    const fe_real scale = fe_select(r->plastic, fe_sqrt(3.0f * m->shear * theta_bar) / r->q, fe_splat(0.0f));
    tangent[0] = r->factor;
    tangent[1] = scale * r->deviator[0], tangent[2] = scale * r->deviator[1];
    for (int i = 2; i < 5; i++) tangent[i + 1] = scale * r->deviator[i + 1];
}

/* scale × C:strain for a stored tangent: K tr(e) I + 2 mu theta dev(e) - (m:e) m */
FE_BODY void fe_tangent_stress(const fe_constants *m, fe_real scale, const fe_real tangent[FE_N_TANGENT],
                               const fe_real strain[6], fe_real stress[6])
{
    fe_real n[6];
    fe_trace_free(tangent + 1, n);
    const fe_real along = scale * (n[0] * strain[0] + n[1] * strain[1] + n[2] * strain[2] + n[3] * strain[3] +
                                   n[4] * strain[4] + n[5] * strain[5]);
    const fe_real shear = m->shear * scale * tangent[0], twice = 2.0f * shear;
    const fe_real trace = strain[0] + strain[1] + strain[2];
    const fe_real volumetric = (m->bulk * scale - (fe_scalar)(2.0 / 3.0) * shear) * trace;
    for (int i = 0; i < 3; i++) stress[i] = twice * strain[i] + (volumetric - along * n[i]);
    for (int i = 3; i < 6; i++) stress[i] = shear * strain[i] - along * n[i];
}

/* Place of entry i, j of a symmetric 6×6 matrix among the 21 of its upper triangle, row by row. */
FE_BODY int fe_full_place(int i, int j)
{
    const int row = i < j ? i : j, column = i < j ? j : i;
    return row * 6 - row * (row - 1) / 2 + column - row;
}
/* The tangent's matrix in the components of symmetric tensors: C = K I×I + 2 mu theta I_dev - m×m. */
FE_BODY void fe_full_tangent(const fe_constants *m, const fe_real tangent[FE_N_TANGENT],
                             fe_real full[FE_N_FULL])
{
    fe_real direction[6];
    fe_trace_free(tangent + 1, direction);
    const fe_real factor = m->shear * tangent[0], beside = m->bulk - (fe_scalar)(2.0 / 3.0) * factor;
    for (int i = 0; i < 6; i++)
        for (int j = i; j < 6; j++) {
            fe_real entry = -direction[i] * direction[j];
            if (j < 3) entry += beside;
            if (i == j) entry += i < 3 ? 2.0f * factor : factor;
            full[fe_full_place(i, j)] = entry;
        }
}
/* scale × C:strain of that. */
FE_BODY void fe_full_stress(fe_real scale, const fe_real full[FE_N_FULL], const fe_real strain[6],
                            fe_real stress[6])
{
    for (int i = 0; i < 6; i++) {
        fe_real sum = full[fe_full_place(i, 0)] * strain[0];
        for (int j = 1; j < 6; j++) sum += full[fe_full_place(i, j)] * strain[j];
        stress[i] = scale * sum;
    }
}

#endif
