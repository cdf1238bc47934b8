/* GMRES and CG on small dense systems against LAPACK, through the table of functions that solvers see.
 *
 * The operator's context holds a matrix on the host; it brings vectors there and back, so that the same tests
 * run on every backend. Systems have condition numbers below 100, so a relative residual of 1e-13 leaves an
 * error below 1e-10. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <lapacke.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/backend/device.h"
#include "common/mesh/lookup.h"
#include "common/solver/krylov.h"

enum { MOST = 48, GHOSTS = 5 }; /* vectors are longer than the sums: the rest is an operator's own */

static uint64_t random_state = 1;
static double uniform(void) /* in [-1, 1) */
{
    random_state = fe_mix(random_state);
    return 0x1p-52 * (double)(random_state >> 11) - 1.0;
}

static void must(fe_status status)
{
    if (status != FE_OK) fail_msg("%s", fe_message());
}

/* A dense matrix as an operator; its device is the solver's. */
typedef struct dense {
    int n, calls;
    fe_device *device;
    double A[MOST][MOST]; /* row by row */
} dense;

static fe_status dense_apply(void *context, double *x, double *y)
{
    dense *m = context;
    double in[MOST], out[MOST];
    const size_t bytes = (size_t)m->n * sizeof(double);
    m->calls++;
    FE_TRY(m->device->ops->download(m->device, bytes, x, in));
    for (int i = 0; i < m->n; i++) {
        out[i] = 0;
        for (int j = 0; j < m->n; j++) out[i] += m->A[i][j] * in[j];
    }
    FE_TRY(m->device->ops->upload(m->device, bytes, out, y));
    return m->device->ops->wait(m->device);
}

/* Random with a strong diagonal of mixed sizes; symmetric positive definite where wanted. */
static void draw_matrix(dense *m, int n, int symmetric)
{
    m->n = n;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) m->A[i][j] = 0.7 * uniform() / sqrt(n);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            if (symmetric) m->A[i][j] = m->A[j][i];
    for (int i = 0; i < n; i++) m->A[i][i] += 3.0 + 6.0 * i / n;
}

/* The inverse of the diagonal: a preconditioner. */
static void invert_diagonal(const dense *m, dense *p)
{
    memset(p->A, 0, sizeof p->A);
    p->n = m->n;
    for (int i = 0; i < m->n; i++) p->A[i][i] = 1 / m->A[i][i];
}

static void lapack_solve(const dense *m, const double *b, double *x)
{
    double A[MOST * MOST];
    lapack_int pivot[MOST];
    for (int i = 0; i < m->n; i++)
        for (int j = 0; j < m->n; j++) A[i * m->n + j] = m->A[i][j];
    memcpy(x, b, (size_t)m->n * sizeof *x);
    assert_int_equal(LAPACKE_dgesv(LAPACK_ROW_MAJOR, m->n, 1, A, m->n, pivot, x, 1), 0);
}

/* --- a solver on a backend -------------------------------------------------------------------------- */

typedef struct bench {
    fe_device *device;
    fe_team *team;
    fe_comm *comm;
    fe_krylov krylov;
    dense A, P;
    double *b, *x; /* on the device */
    double right[MOST], exact[MOST], found[MOST];
    fe_krylov_result result;
} bench;

/* restart 0: CG, on a symmetric matrix. */
static bench *bench_open(const char *backend, int n, int restart, int orthogonalization)
{
    const fe_backend *ops;
    bench *t = calloc(1, sizeof *t);
    assert_non_null(t);
    must(fe_backend_find(backend, &ops));
    must(ops->open(0, 1, &t->device));
    must(fe_team_open(1, &t->team));
    must(fe_comm_threads(t->team, 0, &t->comm));
    must(fe_krylov_open(t->device, t->comm, (size_t)n, (size_t)n + GHOSTS, restart, orthogonalization,
                        &t->krylov));
    must(fe_device_allocate(t->device, (size_t)n + GHOSTS, sizeof(double), "test", (void **)&t->b));
    must(fe_device_allocate(t->device, (size_t)n + GHOSTS, sizeof(double), "test", (void **)&t->x));
    random_state = (uint64_t)(1000 * n + restart);
    draw_matrix(&t->A, n, restart == 0);
    invert_diagonal(&t->A, &t->P);
    t->A.device = t->P.device = t->device;
    for (int i = 0; i < n; i++) t->right[i] = uniform();
    lapack_solve(&t->A, t->right, t->exact);
    return t;
}

static void bench_close(bench *t)
{
    fe_comm_close(t->comm);
    fe_team_close(t->team);
    t->device->ops->close(t->device);
    free(t);
}

/* Solves A x = right; found and result are set. x starts as rubbish, and b must be kept. */
static void bench_solve(bench *t, int preconditioned, double tolerance, int most)
{
    const fe_operator A = {dense_apply, &t->A}, P = {dense_apply, &t->P};
    const size_t bytes = (size_t)t->A.n * sizeof(double);
    double kept[MOST];
    must(t->device->ops->upload(t->device, bytes, t->right, t->b));
    must(t->device->ops->upload(t->device, bytes, t->right, t->x));
    must((t->krylov.restart ? fe_gmres : fe_cg)(&t->krylov, &A, preconditioned ? &P : NULL, t->b, t->x,
                                                tolerance, most, &t->result));
    must(t->device->ops->download(t->device, bytes, t->x, t->found));
    must(t->device->ops->download(t->device, bytes, t->b, kept));
    assert_memory_equal(kept, t->right, bytes);
}

