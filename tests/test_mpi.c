/* Ranks as processes: `solve` under mpirun gives what one process gives, and a rank that stops, dies, fails
 * alone or is refused its memory ends all of them, in time, with its name and the accepted steps. All
 * processes started here must end. */
#include "common/backend/device.h"
#include "have/metis.h"
#include "have/mpi.h"
#include "have/nccl.h"
#include "tests/child.h"
#include "tests/common.h"
#include "tests/fields.h"
#include "tests/process.h"
#include "tests/result.h"

#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char root[PATH_MAX]; /* of the repository */
static const char *missing; /* why there are no processes here */

static void need_mpi(void) { skip_if(missing, "ranks as processes"); }

/* Waits for the result's first steps; returns how many there are. */
static size_t wait_for_steps(void)
{
    const double begin = fe_seconds();
    for (;; usleep(5000)) {
        const size_t n = result_steps("r.json");
        if (n >= 2) return n;
        const int ended = child_has_ended(running);
        if (ended || fe_seconds() - begin > LONG) {
            read_into("err", sizeof child_said, child_said);
            fail_msg("%s before the second load step: %s", ended ? "ended" : "hangs", child_said);
        }
    }
}

static void assert_said(const char *text) { assert_holds(child_said, text); }

static void assert_said_once(const char *text)
{
    assert_said(text);
    if (strstr(strstr(child_said, text) + 1, text)) fail_msg("\"%s\" is said twice: %s", text, child_said);
}

/* --- the same results -------------------------------------------------------------------------------- */

static const struct {
    const char *problem, *mesh;
    double factors[2]; /* the second load step is plastic */
} cases[] = {{"strip", "strip_tet.msh", {2, 3}}, {"cylinder", "cylinder_hex.msh", {140, 180}}};
static const int counts[] = {1, 2, 3, 4, 7};
enum { N_CASE = sizeof cases / sizeof *cases, N_COUNT = sizeof counts / sizeof *counts, WITH_FIELDS = 3 };

static json_t *alone[N_CASE]; /* results of one process, and its fields in alone-CASE/ */

/* The problems of tests/validation with two load steps. */
static void write_short_problems(void)
{
    for (int i = 0; i < N_CASE; i++) {
        char path[2 * PATH_MAX];
        snprintf(path, sizeof path, "%s/tests/validation/problems/%s.json", root, cases[i].problem);
        json_t *file = result_load(path), *load = result_at(result_at(file, "paths"), "load");
        json_array_clear(load);
        for (int k = 0; k < 2; k++) json_array_append_new(load, json_real(cases[i].factors[k]));
        snprintf(path, sizeof path, "%s.json", cases[i].problem);
        assert_int_equal(json_dump_file(file, path, 0), 0);
        json_decref(file);
    }
}

/* The command line of `solve` for a case. */
static const char *flags_of(int i)
{
    static char text[PATH_MAX + 256];
    snprintf(text, sizeof text,
             "%s.json --mesh %s/tests/validation/meshes/%s --threads 1 --tolerance 1e-12 --result r.json",
             cases[i].problem, root, cases[i].mesh);
    return text;
}

static const json_t *result_alone(int i)
{
    if (!alone[i]) {
        start("solve %s --output alone-%d", flags_of(i), i);
        if (finish(LONG)) fail_msg("one process: %s", child_said);
        alone[i] = result_load_checked("r.json", "converged", 2);
        assert_true(result_number(result_step(alone[i], 1), "plastic_gp") > 0);
    }
    return alone[i];
}

