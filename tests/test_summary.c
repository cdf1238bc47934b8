/* The table that kernels prints at its end: its order, numbers and marks are those of its rows, failed checks
 * are named, and formats for programs have none of it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/common.h"

/* Three strategies and element_only; the flags come behind it. */
#define KERNELS                                                                                              \
    "kernels --fe_backend=host --fe_threads=1 --fe_dofs=1000 --benchmark_repetitions=7 "                     \
    "--benchmark_min_time=0.002 --fe_variants=element_only,node_csr,patch,element_atomic "
#define NOTE "ms: median time of one call"

/* Compares what was printed, out, with rows.csv. A line has a strategy, time, ratio and throughput of jacvec,
 * time and ratio of residual. */
static void check_tables(const char *title)
{
    int code;
    char path[FOLDER_LENGTH + 16];
    snprintf(path, sizeof path, "%s/check.awk", test_folder);
    write_file(
        path,
        "function bad(text) { print text \": \" $0; failed = 1; exit 1 }\n"
        "function near(x, y) { return x == y || (x / y < 1.06 && y / x < 1.06) }\n"
        "FNR == 1 { n_file++ }\n"
        "n_file == 1 { n = split($0, w, \",\") }\n"
        "n_file == 1 && FNR == 1 { for (i = 1; i <= n; i++) c[w[i]] = i; next }\n"
        "n_file == 1 { k = w[c[\"element\"]] \" \" w[c[\"variant\"]]; o = w[c[\"operation\"]];\n"
        "    time[k, o] = w[c[\"median_s\"]]; rate[k, o] = w[c[\"dof_per_s\"]];\n"
        "    noisy[k, o] = w[c[\"noise\"]] ~ /wide|loaded/; n_noisy += noisy[k, o];\n"
        "    e = w[c[\"element\"]]; if (k !~ /element_only/ && (!((e, o) in least) || time[k, o] < least[e, "
        "o]))\n"
        "        least[e, o] = time[k, o]; next }\n"
        "/^(hex8|tet4), / { element = $1; sub(/,/, \"\", element); last = 0; n_table++;\n"
        "    if (!index($0, title)) bad(\"title\") }\n"
        "!element { next }\n"
        "/^ms: / { element = \"\"; next }\n"
        "/^ +ms / { giga = /GDoF/; next }\n"
        "/^[a-z]/ && !/,/ { k = element \" \" $1; marks[1] = $2 ~ /~$/; marks[2] = $5 ~ /~$/; gsub(/~/, "
        "\"\");\n"
        "    if (NF != 6) bad(\"words\");\n"
        "    if ((n_line++ %% 4 == 3) != ($1 == \"element_only\")) bad(\"element_only is last\");\n"
        "    if ($1 != \"element_only\" && time[k, \"jacvec\"] < last) bad(\"order\");\n"
        "    last = time[k, \"jacvec\"];\n"
        "    if (!near($2, 1e3 * last) || !near($4 * (giga ? 1e9 : 1e6), rate[k, \"jacvec\"])) "
        "bad(\"jacvec\");\n"
        "    if (!near($5, 1e3 * time[k, \"residual\"])) bad(\"residual\");\n"
        "    if (!near($3, last / least[element, \"jacvec\"])) bad(\"ratio\");\n"
        "    if (!near($6, time[k, \"residual\"] / least[element, \"residual\"])) bad(\"ratio\");\n"
        "    if (marks[1] != noisy[k, \"jacvec\"] || marks[2] != noisy[k, \"residual\"]) bad(\"mark\") }\n"
        "END { if (failed) exit 1; if (n_table != 2 || n_line != 8) bad(n_table \" tables, \" n_line \" "
        "lines\") "
        "}\n");
    char *said = read_command(&code, "cd '%s' && awk -v title='%s' -f check.awk rows.csv out 2>&1",
                              test_folder, title);
    if (code) {
        char *out = read_success("cat '%s/rows.csv' '%s/out'", test_folder, test_folder);
        fail_msg("%s%s", said, out);
    }
    free(said);
}

