/* A run: ranks as threads or processes, each with its share; load steps. */
#include "common/ranks/ranks.h"
#include "common/solver/run_shared.h"
#include "common/solver/solver_contact.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

fe_options fe_default_options(void)
{
    return (fe_options){.variant = "patch",
                        .backend = "host",
                        .ranks = 1,
                        .tet_points = 1,
                        .order = FE_ORDER_AUTO,
                        .restart = 30,
                        .precondition = FE_PRECONDITION_AUTO,
                        .krylov_iterations = 20000,
                        .tolerance = 1e-9,
                        .newton_iterations = 60,
                        .progress = 10.0,
                        .line_search = 1};
}

fe_status fe_solver_open_vectors(fe_solver *s)
{
    const int n_local = s->share->n_local;
    double **vectors[] = {&s->accepted.displacement,
                          &s->accepted.increment,
                          &s->displacement,
                          &s->external,
                          &s->internal,
                          &s->residual,
                          &s->step,
                          &s->trial,
                          &s->scratch};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        FE_TRY(fe_device_vector(s->device, n_local, "solution vector", vectors[i]));
    if (s->options->jacobian == FE_JACOBIAN_DIFFERENCE)
        FE_TRY(fe_device_vector(s->device, n_local, "solution vector", &s->difference.perturbed));
    const size_t n_scalar = fe_solver_numbers(s) > 64 ? fe_solver_numbers(s) : 64;
    FE_TRY(fe_device_allocate(s->device, n_scalar, sizeof(double), "scalars", (void **)&s->scalar));
    FE_TRY(fe_device_allocate(s->device, 9 * (size_t)n_local, sizeof(double), "diagonal blocks",
                              (void **)&s->preconditioner.blocks));
    FE_TRY(fe_device_allocate(s->device, 6 * (size_t)s->share->n_owned, sizeof(float), "diagonal blocks",
                              (void **)&s->preconditioner.inverse));
    return fe_device_allocate(s->device, fe_summary_scratch(s->share->n_elem), sizeof(double), "summary",
                              (void **)&s->output.partial);
}

static fe_status open_output(fe_solver *s, int stress)
{
    const size_t ld = (size_t)s->problem.view.ld, points = (size_t)fe_points(s->problem.kind) * ld;
    FE_TRY(fe_device_allocate(s->device, FE_N_OUT * ld, sizeof(double), "output fields",
                              (void **)&s->output.fields));
    if (stress < FE_STRESS_AT_NODES) return FE_OK;
    FE_TRY(fe_device_allocate(s->device, FE_N_OUT_POINT * points, sizeof(double), "output fields",
                              (void **)&s->output.points));
    return fe_device_allocate(s->device, 6 * (size_t)s->share->n_owned, sizeof(double), "output fields",
                              (void **)&s->output.nodal);
}

/* Ends part `part` of set-up, which began at *start. */
static fe_status clock_setup(fe_solver *s, int part, double *start)
{
    FE_TRY(s->device->ops->wait(s->device));
    const double now = fe_seconds();
    s->setup_seconds[part] = now - *start;
    *start = now;
    return FE_OK;
}

static int uses_gmres(const fe_options *o)
{
    return o->krylov == FE_KRYLOV_GMRES ||
           (o->krylov == FE_KRYLOV_AUTO && o->jacobian == FE_JACOBIAN_DIFFERENCE);
}

/* Mesh and strategy on the device. */
static fe_status open_problem(fe_solver *s, const fe_run *r, fe_share *share)
{
    double start = fe_seconds();
    FE_TRY(fe_share_build(r->mesh, &r->partition, r->arrangement.elem ? &r->arrangement : NULL, s->comm->rank,
                          share));
    FE_TRY(s->comm->ops->attach(s->comm, s->device, FE_HALO_NODES, &share->halo));
    s->mesh_nodes = r->mesh->n_node, s->mesh_elements = r->mesh->n_elem;
    s->n = 3 * (size_t)share->n_owned, s->n_all = 3 * (size_t)share->n_local;
    const fe_materials materials = fe_materials_of(r->problem, r->boundary);
    FE_TRY(fe_problem_open_materials(r->mesh, share, fe_run_kind(r), &materials, s->device, &s->problem));
    FE_TRY(clock_setup(s, FE_SETUP_PROBLEM, &start));
    FE_TRY(fe_assembly_set_up(s->assembly, &s->problem, &s->work));
    FE_TRY(fe_solver_open_products(s));
    fe_problem_forget_mesh(&s->problem);
    return clock_setup(s, FE_SETUP_STRATEGY, &start);
}

