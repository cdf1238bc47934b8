/* The cycle. */
#include "common/multigrid/orders.h"
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

fe_problem fe_multigrid_single(const fe_multigrid *m)
{
    fe_problem elastic = *m->problem;
    elastic.view.elastic = 1, elastic.floats = m->floats;
    elastic.kind = fe_plain_kind(elastic.kind);
    return elastic;
}

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
/* The same of an exchange or a sum, which a single rank does not have. */
static fe_status communicate(const fe_multigrid *m, int phase)
{
    return fe_comm_phase(m->comm, m->device, m->tells_levels ? phase : FE_PHASE_PRECONDITION_COARSE);
}
static int level_phase(const fe_multigrid *m, int at)
{
    const int level = at + m->below;
    return FE_PHASE_PRECONDITION_LEVEL + (level < FE_PHASE_LEVELS ? level : FE_PHASE_LEVELS - 1);
}
/* The same of m's own finest level, which is a coarser one below quadratic elements. */
static int fine_phase(const fe_multigrid *m, int phase)
{
    if (!m->below) return phase;
    return m->tells_levels ? FE_PHASE_PRECONDITION_LEVEL : FE_PHASE_PRECONDITION_COARSE;
}

/* y, which is zero before, becomes the product of x. z [n_local][3] is scratch. */
static fe_status fine_product_of(fe_multigrid *m, float *x, float *y, double *z)
{
    const fe_problem elastic = fe_multigrid_single(m);
    fe_comm *const comm = m->comm->size > 1 ? m->comm : NULL; /* one rank has no ghosts, and no z in set-up */
    FE_TRY(fe_apply_single_cleared(&elastic, m->single, m->single_work, comm, m->single->jacvec,
                                   fine_phase(m, FE_PHASE_PRECONDITION_PRODUCT), x, y, z));
    return m->device->ops->phase(m->device, fine_phase(m, FE_PHASE_PRECONDITION));
}
/* That of m->x in m->product. Whoever reads it last clears it again, which saves a pass over memory. */
static fe_status fine_product(fe_multigrid *m, double *z) { return fine_product_of(m, m->x, m->product, z); }
static float *to_clear(const fe_multigrid *m) { return m->single->traits & FE_STORES ? NULL : m->product; }

/* Ghosts of x are refreshed; from then on time counts for `phase`. */
static fe_status exchange(const fe_multigrid *m, int halo, double *x, int phase)
{
    FE_TRY(communicate(m, FE_PHASE_EXCHANGE));
    FE_TRY(fe_comm_exchange(m->comm, halo, x));
    return coarse_phase(m, phase);
}

/* The same of the finest level's floats; z is scratch. */
static fe_status exchange_fine(const fe_multigrid *m, float *x, double *z, int phase)
{
    FE_TRY(communicate(m, FE_PHASE_EXCHANGE));
    FE_TRY(fe_exchange_single(m->problem, m->comm, x, z));
    return coarse_phase(m, phase);
}

/* Ghosts of a level's vector [][6]: six floats take the place of three doubles. */
static fe_status refresh(const fe_multigrid *m, const fe_coarse_level *l, float *x)
{
    return l->halo ? exchange(m, l->halo, (double *)x, level_phase(m, (int)(l - m->coarse))) : FE_OK;
}

/* Right-hand side of a level that all ranks have from the rows of each. */
static fe_status gather(const fe_multigrid *m, const fe_coarse_level *l)
{
    fe_device *d = m->device;
    const size_t n = 6 * (size_t)l->n;
    if (!l->gathered) return FE_OK;
    FE_TRY(d->ops->vector.widen(d, n, l->b, l->gathered));
    FE_TRY(communicate(m, FE_PHASE_REDUCTION));
    FE_TRY(fe_comm_sum(m->comm, d, (int)n, l->gathered));
    FE_TRY(coarse_phase(m, FE_PHASE_PRECONDITION_TRANSFER));
    return d->ops->vector.narrow(d, n, l->gathered, l->b);
}

fe_status fe_multigrid_level_product(fe_multigrid *m, int level, float *x, float *y, double *exchanged)
{
    if (level == 0) return fine_product_of(m, x, y, exchanged);
    const fe_coarse_level *l = &m->coarse[level - 1];
    FE_TRY(refresh(m, l, x));
    return fe_block_ops_of(m->device)->product(m->device, &l->A, x, y);
}

