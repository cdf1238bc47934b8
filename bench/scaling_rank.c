/* What one rank of the program `scaling` does: a case of its own piece of a box, or its share of another
 * mesh, and the times of strategies on it. */
#include "bench/check_ranks.h"
#include "bench/conditions.h"
#include "bench/scaling.h"
#include "bench/verify.h"
#include "common/report/row.h"
#include "common/solver/krylov.h"

#include <stdlib.h>
#include <string.h>

enum { REDUCE_LONG = BENCH_LONGEST_SUM };
/* Of residuals of one cycle by different methods, over the right-hand side, for each basis. */
static const double gmres_tolerance[FE_N_BASIS] = {[FE_BASIS_DOUBLE] = 1e-8, [FE_BASIS_SINGLE] = 1e-5};

/* A rank at work on it. */
typedef struct bench {
    const scaling_task *task;
    fe_comm *comm;
    fe_device *device;
    bench_case c;
    fe_krylov krylov[FE_N_BASIS];
    fe_krylov_result result; /* of the last solve */
    double *scalar, *b, *x, *y;
    const fe_assembly *assembly; /* the current strategy and its work */
    void *work;
    char mesh[96], device_name[128];
    fe_row row;
    bench_conditions around; /* of rank 0 */
} bench;

/* --- times ------------------------------------------------------------------------------------------- */

/* *x becomes the largest of any rank. */
static fe_status largest(bench *b, double *x)
{
    FE_TRY(b->device->ops->memory.upload(b->device, sizeof *x, x, b->scalar));
    FE_TRY(fe_comm_largest(b->comm, b->device, 1, b->scalar));
    return b->device->ops->memory.download(b->device, sizeof *x, b->scalar, x);
}

typedef fe_status (*timed_call)(bench *b, int argument);

/* Seconds of `calls` calls in a row on the slowest rank; all start together. */
static fe_status time_calls(bench *b, timed_call call, int argument, int calls, double *seconds)
{
    FE_TRY(b->device->ops->wait(b->device));
    FE_TRY(b->comm->ops->barrier(b->comm));
    const double start = fe_seconds();
    for (int i = 0; i < calls; i++) FE_TRY(call(b, argument));
    FE_TRY(b->device->ops->wait(b->device));
    *seconds = fe_seconds() - start;
    return largest(b, seconds);
}

/* A sample of `calls` calls. Rank 0 reads its conditions behind it. Processes of other ranks are no others,
 * and no process knows how long the others worked, so several have no load. */
static fe_status take_sample(bench *b, timed_call call, int argument, int calls, fe_sample *s)
{
    *s = fe_sample_unknown();
    if (b->comm->rank == 0) bench_conditions_begin(&b->around);
    s->start = bench_utc(), s->calls = calls;
    FE_TRY(time_calls(b, call, argument, calls, &s->seconds));
    s->seconds /= calls;
    if (b->comm->rank == 0) bench_conditions_end(&b->around, s);
    if (b->task->ranks->mpi.size > 1) s->cores = 0;
    return FE_OK;
}

/* A row of rank 0's. `steps`: what one call counts for. */
static fe_status measure(bench *b, const char *operation, timed_call call, int argument, int steps)
{
    const scaling_arguments *a = b->task->arguments;
    fe_sample sample[SCALING_MOST_REPETITIONS];
    double each[SCALING_MOST_REPETITIONS], seconds = 0.0;
    int calls = 1;
    FE_TRY(time_calls(b, call, argument, 2, &seconds));
    do { /* at least 5 ms between two readings of the clock: the same count on all ranks */
        FE_TRY(time_calls(b, call, argument, calls, &seconds));
    } while (seconds < 5e-3 && (calls *= 2) < 1 << 20);
    for (int i = 0; i < a->repetitions; i++) {
        FE_TRY(take_sample(b, call, argument, calls, &sample[i]));
        each[i] = sample[i].seconds /= steps;
    }
    b->row.operation = operation, b->row.calls = calls;
    b->row.seconds = fe_statistics_of(a->repetitions, each);
    if (b->comm->rank) return FE_OK;
    fe_row_judge(&b->row, a->repetitions, sample);
    if (b->task->samples) fe_row_write_samples(b->task->samples, "", &b->row, a->repetitions, sample);
    if (b->task->rows) fe_row_write(b->task->rows, &b->row);
    const fe_statistics *s = &b->row.seconds;
    printf("%-18s %-22s %12.3f %10.3f … %9.3f %10.1f %10.2f%s%s\n", b->row.variant, operation,
           1e6 * s->median, 1e6 * s->low, 1e6 * s->high, 1e-6 * (double)b->row.n_dof / s->median,
           1e-9 * b->row.bytes_moved / s->median, *fe_row_noise(&b->row) ? "  " : "", fe_row_noise(&b->row));
    fflush(stdout);
    return FE_OK;
}

