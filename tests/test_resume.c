/* Runs that were ended in the middle and go on: killed at any moment, with other ranks, with the files that a
 * kill between two of them leaves. The answer is that of a run that nobody ended. And states that do not
 * belong: one line. */
#include "common/report/checkpoint.h"
#include "tests/child.h"
#include "tests/common.h"
#include "tests/process.h"
#include "tests/result.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* All files are the same, except the line of a series that tells which result it belongs to. */
#define SAME_SERIES "diff -r -I '<!-- run' whole k"

/* Some ten load steps with yielding, unloading, reversal, and increments that continue the one before. */
static const char factors[] = "1, 1.4, 1.8, 2.2, 1.9, 1.6, 0.8, -0.8, -2.2, -2.3, -2.4, 1.2";
enum { N_STEP = 12 };

static int open_folder(void **state)
{
    if (child_open(state)) return -1;
    child_seconds = 300; /* on a machine that others use */
    child_write_problem("r.json", (problem){.factors = factors});
    return child_run("meshgen box -c 5 -d 0.2 -o box.msh") ||
                   child_run("meshgen box -c 3 -d 0.2 -o few.msh") ||
                   child_run("meshgen box -c 4 -e tet4 -d 0.2 -o tet.msh") ||
                   child_run("meshgen box -c 5 -d 0.2 -r random -o random.msh")
               ? -1
               : 0;
}

static void says(int code, const char *command, const char *part)
{
    child_must(code, command);
    child_assert_said(command, "solve", PARTS(part));
}

/* Without child_must's look for temporary files, which killed runs leave until the next one. */
static void shell(const char *command) { assert_int_equal(system(command), 0); }
static void forget(void) { shell("rm -rf k.json k.json.state k *.tmp"); }

/* Load steps in the state, -1: there is none. */
static int state_steps(const char *path)
{
    fe_checkpoint c;
    if (access(path, F_OK)) return -1;
    must(fe_checkpoint_read(path, &c));
    const int n = (int)c.head.n_step;
    fe_checkpoint_close(&c);
    return n;
}

/* --- kills ------------------------------------------------------------------------------------------- */

/* A way to run and to go on; `ranks` go on, or any number from 1 to 4 where that is 0 (2 begin). */
typedef struct manner {
    const char *name, *flags;
    int mpi, ranks;
    double tolerance; /* 0: the answer is that of the uninterrupted run to the bit, fields too */
} manner;

typedef struct kills {
    int wanted, done, resumed, runs;        /* resumed: commands with --resume, killed or not */
    int before, between, in_between, after; /* first step; two steps; result and state; last step */
    int kept;                               /* steps in the state of this run */
} kills;

/* Few elements: most of the time goes into starts and into files, where a kill may do harm. */
static void write_command(const manner *m, int ranks, const char *output, size_t size, char *command)
{
    snprintf(command, size,
             m->mpi ? "mpirun -n %d solve r.json --mesh few.msh --threads 1 %s %s"
                    : "solve r.json --ranks %d --mesh few.msh --threads 1 %s %s",
             ranks, m->flags, output);
}

/* Kills a program, or one rank of two or their launcher. */
static void kill_process(pid_t child, int mpi)
{
    const int rank = mpi ? (int)(1.5 * (1 + uniform())) : 2; /* 2: the launcher */
    const pid_t found = rank < 2 ? find_process(rank) : 0;
    kill(found ? found : child, SIGKILL);
}

/* Waits for a launcher of which a process was killed. That of Open MPI 4.1 may hang at its own end, in
 * PMIx_server_finalize: it is killed when it has had no rank for some seconds. */
static int wait_for_launcher(pid_t child)
{
    int status;
    for (double last = fe_seconds(); waitpid(child, &status, WNOHANG) != child; usleep(20000)) {
        if (find_process(0) || find_process(1)) last = fe_seconds();
        if (fe_seconds() - last > 10 * PATIENCE) kill(child, SIGKILL);
    }
    return status;
}

