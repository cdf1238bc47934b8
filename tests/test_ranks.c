/* Host ranks as threads give the same answer as one rank: the partition decides which rank computes, not
 * what. Every strategy runs on 3 ranks, one of them on 2 to 7. Ranks that fail or hang end the others.
 *
 * Newton stops at 1e-12 here instead of 1e-9, so that what is left of the residual is far below the 1e-8 that
 * displacements are compared to. Sums over elements and points show copies that are counted twice. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/ranks/ranks.h"
#include "common/variant.h"
#include "have/metis.h"
#include "tests/common.h"
#include "tests/reference.h"

enum { N_STEP = 3, MAX_RUNS = 5 };

static const char *const linear[][2] = {{"strip", "strip_tet.msh"}, {"cylinder", "cylinder_hex.msh"}};
/* For strategies with quadratic elements. */
static const char *const quadratic[][2] = {{"strip", "strip_tet10.msh"}, {"cylinder", "cylinder_hex27.msh"}};
static const struct {
    int number;
    const char *name;
} partitions[] = {{FE_PARTITION_CONTIGUOUS, "contiguous"},
#if FE_HAVE_METIS
                  {FE_PARTITION_METIS, "metis"}
#endif
};
enum {
    N_LINEAR = sizeof linear / sizeof *linear,
    N_QUADRATIC = sizeof quadratic / sizeof *quadratic,
    N_PARTITION = sizeof partitions / sizeof *partitions
};

/* The first run is the one that the others are compared with. */
typedef struct way {
    int ranks, partition; /* of `partitions` */
} way;
static const way few[] = {{1, 0}, {3, 0}, {3, 1}}, contiguous[] = {{1, 0}, {2, 0}, {3, 0}, {4, 0}, {7, 0}},
                 metis[] = {{1, 0}, {2, 1}, {3, 1}, {4, 1}, {7, 1}};

typedef struct setting {
    const char *problem, *mesh, *variant;
    int n_run;
    const way *run; /* [n_run] */
    char name[160];
} setting;

typedef struct runs {
    validation given;
    fe_result result[MAX_RUNS];
    history history[MAX_RUNS];
} runs;

static void runs_close(runs *r)
{
    for (int i = 0; i < MAX_RUNS; i++) {
        history_close(&r->history[i]);
        fe_result_close(&r->result[i]);
    }
    validation_close(&r->given);
}

static fe_status runs_solve(const setting *s, runs *r)
{
    FE_TRY(validation_open(s->problem, s->mesh, &r->given));
    r->given.problem.n_step = N_STEP; /* plasticity has begun by then */
    fe_options options = fe_default_options();
    options.variant = s->variant;
    options.backend = "host";
    options.tolerance = 1e-12;
    options.threads = 1;
    for (int i = 0; i < s->n_run; i++) {
        options.ranks = s->run[i].ranks;
        options.partition = partitions[s->run[i].partition].number;
        FE_TRY(history_open(&r->given.mesh, &r->history[i]));
        const fe_observer observer = history_observer(&r->history[i]);
        FE_TRY(fe_run_case(&r->given.problem, &r->given.mesh, &r->given.boundary, &options, &observer,
                           &r->result[i]));
    }
    return FE_OK;
}

/* max |a - b| / max |a|; infinite on NaN. */
static double difference(const double *a, const double *b, size_t n)
{
    double largest = 0, scale = 0;
    for (size_t i = 0; i < n; i++) {
        if (!(fabs(a[i] - b[i]) <= largest)) largest = isnan(a[i] - b[i]) ? INFINITY : fabs(a[i] - b[i]);
        if (fabs(a[i]) > scale) scale = fabs(a[i]);
    }
    return largest == 0 ? 0 : largest / scale;
}