/* The row of an operation that could not be timed. */
static fe_status give_up(bench *b, const char *operation, const char *status)
{
    fe_row row = b->row;
    row.status = status, row.operation = operation, row.seconds = (fe_statistics){0};
    if (b->comm->rank) return FE_OK;
    if (b->task->rows) fe_row_write(b->task->rows, &row);
    fprintf(stderr, "scaling: %s: %s: %s: error %.3e\n", row.variant, operation, status, row.error);
    return FE_OK;
}

static fe_status call_exchange(bench *b, int argument)
{
    (void)argument;
    return fe_comm_exchange(b->comm, FE_HALO_NODES, b->c.direction);
}

static fe_status call_reduce(bench *b, int n) { return fe_comm_sum(b->comm, b->device, n, b->scalar); }

static fe_status call_operation(bench *b, int op)
{
    return bench_apply(&b->c, b->assembly, b->work, (bench_operation)op);
}

static fe_status apply(void *context, double *x, double *y)
{
    bench *b = context;
    return bench_forces(&b->c, b->assembly, b->work, BENCH_JACVEC, x, y);
}

/* One cycle, including its final residual and update. */
static fe_status call_gmres(bench *b, int basis)
{
    const fe_operator A = {.apply = apply, .context = b, .version = 1};
    fe_krylov *k = &b->krylov[basis];
    return fe_gmres(k, &A, NULL, b->b, b->x, 0.0, k->restart, &b->result);
}

/* --- checks of what belongs to no strategy ----------------------------------------------------------- */

/* The largest error of any rank becomes that of the row. */
static fe_status record_error(bench *b, double error)
{
    FE_TRY(largest(b, &error));
    b->row.error = error;
    return FE_OK;
}

static fe_status check_exchange(bench *b, int argument)
{
    double error;
    (void)argument;
    FE_TRY(bench_check_exchange(&b->c, b->x, &error));
    return record_error(b, error);
}

static fe_status check_reduce(bench *b, int n)
{
    double error;
    FE_TRY(bench_check_sum(b->comm, b->device, n, b->scalar, &error));
    return record_error(b, error);
}

/* The cycle reduces the residual, as far as it says, and as far as with modified Gram-Schmidt and a basis of
 * doubles, the first one: the largest difference, over |b|. Measures the loss of orthogonality, too. */
static fe_status check_gmres(bench *b, int basis, double *textbook)
{
    const size_t n = 3 * (size_t)b->c.share.n_owned;
    const fe_krylov_result *r = &b->result;
    double norm;
    b->krylov[basis].measures = 1;
    const fe_status status = call_gmres(b, basis);
    b->krylov[basis].measures = 0;
    FE_TRY(status);
    b->row.orthogonality_loss = r->loss;
    FE_TRY(apply(b, b->x, b->y));
    FE_TRY(bench_distance(b->comm, b->device, n, b->b, b->y, b->scalar, &norm));
    if (isnan(*textbook)) *textbook = r->last;
    const double error = fmax(fabs(norm - r->last), fabs(r->last - *textbook)) / r->first;
    return record_error(b, r->last < r->first && norm < INFINITY ? error : INFINITY);
}

/* Checks and times what belongs to no strategy. */
static fe_status measure_shared(bench *b, const char *operation, timed_call check, timed_call call,
                                int argument, double bytes)
{
    b->row.bytes_moved = bytes;
    FE_TRY(check(b, argument));
    if (b->row.error > bench_tolerance(FE_DOUBLE)) return give_up(b, operation, "check_failed");
    return measure(b, operation, call, argument, 1);
}

