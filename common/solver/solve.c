/* A run: ranks as threads or processes, each with its share; load steps; results and fields gathered after
 * each. */
#include "common/problem/state.h"
#include "common/solver/solver.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What the ranks of this process share. Field arrays are the mesh's; ranks write disjoint entries. */
typedef struct run {
    const fe_case *problem;
    const fe_mesh *mesh;
    const fe_boundary *boundary;
    const fe_options *options;
    const fe_observer *observer;
    fe_result *result;
    fe_partition partition;
    fe_team *team; /* none with MPI */
    int abandoned; /* a rank's thread did not end, or MPI may still write to a rank's memory */
    int n_shown;   /* steps that rank 0's observer has seen: these are not taken back */
    const fe_backend *backend;
    const fe_variant *variant;
    double *displacement, *reaction_force, *element_fields[FE_N_OUT], *tensors[2];
    int *element_rank; /* lowest owner of a corner */
} run;

typedef struct rank_thread {
    run *run;
    int rank;
    fe_status status;
    int limit_load;
    char message[1024];
} rank_thread;

fe_options fe_default_options(void)
{
    return (fe_options){.variant = "node_csr",
                        .backend = "host",
                        .ranks = 1,
                        .tet_points = 1,
                        .restart = 30,
                        .precondition = FE_PRECONDITION_BLOCK_JACOBI,
                        .krylov_iterations = 20000,
                        .tolerance = 1e-9,
                        .newton_iterations = 60,
                        .line_search = 1};
}

static fe_status open_vectors(fe_solver *s)
{
    const int n_local = s->share->n_local;
    double **vectors[] = {&s->u,        &s->v,    &s->external, &s->internal,
                          &s->residual, &s->step, &s->trial,    &s->scratch};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        FE_TRY(fe_device_vector(s->device, n_local, "solution vector", vectors[i]));
    if (s->options->jacobian == FE_JACOBIAN_DIFFERENCE)
        FE_TRY(fe_device_vector(s->device, n_local, "solution vector", &s->direction));
    FE_TRY(fe_device_allocate(s->device, 64, sizeof(double), "scalars", (void **)&s->scalar));
    FE_TRY(fe_device_allocate(s->device, 9 * (size_t)n_local, sizeof(double), "diagonal blocks",
                              (void **)&s->blocks));
    return fe_device_allocate(s->device, fe_summary_scratch(s->share->n_elem), sizeof(double), "summary",
                              (void **)&s->partial);
}

static int uses_gmres(const fe_options *o)
{
    return o->krylov == FE_KRYLOV_GMRES ||
           (o->krylov == FE_KRYLOV_AUTO && o->jacobian == FE_JACOBIAN_DIFFERENCE);
}

static fe_status open_solver(fe_solver *s, const run *r, const fe_share *share)
{
    const fe_options *o = r->options;
    const fe_material *m = &r->problem->material;
    const int kind = r->mesh->kind == FE_TET4 && o->tet_points == 4 ? FE_TET4_P4 : r->mesh->kind;
    s->n = 3 * (size_t)share->n_owned, s->length = 3 * (size_t)share->n_local;
    FE_TRY(fe_problem_open(r->mesh, share, kind, fe_j2_of(m->E, m->nu, m->sigma_y, m->H), s->device,
                           &s->problem));
    FE_TRY(fe_assembly_set_up(s->assembly, &s->problem, &s->work));
    if (s->assembly->note && s->comm->rank == 0)
        fprintf(stderr, "solve: %s: %s\n", r->variant->name, s->assembly->note(s->work));
    FE_TRY(fe_device_upload(s->device, (size_t)share->n_elem, 1, share->counted, "summary",
                            (void **)&s->counted));
    FE_TRY(open_vectors(s));
    if (r->observer && r->observer->wants_fields)
        FE_TRY(fe_device_allocate(s->device, (size_t)FE_N_OUT * s->problem.view.ld, sizeof(double),
                                  "output fields", (void **)&s->fields));
    FE_TRY(fe_solver_boundary(s));
    FE_TRY(fe_krylov_open(s->device, s->comm, s->n, s->length, uses_gmres(o) ? o->restart : 0,
                          o->orthogonalization, &s->krylov));
    return fe_anderson_open(s, o->anderson);
}

