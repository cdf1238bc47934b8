/* The program `solve`: one problem, one result. */
#include "bench/answer.h"
#include "bench/doubts.h"
#include "bench/options.h"
#include "bench/output.h"
#include "common/backend/device.h"
#include "common/base/cores.h"
#include "common/ranks/ranks.h"
#include "common/report/version.h"
#include "common/solver/run.h"
#include "common/variant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: solve PROBLEM.json [options]\n"
    "Solves a small-strain J2 plasticity problem on a Gmsh mesh, one backward-Euler increment per load\n"
    "factor.\n"
    "\n"
    "  --mesh FILE               MSH 2.2 or 4.1; default: the first mesh that the problem lists\n"
    "  --variant NAME            assembly strategy (patch); --list prints all\n"
    "  --backend host|cuda       where it runs (host)\n"
    "  --ranks N                 partitions (1): threads of this process, with one GPU each on cuda; under\n"
    "                            mpirun or srun the processes that they start\n"
    "  --threads N               OpenMP threads of each rank (cores / ranks, at most OMP_NUM_THREADS,\n"
    "                            fewer for small meshes where that is not set)\n"
    "  --transport KIND          between GPUs: auto (default): peer where NVLink joins all, else nccl;\n"
    "                            nccl; peer (they write into each other's memory; --ranks only)\n"
    "  --partition METHOD        auto (default): metis, in builds without it bisection, but contiguous\n"
    "                            where that computes fewer elements twice; contiguous, metis, bisection\n"
    "  --order ORDER             of nodes and elements in memory; output keeps the file's: auto (default:\n"
    "                            what suits the strategy), as-is, lexicographic, rcm, morton, bisection,\n"
    "                            random\n"
    "  --tet-points 1|4          quadrature points of Tet4 (1)\n"
    "  --jacobian KIND           tangent (default), difference, elastic (frozen: modified Newton)\n"
    "  --predictor KIND          where an increment begins: extrapolated (default; elastic where the load\n"
    "                            turns), elastic\n"
    "  --krylov METHOD           auto (default): cg where the Jacobian is symmetric, gmres where it is a\n"
    "                            difference; gmres, cg\n"
    "  --restart M               basis length of gmres (30)\n"
    "  --orthogonalization KIND  mgs (default), cgs2, dcgs2 (one reduction per iteration)\n"
    "  --basis PRECISION         what gmres stores its basis in: double (default), single; it computes in\n"
    "                            double\n"
    "  --measure-orthogonality   of gmres's bases, for the result; it takes time\n"
    "  --precondition KIND       auto (default: block-jacobi below 1000 nodes, else multigrid), none,\n"
    "                            block-jacobi, chebyshev (four sweeps on block-jacobi), multigrid\n"
    "                            (smoothed aggregation), direct (factors of the elastic matrix, by\n"
    "                            SuperLU on the host). Where one fails, multigrid takes over, then direct\n"
    "                            if it fits: said\n"
    "  --products PRECISION      of linear solves: double (default), mixed (an element computes in\n"
    "                            floats). The residual is then computed in double precision, again and\n"
    "                            again until it is as small as asked; where that makes no progress,\n"
    "                            doubles take over: said\n"
    "  --krylov-tolerance T      relative residual of linear solves, or auto (default): Eisenstat-Walker\n"
    "  --krylov-iterations N     limit of iterations of one linear solve (20000)\n"
    "  --graphs, --no-graphs     Krylov iterations as CUDA graphs (on GPUs: yes). Their time is then not\n"
    "                            split into phases\n"
    "  --tolerance T             Newton: residual over the largest force so far (1e-9)\n"
    "  --newton-iterations N     limit of iterations of one increment (60)\n"
    "  --no-line-search          always take the whole Newton step\n"
    "  --anderson M              Anderson acceleration with M differences (0): for --jacobian elastic\n"
    "  --fixed-work              all iterations that --newton-iterations and --krylov-iterations allow,\n"
    "                            whatever comes out, and every step whole: a load for benchmarks\n"
    "  --substep                 take a load step that fails in pieces, halved where they fail, doubled\n"
    "                            where they are easy (said: it changes the increments)\n"
    "  --progress SECONDS        a load step that takes longer says where it is, then after twice as\n"
    "                            long, … (10)\n"
    "  --timeout SECONDS         a rank that does not answer for so long has failed (60)\n"
    "  --result FILE.json        result, complete after every load step; its status is \"running\" until\n"
    "                            the end. FILE.json.state, written after every step, is what a run can be\n"
    "                            resumed from\n"
    "  --resume FILE.json        go on after the last accepted step of that result, and complete it;\n"
    "                            problem, mesh and version must be the same. Give --output again, too\n"
    "  --no-state                keep no state: saves its file and the time to write it\n"
    "  --steps N                 stop after load step N (all), and keep its state: --resume goes on, and\n"
    "                            kernels --fe_state times operations on it\n"
    "  --output DIR              ParaView series of the fields\n"
    "  --output-points           also the stress of every integration point\n"
    "  --curve FILE.csv          a row for each load step: factors, probes, reactions, energies\n"
    "  --verbose                 one line per Newton iteration\n"
    "  --list --help --version\n"
    "\n"
    "exit: 0 every load step converged; 1 the run failed (accepted steps are written); 2 bad input;\n"
    "      130 interrupted (accepted steps are written)\n";

