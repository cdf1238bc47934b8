/* Random small problems, solved by the solver and by dense matrices (plain.h): the same displacements to 1e-6
 * of the largest, or the right refusal.
 *
 * FE_RANDOM=N solves N problems instead of a few dozen, FE_RANDOM_SEED=S begins with that of seed S,
 * FE_RANDOM_BACKEND=cuda solves them on a GPU. */
#include "common/problem/share.h"
#include "common/solver/sparse_lu.h"
#include "common/variant.h"
#include "tests/common.h"
#include "tests/random_problem.h"
#include "tests/reference.h"
#include "tests/scene.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FEW = 40, FIRST = 161 /* among these are limit loads */ };

static int number_of(const char *name, int otherwise)
{
    const char *text = getenv(name);
    return text ? atoi(text) : otherwise;
}

static const char *backend(void)
{
    const char *name = getenv("FE_RANDOM_BACKEND");
    return name ? name : "host";
}

/* Any strategy, preconditioner, partition and order. */
static fe_options draw_options(const random_problem *p, char *said, size_t size)
{
    fe_options o = fe_default_options();
    const fe_variant *v;
    random_state = fe_mix(p->seed ^ 0x5eed);
#define DRAW(n) ((int)(0.5 * (1 + uniform()) * (n)))
    o.backend = backend();
    do v = fe_variant_at(DRAW(fe_variant_count()));
    while (variant_missing(v, o.backend));
    o.variant = v->name;
    o.threads = 1;
    o.ranks = p->mesh.n_node >= 16 && !strcmp(o.backend, "host") ? 1 + DRAW(3) : 1;
    o.partition = DRAW(2) ? FE_PARTITION_AUTO : FE_PARTITION_CONTIGUOUS;
    o.precondition = DRAW(FE_N_PRECONDITION - !FE_HAVE_SUPERLU);
    o.krylov = DRAW(3) ? FE_KRYLOV_AUTO : FE_KRYLOV_GMRES;
    o.predictor = DRAW(2);
    if (p->mesh.kind == FE_TET4 && !hardens_by_voce(p) && DRAW(4) == 0) o.tet_points = 4;
#undef DRAW
    o.progress = 1e6;

    snprintf(said, size, "%s, %d ranks, %s, %s, %d points", o.variant, o.ranks,
             fe_precondition_names[o.precondition], o.krylov == FE_KRYLOV_GMRES ? "gmres" : "cg",
             o.tet_points);
    return o;
}

/* What happened to the problems. */
typedef struct tally {
    int converged, refused, limit, lost, again, n_step;
    double worst;
} tally;

/* A sanitizer's report must not get lost. */
static int quiet(void)
{
    if (PATIENCE > 1) return -1;
    fflush(stderr);
    const int kept = dup(STDERR_FILENO);
    FILE *nowhere = fopen("/dev/null", "w");
    assert_true(kept >= 0 && nowhere && dup2(fileno(nowhere), STDERR_FILENO) >= 0);
    fclose(nowhere);
    return kept;
}

static void loud(int kept)
{
    if (kept < 0) return;
    fflush(stderr);
    dup2(kept, STDERR_FILENO);
    close(kept);
}

/* max |u - v| over the largest |v| of the run so far. */
static double difference(const random_problem *p, const double *u, const double *v, double *largest)
{
    double most = 0;
    for (int k = 0; k < 3 * p->mesh.n_node; k++) {
        most = fmax(most, isnan(u[k]) ? INFINITY : fabs(u[k] - v[k]));
        *largest = fmax(*largest, fabs(v[k]));
    }
    return *largest > 0 ? most / *largest : most;
}

static int hardens_somewhere(const random_problem *p)
{
    int hardens = 0;
    for (int m = 0; m < p->n_material; m++) hardens |= p->material[m].H > 0;
    return hardens;
}