/* Starts a command and kills it after some seconds. Returns, when all its processes have ended, whether it
 * was killed before its end. */
static int kill_after(const char *command, int mpi, double seconds)
{
    int status;
    unlink("out");
    const pid_t child = child_start(command);
    usleep((useconds_t)(1e6 * seconds));
    const int ended = waitpid(child, &status, WNOHANG) == child;
    if (!ended) kill_process(child, mpi);
    if (!ended && mpi) status = wait_for_launcher(child);
    if (!ended && !mpi) assert_int_equal(waitpid(child, &status, 0), child);
    const double begin = fe_seconds();
    for (pid_t left; mpi && (left = find_process(ANYONE)); usleep(10000))
        if (fe_seconds() - begin > LONG) fail_msg("%s: process %d runs on", command, (int)left);
    if (status && (ended || (!mpi && WIFEXITED(status)))) {
        read_into("err", sizeof child_said, child_said);
        fail_msg("%s: ended with status %d: %s", command, status, child_said);
    }
    return status != 0;
}

/* No step that the state had is lost; a result is there as soon as a step is, with the steps of the state and
 * one more at most, and with all that were shown. */
static void check_left(kills *k)
{
    const int in_state = state_steps("k.json.state"), written = (int)result_steps("k.json");
    const int kept = in_state > 0 ? in_state : 0;
    const int shown = access("out", F_OK) ? 0 : (int)child_steps_shown();
    if (shown > written) fail_msg("%d load steps were shown, %d are in the result", shown, written);
    if (in_state < 0 && written) { /* it had come to its end */
        json_decref(result_load_checked("k.json", "converged", N_STEP));
        k->after++;
        return;
    }
    if (kept < k->kept) fail_msg("%d load steps in the state, which had %d", kept, k->kept);
    k->kept = kept;
    if (written != kept && written != kept + 1) fail_msg("%d load steps, %d in the state", written, kept);
    if (written > kept)
        k->in_between++;
    else if (kept == 0)
        k->before++;
    else if (kept < N_STEP)
        k->between++;
    else
        k->after++;
}

/* Begins, or goes on where there is something to go on from. */
static void write_next(const manner *m, kills *k, size_t size, char *command)
{
    const int resumes = !access("k.json", F_OK) || !access("k.json.state", F_OK);
    const int ranks = m->ranks ? m->ranks : resumes ? (int)(3 + 2 * uniform()) : 2;
    write_command(m, ranks, resumes ? "--resume k.json --output k" : "--result k.json --output k", size,
                  command);
    k->resumed += resumes;
}

/* A run that is killed again and again and resumed, until it is through. */
static void kill_and_resume(const manner *m, kills *k, double seconds)
{
    char command[256];
    forget();
    k->kept = 0;
    int killed = 1;
    while (killed && k->done < k->wanted) {
        write_next(m, k, sizeof command, command);
        killed = kill_after(command, m->mpi, seconds * 0.5 * (1 + uniform()));
        if (killed) k->done++, check_left(k);
    }
    if (killed) {
        write_next(m, k, sizeof command, command);
        child_must(0, command);
    }
    assert_int_equal(state_steps("k.json.state"), -1);
    assert_int_equal(child_left_behind("k.json*.tmp") + child_left_behind("k/*.tmp"), 0);
    json_t *result = result_load_checked("k.json", "converged", N_STEP),
           *reference = result_load_checked("whole.json", "converged", N_STEP);
    const json_t *after = result_at(result_at(result, "run"), "resumed_after");
    if (json_integer_value(after) != k->kept)
        fail_msg("%s: resumed after %d, not %d", m->name, (int)json_integer_value(after), k->kept);
    if (m->tolerance > 0)
        result_assert_close(m->name, result, reference, m->tolerance);
    else
        result_assert_same(result, reference), child_must(0, SAME_SERIES);
    json_decref(result), json_decref(reference);
    k->runs++;
}

