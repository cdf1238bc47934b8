/* Folders include and call each other in one direction only, files too; and lines of Markdown fit a screen.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

static char folder[200]; /* a tree with a circle, removed at the end */

static int make_folder(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/febench-layout-XXXXXX", base ? base : "/tmp");
    return mkdtemp(folder) ? 0 : 1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[300];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command);
}

/* What a command says, and its exit code. */
static int run(const char *command, char text[2000])
{
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    text[fread(text, 1, 1999, pipe)] = 0;
    return WEXITSTATUS(pclose(pipe));
}
static int includes(const char *root, char text[2000])
{
    char command[300];
    snprintf(command, sizeof command, "sh tests/includes.sh '%s' 2>&1", root);
    return run(command, text);
}

static void test_folders_include_each_other_in_no_circle(void **state)
{
    (void)state;
    char text[2000];
    if (includes(".", text)) fail_msg("%s", text);
}

/* A file NAME in a folder of the tree that includes ten others of one folder. */
static void write_source(const char *name, const char *included)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < 10; i++) fprintf(file, "#include \"%s/%d.h\"\n", included, i);
    assert_int_equal(fclose(file), 0);
}

static void test_circle_is_named(void **state)
{
    (void)state;
    char text[2000], command[700];
    snprintf(command, sizeof command, "mkdir -p '%s/mesh' '%s/base' '%s/report'", folder, folder, folder);
    assert_int_equal(system(command), 0);
    write_source("mesh/vtu.c", "report");
    write_source("mesh/mesh.h", "base");
    assert_int_equal(includes(folder, text), 0);
    write_source("report/result.h", "mesh");
    assert_int_equal(includes(folder, text), 1);
    if (!strstr(text, "mesh -> report (mesh/vtu.c includes report/0.h)") ||
        !strstr(text, "report -> mesh (report/result.h includes mesh/0.h)") || strstr(text, "base"))
        fail_msg("%s", text);
}

static void test_public_header_is_the_only_door(void **state)
{
    (void)state;
    char text[2000], command[700], path[300];
    snprintf(command, sizeof command, "mkdir -p '%s/common/multigrid' '%s/tests'", folder, folder);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof path, "%s/report/result.h", folder);
    assert_int_equal(remove(path), 0);
    write_source("common/multigrid/cycle.c", "common/multigrid");
    write_source("tests/test.c", "common/multigrid");
    assert_int_equal(includes(folder, text), 0);
    write_source("common/other.c", "common/multigrid");
    assert_int_equal(includes(folder, text), 1);
    if (!strstr(text, "common/other.c includes common/multigrid/0.h: its public header is") ||
        strstr(text, "cycle.c") || strstr(text, "tests/test.c"))
        fail_msg("%s", text);
}

static void test_nothing_calls_in_a_circle(void **state)
{
    (void)state;
    char text[2000];
    if (run("sh tests/calls.sh 2>&1", text)) fail_msg("%s", text);
}

/* Compiles NAME.c of the tree, in which OWN calls the other. */
static void compile(const char *name, const char *own, const char *called)
{
    char path[300], command[1000], text[2000];
    snprintf(path, sizeof path, "%s/%s.c", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "void %s(void);\nvoid %s(void);\nvoid %s(void) { %s(); }\n", own, called, own, called);
    assert_int_equal(fclose(file), 0);
    snprintf(command, sizeof command,
             "cd '%s' && mkdir -p $(dirname 'built/obj/%s') && \"${CC:-cc}\" -c %s.c -o built/obj/%s.c.o",
             folder, name, name, name);
    if (run(command, text)) fail_msg("%s", text);
}

static void test_circle_of_calls_is_named(void **state)
{
    (void)state;
    char text[2000], command[400], graph[500];
    snprintf(command, sizeof command, "FE_BUILD=built sh tests/calls.sh '%s' 2>&1", folder);
    snprintf(graph, sizeof graph, "FE_BUILD=built sh tests/calls.sh --graph '%s'", folder);
    compile("mesh/first", "first", "second"), compile("mesh/second", "second", "third");
    compile("base/third", "third", "nothing"), compile("base/gone", "gone", "first");
    snprintf(text, sizeof text, "%s/base/gone.c", folder);
    assert_int_equal(remove(text), 0); /* what was compiled of a file that is no more does not count */
    if (run(command, text)) fail_msg("%s", text);
    assert_int_equal(run(graph, text), 0);
    assert_string_equal(text, "mesh -> base 1\n");
    compile("mesh/second", "second", "first");
    assert_int_equal(run(command, text), 1);
    if (!strstr(text, "files call each other") ||
        !strstr(text, "mesh/first.c -> mesh/second.c (mesh/first.c uses second of mesh/second.c)") ||
        strstr(text, "third"))
        fail_msg("%s", text);
    compile("mesh/second", "second", "third"), compile("mesh/fourth", "fourth", "nothing");
    compile("base/fifth", "fifth", "fourth");
    assert_int_equal(run(command, text), 1);
    if (!strstr(text, "folders call each other") || !strstr(text, "base -> mesh (base/fifth.c uses fourth"))
        fail_msg("%s", text);
}

/* Lines of Markdown files below a folder with more than 120 characters; tables and lines with links may have
 * more. */
static void long_lines(const char *root, char text[2000])
{
    char command[700];
    snprintf(command, sizeof command,
             "cd '%s' && find . -name '*.md' -not -path './.*/*' -not -path './build*' | LC_ALL=C xargs awk '"
             "/^\\|/ || /\\]\\(/ { next } { n = $0; gsub(/[\\200-\\277]/, \"\", n) } "
             "length(n) > 120 { print FILENAME \": \" FNR }'",
             root);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    text[fread(text, 1, 1999, pipe)] = 0;
    assert_int_equal(pclose(pipe), 0);
}

static void test_lines_of_markdown_fit(void **state)
{
    (void)state;
    char text[2000], path[300];
    long_lines(".", text);
    if (*text) fail_msg("lines with more than 120 characters:\n%s", text);
    snprintf(path, sizeof path, "%s/page.md", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%0120d\n%0121d\n| %0121d |\n%0119d–\n", 0, 0, 0, 0);
    assert_int_equal(fclose(file), 0);
    long_lines(folder, text);
    assert_string_equal(text, "./page.md: 2\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_folders_include_each_other_in_no_circle),
                                       cmocka_unit_test(test_circle_is_named),
                                       cmocka_unit_test(test_public_header_is_the_only_door),
                                       cmocka_unit_test(test_nothing_calls_in_a_circle),
                                       cmocka_unit_test(test_circle_of_calls_is_named),
                                       cmocka_unit_test(test_lines_of_markdown_fit)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
