/* GMRES and CG on small dense systems against LAPACK, through the table of functions that solvers see. */
#include "tests/dense.h"

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

/* The limit is kept and said, and x is as good as the reported residual; more iterations never make it
 * worse for GMRES, and however the basis was made orthogonal, it is the smallest one. */
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

/* Where the operator gives nothing there is no solution, and no number that is none. */
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
    return r->device->ops->column.dots(r->device, (size_t)r->n, r->n, r->rows, (size_t)r->n, x, y);
}

static int n_polled;
static fe_status count_poll(void *context)
{
    (void)context;
    n_polled++;
    return FE_OK;
}

/* Recorded iterations give the answers of those that were enqueued: over several solves, two versions of the
 * operator in turn (A and 2 A), short and full cycles; and where the backend can replay, it does. */
static void test_recorded(void **state)
{
    const char *backend = dense_backend(state);
    static const int restarts[] = {0, 5, MOST + 2};
    for (int k = 0; k < 3 * KINDS; k++) {
        const int restart = restarts[k % 3];
        dense_run *t = dense_open(backend, MOST, restart, k / 3);
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
        n_polled = 0;
        for (int solve = 0; solve < 8; solve++) {
            const int v = solve % 2;
            t->other = (fe_operator){resident_apply, &versions[v], v + 1, count_poll};
            dense_solve(t, 0, solve < 4 ? 1e-13 : 1e-6, 2000);
            for (int i = 0; i < MOST; i++) t->found[i] *= v + 1;
            assert_true(t->result.converged);
            assert_true(dense_error(t) <= (solve < 4 ? 1e-10 : 1e-4));
            iterations += t->result.iterations;
        }
        assert_true(n_polled >= iterations);
        if (t->device->ops->recording.begin) assert_true(versions[0].calls + versions[1].calls < iterations);
        fe_krylov_close(&t->krylov);
        dense_close(t);
    }
}

int main(int argc, char **argv)
{
    static const subject subjects[] = {
        {"gmres", test_gmres},
        {"cg", test_cg},
        {"preconditioner", test_preconditioner},
        {"zero right-hand side", test_zero},
        {"iteration limit", test_limit},
        {"indefinite", test_indefinite},
        {"early end", test_early_end},
        {"no solution", test_no_solution},
        {"repeats", test_repeats},
        {"recorded", test_recorded},
    };
    return dense_main("krylov", NULL, sizeof subjects / sizeof *subjects, subjects, argc, argv);
}
