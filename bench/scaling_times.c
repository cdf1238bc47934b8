/* Checks and times operations on several ranks; see scaling_rank.h. */
#include "bench/check_ranks.h"
#include "bench/options.h"
#include "bench/scaling_rank.h"
#include "bench/verify.h"

#include <stdlib.h>
#include <string.h>

typedef scaling_bench bench;

/* Of residuals of one cycle by different methods, over the right-hand side, for each basis. */
static const double gmres_tolerance[FE_N_BASIS] = {[FE_BASIS_DOUBLE] = 1e-8, [FE_BASIS_SINGLE] = 1e-5};

/* A strategy on the workload, or what belongs to none. */
typedef struct entrant {
    const fe_assembly *assembly; /* NULL: of what belongs to none */
    void *work;
    fe_row row;
    int out;           /* it has its last row: a check failed, or memory did not suffice */
    int skips;         /* the current operation, whose check failed */
    int spoilt;        /* the current operation, whose answer was wrong when it had been timed */
    int calls;         /* of a sample */
    double textbook;   /* residual after the first cycle of GMRES; NAN: there was none */
    fe_sample *sample; /* [repetitions] */
} entrant;

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

static void take(bench *b, const entrant *e)
{
    b->assembly = e->assembly, b->work = e->work, b->row = e->row;
}

/* Calls of a sample: at least 5 ms between two readings of the clock, the same count on all ranks. The faster
 * of two tries counts: one that somebody else interrupted says nothing of the calls. A call of 0.02 s is long
 * enough in any case. */
static fe_status find_calls(bench *b, timed_call call, int argument, int *calls)
{
    double seconds, again;
    *calls = 1;
    FE_TRY(time_calls(b, call, argument, 1, &seconds)); /* may do more than the next ones */
    FE_TRY(time_calls(b, call, argument, 1, &seconds));
    if (seconds > 0.02) return FE_OK;
    do {
        FE_TRY(time_calls(b, call, argument, *calls, &seconds));
        if (seconds < 5e-3) continue;
        FE_TRY(time_calls(b, call, argument, *calls, &again));
        seconds = fmin(seconds, again);
    } while (seconds < 5e-3 && (*calls *= 2) < 1 << 20);
    return FE_OK;
}

/* The row of an operation, and its samples. */
static void write_row(bench *b, const entrant *e, const char *operation)
{
    const int n = b->task->arguments->repetitions;
    double seconds[SCALING_MOST_REPETITIONS];
    for (int i = 0; i < n; i++) seconds[i] = e->sample[i].seconds;
    b->row.operation = operation, b->row.calls = e->calls;
    b->row.seconds = fe_statistics_of(n, seconds);
    if (b->comm->rank) return;
    fe_row_judge(&b->row, n, e->sample);
    if (b->task->samples) fe_row_write_samples(b->task->samples, "", &b->row, n, e->sample);
    if (b->task->rows) fe_row_write(b->task->rows, &b->row);
    const fe_statistics *s = &b->row.seconds;
    printf("%-18s %-22s %12.3f %10.3f … %9.3f %10.1f %10.2f%s%s\n", b->row.variant, operation,
           1e6 * s->median, 1e6 * s->low, 1e6 * s->high, 1e-6 * (double)b->row.n_dof / s->median,
           1e-9 * b->row.bytes_moved / s->median, *fe_row_noise(&b->row) ? "  " : "", fe_row_noise(&b->row));
    fflush(stdout);
}

/* What is timed: `call` with `argument`, which counts for so many `steps`, from the state of `op`. check: the
 * error of what was computed, on this rank, which may be `tolerance`. */
typedef struct timed timed;
struct timed {
    const char *name;
    timed_call call;
    fe_status (*check)(bench *b, entrant *e, const timed *t, double *error);
    double tolerance;
    int argument, steps;
    bench_operation op;
};

/* Trial state and tangent are the workload's and may be another strategy's. */
static fe_status prepare(bench *b, const entrant *e, const timed *t)
{
    take(b, e);
    return e->assembly ? bench_prepare(&b->c, e->assembly, e->work, t->op) : FE_OK;
}

