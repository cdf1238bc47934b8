/* Strategies take turns in whole solves, one that does not fit beside the others comes behind them, and
 * answers are checked after they were timed, too, whatever Jacobian led to them. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/backend/device.h"
#include "tests/common.h"

/* Column `name` of each line of a file in test_folder whose operation is `operation`, behind the strategy. */
static char *column_of(const char *file, const char *operation, const char *name)
{
    return read_success("awk -F, 'FNR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next } "
                        "$c[\"operation\"] == \"%s\" { print $c[\"variant\"], $c[\"%s\"] }' '%s/%s'",
                        operation, name, test_folder, file);
}

#define SOLVES                                                                                               \
    "bench/problems/bending.json --cells 6 --precondition multigrid --threads 1 --rows '%s/rows.csv' "       \
    "--samples '%s/samples.csv' --repetitions 5 --variants "

/* Sample i of all comes before sample i + 1 of any, and not always in the same order. */
static void test_strategies_take_turns(void **state)
{
    (void)state;
    static const char *const loads[] = {"steps", "fixed"};
    for (int k = 0; k < 2; k++) {
        free(read_success("rm -f '%s'/rows.csv '%s'/samples.csv && "
                          "%s/solves " SOLVES "patch,element_atomic,corner_gather --load %s --ranks %d",
                          test_folder, test_folder, build_folder(), test_folder, test_folder, loads[k],
                          1 + k));
        char *said = read_success(
            "awk -F, 'FNR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next } $c[\"operation\"] == \"solve\" "
            "{ printf \"%%.3f %%s %%s\\n\", $c[\"start\"], $c[\"sample\"], $c[\"variant\"] }' "
            "'%s/samples.csv' | "
            "sort -n | awk '{ if ($2 != int((NR + 2) / 3)) print \"sample\", $0; first[$3] += NR %% 3 == 1 } "
            "END { for (v in first) n++; if (NR != 15 || n != 3) print NR, n; for (v in first) "
            "if (first[v] == 5) print v, \"is always the first\" }'",
            test_folder);
        assert_string_equal(said, "");
        char *rows = column_of("rows.csv", "solve", "status");
        assert_string_equal(rows, "patch ok\nelement_atomic ok\ncorner_gather ok\n");
        free(said), free(rows);
    }
}

/* On a GPU each strategy has rows of solves without recorded iterations and with them, as many samples of
 * both, one kind after the other, with the same iterations. */
static void test_recorded_solves_follow_the_others(void **state)
{
    (void)state;
    skip_without("solves", "recorded solves");
    skip_if(fe_cuda_devices() > 0 ? NULL : "there is no GPU", "recorded solves");
    free(read_success("rm -f '%s'/rows.csv '%s'/samples.csv && %s/solves " SOLVES
                      "patch,element_atomic --backend cuda",
                      test_folder, test_folder, build_folder(), test_folder, test_folder));
    char *plain = column_of("rows.csv", "solve", "status"),
         *recorded = column_of("rows.csv", "solve_graph", "status"),
         *setups = column_of("rows.csv", "precondition_setup", "repetitions");
    assert_string_equal(plain, "patch ok\nelement_atomic ok\n");
    assert_string_equal(recorded, plain);
    assert_string_equal(setups, "patch 5\nelement_atomic 5\n");
    free(plain), free(recorded), free(setups);
    plain = column_of("rows.csv", "solve", "krylov_iterations");
    recorded = column_of("rows.csv", "solve_graph", "krylov_iterations");
    assert_string_equal(recorded, plain);
    char *order = read_success(
        "awk -F, 'FNR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next } $c[\"operation\"] ~ "
        "/^solve(_graph)?$/ "
        "{ printf \"%%.6f %%s\\n\", $c[\"start\"], $c[\"operation\"] }' '%s/samples.csv' | sort -n | "
        "awk '{ print $2 }' | uniq -c | awk '{ printf \"%%s \", $1 }'",
        test_folder);
    assert_string_equal(order, "10 10 ");
    free(plain), free(recorded), free(order);
}

/* Of mesh and strategy: behind the solves as many samples as of these, of which the column setup_s is the
 * median. */
