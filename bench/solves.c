/* The program `solves`: whole solves of one problem with several strategies, in turns on their resident
 * meshes, each answer checked against that of another strategy. Rows like those of `kernels`, behind
 * columns of their own.
 */
#include "bench/solves.h"
#include "bench/conditions.h"
#include "bench/options.h"
#include "bench/turns.h"
#include "common/multigrid/multigrid.h"
#include "common/ranks/ranks.h"
#include "common/report/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_REPETITIONS = WHOLE_MOST_REPETITIONS, MOST_STEPS = 999 };

/* Strategies whose answers are references: two that are fast and share no code. */
static const char *const referees[] = {"corner_gather", "element_atomic"};
enum { N_REFEREE = sizeof referees / sizeof *referees };

/* Displacements of all nodes after each step. */
typedef struct answer {
    int is_known;
    double *u[MOST_STEPS];
} answer;

typedef struct bench {
    const solves_arguments *arguments;
    whole_problem whole;
    const fe_backend *backend;
    FILE *rows, *samples;
    bench_conditions around;
    answer reference[N_REFEREE];
    whole_row row;
} bench;

/* What the observer of a solve collects: repetition 0 is no sample, and each is checked. */
typedef struct collector {
    bench *b;
    answer *keeps;           /* where the answer is to be kept as a reference; NULL: it is compared */
    const answer *reference; /* with this one */
    int repetition;
    double error, work;                   /* work: of the loads, after the last step */
    double begun, user[MOST_REPETITIONS]; /* user time of this process: at the beginning, and since */
    double wall[MOST_REPETITIONS], phase[FE_N_PHASE][MOST_REPETITIONS];
    fe_sample sample[MOST_REPETITIONS]; /* start and conditions */
    int newton_iterations;
    int64_t krylov_iterations, plastic_points;
} collector;

/* --- answers ----------------------------------------------------------------------------------------- */

static fe_status keep(answer *a, int step, size_t n, const double *u)
{
    if (!a->u[step]) FE_ALLOCATE(a->u[step], n, "reference answer");
    memcpy(a->u[step], u, n * sizeof *u);
    return FE_OK;
}

static void begin_sample(collector *c)
{
    if (c->repetition < 1) return;
    fe_sample *s = &c->sample[c->repetition - 1];
    bench_conditions_begin(&c->b->around);
    *s = fe_sample_unknown();
    s->start = bench_utc(), s->calls = 1;
}

/* A wrong answer ends the solve, also one that was timed. The comparison's own time is not the solve's. */
static fe_status compare(collector *c, const fe_step_result *step, const fe_fields *fields)
{
    const double before = whole_user_seconds(), most = c->b->arguments->most_error;
    const double error = whole_error(3 * (size_t)c->b->whole.mesh.n_node, fields->displacement,
                                     c->reference->u[step->step - 1]);
    if (!isnan(c->error) && !(error <= c->error)) c->error = error;
    c->begun += whole_user_seconds() - before;
    if (c->error <= most) return FE_OK;
    return fe_fail(FE_FAILED, "load step %d of repetition %d: error %.3e is above %g", step->step,
                   c->repetition, c->error, most);
}

static fe_status observe(void *context, const fe_step_result *step, const fe_fields *fields)
{
    collector *c = context;
    const size_t n = 3 * (size_t)c->b->whole.mesh.n_node;
    if (!step) { /* the undeformed body: a repetition begins */
        c->repetition++, c->newton_iterations = 0, c->krylov_iterations = 0, c->begun = whole_user_seconds();
        begin_sample(c);
        return FE_OK;
    }
    c->newton_iterations += step->newton_iterations, c->krylov_iterations += step->krylov_iterations;
    c->plastic_points = step->plastic_gp;
    if (step->step == c->b->whole.problem.n_step)
        c->work = whole_work(&c->b->whole, step->factor, fields->displacement);
    if (c->keeps) return keep(c->keeps, step->step - 1, n, fields->displacement);
    if (c->repetition == 0) return compare(c, step, fields);
    const int sample = c->repetition - 1;
    c->wall[sample] += step->wall, c->user[sample] = whole_user_seconds() - c->begun;
    for (int p = 0; p < FE_N_PHASE; p++) c->phase[p][sample] += step->seconds[p];
    if (step->step == c->b->whole.problem.n_step) bench_conditions_end(&c->b->around, &c->sample[sample]);
    return compare(c, step, fields);
}

