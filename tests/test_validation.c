/* Every validation problem, on its meshes of Hex8, Tet4, Hex27 and Tet10, with every variant and backend, and
 * on 2 and 4 GPUs by each transport, against the reference results.
 *
 * An argument selects tests by name ("strip*"). Where FE_VALIDATION_TABLE names a file, each run leaves a row
 * of validation.csv there (results/README.md). Displacements and reactions agree to 1e-6, equivalent plastic
 * strains to 1e-5, in the norms of reference.h; energies and stresses, whose errors follow, to 1e-6.
 * Reactions and loads are in balance, forces and moments, to Newton's tolerance. */
#include <stdlib.h>
#include <string.h>

#include "common/backend/cuda.h"
#include "common/ranks/ranks.h"
#include "common/variant.h"
#include "have/cuda.h"
#include "have/nccl.h"
#include "tests/common.h"
#include "tests/reference.h"

static const char *const problems[][5] = {
    {"patch_elastic", "patch_hex.msh", "patch_tet.msh", "patch_hex27.msh", "patch_tet10.msh"},
    {"patch_plastic", "patch_hex.msh", "patch_tet.msh", "patch_hex27.msh", "patch_tet10.msh"},
    {"uniaxial_H0", "cube_hex.msh", "cube_tet.msh", "cube_hex27.msh", "cube_tet10.msh"},
    {"uniaxial_H2000", "cube_hex.msh", "cube_tet.msh", "cube_hex27.msh", "cube_tet10.msh"},
    {"cylinder", "cylinder_hex.msh", "cylinder_tet.msh", "cylinder_hex27.msh", "cylinder_tet10.msh"},
    {"strip", "strip_hex.msh", "strip_tet.msh", "strip_hex27.msh", "strip_tet10.msh"}};
enum { N_PROBLEM = sizeof problems / sizeof *problems, N_MESH = 4 };

/* One run; `why` is set where it cannot take place. */
typedef struct run {
    const char *problem, *mesh, *variant, *backend, *why;
    int precondition, products;
    int ranks, transport, graphs; /* ranks: 0 for one */
    char name[256];
} run;

/* What is opened for a run. */
typedef struct opened {
    validation given;
    fe_result result;
    history history;
    reference reference;
} opened;

static void opened_close(opened *o)
{
    reference_close(&o->reference);
    history_close(&o->history);
    fe_result_close(&o->result);
    validation_close(&o->given);
}

/* Reactions of a patch vanish: what is left of them, in N, is what is out of balance. */
static double tolerance_of(const run *r) { return strncmp(r->problem, "patch", 5) ? 1e-9 : 1e-11; }

static fe_status solve(const run *r, opened *o)
{
    FE_TRY(validation_open(r->problem, r->mesh, &o->given));
    FE_TRY(reference_open(r->problem, r->mesh, &o->reference));
    FE_TRY(history_open(&o->given.mesh, &o->history));
    fe_options options = fe_default_options();
    options.variant = r->variant;
    options.backend = r->backend;
    options.precondition = r->precondition;
    options.products = r->products;
    if (r->ranks) options.ranks = r->ranks, options.transport = r->transport, options.graphs = r->graphs;
    options.tolerance = tolerance_of(r);
    const fe_observer observer = history_observer(&o->history);
    return fe_run_case(&o->given.problem, &o->given.mesh, &o->given.boundary, &options, &observer,
                       &o->result);
}

static const char *table_path(void) { return getenv("FE_VALIDATION_TABLE"); }

static void table_head(void)
{
    FILE *file = table_path() ? fopen(table_path(), "w") : NULL;
    if (!file) return;
    fputs("variant,backend,problem,mesh,displacement_error,reaction_error,peeq_error,newton_iterations,"
          "krylov_iterations\n",
          file);
    fclose(file);
}

