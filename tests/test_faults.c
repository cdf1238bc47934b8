/* Calls of the system that fail, one in each run: allocations, writes, flushes, renames and reads of `solve`
 * and of each command of `meshgen`. FE_FAULT_STRIDE=1 lets every call fail, otherwise it is a sample. Under
 * the address sanitizer what a failure leaves behind is seen, too: memory that is lost, freed twice or used
 * later. */
#include "have/metis.h"
#include "tests/child.h"
#include "tests/common.h"
#include "tests/result.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Every how many calls one fails. */
static int stride(int sample)
{
    const char *every = getenv("FE_FAULT_STRIDE");
    return every ? atoi(every) : sample;
}

/* The call that fails after call i; in the first run, 0, none fails. */
static long next_call(long i, int every)
{
    const char *first = getenv("FE_FAULT_FIRST");
    return i ? i + every : first && atoi(first) < every ? atoi(first) : every;
}

/* Runs a command in which the call-th of a kind fails (0: none), and returns its exit code: 0, or 1 with one
 * line. */
static int fail_one(const char *kind, long call, const char *command)
{
    char inject[512], line[2048];
    const char *path = getenv("PATH"); /* begins with this build's programs */
    snprintf(inject, sizeof inject, "%.*s/tests/inject.so", (int)strcspn(path, ":"), path);
    skip_if(access(inject, R_OK) ? "tests/inject.so was not built" : NULL, "failing calls");
    snprintf(
        line, sizeof line,
        "env LD_PRELOAD=%s ASAN_OPTIONS=verify_asan_link_order=0 FE_FAULT=%s:%ld FE_FAULT_COUNT=count %s",
        inject, kind, call, command);
    const int code = child_run("%s", line);
    if (code != 0 && code != 1) fail_msg("%s: code %d: %s", line, code, child_said);
    int n_line = 0;
    for (const char *c = child_said + (*child_said == '\n'); *c; c++) n_line += *c == '\n';
    for (const char *c = child_said; (c = strstr(c, "note: ")); c++) n_line--; /* of what is accepted */
    if (n_line != code) fail_msg("%s: code %d, not one line: %s", line, code, child_said);
    return code;
}

/* How many calls of a kind the last run made. */
static long calls_made(void)
{
    char text[32];
    read_into("count", sizeof text, text);
    const long n = strtol(text, NULL, 10);
    assert_true(n > 0);
    return n;
}

/* --- solve ------------------------------------------------------------------------------------------- */

#if FE_HAVE_METIS
#define PARTITION "metis"
#else
#define PARTITION "bisection"
#endif
#define FAULTY "solve p.json --threads 1 --result fault.json --output fault_fields"
#define RESUMED "solve p.json --threads 1 --resume fault.json --output fault_fields"

/* The result is the older one or a complete one, and the program tells the truth about it. Where there is a
 * state, the run can be resumed. */
static void fail_solve(const char *kind, const char *command, int every)
{
    long n_call = 0;
    for (long i = 0; i <= n_call; i = next_call(i, every)) {
        write_file("fault.json", "{\"status\": \"older\", \"steps\": []}\n");
        unlink("fault.json.state");
        const int code = fail_one(kind, i, command);
        json_t *root = result_load("fault.json");
        const char *status = json_string_value(result_at(root, "status"));
        if (!code) assert_string_equal(status, "converged");
        if (!code) assert_int_equal(json_array_size(result_at(root, "steps")), 3);
        if (code) assert_string_not_equal(status, "converged");
        json_decref(root);
        if (code && !access("fault.json.state", F_OK)) {
            child_must(0, RESUMED);
            json_decref(result_load_checked("fault.json", "converged", 3));
        }
        if (!i) n_call = calls_made();
        if (!i) assert_int_equal(code, 0);
    }
    print_message("# %s: %ld calls of %s, one in %d failed\n", command, n_call, kind, every);
}

