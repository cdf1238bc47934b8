/* `solve` as a user runs it: limit loads, signals and full disks keep the accepted steps, and every flag
 * leads to the same solution. All meshes have a few elements. */
#include "have/metis.h"
#include "tests/child.h"
#include "tests/common.h"
#include "tests/result.h"

#include <glob.h>
#include <math.h>
#include <omp.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define ROLLERS                                                                                              \
    "{\"group\": \"x0\", \"u\": {\"x\": 0}}, {\"group\": \"y0\", \"u\": {\"y\": 0}}, "                       \
    "{\"group\": \"z0\", \"u\": {\"z\": 0}}"
#define PULL "{\"group\": \"x1\", \"traction\": [1, 0, 0]}"

static void assert_near(const char *what, double value, double expected, double bound)
{
    if (!(fabs(value - expected) <= bound)) fail_msg("%s: %.15g is not %.15g", what, value, expected);
}

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
            assert_near(what, result_probe(s, k), result_probe(t, k), 1e-6 * result_number(t, "max_abs_u"));
            assert_near(what, result_number(result_at(result_at(s, "reactions"), "x0"), axes[k]),
                        result_number(result_at(result_at(t, "reactions"), "x0"), axes[k]), 1e-6 * 72 * 2.2);
        }
        assert_near(what, result_number(s, "max_peeq"), result_number(t, "max_peeq"),
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

/* --- runs that end early ----------------------------------------------------------------------------- */

/* A bar without hardening bears sigma_y = 250; below it u = sigma / E, to a hundred times the 1e-9 of the
 * force that may stay unbalanced. */
static void limit_load_keeps_steps(void **state)
{
    (void)state;
    static const double factors[] = {100, 240};
    child_write_problem("limit.json",
                        (problem){.material = "\"E\": 200000, \"nu\": 0.3, \"sigma_y\": 250, \"H\": 0",
                                  .supports = ROLLERS,
                                  .loads = PULL,
                                  .factors = "100, 240, 260, 0"});
    child_must(1, "solve limit.json --threads 1 --result limit.r.json");
    /* where all points flow, linear solves find no way either, and say so */
    assert_non_null(strstr(child_said, "solve: load step 3: limit load: displacements grow without bound"));
    json_t *root = result_load_checked("limit.r.json", "limit_load", 2);
    for (size_t i = 0; i < 2; i++)
        assert_near("u", result_probe(result_step(root, i), 0), factors[i] / 200000,
                    1e-7 * factors[i] / 200000);
    json_decref(root);
}

/* Factors from `first` on, n of them. */
static const char *ramp(double first, double by, int n)
{
    static char text[1 << 14];
    for (int i = 0, used = 0; i < n; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%.10g", i ? ", " : "", first + by * i);
    return text;
}

#define PERFECT "\"E\": 200000, \"nu\": 0.3, \"sigma_y\": 250, \"H\": 0"
#define SHEAR "{\"group\": \"x1\", \"traction\": [0, 0, 1]}"

/* What a load can reach does not depend on its steps: a clamped cube of Hex8 carries a shear of 122 in steps
 * of 0.1 as it does in one (the elements lock: it has no limit near). One of Tet4 has its limit between the
 * same two factors whatever the steps. */
static void limit_load_is_no_matter_of_steps(void **state)
{
    (void)state;
    child_must(0, "meshgen box -c 4 -o cube4.msh");
    child_must(0, "meshgen box -c 4 -e tet4 -o cube4_tet.msh");
    child_write_problem("fine.json",
                        (problem){.material = PERFECT, .loads = SHEAR, .factors = ramp(100, 0.1, 221)});
    child_must(0, "solve fine.json --mesh cube4.msh --threads 1 --result r.json");
    json_decref(result_load_checked("r.json", "converged", 221));
    double low = 0.0, high = INFINITY;
    static const double by[] = {1, 0.25, 0.1};
    for (int i = 0; i < 3; i++) {
        child_write_problem("steps.json",
                            (problem){.material = PERFECT, .loads = SHEAR, .factors = ramp(130, by[i], 60)});
        child_must(1, "solve steps.json --mesh cube4_tet.msh --threads 1 --result r.json");
        assert_non_null(strstr(child_said, "limit load: displacements grow without bound"));
        const double reached = 130 + by[i] * (double)(result_steps("r.json") - 1);
        low = fmax(low, reached), high = fmin(high, reached + by[i]);
    }
    assert_true(low < high);
}

/* Digits that are not there are not waited for: the message names the tolerance, soon, whatever the method.
 */
static void tolerance_out_of_reach(void **state)
{
    (void)state;
    static const char *const ways[] = {
        "", "--jacobian difference", "--jacobian elastic --newton-iterations 900",
        "--jacobian elastic --newton-iterations 900 --anderson 3", "--substep"};
    child_write_problem("tight.json", (problem){.factors = "1.5"});
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        assert_int_equal(
            child_run("solve tight.json --tolerance 1e-17 --threads 1 --result r.json %s", ways[i]), 1);
        child_assert_said(ways[i], "solve",
                          PARTS("load step 1: not converged: residual ", "stands still after",
                                "--tolerance 1e-17 asks for more digits than there are here"));
        json_t *root = result_load_checked("r.json", "not_converged", 0);
        const double n = result_number(result_at(result_at(root, "failed_step"), "newton"), "iterations");
        assert_true(n < (i == 2 || i == 3 ? 450 : 25));
        json_decref(root);
    }
}

/* The step that was given up is in the result, with what Newton's method did: n linear solves were taken. */
static void assert_failed(const json_t *root, int step, double factor, size_t n)
{
    static const char *const lists[] = {"line_search", "increments", "krylov", "krylov_residuals"};
    const json_t *failed = result_at(root, "failed_step"), *history = result_at(failed, "newton");
    assert_int_equal(result_number(failed, "step"), step);
    assert_true(result_number(result_at(failed, "factors"), "load") == factor);
    assert_int_equal(result_number(history, "iterations"), n);
    for (size_t i = 0; i < 4; i++) assert_int_equal(json_array_size(result_at(history, lists[i])), n);
    assert_int_equal(json_array_size(result_at(history, "residuals")), n + 1);
}

static void no_convergence_keeps_steps(void **state)
{
    (void)state;
    child_must(1, "solve p.json --threads 1 --result r.json --newton-iterations 1"); /* step 1 is elastic */
    child_assert_said("Newton", "solve",
                      PARTS("load step 2: not converged: residual ", "after 2 iterations"));
    json_t *root = result_load_checked("r.json", "not_converged", 1);
    assert_failed(root, 2, -2.2, 2);
    json_decref(root);
    child_must(1, "solve p.json --threads 1 --result r.json --krylov-iterations 1 --newton-iterations 9");
    assert_non_null(strstr(child_said, "; again with multigrid\n"));
    assert_non_null(strstr(child_said, "solve: load step 1: not converged: residual "));
    assert_non_null(strstr(child_said, "linear solve: iteration limit"));
    root = result_load_checked("r.json", "not_converged", 0);
    assert_failed(root, 1, 1, 0);
    json_decref(root);
    child_must(0, "meshgen box -c 1 -l 1e100 -o huge.msh"); /* traction × area is beyond the largest number */
    child_write_problem("huge.json", (problem){.loads = "{\"group\": \"x1\", \"pressure\": 1e99}"});
    child_must(1, "solve huge.json --mesh huge.msh --threads 1 --result r.json");
    child_assert_said("overflow", "solve",
                      PARTS("load step 1: not converged: the residual or a force is not finite"));
    json_decref(result_load_checked("r.json", "not_converged", 0));
}

/* Lines of the last program's output: two of a heading (of several ranks three), one a load step, and the
 * summary. */
static size_t count_lines(void)
{
    static char text[1 << 18];
    size_t n = 0;
    read_into("out", sizeof text, text);
    for (const char *c = text; *c; c++) n += *c == '\n';
    return n;
}

/* Sends a signal once the result shows n steps; the file must be complete whenever it is there. */
static int interrupt(const char *command, int signal_number, size_t n_step)
{
    unlink("r.json");
    const pid_t child = child_start(command);
    for (int i = 0; i < 6000; i++, usleep(5000))
        if (access("r.json", R_OK) == 0 && result_steps("r.json") >= n_step) break;
    kill(child, signal_number);
    return child_finish(child);
}

static void interruption_keeps_steps(void **state)
{
    (void)state;
    child_write_long_problem("long.json", NULL);
    for (int ranks = 1; ranks <= 2; ranks++) {
        char command[128];
        snprintf(command, sizeof command, "solve long.json --threads 1 --ranks %d --result r.json", ranks);
        assert_int_equal(interrupt(command, ranks == 1 ? SIGINT : SIGTERM, 2), 130);
        child_assert_said(command, "solve", PARTS("interrupted in load step "));
        const size_t n = result_steps("r.json");
        assert_true(n >= 2 && n < LONG_PROBLEM);
        assert_int_equal(count_lines(), n + 2 + (size_t)ranks); /* no step that was shown is missing */
        json_t *root = result_load_checked("r.json", "interrupted", n);
        for (size_t i = 1; i < n; i++) { /* elastic: as the load */
            const double expected = result_probe(result_step(root, 0), 2) * (i % 2 ? 2 : 1);
            assert_near("u", result_probe(result_step(root, i), 2), expected, 1e-7 * expected);
        }
        json_decref(root);
    }
    /* One linear solve of a minute or more: a long basis, and digits that are not there. */
    child_must(0, "meshgen box -c 24 -o large.msh");
    child_write_problem("slow.json", (problem){0});
    const char *endless = "solve slow.json --mesh large.msh --threads 1 --krylov gmres --restart 1000 "
                          "--krylov-tolerance 1e-15 --precondition none --result r.json";
    assert_int_equal(interrupt(endless, SIGINT, 0), 130);
    child_assert_said(endless, "solve", PARTS("interrupted in load step 1"));
    json_decref(result_load_checked("r.json", "interrupted", 0));
}

/* What is known stands in the output before the first step ends, and a linear solve that takes long says
 * where it is, after one second, two more, … */
static void long_solves_speak(void **state)
{
    (void)state;
    child_must(0, "meshgen box -c 24 -o large.msh");
    child_write_problem("slow.json", (problem){0});
    const pid_t child =
        child_start("solve slow.json --mesh large.msh --threads 1 --krylov gmres --restart 1000 "
                    "--krylov-tolerance 1e-15 --precondition none --progress 1");
    char out[1024] = "", err[1024] = "";
    for (int i = 0; i < 6000 && !(strstr(out, "plastic gp") && strstr(err, "so far")); i++, usleep(5000)) {
        read_into("out", sizeof out, out);
        read_into("err", sizeof err, err);
    }
    kill(child, SIGINT);
    assert_int_equal(child_finish(child), 130);
    assert_non_null(strstr(out, "step     newton"));
    assert_null(strstr(out, "\n   1 "));
    int step, iteration, n;
    double reduced;
    assert_int_equal(sscanf(err,
                            "solve: load step %d, Newton iteration %d: linear solve: %d iterations so far, "
                            "residual reduced to %lg\n",
                            &step, &iteration, &n, &reduced),
                     4);
    assert_true(step == 1 && iteration == 1 && n > 0 && reduced < 1);
}

/* A strain of 0.12 is beyond small ones; it is said once, not again by each step, and stands in the result.
 * The gradient of a stretched bar without lateral contraction (nu = 0) is u / length. */
static void large_strains_are_said(void **state)
{
    (void)state;
    child_write_problem("stretch.json",
                        (problem){.material = "\"E\": 1, \"nu\": 0, \"sigma_y\": 1000, \"H\": 0",
                                  .supports = ROLLERS ", {\"group\": \"x1\", \"u\": {\"x\": 0.01}}",
                                  .loads = "",
                                  .factors = "9.9, 12, 13, 25, 26"});
    child_must(0, "solve stretch.json --threads 1 --result r.json");
    static const char *const said =
        "solve: load step 2: the displacement gradient is up to 0.12: small strains "
        "hold below 0.1\nsolve: load step 4: the displacement gradient is up to 0.25";
    assert_int_equal(strncmp(child_said, said, strlen(said)), 0);
    json_t *root = result_load_checked("r.json", "converged", 5);
    static const double gradient[] = {0.099, 0.12, 0.13, 0.25, 0.26};
    for (size_t i = 0; i < 5; i++) {
        assert_near("gradient", result_number(result_step(root, i), "max_gradient"), gradient[i], 1e-9);
        assert_int_equal(json_is_true(result_at(result_step(root, i), "small_strain")), i == 0);
    }
    json_decref(root);
    child_must(0, "solve stretch.json --mesh tet.msh --threads 1 --ranks 2 --result r.json");
    root = result_load_checked("r.json", "converged", 5);
    assert_near("gradient", result_number(result_step(root, 1), "max_gradient"), 0.12, 1e-9);
    json_decref(root);
}

/* A limit on the size of files is a disk that fills up while the result grows. */
static void full_disk(void **state)
{
    (void)state;
    child_must(1, "solve p.json --threads 1 --result /dev/full");
    child_assert_said("/dev/full", "solve", PARTS("/dev/full: cannot be written: No space left on device"));
    child_must(1, "sh -c 'ulimit -f 8; trap \"\" XFSZ; exec solve p.json --threads 1 --result r.json'");
    child_assert_said("ulimit", "solve", PARTS("r.json: cannot be written: File too large"));
    const size_t n = result_steps("r.json");
    assert_true(n >= 1 && n < 3);
    /* The table is lost, the result is not. */
    child_must(1, "solve p.json --threads 1 --result r.json >/dev/full");
    child_assert_said(">/dev/full", "solve",
                      PARTS("standard output cannot be written: No space left on device"));
    json_decref(result_load_checked("r.json", "converged", 3));
    static const char *const commands[] = {"solve --help",       "solve --version",   "solve --list",
                                           "meshgen --help",     "meshgen --version", "meshgen info box.msh",
                                           "meshgen box -c 2 -o"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        char command[128];
        snprintf(command, sizeof command, "%s %s/dev/full", commands[i], i < 6 ? ">" : "");
        child_must(1, command);
        child_assert_said(command, i < 3 ? "solve" : "meshgen", PARTS("No space left on device"));
    }
}

/* --- runs that reach the end ------------------------------------------------------------------------- */

/* "a b.json" so that the recorded command needs quotes. */
static void result_has_its_keys(void **state)
{
    (void)state;
    static const char *const
        keys[] = {"problem",     "mesh",  "element", "nodes", "elements", "volume",
                  "probe_nodes", "units", "status",  "steps", "run"},
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
    assert_near("volume", result_number(root, "volume"), 1, 1e-14);
    static const double factors[] = {1, -2.2, 2.2};
    for (size_t i = 0; i < 3; i++) {
        const json_t *s = result_step(root, i), *reaction = result_at(result_at(s, "reactions"), "x0");
        HAS(s, step_keys);
        HAS(result_at(s, "newton"), newton_keys);
        HAS(result_at(s, "seconds"), second_keys);
        assert_true(result_number(result_at(s, "factors"), "load") == factors[i]);
        assert_near("reaction x", result_number(reaction, "x"), -60 * factors[i], 1e-6 * 72 * 2.2);
        assert_near("reaction y", result_number(reaction, "y"), 0, 1e-6 * 72 * 2.2);
        assert_near("reaction z", result_number(reaction, "z"), -40 * factors[i], 1e-6 * 72 * 2.2);
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
    child_must(0, "solve p.json --threads 1 --mesh tet.msh --result r.json --tet-points 4");
    json_t *one = result_load_checked("p.r.json", "converged", 3),
           *four = result_load_checked("r.json", "converged", 3);
    for (size_t i = 0; i < 3; i++) {
        const json_t *s = result_step(one, i), *t = result_step(four, i);
        for (size_t k = 0; k < 3; k++)
            assert_near("u", result_probe(t, k), result_probe(s, k), 1e-6 * result_number(s, "max_abs_u"));
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
            assert_near("u", result_probe(s, k), result_probe(t, k), 1e-6 * result_number(t, "max_abs_u"));
        assert_near("work", result_number(s, "plastic_work"), result_number(t, "plastic_work"),
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
                assert_near("u", result_probe(s, c), result_probe(t, c),
                            1e-6 * result_number(t, "max_abs_u"));
            assert_near("max_peeq", result_number(s, "max_peeq"), result_number(t, "max_peeq"),
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
    char said[64];
    snprintf(said, sizeof said, "; %.6g of the step was carried\n", carried);
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

/* OpenMP may tie the first thread to a core; the others still have theirs. 2197 elements are work for two
 * threads. */
static void bound_threads_use_all_cores(void **state)
{
    const char *bind[] = {"false", "true", "spread"};
    const int threads = omp_get_num_procs() > 1 ? 2 : 1;
    (void)state;
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
        cmocka_unit_test(limit_load_keeps_steps),
        cmocka_unit_test(limit_load_is_no_matter_of_steps),
        cmocka_unit_test(tolerance_out_of_reach),
        cmocka_unit_test(no_convergence_keeps_steps),
        cmocka_unit_test(interruption_keeps_steps),
        cmocka_unit_test(long_solves_speak),
        cmocka_unit_test(large_strains_are_said),
        cmocka_unit_test(full_disk),
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
