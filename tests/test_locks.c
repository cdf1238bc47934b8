/* Outputs that two runs would write: the second is refused in one line while the first goes on, and nothing
 * of the first is lost; a run that was killed is in nobody's way. */
#include "tests/child.h"
#include "tests/common.h"
#include "tests/result.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs a command that is refused with this line, and leaves the files as they are. */
static void refused(const char *command, const char *file, const char *why)
{
    child_must(2, command);
    child_assert_said(command, strncmp(command, "scaling", 7) ? "solve" : "scaling", PARTS(file, why));
}

/* A long run with result and series, once it has load steps. */
static pid_t start_long(void)
{
    unlink("r.json");
    const pid_t child = child_start("solve long.json --threads 1 --result r.json --output f");
    for (int i = 0; i < PATIENCE * 6000; i++, usleep(5000))
        if (access("r.json", R_OK) == 0 && result_steps("r.json") >= 2) break;
    return child;
}

#define WRITES "another run is writing it (process "

static void running_outputs_are_refused(void **state)
{
    (void)state;
    const pid_t child = start_long();
    char who[64];
    snprintf(who, sizeof who, "r.json: " WRITES "%ld of ", (long)child);
    refused("solve p.json --threads 1 --result r.json", who, NULL);
    refused("solve long.json --threads 1 --resume r.json", who, NULL);
    refused("solve long.json --threads 1 --result link.json", "link.json: " WRITES, NULL);
    refused("solve p.json --threads 1 --result other.json --output f", "f/cube.pvd: " WRITES, NULL);
    assert_int_not_equal(access("other.json", F_OK), 0);
    child_must(0, "solve named.json --threads 1 --result other.json --output f"); /* another series */
    assert_false(child_has_ended(child));
    kill(child, SIGTERM);
    assert_int_equal(child_finish(child), 130);
    json_decref(result_load_checked("r.json", "interrupted", result_steps("r.json")));
    assert_int_not_equal(access("r.json.lock", F_OK), 0); /* nothing is left behind */
    assert_int_not_equal(access("f/cube.pvd.lock", F_OK), 0);
}

static void killed_run_leaves_no_lock(void **state)
{
    (void)state;
    const pid_t child = start_long();
    int status;
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));                 /* it was not at its end */
    assert_int_equal(access("r.json.lock", F_OK), 0); /* the file, which nobody has locked */
    child_must(0, "solve p.json --threads 1 --result r.json");
    json_decref(result_load_checked("r.json", "converged", 3));
    assert_int_not_equal(access("r.json.lock", F_OK), 0);
}

/* Names, sizes and contents of locks and of what links name, into a file. */
#define LIST                                                                                                 \
    "sh -c 'ls -lA h x.* kept nowhere 2>&1; find . -maxdepth 2 -name \"*.lock\" -type f -exec cat {} +; "    \
    "true' >"

/* A file that has the name of a lock by chance, an input perhaps, stays as it is; so does what a link names.
 */
static void other_files_are_no_locks(void **state)
{
    static const struct {
        const char *make, *command, *said;
    } runs[] = {
        {"cp p.json x.json.lock", "solve x.json.lock --threads 1 --result x.json",
         "x.json.lock: is not the lock of a run"},
        {"cp box.msh x.json.lock", "solve p.json --mesh x.json.lock --threads 1 --result x.json",
         "x.json.lock: is not the lock of a run"},
        {"echo precious >x.csv.lock", "solve p.json --threads 1 --curve x.csv",
         "x.csv.lock: is not the lock of a run"},
        {"sh -c 'mkdir -p h && cp box.msh h/cube.pvd.lock'", "solve p.json --threads 1 --output h",
         "h/cube.pvd.lock: is not the lock of a run"},
        {"mkfifo x.json.lock", "solve p.json --threads 1 --result x.json",
         "x.json.lock: is not the lock of a run"},
        {"sh -c 'cp box.msh kept && ln -s kept x.json.lock'", "solve p.json --threads 1 --result x.json",
         "x.json.lock: is a link"},
        {"ln -s nowhere x.json.lock", "solve p.json --threads 1 --result x.json", "x.json.lock: is a link"}};
    (void)state;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        child_must(0, runs[i].make);
        child_must(0, LIST "before");
        child_must(2, runs[i].command);
        child_assert_said(runs[i].command, "solve", PARTS(runs[i].said));
        child_must(0, LIST "after");
        child_must(0, "cmp before after");
        child_must(0, "rm -rf h x.json.lock x.csv.lock kept");
    }
    child_must(0, "touch x.json.lock"); /* of a run that was killed at once */
    child_must(0, "solve p.json --threads 1 --result x.json");
    assert_int_not_equal(access("x.json.lock", F_OK), 0);
}