static void close_solver(fe_solver *s)
{
    free(s->by_path), free(s->load), free(s->reaction), free(s->n_reaction);
    fe_comm_close(s->comm);
    if (s->device) s->device->ops->close(s->device);
}

/* Probes, reactions, integrals of the state that was just accepted. `record` is rank 0's own. */
static fe_status summarize(fe_solver *s, fe_step_result *record, double plastic_work)
{
    enum { WIDTH = FE_N_SUM + FE_N_MAX };
    fe_device *d = s->device;
    double totals[WIDTH], square;
    FE_TRY(fe_summary(&s->problem, s->v, s->counted, s->partial, s->scalar, s->fields));
    FE_TRY(s->comm->sum(s->comm, d, FE_N_SUM, s->scalar));
    FE_TRY(d->ops->largest(d, s->n, s->v, s->scalar + WIDTH));
    FE_TRY(s->comm->largest(s->comm, d, FE_N_MAX + 1, s->scalar + FE_N_SUM));
    FE_TRY(d->ops->download(d, sizeof totals, s->scalar, totals));
    FE_TRY(d->ops->download(d, sizeof(double), s->scalar + WIDTH, &record->max_abs_u));
    record->max_peeq = totals[FE_N_SUM + FE_MAX_PEEQ], record->max_mises = totals[FE_N_SUM + FE_MAX_MISES];
    record->elastic_energy = totals[FE_SUM_ELASTIC_ENERGY], record->int_peeq = totals[FE_SUM_PEEQ];
    record->plastic_work = plastic_work + totals[FE_SUM_PLASTIC_WORK];
    record->plastic_gp = (int64_t)(totals[FE_SUM_PLASTIC_POINTS] + 0.5);
    FE_TRY(fe_solver_dot(s, s->v, s->v, &square));
    record->norm_u = sqrt(square);
    for (int i = 0; i < s->boundary->n_reaction; i++) {
        FE_TRY(d->ops->take_sum(d, s->n_reaction[i], s->reaction[i], s->internal, s->scalar));
        FE_TRY(s->comm->sum(s->comm, d, 1, s->scalar));
        FE_TRY(d->ops->download(d, sizeof(double), s->scalar, &record->reaction[i]));
    }
    return FE_OK;
}

static fe_status read_probes(fe_solver *s, fe_step_result *record)
{
    fe_device *d = s->device;
    for (int i = 0; i < s->boundary->n_probe; i++) {
        const int local = s->share->local[s->boundary->probe[i]];
        FE_TRY(d->ops->zero(d, 3 * sizeof(double), s->scalar));
        if (local >= 0 && local < s->share->n_owned)
            FE_TRY(d->ops->copy(d, 3, s->v + 3 * (size_t)local, s->scalar));
        FE_TRY(s->comm->sum(s->comm, d, 3, s->scalar));
        FE_TRY(d->ops->download(d, 3 * sizeof(double), s->scalar, record->probe[i]));
    }
    return FE_OK;
}

/* A field over the mesh, n doubles. */
typedef struct field {
    double **x;
    size_t n;
} field;
enum { N_FIELD = 4 + FE_N_OUT - FE_OUT_MISES };

static void list_fields(run *r, field list[N_FIELD])
{
    const size_t n_node = (size_t)r->mesh->n_node, n_elem = (size_t)r->mesh->n_elem;
    list[0] = (field){&r->displacement, 3 * n_node}, list[1] = (field){&r->reaction_force, 3 * n_node};
    for (int t = 0; t < 2; t++) list[2 + t] = (field){&r->tensors[t], 6 * n_elem};
    for (int c = FE_OUT_MISES; c < FE_N_OUT; c++)
        list[4 + c - FE_OUT_MISES] = (field){&r->element_fields[c], n_elem};
}

