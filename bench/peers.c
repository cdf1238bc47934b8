/* The program `peers`: the linear load of `solves` by PETSc, with its own multigrid (GAMG) or hypre's
 * BoomerAMG as the preconditioner of its CG. Matrix, right-hand side and tolerance are those of `solves`; the
 * answer is checked against ours. Under mpirun the rows are shared among the processes. With a PETSc that was
 * built with CUDA, matrix, vectors and preconditioner can be on GPUs. */
#include "bench/options.h"
#include "bench/whole.h"
#include "common/backend/device.h"
#include "common/multigrid/multigrid.h"
#include "common/ranks/launch.h"
#include "common/report/machine.h"
#include "common/report/version.h"
#include "have/cuda.h"

#include <petscksp.h>
#if defined PETSC_HAVE_CUDA && FE_HAVE_CUDA
#include <cuda_runtime_api.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help_text[] =
    "usage: peers PROBLEM.json (--mesh FILE | --cells N) [options]\n"
    "Times PETSc on the first load step of a problem without yielding, one CG solve to 1e-8, as\n"
    "`solves --load linear` does. mpirun -n N peers ... uses N processes.\n"
    "\n"
    "  --mesh FILE               MSH 2.2 or 4.1\n"
    "  --cells N                 instead: a distorted cube of N cells an axis\n"
    "  --element KIND            of the cube: tet4, hex8, tet10, hex27 (hex8)\n"
    "  --precondition KIND       gamg (default), boomeramg\n"
    "  --backend host|cuda       where matrix and vectors are; cuda needs a PETSc with CUDA, and a hypre\n"
    "                            with CUDA for boomeramg (host)\n"
    "  --repetitions N           samples (7)\n"
    "  --process N               number of this run among those that measure the same, for rows (1)\n"
    "  --rows FILE.csv           adds result rows to a file: results/README.md defines them\n"
    "  --give-up STATUS          run nothing: write a row with this status, as a sweep does after a crash\n"
    "  --help --version\n"
    "\n"
    "exit: 0 done; 1 the run failed; 2 bad input\n";

#ifdef __SANITIZE_ADDRESS__
/* PETSc, hypre and MPI leave memory of their own. The sanitizer asks this function. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "detect_leaks=0"; }
#endif

enum { MOST_REPETITIONS = 999 };
enum { GAMG, BOOMERAMG, N_KIND };
static const char *const kind_names[N_KIND] = {"gamg", "boomeramg"}, *const variant_names[N_KIND] = {
                                                                         "petsc_gamg", "petsc_boomeramg"};
static const double most_error = 1e-6; /* as for our own solves */
enum { HOST, CUDA, N_BACKEND };
static const char *const backend_names[N_BACKEND] = {"host", "cuda"};

/* Waits for all streams of this process: PETSc's and hypre's. */
#if defined PETSC_HAVE_CUDA && FE_HAVE_CUDA
enum { HAS_GPUS = 1 };
static fe_status wait_for_gpu(void)
{
    const cudaError_t code = cudaDeviceSynchronize();
    return code == cudaSuccess ? FE_OK : fe_fail(FE_FAILED, "CUDA: %s", cudaGetErrorString(code));
}
#else
enum { HAS_GPUS = 0 };
static fe_status wait_for_gpu(void) { return FE_OK; }
#endif
#ifdef PETSC_HAVE_HYPRE
enum { HAS_HYPRE = 1 };
#else
enum { HAS_HYPRE = 0 };
#endif
#ifdef PETSC_HAVE_HYPRE_DEVICE /* hypre then works on GPUs, whatever the matrix */
enum { HYPRE_ON_GPUS = 1 };
#else
enum { HYPRE_ON_GPUS = 0 };
#endif

typedef struct arguments {
    whole_choice choice;
    const char *rows, *give_up;
    int kind, backend, repetitions, process, done;
} arguments;

