/* The benchmark programs, and a sweep over them that is interrupted and goes on. */
#include <glob.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/variant.h"
#include "tests/common.h"

/* Starts bench/sweep.sh over three small boxes, and with `ranks` over two more on each number of ranks of
 * that list ("0": none; "late": none, and the budget of time is spent), its output in `log`. */
static pid_t start_sweep(const char *log, const char *ranks)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child) return child;
    setpgid(0, 0);
    signal(SIGINT, SIG_DFL); /* a shell cannot trap what was ignored when it started */
    if (!freopen(log, "w", stdout) || dup2(fileno(stdout), 2) < 0) _exit(99);
    setenv("BUILD", build_folder(), 1);
    setenv("RESULTS", test_folder, 1);
    setenv("BACKENDS", "host", 1);
    setenv("ELEMENTS", "tet4", 1);
    setenv("SIZES_host", "300 1000 2000", 1);
    setenv("VARIANTS", fe_variant_at(0)->name, 1);
    setenv("THREADS", "1", 1);
    setenv("RANKS_host", ranks, 1);
    setenv("STRONG_host", "300", 1);
    setenv("WEAK_host", "300", 1);
    setenv("PASSES", "first host", 1);
    setenv("REPETITIONS", "5", 1);
    if (!strcmp(ranks, "late"))
        setenv("RANKS_host", "0", 1), setenv("BENCH_START", "1000000000", 1); /* long ago */
    else
        unsetenv("BENCH_START");
    unsetenv("BUDGET");
    execlp("sh", "sh", "bench/sweep.sh", (char *)NULL);
    _exit(99);
}