/* FE_KILLS: how many kills. */
static void kill_often(const manner *m)
{
    const char *asked = getenv("FE_KILLS");
    kills k = {.wanted = asked ? atoi(asked) : 8};
    char command[256];
    write_command(m, m->ranks ? m->ranks : 1, "--result whole.json --output whole", sizeof command, command);
    shell("rm -rf whole");
    const double begin = fe_seconds();
    child_must(0, command);
    const double seconds = fe_seconds() - begin;
    random_state = 11;
    while (k.done < k.wanted) kill_and_resume(m, &k, seconds);
    if (asked)
        print_message(
            "%s: %d kills: %d before the first load step, %d between two, %d between a step's result "
            "and its state, %d after the last; %d resumed; %d runs came to their end, all with the "
            "answer of the whole one\n",
            m->name, k.done, k.before, k.between, k.in_between, k.after, k.resumed, k.runs);
}

static void killed_runs_go_on(void **state)
{
    (void)state;
    kill_often(&(manner){"one rank", "", 0, 1, 0});
}
static void killed_threads_go_on(void **state)
{
    (void)state;
    kill_often(&(manner){"2 threads", "", 0, 2, 1e-12});
}
/* The whole run has one rank: only where the solver is accurate its answer is the same. */
static void killed_ranks_go_on_with_others(void **state)
{
    (void)state;
    kill_often(&(manner){"1 to 4 threads", "--tolerance 1e-12 --krylov-tolerance 1e-6", 0, 0, 1e-12});
}
static void killed_processes_go_on(void **state)
{
    (void)state;
    skip_if(processes_missing(), "ranks as processes");
    kill_often(&(manner){"2 processes", "", 1, 2, 1e-12});
}

/* --- runs that were stopped -------------------------------------------------------------------------- */

/* Runs until the result has n steps, and kills; the state has so many or one less. */
static void stop_at(const char *command, size_t n)
{
    int status = 0;
    const pid_t child = child_start(command);
    while (result_steps("k.json") < n && waitpid(child, &status, WNOHANG) == 0) usleep(500);
    if (status) {
        read_into("err", sizeof child_said, child_said);
        fail_msg("%s: ended: %s", command, child_said);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_true(state_steps("k.json.state") > 0);
    shell("rm -f *.tmp");
}

/* All that Newton's method keeps from step to step, in all its ways. */
static void every_method_goes_on(void **state)
{
    (void)state;
    static const char *const flags[] = {
        "--mesh tet.msh --tet-points 4 --jacobian difference --variant node_csr",
        "--mesh tet.msh --order random --krylov gmres --restart 5 --orthogonalization dcgs2 --variant "
        "element_warp",
        "--jacobian elastic --newton-iterations 500 --anderson 4 --variant assembled_bsr",
        "--predictor elastic --precondition multigrid --variant two_phase",
        "--precondition block-jacobi --krylov-iterations 30 --variant patch_ordered", /* multigrid takes over
                                                                                       */
        "--substep --newton-iterations 4 --variant element_color",
        "--no-line-search --precondition none --variant corner_gather",
        "--mesh random.msh --variant patch", /* the order auto: local numbers are not the mesh's */
        "--mesh random.msh --variant element_atomic",
    };
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        char command[512];
        snprintf(command, sizeof command, "solve r.json --threads 1 %s --result whole.json", flags[i]);
        child_must(0, command);
        forget();
        snprintf(command, sizeof command, "solve r.json --threads 1 %s --result k.json", flags[i]);
        stop_at(command, 3 + i % 5);
        snprintf(command, sizeof command, "solve r.json --threads 1 %s --resume k.json", flags[i]);
        child_must(0, command);
        json_t *result = result_load_checked("k.json", "converged", N_STEP),
               *reference = result_load_checked("whole.json", "converged", N_STEP);
        const int after = (int)result_number(result_at(result, "run"), "resumed_after");
        if (after < 2 || after >= N_STEP) fail_msg("%s: resumed after %d", flags[i], after);
        result_assert_same(result, reference);
        json_decref(result), json_decref(reference);
    }
}

