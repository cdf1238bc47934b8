/* How an increment begins: its load factors, and a displacement to iterate from. */
#include "common/solver/newton.h"
#include "common/solver/solver_contact.h"

/* What Δfactor is times the last accepted one, where that is the same positive number for all paths; else 0:
 * the load has turned, or nothing is known. */
static double continuation(const fe_solver *s, const double *to)
{
    double ratio = 0.0, largest = 0.0;
    if (s->options->predictor == FE_PREDICTOR_ELASTIC || s->benchmark.fixed_work) return 0.0;
    for (int p = 0; p < s->boundary->n_path; p++) {
        if (fabs(s->accepted.change[p]) <= largest) continue;
        largest = fabs(s->accepted.change[p]);
        ratio = (to[p] - s->accepted.factor[p]) / s->accepted.change[p];
    }
    for (int p = 0; p < s->boundary->n_path; p++)
        if (fabs(to[p] - s->accepted.factor[p] - ratio * s->accepted.change[p]) > 1e-9 * ratio * largest)
            return 0.0;
    return fmax(ratio, 0.0);
}

/* f_ext at the load factors; displacement = accepted + ratio × increment, with the supports at theirs. */
static fe_status apply_factors(fe_solver *s, const double *to, double ratio)
{
    fe_device *d = s->device;
    FE_TRY(d->ops->memory.zero(d, s->n_all * sizeof(double), s->external));
    FE_TRY(
        d->ops->vector.add(d, s->n, s->accepted.displacement, ratio, s->accepted.increment, s->displacement));
    for (int p = 0; p < s->boundary->n_path; p++) {
        if (s->load[p]) FE_TRY(d->ops->vector.axpy(d, s->n, to[p], s->load[p], s->external));
        FE_TRY(d->ops->vector.put(d, s->supports.by_path[p].n, s->supports.by_path[p].at, to[p],
                                  s->supports.by_path[p].value, s->displacement));
    }
    return fe_solver_contact_begin(s, to);
}

static int supports_move(const fe_solver *s, const double *to)
{
    for (int p = 0; p < s->boundary->n_path; p++)
        if (s->supports.moving[p] && to[p] != s->accepted.factor[p]) return 1;
    return 0;
}

/* residual = f_ext - f_int(accepted) - K (displacement - accepted): supports that move enter as a load. That
 * load says nothing of how well a later residual is predicted: `previous` is without it. */
static fe_status elastic_load(fe_solver *s, fe_newton *state, int move, double *norm)
{
    fe_device *d = s->device;
    fe_products p = {0};
    double square = 0.0, first;
    FE_TRY(fe_solver_residual(s, s->accepted.displacement, s->residual));
    fe_products_add(&p, s->n, s->residual, s->residual, &first);
    if (move) {
        FE_TRY(fe_products_enqueue(s, &p));
        FE_TRY(d->ops->vector.add(d, s->n, s->displacement, -1.0, s->accepted.displacement, s->trial));
        FE_TRY(fe_solver_apply(s, s->trial, s->scratch));
        FE_TRY(d->ops->vector.axpy(d, s->n, -1.0, s->scratch, s->residual));
        fe_products_add(&p, s->n, s->residual, s->residual, &square);
    }
    FE_TRY(fe_products_read(s, &p));
    state->previous_norm = sqrt(first);
    *norm = move ? sqrt(square) : state->previous_norm;
    return FE_OK;
}

/* The elastic displacement for the load that was added, and what one unit of it moves: limit loads are told
 * by it. A load of the size of what is left of the last increment is none. */
static fe_status note_compliance(fe_solver *s, const fe_newton *state)
{
    const double left = 1e3 * s->options->tolerance * s->forces.scale;
    double square;
    if (!state->limit_possible || !(state->previous_norm > left)) return FE_OK;
    FE_TRY(s->device->ops->vector.add(s->device, s->n, s->trial, -1.0, s->accepted.displacement, s->scratch));
    FE_TRY(fe_solver_dot(s, s->scratch, s->scratch, &square));
    s->forces.compliance = fmax(s->forces.compliance, sqrt(square) / state->previous_norm);
    return FE_OK;
}

/* The elastic tangent at the committed state, and |the residual| there. Where there is no
 * contact, which may be bilateral, and no support moves, displacement is the accepted one, whose residual
 * fe_newton_predict has computed. */