static fe_benchmark benchmark_of(const solves_arguments *a)
{
    /* phases are told apart */
    return (fe_benchmark){.tells_levels = 1, .fixed_work = a->choice.load == WHOLE_FIXED};
}

static fe_options options_of(const solves_arguments *a, int variant)
{
    fe_options o = fe_default_options();
    o.variant = fe_variant_at(variant)->name, o.backend = a->backend;
    o.ranks = a->ranks, o.threads = a->threads, o.transport = a->transport;
    o.precondition = a->precondition, o.jacobian = a->jacobian, o.products = a->products;
    o.anderson = a->anderson;
    if (a->newton_iterations) o.newton_iterations = a->newton_iterations;
    o.graphs = FE_GRAPHS_OFF; /* phases are told apart */
    if (a->choice.load == WHOLE_LINEAR) o.krylov_tolerance = whole_linear_tolerance, o.tolerance = 1e-7;
    if (a->choice.load == WHOLE_FIXED) {
        o.newton_iterations = 20, o.krylov_iterations = 30;
        o.krylov = FE_KRYLOV_GMRES, o.restart = 30, o.orthogonalization = FE_ORTHOGONALIZATION_DCGS2;
        o.basis = a->basis;
    }
    return o;
}

/* The same on one rank by another strategy. Where the load says how far a solve goes, by another
 * preconditioner, too, and ten times further. */
static fe_options reference_options(const solves_arguments *a, int variant)
{
    fe_options o = options_of(a, variant);
    o.ranks = 1, o.threads = 0, o.jacobian = FE_JACOBIAN_TANGENT, o.anderson = 0, o.products = FE_DOUBLE;
    if (a->choice.load == WHOLE_FIXED) {
        o.orthogonalization = FE_ORTHOGONALIZATION_CGS2, o.basis = FE_BASIS_DOUBLE;
        return o;
    }
    o.precondition =
        a->precondition == FE_PRECONDITION_MULTIGRID ? FE_PRECONDITION_CHEBYSHEV : FE_PRECONDITION_MULTIGRID;
    o.tolerance *= 0.1, o.krylov_tolerance *= 0.1;
    o.newton_iterations = fe_default_options().newton_iterations;
    return o;
}

static int is_there(const bench *b, int i)
{
    const fe_variant *v = fe_variant_at(i);
    return fe_variant_table(v, b->backend->on_gpu, FE_DOUBLE) != NULL &&
           fe_variant_table(v, b->backend->on_gpu, b->arguments->products) != NULL &&
           (!fe_is_quadratic(b->whole.mesh.kind) || v->host->quadratic);
}

/* Which referee checks `variant`, another one; *strategy: its number. -1: there is none. */
static int referee_of(const bench *b, int variant, int *strategy)
{
    for (int k = 0; k < N_REFEREE; k++)
        for (int i = 0; i < fe_variant_count(); i++)
            if (i != variant && is_there(b, i) && !strcmp(fe_variant_at(i)->name, referees[k]))
                return *strategy = i, k;
    return -1;
}

