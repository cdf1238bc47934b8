/* The programs that a sweep runs, kernels and scaling: their cases, energies, and what they refuse. */
#include <dlfcn.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/backend/device.h"
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
         ",bisection,double,linear,burst,1,", 0.0, 0.0, 20},
        {"--fe_dofs=9000", "--fe_plastic=0.1 --fe_pattern=scattered", ",box13-distorted,auto,",
         ",0.1,scattered,", ",lexicographic,double,linear,burst,1,", 0.08, 0.12, 20},
        {"--fe_mesh=irregular --fe_dofs=9000", "--fe_plastic=0.2 --fe_pattern=zones", ",irregular,auto,",
         ",0.2,zones,", ",bisection,double,linear,burst,1,", 0.19, 0.21, 20},
        {"--fe_mesh=irregular --fe_dofs=5000 --fe_order=random", "", ",irregular,random,", ",1,clustered,",
         ",random,double,linear,burst,1,", 1.0, 1.0, 20},
        {"--fe_mesh=9x5x7,slender --fe_dofs=3000 --fe_elements=hex8", "", ",box9x5x7-distorted,auto,",
         ",1,clustered,", ",lexicographic,double,linear,burst,1,", 1.0, 1.0, 20},
        {"--fe_mesh=meshgen/bracket/bracket_hex8_coarse.msh", "--fe_plastic=0.3",
         ",bracket_hex8_coarse,auto,", ",0.3,clustered,", ",morton+bisection,double,linear,burst,1,", 0.27,
         0.42, 10},
        {"--fe_mesh=meshgen/bracket/bracket_tet4_coarse.msh --fe_refine=1", "",
         ",bracket_tet4_coarse-refined1,", ",1,clustered,", ",46216,", 1.0, 1.0, 10},
        {"--fe_precision=mixed --fe_dofs=3000", "--fe_plastic=0.3 --fe_pattern=scattered", ",box9-distorted,",
         ",0.3,scattered,", ",mixed,linear,burst,1,", 0.2, 0.4, 16},
        {"--fe_precision=single --fe_dofs=3000", "", ",box9-distorted,", ",1,clustered,",
         ",single,linear,burst,1,", 1.0, 1.0, 16},
        {"--fe_precision=single --fe_mesh=2x2x1200 --fe_operations=residual",
         "", /* its bound is a wider one */
         ",box2x2x1200-distorted,", ",1,clustered,", ",single,linear,burst,1,", 1.0, 1.0, 4},
        {"--fe_operand=smooth --fe_mesh=irregular --fe_dofs=9000", "--fe_plastic=0.2 --fe_pattern=zones",
         ",irregular,auto,", ",0.2,zones,", ",smooth,bisection,double,linear,burst,1,", 0.19, 0.21, 20},
        {"--fe_operand=smooth --fe_dofs=3000 --fe_elements=hex8", "", ",box9-distorted,", ",1,clustered,",
         ",smooth,bisection,double,linear,burst,1,", 1.0, 1.0, 10},
        {"--fe_hardening=voce,linear --fe_dofs=3000 --fe_elements=hex8", "--fe_plastic=0.5",
         ",box9-distorted,", ",0.5,clustered,", ",double,voce,burst,1,", 0.4, 0.6, 20},
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

/* In the test's folder, with $B where the programs are; takes build_folder() and test_folder. */
#define THERE "B=$(cd '%s' && pwd) && cd '%s' && "

/* Leaves a state of part.json in part_result.json.state, after some load steps. */
static void leave_state(const char *mesh, int steps, const char *flags)
{
    free(read_success(THERE "\"$B/solve\" part.json --mesh %s --threads 1 --steps %d --result "
                            "part_result.json %s 2>&1",
                      build_folder(), test_folder, mesh, steps, flags));
}

/* Times operations on it, and returns the rows; all are ok. */
static char *time_part(const char *mesh, const char *flags)
{
    char *rows =
        read_success(THERE "rm -f part.csv && \"$B/kernels\" --fe_backend=host --fe_threads=1 --fe_mesh=%s "
                           "--fe_problem=part.json "
                           "--fe_state=part_result.json.state --fe_rows=part.csv --benchmark_repetitions=1 "
                           "--benchmark_min_time=0.0001 %s >/dev/null 2>&1 && cat part.csv",
                     build_folder(), test_folder, mesh, flags);
    int n = -1, n_ok = 0;
    for (const char *at = rows; (at = strchr(at, '\n')); at++) n++;
    for (const char *at = rows; (at = strstr(at, ",ok\n")); at++) n_ok++;
    if (n < 20 || n_ok != n) fail_msg("%s %s: %d of %d rows are ok:\n%s", mesh, flags, n_ok, n, rows);
    return rows;
}

