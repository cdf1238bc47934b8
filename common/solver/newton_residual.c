/* What Newton's method asks of a displacement: its residual, the forces that this is held against, the slope
 * of the incremental energy; and the tangent there. */
#include "common/solver/newton.h"
#include "common/solver/solver_contact.h"

static void add(fe_products *p, fe_scalar_product product, double *to)
{
    p->product[p->n] = product;
    p->to[p->n++] = to;
}

void fe_products_add(fe_products *p, size_t n, const double *x, const double *y, double *to)
{
    add(p, (fe_scalar_product){n, NULL, x, y}, to);
}

fe_status fe_products_enqueue(fe_solver *s, fe_products *p)
{
    const int before = p->n_enqueued;
    p->n_enqueued = p->n;
    if (before == p->n) return FE_OK;
    return s->device->ops->vector.dots(s->device, p->n - before, p->product + before, s->scalar + before);
}

fe_status fe_products_read(fe_solver *s, fe_products *p)
{
    double value[FE_MOST_PRODUCTS];
    FE_TRY(fe_products_enqueue(s, p));
    FE_TRY(fe_comm_sum(s->comm, s->device, p->n, s->scalar));
    FE_TRY(s->device->ops->memory.download(s->device, (size_t)p->n * sizeof *value, s->scalar, value));
    for (int i = 0; i < p->n; i++) *p->to[i] = value[i];
    return FE_OK;
}

/* Residual at a displacement, and what is asked of it, with the products that are there already. */
static fe_status measure(fe_solver *s, fe_newton *state, double *displacement, fe_products *p, int slope)
{
    double square, reactions, load = s->forces.load * s->forces.load;
    FE_TRY(fe_solver_residual(s, displacement, s->residual));
    fe_products_add(p, s->n, s->residual, s->residual, &square);
    if (slope) fe_products_add(p, s->n, s->residual, s->step, &state->trial_slope);
    add(p, (fe_scalar_product){(size_t)s->supports.n, s->supports.at, s->internal, s->internal}, &reactions);
    if (s->forces.load == 0.0) fe_products_add(p, s->n, s->external, s->external, &load);
    FE_TRY(fe_products_read(s, p));
    state->trial_norm = sqrt(square);
    s->forces.load = sqrt(load);
    s->forces.largest_load = fmax(s->forces.largest_load, s->forces.load);
    s->forces.scale = fmax(s->forces.accepted, fmax(s->forces.load, sqrt(reactions)));
    return FE_OK;
}

fe_status fe_newton_evaluate(fe_solver *s, fe_newton *state, double *displacement)
{
    return measure(s, state, displacement, &(fe_products){0}, 0);
}

fe_status fe_newton_try(fe_solver *s, fe_newton *state, double length, int first)
{
    fe_products p = {0};
    double square = state->step_norm * state->step_norm;
    if (first) {
        fe_products_add(&p, s->n, s->residual, s->step, &state->initial_slope);
        fe_products_add(&p, s->n, s->step, s->step, &square);
        FE_TRY(fe_products_enqueue(s, &p));
    }
    FE_TRY(s->device->ops->vector.add(s->device, s->n, s->displacement, length, s->step, s->trial));
    FE_TRY(measure(s, state, s->trial, &p, 1));
    if (first) state->step_norm = sqrt(square);
    return FE_OK;
}

/* Forces beyond the largest number would pass as inf <= inf. */
int fe_newton_accepted(const fe_solver *s, double norm)
{
    return !s->benchmark.fixed_work && norm <= s->options->tolerance * s->forces.scale &&
           isfinite(s->forces.scale);
}

fe_status fe_newton_linearize(fe_solver *s, fe_linearization mode, double *displacement)
{
    FE_TRY(fe_comm_phase(s->comm, s->device, FE_PHASE_EXCHANGE));
    FE_TRY(fe_comm_exchange(s->comm, FE_HALO_NODES, displacement));
    FE_TRY(s->device->ops->phase(s->device, FE_PHASE_MATERIAL));
    s->moved.evaluations[FE_PHASE_MATERIAL]++;
    FE_TRY(s->assembly->material(&s->problem, s->work, mode, displacement));
    if (s->mixed.assembly && (s->mixed.assembly->traits & FE_ASSEMBLED)) /* a matrix of its own */
        FE_TRY(s->mixed.assembly->material(&s->problem, s->mixed.work, mode, displacement));
    return fe_solver_contact_linearize(s, displacement);
}

/* Newton's method makes do with a linear residual of this share, and asks for none that is larger. */
const double fe_newton_most_forcing = 0.05;

const char *fe_newton_refuses_solve(const fe_solver *s, const fe_krylov_result *linear)
{
    if (s->benchmark.fixed_work) return NULL;
    return linear->converged || linear->last <= fe_newton_most_forcing * linear->first
               ? NULL
               : fe_krylov_reason(linear);
}

const char *fe_newton_refuses_direction(const fe_solver *s, const fe_newton *state)
{
    if (s->benchmark.fixed_work) return NULL;
    return state->initial_slope > 0.0 && isfinite(state->initial_slope)
               ? NULL
               : "the energy does not fall along the direction";
}