static int end_sweep(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* How many files match; the first one's path. */
static int find(const char *pattern, size_t size, char *path)
{
    char whole[2 * FOLDER_LENGTH];
    glob_t found;
    snprintf(whole, sizeof whole, "%s/*/*/%s", test_folder, pattern);
    const int n = glob(whole, 0, NULL, &found) ? 0 : (int)found.gl_pathc;
    if (n && path) snprintf(path, size, "%s", found.gl_pathv[0]);
    globfree(&found);
    return n;
}

static int count(const char *text, const char *part)
{
    int n = 0;
    for (; (text = strstr(text, part)); text++) n++;
    return n;
}

/* Interrupts a sweep when files match. */
static void interrupt_sweep(pid_t child, const char *log, const char *pattern)
{
    for (int i = 0; i < 1200 && !find(pattern, 0, NULL); i++) {
        usleep(50000);
        if (waitpid(child, NULL, WNOHANG))
            fail_msg("the sweep ended before %s was there:\n%s", pattern, read_file(log, NULL));
    }
    kill(child, SIGINT);
    assert_int_equal(end_sweep(child), 130);
}

static void test_interrupted_sweep_goes_on(void **state)
{
    (void)state;
    char log[FOLDER_LENGTH + 16], path[2 * FOLDER_LENGTH];
    snprintf(log, sizeof log, "%s/sweep.log", test_folder);
    skip_without("kernels", "sweep");
    interrupt_sweep(start_sweep(log, "0"), log, "scratch/*.rows.csv");
    char *text = read_file(log, NULL);
    assert_holds(text, " of 7:00  first   host tet4, 300 DoF, ");
    assert_holds(text, "interrupted; finished points are kept");
    free(text);
    assert_in_range(find("scratch/*.rows.csv", sizeof path, path), 1, 2);
    assert_int_equal(find("scratch/*.part", 0, NULL), 0);
    char *first = read_file(path, NULL);

    assert_int_equal(end_sweep(start_sweep(log, "0")), 0);
    text = read_file(log, NULL);
    assert_null(strstr(text, "host tet4, 300 DoF, "));
    assert_holds(text, " of 7:00  host    host tet4, 2000 DoF, ");
    free(text);
    char *again = read_file(path, NULL);
    assert_string_equal(first, again); /* not measured a second time */
    free(first), free(again);
    assert_int_equal(find("kernels.csv", sizeof path, path), 1); /* one folder */
    text = read_file(path, NULL);
    assert_int_equal(count(text, "\n"), 1 + 3 * 5); /* a header, and all operations of all sizes */
    assert_null(strstr(text, "failed"));
    free(text);
    assert_int_equal(find("table.md", 0, NULL), 1);

    assert_int_equal(end_sweep(start_sweep(log, "0")), 0);
    text = read_file(log, NULL);
    assert_holds(text, "all points were there");
    free(text);
}

/* The first pass is always complete. Points for which the budget has no time are named, and measured
 * later. */
static void test_spent_budget_leaves_points_out(void **state)
{
    (void)state;
    char log[FOLDER_LENGTH + 16], path[2 * FOLDER_LENGTH];
    snprintf(log, sizeof log, "%s/sweep.log", test_folder);
    skip_without("kernels", "sweep");
    free(read_success("rm -rf '%s'/*", test_folder));
    assert_int_equal(end_sweep(start_sweep(log, "late")), 0);
    char *text = read_file(log, NULL);
    assert_holds(text, "bench: 2 points were left out for time");
    free(text);
    assert_int_equal(find("table.md", sizeof path, path), 1);
    text = read_file(path, NULL);
    assert_holds(
        text,
        "Left out for time: host tet4, 1000 DoF, lexicographic, plastic 1 clustered; host tet4, 2000 DoF");
    free(text);
    assert_int_equal(end_sweep(start_sweep(log, "0")), 0);
    text = read_file(path, NULL);
    assert_null(strstr(text, "Left out"));
    free(text);
    assert_int_equal(find("left-out.txt", 0, NULL), 0);
    assert_int_equal(find("kernels.csv", sizeof path, path), 1);
    text = read_file(path, NULL);
    assert_int_equal(count(text, "\n"), 1 + 3 * 5);
    free(text);
}

/* The same with points on ranks: 1 and 2, one box for all and one for each. */
static void test_interrupted_sweep_of_ranks_goes_on(void **state)
{
    (void)state;
    char log[FOLDER_LENGTH + 16], path[2 * FOLDER_LENGTH];
    snprintf(log, sizeof log, "%s/sweep.log", test_folder);
    skip_without("kernels", "sweep");
    skip_without("scaling", "sweep");
    interrupt_sweep(start_sweep(log, "1 2"), log, "scratch/scaling-*.rows.csv");
    assert_in_range(find("scratch/scaling-*.rows.csv", sizeof path, path), 1, 3);
    assert_int_equal(find("scratch/*.part", 0, NULL), 0);
    char *first = read_file(path, NULL);

    assert_int_equal(end_sweep(start_sweep(log, "1 2")), 0);
    char *text = read_file(log, NULL);
    assert_null(strstr(text, "host tet4, 2000 DoF, "));
    assert_holds(text, " of 7:00  host    host tet4, 300 DoF a rank, weak, 2 ranks (about ");
    free(text);
    char *again = read_file(path, NULL);
    assert_string_equal(first, again); /* not measured a second time */
    free(first), free(again);
    assert_int_equal(find("scaling.csv", sizeof path, path), 1); /* one folder */
    text = read_file(path, NULL);
    assert_int_equal(count(text, "schema"), 1);
    assert_int_equal(count(text, ",exchange,"), 4);
    assert_int_equal(count(text, ",gmres_cgs2,"), 4);
    assert_int_equal(count(text, ",ok\n") + 1, count(text, "\n"));
    assert_holds(text, ",weak-1x1x2-threads-box");
    free(text);
    assert_int_equal(find("scaling.md", sizeof path, path), 1);
    text = read_file(path, NULL);
    assert_holds(text, " speed-up on 2 |");
    assert_holds(text, " efficiency on 2 |");
    free(text);
    const int drawn = system("command -v gnuplot >/dev/null") == 0;
    assert_int_equal(find("scaling-host.svg", 0, NULL), drawn);
    assert_int_equal(find("scaling-host.png", 0, NULL), drawn);
}

/* The table shows the status of points that did not finish, too. */
static void test_lost_points_on_ranks_have_rows(void **state)
{
    (void)state;
    skip_without("scaling", "sweep");
    char *text = read_success(
        "%s/scaling --ranks 2 --weak --dofs 300 --variants %s --give-up killed --rows '%s/lost.csv' && "
        "LC_ALL=C awk -f bench/scaling.awk '%s/lost.csv'",
        build_folder(), fe_variant_at(0)->name, test_folder, test_folder);
    assert_holds(text, "## hex8 on host, weak: ");
    assert_holds(text, "| `jacvec` | killed |  |  |  |\n");
    free(text);
}

/* --- programs -------------------------------------------------------------------------------------- */

/* Scattered plastic elements, and none, agree with the oracle; about as many are plastic as were asked for.
 */
static void test_scattered_elements_pass_the_check(void **state)
{
    (void)state;
    static const char *const shares[] = {"0", "0.1"};
    char path[FOLDER_LENGTH + 16];
    skip_without("kernels", "scattered elements");
    snprintf(path, sizeof path, "%s/scattered.csv", test_folder);
    for (int i = 0; i < 2; i++) {
        free(read_success(
            "%s/kernels --fe_backend=host --fe_threads=1 --fe_variants=%s --fe_dofs=9000 --fe_scatter "
            "--fe_plastic=%s --fe_rows='%s' --benchmark_repetitions=1 --benchmark_min_time=0.0001 2>&1",
            build_folder(), fe_variant_at(0)->name, shares[i], path));
        char *rows = read_file(path, NULL);
        int n = 0;
        for (const char *at = rows; (at = strstr(at, ",ok\n")); at++) n++;
        if (n != 2 * 5) fail_msg("%d rows are ok, not 10:\n%s", n, rows);
        assert_holds(rows, i ? ",0.1,scattered," : ",0,scattered,");
        assert_holds(rows, i ? ",0.09" : ",0.000000,"); /* plastic_measured */
        free(rows);
    }
}

/* If a row cannot be written, the run fails; the row is not silently lost. */
static void test_full_disk_is_reported(void **state)
{
    (void)state;
    int code;
    skip_without("kernels", "full disk");
    char *text = read_command(
        &code,
        "%s/kernels --fe_backend=host --fe_threads=1 --fe_variants=%s --fe_elements=tet4 --fe_dofs=300 "
        "--fe_operations=jacvec --fe_rows=/dev/full 2>&1 >/dev/null",
        build_folder(), fe_variant_at(0)->name);
    assert_int_equal(code, 1);
    assert_holds(text, "No space left on device");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scattered_elements_pass_the_check),
        cmocka_unit_test(test_full_disk_is_reported),
        cmocka_unit_test(test_interrupted_sweep_goes_on),
        cmocka_unit_test(test_spent_budget_leaves_points_out),
        cmocka_unit_test(test_lost_points_on_ranks_have_rows),
        cmocka_unit_test(test_interrupted_sweep_of_ranks_goes_on),
    };
    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