/* A bar under uniform tension flows everywhere where the load grows beyond yield, and nowhere when it turns,
 * though all of it has yielded. Its material is the problem's: the benchmark's own would flow in the first
 * load step, too. */
static void test_states_of_a_part_are_those_of_its_solve(void **state)
{
    (void)state;
    char path[FOLDER_LENGTH + 16];
    skip_without("kernels", "states of parts");
    snprintf(path, sizeof path, "%s/part.json", test_folder);
    write_file(
        path,
        "{\"name\": \"bar\", \"meshes\": [\"bar.msh\"], \"units\": \"mm, N, MPa\", \"material\": "
        "{\"E\": 70000, \"nu\": 0.33, \"sigma_y\": 600, \"H\": 900}, \"dirichlet\": [{\"group\": \"x0\", "
        "\"u\": {\"x\": 0}}, {\"group\": \"y0\", \"u\": {\"y\": 0}}, {\"group\": \"z0\", \"u\": {\"z\": "
        "0}}], "
        "\"neumann\": [{\"group\": \"x1\", \"traction\": [600, 0, 0]}], \"paths\": {\"load\": [0.45, 0.9, "
        "1.1, "
        "1.2, 0.9]}, \"probes\": {}}");
    free(read_success(THERE "\"$B/meshgen\" box -c 4 -d 0.2 -o bar.msh", build_folder(), test_folder));
    static const struct {
        int steps;
        const char *plastic, *measured;
    } share[] = {{1, ",auto,0,part,", ",0.000000,"},
                 {4, ",auto,1,part,", ",1.000000,"},
                 {5, ",auto,0,part,", ",0.000000,"}};
    for (size_t i = 0; i < sizeof share / sizeof *share; i++) {
        leave_state("bar.msh", share[i].steps, "");
        char *rows = time_part("bar.msh", "--fe_variants=patch,node_csr --fe_precision=double,mixed,single");
        assert_holds(rows, share[i].plastic);
        assert_holds(rows, share[i].measured);
        free(rows);
    }
}

/* The bracket under its largest load: all strategies and kinds agree with the oracle, whatever the order and
 * backend of the solve; a state is refused where it does not belong. */
static void test_states_of_a_real_part_pass_the_check(void **state)
{
    (void)state;
    static const struct {
        const char *kind, *solve, *kernels;
    } cases[] = {{"hex8", "", ""},
                 {"hex8", "--order random", "--fe_elements=hex8_naive"},
                 {"hex8", "--order random --ranks 2", "--fe_order=as-is --fe_operand=smooth"},
                 {"tet4", "", "--fe_precision=single"},
                 {"tet4", "--tet-points 4", "--fe_elements=tet4_p4"}};
    skip_without("kernels", "states of parts");
    free(read_success("cp meshgen/bracket/bracket_coarse.json '%s/part.json'", test_folder));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        free(read_success("cp meshgen/bracket/bracket_%s_coarse.msh '%s/bracket.msh'", cases[i].kind,
                          test_folder));
        leave_state("bracket.msh", 7, cases[i].solve);
        char *rows = time_part("bracket.msh", cases[i].kernels);
        assert_holds(rows, ",part,");
        double plastic = 0.0, measured = 0.0;
        char *told = read_success(
            "awk -F, 'FNR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next } { print $c[\"plastic\"], "
            "$c[\"plastic_measured\"]; exit }' '%s/part.csv'",
            test_folder);
        assert_int_equal(sscanf(told, "%lf %lf", &plastic, &measured), 2);
        if (!(measured > 0.1 && measured < 0.4 && fabs(plastic - measured) <= 0.0051))
            fail_msg("%s: %g is plastic, counted %g", cases[i].kind, plastic, measured);
        free(told), free(rows);
    }
}