static void memory_of_solve(void **state) { (void)state, fail_solve("memory", FAULTY, stride(47)); }
/* One rank fails, and all end: long before the 60 s after which one that is silent counts as hung. */
static void memory_of_ranks(void **state)
{
    (void)state;
    child_seconds = 10;
    fail_solve("memory", FAULTY " --ranks 2 --partition " PARTITION, stride(199));
    child_seconds = 60;
}
static void disk_of_solve(void **state)
{
    (void)state;
    fail_solve("write", FAULTY, stride(7));
    fail_solve("sync", FAULTY, stride(1));
    fail_solve("rename", FAULTY, stride(1));
    fail_solve("read", FAULTY, stride(2));
}

/* --- meshgen ----------------------------------------------------------------------------------------- */

/* The mesh is the older one or the right one, and what is printed is right where the code is 0. A read or a
 * buffer of printed lines that fails may do no harm. */
static void fail_meshgen(const char *kind, const char *command, int every)
{
    char *right = NULL, *right_said = NULL;
    size_t n_right = 0;
    long n_call = 0;
    for (long i = 0; i <= n_call; i = next_call(i, every)) {
        write_file("fault.msh", "older");
        const int code = fail_one(kind, i, command);
        size_t n;
        char *mesh = read_file("fault.msh", &n), *said = read_file("out", NULL);
        if (!i) {
            assert_int_equal(code, 0);
            n_call = calls_made();
            right = mesh, right_said = said, n_right = n;
            continue;
        }
        if (code && strcmp(mesh, "older")) fail_msg("%s: %s:%ld: the mesh was changed", command, kind, i);
        const int same =
            strcmp(said, right_said) == 0 || strstr(command, " parts "); /* which tells seconds */
        if (!code && (n != n_right || memcmp(mesh, right, n) || !same))
            fail_msg("%s: %s:%ld: code 0, and the mesh or what is printed is wrong", command, kind, i);
        free(mesh), free(said);
    }
    free(right), free(right_said);
    print_message("# %s: %ld calls of %s, one in %d failed\n", command, n_call, kind, every);
}

static const char *const meshgen_commands[] = {
    "meshgen box -c 2 -d 0.2 -e tet4 -r rcm -o fault.msh",
    "meshgen box -c 2 -b -r bisection -o fault.msh",
    "meshgen irregular -e hex8 -N 100 -o fault.msh",
    "meshgen refine tet.msh -o fault.msh",
    "meshgen turn mirrored.msh -o fault.msh",
    "meshgen info box.msh",
    "meshgen info apart.msh",
    "meshgen parts --ranks 2 --partition bisection box.msh",
};
enum { N_COMMAND = sizeof meshgen_commands / sizeof *meshgen_commands };

/* One inverted tetrahedron; two at one place that share no nodes. */
static void write_odd_meshes(void)
{
    static const char head[] = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n";
    write_file("mirrored.msh",
               "%s4\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n$EndNodes\n"
               "$Elements\n1\n1 4 0 2 1 3 4\n$EndElements\n",
               head);
    write_file("apart.msh",
               "%s8\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n5 0 0 0\n6 1 0 0\n7 0 1 0\n8 0 0 1\n$EndNodes\n"
               "$Elements\n2\n1 4 0 1 2 3 4\n2 4 0 5 6 7 8\n$EndElements\n",
               head);
}

static void memory_of_meshgen(void **state)
{
    (void)state;
    write_odd_meshes();
    for (int i = 0; i < N_COMMAND; i++) fail_meshgen("memory", meshgen_commands[i], stride(7));
}
static void disk_of_meshgen(void **state)
{
    (void)state;
    write_odd_meshes();
    for (int i = 0; i < N_COMMAND; i++) {
        if (strstr(meshgen_commands[i], "-o "))
            for (int kind = 0; kind < 3; kind++)
                fail_meshgen(((const char *const[]){"write", "sync", "rename"})[kind], meshgen_commands[i],
                             stride(kind ? 1 : 5));
        if (strstr(meshgen_commands[i], " refine ") || strstr(meshgen_commands[i], " info "))
            fail_meshgen("read", meshgen_commands[i], stride(1));
    }
}

int main(int argc, char **argv)
{
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_of_solve), cmocka_unit_test(memory_of_ranks),
        cmocka_unit_test(disk_of_solve),   cmocka_unit_test(memory_of_meshgen),
        cmocka_unit_test(disk_of_meshgen),
    };
    return cmocka_run_group_tests(tests, child_open, child_close);
}
