/* Newton's method for one load increment: elastic first step, consistent tangent after it, line search on
 * the incremental energy's slope, forcing terms by Eisenstat and Walker. */
#include "common/solver/solver.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct newton {
    double norm, previous; /* of the residual now and one iteration ago */
    double forcing;
    double first_increment; /* |displacement - accepted| after the elastic first step */
} newton;

static fe_status record_residual(fe_solver *s, fe_step_result *record, double norm)
{
    double *grown = realloc(record->residual, ((size_t)record->n_residual + 1) * sizeof *grown);
    if (!grown) return fe_fail(FE_OUT_OF_MEMORY, "residual history");
    record->residual = grown;
    record->residual[record->n_residual++] = s->reach > 0.0 ? norm / s->reach : norm;
    return FE_OK;
}

static fe_status record_length(fe_step_result *record, double length)
{
    double *grown = realloc(record->line_search, ((size_t)record->newton_iterations + 1) * sizeof *grown);
    if (!grown) return fe_fail(FE_OUT_OF_MEMORY, "line search history");
    record->line_search = grown;
    record->line_search[record->newton_iterations++] = length;
    return FE_OK;
}

/* Residual at a displacement, and the scale that it is compared with: the forces of accepted steps and those
 * here. An iterate's own reactions are forgotten with it: with supports just moved they are far too large. */
static fe_status evaluate(fe_solver *s, double *displacement, double *r, double *norm)
{
    fe_device *d = s->device;
    double square[3];
    FE_TRY(fe_solver_residual(s, displacement, r));
    FE_TRY(d->ops->vector.take(d, s->n_fixed, s->fixed, s->internal, s->scratch));
    FE_TRY(d->ops->column.dots(d, s->n, 1, r, s->length, r, s->scalar));
    FE_TRY(d->ops->column.dots(d, s->n, 1, s->external, s->length, s->external, s->scalar + 1));
    FE_TRY(d->ops->column.dots(d, (size_t)s->n_fixed, 1, s->scratch, s->length, s->scratch, s->scalar + 2));
    FE_TRY(fe_comm_sum(s->comm, d, 3, s->scalar));
    FE_TRY(d->ops->memory.download(d, sizeof square, s->scalar, square));
    *norm = sqrt(square[0]);
    s->reach = s->scale;
    for (int i = 1; i < 3; i++)
        if (sqrt(square[i]) > s->reach) s->reach = sqrt(square[i]);
    return FE_OK;
}

/* Forces beyond the largest number would pass as inf <= inf. */
static int accepted(const fe_solver *s, double norm)
{
    return norm <= s->options->tolerance * s->reach && isfinite(s->reach);
}

/* f_ext at the load factors, and the accepted displacement with the supports moved to theirs. */
static fe_status apply_factors(fe_solver *s, const double *to)
{
    fe_device *d = s->device;
    FE_TRY(d->ops->memory.zero(d, s->length * sizeof(double), s->external));
    FE_TRY(d->ops->vector.copy(d, s->n, s->accepted, s->displacement));
    for (int p = 0; p < s->boundary->n_path; p++) {
        if (s->load[p]) FE_TRY(d->ops->vector.axpy(d, s->n, to[p], s->load[p], s->external));
        FE_TRY(d->ops->vector.put(d, s->by_path[p].n, s->by_path[p].at, to[p], s->by_path[p].value,
                                  s->displacement));
    }
    return FE_OK;
}

/* Trial state and tangent at a displacement, whose ghosts are refreshed. */
static fe_status linearize(fe_solver *s, fe_linearization mode, double *displacement)
{
    FE_TRY(s->device->ops->phase(s->device, FE_PHASE_EXCHANGE));
    FE_TRY(fe_comm_exchange(s->comm, displacement));
    FE_TRY(s->device->ops->phase(s->device, FE_PHASE_MATERIAL));
    return s->assembly->material(&s->problem, s->work, mode, displacement);
}

/* The first iteration linearises at the committed state with the elastic tangent, for at the end of a
 * plastic step every plastic point sits on f = 0 to rounding; the supports' motion enters as a load:
 * K step = f_ext - f_int(accepted) - K (displacement - accepted), then displacement += step. */
