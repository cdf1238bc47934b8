/* GMRES and CG on small dense systems against LAPACK, through the table of functions that solvers see. */
#include "tests/dense.h"

#include <stdlib.h>
#include <string.h>

/* Sizes, bases shorter than, as long as and longer than the system, with and without preconditioner. */
static void test_gmres(void **state)
{
    const char *backend = dense_backend(state);
    static const int sizes[] = {1, 2, 17, MOST}, restarts[] = {1, 3, 10, 60};
    for (int k = 0; k < 4 * 4 * 2 * KINDS; k++) {
        const int restart = restarts[k / 4 % 4], kind = k / 32;
        dense_run *t = dense_open(backend, sizes[k % 4], restart, kind);
        dense_solve(t, k / 16 % 2, 1e-13, 2000);
        if (!t->result.converged || dense_error(t) > 1e-10)
            print_error(
                "n %d, restart %d, orthogonalization %d, preconditioner %d: error %.2e, %d iterations\n",
                t->A.n, restart, kind, k / 16 % 2, dense_error(t), t->result.iterations);
        assert_true(t->result.converged);
        assert_true(dense_error(t) <= 1e-10);
        if (restart > t->A.n) assert_true(t->result.iterations <= t->A.n + 2); /* a full basis is exact */
        assert_true(fabs(t->result.first - dense_norm(t->A.n, t->right)) <= 1e-14 * t->result.first);
        assert_true(dense_residual(t) <= 2e-13 * t->result.first);
        dense_close(t);
    }
}

/* With a basis of floats a cycle gains six digits at most, and the next one starts from the true residual. So
 * every tolerance is met, and with few iterations more than doubles take. */
static void test_single(void **state)
{
    const char *backend = dense_backend(state);
    static const int sizes[] = {1, 2, 17, MOST}, restarts[] = {1, 3, 10, 60};
    for (int k = 0; k < 4 * 4 * 2 * KINDS * 2; k++) {
        const int n = sizes[k % 4], restart = restarts[k / 4 % 4], kind = k / 32 % KINDS,
                  tight = k / (32 * KINDS);
        const double tolerance = tight ? 1e-13 : 1e-8;
        int iterations[2];
        for (int single = 0; single < 2; single++) {
            dense_run *t = (single ? dense_open_single : dense_open)(backend, n, restart, kind);
            dense_solve(t, k / 16 % 2, tolerance, 2000);
            if (!t->result.converged || dense_error(t) > 1e3 * tolerance)
                print_error("n %d, restart %d, orthogonalization %d, single %d: error %.2e, %d iterations\n",
                            n, restart, kind, single, dense_error(t), t->result.iterations);
            assert_true(t->result.converged);
            assert_true(dense_error(t) <= 1e3 * tolerance);
            assert_true(dense_residual(t) <= 2 * tolerance * t->result.first);
            iterations[single] = t->result.iterations;
            dense_close(t);
        }
        if (n < 17) continue; /* beyond a full basis come columns of rounding errors */
        if (iterations[1] > iterations[0] + 5)
            print_error("n %d, restart %d, orthogonalization %d: %d iterations, and %d in floats\n", n,
                        restart, kind, iterations[0], iterations[1]);
        assert_true(iterations[1] <= iterations[0] + 5);
    }
}

static void test_cg(void **state)
{
    const char *backend = dense_backend(state);
    static const int sizes[] = {1, 2, 17, MOST};
    for (int k = 0; k < 4 * 2; k++) {
        dense_run *t = dense_open(backend, sizes[k % 4], 0, 0);
        dense_solve(t, k / 4, 1e-13, 500);
        assert_true(t->result.converged);
        assert_false(t->result.breakdown);
        assert_true(dense_error(t) <= 1e-10);
        dense_close(t);
    }
}

/* The preconditioner is worth something: fewer iterations on a badly scaled diagonal. */
static void test_preconditioner(void **state)
{
    const char *backend = dense_backend(state);
    for (int restart = 0; restart <= 40; restart += 40) {
        int iterations[2];
        for (int preconditioned = 0; preconditioned < 2; preconditioned++) {
            dense_run *t = dense_open(backend, MOST, restart, 0);
            dense_solve(t, preconditioned, 1e-8, 500);
            iterations[preconditioned] = t->result.iterations;
            dense_close(t);
        }
        assert_true(iterations[1] < iterations[0]);
    }
}