/* One after the other, as jobs of an array may run. A run that replaces a result replaces its series. */
static void series_of_another_run_stays(void **state)
{
    static const char *const others[] = {
        "solve p.json --threads 1 --result second.json --output g", "solve p.json --threads 1 --output g",
        "solve p.json --threads 1 --mesh tet.msh --output h", "solve q.json --threads 1 --output h",
        "solve p.json --threads 1 --result first.json --output h"};
    (void)state;
    child_write_problem("q.json", (problem){0});
    child_must(0, "solve p.json --threads 1 --result first.json --output g");
    child_must(0, "solve p.json --threads 1 --output h");
    char *before = read_file("g/cube.pvd", NULL);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        refused(others[i], i < 2 ? "g/cube.pvd: is the series" : "h/cube.pvd: is the series",
                "of another run");
    char *after = read_file("g/cube.pvd", NULL);
    assert_string_equal(after, before);
    free(before), free(after);
    child_must(0, "solve p.json --threads 1 --variant element_atomic --output ./h");
    child_must(0, "solve q.json --threads 1 --mesh tet.msh --result ./first.json --output g");
    child_must(0, "solve q.json --threads 1 --mesh tet.msh --resume first.json --output g");
    child_must(0, "sh -c 'rm g/cube.pvd; exec solve p.json --threads 1 --output g'");
}

/* Every line of a file of rows has as many columns as the first. */
static size_t whole_rows(const char *path)
{
    char *rows = read_file(path, NULL), *rest = rows;
    size_t n = 0, columns = 0;
    for (char *line; (line = strsep(&rest, "\n")) && *line; n++) {
        size_t commas = 0;
        for (const char *c = line; *c; c++) commas += *c == ',';
        if (n == 0) columns = commas;
        if (commas != columns) fail_msg("%s: line %zu has %zu commas, not %zu", path, n + 1, commas, columns);
    }
    free(rows);
    return n;
}

static void running_rows_are_refused(void **state)
{
    (void)state;
    const pid_t child = child_start("scaling --threads 1 --dofs 3000 --rows rows.csv");
    for (int i = 0; i < PATIENCE * 6000; i++, usleep(5000))
        if (access("rows.csv", R_OK) == 0 && whole_rows("rows.csv") >= 2) break;
    refused("scaling --threads 1 --dofs 300 --rows rows.csv", "rows.csv: another run is writing it", NULL);
    assert_false(child_has_ended(child));
    const size_t n = whole_rows("rows.csv");
    assert_true(n >= 2);
    kill(child, SIGKILL);
    assert_int_equal(child_finish(child), -SIGKILL);
    child_must(0, "scaling --threads 1 --dofs 300 --variants patch --repetitions 1 --rows rows.csv");
    assert_true(whole_rows("rows.csv") >= 2);
}

/* A file system without locks: the run says so and goes on. */
static void without_locks_runs_go_on(void **state)
{
    char inject[512], command[1024];
    const char *path = getenv("PATH");
    (void)state;
    snprintf(inject, sizeof inject, "%.*s/tests/inject.so", (int)strcspn(path, ":"), path);
    skip_if(access(inject, R_OK) ? "tests/inject.so was not built" : NULL, "failing calls");
    snprintf(command, sizeof command,
             "env LD_PRELOAD=%s ASAN_OPTIONS=verify_asan_link_order=0 FE_FAULT=lock:1 "
             "solve p.json --threads 1 --result n.json",
             inject);
    child_must(0, command);
    child_assert_said(command, "note", PARTS("n.json: locks do not work here (No locks available)"));
    json_decref(result_load_checked("n.json", "converged", 3));
    assert_int_not_equal(access("n.json.lock", F_OK), 0);
}

static int open_group(void **state)
{
    if (child_open(state)) return -1;
    child_write_long_problem("long.json", NULL);
    child_write_problem("named.json", (problem){0});
    char *text = read_file("named.json", NULL), *name = strstr(text, "cube");
    memcpy(name, "tile", 4);
    write_file("named.json", "%s", text);
    free(text);
    return symlink("r.json", "link.json");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(running_outputs_are_refused), cmocka_unit_test(killed_run_leaves_no_lock),
        cmocka_unit_test(other_files_are_no_locks),    cmocka_unit_test(series_of_another_run_stays),
        cmocka_unit_test(running_rows_are_refused),    cmocka_unit_test(without_locks_runs_go_on),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, open_group, child_close);
}
