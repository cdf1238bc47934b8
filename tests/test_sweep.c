/* A sweep over the benchmark programs that is interrupted and goes on, and what its rows hold. */
#include <glob.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/backend/device.h"
#include "common/report/machine.h"
#include "common/variant.h"
#include "tests/common.h"

/* Columns of a CSV file by name: names with commas, a folder and a file. */
#define COLUMNS                                                                                              \
    "awk -F, -v names='%s' 'FNR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; n = split(names, name, \",\") "  \
    "} "                                                                                                     \
    "{ for (i = 1; i <= n; i++) printf \"%%s%%s\", $c[name[i]], i < n ? \",\" : \"\\n\" }' '%s/%s'"

/* Starts bench/bench.sh over three small boxes, an irregular mesh and the coarse bracket, over whole solves
 * of `problems`, and with `ranks` over two more boxes on each number of ranks of that list ("0": none;
 * "late": none, and the budget of time is spent; "energy": none, and the pass with energies after that of the
 * host), its output in `log`. */
static pid_t start_sweep(const char *log, const char *problems, const char *ranks)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child) return child;
    setpgid(0, 0);
    signal(SIGINT, SIG_DFL); /* a shell cannot trap what was ignored when it started */
    if (!freopen(log, "w", stdout) || dup2(fileno(stdout), 2) < 0) _exit(99);
    setenv("BUILD", build_folder(), 1);
    setenv("RESULTS", test_folder, 1);
    setenv("BACKENDS", "host", 1);
    setenv("ELEMENTS", "tet4", 1);
    setenv("SIZES_host", "300 1000 2000", 1);
    setenv("MESHES_host", "irregular@600 bracket0", 1);
    setenv("VARIANTS", fe_variant_at(0)->name, 1);
    setenv("THREADS", "1", 1);
    setenv("SOLVES_host", problems, 1);
    setenv("RANKS_host", ranks, 1);
    setenv("STRONG_host", "300 irregular@600", 1);
    setenv("WEAK_host", "300", 1);
    setenv("PASSES", "first solves host precision hardening", 1);
    setenv("REPETITIONS", "5", 1);
    if (!strcmp(ranks, "energy")) setenv("RANKS_host", "0", 1), setenv("PASSES", "host rest", 1);
    if (!strcmp(ranks, "late"))
        setenv("RANKS_host", "0", 1), setenv("BENCH_START", "1000000000", 1); /* long ago */
    else
        unsetenv("BENCH_START");
    unsetenv("BUDGET");
    execlp("sh", "sh", "bench/bench.sh", (char *)NULL);
    _exit(99);
}

/* Of kernels.csv: a header, all operations of three boxes and two meshes, and all but material of a box and a
 * mesh in two precisions, full tangents of both, two operations by Voce's law. */
enum { N_ROW = 1 + 5 * 5 + 2 * 2 * 4 + 2 + 2 };

