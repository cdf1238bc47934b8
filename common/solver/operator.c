/* What the solver asks of a variant: residual and Jacobian with ghosts refreshed and supports applied. */
#include "common/problem/apply.h"
#include "common/solver/solver_contact.h"

#include <float.h>
#include <stdio.h>

static fe_status mask(fe_solver *s, double *x)
{
    return s->device->ops->vector.put(s->device, s->supports.n, s->supports.at, 0.0, NULL, x);
}

static fe_status apply(fe_solver *s, fe_forces forces, int phase, double *displacement, double *y)
{
    s->moved.evaluations[phase]++;
    return fe_apply(&s->problem, s->assembly, s->work, s->comm, forces, phase, displacement, y);
}

/* The strategy's table that linear solves take their products from. */
static const fe_assembly *of_solves(const fe_solver *s)
{
    return s->mixed.assembly ? s->mixed.assembly : s->assembly;
}

/* jacvec of one of the two tables, y cleared by the caller or not; supports are left to the caller. */
static fe_status multiply(fe_solver *s, const fe_assembly *a, int cleared, double *direction, double *y)
{
    void *const work = a == s->mixed.assembly ? s->mixed.work : s->work;
    s->moved.evaluations[FE_PHASE_JACVEC]++;
    FE_TRY((cleared ? fe_apply_cleared : fe_apply)(&s->problem, a, work, s->comm, a->jacvec, FE_PHASE_JACVEC,
                                                   direction, y));
    return fe_solver_contact_product(s, direction, y);
}

static fe_status add_product(void *context, double *direction, double *y)
{
    fe_solver *s = context;
    return multiply(s, of_solves(s), 1, direction, y);
}
/* A strategy that stores its result does not need it, and a difference is another product. */
static int wants_clear(const fe_solver *s)
{
    return s->jacobian != FE_JACOBIAN_DIFFERENCE && !(of_solves(s)->traits & FE_STORES);
}

fe_status fe_solver_dot(fe_solver *s, const double *x, const double *y, double *out)
{
    fe_device *d = s->device;
    FE_TRY(d->ops->vector.dot(d, s->n, x, y, s->scalar));
    FE_TRY(fe_comm_sum(s->comm, d, 1, s->scalar));
    return d->ops->memory.download(d, sizeof *out, s->scalar, out);
}

fe_status fe_solver_interrupted(const fe_solver *s)
{
    return fe_interrupted() ? fe_fail(FE_INTERRUPTED, "interrupted in load step %d", s->progress.load_step)
                            : FE_OK;
}

fe_status fe_solver_residual(fe_solver *s, double *displacement, double *r)
{
    fe_device *d = s->device;
    FE_TRY(apply(s, s->assembly->residual, FE_PHASE_RESIDUAL, displacement, s->internal));
    FE_TRY(fe_solver_contact_forces(s, displacement, s->internal));
    FE_TRY(d->ops->vector.add(d, s->n, s->external, -1.0, s->internal, r));
    FE_TRY(mask(s, r));
    return d->ops->phase(d, FE_PHASE_OTHER);
}

/* With u the displacement and v the direction: y = [f_int(u + eps v) - f_int(u)] / eps, where
 * eps = sqrt(machine epsilon) |u| / |v|, or without |u| / |v| where u is zero. `internal` holds f_int(u) and
 * is kept. Knoll & Keyes, J. Comput. Phys. 193 (2004), section 2.3. */
static fe_status apply_difference(fe_solver *s, double *direction, double *y)
{
    fe_device *d = s->device;
    double square = 0.0;
    FE_TRY(fe_solver_dot(s, direction, direction, &square));
    const double size =
        s->difference.displacement_norm > 0.0 ? s->difference.displacement_norm : sqrt(square);
    const double eps = square > 0.0 ? sqrt(DBL_EPSILON) * size / sqrt(square) : 1.0;
    FE_TRY(d->ops->vector.add(d, s->n, s->displacement, eps, direction, s->difference.perturbed));
    FE_TRY(apply(s, s->assembly->residual, FE_PHASE_JACVEC, s->difference.perturbed, y));
    FE_TRY(fe_solver_contact_forces(s, s->difference.perturbed, y));
    FE_TRY(d->ops->vector.axpy(d, s->n, -1.0, s->internal, y));
    return d->ops->vector.scale(d, s->n, 1.0 / eps, y);
}

fe_status fe_solver_apply(void *context, double *direction, double *y)
{
    fe_solver *s = context;
    if (s->jacobian == FE_JACOBIAN_DIFFERENCE)
        FE_TRY(apply_difference(s, direction, y));
    else
        FE_TRY(multiply(s, s->assembly, 0, direction, y));
    return mask(s, y);
}

