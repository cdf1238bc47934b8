/* Newton's method for one load increment: consistent tangent, forcing terms by Eisenstat and Walker, what is
 * tried where no direction was found. */
#include "common/solver/newton.h"
#include "common/solver/solver_contact.h"

#include <stdio.h>

/* Products of a difference have errors of about 1.5e-8 |K| |x|, some hundred times 1.5e-8 |K x|. */
static const double difference_noise = 1e-5;

/* Eisenstat & Walker, SIAM J. Sci. Comput. 17 (1996), choice 2 with gamma 0.9; no tighter than what the
 * acceptance needs, and what the operator can give. Their safeguard, 0.9 of the last one squared, is taken
 * without their threshold of 0.1: forcing starts at 0.05 here, where squares fall as fast as Newton's method.
 */
static double forcing_term(const fe_solver *s, fe_newton *state)
{
    if (s->benchmark.fixed_work) return 0.0;
    if (s->options->krylov_tolerance > 0.0) return s->options->krylov_tolerance;
    const double ratio = state->norm / state->previous_norm,
                 safeguard = 0.9 * state->forcing * state->forcing;
    const double enough = 0.3 * s->options->tolerance * s->forces.scale / state->norm;
    double forcing = fmax(0.9 * ratio * ratio, fmax(safeguard, enough));
    if (s->options->jacobian == FE_JACOBIAN_DIFFERENCE) forcing = fmax(forcing, difference_noise);
    const double most =
        fmin(fe_newton_most_forcing, fmax(enough, fe_newton_most_forcing / fe_solver_contact_scale(s)));
    return state->forcing = fmin(forcing, most);
}

/* The step becomes Anderson's mixture, unless that goes up. */
static fe_status mix(fe_solver *s)
{
    fe_device *d = s->device;
    double slope;
    FE_TRY(d->ops->vector.copy(d, s->n, s->step, s->trial));
    FE_TRY(fe_anderson_mix(s, s->step));
    FE_TRY(fe_solver_dot(s, s->residual, s->step, &slope));
    if (slope > 0.0 && isfinite(slope)) return FE_OK;
    fe_anderson_reset(s);
    return d->ops->vector.copy(d, s->n, s->trial, s->step);
}

static fe_linearization linearization(int jacobian)
{
    return jacobian == FE_JACOBIAN_ELASTIC ? FE_LINEARIZATION_ELASTIC : FE_LINEARIZATION_CONSISTENT;
}

/* Where all points of a mechanism flow without hardening, the tangent is singular. That of a material that
 * hardens by a millionth of its elastic stiffness is positive definite, and its solution follows the
 * mechanism. Only the trial state becomes that of the other material, and no residual reads it. */
static fe_status linearize_hardened(fe_solver *s)
{
    FE_TRY(fe_problem_harden(&s->problem, 3e-6));
    FE_TRY(fe_newton_linearize(s, FE_LINEARIZATION_CONSISTENT, s->displacement));
    return fe_problem_harden(&s->problem, 0.0);
}

/* One direction: trial state and tangent, linear solve, and the whole step tried. *why: NULL where the energy
 * falls along it. */
static fe_status look(fe_solver *s, fe_step_result *record, fe_newton *state, double forcing,
                      const char **why)
{
    double square = 0.0;
    FE_TRY(state->hardened ? linearize_hardened(s)
                           : fe_newton_linearize(s, linearization(s->jacobian), s->displacement));
    if (s->jacobian == FE_JACOBIAN_DIFFERENCE)
        FE_TRY(fe_solver_dot(s, s->displacement, s->displacement, &square));
    s->difference.displacement_norm = sqrt(square);
    s->progress.iteration = record->newton_iterations + 1;
    FE_TRY(fe_solver_linear(s, s->residual, s->step, forcing, &state->linear));
    record->krylov_iterations += state->linear.iterations;
    *why = fe_newton_refuses_solve(s, &state->linear);
    if (*why) return FE_OK;
    if (s->options->anderson) FE_TRY(mix(s));
    FE_TRY(fe_newton_try(s, state, 1.0, 1));
    *why = fe_newton_refuses_direction(s, state);
    return *why ? fe_solver_residual(s, s->displacement, s->residual) : FE_OK;
}

/* What is tried next where no direction was found, NULL: nothing is left. Conjugate gradients where GMRES,
 * which forgets when it restarts, stands still on the symmetric tangent; multigrid; without hardening the
 * tangent, which may be singular, with a little, for the rest of the increment; preconditioners for systems
 * whose condition is bad; the elastic Jacobian, which is positive definite. */
static fe_status try_next(fe_solver *s, fe_newton *state, const char **with)
{
    const int tangent = s->jacobian != FE_JACOBIAN_ELASTIC;
    if (s->krylov.restart && s->jacobian == FE_JACOBIAN_TANGENT) {
        *with = "conjugate gradients";
        return fe_solver_take_cg(s);
    }
    if (s->preconditioner.kind >= FE_PRECONDITION_MULTIGRID && fe_case_has_limit(s->problem_file) &&
        tangent && !state->hardened) {
        s->jacobian = FE_JACOBIAN_TANGENT, state->hardened = 1, *with = "a little hardening";
        return FE_OK;
    }
    FE_TRY(fe_solver_better_preconditioner(s, with));
    if (*with || !tangent) return FE_OK;
    s->jacobian = FE_JACOBIAN_ELASTIC, state->hardened = 0, *with = "the elastic Jacobian";
    return FE_OK;
}