/* A zero right-hand side has the solution zero, at once, without a division by it. */
static void test_zero(void **state)
{
    const char *backend = dense_backend(state);
    for (int kind = -1; kind < KINDS; kind++) { /* -1: CG */
        dense_run *t = dense_open(backend, 17, kind < 0 ? 0 : 10, kind);
        memset(t->right, 0, sizeof t->right);
        dense_solve(t, 1, 1e-10, 100);
        assert_true(t->result.converged);
        assert_int_equal(t->result.iterations, 0);
        for (int i = 0; i < 17; i++) assert_true(t->found[i] == 0.0);
        dense_close(t);
    }
}

/* The limit of iterations is kept and reported, and x has the reported residual. For GMRES more iterations
 * never make it worse, and with every orthogonalization it is the smallest one. */
static void test_limit(void **state)
{
    const char *backend = dense_backend(state);
    double smallest[7];
    for (int kind = -1; kind < KINDS; kind++) { /* -1: CG */
        double previous = INFINITY;
        for (int most = 1; most <= 6; most++) {
            dense_run *t = dense_open(backend, MOST, kind < 0 ? 0 : 4, kind);
            dense_solve(t, 0, 1e-13, most);
            assert_false(t->result.converged);
            assert_int_equal(t->result.iterations, most);
            assert_true(fabs(dense_residual(t) - t->result.last) <= 1e-10 * t->result.first);
            if (kind >= 0) assert_true(t->result.last <= previous * (1 + 1e-12));
            if (kind == 0) smallest[most] = t->result.last;
            if (kind > 0) assert_true(fabs(t->result.last - smallest[most]) <= 1e-12 * smallest[most]);
            previous = t->result.last;
            dense_close(t);
        }
    }
}

/* CG says that a direction has no positive curvature; GMRES solves the indefinite system. */
static void test_indefinite(void **state)
{
    const char *backend = dense_backend(state);
    for (int restart = 0; restart <= 20; restart += 20) {
        dense_run *t = dense_open(backend, 17, restart, 0);
        for (int i = 0; i < 17; i++)
            for (int j = 0; j < 17; j++) t->A.A[i][j] = i != j ? 0 : i % 2 ? -1 - i : 1 + i;
        dense_exact(&t->A, t->right, t->exact);
        dense_solve(t, 0, 1e-12, 100);
        if (restart) {
            assert_true(t->result.converged);
            assert_true(dense_error(t) <= 1e-10);
        } else {
            assert_true(t->result.breakdown || t->result.converged);
        }
        dense_close(t);
    }
}

/* b·x - x·A x / 2: what a step gains where A is positive. */
static double gain_of(const dense_run *t)
{
    double r[MOST], gain = 0;
    for (int i = 0; i < t->A.n; i++) {
        r[i] = t->right[i];
        for (int j = 0; j < t->A.n; j++) r[i] -= 0.5 * t->A.A[i][j] * t->found[j];
        gain += r[i] * t->found[i];
    }
    return gain;
}

/* Both methods end with the degree of the minimal polynomial, and keep to the bound of the condition number,
 * |r_k| <= 2 sqrt(condition) ((sqrt(condition) - 1) / (sqrt(condition) + 1))^k |r_0|. */
static void test_spectrum(void **state)
{
    const char *backend = dense_backend(state);
    for (int k = 0; k < 2 * 6; k++) {
        const int restart = k % 2 ? MOST + 2 : 0, distinct = k / 2 % 3 == 0 ? 3 : k / 2 % 3 == 1 ? 9 : MOST;
        const double condition = k / 6 ? 1e4 : 100;
        double eigenvalue[MOST];
        dense_run *t = dense_open(backend, MOST, restart, 0);
        for (int i = 0; i < MOST; i++)
            eigenvalue[i] = pow(condition, (double)(i % distinct) / (distinct - 1));
        draw_spectrum(t, eigenvalue);
        dense_exact(&t->A, t->right, t->exact);
        dense_solve(t, 0, 1e-10, 2000);
        const double root = sqrt(condition), bound = log(2e10 * root) / log((root + 1) / (root - 1));
        assert_true(t->result.converged);
        assert_true(t->result.iterations <= 1 + bound);
        if (distinct == 3) assert_in_range(t->result.iterations, 3, 4);
        assert_true(dense_error(t) <= 1e-9 * condition);
        assert_true(dense_residual(t) <= 1.1e-10 * t->result.first);
        dense_close(t);
    }
}

