/* The hierarchy, built level by level in double precision; what the cycle needs is kept in single precision.
 */
#include "common/multigrid/ghost_rows.h"
#include "common/multigrid/orders.h"
#include "common/multigrid/rank_sums.h"
#include "common/multigrid/setup_steps.h"
#include "common/multigrid/shared_level.h"

/* Pieces of the finest level: 27 nodes, and 12 where bodies are thin, cells long or the material nearly
 * incompressible; pieces of coarser levels. Where those have MANY aggregates, set-up costs more than the few
 * iterations that smaller pieces save. The dense level has so many aggregates at most: coarsening past the
 * thickness of a part ruins a cycle. Measured on bending boxes, brackets, plates: tests/test_multigrid.c
 */
enum { PIECE = 27, SMALL_PIECE = 12, COARSE_PIECE = 10, MANY = 4000, MOST_DENSE = 256, LEAST = 4 };
/* Two or four sweeps damp the spectrum from lambda over this number on; without coarser levels they have to
 * reach deeper. Measured: HISTORY.md. */
enum { TWO_SWEEPS_RATIO = 8, FOUR_SWEEPS_RATIO = 32, ALONE_RATIO = 30 };

enum { MOST_VECTORS = 5 }; /* of a level */

static size_t block_square(const fe_setup *k) { return (size_t)(k->block * k->block); }

/* --- smoothers --------------------------------------------------------------------------------------- */

static fe_status bound_spectrum(fe_setup *k, int coarser)
{
    fe_multigrid *m = k->m;
    fe_status status = FE_OK;
    if (!k->lanczos) /* the finest level needs most */
        status = fe_device_allocate(k->d, fe_lanczos_numbers(k), sizeof *k->lanczos, "Lanczos' method",
                                    (void **)&k->lanczos);
    if (k->shared) status = fe_setup_agree(k, status, NULL);
    FE_TRY(status);
    FE_TRY(fe_lanczos_bound(k, k->lanczos));
    m->report.lambda[k->level] = k->lambda;
    const int coarser_ratio = m->degree == 2 ? TWO_SWEEPS_RATIO : FOUR_SWEEPS_RATIO;
    fe_chebyshev_sweeps(k->lambda, coarser ? coarser_ratio : ALONE_RATIO, m->degree,
                        k->level == 0 ? m->sweep : m->coarse[k->level - 1].sweep);
    return FE_OK;
}

/* --- the finest level -------------------------------------------------------------------------------- */

/* Vectors of n zeros; what is read behind them is zero, too. */
static fe_status open_vectors(fe_device *d, size_t n, int n_vector, float **const *vectors)
{
    fe_array array[MOST_VECTORS];
    for (int i = 0; i < n_vector; i++) array[i] = (fe_array){n, sizeof(float), (void **)vectors[i]};
    FE_TRY(fe_device_reserve_arrays(d, n_vector, array, "multigrid vector"));
    for (int i = 0; i < n_vector; i++) FE_TRY(d->ops->memory.zero(d, n * sizeof(float) + 64, *vectors[i]));
    return FE_OK;
}

/* Sizes of pieces and number of sweeps, alike on all ranks. */
static fe_status choose(fe_setup *k, int coarser, const fe_sample *sample)
{
    fe_multigrid *m = k->m;
    double sums[3] = {sample->n, sample->surface, sample->stretch};
    FE_TRY(fe_multigrid_sum(k, 3, sums));
    /* stretch: 1.7 in a cube's corner, 4 with cells of 3 : 1 : 1 */
    const int thin = sums[1] > 0.5 * sums[0], stretched = sums[2] > 5.0 * sums[0];
    const int stiff = m->problem->stiffest > 10.0; /* Poisson's ratio above 0.45 */
    m->report.most = thin || stretched || stiff ? SMALL_PIECE : PIECE;
    m->degree = m->report.degree = stiff || stretched || !coarser ? 4 : 2;
    m->report.n[0] = k->n_all, m->report.n_level = 1;
    return FE_OK;
}

