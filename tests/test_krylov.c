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
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/algebra/hessenberg.h"
#include "common/backend/device.h"
#include "common/mesh/lookup.h"
#include "have/cuda.h"
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
    FE_TRY(m->device->ops->memory.download(m->device, bytes, x, in));
    for (int i = 0; i < m->n; i++) {
        out[i] = 0;
        for (int j = 0; j < m->n; j++) out[i] += m->A[i][j] * in[j];
    }
    FE_TRY(m->device->ops->memory.upload(m->device, bytes, out, y));
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

enum { KINDS = FE_ORTHOGONALIZATION_DCGS2 + 1 };

/* A communicator that counts the reductions made through it. */
typedef struct counting {
    fe_comm base;
    fe_comm_operations operations;
    fe_comm *inner;
    int sums;
} counting;

static fe_status counting_reduce(fe_comm *c, fe_device *d, fe_reduction reduction, int n, double *x)
{
    counting *self = (counting *)c;
    self->sums++;
    return self->inner->ops->reduce(self->inner, d, reduction, n, x);
}

typedef struct bench {
    fe_device *device;
    fe_team *team;
    counting comm;
    fe_krylov krylov;
    dense A, P;
    fe_operator other; /* in place of A where it has an apply */
    double *b, *x;     /* on the device */
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
    must(fe_comm_team(t->team, 0, &t->comm.inner));
    t->comm.base = *t->comm.inner, t->comm.operations = *t->comm.inner->ops;
    t->comm.operations.reduce = counting_reduce, t->comm.base.ops = &t->comm.operations;
    must(fe_krylov_open(t->device, &t->comm.base, (size_t)n, (size_t)n + GHOSTS, restart, orthogonalization,
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
    fe_comm_close(t->comm.inner);
    fe_team_close(t->team);
    t->device->ops->close(t->device);
    free(t);
}

/* Solves A x = right; found and result are set. x starts as rubbish, and b must be kept. */
static void bench_solve(bench *t, int preconditioned, double tolerance, int most)
{
    const fe_operator dense_A = {.apply = dense_apply, .context = &t->A},
                      P = {.apply = dense_apply, .context = &t->P};
    const fe_operator A = t->other.apply ? t->other : dense_A;
    const size_t bytes = (size_t)t->A.n * sizeof(double);
    double kept[MOST];
    t->A.calls = t->comm.sums = 0;
    must(t->device->ops->memory.upload(t->device, bytes, t->right, t->b));
    must(t->device->ops->memory.upload(t->device, bytes, t->right, t->x));
    must((t->krylov.restart ? fe_gmres : fe_cg)(&t->krylov, &A, preconditioned ? &P : NULL, t->b, t->x,
                                                tolerance, most, &t->result));
    must(t->device->ops->memory.download(t->device, bytes, t->x, t->found));
    must(t->device->ops->memory.download(t->device, bytes, t->b, kept));
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
    for (int k = 0; k < 4 * 4 * 2 * KINDS; k++) {
        const int restart = restarts[k / 4 % 4], kind = k / 32;
        bench *t = bench_open(backend, sizes[k % 4], restart, kind);
        bench_solve(t, k / 16 % 2, 1e-13, 2000);
        if (!t->result.converged || error_of(t) > 1e-10)
            print_error(
                "n %d, restart %d, orthogonalization %d, preconditioner %d: error %.2e, %d iterations\n",
                t->A.n, restart, kind, k / 16 % 2, error_of(t), t->result.iterations);
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
    for (int kind = -1; kind < KINDS; kind++) { /* -1: CG */
        bench *t = bench_open(backend, 17, kind < 0 ? 0 : 10, kind);
        memset(t->right, 0, sizeof t->right);
        bench_solve(t, 1, 1e-10, 100);
        assert_true(t->result.converged);
        assert_int_equal(t->result.iterations, 0);
        for (int i = 0; i < 17; i++) assert_true(t->found[i] == 0.0);
        bench_close(t);
    }
}

/* The limit is kept and said, and x is as good as the reported residual; more iterations never make it
 * worse for GMRES, and however the basis was made orthogonal, it is the smallest one. */
static void test_limit(void **state)
{
    const char *backend = backend_of(state);
    double smallest[7];
    for (int kind = -1; kind < KINDS; kind++) { /* -1: CG */
        double previous = INFINITY;
        for (int most = 1; most <= 6; most++) {
            bench *t = bench_open(backend, MOST, kind < 0 ? 0 : 4, kind);
            bench_solve(t, 0, 1e-13, most);
            assert_false(t->result.converged);
            assert_int_equal(t->result.iterations, most);
            assert_true(fabs(residual_of(t) - t->result.last) <= 1e-10 * t->result.first);
            if (kind >= 0) assert_true(t->result.last <= previous * (1 + 1e-12));
            if (kind == 0) smallest[most] = t->result.last;
            if (kind > 0) assert_true(fabs(t->result.last - smallest[most]) <= 1e-12 * smallest[most]);
            previous = t->result.last;
            bench_close(t);
        }
    }
}

/* Largest entry of V^T V - I over columns 1 .. columns - 1 of the basis: column 0 holds the new residual
 * after a cycle, and the one behind the last the correction. */
static double loss_of_orthogonality(const bench *t, int columns)
{
    const size_t ld = t->krylov.length;
    double *V = calloc((size_t)columns * ld, sizeof *V), largest = 0;
    assert_non_null(V);
    must(t->device->ops->memory.download(t->device, (size_t)columns * ld * sizeof *V, t->krylov.basis, V));
    for (int i = 1; i < columns; i++)
        for (int j = 1; j <= i; j++) {
            double sum = i == j ? -1 : 0;
            for (int k = 0; k < t->A.n; k++) sum += V[(size_t)i * ld + k] * V[(size_t)j * ld + k];
            largest = fmax(largest, fabs(sum));
        }
    free(V);
    return largest;
}

/* Upper triangular, with a diagonal from 1 down to 1 / condition. */
static void draw_ill_conditioned(bench *t, double condition)
{
    const int n = t->A.n;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            const double size = pow(condition, -(double)i / (n - 1));
            t->A.A[i][j] = i == j ? size : i < j ? 0.3 * size * uniform() : 0;
        }
}

/* The identity and a little more: what a projection leaves of A v has lost digits. */
static void draw_near_identity(bench *t, double rest)
{
    for (int i = 0; i < t->A.n; i++)
        for (int j = 0; j < t->A.n; j++) t->A.A[i][j] = (i == j) + rest * uniform();
}

/* mgs loses orthogonality as the residual falls, so that the product of both stays at rounding (Paige,
 * Rozloznik, Strakos, SIAM J. Matrix Anal. 28, 2006); cgs2 does not (Giraud et al., Numer. Math. 101, 2005),
 * and neither does dcgs2. Near the identity a first projection leaves few right digits. */
static void test_orthogonality(void **state)
{
    enum { M = 12 };
    const char *backend = backend_of(state);
    for (int k = 0; k < 4 * KINDS; k++) {
        const int kind = k / 4;
        bench *t = bench_open(backend, MOST, M + 2, kind);
        if (k % 4) draw_near_identity(t, pow(10, -4 * (k % 4)));
        bench_solve(t, 0, 0.0, M);
        double largest = loss_of_orthogonality(t, M);
        const double reduction = t->result.last / t->result.first;
        if (kind == FE_ORTHOGONALIZATION_MGS) largest *= reduction;
        if (!(largest <= 1e-14))
            print_error("system %d, orthogonalization %d: %.2e at residual %.2e\n", k % 4, kind, largest,
                        reduction);
        assert_true(largest <= 1e-14);
        bench_close(t);
    }
}

/* A basis of the whole space is complete: dcgs2 makes a zero of the next vector, which is rounding, and goes
 * on with the next cycle. */
static void test_complete(void **state)
{
    const char *backend = backend_of(state);
    static const int sizes[] = {1, 2, 17};
    for (int k = 0; k < 3; k++) {
        const int n = sizes[k];
        double next[17];
        bench *t = bench_open(backend, n, n + 5, FE_ORTHOGONALIZATION_DCGS2);
        bench_solve(t, 0, 0.0, n + 1);
        must(t->device->ops->memory.download(t->device, (size_t)n * sizeof *next,
                                             t->krylov.basis + (size_t)n * t->krylov.length, next));
        for (int i = 0; i < n; i++) assert_true(next[i] == 0.0);
        bench_solve(t, 0, 0.0, n + 3);
        assert_true(error_of(t) <= 1e-13);
        bench_close(t);
    }
}

/* dcgs2 knows a norm one iteration late and guesses it before; still it ends with cgs2 or one iteration
 * later, within the same cycle, its basis as orthogonal. */
static void test_delay(void **state)
{
    const char *backend = backend_of(state);
    for (int k = 0; k < 2 * 4 * 4; k++) {
        const double tolerance = (double[]){1e-3, 1e-6, 1e-9, 1e-12}[k % 4], size = k / 4 % 4;
        int iterations[KINDS];
        for (int kind = FE_ORTHOGONALIZATION_CGS2; kind < KINDS; kind++) {
            bench *t = bench_open(backend, MOST, MOST + 2, kind);
            if (k < 16)
                draw_ill_conditioned(t, pow(10, 2 + 2 * size));
            else
                draw_near_identity(t, pow(10, -4 - 2 * size));
            bench_solve(t, 0, fmax(tolerance, k < 16 ? pow(10, -13 + 2 * size) : 0), MOST + 2);
            iterations[kind] = t->result.iterations;
            const double loss = loss_of_orthogonality(t, iterations[kind] < MOST ? iterations[kind] : MOST);
            if (!t->result.converged || t->A.calls != iterations[kind] + 1 || !(loss <= 1e-14))
                print_error("system %d, orthogonalization %d: %d iterations, %d products, loss %.2e\n", k,
                            kind, iterations[kind], t->A.calls, loss);
            assert_true(t->result.converged);
            assert_int_equal(t->A.calls, iterations[kind] + 1);
            assert_true(loss <= 1e-14);
            bench_close(t);
        }
        const int later = iterations[FE_ORTHOGONALIZATION_DCGS2] - iterations[FE_ORTHOGONALIZATION_CGS2];
        if (later < 0 || later > 1) print_error("system %d: dcgs2 %d iterations later\n", k, later);
        assert_true(later == 0 || later == 1);
    }
}

/* Sums over the ranks: the first norm, one for each residual anew, and what krylov.h says of an iteration;
 * dcgs2 ends each cycle with one more. */
static void test_reductions(void **state)
{
    const char *backend = backend_of(state);
    for (int k = 0; k < KINDS * 3; k++) {
        const int kind = k / 3, restart = (int[]){1, 7, 40}[k % 3];
        bench *t = bench_open(backend, MOST, restart, kind);
        bench_solve(t, 1, 1e-10, 500);
        assert_true(t->result.converged);
        const int cycles = t->A.calls - t->result.iterations;
        assert_int_equal(cycles, (t->result.iterations + restart - 1) / restart);
        int sums = 1 + cycles;
        for (int i = 0; i < t->result.iterations; i++)
            sums += kind == FE_ORTHOGONALIZATION_MGS    ? i % restart + 2
                    : kind == FE_ORTHOGONALIZATION_CGS2 ? 3
                                                        : 1;
        if (kind == FE_ORTHOGONALIZATION_DCGS2) sums += cycles;
        assert_int_equal(t->comm.sums, sums);
        bench_close(t);
    }
}

/* One rank's part of a sum as long as dcgs2's longest, 2 (restart + 1) numbers with a restart of 1000. */
enum { LONGEST = 2002 };
typedef struct part {
    fe_comm *comm;
    fe_status status;
    double x[LONGEST];
} part;

static void *sum_part(void *arg)
{
    part *p = arg;
    for (int i = 0; i < LONGEST; i++) p->x[i] = (p->comm->rank + 1) * i;
    p->status = fe_comm_sum(p->comm, NULL, LONGEST, p->x);
    return NULL;
}

static void test_long_sum(void **state)
{
    (void)state;
    fe_team *team;
    static part parts[2];
    pthread_t threads[2];
    must(fe_team_open(2, &team));
    for (int r = 0; r < 2; r++) must(fe_comm_team(team, r, &parts[r].comm));
    for (int r = 0; r < 2; r++) assert_int_equal(pthread_create(&threads[r], NULL, sum_part, &parts[r]), 0);
    for (int r = 0; r < 2; r++) assert_int_equal(pthread_join(threads[r], NULL), 0);
    for (int r = 0; r < 2; r++) {
        assert_int_equal(parts[r].status, FE_OK);
        for (int i = 0; i < LONGEST; i++) assert_true(parts[r].x[i] == 3.0 * i);
        fe_comm_close(parts[r].comm);
    }
    fe_team_close(team);
}

enum { PAIR_ROWS = 150001, PAIR_LD = PAIR_ROWS + 9, PAIR_COLUMNS = 40 };
static double *pair_column(double *V, int j) { return V + (size_t)j * PAIR_LD; }
static double pair_dot(const double *a, const double *b)
{
    long double sum = 0;
    for (int i = 0; i < PAIR_ROWS; i++) sum += (long double)a[i] * b[i];
    return (double)sum;
}
static void pair_add(double factor, const double *a, double *b)
{
    for (int i = 0; i < PAIR_ROWS; i++) b[i] += factor * a[i];
}

/* The first k - 2 columns become orthonormal. */
static void pair_basis(double *V, int k)
{
    for (int j = 0; j < k; j++)
        for (int i = 0; i < PAIR_LD; i++) pair_column(V, j)[i] = uniform();
    for (int j = 0; j < k - 2; j++) {
        double *q = pair_column(V, j);
        for (int again = 0; again < 2; again++)
            for (int l = 0; l < j; l++) pair_add(-pair_dot(pair_column(V, l), q), pair_column(V, l), q);
        const double length = sqrt(pair_dot(q, q));
        for (int i = 0; i < PAIR_ROWS; i++) q[i] /= length;
    }
}

/* What delayed_column makes of u and w, step by step: q = (u - Q Qᵀu) / α, next u = (w - Q Qᵀw - q qᵀw) / α.
 */
static void pair_expected(double *V, int k, double *q, double *next)
{
    memcpy(q, pair_column(V, k - 2), PAIR_LD * sizeof *q);
    memcpy(next, pair_column(V, k - 1), PAIR_LD * sizeof *q);
    for (int l = 0; l < k - 2; l++) {
        const double s = pair_dot(pair_column(V, l), q), t = pair_dot(pair_column(V, l), next);
        pair_add(-s, pair_column(V, l), q), pair_add(-t, pair_column(V, l), next);
    }
    const double alpha = sqrt(pair_dot(q, q));
    for (int i = 0; i < PAIR_ROWS; i++) q[i] /= alpha;
    pair_add(-pair_dot(q, next), q, next);
    for (int i = 0; i < PAIR_ROWS; i++) next[i] /= alpha;
}

/* dots_pair and delayed_column over more rows than all blocks take at a time; what they do not speak of
 * stays. The same call gives the same bits. */
static void test_pair(void **state)
{
    enum { K = PAIR_COLUMNS, COLUMN = PAIR_LD * sizeof(double) };
    static const int widths[] = {2, 3, 7, 12, 16, 17, 18, 19, K};
    bench *t = bench_open(backend_of(state), 1, 1, 0);
    const fe_backend *ops = t->device->ops;
    double *V = calloc(K + 2, COLUMN), *W = calloc(K, COLUMN), *basis, *small, *pair, dots[2][2 * K];
    double *expected[2] = {V + (size_t)K * PAIR_LD, V + (size_t)(K + 1) * PAIR_LD};
    assert_non_null(V);
    assert_non_null(W);
    must(fe_device_allocate(t->device, K, COLUMN, "test", (void **)&basis));
    must(fe_device_allocate(t->device, fe_delayed_size(K), sizeof(double), "test", (void **)&small));
    must(fe_device_allocate(t->device, 2 * K, sizeof(double), "test", (void **)&pair));
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        const int k = widths[i];
        const size_t bytes = 2 * (size_t)k * sizeof(double);
        pair_basis(V, k);
        must(ops->memory.upload(t->device, K * COLUMN, V, basis));
        for (int again = 0; again < 2; again++) {
            must(ops->column.dots_pair(t->device, PAIR_ROWS, k, basis, PAIR_LD, pair));
            must(ops->memory.download(t->device, bytes, pair, dots[again]));
        }
        assert_memory_equal(dots[0], dots[1], bytes);
        for (int p = 0; p < 2; p++)
            for (int j = 0; j < k; j++) {
                const double sum = pair_dot(pair_column(V, j), pair_column(V, k - 2 + p));
                assert_true(fabs(dots[0][p * k + j] - sum) <= 1e-12 * sqrt(PAIR_ROWS));
            }
        must(ops->column.delayed_column(t->device, PAIR_ROWS, k - 2, K, small, basis, PAIR_LD, pair));
        must(ops->memory.download(t->device, K * COLUMN, basis, W));
        pair_expected(V, k, expected[0], expected[1]);
        for (int p = 0; p < 2; p++) {
            double *made = pair_column(W, k - 2 + p);
            const double scale = sqrt(pair_dot(expected[p], expected[p]) / PAIR_ROWS);
            for (int r = 0; r < PAIR_ROWS; r++) assert_true(fabs(made[r] - expected[p][r]) <= 1e-11 * scale);
            memcpy(made, pair_column(V, k - 2 + p), PAIR_ROWS * sizeof *V);
        }
        assert_memory_equal(V, W, K * COLUMN);
    }
    free(V);
    free(W);
    bench_close(t);
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

/* A = Q diag(eigenvalue) Q^T with a random orthogonal Q. */
static void draw_spectrum(bench *t, const double *eigenvalue)
{
    const int n = t->A.n;
    double Q[MOST][MOST];
    for (int j = 0; j < n; j++) {
        for (int i = 0; i < n; i++) Q[j][i] = uniform();
        for (int again = 0; again < 2; again++)
            for (int l = 0; l < j; l++) {
                double sum = 0;
                for (int i = 0; i < n; i++) sum += Q[l][i] * Q[j][i];
                for (int i = 0; i < n; i++) Q[j][i] -= sum * Q[l][i];
            }
        const double length = norm(n, Q[j]);
        for (int i = 0; i < n; i++) Q[j][i] /= length;
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            t->A.A[i][j] = 0;
            for (int l = 0; l < n; l++) t->A.A[i][j] += eigenvalue[l] * Q[l][i] * Q[l][j];
        }
}

/* b·x - x·A x / 2: what a step gains where A is positive. */
static double gain_of(const bench *t)
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
    const char *backend = backend_of(state);
    for (int k = 0; k < 2 * 6; k++) {
        const int restart = k % 2 ? MOST + 2 : 0, distinct = k / 2 % 3 == 0 ? 3 : k / 2 % 3 == 1 ? 9 : MOST;
        const double condition = k / 6 ? 1e4 : 100;
        double eigenvalue[MOST];
        bench *t = bench_open(backend, MOST, restart, 0);
        for (int i = 0; i < MOST; i++)
            eigenvalue[i] = pow(condition, (double)(i % distinct) / (distinct - 1));
        draw_spectrum(t, eigenvalue);
        lapack_solve(&t->A, t->right, t->exact);
        bench_solve(t, 0, 1e-10, 2000);
        const double root = sqrt(condition), bound = log(2e10 * root) / log((root + 1) / (root - 1));
        assert_true(t->result.converged);
        assert_true(t->result.iterations <= 1 + bound);
        if (distinct == 3) assert_in_range(t->result.iterations, 3, 4);
        assert_true(error_of(t) <= 1e-9 * condition);
        assert_true(residual_of(t) <= 1.1e-10 * t->result.first);
        bench_close(t);
    }
}

/* CG takes no step along a direction of negative curvature, in the first iteration or a later one: what it
 * returns has gained, and its residual is the reported one. */
static void test_curvature(void **state)
{
    const char *backend = backend_of(state);
    for (int k = 0; k < 12; k++) {
        double eigenvalue[MOST];
        bench *t = bench_open(backend, MOST, 0, 0);
        for (int i = 0; i < MOST; i++) eigenvalue[i] = i < k * 4 ? 1 + i : -1 - i;
        draw_spectrum(t, eigenvalue);
        bench_solve(t, 0, 1e-12, 500);
        assert_true(t->result.breakdown);
        assert_false(t->result.converged);
        assert_true(gain_of(t) >= 0);
        assert_true(fabs(residual_of(t) - t->result.last) <= 1e-10 * t->result.first);
        assert_true(t->result.iterations < 50);
        if (k == 0) assert_true(norm(MOST, t->found) == 0);
        bench_close(t);
    }
}

/* A preconditioner that is not positive is a breakdown, too. */
static void test_bad_preconditioner(void **state)
{
    bench *t = bench_open(backend_of(state), MOST, 0, 0);
    for (int i = 0; i < MOST; i++) t->P.A[i][i] = -t->P.A[i][i];
    bench_solve(t, 1, 1e-12, 500);
    assert_true(t->result.breakdown);
    assert_int_equal(t->result.iterations, 1);
    assert_true(norm(MOST, t->found) == 0);
    bench_close(t);
}

/* With a null space: a right-hand side in the range is solved, and any other gives no number that is none. */
static void test_singular(void **state)
{
    const char *backend = backend_of(state);
    for (int k = 0; k < 4; k++) {
        const int consistent = k / 2;
        double eigenvalue[MOST], x[MOST];
        bench *t = bench_open(backend, MOST, k % 2 ? 20 : 0, 0);
        for (int i = 0; i < MOST; i++) eigenvalue[i] = i < 6 ? 0 : 1 + i, x[i] = uniform();
        draw_spectrum(t, eigenvalue);
        for (int i = 0; i < MOST && consistent; i++) {
            t->right[i] = 0;
            for (int j = 0; j < MOST; j++) t->right[i] += t->A.A[i][j] * x[j];
        }
        bench_solve(t, 0, 1e-10, 20000);
        assert_int_equal(t->result.converged, consistent);
        assert_true(t->result.iterations < 3000);
        for (int i = 0; i < MOST; i++) assert_true(isfinite(t->found[i]));
        if (consistent) assert_true(residual_of(t) <= 1.1e-10 * t->result.first);
        bench_close(t);
    }
}

/* The cyclic shift: a basis shorter than the system finds nothing, and that is seen; the whole one is exact.
 * One Jordan block: as long as the system. */
static void test_non_normal(void **state)
{
    const char *backend = backend_of(state);
    for (int kind = 0; kind < KINDS; kind++)
        for (int k = 0; k < 3; k++) {
            bench *t = bench_open(backend, 17, k ? 20 : 10, kind);
            memset(t->A.A, 0, sizeof t->A.A);
            memset(t->right, 0, sizeof t->right);
            for (int i = 0; i < 17; i++) t->A.A[i][k < 2 ? (i + 1) % 17 : (i + 1 < 17 ? i + 1 : i)] = 1;
            for (int i = 0; i < 17 && k == 2; i++) t->A.A[i][i] = 1;
            t->right[16] = 1;
            lapack_solve(&t->A, t->right, t->exact);
            bench_solve(t, 0, 1e-12, 20000);
            assert_int_equal(t->result.converged, k > 0);
            assert_int_equal(t->result.stagnated, k == 0);
            assert_true(t->result.iterations <= (k ? 18 : 200));
            if (k) assert_true(error_of(t) <= 1e-9);
            bench_close(t);
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

/* Nothing falls below the noise: it is given up long before the limit, with the best that there is. */
static void test_noise(void **state)
{
    const char *backend = backend_of(state);
    for (int kind = -1; kind < KINDS; kind++) { /* -1: CG */
        bench *t = bench_open(backend, MOST, kind < 0 ? 0 : 20, kind);
        t->other = (fe_operator){.apply = noisy_apply, .context = &t->A};
        bench_solve(t, 0, 1e-12, 20000);
        if (kind >= 0) assert_true(t->result.stagnated);
        assert_true(t->result.iterations < 1500);
        assert_true(residual_of(t) <= 1e-4 * t->result.first);
        bench_close(t);
    }
}

/* An operator whose third and later products are no numbers. */
static fe_status nan_apply(void *context, double *x, double *y)
{
    dense *m = context;
    const double nan = NAN;
    FE_TRY(dense_apply(context, x, y));
    return m->calls < 3 ? FE_OK : m->device->ops->memory.upload(m->device, sizeof nan, &nan, y);
}

/* At once, and what was found before stays. */
static void test_not_finite(void **state)
{
    const char *backend = backend_of(state);
    for (int kind = -1; kind < KINDS; kind++) { /* -1: CG */
        bench *t = bench_open(backend, MOST, kind < 0 ? 0 : 20, kind);
        t->other = (fe_operator){.apply = nan_apply, .context = &t->A};
        bench_solve(t, 0, 1e-12, 20000);
        assert_true(t->result.not_finite);
        assert_false(t->result.converged);
        assert_in_range(t->result.iterations, 3, 4);
        assert_true(t->A.calls <= 5);
        for (int i = 0; i < MOST; i++) assert_true(isfinite(t->found[i]));
        bench_close(t);
    }
}

/* A right-hand side in a small invariant subspace ends the basis early, with the exact solution; dcgs2 sees
 * it one iteration later. */
static void test_early_end(void **state)
{
    const char *backend = backend_of(state);
    for (int k = 0; k < 4 * KINDS; k++) {
        const int eigenvalues = 1 + k % 4, kind = k / 4;
        bench *t = bench_open(backend, 17, 10, kind);
        memset(t->A.A, 0, sizeof t->A.A);
        for (int i = 0; i < 17; i++) t->A.A[i][i] = 2 + 3 * (i % eigenvalues);
        lapack_solve(&t->A, t->right, t->exact);
        bench_solve(t, 0, 1e-13, 100);
        assert_true(t->result.converged);
        assert_in_range(t->result.iterations, eigenvalues,
                        eigenvalues + (kind == FE_ORTHOGONALIZATION_DCGS2));
        assert_true(error_of(t) <= 1e-12);
        bench_close(t);
    }
}

/* Where the operator gives nothing there is no solution, and no number that is none. */
static void test_no_solution(void **state)
{
    const char *backend = backend_of(state);
    for (int kind = 0; kind < KINDS; kind++) {
        bench *t = bench_open(backend, 17, 5, kind);
        memset(t->A.A, 0, sizeof t->A.A);
        bench_solve(t, 0, 1e-10, 12);
        assert_false(t->result.converged);
        assert_int_equal(t->result.iterations, 12);
        assert_true(t->result.last == t->result.first);
        for (int i = 0; i < 17; i++) assert_true(t->found[i] == 0.0);
        bench_close(t);
    }
}

/* The same call gives the same bits. */
static void test_repeats(void **state)
{
    const char *backend = backend_of(state);
    for (int kind = 0; kind < KINDS; kind++) {
        double first[MOST];
        bench *t = bench_open(backend, MOST, 12, kind);
        bench_solve(t, 1, 1e-10, 500);
        memcpy(first, t->found, sizeof first);
        bench_solve(t, 1, 1e-10, 500); /* the workspace is used again */
        assert_memory_equal(first, t->found, sizeof first);
        bench_close(t);
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
    const char *backend = backend_of(state);
    static const int restarts[] = {0, 5, MOST + 2};
    for (int k = 0; k < 3 * KINDS; k++) {
        const int restart = restarts[k % 3];
        bench *t = bench_open(backend, MOST, restart, k / 3);
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
            bench_solve(t, 0, solve < 4 ? 1e-13 : 1e-6, 2000);
            for (int i = 0; i < MOST; i++) t->found[i] *= v + 1;
            assert_true(t->result.converged);
            assert_true(error_of(t) <= (solve < 4 ? 1e-10 : 1e-4));
            iterations += t->result.iterations;
        }
        assert_true(n_polled >= iterations);
        if (t->device->ops->recording.begin) assert_true(versions[0].calls + versions[1].calls < iterations);
        fe_krylov_close(&t->krylov);
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
                    {"complete basis", test_complete},
                    {"delayed norm", test_delay},
                    {"reductions", test_reductions},
                    {"pair of columns", test_pair},
                    {"indefinite", test_indefinite},
                    {"spectrum", test_spectrum},
                    {"curvature", test_curvature},
                    {"bad preconditioner", test_bad_preconditioner},
                    {"singular", test_singular},
                    {"non-normal", test_non_normal},
                    {"noise", test_noise},
                    {"not finite", test_not_finite},
                    {"early end", test_early_end},
                    {"no solution", test_no_solution},
                    {"repeats", test_repeats},
                    {"recorded", test_recorded}};
    enum { N = sizeof subjects / sizeof *subjects };
    struct CMUnitTest tests[1 + 2 * N] = {{0}};
    static char names[1 + 2 * N][64];
    int n = 0;
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_long_sum);
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
