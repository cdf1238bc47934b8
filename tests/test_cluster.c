/* What batch systems and launchers do to programs, without any of them: the variables that they set, cores
 * that several processes share, quotas, and a signal that comes twice. tests/slurm.sh runs a real Slurm. */
#include "common/base/cores.h"
#include "have/metis.h"
#include "have/mpi.h"
#include "tests/child.h"
#include "tests/common.h"
#include "tests/result.h"

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char root[PATH_MAX]; /* of the repository */

/* --- several processes ------------------------------------------------------------------------------- */

/* srun without --mpi=pmix: each process would do all the work and write the same files. */
static void processes_without_mpi_are_refused(void **state)
{
    static const char *const programs[] = {"solve", "solves", "scaling"};
    static const char *const commands[] = {"solve p.json --result s.json",
                                           "solves p.json --cells 2 --rows s.csv",
                                           "scaling --dofs 300 --rows s.csv"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        char command[256];
        snprintf(command, sizeof command, "env SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2 %s", commands[i]);
        child_must(2, command);
        child_assert_said(command, programs[i],
                          PARTS("SLURM_STEP_NUM_TASKS=2: several processes were started, but ",
                                i == 1        ? "--ranks N runs ranks as threads"
                                : FE_HAVE_MPI ? "srun --mpi=pmix"
                                              : "this build has no MPI",
                                "--ranks 1 lets each run on its own"));
        snprintf(command, sizeof command, "env SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2 %s", commands[i]);
        child_must(2, command);
        assert_string_equal(child_said, ""); /* the first one has said it */
        assert_int_not_equal(access("s.json", F_OK), 0);
        assert_int_not_equal(access("s.csv", F_OK), 0);
        snprintf(command, sizeof command, "env SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2 %s --ranks 2",
                 commands[i]);
        child_must(2, command);
    }
    child_must(2, "env SLURM_STEP_NUM_TASKS=2 solve p.json --fast"); /* what is wrong is said first */
    child_assert_said("--fast", "solve", PARTS("--fast: is not an option"));
    child_must(0, "env SLURM_STEP_NUM_TASKS=2 solve p.json --ranks 1");
    child_must(0, "env SLURM_STEP_NUM_TASKS=1 solve p.json --ranks 2");
    child_must(0, "env SLURM_STEP_NUM_TASKS=2 solve --help");
}

/* Open MPI itself leaks at its end, which the address sanitizer would report. */
#define MPI_LEAKS "ASAN_OPTIONS=detect_leaks=0 "

/* Started by a launcher of another MPI, each process is alone, too. */
static void processes_of_another_mpi_are_refused(void **state)
{
    (void)state;
    child_must(2, "env " MPI_LEAKS "PMI_RANK=0 PMI_SIZE=2 solve p.json --threads 1 --result s.json");
    child_assert_said(
        "PMI", "solve",
        PARTS("PMI_SIZE=2: several processes were started, but ",
              FE_HAVE_MPI ? "start them by the launcher of this program's MPI" : "this build has no MPI"));
    assert_int_not_equal(access("s.json", F_OK), 0);
}

/* --- cores and threads ------------------------------------------------------------------------------- */

/* A tree of control groups like /sys/fs/cgroup: FOLDER/FILE gets the text. */
static void put(const char *folder, const char *file, const char *text)
{
    char command[512], path[512];
    snprintf(command, sizeof command, "mkdir -p %s", folder);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof path, "%s/%s", folder, file);
    write_file(path, "%s\n", text);
}

/* The cores that packaging/cores.sh prints. */
static int script_cores(const char *environment, const char *arguments)
{
    char command[PATH_MAX + 512], text[32];
    snprintf(command, sizeof command, "env %s sh %s/packaging/cores.sh %s >cores", environment, root,
             arguments);
    assert_int_equal(system(command), 0);
    read_into("cores", sizeof text, text);
    return atoi(text);
}

