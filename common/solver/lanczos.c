/* The Lanczos recurrence in the form of conjugate gradients, whose factors are the tridiagonal matrix: Saad,
 * Iterative Methods, 6.7.3. The host reads them once, at the end. */
#include "common/algebra/conjugate.h"
#include "common/backend/block_matrix.h"
#include "common/solver/multigrid_setup.h"

#include <lapacke.h>

enum { STEPS = 12, N_VECTOR = 4 };

typedef struct lanczos {
    fe_device *d;
    fe_comm *comm; /* NULL: one rank */
    size_t n;
    double *r, *z, *w, *s;
    double *scalar; /* [STEPS + 1][FE_CG_SIZE] of conjugate.h */
} lanczos;

static fe_status sum(const lanczos *l, int n, double *x)
{
    return l->comm ? fe_comm_sum(l->comm, l->d, n, x) : FE_OK;
}

static fe_status step(const lanczos *l, const fe_operator *A, const fe_operator *inverse, double *from)
{
    fe_device *d = l->d;
    double *to = from + FE_CG_SIZE;
    FE_TRY(inverse->apply(inverse->context, l->r, l->z));
    FE_TRY(A->apply(A->context, l->z, l->w));
    FE_TRY(d->ops->column.cg_sums(d, l->n, l->r, l->z, l->w, from + FE_CG_GAMMA));
    FE_TRY(sum(l, 2, from + FE_CG_GAMMA));
    FE_TRY(d->ops->column.cg_update(d, l->n, from, l->z, l->w, 0, NULL, l->s, NULL, l->r, to));
    return sum(l, 1, to + FE_CG_SQUARE);
}

/* The tridiagonal matrix of the steps that were made before an end or before digits ran out; its size. */
static int tridiagonal(double scalar[][FE_CG_SIZE], double *diagonal, double *beside)
{
    const double first = scalar[0][FE_CG_GAMMA];
    int n = 0;
    for (; n < STEPS; n++) {
        const double gamma = scalar[n][FE_CG_GAMMA], alpha = scalar[n + 1][FE_CG_LAST_ALPHA];
        if (!(gamma > 1e-24 * first) || !(alpha > 0.0) || scalar[n + 1][FE_CG_END] != 0.0) break;
        diagonal[n] = 1.0 / alpha;
        if (n == 0) continue;
        const double beta = gamma / scalar[n][FE_CG_LAST_GAMMA], before = scalar[n][FE_CG_LAST_ALPHA];
        diagonal[n] += beta / before;
        beside[n - 1] = sqrt(beta) / before;
    }
    return n;
}

static fe_status largest_of(double scalar[][FE_CG_SIZE], double *lambda)
{
    double diagonal[STEPS] = {1.0}, beside[STEPS] = {0.0};
    int n = tridiagonal(scalar, diagonal, beside);
    if (n == 0) n = 1;
    const lapack_int info = LAPACKE_dsterf(n, diagonal, beside);
    if (info) return fe_fail(FE_FAILED, "LAPACK dsterf returned %d on Lanczos' matrix", (int)info);
    *lambda = 1.05 * diagonal[n - 1];
    return FE_OK;
}

static fe_status run(const lanczos *l, const fe_operator *A, const fe_operator *inverse, double *lambda)
{
    fe_device *d = l->d;
    double scalar[STEPS + 1][FE_CG_SIZE] = {{0}};
    FE_TRY(fe_block_ops_of(d)->noise(d, l->n, l->r));
    scalar[0][FE_CG_SQUARE] = 1.0; /* any above the target, which is zero */
    FE_TRY(d->ops->memory.upload(d, sizeof scalar, scalar, l->scalar));
    for (int i = 0; i < STEPS; i++) FE_TRY(step(l, A, inverse, l->scalar + (size_t)i * FE_CG_SIZE));
    FE_TRY(d->ops->memory.download(d, sizeof scalar, l->scalar, scalar));
    return largest_of(scalar, lambda);
}

static size_t stride_of(size_t length) { return (length + 15) / 8 * 8; }

size_t fe_lanczos_bytes(size_t length)
{
    return (N_VECTOR * stride_of(length) + (STEPS + 1) * FE_CG_SIZE) * sizeof(double);
}

fe_status fe_lanczos_bound(fe_device *d, fe_comm *comm, size_t n, size_t length, void *memory,
                           const fe_operator *A, const fe_operator *inverse, double *lambda)
{
    lanczos l = {.d = d, .comm = comm, .n = n, .scalar = (double *)memory + N_VECTOR * stride_of(length)};
    double **vectors[N_VECTOR] = {&l.r, &l.z, &l.w, &l.s};
    for (int i = 0; i < N_VECTOR; i++) *vectors[i] = (double *)memory + (size_t)i * stride_of(length);
    return run(&l, A, inverse, lambda);
}