static void check_run(const json_t *result, int n_rank, const char *partition)
{
    const json_t *run = result_at(result, "run"), *quality = result_at(run, "partition_quality");
    const double imbalance = result_number(quality, "imbalance"), ghosts = result_number(quality, "ghosts");
    const double duplicates = result_number(quality, "duplicates");
    const int neighbors = (int)result_number(quality, "most_neighbors");
    assert_string_equal(json_string_value(result_at(run, "communication")), "mpi");
    /* one rank has no partition to choose */
    assert_string_equal(json_string_value(result_at(run, "partition")),
                        n_rank > 1 ? partition : "contiguous");
    assert_int_equal(result_number(run, "ranks"), n_rank);
    if (n_rank == 1) {
        assert_true(imbalance == 1 && ghosts == 0 && duplicates == 0 && neighbors == 0);
        return;
    }
    assert_true(imbalance >= 1 && imbalance < 2);
    assert_true(ghosts > 0 && ghosts < n_rank);
    assert_true(duplicates > 0 && duplicates < n_rank);
    assert_in_range(neighbors, 1, n_rank - 1);
}

/* --- the same fields --------------------------------------------------------------------------------- */

/* Threads make the same sums in the same order, so they leave the same bits. */
static void compare_with_threads(int i, int n_rank, const char *partition, const json_t *result)
{
    start("solve %s --ranks %d --partition %s --output threads", flags_of(i), n_rank, partition);
    if (finish(LONG)) fail_msg("threads: %s", child_said);
    json_t *threads = result_load_checked("r.json", "converged", 2);
    result_assert_same(result, threads);
    assert_true(json_equal(result_at(result_at(result, "run"), "partition_quality"),
                           result_at(result_at(threads, "run"), "partition_quality")));
    json_decref(threads);
    compare_fields("fields", "threads", cases[i].problem, 0);
}

typedef struct setting {
    int number, ranks;
    const char *partition;
    char name[64];
} setting;

static void processes_agree(void **state)
{
    const setting *s = *state;
    char output[64] = "";
    need_mpi();
    const json_t *reference = result_alone(s->number);
    if (s->ranks == WITH_FIELDS) snprintf(output, sizeof output, "--ranks %d --output fields", s->ranks);
    start("mpirun -n %d solve %s --partition %s %s", s->ranks, flags_of(s->number), s->partition, output);
    const int code = finish(LONG);
    if (code) fail_msg("%s: exit code %d: %s", s->name, code, child_said);
    json_t *result = result_load_checked("r.json", "converged", 2);
    result_assert_close(s->name, result, reference, 1e-8);
    check_run(result, s->ranks, s->partition);
    if (s->ranks == WITH_FIELDS) {
        char folder_alone[32];
        snprintf(folder_alone, sizeof folder_alone, "alone-%d", s->number);
        compare_fields("fields", folder_alone, cases[s->number].problem, 1e-8);
        compare_with_threads(s->number, s->ranks, s->partition, result);
    }
    json_decref(result);
}

static int n_gpu;

/* COMMAND: on the GPUs that child_open hides, with a host's name of each rank's own for NCCL. */
static void write_own_host(const char *visible)
{
    char text[1024];
    snprintf(text, sizeof text,
             "%s%s\nexport NCCL_HOSTID=rank${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-$PMI_RANK}}\n"
             "export NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1 NCCL_IB_DISABLE=1\nexec \"$@\"\n",
             visible ? "export CUDA_VISIBLE_DEVICES=" : "unset CUDA_VISIBLE_DEVICES", visible ? visible : "");
    write_file("own_host", text);
}

/* One process, and two that share the GPU, through NCCL, which has to take them for two hosts. */
static void processes_share_a_gpu(void **state)
{
    static const char *const preconditions[] = {"block-jacobi", "multigrid"};
    (void)state;
    need_mpi();
    skip_if(!FE_HAVE_NCCL ? "this build has no NCCL"
            : n_gpu <= 0  ? "no CUDA device found"
                          : NULL,
            "processes share a GPU");
    for (int i = 0; i < 2 * 2 * N_CASE; i++) {
        const int number = i / 4, ranks = 1 + i / 2 % 2;
        const json_t *reference = result_alone(number);
        start("mpirun -n %d sh own_host solve %s --backend cuda --precondition %s", ranks, flags_of(number),
              preconditions[i % 2]);
        const int code = finish(LONG);
        if (code) fail_msg("%d ranks, %s: exit code %d: %s", ranks, preconditions[i % 2], code, child_said);
        json_t *result = result_load_checked("r.json", "converged", 2);
        result_assert_close(preconditions[i % 2], result, reference, 1e-8);
        json_decref(result);
    }
}