/* CG takes no step along a direction of negative curvature, in the first iteration or a later one: what it
 * returns has gained, and its residual is the reported one. */
static void test_curvature(void **state)
{
    const char *backend = dense_backend(state);
    for (int k = 0; k < 12; k++) {
        double eigenvalue[MOST];
        dense_run *t = dense_open(backend, MOST, 0, 0);
        for (int i = 0; i < MOST; i++) eigenvalue[i] = i < k * 4 ? 1 + i : -1 - i;
        draw_spectrum(t, eigenvalue);
        dense_solve(t, 0, 1e-12, 500);
        assert_true(t->result.breakdown);
        assert_false(t->result.converged);
        assert_true(gain_of(t) >= 0);
        assert_true(fabs(dense_residual(t) - t->result.last) <= 1e-10 * t->result.first);
        assert_true(t->result.iterations < 50);
        if (k == 0) assert_true(dense_norm(MOST, t->found) == 0);
        dense_close(t);
    }
}

/* A preconditioner that is not positive is a breakdown, too. */
static void test_bad_preconditioner(void **state)
{
    dense_run *t = dense_open(dense_backend(state), MOST, 0, 0);
    for (int i = 0; i < MOST; i++) t->P.A[i][i] = -t->P.A[i][i];
    dense_solve(t, 1, 1e-12, 500);
    assert_true(t->result.breakdown);
    assert_int_equal(t->result.iterations, 1);
    assert_true(dense_norm(MOST, t->found) == 0);
    dense_close(t);
}

/* With a null space: a right-hand side in the range is solved, and any other gives only finite numbers. */
static void test_singular(void **state)
{
    const char *backend = dense_backend(state);
    for (int k = 0; k < 4; k++) {
        const int consistent = k / 2;
        double eigenvalue[MOST], x[MOST];
        dense_run *t = dense_open(backend, MOST, k % 2 ? 20 : 0, 0);
        for (int i = 0; i < MOST; i++) eigenvalue[i] = i < 6 ? 0 : 1 + i, x[i] = uniform();
        draw_spectrum(t, eigenvalue);
        for (int i = 0; i < MOST && consistent; i++) {
            t->right[i] = 0;
            for (int j = 0; j < MOST; j++) t->right[i] += t->A.A[i][j] * x[j];
        }
        dense_solve(t, 0, 1e-10, 20000);
        assert_int_equal(t->result.converged, consistent);
        assert_true(t->result.iterations < 3000);
        for (int i = 0; i < MOST; i++) assert_true(isfinite(t->found[i]));
        if (consistent) assert_true(dense_residual(t) <= 1.1e-10 * t->result.first);
        dense_close(t);
    }
}

/* The cyclic shift: a basis shorter than the system finds nothing, and this is reported; the whole basis is
 * exact. One Jordan block needs a basis as long as the system. */
static void test_non_normal(void **state)
{
    const char *backend = dense_backend(state);
    for (int kind = 0; kind < KINDS; kind++)
        for (int k = 0; k < 3; k++) {
            dense_run *t = dense_open(backend, 17, k ? 20 : 10, kind);
            memset(t->A.A, 0, sizeof t->A.A);
            memset(t->right, 0, sizeof t->right);
            for (int i = 0; i < 17; i++) t->A.A[i][k < 2 ? (i + 1) % 17 : (i + 1 < 17 ? i + 1 : i)] = 1;
            for (int i = 0; i < 17 && k == 2; i++) t->A.A[i][i] = 1;
            t->right[16] = 1;
            dense_exact(&t->A, t->right, t->exact);
            dense_solve(t, 0, 1e-12, 20000);
            assert_int_equal(t->result.converged, k > 0);
            assert_int_equal(t->result.stagnated, k == 0);
            assert_true(t->result.iterations <= (k ? 18 : 200));
            if (k) assert_true(dense_error(t) <= 1e-9);
            dense_close(t);
        }
}

/* An operator whose products carry noise of a fixed relative size, as differences do. */
static fe_status noisy_apply(void *context, double *x, double *y)
{
    dense *m = context;
    double out[MOST];
    const size_t bytes = (size_t)m->n * sizeof(double);
    FE_TRY(dense_apply(context, x, y));
    FE_TRY(m->device->ops->memory.download(m->device, bytes, y, out));
    for (int i = 0; i < m->n; i++) out[i] *= 1 + 1e-6 * uniform();
    return m->device->ops->memory.upload(m->device, bytes, out, y);
}

