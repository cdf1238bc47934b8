/* `solve` as a user runs it: every flag leads to the same solution. All meshes have a few elements. */
#include "have/metis.h"
#include "tests/child.h"
#include "tests/common.h"
#include "tests/result.h"

#include <glob.h>
#include <math.h>
#include <omp.h>
#include <string.h>

/* Two ways to one solution. Forces are left unbalanced by 1e-9 of the largest; where points yield, the cube
 * is up to E / H = 100 times softer than an elastic one, so displacements and strains may differ by 1e-7 of
 * the largest. The tests allow ten times that. */
static void assert_same(const char *what, const json_t *root, const json_t *reference)
{
    static const char *const axes[3] = {"x", "y", "z"};
    const size_t n = json_array_size(result_at(reference, "steps"));
    assert_int_equal(json_array_size(result_at(root, "steps")), n);
    for (size_t i = 0; i < n; i++) {
        const json_t *s = result_step(root, i), *t = result_step(reference, i);
        for (size_t k = 0; k < 3; k++) {
            result_near(what, result_probe(s, k), result_probe(t, k), 1e-6 * result_number(t, "max_abs_u"));
            result_near(what, result_number(result_at(result_at(s, "reactions"), "x0"), axes[k]),
                        result_number(result_at(result_at(t, "reactions"), "x0"), axes[k]), 1e-6 * 72 * 2.2);
        }
        result_near(what, result_number(s, "max_peeq"), result_number(t, "max_peeq"),
                    1e-6 * result_number(t, "max_peeq"));
        assert_int_equal(result_number(s, "plastic_gp"), result_number(t, "plastic_gp"));
    }
}

static int newton(const json_t *root, size_t i)
{
    return (int)result_number(result_at(result_step(root, i), "newton"), "iterations");
}

/* Smallest accepted step length of Newton's method over all steps. */
static double shortest(const json_t *root)
{
    double least = INFINITY;
    for (size_t i = 0; i < json_array_size(result_at(root, "steps")); i++) {
        const json_t *length;
        size_t k;
        json_array_foreach(result_at(result_at(result_step(root, i), "newton"), "line_search"), k, length)
            least = fmin(least, json_number_value(length));
    }
    return least;
}