static fe_status elastic_step(fe_solver *s, fe_step_result *record, newton *state)
{
    fe_device *d = s->device;
    fe_krylov_result linear;
    double square;
    s->jacobian = FE_JACOBIAN_ELASTIC;
    FE_TRY(linearize(s, FE_LINEARIZATION_ELASTIC, s->accepted));
    FE_TRY(fe_solver_residual(s, s->accepted, s->residual));
    FE_TRY(fe_solver_dot(s, s->residual, s->residual, &square));
    if (sqrt(square) > s->scale) s->scale = sqrt(square);
    FE_TRY(d->ops->vector.copy(d, s->n, s->displacement, s->trial));
    FE_TRY(d->ops->vector.axpy(d, s->n, -1.0, s->accepted, s->trial));
    FE_TRY(fe_solver_apply(s, s->trial, s->scratch));
    FE_TRY(d->ops->vector.axpy(d, s->n, -1.0, s->scratch, s->residual));
    FE_TRY(fe_solver_dot(s, s->residual, s->residual, &square));
    state->previous = sqrt(square);
    if (square > 0.0) {
        double forcing = s->options->krylov_tolerance > 0.0 ? s->options->krylov_tolerance : 1e-4;
        FE_TRY(fe_solver_linear(s, s->residual, s->step, forcing, &linear));
        record->krylov_iterations += linear.iterations;
        FE_TRY(d->ops->vector.axpy(d, s->n, 1.0, s->step, s->displacement));
        FE_TRY(record_length(record, 1.0));
    }
    FE_TRY(d->ops->vector.copy(d, s->n, s->displacement, s->trial));
    FE_TRY(d->ops->vector.axpy(d, s->n, -1.0, s->accepted, s->trial));
    FE_TRY(fe_solver_dot(s, s->trial, s->trial, &square));
    state->first_increment = sqrt(square);
    return FE_OK;
}

/* Residual at displacement + length × step, into r; *slope = r · step, the slope of minus the incremental
 * energy. */
static fe_status try_length(fe_solver *s, double length, double *r, double *norm, double *slope)
{
    fe_device *d = s->device;
    FE_TRY(d->ops->vector.copy(d, s->n, s->displacement, s->trial));
    FE_TRY(d->ops->vector.axpy(d, s->n, length, s->step, s->trial));
    FE_TRY(evaluate(s, s->trial, r, norm));
    return fe_solver_dot(s, r, s->step, slope);
}

/* The incremental energy is convex, so its slope along the step falls monotonically: a step that passes the
 * minimum is shortened by regula falsi (Illinois) until the slope is half its first size. On return the
 * displacement, the residual and its norm are those of the accepted length. */
static fe_status search_line(fe_solver *s, newton *state, double *length)
{
    fe_device *d = s->device;
    double low = 0.0, high = 1.0, start, slope, norm = 0.0, slope_low, slope_high;
    *length = 1.0;
    FE_TRY(fe_solver_dot(s, s->residual, s->step, &start));
    FE_TRY(try_length(s, 1.0, s->residual, &norm, &slope));
    slope_low = start, slope_high = slope;
    for (int k = 0, side = 0; k < 12 && s->options->line_search && start > 0.0; k++) {
        const int fine = norm <= 0.5 * state->norm || (isfinite(slope) && fabs(slope) <= 0.5 * start) ||
                         (*length == 1.0 && slope > 0.0);
        if (fine) break;
        *length = isfinite(slope_high) ? low + (high - low) * slope_low / (slope_low - slope_high)
                                       : 0.5 * (low + high);
        FE_TRY(try_length(s, *length, s->residual, &norm, &slope));
        if (slope > 0.0) {
            if (side == 1) slope_high *= 0.5;
            low = *length, slope_low = slope, side = 1;
        } else {
            if (side == -1) slope_low *= 0.5;
            high = *length, slope_high = slope, side = -1;
        }
    }
    state->previous = state->norm, state->norm = norm;
    return d->ops->vector.copy(d, s->n, s->trial, s->displacement);
}

/* Eisenstat & Walker, SIAM J. Sci. Comput. 17 (1996), choice 2 with gamma 0.9, and no tighter than what the
 * acceptance needs. */