/* One rank begins, others go on, each with fewer or more than the last. */
static void other_ranks_go_on(void **state)
{
    (void)state;
    static const char *const ranks[] = {"1", "3 --partition bisection", "2 --partition contiguous", "7"};
    static const char method[] = "--tolerance 1e-12 --krylov-tolerance 1e-6";
    char command[512];
    snprintf(command, sizeof command, "solve r.json --threads 1 %s --result whole.json", method);
    child_must(0, command);
    forget();
    for (int i = 0; i < 4; i++) {
        snprintf(command, sizeof command, "solve r.json --threads 1 %s --ranks %s --%s k.json", method,
                 ranks[i], i ? "resume" : "result");
        if (i < 3)
            stop_at(command, (size_t)(3 + 2 * i));
        else
            child_must(0, command);
    }
    json_t *result = result_load_checked("k.json", "converged", N_STEP),
           *reference = result_load_checked("whole.json", "converged", N_STEP);
    result_assert_close("1, 3, 2 and 7 ranks", result, reference, 1e-12);
    json_decref(result), json_decref(reference);
}

/* Result and fields may be any number of steps ahead of the state, and an interrupted or failed run goes on,
 * also in another way. */
static void older_states_cut_results_back(void **state)
{
    (void)state;
    shell("rm -rf whole");
    child_must(0, "solve r.json --threads 1 --result whole.json --output whole");
    forget();
    stop_at("solve r.json --threads 1 --result k.json --output k", 2);
    shell("cp k.json.state older");
    stop_at("solve r.json --threads 1 --resume k.json --output k", 6);
    shell("mv older k.json.state");
    child_must(0, "solve r.json --threads 1 --resume k.json --output k");
    json_t *result = result_load_checked("k.json", "converged", N_STEP),
           *reference = result_load("whole.json");
    result_assert_same(result, reference);
    child_must(0, SAME_SERIES);
    json_decref(result), json_decref(reference);

    forget();
    child_must(1, "solve r.json --threads 1 --newton-iterations 4 --result k.json");
    json_t *failed = result_load("k.json");
    const size_t n = json_array_size(result_at(failed, "steps"));
    json_decref(failed);
    json_decref(result_load_checked("k.json", "not_converged", n));
    assert_true(n > 0 && state_steps("k.json.state") == (int)n);
    child_must(0, "solve r.json --threads 1 --resume k.json --output late"); /* fields from here on */
    json_decref(result_load_checked("k.json", "converged", N_STEP));
    assert_int_equal(folder_count("late"), N_STEP - (int)n + 1);
}

/* A limit load is told by what the elastic increments before were like. */
static void limit_loads_are_found_alike(void **state)
{
    (void)state;
    child_write_problem(
        "limit.json",
        (problem){.material = "\"E\": 200000, \"nu\": 0.3, \"sigma_y\": 250, \"H\": 0",
                  .loads = "{\"group\": \"x1\", \"traction\": [100, 0, 0]}",
                  .supports =
                      "{\"group\": \"x0\", \"u\": {\"x\": 0}}, {\"group\": \"y0\", \"u\": {\"y\": 0}}, "
                      "{\"group\": \"z0\", \"u\": {\"z\": 0}}",
                  .factors = "1, 1.2, 1.4, 1.6, 1.8, 2, 2.2, 2.4, 2.6"});
    child_must(1, "solve limit.json --threads 1 --result whole.json");
    char said[sizeof child_said];
    strcpy(said, child_said);
    assert_non_null(strstr(said, "limit load"));
    forget();
    stop_at("solve limit.json --threads 1 --result k.json", 4);
    child_must(1, "solve limit.json --threads 1 --resume k.json");
    assert_string_equal(child_said, said);
    json_t *result = result_load("k.json"), *reference = result_load("whole.json");
    assert_string_equal(json_string_value(result_at(result, "status")), "limit_load");
    result_assert_same(result, reference);
    assert_true(json_equal(result_at(result, "failed_step"), result_at(reference, "failed_step")));
    json_decref(result), json_decref(reference);
}