static fe_status find_reference(bench *b, int variant, const answer **reference)
{
    int strategy = 0;
    const int k = referee_of(b, variant, &strategy);
    fe_result result = {0};
    if (k < 0)
        return fe_fail(FE_BAD_INPUT, "there is no strategy that could check %s",
                       fe_variant_at(variant)->name);
    *reference = &b->reference[k];
    if (b->reference[k].is_known) return FE_OK;
    collector c = {.b = b, .keeps = &b->reference[k], .repetition = -1};
    const fe_options o = reference_options(b->arguments, strategy);
    const fe_benchmark load = benchmark_of(b->arguments);
    const fe_observer observer = {&c, FE_FIELDS_DISPLACEMENT, observe};
    const double start = fe_seconds();
    const fe_status status = fe_run_benchmark(&b->whole.problem, &b->whole.mesh, &b->whole.boundary, &o,
                                              &load, &observer, &result);
    option_leave("solves", status);
    fe_result_close(&result);
    if (status != FE_OK) {
        char why[512];
        snprintf(why, sizeof why, "%s", fe_message());
        return fe_fail(status, "reference answer: %s", why);
    }
    b->reference[k].is_known = 1;
    printf("%s: checked against %s with %s, %d Newton and %lld Krylov iterations, %.1f s\n", b->whole.name,
           o.variant, fe_precondition_names[o.precondition], c.newton_iterations,
           (long long)c.krylov_iterations, fe_seconds() - start);
    return FE_OK;
}

/* --- rows -------------------------------------------------------------------------------------------- */

/* Set-ups come behind the solves, whose conditions are not theirs. */
static void write_row(bench *b, const collector *c, const char *operation, int n, const double *seconds)
{
    static fe_sample sample[MOST_REPETITIONS];
    const int of_solve = strstr(operation, "setup") == NULL;
    for (int i = 0; i < n; i++) {
        sample[i] = c && of_solve ? c->sample[i] : fe_sample_unknown();
        sample[i].calls = 1, sample[i].seconds = seconds[i];
    }
    if (c) b->row.newton_iterations = c->newton_iterations, b->row.krylov_iterations = c->krylov_iterations;
    whole_row_write(b->rows, b->samples, &b->row, operation, n, sample);
}

/* Of multigrid's transfers and levels those that there are; what ranks tell each other, of several. */
static int is_used(const collector *c, int phase)
{
    if (phase == FE_PHASE_EXCHANGE || phase == FE_PHASE_REDUCTION) return c->b->arguments->ranks > 1;
    return phase < FE_PHASE_PRECONDITION_COARSE || phase > FE_PHASE_EXCHANGE || c->phase[phase][0] > 0.0;
}

/* Phases, what is left of the solve beside them, the whole, and set-ups. */
static void write_phases(bench *b, collector *c, const turns_solve *solve)
{
    const int n = b->arguments->repetitions;
    const fe_result *result = &solve->result;
    double rest[MOST_REPETITIONS];
    for (int i = 0; i < n; i++) {
        rest[i] = c->wall[i] + c->phase[FE_PHASE_HOST][i];
        for (int p = 0; p < FE_N_PHASE; p++) rest[i] -= c->phase[p][i];
        if (rest[i] < 0.0) rest[i] = 0.0; /* two clocks */
    }
    for (int p = 0; p < FE_N_PHASE; p++)
        if (is_used(c, p)) write_row(b, c, fe_phase_names[p], n, p == FE_PHASE_HOST ? rest : c->phase[p]);
    write_row(b, c, "solve", n, c->wall);
    if (!b->backend->on_gpu) write_row(b, c, "solve_user", n, c->user);
    if (result->n_hierarchy)
        write_row(b, c, "precondition_setup", result->n_hierarchy, result->hierarchy_seconds);
    write_row(b, c, "first_setup", 1, &solve->first_setup);
    if (solve->n_setup) write_row(b, c, "setup", solve->n_setup, solve->setup);
}

/* Of those behind the solves; of the run where there are none. */
static double median_setup(const turns_solve *solve)
{
    double seconds[WHOLE_MOST_REPETITIONS];
    if (solve->n_setup == 0) return solve->first_setup;
    memcpy(seconds, solve->setup, sizeof seconds);
    return fe_statistics_of(solve->n_setup, seconds).median;
}

static void describe(bench *b, const turns_solve *solve, const collector *c)
{
    fe_row *r = &b->row.row;
    const fe_mesh *mesh = &b->whole.mesh;
    const fe_result *result = &solve->result;
    b->row.moved = result->moved, b->row.interface = result->quality.ghosts;
    r->threads = result->threads;
    r->bytes = (double)result->bytes_resident;
    r->numbering = result->order;
    r->setup_seconds = median_setup(solve);
    r->plastic_measured = (double)c->plastic_points / ((double)mesh->n_elem * fe_points(mesh->kind));
    r->error = c->error, b->row.work = c->work;
}