static fe_status open_solver(fe_solver *s, const fe_run *r, const fe_share *share)
{
    const fe_options *o = r->options;
    if (s->assembly->note && s->comm->rank == 0)
        fprintf(stderr, "note: %s: %s\n", r->variant->name, s->assembly->note(s->work));
    FE_TRY(fe_device_upload(s->device, (size_t)share->n_elem, 1, share->counted, "summary",
                            (void **)&s->output.counted));
    FE_TRY(fe_solver_open_vectors(s));
    if (fe_run_wants(r) == FE_FIELDS_ALL) FE_TRY(open_output(s, r->observer->stress));
    FE_TRY(fe_solver_boundary(s));
    FE_TRY(fe_solver_contact_open(s));
    double start = fe_seconds();
    FE_TRY(fe_solver_open_preconditioner(s));
    FE_TRY(clock_setup(s, FE_SETUP_PRECONDITIONER, &start));
    FE_TRY(fe_krylov_open(s->device, s->comm, s->n, s->n_all, uses_gmres(o) ? o->restart : 0,
                          o->orthogonalization, o->basis, &s->krylov));
    s->krylov.measures = s->benchmark.measure_orthogonality;
    s->records = o->graphs != FE_GRAPHS_OFF;
    FE_TRY(fe_solver_record(s));
    return fe_anderson_open(s, o->anderson);
}

/* Undeformed, as before the first load step. */
static fe_status start_over(fe_solver *s, fe_run *r)
{
    fe_device *d = s->device;
    const size_t bytes = (size_t)s->boundary->n_path * sizeof(double);
    FE_TRY(fe_problem_reset(&s->problem));
    FE_TRY(d->ops->memory.zero(d, s->n_all * sizeof(double), s->accepted.displacement));
    FE_TRY(d->ops->memory.zero(d, s->n_all * sizeof(double), s->accepted.increment));
    FE_TRY(fe_solver_contact_reset(s));
    memset(s->accepted.factor, 0, bytes), memset(s->accepted.change, 0, bytes);
    s->forces.accepted = s->forces.scale = s->forces.largest_load = s->plastic_work = s->forces.compliance =
        s->warned.gradient = s->warned.error = 0.0;
    while (s->comm->rank == 0 && r->result->n_step) fe_result_drop_step(r->result);
    if (s->comm->rank == 0) r->n_shown = 0;
    return FE_OK;
}

/* What was moved so far is set-up, unless the load steps are repeated. */
static void begin_counts(fe_solver *s, fe_result *result)
{
    fe_device *d = s->device;
    if (s->moved.setup == 0.0) {
        s->moved.setup = (double)d->bytes_to_device;
        if (s->comm->rank == 0) result->bytes_from_device_setup = d->bytes_from_device;
    }
    s->moved = (fe_moved){.setup = s->moved.setup};
    d->bytes_from_device = 0;
}

/* Of all load steps: bytes of the rank with the most of them to rank 0's result. */
static fe_status end_counts(fe_solver *s, fe_traffic before, fe_result *result)
{
    fe_device *d = s->device;
    fe_moved *m = &s->moved;
    const fe_traffic traffic = s->comm->traffic;
    double most[] = {m->setup, m->back, (double)(traffic.bytes - before.bytes)};
    FE_TRY(d->ops->memory.upload(d, sizeof most, most, s->scalar));
    FE_TRY(fe_comm_largest(s->comm, d, 3, s->scalar));
    FE_TRY(d->ops->memory.download(d, sizeof most, s->scalar, most));
    if (s->comm->rank) return FE_OK;
    result->moved = *m;
    result->moved.setup = most[0], result->moved.back = most[1], result->moved.halo = most[2];
    result->moved.exchanges = traffic.exchanges - before.exchanges;
    result->moved.sums = traffic.sums - before.sums;
    return FE_OK;
}

/* The step with the factors `to`; its record is filled also where it fails. */
static fe_status solve_step(fe_solver *s, fe_run *r, const double *to, fe_result *into,
                            fe_step_result *record, fe_ending *ending)
{
    double before[FE_N_PHASE];
    FE_TRY(s->device->ops->seconds(s->device, before)); /* set-up and output are not the step's */
    s->progress.last = fe_seconds(), s->progress.interval = r->options->progress;
    const double begin = s->progress.last;
    fe_status status = fe_solver_load_step(s, to, record, ending);
    if (status == FE_OK) status = s->device->ops->seconds(s->device, record->seconds);
    record->wall = fe_seconds() - begin;
    s->moved.back = (double)s->device->bytes_from_device;
    if (s->comm->rank == 0) {
        into->bytes_to_device = s->device->bytes_to_device;
        into->bytes_from_device_solve = s->device->bytes_from_device;
        into->precondition = fe_precondition_names[s->preconditioner.kind];
        into->products = fe_precision_name(s->mixed.assembly ? FE_MIXED : FE_DOUBLE);
    }
    FE_TRY(status);
    FE_TRY(fe_solver_accept(s, to));
    return fe_run_observe(s, r, record);
}