static int end_sweep(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* How many files match; the first one's path. */
static int find(const char *pattern, size_t size, char *path)
{
    char whole[2 * FOLDER_LENGTH];
    glob_t found;
    snprintf(whole, sizeof whole, "%s/*/*/%s", test_folder, pattern);
    const int n = glob(whole, 0, NULL, &found) ? 0 : (int)found.gl_pathc;
    if (n && path) snprintf(path, size, "%s", found.gl_pathv[0]);
    globfree(&found);
    return n;
}

/* Rows of the first point that is complete: an interruption may come when another has its rows, and is not.
 */
static void find_rows_of_done(const char *pattern, size_t size, char *path)
{
    assert_in_range(find(pattern, size, path), 1, 3);
    char *end = strstr(path, ".done");
    assert_non_null(end);
    assert_true(end + strlen(".rows.csv") < path + size);
    strcpy(end, ".rows.csv");
}

static int count(const char *text, const char *part)
{
    int n = 0;
    for (; (text = strstr(text, part)); text++) n++;
    return n;
}

/* Interrupts a sweep when files match, which under a sanitizer takes minutes. */
static void interrupt_sweep(pid_t child, const char *log, const char *pattern)
{
    for (int i = 0; i < 6000 && !find(pattern, 0, NULL); i++) {
        usleep(50000);
        if (waitpid(child, NULL, WNOHANG))
            fail_msg("the sweep ended before %s was there:\n%s", pattern, read_file(log, NULL));
    }
    kill(child, SIGINT);
    assert_int_equal(end_sweep(child), 130);
}

static void test_interrupted_sweep_goes_on(void **state)
{
    (void)state;
    char log[FOLDER_LENGTH + 16], path[2 * FOLDER_LENGTH];
    snprintf(log, sizeof log, "%s/sweep.log", test_folder);
    skip_without("kernels", "sweep");
    interrupt_sweep(start_sweep(log, "0", "0"), log, "scratch/*.done");
    char *text = read_file(log, NULL);
    assert_holds(text, " of 7:00  first   host tet4, 300 DoF, ");
    assert_holds(text, "interrupted; finished points are kept");
    free(text);
    find_rows_of_done("scratch/*.done", sizeof path, path);
    assert_int_equal(find("scratch/*.part", 0, NULL), 0);
    char *first = read_file(path, NULL);

    assert_int_equal(end_sweep(start_sweep(log, "0", "0")), 0);
    text = read_file(log, NULL);
    assert_null(strstr(text, "host tet4, 300 DoF, auto, plastic 1 clustered (about "));
    assert_holds(text, " of 7:00  host    host tet4, 2000 DoF, ");
    assert_holds(text, " of 7:00  precision host tet4, 300 DoF, auto, plastic 1 clustered, single (about ");
    assert_holds(text, " of 7:00  hardening host tet4, 300 DoF, auto, plastic 1 clustered, voce (about ");
    free(text);
    char *again = read_file(path, NULL);
    assert_string_equal(first, again); /* not measured a second time */
    free(first), free(again);
    assert_int_equal(find("kernels.csv", sizeof path, path), 1); /* one folder */
    text = read_file(path, NULL);
    assert_int_equal(count(text, "\n"), N_ROW);
    assert_null(strstr(text, "failed"));
    free(text);
    assert_int_equal(find("table.md", sizeof path, path), 1);
    text = read_file(path, NULL);
    assert_holds(text, "## tet4 on host, bracket_tet4_coarse, 5106 DoF, and the box of ");
    assert_holds(text, "## tet4 on host, irregular, ");
    assert_holds(text, ": jacvec in each precision, ");
    assert_holds(text, ": laws of hardening, ");
    free(text);
    const int drawn = system("command -v gnuplot >/dev/null") == 0;
    assert_int_equal(find("figures/throughput-host-*.svg", 0, NULL), drawn);

    assert_int_equal(end_sweep(start_sweep(log, "0", "0")), 0);
    text = read_file(log, NULL);
    assert_holds(text, "all points were there");
    free(text);
}

/* The first pass is always complete. Points for which the budget has no time are named, and measured
 * later. */
static void test_spent_budget_leaves_points_out(void **state)
{
    (void)state;
    char log[FOLDER_LENGTH + 16], path[2 * FOLDER_LENGTH];
    snprintf(log, sizeof log, "%s/sweep.log", test_folder);
    skip_without("kernels", "sweep");
    free(read_success("rm -rf '%s'/*", test_folder));
    skip_without("solves", "sweep");
    assert_int_equal(end_sweep(start_sweep(log, "stretched3", "late")), 0);
    char *text = read_file(log, NULL);
    assert_holds(text, "bench: 13 points were left out for time");
    free(text);
    assert_int_equal(find("solves.csv", 0, NULL), 0);
    assert_int_equal(find("table.md", sizeof path, path), 1);
    text = read_file(path, NULL);
    for (char *c = text; *c; c++)
        if (*c == '\n') *c = ' '; /* the list is wrapped */
    assert_holds(
        text,
        "Left out for time: host tet4, stretched3, multigrid, 1 rank; "
        "host tet4, stretched3, block-jacobi, 1 rank; "
        "host tet4, 1000 DoF, auto, plastic 1 clustered; host tet4, 2000 DoF, auto, "
        "plastic 1 clustered; host tet4, irregular@600, auto, plastic 1 clustered; host tet4, bracket0");
    free(text);
    assert_int_equal(end_sweep(start_sweep(log, "0", "0")), 0);
    text = read_file(path, NULL);
    assert_null(strstr(text, "Left out"));
    free(text);
    assert_int_equal(find("left-out.txt", 0, NULL), 0);
    assert_int_equal(find("kernels.csv", sizeof path, path), 1);
    text = read_file(path, NULL);
    assert_int_equal(count(text, "\n"), N_ROW);
    free(text);
}

/* Products are measured with their energy, or a line says why that is not known here. */
static void test_sweep_measures_energy(void **state)
{
    (void)state;
    char log[FOLDER_LENGTH + 16], path[2 * FOLDER_LENGTH];
    snprintf(log, sizeof log, "%s/sweep.log", test_folder);
    skip_without("kernels", "sweep");
    free(read_success("rm -rf '%s'/*", test_folder));
    interrupt_sweep(start_sweep(log, "0", "energy"), log, "scratch/*-energy.done");
    char *text = read_file(log, NULL);
    assert_holds(text, " of 7:00  rest    host tet4, 30000 DoF, auto, plastic 1 clustered, energy (about ");
    free(text);
    assert_int_equal(find("scratch/kernels-host-tet4-30000-*-energy.rows.csv", sizeof path, path), 1);
    text = read_file(path, NULL);
    assert_int_equal(count(text, ",jacvec,") + count(text, ",jacvec_elastic,") + 1, count(text, "\n"));
    free(text);
}

/* The same with points on ranks: 1 and 2, one box and one irregular mesh for all, and a box for each. */
static void test_interrupted_sweep_of_ranks_goes_on(void **state)
{
    (void)state;
    char log[FOLDER_LENGTH + 16], path[2 * FOLDER_LENGTH];
    snprintf(log, sizeof log, "%s/sweep.log", test_folder);
    skip_without("kernels", "sweep");
    skip_without("scaling", "sweep");
    free(read_success("rm -rf '%s'/*", test_folder));
    interrupt_sweep(start_sweep(log, "0", "1 2"), log, "scratch/scaling-*.done");
    find_rows_of_done("scratch/scaling-*.done", sizeof path, path);
    assert_int_equal(find("scratch/*.part", 0, NULL), 0);
    char *first = read_file(path, NULL);

    assert_int_equal(end_sweep(start_sweep(log, "0", "1 2")), 0);
    char *text = read_file(log, NULL);
    assert_null(strstr(text, "host tet4, 2000 DoF, "));
    assert_holds(text, " of 7:00  host    host tet4, 300 DoF a rank, weak, 2 ranks (about ");
    free(text);
    char *again = read_file(path, NULL);
    assert_string_equal(first, again); /* not measured a second time */
    free(first), free(again);
    assert_int_equal(find("scaling.csv", sizeof path, path), 1); /* one folder */
    text = read_file(path, NULL);
    assert_int_equal(count(text, "schema"), 1);
    assert_int_equal(count(text, ",exchange,"), 6);
    assert_int_equal(count(text, ",gmres_cgs2,"), 6);
    assert_int_equal(count(text, ",ok\n") + 1, count(text, "\n"));
    assert_holds(text, ",weak-1x1x2-threads-box");
    assert_holds(text, ",strong-1x1x2-threads-irregular,");
    free(text);
    assert_int_equal(find("table.md", sizeof path, path), 1);
    text = read_file(path, NULL);
    assert_holds(text, " speed-up on 2 |");
    assert_holds(text, " efficiency on 2 |");
    assert_holds(text, "strong: irregular, ");
    free(text);
    const int drawn = system("command -v gnuplot >/dev/null") == 0;
    assert_int_equal(find("figures/scaling-host-*.svg", 0, NULL), drawn);
}

/* Of the fixed load on a box of 4 nodes an axis: two ranks have 32 nodes each. One sends the 16 of its face,
 * the other one 15, because one corner of the box belongs to a single Tet4. 20 Newton iterations of 30
 * products each, and the step from which they begin. Before each product, residual and material update is an
 * exchange. A Newton iteration reads at least one number. */
static void check_counts(const char *path)
{
    char *text = read_success(
        "awk -F, 'FNR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next } "
        "$c[\"case\"] !~ /stretched-fixed/ || $c[\"operation\"] !~ /^(jacvec|material)$/ { next } "
        "{ n = $c[\"exchanges\"]; k = $c[\"evaluations\"]; "
        "print $c[\"ranks\"], $c[\"operation\"], $c[\"interface\"], (n > 620), "
        "$c[\"bytes_halo\"] - 24 * 16 * n, "
        "($c[\"sums\"] > 600), k, ($c[\"bytes_back\"] >= 8 * 20 && $c[\"bytes_back\"] < 1e5), "
        "($c[\"bytes_setup\"] > 24 * 32 && $c[\"bytes_setup\"] < 1e6) }' '%s'",
        path);
    assert_string_equal(text, "1 material 0.000000 0 0 0 21 1 1\n1 jacvec 0.000000 0 0 0 621 1 1\n"
                              "2 material 0.484375 1 0 1 21 1 1\n2 jacvec 0.484375 1 0 1 621 1 1\n");
    free(text);
}

/* Whole solves: the fixed load on 1 and 2 ranks, its load steps, a linear one with two preconditioners. They
 * have rows of the solve, of its preconditioner's set-up and of its phases, tables and a figure of them. */
static void test_sweep_times_whole_solves(void **state)
{
    (void)state;
    /* two points have multigrid, with its set-up and two phases more: transfers and a coarser level; and one
     * two ranks, with exchanges and sums */
    enum { N_POINT = 5, N_OPERATION = FE_PHASE_PRECONDITION_COARSE + FE_N_PHASE - FE_PHASE_EXCHANGE + 2 };
    char log[FOLDER_LENGTH + 16], path[2 * FOLDER_LENGTH];
    snprintf(log, sizeof log, "%s/sweep.log", test_folder);
    skip_without("kernels", "sweep");
    skip_without("solves", "sweep");
    free(read_success("rm -rf '%s'/*", test_folder));
    assert_int_equal(end_sweep(start_sweep(log, "stretched3 bending3", "1 2")), 0);
    char *text = read_file(log, NULL);
    assert_holds(text, " of 7:00  solves  host tet4, stretched3, block-jacobi, 1 rank (about ");
    assert_holds(text, " solves.csv");
    free(text);
    assert_int_equal(find("solves.csv", sizeof path, path), 1);
    text = read_file(path, NULL);
    assert_int_equal(count(text, "schema"), 1);
    /* beside PETSc's rows, where that is there */
    assert_int_equal(count(text, ",element_atomic,"), N_POINT * N_OPERATION + 2 * 3 + 2);
    assert_int_equal(count(text, ",exchange,5,") + count(text, ",reduction,5,"), 2);
    assert_int_equal(count(text, ",precondition_level1,"), 2);
    assert_int_equal(count(text, ",ok\n") + 1, count(text, "\n"));
    assert_int_equal(count(text, "gmres,block-jacobi,tangent,0,20,600,"),
                     2 * N_OPERATION + 2); /* the work is fixed */
    assert_true(count(text, "cg,multigrid,tangent,0,1,") >= N_OPERATION);
    assert_int_equal(count(text, ",box3-stretched-fixed,"), 2 * N_OPERATION + 2);
    assert_true(count(text, ",solve,5,1,") >= N_POINT);
    assert_holds(text, ",precondition_setup,5,1,");
    assert_true(count(text, ",setup,5,1,") >= N_POINT); /* on small meshes as often as a solve */
    free(text);
    /* phases are parts of the solve */
    text = read_success(
        "awk -F, 'FNR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next } "
        "$c[\"variant\"] != \"element_atomic\" { next } "
        "{ k = $c[\"case\"] $c[\"precondition\"] $c[\"ranks\"]; o = $c[\"operation\"]; t = $c[\"min_s\"] } "
        "o == \"solve\" { whole[k] = $c[\"ci95_high_s\"]; next } o !~ "
        "/^solve_user$|setup$/ { sum[k] += t } "
        "END { for (k in whole) if (sum[k] < whole[k] && sum[k] > 0) n++; print n }' '%s'",
        path);
    assert_string_equal(text, "5\n");
    free(text);
    check_counts(path);
    assert_int_equal(find("table.md", sizeof path, path), 1);
    text = read_success("sed 's/  */ /g' '%s'", path); /* columns stand below each other */
    assert_holds(text, "## box3-stretched-fixed, tet4 on host\n\n192 DoF, ");
    assert_holds(text, "` | block-jacobi | 1 | 20 | 600 | ");
    assert_holds(text, "` | block-jacobi | 2 | 20 | 600 | ");
    assert_holds(text, "` | multigrid | 1 | 1 | ");
    free(text);
    text = read_success("sed 's/  */ /g' '%s' | grep -c '| [0-9]* %% |$'", path); /* own shares of solves */
    assert_int_equal(atoi(text), N_POINT);
    free(text);
    const int drawn = system("command -v gnuplot >/dev/null") == 0;
    assert_int_equal(find("figures/breakdown-host-*.svg", 0, NULL), drawn);
}

/* A problem whose load cannot be carried has no reference answer: its rows say so, behind those that the file
 * holds, and the exit code. */
static void test_failing_reference_fails_the_rows(void **state)
{
    (void)state;
    int code;
    char path[FOLDER_LENGTH + 16];
    skip_without("solves", "failing reference");
    snprintf(path, sizeof path, "%s/limit.json", test_folder);
    write_file(path,
               "{\"name\": \"limit\", \"meshes\": [\"box.msh\"], "
               "\"material\": {\"E\": 1000, \"nu\": 0.3, \"sigma_y\": 1, \"H\": 0}, "
               "\"dirichlet\": [{\"group\": \"x0\", \"u\": {\"x\": 0, \"y\": 0, \"z\": 0}}], "
               "\"neumann\": [{\"group\": \"x1\", \"traction\": [9, 5, 0]}], \"paths\": {\"load\": [1]}}");
    free(read_success("%s/solves bench/problems/bending.json --cells 2 --load linear --variants %s "
                      "--repetitions 1 --rows '%s/limit.csv' && cp '%s/limit.csv' '%s/kept.csv'",
                      build_folder(), fe_variant_at(0)->name, test_folder, test_folder, test_folder));
    char *text =
        read_command(&code, "%s/solves '%s' --cells 2 --variants %s,%s --rows '%s/limit.csv' 2>&1",
                     build_folder(), path, fe_variant_at(0)->name, fe_variant_at(1)->name, test_folder);
    assert_int_equal(code, 1);
    assert_holds(text, "solves: reference answer: load step 1: limit load");
    free(text);
    text = read_command(&code, "%s/solves '%s/none.json' --cells 2 --rows '%s/limit.csv' 2>&1",
                        build_folder(), test_folder, test_folder);
    assert_int_equal(code, 2);
    free(text);
    text =
        read_success("cd '%s' && head -c $(wc -c <kept.csv) limit.csv | cmp - kept.csv && "
                     "awk -F, 'NR == FNR { n = NR; next } FNR == 1 { for (i = 1; i <= NF; i++) c[$i] = i } "
                     "FNR > n { print $c[\"variant\"] \",\" $c[\"operation\"] \",\" $c[\"median_s\"] \",\" "
                     "$c[\"status\"] }' kept.csv limit.csv",
                     test_folder);
    char expected[200];
    snprintf(expected, sizeof expected, "%s,solve,,failed\n%s,solve,,failed\n", fe_variant_at(0)->name,
             fe_variant_at(1)->name);
    assert_string_equal(text, expected);
    free(text);
    text = read_success(
        "%s/solves '%s' --cells 2 --variants %s --give-up killed --rows '%s/limit.csv' >/dev/null && " COLUMNS
        " | tail -n 1",
        build_folder(), path, fe_variant_at(0)->name, test_folder,
        "precondition,variant,case,operation,median_s,status", test_folder, "limit.csv");
    snprintf(expected, sizeof expected, "multigrid,%s,box2-limit-steps,solve,,killed\n",
             fe_variant_at(0)->name);
    assert_string_equal(text, expected);
    free(text);
}

/* An answer that differs from the reference by more than it may has no time. (Two strategies differ by
 * rounding, and here nothing may.) */
static void test_wrong_answer_has_no_time(void **state)
{
    (void)state;
    char path[FOLDER_LENGTH + 16];
    skip_without("solves", "wrong answer");
    snprintf(path, sizeof path, "%s/wrong.csv", test_folder);
    free(read_success(
        "%s/solves bench/problems/stretched.json --cells 3 --load steps --variants %s --error 1e-300 "
        "--repetitions 2 --rows '%s' 2>&1",
        build_folder(), fe_variant_at(0)->name, path));
    char *text = read_success("awk -F, 'FNR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next } "
                              "{ print $c[\"operation\"], ($c[\"median_s\"] == \"\"), "
                              "($c[\"error\"] > 0 && $c[\"error\"] < 1e-8), $c[\"status\"] }' '%s'",
                              path);
    assert_string_equal(text, "solve 1 1 check_failed\n");
    free(text);
}

/* PETSc solves our system to our answer, with one process and with two, and has rows beside ours: of the same
 * machine, also where mpirun binds each process to a core. Where it cannot compute is refused. */
static void test_peers_agree(void **state)
{
    (void)state;
    static const char *const kinds[] = {"gamg", "boomeramg"};
    char part[240];
    fe_machine machine;
    must(fe_machine_find(0, &machine));
    skip_without("solves", "peers");
    skip_without("peers", "peers");
    skip_if(system("command -v mpirun >/dev/null") ? "there is no mpirun" : NULL, "peers");
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1), setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 1);
    setenv("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe", 1);
    setenv("OMPI_MCA_hwloc_base_binding_policy", "core", 1);
    for (int k = 0; k < 2; k++) {
        free(read_success("mpirun -n %d %s/peers meshgen/bracket/bracket_coarse.json --mesh "
                          "meshgen/bracket/bracket_tet4_coarse.msh --precondition %s --repetitions 2 --rows "
                          "'%s/peers.csv' 2>&1",
                          k + 1, build_folder(), kinds[k], test_folder));
        char *text = read_success("awk -F, 'FNR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next } { print "
                                  "$c[\"machine\"], $c[\"variant\"], $c[\"case\"], "
                                  "$c[\"ranks\"], $c[\"operation\"], ($c[\"error\"] < 1e-6), "
                                  "($c[\"median_s\"] * $c[\"setup_s\"] > 0), $c[\"status\"] }' "
                                  "'%s/peers.csv'",
                                  test_folder);
        snprintf(part, sizeof part, "%s petsc_%s bracket_tet4_coarse-linear %d solve 1 1 ok\n", machine.slug,
                 kinds[k], k + 1);
        assert_holds(text, part);
        assert_int_equal(count(text, " 1 1 ok\n"), 3 * (k + 1)); /* rows are added */
        free(text);
    }
    static const char *const refused[] = {"gpu", "cuda"};
    char *version = read_success("%s/peers --version", build_folder());
    for (int i = 0; i < (strstr(version, "gamg: host, cuda\n") ? 1 : 2); i++) {
        int code;
        char *text = read_command(&code,
                                  "%s/peers meshgen/bracket/bracket_coarse.json --mesh "
                                  "meshgen/bracket/bracket_tet4_coarse.msh --backend %s 2>&1",
                                  build_folder(), refused[i]);
        assert_int_equal(code, 2);
        assert_holds(text, "peers: --backend");
        assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
        free(text);
    }
    free(version);
    unsetenv("OMPI_MCA_hwloc_base_binding_policy");
}