/* jacvec in mixed precision. */
static fe_status apply_mixed(void *context, double *direction, double *y)
{
    fe_solver *s = context;
    FE_TRY(multiply(s, s->mixed.assembly, 0, direction, y));
    return mask(s, y);
}

/* A linear solve may take minutes: it says where it is, seldom, and less often the longer it takes. */
static void say_progress(fe_solver *s, const fe_krylov_result *so_far)
{
    const double now = fe_seconds();
    if (s->comm->rank || now < s->progress.last + s->progress.interval) return;
    s->progress.last = now, s->progress.interval *= 2.0;
    fprintf(
        stderr,
        "solve: load step %d, Newton iteration %d: linear solve: %d iterations so far, residual reduced to "
        "%.1e\n",
        s->progress.load_step, s->progress.iteration, so_far->iterations, so_far->last / so_far->first);
}

static fe_status poll(void *context, const fe_krylov_result *so_far)
{
    say_progress(context, so_far);
    return fe_solver_interrupted(context);
}

/* A product depends on its vectors, on which of the two states is the trial, and on whether its tangent is
 * read. A finite difference depends on norms, too. */
static int version(const fe_solver *s)
{
    const fe_view *m = &s->problem.view;
    if (s->jacobian == FE_JACOBIAN_DIFFERENCE) return 0;
    return 1 + (m->trial.point < m->committed.point) + 2 * m->elastic;
}

static fe_status apply_blocks(void *context, double *x, double *y)
{
    fe_solver *s = context;
    return s->device->ops->block.apply(s->device, s->share->n_owned, s->preconditioner.inverse, x, y);
}

/* Inverses of the tangent's diagonal blocks. They are stored in floats times the largest entry, which keeps
 * them within range whatever the units, and changes no iteration. */
static fe_status build_blocks(fe_solver *s)
{
    fe_device *d = s->device;
    const int n_owned = s->share->n_owned;
    FE_TRY(d->ops->phase(d, FE_PHASE_PRECONDITION));
    FE_TRY(d->ops->memory.zero(d, 9 * (size_t)s->share->n_local * sizeof *s->preconditioner.blocks,
                               s->preconditioner.blocks));
    FE_TRY(s->assembly->diagonal(&s->problem, s->work, s->preconditioner.blocks));
    FE_TRY(fe_solver_contact_diagonal(s, s->preconditioner.blocks));
    FE_TRY(d->ops->block.constrain(d, s->supports.n, s->supports.at, s->preconditioner.blocks));
    FE_TRY(d->ops->vector.largest(d, 9 * (size_t)n_owned, s->preconditioner.blocks, s->scalar));
    FE_TRY(fe_comm_largest(s->comm, d, 1, s->scalar));
    return d->ops->block.invert(d, n_owned, s->preconditioner.blocks, s->scalar, s->preconditioner.inverse);
}

/* A line for each level. */
static void print_hierarchy(const fe_multigrid *m)
{
    const fe_multigrid_report *r = &m->report;
    for (int l = 0; l < r->n_level; l++) {
        fprintf(stderr, "  multigrid level %d: %d %s", l, r->n[l],
                l == 0                ? "nodes"
                : l == 1 && r->orders ? "vertices"
                                      : "aggregates");
        if (r->lambda[l] > 0.0)
            fprintf(stderr, ", spectrum up to %.3f\n", r->lambda[l]);
        else
            fprintf(stderr, ", dense inverse\n");
    }
    fprintf(stderr,
            "  multigrid: aggregates of %d to %d nodes, %d sweeps before and after, complexity %.3f, "
            "condition of the "
            "coarsest matrix %.1e, %.1f MB, set up in %.3f s%s\n",
            r->smallest, r->largest, r->degree, r->complexity, r->condition, 1e-6 * (double)r->bytes,
            r->seconds, r->singular ? "; a part is free to move" : "");
}

/* From this size on, set-up pays: brackets of 1400 to 1700 nodes take a fourth of the total time, boxes of
 * 700 nodes the same time. */
enum { WORTH_MULTIGRID = 1000 };
const char *const fe_precondition_names[FE_N_PRECONDITION] = {"auto",      "none",      "block-jacobi",
                                                              "chebyshev", "multigrid", "direct"};
int fe_precondition_of(const fe_options *o, int n_node)
{
    if (o->precondition != FE_PRECONDITION_AUTO) return o->precondition;
    return n_node >= WORTH_MULTIGRID ? FE_PRECONDITION_MULTIGRID : FE_PRECONDITION_BLOCK_JACOBI;
}

static fe_status open_multigrid(fe_solver *s, int coarser)
{
    FE_TRY(fe_multigrid_open(&s->problem, s->assembly, s->work, s->comm, s->supports.n, s->supports.at,
                             coarser, &s->preconditioner.multigrid));
    s->preconditioner.multigrid.tells_levels = s->benchmark.tells_levels;
    if (s->options->verbose && s->comm->rank == 0) print_hierarchy(&s->preconditioner.multigrid);
    return FE_OK;
}