static double norm(int n, const double *x)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * x[i];
    return sqrt(sum);
}

/* |found - exact| / |exact| */
static double error_of(const bench *t)
{
    double difference[MOST];
    for (int i = 0; i < t->A.n; i++) difference[i] = t->found[i] - t->exact[i];
    return norm(t->A.n, difference) / norm(t->A.n, t->exact);
}

/* |right - A found| */
static double residual_of(const bench *t)
{
    double r[MOST];
    for (int i = 0; i < t->A.n; i++) {
        r[i] = t->right[i];
        for (int j = 0; j < t->A.n; j++) r[i] -= t->A.A[i][j] * t->found[j];
    }
    return norm(t->A.n, r);
}

/* --- the tests -------------------------------------------------------------------------------------- */

static const char *const backends[] = {"host", "cuda"};
static const char *backend_of(void **state)
{
    const char *backend = *state;
    if (!strcmp(backend, "cuda") && fe_cuda_devices() <= 0) {
        print_message("skipped: krylov on cuda: %s\n",
                      FE_HAVE_CUDA ? "no CUDA device found" : "built without CUDA");
        skip();
    }
    return backend;
}

/* Sizes, bases shorter than, as long as and longer than the system, with and without preconditioner. */
static void test_gmres(void **state)
{
    const char *backend = backend_of(state);
    static const int sizes[] = {1, 2, 17, MOST}, restarts[] = {1, 3, 10, 60};
    for (int k = 0; k < 4 * 4 * 2 * 2; k++) {
        const int restart = restarts[k / 4 % 4];
        bench *t = bench_open(backend, sizes[k % 4], restart, k / 16 % 2);
        bench_solve(t, k / 32, 1e-13, 2000);
        if (!t->result.converged || error_of(t) > 1e-10)
            print_error(
                "n %d, restart %d, orthogonalization %d, preconditioner %d: error %.2e, %d iterations\n",
                t->A.n, restart, k / 16 % 2, k / 32, error_of(t), t->result.iterations);
        assert_true(t->result.converged);
        assert_true(error_of(t) <= 1e-10);
        if (restart > t->A.n) assert_true(t->result.iterations <= t->A.n + 2); /* a full basis is exact */
        assert_true(fabs(t->result.first - norm(t->A.n, t->right)) <= 1e-14 * t->result.first);
        assert_true(residual_of(t) <= 2e-13 * t->result.first);
        bench_close(t);
    }
}

static void test_cg(void **state)
{
    const char *backend = backend_of(state);
    static const int sizes[] = {1, 2, 17, MOST};
    for (int k = 0; k < 4 * 2; k++) {
        bench *t = bench_open(backend, sizes[k % 4], 0, 0);
        bench_solve(t, k / 4, 1e-13, 500);
        assert_true(t->result.converged);
        assert_false(t->result.breakdown);
        assert_true(error_of(t) <= 1e-10);
        bench_close(t);
    }
}

/* The preconditioner is worth something: fewer iterations on a badly scaled diagonal. */
static void test_preconditioner(void **state)
{
    const char *backend = backend_of(state);
    for (int restart = 0; restart <= 40; restart += 40) {
        int iterations[2];
        for (int preconditioned = 0; preconditioned < 2; preconditioned++) {
            bench *t = bench_open(backend, MOST, restart, 0);
            bench_solve(t, preconditioned, 1e-8, 500);
            iterations[preconditioned] = t->result.iterations;
            bench_close(t);
        }
        assert_true(iterations[1] < iterations[0]);
    }
}

/* A zero right-hand side has the solution zero, at once, without a division by it. */
static void test_zero(void **state)
{
    const char *backend = backend_of(state);
    for (int restart = 0; restart <= 10; restart += 10) {
        bench *t = bench_open(backend, 17, restart, 0);
        memset(t->right, 0, sizeof t->right);
        bench_solve(t, 1, 1e-10, 100);
        assert_true(t->result.converged);
        assert_int_equal(t->result.iterations, 0);
        for (int i = 0; i < 17; i++) assert_true(t->found[i] == 0.0);
        bench_close(t);
    }
}

/* The limit is kept and said, and x is as good as the reported residual; more iterations never make it
 * worse for GMRES. */
static void test_limit(void **state)
{
    const char *backend = backend_of(state);
    for (int restart = 0; restart <= 4; restart += 4) {
        double previous = INFINITY;
        for (int most = 1; most <= 6; most++) {
            bench *t = bench_open(backend, MOST, restart, 0);
            bench_solve(t, 0, 1e-13, most);
            assert_false(t->result.converged);
            assert_int_equal(t->result.iterations, most);
            assert_true(fabs(residual_of(t) - t->result.last) <= 1e-10 * t->result.first);
            if (restart) assert_true(t->result.last <= previous * (1 + 1e-12));
            previous = t->result.last;
            bench_close(t);
        }
    }
}