enum {
    OPT_MESH = 256,
    OPT_VARIANT,
    OPT_BACKEND,
    OPT_RANKS,
    OPT_THREADS,
    OPT_TRANSPORT,
    OPT_PARTITION,
    OPT_ORDER,
    OPT_TET_POINTS,
    OPT_JACOBIAN,
    OPT_PREDICTOR,
    OPT_KRYLOV,
    OPT_RESTART,
    OPT_ORTHOGONALIZATION,
    OPT_BASIS,
    OPT_PRODUCTS,
    OPT_MEASURE_ORTHOGONALITY,
    OPT_PRECONDITION,
    OPT_KRYLOV_TOLERANCE,
    OPT_KRYLOV_ITERATIONS,
    OPT_GRAPHS,
    OPT_NO_GRAPHS,
    OPT_TOLERANCE,
    OPT_NEWTON_ITERATIONS,
    OPT_NO_LINE_SEARCH,
    OPT_ANDERSON,
    OPT_FIXED_WORK,
    OPT_SUBSTEP,
    OPT_PROGRESS,
    OPT_TIMEOUT,
    OPT_RESULT,
    OPT_RESUME,
    OPT_NO_STATE,
    OPT_STEPS,
    OPT_OUTPUT,
    OPT_OUTPUT_POINTS,
    OPT_CURVE,
    OPT_VERBOSE,
    OPT_LIST,
    OPT_HELP,
    OPT_VERSION
};

static const struct option flags[] = {{"mesh", 1, 0, OPT_MESH},
                                      {"variant", 1, 0, OPT_VARIANT},
                                      {"backend", 1, 0, OPT_BACKEND},
                                      {"ranks", 1, 0, OPT_RANKS},
                                      {"threads", 1, 0, OPT_THREADS},
                                      {"transport", 1, 0, OPT_TRANSPORT},
                                      {"partition", 1, 0, OPT_PARTITION},
                                      {"order", 1, 0, OPT_ORDER},
                                      {"tet-points", 1, 0, OPT_TET_POINTS},
                                      {"jacobian", 1, 0, OPT_JACOBIAN},
                                      {"predictor", 1, 0, OPT_PREDICTOR},
                                      {"krylov", 1, 0, OPT_KRYLOV},
                                      {"restart", 1, 0, OPT_RESTART},
                                      {"orthogonalization", 1, 0, OPT_ORTHOGONALIZATION},
                                      {"basis", 1, 0, OPT_BASIS},
                                      {"products", 1, 0, OPT_PRODUCTS},
                                      {"measure-orthogonality", 0, 0, OPT_MEASURE_ORTHOGONALITY},
                                      {"precondition", 1, 0, OPT_PRECONDITION},
                                      {"krylov-tolerance", 1, 0, OPT_KRYLOV_TOLERANCE},
                                      {"krylov-iterations", 1, 0, OPT_KRYLOV_ITERATIONS},
                                      {"graphs", 0, 0, OPT_GRAPHS},
                                      {"no-graphs", 0, 0, OPT_NO_GRAPHS},
                                      {"tolerance", 1, 0, OPT_TOLERANCE},
                                      {"newton-iterations", 1, 0, OPT_NEWTON_ITERATIONS},
                                      {"no-line-search", 0, 0, OPT_NO_LINE_SEARCH},
                                      {"anderson", 1, 0, OPT_ANDERSON},
                                      {"fixed-work", 0, 0, OPT_FIXED_WORK},
                                      {"substep", 0, 0, OPT_SUBSTEP},
                                      {"progress", 1, 0, OPT_PROGRESS},
                                      {"timeout", 1, 0, OPT_TIMEOUT},
                                      {"result", 1, 0, OPT_RESULT},
                                      {"resume", 1, 0, OPT_RESUME},
                                      {"no-state", 0, 0, OPT_NO_STATE},
                                      {"steps", 1, 0, OPT_STEPS},
                                      {"output", 1, 0, OPT_OUTPUT},
                                      {"output-points", 0, 0, OPT_OUTPUT_POINTS},
                                      {"curve", 1, 0, OPT_CURVE},
                                      {"verbose", 0, 0, OPT_VERBOSE},
                                      {"list", 0, 0, OPT_LIST},
                                      {"help", 0, 0, OPT_HELP},
                                      {"version", 0, 0, OPT_VERSION},
                                      {0}};

