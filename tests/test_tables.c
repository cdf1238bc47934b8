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
    /* What is written for a strategy without rows is then written. */
    return run(text, "cp -r README.md docs results variants '%s' && sh '%s/results/tables.sh' 2>&1", folder,
               folder);
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

/* A strategy that was added and has no rows yet changes nothing, with a line in the README's table and
 * without; one that has rows needs its line. */
static void test_a_new_strategy_needs_no_rows(void **state)
{
    (void)state;
    char text[2000];
    assert_int_equal(
        run(text,
            "cd '%s' && cp README.md README.old && cp -r variants/element_atomic variants/new && "
            "sed -i s/element_atomic/new/g variants/new/* && echo 'FE_VARIANT(new)' >>variants/variants.def",
            folder),
        0);
    if (run(text, "sh '%s/results/tables.sh' --check 2>&1", folder)) fail_msg("%s", text);
    assert_int_equal(
        run(text, "cd '%s' && sed -i '/^| .`patch`/{p; s/`patch`/`new`/; s/[0-9].*/ | | | |/}' README.md",
            folder),
        0);
    if (run(text, "grep '^| .`new`' '%s/README.md' && sh '%s/results/tables.sh' --check 2>&1", folder,
            folder))
        fail_msg("%s", text);
    assert_int_equal(run(text,
                         "cd '%s' && sed -i '/^| .`patch`/d' README.md && sh results/tables.sh --check 2>&1",
                         folder),
                     1);
    assert_says(text, "README.md: the table of strategies has no line of patch");
    assert_int_equal(run(text,
                         "cd '%s' && mv README.old README.md && rm -r variants/new && sed -i '/(new)/d' "
                         "variants/variants.def",
                         folder),
                     0);
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

/* Makes a run of `patch` in the copy: boxes, other meshes, two precisions. Times are chosen so that
 * throughput is 10 GDoF/s times a factor, with intervals of 5 % to both sides. */
static void add_run(void)
{
    static const char *const rows[] = {
        "box50-distorted,397953,double,1,linear,25",
        "box128-distorted,6440067,double,2",
        "box128-distorted,6440067,single,4",
        "irregular,5000000,double,1.5",
        "irregular,5000000,mixed,3",
        "irregular,5000000,single,failed",
        "box119x119x119-distorted,5184000,double,2",
        "irregular,300000,double,0.5",
        "box128-distorted,6440067,double,0.8,voce",
    };
    static const char program[] =
        "BEGIN { FS = \",\"; OFS = \",\"; split(\"jacvec_elastic jacvec residual\", op, \" \") }\n"
        "{ t = $4 + 0 > 0 ? $2 / (1e10 * $4) : 0\n"
        "for (i = $5 == \"voce\" ? 3 : 1; i <= 3; i++) print 5, \"cuda\", \"NVIDIA H200\", 1, \"patch\", "
        "\"hex8\", $1, \"auto\", "
        "1, "
        "\"clustered\", 1, $2, op[i], 9, t, 0.95 * t, 1.05 * t, 0, 1, $3, ($4 + 0 > 0 ? \"ok\" : "
        "\"failed\"), "
        "($5 == \"\" ? \"linear\" : $5), $6 }\n";
    char text[2000], path[300];
    snprintf(path, sizeof path, "%s/made.awk", folder);
    FILE *file = fopen(path, "w");
    assert_true(file && fputs(program, file) >= 0 && !fclose(file));
    assert_int_equal(
        run(text,
            "cd '%s' && mkdir results/nvidia-h200/made && cd results/nvidia-h200/made && "
            "echo schema,backend,device,threads,variant,element,case,order,plastic,plastic_pattern,n_elem,"
            "n_dof,operation,repetitions,median_s,ci95_low_s,ci95_high_s,error,deterministic,precision,"
            "status,hardening,nj_per_dof "
            ">kernels.csv && echo key,value | tee samples.csv machine.csv table.md 2>&1",
            folder),
        0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (run(text, "cd '%s' && echo '%s' | awk -f made.awk 2>&1 >>results/nvidia-h200/made/kernels.csv",
                folder, rows[i]))
            fail_msg("%s", text);
    assert_int_equal(
        run(text,
            "echo nvidia-h200,made,made,meshes precision hardening energy, >>'%s/results/current.csv' && "
            "sh '%s/results/tables.sh' 2>&1",
            folder, folder),
        0);
    assert_says(text, "docs/findings.md\n");
}

/* Meshes that are no cubes have a table with the ratio to the box of nearest size, each mesh has its lines in
 * that of precisions, and a missing file of such a run is named, unless current.csv says that it lacks. */
static void test_all_meshes_and_precisions_are_shown(void **state)
{
    (void)state;
    static char text[400000];
    char said[2000];
    add_run();
    snprintf(said, sizeof said, "%s/docs/findings.md", folder);
    FILE *file = fopen(said, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    assert_says(
        text,
        "| strategy | irregular, 5.00 M | of the box, 6.44 M | box119x119x119-distorted, 5.18 M | of the "
        "box, 6.44 M | irregular, 0.30 M | of the box, 0.40 M |");
    assert_says(
        text, "| `patch` | 15.0 (14.3–15.8) | 0.75 (0.68–0.83) | 20.0 (19.0–21.1) | 1.00 (0.90–1.11) | 5.00 "
              "(4.76–5.26) | 0.50 (0.45–0.55) |");
    assert_says(
        text,
        "| Hex8 | box, 6.44 M | `patch` | 20.0 (19.0–21.1) |  | 40.0 (38.1–42.1) |  | 2.00 (1.81–2.21) |");
    assert_says(text,
                "| Hex8 | irregular, 5.00 M | `patch` | 15.0 (14.3–15.8) | 30.0 (28.6–31.6) | failed | 2.00 "
                "(1.81–2.21) |  |");
    assert_says(text,
                "| Hex8 | box, 6.44 M | `patch` | 20.0 (19.0–21.1) | 8.00 (7.62–8.42) | 0.40 (0.36–0.44) |");
    assert_says(text, "| Hex8 | box, 0.40 M | `patch` | 25.0 | 25.0 |");
    assert_says(text, "(../results/nvidia-h200/made/meshes-cuda.svg)");
    assert_int_equal(
        run(said, "cd '%s/results' && rm nvidia-h200/made/machine.csv && sh tables.sh 2>&1", folder), 1);
    assert_says(said, "proves 'meshes', but machine.csv is not there");
    assert_int_equal(
        run(said, "cd '%s/results' && sed -i '/,made,/s/$/machine.csv/' current.csv && sh tables.sh 2>&1",
            folder),
        0);
    assert_int_equal(
        run(said, "cd '%s/results' && echo key >nvidia-h200/made/machine.csv && sh tables.sh 2>&1", folder),
        1);
    assert_says(said, "has the machine.csv that it lacks");
    assert_int_equal(run(said,
                         "cd '%s/results' && rm -r nvidia-h200/made && sed -i '/,made,/d' current.csv && sh "
                         "tables.sh 2>&1",
                         folder),
                     0);
    if (run(said, "cmp docs/findings.md '%s/docs/findings.md' 2>&1", folder)) fail_msg("%s", said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers_of_the_documents_are_those_of_rows),
                                       cmocka_unit_test(test_a_new_strategy_needs_no_rows),
                                       cmocka_unit_test(test_changed_number_is_named_and_mended),
                                       cmocka_unit_test(test_all_meshes_and_precisions_are_shown),
                                       cmocka_unit_test(test_missing_rows_and_files_are_named)};
    return cmocka_run_group_tests(tests, copy_tree, remove_tree);
}