/* The residual cannot fall below the noise: the solver stops long before the limit, with the best
 * solution. */
static void test_noise(void **state)
{
    const char *backend = dense_backend(state);
    for (int kind = -1; kind < KINDS; kind++) { /* -1: CG */
        dense_run *t = dense_open(backend, MOST, kind < 0 ? 0 : 20, kind);
        t->other = (fe_operator){.apply = noisy_apply, .context = &t->A};
        dense_solve(t, 0, 1e-12, 20000);
        if (kind >= 0) assert_true(t->result.stagnated);
        assert_true(t->result.iterations < 1500);
        assert_true(dense_residual(t) <= 1e-4 * t->result.first);
        dense_close(t);
    }
}

/* A product that adds to what has to be clear, unless a device computes an iteration too many behind a
 * breakdown. What it adds to the HELD first entries is nonsense, which the solver has to take for zero. */
enum { HELD = 5 };
static int wants_clear;
static fe_status adding_apply(void *context, double *x, double *y)
{
    dense *m = context;
    double sum[MOST], product[MOST];
    const size_t bytes = (size_t)m->n * sizeof(double);
    FE_TRY(m->device->ops->memory.download(m->device, bytes, y, sum));
    for (int i = 0; i < m->n; i++) assert_true(sum[i] == 0.0 || !wants_clear);
    FE_TRY(dense_apply(context, x, y));
    FE_TRY(m->device->ops->memory.download(m->device, bytes, y, product));
    for (int i = 0; i < m->n; i++) sum[i] += i < HELD ? 1e3 * uniform() : product[i];
    return m->device->ops->memory.upload(m->device, bytes, sum, y);
}
static fe_status refused_apply(void *context, double *x, double *y)
{
    (void)context, (void)x, (void)y;
    return fe_fail(FE_FAILED, "the product that clears was asked for");
}

static void negate(dense *m)
{
    for (int i = 0; i < m->n; i++)
        for (int j = 0; j < m->n; j++) m->A[i][j] = -m->A[i][j];
}

/* CG clears what it adds to, in every iteration, and again after a solve that broke down; held entries. */
static void test_cg_adds(void **state)
{
    dense_run *t = dense_open(dense_backend(state), MOST, 0, 0);
    uint8_t held[MOST] = {0}, *on_device;
    for (int i = 0; i < HELD; i++) {
        held[i] = 1, t->right[i] = 0;
        for (int j = 0; j < MOST; j++) t->A.A[i][j] = t->A.A[j][i] = i == j;
    }
    dense_exact(&t->A, t->right, t->exact);
    must(fe_device_upload(t->device, MOST, 1, held, "test", (void **)&on_device));
    t->other =
        (fe_operator){.apply = refused_apply, .context = &t->A, .add = adding_apply, .held = on_device};
    for (int solve = 0; solve < 4; solve++) {
        wants_clear = solve != 2;
        if (solve == 2) negate(&t->A);
        dense_solve(t, solve % 2, 1e-12, 1000);
        if (solve == 2) negate(&t->A);
        assert_int_equal(t->result.breakdown, solve == 2);
        if (solve != 2) assert_true(t->result.converged && dense_error(t) <= 1e-10);
    }
    dense_close(t);
}

/* An operator whose third and later products are no numbers. */
static fe_status nan_apply(void *context, double *x, double *y)
{
    dense *m = context;
    const double nan = NAN;
    FE_TRY(dense_apply(context, x, y));
    return m->calls < 3 ? FE_OK : m->device->ops->memory.upload(m->device, sizeof nan, &nan, y);
}

/* It stops at once, and keeps what was found before. */
static void test_not_finite(void **state)
{
    const char *backend = dense_backend(state);
    for (int kind = -1; kind < KINDS; kind++) { /* -1: CG */
        dense_run *t = dense_open(backend, MOST, kind < 0 ? 0 : 20, kind);
        t->other = (fe_operator){.apply = nan_apply, .context = &t->A};
        dense_solve(t, 0, 1e-12, 20000);
        assert_true(t->result.not_finite);
        assert_false(t->result.converged);
        assert_in_range(t->result.iterations, 3, 4);
        assert_true(t->A.calls <= 5);
        for (int i = 0; i < MOST; i++) assert_true(isfinite(t->found[i]));
        dense_close(t);
    }
}

/* A right-hand side in a small invariant subspace ends the basis early, with the exact solution; dcgs2 sees
 * it one iteration later. */
