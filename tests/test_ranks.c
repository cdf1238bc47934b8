/* One, two and three host ranks give one answer: the partition decides who computes, not what.
 *
 * Newton stops at 1e-12 here instead of 1e-9, so that what is left of the residual is far below the 1e-8 that
 * displacements are compared to. Sums over elements and points show copies that are counted twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/variant.h"
#include "tests/reference.h"

enum { N_STEP = 3, MAX_RANKS = 3 };

static const char *const cases[][2] = {{"strip", "strip_tet.msh"}, {"cylinder", "cylinder_hex.msh"}};
static const struct {
    int number;
    const char *name;
} partitions[] = {{FE_PARTITION_CONTIGUOUS, "contiguous"},
#if FE_HAVE_METIS
                  {FE_PARTITION_METIS, "metis"}
#endif
};
enum { N_CASE = sizeof cases / sizeof *cases, N_PARTITION = sizeof partitions / sizeof *partitions };

typedef struct setting {
    const char *problem, *mesh, *variant;
    int partition;
    char name[160];
} setting;

typedef struct runs {
    fe_case problem;
    fe_mesh mesh;
    fe_boundary boundary;
    fe_result result[MAX_RANKS];
    history history[MAX_RANKS];
} runs;

static void runs_close(runs *r)
{
    for (int i = 0; i < MAX_RANKS; i++) {
        history_close(&r->history[i]);
        fe_result_close(&r->result[i]);
    }
    fe_boundary_close(&r->boundary);
    fe_mesh_close(&r->mesh);
    fe_case_close(&r->problem);
}

static fe_status runs_solve(const setting *s, runs *r)
{
    char path[256];
    snprintf(path, sizeof path, VALIDATION_FOLDER "/problems/%s.json", s->problem);
    FE_TRY(fe_case_read(path, &r->problem));
    r->problem.n_step = N_STEP; /* plasticity has begun by then */
    snprintf(path, sizeof path, VALIDATION_FOLDER "/meshes/%s", s->mesh);
    FE_TRY(fe_mesh_read(path, 0, &r->mesh));
    FE_TRY(fe_boundary_apply(&r->problem, &r->mesh, &r->boundary));
    fe_options options = fe_default_options();
    options.variant = s->variant;
    options.backend = "host";
    options.partition = s->partition;
    options.tolerance = 1e-12;
    options.threads = 1;
    for (int i = 0; i < MAX_RANKS; i++) {
        options.ranks = i + 1;
        FE_TRY(history_open(&r->mesh, &r->history[i]));
        const fe_observer observer = history_observer(&r->history[i]);
        FE_TRY(fe_solve(&r->problem, &r->mesh, &r->boundary, &options, &observer, &r->result[i]));
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
    const size_t n_node = (size_t)r->mesh.n_node, n_elem = (size_t)r->mesh.n_elem;
    const struct {
        const char *what;
        double difference;
    } checks[] = {{"displacement", difference(f->displacement, g->displacement, 3 * n_node)},
                  {"stress", difference(f->stress, g->stress, 6 * n_elem)},
                  {"peeq", difference(f->peeq, g->peeq, n_elem)},
                  {"reactions", difference(a->reaction, b->reaction, (size_t)r->boundary.n_reaction)},
                  {"probes", difference(a->probe[0], b->probe[0], 3 * (size_t)r->boundary.n_probe)},
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
        print_error("%s: %d ranks, step %d: %s differs by %.2e\n", c->name, i + 1, s + 1, checks[k].what,
                    checks[k].difference);
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
    for (int i = 0; i < MAX_RANKS && status == FE_OK; i++) {
        if (r.result[i].n_step != N_STEP || r.history[i].n_step != N_STEP) n++;
        for (int t = 0; t < N_STEP && n == 0; t++) n += count_differences(s, &r, i, t);
    }
    const int plastic = status == FE_OK && n == 0 && r.result[0].step[N_STEP - 1].plastic_gp > 0;
    runs_close(&r);
    assert_int_equal(status, FE_OK);
    assert_int_equal(n, 0);
    assert_true(plastic);
}

static void *meet_and_abort(void *team)
{
    fe_comm *comm;
    if (fe_comm_threads(team, 1, &comm) != FE_OK) return NULL;
    if (comm->barrier(comm) == FE_OK) comm->abort(comm, FE_FAILED, "on purpose");
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
        fe_comm *comm;
        pthread_t other;
        assert_int_equal(fe_team_open(2, &team), FE_OK);
        assert_int_equal(fe_comm_threads(team, 0, &comm), FE_OK);
        assert_int_equal(pthread_create(&other, NULL, meet_and_abort, team), 0);
        const fe_status met = comm->barrier(comm), missed = comm->barrier(comm);
        pthread_join(other, NULL);
        fe_comm_close(comm);
        fe_team_close(team);
        assert_int_equal(met, FE_OK);
        assert_int_equal(missed, FE_FAILED);
    }
}

int main(int argc, char **argv)
{
    const size_t most = (size_t)fe_variant_count() * N_CASE * N_PARTITION + 1;
    setting *settings = calloc(most, sizeof *settings);
    struct CMUnitTest *tests = calloc(most, sizeof *tests);
    if (!settings || !tests) return 1;
    size_t n = 0;
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_abort_behind_a_barrier);
    for (int v = 0; v < fe_variant_count(); v++) {
        const fe_variant *variant = fe_variant_at(v);
        for (size_t k = 0; variant->host && k < N_CASE * N_PARTITION; k++, n++) {
            const char *const *c = cases[k / N_PARTITION];
            setting *s = &settings[n];
            *s = (setting){c[0], c[1], variant->name, partitions[k % N_PARTITION].number, ""};
            snprintf(s->name, sizeof s->name, "%s %s %s", c[1], s->variant, partitions[k % N_PARTITION].name);
            tests[n] = (struct CMUnitTest){.name = s->name, .test_func = test_ranks, .initial_state = s};
        }
    }
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    const int failed = _cmocka_run_group_tests("ranks", tests, n, NULL, NULL);
    free(tests);
    free(settings);
    return failed ? 1 : 0;
}
