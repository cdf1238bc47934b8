/* A run: ranks as threads, each with its share; load steps; results and fields gathered after each. */
#include "common/problem/state.h"
#include "common/solver/solver.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the ranks of one run share. Field arrays are the mesh's; ranks write disjoint entries. */
typedef struct run {
    const fe_case *problem;
    const fe_mesh *mesh;
    const fe_boundary *boundary;
    const fe_options *options;
    const fe_observer *observer;
    fe_result *result;
    fe_partition partition;
    fe_team *team;
    const fe_backend *backend;
    const fe_variant *variant;
    double *displacement, *reaction_force, *element_fields[FE_N_OUT], *tensors[2];
    int *element_rank;
} run;

typedef struct rank_thread {
    run *run;
    int rank;
    fe_status status;
    int limit_load;
    char message[512];
    size_t bytes_resident;
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
    FE_TRY(fe_solver_boundary(s, &r->partition));
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

static fe_status read_probes(fe_solver *s, const fe_partition *p, fe_step_result *record)
{
    fe_device *d = s->device;
    for (int i = 0; i < s->boundary->n_probe; i++) {
        const int node = s->boundary->probe[i];
        FE_TRY(d->ops->zero(d, 3 * sizeof(double), s->scalar));
        if (p->owner[node] == s->share->rank)
            FE_TRY(d->ops->copy(d, 3, s->v + 3 * (size_t)p->local[node], s->scalar));
        FE_TRY(s->comm->sum(s->comm, d, 3, s->scalar));
        FE_TRY(d->ops->download(d, 3 * sizeof(double), s->scalar, record->probe[i]));
    }
    return FE_OK;
}

/* This rank's entries of the mesh's field arrays. */
static fe_status gather_fields(fe_solver *s, run *r)
{
    const fe_share *share = s->share;
    const int ld = s->problem.view.ld;
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
        r->element_rank[elem] = share->rank;
        for (int c = 0; c < FE_N_OUT; c++) {
            const double value = landing[(size_t)c * ld + e];
            if (c < FE_OUT_MISES)
                r->tensors[c / 6][6 * elem + c % 6] = value;
            else
                r->element_fields[c][elem] = value;
        }
    }
    free(landing);
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
        if (status == FE_OK) status = read_probes(s, &r->partition, record);
        if (status == FE_OK) status = s->device->ops->seconds(s->device, record->seconds);
        work = record->plastic_work;
        if (s->comm->rank == 0) {
            into->bytes_to_device = s->device->bytes_to_device;
            into->bytes_from_device_solve = s->device->bytes_from_device;
        }
        if (status == FE_OK) status = observe(s, r, record);
        if (status == FE_OK) status = accept(s);
        if (status != FE_OK && s->comm->rank == 0) fe_result_drop_step(r->result);
        if (s->comm->rank != 0) fe_result_close(&own);
        memcpy(from, to, (size_t)n_path * sizeof *from);
    }
    free(factors);
    return status;
}

static fe_status run_rank(rank_thread *t, fe_solver *s, fe_share *share)
{
    run *r = t->run;
    const fe_options *o = r->options;
    const int threads = o->threads > 0                   ? o->threads
                        : fe_host_cores() / o->ranks > 0 ? fe_host_cores() / o->ranks
                                                         : 1;
    *s = (fe_solver){.options = o,
                     .problem_file = r->problem,
                     .boundary = r->boundary,
                     .share = share,
                     .assembly = !strcmp(o->backend, "cuda") ? r->variant->cuda : r->variant->host};
    FE_TRY(fe_comm_threads(r->team, t->rank, &s->comm));
    FE_TRY(r->backend->open(t->rank, threads, &s->device));
    if (t->rank == 0) {
        r->result->threads = threads;
        snprintf(r->result->device, sizeof r->result->device, "%s", s->device->name);
    }
    FE_TRY(fe_share_build(r->mesh, &r->partition, t->rank, share));
    FE_TRY(open_solver(s, r, share));
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
        if (solver.comm) solver.comm->abort(solver.comm);
    }
    if (solver.device) t->bytes_resident = solver.device->bytes_peak;
    close_solver(&solver);
    fe_share_close(&share);
    return NULL;
}

