/* Newton's method with contact: the outer loop of the augmented Lagrangian (Uzawa), where pressures become
 * multipliers, and the history of closed nodes. */
#include "common/solver/newton.h"

/* More updates of the multipliers mean that the penalty is far too soft: each should gain a digit. */
enum { MOST_AUGMENTATIONS = 100 };

static int is_augmented(const fe_solver *s)
{
    for (int i = 0; i < s->contact.n; i++)
        if (s->problem_file->contact[i].augmented) return 1;
    return 0;
}

/* multiplier = pressure, and the residual that follows. */
static fe_status augment(fe_solver *s, fe_newton *state)
{
    for (int i = 0; i < s->contact.n; i++)
        if (s->problem_file->contact[i].augmented)
            FE_TRY(s->contact.ops->augment(s->device, &s->contact.list[i], s->displacement));
    return fe_newton_evaluate(s, state, s->displacement);
}

/* Pressures of an iterate with a larger residual, as a share of the largest force, say little. */
static const double near_balance = 0.1;

fe_status fe_newton_follow_contact(fe_solver *s, fe_newton *state)
{
    if (!is_augmented(s) || s->benchmark.fixed_work || s->contact.changed) return FE_OK;
    if (fe_newton_accepted(s, state->norm) || !(state->norm <= near_balance * s->forces.scale)) return FE_OK;
    FE_TRY(augment(s, state));
    state->norm = state->trial_norm;
    return FE_OK;
}

fe_status fe_newton_augment_contact(fe_solver *s, fe_step_result *record, fe_newton *state, int *again)
{
    *again = 0;
    if (!is_augmented(s) || s->benchmark.fixed_work) return FE_OK;
    FE_TRY(augment(s, state));
    *again = !fe_newton_accepted(s, state->trial_norm);
    if (!*again) return FE_OK;
    if (++record->augmentations > MOST_AUGMENTATIONS) {
        state->ending = FE_ENDING_NOT_CONVERGED;
        return fe_fail(
            FE_FAILED,
            "load step %d: not converged: contact pressures still change after %d updates; a larger "
            "\"penalty\" needs fewer",
            record->step, MOST_AUGMENTATIONS);
    }
    state->norm = state->previous_norm = state->trial_norm;
    state->least_norm = INFINITY, state->stagnant = 0;
    return fe_newton_record_residual(s, record, state->norm);
}

void fe_newton_record_contact(const fe_solver *s, fe_step_result *record)
{
    fe_newton_record *last = &record->taken[record->newton_iterations - 1];
    last->closed = s->contact.closed, last->changed = s->contact.changed;
}
