/* A variant is a folder and a line: in a copy of the sources a strategy is added that way, and nothing else
 * is touched. The tests and the programs of that copy then know it; and when it is broken, its tests fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/fe.h"

static char folder[200]; /* of the copy, removed at the end */

static int make_folder(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/febench-variant-XXXXXX", base ? base : "/tmp");
    return mkdtemp(folder) ? 0 : 1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

/* What a command of the shell prints, errors included, and its exit code. */
static int run(size_t size, char *text, const char *format, ...) __attribute__((format(printf, 3, 4)));
static int run(size_t size, char *text, const char *format, ...)
{
    char command[1000], rest[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    text[fread(text, 1, size - 1, pipe)] = 0;
    while (fread(rest, 1, sizeof rest, pipe) == sizeof rest) continue;
    const int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void write_file(const char *name, const char *mode, const char *text)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, mode);
    if (!file) fail_msg("%s cannot be written", path);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static char log_text[1 << 20];

/* Tracked and new files of what a build needs, or all of them where git cannot tell. */
static void copy_sources(void)
{
    const char *const parts = "Makefile bench common meshgen tests variants";
    const int code =
        run(sizeof log_text, log_text,
            "{ git ls-files -zco --exclude-standard %s | xargs -0 cp --parents -t '%s'; } 2>&1 && "
            "test -f '%s/Makefile' || cp -r %s '%s' 2>&1",
            parts, folder, folder, parts, folder);
    if (code) fail_msg("the sources cannot be copied: %s", log_text);
}

/* One thread adds up all elements, by element_atomic's body without atomics. */
static const char host[] =
    "#include \"common/problem/loops.h\"\n"
    "#include \"variants/element_atomic/assembly.h\"\n"
    "static fe_status forces(const fe_problem *p, void *work, int op, fe_part part, const double *v, double "
    "*y)\n"
    "{\n"
    "    (void)work;\n"
    "    int first, last;\n"
    "    fe_part_elements(&p->view, part, &first, &last);\n"
    "#define FORCES(KIND, OP) \\\n"
    "    for (int e = first; e < last; e += FE_LANES) \\\n"
    "        element_atomic_forces(KIND, OP, &p->view, fe_lanes_from(e), last - e - TOY_LOST, 0, v, y)\n"
    "    FE_FOR_OPERATION(p->kind, op, FORCES)\n"
    "    return FE_OK;\n"
    "}\n"
    "FE_FORCE_OPERATIONS(forces)\n"
    "static fe_status diagonal(const fe_problem *p, void *work, double *d)\n"
    "{\n"
    "    (void)work;\n"
    "    const int last = p->view.n_elem;\n"
    "#define DIAGONAL(KIND) \\\n"
    "    for (int e = 0; e < last; e += FE_LANES) \\\n"
    "        element_atomic_diagonal(KIND, &p->view, fe_lanes_from(e), last - e, 0, d)\n"
    "    FE_FOR_KIND(p->kind, DIAGONAL)\n"
    "    return FE_OK;\n"
    "}\n"
    "const fe_assembly toy_host = {NULL, residual, fe_material_host, jacvec, diagonal};\n";

static const char variant[] =
    "#include \"common/variant.h\"\n"
    "extern const fe_assembly toy_host;\n"
    "const fe_variant fe_variant_toy = {\n"
    "    .name = \"toy\", .summary = \"one thread adds up all\", .deterministic = 1, .host = &toy_host};\n";

static void write_toy(int lost)
{
    char text[4000];
    snprintf(text, sizeof text, "#define TOY_LOST %d /* elements left out at the end of a part */\n%s", lost,
             host);
    write_file("variants/toy/host.c", "w", text);
}

/* A build of its own, whatever this one was made with: fast to compile. */
static void build(const char *targets)
{
    const int code =
        run(sizeof log_text, log_text,
            "cd '%s' && env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -j2 BUILD=build CUDA=no OPT=-O0 "
            "SANITIZE= %s >log 2>&1 || { tail -n 40 log; false; }",
            folder, targets);
    if (code) fail_msg("the copy does not build:\n%s", log_text);
}

static int test_toy(void)
{
    return run(sizeof log_text, log_text,
               "cd '%s' && CMOCKA_MESSAGE_OUTPUT=TAP build/tests/test_assembly 'toy*' 2>&1", folder);
}

/* A line "ok N - name" or "not ok N - name". */
static int reported(const char *result, const char *name)
{
    const size_t length = strlen(name);
    for (const char *line = log_text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        const size_t n = strcspn(line, "\n");
        if (!strncmp(line, result, strlen(result)) && n >= length && !memcmp(line + n - length, name, length))
            return 1;
    }
    return 0;
}

static void assert_listed(const char *program, const char *flag)
{
    if (run(sizeof log_text, log_text, "test ! -x '%s/build/%s'", folder, program) == 0) {
        print_message("skipped: %s was not built\n", program);
        return;
    }
    const int code = run(sizeof log_text, log_text, "'%s/build/%s' %s 2>&1", folder, program, flag);
    if (code || !strstr(log_text, "\ntoy "))
        fail_msg("%s %s, exit code %d:\n%s", program, flag, code, log_text);
}

static void test_a_folder_and_a_line(void **state)
{
    (void)state;
    static const char *const operations[] = {"residual",     "material", "jacvec", "jacvec_elastic",
                                             "diagonal",     "ranks",    "bits",   "agreement",
                                             "side_effects", "mechanics"};
    char path[300];
    copy_sources();
    snprintf(path, sizeof path, "%s/variants/toy", folder);
    assert_int_equal(mkdir(path, 0777), 0);
    write_toy(0);
    write_file("variants/toy/variant.c", "w", variant);
    write_file("variants/variants.def", "a", "FE_VARIANT(toy)\n");
    build("programs build/tests/test_assembly");
    if (test_toy()) fail_msg("the toy fails its tests:\n%s", log_text);
    for (int kind = 0; kind < FE_N_KIND; kind++)
        for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
            char name[100];
            snprintf(name, sizeof name, "toy %s %s host", fe_kind_name(kind), operations[i]);
            if (!reported("ok ", name)) fail_msg("there is no test \"%s\":\n%s", name, log_text);
        }
    assert_listed("kernels", "--fe_list");
    assert_listed("solve", "--list");
}

static void test_a_broken_one_is_found(void **state)
{
    (void)state;
    write_toy(1);
    build("build/tests/test_assembly");
    assert_int_equal(test_toy(), 1);
    assert_true(reported("not ok ", "toy hex8 residual host"));
    assert_true(reported("not ok ", "toy tet4 jacvec host"));
    assert_true(reported("ok ", "toy tet4 diagonal host"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_folder_and_a_line),
                                       cmocka_unit_test(test_a_broken_one_is_found)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