/* Prints what differs by more than 1e-8 between run 0 and run i at step s; returns how much does. */
static int count_differences(const setting *c, const runs *r, int i, int s)
{
    const fe_step_result *a = &r->result[0].step[s], *b = &r->result[i].step[s];
    const history_step *f = &r->history[0].step[s], *g = &r->history[i].step[s];
    const size_t n_node = (size_t)r->given.mesh.n_node, n_elem = (size_t)r->given.mesh.n_elem;
    const struct {
        const char *what;
        double difference;
    } checks[] = {{"displacement", difference(f->displacement, g->displacement, 3 * n_node)},
                  {"stress", difference(f->stress, g->stress, 6 * n_elem)},
                  {"peeq", difference(f->peeq, g->peeq, n_elem)},
                  {"reactions", difference(a->reaction, b->reaction, (size_t)r->given.boundary.n_reaction)},
                  {"probes", difference(a->probe[0], b->probe[0], 3 * (size_t)r->given.boundary.n_probe)},
                  {"max_peeq", difference(&a->max_peeq, &b->max_peeq, 1)},
                  {"max_mises", difference(&a->max_mises, &b->max_mises, 1)},
                  {"elastic_energy", difference(&a->elastic_energy, &b->elastic_energy, 1)},
                  {"plastic_work", difference(&a->plastic_work, &b->plastic_work, 1)},
                  {"int_peeq", difference(&a->int_peeq, &b->int_peeq, 1)},
                  {"norm_u", difference(&a->norm_u, &b->norm_u, 1)},
                  {"volume", difference(&r->result[0].volume, &r->result[i].volume, 1)},
                  {"plastic_gp", a->plastic_gp == b->plastic_gp ? 0 : INFINITY}};
    int n = 0;
    for (size_t k = 0; k < sizeof checks / sizeof *checks; k++) {
        if (checks[k].difference <= 1e-8) continue;
        print_error("%s: %d ranks, %s, step %d: %s differs by %.2e\n", c->name, c->run[i].ranks,
                    partitions[c->run[i].partition].name, s + 1, checks[k].what, checks[k].difference);
        n++;
    }
    return n;
}

static void test_ranks(void **state)
{
    const setting *s = *state;
    runs r = {0};
    int n = 0;
    const fe_status status = runs_solve(s, &r);
    if (status != FE_OK) print_error("%s: %s\n", s->name, fe_message());
    for (int i = 0; i < s->n_run && status == FE_OK; i++) {
        if (r.result[i].n_step != N_STEP || r.history[i].n_step != N_STEP) n++;
        for (int t = 0; t < N_STEP && n == 0; t++) n += count_differences(s, &r, i, t);
    }
    const int plastic = status == FE_OK && n == 0 && r.result[0].step[N_STEP - 1].plastic_gp > 0;
    runs_close(&r);
    assert_int_equal(status, FE_OK);
    assert_int_equal(n, 0);
    assert_true(plastic);
}

/* --- ranks that fail -------------------------------------------------------------------------------- */

/* A rank that makes one call and keeps what came of it. */
typedef struct caller {
    fe_team *team;
    int rank, call;
    fe_status status;
    char message[256];
} caller;

enum { BARRIER, SUM, LARGEST, BROADCAST, COLLECT, CHECK, N_CALL };

static void *call(void *argument)
{
    caller *c = argument;
    fe_comm *comm = fe_comm_team(c->team, c->rank);
    double x = 0;
    switch (c->call) {
    case BARRIER: c->status = comm->ops->barrier(comm); break;
    case SUM: c->status = fe_comm_sum(comm, NULL, 1, &x); break;
    case LARGEST: c->status = fe_comm_largest(comm, NULL, 1, &x); break;
    case BROADCAST: c->status = comm->ops->broadcast(comm, sizeof x, &x); break;
    case COLLECT: c->status = comm->ops->collect(comm, 1, &x); break;
    case CHECK:
        while ((c->status = comm->ops->check(comm, fe_seconds())) == FE_OK) sched_yield();
        break;
    }
    snprintf(c->message, sizeof c->message, "%s", c->status == FE_OK ? "" : fe_message());
    fe_comm_close(comm);
    return NULL;
}