/* --- states that do not belong ----------------------------------------------------------------------- */

#define RESUME "solve r.json --threads 1 --resume k.json"

static void flip(const char *path, size_t at)
{
    size_t n;
    char *bytes = read_file(path, &n);
    assert_true(at < n);
    bytes[at] ^= 4;
    write_bytes(path, n, bytes);
    free(bytes);
}

static void damage_is_seen(void **state)
{
    (void)state;
    size_t n;
    forget();
    stop_at("solve r.json --threads 1 --result k.json", 4);
    char *bytes = read_file("k.json.state", &n);
    for (size_t at = 0; at < n; at += n / 24) {
        flip("k.json.state", at);
        says(2, RESUME, at < 8 ? "k.json.state: is not a state of a run" : "k.json.state: is damaged");
        write_bytes("k.json.state", n, bytes);
    }
    for (size_t length = 0; length < n; length += n / 7 + 1) {
        write_bytes("k.json.state", length, bytes);
        child_must(2, RESUME);
        child_assert_said(RESUME, "solve", PARTS("k.json.state: is "));
    }
    /* sizes that are not the mesh's, with a hash that fits */
    write_bytes("k.json.state", n, bytes);
    fe_checkpoint c;
    for (int i = 0; i < 4; i++) {
        must(fe_checkpoint_read("k.json.state", &c));
        int64_t *const size[] = {&c.head.n_node, &c.head.n_elem, &c.head.n_path, &c.head.n_point};
        if (i == 0) --*size[i];
        if (i == 1) c.head.n_elem -= 1, c.head.n_yielded -= c.flags[c.head.n_elem] & 1;
        if (i >= 2) --*size[i];
        must(fe_checkpoint_write(&c, "k.json.state"));
        fe_checkpoint_close(&c);
        says(2, RESUME, "k.json.state: is damaged");
        write_bytes("k.json.state", n, bytes);
    }
    flip("k.json", 500);
    says(2, RESUME, "k.json: is not the result that the state beside it belongs to");
    flip("k.json", 500);
    child_must(0, RESUME);
    free(bytes);
}

static void states_belong_to_one_run(void **state)
{
    (void)state;
    forget();
    says(2, RESUME, "k.json: No such file or directory");
    says(2, "solve r.json --result a.json --resume k.json",
         "--result a.json: --resume k.json is the result, too");
    stop_at("solve r.json --threads 1 --result k.json --output k", 4);
    shell("cp r.json other.json");
    write_file("tail", "\n");
    shell("sh -c 'cat tail >>other.json'");
    says(2, "solve other.json --threads 1 --resume k.json",
         "k.json.state: belongs to another problem than other.json");
    shell("meshgen box -c 5 -d 0.21 -o other.msh");
    says(2, RESUME " --mesh other.msh", "k.json.state: belongs to another mesh than other.msh");
    says(2, RESUME " --order rcm", "k.json.state: belongs to a run with another --order");
    says(2, "solve k.json.state", "k.json.state:1:");
    shell("cp k/cube_0002.vtu kept");
    shell("rm k/cube_0002.vtu");
    says(2, RESUME " --output k",
         "k/cube_0002.vtu: No such file or directory: the series cannot go on without it");
    shell("mv kept k/cube_0002.vtu");
    fe_checkpoint c;
    must(fe_checkpoint_read("k.json.state", &c));
    strcpy(c.head.identity.version, "0123456789ab");
    must(fe_checkpoint_write(&c, "old"));
    fe_checkpoint_close(&c);
    shell("cp k.json.state kept");
    shell("mv old k.json.state");
    says(2, RESUME, "k.json.state: was written by version 0123456789ab; this is ");
    shell("mv kept k.json.state");
    child_must(0, RESUME " --output k");
    const pid_t gone = child_start("true"), zombie = child_start("true");
    siginfo_t end;
    assert_int_equal(child_finish(gone), 0);
    assert_int_equal(waitid(P_PID, (id_t)zombie, &end, WEXITED | WNOWAIT), 0);
    char text[128];
    snprintf(text, sizeof text, "touch k.json.%d.tmp k/cube.pvd.%d.tmp k.json.%d.tmp", (int)gone, (int)gone,
             (int)zombie);
    shell(text);                         /* as killed runs leave them */
    child_must(0, RESUME " --output k"); /* done: nothing is computed again */
    assert_int_equal(child_finish(zombie), 0);
    assert_int_equal(child_left_behind("k.json*.tmp") + child_left_behind("k/*.tmp"), 0);
    child_must(0, RESUME); /* whatever the flags */
    read_into("out", sizeof text, text);
    assert_string_equal(text, "k.json: all 12 load steps are done\n");
    says(2, "solve other.json --threads 1 --resume k.json", "k.json.state: No such file or directory");
}

