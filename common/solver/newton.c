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

/* A step that was taken: displacement += length × a direction of this norm. */
static fe_status record_taken(fe_step_result *record, double length, double norm,
                              const fe_krylov_result *linear)
{
    fe_newton_record *grown = realloc(record->taken, ((size_t)record->newton_iterations + 1) * sizeof *grown);
    if (!grown) return fe_fail(FE_OUT_OF_MEMORY, "history of Newton's method");
    record->taken = grown;
    record->taken[record->newton_iterations++] =
        (fe_newton_record){length, length * norm, linear->last / linear->first, linear->iterations};
    return FE_OK;
}

/* Residual at a displacement, its product with the direction `step` (NULL: none), and the scale that it is
 * held against: the forces of accepted steps and those here. An iterate's own reactions do not outlive it,
 * for with supports just moved they are far too large. */
static fe_status evaluate(fe_solver *s, double *displacement, double *r, const double *step, double *norm,
                          double *slope)
{
    fe_device *d = s->device;
    double sums[3] = {0};
    const int n = step ? 3 : 2;
    FE_TRY(fe_solver_residual(s, displacement, r));
    FE_TRY(d->ops->vector.take(d, s->n_fixed, s->fixed, s->internal, s->scratch));
    FE_TRY(d->ops->column.dots(d, s->n, 1, r, s->length, r, s->scalar));
    FE_TRY(d->ops->column.dots(d, (size_t)s->n_fixed, 1, s->scratch, s->length, s->scratch, s->scalar + 1));
    if (step) FE_TRY(d->ops->column.dots(d, s->n, 1, r, s->length, step, s->scalar + 2));
    FE_TRY(fe_comm_sum(s->comm, d, n, s->scalar));
    FE_TRY(d->ops->memory.download(d, (size_t)n * sizeof *sums, s->scalar, sums));
    *norm = sqrt(sums[0]);
    if (step) *slope = sums[2];
    s->reach = fmax(s->scale, fmax(s->load_norm, sqrt(sums[1])));
    return FE_OK;
}