/* Compares a run with the plain code's steps. Returns the number of faults, which are told. */
static int compare_steps(const random_problem *p, plain *q, const fe_result *result, const history *h,
                         const char *how, tally *t)
{
    double *value = zeros(3 * (size_t)p->mesh.n_node, 8), *load = zeros(3 * (size_t)p->mesh.n_node, 8);
    double largest = 0;
    int bad = 0;
    for (int s = 0; s < p->n_step && !bad; s++) {
        random_problem_at(p, s, value, load);
        plain_ending ending = plain_step(q, value, load);
        /* where one of several materials hardens, a long way says little, and a balance that was found is one
         */
        if (ending == PLAIN_LIMIT && result->n_step > s && hardens_somewhere(p)) ending = PLAIN_LOST;
        if (ending == PLAIN_LOST) {
            t->lost++;
            break;
        }
        if ((ending == PLAIN_CONVERGED) != (result->n_step > s) ||
            (ending == PLAIN_LIMIT && strcmp(result->status, "limit_load"))) {
            print_message("seed %llu, step %d: %s, but %s; %s; %s\n", (unsigned long long)p->seed, s + 1,
                          ending == PLAIN_LIMIT ? "a limit load" : "converged", result->status, p->said, how);
            bad++;
        }
        if (ending == PLAIN_LIMIT) t->limit++;
        if (ending == PLAIN_LIMIT || bad) break;
        const double off = difference(p, h->step[s].displacement, q->u, &largest);
        t->worst = fmax(t->worst, off), t->n_step++;
        if (off <= 1e-6) continue;
        print_message("seed %llu, step %d: displacements differ by %.1e; %s; %s\n",
                      (unsigned long long)p->seed, s + 1, off, p->said, how);
        bad++;
    }
    free(value), free(load);
    return bad;
}

/* A run of a problem: its displacements in the history, its status in the result. */
typedef struct solved {
    fe_status applied;
    fe_boundary b;
    fe_result result;
    history h;
} solved;

/* Without the solver's notes: it tells what it did about trouble, and trouble is what is asked for here. */
static solved solve(const random_problem *p, const fe_options *o)
{
    solved s = {0};
    const int kept = quiet();
    must(history_open(&p->mesh, &s.h));
    const fe_observer observer = history_observer(&s.h);
    s.applied = fe_boundary_apply(&p->c, &p->mesh, &s.b);
    if (s.applied == FE_OK) fe_run_case(&p->c, &p->mesh, &s.b, o, &observer, &s.result);
    loud(kept);
    return s;
}

static void solved_close(solved *s)
{
    history_close(&s->h);
    fe_result_close(&s->result);
    fe_boundary_close(&s->b);
}

/* Solves a problem and compares it. Returns the number of faults. */
static int check_solution(const random_problem *p, plain *q, int n_zero, double least, const fe_options *o,
                          const char *how, tally *t)
{
    int bad = 0;
    solved s = solve(p, o);
    if ((s.applied != FE_OK) != (n_zero > 0)) {
        print_message("seed %llu: %d zero eigenvalues, the next %.1e, but: %s\n", (unsigned long long)p->seed,
                      n_zero, least, s.applied == FE_OK ? "accepted" : fe_message());
        bad++;
    } else if (s.applied == FE_OK) {
        bad = compare_steps(p, q, &s.result, &s.h, how, t);
        t->converged += !strcmp(s.result.status, "converged");
    } else {
        assert_true(strstr(fe_message(), "can rotate") || strstr(fe_message(), "can move"));
        t->refused++;
    }
    solved_close(&s);
    return bad;
}

/* A second time where the first answer is off: with conjugate gradients, since restarted GMRES may give up,
 * and to a tolerance of 1e-12, since near nu = 0.5 displacements are a thousand times less exact than forces.
 */
static int check_problem(uint64_t seed, tally *t)
{
    random_problem p;
    plain q;
    char how[160];
    double least;
    int bad = 0;
    random_problem_open(&p, seed);
    fe_options o = draw_options(&p, how, sizeof how);
    for (int turn = 0; turn < 2; turn++) {
        tally before = *t;
        plain_open(&q, &p.mesh, fe_points(p.mesh.kind), p.n_material, p.material, p.elem_material,
                   p.is_fixed);
        const int n_zero = plain_zeros(&q, &least);
        bad = check_solution(&p, &q, n_zero, least, &o, how, t);
        plain_close(&q);
        if (!bad || turn == 1) break;
        *t = before, t->again++;
        o.krylov = FE_KRYLOV_CG, o.tolerance = 1e-12;
    }
    random_problem_close(&p);
    return bad;
}

