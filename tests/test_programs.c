/* The programs that a sweep runs, kernels and scaling: their cases, energies, and what they refuse. */
#include <stdlib.h>
#include <string.h>

#include "common/variant.h"
#include "tests/common.h"

/* All meshes and patterns of plastic elements agree with the oracle, in the order that each strategy wants;
 * about as many are plastic as were asked for. */
static void test_cases_pass_the_check(void **state)
{
    (void)state;
    static const struct {
        const char *mesh, *plastic, *name, *asked, *numbering;
        double least, most; /* share that is plastic */
        int n;
    } cases[] = {
        {"--fe_dofs=9000", "--fe_plastic=0 --fe_pattern=scattered", ",box13-distorted,auto,", ",0,scattered,",
         ",bisection,double,linear,ok\n", 0.0, 0.0, 20},
        {"--fe_dofs=9000", "--fe_plastic=0.1 --fe_pattern=scattered", ",box13-distorted,auto,",
         ",0.1,scattered,", ",lexicographic,double,linear,ok\n", 0.08, 0.12, 20},
        {"--fe_mesh=irregular --fe_dofs=9000", "--fe_plastic=0.2 --fe_pattern=zones", ",irregular,auto,",
         ",0.2,zones,", ",bisection,double,linear,ok\n", 0.19, 0.21, 20},
        {"--fe_mesh=irregular --fe_dofs=5000 --fe_order=random", "", ",irregular,random,", ",1,clustered,",
         ",random,double,linear,ok\n", 1.0, 1.0, 20},
        {"--fe_mesh=9x5x7,slender --fe_dofs=3000 --fe_elements=hex8", "", ",box9x5x7-distorted,auto,",
         ",1,clustered,", ",lexicographic,double,linear,ok\n", 1.0, 1.0, 20},
        {"--fe_mesh=meshgen/bracket/bracket_hex8_coarse.msh", "--fe_plastic=0.3",
         ",bracket_hex8_coarse,auto,", ",0.3,clustered,", ",morton+bisection,double,linear,ok\n", 0.27, 0.42,
         10},
        {"--fe_mesh=meshgen/bracket/bracket_tet4_coarse.msh --fe_refine=1", "",
         ",bracket_tet4_coarse-refined1,", ",1,clustered,", ",46216,", 1.0, 1.0, 10},
        {"--fe_precision=mixed --fe_dofs=3000", "--fe_plastic=0.3 --fe_pattern=scattered", ",box9-distorted,",
         ",0.3,scattered,", ",mixed,linear,ok\n", 0.2, 0.4, 16},
        {"--fe_precision=single --fe_dofs=3000", "", ",box9-distorted,", ",1,clustered,",
         ",single,linear,ok\n", 1.0, 1.0, 16},
        {"--fe_hardening=voce,linear --fe_dofs=3000 --fe_elements=hex8", "--fe_plastic=0.5",
         ",box9-distorted,", ",0.5,clustered,", ",double,voce,ok\n", 0.4, 0.6, 20},
    };
    char path[FOLDER_LENGTH + 16];
    skip_without("kernels", "meshes and plastic elements");
    snprintf(path, sizeof path, "%s/cases.csv", test_folder);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        remove(path);
        free(read_success(
            "%s/kernels --fe_backend=host --fe_threads=1 --fe_variants=element_atomic,patch %s %s "
            "--fe_rows='%s' --benchmark_repetitions=1 --benchmark_min_time=0.0001 2>&1",
            build_folder(), cases[i].mesh, cases[i].plastic, path));
        char *rows = read_file(path, NULL), *rest = rows;
        int n = 0;
        for (const char *at = rows; (at = strstr(at, ",ok\n")); at++) n++;
        if (n != cases[i].n) fail_msg("%d rows are ok, not %d:\n%s", n, cases[i].n, rows);
        assert_holds(rows, cases[i].name);
        assert_holds(rows, cases[i].asked);
        assert_holds(rows, cases[i].numbering);
        for (char *line; (line = strsep(&rest, "\n")) && *line;) {
            int column = 0;
            for (char *word; (word = strsep(&line, ","));)
                if (++column == 32 && *word != 'p') /* plastic_measured */
                    if (!(atof(word) >= cases[i].least && atof(word) <= cases[i].most))
                        fail_msg("%s %s: %s is plastic", cases[i].mesh, cases[i].plastic, word);
        }
        free(rows);
    }
}

/* On a machine whose counters can be read each row has an energy. Elsewhere one line says why none has. */
static void test_energy_is_measured_or_named(void **state)
{
    (void)state;
    skip_without("kernels", "energy");
    char *said =
        read_success("%s/kernels --fe_backend=host --fe_threads=1 --fe_variants=element_atomic,patch "
                     "--fe_dofs=600,900 --fe_elements=tet4 --fe_energy=0.5 --fe_operations=jacvec "
                     "--fe_rows='%s/energy.csv' --benchmark_repetitions=1 2>&1 >/dev/null",
                     build_folder(), test_folder);
    char *energies = read_success("awk -F, 'FNR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next } "
                                  "{ print ($c[\"nj_per_dof\"] > 0), $c[\"status\"] }' '%s/energy.csv'",
                                  test_folder);
    if (*said) {
        assert_int_equal(strncmp(said, "note: --fe_energy: the energy of host is not measured: ", 55), 0);
        assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
    }
    assert_string_equal(energies, *said ? "0 ok\n0 ok\n0 ok\n0 ok\n" : "1 ok\n1 ok\n1 ok\n1 ok\n");
    free(said), free(energies);
}