/* --- one strategy ------------------------------------------------------------------------------------ */

/* The largest error of any rank. */
static fe_status verify(bench *b, bench_operation op, double *error)
{
    FE_TRY(bench_verify(&b->c, b->assembly, b->work, op, error));
    return largest(b, error);
}

static fe_status time_cycle(bench *b, const char *name, int basis, double *textbook)
{
    FE_TRY(check_gmres(b, basis, textbook));
    if (!(b->row.error <= gmres_tolerance[basis])) return give_up(b, name, "check_failed");
    return measure(b, name, call_gmres, basis, b->krylov[basis].restart);
}

/* Each one enqueued, and also recorded where the backend can. */
static fe_status time_gmres(bench *b)
{
    static const char *const suffixes[FE_N_BASIS] = {"", "_single"};
    double textbook = NAN;
    for (int i = 0; i < FE_N_ORTHOGONALIZATION * FE_N_BASIS; i++) {
        const int basis = i % FE_N_BASIS;
        fe_krylov *k = &b->krylov[basis];
        char name[32], recorded[40];
        k->orthogonalization = i / FE_N_BASIS;
        snprintf(name, sizeof name, "gmres_%s%s", fe_orthogonalization_names[k->orthogonalization],
                 suffixes[basis]);
        snprintf(recorded, sizeof recorded, "%s_graph", name);
        FE_TRY(time_cycle(b, name, basis, &textbook));
        if (!b->device->ops->recording.begin) continue;
        FE_TRY(fe_krylov_record(k, 1));
        FE_TRY(time_cycle(b, recorded, basis, &textbook));
        FE_TRY(fe_krylov_record(k, 0));
    }
    b->row.orthogonality_loss = 0.0;
    return FE_OK;
}

static fe_status time_operations(bench *b)
{
    static const struct {
        bench_operation op;
        const char *name, *local;
    } operations[] = {{BENCH_JACVEC_ELASTIC, "jacvec_elastic", "jacvec_elastic_local"},
                      {BENCH_JACVEC, "jacvec", "jacvec_local"}}; /* the tangent last: GMRES uses it */
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        FE_TRY(verify(b, operations[i].op, &b->row.error));
        if (!(b->row.error <= bench_tolerance(FE_DOUBLE)))
            return give_up(b, operations[i].name, "check_failed");
        FE_TRY(measure(b, operations[i].name, call_operation, operations[i].op, 1));
        b->c.comm = NULL; /* the ghosts stay as they are */
        fe_status status = verify(b, operations[i].op, &b->row.error);
        if (status == FE_OK) status = measure(b, operations[i].local, call_operation, operations[i].op, 1);
        b->c.comm = b->comm;
        FE_TRY(status);
    }
    return time_gmres(b);
}

static fe_status run_variant(bench *b, const fe_variant *v)
{
    const size_t before = b->device->bytes_resident;
    const double start = fe_seconds();
    b->assembly = b->device->ops == &fe_backend_host ? v->host : v->cuda;
    if (!b->assembly) return FE_OK;
    b->row.variant = v->name, b->row.deterministic = -1, b->row.bytes_moved = 0.0, b->row.error = NAN;
    const fe_status status = fe_assembly_set_up(b->assembly, &b->c.problem, &b->work);
    double full = status == FE_OUT_OF_MEMORY;
    if (status != FE_OK && !full) return status;
    FE_TRY(largest(b, &full));
    if (full > 0.0) return give_up(b, "jacvec", "out_of_memory");
    FE_TRY(b->device->ops->wait(b->device));
    b->row.setup_seconds = fe_seconds() - start;
    b->row.bytes_work = (double)(b->device->bytes_resident - before);
    b->row.bytes = b->row.bytes_work + (double)b->c.bytes;
    b->row.status = "ok";
    return time_operations(b);
}

/* --- one case ---------------------------------------------------------------------------------------- */