static const char *status_of(fe_status status)
{
    return status == FE_OUT_OF_MEMORY ? "out_of_memory" : "failed";
}

/* A solve that could not be timed. */
static fe_status give_up(bench *b, const collector *c, const char *status)
{
    b->row.row.status = status;
    write_row(b, c, "solve", 0, NULL);
    return FE_OK;
}

/* --- strategies -------------------------------------------------------------------------------------- */

/* Solves of a strategy, then those with iterations recorded, on the same resident mesh. */
enum { PLAIN, RECORDED, N_WAY };
typedef struct entrant {
    int variant, way, attempt; /* way: of the repetition at work; attempt: of turns_solve */
    const answer *reference;
    collector *c[N_WAY];
    fe_moved moved; /* of the last plain one, where recorded ones followed */
    turns_solve solve;
} entrant;

static int plain_repetitions(const entrant *e)
{
    return e->solve.benchmark.repetitions - e->solve.benchmark.recorded;
}

/* Of a run, which may be the second one. */
static void begin_samples(entrant *e)
{
    for (int way = 0; way < N_WAY; way++)
        *e->c[way] = (collector){.b = e->c[way]->b, .reference = e->reference, .repetition = -1, .work = NAN};
    e->way = PLAIN, e->attempt = e->solve.attempt;
}

static fe_status observe_ways(void *context, const fe_step_result *step, const fe_fields *fields)
{
    entrant *e = context;
    if (!step && e->attempt != e->solve.attempt) begin_samples(e);
    if (!step && e->way == PLAIN && e->c[PLAIN]->repetition + 1 == plain_repetitions(e))
        e->way = RECORDED, e->moved = e->solve.result.moved;
    return observe(e->c[e->way], step, fields);
}

/* The first repetition of each way is no sample. */
static fe_status open_entrant(bench *b, entrant *e)
{
    turns_solve *s = &e->solve;
    const int each = 1 + b->arguments->repetitions;
    for (int way = 0; way < N_WAY; way++) {
        FE_ALLOCATE(e->c[way], 1, "samples");
        e->c[way]->b = b;
    }
    begin_samples(e);
    s->whole = &b->whole, s->options = options_of(b->arguments, e->variant);
    s->benchmark = benchmark_of(b->arguments);
    s->benchmark.recorded = b->backend->recording.begin ? each : 0;
    s->benchmark.repetitions = each + s->benchmark.recorded;
    s->benchmark.setups = b->arguments->repetitions;
    s->observer = (fe_observer){e, FE_FIELDS_DISPLACEMENT, observe_ways};
    return FE_OK;
}

/* ok, or why a way has no times. */
static const char *name_of(const bench *b, const entrant *e, int way)
{
    if (!(e->c[way]->error <= b->arguments->most_error)) return "check_failed";
    const fe_status status = way == e->way ? e->solve.status : FE_OK;
    return status == FE_OK ? "ok" : status_of(status);
}

static fe_status write_plain(bench *b, entrant *e)
{
    const char *status = name_of(b, e, PLAIN);
    collector *c = e->c[PLAIN];
    b->row.row.variant = e->solve.options.variant, b->row.row.status = "ok";
    describe(b, &e->solve, c);
    if (e->way == RECORDED) b->row.moved = e->moved;
    if (!strcmp(status, "ok")) return write_phases(b, c, &e->solve), FE_OK;
    if (strcmp(status, "check_failed")) b->row.row.bytes = 0.0, b->row.row.error = b->row.work = NAN;
    return give_up(b, c, status);
}

static void write_recorded(bench *b, entrant *e)
{
    collector *c = e->c[RECORDED];
    const char *status = name_of(b, e, RECORDED);
    b->row.row.error = c->error, b->row.row.status = status;
    b->row.moved = e->solve.result.moved;
    write_row(b, c, "solve_graph", strcmp(status, "ok") ? 0 : b->arguments->repetitions, c->wall);
}

