/* For the programs a variant is a folder and a line: in a copy of the sources a strategy is added that way,
 * and nothing else is touched. The tests and the programs of that copy then know it; and if it is wrong, its
 * tests fail. What the report and its documents ask for beside is in docs/add-a-strategy.md. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/common.h"

/* Tracked and new files of what a build needs, or all of them where git cannot tell, and what this build has
 * compiled of them. */
static void copy_sources(void)
{
    const char *const parts = "Makefile bench common meshgen packaging oracle tests variants";
    free(read_success("{ { git ls-files -zco --exclude-standard %s | xargs -0 cp -p --parents -t '%s'; } && "
                      "test -f '%s/Makefile' || cp -pr %s '%s'; } 2>&1",
                      parts, test_folder, test_folder, parts, test_folder));
    free(read_success("from=$(cd '%s' && pwd) && cd '%s' && sh tests/copy_build.sh \"$from\" build '%s' 2>&1",
                      build_folder(), test_folder, build_folder()));
}

/* The path of a file in the copy. */
static const char *in_copy(const char *name)
{
    static char path[2 * FOLDER_LENGTH];
    snprintf(path, sizeof path, "%s/%s", test_folder, name);
    return path;
}

/* One thread adds up all elements, by element_atomic's body without atomics; it is made for linear elements.
 */
static const char host[] =
    "#define FE_LINEAR_KINDS\n"
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
    "    FE_FOR_OPERATION(p->kind, op, FORCES);\n"
    "    return FE_OK;\n"
    "}\n"
    "FE_FORCE_OPERATIONS(forces)\n"
    "static fe_status diagonal(const fe_problem *p, void *work, void *d)\n"
    "{\n"
    "    (void)work;\n"
    "    const int last = p->view.n_elem;\n"
    "#define DIAGONAL(KIND) \\\n"
    "    for (int e = 0; e < last; e += FE_LANES) \\\n"
    "        element_atomic_diagonal(KIND, &p->view, fe_lanes_from(e), last - e, 0, d)\n"
    "    FE_FOR_KIND(p->kind, DIAGONAL);\n"
    "    return FE_OK;\n"
    "}\n"
    "const fe_assembly toy_host = {.residual = residual, .material = fe_material_host, .jacvec = jacvec, "
    ".diagonal = diagonal};\n";

static const char variant[] =
    "#include \"common/variant.h\"\n"
    "extern const fe_assembly toy_host;\n"
    "const fe_variant fe_variant_toy = {\n"
    "    .name = \"toy\", .summary = \"one thread adds up all\", .deterministic = 1, .host = &toy_host};\n";

static void write_toy(int lost)
{
    write_file(in_copy("variants/toy/host.c"),
               "#define TOY_LOST %d /* elements left out at the end of a part */\n%s", lost, host);
}

/* With this build's flags; the jobs of a make above are its own. */
static void build(const char *targets)
{
    free(read_success(
        "cd '%s' && MAKEFLAGS=$(echo \"${MAKEFLAGS:-}\" | sed 's/--jobserver[^ ]*//g; s/-j[0-9]*//g') "
        "make -j2 BUILD=build %s >log 2>&1 || { tail -n 40 log; false; }",
        test_folder, targets));
}

static char *log_text; /* of the toy's tests */

static int test_toy(void)
{
    int code;
    free(log_text);
    log_text = read_command(
        &code, "cd '%s' && CMOCKA_MESSAGE_OUTPUT=TAP build/tests/test_assembly 'toy*' 2>&1", test_folder);
    return code;
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
    int code;
    free(read_command(&code, "test -x '%s/build/%s'", test_folder, program));
    if (code) {
        print_message("skipped: %s was not built\n", program);
        return;
    }
    char *list = read_success("'%s/build/%s' %s 2>&1", test_folder, program, flag);
    assert_holds(list, "\ntoy ");
    free(list);
}

static void test_a_folder_and_a_line(void **state)
{
    (void)state;
    static const char *const operations[] = {"residual",     "material", "jacvec", "jacvec_elastic",
                                             "diagonal",     "ranks",    "bits",   "agreement",
                                             "side_effects", "mechanics"};
    copy_sources();
    assert_int_equal(mkdir(in_copy("variants/toy"), 0777), 0);
    write_toy(0);
    write_file(in_copy("variants/toy/variant.c"), "%s", variant);
    char *list = read_file(in_copy("variants/variants.def"), NULL);
    write_file(in_copy("variants/variants.def"), "%sFE_VARIANT(toy)\n", list);
    free(list);
    build("programs build/tests/test_assembly");
    if (test_toy()) fail_msg("the toy fails its tests:\n%s", log_text);
    for (int kind = 0; kind < FE_N_KIND; kind++)
        for (size_t i = 0; i < (fe_is_quadratic(kind) ? 1 : sizeof operations / sizeof *operations); i++) {
            char name[100];
            snprintf(name, sizeof name, "toy %s %s host", fe_kind_name(kind),
                     fe_is_quadratic(kind) ? "is_refused" : operations[i]);
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
    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