/* Our matrix on every process, and PETSc's on all of them together. */
typedef struct bench {
    const arguments *arguments;
    int rank, size;
    whole_problem whole;
    fe_device *device;
    fe_partition partition;
    fe_share share;
    fe_problem problem;
    fe_elastic_rows rows;
    Mat A;
    Vec b, x;
    double assembly_seconds;
    FILE *file;
    whole_row row;
} bench;

#define PETSC_TRY(call)                                                                                      \
    do {                                                                                                     \
        const PetscErrorCode petsc_code = (call);                                                            \
        if (petsc_code) return fe_fail(FE_FAILED, "%s:%d: PETSc error %d", __FILE__, __LINE__, petsc_code);  \
    } while (0)

/* --- the system ------------------------------------------------------------------------------------- */

/* The elastic matrix without supports' rows and columns, by the set-up of our own multigrid. */
static fe_status assemble(bench *b)
{
    const fe_mesh *mesh = &b->whole.mesh;
    const fe_boundary *boundary = &b->whole.boundary;
    FE_TRY(fe_backend_host.open(0, 1, &b->device));
    FE_TRY(fe_partition_mesh(mesh, 1, FE_PARTITION_CONTIGUOUS, &b->partition));
    FE_TRY(fe_share_build(mesh, &b->partition, NULL, 0, &b->share));
    FE_TRY(fe_problem_open(mesh, &b->share, mesh->kind, b->whole.problem.material, b->device, &b->problem));
    for (int i = 0; i < boundary->n_fixed; i++)
        if (boundary->value[i] != 0.0)
            return fe_fail(FE_BAD_INPUT, "%s: supports move; peers solves for loads only",
                           b->whole.problem.file);
    int *at = NULL;
    FE_ALLOCATE(at, boundary->n_fixed, "supports");
    for (int i = 0; i < boundary->n_fixed; i++)
        at[i] = 3 * b->share.local[boundary->fixed[i] / 3] + boundary->fixed[i] % 3;
    const fe_status status = fe_elastic_rows_open(&b->problem, boundary->n_fixed, at, 1, &b->rows);
    free(at);
    return status;
}

/* What stands on the diagonal of supports: as large as the others, so that no preconditioner sees a scale. */
static double mean_diagonal(const bench *b)
{
    const fe_sparse *A = &b->rows.A;
    double sum = 0.0;
    for (int i = 0; i < A->n_row; i++) {
        const double *block = fe_sparse_block(A, fe_sparse_find(A, i, i));
        sum += block[0] + block[4] + block[8];
    }
    return sum / (3.0 * A->n_row - b->whole.boundary.n_fixed);
}

/* Rows [from, to) of nodes, whose blocks PETSc copies. */
static fe_status fill(bench *b, int from, int to)
{
    const fe_sparse *A = &b->rows.A;
    const double diagonal = mean_diagonal(b);
    for (int i = from; i < to; i++) {
        double *own = fe_sparse_block(A, fe_sparse_find(A, i, i));
        for (int c = 0; c < 3; c++)
            if (b->rows.fixed[3 * (size_t)i + (size_t)c]) own[4 * c] = diagonal;
        for (int k = A->first[i]; k < A->first[i + 1]; k++) {
            const PetscInt row = i, column = A->column[k];
            PETSC_TRY(MatSetValuesBlocked(b->A, 1, &row, 1, &column, fe_sparse_block(A, k), INSERT_VALUES));
        }
    }
    PETSC_TRY(MatAssemblyBegin(b->A, MAT_FINAL_ASSEMBLY));
    PETSC_TRY(MatAssemblyEnd(b->A, MAT_FINAL_ASSEMBLY));
    return FE_OK;
}

