/* The program `scaling`: times a strategy's operations, the exchange of ghosts, sums over ranks and Krylov
 * iterations. Each rank makes and holds its own piece of a box. Writes rows like those of `kernels`, with the
 * number of ranks. */
#include "bench/options.h"
#include "bench/verify.h"
#include "common/ranks/ranks.h"
#include "common/report/machine.h"
#include "common/report/row.h"
#include "common/report/version.h"
#include "common/solver/krylov.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: scaling [options]\n"
    "Times strategies on several ranks: threads of this process, or under mpirun or srun the processes that\n"
    "they start; on the cuda backend each has a GPU.\n"
    "\n"
    "  --backend host|cuda       (host)\n"
    "  --ranks N                 (1)\n"
    "  --threads N               OpenMP threads of each rank (OMP_NUM_THREADS, else cores / ranks)\n"
    "  --transport KIND          between GPUs: nccl (default), peer (they write into each other's memory; "
    "--ranks\n"
    "                            only)\n"
    "  --dofs N                  degrees of freedom, approximately (300000)\n"
    "  --weak                    --dofs is the number per rank, not the total\n"
    "  --elements LIST           tet4, hex8, tet4_p4, hex8_naive (hex8)\n"
    "  --variants LIST           strategies (all); --list prints them\n"
    "  --order ORDER             node order within each rank: lexicographic (default), rcm, morton,\n"
    "                            bisection, random\n"
    "  --restart M               basis length of GMRES, whose first M iterations are timed (30)\n"
    "  --repetitions N           samples of each operation (15)\n"
    "  --timeout SECONDS         a rank that does not answer for this time has failed (60)\n"
    "  --rows FILE.csv           result rows: results/README.md defines them\n"
    "  --give-up STATUS          run nothing: write rows with this status, as a sweep does after a crash\n"
    "  --capacity                print two lines, for scripts: host and the cores that ranks may run on,\n"
    "                            cuda and the GPUs found\n"
    "  --list --help --version\n"
    "\n"
    "exit: 0 done (failed checks and full memory are recorded in their rows); 1 the run failed; 2 bad "
    "input\n";

enum { MOST_REPETITIONS = 999, REDUCE_LONG = 32 };

typedef struct arguments {
    const char *backend, *rows, *give_up;
    int ranks, threads, transport, dofs, weak, order, restart, repetitions, timeout, done;
    int n_kind, kind[FE_N_KIND];
    int n_variant, *variant;
} arguments;

/* One element's case on all ranks of this process. */
typedef struct task {
    const arguments *arguments;
    const fe_ranks *ranks;
    const char *machine;
    FILE *rows; /* rank 0 */
    int kind;
} task;

