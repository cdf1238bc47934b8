/* `solve` where a run ends early: limit loads, signals and full disks keep the accepted steps, and what went
 * wrong is said; `scaling` keeps its rows. All meshes have a few elements. */
#include "have/superlu.h"
#include "tests/child.h"
#include "tests/common.h"
#include "tests/result.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

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
        result_near("u", result_probe(result_step(root, i), 0), factors[i] / 200000,
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

/* A run goes on only while its residual falls: to less than `fall` of the least so far in each `patience`
 * iterations, once it is below 1e-6. How often rounding errors let it fall is left open. */
static void assert_gave_up_in_time(const json_t *residuals, double fall, int patience)
{
    const size_t n = json_array_size(residuals);
    double least = INFINITY;
    int standing = 0;
    for (size_t i = 0; i < n; i++) {
        const double r = json_number_value(json_array_get(residuals, i));
        /* The residual is over the largest force, which is not the same to the last digit. */
        if (r < fall * (1.0 + 1e-9) * least)
            least = r, standing = 0;
        else
            standing++;
        if (standing >= patience && r < 1e-6 && i + 1 < n)
            fail_msg("residual %zu of %zu: %d of them did not fall", i + 1, n, standing);
    }
}

/* Digits that are not there are not waited for: the message names the tolerance, whatever the method. */
static void tolerance_out_of_reach(void **state)
{
    (void)state;
    static const char *const ways[] = {"", "--jacobian difference", "--substep", "--jacobian elastic",
                                       "--jacobian elastic --anderson 3"};
    child_write_problem("tight.json", (problem){.factors = "1.5"});
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        assert_int_equal(
            child_run(
                "solve tight.json --tolerance 1e-17 --newton-iterations 900 --threads 1 --result r.json %s",
                ways[i]),
            1);
        child_assert_said(ways[i], "solve",
                          PARTS("load step 1: not converged: residual ", "stands still after",
                                "--tolerance 1e-17 asks for more digits than there are here"));
        json_t *root = result_load_checked("r.json", "not_converged", 0);
        const json_t *history = result_at(result_at(root, "failed_step"), "newton");
        const int frozen = i >= 3;
        assert_gave_up_in_time(result_at(history, "residuals"), frozen ? 0.99 : 0.9, frozen ? 20 : 8);
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
    /* no iteration is enough: the step is given up, or the direct solver saves it */
    child_run("solve p.json --threads 1 --result r.json --krylov-iterations 1 --newton-iterations 9");
    assert_non_null(strstr(child_said, "linear solve: iteration limit"));
    assert_non_null(strstr(child_said, "; again with multigrid\n"));
    assert_non_null(strstr(child_said, "; again with multigrid in double precision\n"));
    if (FE_HAVE_SUPERLU) {
        assert_non_null(strstr(child_said, "; again with a sparse direct solver\n"));
        assert_true(result_steps("r.json") >= 1);
    } else {
        assert_non_null(strstr(child_said, "solve: load step 1: not converged: residual "));
        root = result_load_checked("r.json", "not_converged", 0);
        assert_failed(root, 1, 1, 0);
        json_decref(root);
    }
    child_must(0, "meshgen box -c 1 -l 1e100 -o huge.msh"); /* traction × area is beyond the largest number */
    child_write_problem("huge.json", (problem){.loads = "{\"group\": \"x1\", \"pressure\": 1e99}"});
    child_must(1, "solve huge.json --mesh huge.msh --threads 1 --result r.json");
    child_assert_said("overflow", "solve",
                      PARTS("load step 1: not converged: the residual or a force is not finite"));
    json_decref(result_load_checked("r.json", "not_converged", 0));
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, what)); at++) n++;
    return n;
}

/* Sends a signal once the result shows n steps; the file must be complete whenever it is there. */
static int interrupt(const char *command, int signal_number, size_t n_step)
{
    unlink("r.json");
    const pid_t child = child_start(command);
    for (int i = 0; i < PATIENCE * 6000; i++, usleep(5000))
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
        assert_int_equal(child_steps_shown(), n); /* no step that was shown is missing */
        json_t *root = result_load_checked("r.json", "interrupted", n);
        for (size_t i = 1; i < n; i++) { /* elastic: as the load */
            const double expected = result_probe(result_step(root, 0), 2) * (i % 2 ? 2 : 1);
            result_near("u", result_probe(result_step(root, i), 2), expected, 1e-7 * expected);
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

/* A killed run keeps the rows of all operations that it has shown. */
static void killed_scaling_keeps_rows(void **state)
{
    (void)state;
    enum { SHOWN = 5 };
    char out[1 << 14] = "";
    const pid_t child = child_start("scaling --threads 1 --dofs 3000 --rows rows.csv");
    for (int i = 0; i < PATIENCE * 6000 && count(out, " …") < SHOWN; i++, usleep(5000))
        read_into("out", sizeof out, out);
    kill(child, SIGKILL);
    assert_int_equal(child_finish(child), -SIGKILL); /* it was not at its end */
    read_into("out", sizeof out, out);
    char *rows = read_file("rows.csv", NULL);
    const size_t shown = count(out, " …"), kept = count(rows, ",ok\n");
    assert_true(shown >= SHOWN);
    if (kept < shown) fail_msg("%zu of %zu rows were kept:\n%s", kept, shown, rows);
    free(rows);
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
    char out[1024] = "", err[4096] = "";
    int step = 0, iteration = 0, n = 0; /* none in the first second, where iterations are slow */
    double reduced = 2;
    for (int i = 0; i < PATIENCE * 6000 && !(strstr(out, "plastic gp") && n > 0); i++, usleep(5000)) {
        read_into("out", sizeof out, out);
        read_into("err", sizeof err, err);
        for (const char *line = err; n == 0 && (line = strstr(line, "solve: load step")); line++)
            if (sscanf(line,
                       "solve: load step %d, Newton iteration %d: linear solve: %d iterations so far, "
                       "residual reduced to %lg\n",
                       &step, &iteration, &n, &reduced) != 4)
                n = 0;
    }
    kill(child, SIGINT);
    assert_int_equal(child_finish(child), 130);
    assert_non_null(strstr(out, "step     newton"));
    assert_null(strstr(out, "\n   1 "));
    assert_true(step == 1 && iteration == 1 && n > 0 && reduced <= 1);
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
        result_near("gradient", result_number(result_step(root, i), "max_gradient"), gradient[i], 1e-9);
        assert_int_equal(json_is_true(result_at(result_step(root, i), "small_strain")), i == 0);
    }
    json_decref(root);
    child_must(0, "solve stretch.json --mesh tet.msh --threads 1 --ranks 2 --result r.json");
    root = result_load_checked("r.json", "converged", 5);
    result_near("gradient", result_number(result_step(root, 1), "max_gradient"), 0.12, 1e-9);
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

/* An argument selects tests by name ("limit*"). */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limit_load_keeps_steps),    cmocka_unit_test(limit_load_is_no_matter_of_steps),
        cmocka_unit_test(tolerance_out_of_reach),    cmocka_unit_test(no_convergence_keeps_steps),
        cmocka_unit_test(interruption_keeps_steps),  cmocka_unit_test(long_solves_speak),
        cmocka_unit_test(large_strains_are_said),    cmocka_unit_test(full_disk),
        cmocka_unit_test(killed_scaling_keeps_rows),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, child_open, child_close);
}