static fe_status write_entrant(bench *b, entrant *e)
{
    const turns_solve *s = &e->solve;
    if (s->status != FE_OK && !fe_ranks_stranded())
        fprintf(stderr, "solves: %s: %s\n", s->options.variant, s->message);
    FE_TRY(write_plain(b, e));
    if (e->way == RECORDED) write_recorded(b, e);
    return FE_OK;
}

/* Ends the program here if a rank was abandoned, behind the row of its strategy. */
static void leave(bench *b, int n, entrant *list)
{
    for (int i = 0; i < n && fe_ranks_stranded(); i++) {
        const turns_solve *s = &list[i].solve;
        if (!list[i].c[PLAIN] || s->status == FE_OK || s->status == FE_INTERRUPTED) continue;
        write_entrant(b, &list[i]);
        const fe_status status = fe_fail(s->status, "%s", s->message);
        option_leave("solves", status);
    }
}

/* Solves of all in turns. */
static fe_status run_entrants(bench *b, int n, entrant *list)
{
    turns_solve **solves = NULL;
    int interrupted = 0;
    FE_ALLOCATE(solves, n, "strategies");
    fe_status status = FE_OK;
    for (int i = 0; i < n && status == FE_OK; i++)
        status = open_entrant(b, &list[i]), solves[i] = &list[i].solve;
    if (status == FE_OK) status = turns_take(n, solves);
    leave(b, n, list);
    for (int i = 0; i < n && status == FE_OK; i++) interrupted |= list[i].solve.status == FE_INTERRUPTED;
    if (status == FE_OK && !interrupted) status = turns_set_up(b->arguments->repetitions, n, solves);
    free(solves);
    if (interrupted) return fe_fail(FE_INTERRUPTED, "interrupted");
    for (int i = 0; i < n && status == FE_OK; i++) status = write_entrant(b, &list[i]);
    return status;
}

/* --- one problem ------------------------------------------------------------------------------------- */

static void print_part(int rank, int level, const char *name, double seconds)
{
    printf("set-up, rank %d, level %d: %-16s %8.3f ms\n", rank, level, name, 1e3 * seconds);
}

static fe_status open_bench(bench *b, const fe_machine *machine)
{
    const solves_arguments *a = b->arguments;
    FE_TRY(fe_backend_find(a->backend, &b->backend));
    FE_TRY(whole_open(&a->choice, FE_ORDER_AS_IS, &b->whole));
    if (b->whole.problem.n_step > MOST_STEPS)
        return fe_fail(FE_BAD_INPUT, "%s: %d load steps are more than %d", a->choice.problem,
                       b->whole.problem.n_step, MOST_STEPS);
    const fe_ranks ranks = {.backend = b->backend, .n_rank = a->ranks, .transport = a->transport};
    if (a->ranks > 1 && fe_ranks_transport(&ranks) == FE_TRANSPORT_PEER) {
        const size_t n = strlen(b->whole.name);
        snprintf(b->whole.name + n, sizeof b->whole.name - n, "-peer");
    }
    whole_row_open(&b->whole, machine->slug, b->backend->on_gpu ? machine->gpu : machine->cpu, &b->row);
    b->row.krylov = a->jacobian == FE_JACOBIAN_DIFFERENCE ? "gmres"
                    : a->choice.load != WHOLE_FIXED       ? "cg"
                    : a->basis == FE_BASIS_SINGLE         ? "gmres_single"
                                                          : "gmres";
    b->row.precondition = fe_precondition_names[a->precondition];
    b->row.jacobian = solves_jacobian_names[a->jacobian], b->row.anderson = a->anderson;
    b->row.row.precision = fe_precision_name(a->products);
    b->row.row.backend = a->backend, b->row.row.order = fe_order_names[FE_ORDER_AUTO];
    b->row.row.ranks = a->ranks, b->row.row.threads = a->threads, b->row.row.process = a->process;
    if (!a->give_up) bench_conditions_open(b->backend, &b->around);
    return FE_OK;
}

