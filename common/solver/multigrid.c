/* The cycle. */
#include "common/solver/multigrid.h"
#include "common/problem/apply.h"

/* Saad, Iterative Methods, algorithm 12.1. */
void fe_chebyshev_sweeps(double lambda, double ratio, int degree, fe_sweep *sweep)
{
    const double low = lambda / ratio, middle = 0.5 * (lambda + low), half = 0.5 * (lambda - low);
    double rho = half / middle;
    sweep[0] = (fe_sweep){0.0f, (float)(1.0 / middle)};
    for (int i = 1; i < degree; i++) {
        const double next = 1.0 / (2.0 * middle / half - rho);
        sweep[i] = (fe_sweep){(float)(next * rho), (float)(2.0 * next / half)};
        rho = next;
    }
}

static fe_status elastic_product(fe_multigrid *m, int cleared, double *x, double *y)
{
    fe_problem elastic = *m->problem;
    elastic.view.elastic = 1;
    FE_TRY((cleared ? fe_apply_cleared : fe_apply)(&elastic, m->assembly, m->work, m->comm,
                                                   m->assembly->jacvec, FE_PHASE_PRECONDITION_PRODUCT, x, y));
    return m->device->ops->phase(m->device, FE_PHASE_PRECONDITION);
}

fe_status fe_multigrid_product(fe_multigrid *m, double *x, double *y) { return elastic_product(m, 0, x, y); }

/* The product of z in m->product, which is clear before. Whoever reads it last clears it again, which saves a
 * pass over memory. */
static fe_status fine_product(fe_multigrid *m, double *z) { return elastic_product(m, 1, z, m->product); }
static double *to_clear(const fe_multigrid *m) { return m->assembly->traits & FE_STORES ? NULL : m->product; }

static fe_status sweep_coarse(const fe_multigrid *m, const fe_coarse_level *l, int i, const float *from,
                              float *to)
{
    return fe_block_ops_of(m->device)->sweep(m->device, &l->A, l->inverse, l->sweep[i], l->b, from,
                                             l->direction, to);
}

/* From now on time counts for a phase of the coarser levels, where they are told apart. */
static fe_status coarse_phase(const fe_multigrid *m, int phase)
{
    return m->device->ops->phase(m->device, m->tells_levels ? phase : FE_PHASE_PRECONDITION_COARSE);
}
static int level_phase(int at)
{
    return FE_PHASE_PRECONDITION_LEVEL + (at < FE_PHASE_LEVELS ? at : FE_PHASE_LEVELS - 1);
}

/* Ghosts of x are refreshed; from then on time counts for `phase`. */
static fe_status exchange(const fe_multigrid *m, int halo, double *x, int phase)
{
    FE_TRY(coarse_phase(m, FE_PHASE_EXCHANGE));
    FE_TRY(fe_comm_exchange(m->comm, halo, x));
    return coarse_phase(m, phase);
}

/* Ghosts of a level's vector [][6]: six floats take the place of three doubles. */
static fe_status refresh(const fe_multigrid *m, const fe_coarse_level *l, float *x)
{
    return l->halo ? exchange(m, l->halo, (double *)x, level_phase((int)(l - m->coarse))) : FE_OK;
}

/* Right-hand side of a level that all ranks have from the rows of each. */
static fe_status gather(const fe_multigrid *m, const fe_coarse_level *l)
{
    fe_device *d = m->device;
    const size_t n = 6 * (size_t)l->n;
    if (!l->gathered) return FE_OK;
    FE_TRY(fe_block_ops_of(d)->widen(d, n, l->b, l->gathered));
    FE_TRY(coarse_phase(m, FE_PHASE_REDUCTION));
    FE_TRY(fe_comm_sum(m->comm, d, (int)n, l->gathered));
    FE_TRY(coarse_phase(m, FE_PHASE_PRECONDITION_TRANSFER));
    return fe_block_ops_of(d)->narrow(d, n, l->gathered, l->b);
}