/* Programs and builds take the least quota of the group and of those above it. */
static void quotas_are_heeded(void **state)
{
    static const struct {
        const char *group, *folder, *file, *text;
        int cores;
    } of[] = {
        {"0::/job/step", "job/step", "cpu.max", "max 100000", INT_MAX},
        {"0::/job/step", "job/step", "cpu.max", "350000 100000", 3},
        {"0::/job/step", "job", "cpu.max", "200000 100000", 2},
        {"0::/job/step", ".", "cpu.max", "150000 100000", 1},
        {"0::/", ".", "cpu.max", "50000 100000", 1},
        {"0::/../elsewhere", ".", "cpu.max", "400000 100000", 4},
        {"4:cpuset:/job\n3:cpu,cpuacct:/job", "cpu/job", "cpu.cfs_quota_us", "-1", INT_MAX},
        {"4:cpuset:/job\n3:cpu,cpuacct:/job", "cpu/job", "cpu.cfs_quota_us", "250000", 2},
        {"3:cpu:/docker/abc", "cpu", "cpu.cfs_quota_us", "100000", 1}, /* in a container without names */
        {"3:cpuset:/job", "cpu/job", "cpu.cfs_quota_us", "100000", INT_MAX},
    };
    (void)state;
    const int all = script_cores("-u OMP_NUM_THREADS", "/nothing /nothing");
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        char folder[256];
        assert_int_equal(system("rm -rf groups"), 0);
        snprintf(folder, sizeof folder, "groups/%s", of[i].folder);
        put(folder, of[i].file, of[i].text);
        if (!strcmp(of[i].file, "cpu.cfs_quota_us")) put(folder, "cpu.cfs_period_us", "100000");
        write_file("own", "%s\n", of[i].group);
        const int cores = fe_cores_quota("own", "groups"),
                  by_script = script_cores("-u OMP_NUM_THREADS", "own groups");
        if (cores != of[i].cores) fail_msg("%s, %s: %d cores", of[i].group, of[i].text, cores);
        assert_int_equal(by_script, cores < all ? cores : all);
    }
    assert_int_equal(fe_cores_quota("/nothing", "groups"), INT_MAX);
}

/* Cores that programs may use as `scaling --capacity` prints them. */
static int program_cores(const char *environment)
{
    char text[256];
    if (child_run("env %s scaling --capacity", environment)) fail_msg("%s", child_said);
    read_into("out", sizeof text, text);
    int cores = 0;
    assert_int_equal(sscanf(text, "host %d", &cores), 1);
    return cores;
}

static void slurm_is_heeded(void **state)
{
    (void)state;
    const int all = program_cores("-u OMP_NUM_THREADS");
    static const struct {
        const char *environment;
        int cores;
    } of[] = {{"SLURM_CPUS_PER_TASK=1", 1},
              {"SLURM_CPUS_ON_NODE=1", 1},
              {"SLURM_CPUS_PER_TASK=1000000", INT_MAX},
              {"SLURM_CPUS_PER_TASK=none", INT_MAX},
              {"SLURM_CPUS_PER_TASK=0 SLURM_CPUS_ON_NODE=-1", INT_MAX}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        char environment[256];
        snprintf(environment, sizeof environment, "-u OMP_NUM_THREADS %s", of[i].environment);
        const int cores = of[i].cores < all ? of[i].cores : all;
        if (program_cores(environment) != cores) fail_msg("%s: not %d cores", of[i].environment, cores);
        assert_int_equal(script_cores(environment, ""), cores);
    }
}

/* A core that several processes may use is shared among them. */
static void shared_cores_are_divided(void **state)
{
    (void)state;
    static const struct {
        unsigned set[4]; /* bits: cores */
        int n, share[4];
    } of[] = {{{0x1, 0x2}, 2, {1, 1}},                     /* bound to one each */
              {{0xf0, 0x0f}, 2, {4, 4}},                   /* to four each */
              {{0xff, 0xff, 0xff, 0xff}, 4, {2, 2, 2, 2}}, /* --bind-to none */
              {{0x3, 0x3, 0x3}, 3, {1, 1, 1}},             /* more processes than cores */
              {{0xff, 0x0f}, 2, {6, 2}}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        cpu_set_t set[4];
        for (int p = 0; p < of[i].n; p++) {
            CPU_ZERO(&set[p]);
            for (int c = 0; c < 32; c++)
                if (of[i].set[p] >> c & 1) CPU_SET(c, &set[p]);
        }
        for (int p = 0; p < of[i].n; p++) assert_int_equal(fe_cores_shared(of[i].n, set, p), of[i].share[p]);
    }
}

static int threads_of(const char *command)
{
    child_must(0, command);
    json_t *root_of = result_load("t.json");
    const int threads = (int)result_number(result_at(root_of, "run"), "threads");
    json_decref(root_of);
    return threads;
}

/* The least counts; what a command line asks for goes before all that. libgomp's own threads for 65536 end in
 * a crash. */