fe_status fe_solver_open_preconditioner(fe_solver *s)
{
    int fits;
    s->preconditioner.kind = fe_precondition_of(s->options, s->mesh_nodes);
    if (fe_uses_hierarchy(s->preconditioner.kind))
        return open_multigrid(s, s->preconditioner.kind == FE_PRECONDITION_MULTIGRID);
    if (s->preconditioner.kind != FE_PRECONDITION_DIRECT) return FE_OK;
    FE_TRY(fe_direct_open(s, &fits));
    return fits ? FE_OK : fe_fail(FE_FAILED, "--precondition direct: not possible here");
}

fe_status fe_solver_record(fe_solver *s)
{
    return fe_krylov_record(&s->krylov, s->records && s->preconditioner.kind != FE_PRECONDITION_DIRECT);
}

/* Recordings contain the preconditioner before. */
static fe_status take_over(fe_solver *s, int precondition, const char *name, const char **better)
{
    s->preconditioner.kind = precondition;
    *better = name;
    return fe_solver_record(s);
}

fe_status fe_solver_take_cg(fe_solver *s)
{
    fe_krylov_close(&s->krylov);
    FE_TRY(fe_krylov_open(s->device, s->comm, s->n, s->n_all, 0, s->options->orthogonalization,
                          s->options->basis, &s->krylov));
    return fe_solver_record(s);
}

fe_status fe_solver_better_preconditioner(fe_solver *s, const char **better)
{
    int fits = 0;
    *better = NULL;
    if (s->preconditioner.kind < FE_PRECONDITION_MULTIGRID) {
        FE_TRY(open_multigrid(s, 1));
        return take_over(s, FE_PRECONDITION_MULTIGRID, "multigrid", better);
    }
    if (s->preconditioner.kind == FE_PRECONDITION_MULTIGRID && !s->preconditioner.exact) {
        FE_TRY(fe_multigrid_open_exact(&s->preconditioner.multigrid));
        s->preconditioner.exact = 1;
        return take_over(s, FE_PRECONDITION_MULTIGRID, "multigrid in double precision", better);
    }
    if (s->preconditioner.kind == FE_PRECONDITION_MULTIGRID && !s->preconditioner.direct_refused) {
        FE_TRY(fe_direct_open(s, &fits));
        s->preconditioner.direct_refused = !fits;
    }
    return fits ? take_over(s, FE_PRECONDITION_DIRECT, "a sparse direct solver", better) : FE_OK;
}

fe_status fe_solver_krylov(fe_solver *s, double *b, double *step, double tolerance, int most,
                           fe_krylov_result *result)
{
    const fe_operator A = {.apply = s->mixed.assembly ? apply_mixed : fe_solver_apply,
                           .context = s,
                           .add = wants_clear(s) ? add_product : NULL,
                           .held = s->supports.held,
                           .version = version(s),
                           .poll = poll},
                      jacobi = {.apply = apply_blocks, .context = s},
                      direct = {.apply = fe_direct_apply, .context = s};
    const fe_fine_start start = fe_uses_hierarchy(s->preconditioner.kind)
                                    ? fe_multigrid_start(&s->preconditioner.multigrid)
                                    : (fe_fine_start){0};
    const fe_operator exact = {.apply = fe_multigrid_apply_exact, .context = &s->preconditioner.multigrid};
    const fe_operator frozen = {.apply = fe_multigrid_apply,
                                .context = &s->preconditioner.multigrid,
                                .start = &start,
                                .rest = fe_multigrid_rest};
    const fe_operator *precondition = s->preconditioner.kind == FE_PRECONDITION_NONE           ? NULL
                                      : s->preconditioner.kind == FE_PRECONDITION_BLOCK_JACOBI ? &jacobi
                                      : s->preconditioner.kind == FE_PRECONDITION_DIRECT       ? &direct
                                      : s->preconditioner.exact                                ? &exact
                                                                                               : &frozen;
    fe_operator around;
    if (precondition == &jacobi)
        FE_TRY(build_blocks(s));
    else
        precondition = fe_solver_contact_around(s, precondition, &around);
    FE_TRY(s->device->ops->phase(s->device, FE_PHASE_ORTHOGONALIZATION));
    fe_status (*solve)(fe_krylov *, const fe_operator *, const fe_operator *, double *, double *, double, int,
                       fe_krylov_result *) = s->krylov.restart ? fe_gmres : fe_cg;
    FE_TRY(solve(&s->krylov, &A, precondition, b, step, tolerance, most, result));
    return s->device->ops->phase(s->device, FE_PHASE_OTHER);
}