/* Rigid-body modes from the coordinates: what GAMG's aggregates interpolate exactly. */
static fe_status add_modes(bench *b, int from, int to)
{
    Vec x;
    double *values;
    MatNullSpace modes;
    PETSC_TRY(VecDuplicate(b->b, &x));
    PETSC_TRY(VecSetBlockSize(x, 3));
    PETSC_TRY(VecGetArray(x, &values));
    memcpy(values, b->rows.view.x + 3 * (size_t)from, 3 * (size_t)(to - from) * sizeof *values);
    PETSC_TRY(VecRestoreArray(x, &values));
    PETSC_TRY(MatNullSpaceCreateRigidBody(x, &modes));
    PETSC_TRY(MatSetNearNullSpace(b->A, modes));
    PETSC_TRY(MatNullSpaceDestroy(&modes));
    PETSC_TRY(VecDestroy(&x));
    return FE_OK;
}

/* Loads of the first load step on free components. */
static fe_status fill_loads(bench *b, int from, int to)
{
    const fe_boundary *boundary = &b->whole.boundary;
    double *f;
    PETSC_TRY(VecGetArray(b->b, &f));
    memset(f, 0, 3 * (size_t)(to - from) * sizeof *f);
    for (int p = 0; p < boundary->n_path; p++)
        for (int i = 3 * from; boundary->load[p] && i < 3 * to; i++)
            if (!b->rows.fixed[i])
                f[i - 3 * from] += b->whole.problem.path[p].factor[0] *
                                   boundary->load[p][3 * (size_t)b->share.node[i / 3] + (size_t)(i % 3)];
    PETSC_TRY(VecRestoreArray(b->b, &f));
    return FE_OK;
}

static fe_status open_system(bench *b)
{
    const double begin = fe_seconds();
    const int n = b->rows.A.n_row, from = (int)((int64_t)n * b->rank / b->size),
              to = (int)((int64_t)n * (b->rank + 1) / b->size);
    PetscInt *own = NULL, *other = NULL;
    FE_ALLOCATE(own, to - from, "row lengths");
    FE_ALLOCATE(other, to - from, "row lengths");
    for (int i = from; i < to; i++)
        for (int k = b->rows.A.first[i]; k < b->rows.A.first[i + 1]; k++)
            (b->rows.A.column[k] >= from && b->rows.A.column[k] < to ? own : other)[i - from]++;
    PETSC_TRY(MatCreate(PETSC_COMM_WORLD, &b->A));
    PETSC_TRY(MatSetSizes(b->A, 3 * (to - from), 3 * (to - from), 3 * n, 3 * n));
    PETSC_TRY(MatSetBlockSize(b->A, 3));
    /* Hypre takes no BAIJ. Vectors are where the matrix is. */
    PETSC_TRY(MatSetType(b->A, b->arguments->backend == CUDA ? MATAIJCUSPARSE : MATAIJ));
    PETSC_TRY(MatXAIJSetPreallocation(b->A, 3, own, other, NULL, NULL));
    free(own), free(other);
    FE_TRY(fill(b, from, to));
    PETSC_TRY(MatSetOption(b->A, MAT_SPD, PETSC_TRUE));
    PETSC_TRY(MatCreateVecs(b->A, &b->x, &b->b));
    FE_TRY(add_modes(b, from, to));
    FE_TRY(fill_loads(b, from, to));
    b->assembly_seconds += fe_seconds() - begin;
    return FE_OK;
}

/* --- solves ----------------------------------------------------------------------------------------- */

/* Sets an option of PETSc, unless the environment's PETSC_OPTIONS has it. */
static fe_status prefer(const char *name, const char *value)
{
    PetscBool there;
    PETSC_TRY(PetscOptionsHasName(NULL, NULL, name, &there));
    if (!there) PETSC_TRY(PetscOptionsSetValue(NULL, name, value));
    return FE_OK;
}

/* GAMG has rigid-body modes; BoomerAMG tells the unknowns of a node apart (PETSc sets that by the block
 * size). Settings on the host are the fastest of four and of seven on the bracket of 65 k degrees of freedom,
 * two processes. On GPUs they are those that work there and that hypre recommends (PMIS, extended+i,
 * l1-Jacobi, transposes kept); they were not tuned. */
