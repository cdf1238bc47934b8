/* The choice, and the calls that follow it: the same code for both backends. */
#include "common/backend/device.h"
#include "common/problem/state.h"
#include "have/cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Only strategies that were the fastest for some element, order, size or state are tried. All use the common
 * material update. */
static const char *const tried[] = {"patch", "element_team", "element_atomic", "node_csr"};
enum { N_TRIED = sizeof tried / sizeof *tried, CALLS = 5, ROUNDS = 3 };

/* A strategy is chosen for each of these uses: residual, jacvec without stored tangents, jacvec that reads
 * all tangents. */
enum { RESIDUAL, ELASTIC, PLASTIC, N_USE };

typedef struct hybrid {
    const fe_assembly *table[N_TRIED]; /* NULL: not enough memory */
    void *work[N_TRIED];
    int choice[N_USE];
    char note[160];
} hybrid;

static fe_status call(const hybrid *h, const fe_problem *p, int i, int use, fe_part part,
                      const void *displacement, void *y)
{
    return (use == RESIDUAL ? h->table[i]->residual : h->table[i]->jacvec)(p, h->work[i], part, displacement,
                                                                           y);
}

/* One product, called as the solver calls it: y is zeroed first, whatever is chosen. */
static fe_status call_both(const hybrid *h, const fe_problem *p, int i, int use,
                           const fe_number *displacement, fe_number *y)
{
    const fe_problem in = fe_problem_in(p, FE_PRECISION);
    FE_TRY(p->device->ops->memory.clear(p->device, 3 * (size_t)p->view.n_local * sizeof *y, y));
    FE_TRY(call(h, &in, i, use, FE_INTERIOR, displacement, y));
    p->device->overlaps = 0;
    return call(h, &in, i, use, FE_BORDER, displacement, y);
}

/* Seconds of the fastest round. */
static fe_status measure(const hybrid *h, const fe_problem *p, int i, int use, const fe_number *displacement,
                         fe_number *y, double *seconds)
{
    fe_device *d = p->device;
    *seconds = INFINITY;
    for (int round = 0; round <= ROUNDS; round++) {
        FE_TRY(d->ops->wait(d));
        const double start = fe_seconds();
        for (int k = 0; k < CALLS; k++) FE_TRY(call_both(h, p, i, use, displacement, y));
        FE_TRY(d->ops->wait(d));
        if (round > 0) *seconds = fmin(*seconds, (fe_seconds() - start) / CALLS); /* the first one warms up */
    }
    return FE_OK;
}

static fe_status write_flags(fe_problem *p, const uint8_t *committed, const uint8_t *trial)
{
    fe_device *d = p->device;
    const size_t bytes = (size_t)p->view.ld;
    FE_TRY(d->ops->memory.upload(d, bytes, committed, p->view.committed.flags));
    FE_TRY(d->ops->memory.upload(d, bytes, trial, p->view.trial.flags));
    return d->ops->wait(d);
}

/* Times each use in its own state: all points have yielded, or all are elastic. */
static fe_status choose(hybrid *h, fe_problem *p, const fe_number *displacement, fe_number *y, uint8_t *none,
                        uint8_t *all)
{
    double best[N_USE] = {INFINITY, INFINITY, INFINITY};
    /* otherwise residual is refused whenever it is called */
    const int has_law = !p->has_voce || fe_voce_has(FE_PRECISION, p->kind);
    memset(all, FE_YIELDED | FE_SOFTENED, (size_t)p->view.ld);
    for (int use = 0; use < N_USE; use++) {
        if (use == RESIDUAL && !has_law) continue;
        p->view.elastic = use == ELASTIC;
        FE_TRY(write_flags(p, use == ELASTIC ? none : all, use == ELASTIC ? none : all));
        for (int i = 0; i < N_TRIED; i++) {
            double seconds;
            if (!h->table[i]) continue;
            FE_TRY(measure(h, p, i, use, displacement, y, &seconds));
            if (seconds < best[use]) best[use] = seconds, h->choice[use] = i;
        }
    }
    p->view.elastic = 0;
    if (!has_law) h->choice[RESIDUAL] = h->choice[ELASTIC];
    return FE_OK;
}