static void test_set_ups_have_samples(void **state)
{
    (void)state;
    free(read_success("rm -f '%s'/rows.csv '%s'/samples.csv && %s/solves " SOLVES "patch,element_atomic",
                      test_folder, test_folder, build_folder(), test_folder, test_folder));
    char *said = read_success(
        "awk -F, 'FNR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next } "
        "$c[\"operation\"] == \"setup\" { printf \"%%s %%s\", $c[\"variant\"], $c[\"repetitions\"]; "
        "if (!($c[\"median_s\"] > 0) || $c[\"median_s\"] / $c[\"setup_s\"] > 1.001 || "
        "$c[\"setup_s\"] / $c[\"median_s\"] > 1.001) printf \" %%s %%s\", $c[\"median_s\"], $c[\"setup_s\"]; "
        "print \"\" }' '%s/rows.csv'",
        test_folder);
    assert_string_equal(said, "patch 5\nelement_atomic 5\n");
    free(said);
}

/* Where memory is refused to one of them it runs alone, and has a row like the others. */
static void test_one_that_does_not_fit_comes_last(void **state)
{
    (void)state;
    enum { MOST = 40 };
    char inject[FOLDER_LENGTH + 64];
    int n_alone = 0, code;
    const char *path = build_folder();
    snprintf(inject, sizeof inject, "%.*s/tests/inject.so", (int)strcspn(path, ":"), path);
    skip_if(access(inject, R_OK) ? "tests/inject.so was not built" : NULL, "failing calls");
    free(read_success("LD_PRELOAD=%s ASAN_OPTIONS=verify_asan_link_order=0 FE_FAULT_OWN=1 FE_FAULT=memory:0 "
                      "FE_FAULT_COUNT='%s/count' %s/solves " SOLVES "patch,element_atomic",
                      inject, test_folder, path, test_folder, test_folder));
    char *count = read_success("cat '%s/count'", test_folder);
    const long n = atol(count);
    free(count);
    for (int k = 1; k < MOST; k++) {
        free(read_success("rm -f '%s/rows.csv' '%s/samples.csv'", test_folder, test_folder));
        char *said = read_command(
            &code,
            "LD_PRELOAD=%s ASAN_OPTIONS=verify_asan_link_order=0 FE_FAULT_OWN=1 FE_FAULT=memory:%ld "
            "%s/solves " SOLVES "patch,element_atomic 2>&1",
            inject, n * k / MOST, path, test_folder, test_folder);
        if (strstr(said, "memory does not suffice for it beside the others")) {
            n_alone++;
            char *rows = column_of("rows.csv", "solve", "status");
            if (code || strcmp(rows, "patch ok\nelement_atomic ok\n"))
                fail_msg("call %ld of %ld: exit code %d\n%s%s", n * k / MOST, n, code, said, rows);
            free(rows);
        }
        free(said);
    }
    if (!n_alone) fail_msg("none of %d failing allocations of %ld was one beside others", MOST - 1, n);
}

/* Programs whose answers become wrong by a thousandth after so many calls: `first` of them when they are
 * checked before, `later` when that is over. */
static void test_answers_are_checked_after_timing(void **state)
{
    (void)state;
    static const struct {
        const char *program, *kind, *operation, *flags;
        int later;
    } cases[] = {
        {"solves", "residual", "solve",
         "bench/problems/bending.json --cells 4 --threads 1 --repetitions 30 --rows '%s/rows.csv' --variants",
         40},
        {"scaling", "jacvec", "jacvec_elastic",
         "--dofs 3000 --elements hex8 --threads 1 --repetitions 5 --rows '%s/rows.csv' --variants", 200},
        {"kernels", "jacvec", "jacvec",
         "--fe_backend=host --fe_dofs=1000 --fe_elements=hex8 --fe_operations=jacvec --fe_threads=1 "
         "--benchmark_repetitions=2 --fe_rows='%s/rows.csv' --fe_variants",
         60}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char program[FOLDER_LENGTH + 32], flags[1000];
        const char *path = build_folder();
        snprintf(program, sizeof program, "%.*s/tests/%s-late", (int)strcspn(path, ":"), path,
                 cases[i].program);
        skip_if(access(program, X_OK) ? "a program whose answers become wrong was not built" : NULL,
                cases[i].program);
        snprintf(flags, sizeof flags, cases[i].flags, test_folder);
        const char *between = i == 2 ? "=" : " ";
        for (int is_late = 0; is_late < 2; is_late++) {
            free(read_success("rm -f '%s/rows.csv'", test_folder));
            char *said = read_success("FE_LATE=%s:%d %s %s%spatch 2>&1", cases[i].kind,
                                      is_late ? cases[i].later : 1000000000, program, flags, between);
            char *rows = column_of("rows.csv", cases[i].operation, "status"),
                 *times = column_of("rows.csv", cases[i].operation, "median_s");
            if (strcmp(rows, is_late ? "patch check_failed\n" : "patch ok\n") ||
                (is_late && strcmp(times, "patch \n")))
                fail_msg("%s: %s%s%s", program, said, rows, times);
            free(said), free(rows), free(times);
        }
    }
}

