/* The bases of GMRES: how orthogonal they are, what they cost in sums over the ranks, and the kernels of the
 * delayed variant, on small dense systems. */
#include "common/krylov/hessenberg.h"
#include "tests/dense.h"

#include <float.h>
#include <lapacke.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The basis in host memory: columns of t->krylov.stride doubles. */
static double *download_basis(const dense_run *t, int columns)
{
    const size_t count = (size_t)columns * t->krylov.stride;
    const fe_columns *basis = &t->krylov.basis;
    double *V = calloc(count, sizeof *V);
    float *narrow = calloc(count, sizeof *narrow);
    assert_non_null(V);
    assert_non_null(narrow);
    must(t->device->ops->memory.download(t->device, count * (basis->single ? sizeof *narrow : sizeof *V),
                                         basis->memory, basis->single ? (void *)narrow : V));
    for (size_t i = 0; i < count && basis->single; i++) V[i] = (double)narrow[i];
    free(narrow);
    return V;
}

static double product(const dense_run *t, const double *V, int i, int j)
{
    const size_t ld = t->krylov.stride;
    double sum = 0;
    for (int k = 0; k < t->A.n; k++) sum += V[(size_t)i * ld + k] * V[(size_t)j * ld + k];
    return sum;
}

/* Largest entry of V^T V - I over columns 1 .. columns - 1 of the basis: of doubles column 0 holds the new
 * residual after a cycle, and the one behind the last the correction. */
static double loss_of_orthogonality(const dense_run *t, int columns)
{
    double *V = download_basis(t, columns), largest = 0;
    for (int i = 1; i < columns; i++)
        for (int j = 1; j <= i; j++) largest = fmax(largest, fabs(product(t, V, i, j) - (i == j)));
    free(V);
    return largest;
}

/* mgs loses orthogonality as the residual falls, so that the product of both stays at rounding (Paige,
 * Rozloznik, Strakos, SIAM J. Matrix Anal. 28, 2006); cgs2 does not (Giraud et al., Numer. Math. 101, 2005),
 * and neither does dcgs2. Near the identity a first projection leaves few right digits. */
static void test_orthogonality(void **state)
{
    enum { M = 12 };
    const char *backend = dense_backend(state);
    for (int k = 0; k < 4 * KINDS; k++) {
        const int kind = k / 4;
        dense_run *t = dense_open(backend, MOST, M + 2, kind);
        if (k % 4) draw_near_identity(t, pow(10, -4 * (k % 4)));
        dense_solve(t, 0, 0.0, M);
        double largest = loss_of_orthogonality(t, M);
        const double reduction = t->result.last / t->result.first;
        if (kind == FE_ORTHOGONALIZATION_MGS) largest *= reduction;
        if (!(largest <= 1e-14))
            print_error("system %d, orthogonalization %d: %.2e at residual %.2e\n", k % 4, kind, largest,
                        reduction);
        assert_true(largest <= 1e-14);
        dense_close(t);
    }
}

/* Condition number of (v_0, A v_0 … A v_{columns-2}), whose orthogonal factor the basis is; columns have
 * length 1. v_0 is the direction of the right-hand side. */
static double condition_of(const dense_run *t, int columns)
{
    const int n = t->A.n;
    const size_t ld = t->krylov.stride;
    double *V = download_basis(t, columns), B[MOST * MOST], value[MOST], none[MOST];
    memcpy(V, t->right, (size_t)n * sizeof *V);
    for (int j = 0; j < columns; j++) {
        double *column = B + (size_t)j * n;
        for (int i = 0; i < n; i++) {
            column[i] = j ? 0 : V[i];
            for (int l = 0; l < n && j; l++) column[i] += t->A.A[i][l] * V[(size_t)(j - 1) * ld + l];
        }
        const double length = dense_norm(n, column);
        for (int i = 0; i < n; i++) column[i] /= length;
    }
    assert_int_equal(
        LAPACKE_dgesvd(LAPACK_COL_MAJOR, 'N', 'N', n, columns, B, n, value, NULL, n, NULL, n, none), 0);
    free(V);
    return value[0] / value[columns - 1];
}

/* What is measured: |I - V^T V| in the Frobenius norm, on symmetric systems whose eigenvalues are known. mgs
 * loses eps times the condition of (v_0, A V) (Björck, BIT 7, 1967), which grows as the residual falls; cgs2
 * and dcgs2 lose nothing beyond eps, where one projection alone would lose eps times its square. A basis of
 * floats has 6e-8 instead of eps, because its columns are rounded. */
