/* Folders include each other in one direction only, and lines of Markdown fit a screen. */
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

/* What tests/includes.sh says of a tree, and its exit code. */
static int includes(const char *root, char text[2000])
{
    char command[300];
    snprintf(command, sizeof command, "sh tests/includes.sh '%s' 2>&1", root);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    text[fread(text, 1, 1999, pipe)] = 0;
    return WEXITSTATUS(pclose(pipe));
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
                                       cmocka_unit_test(test_lines_of_markdown_fit)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