static void test_states_that_do_not_belong_are_refused(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"--fe_state=s.state", "--fe_state=s.state: needs --fe_problem"},
        {"--fe_problem=part.json", "--fe_problem=part.json: needs --fe_state"},
        {"--fe_pattern=part", "--fe_pattern=part: is that of --fe_state"},
        {"PART --fe_plastic=0.3", "--fe_plastic=0.3: not with --fe_state"},
        {"PART --fe_pattern=zones", "--fe_pattern=zones: not with --fe_state"},
        {"PART --fe_refine=1", "--fe_refine=1: not with --fe_state"},
        {"PART --fe_dofs=300", "--fe_dofs=300: not with --fe_state"},
        {"PART --fe_materials=2", "--fe_materials=2: not with --fe_state"},
        {"PART --fe_hardening=voce", "--fe_hardening=voce: not with --fe_state"},
        {"PART --fe_order=rcm", "--fe_order=rcm: not with --fe_state"},
        {"PART --fe_mesh=box", "--fe_state=s.state: needs --fe_mesh=FILE.msh"}, /* a second one */
        {"PART --fe_elements=hex8", "bracket.msh: holds tet4, which --fe_elements does not name"},
        {"PART --fe_elements=tet4_p4", "s.state: points of an element: 1; of --fe_elements=tet4_p4: 4"},
        {"--fe_mesh=box --fe_problem=part.json --fe_state=s.state", "--fe_mesh=box: is not the mesh file"},
        {"--fe_mesh=other.msh --fe_problem=part.json --fe_state=s.state",
         "s.state: belongs to another mesh than other.msh"},
        {"--fe_mesh=bracket.msh --fe_problem=other.json --fe_state=s.state",
         "s.state: belongs to another problem than other.json"},
        {"--fe_mesh=bracket.msh --fe_problem=part.json --fe_state=cut.state", "cut.state: is damaged"},
        {"--fe_mesh=bracket.msh --fe_problem=part.json --fe_state=part.json",
         "part.json: is not a state of a run"},
        {"--fe_mesh=bracket.msh --fe_problem=voce.json --fe_state=voce.json.state",
         "voce.json: has Voce's law"},
        {"--fe_mesh=bracket.msh --fe_problem=still.json --fe_state=still.json.state",
         "still.json.state: load step 2 moved nothing"},
    };
    skip_without("kernels", "states of parts");
    free(read_success("cp meshgen/bracket/bracket_coarse.json '%s/part.json' && cp "
                      "meshgen/bracket/bracket_tet4_coarse.msh '%s/bracket.msh'",
                      test_folder, test_folder));
    free(read_success(
        THERE
        "sed 's/29.0/28.0/' part.json >other.json && "
        "sed 's/\"H\": 1500/\"H\": 1500, \"sigma_inf\": 500, \"delta\": 10/' part.json >voce.json && "
        "sed 's/^ *0.6,/0.35,/' part.json >still.json && \"$B/meshgen\" refine bracket.msh -o other.msh && "
        "for p in part voce still; do \"$B/solve\" $p.json --mesh bracket.msh --steps 2 --threads 1 --result "
        "r.json "
        "|| exit 1; mv r.json.state $p.json.state; done 2>&1 && mv part.json.state s.state && "
        "head -c 10000 s.state >cut.state",
        build_folder(), test_folder));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int code;
        const int whole = !strncmp(bad[i][0], "PART", 4);
        char *text = read_command(
            &code, THERE "\"$B/kernels\" --fe_backend=host %s %s 2>&1", build_folder(), test_folder,
            whole ? "--fe_mesh=bracket.msh --fe_problem=part.json --fe_state=s.state" : "",
            bad[i][0] + (whole ? 4 : 0));
        if (code != 2 || !strstr(text, bad[i][1]) || strchr(text, '\n') != text + strlen(text) - 1)
            fail_msg("%s: exit %d: %s", bad[i][0], code, text);
        free(text);
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

/* Runs a program that adds to rows.csv and samples.csv in test_folder, and awk on both: where it calls bad(),
 * the test fails. Columns are found by name, $c["start"]. */
static void check_samples(const char *awk, const char *program)
{
    int code;
    char path[FOLDER_LENGTH + 16];
    free(read_success("rm -f '%s/rows.csv' '%s/samples.csv'", test_folder, test_folder));
    free(read_success("%s/%s", build_folder(), program));
    snprintf(path, sizeof path, "%s/check.awk", test_folder);
    write_file(path,
               "function bad(text) { print FILENAME \" line \" FNR \": \" text \": \" $0; exit 1 }\n"
               "FNR == 1 { split(\"\", c); for (i = 1; i <= NF; i++) c[$i] = i; next }\n%s\n",
               awk);
    char *said =
        read_command(&code, "cd '%s' && awk -F, -f check.awk samples.csv rows.csv 2>&1", test_folder);
    if (code) fail_msg("%s: %s", program, said);
    free(said);
}

