/* The cycle with vectors, sums and the finest level's product in double precision: the same hierarchy, step
 * by step without what makes the other one fast. Rounding in floats perturbs it by 6e-8 of the stiffest mode,
 * which is more than the softest one of a slender body has; this one stays positive. */
#include "common/multigrid/orders.h"
#include "common/problem/apply.h"

/* A level as this cycle sees it: of n nodes with ghosts, `size` numbers each. */
typedef struct level {
    fe_multigrid *m;
    fe_device *d;
    const fe_vector_operations *vector;
    const fe_block_ops *ops;
    int at, size, own, n; /* at: 0 is the finest */
    size_t length;
    const fe_exact_vectors *v;
    const fe_coarse_level *coarse; /* NULL of the finest */
} level;

static level level_of(fe_multigrid *m, int at)
{
    const fe_coarse_level *const coarse = at ? &m->coarse[at - 1] : NULL;
    level l = {.m = m,
               .d = m->device,
               .vector = &m->device->ops->vector,
               .ops = fe_block_ops_of(m->device),
               .at = at,
               .size = at ? 6 : 3,
               .own = at ? coarse->n : m->problem->view.n_owned,
               .n = at ? coarse->n_local : m->problem->view.n_local,
               .v = &m->exact[at],
               .coarse = coarse};
    l.length = (size_t)l.size * (size_t)l.n;
    return l;
}

fe_status fe_multigrid_open_exact(fe_multigrid *m)
{
    for (int at = 0; at <= m->n_coarse; at++) {
        const size_t n = level_of(m, at).length;
        fe_exact_vectors *v = &m->exact[at];
        double **const vectors[] = {&v->b, &v->x, &v->r, &v->y, &v->direction};
        for (int i = 0; i < 5; i++)
            FE_TRY(fe_device_allocate(m->device, n + 8, sizeof(double), "multigrid vector",
                                      (void **)vectors[i]));
    }
    return m->orders ? fe_multigrid_open_exact(&m->orders->vertices) : FE_OK;
}

/* Ghosts of a vector of the level, where it is shared. */
static fe_status refresh(const level *l, double *x)
{
    if (l->m->comm->size == 1 || (l->coarse && !l->coarse->halo)) return FE_OK;
    const int halo = l->coarse ? l->coarse->halo : l->m->problem->halo;
    FE_TRY(fe_comm_exchange(l->m->comm, halo, x));
    return l->size == 6 ? fe_comm_exchange(l->m->comm, halo, x + 3 * (size_t)l->n) : FE_OK;
}

/* y = A x; x's ghosts are refreshed. */
static fe_status product(const level *l, double *x, double *y)
{
    fe_multigrid *const m = l->m;
    fe_problem elastic = *m->problem;
    elastic.view.elastic = 1;
    FE_TRY(l->d->ops->memory.clear(l->d, l->length * sizeof *y, y));
    if (l->coarse) {
        FE_TRY(refresh(l, x));
        return l->ops->exact_product(l->d, &l->coarse->A, l->n, x, l->n, y);
    }
    FE_TRY(fe_apply_cleared(&elastic, m->assembly, m->work, m->comm, m->assembly->jacvec,
                            FE_PHASE_PRECONDITION_PRODUCT, x, y));
    return l->d->ops->phase(l->d, FE_PHASE_PRECONDITION);
}

/* r = b - A x */
static fe_status residual(const level *l)
{
    FE_TRY(product(l, l->v->x, l->v->y));
    return l->vector->add(l->d, l->length, l->v->b, -1.0, l->v->y, l->v->r);
}

/* Chebyshev sweeps; `first`: x counts as zero. */
static fe_status sweeps(const level *l, int first)
{
    const fe_exact_vectors *v = l->v;
    const float *inverse = l->coarse ? l->coarse->inverse : l->m->inverse;
    for (int i = 0; i < l->m->degree; i++) {
        const fe_sweep s = l->coarse ? l->coarse->sweep[i] : l->m->sweep[i];
        const int begins = first && i == 0;
        if (!begins) FE_TRY(residual(l));
        FE_TRY(l->ops->exact_inverse(l->d, l->size, l->own, inverse, l->n, begins ? v->b : v->r, v->y));
        FE_TRY(l->vector->scale(l->d, l->length, i ? (double)s.old_factor : 0.0, v->direction));
        FE_TRY(l->vector->axpy(l->d, l->length, (double)s.new_factor, v->y, v->direction));
        if (begins)
            FE_TRY(l->vector->copy(l->d, l->length, v->direction, v->x));
        else
            FE_TRY(l->vector->axpy(l->d, l->length, 1.0, v->direction, v->x));
    }
    return FE_OK;
}

/* The next level's right-hand side: R r. Where all ranks have that level, each adds its part. */
static fe_status restrict_residual(const level *l, const level *next)
{
    FE_TRY(residual(l));
    if (next->coarse->halo) FE_TRY(refresh(l, l->v->r));
    FE_TRY(l->d->ops->memory.clear(l->d, next->length * sizeof(double), next->v->b));
    FE_TRY(l->ops->exact_product(l->d, &next->coarse->R, l->n, l->v->r, next->n, next->v->b));
    return next->coarse->gathered ? fe_comm_sum(l->m->comm, l->d, (int)next->length, next->v->b) : FE_OK;
}

static fe_status cycle(fe_multigrid *m, int at);

/* The correction by the linear elements on the vertices, to x of the finest level. */
static fe_status correct_by_vertices(const level *l)
{
    const fe_orders *o = l->m->orders;
    const fe_order_steps *steps = fe_order_steps_of(l->d);
    const level next = level_of(&l->m->orders->vertices, 0);
    FE_TRY(residual(l));
    FE_TRY(steps->exact_mask(l->d, l->own, l->m->inverse, l->v->r));
    FE_TRY(refresh(l, l->v->r));
    FE_TRY(steps->exact_restrict(l->d, &o->transfer, l->v->r, next.v->b));
    FE_TRY(cycle(next.m, 0));
    FE_TRY(refresh(&next, next.v->x));
    return steps->exact_prolong(l->d, &o->transfer, l->m->inverse, next.v->x, l->v->x);
}

/* x of the level from its b. */
static fe_status cycle(fe_multigrid *m, int at)
{
    const level l = level_of(m, at);
    if (l.coarse && l.coarse->dense.n) return l.ops->exact_dense(l.d, &l.coarse->dense, l.n, l.v->b, l.v->x);
    FE_TRY(sweeps(&l, 1));
    if (m->orders) {
        FE_TRY(correct_by_vertices(&l));
    } else if (at < m->n_coarse) {
        const level next = level_of(m, at + 1);
        FE_TRY(restrict_residual(&l, &next));
        FE_TRY(cycle(m, at + 1));
        FE_TRY(refresh(&next, next.v->x));
        FE_TRY(l.ops->exact_product(l.d, &next.coarse->P, next.n, next.v->x, l.n, l.v->x));
    }
    return sweeps(&l, 0);
}

fe_status fe_multigrid_apply_exact(void *context, double *r, double *z)
{
    fe_multigrid *m = context;
    const level l = level_of(m, 0);
    const size_t n = 3 * (size_t)l.own;
    FE_TRY(l.d->ops->phase(l.d, FE_PHASE_PRECONDITION));
    FE_TRY(l.vector->copy(l.d, n, r, l.v->b));
    FE_TRY(cycle(m, 0));
    return l.vector->copy(l.d, n, l.v->x, z);
}