/* Forces beyond the largest number would pass as inf <= inf. */
static int accepted(const fe_solver *s, double norm)
{
    return !s->options->fixed_work && norm <= s->options->tolerance * s->reach && isfinite(s->reach);
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
    double square;
    FE_TRY(fe_solver_dot(s, s->external, s->external, &square));
    s->load_norm = sqrt(square);
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

/* residual · step, minus the slope of the incremental energy along the step, and |step|. */
static fe_status measure_step(fe_solver *s, double *slope, double *norm)
{
    fe_device *d = s->device;
    double sums[2];
    FE_TRY(d->ops->column.dots(d, s->n, 1, s->residual, s->length, s->step, s->scalar));
    FE_TRY(d->ops->column.dots(d, s->n, 1, s->step, s->length, s->step, s->scalar + 1));
    FE_TRY(fe_comm_sum(s->comm, d, 2, s->scalar));
    FE_TRY(d->ops->memory.download(d, sizeof sums, s->scalar, sums));
    *slope = sums[0], *norm = sqrt(sums[1]);
    return FE_OK;
}

/* Newton's method makes do with a linear residual of this share, and asks for none that is larger. */
static const double most_forcing = 0.05;

/* Why a direction cannot be taken; NULL where it can. */
static const char *refusal(const fe_solver *s, const fe_krylov_result *linear, double slope)
{
    if (s->options->fixed_work) return NULL;
    if (!linear->converged && !(linear->last <= most_forcing * linear->first))
        return fe_krylov_reason(linear);
    return slope > 0.0 && isfinite(slope) ? NULL : "the energy does not fall along the direction";
}

static fe_status no_number(const fe_step_result *record)
{
    return fe_fail(FE_FAILED, "load step %d: not converged: the residual or a force is not finite",
                   record->step);
}

static fe_status no_direction(const fe_solver *s, const fe_step_result *record, double norm,
                              const fe_krylov_result *linear, const char *why)
{
    return fe_fail(
        FE_FAILED,
        "load step %d: not converged: residual %.2e of the largest force after %d iterations; linear "
        "solve: %s (%d iterations, residual reduced to %.1e)",
        record->step, norm / s->reach, record->newton_iterations, why, linear->iterations,
        linear->last / linear->first);
}

/* What was not asked for is said, without --verbose too. */
static void say_reduced(const fe_solver *s, const fe_step_result *record, const fe_krylov_result *linear)
{
    if (linear->converged || s->comm->rank || s->options->fixed_work) return;
    fprintf(stderr,
            "solve: load step %d: linear solve: %s; its step is taken (%d iterations, residual reduced to "
            "%.1e)\n",
            record->step, fe_krylov_reason(linear), linear->iterations, linear->last / linear->first);
}

static void say_again(const fe_solver *s, const fe_step_result *record, const fe_krylov_result *linear,
                      const char *why, int better)
{
    if (s->comm->rank) return;
    fprintf(
        stderr,
        "solve: load step %d: linear solve: %s (%d iterations, residual reduced to %.1e); again with %s\n",
        record->step, why, linear->iterations, linear->last / linear->first,
        better ? "multigrid" : "the elastic Jacobian");
}

/* The first iteration linearises at the committed state with the elastic tangent, for at the end of a
 * plastic step every plastic point sits on f = 0 to rounding; the supports' motion enters as a load:
 * K step = f_ext - f_int(accepted) - K (displacement - accepted), then displacement += step. That load says
 * nothing of how well a later residual is predicted: `previous` is without it. */
static fe_status elastic_step(fe_solver *s, fe_step_result *record, newton *state)
{
    fe_device *d = s->device;
    fe_krylov_result linear;
    double square, slope, norm;
    s->jacobian = FE_JACOBIAN_ELASTIC;
    FE_TRY(linearize(s, FE_LINEARIZATION_ELASTIC, s->accepted));
    FE_TRY(fe_solver_residual(s, s->accepted, s->residual));
    FE_TRY(fe_solver_dot(s, s->residual, s->residual, &square));
    state->previous = sqrt(square);
    if (state->previous > s->scale) s->scale = state->previous;
    FE_TRY(d->ops->vector.copy(d, s->n, s->displacement, s->trial));
    FE_TRY(d->ops->vector.axpy(d, s->n, -1.0, s->accepted, s->trial));
    FE_TRY(fe_solver_apply(s, s->trial, s->scratch));
    FE_TRY(d->ops->vector.axpy(d, s->n, -1.0, s->scratch, s->residual));
    FE_TRY(fe_solver_dot(s, s->residual, s->residual, &square));
    if (!isfinite(square)) return no_number(record);
    if (square > 0.0) {
        double forcing = s->options->fixed_work               ? 0.0
                         : s->options->krylov_tolerance > 0.0 ? s->options->krylov_tolerance
                                                              : 1e-4;
        int better = 0;
        do {
            FE_TRY(fe_solver_linear(s, s->residual, s->step, forcing, &linear));
            record->krylov_iterations += linear.iterations;
            FE_TRY(measure_step(s, &slope, &norm));
            const char *why = refusal(s, &linear, slope);
            if (!why) break;
            FE_TRY(fe_solver_better_preconditioner(s, &better));
            if (!better) return no_direction(s, record, state->norm, &linear, why);
            say_again(s, record, &linear, why, 1);
        } while (better);
        say_reduced(s, record, &linear);
        FE_TRY(d->ops->vector.axpy(d, s->n, 1.0, s->step, s->displacement));
        FE_TRY(record_taken(record, 1.0, norm, &linear));
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
    return evaluate(s, s->trial, r, s->step, norm, slope);
}

/* The incremental energy is convex, so its slope along the step falls monotonically: a step that passes the
 * minimum is shortened by regula falsi (Illinois) until the slope is half its first size, start > 0. On
 * return the displacement, the residual and its norm are those of the accepted length. */
static fe_status search_line(fe_solver *s, double start, newton *state, double *length)
{
    fe_device *d = s->device;
    double low = 0.0, high = 1.0, slope, norm = 0.0, slope_low, slope_high;
    *length = 1.0;
    FE_TRY(try_length(s, 1.0, s->residual, &norm, &slope));
    slope_low = start, slope_high = slope;
    for (int k = 0, side = 0; k < 12 && s->options->line_search && !s->options->fixed_work; k++) {
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

/* Products of a difference have errors of about 1.5e-8 |K| |x|, some hundred times 1.5e-8 |K x|. */
static const double difference_noise = 1e-5;

/* Eisenstat & Walker, SIAM J. Sci. Comput. 17 (1996), choice 2 with gamma 0.9; no tighter than what the
 * acceptance needs, and what the operator can give. Their safeguard, 0.9 of the last one squared, is taken
 * without their threshold of 0.1: forcing starts at 0.05 here, where squares fall as fast as Newton's method.
 */
static double forcing_term(const fe_solver *s, newton *state)
{
    if (s->options->fixed_work) return 0.0;
    if (s->options->krylov_tolerance > 0.0) return s->options->krylov_tolerance;
    const double ratio = state->norm / state->previous, safeguard = 0.9 * state->forcing * state->forcing;
    const double enough = 0.3 * s->options->tolerance * s->reach / state->norm;
    double forcing = fmax(0.9 * ratio * ratio, fmax(safeguard, enough));
    if (s->options->jacobian == FE_JACOBIAN_DIFFERENCE) forcing = fmax(forcing, difference_noise);
    return state->forcing = fmin(forcing, most_forcing);
}

/* A direction along which the energy falls, its slope and its norm. Where none is found, multigrid takes
 * over, and then the elastic Jacobian, which is positive definite. */
static fe_status find_direction(fe_solver *s, fe_step_result *record, newton *state, fe_krylov_result *linear,
                                double *slope, double *norm)
{
    const double forcing = forcing_term(s, state);
    double square = 0.0;
    int better;
    s->jacobian = s->options->jacobian;
    while (1) {
        const int elastic = s->jacobian == FE_JACOBIAN_ELASTIC;
        FE_TRY(
            linearize(s, elastic ? FE_LINEARIZATION_ELASTIC : FE_LINEARIZATION_CONSISTENT, s->displacement));
        if (s->jacobian == FE_JACOBIAN_DIFFERENCE)
            FE_TRY(fe_solver_dot(s, s->displacement, s->displacement, &square));
        s->displacement_norm = sqrt(square);
        FE_TRY(fe_solver_linear(s, s->residual, s->step, forcing, linear));
        record->krylov_iterations += linear->iterations;
        FE_TRY(measure_step(s, slope, norm));
        const char *why = refusal(s, linear, *slope);
        if (!why) break;
        FE_TRY(fe_solver_better_preconditioner(s, &better));
        if (elastic && !better) return no_direction(s, record, state->norm, linear, why);
        say_again(s, record, linear, why, better);
        if (!better) s->jacobian = FE_JACOBIAN_ELASTIC;
    }
    say_reduced(s, record, linear);
    return FE_OK;
}

/* The step becomes Anderson's mixture, unless that goes up. */
static fe_status mix(fe_solver *s, double *slope, double *norm)
{
    fe_device *d = s->device;
    double mixed_slope, mixed_norm;
    FE_TRY(d->ops->vector.copy(d, s->n, s->step, s->trial));
    FE_TRY(fe_anderson_mix(s, s->step));
    FE_TRY(measure_step(s, &mixed_slope, &mixed_norm));
    if (mixed_slope > 0.0 && isfinite(mixed_slope)) {
        *slope = mixed_slope, *norm = mixed_norm;
        return FE_OK;
    }
    fe_anderson_reset(s);
    return d->ops->vector.copy(d, s->n, s->trial, s->step);
}

static fe_status iterate(fe_solver *s, fe_step_result *record, newton *state)
{
    fe_krylov_result linear;
    double length, slope, norm;
    FE_TRY(find_direction(s, record, state, &linear, &slope, &norm));
    if (s->options->anderson) FE_TRY(mix(s, &slope, &norm));
    FE_TRY(search_line(s, slope, state, &length));
    FE_TRY(record_taken(record, length, norm, &linear));
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
    *yes = 0;
    if (s->problem_file->material.H != 0.0 || s->problem_file->n_load == 0) return FE_OK;
    FE_TRY(s->device->ops->vector.copy(s->device, s->n, s->displacement, s->trial));
    FE_TRY(s->device->ops->vector.axpy(s->device, s->n, -1.0, s->accepted, s->trial));
    FE_TRY(fe_solver_dot(s, s->trial, s->trial, &square));
    *yes = state->first_increment > 0.0 && !(sqrt(square) < 200.0 * state->first_increment);
    return FE_OK;
}

fe_status fe_newton_step(fe_solver *s, const double *to, fe_step_result *record, int *limit_load)
{
    newton state = {.forcing = 1e-4};
    *limit_load = 0;
    FE_TRY(fe_solver_interrupted(s));
    FE_TRY(apply_factors(s, to));
    FE_TRY(evaluate(s, s->displacement, s->residual, NULL, &state.norm, NULL));
    if (!accepted(s, state.norm)) {
        FE_TRY(elastic_step(s, record, &state));
        FE_TRY(evaluate(s, s->displacement, s->residual, NULL, &state.norm, NULL));
    }
    FE_TRY(record_residual(s, record, state.norm));
    if (s->options->anderson) fe_anderson_reset(s);
    const int first = record->newton_iterations;
    while (!accepted(s, state.norm)) {
        FE_TRY(fe_solver_interrupted(s));
        if (s->options->fixed_work && record->newton_iterations >= s->options->newton_iterations) break;
        if (!isfinite(state.norm) || !isfinite(s->reach)) return no_number(record);
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