/* "a b.json" so that the recorded command needs quotes. */
static void result_has_its_keys(void **state)
{
    (void)state;
    static const char *const
        keys[] = {"problem",  "mesh",        "element", "nodes",  "elements", "volume",
                  "material", "probe_nodes", "units",   "status", "steps",    "run"},
        *const step_keys[] = {"step",         "factors",      "probes",         "reactions",
                              "max_peeq",     "max_mises",    "elastic_energy", "plastic_work",
                              "int_peeq",     "plastic_gp",   "max_abs_u",      "norm_u",
                              "max_gradient", "small_strain", "newton",         "seconds"},
        *const newton_keys[] = {"iterations", "krylov_iterations", "residuals", "line_search", "increments",
                                "krylov",     "krylov_residuals"},
        *const second_keys[] = {"material",     "residual", "jacvec", "orthogonalization",
                                "precondition", "exchange", "other"},
        *const run_keys[] = {"variant",   "backend", "device", "ranks",    "threads",
                             "partition", "flags",   "commit", "versions", "bytes_to_device"};
#define HAS(object, list)                                                                                    \
    for (size_t k = 0; k < sizeof list / sizeof *list; k++)                                                  \
    assert_false(json_is_null(result_at(object, list[k])))
    child_write_problem("a b.json", (problem){0});
    child_must(0, "solve --threads 1 'a b.json' --output fields --verbose --result r.json");
    assert_non_null(strstr(child_said, "iteration 2: residual"));
    json_t *root = result_load_checked("r.json", "converged", 3), *r = result_at(root, "run");
    HAS(root, keys);
    HAS(r, run_keys);
    assert_string_equal(json_string_value(result_at(r, "command")),
                        "solve --threads 1 'a b.json' --output fields --verbose --result r.json");
    assert_string_equal(json_string_value(result_at(r, "flags")),
                        "--threads 1 --output fields --verbose --result r.json");
    assert_string_equal(json_string_value(result_at(r, "variant")), "patch");
    assert_true(json_is_integer(result_at(result_at(r, "bytes_from_device"), "setup")));
    assert_true(json_is_integer(result_at(result_at(r, "bytes_from_device"), "solve")));
    assert_true(json_is_integer(result_at(result_at(r, "bytes_from_device"), "output")));
    result_near("volume", result_number(root, "volume"), 1, 1e-14);
    static const double factors[] = {1, -2.2, 2.2};
    for (size_t i = 0; i < 3; i++) {
        const json_t *s = result_step(root, i), *reaction = result_at(result_at(s, "reactions"), "x0");
        HAS(s, step_keys);
        HAS(result_at(s, "newton"), newton_keys);
        HAS(result_at(s, "seconds"), second_keys);
        assert_true(result_number(result_at(s, "factors"), "load") == factors[i]);
        result_near("reaction x", result_number(reaction, "x"), -60 * factors[i], 1e-6 * 72 * 2.2);
        result_near("reaction y", result_number(reaction, "y"), 0, 1e-6 * 72 * 2.2);
        result_near("reaction z", result_number(reaction, "z"), -40 * factors[i], 1e-6 * 72 * 2.2);
        assert_int_equal(result_number(s, "plastic_gp") > 0, i > 0);
        assert_int_equal(result_number(s, "max_peeq") > 0, i > 0);
        assert_int_equal(json_array_size(result_at(result_at(s, "newton"), "line_search")), newton(root, i));
        assert_int_equal(json_array_size(result_at(result_at(s, "newton"), "krylov")), newton(root, i));
    }
    json_decref(root);
    glob_t found; /* steps 0 to 3 and their collection */
    assert_int_equal(glob("fields/*", 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 5);
    globfree(&found);
}

static void ways_to_one_solution(void **state)
{
    (void)state;
    enum { SAME_BITS = 1, NO_METIS = 2 };
    static const struct {
        const char *flags;
        int note;
    } ways[] = {
        {"--jacobian difference", 0},
        {"--krylov gmres", 0},
        {"--krylov gmres --orthogonalization cgs2", 0},
        {"--krylov gmres --orthogonalization dcgs2", 0},
        {"--krylov gmres --orthogonalization mgs --restart 5", 0},
        {"--krylov-tolerance 1e-8", 0},
        {"--precondition none", 0},
        {"--precondition chebyshev", 0},
        {"--precondition multigrid", 0},
        {"--precondition multigrid --krylov gmres --orthogonalization dcgs2", 0},
        {"--precondition multigrid --jacobian difference", 0},
        {"--precondition multigrid --ranks 3", 0},
        {"--tolerance 1e-11", 0},
        {"--substep", SAME_BITS},
        {"--order rcm", 0},
        {"--order morton", 0},
        {"--order random", 0},
        {"--ranks 2", 0},
        {"--ranks 3", 0},
        {"--ranks 2 --krylov gmres --orthogonalization dcgs2", 0},
        {"--ranks 2 --partition metis", NO_METIS},
    };
    static const char *const meshes[] = {"box.msh", "tet.msh"};
    for (int m = 0; m < 2; m++) {
        child_must(0, m ? "solve p.json --threads 1 --result p.r.json --mesh tet.msh"
                        : "solve p.json --threads 1 --result p.r.json");
        json_t *reference = result_load_checked("p.r.json", "converged", 3);
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            const char *flags = ways[i].flags;
            if (ways[i].note == NO_METIS && !FE_HAVE_METIS) {
                child_must(2, "solve p.json --threads 1 --ranks 2 --partition metis");
                child_assert_said(flags, "solve", PARTS("this build has no METIS"));
                continue;
            }
            const int code =
                child_run("solve p.json --threads 1 --result r.json --mesh %s %s", meshes[m], flags);
            if (code) fail_msg("%s: exit code %d: %s", flags, code, child_said);
            json_t *root = result_load_checked("r.json", "converged", 3);
            assert_same(flags, root, reference);
            /* A flag that does something leaves a trace in the last digits at least. */
            if (ways[i].note != SAME_BITS &&
                json_equal(result_at(result_at(result_step(root, 2), "newton"), "residuals"),
                           result_at(result_at(result_step(reference, 2), "newton"), "residuals")))
                fail_msg("%s: changes no bit", flags);
            json_decref(root);
        }
        json_decref(reference);
    }
}