/* --- faults ------------------------------------------------------------------------------------------ */

/* Some thousand load steps on any mesh stay elastic. */
static const char elastic[] = "\"E\": 200000, \"nu\": 0.3, \"sigma_y\": 1e6, \"H\": 2000";

/* The result has this status, at least `least` steps and all that were shown, and they are right. */
static void check_kept(const char *status, size_t least)
{
    const size_t n = result_steps("r.json");
    assert_true(n >= least && n >= child_steps_shown() && n < LONG_PROBLEM);
    json_t *result = result_load_checked("r.json", status, n);
    const double first = result_probe(result_step(result, 0), 2);
    for (size_t i = 0; i < n; i++) {
        const double u = result_probe(result_step(result, i), 2), expected = first * (i % 2 ? 2 : 1);
        if (!(fabs(u - expected) <= 1e-7 * fabs(expected)))
            fail_msg("step %zu: %g is not %g", i + 1, u, expected);
    }
    json_decref(result);
}

/* Starts the long problem on three ranks and sends rank 2 a signal once there are steps; returns how many,
 * and the rank's process. */
static size_t strike(const char *flags, int number, pid_t *rank)
{
    start("mpirun -n 3 solve long.json --threads 1 %s --result r.json", flags);
    const size_t n = wait_for_steps();
    *rank = find_process(2);
    assert_true(*rank > 0);
    assert_int_equal(kill(*rank, number), 0);
    return n;
}

static void stopped_rank_is_named(void **state)
{
    (void)state;
    need_mpi();
    pid_t rank;
    const size_t n = strike("--timeout 3", SIGSTOP, &rank);
    assert_int_not_equal(finish(3 + 10), 0);
    assert_said("rank 2 has not answered for 3 s (--timeout)");
    check_kept("fault", n);
    assert_true(child_steps_shown() >= n);
}

/* The result's steps, and which file it is. */
static size_t look(struct stat *file)
{
    struct stat again;
    size_t n;
    do {
        assert_int_equal(stat("r.json", file), 0);
        n = result_steps("r.json");
        assert_int_equal(stat("r.json", &again), 0);
    } while (again.st_ino != file->st_ino || again.st_mtim.tv_nsec != file->st_mtim.tv_nsec);
    return n;
}

/* Waits until the result is written anew with the steps that it had: rank 0 has given up. */
static void wait_for_the_end(void)
{
    struct stat old, now;
    const double begin = fe_seconds();
    for (size_t n, n_old = look(&old);; n_old = n, old = now, usleep(10000)) {
        n = look(&now);
        const int same = now.st_ino == old.st_ino && now.st_mtim.tv_nsec == old.st_mtim.tv_nsec;
        if (!same && n == n_old) return;
        if (fe_seconds() - begin > LONG) fail_msg("the result stays as it is, with %zu steps", n);
    }
}

/* Open MPI 5's launcher drops what ranks have said last, once one of them has failed. */
static int launcher_drops_output(void)
{
    return system("mpirun --version 2>/dev/null | grep -q 'Open MPI) 5'") == 0;
}

/* A rank that wakes up when the others have given it up sends what they waited for, and may still end in
 * order. The address sanitizer sees whether their memory is still there. */
static void late_rank_does_no_harm(void **state)
{
    (void)state;
    need_mpi();
    pid_t rank;
    const size_t n = strike("--timeout 3", SIGSTOP, &rank);
    wait_for_the_end();
    assert_int_equal(kill(rank, SIGCONT), 0);
    assert_int_equal(finish(20), 1);
    if (!launcher_drops_output()) assert_said("rank 2 has not answered for 3 s (--timeout)");
    if (strstr(child_said, "signal") || strstr(child_said, "Sanitizer")) fail_msg("%s", child_said);
    check_kept("fault", n);
    assert_true(child_steps_shown() >= n);
}