static fe_status describe(bench *b, const bench_box *box)
{
    const scaling_arguments *a = b->task->arguments;
    const scaling_task *t = b->task;
    int cells[3];
    int64_t n_dof, n_elem;
    char name[64];
    bench_box_shape(box, cells, &n_dof);
    n_elem = (int64_t)cells[0] * cells[1] * cells[2] * (fe_corners(box->kind) == 4 ? 6 : 1);
    snprintf(name, sizeof name, "box%dx%dx%d", cells[0], cells[1], cells[2]);
    if (!cells[0]) {
        FE_TRY(bench_mesh_size(&t->mesh, box->kind, a->dofs, &n_elem, &n_dof));
        bench_mesh_name(&t->mesh, a->dofs, sizeof name, name);
    }
    if (a->materials > 1)
        snprintf(name + strlen(name), sizeof name - strlen(name), "-materials%d", a->materials);
    snprintf(b->mesh, sizeof b->mesh, "%s-%dx%dx%d-%s-%s", a->weak ? "weak" : "strong", box->grid[0],
             box->grid[1], box->grid[2], b->comm->ops->name, name);
    snprintf(b->device_name, sizeof b->device_name, "%s", b->device->name);
    b->row = (fe_row){.machine = b->task->machine,
                      .backend = b->device->ops->name,
                      .device = b->device_name,
                      .ranks = b->comm->size,
                      .threads = b->device->threads,
                      .variant = "none",
                      .element = fe_kind_name(box->kind),
                      .mesh = b->mesh,
                      .order = fe_order_names[box->order],
                      .plastic = box->plastic,
                      .plastic_pattern = "clustered",
                      .numbering = b->c.numbering,
                      .n_elem = n_elem,
                      .n_dof = n_dof,
                      .bytes = (double)b->c.bytes,
                      .plastic_measured = box->plastic,
                      .error = NAN,
                      .deterministic = -1,
                      .process = a->process,
                      .status = "ok"};
    return FE_OK;
}

static const fe_assembly *table_of(const scaling_task *t, int variant)
{
    const fe_variant *v = fe_variant_at(variant);
    return t->ranks->backend == &fe_backend_host ? v->host : v->cuda;
}

int scaling_belongs(const scaling_task *t, int i)
{
    const fe_assembly *table = table_of(t, t->arguments->variant[i]);
    return table && (t->arguments->order != FE_ORDER_AUTO || !(table->traits & FE_PIECES) == !t->pieces);
}

static fe_status time_shared(bench *b)
{
    /* As nccl-tests count them: what a rank sends, and for sums 2 (N - 1) / N of the vector. */
    const double share = 2.0 * (b->comm->size - 1) / b->comm->size;
    const double sent = (double)fe_halo_bytes_sent(&b->c.share.halo), number = share * sizeof(double);
    FE_TRY(measure_shared(b, "exchange", check_exchange, call_exchange, 0, sent));
    FE_TRY(measure_shared(b, "reduce1", check_reduce, call_reduce, 1, number));
    return measure_shared(b, "reduce32", check_reduce, call_reduce, REDUCE_LONG, REDUCE_LONG * number);
}

static fe_status run_on_case(bench *b)
{
    const scaling_arguments *a = b->task->arguments;
    fe_device *d = b->device;
    const size_t n = 3 * (size_t)b->c.share.n_owned, length = 3 * (size_t)b->c.share.n_local;
    fe_partition_quality quality;
    FE_TRY(fe_device_allocate(d, REDUCE_LONG, sizeof(double), "scalars", (void **)&b->scalar));
    FE_TRY(fe_device_vector(d, b->c.share.n_local, "right-hand side", &b->b));
    FE_TRY(fe_device_vector(d, b->c.share.n_local, "solution", &b->x));
    FE_TRY(fe_device_vector(d, b->c.share.n_local, "product", &b->y));
    for (int basis = 0; basis < FE_N_BASIS; basis++)
        FE_TRY(fe_krylov_open(d, b->comm, n, length, a->restart, FE_ORTHOGONALIZATION_DCGS2, basis,
                              &b->krylov[basis]));
    FE_TRY(d->ops->vector.copy(d, n, b->c.direction, b->b));
    FE_TRY(fe_share_quality(&b->c.share, b->comm, d, &quality));
    if (b->comm->rank == 0)
        printf("%s %s on %d ranks (%s, %d threads each), %lld DoF: a rank has at most %.3f times the mean "
               "number "
               "of elements; %.2f %% computed by several ranks; %.2f %% ghosts\n%-18s %-22s %12s %22s %10s "
               "%10s\n",
               b->mesh, b->row.element, b->comm->size, b->comm->ops->name, d->threads,
               (long long)b->row.n_dof, quality.imbalance, 100.0 * quality.duplicates, 100.0 * quality.ghosts,
               "variant", "operation", "median us", "95 % interval us", "MDoF/s", "GB/s");
    if (!b->task->again) FE_TRY(time_shared(b));
    for (int i = 0; i < a->n_variant; i++)
        if (scaling_belongs(b->task, i)) FE_TRY(run_variant(b, fe_variant_at(a->variant[i])));
    return FE_OK;
}

