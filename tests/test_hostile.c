/* What nobody means to do: files that are no files, results that name their input, names made to harm, full
 * memory and small limits. Each ends with one line, and what was there before stays. */
#include "tests/child.h"
#include "tests/common.h"
#include "tests/result.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void says(int code, const char *command, const char *program, const char *part)
{
    child_must(code, command);
    child_assert_said(command, program, PARTS(part));
}

/* --- input ------------------------------------------------------------------------------------------- */

/* The files of a problem, and links to them, are not to be written. */
static void inputs_are_not_replaced(void **state)
{
    (void)state;
    child_must(0, "mkdir series");
    child_must(0, "meshgen box -c 1 -o series/cube_0002.vtu");
    child_must(0, "meshgen box -c 1 -o kept.msh");
    child_must(0, "cp p.json q.json");
    assert_int_equal(symlink("q.json", "link.json") | link("kept.msh", "hard.msh"), 0);
    size_t n, m;
    char *problem_before = read_file("q.json", NULL), *mesh_before = read_file("kept.msh", &n);
    static const char *const bad[][2] = {
        {"solve q.json --threads 1 --result q.json", "--result q.json: is the same file as q.json"},
        {"solve q.json --threads 1 --result link.json", "--result link.json: is the same file as q.json"},
        {"solve q.json --threads 1 --mesh kept.msh --result ./hard.msh",
         "./hard.msh: is the same file as kept.msh"},
        {"solve q.json --threads 1 --mesh series/cube_0002.vtu --output series",
         "--output series: its file series/cube_0002.vtu is the same as series/cube_0002.vtu"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) says(2, bad[i][0], "solve", bad[i][1]);
    char *problem_after = read_file("q.json", NULL), *mesh_after = read_file("kept.msh", &m);
    assert_string_equal(problem_before, problem_after);
    assert_int_equal(n, m);
    assert_memory_equal(mesh_before, mesh_after, n);
    free(problem_before), free(problem_after), free(mesh_before), free(mesh_after);
}

/* A pipe without a writer would be waited for; a device may have no end. */
static void only_regular_files_are_read(void **state)
{
    (void)state;
    assert_int_equal(mkfifo("pipe", 0600), 0);
    child_seconds = 20;
    says(2, "solve pipe", "solve", "pipe: not a regular file");
    says(2, "solve p.json --mesh pipe", "solve", "pipe: not a regular file");
    says(2, "meshgen info pipe", "meshgen", "pipe: not a regular file");
    says(2, "solve /dev/zero", "solve", "/dev/zero: not a regular file");
    child_seconds = 60;
}

/* Text of n letters. */
static char *letters(size_t n)
{
    char *text = malloc(n + 1);
    assert_non_null(text);
    memset(text, 'a', n);
    text[n] = 0;
    return text;
}

static void long_texts_have_limits(void **state)
{
    (void)state;
    static const char rest[] =
        "\"meshes\": [\"box.msh\"], \"material\": {\"E\": 1, \"nu\": 0.3, \"sigma_y\": 1, \"H\": "
        "1}, \"paths\": {\"load\": [1]}";
    /* muParser's interface for C overflows at 2040 letters; sums of so many terms are its stack */
    char *token = letters(2040), *name = letters(9000000), *terms = letters(1001), *fits = letters(200);
    write_file("long.json",
               "{\"name\": \"a\", %s, \"dirichlet\": [{\"group\": \"x0\", \"u\": {\"x\": \"%s\"}}]}", rest,
               token);
    says(2, "solve long.json", "solve",
         "key \"dirichlet[0].u.x\": \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa ... has 2040 "
         "characters, an "
         "expression has at most 1000");
    for (size_t i = 1; i < 1001; i += 2) terms[i - 1] = 'x', terms[i] = '+';
    terms[1000] = 0, terms[999] = ' '; /* 500 terms, 1000 characters */
    write_file("long.json",
               "{\"name\": \"%s\", %s, \"dirichlet\": [{\"group\": \"x0\", \"u\": {\"x\": \"%s\", \"y\": 0, "
               "\"z\": 0}}]}",
               fits, rest, terms);
    child_must(0, "solve long.json --threads 1 --output long_fields");
    write_file("long.json", "{\"name\": \"%s\", %s, \"dirichlet\": [{\"group\": \"x0\", \"u\": {\"x\": 0}}]}",
               name, rest);
    says(2, "solve long.json --output long_fields", "solve",
         "has 9000000 characters, a name has at most 200");
    free(token), free(name), free(terms), free(fits);
}

/* Names cannot steer a terminal, and a message is one line, complete at both ends. */
static void messages_are_one_plain_line(void **state)
{
    (void)state;
    child_write_problem(
        "bad.json", (problem){.supports = "{\"group\": \"a\\u001b[31m\\nb\\u009bc\", \"u\": {\"x\": 0}}"});
    says(2, "solve bad.json", "solve", "\"a?[31m?b??c\" is not in ./box.msh; its groups are: x0, ");
    child_write_problem("bad.json",
                        (problem){.supports = "{\"group\": \"x0\", \"u\": {\"x\": \"foo\\n\\tbar\"}}"});
    says(2, "solve bad.json", "solve", "\"foo??bar\": Unexpected token \"foo\"");

    char folder[1024] = ".", command[2048];
    for (int i = 0; i < 4; i++) {
        strcat(folder, "/");
        memset(folder + strlen(folder), 'a' + i, 200);
        folder[2 + 201 * (i + 1) - 1] = 0;
    }
    snprintf(command, sizeof command, "install -D -m 644 box.msh %s/box.msh", folder);
    child_must(0, command);
    snprintf(command, sizeof command, "%s/e.json", folder);
    child_write_problem(command, (problem){.supports = "{\"group\": \"x0\", \"u\": {\"x\": \"x+*2\"}}"});
    snprintf(command, sizeof command, "solve %s/e.json", folder);
    says(2, command, "solve",
         "/e.json: key \"dirichlet[0].u.x\", group \"x0\": \"x+*2\": Unexpected operator \"*\"");
    assert_non_null(strstr(child_said, "solve: ./aaaa"));
    snprintf(command, sizeof command, "%s/e.json", folder);
    child_write_problem(command, (problem){.supports = "{\"group\": \"none\", \"u\": {\"x\": 0}}"});
    snprintf(command, sizeof command, "solve %s/e.json", folder);
    says(2, command, "solve", "\"none\" is not in ");
    assert_non_null(strstr(child_said, "/box.msh; its groups are: x0, x1, y0, y1, z0, z1, body\n"));

    /* what is printed, too */
    write_file("bad.json",
               "{\"name\": \"a\\u001b[31mb\", \"meshes\": [\"box.msh\"], \"elastic\": true, \"material\": "
               "{\"E\": 1, \"nu\": 0.3}, \"paths\": {\"load\": [1]}, \"dirichlet\": [{\"group\": \"x0\", "
               "\"u\": {\"x\": 0, \"y\": 0, \"z\": 0}}]}");
    char text[64];
    child_must(0, "solve bad.json --threads 1");
    read_into("out", sizeof text, text);
    assert_memory_equal(text, "a?[31mb on ", 11);
}

/* One hexahedron with two facets; names of the groups 2:1 and 2:2 as given. */
static void write_named(const char *names)
{
    write_file("named.msh",
               "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n%s$EndPhysicalNames\n$Nodes\n8\n1 0 0 "
               "0\n2 1 0 "
               "0\n3 1 1 0\n4 0 1 0\n5 0 0 1\n6 1 0 1\n7 1 1 1\n8 0 1 1\n$EndNodes\n$Elements\n3\n1 3 2 1 1 "
               "1 4 8 5\n2 3 "
               "2 2 2 2 3 7 6\n42 5 2 5 5 1 2 3 4 5 6 7 8\n$EndElements\n",
               names);
}

/* 0x9b alone begins a control sequence on an 8-bit terminal; as the end of a letter of UTF-8 it does not. */
static void bytes_that_are_no_text_are_hidden(void **state)
{
    (void)state;
    char text[4096];
    write_named("3\n2 1 \"a\x9b[31m\"\n2 2 \"\xc5\x9b\xe2\x82\xac\"\n3 5 \"b\xe2\x82\"\n");
    says(2, "solve p.json --mesh named.msh", "solve",
         "\"x0\" is not in named.msh; its groups are: a?[31m, \xc5\x9b\xe2\x82\xac, b??\n");
    child_must(0, "meshgen info named.msh");
    read_into("out", sizeof text, text);
    assert_holds(text, "\"a?[31m\": 1 face");
    assert_holds(text, "\"b??\": 1 element");
}

static void groups_of_one_name_are_ambiguous(void **state)
{
    (void)state;
    child_write_problem("named.json",
                        (problem){.supports = "{\"group\": \"clamp\", \"u\": {\"x\": 0, \"y\": 0, \"z\": 0}}",
                                  .loads = "{\"group\": \"2:2\", \"traction\": [1, 0, 0]}"});
    write_named("3\n2 1 \"clamp\"\n2 2 \"clamp\"\n3 5 \"body\"\n");
    says(2, "solve named.json --mesh named.msh", "solve",
         "key \"dirichlet[0].group\": \"clamp\" names two groups of named.msh, 2:1 and 2:2");
    write_named("2\n2 1 \"2:2\"\n3 5 \"clamp\"\n");
    says(2, "solve named.json --mesh named.msh", "solve",
         "key \"neumann[0].group\": \"2:2\" names two groups of named.msh, 2:1 and 2:2");
    write_named("2\n2 1 \"clamp\"\n3 5 \"clamp\"\n"); /* a surface and a volume: the surface is meant */
    child_must(0, "solve named.json --mesh named.msh --threads 1");
}

/* Whatever the load: balanced ones would be solved with any rigid motion added. */
static void rigid_motions_are_refused(void **state)
{
    (void)state;
    child_write_problem("free.json", (problem){.supports = "{\"group\": \"x0\", \"u\": {\"x\": 0}}",
                                               .loads = "{\"group\": \"x1\", \"traction\": [10, 0, 0]}"});
    says(2, "solve free.json --threads 1", "solve",
         "part 1 of 1 of the mesh (27 nodes, among them 1) is not held by its supports: it can move along "
         "(0, 1, 0) (3 "
         "of its 6 rigid motions are free)");
    says(2, "solve free.json --threads 1 --ranks 2", "solve", "it can move along (0, 1, 0)");
}

static void contradictions_are_told(void **state)
{
    (void)state;
    child_write_problem("two.json",
                        (problem){.supports = "{\"group\": \"x0\", \"u\": {\"x\": 0, \"y\": 0, \"z\": 0}}, "
                                              "{\"group\": \"y0\", \"u\": {\"x\": 0.001}}"});
    child_must(0, "solve two.json --threads 1");
    child_assert_said("two supports", "note",
                      PARTS("\"dirichlet[1].u.x\" is 0.001 at node 1 of group \"y0\"",
                            "where \"dirichlet[0]\" of group \"x0\" sets 0: the first one holds"));
    child_write_problem("two.json",
                        (problem){.supports = "{\"group\": \"x0\", \"u\": {\"x\": 0, \"y\": 0, \"z\": 0}}, "
                                              "{\"group\": \"y0\", \"u\": {\"x\": \"0*x\"}}",
                                  .factors = "1"});
    child_must(0, "solve two.json --threads 1");
    assert_string_equal(child_said, "");
}

/* --- output ------------------------------------------------------------------------------------------ */

/* A reader who looks all the time finds a complete result, whose status is "running" until the end. */
static void running_results_are_complete(void **state)
{
    (void)state;
    int n_look = 0, over = 0;
    size_t last = 0;
    child_write_long_problem("many.json", NULL);
    unlink("many.r.json");
    const pid_t child = child_start("solve many.json --threads 1 --no-state --result many.r.json");
    while (access("many.r.json", R_OK) && !child_has_ended(child)) usleep(1000);
    for (; last < LONG_PROBLEM && !over; n_look++) {
        over = child_has_ended(child); /* before this look, which then is the last one */
        json_t *root = result_load("many.r.json");
        const size_t n = json_array_size(result_at(root, "steps"));
        assert_true(n >= last);
        const char *status = json_string_value(result_at(root, "status"));
        if (strcmp(status, "running") && strcmp(status, "converged")) fail_msg("status %s", status);
        if (n < LONG_PROBLEM) assert_string_equal(status, "running");
        last = n;
        json_decref(root);
    }
    assert_int_equal(child_finish(child), 0);
    assert_true(n_look > 3);
    json_decref(result_load_checked("many.r.json", "converged", LONG_PROBLEM));
}

/* LLVM's OpenMP has a file of one kilobyte. */
static void file_limits_are_errors(void **state)
{
    (void)state;
    says(1, "sh -c 'ulimit -f 2; exec solve p.json --threads 1 --result limit.json'", "solve",
         "limit.json: cannot be written: File too large");
    assert_int_not_equal(access("limit.json", F_OK), 0);
    says(1, "sh -c 'ulimit -f 4; exec meshgen box -c 9 -o limit.msh'", "meshgen",
         "limit.msh: cannot be written: File too large");
    assert_int_not_equal(access("limit.msh", F_OK), 0);
}

/* What killed runs left is removed by the next one; what a process that lives writes stays. */
static void stale_files_are_removed(void **state)
{
    (void)state;
    char alive[64];
    const pid_t gone = child_start("true");
    assert_int_equal(child_finish(gone), 0);
    snprintf(alive, sizeof alive, "stale.json.%d.tmp", (int)getpid());
    const char *const bases[] = {"stale.json", "fields/cube_0001.vtu", "fields/cube.pvd", "stale.msh"};
    char left[4][64];
    child_must(0, "mkdir fields");
    for (int i = 0; i < 4; i++) {
        snprintf(left[i], sizeof left[i], "%s.%d.tmp", bases[i], (int)gone);
        write_file(left[i], "half");
    }
    write_file(alive, "half");
    assert_int_equal(rename(alive, "fields/alive"), 0); /* child_finish looks for temporary files */
    const pid_t child = child_start(
        "sh -c 'mv fields/alive $0 && solve p.json --threads 1 --result stale.json --output fields && "
        "meshgen box -c 1 -o stale.msh; code=$?; mv $0 fields/alive; exit $code' "
        "stale.json.$PPID.tmp");
    assert_int_equal(child_finish(child), 0);
    assert_int_equal(access("fields/alive", F_OK), 0);
    for (int i = 0; i < 4; i++)
        if (!access(left[i], F_OK)) fail_msg("%s is still there", left[i]);
}

/* Every file of a series that its list names is there, to its end. Returns how many. */
static int check_series(const char *folder, const char *list)
{
    static const char end[] = "</VTKFile>\n";
    char path[256];
    int n = 0;
    snprintf(path, sizeof path, "%s/%s", folder, list);
    if (access(path, F_OK)) return 0;
    char *text = read_file(path, NULL);
    assert_true(strlen(text) > sizeof end && !strcmp(text + strlen(text) - strlen(end), end));
    for (const char *at = text; (at = strstr(at, "file=\"")); n++) {
        size_t length;
        at += 6;
        snprintf(path, sizeof path, "%s/%.*s", folder, (int)strcspn(at, "\""), at);
        char *step = read_file(path, &length);
        assert_true(length > sizeof end && !strcmp(step + length - strlen(end), end));
        free(step);
    }
    free(text);
    return n;
}

/* Killed at any moment, a run leaves a result and a series that can be read, and at most two temporary files,
 * which the next run removes. The first is killed after its first load step, whose time says when to kill the
 * others: a machine that others use is slow. */
static void killed_runs_leave_whole_files(void **state)
{
    (void)state;
    double step_seconds = 0.0;
    size_t most = 0;
    child_write_long_problem("long.json", NULL);
    random_state = 5;
    for (int i = 0; i < 25; i++) {
        unlink("killed.json");
        const double begin = fe_seconds();
        const pid_t child = child_start("solve long.json --threads 1 --result killed.json --output killed");
        if (i) {
            usleep((useconds_t)(2e6 * step_seconds * (1 + uniform())));
        } else {
            while (!result_steps("killed.json") && !child_has_ended(child)) usleep(500);
            step_seconds = fe_seconds() - begin;
        }
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
        if (access("killed.json", F_OK)) continue;
        json_t *root = result_load("killed.json");
        const size_t n = json_array_size(result_at(root, "steps"));
        json_decref(root);
        json_decref(result_load_checked("killed.json", "running", n));
        assert_true(check_series("killed", "cube.pvd") >= (int)n); /* fields are written before the result */
        most = n > most ? n : most;
    }
    assert_true(most > 0);
    child_must(0, "solve p.json --threads 1 --result killed.json --output killed");
    assert_int_equal(check_series("killed", "cube.pvd"), 4);
    child_must(1, "sh -c 'ls killed/*.tmp killed.json.*.tmp 2>/dev/null | grep -q tmp'");
}

/* --- threads ----------------------------------------------------------------------------------------- */

static void threads_are_those_asked_for(void **state)
{
    (void)state;
    static const struct {
        const char *command;
        int threads;
    } runs[] = {
        {"env OMP_NUM_THREADS=1 solve p.json --threads 3 --result t.json", 3},
        {"env OMP_NUM_THREADS=1,2 solve p.json --ranks 2 --result t.json", 1},
        {"env OMP_NUM_THREADS=3 solve p.json --threads 2 --result t.json", 2},
        {"env -u OMP_NUM_THREADS solve p.json --result t.json", 1}, /* 8 elements are no work for two */
    };
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        child_must(0, runs[i].command);
        json_t *root = result_load("t.json");
        const int threads = (int)result_number(result_at(root, "run"), "threads");
        if (threads != runs[i].threads) fail_msg("%s: %d threads", runs[i].command, threads);
        json_decref(root);
    }
}