static void killed_rank_ends_all(void **state)
{
    (void)state;
    need_mpi();
    pid_t rank;
    const size_t n = strike("", SIGKILL, &rank);
    assert_int_not_equal(finish(10), 0);
    json_t *result = result_load("r.json"); /* how far rank 0 gets after that depends on the launcher */
    assert_string_not_equal(json_string_value(result_at(result, "status")), "converged");
    assert_true(json_array_size(result_at(result, "steps")) >= n);
    json_decref(result);
}

/* A problem whose ranks say little: Open MPI 4's launcher reads nothing after a signal, so what they say has
 * to fit a terminal's 4 kB. */
static size_t start_steady(void)
{
    child_must(0, "meshgen box -c 8 -o steady.msh");
    start("mpirun -n 3 solve long.json --mesh steady.msh --threads 1 --result r.json");
    return wait_for_steps();
}

/* The launcher's code is its own: Open MPI 4's is 1. It kills ranks 3 s after it has passed the signal on.
 * Open MPI 5 leaves them a quarter of a second, in which a busy machine may not come to the end, and no
 * longer passes on what they say. */
static void interruption_ends_all(void **state)
{
    (void)state;
    need_mpi();
    setenv("OMPI_MCA_odls_base_sigkill_timeout", "3", 1);
    const size_t n = start_steady();
    unsetenv("OMPI_MCA_odls_base_sigkill_timeout");
    assert_int_equal(kill(running, SIGINT), 0);
    assert_int_not_equal(finish(10), 0);
    json_t *result = result_load("r.json");
    const int in_time = !strcmp(json_string_value(result_at(result, "status")), "interrupted");
    json_decref(result);
    check_kept(in_time ? "interrupted" : "running", n);
}

/* The signal that launchers pass on, without the launcher. */
static void interrupted_ranks_say_so_once(void **state)
{
    (void)state;
    need_mpi();
    const size_t n = start_steady();
    pid_t rank[3];
    for (int r = 0; r < 3; r++) assert_true((rank[r] = find_process(r)) > 0);
    for (int r = 0; r < 3; r++) kill(rank[r], SIGTERM);
    const int code = finish(10);
    if (!launcher_drops_output()) assert_int_equal(code, 130);
    assert_int_not_equal(code, 0);
    assert_said_once("interrupted in load step ");
    check_kept("interrupted", n);
    assert_true(child_steps_shown() >= n);
}

/* All ranks end with this code, the line is printed once, and there is no result. */
__attribute__((format(printf, 2, 3))) static void refused(const char *line, const char *format, ...)
{
    char command[768];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    /* Open MPI 4.1's mpirun now and then crashes when a rank has ended before MPI_Init: that says nothing of
     * us. */
    int code = -1;
    for (int attempt = 0; attempt < 4 && code < 0; attempt++) {
        start("%s", command);
        code = finish(LONG);
        assert_said(line);
    }
    if (code != 2) fail_msg("%s: exit code %d: %s", command, code, child_said);
    assert_said_once("solve: ");
    assert_int_not_equal(access("r.json", F_OK), 0);
}

static void bad_input_is_said_once(void **state)
{
    (void)state;
    need_mpi();
#define GOOD "solve p.json --threads 1 --result r.json"
    refused("solve: missing.json: No such file or directory\n",
            "mpirun -n 3 solve missing.json --result r.json");
    refused("solve: --fast: is not an option; solve --help lists them\n", "mpirun -n 3 %s --fast", GOOD);
    refused("solve: --variant fast: there is no such variant", "mpirun -n 3 %s --variant fast", GOOD);
    refused("solve: --ranks 2: 3 processes were started, and each is a rank\n", "mpirun -n 3 %s --ranks 2",
            GOOD);
    refused("solve: rank 2: missing.json: No such file or directory\n",
            "mpirun -n 3 sh one_other 2 'solve missing.json' '%s'", GOOD);
    refused("solve: rank 2: --fast: is not an option; solve --help lists them\n",
            "mpirun -n 3 sh one_other 2 'solve p.json --fast' '%s'", GOOD);
}