/* With febench's lines before it and with those of Google Benchmark. */
static void test_tables_are_those_of_the_rows(void **state)
{
    (void)state;
    static const char *const formats[] = {"", "--benchmark_format=console"};
    skip_without("kernels", "tables");
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        free(read_success("rm -f '%s/rows.csv'; %s/" KERNELS
                          "--fe_elements=tet4,hex8 --fe_operations=residual,jacvec "
                          "--fe_operand=smooth --fe_rows='%s/rows.csv' %s >'%s/out'",
                          test_folder, build_folder(), test_folder, formats[i], test_folder));
        check_tables("-distorted, 1029 DoF, host with 1 thread, smooth");
    }
}

/* No table is wider than a terminal, however many columns there are; names, which are longer, are no reason.
 */
static void test_tables_fit_a_terminal(void **state)
{
    (void)state;
    skip_without("kernels", "width of tables");
    char *said = read_success(
        "%s/" KERNELS "--fe_elements=hex8 --fe_contact=0,0.1,0.2 | sed -n '/^hex8, /,$p' | tee '%s/out'",
        build_folder(), test_folder);
    char *widest = read_success("LC_ALL=C.UTF-8 sed 's/×/x/g' '%s/out' | awk 'length > n { n = length } "
                                "END { print (n <= 100 && NR > 10) }'",
                                test_folder);
    if (strcmp(widest, "1\n")) fail_msg("wider than 100 columns:\n%s", said);
    assert_holds(said, " jacvec_contact0.2 ");
    assert_holds(said, " material ");
    free(said), free(widest);
}

/* On stdout; a file of results is another matter. */
static void test_formats_for_programs_have_no_table(void **state)
{
    (void)state;
    static const struct {
        const char *flags;
        int has_table;
    } cases[] = {{"--benchmark_format=json", 0},
                 {"--benchmark_format=csv 2>/dev/null", 0},
                 {"--benchmark_format=json --benchmark_out_format=console --benchmark_out='%s/out'", 0},
                 {"--benchmark_out='%s/out'", 1},
                 {"--benchmark_list_tests=true", 0},
                 {"--fe_give_up=killed", 0}};
    skip_without("kernels", "formats");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char flags[FOLDER_LENGTH + 128];
        snprintf(flags, sizeof flags, cases[i].flags, test_folder);
        char *said =
            read_success("rm -f '%s/out'; %s/" KERNELS "--fe_elements=hex8 --fe_operations=jacvec %s",
                         test_folder, build_folder(), flags);
        if ((strstr(said, NOTE) != NULL) != cases[i].has_table) fail_msg("%s: %s", flags, said);
        if (i == 0) assert_string_equal(said + strlen(said) - 4, "]\n}\n");
        if (strstr(flags, "/out'")) {
            char *out = read_success("cat '%s/out'", test_folder);
            if (strstr(out, NOTE)) fail_msg("%s: %s", flags, out);
            free(out);
        }
        free(said);
    }
}

/* What is wrong by the end of the timing has no time, and a line by name. */
static void test_failed_checks_are_named(void **state)
{
    (void)state;
    static const char *const wrong[] = {"check_failed: patch: jacvec\n", "check_failed: node_csr: jacvec\n",
                                        "check_failed: element_atomic: jacvec\n"};
    char program[FOLDER_LENGTH + 32];
    const char *path = build_folder();
    snprintf(program, sizeof program, "%.*s/tests/kernels-late", (int)strcspn(path, ":"), path);
    skip_if(access(program, X_OK) ? "a program whose answers become wrong was not built" : NULL, "kernels");
    char *said =
        read_success("FE_LATE=jacvec:100 %.*s/tests/"
                     "kernels-late --fe_backend=host --fe_threads=1 "
                     "--fe_dofs=1000 --benchmark_repetitions=2 --fe_elements=hex8 "
                     "--fe_variants=node_csr,patch,element_atomic --fe_operations=residual,jacvec 2>&1",
                     (int)strcspn(path, ":"), path);
    const char *table = strstr(said, "\nhex8, ");
    assert_non_null(table);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) assert_holds(table, wrong[i]);
    assert_holds(table, "\npatch               -");
    free(said);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables_are_those_of_the_rows),
        cmocka_unit_test(test_tables_fit_a_terminal),
        cmocka_unit_test(test_formats_for_programs_have_no_table),
        cmocka_unit_test(test_failed_checks_are_named),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