static fe_status load_step(fe_solver *s, fe_run *r, int step, double *to, fe_ending *ending)
{
    fe_result own = {.problem = r->problem, .mesh = r->mesh, .boundary = r->boundary};
    fe_result *into = s->comm->rank == 0 ? r->result : &own;
    fe_step_result *record = fe_result_add_step(into);
    if (!record) return fe_fail(FE_OUT_OF_MEMORY, "record of load step %d", step + 1);
    record->step = s->progress.load_step = step + 1;
    for (int p = 0; p < r->boundary->n_path; p++)
        to[p] = record->factor[p] = r->problem->path[p].factor[step];
    const fe_status status = solve_step(s, r, to, into, record, ending);
    if (status != FE_OK && s->comm->rank == 0 && into->n_step > r->n_shown)
        (status == FE_FAILED ? fe_result_fail_step : fe_result_drop_step)(into);
    if (s->comm->rank != 0) fe_result_close(&own);
    return status;
}

static fe_status load_steps_with(fe_solver *s, fe_run *r, double *to, fe_ending *ending)
{
    const fe_checkpoint *resume = r->options->resume;
    FE_TRY(fe_run_observe(s, r, NULL));
    for (int step = resume ? (int)resume->head.n_step : 0; step < r->problem->n_step; step++)
        FE_TRY(load_step(s, r, step, to, ending));
    return FE_OK;
}

static fe_status load_steps(fe_solver *s, fe_run *r)
{
    const fe_checkpoint *resume = r->options->resume;
    fe_ending ending = FE_ENDING_NONE;
    double *to = NULL;
    if (resume && resume->head.n_step) FE_TRY(fe_solver_restore(s, resume));
    FE_ALLOCATE(to, r->boundary->n_path, "load factors");
    begin_counts(s, r->result);
    const fe_traffic before = s->comm->traffic;
    const fe_status status = load_steps_with(s, r, to, &ending);
    free(to);
    if (s->comm->rank == 0) r->ending = ending;
    return status == FE_OK ? end_counts(s, before, r->result) : status;
}

static void tell_setup(const fe_solver *s, const fe_run *r)
{
    memcpy(r->result->setup_seconds, s->setup_seconds, sizeof r->result->setup_seconds);
    r->result->setup_seconds[FE_SETUP_PROBLEM] += r->prepare_seconds;
}

/* What the run looks like, from rank 0. */
static fe_status describe(fe_solver *s, const fe_run *r)
{
    fe_device *d = s->device;
    fe_result *result = r->result;
    fe_partition_quality quality;
    double bytes = (double)d->bytes_peak;
    FE_TRY(fe_share_quality(s->share, s->comm, d, &quality));
    FE_TRY(d->ops->memory.upload(d, sizeof bytes, &bytes, s->scalar));
    FE_TRY(fe_comm_sum(s->comm, d, 1, s->scalar));
    FE_TRY(d->ops->memory.download(d, sizeof bytes, s->scalar, &bytes));
    if (s->comm->rank) return FE_OK;
    result->threads = d->threads;
    result->communication = s->comm->ops->name;
    result->quality = quality;
    result->bytes_resident = (size_t)bytes;
    tell_setup(s, r);
    snprintf(result->device, sizeof result->device, "%s", d->name);
    return FE_OK;
}

/* Mixing with older steps undoes the quadratic convergence of Newton's method (results: anderson.csv). */
static void warn_of_anderson(const fe_solver *s)
{
    const fe_options *o = s->options;
    if (o->anderson && o->jacobian != FE_JACOBIAN_ELASTIC && s->comm->rank == 0)
        fprintf(stderr,
                "solve: --anderson %d: costs iterations with a consistent tangent; it is for --jacobian "
                "elastic\n",
                o->anderson);
}

/* Times of multigrid's set-up on the resident mesh: the run's own, and those of more as asked for. None where
 * another preconditioner took over. Graphs hold the earlier levels, so nothing is solved after this. */