/* Sweeps `first` to degree - 1; *x and *y change places after each. */
static fe_status sweeps(const fe_multigrid *m, const fe_coarse_level *l, int first, float **x, float **y)
{
    for (int i = first; i < m->degree; i++) {
        FE_TRY(refresh(m, l, *x));
        FE_TRY(sweep_coarse(m, l, i, *x, *y));
        float *const swap = *x;
        *x = *y, *y = swap;
    }
    return FE_OK;
}

/* *x: the level's solution with its ghosts, in one of its two vectors. */
static fe_status coarse_cycle(fe_multigrid *m, int at, float **x)
{
    fe_device *d = m->device;
    const fe_block_ops *ops = fe_block_ops_of(d);
    fe_coarse_level *l = &m->coarse[at], *next = l + 1;
    float *from = l->x, *to = l->y, *coarse;
    *x = l->x;
    FE_TRY(coarse_phase(m, level_phase(at)));
    if (l->dense) return ops->dense(d, 6 * l->n, l->dense, l->b, l->x);
    FE_TRY(sweep_coarse(m, l, 0, NULL, from));
    FE_TRY(sweeps(m, l, 1, &from, &to));
    if (at + 1 < m->n_coarse) {
        FE_TRY(refresh(m, l, from));
        FE_TRY(ops->residual(d, &l->A, l->b, from, l->r));
        if (next->halo) FE_TRY(refresh(m, l, l->r));
        FE_TRY(coarse_phase(m, FE_PHASE_PRECONDITION_TRANSFER));
        FE_TRY(ops->product(d, &next->R, l->r, next->b));
        FE_TRY(gather(m, next));
        FE_TRY(coarse_cycle(m, at + 1, &coarse));
        FE_TRY(coarse_phase(m, FE_PHASE_PRECONDITION_TRANSFER));
        FE_TRY(ops->add_product(d, &next->P, coarse, from));
        FE_TRY(coarse_phase(m, level_phase(at)));
    }
    FE_TRY(sweeps(m, l, 0, &from, &to));
    *x = from;
    return refresh(m, l, from);
}

static fe_status sweep_fine(fe_multigrid *m, int i, int first, const double *r, double *z)
{
    fe_device *d = m->device;
    if (!first) FE_TRY(fine_product(m, z));
    return fe_block_ops_of(d)->fine_sweep(d, m->problem->view.n_owned, m->inverse, m->sweep[i], r,
                                          first ? NULL : m->product, m->direction, z,
                                          first ? NULL : to_clear(m));
}

fe_status fe_multigrid_apply(void *context, double *r, double *z)
{
    fe_multigrid *m = context;
    fe_device *d = m->device;
    const fe_block_ops *ops = fe_block_ops_of(d);
    const fe_view *v = &m->problem->view;
    fe_coarse_level *next = m->coarse;
    float *coarse;
    for (int i = 0; i < m->degree; i++) FE_TRY(sweep_fine(m, i, i == 0, r, z));
    if (m->n_coarse == 0) return FE_OK;
    FE_TRY(fine_product(m, z));
    FE_TRY(coarse_phase(m, FE_PHASE_PRECONDITION_TRANSFER));
    if (next->halo) {
        FE_TRY(exchange(m, FE_HALO_NODES, r, FE_PHASE_PRECONDITION_TRANSFER));
        FE_TRY(exchange(m, FE_HALO_NODES, m->product, FE_PHASE_PRECONDITION_TRANSFER));
    }
    /* the next sweep begins anew, so the residual has room in `direction` */
    FE_TRY(ops->fine_residual(d, next->halo ? v->n_local : v->n_owned, r, m->product, m->direction));
    FE_TRY(ops->fine_restrict(d, &next->R, m->direction, next->b));
    FE_TRY(gather(m, next));
    FE_TRY(coarse_cycle(m, 0, &coarse));
    FE_TRY(coarse_phase(m, FE_PHASE_PRECONDITION_TRANSFER));
    FE_TRY(ops->fine_prolong(d, &next->P, coarse, z, to_clear(m)));
    FE_TRY(d->ops->phase(d, FE_PHASE_PRECONDITION));
    for (int i = 0; i < m->degree; i++) FE_TRY(sweep_fine(m, i, 0, r, z));
    return FE_OK;
}