static fe_status open_solver(bench *b, KSP *ksp)
{
    PC pc;
    const int on_gpu = b->arguments->backend == CUDA;
    PETSC_TRY(KSPCreate(PETSC_COMM_WORLD, ksp));
    PETSC_TRY(KSPSetOperators(*ksp, b->A, b->A));
    PETSC_TRY(KSPSetType(*ksp, KSPCG));
    PETSC_TRY(KSPSetNormType(*ksp, KSP_NORM_UNPRECONDITIONED)); /* as ours */
    PETSC_TRY(KSPSetTolerances(*ksp, whole_linear_tolerance, 0.0, PETSC_DEFAULT, 20000));
    PETSC_TRY(KSPGetPC(*ksp, &pc));
    if (b->arguments->kind == GAMG) {
        PETSC_TRY(PCSetType(pc, PCGAMG));
        FE_TRY(prefer("-pc_gamg_threshold", "0.05"));
        if (on_gpu) FE_TRY(prefer("-mg_levels_pc_type", "jacobi")); /* within Chebyshev's sweeps */
    } else {
        PETSC_TRY(PCSetType(pc, PCHYPRE));
        PETSC_TRY(PetscOptionsSetValue(NULL, "-pc_hypre_type", "boomeramg")); /* links without hypre, too */
        FE_TRY(prefer("-pc_hypre_boomeramg_coarsen_type", "PMIS"));
        FE_TRY(prefer("-pc_hypre_boomeramg_interp_type", "ext+i"));
        FE_TRY(prefer("-pc_hypre_boomeramg_strong_threshold", "0.5"));
        FE_TRY(prefer("-pc_hypre_boomeramg_agg_nl", on_gpu ? "0" : "1"));
        if (on_gpu) FE_TRY(prefer("-pc_hypre_boomeramg_relax_type_all", "l1scaled-Jacobi"));
        if (on_gpu) FE_TRY(prefer("-pc_hypre_boomeramg_keeptranspose", "1"));
    }
    PETSC_TRY(KSPSetFromOptions(*ksp));
    return FE_OK;
}

/* Seconds of a call on the slowest process, and user seconds of all. */
typedef struct timing {
    double wall, user;
} timing;

static timing start_timing(void)
{
    MPI_Barrier(PETSC_COMM_WORLD);
    return (timing){fe_seconds(), whole_user_seconds()};
}

static fe_status end_timing(timing *t)
{
    FE_TRY(wait_for_gpu());
    *t = (timing){fe_seconds() - t->wall, whole_user_seconds() - t->user};
    MPI_Allreduce(MPI_IN_PLACE, &t->wall, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &t->user, 1, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD);
    return FE_OK;
}

static fe_status solve_once(bench *b, timing *setup, timing *solve, PetscInt *iterations)
{
    KSP ksp;
    KSPConvergedReason reason;
    *setup = start_timing();
    FE_TRY(open_solver(b, &ksp));
    PETSC_TRY(KSPSetUp(ksp));
    FE_TRY(end_timing(setup));
    *solve = start_timing();
    PETSC_TRY(KSPSolve(ksp, b->b, b->x));
    FE_TRY(end_timing(solve));
    PETSC_TRY(KSPGetIterationNumber(ksp, iterations));
    PETSC_TRY(KSPGetConvergedReason(ksp, &reason));
    PETSC_TRY(KSPDestroy(&ksp));
    return reason > 0 ? FE_OK : fe_fail(FE_FAILED, "PETSc: not converged (reason %d)", (int)reason);
}

/* --- the check -------------------------------------------------------------------------------------- */

typedef struct check {
    const bench *b;
    const double *u; /* in PETSc's order */
    double error;
} check;