static void test_early_end(void **state)
{
    const char *backend = dense_backend(state);
    for (int k = 0; k < 4 * KINDS; k++) {
        const int eigenvalues = 1 + k % 4, kind = k / 4;
        dense_run *t = dense_open(backend, 17, 10, kind);
        memset(t->A.A, 0, sizeof t->A.A);
        for (int i = 0; i < 17; i++) t->A.A[i][i] = 2 + 3 * (i % eigenvalues);
        dense_exact(&t->A, t->right, t->exact);
        dense_solve(t, 0, 1e-13, 100);
        assert_true(t->result.converged);
        assert_in_range(t->result.iterations, eigenvalues,
                        eigenvalues + (kind == FE_ORTHOGONALIZATION_DCGS2));
        assert_true(dense_error(t) <= 1e-12);
        dense_close(t);
    }
}

/* Where the operator gives zero there is no solution, and all numbers stay finite. */
static void test_no_solution(void **state)
{
    const char *backend = dense_backend(state);
    for (int kind = 0; kind < KINDS; kind++) {
        dense_run *t = dense_open(backend, 17, 5, kind);
        memset(t->A.A, 0, sizeof t->A.A);
        dense_solve(t, 0, 1e-10, 12);
        assert_false(t->result.converged);
        assert_int_equal(t->result.iterations, 12);
        assert_true(t->result.last == t->result.first);
        for (int i = 0; i < 17; i++) assert_true(t->found[i] == 0.0);
        dense_close(t);
    }
}

/* The same call gives the same bits. */
static void test_repeats(void **state)
{
    const char *backend = dense_backend(state);
    for (int kind = 0; kind < KINDS; kind++) {
        double first[MOST];
        dense_run *t = dense_open(backend, MOST, 12, kind);
        dense_solve(t, 1, 1e-10, 500);
        memcpy(first, t->found, sizeof first);
        dense_solve(t, 1, 1e-10, 500); /* the workspace is used again */
        assert_memory_equal(first, t->found, sizeof first);
        dense_close(t);
    }
}

/* A product that only enqueues: rows [n][n] on the device. */
typedef struct resident {
    fe_device *device;
    int n, calls;
    double *rows;
} resident;

static fe_status resident_apply(void *context, double *x, double *y)
{
    resident *r = context;
    r->calls++;
    const fe_columns rows = fe_columns_of(r->rows, (size_t)r->n);
    return fe_krylov_steps_of(r->device)->dots(r->device, (size_t)r->n, r->n, rows, x, y);
}

static int n_polled, most_seen;
static fe_status count_poll(void *context, const fe_krylov_result *so_far)
{
    (void)context;
    n_polled++;
    most_seen = so_far->iterations > most_seen ? so_far->iterations : most_seen;
    assert_true(so_far->iterations <= n_polled && so_far->first > 0);
    return FE_OK;
}

/* Recorded iterations give the answers of those that were enqueued: over several solves, two versions of the
 * operator in turn (A and 2 A), short and full cycles; and where the backend can replay, it does. */
static void test_recorded(void **state)
{
    const char *backend = dense_backend(state);
    static const int restarts[] = {0, 5, MOST + 2};
    for (int k = 0; k < 3 * KINDS * 2; k++) {
        const int restart = restarts[k % 3];
        dense_run *t =
            (k / 3 / KINDS ? dense_open_single : dense_open)(backend, MOST, restart, k / 3 % KINDS);
        resident versions[2] = {{t->device, MOST, 0, NULL}, {t->device, MOST, 0, NULL}};
        for (int v = 0; v < 2; v++) {
            double rows[MOST][MOST];
            for (int i = 0; i < MOST; i++)
                for (int j = 0; j < MOST; j++) rows[i][j] = (v + 1) * t->A.A[i][j];
            must(fe_device_upload(t->device, MOST * MOST, sizeof(double), rows, "test",
                                  (void **)&versions[v].rows));
        }
        must(fe_krylov_record(&t->krylov, 1));
        int iterations = 0;
        n_polled = most_seen = 0;
        for (int solve = 0; solve < 8; solve++) {
            const int v = solve % 2;
            t->other = (fe_operator){
                .apply = resident_apply, .context = &versions[v], .version = v + 1, .poll = count_poll};
            dense_solve(t, 0, solve < 4 ? 1e-13 : 1e-6, 2000);
            for (int i = 0; i < MOST; i++) t->found[i] *= v + 1;
            assert_true(t->result.converged);
            assert_true(dense_error(t) <= (solve < 4 ? 1e-10 : 1e-4));
            iterations += t->result.iterations;
        }
        assert_true(n_polled >= iterations);
        assert_true(most_seen > 0);
        if (t->device->ops->recording.begin) assert_true(versions[0].calls + versions[1].calls < iterations);
        fe_krylov_close(&t->krylov);
        dense_close(t);
    }
}