/* kernels on one thread with two strategies of tet4. */
static void check_kernels(const char *flags, const char *awk)
{
    char program[1000];
    snprintf(
        program, sizeof program,
        "kernels --fe_backend=host --fe_threads=1 --fe_variants=element_atomic,patch --fe_dofs=3000 "
        "--fe_elements=tet4 --fe_operations=jacvec --fe_rows='%s/rows.csv' --fe_samples='%s/samples.csv' %s",
        test_folder, test_folder, flags);
    check_samples(awk, program);
}

/* Each sample has a line, with what is known of a host; a row's median is that of its samples. */
static void test_samples_know_their_conditions(void **state)
{
    (void)state;
    skip_without("kernels", "conditions of samples");
    char awk[2000];
    const double now = (double)time(NULL);
    snprintf(
        awk, sizeof awk,
        "FILENAME == \"samples.csv\" { v = $c[\"variant\"]; n[v]++; seconds[v, n[v]] = $c[\"seconds\"]; "
        "calls[v] = "
        "$c[\"calls\"];"
        " if ($c[\"sample\"] != n[v] || $c[\"process\"] != 3 || $c[\"condition\"] != \"burst\" || "
        "$c[\"ranks\"] != 1) "
        "bad(\"key\");"
        " if (!($c[\"start\"] > last[v] && $c[\"start\"] >= %.0f && $c[\"start\"] < %.0f)) bad(\"start\");"
        " last[v] = $c[\"start\"];"
        " if ($c[\"calls\"] * $c[\"seconds\"] < 0.001) bad(\"length\");"
        " if ($c[\"load\"] == \"\" && $c[\"calls\"] * $c[\"seconds\"] > 0.01 || $c[\"load\"] > 1.01) "
        "bad(\"load\");"
        " if ($c[\"sm_mhz\"] $c[\"memory_mhz\"] $c[\"watt\"] $c[\"celsius\"] $c[\"throttle\"] != \"\") "
        "bad(\"of a GPU\"); next }"
        " { v = $c[\"variant\"]; if (n[v] != 3 || $c[\"repetitions\"] != 3 || $c[\"process\"] != 3) "
        "bad(\"row\");"
        " if ($c[\"calls\"] != calls[v]) bad(\"calls\");"
        " for (i = 1; i <= 3; i++) { less = 0; for (k = 1; k <= 3; k++) less += seconds[v, k] < seconds[v, "
        "i];"
        " if (less == 1) middle = seconds[v, i] } "
        " if ($c[\"median_s\"] / middle > 1.0001 || middle / $c[\"median_s\"] > 1.0001) bad(\"median \" "
        "middle);"
        " rows++ } END { if (rows != 2) exit 1 }",
        now - 1.0, now + 600.0);
    check_kernels("--fe_process=3 --benchmark_repetitions=3", awk);
}

/* Samples of a sustained run follow one another; those of its first fifth are left out. */
static void test_sustained_samples_follow_one_another(void **state)
{
    (void)state;
    skip_without("kernels", "sustained runs");
    check_kernels(
        "--fe_sustained=4", /* long enough for three batches on a busy machine */
        "FILENAME == \"samples.csv\" { v = $c[\"variant\"]; if ($c[\"condition\"] != \"sustained\" || "
        "$c[\"sample\"] != "
        "++n[v]) bad(\"key\");"
        " if (n[v] == 1) first[v] = $c[\"start\"]; worked[v] += $c[\"seconds\"] * $c[\"calls\"];"
        " end[v] = $c[\"start\"] + $c[\"seconds\"] * $c[\"calls\"]; next }"
        " { v = $c[\"variant\"]; span = end[v] - first[v];"
        " if ($c[\"condition\"] != \"sustained\" || $c[\"repetitions\"] != n[v] || n[v] < 3) bad(\"row\");"
        " if (span < 2.0 || span > 5.0) bad(\"lasts \" span); if (worked[v] < 0.8 * span) bad(\"pauses: "
        "worked \" worked[v] "
        "\" of \" span); rows++ } END { if (rows != 2) exit 1 }");
}

/* A cold sample is one call. */
static void test_cold_samples_are_single_calls(void **state)
{
    (void)state;
    skip_without("kernels", "cold calls");
    check_kernels(
        "--fe_cold --benchmark_repetitions=5 --benchmark_filter='jacvec/.*/manual_time'",
        "FILENAME == \"samples.csv\" { v = $c[\"variant\"]; if ($c[\"condition\"] != \"cold\" || "
        "$c[\"calls\"] != 1 || $c[\"sample\"] != ++n[v]) bad(\"key\"); next }"
        " { v = $c[\"variant\"]; if ($c[\"condition\"] != \"cold\" || $c[\"calls\"] != 1 || n[v] != 5 || "
        "$c[\"repetitions\"] != 5) bad(\"row\"); rows++ } END { if (rows != 2) exit 1 }");
}