/* Each row of `scaling` has an error of its own: also exchanges, sums and cycles of GMRES. */
static void test_each_row_of_ranks_was_checked(void **state)
{
    (void)state;
    skip_without("scaling", "ranks");
    char *text = read_success(
        "%s/scaling --ranks 3 --threads 1 --dofs 1000 --variants %s --restart 5 "
        "--repetitions 1 --rows '%s/checked.csv' >'%s/checked.log' && "
        "awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i } { print $c[\"operation\"] \",\" "
        "$c[\"error\"] \",\" $c[\"status\"] }' '%s/checked.csv'",
        build_folder(), fe_variant_at(0)->name, test_folder, test_folder, test_folder);
    static const char *const shared[] = {"exchange", "reduce1", "reduce32"}, *const own[] = {
                                                                                 "jacvec_elastic",
                                                                                 "jacvec_elastic_local",
                                                                                 "jacvec",
                                                                                 "jacvec_local",
                                                                                 "gmres_mgs",
                                                                                 "gmres_cgs2",
                                                                                 "gmres_dcgs2"};
    assert_holds(text, "operation,error,status\n");
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
        char row[64];
        snprintf(row, sizeof row, "\n%s,0.000e+00,ok\n", shared[i]); /* exact */
        assert_holds(text, row);
    }
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        char begin[64];
        snprintf(begin, sizeof begin, "\n%s,", own[i]);
        const char *at = strstr(text, begin);
        if (!at) fail_msg("there is no row of %s", own[i]);
        const double error = atof(at + strlen(begin));
        if (!(at[strlen(begin)] != ',' && error >= 0.0 && error < 1e-12))
            fail_msg("%s: error %g", own[i], error);
    }
    free(text);
}

