/* What rounding leaves of a residual. Forces are sums of products |K| |u| that cancel. Where supports carry a
 * body along, its displacement is large and its forces are not: then a residual of the size of these products
 * times the rounding of a double is that of a balance. It is the backward error of a direct solver: the
 * displacement is the exact solution for a stiffness that differs in the last digit. */
#include "common/solver/newton.h"
#include "common/solver/solver_contact.h"

#include <float.h>

/* DBL_EPSILON | |D| |u| | with the diagonal blocks D of K. Of balanced bodies, from a single element to bars
 * of 100 : 1, 0.1 to 0.6 of it remained. */
static fe_status level_at(fe_solver *s, const double *displacement, double *level)
{
    fe_device *d = s->device;
    double square;
    FE_TRY(d->ops->block.apply_absolute(d, s->share->n_owned, s->preconditioner.blocks, displacement,
                                        s->scratch));
    FE_TRY(fe_solver_dot(s, s->scratch, s->scratch, &square));
    *level = DBL_EPSILON * sqrt(square);
    return FE_OK;
}

/* At the displacement; and at the one that the increment began with, for a body that comes back to where its
 * displacement is zero is not there to the last digit. That one counts where all forces are rounding. */
static fe_status find_level(fe_solver *s, double *level)
{
    double before;
    FE_TRY(s->device->ops->memory.zero(s->device,
                                       9 * (size_t)s->share->n_local * sizeof *s->preconditioner.blocks,
                                       s->preconditioner.blocks));
    FE_TRY(s->assembly->diagonal(&s->problem, s->work, s->preconditioner.blocks));
    FE_TRY(fe_solver_contact_diagonal(s, s->preconditioner.blocks));
    FE_TRY(level_at(s, s->displacement, level));
    FE_TRY(level_at(s, s->accepted.displacement, &before));
    if (s->forces.scale <= before) *level = fmax(*level, before);
    return FE_OK;
}

/* Who asks for the last digits of doubles is told that there are none (stands_still). */
static const double least_tolerance = 64.0 * DBL_EPSILON;

/* Where a body without hardening runs away, its supports must have moved it. */
static int carried_along(const fe_solver *s)
{
    for (int p = 0; p < s->boundary->n_path; p++)
        if (s->supports.moving[p]) return 1;
    return 0;
}

/* The level takes a pass over the elements: only where an iteration did not halve the residual, or where it
 * is far below what moved supports began with. */
fe_status fe_newton_is_rounding(fe_solver *s, fe_step_result *record, const fe_newton *state, int iterations,
                                int *rounding)
{
    const double tolerance = s->options->tolerance;
    double level;
    *rounding = 0;
    if (s->benchmark.fixed_work || tolerance < least_tolerance ||
        (state->limit_possible && !carried_along(s)))
        return FE_OK;
    if (!iterations ||
        (state->norm <= 0.5 * state->previous_norm && state->norm > 1e-9 * state->initial_norm))
        return FE_OK;
    FE_TRY(find_level(s, &level));
    *rounding = state->norm <= level;
    /* held against the forces of which rounding is that share */
    if (*rounding)
        record->residual[record->n_residual - 1] = state->norm / fmax(s->forces.scale, level / tolerance);
    return FE_OK;
}