typedef struct arguments {
    fe_options options;
    fe_benchmark benchmark;
    const char *problem, *mesh, *result, *resume, *output, *curve;
    char *command, *flags; /* as typed, quoted for a shell: all words, and those of flags alone */
    int done, ranks, timeout, no_state, points, steps; /* 0: not given */
    double begin;                                      /* of the program */
} arguments;

static int is_plain(const char *word)
{
    return *word &&
           !word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%")];
}

/* Joins the words with blanks; words that a shell would split are quoted. */
static fe_status join_words(int n, char **word, char **line)
{
    size_t length = 1;
    for (int i = 0; i < n; i++) length += 4 * strlen(word[i]) + 3;
    FE_ALLOCATE(*line, length, "command line");
    char *at = *line;
    for (int i = 0; i < n; i++) {
        const char *quote = is_plain(word[i]) ? "" : "'";
        at += sprintf(at, "%s%s", i ? " " : "", quote);
        for (const char *c = word[i]; *c; c++) at += sprintf(at, *c == '\'' ? "'\\''" : "%c", *c);
        at += sprintf(at, "%s", quote);
    }
    return FE_OK;
}

#define CHOICE(out, ...)                                                                                     \
    do {                                                                                                     \
        static const char *const choices[] = {__VA_ARGS__};                                                  \
        return option_choice(flag, text, choices, (int)(sizeof choices / sizeof *choices), (out));           \
    } while (0)