static fe_status open_finest(fe_setup *k, int coarser, int n_fixed, const int *at)
{
    fe_multigrid *m = k->m;
    const fe_view *v = &m->problem->view;
    fe_sample sample = {0};
    double beyond = 0.0;
    FE_TRY(k->steps->finest(k, n_fixed, at, &sample));
    fe_setup_part(k, "elastic rows");
    FE_TRY(fe_ghosts_open(k));
    FE_TRY(choose(k, coarser, &sample));
    fe_setup_part(k, "ghosts, choice");
    float **const vectors[] = {&m->b, &m->x, &m->direction, &m->product};
    FE_TRY(open_vectors(k->d, 3 * (size_t)v->n_local, 4, vectors));
    FE_TRY(k->steps->invert_diagonal(k));
    FE_TRY(k->steps->keep_six(k, &m->inverse, &beyond));
    if (beyond != 0.0)
        return fe_fail(FE_FAILED,
                       "multigrid: a stiffness of %.1e is beyond single precision; use other units or "
                       "--precondition block-jacobi",
                       1.0 / beyond);
    fe_setup_part(k, "inverse, vectors");
    FE_TRY(bound_spectrum(k, coarser));
    fe_setup_part(k, "bound");
    return FE_OK;
}

/* --- coarser levels ---------------------------------------------------------------------------------- */

static fe_status level_vectors(fe_device *d, int n_local, fe_coarse_level *l)
{
    float **const vectors[] = {&l->b, &l->x, &l->y, &l->r, &l->direction};
    return open_vectors(d, 6 * (size_t)n_local, MOST_VECTORS, vectors);
}

/* P, R and the vectors of the next level, and its matrix, which becomes the one at hand. */
static fe_status step_down(fe_setup *k)
{
    fe_multigrid *m = k->m;
    fe_coarse_level *l = &m->coarse[k->level];
    fe_sparse next = {0};
    FE_TRY(k->steps->measure(k));
    fe_setup_part(k, "measure");
    if (k->level == 0) m->report.smallest = k->smallest, m->report.largest = k->largest;
    FE_TRY(k->steps->coarsen(k, &next));
    l->n = k->n_next;
    const fe_status status = k->steps->keep_transfers(k, &l->P, &l->R);
    fe_setup_part(k, "keep P, R");
    const int gathers = k->shared && !k->next_shared;
    l->halo = k->next_shared ? FE_HALO_LEVEL + k->level : 0;
    fe_ghosts_close(k);
    k->steps->descend(k, &next);
    FE_TRY(status);
    l->n_local = k->A.n_column;
    FE_TRY(level_vectors(k->d, l->n_local, l));
    if (gathers)
        FE_TRY(fe_device_allocate(k->d, 6 * (size_t)l->n, sizeof *l->gathered, "multigrid vector",
                                  (void **)&l->gathered));
    fe_setup_part(k, "vectors");
    k->level++, m->n_coarse = k->level;
    FE_TRY(fe_ghosts_open(k));
    fe_setup_part(k, "ghosts");
    m->report.n[k->level] = k->n_all, m->report.n_level = k->level + 1;
    return FE_OK;
}

/* Numbers in the matrix at hand; ranks that all have it count a part each. */
static double entries(const fe_setup *k)
{
    const double all = (double)k->A.n_block * (double)block_square(k);
    return k->shared ? all : all / k->m->comm->size;
}

/* A coarse level that is not the coarsest: its matrix and smoother. */
static fe_status finish_level(fe_setup *k)
{
    fe_coarse_level *l = &k->m->coarse[k->level - 1];
    FE_TRY(k->steps->invert_diagonal(k));
    FE_TRY(k->steps->keep_matrix(k, &l->A));
    FE_TRY(k->steps->keep_inverse(k, &l->inverse));
    fe_setup_part(k, "keep A");
    FE_TRY(bound_spectrum(k, 1));
    fe_setup_part(k, "bound");
    return FE_OK;
}

/* The coarsest level: its inverse, and what spares a cycle steps there. */
static fe_status finish_dense(fe_setup *k)
{
    fe_multigrid *m = k->m;
    fe_coarse_level *const dense = &m->coarse[k->level - 1], *const above = dense - 1;
    FE_TRY(k->steps->keep_dense(k, &dense->dense, &m->report.condition, &m->report.singular));
    const int suits =
        k->level > 1 && !above->halo && dense->dense.single && fe_last_levels_suit(above->n, dense->n);
    if (!suits || !k->steps->keep_last) return FE_OK;
    return k->steps->keep_last(k, above, &above->last);
}