/* Hosts that do not share a folder may hold files of one name that differ by a number. */
static void other_inputs_are_refused(void **state)
{
    (void)state;
    need_mpi();
    child_must(0, "meshgen box -c 3 -o same.msh");
    child_must(0, "meshgen box -c 3 -l 1.001 -o other.msh");
    child_write_problem("other.json", (problem){.factors = "1, 2.5"});
    refused("solve: rank 2: other.msh: is not what rank 0 has read; all hosts need the same file\n",
            "mpirun -n 3 sh one_other 2 '%s --mesh other.msh' '%s --mesh same.msh'", GOOD, GOOD);
    refused("solve: rank 2: other.json: is not what rank 0 has read; all hosts need the same file\n",
            "mpirun -n 3 sh one_other 2 'solve other.json --threads 1 --result r.json' '%s'", GOOD);
    refused("solve: rank 2: --order and --tet-points are not those of rank 0\n",
            "mpirun -n 3 sh one_other 2 '%s --order random' '%s'", GOOD, GOOD);
}

/* A rank whose memory is limited to what a smaller basis needs fails alone with a larger one. The sanitizer
 * reserves more addresses than any limit leaves. */
static void rank_without_memory_is_named(void **state)
{
    (void)state;
    need_mpi();
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    skip_if("sanitizers cannot run under a limit of memory", "rank without memory");
#endif
    static const char solve[] = "solve p.json --mesh big.msh --threads 1 --result r.json --krylov gmres";
    char status[4096];
    child_must(0, "meshgen box -c 30 -b -o big.msh");
    start("mpirun -n 2 sh one_other 1 '%s --restart 10' '%s'", solve, solve);
    for (int i = 0; access("r.json", R_OK) && i < 100 * LONG; i++)
        usleep(10000); /* all is allocated by then */
    const pid_t rank = find_process(1);
    assert_true(rank > 0);
    read_proc(rank, "status", sizeof status, status);
    const char *peak = strstr(status, "VmPeak:");
    assert_non_null(peak);
    assert_int_equal(kill(running, SIGTERM), 0);
    finish(LONG);
    /* The basis of 1000 vectors takes 350 MB. */
    write_file("limited", "ulimit -v %ld; exec %s --restart 1000\n", strtol(peak + 7, NULL, 10) + 64 * 1024,
               solve);
    start("mpirun -n 2 sh one_other 1 'sh limited' '%s'", solve);
    assert_int_equal(finish(LONG), 1);
    assert_said_once("solve: rank 1: Krylov basis: no memory for 0.3");
}

#if !FE_HAVE_MPI
/* Every process would solve the whole problem and write the same result. */
static void build_without_mpi_refuses(void **state)
{
    (void)state;
    child_must(2, "env PMI_RANK=0 PMI_SIZE=2 solve p.json --threads 1");
    child_assert_said("without MPI", "solve", PARTS("but this build has no MPI"));
}
#endif