static void table_row(const run *r, const fe_result *result, const reference_errors *errors)
{
    FILE *file = table_path() ? fopen(table_path(), "a") : NULL;
    int newton = 0;
    long long krylov = 0;
    if (!file) return;
    for (int s = 0; s < result->n_step; s++) {
        newton += result->step[s].newton_iterations;
        krylov += result->step[s].krylov_iterations;
    }
    fprintf(file, "%s,%s,%s,%s,%.3e,%.3e,%.3e,%d,%lld\n", r->variant, r->backend, r->problem, r->mesh,
            errors->displacement, errors->reaction, errors->peeq, newton, krylov);
    fclose(file);
}

/* Prints each error that is above its bound; returns how many are. */
static int count_failures(const run *r, const reference_errors *errors)
{
    const struct {
        const char *what;
        double error, bound;
    } checks[] = {{"displacement", errors->displacement, 1e-6},
                  {"reaction", errors->reaction, 1e-6},
                  {"sum of reactions and loads", errors->balance, tolerance_of(r)},
                  {"max_peeq", errors->peeq, 1e-5},
                  {"max_mises", errors->mises, 1e-6},
                  {"elastic_energy", errors->elastic_energy, 1e-6},
                  {"plastic_work", errors->plastic_work, 1e-6},
                  {"int_peeq", errors->int_peeq, 1e-6},
                  {"max_abs_u or norm_u", errors->norm_u, 1e-6},
                  {"stress of an element", errors->stress, 1e-6},
                  {"peeq of an element", errors->element_peeq, 1e-5},
                  {"volume", errors->volume, 1e-12},
                  {"plastic_gp", (double)errors->plastic_gp, 0}};
    int failures = 0;
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        if (checks[i].error <= checks[i].bound) continue;
        print_error("%s: %s off by %.3e > %.0e\n", r->name, checks[i].what, checks[i].error, checks[i].bound);
        failures++;
    }
    return failures;
}

static void test_run(void **state)
{
    const run *r = *state;
    skip_if(r->why, r->name);
    opened o = {0};
    const fe_status status = solve(r, &o);
    const int n_step = o.result.n_step, n_kept = o.history.n_step, n_call = o.history.n_call;
    const int n_expected = o.reference.n_step;
    int failures = 0;
    if (status != FE_OK) print_error("%s: %s\n", r->name, fe_message());
    if (status == FE_OK) {
        const reference_errors errors = reference_compare(&o.reference, &o.result, &o.history);
        failures = count_failures(r, &errors);
        table_row(r, &o.result, &errors);
    }
    opened_close(&o);
    assert_int_equal(status, FE_OK);
    assert_int_equal(n_step, n_expected);
    assert_int_equal(n_kept, n_expected);
    assert_int_equal(n_call, n_expected + 1); /* step 0 is shown too */
    assert_int_equal(failures, 0);
}

/* Quadratic elements have no products in floats. Of the further preconditioners, which one strategy shows,
 * they have block-Jacobi and the direct solver. */
static int meshes_of(const run *of)
{
    const int kind = of->precondition,
              is_other = kind && kind != FE_PRECONDITION_BLOCK_JACOBI && kind != FE_PRECONDITION_DIRECT;
    return of->products == FE_MIXED || (is_other && !of->ranks) ? 2 : N_MESH;
}

/* Adds such runs of all problems, or one that only says why there are none. */
static int add_all(run *runs, int n, const run *of)
{
    char which[160], of_ranks[64] = "";
    if (of->ranks)
        snprintf(of_ranks, sizeof of_ranks, " %d GPUs %s%s", of->ranks, fe_transport_names[of->transport],
                 of->graphs == FE_GRAPHS_OFF ? " without graphs" : "");
    snprintf(which, sizeof which, "%s %s%s%s%s%s", of->variant, of->backend, of->precondition ? " " : "",
             of->precondition ? fe_precondition_names[of->precondition] : "",
             of->products == FE_MIXED ? " mixed" : "", of_ranks);
    if (of->why) {
        runs[n] = *of;
        snprintf(runs[n].name, sizeof runs[n].name, "* %s", which);
        return n + 1;
    }
    for (int p = 0; p < N_PROBLEM; p++) {
        for (int m = 1; m <= meshes_of(of); m++) {
            run *r = &runs[n++];
            *r = *of;
            r->problem = problems[p][0], r->mesh = problems[p][m];
            /* multigrid, which needs fewest products: some strategies compute a Hex27 27 times in each */
            if (m > 2 && !of->precondition) r->precondition = FE_PRECONDITION_MULTIGRID;
            if (m > 2 && !FE_HAVE_QUADRATIC) r->why = "quadratic elements are not in this build";
            snprintf(r->name, sizeof r->name, "%s %s %s", r->problem, r->mesh, which);
        }
    }
    return n;
}