static fe_status set_flag(arguments *a, int key, const char *flag, const char *text)
{
    fe_options *o = &a->options;
    int whole;
    switch (key) {
    case OPT_MESH: a->mesh = text; return FE_OK;
    case OPT_VARIANT: o->variant = text; return FE_OK;
    case OPT_BACKEND: o->backend = text; return FE_OK;
    case OPT_RESULT: a->result = text; return FE_OK;
    case OPT_RESUME: a->resume = text; return FE_OK;
    case OPT_NO_STATE: a->no_state = 1; return FE_OK;
    case OPT_STEPS: return option_whole(flag, text, 1, 100000000, &a->steps);
    case OPT_OUTPUT: a->output = text; return FE_OK;
    case OPT_OUTPUT_POINTS: a->points = 1; return FE_OK;
    case OPT_CURVE: a->curve = text; return FE_OK;
    case OPT_RANKS: return option_whole(flag, text, 1, 4096, &a->ranks);
    case OPT_PROGRESS:
        FE_TRY(option_whole(flag, text, 1, 1000000, &whole));
        o->progress = whole;
        return FE_OK;
    case OPT_TIMEOUT: return option_whole(flag, text, 1, 1000000, &a->timeout);
    case OPT_THREADS: return option_whole(flag, text, 1, 4096, &o->threads);
    case OPT_RESTART: return option_whole(flag, text, 1, 1000, &o->restart);
    case OPT_KRYLOV_ITERATIONS: return option_whole(flag, text, 1, 100000000, &o->krylov_iterations);
    case OPT_NEWTON_ITERATIONS: return option_whole(flag, text, 1, 100000, &o->newton_iterations);
    case OPT_ANDERSON: return option_whole(flag, text, 0, 16, &o->anderson);
    case OPT_TOLERANCE: return option_share(flag, text, &o->tolerance);
    case OPT_KRYLOV_TOLERANCE:
        o->krylov_tolerance = 0.0;
        return strcmp(text, "auto") ? option_share(flag, text, &o->krylov_tolerance) : FE_OK;
    case OPT_NO_LINE_SEARCH: o->line_search = 0; return FE_OK;
    case OPT_GRAPHS: o->graphs = FE_GRAPHS_ON; return FE_OK;
    case OPT_NO_GRAPHS: o->graphs = FE_GRAPHS_OFF; return FE_OK;
    case OPT_FIXED_WORK: a->benchmark.fixed_work = 1; return FE_OK;
    case OPT_SUBSTEP: o->substep = 1; return FE_OK;
    case OPT_VERBOSE: o->verbose = 1; return FE_OK;
    case OPT_TRANSPORT: return option_choice(flag, text, fe_transport_names, FE_N_TRANSPORT, &o->transport);
    case OPT_PARTITION: return option_choice(flag, text, fe_partition_names, FE_N_PARTITION, &o->partition);
    case OPT_JACOBIAN: CHOICE(&o->jacobian, "tangent", "difference", "elastic");
    case OPT_PREDICTOR: CHOICE(&o->predictor, "extrapolated", "elastic");
    case OPT_KRYLOV: CHOICE(&o->krylov, "auto", "gmres", "cg");
    case OPT_ORTHOGONALIZATION:
        return option_choice(flag, text, fe_orthogonalization_names, FE_N_ORTHOGONALIZATION,
                             &o->orthogonalization);
    case OPT_BASIS: return option_choice(flag, text, fe_basis_names, FE_N_BASIS, &o->basis);
    case OPT_PRODUCTS: CHOICE(&o->products, "double", "mixed");
    case OPT_MEASURE_ORTHOGONALITY: a->benchmark.measure_orthogonality = 1; return FE_OK;
    case OPT_PRECONDITION:
        return option_choice(flag, text, fe_precondition_names, FE_N_PRECONDITION, &o->precondition);
    case OPT_ORDER:
        FE_TRY(option_choice(flag, text, fe_order_names, FE_N_ORDER + 1, &whole));
        o->order = (fe_order)whole;
        return FE_OK;
    case OPT_TET_POINTS:
        FE_TRY(option_whole(flag, text, 1, 4, &o->tet_points));
        return o->tet_points == 1 || o->tet_points == 4
                   ? FE_OK
                   : fe_fail(FE_BAD_INPUT, "--tet-points %s: is neither 1 nor 4", text);
    }
    return FE_OK;
}

static void list_variants(void)
{
    for (int i = 0; i < fe_variant_count(); i++) {
        const fe_variant *v = fe_variant_at(i);
        printf("%-16s %s%s (%s%s)\n", v->name, v->summary, v->deterministic ? "; deterministic" : "",
               v->host ? "host" : "", v->cuda ? " cuda" : "");
    }
}

static fe_status parse(int argc, char **argv, arguments *a)
{
    int key, index = 0;
    FE_TRY(join_words(argc, argv, &a->command)); /* getopt moves the problem behind the flags */
    while (1) {
        FE_TRY(option_next("solve", argc, argv, flags, &key, &index));
        if (key < 0) break;
        a->done = 1;
        if (key == OPT_HELP) return fputs(help, stdout), FE_OK;
        if (key == OPT_VERSION) return fputs(fe_version_text(), stdout), FE_OK;
        if (key == OPT_LIST) return list_variants(), FE_OK;
        a->done = 0;
        FE_TRY(set_flag(a, key, flags[index].name, optarg));
    }
    if (optind == argc)
        return fe_fail(FE_BAD_INPUT, "no problem file; usage: solve PROBLEM.json (solve --help)");
    if (optind + 1 < argc) return fe_fail(FE_BAD_INPUT, "%s: a second problem file", argv[optind + 1]);
    a->problem = argv[optind];
    if (a->resume && a->result && strcmp(a->resume, a->result))
        return fe_fail(FE_BAD_INPUT, "--result %s: --resume %s is the result, too", a->result, a->resume);
    if (a->resume) a->result = a->resume;
    if (a->points && !a->output)
        return fe_fail(FE_BAD_INPUT, "--output-points: needs --output, where the fields go");
    return join_words(optind - 1, argv + 1, &a->flags);
}