static fe_status build(fe_setup *k, int coarser, int n_fixed, const int *at)
{
    fe_multigrid *m = k->m;
    fe_setup_part(k, NULL);
    FE_TRY(k->steps->open(k));
    fe_setup_part(k, "memory");
    FE_TRY(open_finest(k, coarser, n_fixed, at));
    double count[2] = {entries(k), entries(k)}; /* of the finest matrix, of all */
    while (coarser && k->level + 1 < FE_MOST_LEVELS) {
        const int first = k->level == 0;
        const int most =
            first || (k->n_all > MANY && m->report.most == PIECE) ? m->report.most : COARSE_PIECE;
        const fe_cut cut = {most, first ? LEAST : 2, first};
        FE_TRY(k->steps->aggregate(k, cut));
        fe_setup_part(k, "aggregates");
        FE_TRY(fe_number_aggregates(k));
        fe_setup_part(k, "numbering");
        const int total = k->numbering.total;
        if (total < 1 || (!first && total > 0.7 * k->n_all)) break; /* it would not get coarser */
        FE_TRY(step_down(k));
        count[1] += entries(k);
        if (!k->shared && k->n <= MOST_DENSE) {
            FE_TRY(finish_dense(k));
            fe_setup_part(k, "dense");
            break;
        }
        FE_TRY(finish_level(k));
    }
    FE_TRY(fe_setup_agree(k, FE_OK, NULL));
    FE_TRY(fe_multigrid_sum(k, 2, count));
    m->report.complexity = count[1] / count[0];
    fe_setup_part(k, "end");
    return FE_OK;
}

/* --- opening ----------------------------------------------------------------------------------------- */

/* The cycle's product in single precision is the strategy's own: what keeps its tangent in a matrix makes
 * another one in floats. The cycle in double precision has none of that kind, and takes node_csr's, which
 * works without its set-up, too. */
static fe_status choose_product(fe_multigrid *m)
{
    m->single = m->assembly->single;
    fe_problem p = fe_multigrid_single(m);
    FE_TRY(fe_assembly_set_up_elastic(m->single, &p, m->work, &m->single_work));
    m->floats = p.floats;
    if (m->assembly->traits & FE_ASSEMBLED) {
        const fe_variant *rows = fe_variant_find("node_csr");
        if (!rows) return fe_fail(FE_FAILED, "multigrid: node_csr is not in this build");
        m->assembly = fe_variant_table(rows, m->device->ops->on_gpu, FE_DOUBLE);
        m->work = NULL;
        if (fe_is_quadratic(p.kind) && !m->assembly->quadratic)
            return fe_fail(FE_FAILED, "multigrid: node_csr does not compute %s", fe_kind_name(p.kind));
    }
    return FE_OK;
}

/* Releases all but the product. */
static void release(fe_multigrid *m)
{
    void (*const give)(fe_device *, void *) = m->device->ops->memory.release;
    void *fine[] = {m->inverse, m->b, m->x, m->direction, m->product};
    for (int i = 0; i < 5; i++)
        if (fine[i]) give(m->device, fine[i]);
    for (int at = 0; at < FE_MOST_LEVELS; at++) {
        const fe_coarse_level *l = &m->coarse[at];
        const fe_block_matrix *matrices[] = {&l->A, &l->P, &l->R};
        void *own[] = {l->inverse,      l->b,           l->x,        l->y,           l->r, l->direction,
                       l->dense.single, l->dense.exact, l->gathered, l->last.Q.count};
        for (int i = 0; i < 3; i++) {
            void *parts[] = {(void *)matrices[i]->first, (void *)matrices[i]->column,
                             (void *)matrices[i]->value};
            for (int j = 0; j < 3; j++)
                if (parts[j]) give(m->device, parts[j]);
        }
        for (size_t i = 0; i < sizeof own / sizeof *own; i++)
            if (own[i]) give(m->device, own[i]);
    }
    for (int at = 0; at <= FE_MOST_LEVELS; at++) {
        void *exact[] = {m->exact[at].b, m->exact[at].x, m->exact[at].r, m->exact[at].y,
                         m->exact[at].direction};
        for (int i = 0; i < 5; i++)
            if (exact[i]) give(m->device, exact[i]);
    }
}