/* A direction along which the energy falls. */
static fe_status find_direction(fe_solver *s, fe_step_result *record, fe_newton *state)
{
    const double forcing = forcing_term(s, state);
    const char *why, *with;
    s->jacobian = state->hardened ? FE_JACOBIAN_TANGENT : s->options->jacobian;
    FE_TRY(look(s, record, state, forcing, &why));
    while (why) {
        FE_TRY(try_next(s, state, &with));
        if (!with) return fe_newton_no_direction(s, record, state, why);
        fe_newton_say_again(s, record, &state->linear, why, with);
        FE_TRY(look(s, record, state, forcing, &why));
    }
    fe_newton_say_reduced(s, record, &state->linear);
    return FE_OK;
}

static fe_status iterate(fe_solver *s, fe_step_result *record, fe_newton *state)
{
    double length;
    FE_TRY(find_direction(s, record, state));
    FE_TRY(fe_newton_search_line(s, state, &length));
    FE_TRY(fe_newton_record_taken(record, state, length));
    fe_newton_record_contact(s, record);
    FE_TRY(fe_newton_record_residual(s, record, state->norm));
    if (s->options->verbose && s->comm->rank == 0)
        fprintf(stderr, "  iteration %d: residual %.3e, %d Krylov iterations%s, step length %.3g",
                record->newton_iterations, record->residual[record->n_residual - 1], state->linear.iterations,
                state->linear.converged ? "" : " (not converged)", length);
    if (s->options->verbose && s->comm->rank == 0 && s->contact.n)
        fprintf(stderr, ", %d nodes closed, %d changed", s->contact.closed, s->contact.changed);
    if (s->options->verbose && s->comm->rank == 0) fputc('\n', stderr);
    return fe_newton_follow_contact(s, state);
}

/* A residual of rounding errors does not fall. A tangent's falls by much more than a tenth in eight
 * iterations; a frozen Jacobian's may fall slowly. */
static int stands_still(const fe_solver *s, fe_newton *state)
{
    const int frozen = s->options->jacobian == FE_JACOBIAN_ELASTIC;
    if (state->norm < (frozen ? 0.99 : 0.9) * state->least_norm)
        state->least_norm = state->norm, state->stagnant = 0;
    else
        state->stagnant++;
    return state->stagnant >= (frozen ? 20 : 8) && state->norm < fe_newton_digits * s->forces.scale;
}

static fe_status find_ending(fe_solver *s, const double *to, fe_newton *state, int iterations,
                             fe_ending *ending)
{
    int limit = 0;
    *ending = FE_ENDING_NONE;
    if (s->benchmark.fixed_work) return FE_OK;
    if (iterations > 0) FE_TRY(fe_newton_cannot_carry(s, to, state, &limit));
    if (limit)
        *ending = FE_ENDING_LIMIT_LOAD;
    else if (stands_still(s, state))
        *ending = FE_ENDING_OUT_OF_REACH;
    else if (iterations >= s->options->newton_iterations)
        *ending = FE_ENDING_NOT_CONVERGED;
    return FE_OK;
}

/* Iterations until forces balance; first: those of the step before this increment. */
static fe_status balance(fe_solver *s, const double *to, fe_step_result *record, fe_newton *state, int first)
{
    while (!fe_newton_accepted(s, state->norm)) {
        FE_TRY(fe_solver_interrupted(s));
        if (!isfinite(state->norm) || !isfinite(s->forces.scale))
            return fe_newton_not_finite(s, record, state);
        const int iterations = record->newton_iterations - first;
        int rounding;
        FE_TRY(fe_newton_is_rounding(s, record, state, iterations, &rounding));
        if (rounding) break;
        if (s->benchmark.fixed_work && record->newton_iterations >= s->options->newton_iterations) break;
        fe_ending ending;
        FE_TRY(find_ending(s, to, state, iterations, &ending));
        if (ending != FE_ENDING_NONE) return fe_newton_ended(s, record, state, ending);
        FE_TRY(iterate(s, record, state));
    }
    return FE_OK;
}

static fe_status solve_increment(fe_solver *s, const double *to, fe_step_result *record, fe_newton *state)
{
    FE_TRY(fe_solver_interrupted(s));
    FE_TRY(fe_newton_predict(s, to, record, state));
    if (s->options->anderson) fe_anderson_reset(s);
    const int first = record->newton_iterations;
    int again = 1;
    while (again) {
        FE_TRY(balance(s, to, record, state, first));
        FE_TRY(fe_newton_augment_contact(s, record, state, &again));
    }
    s->forces.accepted = s->forces.scale;
    /* Trial state of the accepted displacement, with ghosts. */
    FE_TRY(fe_newton_linearize(s, FE_LINEARIZATION_ELASTIC, s->displacement));
    return s->device->ops->phase(s->device, FE_PHASE_OTHER);
}

fe_status fe_newton_step(fe_solver *s, const double *to, fe_step_result *record, fe_ending *ending)
{
    fe_newton state = {.forcing = 1e-4,
                       .least_norm = INFINITY,
                       .carriable = NAN,
                       .limit_possible = fe_case_has_limit(s->problem_file) && s->problem_file->n_load > 0 &&
                                         s->contact.n == 0 /* obstacles may hold what runs away */};
    const fe_status status = solve_increment(s, to, record, &state);
    *ending = state.ending, record->carriable = state.carriable;
    return status;
}
