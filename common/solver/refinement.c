/* Linear solves whose products are in mixed precision, to any tolerance: the Krylov method solves for a
 * correction with the products of floats, the residual of the sum is computed in double precision, and so on
 * until it is as small as asked (iterative refinement: Higham, Accuracy and Stability of Numerical
 * Algorithms, 2002, chapter 12). The matrices of the two differ in their last digits alone, so what a cycle
 * cannot reduce is what floats lose, and the next cycle begins with that. */
#include "common/solver/solver.h"

#include <stdio.h>

/* A cycle reduces its residual no further than this: floats lose about as much. */
static const double mixed_reach = 1e-5;
/* Of the tolerance: the cycle's own residual is not quite that of the sum. */
static const double slack = 0.9;
/* A cycle that leaves more than this share of its residual makes no progress: doubles take over. */
static const double least_progress = 0.5;

fe_status fe_solver_open_products(fe_solver *s)
{
    fe_mixed_products *m = &s->mixed;
    if (!m->assembly) return FE_OK;
    FE_TRY(fe_assembly_set_up(m->assembly, &s->problem, &m->work));
    FE_TRY(fe_device_allocate(s->device, s->n_all, sizeof(double), "refinement", (void **)&m->residual));
    return fe_device_allocate(s->device, s->n_all, sizeof(double), "refinement", (void **)&m->correction);
}

/* For the rest of the run. Recordings contain the products. */
static fe_status take_doubles(fe_solver *s, const char *why)
{
    if (s->comm->rank == 0)
        fprintf(stderr,
                "solve: load step %d: linear solves with products in mixed precision make no progress (%s): "
                "from here on they are in double precision\n",
                s->progress.load_step, why);
    s->mixed.assembly = NULL;
    return fe_solver_record(s);
}

/* step += correction, and the residual of that. */
static fe_status correct(fe_solver *s, double *b, double *step, double *norm)
{
    fe_device *d = s->device;
    fe_mixed_products *m = &s->mixed;
    double square;
    FE_TRY(d->ops->vector.axpy(d, s->n, 1.0, m->correction, step));
    FE_TRY(fe_solver_apply(s, step, m->correction));
    FE_TRY(d->ops->vector.add(d, s->n, b, -1.0, m->correction, m->residual));
    FE_TRY(fe_solver_dot(s, m->residual, m->residual, &square));
    *norm = sqrt(square);
    return FE_OK;
}

static fe_status refine(fe_solver *s, double *b, double *step, double tolerance, fe_krylov_result *result)
{
    fe_device *d = s->device;
    fe_mixed_products *m = &s->mixed;
    const int most = s->options->krylov_iterations;
    fe_krylov_result cycle;
    *result = (fe_krylov_result){.loss = NAN};
    FE_TRY(d->ops->memory.zero(d, s->n * sizeof *step, step));
    FE_TRY(d->ops->vector.copy(d, s->n, b, m->residual));
    for (double share = 1.0;; share = result->last / result->first) { /* of the residual that is left */
        const int floats = m->assembly != NULL;
        const double wanted = slack * tolerance / share;
        FE_TRY(fe_solver_krylov(s, m->residual, m->correction, floats ? fmax(wanted, mixed_reach) : wanted,
                                most - result->iterations, &cycle));
        if (result->iterations == 0) result->first = result->last = cycle.first;
        result->iterations += cycle.iterations;
        const double before = result->last;
        FE_TRY(correct(s, b, step, &result->last));
        result->converged = result->last <= tolerance * result->first;
        if (result->converged || result->iterations >= most) return FE_OK;
        if (floats && cycle.converged && result->last <= least_progress * before) continue;
        if (!floats) {
            result->breakdown = cycle.breakdown, result->not_finite = cycle.not_finite;
            result->stagnated = cycle.stagnated || cycle.converged; /* the last digits */
            return FE_OK;
        }
        FE_TRY(take_doubles(s, fe_krylov_reason(&cycle)));
    }
}

fe_status fe_solver_linear(fe_solver *s, double *b, double *step, double tolerance, fe_krylov_result *result)
{
    if (s->mixed.assembly && s->jacobian != FE_JACOBIAN_DIFFERENCE)
        return refine(s, b, step, tolerance, result);
    return fe_solver_krylov(s, b, step, tolerance, s->options->krylov_iterations, result);
}