static fe_status compare(void *context, const fe_step_result *step, const fe_fields *fields)
{
    check *c = context;
    double *u = NULL;
    const int n = c->b->rows.A.n_row;
    if (!step) return FE_OK;
    FE_ALLOCATE(u, 3 * (size_t)n, "answer");
    for (int i = 0; i < n; i++)
        memcpy(u + 3 * (size_t)c->b->share.node[i], c->u + 3 * (size_t)i, 3 * sizeof *u);
    c->error = whole_error(3 * (size_t)n, u, fields->displacement);
    free(u);
    return FE_OK;
}

/* The first process solves the problem with our own solver, ten times further. */
static fe_status check_answer(bench *b, double *error)
{
    Vec all;
    VecScatter scatter;
    const double *u;
    fe_status status = FE_OK;
    PETSC_TRY(VecScatterCreateToZero(b->x, &scatter, &all));
    PETSC_TRY(VecScatterBegin(scatter, b->x, all, INSERT_VALUES, SCATTER_FORWARD));
    PETSC_TRY(VecScatterEnd(scatter, b->x, all, INSERT_VALUES, SCATTER_FORWARD));
    PETSC_TRY(VecGetArrayRead(all, &u));
    if (b->rank == 0) {
        check c = {.b = b, .u = u, .error = NAN};
        const fe_observer observer = {&c, FE_FIELDS_DISPLACEMENT, compare};
        fe_result result = {0};
        fe_options o = fe_default_options();
        o.variant = "element_atomic", o.precondition = FE_PRECONDITION_MULTIGRID;
        o.backend = backend_names[b->arguments->backend];
        o.krylov_tolerance = 0.1 * whole_linear_tolerance, o.tolerance = 1e-8;
        status = fe_run_case(&b->whole.problem, &b->whole.mesh, &b->whole.boundary, &o, &observer, &result);
        fe_result_close(&result);
        *error = c.error;
    }
    PETSC_TRY(VecRestoreArrayRead(all, &u));
    PETSC_TRY(VecScatterDestroy(&scatter));
    PETSC_TRY(VecDestroy(&all));
    return status;
}

/* --- one problem ------------------------------------------------------------------------------------ */

static fe_status open_row(bench *b)
{
    fe_machine machine;
    FE_TRY(fe_machine_find(1, &machine));
    const int on_gpu = b->arguments->backend == CUDA;
    static char slug[sizeof machine.slug];
    memcpy(slug, machine.slug, sizeof slug);
    if (on_gpu && !machine.gpu[0]) return fe_fail(FE_BAD_INPUT, "--backend cuda: there is no GPU");
    whole_row_open(&b->whole, slug, on_gpu ? machine.gpu : machine.cpu, &b->row);
    b->row.row.backend = backend_names[b->arguments->backend];
    b->row.krylov = "cg", b->row.precondition = kind_names[b->arguments->kind];
    b->row.row.variant = variant_names[b->arguments->kind];
    b->row.row.ranks = b->size, b->row.row.threads = 1, b->row.row.process = b->arguments->process;
    b->row.row.order = fe_order_names[FE_ORDER_BISECTION];
    return FE_OK;
}

static fe_status measure(bench *b)
{
    const int n = b->arguments->repetitions;
    double setup[MOST_REPETITIONS], solve[MOST_REPETITIONS], user[MOST_REPETITIONS];
    timing t[2];
    PetscInt iterations;
    FE_TRY(solve_once(b, &t[0], &t[1], &iterations)); /* warms up, and is checked */
    FE_TRY(check_answer(b, &b->row.row.error));
    MPI_Bcast(&b->row.row.error, 1, MPI_DOUBLE, 0, PETSC_COMM_WORLD);
    for (int i = 0; i < n && b->row.row.error <= most_error; i++) {
        FE_TRY(solve_once(b, &t[0], &t[1], &iterations));
        setup[i] = t[0].wall, solve[i] = t[1].wall, user[i] = t[1].user;
    }
    b->row.newton_iterations = 1, b->row.krylov_iterations = iterations;
    MatInfo info;
    PETSC_TRY(MatGetInfo(b->A, MAT_GLOBAL_SUM, &info));
    b->row.row.setup_seconds = b->assembly_seconds,
    b->row.row.bytes = info.nz_used * (sizeof(PetscScalar) + sizeof(PetscInt));
    b->row.row.status = b->row.row.error <= most_error ? "ok" : "check_failed";
    if (b->rank) return FE_OK;
    whole_row_write_seconds(b->file, &b->row, "solve", n, solve);
    if (strcmp(b->row.row.status, "ok")) return FE_OK;
    whole_row_write_seconds(b->file, &b->row, "solve_user", n, user);
    whole_row_write_seconds(b->file, &b->row, "precondition_setup", n, setup);
    return FE_OK;
}