static fe_status run_fields(run *r)
{
    if (!r->observer || !r->observer->wants_fields) return FE_OK;
    const size_t n_node = (size_t)r->mesh->n_node, n_elem = (size_t)r->mesh->n_elem;
    FE_ALLOCATE(r->displacement, 3 * n_node, "output fields");
    FE_ALLOCATE(r->reaction_force, 3 * n_node, "output fields");
    for (int t = 0; t < 2; t++) FE_ALLOCATE(r->tensors[t], 6 * n_elem, "output fields");
    for (int c = FE_OUT_MISES; c < FE_N_OUT; c++) FE_ALLOCATE(r->element_fields[c], n_elem, "output fields");
    FE_ALLOCATE(r->element_rank, n_elem, "output fields");
    return FE_OK;
}

static void close_run(run *r)
{
    free(r->displacement), free(r->reaction_force), free(r->element_rank);
    for (int t = 0; t < 2; t++) free(r->tensors[t]);
    for (int c = 0; c < FE_N_OUT; c++) free(r->element_fields[c]);
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
    if (cuda && o->ranks > 1)
        return fe_fail(FE_BAD_INPUT, "--ranks %d: the cuda backend runs one rank in this version", o->ranks);
    return FE_OK;
}

/* Runs the ranks; the caller's thread is rank 0, so that one rank needs no thread. */
static fe_status run_ranks(run *r, rank_thread *ranks)
{
    const int n = r->options->ranks;
    pthread_t *thread = NULL;
    int started = 1;
    FE_ALLOCATE(thread, n, "ranks");
    for (int i = 0; i < n; i++) ranks[i] = (rank_thread){.run = r, .rank = i};
    while (started < n && pthread_create(&thread[started], NULL, rank_main, &ranks[started]) == 0) started++;
    if (started < n) {
        fe_comm *comm = NULL;
        if (fe_comm_threads(r->team, 0, &comm) == FE_OK) comm->abort(comm);
        fe_comm_close(comm);
        ranks[0].status = FE_FAILED;
        snprintf(ranks[0].message, sizeof ranks[0].message, "--ranks %d: only %d threads could be started", n,
                 started);
    } else {
        rank_main(&ranks[0]);
    }
    for (int i = 1; i < started; i++) pthread_join(thread[i], NULL);
    free(thread);
    return FE_OK;
}

/* The status of the whole run: the first cause, not the ranks that it took along. */
static fe_status conclude(run *r, const rank_thread *ranks)
{
    const int n = r->options->ranks;
    fe_status status = FE_OK;
    fe_result *result = r->result;
    const rank_thread *cause = NULL;
    for (int i = 0; i < n; i++) {
        result->bytes_resident += ranks[i].bytes_resident;
        if (ranks[i].status == FE_OK) continue;
        const int second_hand = strstr(ranks[i].message, "another rank failed") != NULL;
        if (!cause || (strstr(cause->message, "another rank failed") && !second_hand)) cause = &ranks[i];
    }
    result->status = "converged";
    if (cause) {
        status = cause->status;
        result->status = cause->limit_load                                                ? "limit_load"
                         : status == FE_INTERRUPTED                                       ? "interrupted"
                         : status == FE_FAILED && strstr(cause->message, "not converged") ? "not_converged"
                                                                                          : "fault";
        return fe_fail(status, "%s", cause->message);
    }
    return FE_OK;
}

static fe_status run_all(run *r, rank_thread **ranks)
{
    const fe_options *o = r->options;
    FE_TRY(choose(r));
    FE_TRY(fe_partition_mesh(r->mesh, o->ranks, o->partition, &r->partition));
    FE_TRY(fe_team_open(o->ranks, &r->team));
    FE_TRY(run_fields(r));
    FE_ALLOCATE(*ranks, o->ranks, "ranks");
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
    result->status = "fault";
    const fe_status status = run_all(&r, &ranks);
    free(ranks);
    close_run(&r);
    return status;
}