static int add_runs(run *runs, int n, const char *variant, const char *backend, int precondition,
                    int products, const char *why)
{
    const run of = {.variant = variant,
                    .backend = backend,
                    .why = why,
                    .precondition = precondition,
                    .products = products};
    return add_all(runs, n, &of);
}

static const char *gpus_missing(int n)
{
#if FE_HAVE_CUDA
    if (fe_cuda_devices() >= n) return FE_HAVE_NCCL ? NULL : "this build has no NCCL";
    return n == 2 ? "needs two GPUs" : "needs four GPUs";
#else
    (void)n;
    return "this build has no CUDA";
#endif
}

/* Of several GPUs: a scatter with multigrid, with and without graphs, and two passes with the default. */
static int add_runs_of_ranks(run *runs, int n)
{
    for (int ranks = 2; ranks <= 4; ranks *= 2)
        for (int transport = FE_TRANSPORT_NCCL; transport < FE_N_TRANSPORT; transport++)
            for (int k = 0; k < 3; k++) {
                const run of = {.variant = k < 2 ? "patch" : "two_phase",
                                .backend = "cuda",
                                .why = gpus_missing(ranks),
                                .precondition = k < 2 ? FE_PRECONDITION_MULTIGRID : 0,
                                .products = FE_DOUBLE,
                                .ranks = ranks,
                                .transport = transport,
                                .graphs = k == 1 ? FE_GRAPHS_OFF : FE_GRAPHS_AUTO};
                n = add_all(runs, n, &of);
            }
    return n;
}

/* Whether it solves with products in floats, too: a scatter, a gather, and a matrix. */
static int is_in_floats(const char *variant)
{
    return !strcmp(variant, "patch") || !strcmp(variant, "node_csr") ||
           !strcmp(variant, "assembled_symmetric");
}

int main(int argc, char **argv)
{
    const int n_variant = fe_variant_count();
    const size_t most = (size_t)(2 * n_variant + FE_N_PRECONDITION + 6) * 2 * N_MESH * N_PROBLEM;
    run *runs = calloc(most, sizeof *runs);
    struct CMUnitTest *tests = calloc(most, sizeof *tests);
    if (!runs || !tests) return 1;
    int n = 0;
    for (int v = 0; v < n_variant; v++) {
        const fe_variant *variant = fe_variant_at(v);
        n = add_runs(runs, n, variant->name, "host", 0, FE_DOUBLE, variant_missing(variant, "host"));
        n = add_runs(runs, n, variant->name, "cuda", 0, FE_DOUBLE, variant_missing(variant, "cuda"));
        for (int cuda = 0; cuda < 2 && is_in_floats(variant->name); cuda++)
            if (!variant_missing(variant, cuda ? "cuda" : "host"))
                n = add_runs(runs, n, variant->name, cuda ? "cuda" : "host", 0, FE_MIXED, NULL);
        for (int k = 1; k < FE_N_PRECONDITION && !strcmp(variant->name, "patch"); k++)
            for (int cuda = 0; cuda < 2; cuda++) {
                const char *backend = cuda ? "cuda" : "host";
                if (!variant_missing(variant, backend))
                    n = add_runs(runs, n, variant->name, backend, k, FE_DOUBLE, NULL);
            }
    }
    n = add_runs_of_ranks(runs, n);
    for (int i = 0; i < n; i++)
        tests[i] =
            (struct CMUnitTest){.name = runs[i].name, .test_func = test_run, .initial_state = &runs[i]};
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    table_head();
    const int failed = _cmocka_run_group_tests("validation", tests, (size_t)n, NULL, NULL);
    free(tests);
    free(runs);
    return failed ? 1 : 0;
}