static double krylov(const json_t *root)
{
    double n = 0;
    for (size_t i = 0; i < json_array_size(result_at(root, "steps")); i++)
        n += result_number(result_at(result_step(root, i), "newton"), "krylov_iterations");
    return n;
}

/* A linear solve that ends early is not accepted silently: multigrid and the elastic Jacobian are tried, and
 * the final step leads to the same solution. */
static void unconverged_solves_are_said(void **state)
{
    (void)state;
    child_must(0, "solve p.json --threads 1 --result p.r.json");
    child_must(0,
               "solve p.json --threads 1 --precondition block-jacobi --krylov-iterations 6 --result r.json");
    assert_non_null(strstr(child_said, "iteration limit (6 iterations, residual reduced to "));
    assert_non_null(strstr(child_said, "again with multigrid\n"));
    assert_null(strstr(child_said, "not converged"));
    json_t *reference = result_load_checked("p.r.json", "converged", 3),
           *root = result_load_checked("r.json", "converged", 3);
    assert_same("six iterations", root, reference);
    json_decref(reference);
    json_decref(root);
}

/* Tolerances of linear solves do not exceed the accuracy of a finite difference: GMRES takes about as many
 * iterations as CG. */
static void differences_end_where_they_help(void **state)
{
    (void)state;
    static const char *const meshes[] = {"box.msh", "tet.msh"};
    for (int m = 0; m < 2; m++) {
        assert_int_equal(child_run("solve p.json --threads 1 --mesh %s --result p.r.json", meshes[m]), 0);
        assert_int_equal(
            child_run("solve p.json --threads 1 --mesh %s --jacobian difference --result r.json", meshes[m]),
            0);
        json_t *reference = result_load_checked("p.r.json", "converged", 3),
               *root = result_load_checked("r.json", "converged", 3);
        assert_same("difference", root, reference);
        assert_true(krylov(root) < 3 * krylov(reference));
        json_decref(reference);
        json_decref(root);
    }
}

/* Number i of a list of a step's history. */
static double history(const json_t *step, const char *list, size_t i)
{
    return json_number_value(json_array_get(result_at(result_at(step, "newton"), list), i));
}

/* The residual that a linear solve leaves is no tighter than Eisenstat and Walker's choice 2 and 0.3 of the
 * acceptance ask for; a last iteration of CG on this mesh may do five times better. Supports that move are no
 * residual that was predicted: the solve after the elastic step is the loosest. */
static void linear_solves_end_where_they_help(void **state)
{
    (void)state;
    child_must(0, "meshgen box -c 8 -o box8.msh");
    child_write_problem("load.json", (problem){.factors = "2.2, -2.2, 2.5"});
    child_must(
        0,
        "solve load.json --mesh box8.msh --threads 1 --tolerance 1e-12 --predictor elastic --result r.json");
    json_t *root = result_load_checked("r.json", "converged", 3);
    int checked = 0;
    for (size_t k = 0; k < 3; k++) {
        const json_t *s = result_step(root, k);
        const size_t n = (size_t)newton(root, k);
        for (size_t i = 2; i < n; i++) {
            const double now = history(s, "residuals", i), ratio = now / history(s, "residuals", i - 1);
            const double asked = fmin(0.05, fmax(0.9 * ratio * ratio, 0.3 * 1e-12 / now));
            const double left = history(s, "krylov_residuals", i);
            if (!(left >= 0.2 * asked && left <= 0.05))
                fail_msg("step %zu, iteration %zu: %g is left where %g is asked for", k + 1, i + 1, left,
                         asked);
            checked++;
        }
    }
    assert_true(checked >= 6);
    json_decref(root);
    child_write_problem("pull.json",
                        (problem){.supports = "{\"group\": \"x0\", \"u\": {\"x\": 0, \"y\": 0, \"z\": 0}}, "
                                              "{\"group\": \"x1\", \"u\": {\"x\": 0.0013}}",
                                  .loads = "",
                                  .factors = "1"});
    child_must(0, "solve pull.json --mesh box8.msh --threads 1 --result r.json");
    root = result_load_checked("r.json", "converged", 1);
    assert_true(result_number(result_step(root, 0), "plastic_gp") > 0);
    assert_true(history(result_step(root, 0), "krylov_residuals", 1) >= 0.2 * 0.05);
    json_decref(root);
}