/* What tells the ways of a plastic solve apart stands in their rows; all have the answer of the tangent. A
 * frozen Jacobian takes many iterations, fewer with acceleration, and none is timed that does not arrive. */
static void test_jacobians_have_rows(void **state)
{
    (void)state;
    static const char *const ways[] = {"",
                                       "--jacobian difference",
                                       "--anderson 5",
                                       "--jacobian elastic --newton-iterations 5000",
                                       "--jacobian elastic --newton-iterations 5000 --anderson 5",
                                       "--jacobian elastic --newton-iterations 3"};
    enum { N_WAY = sizeof ways / sizeof *ways };
    static const char *const wanted[N_WAY] = {"cg tangent 0 ok\n", "gmres difference 0 ok\n",
                                              "cg tangent 5 ok\n", "cg elastic 0 ok\n",
                                              "cg elastic 5 ok\n", "cg elastic 0 failed\n"};
    int newton[N_WAY];
    skip_without("solves", "Jacobians");
    for (int k = 0; k < N_WAY; k++) {
        free(
            read_success("rm -f '%s/rows.csv'; %s/solves bench/problems/stretched.json --cells 4 --threads 1 "
                         "--repetitions 1 --variants patch --rows '%s/rows.csv' %s 2>&1",
                         test_folder, build_folder(), test_folder, ways[k]));
        char *row = read_success(
            "awk -F, 'FNR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next } $c[\"operation\"] == \"solve\" "
            "{ print $c[\"krylov\"], $c[\"jacobian\"], $c[\"anderson\"], $c[\"status\"] }' '%s/rows.csv'",
            test_folder);
        if (strcmp(row, wanted[k])) fail_msg("%s: %sinstead of %s", ways[k], row, wanted[k]);
        free(row);
        char *told = column_of("rows.csv", "solve", "newton_iterations");
        newton[k] = atoi(told + strlen("patch "));
        free(told);
    }
    if (!(newton[0] < newton[2] && newton[2] < newton[4] && newton[4] < newton[3]))
        fail_msg("iterations: %d with tangents, %d accelerated; %d frozen, %d accelerated", newton[0],
                 newton[2], newton[3], newton[4]);
}

/* What the load has no use for is refused in a line, and nothing is solved. */
static void test_flags_without_a_use_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *flags, *said;
    } refused[] = {
        {"--load linear --jacobian elastic",
         "solves: --jacobian elastic: so is the tangent of --load linear\n"},
        {"--load fixed --jacobian difference", "solves: --jacobian difference: --load fixed has tangents\n"},
        {"--load linear --anderson 5", "solves: --anderson 5: is for --load steps, not linear\n"},
        {"--load fixed --newton-iterations 9",
         "solves: --newton-iterations 9: is for --load steps, not fixed\n"},
        {"--anderson 17", "solves: --anderson 17: is not a whole number from 0 to 16\n"},
        {"--jacobian difference --products mixed",
         "solves: --products mixed: --jacobian difference has no products of tangents\n"},
        {"--basis single", "solves: --basis single: --load steps solves by CG, which has none\n"}};
    skip_without("solves", "flags");
    for (size_t k = 0; k < sizeof refused / sizeof *refused; k++) {
        int code;
        char *said = read_command(&code, "%s/solves bench/problems/stretched.json --cells 2 %s 2>&1",
                                  build_folder(), refused[k].flags);
        if (code != 2 || strcmp(said, refused[k].said))
            fail_msg("%s: exit code %d: %s", refused[k].flags, code, said);
        free(said);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strategies_take_turns),
        cmocka_unit_test(test_recorded_solves_follow_the_others),
        cmocka_unit_test(test_set_ups_have_samples),
        cmocka_unit_test(test_one_that_does_not_fit_comes_last),
        cmocka_unit_test(test_answers_are_checked_after_timing),
        cmocka_unit_test(test_jacobians_have_rows),
        cmocka_unit_test(test_flags_without_a_use_are_refused),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
