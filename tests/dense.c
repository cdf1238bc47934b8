/* Small dense systems; see dense.h. */
#include "tests/dense.h"
#include "have/cuda.h"

#include <lapacke.h>
#include <stdlib.h>
#include <string.h>

fe_status dense_apply(void *context, double *x, double *y)
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

void dense_exact(const dense *m, const double *b, double *x)
{
    double A[MOST * MOST];
    lapack_int pivot[MOST];
    for (int i = 0; i < m->n; i++)
        for (int j = 0; j < m->n; j++) A[i * m->n + j] = m->A[i][j];
    memcpy(x, b, (size_t)m->n * sizeof *x);
    assert_int_equal(LAPACKE_dgesv(LAPACK_ROW_MAJOR, m->n, 1, A, m->n, pivot, x, 1), 0);
}

static fe_status counting_reduce(fe_comm *c, fe_device *d, fe_reduction reduction, int n, double *x)
{
    counting *self = (counting *)c;
    self->sums++;
    return self->inner->ops->reduce(self->inner, d, reduction, n, x);
}

static dense_run *open_run(const char *backend, int n, int restart, int orthogonalization, int basis)
{
    const fe_backend *ops;
    dense_run *t = calloc(1, sizeof *t);
    assert_non_null(t);
    must(fe_backend_find(backend, &ops));
    must(ops->open(0, 1, &t->device));
    must(fe_team_open(1, &t->team));
    t->comm.inner = fe_comm_team(t->team, 0);
    t->comm.base = *t->comm.inner, t->comm.operations = *t->comm.inner->ops;
    t->comm.operations.reduce = counting_reduce, t->comm.base.ops = &t->comm.operations;
    must(fe_krylov_open(t->device, &t->comm.base, (size_t)n, (size_t)n + GHOSTS, restart, orthogonalization,
                        basis, &t->krylov));
    must(fe_device_allocate(t->device, (size_t)n + GHOSTS, sizeof(double), "test", (void **)&t->b));
    must(fe_device_allocate(t->device, (size_t)n + GHOSTS, sizeof(double), "test", (void **)&t->x));
    random_state = (uint64_t)(1000 * n + restart);
    draw_matrix(&t->A, n, restart == 0);
    invert_diagonal(&t->A, &t->P);
    t->A.device = t->P.device = t->device;
    for (int i = 0; i < n; i++) t->right[i] = uniform();
    dense_exact(&t->A, t->right, t->exact);
    return t;
}

dense_run *dense_open(const char *backend, int n, int restart, int orthogonalization)
{
    return open_run(backend, n, restart, orthogonalization, FE_BASIS_DOUBLE);
}

dense_run *dense_open_single(const char *backend, int n, int restart, int orthogonalization)
{
    return open_run(backend, n, restart, orthogonalization, FE_BASIS_SINGLE);
}

void dense_close(dense_run *t)
{
    fe_comm_close(t->comm.inner);
    fe_team_close(t->team);
    t->device->ops->close(t->device);
    free(t);
}

void dense_solve(dense_run *t, int preconditioned, double tolerance, int most)
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

double dense_norm(int n, const double *x)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * x[i];
    return sqrt(sum);
}

double dense_error(const dense_run *t)
{
    double difference[MOST];
    for (int i = 0; i < t->A.n; i++) difference[i] = t->found[i] - t->exact[i];
    return dense_norm(t->A.n, difference) / dense_norm(t->A.n, t->exact);
}

double dense_residual(const dense_run *t)
{
    double r[MOST];
    for (int i = 0; i < t->A.n; i++) {
        r[i] = t->right[i];
        for (int j = 0; j < t->A.n; j++) r[i] -= t->A.A[i][j] * t->found[j];
    }
    return dense_norm(t->A.n, r);
}

void draw_spectrum(dense_run *t, const double *eigenvalue)
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
        const double length = dense_norm(n, Q[j]);
        for (int i = 0; i < n; i++) Q[j][i] /= length;
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            t->A.A[i][j] = 0;
            for (int l = 0; l < n; l++) t->A.A[i][j] += eigenvalue[l] * Q[l][i] * Q[l][j];
        }
}

void draw_ill_conditioned(dense_run *t, double condition)
{
    const int n = t->A.n;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            const double size = pow(condition, -(double)i / (n - 1));
            t->A.A[i][j] = i == j ? size : i < j ? 0.3 * size * uniform() : 0;
        }
}

void draw_near_identity(dense_run *t, double rest)
{
    for (int i = 0; i < t->A.n; i++)
        for (int j = 0; j < t->A.n; j++) t->A.A[i][j] = (i == j) + rest * uniform();
}

/* --- the tests of a program ------------------------------------------------------------------------- */

const char *dense_backend(void **state)
{
    const char *backend = *state;
    skip_if(strcmp(backend, "cuda") || fe_cuda_devices() > 0 ? NULL
            : FE_HAVE_CUDA                                   ? "no CUDA device found"
                                                             : "built without CUDA",
            "small systems on cuda");
    return backend;
}

int dense_main(const char *group, const struct CMUnitTest *first, int n, const subject *subjects, int argc,
               char **argv)
{
    static char names[64][64];
    static struct CMUnitTest tests[64];
    static const char *const backends[] = {"host", "cuda"};
    int n_test = 0;
    if (n > 31) return 1;
    if (first) tests[n_test++] = *first;
    for (int k = 0; k < 2; k++) {
        const int there = k == 0 || fe_cuda_devices() > 0;
        for (int i = 0; i < (there ? n : 1); i++, n_test++) { /* one skip instead of all */
            snprintf(names[n_test], sizeof names[n_test], "%s %s", there ? subjects[i].name : "*",
                     backends[k]);
            tests[n_test] = (struct CMUnitTest){.name = names[n_test],
                                                .test_func = subjects[i].test,
                                                .initial_state = (void *)(uintptr_t)backends[k]};
        }
    }
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return _cmocka_run_group_tests(group, tests, (size_t)n_test, NULL, NULL) ? 1 : 0;
}
