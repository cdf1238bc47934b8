/* What Newton's method leaves behind: histories of a step, and messages. */
#include "common/solver/newton.h"

#include <stdio.h>
#include <stdlib.h>

fe_status fe_newton_record_residual(fe_solver *s, fe_step_result *record, double norm)
{
    double *grown = realloc(record->residual, ((size_t)record->n_residual + 1) * sizeof *grown);
    if (!grown) return fe_fail(FE_OUT_OF_MEMORY, "residual history");
    record->residual = grown;
    record->residual[record->n_residual++] = s->forces.scale > 0.0 ? norm / s->forces.scale : norm;
    return FE_OK;
}

fe_status fe_newton_record_taken(fe_step_result *record, const fe_newton *state, double taken)
{
    fe_newton_record *grown = realloc(record->taken, ((size_t)record->newton_iterations + 1) * sizeof *grown);
    if (!grown) return fe_fail(FE_OUT_OF_MEMORY, "history of Newton's method");
    record->taken = grown;
    record->taken[record->newton_iterations++] =
        (fe_newton_record){.length = taken,
                           .increment = taken * state->step_norm,
                           .krylov_residual = state->linear.last / state->linear.first,
                           .orthogonality = state->linear.loss,
                           .krylov_iterations = state->linear.iterations};
    return FE_OK;
}

fe_status fe_newton_not_finite(const fe_solver *s, const fe_step_result *record, fe_newton *state)
{
    if (state->limit_proofs) return fe_newton_ended(s, record, state, FE_ENDING_LIMIT_LOAD);
    state->ending = FE_ENDING_NOT_CONVERGED;
    return fe_fail(FE_FAILED, "load step %d: not converged: the residual or a force is not finite",
                   record->step);
}

fe_status fe_newton_no_direction(const fe_solver *s, const fe_step_result *record, fe_newton *state,
                                 const char *why)
{
    const fe_krylov_result *linear = &state->linear;
    if (state->limit_proofs) return fe_newton_ended(s, record, state, FE_ENDING_LIMIT_LOAD);
    if (state->norm < fe_newton_digits * s->forces.scale)
        return fe_newton_ended(s, record, state, FE_ENDING_OUT_OF_REACH);
    state->ending = FE_ENDING_NOT_CONVERGED;
    return fe_fail(FE_FAILED,
                   "load step %d: not converged: residual %.2e of the largest force after %d iterations; "
                   "linear solve: %s (%d iterations, residual reduced to %.1e)",
                   record->step, state->norm / s->forces.scale, record->newton_iterations, why,
                   linear->iterations, linear->last / linear->first);
}

fe_status fe_newton_ended(const fe_solver *s, const fe_step_result *record, fe_newton *state,
                          fe_ending ending)
{
    state->ending = ending;
    const double residual = state->norm / s->forces.scale;
    if (ending == FE_ENDING_LIMIT_LOAD)
        return fe_fail(FE_FAILED,
                       "load step %d: limit load: displacements grow without bound: at most %.4g of the "
                       "increment can be carried",
                       record->step, state->carriable);
    if (ending == FE_ENDING_OUT_OF_REACH)
        return fe_fail(
            FE_FAILED,
            "load step %d: not converged: residual %.2e of the largest force stands still after %d "
            "iterations: --tolerance %g asks for more digits than there are here",
            record->step, residual, record->newton_iterations, s->options->tolerance);
    return fe_fail(FE_FAILED,
                   "load step %d: not converged: residual %.2e of the largest force after %d iterations",
                   record->step, residual, record->newton_iterations);
}

/* What was not asked for is said, without --verbose too. */
void fe_newton_say_reduced(const fe_solver *s, const fe_step_result *record, const fe_krylov_result *linear)
{
    if (linear->converged || s->comm->rank || s->benchmark.fixed_work) return;
    fprintf(stderr,
            "solve: load step %d: linear solve: %s; its step is taken (%d iterations, residual reduced to "
            "%.1e)\n",
            record->step, fe_krylov_reason(linear), linear->iterations, linear->last / linear->first);
}

void fe_newton_say_again(const fe_solver *s, const fe_step_result *record, const fe_krylov_result *linear,
                         const char *why, const char *with)
{
    if (s->comm->rank) return;
    fprintf(
        stderr,
        "solve: load step %d: linear solve: %s (%d iterations, residual reduced to %.1e); again with %s\n",
        record->step, why, linear->iterations, linear->last / linear->first, with);
}