static void test_loss(void **state)
{
    enum { M = 20 };
    const char *backend = dense_backend(state);
    const double rounding[2] = {DBL_EPSILON, FLT_EPSILON / 2};
    for (int k = 0; k < 2 * KINDS * 3; k++) {
        const int single = k % 2, kind = k / 2 % KINDS;
        const double condition = pow(10, (single ? 1 : 2) * (1 + k / 2 / KINDS));
        double eigenvalue[MOST];
        dense_run *t = (single ? dense_open_single : dense_open)(backend, MOST, M, kind);
        for (int i = 0; i < MOST; i++) eigenvalue[i] = pow(condition, (double)i / (MOST - 1));
        draw_spectrum(t, eigenvalue);
        dense_solve(t, 0, 0.0, M);
        assert_true(isnan(t->result.loss)); /* not asked for */
        t->krylov.measures = 1;
        dense_solve(t, 0, 0.0, M);
        const double loss = t->result.loss, eps = rounding[single],
                     lost = kind == FE_ORTHOGONALIZATION_MGS ? eps * condition_of(t, M) : eps;
        if (!(loss <= M * lost && loss > 0.01 * lost))
            print_error("basis %d, orthogonalization %d, condition %.0e: loss %.2e of %.2e\n", single, kind,
                        condition, loss, M * lost);
        assert_true(loss <= M * lost);
        assert_true(loss > 0.01 * lost);
        if (single) { /* the whole basis is still there */
            double *V = download_basis(t, M), squares = 0;
            for (int i = 0; i < M; i++)
                for (int j = 0; j < M; j++) squares += pow(product(t, V, i, j) - (i == j), 2);
            assert_true(fabs(sqrt(squares) - loss) <= 1e-6 * loss);
            free(V);
        } else {
            assert_true(loss >= (1 - 1e-6) * loss_of_orthogonality(t, M));
        }
        dense_close(t);
    }
}

/* A basis of the whole space is complete: dcgs2 makes a zero of the next vector, which is rounding, and goes
 * on with the next cycle. */
static void test_complete(void **state)
{
    const char *backend = dense_backend(state);
    static const int sizes[] = {1, 2, 17};
    for (int k = 0; k < 3; k++) {
        const int n = sizes[k];
        double next[17];
        dense_run *t = dense_open(backend, n, n + 5, FE_ORTHOGONALIZATION_DCGS2);
        dense_solve(t, 0, 0.0, n + 1);
        must(t->device->ops->memory.download(t->device, (size_t)n * sizeof *next,
                                             (double *)t->krylov.basis.memory + (size_t)n * t->krylov.stride,
                                             next));
        for (int i = 0; i < n; i++) assert_true(next[i] == 0.0);
        dense_solve(t, 0, 0.0, n + 3);
        assert_true(dense_error(t) <= 1e-13);
        dense_close(t);
    }
}

/* dcgs2 knows a norm one iteration late and guesses it before; still it ends with cgs2 or one iteration
 * later, within the same cycle, its basis as orthogonal. */