/* Ranks along the axes whose pieces of a cube have the least surface. */
static void choose_grid(int ranks, int grid[3])
{
    double least = INFINITY;
    for (int i = 1; i <= ranks; i++)
        for (int j = 1; ranks % i == 0 && j <= ranks / i; j++) {
            if (ranks / i % j) continue;
            const int k = ranks / i / j;
            /* Cuts across the slowest axis of the node order come first. */
            const double surface = 1.02 * i + 1.01 * j + k;
            if (surface < least) least = surface, grid[0] = i, grid[1] = j, grid[2] = k;
        }
}

static bench_box box_of(const scaling_task *t, int kind)
{
    const scaling_arguments *a = t->arguments;
    const fe_ranks *l = t->ranks;
    bench_box box = {.kind = kind,
                     .mesh = t->whole,
                     .partition = t->whole ? &t->partition : NULL,
                     .pieces = t->pieces,
                     .order = (fe_order)a->order,
                     .plastic = 1.0,
                     .backend = l->backend,
                     .materials = a->materials,
                     .weak = a->weak};
    bench_mesh_cells(&t->mesh, a->dofs, box.cells);
    if (box.cells[0])
        choose_grid(l->n_rank, box.grid);
    else
        box.grid[0] = box.grid[1] = 1, box.grid[2] = l->n_rank;
    return box;
}

fe_status scaling_run_rank(void *context, fe_comm *comm, fe_device *device)
{
    const scaling_task *t = context;
    bench b = {.task = t, .comm = comm, .device = device};
    const bench_box box = box_of(t, t->kind);
    fe_status status = bench_case_open_rank(&box, comm, device, &b.c);
    if (status == FE_OK) status = describe(&b, &box);
    if (comm->rank == 0) bench_conditions_open(device->ops, &b.around);
    if (status == FE_OK) status = run_on_case(&b);
    if (status != FE_OK) fe_comm_abort(comm, status); /* before recordings are forgotten */
    for (int basis = 0; basis < FE_N_BASIS; basis++) fe_krylov_close(&b.krylov[basis]);
    bench_case_close(&b.c);
    return status;
}

fe_status scaling_write_off(const scaling_task *t, const fe_machine *machine)
{
    const scaling_arguments *a = t->arguments;
    const fe_ranks *l = t->ranks;
    const int on_gpu = l->backend != &fe_backend_host;
    fe_comm_operations operations = {.name = l->mpi.size ? "mpi" : "threads"};
    fe_comm comm = {.ops = &operations, .size = l->n_rank};
    fe_device device = {.ops = l->backend, .threads = a->threads};
    if (on_gpu && l->n_rank > 1) operations.name = fe_transport_names[fe_ranks_transport(l)];
    snprintf(device.name, sizeof device.name, "%s", on_gpu ? machine->gpu : machine->cpu);
    for (int i = 0; i < a->n_kind; i++) {
        bench b = {.task = t, .comm = &comm, .device = &device};
        const bench_box box = box_of(t, a->kind[i]);
        if (!bench_mesh_holds(&t->mesh, a->kind[i])) continue;
        FE_TRY(describe(&b, &box));
        b.row.status = a->give_up, b.row.operation = "jacvec";
        for (int k = 0; k < a->n_variant; k++) {
            b.row.variant = fe_variant_at(a->variant[k])->name;
            if (t->rows && table_of(t, a->variant[k])) fe_row_write(t->rows, &b.row);
        }
    }
    return FE_OK;
}
