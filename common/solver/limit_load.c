/* Whether a load can be carried at all. Perfect plasticity under dead loads has a limit load, beyond which no
 * displacement is in balance. A displacement that runs away is no proof: elements that lock may hold at
 * strains of 10. This is one:
 *
 * The incremental energy E(u) is convex, and residual · d is minus its slope along d. Where the slope at
 * u + length × d, |d| = 1, is still s > 0, the energy has fallen by length × s at least. It is never below
 * minus the work of the loads, |f_ext| |displacement|. So a balance, where E is least, can only be at
 * displacements beyond length × s / |f_ext|. */
#include "common/solver/newton.h"

#include <float.h>

/* The load counts as one that cannot be carried if any balance is farther away than so many times the elastic
 * displacement of the largest load: strains of 100 where yielding begins at 0.1 %. */
static const double far_away = 1e5;

/* No displacement up to so many times an elastic one is looked at more closely. */
static const double suspicious = 1e3;

/* step = displacement - accepted without what supports have moved: where a body runs away, the mechanism,
 * and the purer the farther. */
static fe_status find_mechanism(fe_solver *s, fe_newton *state, double *slope)
{
    fe_device *d = s->device;
    fe_products p = {0};
    double square;
    FE_TRY(d->ops->vector.add(d, s->n, s->displacement, -1.0, s->accepted.displacement, s->step));
    FE_TRY(d->ops->vector.put(d, s->supports.n, s->supports.at, 0.0, NULL, s->step));
    fe_products_add(&p, s->n, s->step, s->step, &square);
    fe_products_add(&p, s->n, s->residual, s->step, slope);
    FE_TRY(fe_products_read(s, &p));
    state->step_norm = sqrt(square);
    return FE_OK;
}

/* What the loads that the increment adds do along the mechanism. */
static fe_status work_added(fe_solver *s, const double *to, double *work)
{
    *work = 0.0;
    for (int p = 0; p < s->boundary->n_path; p++) {
        double along = 0.0;
        if (s->load[p]) FE_TRY(fe_solver_dot(s, s->load[p], s->step, &along));
        *work += (to[p] - s->accepted.factor[p]) * along;
    }
    return FE_OK;
}

/* *proven, and the share of the increment that can be carried at most. */
static fe_status prove(fe_solver *s, const double *to, fe_newton *state, int *proven, double *carriable)
{
    fe_device *d = s->device;
    const double elastic = s->forces.compliance * s->forces.largest_load;
    double initial, slope, work;
    FE_TRY(find_mechanism(s, state, &initial));
    if (!(state->step_norm > suspicious * elastic) || !(initial > 0.0)) return FE_OK;
    /* power of the load along the step at most, the slope's share of it, and the length that follows */
    const double power = s->forces.load * state->step_norm, share = initial / power,
                 length = 2.0 * far_away / share * elastic,
                 rounding = DBL_EPSILON * (state->step_norm + length) / elastic;
    if (share < 10.0 * rounding) return FE_OK;
    FE_TRY(d->ops->vector.add(d, s->n, s->displacement, length / state->step_norm, s->step, s->trial));
    FE_TRY(fe_solver_residual(s, s->trial, s->scratch));
    FE_TRY(fe_solver_dot(s, s->scratch, s->step, &slope));
    *proven = slope > 0.5 * initial && isfinite(slope);
    /* There internal forces · step are the mechanism's dissipation, which no load in balance exceeds. */
    FE_TRY(work_added(s, to, &work));
    *carriable = fmin(fmax(1.0 - (slope - rounding * power) / work, 0.0), 1.0);
    return fe_solver_residual(s, s->displacement, s->residual); /* and its f_int */
}

fe_status fe_newton_cannot_carry(fe_solver *s, const double *to, fe_newton *state, int *limit)
{
    enum { MOST_PROOFS = 8 };
    int proven = 0;
    double carriable = 1.0;
    *limit = 0;
    if (!state->limit_possible || !(s->forces.compliance * s->forces.largest_load > 0.0)) return FE_OK;
    FE_TRY(prove(s, to, state, &proven, &carriable));
    /* A purer mechanism dissipates less: iterations go on while that is worth it. */
    const int better = proven && (!state->limit_proofs || carriable < 0.99 * state->carriable);
    if (proven) state->carriable = fmin(state->carriable, carriable), state->limit_proofs++;
    *limit = state->limit_proofs && (!better || state->limit_proofs == MOST_PROOFS);
    return FE_OK;
}