/* Writes the results of a step, and prints a line about it. */
typedef struct writer {
    output *output;
    fe_result *result;
    doubts doubts;
} writer;

/* The lines before the first step. Names come from files. */
static void introduce(const writer *w)
{
    const fe_result *r = w->result;
    char line[FE_MESSAGE_LENGTH];
    snprintf(line, sizeof line, "%s on %s", r->problem->name, r->mesh->path);
    printf("%s: %d nodes, %d %s; %s on %s\n", fe_printable(line), r->mesh->n_node, r->mesh->n_elem,
           r->element, r->variant, r->backend);
    if (r->n_before) printf("goes on after load step %d of %d\n", r->n_before, r->problem->n_step);
    if (r->ranks > 1)
        printf("%d ranks (%s), %s partition: elements %.3f of their mean at most, %.2f %% computed again; "
               "%.2f %% ghosts; %d neighbours at most\n",
               r->ranks, r->communication, r->partition, r->quality.imbalance, 100.0 * r->quality.duplicates,
               100.0 * r->quality.ghosts, r->quality.most_neighbors);
    printf("step     newton     krylov         max|u|       max peeq  plastic gp   seconds\n");
    fflush(stdout); /* a step may take long: what is known stands in a file before */
}

/* Before the first step all that can be refused has been accepted: only now an older result is replaced, and
 * a place that cannot be written is still found before the work. */
static fe_status write_step(void *context, const fe_step_result *step, const fe_fields *fields)
{
    writer *w = context;
    w->result->status = "running";
    if (!step) {
        FE_TRY(output_begin(w->output, w->result, fields));
        introduce(w);
        return doubts_begin(&w->doubts, w->result);
    }
    FE_TRY(output_step(w->output, w->result, step, fields));
    double seconds = 0.0;
    for (int p = 0; p < FE_N_PHASE; p++) seconds += step->seconds[p];
    printf("%4d  %9d  %9lld  %.6e  %.6e  %10lld  %8.3f\n", step->step, step->newton_iterations,
           (long long)step->krylov_iterations, step->max_abs_u, step->max_peeq, (long long)step->plastic_gp,
           seconds);
    fflush(stdout);
    doubts_step(&w->doubts, w->result, step);
    return FE_OK;
}

static fe_status keep_state(void *context, fe_checkpoint *state)
{
    return output_keep(((writer *)context)->output, state);
}

/* Threads wait for each other many times in an iteration, and wait long where others use the cores. A thread
 * that nobody asked for gets work that is worth it: on 2 cores that 10 processes share, 2 threads took 1.46
 * times as long as one for 1000 Hex8, 1.02 times for 2200, 0.91 times for 4100 and 0.66 times for 22000. */
static int threads_for(const fe_options *o, const fe_mesh *mesh)
{
    enum { LEAST_ELEMENTS = 1000 };
    if (o->threads || fe_threads_asked()) return o->threads;
    const fe_ranks ranks = {.backend = &fe_backend_host, .n_rank = o->ranks, .mpi = o->mpi};
    const int most = fe_ranks_threads(&ranks), useful = mesh->n_elem / o->ranks / LEAST_ELEMENTS;
    return useful < 1 ? 1 : useful < most ? useful : most;
}

/* The problem up to the load step where the user wants to stop. */
static fe_status stop_early(const arguments *a, const output *o, fe_case *c)
{
    if (!a->steps) return FE_OK;
    if (a->steps > c->n_step)
        return fe_fail(FE_BAD_INPUT, "--steps %d: %s has %d load steps", a->steps, c->file, c->n_step);
    if (a->steps < o->from.head.n_step)
        return fe_fail(FE_BAD_INPUT, "--steps %d: %s has %d load steps already", a->steps, o->result,
                       (int)o->from.head.n_step);
    c->n_step = a->steps;
    return FE_OK;
}