/* Ranks 0 and 2 make a call; rank 1 aborts, before or after them, or never comes. */
static void call_without_rank_1(int what, int aborts, caller c[2])
{
    fe_team *team;
    pthread_t thread[2];
    must(fe_team_open(3, &team));
    fe_comm *comm = fe_comm_team(team, 1);
    for (int i = 0; i < 2; i++) {
        if (i && aborts) {
            usleep(20000); /* for the first to come to its wait */
            comm->ops->abort(comm, FE_OUT_OF_MEMORY, "on purpose");
        }
        c[i] = (caller){.team = team, .rank = 2 * i, .call = what};
        assert_int_equal(pthread_create(&thread[i], NULL, call, &c[i]), 0);
    }
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    fe_comm_close(comm);
    fe_team_close(team);
}

static void test_abort_reaches_every_wait(void **state)
{
    (void)state;
    const double start = fe_seconds();
    for (int what = 0; what < N_CALL; what++) {
        caller c[2];
        call_without_rank_1(what, 1, c);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(c[i].status, FE_OUT_OF_MEMORY);
            assert_string_equal(c[i].message, "another rank failed: rank 1: on purpose");
        }
    }
    assert_true(fe_seconds() - start < 0.5 * fe_comm_timeout); /* woken, not run out of time */
}

static void test_missing_rank_is_named(void **state)
{
    (void)state;
    caller c[2];
    fe_comm_timeout = 1.0;
    const double start = fe_seconds();
    call_without_rank_1(BARRIER, 0, c);
    const double seconds = fe_seconds() - start;
    fe_comm_timeout = 60.0;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(c[i].status, FE_FAILED);
        assert_string_equal(c[i].message, "rank 1 has not answered for 1 s (--timeout)");
    }
    assert_true(seconds >= 1.0 && seconds < 30.0);
}

/* Rank 1 fails, and the others stick in a call, as in one of CUDA, until may_end. */
static atomic_int may_end;
static fe_status fail_or_stick(void *context, fe_comm *comm, fe_device *device)
{
    (void)context, (void)device;
    if (comm->rank == 1) return fe_fail(FE_OUT_OF_MEMORY, "on purpose");
    while (!atomic_load(&may_end)) usleep(1000);
    return FE_OK;
}

static void test_stuck_ranks_are_abandoned(void **state)
{
    (void)state;
    fe_ranks ranks = {.backend = &fe_backend_host, .n_rank = 3, .threads = 1};
    fe_comm_timeout = 1.0;
    const double start = fe_seconds();
    const fe_status status = fe_ranks_run(&ranks, fail_or_stick, NULL);
    const double seconds = fe_seconds() - start;
    fe_comm_timeout = 60.0;
    atomic_store(&may_end, 1);
    assert_int_equal(status, FE_OUT_OF_MEMORY);
    assert_string_equal(fe_message(), "rank 1: on purpose");
    assert_true(ranks.abandoned && fe_ranks_stranded());
    assert_true(seconds >= 1.0 && seconds < 30.0);
}

/* An observer that shows step 2 for longer than the others wait. */
static fe_status show_slowly(void *context, const fe_step_result *step, const fe_fields *fields)
{
    (void)fields;
    if (!step) return FE_OK;
    *(int *)context = step->step;
    if (step->step == 2) usleep(4000000);
    return FE_OK;
}

/* Output may take longer than the others wait for a silent rank. */
static void test_slow_output_is_awaited(void **state)
{
    (void)state;
    validation given;
    fe_result result = {0};
    int shown = 0;
    const fe_observer observer = {&shown, FE_FIELDS_NONE, show_slowly};
    must(validation_open("patch_plastic", "patch_hex.msh", &given));
    fe_options options = fe_default_options();
    options.ranks = 2;
    options.threads = 1;
    assert_true(given.problem.n_step > 2);
    fe_comm_timeout = 1.0;
    const fe_status status =
        fe_run_case(&given.problem, &given.mesh, &given.boundary, &options, &observer, &result);
    fe_comm_timeout = 60.0;
    assert_int_equal(status, FE_OK);
    assert_string_equal(result.status, "converged");
    assert_int_equal(shown, given.problem.n_step);
    assert_int_equal(result.n_step, given.problem.n_step);
    fe_result_close(&result);
    validation_close(&given);
}