static fe_setup begin_setup(fe_multigrid *m)
{
    return (fe_setup){.m = m,
                      .d = m->device,
                      .block = 3,
                      .shared = m->comm->size > 1,
                      .threads = m->device->threads > 0 ? m->device->threads : 1};
}
static void end_setup(fe_setup *k)
{
    void *own[] = {k->sums, k->ghost_memory, k->lanczos};
    for (int i = 0; i < 3; i++)
        if (own[i]) k->d->ops->memory.release(k->d, own[i]);
}

static fe_status build_with(const fe_setup_steps *steps, fe_multigrid *m, int coarser, int n_fixed,
                            const int *at)
{
    const fe_multigrid start = *m;
    fe_setup k = begin_setup(m);
    k.steps = steps;
    m->device->untold = 1; /* set-up waits for many numbers */
    const fe_status status = fe_setup_agree(&k, build(&k, coarser, n_fixed, at), NULL);
    m->device->untold = 0;
    fe_ghosts_close(&k);
    end_setup(&k);
    steps->close(&k);
    fe_setup_part(&k, "return");
    if (status != FE_OK) {
        release(m);
        *m = start;
    }
    return status;
}

static fe_status build_linear(fe_multigrid *m, int coarser, int n_fixed, const int *at)
{
    fe_status status = FE_OUT_OF_MEMORY;
#if FE_HAVE_CUDA
    if (m->device->ops->on_gpu) status = build_with(&fe_setup_cuda, m, coarser, n_fixed, at);
#endif
    /* the host has more memory, and rows as long as they come */
    return status == FE_OUT_OF_MEMORY ? build_with(&fe_setup_host, m, coarser, n_fixed, at) : status;
}

/* --- quadratic elements ------------------------------------------------------------------------------ */

/* The strategy that multiplies with the linear elements: the same, unless that keeps matrices, or times
 * itself in a state that these elements do not have. */
static const fe_assembly *of_vertices(const fe_multigrid *m, const fe_assembly *own)
{
    const fe_variant *hybrid = fe_variant_find("hybrid");
    const int gpu = m->device->ops->on_gpu,
              chooses = hybrid && own == fe_variant_table(hybrid, gpu, FE_DOUBLE);
    const fe_variant *other = fe_variant_find(chooses ? "patch" : "patch_ordered");
    return (own->traits & FE_ASSEMBLED || chooses) && other ? fe_variant_table(other, gpu, FE_DOUBLE) : own;
}

/* The hierarchy of the vertices, and what the report says of it. */
static fe_status open_vertices(fe_multigrid *m, const fe_assembly *own, int n_fixed, const int *at)
{
    const fe_problem *p = m->problem;
    const fe_assembly *assembly = of_vertices(m, own);
    if (!m->orders) {
        FE_TRY(fe_orders_open(p, m->comm, &m->orders));
        FE_TRY(fe_assembly_set_up(assembly, &m->orders->problem, &m->orders->work));
        fe_problem_forget_mesh(&m->orders->problem);
    }
    fe_orders *o = m->orders;
    FE_TRY(fe_orders_constrain(o, p, n_fixed, at));
    FE_TRY(fe_multigrid_open(&o->problem, assembly, o->work, m->comm, o->n_fixed, o->fixed, 1, &o->vertices));
    fe_multigrid_report *all = &m->report;
    const fe_multigrid_report *r = &o->vertices.report;
    o->vertices.below = 1;
    *all = *r;
    all->orders = 1;
    for (int l = 0; l < r->n_level && l + 1 < FE_MOST_LEVELS; l++)
        all->n[l + 1] = r->n[l], all->lambda[l + 1] = r->lambda[l], all->n_level = l + 2;
    return FE_OK;
}