static void close_bench(bench *b)
{
    for (int k = 0; k < N_REFEREE; k++)
        for (int i = 0; i < MOST_STEPS; i++) free(b->reference[k].u[i]);
    whole_close(&b->whole);
}

/* Strategies with a reference, in list; rows of the others. Without a reference none can be checked. */
static fe_status enlist(bench *b, int *n, entrant *list)
{
    const solves_arguments *a = b->arguments;
    fe_status status = FE_OK; /* of the reference */
    for (int i = 0; i < a->n_variant; i++) {
        entrant *e = &list[*n];
        if (!is_there(b, a->variant[i])) continue;
        b->row.row.variant = fe_variant_at(a->variant[i])->name;
        if (a->give_up) {
            FE_TRY(give_up(b, NULL, a->give_up));
            continue;
        }
        if (status == FE_OK) status = find_reference(b, a->variant[i], &e->reference);
        if (status == FE_INTERRUPTED) return status;
        b->row.newton_iterations = -1, b->row.moved = (fe_moved){0};
        b->row.row.bytes = 0.0, b->row.row.error = b->row.work = NAN;
        if (status != FE_OK)
            FE_TRY(give_up(b, NULL, status_of(status)));
        else
            e->variant = a->variant[i], ++*n;
    }
    return status;
}

static fe_status run_variants(bench *b, const fe_machine *machine)
{
    const solves_arguments *a = b->arguments;
    entrant *list = NULL;
    int n = 0;
    FE_TRY(open_bench(b, machine));
    printf("%s, %s, %d ranks: %d nodes, %d elements\n%-18s %-20s %12s %22s\n", b->whole.name,
           b->row.row.element, a->ranks, b->whole.mesh.n_node, b->whole.mesh.n_elem, "variant", "operation",
           "median ms", "95 % interval ms");
    FE_ALLOCATE(list, a->n_variant, "strategies");
    const fe_status enlisted = enlist(b, &n, list);
    fe_status status = enlisted != FE_INTERRUPTED && n ? run_entrants(b, n, list) : FE_OK;
    if (status == FE_OK) status = enlisted;
    for (int i = 0; i < n; i++) {
        fe_result_close(&list[i].solve.result);
        for (int way = 0; way < N_WAY; way++) free(list[i].c[way]);
    }
    free(list);
    return status;
}

static fe_status run(const solves_arguments *a)
{
    fe_machine machine;
    bench *b = NULL;
    option_catch_interrupts();
    FE_TRY(fe_machine_find(0, &machine));
    FE_ALLOCATE(b, 1, "solves");
    b->arguments = a;
    fe_status status = a->rows ? fe_rows_open(a->rows, WHOLE_COLUMNS, &b->rows) : FE_OK;
    if (status == FE_OK && a->samples) status = fe_rows_open(a->samples, WHOLE_SAMPLE_COLUMNS, &b->samples);
    if (status == FE_OK) status = run_variants(b, &machine);
    const int lost = b->rows && (ferror(b->rows) | fclose(b->rows));
    const int lost_samples = b->samples && (ferror(b->samples) | fclose(b->samples));
    close_bench(b);
    free(b);
    if (status == FE_OK && (lost || lost_samples))
        return fe_fail(FE_FAILED, "%s: could not be written", lost ? a->rows : a->samples);
    return status;
}

int main(int argc, char **argv)
{
    solves_arguments a = {.backend = "host",
                          .choice = {.element = FE_HEX8},
                          .precondition = FE_PRECONDITION_MULTIGRID,
                          .ranks = 1,
                          .repetitions = 7,
                          .process = 1,
                          .most_error = 1e-6};
    fe_program_begin();
    fe_status status = solves_parse(argc, argv, &a);
    if (status == FE_OK && !a.done) status = fe_mpi_refuse(a.asked, 0);
    if (a.parts) fe_multigrid_tell_part = print_part;
    if (status == FE_OK && !a.done) status = run(&a);
    const int code = option_exit("solves", status);
    free(a.variant);
    option_end(code);
    return code;
}
