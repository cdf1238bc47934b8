/* The Lanczos recurrence in the form of conjugate gradients, whose factors are the tridiagonal matrix: Saad,
 * Iterative Methods, 6.7.3. */
#include "common/solver/multigrid_setup.h"

#include <lapacke.h>
#include <stdlib.h>

enum { STEPS = 15 };

typedef struct lanczos {
    fe_device *d;
    fe_comm *comm;
    size_t n;
    double *r, *z, *p, *q, *scalar;
} lanczos;

static fe_status dot(const lanczos *l, const double *x, const double *y, double *out)
{
    fe_device *d = l->d;
    FE_TRY(d->ops->column.dots(d, l->n, 1, x, l->n, y, l->scalar));
    if (l->comm) FE_TRY(fe_comm_sum(l->comm, d, 1, l->scalar));
    return d->ops->memory.download(d, sizeof *out, l->scalar, out);
}

static fe_status start(const lanczos *l)
{
    double *random = NULL;
    FE_ALLOCATE(random, l->n + 1, "start of Lanczos' method");
    for (size_t i = 0; i < l->n; i++) random[i] = 0x1p-52 * (double)(fe_mix((uint64_t)i) >> 11) - 1.0;
    const fe_status status = l->d->ops->memory.upload(l->d, l->n * sizeof *random, random, l->r);
    free(random);
    return status;
}

static fe_status largest_of(int n, double *diagonal, double *beside, double *lambda)
{
    if (n == 0) *diagonal = 1.0, n = 1;
    const lapack_int info = LAPACKE_dsterf(n, diagonal, beside);
    if (info) return fe_fail(FE_FAILED, "LAPACK dsterf returned %d on Lanczos' matrix", (int)info);
    *lambda = 1.05 * diagonal[n - 1];
    return FE_OK;
}

static fe_status run(const lanczos *l, const fe_operator *A, const fe_operator *inverse, double *lambda)
{
    fe_device *d = l->d;
    double diagonal[STEPS + 1] = {0}, beside[STEPS + 1] = {0}, rz, first, pq, alpha = 1.0, beta = 0.0;
    int n = 0;
    FE_TRY(start(l));
    FE_TRY(inverse->apply(inverse->context, l->r, l->z));
    FE_TRY(d->ops->vector.copy(d, l->n, l->z, l->p));
    FE_TRY(dot(l, l->r, l->z, &rz));
    first = rz;
    while (n < STEPS && rz > 1e-24 * first) {
        FE_TRY(A->apply(A->context, l->p, l->q));
        FE_TRY(dot(l, l->p, l->q, &pq));
        if (!(pq > 0.0)) break;
        diagonal[n] = beta / alpha;
        alpha = rz / pq;
        diagonal[n] += 1.0 / alpha;
        FE_TRY(d->ops->vector.axpy(d, l->n, -alpha, l->q, l->r));
        FE_TRY(inverse->apply(inverse->context, l->r, l->z));
        const double last = rz;
        FE_TRY(dot(l, l->r, l->z, &rz));
        beta = rz / last;
        beside[n++] = sqrt(beta) / alpha;
        FE_TRY(d->ops->vector.scale(d, l->n, beta, l->p));
        FE_TRY(d->ops->vector.axpy(d, l->n, 1.0, l->z, l->p));
    }
    return largest_of(n, diagonal, beside, lambda);
}

fe_status fe_lanczos_bound(fe_device *d, fe_comm *comm, size_t n, size_t length, const fe_operator *A,
                           const fe_operator *inverse, double *lambda)
{
    lanczos l = {.d = d, .comm = comm, .n = n};
    double **vectors[] = {&l.r, &l.z, &l.p, &l.q, &l.scalar};
    fe_status status = FE_OK;
    for (int i = 0; i < 5 && status == FE_OK; i++)
        status = fe_device_allocate(d, length + 8, sizeof(double), "Lanczos vector", (void **)vectors[i]);
    if (status == FE_OK) status = run(&l, A, inverse, lambda);
    for (int i = 0; i < 5; i++)
        if (*vectors[i]) d->ops->memory.release(d, *vectors[i]);
    return status;
}