/* The four points of --tet-points 4 hold one and the same strain. */
static void four_points_count_four_times(void **state)
{
    (void)state;
    child_must(0, "solve p.json --threads 1 --mesh tet.msh --result p.r.json");
    child_must(
        0, "solve p.json --threads 1 --mesh tet.msh --result r.json --tet-points 4 --precondition multigrid");
    json_t *one = result_load_checked("p.r.json", "converged", 3),
           *four = result_load_checked("r.json", "converged", 3);
    for (size_t i = 0; i < 3; i++) {
        const json_t *s = result_step(one, i), *t = result_step(four, i);
        for (size_t k = 0; k < 3; k++)
            result_near("u", result_probe(t, k), result_probe(s, k), 1e-6 * result_number(s, "max_abs_u"));
        assert_int_equal(result_number(t, "plastic_gp"), 4 * result_number(s, "plastic_gp"));
    }
    json_decref(one);
    json_decref(four);
}

/* A frozen Jacobian needs more iterations, Anderson's mixing fewer of them; with a consistent tangent a
 * warning says that it is of no use. Its steps are too long where the line search does not shorten them. */
static void modified_newton_and_line_search(void **state)
{
    (void)state;
    child_must(0, "solve p.json --threads 1 --result p.r.json");
    child_must(0,
               "solve p.json --threads 1 --result elastic.json --jacobian elastic --newton-iterations 400");
    child_must(0, "solve p.json --threads 1 --result mixed.json --jacobian elastic --newton-iterations 400 "
                  "--anderson 3");
    assert_null(strstr(child_said, "--anderson"));
    child_must(0, "solve p.json --threads 1 --result searched.json --anderson 3");
    child_assert_said("--anderson", "solve",
                      PARTS("--anderson 3: costs iterations with a consistent tangent"));
    child_must(0, "solve p.json --threads 1 --result whole.json --anderson 3 --no-line-search");
    static const char *const files[] = {"p.r.json", "elastic.json", "mixed.json", "searched.json",
                                        "whole.json"};
    json_t *root[5];
    for (int i = 0; i < 5; i++) root[i] = result_load_checked(files[i], "converged", 3);
    for (int i = 1; i < 5; i++) assert_same(files[i], root[i], root[0]);
    assert_true(newton(root[1], 1) > 3 * newton(root[0], 1));
    assert_true(2 * newton(root[2], 1) < newton(root[1], 1));
    assert_true(shortest(root[3]) < 1);
    assert_true(shortest(root[4]) == 1);
    for (int i = 0; i < 5; i++) json_decref(root[i]);
}

/* Where an increment fails and its halves do not, the solution is that of a path which lists the halves. */
static void substeps_are_halves(void **state)
{
    (void)state;
    child_write_problem("whole.json", (problem){.factors = "1, 2, 3, 0"});
    child_write_problem("halves.json", (problem){.factors = "1, 2, 2.5, 3, 0"});
    child_must(1, "solve whole.json --threads 1 --newton-iterations 5 --result r.json");
    json_decref(result_load_checked("r.json", "not_converged", 2));
    child_must(0, "solve whole.json --threads 1 --newton-iterations 5 --substep --result r.json");
    child_assert_said("--substep", "solve", PARTS("load step 3: not converged", "the increment is halved"));
    child_must(0, "solve halves.json --threads 1 --result halves.r.json");
    json_t *root = result_load_checked("r.json", "converged", 4),
           *halves = result_load_checked("halves.r.json", "converged", 5);
    assert_int_equal(result_number(result_at(result_step(root, 2), "newton"), "substeps"), 2);
    for (size_t i = 2; i < 4; i++) {
        const json_t *s = result_step(root, i), *t = result_step(halves, i + 1);
        for (size_t k = 0; k < 3; k++)
            result_near("u", result_probe(s, k), result_probe(t, k), 1e-6 * result_number(t, "max_abs_u"));
        result_near("work", result_number(s, "plastic_work"), result_number(t, "plastic_work"),
                    1e-6 * result_number(t, "plastic_work"));
    }
    json_decref(root);
    json_decref(halves);
}