/* Restores the flags afterwards. */
static fe_status choose_and_restore(hybrid *h, fe_problem *p, const fe_number *displacement, fe_number *y)
{
    fe_device *d = p->device;
    const size_t bytes = (size_t)p->view.ld;
    uint8_t *flags = NULL; /* committed, trial, none, all */
    FE_ALLOCATE(flags, 4 * bytes, "hybrid");
    fe_status status = d->ops->memory.download(d, bytes, p->view.committed.flags, flags);
    if (status == FE_OK) status = d->ops->memory.download(d, bytes, p->view.trial.flags, flags + bytes);
    if (status == FE_OK) status = choose(h, p, displacement, y, flags + 2 * bytes, flags + 3 * bytes);
    if (status == FE_OK) status = write_flags(p, flags, flags + bytes);
    free(flags);
    return status;
}

static fe_status setup(int cuda, fe_problem *p, void **work)
{
    fe_device *d = p->device;
    double *displacement = NULL, *y = NULL;
    FE_TRY(fe_device_keep(d, sizeof(hybrid), "hybrid", work));
    hybrid *h = *work;
    int n = 0;
    for (int i = 0; i < N_TRIED; i++) {
        const fe_assembly *table = fe_variant_table(fe_variant_find(tried[i]), cuda, FE_PRECISION);
        const fe_status status = fe_assembly_set_up(table, p, &h->work[i]);
        if (status == FE_OK)
            h->table[i] = table, n++;
        else if (status != FE_OUT_OF_MEMORY || (i == N_TRIED - 1 && n == 0))
            return status;
    }
    fe_status status = fe_device_vector(d, p->view.n_local, "hybrid", &displacement);
    if (status == FE_OK) status = fe_device_vector(d, p->view.n_local, "hybrid", &y);
    if (status == FE_OK) status = choose_and_restore(h, p, (fe_number *)displacement, (fe_number *)y);
    if (displacement) d->ops->memory.release(d, displacement);
    if (y) d->ops->memory.release(d, y);
    snprintf(h->note, sizeof h->note, "residual by %s, jacvec by %s (elastic) and %s (plastic)",
             tried[h->choice[RESIDUAL]], tried[h->choice[ELASTIC]], tried[h->choice[PLASTIC]]);
    return status;
}

/* The elastic product alone, by the choice that was made in double precision. */
static fe_status setup_from(fe_problem *p, void *in_double, void **work)
{
    const hybrid *from = in_double;
    const int i = from->choice[ELASTIC];
    FE_TRY(fe_device_keep(p->device, sizeof(hybrid), "hybrid", work));
    hybrid *h = *work;
    *h = *from;
    h->table[i] = from->table[i]->single;
    return fe_assembly_set_up_elastic(h->table[i], p, from->work[i], &h->work[i]);
}

static const char *note(const void *work) { return ((const hybrid *)work)->note; }

static fe_status residual(const fe_problem *p, void *work, fe_part part, const void *displacement, void *r)
{
    const hybrid *h = work;
    return call(h, p, h->choice[RESIDUAL], RESIDUAL, part, displacement, r);
}

static fe_status jacvec(const fe_problem *p, void *work, fe_part part, const void *direction, void *y)
{
    const hybrid *h = work;
    const int use = p->view.elastic ? ELASTIC : PLASTIC;
    return call(h, p, h->choice[use], use, part, direction, y);
}

static fe_status diagonal(const fe_problem *p, void *work, void *d)
{
    const hybrid *h = work;
    const int i = h->choice[PLASTIC];
    return h->table[i]->diagonal(p, h->work[i], d);
}

static fe_status setup_host(fe_problem *p, void **work) { return setup(0, p, work); }
FE_TABLE(hybrid_host, .setup = setup_host, .setup_from = FE_SETUP_FROM(setup_from), .residual = residual,
         .material = fe_material_host, .jacvec = jacvec, .diagonal = diagonal, .traits = FE_PIECES,
         .note = note)
#if FE_HAVE_CUDA
static fe_status setup_cuda(fe_problem *p, void **work) { return setup(1, p, work); }
FE_TABLE(hybrid_cuda, .setup = setup_cuda, .setup_from = FE_SETUP_FROM(setup_from), .residual = residual,
         .material = fe_material_cuda, .jacvec = jacvec, .diagonal = diagonal,
         .traits = FE_INDEPENDENT | FE_PIECES, .note = note)
#endif
