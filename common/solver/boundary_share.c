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

/* Lists of components that this rank owns, under way: that of group n from first[n] to first[n + 1]. */
typedef struct groups {
    int n, *first, *at;
} groups;

static void add_component(const fe_solver *s, int node, int c, groups *g)
{
    const int local = local_component(s, node, c);
    if (local >= 0) g->at[g->first[g->n + 1]++] = local;
}
static void end_group(groups *g)
{
    g->n++;
    g->first[g->n + 1] = g->first[g->n];
}

/* Of each reaction; and behind them, for each axis, of all supports. */
static void list_reactions(const fe_solver *s, groups *g)
{
    const fe_boundary *b = s->boundary;
    for (int i = 0; i < b->n_reaction; i++, end_group(g))
        for (int k = 0; k < b->reaction[i].n; k++)
            add_component(s, b->reaction[i].node[k], b->reaction[i].component, g);
    for (int axis = 0; axis < 3; axis++, end_group(g))
        for (int i = 0; i < b->n_fixed; i++)
            if (b->fixed[i] % 3 == axis) add_component(s, b->fixed[i] / 3, axis, g);
}

/* A component each. */
static void list_probes(const fe_solver *s, groups *g)
{
    for (int i = 0; i < 3 * s->boundary->n_probe; i++, end_group(g))
        add_component(s, s->boundary->probe[i / 3], i % 3, g);
}

/* At most n groups of n_at components together. */
static fe_status upload_groups(fe_solver *s, size_t n, size_t n_at, void (*list)(const fe_solver *, groups *),
                               const char *what, fe_groups *resident)
{
    groups g = {0};
    fe_status status = fe_allocate(n + 2, sizeof *g.first, what, (void **)&g.first);
    if (status == FE_OK) status = fe_allocate(n_at + 1, sizeof *g.at, what, (void **)&g.at);
    if (status == FE_OK) {
        list(s, &g);
        resident->n = g.n;
        status = fe_device_upload(s->device, (size_t)g.n + 1, sizeof *g.first, g.first, what,
                                  (void **)&resident->first);
    }
    if (status == FE_OK)
        status = fe_device_upload(s->device, (size_t)g.first[g.n], sizeof *g.at, g.at, what,
                                  (void **)&resident->at);
    free(g.first), free(g.at);
    return status;
}

static fe_status numbers_of_steps(fe_solver *s)
{
    const fe_boundary *b = s->boundary;
    const size_t n_probe = 3 * (size_t)b->n_probe;
    size_t n_at = (size_t)b->n_fixed;
    for (int i = 0; i < b->n_reaction; i++) n_at += (size_t)b->reaction[i].n;
    FE_TRY(upload_groups(s, (size_t)b->n_reaction + 3, n_at, list_reactions, "reactions", &s->reactions));
    return upload_groups(s, n_probe, n_probe, list_probes, "probes", &s->probes);
}

static fe_status upload_with(fe_solver *s, int **at, double **value)
{
    FE_ALLOCATE(*at, s->n_all, "supports");
    FE_ALLOCATE(*value, s->n_all, "supports");
    FE_TRY(supports(s, *at, *value));
    return loads(s, *value);
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
    const fe_status status = upload_with(s, &at, &value);
    free(at), free(value);
    return status == FE_OK ? numbers_of_steps(s) : status;
}