static void test_delay(void **state)
{
    const char *backend = dense_backend(state);
    for (int k = 0; k < 2 * 4 * 4; k++) {
        const double tolerance = (double[]){1e-3, 1e-6, 1e-9, 1e-12}[k % 4], size = k / 4 % 4;
        int iterations[KINDS];
        for (int kind = FE_ORTHOGONALIZATION_CGS2; kind < KINDS; kind++) {
            dense_run *t = dense_open(backend, MOST, MOST + 2, kind);
            if (k < 16)
                draw_ill_conditioned(t, pow(10, 2 + 2 * size));
            else
                draw_near_identity(t, pow(10, -4 - 2 * size));
            dense_solve(t, 0, fmax(tolerance, k < 16 ? pow(10, -13 + 2 * size) : 0), MOST + 2);
            iterations[kind] = t->result.iterations;
            const double loss = loss_of_orthogonality(t, iterations[kind] < MOST ? iterations[kind] : MOST);
            if (!t->result.converged || t->A.calls != iterations[kind] + 1 || !(loss <= 1e-14))
                print_error("system %d, orthogonalization %d: %d iterations, %d products, loss %.2e\n", k,
                            kind, iterations[kind], t->A.calls, loss);
            assert_true(t->result.converged);
            assert_int_equal(t->A.calls, iterations[kind] + 1);
            assert_true(loss <= 1e-14);
            dense_close(t);
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
    const char *backend = dense_backend(state);
    for (int k = 0; k < KINDS * 3 * 2; k++) {
        const int kind = k / 3 % KINDS, restart = (int[]){1, 7, 40}[k % 3], single = k / 3 / KINDS;
        dense_run *t = (single ? dense_open_single : dense_open)(backend, MOST, restart, kind);
        dense_solve(t, 1, single ? 1e-5 : 1e-10, 500);
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
        dense_close(t);
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
    for (int r = 0; r < 2; r++) parts[r].comm = fe_comm_team(team, r);
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

/* Numbers as the basis stores them. */
static void round_columns(int single, int k, double *V, float *narrow)
{
    for (size_t i = 0; i < (size_t)k * PAIR_LD; i++) {
        narrow[i] = (float)V[i];
        if (single) V[i] = (double)narrow[i];
    }
}

/* dots, dots_pair and delayed_column over more rows than all blocks take at a time; what they do not speak of
 * stays. The same call gives the same bits. Of doubles u and w are the two columns behind the basis. */
static void pair_of(const char *backend, int single)
{
    enum { K = PAIR_COLUMNS, COLUMN = PAIR_LD * sizeof(double) };
    static const int widths[] = {2, 3, 7, 12, 16, 17, 18, 19, K};
    const double tolerance = single ? 1e-5 : 1e-11; /* a basis of floats is orthonormal to 1e-7 */
    dense_run *t = dense_open(backend, 1, 1, 0);
    const fe_backend *ops = t->device->ops;
    double *V = calloc(K + 2, COLUMN), *W = calloc(K, COLUMN), *doubles, *small, *pair, dots[2][2 * K];
    float *narrow = calloc(K, COLUMN), *floats;
    double *expected[2] = {V + (size_t)K * PAIR_LD, V + (size_t)(K + 1) * PAIR_LD};
    assert_non_null(V);
    assert_non_null(W);
    assert_non_null(narrow);
    must(fe_device_allocate(t->device, K, COLUMN, "test", (void **)&doubles));
    must(fe_device_allocate(t->device, K, COLUMN / 2, "test", (void **)&floats));
    must(fe_device_allocate(t->device, fe_delayed_size(K), sizeof(double), "test", (void **)&small));
    must(fe_device_allocate(t->device, 2 * K, sizeof(double), "test", (void **)&pair));
    const fe_columns basis = {single ? (void *)floats : doubles, PAIR_LD, single};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        const int k = widths[i];
        const size_t bytes = 2 * (size_t)k * sizeof(double);
        double *u = pair_column(doubles, k - 2), *w = pair_column(doubles, k - 1);
        pair_basis(V, k);
        round_columns(single, K, V, narrow);
        must(ops->memory.upload(t->device, K * COLUMN, V, doubles));
        must(ops->memory.upload(t->device, K * COLUMN / 2, narrow, floats));
        for (int again = 0; again < 2; again++) {
            must(fe_krylov_steps_of(t->device)->dots_pair(t->device, PAIR_ROWS, k - 2, basis, u, w, pair));
            must(ops->memory.download(t->device, bytes, pair, dots[again]));
        }
        assert_memory_equal(dots[0], dots[1], bytes);
        for (int p = 0; p < 2; p++)
            for (int j = 0; j < k; j++) {
                const double sum = pair_dot(pair_column(V, j), pair_column(V, k - 2 + p));
                assert_true(fabs(dots[0][p * k + j] - sum) <= 1e-12 * sqrt(PAIR_ROWS));
            }
        must(fe_krylov_steps_of(t->device)->dots(t->device, PAIR_ROWS, k, basis, w, small));
        must(ops->memory.download(t->device, bytes / 2, small, dots[1]));
        for (int j = 0; j < k; j++)
            assert_true(fabs(dots[1][j] - dots[0][k + j]) <=
                        1e-12 * sqrt(PAIR_ROWS) + 1e-13 * fabs(dots[1][j]));
        must(fe_krylov_steps_of(t->device)->delayed_column(t->device, PAIR_ROWS, k - 2, K, small, basis, u, w,
                                                           pair));
        must(ops->memory.download(t->device, K * COLUMN, doubles, W));
        if (single) must(ops->memory.download(t->device, K * COLUMN / 2, floats, narrow));
        pair_expected(V, k, expected[0], expected[1]);
        for (int r = 0; r < PAIR_ROWS && single; r++) /* the column that was made */
            pair_column(W, k - 2)[r] = (double)narrow[(size_t)(k - 2) * PAIR_LD + r];
        for (int p = 0; p < 2; p++) {
            double *made = pair_column(W, k - 2 + p);
            const double scale = sqrt(pair_dot(expected[p], expected[p]) / PAIR_ROWS);
            for (int r = 0; r < PAIR_ROWS; r++)
                assert_true(fabs(made[r] - expected[p][r]) <= tolerance * scale);
            memcpy(made, pair_column(V, k - 2 + p), PAIR_ROWS * sizeof *V);
        }
        assert_memory_equal(V, W, K * COLUMN);
        for (size_t r = 0; r < (size_t)K * PAIR_LD && single; r++)
            if (r / PAIR_LD != (size_t)k - 2 || r % PAIR_LD >= PAIR_ROWS)
                assert_true(narrow[r] == (float)V[r]);
    }
    free(V), free(W), free(narrow);
    dense_close(t);
}

static void test_pair(void **state)
{
    const char *backend = dense_backend(state);
    for (int single = 0; single < 2; single++) pair_of(backend, single);
}

/* store and load round as C does, and combine adds columns of floats to a vector of doubles. */
static void test_floats(void **state)
{
    enum { N = 10007, K = 9 };
    dense_run *t = dense_open(dense_backend(state), 1, 1, 0);
    const fe_backend *ops = t->device->ops;
    static double x[N], v[N], y[N], h[K];
    static float narrow[K][N];
    double *vector, *other, *factors;
    fe_columns V = {.ld = N, .single = 1};
    must(fe_device_allocate(t->device, K * N, sizeof(float), "test", &V.memory));
    must(fe_device_allocate(t->device, N, sizeof(double), "test", (void **)&vector));
    must(fe_device_allocate(t->device, N, sizeof(double), "test", (void **)&other));
    must(fe_device_allocate(t->device, K, sizeof(double), "test", (void **)&factors));
    for (int j = 0; j < K; j++) h[j] = 1 + uniform();
    must(ops->memory.upload(t->device, sizeof h, h, factors));
    for (int j = 0; j < K; j++) {
        for (int i = 0; i < N; i++) x[i] = uniform();
        must(ops->memory.upload(t->device, sizeof x, x, vector));
        must(fe_krylov_steps_of(t->device)->store(t->device, N, vector, factors + j,
                                                  fe_columns_from(V, (size_t)j), vector));
        must(ops->memory.download(t->device, sizeof v, vector, v));
        must(fe_krylov_steps_of(t->device)->load(t->device, N, fe_columns_from(V, (size_t)j), other));
        must(ops->memory.download(t->device, sizeof y, other, y));
        for (int i = 0; i < N; i++) {
            assert_true(fabs(v[i] - x[i] / h[j]) <= 0x1p-24 * fabs(x[i] / h[j]) * (1 + 1e-7));
            assert_true(v[i] == (double)(float)v[i] && y[i] == v[i]);
        }
    }
    must(ops->memory.download(t->device, sizeof narrow, V.memory, narrow));
    must(fe_krylov_steps_of(t->device)->combine(t->device, N, K, -1.0, V, factors,
                                                other)); /* holds the last column */
    must(ops->memory.download(t->device, sizeof y, other, y));
    for (int i = 0; i < N; i++) {
        double sum = (double)narrow[K - 1][i];
        for (int j = 0; j < K; j++) sum -= h[j] * (double)narrow[j][i];
        assert_true(fabs(y[i] - sum) <= 1e-14 * K);
    }
    dense_close(t);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest first = cmocka_unit_test(test_long_sum);
    static const subject subjects[] = {
        {"orthogonality", test_orthogonality}, {"loss of orthogonality", test_loss},
        {"complete basis", test_complete},     {"delayed norm", test_delay},
        {"reductions", test_reductions},       {"pair of columns", test_pair},
        {"columns of floats", test_floats},
    };
    return dense_main("orthogonalization", &first, sizeof subjects / sizeof *subjects, subjects, argc, argv);
}