/* This rank's entries of the mesh's field arrays. */
static fe_status gather_fields(fe_solver *s, run *r)
{
    const fe_share *share = s->share;
    const int ld = s->problem.view.ld;
    field list[N_FIELD];
    list_fields(r, list);
    /* Ranks of one process share the arrays; others bring zeros where they own nothing. */
    for (int f = 0; f < N_FIELD && r->options->mpi.size; f++)
        memset(*list[f].x, 0, list[f].n * sizeof(double));
    double *landing = NULL;
    const size_t vector = 3 * (size_t)share->n_owned, fields = (size_t)FE_N_OUT * ld;
    FE_ALLOCATE(landing, vector > fields ? vector : fields, "output fields");
    fe_device *d = s->device;
    double *targets[2] = {r->displacement, r->reaction_force};
    const double *sources[2] = {s->v, s->internal};
    fe_status status = FE_OK;
    for (int f = 0; f < 2 && status == FE_OK; f++) {
        status = d->ops->download(d, vector * sizeof *landing, sources[f], landing);
        for (int i = 0; i < share->n_owned && status == FE_OK; i++)
            memcpy(targets[f] + 3 * (size_t)share->node[i], landing + 3 * (size_t)i, 3 * sizeof *landing);
    }
    if (status == FE_OK) status = d->ops->download(d, fields * sizeof *landing, s->fields, landing);
    for (int e = 0; e < share->n_elem && status == FE_OK; e++) {
        if (!share->counted[e]) continue;
        const size_t elem = (size_t)share->elem[e];
        for (int c = 0; c < FE_N_OUT; c++) {
            const double value = landing[(size_t)c * ld + e];
            if (c < FE_OUT_MISES)
                r->tensors[c / 6][6 * elem + c % 6] = value;
            else
                r->element_fields[c][elem] = value;
        }
    }
    free(landing);
    for (int f = 0; f < N_FIELD && status == FE_OK; f++)
        status = s->comm->collect(s->comm, list[f].n, *list[f].x);
    return status;
}

/* Everyone's fields are in place; rank 0 shows them. */
static fe_status observe(fe_solver *s, run *r, const fe_step_result *record)
{
    const fe_observer *o = r->observer;
    if (!o) return FE_OK;
    const int64_t before = s->device->bytes_from_device;
    if (o->wants_fields && record) FE_TRY(gather_fields(s, r));
    if (s->comm->rank == 0) r->result->bytes_from_device_output += s->device->bytes_from_device - before;
    s->device->bytes_from_device = before; /* the solve's own are counted apart */
    FE_TRY(s->comm->barrier(s->comm));
    if (s->comm->rank == 0) {
        const fe_fields fields = {.time = record ? record->step : 0.0,
                                  .displacement = r->displacement,
                                  .reaction_force = r->reaction_force,
                                  .stress = r->tensors[0],
                                  .plastic_strain = r->tensors[1],
                                  .von_mises = r->element_fields[FE_OUT_MISES],
                                  .peeq = r->element_fields[FE_OUT_PEEQ],
                                  .peeq_max = r->element_fields[FE_OUT_PEEQ_MAX],
                                  .rank = r->element_rank};
        FE_TRY(o->step(o->context, record, o->wants_fields ? &fields : NULL));
        r->n_shown = r->result->n_step;
    }
    return s->comm->barrier(s->comm);
}

/* Accepts v: displacement and state. */
static fe_status accept(fe_solver *s)
{
    fe_problem_accept(&s->problem);
    return s->device->ops->copy(s->device, s->length, s->v, s->u);
}

enum { MOST_HALVINGS = 8 };

/* The increment from `from` to `to`, halved where Newton fails and substepping is allowed. */
static fe_status advance(fe_solver *s, const double *from, const double *to, fe_step_result *record,
                         double *work, int depth, int *limit_load)
{
    fe_status status = fe_newton_step(s, to, record, limit_load);
    if (status == FE_FAILED && s->options->substep && depth < MOST_HALVINGS) {
        double *middle = NULL;
        const int n = s->boundary->n_path;
        FE_ALLOCATE(middle, n, "load factors");
        for (int i = 0; i < n; i++) middle[i] = 0.5 * (from[i] + to[i]);
        if (s->comm->rank == 0) fprintf(stderr, "solve: %s; the increment is halved\n", fe_message());
        status = advance(s, from, middle, record, work, depth + 1, limit_load);
        if (status == FE_OK) {
            FE_TRY(summarize(s, record, *work));
            *work = record->plastic_work;
            status = accept(s);
            record->substeps++;
        }
        if (status == FE_OK) status = advance(s, middle, to, record, work, depth + 1, limit_load);
        free(middle);
    }
    return status;
}

