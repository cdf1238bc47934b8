/* Numbers in documents are those of rows: results/tables.sh writes them, and says where they are not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

static char folder[200]; /* a copy of what the script reads, removed at the end */

/* What a shell command prints, errors included, and its exit code. */
static int run(char text[2000], const char *format, ...) __attribute__((format(printf, 2, 3)));
static int run(char text[2000], const char *format, ...)
{
    char command[1000];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    text[fread(text, 1, 1999, pipe)] = 0;
    const int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int copy_tree(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR");
    char text[2000];
    snprintf(folder, sizeof folder, "%s/febench-tables-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(folder)) return 1;
    return run(text, "cp -r README.md docs results variants '%s' 2>&1", folder);
}

static int remove_tree(void **state)
{
    (void)state;
    char text[2000];
    return run(text, "rm -r '%s'", folder);
}

static void assert_says(const char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("\"%s\" is not in:\n%s", part, text);
}

static void test_numbers_of_the_documents_are_those_of_rows(void **state)
{
    (void)state;
    char text[2000];
    if (run(text, "sh results/tables.sh --check 2>&1")) fail_msg("%s", text);
}

/* A number that someone typed is found, and the script writes the row's again. */
static void test_changed_number_is_named_and_mended(void **state)
{
    (void)state;
    char text[2000];
    assert_int_equal(
        run(text, "cd '%s' && sed -i '/^| .`patch`/s/ ([0-9.]*–/ (0.01–/' README.md 2>&1", folder), 0);
    assert_int_equal(run(text, "sh '%s/results/tables.sh' --check 2>&1", folder), 1);
    assert_says(text, "README.md: part 'strategies'");
    assert_int_equal(run(text, "sh '%s/results/tables.sh' 2>&1", folder), 0);
    assert_string_equal(text, "README.md\n");
    if (run(text, "cmp README.md '%s/README.md' 2>&1", folder)) fail_msg("%s", text);
}

static void test_missing_rows_and_files_are_named(void **state)
{
    (void)state;
    char text[2000], kernels[400];
    /* the run of the README: the first line that proves kernels */
    assert_int_equal(
        run(text, "awk -F, '/kernels/ { print $1 \"/\" $2 \"/kernels.csv\"; exit }' results/current.csv"), 0);
    text[strcspn(text, "\n")] = 0;
    snprintf(kernels, sizeof kernels, "%s/results/%.150s", folder, text);
    assert_int_equal(run(text, "sed -i '/,patch,hex8,.*,jacvec,/d' '%s' 2>&1", kernels), 0);
    assert_int_equal(run(text, "sh '%s/results/tables.sh' --check 2>&1", folder), 1);
    assert_says(text, "kernels.csv has no row of patch jacvec on ");
    assert_int_equal(run(text, "rm '%s' && sh '%s/results/tables.sh' 2>&1", kernels, folder), 1);
    assert_says(text, "proves 'kernels', but kernels.csv is not there");
}

/* What plots/crossover.awk makes of rows of patch, on a GPU and its host, and of faster ones of `other`. */
static void draw_crossover(char text[2000], const char *other)
{
    if (run(text,
            "{ echo case,backend,device,threads,element,order,plastic,variant,operation,status,n_dof,"
            "median_s,ci95_low_s,ci95_high_s,commit; for b in cuda host; do for v in patch:3 %s; do "
            "echo box9-distorted,$b,$b,1,hex8,auto,1,${v%%:*},jacvec,ok,3000,${v#*:},${v#*:},${v#*:},0; "
            "done; done; } | awk -f plots/crossover.awk LICENSE - 2>&1",
            other))
        fail_msg("%s", text);
    assert_says(text, "hex8 jacvec fastest_on_GPU 3000 ");
}

/* The fastest strategy of that figure is one: element_only is none, by its name and by that of old rows. */
static void test_the_fastest_is_a_strategy(void **state)
{
    (void)state;
    char alone[2000], text[2000];
    draw_crossover(alone, "");
    draw_crossover(text, "element_only:1");
    assert_string_equal(text, alone);
    draw_crossover(text, "bound:1");
    assert_string_equal(text, alone);
    draw_crossover(text, "element_team:1");
    assert_string_not_equal(text, alone);
}

/* Rows of three strategies: set-up, product and material in seconds. */
#define SET_UP_ROWS                                                                                          \
    "{ echo case,backend,device,threads,element,order,plastic,variant,setup_s,operation,status,n_dof,"       \
    "median_s,ci95_low_s,ci95_high_s,commit,precision; for v in element_atomic:0:4:1 patch:9:2:1 "           \
    "element_team:0:3:1 element_warp:1:5:1 assembled_bsr:20:1:8; do echo $v | "                              \
    "{ IFS=: read -r n s t m; for o in jacvec:$t material:$m; do "                                           \
    "echo box9-distorted,cuda,G,1,hex8,auto,1,$n,$s,${o%%:*},ok,3000,${o#*:},${o#*:},${o#*:},0,double; "     \
    "done; }; done; }"

/* 9 / (4 - 2) = 4.5 products against element_atomic; against the matrix, which is faster by one second and
 * whose set-up and assembly take 20 - 9 + 8 - 1 = 18 s longer, the matrix is repaid after 18. element_team is
 * at once, element_warp never. */
static void test_set_ups_are_repaid(void **state)
{
    (void)state;
    char text[2000];
    if (run(text, SET_UP_ROWS " | awk -v backend=cuda -v reference=element_atomic -f results/break_even.awk "
                              "-f plots/break_even.awk variants/variants.def - 2>&1"))
        fail_msg("%s", text);
    assert_says(text, "hex8 jacvec patch 3000 5 5 5\n");
    assert_says(text, "hex8 jacvec element_team 3000 1 1 1\n");
    assert_says(text, "hex8 jacvec assembled_bsr 3000 9 9 9\n");
    if (strstr(text, "element_warp")) fail_msg("%s", text);
    if (run(text, SET_UP_ROWS " | awk -v backend=cuda -v reference=patch -f results/break_even.awk "
                              "-f plots/break_even.awk variants/variants.def - 2>&1"))
        fail_msg("%s", text);
    assert_says(text, "hex8 jacvec assembled_bsr 3000 18 18 18\n");
    if (run(text, SET_UP_ROWS
            " | awk -f results/break_even.awk -f bench/table.awk 2>&1 | grep '|.*|.*|.*|.*|.*|.*|.*|.*|' "
            "| grep -v GDoF | tail -5"))
        fail_msg("%s", text);
    assert_says(text, "| `element_atomic` | 0.00 |  | 0 |  |  |  |  |\n");
    assert_says(text, "| `patch` | 9000.00 |  | 4 |  | 5 |  |  |\n");
    assert_says(text, "| `element_team` | 0.00 |  | 0 |  | 0 |  |  |\n");
    assert_says(text, "| `element_warp` | 1000.00 |  | 0 |  |  |  |  |\n");
    assert_says(text, "| `assembled_bsr` | 20000.00 |  | 20 |  | 9 |  |  |\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers_of_the_documents_are_those_of_rows),
                                       cmocka_unit_test(test_changed_number_is_named_and_mended),
                                       cmocka_unit_test(test_missing_rows_and_files_are_named),
                                       cmocka_unit_test(test_the_fastest_is_a_strategy),
                                       cmocka_unit_test(test_set_ups_are_repaid)};
    return cmocka_run_group_tests(tests, copy_tree, remove_tree);
}