/* The answer that the timed calls left. The row has the larger one of its errors. */
static fe_status check_after(bench *b, entrant *e, const timed *t)
{
    double error;
    FE_TRY(t->check(b, e, t, &error));
    FE_TRY(largest(b, &error));
    if (!(error <= e->row.error)) e->row.error = error;
    e->spoilt = !(error <= t->tolerance);
    return FE_OK;
}

/* Sample i. What another strategy left in the caches is not its matter: short calls begin with one that is
 * not timed. */
static fe_status take_turn(bench *b, entrant *e, const timed *t, int i)
{
    FE_TRY(prepare(b, e, t));
    if (e->calls > 1) FE_TRY(t->call(b, t->argument));
    FE_TRY(take_sample(b, t->call, t->argument, e->calls, &e->sample[i]));
    e->sample[i].seconds /= t->steps;
    return i + 1 < b->task->arguments->repetitions ? FE_OK : check_after(b, e, t);
}

/* Samples of n entrants of the list in turns, whose order changes from sample to sample in the same way on
 * all ranks. */
static fe_status take_turns(bench *b, int n, int *order, entrant *list, const timed *t)
{
    for (int k = 0; k < n; k++) {
        FE_TRY(prepare(b, &list[order[k]], t));
        FE_TRY(find_calls(b, t->call, t->argument, &list[order[k]].calls));
    }
    for (int i = 0; i < b->task->arguments->repetitions; i++) {
        option_shuffle(i + 2, n, order);
        for (int k = 0; k < n; k++) FE_TRY(take_turn(b, &list[order[k]], t, i));
    }
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

/* Samples of n entrants, then their rows. */
static fe_status measure(bench *b, int n, entrant *list, const timed *t)
{
    int *order = NULL, n_in = 0;
    FE_ALLOCATE(order, n, "order");
    for (int k = 0; k < n; k++)
        if (!list[k].out && !list[k].skips) order[n_in++] = k;
    const fe_status status = take_turns(b, n_in, order, list, t);
    free(order);
    for (int k = 0; k < n && status == FE_OK; k++) {
        if (list[k].out || list[k].skips) continue;
        take(b, &list[k]);
        if (list[k].spoilt)
            FE_TRY(give_up(b, t->name, "check_failed"));
        else
            write_row(b, &list[k], t->name);
        list[k].spoilt = 0;
    }
    return status;
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

/* --- checks ------------------------------------------------------------------------------------------ */

static fe_status check_exchange(bench *b, entrant *e, const timed *t, double *error)
{
    (void)e, (void)t;
    return bench_check_exchange(&b->c, b->x, error);
}

static fe_status check_reduce(bench *b, entrant *e, const timed *t, double *error)
{
    (void)e;
    return bench_check_sum(b->comm, b->device, t->argument, b->scalar, error);
}

static fe_status check_product(bench *b, entrant *e, const timed *t, double *error)
{
    (void)e;
    return bench_verify_result(&b->c, t->op, error);
}

/* The last cycle reduced the residual, as far as it says, and as far as with the first form, modified
 * Gram-Schmidt and a basis of doubles unless --gmres names others: the largest difference, over |b|. */
static fe_status check_cycle(bench *b, entrant *e, const timed *t, double *error)
{
    const size_t n = 3 * (size_t)b->c.share.n_owned;
    const fe_krylov_result *r = &b->result;
    double norm;
    (void)t;
    FE_TRY(apply(b, b->x, b->y));
    FE_TRY(bench_distance(b->comm, b->device, n, b->b, b->y, b->scalar, &norm));
    if (isnan(e->textbook)) e->textbook = r->last;
    const double off = fmax(fabs(norm - r->last), fabs(r->last - e->textbook)) / r->first;
    *error = r->last < r->first && norm < INFINITY ? off : INFINITY;
    return FE_OK;
}

/* A cycle and its check, and the loss of orthogonality. */
static fe_status try_cycle(bench *b, entrant *e, const timed *t)
{
    double error;
    b->krylov[t->argument].measures = 1;
    const fe_status status = call_gmres(b, t->argument);
    b->krylov[t->argument].measures = 0;
    FE_TRY(status);
    b->row.orthogonality_loss = b->result.loss;
    FE_TRY(check_cycle(b, e, t, &error));
    FE_TRY(largest(b, &error));
    b->row.error = error;
    return FE_OK;
}

/* Checks and times what belongs to no strategy. */
static fe_status measure_shared(bench *b, entrant *none, const timed *t, double bytes)
{
    double error;
    b->row.bytes_moved = bytes;
    FE_TRY(t->check(b, none, t, &error));
    FE_TRY(largest(b, &error));
    b->row.error = error;
    if (!(error <= t->tolerance)) return give_up(b, t->name, "check_failed");
    none->row = b->row;
    return measure(b, 1, none, t);
}

static fe_status open_entrant(const bench *b, entrant *e)
{
    *e = (entrant){.row = b->row, .textbook = NAN};
    FE_ALLOCATE(e->sample, b->task->arguments->repetitions, "samples");
    return FE_OK;
}

static fe_status time_none(bench *b, entrant *none)
{
    /* As nccl-tests count them: what a rank sends, and for sums 2 (N - 1) / N of the vector. */
    const double share = 2.0 * (b->comm->size - 1) / b->comm->size;
    const double sent = (double)fe_halo_bytes_sent(&b->c.share.halo), number = share * sizeof(double);
    const double tolerance = bench_tolerance(&b->c);
    const timed exchange = {"exchange", call_exchange, check_exchange, tolerance, .steps = 1},
                reduce1 = {"reduce1", call_reduce, check_reduce, tolerance, 1, .steps = 1},
                reduce32 = {"reduce32", call_reduce, check_reduce, tolerance, BENCH_LONGEST_SUM, .steps = 1};
    FE_TRY(measure_shared(b, none, &exchange, sent));
    FE_TRY(measure_shared(b, none, &reduce1, number));
    return measure_shared(b, none, &reduce32, BENCH_LONGEST_SUM * number);
}

fe_status scaling_time_shared(scaling_bench *b)
{
    entrant none;
    FE_TRY(open_entrant(b, &none));
    const fe_status status = time_none(b, &none);
    free(none.sample);
    return status;
}

/* --- strategies -------------------------------------------------------------------------------------- */

/* The largest error of any rank. */
static fe_status verify(bench *b, bench_operation op, double *error)
{
    FE_TRY(bench_verify(&b->c, b->assembly, b->work, op, error));
    return largest(b, error);
}

/* Verifies an operation of all. Those whose error is too large have their last row, named `operation`. */
static fe_status verify_all(bench *b, int n, entrant *list, bench_operation op, const char *operation)
{
    for (int k = 0; k < n; k++) {
        entrant *e = &list[k];
        if (e->out) continue;
        take(b, e);
        FE_TRY(verify(b, op, &b->row.error));
        e->row = b->row;
        e->out = operation && !(b->row.error <= bench_tolerance(&b->c));
        if (e->out) FE_TRY(give_up(b, operation, "check_failed"));
    }
    return FE_OK;
}

static fe_status time_products(bench *b, int n, entrant *list)
{
    static const bench_operation product[] = {BENCH_JACVEC_ELASTIC, BENCH_JACVEC};
    static const char *const names[][2] = {{"jacvec_elastic", "jacvec_elastic_local"},
                                           {"jacvec", "jacvec_local"}};
    for (int i = 0; i < 2; i++) {
        const timed whole = {names[i][0], call_operation, check_product, bench_tolerance(&b->c), product[i],
                             1,           product[i]};
        timed local = whole;
        local.name = names[i][1];
        FE_TRY(verify_all(b, n, list, product[i], whole.name));
        FE_TRY(measure(b, n, list, &whole));
        b->c.comm = NULL; /* the ghosts stay as they are */
        fe_status status = verify_all(b, n, list, product[i], NULL);
        if (status == FE_OK) status = measure(b, n, list, &local);
        b->c.comm = b->comm;
        FE_TRY(status);
    }
    return FE_OK;
}

static fe_status time_cycles(bench *b, int n, entrant *list, const char *name, int basis)
{
    const timed cycle = {
        name, call_gmres, check_cycle, gmres_tolerance[basis], basis, b->krylov[basis].restart, BENCH_JACVEC};
    for (int k = 0; k < n; k++) {
        entrant *e = &list[k];
        if (e->out) continue;
        FE_TRY(prepare(b, e, &cycle));
        FE_TRY(try_cycle(b, e, &cycle));
        e->row = b->row;
        e->skips = !(b->row.error <= cycle.tolerance);
        if (e->skips) FE_TRY(give_up(b, name, "check_failed"));
    }
    FE_TRY(measure(b, n, list, &cycle));
    for (int k = 0; k < n; k++) list[k].skips = 0;
    return FE_OK;
}

/* A recording is of one strategy's calls, so strategies take no turns with it. */
static fe_status time_recorded(bench *b, entrant *e, const char *name, int basis)
{
    if (e->out) return FE_OK;
    FE_TRY(fe_krylov_record(&b->krylov[basis], 1));
    FE_TRY(time_cycles(b, 1, e, name, basis));
    return fe_krylov_record(&b->krylov[basis], 0);
}

/* Each form enqueued, and also recorded where the backend can. */
static fe_status time_gmres(bench *b, int n, entrant *list)
{
    for (int i = 0; i < b->task->arguments->n_form; i++) {
        const int form = b->task->arguments->form[i], basis = form % FE_N_BASIS;
        fe_krylov *k = &b->krylov[basis];
        char name[32], recorded[40];
        k->orthogonalization = form / FE_N_BASIS;
        snprintf(name, sizeof name, "gmres_%s", scaling_forms[form]);
        snprintf(recorded, sizeof recorded, "%s_graph", name);
        FE_TRY(time_cycles(b, n, list, name, basis));
        for (int j = 0; j < n && b->device->ops->recording.begin; j++)
            FE_TRY(time_recorded(b, &list[j], recorded, basis));
    }
    return FE_OK;
}

static fe_status set_up(bench *b, const fe_variant *v, entrant *e)
{
    const size_t before = b->device->bytes_resident;
    const double start = fe_seconds();
    e->assembly = fe_variant_table(v, b->device->ops->on_gpu, FE_DOUBLE);
    e->row.variant = v->name, e->row.deterministic = -1, e->row.bytes_moved = 0.0, e->row.error = NAN;
    const fe_status status = fe_assembly_set_up(e->assembly, &b->c.problem, &e->work);
    double full = status == FE_OUT_OF_MEMORY;
    if (status != FE_OK && !full) return status;
    FE_TRY(largest(b, &full));
    take(b, e);
    e->out = full > 0.0;
    if (e->out) return give_up(b, "jacvec", "out_of_memory");
    FE_TRY(b->device->ops->wait(b->device));
    e->row.setup_seconds = fe_seconds() - start;
    e->row.bytes_work = (double)(b->device->bytes_resident - before);
    e->row.bytes = e->row.bytes_work + (double)b->c.bytes;
    e->row.status = "ok";
    return FE_OK;
}

/* The memory of a strategy stays with the device, so all of them are resident with or without turns. */
static fe_status time_all(bench *b, int *n, entrant *list)
{
    const scaling_arguments *a = b->task->arguments;
    const fe_row plain = b->row;
    for (int i = 0; i < a->n_variant; i++) {
        if (!scaling_belongs(b->task, i)) continue;
        b->row = plain;
        FE_TRY(open_entrant(b, &list[*n]));
        FE_TRY(set_up(b, fe_variant_at(a->variant[i]), &list[(*n)++]));
    }
    fe_problem_forget_mesh(&b->c.problem);
    FE_TRY(time_products(b, *n, list));
    return time_gmres(b, *n, list);
}

fe_status scaling_time_variants(scaling_bench *b)
{
    entrant *list = NULL;
    int n = 0;
    FE_ALLOCATE(list, b->task->arguments->n_variant, "strategies");
    const fe_status status = time_all(b, &n, list);
    for (int k = 0; k < b->task->arguments->n_variant; k++) free(list[k].sample);
    free(list);
    return status;
}