static fe_status linearize_elastic(fe_solver *s, fe_newton *state, int move, int bilateral, double *norm)
{
    fe_solver_contact_bilateral(s, bilateral);
    FE_TRY(fe_newton_linearize(s, FE_LINEARIZATION_ELASTIC, s->accepted.displacement));
    if (move || s->contact.n) return elastic_load(s, state, move, norm);
    *norm = state->norm;
    return FE_OK;
}

/* Tries the whole step. *why: as fe_newton_refuses_direction says. *far: bilateral
 * contact has pulled nodes beyond where forces balance without. */
static fe_status try_elastic(fe_solver *s, fe_newton *state, int bilateral, const char **why, int *far)
{
    fe_solver_contact_bilateral(s, 0);
    if (bilateral) FE_TRY(fe_solver_residual(s, s->displacement, s->residual));
    FE_TRY(fe_newton_try(s, state, 1.0, 1));
    *why = fe_newton_refuses_direction(s, state);
    const int balances =
        state->trial_norm <= 0.5 * state->norm || state->trial_slope >= -0.5 * state->initial_slope;
    *far = bilateral && (*why || !balances);
    return FE_OK;
}

/* Linearises at the committed state with the elastic tangent, for at the end of a plastic step every plastic
 * point sits on f = 0 to rounding: K step = load, displacement += step. Contact is bilateral at
 * first, so that nodes follow an obstacle that moves away; where this goes too far, the step is made again,
 * with unilateral contact. */
static fe_status elastic_step(fe_solver *s, fe_step_result *record, fe_newton *state, int move)
{
    const double forcing = s->benchmark.fixed_work              ? 0.0
                           : s->options->krylov_tolerance > 0.0 ? s->options->krylov_tolerance
                                                                : 1e-4;
    fe_krylov_result *linear = &state->linear;
    int bilateral = s->contact.n > 0, far = 0;
    double norm;
    s->jacobian = FE_JACOBIAN_ELASTIC;
    FE_TRY(linearize_elastic(s, state, move, bilateral, &norm));
    for (;;) {
        const char *better;
        /* where an obstacle has moved into nodes this is no force of the problem's size */
        if (!s->contact.n) s->forces.accepted = fmax(s->forces.accepted, state->previous_norm);
        if (!isfinite(norm)) return fe_newton_not_finite(s, record, state);
        if (norm == 0.0) {
            fe_solver_contact_bilateral(s, 0);
            return fe_newton_evaluate(s, state, s->displacement);
        }
        s->progress.iteration = record->newton_iterations + 1;
        FE_TRY(fe_solver_linear(s, s->residual, s->step, forcing, linear));
        record->krylov_iterations += linear->iterations;
        const char *why = fe_newton_refuses_solve(s, linear);
        if (!why) FE_TRY(try_elastic(s, state, bilateral, &why, &far));
        if (far) {
            FE_TRY(linearize_elastic(s, state, move, bilateral = far = 0, &norm));
            continue;
        }
        if (!why) break;
        FE_TRY(fe_solver_better_preconditioner(s, &better));
        if (!better) return fe_newton_no_direction(s, record, state, why);
        fe_newton_say_again(s, record, linear, why, better);
        fe_solver_contact_bilateral(s, bilateral);
        FE_TRY(elastic_load(s, state, move, &norm));
    }
    fe_newton_say_reduced(s, record, linear);
    FE_TRY(note_compliance(s, state));
    FE_TRY(s->device->ops->vector.copy(s->device, s->n, s->trial, s->displacement));
    FE_TRY(fe_newton_record_taken(record, state, 1.0));
    fe_newton_record_contact(s, record);
    return FE_OK;
}

fe_status fe_newton_predict(fe_solver *s, const double *to, fe_step_result *record, fe_newton *state)
{
    const double ratio = continuation(s, to);
    FE_TRY(apply_factors(s, to, ratio));
    s->forces.load = 0.0; /* not known yet */
    FE_TRY(fe_newton_evaluate(s, state, s->displacement));
    state->norm = state->previous_norm = state->initial_norm = state->trial_norm;
    FE_TRY(fe_newton_record_residual(s, record, state->norm));
    if (fe_newton_accepted(s, state->norm)) return FE_OK;
    if (ratio > 0.0) {
        record->extrapolated++;
        return FE_OK;
    }
    FE_TRY(elastic_step(s, record, state, supports_move(s, to)));
    state->norm = state->trial_norm;
    if (s->contact.n)
        state->previous_norm = fmin(state->previous_norm, s->forces.scale); /* see elastic_step */
    return fe_newton_record_residual(s, record, state->norm);
}