/* Columns of the basis after one cycle: V^T V = I. mgs loses orthogonality as the residual falls, so that
 * the product of both stays at rounding (Paige, Rozloznik, Strakos, SIAM J. Matrix Anal. 28, 2006); cgs2
 * does not (Giraud et al., Numer. Math. 101, 2005). */
static void test_orthogonality(void **state)
{
    enum { M = 12 };
    const char *backend = backend_of(state);
    for (int kind = 0; kind < 2; kind++) {
        bench *t = bench_open(backend, MOST, M + 2, kind);
        bench_solve(t, 0, 1e-30, M);
        const size_t ld = t->krylov.length;
        double *V = calloc((M + 3) * ld, sizeof *V);
        assert_non_null(V);
        must(t->device->ops->download(t->device, (M + 2) * ld * sizeof *V, t->krylov.basis, V));
        double largest = 0;
        /* column 0 holds the new residual and column M the correction by now */
        for (int i = 1; i < M; i++)
            for (int j = 1; j <= i; j++) {
                double sum = i == j ? -1 : 0;
                for (int k = 0; k < MOST; k++) sum += V[i * ld + (size_t)k] * V[j * ld + (size_t)k];
                largest = fmax(largest, fabs(sum));
            }
        const double reduction = t->result.last / t->result.first;
        if (kind == FE_ORTHOGONALIZATION_MGS) largest *= reduction;
        if (!(largest <= 1e-14))
            print_error("orthogonalization %d: %.2e at residual %.2e\n", kind, largest, reduction);
        assert_true(largest <= 1e-14);
        free(V);
        bench_close(t);
    }
}

/* CG says that a direction has no positive curvature; GMRES solves the indefinite system. */
static void test_indefinite(void **state)
{
    const char *backend = backend_of(state);
    for (int restart = 0; restart <= 20; restart += 20) {
        bench *t = bench_open(backend, 17, restart, 0);
        for (int i = 0; i < 17; i++)
            for (int j = 0; j < 17; j++) t->A.A[i][j] = i != j ? 0 : i % 2 ? -1 - i : 1 + i;
        lapack_solve(&t->A, t->right, t->exact);
        bench_solve(t, 0, 1e-12, 100);
        if (restart) {
            assert_true(t->result.converged);
            assert_true(error_of(t) <= 1e-10);
        } else {
            assert_true(t->result.breakdown || t->result.converged);
        }
        bench_close(t);
    }
}

/* A right-hand side in a small invariant subspace ends the basis early, with the exact solution. */
static void test_early_end(void **state)
{
    const char *backend = backend_of(state);
    for (int kind = 0; kind < 2; kind++) {
        bench *t = bench_open(backend, 17, 10, kind);
        memset(t->A.A, 0, sizeof t->A.A);
        for (int i = 0; i < 17; i++) t->A.A[i][i] = i < 8 ? 2 : 5;
        lapack_solve(&t->A, t->right, t->exact);
        bench_solve(t, 0, 1e-14, 100);
        assert_true(t->result.converged);
        assert_true(t->result.iterations <= 4);
        assert_true(error_of(t) <= 1e-13);
        bench_close(t);
    }
}

/* The same call gives the same bits. */
static void test_repeats(void **state)
{
    const char *backend = backend_of(state);
    for (int kind = 0; kind < 2; kind++) {
        double first[MOST];
        bench *t = bench_open(backend, MOST, 12, kind);
        bench_solve(t, 1, 1e-10, 500);
        memcpy(first, t->found, sizeof first);
        bench_solve(t, 1, 1e-10, 500); /* the workspace is used again */
        assert_memory_equal(first, t->found, sizeof first);
        bench_close(t);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        CMUnitTestFunction test;
    } subjects[] = {{"gmres", test_gmres},
                    {"cg", test_cg},
                    {"preconditioner", test_preconditioner},
                    {"zero right-hand side", test_zero},
                    {"iteration limit", test_limit},
                    {"orthogonality", test_orthogonality},
                    {"indefinite", test_indefinite},
                    {"early end", test_early_end},
                    {"repeats", test_repeats}};
    enum { N = sizeof subjects / sizeof *subjects };
    struct CMUnitTest tests[2 * N] = {{0}};
    static char names[2 * N][64];
    int n = 0;
    for (int k = 0; k < 2; k++) {
        const int there = k == 0 || fe_cuda_devices() > 0;
        for (int i = 0; i < (there ? N : 1); i++, n++) { /* one skip in place of all */
            snprintf(names[n], sizeof names[n], "%s %s", there ? subjects[i].name : "*", backends[k]);
            tests[n] = (struct CMUnitTest){.name = names[n],
                                           .test_func = subjects[i].test,
                                           .initial_state = (void *)(uintptr_t)backends[k]};
        }
    }
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return _cmocka_run_group_tests("krylov", tests, (size_t)n, NULL, NULL) ? 1 : 0;
}