/* --- kernels ----------------------------------------------------------------------------------------- */

static void kernels_refuses_in_one_line(void **state)
{
    (void)state;
    skip_if(access("/dev/full", W_OK) ? "is not there" : NULL, "/dev/full");
    static const struct {
        int code;
        const char *flags, *part;
    } bad[] = {
        {2, "--benchmark_repetitions=abc", "--benchmark_repetitions=abc: is not a number"},
        {2, "--benchmark_repetitions=1.5", "--benchmark_repetitions=1.5: is not a whole number"},
        {2, "--benchmark_min_time=zz", "--benchmark_min_time=zz: is not a number"},
        {2, "--benchmark_format=xml", "--benchmark_format=xml: is none of console, json, csv"},
        {2, "'--benchmark_filter=('", "--benchmark_filter=(: "},
        {2, "--benchmark_filter=nothing", "--benchmark_filter=nothing: matches none of 1 points"},
        {2, "--benchmark_enable_random_interleaving=maybe", "=maybe: is none of true, "},
        {2, "--benchmark_nothing=1", "--benchmark_nothing=1: is not an option"},
        {2, "--fe_rows=/none/x --fe_samples=/none/y", "/none/x: cannot be written: No such file"},
        {2, "--benchmark_out=/none/z", "/none/z: cannot be written: No such file"},
        {2, "--fe_machine=/dev/full", "/dev/full: not a regular file"},
        {1, "--fe_rows=/dev/full",
         "a file of rows, samples or results is incomplete: No space left on device"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char command[512];
        snprintf(command, sizeof command,
                 "kernels --fe_dofs=300 --fe_backend=host --fe_variants=node_csr --fe_elements=hex8 "
                 "--fe_operations=residual --fe_threads=1 --benchmark_repetitions=1 %s",
                 bad[i].flags);
        says(bad[i].code, command, "kernels", bad[i].part);
    }
    child_must(
        0, "kernels --fe_dofs=300 --fe_backend=host --fe_variants=node_csr --fe_elements=hex8 --fe_threads=1 "
           "--benchmark_repetitions=1 '--benchmark_filter=-residual|jacvec|diagonal'");
    assert_string_equal(child_said, "");
}

int main(int argc, char **argv)
{
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_are_not_replaced),
        cmocka_unit_test(only_regular_files_are_read),
        cmocka_unit_test(long_texts_have_limits),
        cmocka_unit_test(messages_are_one_plain_line),
        cmocka_unit_test(bytes_that_are_no_text_are_hidden),
        cmocka_unit_test(groups_of_one_name_are_ambiguous),
        cmocka_unit_test(rigid_motions_are_refused),
        cmocka_unit_test(contradictions_are_told),
        cmocka_unit_test(running_results_are_complete),
        cmocka_unit_test(file_limits_are_errors),
        cmocka_unit_test(stale_files_are_removed),
        cmocka_unit_test(killed_runs_leave_whole_files),
        cmocka_unit_test(threads_are_those_asked_for),
        cmocka_unit_test(kernels_refuses_in_one_line),
    };
    return cmocka_run_group_tests(tests, child_open, child_close);
}