static void states_are_kept_where_they_are_wanted(void **state)
{
    (void)state;
    forget();
    write_file("k.json.state", "of an older run");
    child_must(0, "solve r.json --threads 1 --no-state --result k.json");
    assert_int_equal(state_steps("k.json.state"), -1);
    shell("sh -c 'solve r.json --threads 1 --result /dev/stdout >piped'");
    shell("sh -c 'solve r.json --threads 1 --result /dev/stdout | cat >piped'");
    assert_int_not_equal(access("/dev/stdout.state", F_OK), 0);
    shell("cp r.json s.json");
    shell("cp s.json q.state");
    says(2, "solve q.state --threads 1 --result q",
         "--result q: its state q.state is the same file as q.state, which is read");
}

/* --steps ends a run after a load step whose state is kept, also that of the last one; it goes on to the same
 * answer. */
static void runs_stop_where_they_are_told_to(void **state)
{
    (void)state;
    forget();
    child_must(0, "solve r.json --threads 1 --result whole.json");
    child_must(0, "solve r.json --threads 1 --steps 5 --result k.json");
    json_decref(result_load_checked("k.json", "interrupted", 5));
    assert_int_equal(state_steps("k.json.state"), 5);
    says(2, RESUME " --steps 4", "--steps 4: k.json has 5 load steps already");
    says(2, RESUME " --steps 13", "--steps 13: r.json has 12 load steps");
    child_must(0, RESUME " --steps 9");
    json_decref(result_load_checked("k.json", "interrupted", 9));
    child_must(0, RESUME " --steps 12");
    json_t *result = result_load_checked("k.json", "converged", N_STEP),
           *reference = result_load("whole.json");
    result_assert_same(result, reference);
    json_decref(result), json_decref(reference);
    assert_int_equal(state_steps("k.json.state"), N_STEP);
    child_must(0, RESUME);
    json_decref(result_load_checked("k.json", "converged", N_STEP));
    assert_int_equal(state_steps("k.json.state"), -1);
}

int main(int argc, char **argv)
{
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_runs_go_on),
        cmocka_unit_test(killed_threads_go_on),
        cmocka_unit_test(killed_ranks_go_on_with_others),
        cmocka_unit_test(every_method_goes_on),
        cmocka_unit_test(other_ranks_go_on),
        cmocka_unit_test(older_states_cut_results_back),
        cmocka_unit_test(limit_loads_are_found_alike),
        cmocka_unit_test(damage_is_seen),
        cmocka_unit_test(states_belong_to_one_run),
        cmocka_unit_test(states_are_kept_where_they_are_wanted),
        cmocka_unit_test(runs_stop_where_they_are_told_to),
        cmocka_unit_test_teardown(killed_processes_go_on, clean_up), /* last: its settings hide leaks */
    };
    return cmocka_run_group_tests(tests, open_folder, child_close);
}