static fe_status run_problem(bench *b)
{
    FE_TRY(whole_open(&b->arguments->choice, FE_ORDER_BISECTION, &b->whole)); /* rows in compact pieces */
    FE_TRY(open_row(b));
    if (b->arguments->give_up) {
        b->row.row.status = b->arguments->give_up;
        if (b->rank == 0) whole_row_write_seconds(b->file, &b->row, "solve", 0, NULL);
        return FE_OK;
    }
    const double begin = fe_seconds();
    FE_TRY(assemble(b));
    b->assembly_seconds = fe_seconds() - begin;
    FE_TRY(open_system(b));
    if (b->rank == 0)
        printf("%s, %s, %d processes: %d nodes, PETSc %d.%d.%d with %s\n", b->whole.name, b->row.row.element,
               b->size, b->whole.mesh.n_node, PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR,
               PETSC_VERSION_SUBMINOR, kind_names[b->arguments->kind]);
    return measure(b);
}

static fe_status run(const arguments *a)
{
    bench b = {.arguments = a};
    MPI_Comm_rank(PETSC_COMM_WORLD, &b.rank);
    MPI_Comm_size(PETSC_COMM_WORLD, &b.size);
    int refused = 0;
    if (a->rows && b.rank == 0) refused = fe_rows_open(a->rows, WHOLE_COLUMNS, &b.file);
    MPI_Bcast(&refused, 1, MPI_INT, 0, PETSC_COMM_WORLD);
    if (refused && b.rank > 0) fe_fail((fe_status)refused, "%s: cannot be written", a->rows);
    if (refused) return (fe_status)refused;
    const fe_status status = run_problem(&b);
    const int unwritten = b.file && (ferror(b.file) | fclose(b.file));
    MatDestroy(&b.A), VecDestroy(&b.b), VecDestroy(&b.x);
    fe_elastic_rows_close(&b.rows);
    fe_share_close(&b.share);
    fe_partition_close(&b.partition);
    if (b.device) fe_backend_host.close(b.device);
    whole_close(&b.whole);
    return unwritten && status == FE_OK ? fe_fail(FE_FAILED, "%s: could not be written", a->rows) : status;
}

/* --- command line ----------------------------------------------------------------------------------- */

enum {
    OPT_PRECONDITION = 256,
    OPT_BACKEND,
    OPT_REPETITIONS,
    OPT_PROCESS,
    OPT_ROWS,
    OPT_GIVE_UP,
    OPT_HELP,
    OPT_VERSION
};
static const struct option flags[] = {WHOLE_FLAGS,
                                      {"precondition", 1, 0, OPT_PRECONDITION},
                                      {"backend", 1, 0, OPT_BACKEND},
                                      {"repetitions", 1, 0, OPT_REPETITIONS},
                                      {"process", 1, 0, OPT_PROCESS},
                                      {"rows", 1, 0, OPT_ROWS},
                                      {"give-up", 1, 0, OPT_GIVE_UP},
                                      {"help", 0, 0, OPT_HELP},
                                      {"version", 0, 0, OPT_VERSION},
                                      {0}};