/* Three processes are killed, two go on: the state does not depend on who kept it. */
static void killed_processes_go_on(void **state)
{
    (void)state;
    enum { STEPS = 12 };
    static const char flags[] = "plastic.json --threads 1 --tolerance 1e-12 --krylov-tolerance 1e-6";
    char factors[STEPS * 16], command[512];
    need_mpi();
    for (int i = 0, used = 0; i < STEPS; i++)
        used += snprintf(factors + used, sizeof factors - (size_t)used, "%s%s%.3f", i ? ", " : "",
                         i % 4 < 2 ? "" : "-", 1.5 + 0.01 * i + 0.2 * (i % 2));
    child_write_problem("plastic.json", (problem){.factors = factors});
    snprintf(command, sizeof command, "solve %s --result one.json", flags);
    child_must(0, command);
    start("mpirun -n 3 solve %s --result r.json", flags);
    wait_for_steps();
    const pid_t rank = find_process(0);
    assert_true(rank > 0);
    assert_int_equal(kill(rank, SIGKILL), 0);
    assert_int_not_equal(finish(LONG), 0);
    const size_t n = result_steps("r.json");
    assert_true(n < STEPS);
    assert_int_equal(system("rm -f r.json.*.tmp"), 0);
    snprintf(command, sizeof command, "mpirun -n 2 solve %s --resume r.json", flags);
    child_must(0, command);
    json_t *result = result_load_checked("r.json", "converged", STEPS), *one = result_load("one.json");
    const size_t after = (size_t)result_number(result_at(result, "run"), "resumed_after");
    assert_true(after == n || after + 1 == n);
    result_assert_close("three processes, then two", result, one, 1e-12);
    json_decref(result), json_decref(one);
}

/* --- all of them ------------------------------------------------------------------------------------- */

static int open_group(void **state)
{
    const char *gpus = getenv("CUDA_VISIBLE_DEVICES");
    char visible[512];
    snprintf(visible, sizeof visible, "%s", gpus ? gpus : "");
    n_gpu = fe_cuda_devices();
    if (!getcwd(root, sizeof root) || child_open(state)) return -1;
    missing = processes_missing();
    child_seconds = 2 * LONG;
    write_short_problems();
    /* RANK COMMAND OTHERS: mpirun's own "A : B" ends Open MPI 5.0.7 of Debian 13 by a signal. */
    write_file("one_other", "rank=${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-$PMI_RANK}}\n"
                            "[ \"$rank\" = \"$1\" ] && exec $2\nexec $3\n");
    write_own_host(*visible ? visible : NULL);
    child_write_long_problem("long.json", elastic);
    return 0;
}

static int close_group(void **state)
{
    for (int i = 0; i < N_CASE; i++) json_decref(alone[i]);
    return child_close(state);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest faults[] = {
        cmocka_unit_test_teardown(processes_share_a_gpu, clean_up),
        cmocka_unit_test_teardown(stopped_rank_is_named, clean_up),
        cmocka_unit_test_teardown(late_rank_does_no_harm, clean_up),
        cmocka_unit_test_teardown(killed_rank_ends_all, clean_up),
        cmocka_unit_test_teardown(killed_processes_go_on, clean_up),
        cmocka_unit_test_teardown(interruption_ends_all, clean_up),
        cmocka_unit_test_teardown(interrupted_ranks_say_so_once, clean_up),
        cmocka_unit_test_teardown(bad_input_is_said_once, clean_up),
        cmocka_unit_test_teardown(other_inputs_are_refused, clean_up),
        cmocka_unit_test_teardown(rank_without_memory_is_named, clean_up),
#if !FE_HAVE_MPI
        cmocka_unit_test(build_without_mpi_refuses),
#endif
    };
    enum { N_FAULT = sizeof faults / sizeof *faults, N = N_FAULT + N_CASE * N_COUNT };
    static setting settings[N_CASE * N_COUNT];
    static struct CMUnitTest tests[N];
    for (int i = 0; i < N_CASE * N_COUNT; i++) {
        setting *s = &settings[i];
        const int metis = FE_HAVE_METIS && (i % N_COUNT + i / N_COUNT) % 2;
        *s = (setting){i / N_COUNT, counts[i % N_COUNT], metis ? "metis" : "contiguous", ""};
        snprintf(s->name, sizeof s->name, "%s %d ranks %s", cases[s->number].mesh, s->ranks, s->partition);
        tests[i] = (struct CMUnitTest){
            .name = s->name, .test_func = processes_agree, .teardown_func = clean_up, .initial_state = s};
    }
    memcpy(tests + N_CASE * N_COUNT, faults, sizeof faults);
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return _cmocka_run_group_tests("mpi", tests, N, open_group, close_group) ? 1 : 0;
}