/* Of 100 calls one more is done than counted. */
static void test_slower_samples_do_more_calls(void **state)
{
    (void)state;
    skip_without("kernels", "slower operations");
    check_kernels(
        "--fe_slower=1 --benchmark_repetitions=3",
        "FILENAME == \"samples.csv\" { if ($c[\"condition\"] != \"slower1\" || $c[\"calls\"] % 100) "
        "bad(\"key\"); next }"
        " { if ($c[\"condition\"] != \"slower1\" || $c[\"calls\"] % 100 || $c[\"repetitions\"] != 3) "
        "bad(\"row\"); rows++ } END { if (rows != 2) exit 1 }");
}

/* On a GPU whose driver is there, each sample knows its clocks, power, temperature and throttling. */
static void test_samples_of_a_gpu_know_its_clocks(void **state)
{
    (void)state;
    static const char *const conditions[] = {"", "--fe_sustained=1", "--fe_cold"};
    skip_without("kernels", "conditions of a GPU");
    skip_if(fe_cuda_devices() ? NULL : "there is no GPU", "conditions of a GPU");
    skip_if(dlopen("libnvidia-ml.so.1", RTLD_NOW) ? NULL : "there is no NVML", "conditions of a GPU");
    for (int i = 0; i < 3; i++) {
        char program[1000];
        snprintf(program, sizeof program,
                 "kernels --fe_backend=cuda --fe_variants=element_atomic,patch --fe_dofs=300000 "
                 "--fe_elements=hex8 "
                 "--fe_operations=jacvec --fe_rows='%s/rows.csv' --fe_samples='%s/samples.csv' %s",
                 test_folder, test_folder, conditions[i]);
        check_samples(
            "function within(name, least, most) { if (!($c[name] >= least && $c[name] <= most)) bad(name) }\n"
            "FILENAME != \"samples.csv\" { if ($c[\"status\"] != \"ok\") bad(\"row\"); next }\n"
            "{ within(\"sm_mhz\", 100, 5000); within(\"memory_mhz\", 100, 20000); within(\"watt\", 5, 3000); "
            "within(\"celsius\", 5, 120); if ($c[\"throttle\"] == \"\") bad(\"throttle\"); n++ }\n"
            "END { if (n < 6) exit 1 }",
            program);
    }
}

/* Awk: three samples of each row with times, whose median is that of the row. What came between solves, the
 * set-ups, has no conditions. */
static const char samples_of_rows[] =
    "{ at = $c[\"variant\"] SUBSEP $c[\"operation\"]; if ($c[\"process\"] != 2 || $c[\"condition\"] != "
    "\"burst\") "
    "bad(\"key\") }\n"
    "FILENAME == \"samples.csv\" { if ($c[\"sample\"] != ++n[at]) bad(\"number\"); seconds[at, n[at]] = "
    "$c[\"seconds\"];\n"
    " if (($c[\"start\"] > 1e9) != ($c[\"operation\"] !~ /setup$/)) bad(\"start\");\n"
    " start[at, n[at]] = $c[\"start\"]; next }\n"
    "$c[\"operation\"] == \"first_setup\" { if (n[at] != 1) bad(\"first set-up\"); next }\n"
    "$c[\"status\"] != \"ok\" || $c[\"repetitions\"] != 3 || n[at] != 3 { bad(\"row of \" n[at]) }\n"
    "{ middle = \"\"; for (i = 1; i <= 3; i++) { less = same = 0; for (k = 1; k <= 3; k++) { less += "
    "seconds[at, k] < "
    "seconds[at, i]; same += seconds[at, k] == seconds[at, i] } if (less <= 1 && less + same > 1) middle = "
    "seconds[at, i] }\n"
    " if ($c[\"median_s\"] > 1.0001 * middle || middle > 1.0001 * $c[\"median_s\"]) bad(\"median \" middle); "
    "rows++ }\n"
    "END { if (rows < 20) { print rows + 0, \"rows\"; exit 1 } }\n";