static fe_status set_flag(arguments *a, int key, const char *flag, const char *text)
{
    switch (key) {
    case OPT_ROWS: a->rows = text; return FE_OK;
    case OPT_GIVE_UP: a->give_up = text; return FE_OK;
    case OPT_REPETITIONS: return option_whole(flag, text, 1, MOST_REPETITIONS, &a->repetitions);
    case OPT_PROCESS: return option_whole(flag, text, 1, 1000000, &a->process);
    case OPT_PRECONDITION: return option_choice(flag, text, kind_names, N_KIND, &a->kind);
    case OPT_BACKEND: return option_choice(flag, text, backend_names, N_BACKEND, &a->backend);
    }
    return whole_flag(key, flag, text, &a->choice);
}

/* And where each preconditioner works. runner/here.py reads this. */
static void say_version(void)
{
    printf("%sPETSc: %d.%d.%d\ngamg: host%s\nboomeramg: %s\n", fe_version_text(), PETSC_VERSION_MAJOR,
           PETSC_VERSION_MINOR, PETSC_VERSION_SUBMINOR, HAS_GPUS ? ", cuda" : "",
           !HAS_HYPRE       ? "none"
           : !HYPRE_ON_GPUS ? "host"
           : HAS_GPUS       ? "cuda"
                            : "none");
}

/* Rows tell where PETSc and hypre computed. */
static fe_status check_places(const arguments *a)
{
    if (a->backend == CUDA && !HAS_GPUS)
        return fe_fail(FE_BAD_INPUT, "--backend cuda: %s was built without CUDA",
                       FE_HAVE_CUDA ? "PETSc" : "peers");
    if (a->kind == BOOMERAMG && !HAS_HYPRE)
        return fe_fail(FE_BAD_INPUT,
                       "--precondition boomeramg: this PETSc was built without hypre; gamg is there");
    if (a->kind == BOOMERAMG && (a->backend == CUDA) != HYPRE_ON_GPUS)
        return fe_fail(FE_BAD_INPUT, "--backend %s: this PETSc's hypre was built %s CUDA",
                       backend_names[a->backend], HYPRE_ON_GPUS ? "with" : "without");
    return FE_OK;
}

static fe_status parse(int argc, char **argv, arguments *a)
{
    int key, index = 0;
    while (1) {
        FE_TRY(option_next("peers", argc, argv, flags, &key, &index));
        if (key < 0) break;
        a->done = 1;
        if (key == OPT_HELP) return fputs(help_text, stdout), FE_OK;
        if (key == OPT_VERSION) return say_version(), FE_OK;
        a->done = 0;
        FE_TRY(set_flag(a, key, flags[index].name, optarg));
    }
    FE_TRY(check_places(a));
    return whole_complete("peers", argc - optind, argv + optind, &a->choice);
}

int main(int argc, char **argv)
{
    arguments a = {.choice = {.element = FE_HEX8, .load = WHOLE_LINEAR}, .repetitions = 7, .process = 1};
    fe_program_begin();
    fe_status status = parse(argc, argv, &a);
    if (status == FE_OK && !a.done && !fe_launch_joins()) status = fe_mpi_refuse(0, 1);
    if (status == FE_OK && !a.done) {
        int rank = 0, size = 1;
        /* Else a PETSc with CUDA ends where its MPI can't read device memory. PETSC_OPTIONS may say
         * otherwise. */
        if (HAS_GPUS) PetscOptionsSetValue(NULL, "-use_gpu_aware_mpi", "0");
        if (PetscInitializeNoArguments()) return 1;
        MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
        MPI_Comm_size(PETSC_COMM_WORLD, &size);
        if (size == 1) status = fe_mpi_refuse(0, 1);
        if (status == FE_OK) status = run(&a);
        const int alike = status == FE_OK || status == FE_BAD_INPUT; /* on all processes */
        const int speaks = (rank == 0 || !alike) && fe_mpi_meet(status);
        const int code = fe_exit_code(status, speaks ? "peers" : NULL);
        if (!alike && size > 1) MPI_Abort(PETSC_COMM_WORLD, code); /* others may wait */
        PetscFinalize();
        return code;
    }
    return option_exit("peers", status);
}