static fe_status load_steps(fe_solver *s, run *r, rank_thread *t)
{
    const int n_path = r->boundary->n_path;
    double *factors = NULL, work = 0.0;
    FE_ALLOCATE(factors, 2 * (size_t)n_path, "load factors");
    double *from = factors, *to = factors + n_path;
    fe_status status = observe(s, r, NULL);
    for (int step = 0; step < r->problem->n_step && status == FE_OK; step++) {
        fe_result own = {.problem = r->problem, .mesh = r->mesh, .boundary = r->boundary};
        fe_result *into = s->comm->rank == 0 ? r->result : &own;
        fe_step_result *record = fe_result_add_step(into);
        if (!record) {
            status = fe_fail(FE_OUT_OF_MEMORY, "record of load step %d", step + 1);
            break;
        }
        record->step = s->load_step = step + 1, record->substeps = 1;
        for (int p = 0; p < n_path; p++) to[p] = record->factor[p] = r->problem->path[p].factor[step];
        status = advance(s, from, to, record, &work, 0, &t->limit_load);
        if (status == FE_OK) status = summarize(s, record, work);
        if (status == FE_OK) status = read_probes(s, record);
        if (status == FE_OK) status = s->device->ops->seconds(s->device, record->seconds);
        work = record->plastic_work;
        if (s->comm->rank == 0) {
            into->bytes_to_device = s->device->bytes_to_device;
            into->bytes_from_device_solve = s->device->bytes_from_device;
        }
        if (status == FE_OK) status = observe(s, r, record);
        if (status == FE_OK) status = accept(s);
        if (status != FE_OK && s->comm->rank == 0 && into->n_step > r->n_shown) fe_result_drop_step(into);
        if (s->comm->rank != 0) fe_result_close(&own);
        memcpy(from, to, (size_t)n_path * sizeof *from);
    }
    free(factors);
    return status;
}

/* OpenMP threads of a rank: the cores of this process shared among its ranks. A launcher may have bound each
 * process to cores of its own. */
static int threads_of_rank(const fe_options *o)
{
    const int cores = fe_host_cores(), bound = cores < (int)sysconf(_SC_NPROCESSORS_ONLN);
    const int ranks = !o->mpi.size ? o->ranks : bound ? 1 : o->mpi.local_size;
    return o->threads > 0 ? o->threads : cores / ranks > 0 ? cores / ranks : 1;
}

/* The rank's communicator and device; *comm is what to abort and to close, whatever fails. */
static fe_status open_rank(const rank_thread *t, fe_comm **comm, fe_device **device)
{
    const fe_options *o = t->run->options;
    const int place = o->mpi.size ? o->mpi.local_rank : t->rank;
    FE_TRY(o->mpi.size ? fe_comm_mpi(&o->mpi, comm) : fe_comm_threads(t->run->team, t->rank, comm));
    const int cuda = !strcmp(o->backend, "cuda");
    FE_TRY(t->run->backend->open(cuda && fe_cuda_devices() == 1 ? 0 : place, threads_of_rank(o), device));
#if FE_HAVE_NCCL
    if (cuda && o->ranks > 1) FE_TRY(fe_comm_nccl(*comm, *device, comm));
#endif
    return FE_OK;
}

/* What the run looks like, from rank 0. */
static fe_status describe(fe_solver *s, const run *r)
{
    fe_device *d = s->device;
    fe_result *result = r->result;
    fe_partition_quality quality;
    double bytes = (double)d->bytes_peak;
    FE_TRY(fe_share_quality(s->share, s->comm, d, &quality));
    FE_TRY(d->ops->upload(d, sizeof bytes, &bytes, s->scalar));
    FE_TRY(s->comm->sum(s->comm, d, 1, s->scalar));
    FE_TRY(d->ops->download(d, sizeof bytes, s->scalar, &bytes));
    if (s->comm->rank) return FE_OK;
    result->threads = threads_of_rank(r->options);
    result->communication = s->comm->name;
    result->quality = quality;
    result->bytes_resident = (size_t)bytes;
    snprintf(result->device, sizeof result->device, "%s", d->name);
    if (s->comm->size > 1)
        fprintf(stderr,
                "solve: %d ranks (%s), %s partition: elements %.3f of their mean at most, %.2f %% computed "
                "twice; %.2f %% ghosts; %d neighbours at most\n",
                s->comm->size, s->comm->name, result->partition, quality.imbalance,
                100.0 * quality.duplicates, 100.0 * quality.ghosts, quality.most_neighbors);
    return FE_OK;
}