static void problems_have_the_answer_of_dense_matrices(void **state)
{
    (void)state;
    const int n = number_of("FE_RANDOM", FEW), first = number_of("FE_RANDOM_SEED", FIRST);
    tally t = {0};
    int bad = 0;
    skip_if(variant_missing(fe_variant_at(0), backend()), backend());
    for (int k = 0; k < n; k++) bad += check_problem((uint64_t)(first + k), &t);
    if (n != FEW)
        print_message("%d problems, %d steps: %d converged, %d refused, %d limit loads, %d lost by the plain "
                      "code, %d solved "
                      "at the second try; worst %.1e\n",
                      n, t.n_step, t.converged, t.refused, t.limit, t.lost, t.again, t.worst);
    assert_int_equal(bad, 0);
    assert_true(t.lost <= n / 100 && t.again <= n / 100);
    if (n < FEW) return;
    assert_true(t.converged > n / 2 && t.refused > n / 20);
}

/* --- ranks ------------------------------------------------------------------------------------------- */

/* How far the answers of one and of several ranks are apart; -1 where there are none to compare. */
static double apart_by_ranks(uint64_t seed, double tolerance)
{
    random_problem p;
    char how[160];
    double apart = -1, largest = 0;
    random_problem_open(&p, seed);
    fe_options o = draw_options(&p, how, sizeof how);
    o.tolerance = tolerance;
    o.ranks = 1;
    solved one = solve(&p, &o);
    if (one.applied == FE_OK && p.mesh.n_node >= 16) {
        o.ranks = 2 + (int)(seed % 3);
        solved more = solve(&p, &o);
        for (int s = 0; s < one.result.n_step && s < more.result.n_step; s++)
            apart = fmax(apart,
                         difference(&p, more.h.step[s].displacement, one.h.step[s].displacement, &largest));
        solved_close(&more);
    }
    solved_close(&one);
    random_problem_close(&p);
    return apart;
}

static int by_size(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

/* What is left unbalanced, 1e-9 or 1e-12 of the forces, moves a body near its limit load by a thousand times
 * as much, relative to its displacements. */
static void ranks_agree(void **state)
{
    (void)state;
    static const double tolerances[] = {1e-9, 1e-12}, bounds[] = {1e-5, 1e-8};
    const int n = number_of("FE_RANDOM", FEW / 2), first = number_of("FE_RANDOM_SEED", FIRST);
    skip_if(strcmp(backend(), "host") ? "ranks need a GPU each" : NULL, backend());
    double *apart = zeros((size_t)n, sizeof *apart);
    for (int k = 0; k < 2; k++) {
        int n_apart = 0;
        for (int i = 0; i < n; i++) {
            const double d = apart_by_ranks((uint64_t)(first + i), tolerances[k]);
            if (d >= 0) apart[n_apart++] = d;
            if (d > bounds[k])
                print_message("seed %d: %.1e apart with tolerance %g\n", first + i, d, tolerances[k]);
        }
        qsort(apart, (size_t)n_apart, sizeof *apart, by_size);
        if (getenv("FE_RANDOM"))
            print_message("tolerance %g: %d problems; answers apart: median %.1e, 95 %% %.1e, largest %.1e\n",
                          tolerances[k], n_apart, apart[n_apart / 2], apart[n_apart * 95 / 100],
                          apart[n_apart - 1]);
        assert_true(n_apart > n / 3 && apart[n_apart - 1] <= bounds[k]);
    }
    free(apart);
}

int main(int argc, char **argv)
{
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(problems_have_the_answer_of_dense_matrices),
        cmocka_unit_test(ranks_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