/* One line says what is wrong with a mesh or a number, and the exit code is 2. */
static void test_bad_meshes_are_refused(void **state)
{
    (void)state;
    static const char *const bad[][3] = {
        {"kernels", "--fe_mesh=nothing.msh", "kernels: nothing.msh: No such file or directory\n"},
        {"kernels", "--fe_mesh=bench/bench.sh", "kernels: bench/bench.sh: not a Gmsh mesh"},
        {"kernels", "--fe_mesh=5x5x0", "kernels: 5x5x0: No such file or directory\n"},
        {"kernels", "--fe_mesh=meshgen/bracket/bracket_hex8_coarse.msh --fe_elements=tet4",
         "kernels: meshgen/bracket/bracket_hex8_coarse.msh: holds hex8, which --fe_elements does not name\n"},
        {"kernels", "--fe_pattern=stripes", "kernels: --fe_pattern: there is no stripes"},
        {"kernels", "--fe_order=sorted", "kernels: --fe_order: there is no sorted"},
        {"kernels", "--fe_precision=half", "kernels: --fe_precision: there is no half"},
        {"kernels", "--fe_precision=mixed --fe_elements=hex8,tet4_p4",
         "kernels: --fe_precision=mixed: tet4_p4 has double precision alone"},
        {"kernels", "--fe_hardening=voce,steel", "kernels: --fe_hardening: there is no steel"},
        {"kernels", "--fe_hardening=voce --fe_precision=mixed --fe_elements=hex8",
         "kernels: --fe_hardening=voce: not of hex8 in mixed precision"},
        {"kernels", "--fe_hardening=voce --fe_elements=tet4,tet4_p4",
         "kernels: --fe_hardening=voce: not of tet4_p4 in double precision"},
        {"kernels", "--fe_refine=x", "kernels: --fe_refine=x: is not a number from 0 to 10"},
        {"kernels", "--fe_energy=long", "kernels: --fe_energy=long: is not a number from 0 to 60\n"},
        {"kernels", "--fe_energy=-1", "kernels: --fe_energy=-1: is not a number from 0 to 60\n"},
        {"kernels", "--fe_energy=61", "kernels: --fe_energy=61: is not a number from 0 to 60\n"},
        {"kernels", "--fe_energy=nan", "kernels: --fe_energy=nan: is not a number from 0 to 60\n"},
        {"scaling", "--mesh nothing.msh", "scaling: nothing.msh: No such file or directory\n"},
        {"scaling", "--mesh irregular --weak", "scaling: --weak: is for boxes\n"},
        {"scaling", "--mesh meshgen/bracket/bracket_tet4_coarse.msh",
         "scaling: --elements hex8: meshgen/bracket/bracket_tet4_coarse.msh holds tet4\n"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int code;
        skip_without(bad[i][0], "refused meshes");
        char *text = read_command(&code, "%s/%s %s 2>&1", build_folder(), bad[i][0], bad[i][1]);
        assert_int_equal(code, 2);
        assert_holds(text, bad[i][2]);
        assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
        free(text);
    }
}

/* Ranks share an unstructured mesh; strategies of both wishes run on it, and pass the check. */
static void test_ranks_share_a_mesh(void **state)
{
    (void)state;
    char path[FOLDER_LENGTH + 16];
    skip_without("scaling", "ranks on an unstructured mesh");
    snprintf(path, sizeof path, "%s/ranks.csv", test_folder);
    free(read_success(
        "%s/scaling --ranks 3 --threads 1 --mesh irregular --dofs 5000 --elements hex8,tet4 --restart 3 "
        "--variants element_atomic,patch --repetitions 1 --rows '%s'",
        build_folder(), path));
    char *rows = read_file(path, NULL);
    int n = 0;
    for (const char *at = rows; (at = strstr(at, ",ok\n")); at++) n++;
    if (n != 2 * (3 + 2 * 10)) fail_msg("%d rows are ok, not 46:\n%s", n, rows);
    assert_holds(rows, ",strong-1x1x3-threads-irregular,auto,");
    assert_holds(rows, ",patch,hex8,");
    assert_holds(rows, "bisection,double,linear,ok\n");
    free(rows);
}

/* If a row cannot be written, the run fails; the row is not silently lost. */
static void test_full_disk_is_reported(void **state)
{
    (void)state;
    int code;
    skip_without("kernels", "full disk");
    char *text = read_command(
        &code,
        "%s/kernels --fe_backend=host --fe_threads=1 --fe_variants=%s --fe_elements=tet4 --fe_dofs=300 "
        "--fe_operations=jacvec --fe_rows=/dev/full 2>&1 >/dev/null",
        build_folder(), fe_variant_at(0)->name);
    assert_int_equal(code, 1);
    assert_holds(text, "No space left on device");
    free(text);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases_pass_the_check),   cmocka_unit_test(test_energy_is_measured_or_named),
        cmocka_unit_test(test_bad_meshes_are_refused), cmocka_unit_test(test_ranks_share_a_mesh),
        cmocka_unit_test(test_full_disk_is_reported),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