/* D^-1 of all nodes from the strategy's diagonal blocks, zero at supports. */
static fe_status invert_blocks(fe_multigrid *m, int n_fixed, const int *at)
{
    fe_device *d = m->device;
    const fe_view *v = &m->problem->view;
    fe_problem elastic = fe_problem_in(m->problem, FE_DOUBLE);
    const double one = 1.0;
    double *D, *scale;
    elastic.view.elastic = 1;
    FE_TRY(fe_device_allocate(d, 9 * (size_t)v->n_local + 1, sizeof *D, "multigrid level", (void **)&D));
    scale = D + 9 * (size_t)v->n_local;
    FE_TRY(fe_device_allocate(d, 6 * (size_t)v->n_owned, sizeof *m->inverse, "multigrid level",
                              (void **)&m->inverse));
    FE_TRY(m->assembly->diagonal(&elastic, m->work, D));
    FE_TRY(d->ops->block.constrain(d, n_fixed, at, D));
    FE_TRY(d->ops->memory.upload(d, sizeof one, &one, scale));
    FE_TRY(d->ops->block.invert(d, v->n_owned, D, scale, m->inverse));
    FE_TRY(fe_order_steps_of(d)->clear_inverse(d, n_fixed, at, m->inverse));
    d->ops->memory.release(d, D);
    return FE_OK;
}

static fe_status build_orders(fe_multigrid *m, const fe_assembly *own, int coarser, int n_fixed,
                              const int *at)
{
    fe_setup k = begin_setup(m);
    double n = m->problem->view.n_owned;
    if (coarser)
        FE_TRY(open_vertices(m, own, n_fixed, at));
    else
        m->orders = NULL, m->report.n_level = 1;
    float **const vectors[] = {&m->b, &m->x, &m->direction, &m->product};
    m->degree = m->report.degree = coarser ? m->orders->vertices.degree : 4;
    k.n = m->problem->view.n_owned;
    fe_setup_part(&k, NULL);
    m->device->untold = 1;
    fe_status status = open_vectors(k.d, 3 * (size_t)m->problem->view.n_local, 4, vectors);
    if (status == FE_OK) status = invert_blocks(m, n_fixed, at);
    if (status == FE_OK) status = bound_spectrum(&k, coarser);
    if (status == FE_OK) status = fe_multigrid_sum(&k, 1, &n);
    m->device->untold = 0;
    m->report.n[0] = (int)n;
    fe_setup_part(&k, "quadratic level");
    end_setup(&k);
    return fe_setup_failure(status);
}

/* Opens the product, or keeps that of a hierarchy that was opened before. */
static fe_status open_product(const fe_problem *problem, const fe_assembly *assembly, void *work,
                              fe_comm *comm, fe_multigrid *m)
{
    const fe_multigrid before = *m;
    *m = (fe_multigrid){
        .problem = problem, .assembly = assembly, .work = work, .comm = comm, .device = problem->device};
    if (before.device) {
        m->assembly = before.assembly, m->work = before.work;
        m->single = before.single, m->single_work = before.single_work, m->floats = before.floats;
        m->orders = before.orders;
        return FE_OK;
    }
    const fe_status status = choose_product(m);
    if (status != FE_OK) *m = before;
    return status;
}

fe_status fe_multigrid_open(const fe_problem *problem, const fe_assembly *assembly, void *work, fe_comm *comm,
                            int n_fixed, const int *at, int coarser, fe_multigrid *m)
{
    if (m->device) release(m);
    const size_t before = problem->device->bytes_resident;
    FE_TRY(open_product(problem, assembly, work, comm, m));
    if (comm->size > 1) FE_TRY(comm->ops->barrier(comm)); /* the time is that of all ranks together */
    const double start = fe_seconds();
    FE_TRY(fe_is_quadratic(problem->kind) ? build_orders(m, assembly, coarser, n_fixed, at)
                                          : build_linear(m, coarser, n_fixed, at));
    FE_TRY(m->device->ops->wait(m->device));
    if (comm->size > 1) FE_TRY(comm->ops->barrier(comm)); /* all have released what they worked with */
    m->report.bytes = problem->device->bytes_resident - before;
    m->report.seconds = fe_seconds() - start;
    return FE_OK;
}