static fe_status run_rank(rank_thread *t, fe_solver *s, fe_share *share)
{
    run *r = t->run;
    const fe_options *o = r->options;
    *s = (fe_solver){.options = o,
                     .problem_file = r->problem,
                     .boundary = r->boundary,
                     .share = share,
                     .assembly = !strcmp(o->backend, "cuda") ? r->variant->cuda : r->variant->host};
    FE_TRY(open_rank(t, &s->comm, &s->device));
    FE_TRY(fe_share_build(r->mesh, &r->partition, t->rank, share));
    FE_TRY(s->comm->attach(s->comm, s->device, &share->halo));
    FE_TRY(open_solver(s, r, share));
    FE_TRY(describe(s, r));
    return load_steps(s, r, t);
}

static void *rank_main(void *argument)
{
    rank_thread *t = argument;
    fe_solver solver = {0};
    fe_share share = {0};
    t->status = run_rank(t, &solver, &share);
    if (t->status != FE_OK) {
        snprintf(t->message, sizeof t->message, "%s", fe_message());
        if (solver.comm) solver.comm->abort(solver.comm, t->status, t->message);
        if (fe_mpi_stranded()) {
            t->run->abandoned = 1; /* the process ends soon */
            return NULL;
        }
    }
    close_solver(&solver);
    fe_share_close(&share);
    return NULL;
}

static fe_status run_fields(run *r)
{
    field list[N_FIELD];
    if (!r->observer || !r->observer->wants_fields) return FE_OK;
    list_fields(r, list);
    for (int f = 0; f < N_FIELD; f++) FE_ALLOCATE(*list[f].x, list[f].n, "output fields");
    FE_ALLOCATE(r->element_rank, r->mesh->n_elem, "output fields");
    const int n_corner = fe_corners(r->mesh->kind);
    for (int e = 0; e < r->mesh->n_elem; e++) {
        const int *node = r->mesh->conn + (size_t)e * n_corner;
        r->element_rank[e] = r->partition.n_rank;
        for (int c = 0; c < n_corner; c++)
            if (r->partition.owner[node[c]] < r->element_rank[e])
                r->element_rank[e] = r->partition.owner[node[c]];
    }
    return FE_OK;
}

static void close_run(run *r)
{
    field list[N_FIELD];
    list_fields(r, list);
    for (int f = 0; f < N_FIELD; f++) free(*list[f].x);
    free(r->element_rank);
    fe_partition_close(&r->partition);
    fe_team_close(r->team);
}

/* A strategy of this build for the options, or why not. */
static fe_status choose(run *r)
{
    const fe_options *o = r->options;
    r->variant = fe_variant_find(o->variant);
    if (!r->variant)
        return fe_fail(FE_BAD_INPUT, "--variant %s: there is no such variant; solve --list prints all",
                       o->variant);
    FE_TRY(fe_backend_find(o->backend, &r->backend));
    const int cuda = !strcmp(o->backend, "cuda");
    if (!(cuda ? r->variant->cuda : r->variant->host))
        return fe_fail(FE_BAD_INPUT, "--variant %s: has no %s version in this build", o->variant, o->backend);
    if (!cuda || o->ranks == 1) return FE_OK;
    if (!FE_HAVE_NCCL)
        return fe_fail(FE_BAD_INPUT,
                       "--ranks %d: this build has no NCCL (nccl.h was not found by make), which "
                       "several GPUs need",
                       o->ranks);
    const int ranks = o->mpi.size ? o->mpi.local_size : o->ranks, devices = fe_cuda_devices();
    /* A launcher may show each process its own device only. */
    if (ranks > devices && !(o->mpi.size && devices == 1))
        return fe_fail(FE_BAD_INPUT,
                       "--ranks %d: %d ranks on this host, but %d CUDA devices were found; each "
                       "rank needs its own",
                       o->ranks, ranks, devices);
    return FE_OK;
}

/* Ranks of this process. */
static int n_own(const fe_options *o) { return o->mpi.size ? 1 : o->ranks; }