static fe_status solve(const arguments *a, fe_case *c, fe_mesh *mesh, fe_boundary *b, fe_result *result,
                       output *out, const char *path)
{
    const int first = a->options.mpi.rank == 0; /* the others compute only */
    const int n_step = c->n_step;
    int done;
    writer w = {out, result, {.tet_points = a->options.tet_points}};
    FE_TRY(output_spares_inputs(out, path));
    if (first) FE_TRY(output_lock(out));
    FE_TRY(fe_mesh_read(path, first, mesh));
    FE_TRY(output_identify(out, a->options.order, a->options.tet_points, &done));
    FE_TRY(output_agree(out, &a->options.mpi, done));
    if (done && first) printf("%s: all %d load steps are done\n", out->result, c->n_step);
    if (done) return first ? output_open(out, result) : FE_OK; /* removes what killed runs left beside it */
    FE_TRY(stop_early(a, out, c));
    fe_identity_inputs(&out->identity, result->inputs);
    FE_TRY(fe_boundary_apply(c, mesh, b));
    if (b->note && first) fe_note("%s", b->note);
    if (b->material_note && first) fe_note("%s", b->material_note);
    if (b->contact_note && first) fe_note("%s", b->contact_note);
    const fe_result of = {.problem = c, .mesh = mesh, .boundary = b};
    if (first) FE_TRY(output_open(out, &of));
    fe_options options = a->options;
    options.threads = threads_for(&options, mesh);
    if (out->from.head.n_step) options.resume = &out->from;
    const fe_observer observer = {.context = &w,
                                  .wants_fields = a->output ? FE_FIELDS_ALL : FE_FIELDS_NONE,
                                  .stress = a->points ? FE_STRESS_OF_POINTS : FE_STRESS_AT_NODES,
                                  .step = write_step,
                                  .keep = out->keeps_state ? keep_state : NULL};
    const fe_status status = fe_run_benchmark(c, mesh, b, &options, &a->benchmark, &observer, result);
    if (status == FE_OK && c->n_step < n_step) result->status = "interrupted";
    c->n_step = n_step;
    if (status == FE_BAD_INPUT || !first || !result->problem) { /* an older result stays */
        option_leave("solve", status);
        return status;
    }
    char message[FE_MESSAGE_LENGTH];
    snprintf(message, sizeof message, "%s", fe_message());
    doubts_explain(result, message);
    const fe_status written = output_end(out, result);
    const int moved = !strcmp(a->options.backend, "cuda") || a->options.verbose;
    if (*result->device) answer_print(result, fe_seconds() - a->begin, moved); /* else it never had one */
    if (status == FE_OK) return written;
    fe_fail(status, "%s", message);
    option_leave("solve", status);
    return status;
}

static fe_status run(const arguments *a)
{
    fe_case c = {0};
    fe_mesh mesh = {0};
    fe_boundary b = {0};
    fe_result result = {0};
    output out = {.result = a->result,
                  .fields = a->output,
                  .curve = a->curve,
                  .resumes = a->resume != NULL,
                  .keeps_state = a->result && !a->no_state,
                  .keeps_last = a->steps > 0,
                  .problem = &c,
                  .mesh = &mesh};
    char *path = NULL;
    option_catch_interrupts();
    fe_status status = fe_case_read(a->problem, &c);
    if (status == FE_OK && a->mesh) {
        path = strdup(a->mesh);
        if (!path) status = fe_fail(FE_OUT_OF_MEMORY, "mesh path");
    } else if (status == FE_OK) {
        status = fe_case_mesh_path(&c, c.mesh[0], &path);
    }
    result.command = a->command, result.flags = a->flags;
    result.mesh_name = path && strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    if (status == FE_OK) status = solve(a, &c, &mesh, &b, &result, &out, path);
    output_close(&out);
    fe_result_close(&result);
    fe_boundary_close(&b);
    fe_mesh_close(&mesh);
    fe_case_close(&c);
    free(path);
    return status;
}

static fe_status set_ranks(arguments *a, const fe_mpi *mpi)
{
    a->options.mpi = *mpi;
    if (a->timeout) fe_comm_timeout = a->timeout;
    return option_ranks(a->ranks, mpi, &a->options.ranks);
}

int main(int argc, char **argv)
{
    arguments a = {.options = fe_default_options(), .begin = fe_seconds()};
    fe_mpi mpi = {0};
    fe_program_begin();
    fe_status status = parse(argc, argv, &a);
    const fe_status opened = a.done ? FE_OK : fe_mpi_open(status == FE_OK ? a.ranks : 1, &mpi);
    if (status == FE_OK) status = opened;
    if (status == FE_OK && !a.done) status = set_ranks(&a, &mpi);
    if (status == FE_OK && !a.done) status = run(&a);
    const int code = option_exit("solve", status);
    free(a.command);
    free(a.flags);
    option_end(code);
    return code;
}
