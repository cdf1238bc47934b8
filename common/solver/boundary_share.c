/* One rank's part of supports, loads and reactions, resident. */
#include "common/solver/solver.h"

#include <stdlib.h>

/* Local component of a mesh component 3 node + c on this rank, -1 where another rank owns the node. */
static int local_component(const fe_solver *s, int node, int c)
{
    const int local = s->share->local[node];
    return local >= 0 && local < s->share->n_owned ? 3 * local + c : -1;
}

static int ascending(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* All constrained components of the rank, ascending; and those of each path with their values. */
static fe_status supports(fe_solver *s, int *at, double *value)
{
    const fe_boundary *b = s->boundary;
    fe_device *d = s->device;
    for (int path = 0; path < b->n_path; path++) {
        int n = 0;
        for (int i = 0; i < b->n_fixed; i++) {
            const int local = b->path[i] == path ? local_component(s, b->fixed[i] / 3, b->fixed[i] % 3) : -1;
            if (local >= 0) at[n] = local, value[n++] = b->value[i];
        }
        fe_fixed *f = &s->supports.by_path[path];
        f->n = n;
        FE_TRY(fe_device_upload(d, (size_t)n, sizeof *at, at, "supports", (void **)&f->at));
        FE_TRY(fe_device_upload(d, (size_t)n, sizeof *value, value, "supports", (void **)&f->value));
    }
    int n = 0;
    for (int i = 0; i < b->n_fixed; i++) {
        const int local = local_component(s, b->fixed[i] / 3, b->fixed[i] % 3);
        if (local >= 0) at[n++] = local;
    }
    qsort(at, (size_t)n, sizeof *at, ascending);
    s->supports.n = n;
    FE_TRY(fe_device_upload(d, (size_t)n, sizeof *at, at, "supports", (void **)&s->supports.at));
    uint8_t *held = NULL;
    FE_ALLOCATE(held, s->n, "supports");
    for (int i = 0; i < n; i++) held[at[i]] = 1;
    const fe_status status =
        fe_device_upload(d, s->n, sizeof *held, held, "supports", (void **)&s->supports.held);
    free(held);
    return status;
}

static fe_status loads(fe_solver *s, double *vector)
{
    const fe_boundary *b = s->boundary;
    for (int path = 0; path < b->n_path; path++) {
        if (!b->load[path]) continue;
        for (int i = 0; i < s->share->n_owned; i++)
            for (int c = 0; c < 3; c++) vector[3 * i + c] = b->load[path][3 * (size_t)s->share->node[i] + c];
        FE_TRY(
            fe_device_upload(s->device, s->n_all, sizeof *vector, vector, "loads", (void **)&s->load[path]));
    }
    return FE_OK;
}

/* Owned components of each reaction; and behind them, for each axis, of all supports. */
static fe_status reactions(fe_solver *s, int *at)
{
    const fe_boundary *b = s->boundary;
    for (int axis = 0; axis < 3; axis++) {
        int n = 0;
        for (int i = 0; i < b->n_fixed; i++) {
            const int local = b->fixed[i] % 3 == axis ? local_component(s, b->fixed[i] / 3, axis) : -1;
            if (local >= 0) at[n++] = local;
        }
        s->reactions.n[b->n_reaction + axis] = n;
        FE_TRY(fe_device_upload(s->device, (size_t)n, sizeof *at, at, "reactions",
                                (void **)&s->reactions.at[b->n_reaction + axis]));
    }
    for (int i = 0; i < s->boundary->n_reaction; i++) {
        const fe_reaction *r = &s->boundary->reaction[i];
        int n = 0;
        for (int k = 0; k < r->n; k++) {
            const int local = local_component(s, r->node[k], r->component);
            if (local >= 0) at[n++] = local;
        }
        s->reactions.n[i] = n;
        FE_TRY(fe_device_upload(s->device, (size_t)n, sizeof *at, at, "reactions",
                                (void **)&s->reactions.at[i]));
    }
    return FE_OK;
}

static fe_status upload_with(fe_solver *s, int **at, double **value)
{
    FE_ALLOCATE(*at, s->n_all, "supports");
    FE_ALLOCATE(*value, s->n_all, "supports");
    FE_TRY(supports(s, *at, *value));
    FE_TRY(loads(s, *value));
    return reactions(s, *at);
}

fe_status fe_solver_boundary(fe_solver *s)
{
    const fe_boundary *b = s->boundary;
    int *at = NULL;
    double *value = NULL;
    FE_ALLOCATE(s->supports.by_path, b->n_path, "supports");
    FE_ALLOCATE(s->supports.moving, b->n_path, "supports");
    for (int i = 0; i < b->n_fixed; i++) s->supports.moving[b->path[i]] |= b->value[i] != 0.0;
    FE_ALLOCATE(s->accepted.factor, b->n_path, "load factors");
    FE_ALLOCATE(s->accepted.change, b->n_path, "load factors");
    FE_ALLOCATE(s->load, b->n_path, "loads");
    FE_ALLOCATE(s->reactions.at, b->n_reaction + 3, "reactions");
    FE_ALLOCATE(s->reactions.n, b->n_reaction + 3, "reactions");
    const fe_status status = upload_with(s, &at, &value);
    free(at), free(value);
    return status;
}