fe_status fe_multigrid_level_inverse(fe_multigrid *m, int level, const float *x, float *y)
{
    fe_device *d = m->device;
    const fe_sweep whole = {.new_factor = 1.0f}; /* a first sweep that goes all the way */
    if (level == 0) return fe_block_ops_of(d)->fine_inverse(d, m->problem->view.n_owned, m->inverse, x, y);
    const fe_coarse_level *l = &m->coarse[level - 1];
    return fe_block_ops_of(d)->sweep(d, &l->A, l->inverse, whole, x, NULL, l->direction, y);
}

/* The level's first sweep follows from its right-hand side alone, so the restriction makes it as well: unless
 * ranks have to add up their parts before, or the level has no sweeps. */
static int has_first_sweep(const fe_coarse_level *l) { return !l->dense.n && !l->gathered; }
static const fe_first_sweep *first_sweep(const fe_coarse_level *l, fe_first_sweep *room)
{
    *room = (fe_first_sweep){l->inverse, l->sweep[0], l->direction, l->x};
    return has_first_sweep(l) ? room : NULL;
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

/* The last two levels, behind the first sweep. */
static fe_status last_levels(const fe_multigrid *m, const fe_coarse_level *l, float **x, float **y)
{
    const fe_block_ops *ops = fe_block_ops_of(m->device);
    const int n = 2 * m->degree - 1;
    for (int k = 0; k < n; k++) {
        const int i = k < m->degree - 1 ? k + 1 : k - (m->degree - 1);
        if (k > FE_BESIDE_SOLUTION && k < n - 1)
            FE_TRY(sweep_coarse(m, l, i, *x, *y));
        else
            FE_TRY(ops->last_sweep(m->device, &l->A, l->inverse, l->sweep[i], l->b, *x, l->direction, *y,
                                   &l->last, l[1].dense.single, k < n - 1 ? k : FE_BESIDE_CORRECTION));
        float *const swap = *x;
        *x = *y, *y = swap;
    }
    return FE_OK;
}

/* Begins with the level's right-hand side, and the first sweep where it has one. *x: the level's solution
 * with its ghosts, in one of its two vectors. */
static fe_status coarse_cycle(fe_multigrid *m, int at, float **x)
{
    fe_device *d = m->device;
    const fe_block_ops *ops = fe_block_ops_of(d);
    fe_coarse_level *l = &m->coarse[at], *next = l + 1;
    fe_first_sweep first;
    float *from = l->x, *to = l->y, *coarse;
    *x = l->x;
    FE_TRY(coarse_phase(m, level_phase(m, at)));
    if (l->dense.n) return ops->dense(d, &l->dense, l->b, l->x);
    if (!has_first_sweep(l)) FE_TRY(sweep_coarse(m, l, 0, NULL, from));
    if (l->last.n) {
        FE_TRY(last_levels(m, l, &from, &to));
        *x = from;
        return FE_OK;
    }
    FE_TRY(sweeps(m, l, 1, &from, &to));
    if (at + 1 < m->n_coarse) {
        FE_TRY(refresh(m, l, from));
        FE_TRY(ops->residual(d, &l->A, l->b, from, l->r));
        if (next->halo) FE_TRY(refresh(m, l, l->r));
        FE_TRY(coarse_phase(m, FE_PHASE_PRECONDITION_TRANSFER));
        FE_TRY(ops->coarse_restrict(d, &next->R, l->r, first_sweep(next, &first), next->b));
        FE_TRY(gather(m, next));
        FE_TRY(coarse_cycle(m, at + 1, &coarse));
        FE_TRY(coarse_phase(m, FE_PHASE_PRECONDITION_TRANSFER));
        FE_TRY(ops->add_product(d, &next->P, coarse, from));
        FE_TRY(coarse_phase(m, level_phase(m, at)));
    }
    FE_TRY(sweeps(m, l, 0, &from, &to));
    *x = from;
    return refresh(m, l, from);
}

/* Sweeps `first` to degree - 1 of m->x; the last one leaves it in `out`, if that is given. */
static fe_status sweeps_fine(fe_multigrid *m, int first, double *z, double *out)
{
    fe_device *d = m->device;
    for (int i = first; i < m->degree; i++) {
        FE_TRY(fine_product(m, z));
        FE_TRY(fe_block_ops_of(d)->fine_sweep(d, m->problem->view.n_owned, m->inverse, m->sweep[i], m->b,
                                              m->product, m->direction, m->x, to_clear(m),
                                              i == m->degree - 1 ? out : NULL));
    }
    return FE_OK;
}

/* The next level's right-hand side. A residual is a vector of its own where others need it, and where it is
 * so long that reading two vectors again and again takes longer than another kernel. The next sweep begins
 * anew, so it has room in `direction`. */
enum { LONG = 500000 };
static fe_status restrict_residual(fe_multigrid *m, const fe_coarse_level *next, double *z)
{
    fe_device *d = m->device;
    const fe_block_ops *ops = fe_block_ops_of(d);
    fe_first_sweep first;
    const int n = m->problem->view.n_owned, apart = next->halo || n > LONG;
    FE_TRY(fine_product(m, z));
    FE_TRY(coarse_phase(m, FE_PHASE_PRECONDITION_TRANSFER));
    if (apart) FE_TRY(ops->fine_residual(d, n, m->b, m->product, m->direction));
    if (next->halo) FE_TRY(exchange_fine(m, m->direction, z, FE_PHASE_PRECONDITION_TRANSFER));
    FE_TRY(ops->fine_restrict(d, &next->R, apart ? m->direction : m->b, apart ? NULL : m->product,
                              first_sweep(next, &first), next->b));
    return gather(m, next);
}

fe_fine_start fe_multigrid_start(const fe_multigrid *m)
{
    return (fe_fine_start){m->problem->view.n_owned, m->inverse, m->sweep[0], m->b, m->direction, m->x};
}

static fe_status behind_start(fe_multigrid *m, double *z, double *out);

/* The correction by the linear elements on the vertices, to m->x. */
static fe_status correct_by_vertices(fe_multigrid *m, double *z)
{
    fe_device *d = m->device;
    const fe_order_steps *steps = fe_order_steps_of(d);
    fe_multigrid *const v = &m->orders->vertices;
    const fe_order_transfer *t = &m->orders->transfer;
    const fe_fine_start start = fe_multigrid_start(v);
    v->tells_levels = m->tells_levels;
    FE_TRY(fine_product(m, z));
    FE_TRY(coarse_phase(m, FE_PHASE_PRECONDITION_TRANSFER));
    FE_TRY(steps->residual(d, t->n_up, m->inverse, m->b, m->product, m->direction));
    if (m->comm->size > 1) FE_TRY(exchange_fine(m, m->direction, z, FE_PHASE_PRECONDITION_TRANSFER));
    FE_TRY(steps->restrict_to(d, t, m->direction, &start));
    FE_TRY(d->ops->phase(d, fine_phase(v, FE_PHASE_PRECONDITION)));
    FE_TRY(behind_start(v, z, NULL));
    if (m->comm->size > 1) FE_TRY(exchange_fine(v, v->x, z, FE_PHASE_PRECONDITION_TRANSFER));
    FE_TRY(coarse_phase(m, FE_PHASE_PRECONDITION_TRANSFER));
    return steps->prolong(d, t, m->inverse, v->x, m->x, to_clear(m));
}

static fe_status correct_by_aggregates(fe_multigrid *m, double *z)
{
    fe_coarse_level *next = m->coarse;
    float *coarse;
    FE_TRY(restrict_residual(m, next, z));
    FE_TRY(coarse_cycle(m, 0, &coarse));
    FE_TRY(coarse_phase(m, FE_PHASE_PRECONDITION_TRANSFER));
    return fe_block_ops_of(m->device)->fine_prolong(m->device, &next->P, coarse, m->x, to_clear(m));
}

/* The cycle behind its first sweep; m->x, or `out` if that is given, becomes the solution. */
static fe_status behind_start(fe_multigrid *m, double *z, double *out)
{
    const int alone = m->n_coarse == 0 && !m->orders;
    FE_TRY(sweeps_fine(m, 1, z, alone ? out : NULL));
    if (alone) return FE_OK;
    FE_TRY((m->orders ? correct_by_vertices : correct_by_aggregates)(m, z));
    FE_TRY(m->device->ops->phase(m->device, fine_phase(m, FE_PHASE_PRECONDITION)));
    return sweeps_fine(m, 0, z, out);
}

fe_status fe_multigrid_rest(void *context, double *r, double *z)
{
    (void)r;
    return behind_start(context, z, z);
}

fe_status fe_multigrid_apply(void *context, double *r, double *z)
{
    const fe_multigrid *m = context;
    const fe_fine_start start = fe_multigrid_start(m);
    FE_TRY(fe_block_ops_of(m->device)->fine_start(m->device, &start, r));
    return fe_multigrid_rest(context, r, z);
}