/* Threads whose rank has failed end soon. One that hangs is left behind. */
static int join(pthread_t thread, int failed)
{
    struct timespec end;
    if (!failed) return pthread_join(thread, NULL) == 0;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 3;
    return pthread_timedjoin_np(thread, NULL, &end) == 0;
}

/* Runs this process's ranks; the caller's thread is the first, so that one rank needs no thread. */
static fe_status run_ranks(run *r, rank_thread *ranks)
{
    const int n = n_own(r->options);
    pthread_t *thread = NULL;
    int started = 1;
    FE_ALLOCATE(thread, n, "ranks");
    for (int i = 0; i < n; i++) ranks[i] = (rank_thread){.run = r, .rank = r->options->mpi.rank + i};
    while (started < n && pthread_create(&thread[started], NULL, rank_main, &ranks[started]) == 0) started++;
    if (started < n) {
        fe_comm *comm = NULL;
        ranks[0].status = FE_FAILED;
        snprintf(ranks[0].message, sizeof ranks[0].message, "--ranks %d: only %d threads could be started", n,
                 started);
        if (fe_comm_threads(r->team, 0, &comm) == FE_OK) comm->abort(comm, FE_FAILED, ranks[0].message);
        fe_comm_close(comm);
    } else {
        rank_main(&ranks[0]);
    }
    for (int i = 1; i < started; i++) r->abandoned |= !join(thread[i], ranks[0].status != FE_OK);
    free(thread);
    return FE_OK;
}

static const char second_hand[] = "another rank failed: ";

/* The status of the whole run: the first cause, not the ranks that it took along. */
static fe_status conclude(run *r, const rank_thread *ranks)
{
    const int n = n_own(r->options);
    int failed = 0;
    fe_result *result = r->result;
    const rank_thread *cause = NULL;
    for (int i = 0; i < n; i++) {
        const int own =
            ranks[i].status != FE_OK && strncmp(ranks[i].message, second_hand, strlen(second_hand));
        failed += own;
        if (ranks[i].status != FE_OK && (!cause || (own && failed == 1))) cause = &ranks[i];
    }
    result->status = "converged";
    if (!cause) return FE_OK;
    result->status = cause->limit_load                                                       ? "limit_load"
                     : cause->status == FE_INTERRUPTED                                       ? "interrupted"
                     : cause->status == FE_FAILED && strstr(cause->message, "not converged") ? "not_converged"
                                                                                             : "fault";
    if (failed == 0) return fe_fail(cause->status, "%s", cause->message + strlen(second_hand));
    /* What all found alike is nobody's own fault. */
    return failed == n ? fe_fail(cause->status, "%s", cause->message)
                       : fe_fail(cause->status, "rank %d: %s", cause->rank, cause->message);
}

static fe_status run_all(run *r, rank_thread **ranks)
{
    const fe_options *o = r->options;
    FE_TRY(choose(r));
    FE_TRY(fe_partition_mesh(r->mesh, o->ranks, o->partition, &r->partition));
    if (!o->mpi.size) FE_TRY(fe_team_open(o->ranks, &r->team));
    FE_TRY(run_fields(r));
    FE_ALLOCATE(*ranks, n_own(o), "ranks");
    FE_TRY(run_ranks(r, *ranks));
    return conclude(r, *ranks);
}

fe_status fe_solve(const fe_case *c, const fe_mesh *mesh, const fe_boundary *b, const fe_options *o,
                   const fe_observer *observer, fe_result *result)
{
    fe_quality quality;
    rank_thread *ranks = NULL;
    run r = {.problem = c, .mesh = mesh, .boundary = b, .options = o, .observer = observer, .result = result};
    FE_TRY(fe_mesh_quality(mesh, &quality));
    result->problem = c, result->mesh = mesh, result->boundary = b;
    result->volume = quality.volume;
    result->element = fe_kind_name(mesh->kind);
    result->variant = o->variant, result->backend = o->backend, result->ranks = o->ranks;
    result->partition = o->partition == FE_PARTITION_METIS ? "metis" : "contiguous";
    result->communication = o->mpi.size ? "mpi" : "threads";
    result->status = "fault";
    const fe_status status = run_all(&r, &ranks);
    if (r.abandoned) return status; /* somebody may still use it all; the program ends now */
    free(ranks);
    close_run(&r);
    return status;
}