static void test_whole_solves_write_their_samples(void **state)
{
    (void)state;
    char program[1000];
    skip_without("solves", "samples of whole solves");
    snprintf(program, sizeof program,
             "solves bench/problems/stretched.json --cells 3 --variants element_atomic,patch --threads 1 "
             "--repetitions 3 "
             "--process 2 --rows '%s/rows.csv' --samples '%s/samples.csv'",
             test_folder, test_folder);
    check_samples(samples_of_rows, program);
}

/* Sample 2 of a strategy comes after sample 1 of all others, and so on. */
static void test_strategies_on_ranks_take_turns(void **state)
{
    (void)state;
    char program[1000], awk[4000];
    skip_without("scaling", "samples of ranks");
    snprintf(program, sizeof program,
             "scaling --ranks 2 --threads 1 --dofs 1000 --variants element_atomic,node_csr --restart 3 "
             "--repetitions 3 "
             "--process 2 --rows '%s/rows.csv' --samples '%s/samples.csv'",
             test_folder, test_folder);
    snprintf(awk, sizeof awk,
             "%s$c[\"variant\"] != \"none\" { o = $c[\"operation\"]; for (i = 1; i < 3; i++) if "
             "(!(start[\"element_atomic\", o, i] < start[\"node_csr\", o, i + 1] && "
             "start[\"node_csr\", o, i] < start[\"element_atomic\", o, i + 1])) bad(\"turn \" i) }\n",
             samples_of_rows);
    check_samples(awk, program);
}

/* The first process takes strategies in their order; over twelve processes each of three is the first once.
 */
static void test_processes_have_orders_of_their_own(void **state)
{
    (void)state;
    skip_without("scaling", "orders of strategies");
    char *order = read_success("for p in 1 2 3 4 5 6 7 8 9 10 11 12; do rm -f '%s/order.csv'; %s/scaling "
                               "--process $p --give-up killed "
                               "--variants element_atomic,patch,node_csr --rows '%s/order.csv' && awk -F, "
                               "'FNR == 1 { for (i = 1; i <= NF; "
                               "i++) c[$i] = i; next } { if ($c[\"process\"] != '$p') exit 1; v = "
                               "$c[\"variant\"]; printf \"%%s \", v; "
                               "if (!seen[v]++) n++ } END { print n }' '%s/order.csv' || exit 1; done",
                               test_folder, build_folder(), test_folder, test_folder);
    assert_int_equal(strncmp(order, "element_atomic patch node_csr 3\n", 32), 0);
    assert_holds(order, "3\nelement_atomic ");
    assert_holds(order, "3\npatch ");
    assert_holds(order, "3\nnode_csr ");
    char *line = order, *next;
    for (int i = 0; i < 12; i++, line = next + 1) {
        next = strchr(line, '\n');
        assert_non_null(next);
        assert_int_equal(next[-1], '3');
    }
    free(order);
}

/* In the order auto patch has a case of its own: behind that of others, and in every second process before
 * it. */
static void test_neither_case_of_ranks_is_always_the_first(void **state)
{
    (void)state;
    skip_without("scaling", "orders of cases");
    char *first =
        read_success("for p in 1 2 3 4; do rm -f '%s/case.csv'; %s/scaling --threads 1 --dofs 1000 "
                     "--elements hex8 --process $p --repetitions 2 --restart 3 "
                     "--variants element_atomic,patch --samples '%s/case.csv' >/dev/null && awk -F, "
                     "'FNR == 1 { for (i = 1; i <= NF; i++) c[$i] = i } $c[\"operation\"] == "
                     "\"jacvec\" { print $c[\"start\"], $c[\"variant\"] }' '%s/case.csv' | sort -n | "
                     "head -n 1 | cut -d ' ' -f 2 || exit 1; done",
                     test_folder, build_folder(), test_folder, test_folder);
    assert_string_equal(first, "element_atomic\npatch\nelement_atomic\npatch\n");
    free(first);
}

/* Another program on the only core that a run may use: its rows say so, and so do the tables, with what
 * helps. */