static void *meet_and_abort(void *team)
{
    fe_comm *comm = fe_comm_team(team, 1);
    if (comm->ops->barrier(comm) == FE_OK) comm->ops->abort(comm, FE_FAILED, "on purpose");
    fe_comm_close(comm);
    return NULL;
}

/* A rank that fails just behind a barrier that all have reached does not fail it for those which wake up
 * later: rank 0 would drop a load step that every rank has finished. */
static void test_abort_behind_a_barrier(void **state)
{
    (void)state;
    for (int trial = 0; trial < 2000; trial++) {
        fe_team *team;
        pthread_t other;
        assert_int_equal(fe_team_open(2, &team), FE_OK);
        fe_comm *comm = fe_comm_team(team, 0);
        assert_int_equal(pthread_create(&other, NULL, meet_and_abort, team), 0);
        const fe_status met = comm->ops->barrier(comm), missed = comm->ops->barrier(comm);
        pthread_join(other, NULL);
        fe_comm_close(comm);
        fe_team_close(team);
        assert_int_equal(met, FE_OK);
        assert_int_equal(missed, FE_FAILED);
    }
}

/* Adds one test; returns how many. */
static size_t add(setting *s, struct CMUnitTest *test, const char *const *c, const char *variant, int n_run,
                  const way *run, const char *what)
{
    *s = (setting){c[0], c[1], variant, n_run, run, ""};
    snprintf(s->name, sizeof s->name, "%s %s %s", c[1], variant, what);
    *test = (struct CMUnitTest){.name = s->name, .test_func = test_ranks, .initial_state = s};
    return 1;
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest of_parts[] = {
        cmocka_unit_test(test_abort_reaches_every_wait),  cmocka_unit_test(test_missing_rank_is_named),
        cmocka_unit_test(test_stuck_ranks_are_abandoned), cmocka_unit_test(test_slow_output_is_awaited),
        cmocka_unit_test(test_abort_behind_a_barrier),
    };
    enum { N_PARTS = sizeof of_parts / sizeof *of_parts };
    const size_t most = N_PARTS + (size_t)fe_variant_count() * (2 * N_LINEAR + N_QUADRATIC);
    setting *settings = calloc(most, sizeof *settings);
    struct CMUnitTest *tests = calloc(most, sizeof *tests);
    if (!settings || !tests) return 1;
    size_t n = N_PARTS;
    memcpy(tests, of_parts, sizeof of_parts);
    for (int v = 0; v < fe_variant_count(); v++) {
        const fe_variant *variant = fe_variant_at(v);
        const int all = !strcmp(variant->name, fe_default_options().variant);
        const char *const name = variant->name;
        for (int k = 0; variant->host && k < N_LINEAR; k++) {
            if (!all)
                n += add(settings + n, tests + n, linear[k], name, 1 + N_PARTITION, few, "1 and 3 ranks");
            if (all) n += add(settings + n, tests + n, linear[k], name, MAX_RUNS, contiguous, "contiguous");
            if (all && FE_HAVE_METIS)
                n += add(settings + n, tests + n, linear[k], name, MAX_RUNS, metis, "metis");
        }
        for (int k = 0; variant->host && variant->host->quadratic && k < N_QUADRATIC; k++)
            n += add(settings + n, tests + n, quadratic[k], name, 1 + N_PARTITION, few, "1 and 3 ranks");
    }
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    const int failed = _cmocka_run_group_tests("ranks", tests, n, NULL, NULL);
    free(tests);
    free(settings);
    return failed ? 1 : 0;
}