/* Sum over the steps of a number of their newton object. */
static double total(const json_t *root, const char *key)
{
    double n = 0;
    for (size_t i = 0; i < json_array_size(result_at(root, "steps")); i++)
        n += result_number(result_at(result_step(root, i), "newton"), key);
    return n;
}

/* While the load goes on, by loads or by supports, the last increment's continuation saves iterations; where
 * it turns or begins it is not used. The answer is the same. */
static void predictor_saves_iterations(void **state)
{
    (void)state;
    static const struct {
        const char *supports, *loads, *factors;
        int continued; /* steps that continue the one before */
    } cases[] = {{NULL, NULL, "1, 1.6, 2.2, 2.5, 2.8, 0, -1, -1.8", 6},
                 {"{\"group\": \"x0\", \"u\": {\"x\": 0, \"y\": 0, \"z\": 0}}, "
                  "{\"group\": \"x1\", \"u\": {\"x\": 0.001, \"z\": 0.001}}",
                  "", "1, 1.6, 2.2, 2.5, 2.8, 0, -1, -1.8", 6}};
    for (int i = 0; i < 2; i++) {
        child_write_problem(
            "path.json",
            (problem){.supports = cases[i].supports, .loads = cases[i].loads, .factors = cases[i].factors});
        child_must(0, "solve path.json --threads 1 --result elastic.json --predictor elastic");
        child_must(0, "solve path.json --threads 1 --result r.json");
        json_t *reference = result_load_checked("elastic.json", "converged", 8),
               *root = result_load_checked("r.json", "converged", 8);
        for (size_t k = 0; k < 8; k++) {
            const json_t *s = result_step(root, k), *t = result_step(reference, k);
            for (size_t c = 0; c < 3; c++)
                result_near("u", result_probe(s, c), result_probe(t, c),
                            1e-6 * result_number(t, "max_abs_u"));
            result_near("max_peeq", result_number(s, "max_peeq"), result_number(t, "max_peeq"),
                        1e-6 * result_number(t, "max_peeq"));
        }
        assert_true(total(root, "extrapolated") == cases[i].continued);
        assert_true(total(reference, "extrapolated") == 0);
        assert_true(total(root, "iterations") < 0.9 * total(reference, "iterations"));
        json_decref(root);
        json_decref(reference);
    }
}

/* A step that fails is taken in pieces, which grow again behind those that were easy; a limit load is reached
 * to a 256th of the step. The bar bears 250: (250 - 100) / 280 of the second step. */