static void test_rows_of_a_loaded_machine_say_so(void **state)
{
    (void)state;
    cpu_set_t cores;
    skip_without("kernels", "load by others");
    CPU_ZERO(&cores);
    assert_int_equal(sched_getaffinity(0, sizeof cores, &cores), 0);
    int core = 0;
    while (!CPU_ISSET(core, &cores)) core++;
    for (int is_passive = 0; is_passive < 2; is_passive++) {
        char *said = read_success(
            "rm -f '%s/loaded.csv'; taskset -c %d timeout 60 sh -c 'while :; do :; done' & hog=$!; "
            "OMP_WAIT_POLICY=%s taskset -c %d %s/kernels --fe_backend=host --fe_threads=1 "
            "--fe_variants=node_csr --fe_dofs=300 --fe_elements=tet4 --fe_operations=jacvec "
            "--benchmark_min_time=0.1 --fe_rows='%s/loaded.csv'; code=$?; kill $hog; exit $code",
            test_folder, core, is_passive ? "passive" : "active", core, build_folder(), test_folder);
        char *noise = read_success("awk -F, 'FNR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next } "
                                   "{ print \" \" $c[\"noise\"] \" \", $c[\"status\"] }' '%s/loaded.csv'",
                                   test_folder);
        assert_holds(noise, " loaded  ok");
        assert_holds(said, "loaded\n");
        assert_holds(said, "~  1.00");
        assert_holds(said, "\n~: noisy, 1 of 1 rows: ");
        assert_holds(said, is_passive
                               ? "\nOther processes use the cores: wait until the machine is idle\n"
                               : "\nOther processes use the cores: set OMP_WAIT_POLICY=passive, or wait "
                                 "until the machine is idle\n");
        free(said), free(noise);
    }
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
        {"kernels", "--fe_contact=0,0.01 --fe_precision=double,single",
         "kernels: --fe_contact=0.01: not in single precision, which has no contact\n"},
        {"kernels", "--fe_contact=2", "kernels: --fe_contact=2: is not a number from 0 to 1\n"},
        {"kernels", "--fe_contact=0,.1,.2,.3,.4,.5,.6,.7,.8",
         "kernels: --fe_contact=0,.1,.2,.3,.4,.5,.6,.7,.8: is more than 8 shares\n"},
        {"kernels", "--fe_refine=x", "kernels: --fe_refine=x: is not a number from 0 to 10"},
        {"kernels", "--fe_operand=rough",
         "kernels: --fe_operand: there is no rough; kernels --help lists them\n"},
        {"kernels", "--fe_energy=long", "kernels: --fe_energy=long: is not a number from 0 to 60\n"},
        {"kernels", "--fe_energy=-1", "kernels: --fe_energy=-1: is not a number from 0 to 60\n"},
        {"kernels", "--fe_energy=61", "kernels: --fe_energy=61: is not a number from 0 to 60\n"},
        {"kernels", "--fe_energy=nan", "kernels: --fe_energy=nan: is not a number from 0 to 60\n"},
        {"kernels", "--fe_sustained=long", "kernels: --fe_sustained=long: is not a number from 0 to 3600\n"},
        {"kernels", "--fe_sustained=-1", "kernels: --fe_sustained=-1: is not a number from 0 to 3600\n"},
        {"kernels", "--fe_slower=3", "kernels: --fe_slower=3: is not 0, 1, 2 or 5\n"},
        {"kernels", "--fe_slower=9", "kernels: --fe_slower=9: is not a number from 0 to 5\n"},
        {"kernels", "--fe_slower=1 --fe_cold",
         "kernels: --fe_slower: not with --fe_cold, --fe_sustained or --fe_energy"},
        {"kernels", "--fe_process=0", "kernels: --fe_process=0: is not a number from 1 to 1e+06\n"},
        {"kernels", "--fe_process=1.5", "kernels: --fe_process=1.5: is not a whole number\n"},
        {"kernels", "--fe_cold --fe_sustained=10", "kernels: --fe_cold: not with --fe_sustained"},
        {"scaling", "--mesh nothing.msh", "scaling: nothing.msh: No such file or directory\n"},
        {"scaling", "--process 0", "scaling: --process 0: is not a whole number from 1 to 1000000\n"},
        {"scaling", "--samples /none/x", "scaling: /none/x: cannot be written: No such file"},
        {"scaling", "--mesh irregular --weak", "scaling: --weak: is for boxes\n"},
        {"scaling", "--mesh meshgen/bracket/bracket_tet4_coarse.msh",
         "scaling: --elements hex8: meshgen/bracket/bracket_tet4_coarse.msh holds tet4\n"},
        {"scaling", "--refine 1", "scaling: --refine 1: is for a FILE.msh\n"},
        {"scaling", "--mesh 1x1x1 --elements hex8 --ranks 3",
         "scaling: box: 3 ranks along an axis of 2 nodes, of which each needs one\n"},
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
    assert_holds(rows, "bisection,double,linear,burst,1,");
    free(rows);
}