static void threads_are_the_least(void **state)
{
    (void)state;
    const int cores = program_cores("-u OMP_NUM_THREADS"), two = cores < 2 ? 1 : 2;
#define SOLVE "solve p.json --result t.json"
    assert_int_equal(threads_of("env OMP_NUM_THREADS=1 " SOLVE), 1);
    assert_int_equal(threads_of("env OMP_NUM_THREADS=2 " SOLVE), two);
    assert_int_equal(threads_of("env OMP_NUM_THREADS=2 SLURM_CPUS_PER_TASK=1 " SOLVE), 1);
    assert_int_equal(threads_of("env OMP_NUM_THREADS=2 OMP_THREAD_LIMIT=1 " SOLVE), 1);
    assert_int_equal(threads_of("env SLURM_CPUS_PER_TASK=1 " SOLVE " --threads 2"), 2);
    static const char *const absurd[] = {SOLVE " --output fields", SOLVE " --ranks 2 --output fields",
                                         "scaling --dofs 300 --variants patch --repetitions 1"};
    for (int i = 0; i < 3; i++) {
        char command[256];
        /* all cores of a machine that others use: threads that wait must not hold them */
        snprintf(command, sizeof command, "env OMP_WAIT_POLICY=passive OMP_NUM_THREADS=65536 %s", absurd[i]);
        child_must(0, command);
        child_assert_said(command, "note", PARTS("OMP_NUM_THREADS=65536: bounded by the cores"));
    }
    child_must(0, "env OMP_WAIT_POLICY=passive OMP_NUM_THREADS=65536 meshgen box -c 20 -o many.msh");
}

/* Ranks that their launcher has not bound share the cores of the machine. */
static void unbound_processes_share_cores(void **state)
{
    (void)state;
    skip_if(!FE_HAVE_MPI                                 ? "this build has no MPI"
            : system("mpirun --version >/dev/null 2>&1") ? "mpirun was not found"
                                                         : NULL,
            "unbound processes");
    const int cores = program_cores("-u OMP_NUM_THREADS");
    const int threads = threads_of(
        "env " MPI_LEAKS "OMP_NUM_THREADS=1000 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
        "OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe "
        "mpirun --bind-to none -n 2 " SOLVE);
    assert_int_equal(threads, cores < 2 ? 1 : cores / 2);
}

/* --- signals ----------------------------------------------------------------------------------------- */

/* Slurm's time limit: two signals 6 ms apart are one, also for several ranks, whose partition METIS makes. */
static void signal_that_comes_twice_is_one(void **state)
{
    (void)state;
    char command[128];
    child_write_long_problem("long.json", NULL);
    for (int i = 0; i < 4; i++) {
        unlink("r.json");
        snprintf(command, sizeof command,
                 "solve long.json --threads 1 --result r.json --ranks %d --partition %s", 1 + i / 2,
                 FE_HAVE_METIS ? "metis" : "bisection");
        const pid_t child = child_start(command);
        for (int k = 0; k < PATIENCE * 6000; k++, usleep(5000))
            if (access("r.json", R_OK) == 0 && result_steps("r.json") >= 2) break;
        kill(child, SIGTERM);
        usleep(6000);
        kill(child, SIGTERM);
        assert_int_equal(child_finish(child), 130); /* which finds temporary files */
        child_assert_said("two signals", "solve", PARTS("interrupted in load step "));
        json_decref(result_load_checked("r.json", "interrupted", result_steps("r.json")));
    }
}

/* A process that does not end: after the first second another signal ends it. */
static void later_signal_ends_at_once(void **state)
{
    (void)state;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        fe_catch_interrupts();
        alarm(PATIENCE * 60);
        for (write_file("ready", "%d", fe_interrupted());; usleep(1000))
            if (fe_interrupted() && access("caught", F_OK)) write_file("caught", "1");
    }
    for (int k = 0; k < PATIENCE * 6000 && access("ready", F_OK); k++) usleep(5000);
    kill(child, SIGTERM);
    for (int k = 0; k < PATIENCE * 6000 && access("caught", F_OK); k++) usleep(5000);
    usleep(1100000);
    assert_false(child_has_ended(child));
    kill(child, SIGINT);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
}

static int open_group(void **state)
{
    static const char *const names[] = {"SLURM_STEP_NUM_TASKS", "SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE",
                                        "OMP_THREAD_LIMIT"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) unsetenv(names[i]);
    return getcwd(root, sizeof root) ? child_open(state) : -1;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_without_mpi_are_refused),
        cmocka_unit_test(processes_of_another_mpi_are_refused),
        cmocka_unit_test(quotas_are_heeded),
        cmocka_unit_test(slurm_is_heeded),
        cmocka_unit_test(shared_cores_are_divided),
        cmocka_unit_test(threads_are_the_least),
        cmocka_unit_test(unbound_processes_share_cores),
        cmocka_unit_test(signal_that_comes_twice_is_one),
        cmocka_unit_test(later_signal_ends_at_once),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, open_group, child_close);
}