/* Points that never came to their end have a row, too. */
static void test_lost_points_on_ranks_have_rows(void **state)
{
    (void)state;
    skip_without("scaling", "sweep");
    char *text =
        read_success("%s/scaling --ranks 2 --weak --dofs 300 --variants %s --give-up killed --rows "
                     "'%s/lost.csv' >/dev/null && " COLUMNS,
                     build_folder(), fe_variant_at(0)->name, test_folder,
                     "ranks,variant,element,case,operation,median_s,status", test_folder, "lost.csv");
    char row[200];
    snprintf(row, sizeof row, "\n2,%s,hex8,weak-1x1x2-threads-box", fe_variant_at(0)->name);
    assert_holds(text, row);
    assert_holds(text, ",jacvec,,killed\n");
    free(text);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interrupted_sweep_goes_on),
        cmocka_unit_test(test_spent_budget_leaves_points_out),
        cmocka_unit_test(test_wrong_answer_has_no_time),
        cmocka_unit_test(test_failing_reference_fails_the_rows),
        cmocka_unit_test(test_peers_agree),
        cmocka_unit_test(test_each_row_of_ranks_was_checked),
        cmocka_unit_test(test_lost_points_on_ranks_have_rows),
        cmocka_unit_test(test_sweep_times_whole_solves),
        cmocka_unit_test(test_interrupted_sweep_of_ranks_goes_on),
        cmocka_unit_test(test_sweep_measures_energy),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
