/* How far a step goes: line search on the slope of the incremental energy. */
#include "common/solver/newton.h"

/* Where a body may run away, a step that ends before the energy falls by half as fast goes on to 4, 16, …
 * times its length. No step goes where stresses have lost their digits. *low and *slope: of the last length
 * but one. */
static fe_status lengthen(fe_solver *s, fe_newton *state, double *length, double *low, double *slope)
{
    const double most = fe_newton_far * s->forces.compliance * s->forces.largest_load / state->step_norm;
    if (!state->limit_possible || !(most > 0.0)) return FE_OK;
    if (most < 1.0) return fe_newton_try(s, state, *length = most, 0);
    while (4.0 * *length < most && state->trial_slope > 0.5 * state->initial_slope) {
        *low = *length, *slope = state->trial_slope;
        FE_TRY(fe_newton_try(s, state, *length *= 4.0, 0));
    }
    return FE_OK;
}

/* The incremental energy is convex, so its slope along the step falls monotonically: a step that passes the
 * minimum is shortened by regula falsi (Illinois) until the slope is half its first size. The whole step was
 * tried before. On return the displacement, the residual and its norm are those of the accepted length. */
fe_status fe_newton_search_line(fe_solver *s, fe_newton *state, double *length)
{
    const int searches = s->options->line_search && !s->benchmark.fixed_work;
    double low = 0.0, slope_low = state->initial_slope;
    *length = 1.0;
    if (searches) FE_TRY(lengthen(s, state, length, &low, &slope_low));
    double high = *length, slope_high = state->trial_slope;
    for (int k = 0, side = 0; k < 12 && searches; k++) {
        const int fine =
            state->trial_norm <= 0.5 * state->norm ||
            (isfinite(state->trial_slope) && fabs(state->trial_slope) <= 0.5 * state->initial_slope) ||
            (k == 0 && state->trial_slope > 0.0);
        if (fine) break;
        *length = isfinite(slope_high) ? low + (high - low) * slope_low / (slope_low - slope_high)
                                       : 0.5 * (low + high);
        FE_TRY(fe_newton_try(s, state, *length, 0));
        if (state->trial_slope > 0.0) {
            if (side == 1) slope_high *= 0.5;
            low = *length, slope_low = state->trial_slope, side = 1;
        } else {
            if (side == -1) slope_low *= 0.5;
            high = *length, slope_high = state->trial_slope, side = -1;
        }
    }
    state->previous_norm = state->norm, state->norm = state->trial_norm;
    return s->device->ops->vector.copy(s->device, s->n, s->trial, s->displacement);
}