/* A rank at work on it. */
typedef struct bench {
    const task *task;
    fe_comm *comm;
    fe_device *device;
    bench_case c;
    fe_krylov krylov;
    double *scalar, *b, *x;
    const fe_assembly *assembly; /* the current strategy and its work */
    void *work;
    char mesh[96], device_name[128];
    fe_row row;
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

/* A row of rank 0's. `steps`: what one call counts for. */
static fe_status measure(bench *b, const char *operation, timed_call call, int argument, int steps)
{
    const arguments *a = b->task->arguments;
    double sample[MOST_REPETITIONS], seconds = 0.0;
    int calls = 1;
    FE_TRY(time_calls(b, call, argument, 2, &seconds));
    do { /* at least 5 ms between two readings of the clock: the same count on all ranks */
        FE_TRY(time_calls(b, call, argument, calls, &seconds));
    } while (seconds < 5e-3 && (calls *= 2) < 1 << 20);
    for (int i = 0; i < a->repetitions; i++) {
        FE_TRY(time_calls(b, call, argument, calls, &sample[i]));
        sample[i] /= (double)calls * steps;
    }
    b->row.operation = operation, b->row.calls = calls;
    b->row.seconds = fe_statistics_of(a->repetitions, sample);
    if (b->comm->rank) return FE_OK;
    if (b->task->rows) fe_row_write(b->task->rows, &b->row);
    const fe_statistics *s = &b->row.seconds;
    printf("%-18s %-22s %12.3f %10.3f … %9.3f %10.1f %10.2f\n", b->row.variant, operation, 1e6 * s->median,
           1e6 * s->low, 1e6 * s->high, 1e-6 * (double)b->row.n_dof / s->median,
           1e-9 * b->row.bytes_moved / s->median);
    fflush(stdout);
    return FE_OK;
}

/* A strategy that could not be timed. */
static fe_status give_up(bench *b, const char *status)
{
    b->row.status = status, b->row.operation = "jacvec";
    b->row.seconds = (fe_statistics){0};
    if (b->comm->rank) return FE_OK;
    if (b->task->rows) fe_row_write(b->task->rows, &b->row);
    fprintf(stderr, "scaling: %s: %s: error %.3e\n", b->row.variant, status, b->row.error);
    return FE_OK;
}

static fe_status call_exchange(bench *b, int argument)
{
    (void)argument;
    return fe_comm_exchange(b->comm, b->c.direction);
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
static fe_status call_gmres(bench *b, int orthogonalization)
{
    const fe_operator A = {.apply = apply, .context = b, .version = 1};
    fe_krylov_result result;
    b->krylov.orthogonalization = orthogonalization;
    return fe_gmres(&b->krylov, &A, NULL, b->b, b->x, 0.0, b->krylov.restart, &result);
}

/* --- one strategy ------------------------------------------------------------------------------------ */

/* The largest error of any rank. */
static fe_status verify(bench *b, bench_operation op, double *error)
{
    FE_TRY(bench_verify(&b->c, b->assembly, b->work, op, error));
    return largest(b, error);
}

/* Each one enqueued, and also recorded where the backend can. */
static fe_status time_gmres(bench *b)
{
    static const struct {
        int orthogonalization;
        const char *name, *recorded;
    } all[] = {{FE_ORTHOGONALIZATION_MGS, "gmres_mgs", "gmres_mgs_graph"},
               {FE_ORTHOGONALIZATION_CGS2, "gmres_cgs2", "gmres_cgs2_graph"},
               {FE_ORTHOGONALIZATION_DCGS2, "gmres_dcgs2", "gmres_dcgs2_graph"}};
    const int steps = b->krylov.restart;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        FE_TRY(measure(b, all[i].name, call_gmres, all[i].orthogonalization, steps));
        if (!b->device->ops->recording.begin) continue;
        FE_TRY(fe_krylov_record(&b->krylov, 1));
        FE_TRY(measure(b, all[i].recorded, call_gmres, all[i].orthogonalization, steps));
        FE_TRY(fe_krylov_record(&b->krylov, 0));
    }
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
        if (!(b->row.error <= BENCH_TOLERANCE)) return give_up(b, "check_failed");
        FE_TRY(measure(b, operations[i].name, call_operation, operations[i].op, 1));
        b->c.comm = NULL; /* the ghosts stay as they are */
        const fe_status status = measure(b, operations[i].local, call_operation, operations[i].op, 1);
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
    if (full > 0.0) return give_up(b, "out_of_memory");
    FE_TRY(b->device->ops->wait(b->device));
    b->row.setup_seconds = fe_seconds() - start;
    b->row.bytes_work = (double)(b->device->bytes_resident - before);
    b->row.bytes = b->row.bytes_work + (double)b->c.bytes;
    b->row.status = "ok";
    return time_operations(b);
}

/* --- one case ---------------------------------------------------------------------------------------- */

static void plain(char *text)
{
    for (; *text; text++)
        if (strchr(",\"\n", *text)) *text = ' ';
}

static void describe(bench *b, const bench_box *box)
{
    const arguments *a = b->task->arguments;
    int cells[3];
    int64_t n_dof;
    bench_box_shape(box, cells, &n_dof);
    snprintf(b->mesh, sizeof b->mesh, "%s-%dx%dx%d-%s-box%dx%dx%d", a->weak ? "weak" : "strong", box->grid[0],
             box->grid[1], box->grid[2], b->comm->ops->name, cells[0], cells[1], cells[2]);
    snprintf(b->device_name, sizeof b->device_name, "%s", b->device->name);
    plain(b->device_name);
    b->row =
        (fe_row){.machine = b->task->machine,
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
                 .n_elem = (int64_t)cells[0] * cells[1] * cells[2] * (fe_corners(box->kind) == 4 ? 6 : 1),
                 .n_dof = n_dof,
                 .bytes = (double)b->c.bytes,
                 .plastic_measured = box->plastic,
                 .error = NAN,
                 .deterministic = -1,
                 .status = "ok"};
}

static fe_status run_on_case(bench *b)
{
    const arguments *a = b->task->arguments;
    fe_device *d = b->device;
    const fe_halo *halo = &b->c.share.halo;
    const size_t n = 3 * (size_t)b->c.share.n_owned, length = 3 * (size_t)b->c.share.n_local;
    fe_partition_quality quality;
    FE_TRY(fe_device_allocate(d, REDUCE_LONG, sizeof(double), "scalars", (void **)&b->scalar));
    FE_TRY(fe_device_vector(d, b->c.share.n_local, "right-hand side", &b->b));
    FE_TRY(fe_device_vector(d, b->c.share.n_local, "solution", &b->x));
    FE_TRY(fe_krylov_open(d, b->comm, n, length, a->restart, FE_ORTHOGONALIZATION_DCGS2, &b->krylov));
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
    /* As nccl-tests count them: what a rank sends, and for sums 2 (N - 1) / N of the vector. */
    const double share = 2.0 * (b->comm->size - 1) / b->comm->size;
    b->row.bytes_moved = (double)fe_halo_bytes_sent(halo);
    FE_TRY(measure(b, "exchange", call_exchange, 0, 1));
    b->row.bytes_moved = share * sizeof(double);
    FE_TRY(measure(b, "reduce1", call_reduce, 1, 1));
    b->row.bytes_moved = share * REDUCE_LONG * sizeof(double);
    FE_TRY(measure(b, "reduce32", call_reduce, REDUCE_LONG, 1));
    for (int i = 0; i < a->n_variant; i++) FE_TRY(run_variant(b, fe_variant_at(a->variant[i])));
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

static bench_box box_of(const arguments *a, int kind, const fe_ranks *l)
{
    bench_box box = {.kind = kind,
                     .n_dof = a->dofs,
                     .order = (fe_order)a->order,
                     .plastic = 1.0,
                     .backend = l->backend,
                     .weak = a->weak};
    choose_grid(l->n_rank, box.grid);
    return box;
}

static fe_status run_rank(void *context, fe_comm *comm, fe_device *device)
{
    const task *t = context;
    bench b = {.task = t, .comm = comm, .device = device};
    const bench_box box = box_of(t->arguments, t->kind, t->ranks);
    fe_status status = bench_case_open_rank(&box, comm, device, &b.c);
    if (status == FE_OK) {
        describe(&b, &box);
        status = run_on_case(&b);
    }
    fe_krylov_close(&b.krylov);
    bench_case_close(&b.c);
    return status;
}

/* Rows of cases that did not finish. */
static void write_off(const task *t, const fe_machine *machine)
{
    const arguments *a = t->arguments;
    const fe_ranks *l = t->ranks;
    const int on_gpu = l->backend != &fe_backend_host;
    fe_comm_operations operations = {.name = l->mpi.size ? "mpi" : "threads"};
    fe_comm comm = {.ops = &operations, .size = l->n_rank};
    fe_device device = {.ops = l->backend, .threads = a->threads};
    if (on_gpu && l->n_rank > 1) operations.name = "nccl";
    snprintf(device.name, sizeof device.name, "%s", on_gpu ? machine->gpu : machine->cpu);
    for (int i = 0; i < a->n_kind; i++) {
        bench b = {.task = t, .comm = &comm, .device = &device};
        const bench_box box = box_of(a, a->kind[i], l);
        describe(&b, &box);
        b.row.status = a->give_up, b.row.operation = "jacvec";
        for (int k = 0; k < a->n_variant; k++) {
            const fe_variant *v = fe_variant_at(a->variant[k]);
            b.row.variant = v->name;
            if (t->rows && (on_gpu ? v->cuda : v->host)) fe_row_write(t->rows, &b.row);
        }
    }
}

/* --- command line ------------------------------------------------------------------------------------ */

enum {
    OPT_BACKEND = 256,
    OPT_RANKS,
    OPT_THREADS,
    OPT_TRANSPORT,
    OPT_DOFS,
    OPT_WEAK,
    OPT_ELEMENTS,
    OPT_VARIANTS,
    OPT_ORDER,
    OPT_RESTART,
    OPT_REPETITIONS,
    OPT_TIMEOUT,
    OPT_ROWS,
    OPT_GIVE_UP,
    OPT_CAPACITY,
    OPT_LIST,
    OPT_HELP,
    OPT_VERSION
};
static const struct option flags[] = {{"backend", 1, 0, OPT_BACKEND},
                                      {"ranks", 1, 0, OPT_RANKS},
                                      {"threads", 1, 0, OPT_THREADS},
                                      {"transport", 1, 0, OPT_TRANSPORT},
                                      {"dofs", 1, 0, OPT_DOFS},
                                      {"weak", 0, 0, OPT_WEAK},
                                      {"elements", 1, 0, OPT_ELEMENTS},
                                      {"variants", 1, 0, OPT_VARIANTS},
                                      {"order", 1, 0, OPT_ORDER},
                                      {"restart", 1, 0, OPT_RESTART},
                                      {"repetitions", 1, 0, OPT_REPETITIONS},
                                      {"timeout", 1, 0, OPT_TIMEOUT},
                                      {"rows", 1, 0, OPT_ROWS},
                                      {"give-up", 1, 0, OPT_GIVE_UP},
                                      {"capacity", 0, 0, OPT_CAPACITY},
                                      {"list", 0, 0, OPT_LIST},
                                      {"help", 0, 0, OPT_HELP},
                                      {"version", 0, 0, OPT_VERSION},
                                      {0}};

static fe_status set_flag(arguments *a, int key, const char *flag, const char *text)
{
    static const char *const transports[] = {"nccl", "peer"};
    const char *kinds[FE_N_KIND];
    for (int i = 0; i < FE_N_KIND; i++) kinds[i] = fe_kind_name(i);
    switch (key) {
    case OPT_BACKEND: a->backend = text; return FE_OK;
    case OPT_ROWS: a->rows = text; return FE_OK;
    case OPT_GIVE_UP: a->give_up = text; return FE_OK;
    case OPT_WEAK: a->weak = 1; return FE_OK;
    case OPT_RANKS: return option_whole(flag, text, 1, 4096, &a->ranks);
    case OPT_THREADS: return option_whole(flag, text, 1, 4096, &a->threads);
    case OPT_TRANSPORT: return option_choice(flag, text, transports, 2, &a->transport);
    case OPT_DOFS: return option_whole(flag, text, 1, 2000000000, &a->dofs);
    case OPT_RESTART: return option_whole(flag, text, 1, 1000, &a->restart);
    case OPT_REPETITIONS: return option_whole(flag, text, 1, MOST_REPETITIONS, &a->repetitions);
    case OPT_TIMEOUT: return option_whole(flag, text, 1, 1000000, &a->timeout);
    case OPT_ORDER: return option_choice(flag, text, fe_order_names, FE_N_ORDER, &a->order);
    case OPT_ELEMENTS: return option_list(flag, text, kinds, FE_N_KIND, &a->n_kind, a->kind);
    case OPT_VARIANTS: return option_variants(flag, text, &a->n_variant, a->variant);
    }
    return FE_OK;
}

static fe_status parse(int argc, char **argv, arguments *a)
{
    int key, index = 0;
    FE_ALLOCATE(a->variant, fe_variant_count(), "variants");
    while (a->n_variant < fe_variant_count()) a->variant[a->n_variant] = a->n_variant, a->n_variant++;
    opterr = 0;
    while ((key = getopt_long(argc, argv, ":", flags, &index)) != -1) {
        if (key == '?') return option_unknown("scaling", argv[optind - 1]);
        if (key == ':') return fe_fail(FE_BAD_INPUT, "%s: needs a value", argv[optind - 1]);
        a->done = 1;
        if (key == OPT_HELP) return fputs(help, stdout), FE_OK;
        if (key == OPT_VERSION) return fputs(fe_version_text(), stdout), FE_OK;
        if (key == OPT_CAPACITY)
            return printf("host %d\ncuda %d\n", fe_host_cores(), fe_cuda_devices()), FE_OK;
        if (key == OPT_LIST) {
            for (int i = 0; i < fe_variant_count(); i++) puts(fe_variant_at(i)->name);
            return FE_OK;
        }
        a->done = 0;
        FE_TRY(set_flag(a, key, flags[index].name, optarg));
    }
    return optind < argc
               ? fe_fail(FE_BAD_INPUT, "%s: is not an option; scaling --help lists them", argv[optind])
               : FE_OK;
}

static fe_status run_kinds(const arguments *a, fe_ranks *ranks, task *t)
{
    fe_status status = FE_OK;
    for (int i = 0; i < a->n_kind && status == FE_OK && !ranks->abandoned; i++) {
        t->kind = a->kind[i];
        status = fe_ranks_run(ranks, run_rank, t);
    }
    return status;
}

static fe_status run(const arguments *a, const fe_mpi *mpi)
{
    fe_machine machine;
    fe_ranks ranks = {.threads = a->threads, .mpi = *mpi, .transport = a->transport};
    task t = {.arguments = a, .ranks = &ranks};
    if (a->timeout) fe_comm_timeout = a->timeout;
    FE_TRY(fe_backend_find(a->backend, &ranks.backend));
    FE_TRY(option_ranks(a->ranks, mpi, &ranks.n_rank));
    FE_TRY(fe_ranks_check(&ranks));
    FE_TRY(fe_machine_find(&machine));
    t.machine = machine.slug;
    if (a->rows && mpi->rank == 0) {
        t.rows = fopen(a->rows, "w");
        if (!t.rows) return fe_fail(FE_BAD_INPUT, "%s: %s", a->rows, strerror(errno));
        fe_row_write_header(t.rows);
    }
    if (a->give_up) write_off(&t, &machine);
    const fe_status status = a->give_up ? FE_OK : run_kinds(a, &ranks, &t);
    if (t.rows && (ferror(t.rows) | fclose(t.rows)) && status == FE_OK)
        return fe_fail(FE_FAILED, "%s: could not be written", a->rows);
    return status;
}

int main(int argc, char **argv)
{
    arguments a = {.backend = "host",
                   .dofs = 300000,
                   .n_kind = 1,
                   .kind = {FE_HEX8},
                   .order = FE_ORDER_LEXICOGRAPHIC,
                   .restart = 30,
                   .repetitions = 15};
    fe_mpi mpi = {0};
    fe_program_begin();
    fe_status status = parse(argc, argv, &a);
    const fe_status opened = a.done ? FE_OK : fe_mpi_open(&mpi);
    if (status == FE_OK) status = opened;
    if (status == FE_OK && !a.done) status = run(&a, &mpi);
    const int code = option_exit("scaling", status);
    free(a.variant);
    option_end(code);
    return code;
}