static void pieces_shrink_and_grow(void **state)
{
    (void)state;
    child_write_problem("far.json", (problem){.factors = "1, 6, 0"});
    child_must(1, "solve far.json --threads 1 --newton-iterations 5 --result r.json");
    child_must(0, "solve far.json --threads 1 --newton-iterations 5 --substep --result r.json");
    json_t *root = result_load_checked("r.json", "converged", 3);
    const double pieces = result_number(result_at(result_step(root, 1), "newton"), "substeps");
    /* as many as there would be if none grew again */
    double carried = 0, size = 1, ungrown = 0, c, s;
    const char *halved = "halved: ", *at = strstr(child_said, "load step 2");
    for (at = strstr(at, halved); at; at = strstr(at + 1, halved)) {
        assert_int_equal(sscanf(at + strlen(halved), "%lg of the step is carried, %lg", &c, &s), 2);
        ungrown += (c - carried) / size, carried = c, size = s;
        if (!strstr(at, "\n") || strncmp(strstr(at, "\n"), "\nsolve: load step 2", 19)) break;
    }
    ungrown += (1 - carried) / size;
    assert_true(pieces > 2 && pieces < ungrown - 0.5);
    json_decref(root);
    child_write_problem(
        "bar.json",
        (problem){.material = PERFECT, .supports = ROLLERS, .loads = PULL, .factors = "100, 380"});
    child_must(1, "solve bar.json --threads 1 --substep --result r.json");
    assert_non_null(strstr(child_said, "load step 2: limit load: displacements grow without bound"));
    root = result_load_checked("r.json", "limit_load", 1);
    carried = result_number(result_at(root, "failed_step"), "carried");
    assert_true(carried <= 150.0 / 280 && carried + 1.0 / 256 > 150.0 / 280);
    char said[96];
    snprintf(said, sizeof said, ": %.6g of the step was carried, at most 0.5357 can be\n", carried);
    assert_non_null(strstr(child_said, said));
    json_decref(root);
}

/* Every strategy that --list names solves the problem. */
static void listed_variants_run(void **state)
{
    (void)state;
    char text[8192], *rest = text;
    int n = 0;
    child_must(0, "solve p.json --threads 1 --result p.r.json");
    json_t *reference = result_load_checked("p.r.json", "converged", 3);
    child_must(0, "solve --list");
    read_into("out", sizeof text, text);
    for (char *line; (line = strsep(&rest, "\n")) && *line; n++) {
        char name[64] = "", summary[64] = "";
        assert_int_equal(sscanf(line, "%63s %63s", name, summary), 2);
        if (!strstr(line, "(host")) continue;
        assert_int_equal(child_run("solve p.json --threads 1 --result r.json --variant %s", name), 0);
        json_t *root = result_load_checked("r.json", "converged", 3);
        assert_string_equal(json_string_value(result_at(result_at(root, "run"), "variant")), name);
        assert_same(name, root, reference);
        json_decref(root);
    }
    assert_true(n >= 2);
    json_decref(reference);
}

/* Whether a library of that name is loaded. */
static int is_loaded(const char *name)
{
    char line[1024];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && !found && fgets(line, sizeof line, maps)) found = strstr(line, name) != NULL;
    if (maps) fclose(maps);
    return found;
}

/* OpenMP may tie the first thread to a core; the others still have theirs. 2197 elements are work for two
 * threads. */
static void bound_threads_use_all_cores(void **state)
{
    const char *bind[] = {"false", "true", "spread"};
    const int threads = omp_get_num_procs() > 1 ? 2 : 1;
    (void)state;
    skip_if(is_loaded("/libomp") && is_loaded("/libgomp") ? "muParser's GNU OpenMP binds before LLVM's counts"
                                                          : NULL,
            "bound threads");
    child_must(0, "meshgen box -c 13 -o two.msh");
    child_write_problem("two.json", (problem){.factors = "1"});
    for (int i = 0; i < 3; i++) {
        child_run("env -u OMP_NUM_THREADS OMP_PROC_BIND=%s solve two.json --mesh two.msh --result r.json",
                  bind[i]);
        json_t *root = result_load_checked("r.json", "converged", 1);
        assert_int_equal(result_number(result_at(root, "run"), "threads"), threads);
        json_decref(root);
    }
}

/* An argument selects tests by name ("limit*"). */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(result_has_its_keys),
        cmocka_unit_test(ways_to_one_solution),
        cmocka_unit_test(differences_end_where_they_help),
        cmocka_unit_test(linear_solves_end_where_they_help),
        cmocka_unit_test(unconverged_solves_are_said),
        cmocka_unit_test(four_points_count_four_times),
        cmocka_unit_test(modified_newton_and_line_search),
        cmocka_unit_test(substeps_are_halves),
        cmocka_unit_test(predictor_saves_iterations),
        cmocka_unit_test(pieces_shrink_and_grow),
        cmocka_unit_test(listed_variants_run),
        cmocka_unit_test(bound_threads_use_all_cores),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, child_open, child_close);
}