/* Several products at once, of all entries and of some; and sums over groups of entries, of which one is
 * empty. Sums over 200 000 entries take every block of threads several times. */
static void test_products(void **state)
{
    enum { N = 200003, N_AT = 1000, N_GROUP = 5 };
    static const int first[N_GROUP + 1] = {0, 1, 1, 300, 900, N_AT};
    dense_run *t = dense_open(dense_backend(state), 1, 1, 0);
    fe_device *d = t->device;
    double *host[2], *there[2], *out, found[FE_MOST_PRODUCTS], right[4] = {0}, sums[2][N_GROUP] = {{0}};
    int at[N_AT], *at_there;
    fe_groups groups = {.n = N_GROUP};
    for (int k = 0; k < 2; k++) {
        must(fe_allocate(N, sizeof **host, "test", (void **)&host[k]));
        for (int i = 0; i < N; i++) host[k][i] = (double)((i * (7 + k)) % 1001 - 500);
        must(fe_device_upload(d, N, sizeof **host, host[k], "test", (void **)&there[k]));
    }
    for (int i = 0; i < N_AT; i++) at[i] = (int)(i * 7919LL % N);
    must(fe_device_upload(d, N_AT, sizeof *at, at, "test", (void **)&at_there));
    must(fe_device_upload(d, N_GROUP + 1, sizeof *first, first, "test", (void **)&groups.first));
    must(fe_device_allocate(d, FE_MOST_PRODUCTS, sizeof *out, "test", (void **)&out));
    groups.at = at_there;
    for (int i = 0; i < N; i++) right[0] += host[0][i] * host[0][i], right[1] += host[0][i] * host[1][i];
    for (int i = 0; i < N_AT; i++) right[2] += host[1][at[i]] * host[0][at[i]];
    const fe_scalar_product product[] = {{N, NULL, there[0], there[0]},
                                         {N, NULL, there[0], there[1]},
                                         {N_AT, at_there, there[1], there[0]},
                                         {0, NULL, there[0], there[0]}};
    for (int turn = 0; turn < 2; turn++) { /* the second finds what the first has left */
        must(d->ops->vector.dots(d, 4, product, out));
        must(d->ops->memory.download(d, 4 * sizeof *out, out, found));
        for (int i = 0; i < 4; i++) assert_true(found[i] == right[i]); /* whole numbers */
    }
    for (int g = 0; g < N_GROUP; g++)
        for (int k = first[g]; k < first[g + 1]; k++)
            sums[0][g] += host[0][at[k]], sums[1][g] += host[0][at[k]] - host[1][at[k]];
    for (int less = 0; less < 2; less++) {
        must(d->ops->vector.take_sums(d, &groups, there[0], less ? there[1] : NULL, out));
        must(d->ops->memory.download(d, N_GROUP * sizeof *out, out, found));
        for (int g = 0; g < N_GROUP; g++) assert_true(found[g] == sums[less][g]);
    }
    free(host[0]), free(host[1]);
    dense_close(t);
}

int main(int argc, char **argv)
{
    static const subject subjects[] = {
        {"products", test_products},
        {"gmres", test_gmres},
        {"basis of floats", test_single},
        {"cg", test_cg},
        {"preconditioner", test_preconditioner},
        {"zero right-hand side", test_zero},
        {"iteration limit", test_limit},
        {"indefinite", test_indefinite},
        {"spectrum", test_spectrum},
        {"curvature", test_curvature},
        {"bad preconditioner", test_bad_preconditioner},
        {"singular", test_singular},
        {"non-normal", test_non_normal},
        {"noise", test_noise},
        {"cg_adds", test_cg_adds},
        {"not finite", test_not_finite},
        {"early end", test_early_end},
        {"no solution", test_no_solution},
        {"repeats", test_repeats},
        {"recorded", test_recorded},
    };
    return dense_main("krylov", NULL, sizeof subjects / sizeof *subjects, subjects, argc, argv);
}