static fe_status sample_setups(fe_solver *s, fe_run *r)
{
    const int n = s->benchmark.setups, chosen = fe_precondition_of(r->options, s->mesh_nodes);
    fe_result *result = r->result;
    if (n < 1 || !fe_uses_hierarchy(chosen) || s->preconditioner.kind != chosen) return FE_OK;
    if (s->comm->rank == 0) FE_ALLOCATE(result->hierarchy_seconds, n, "times of set-up");
    for (int i = 0; i < n; i++) {
        const fe_status status = i > 0 ? fe_solver_open_preconditioner(s) : FE_OK;
        if (status == FE_OUT_OF_MEMORY) break; /* fewer samples, on all ranks alike */
        FE_TRY(status);
        if (s->comm->rank == 0)
            result->hierarchy_seconds[i] = s->preconditioner.multigrid.report.seconds,
            result->n_hierarchy = i + 1;
    }
    return FE_OK;
}

/* Until the benchmark lets the next repetition begin. A rank that waits shows that it lives, and hears of one
 * that has failed. */
static fe_status await_turn(const fe_solver *s)
{
    const fe_benchmark *b = &s->benchmark;
    if (!b->wait) return FE_OK;
    FE_TRY(s->device->ops->wait(s->device));
    for (int may_go = 0; !may_go;) {
        FE_TRY(b->wait(b->context, s->comm->rank, &may_go));
        FE_TRY(s->comm->ops->check(s->comm, fe_seconds()));
    }
    return FE_OK;
}

/* All load steps again. */
static fe_status repeat(fe_solver *s, fe_run *r, int repetition)
{
    FE_TRY(await_turn(s));
    if (repetition == s->benchmark.repetitions - s->benchmark.recorded) {
        s->records = 1;
        FE_TRY(fe_solver_record(s));
    }
    FE_TRY(start_over(s, r));
    return load_steps(s, r);
}

static fe_status run_solver(fe_run *r, fe_solver *s, fe_share *share)
{
    FE_TRY(open_problem(s, r, share));
    if (s->benchmark.only_setup) {
        if (s->comm->rank == 0) tell_setup(s, r);
        return FE_OK;
    }
    warn_of_anderson(s);
    FE_TRY(open_solver(s, r, share));
    FE_TRY(describe(s, r));
    FE_TRY(load_steps(s, r));
    for (int i = 1; i < s->benchmark.repetitions; i++) FE_TRY(repeat(s, r, i));
    return sample_setups(s, r);
}

static const fe_assembly *table_of(const fe_run *r, int precision)
{
    return fe_variant_table(r->variant, r->backend->on_gpu, precision);
}

static fe_status run_rank(void *context, fe_comm *comm, fe_device *device)
{
    fe_run *r = context;
    fe_share *share = NULL;
    FE_ALLOCATE(share, 1, "share of a rank");
    fe_solver s = {.options = r->options,
                   .benchmark = r->benchmark,
                   .problem_file = r->problem,
                   .boundary = r->boundary,
                   .share = share,
                   .comm = comm,
                   .device = device,
                   .preconditioner.direct = &r->direct,
                   .assembly = table_of(r, FE_DOUBLE),
                   .mixed.assembly = r->options->products == FE_MIXED ? table_of(r, FE_MIXED) : NULL};
    const fe_status status = run_solver(r, &s, share);
    if (status != FE_OK) fe_comm_abort(comm, status); /* before recordings are forgotten */
    if (comm->stranded) return status; /* a thread that was abandoned may still read the halos */
    fe_krylov_close(&s.krylov);
    fe_solver_contact_close(&s);
    free(s.supports.by_path), free(s.supports.moving), free(s.accepted.factor), free(s.accepted.change);
    free(s.load), free(s.preconditioner.landing);
    fe_share_close(share);
    free(share);
    return status;
}

static void close_run(fe_run *r)
{
    fe_run_fields_close(r);
    fe_partition_close(&r->partition);
    fe_arrangement_close(&r->arrangement);
    fe_direct_close(&r->direct);
}

/* Elements and nodes in the order that is asked for, or that the strategy wants. */
static fe_status arrange(fe_run *r)
{
    const fe_order order = r->options->order;
    if (order == FE_ORDER_AS_IS) return FE_OK;
    FE_TRY(order == FE_ORDER_AUTO
               ? fe_mesh_arrange_for(r->mesh, fe_wants_pieces(table_of(r, FE_DOUBLE), fe_run_kind(r)),
                                     &r->arrangement)
               : fe_mesh_arrange(r->mesh, order, 1, &r->arrangement));
    r->result->order = r->arrangement.name;
    return FE_OK;
}