static double forcing_term(const fe_solver *s, newton *state)
{
    if (s->options->krylov_tolerance > 0.0) return s->options->krylov_tolerance;
    const double ratio = state->norm / state->previous, safeguard = 0.9 * state->forcing * state->forcing;
    double forcing = 0.9 * ratio * ratio;
    if (safeguard > 0.1 && forcing < safeguard) forcing = safeguard;
    /* a hundredth, so that reactions are as good as displacements */
    const double enough = 0.01 * s->options->tolerance * s->reach / state->norm;
    if (forcing < enough) forcing = enough;
    if (forcing > 0.05) forcing = 0.05;
    return state->forcing = forcing;
}

static fe_status iterate(fe_solver *s, fe_step_result *record, newton *state)
{
    fe_krylov_result linear;
    double length, square = 0.0;
    s->jacobian = s->options->jacobian;
    FE_TRY(linearize(
        s, s->jacobian == FE_JACOBIAN_ELASTIC ? FE_LINEARIZATION_ELASTIC : FE_LINEARIZATION_CONSISTENT,
        s->displacement));
    if (s->jacobian == FE_JACOBIAN_DIFFERENCE)
        FE_TRY(fe_solver_dot(s, s->displacement, s->displacement, &square));
    s->displacement_norm = sqrt(square);
    FE_TRY(fe_solver_linear(s, s->residual, s->step, forcing_term(s, state), &linear));
    record->krylov_iterations += linear.iterations;
    if (s->options->anderson) FE_TRY(fe_anderson_mix(s, s->step));
    FE_TRY(search_line(s, state, &length));
    FE_TRY(record_length(record, length));
    FE_TRY(record_residual(s, record, state->norm));
    if (s->options->verbose && s->comm->rank == 0)
        fprintf(stderr, "  iteration %d: residual %.3e, %d Krylov iterations%s, step length %.3g\n",
                record->newton_iterations, state->norm / s->reach, linear.iterations,
                linear.converged ? "" : " (not converged)", length);
    return FE_OK;
}

/* Perfect plasticity under dead loads has a limit load: beyond it displacements grow without end. */
static fe_status ran_away(fe_solver *s, const newton *state, int *yes)
{
    double square;
    FE_TRY(s->device->ops->vector.copy(s->device, s->n, s->displacement, s->trial));
    FE_TRY(s->device->ops->vector.axpy(s->device, s->n, -1.0, s->accepted, s->trial));
    FE_TRY(fe_solver_dot(s, s->trial, s->trial, &square));
    *yes = s->problem_file->material.H == 0.0 && s->problem_file->n_load > 0 &&
           state->first_increment > 0.0 && !(sqrt(square) < 200.0 * state->first_increment);
    return FE_OK;
}

fe_status fe_newton_step(fe_solver *s, const double *to, fe_step_result *record, int *limit_load)
{
    newton state = {.forcing = 1e-4};
    *limit_load = 0;
    FE_TRY(fe_solver_interrupted(s));
    FE_TRY(apply_factors(s, to));
    FE_TRY(evaluate(s, s->displacement, s->residual, &state.norm));
    if (!accepted(s, state.norm)) {
        FE_TRY(elastic_step(s, record, &state));
        FE_TRY(evaluate(s, s->displacement, s->residual, &state.norm));
    }
    FE_TRY(record_residual(s, record, state.norm));
    if (s->options->anderson) fe_anderson_reset(s);
    const int first = record->newton_iterations;
    while (!accepted(s, state.norm)) {
        FE_TRY(fe_solver_interrupted(s));
        if (!isfinite(state.norm) || !isfinite(s->reach))
            return fe_fail(FE_FAILED, "load step %d: not converged: the residual or a force is not finite",
                           record->step);
        FE_TRY(ran_away(s, &state, limit_load));
        if (*limit_load || record->newton_iterations - first >= s->options->newton_iterations)
            return fe_fail(FE_FAILED,
                           *limit_load
                               ? "load step %d: limit load: displacements grow without bound (residual %.2e "
                                 "after %d iterations)"
                               : "load step %d: not converged: residual %.2e of the largest force after %d "
                                 "iterations",
                           record->step, state.norm / s->reach, record->newton_iterations);
        FE_TRY(iterate(s, record, &state));
    }
    s->scale = s->reach;
    /* Trial state of the accepted displacement, with ghosts. */
    FE_TRY(linearize(s, FE_LINEARIZATION_ELASTIC, s->displacement));
    return s->device->ops->phase(s->device, FE_PHASE_OTHER);
}