/* kernels times what a mesh file holds, where no elements are named. */
static void test_a_mesh_file_names_its_elements(void **state)
{
    (void)state;
    skip_without("kernels", "elements of a mesh file");
    skip_if(FE_HAVE_QUADRATIC ? NULL : "quadratic elements are not in this build", "elements of a mesh file");
    char *rows =
        read_success(THERE "\"$B/meshgen\" box -c 2 -e tet4 -o linear.msh && \"$B/meshgen\" quadratic "
                           "linear.msh -o tet10.msh && \"$B/kernels\" --fe_backend=host --fe_threads=1 "
                           "--fe_variants=patch --fe_mesh=tet10.msh --fe_rows=named.csv "
                           "--benchmark_repetitions=1 --benchmark_min_time=0.0001 >/dev/null 2>&1 && "
                           "cat named.csv",
                     build_folder(), test_folder);
    assert_holds(rows, ",patch,tet10,");
    free(rows);
}

/* Rows of strategies on boxes of quadratic elements, whose pieces three ranks make: all passed the check, and
 * say the size of the whole box. Of Hex27 a few strategies; test_box_pieces has the answers of all. */
static void test_ranks_make_quadratic_boxes(void **state)
{
    (void)state;
    static const char *const operations[] = {"jacvec_elastic", "jacvec_elastic_local", "jacvec",
                                             "jacvec_local", "gmres_mgs"};
    static const struct {
        const char *element, *n_elem, *variants;
    } boxes[] = {{"tet10", "72", NULL}, {"hex27", "12", "element_atomic,node_csr,patch"}};
    skip_without("scaling", "ranks on quadratic elements");
    skip_if(FE_HAVE_QUADRATIC ? NULL : "quadratic elements are not in this build", "ranks");
    for (size_t k = 0; k < sizeof boxes / sizeof *boxes; k++) {
        const char *few = boxes[k].variants;
        char *rows = read_success(
            "%s/scaling --ranks 3 --threads 1 --mesh 2x2x3 --elements %s --restart 2 --gmres mgs "
            "--repetitions 1 --rows '%s/%s.csv' %s %s >/dev/null && "
            "awk -F, 'FNR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next } { print $c[\"variant\"], "
            "$c[\"operation\"], $c[\"element\"], $c[\"case\"], $c[\"n_elem\"], $c[\"n_dof\"], "
            "$c[\"status\"] }' '%s/%s.csv'",
            build_folder(), boxes[k].element, test_folder, boxes[k].element, few ? "--variants" : "",
            few ? few : "", test_folder, boxes[k].element);
        for (int i = 0; i < fe_variant_count(); i++) {
            const fe_variant *v = fe_variant_at(i);
            for (size_t o = 0; o < sizeof operations / sizeof *operations; o++) {
                char row[200];
                if (!v->host || (few && !strstr(few, v->name))) continue;
                snprintf(row, sizeof row, "\n%s %s %s strong-1x1x3-threads-box2x2x3 %s 525 ok\n", v->name,
                         operations[o], boxes[k].element, boxes[k].n_elem);
                assert_holds(rows, row);
            }
        }
        free(rows);
    }
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
        cmocka_unit_test(test_cases_pass_the_check),
        cmocka_unit_test(test_states_of_a_part_are_those_of_its_solve),
        cmocka_unit_test(test_states_of_a_real_part_pass_the_check),
        cmocka_unit_test(test_states_that_do_not_belong_are_refused),
        cmocka_unit_test(test_energy_is_measured_or_named),
        cmocka_unit_test(test_samples_know_their_conditions),
        cmocka_unit_test(test_sustained_samples_follow_one_another),
        cmocka_unit_test(test_cold_samples_are_single_calls),
        cmocka_unit_test(test_slower_samples_do_more_calls),
        cmocka_unit_test(test_samples_of_a_gpu_know_its_clocks),
        cmocka_unit_test(test_whole_solves_write_their_samples),
        cmocka_unit_test(test_strategies_on_ranks_take_turns),
        cmocka_unit_test(test_processes_have_orders_of_their_own),
        cmocka_unit_test(test_neither_case_of_ranks_is_always_the_first),
        cmocka_unit_test(test_rows_of_a_loaded_machine_say_so),
        cmocka_unit_test(test_bad_meshes_are_refused),
        cmocka_unit_test(test_ranks_share_a_mesh),
        cmocka_unit_test(test_ranks_make_quadratic_boxes),
        cmocka_unit_test(test_a_mesh_file_names_its_elements),
        cmocka_unit_test(test_full_disk_is_reported),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