/* A strategy of this build for the options, or why not. */
static fe_status choose(fe_run *r)
{
    const fe_options *o = r->options;
    r->variant = fe_variant_find(o->variant);
    if (!r->variant)
        return fe_fail(FE_BAD_INPUT, "--variant %s: there is no such variant; solve --list prints all",
                       o->variant);
    FE_TRY(fe_backend_find(o->backend, &r->backend));
    if (!table_of(r, FE_DOUBLE))
        return fe_fail(FE_BAD_INPUT, "--variant %s: has no %s version in this build", o->variant, o->backend);
    if (o->products == FE_MIXED && !table_of(r, FE_MIXED))
        return fe_fail(FE_BAD_INPUT, "--products mixed: the strategy %s computes in double precision alone",
                       o->variant);
    if (o->products == FE_MIXED && o->jacobian == FE_JACOBIAN_DIFFERENCE)
        return fe_fail(
            FE_BAD_INPUT,
            "--products mixed: --jacobian difference takes residuals, which are in double precision");
    if (o->precondition == FE_PRECONDITION_DIRECT && !FE_HAVE_SUPERLU)
        return fe_fail(
            FE_BAD_INPUT,
            "--precondition direct: this build has no SuperLU (libsuperlu-dev was not found by make)");
    if (o->graphs == FE_GRAPHS_ON && !r->backend->recording.begin)
        return fe_fail(FE_BAD_INPUT, "--graphs: the %s backend has none", o->backend);
    return FE_OK;
}

static const char *status_name(const fe_run *r, fe_status status)
{
    if (status == FE_OK) return "converged";
    if (status == FE_INTERRUPTED) return "interrupted";
    if (status != FE_FAILED || r->ending == FE_ENDING_NONE) return "fault";
    return r->ending == FE_ENDING_LIMIT_LOAD ? "limit_load" : "not_converged";
}

static fe_status run_all(fe_run *r)
{
    const fe_options *o = r->options;
    FE_TRY(choose(r));
    fe_ranks ranks = {.backend = r->backend,
                      .n_rank = o->ranks,
                      .threads = o->threads,
                      .mpi = o->mpi,
                      .transport = o->transport};
    FE_TRY(fe_ranks_check(&ranks));
    const double start = fe_seconds();
    FE_TRY(fe_partition_mesh(r->mesh, o->ranks, o->partition, &r->partition));
    r->result->partition = fe_partition_names[r->partition.method];
    FE_TRY(arrange(r));
    r->prepare_seconds = fe_seconds() - start;
    FE_TRY(fe_run_fields_open(r));
    const fe_status status = fe_ranks_run(&ranks, run_rank, r);
    r->abandoned = ranks.abandoned;
    if (r->abandoned) { /* rank 0 may hold a step that it has not finished; it shows no other after this */
        pthread_mutex_lock(&r->showing);
        r->result->n_step = r->n_shown;
    }
    r->result->status = status_name(r, status);
    return status;
}

fe_status fe_run_case(const fe_case *c, const fe_mesh *mesh, const fe_boundary *b, const fe_options *o,
                      const fe_observer *observer, fe_result *result)
{
    return fe_run_benchmark(c, mesh, b, o, &(fe_benchmark){0}, observer, result);
}

fe_status fe_run_benchmark(const fe_case *c, const fe_mesh *mesh, const fe_boundary *b, const fe_options *o,
                           const fe_benchmark *benchmark, const fe_observer *observer, fe_result *result)
{
    result->problem = c, result->mesh = mesh, result->boundary = b;
    result->volume = fe_mesh_volume(mesh);
    result->element = fe_kind_name(mesh->kind);
    result->precondition = fe_precondition_names[fe_precondition_of(o, mesh->n_node)];
    result->products = fe_precision_name(o->products);
    result->variant = o->variant, result->backend = o->backend, result->ranks = o->ranks;
    result->partition = fe_partition_names[o->partition];
    result->order = fe_order_names[o->order];
    result->communication = o->mpi.size ? "mpi" : "threads";
    result->status = "fault";
    result->n_before = o->resume ? (int)o->resume->head.n_step : 0;
    fe_run *r =
        NULL; /* somebody may still use it after this where a rank is abandoned; the program then ends */
    FE_ALLOCATE(r, 1, "run");
    *r = (fe_run){.problem = c,
                  .mesh = mesh,
                  .boundary = b,
                  .options = o,
                  .benchmark = *benchmark,
                  .observer = observer,
                  .result = result,
                  .showing = PTHREAD_MUTEX_INITIALIZER};
    const fe_status status = run_all(r);
    if (r->abandoned) return status;
    close_run(r);
    free(r);
    return status;
}
