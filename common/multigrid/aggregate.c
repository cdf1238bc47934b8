#include "common/multigrid/aggregate.h"
#include "common/mesh/bisect.h"

#include <stdlib.h>
#include <string.h>

typedef struct groups {
    const fe_graph *g;
    int n_order, *order; /* nodes by pieces */
    int *piece;          /* [n] of a node, -1: left out */
    int *of;             /* [n] group of a node */
    int n, *first;       /* groups, and where their nodes start in: */
    int *node;           /* [n_order] */
    int *into;           /* [n] the group that a group joined, itself where none */
    int *size, *links;   /* [n] */
} groups;

static int root(const groups *s, int group)
{
    while (s->into[group] != group) group = s->into[group];
    return group;
}

static fe_status bisect(groups *s, int most, int threads)
{
    const fe_graph *g = s->g;
    FE_ALLOCATE(s->order, g->n, "aggregates");
    FE_ALLOCATE(s->piece, g->n, "aggregates");
    for (int i = 0; i < g->n; i++)
        if (!g->left_out || !g->left_out[i]) s->order[s->n_order++] = i;
    if (s->n_order > 0) FE_TRY(fe_bisect(g->x, s->order, s->n_order, most, threads));
    for (int i = 0; i < g->n; i++) s->piece[i] = -1;
    for (int k = 0; k < s->n_order; k++) s->piece[s->order[k]] = k / most;
    return FE_OK;
}

static int alike(const fe_graph *g, int i, int j)
{
    return !g->softness || fe_alike_softness(g->softness[i], g->softness[j]);
}

/* The connected parts of pieces, node by node as they are found. */
static fe_status split(groups *s)
{
    const fe_graph *g = s->g;
    FE_ALLOCATE(s->node, s->n_order, "aggregates");
    FE_ALLOCATE(s->first, (size_t)s->n_order + 1, "aggregates");
    for (int i = 0; i < g->n; i++) s->of[i] = -1;
    int n = 0;
    for (int k = 0; k < s->n_order; k++) {
        if (s->of[s->order[k]] >= 0) continue;
        s->first[s->n] = n;
        s->of[s->order[k]] = s->n;
        s->node[n++] = s->order[k];
        for (int next = s->first[s->n]; next < n; next++) {
            const int i = s->node[next];
            for (int l = g->first[i]; l < g->first[i + 1]; l++) {
                const int j = g->column[l];
                if (s->of[j] >= 0 || s->piece[j] != s->piece[i] || !alike(g, i, j)) continue;
                s->of[j] = s->n;
                s->node[n++] = j;
            }
        }
        s->n++;
    }
    s->first[s->n] = n;
    return FE_OK;
}

/* Whether the group's nodes lie within a thirtieth of their distance from a line. */
static int on_a_line(const groups *s, int group)
{
    const double *x = s->g->x, *origin = x + 3 * (size_t)s->node[s->first[group]], *end = origin;
    for (int k = s->first[group]; k < s->first[group + 1]; k++) {
        const double *p = x + 3 * (size_t)s->node[k];
        if (fe_square_distance(p, origin) > fe_square_distance(end, origin)) end = p;
    }
    const double length = fe_square_distance(end, origin);
    for (int k = s->first[group]; k < s->first[group + 1]; k++) {
        const double *p = x + 3 * (size_t)s->node[k];
        if (fe_off_line(origin, end, length, p)) return 0;
    }
    return 1;
}

static fe_candidate candidate(const groups *s, int most, int group)
{
    return (fe_candidate){s->size[group] < most, s->links[group], group};
}

/* The neighbour to join, preferably one of fewer than `most` nodes; -1: there is none. */
static int best_neighbor(groups *s, int group, int most)
{
    const fe_graph *g = s->g;
    int best = -1;
    for (int pass = 0; pass < 2; pass++) /* counts, then clears them */
        for (int k = s->first[group]; k < s->first[group + 1]; k++)
            for (int l = g->first[s->node[k]]; l < g->first[s->node[k] + 1]; l++) {
                const int j = g->column[l], other = s->piece[j] < 0 ? -1 : root(s, s->of[j]);
                if (other < 0 || other == root(s, group) || !alike(g, s->node[k], j)) continue;
                if (pass == 0)
                    s->links[other]++;
                else if (best < 0 || fe_better_candidate(candidate(s, most, other), candidate(s, most, best)))
                    best = other;
            }
    for (int k = s->first[group]; k < s->first[group + 1]; k++)
        for (int l = g->first[s->node[k]]; l < g->first[s->node[k] + 1]; l++)
            if (s->piece[g->column[l]] >= 0) s->links[root(s, s->of[g->column[l]])] = 0;
    return best;
}

static fe_status join(groups *s, int most, int least, int flat)
{
    FE_ALLOCATE(s->into, s->n, "aggregates");
    FE_ALLOCATE(s->size, s->n, "aggregates");
    FE_ALLOCATE(s->links, s->n, "aggregates");
    for (int i = 0; i < s->n; i++) s->into[i] = i, s->size[i] = s->first[i + 1] - s->first[i];
    for (int i = 0; i < s->n; i++) {
        const int whole = root(s, i);
        if (s->size[whole] >= least && !(flat && whole == i && on_a_line(s, i))) continue;
        const int other = best_neighbor(s, i, most);
        if (other < 0) continue;
        s->into[whole] = other;
        s->size[other] += s->size[whole];
    }
    return FE_OK;
}

/* Numbers in the order of pieces. */
static fe_status number(groups *s, int *n_aggregate)
{
    int *given = s->links;
    *n_aggregate = 0;
    for (int i = 0; i < s->n; i++) given[i] = -1;
    for (int k = 0; k < s->n_order; k++) {
        const int group = root(s, s->of[s->order[k]]);
        if (given[group] < 0) given[group] = (*n_aggregate)++;
    }
    for (int k = 0; k < s->n_order; k++) s->piece[s->order[k]] = given[root(s, s->of[s->order[k]])];
    memcpy(s->of, s->piece, (size_t)s->g->n * sizeof *s->of);
    return FE_OK;
}

fe_status fe_aggregate(const fe_graph *g, int most, int least, int flat, int threads, int *of,
                       int *n_aggregate)
{
    groups s = {.g = g, .of = of};
    fe_status status = bisect(&s, most, threads);
    if (status == FE_OK) status = split(&s);
    if (status == FE_OK) status = join(&s, most, least, flat);
    if (status == FE_OK) status = number(&s, n_aggregate);
    free(s.order), free(s.piece), free(s.node), free(s.first), free(s.into), free(s.size), free(s.links);
    return status;
}
