/* The Lanczos recurrence in the form of conjugate gradients, whose factors are the tridiagonal matrix: Saad,
 * Iterative Methods, 6.7.3. Vectors are of floats and sums in double precision, as in the cycle; the host
 * reads the factors once, at the end. */
#include "common/krylov/conjugate.h"
#include "common/krylov/krylov_steps.h"
#include "common/multigrid/setup_steps.h"

#include <lapacke.h>

enum { STEPS = 12 };

typedef struct lanczos {
    fe_multigrid *m;
    fe_comm *comm; /* NULL: one rank */
    int level, clears;
    size_t n;
    float *r, *z, *w, *s; /* the level's own vectors; z with ghosts */
    double *scalar;       /* [STEPS + 1][FE_CG_SIZE] of conjugate.h */
    double *exchanged;    /* of the finest level's ghosts; NULL on one rank */
} lanczos;

static fe_status sum(const lanczos *l, int n, double *x)
{
    return l->comm ? fe_comm_sum(l->comm, l->m->device, n, x) : FE_OK;
}

/* From z, which becomes that of the next step. */
static fe_status whole_step(const lanczos *l, double *from)
{
    fe_device *d = l->m->device;
    const fe_lanczos_vectors v = {.n = l->n,
                                  .block = l->level ? 6 : 3,
                                  .inverse = l->level ? l->m->coarse[l->level - 1].inverse : l->m->inverse,
                                  .r = l->r,
                                  .z = l->z,
                                  .w = l->w,
                                  .s = l->s,
                                  .clear = l->clears};
    FE_TRY(fe_multigrid_level_product(l->m, l->level, l->z, l->w, l->exchanged));
    return fe_krylov_steps_of(d)->lanczos_step(d, &v, from, from + FE_CG_SIZE);
}

static fe_status step(const lanczos *l, double *from)
{
    fe_device *d = l->m->device;
    double *to = from + FE_CG_SIZE;
    const int whole = !l->comm && fe_krylov_steps_of(d)->lanczos_step;
    if (!whole || from == l->scalar) FE_TRY(fe_multigrid_level_inverse(l->m, l->level, l->r, l->z));
    if (whole) return whole_step(l, from);
    FE_TRY(fe_multigrid_level_product(l->m, l->level, l->z, l->w, l->exchanged));
    FE_TRY(fe_krylov_steps_of(d)->lanczos_sums(d, l->n, l->r, l->z, l->w, from + FE_CG_GAMMA));
    FE_TRY(sum(l, 2, from + FE_CG_GAMMA));
    FE_TRY(fe_krylov_steps_of(d)->lanczos_update(d, l->n, from, l->w, l->clears, l->s, l->r, to));
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

static fe_status run(const lanczos *l, double *lambda)
{
    fe_device *d = l->m->device;
    double scalar[STEPS + 1][FE_CG_SIZE] = {{0}};
    FE_TRY(fe_block_ops_of(d)->noise(d, l->n, l->r));
    scalar[0][FE_CG_SQUARE] = 1.0; /* any above the target, which is zero */
    FE_TRY(d->ops->memory.upload(d, sizeof scalar, scalar, l->scalar));
    for (int i = 0; i < STEPS; i++) FE_TRY(step(l, l->scalar + (size_t)i * FE_CG_SIZE));
    FE_TRY(d->ops->memory.download(d, sizeof scalar, l->scalar, scalar));
    if (l->clears) FE_TRY(d->ops->memory.zero(d, l->n * sizeof *l->w, l->w)); /* it may have ended early */
    return largest_of(scalar, lambda);
}

size_t fe_lanczos_numbers(const fe_setup *k)
{
    const size_t ghosts = k->level == 0 && k->m->comm->size > 1 ? (size_t)k->m->problem->view.n_local : 0;
    return (STEPS + 1) * FE_CG_SIZE + 3 * ghosts;
}

fe_status fe_lanczos_bound(fe_setup *k, double *memory)
{
    fe_multigrid *m = k->m;
    lanczos l = {.m = m,
                 .comm = k->shared ? m->comm : NULL,
                 .level = k->level,
                 .n = (size_t)k->n * (size_t)k->block,
                 .scalar = memory,
                 .exchanged = m->comm->size > 1 ? memory + (STEPS + 1) * FE_CG_SIZE : NULL};
    if (k->level == 0) {
        l.r = m->b, l.z = m->x, l.w = m->product, l.s = m->direction;
        l.clears = !(m->single->traits & FE_STORES);
    } else {
        const fe_coarse_level *own = &m->coarse[k->level - 1];
        l.r = own->b, l.z = own->x, l.w = own->y, l.s = own->r;
    }
    return run(&l, &k->lambda);
}
