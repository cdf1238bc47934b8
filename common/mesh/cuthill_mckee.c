/* Reverse Cuthill-McKee: nodes level by level of the mesh's graph (Cuthill, McKee 1969; George, Liu 1979). */
#include "common/base/lower.h"
#include "common/mesh/distinct.h"
#include "common/mesh/mesh.h"

#include <limits.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* Nodes that share an element are neighbours. */
typedef struct graph {
    const fe_mesh *mesh;
    int *elem_first, *elem; /* elements at nodes, while the graph is built */
    int *degree;            /* [n_node] neighbours */
    size_t *first;          /* [n_node + 1] where those of a node begin in `neighbour` */
    int *neighbour;         /* of each node, by ascending degree, and by number among equals */
    int *mark, sweep;       /* [n_node] number of the node whose neighbours were looked for last */
    int *parent; /* [n_node] place in the queue of the first neighbour; ROOT; NONE before a node is found */
    int *child;  /* [n_node] where the children of a place begin in the queue */
} graph;

/* FEW: the neighbours of nodes with up to so many elements are looked for by threads. A level is
 * added by at least FEW_THREADS threads, which go through it three times, or by one, which goes through it
 * once: also one of few nodes, for which threads take longer to meet. */
enum { FEW = 64, SHORT = 64, FEW_THREADS = 4, SMALL_LEVEL = 512, NONE = INT_MAX, ROOT = -1 };

_Static_assert(FEW *FE_MOST_CORNERS <= FE_DISTINCT_MOST, "lists of neighbours");

static int n_elem_at(const graph *g, int node) { return g->elem_first[node + 1] - g->elem_first[node]; }

/* The neighbours of a node with few elements into list [FE_DISTINCT_MOST]. Returns their number. */
static int look_through(const graph *g, int node, int *list)
{
    const int nc = fe_corners(g->mesh->kind);
    int n = 0;
    for (int k = g->elem_first[node]; k < g->elem_first[node + 1]; ++k) {
        const int *corner = g->mesh->conn + (size_t)g->elem[k] * nc;
        for (int a = 0; a < nc; ++a)
            if (corner[a] != node) list[n++] = corner[a];
    }
    return fe_distinct(list, n);
}

/* The same of any node, by marks; list may be NULL. */
static int mark_all(graph *g, int node, int *list)
{
    const int nc = fe_corners(g->mesh->kind);
    int n = 0;
    g->mark[node] = ++g->sweep;
    for (int k = g->elem_first[node]; k < g->elem_first[node + 1]; ++k) {
        const int *corner = g->mesh->conn + (size_t)g->elem[k] * nc;
        for (int a = 0; a < nc; ++a) {
            if (g->mark[corner[a]] == g->sweep) continue;
            g->mark[corner[a]] = g->sweep;
            if (list) list[n] = corner[a];
            ++n;
        }
    }
    return n;
}

static void count_neighbours(graph *g)
{
#pragma omp parallel for schedule(dynamic, 4096) num_threads(omp_get_max_threads())
    for (int i = 0; i < g->mesh->n_node; ++i) {
        int list[FE_DISTINCT_MOST];
        if (n_elem_at(g, i) <= FEW) g->degree[i] = look_through(g, i, list);
    }
    for (int i = 0; i < g->mesh->n_node; ++i)
        if (n_elem_at(g, i) > FEW) g->degree[i] = mark_all(g, i, NULL);
}

static int64_t rank_of(const graph *g, int node) { return (int64_t)g->degree[node] << 32 | node; }

static int compare_ranks(const void *p, const void *q, void *g)
{
    const int64_t a = rank_of(g, *(const int *)p), b = rank_of(g, *(const int *)q);
    return (a > b) - (a < b);
}

static void sort_by_rank(graph *g, int n, int *list)
{
    if (n > SHORT) {
        qsort_r(list, (size_t)n, sizeof *list, compare_ranks, g);
        return;
    }
    for (int i = 1; i < n; ++i) {
        const int node = list[i];
        const int64_t rank = rank_of(g, node);
        int at = i;
        for (; at > 0 && rank_of(g, list[at - 1]) > rank; --at) list[at] = list[at - 1];
        list[at] = node;
    }
}

static void list_neighbours(graph *g)
{
    for (int i = 0; i < g->mesh->n_node; ++i)
        if (n_elem_at(g, i) > FEW) mark_all(g, i, g->neighbour + g->first[i]);
#pragma omp parallel for schedule(dynamic, 4096) num_threads(omp_get_max_threads())
    for (int i = 0; i < g->mesh->n_node; ++i) {
        int list[FE_DISTINCT_MOST], *to = g->neighbour + g->first[i];
        if (n_elem_at(g, i) <= FEW) memcpy(to, list, (size_t)look_through(g, i, list) * sizeof *to);
        sort_by_rank(g, g->degree[i], to);
    }
}

static fe_status open_graph(graph *g)
{
    const int n = g->mesh->n_node;
    FE_TRY(fe_mesh_node_elements(g->mesh, &g->elem_first, &g->elem));
    FE_ALLOCATE(g->degree, n, "renumbering");
    FE_ALLOCATE(g->mark, n, "renumbering");
    FE_RESERVE(g->first, (size_t)n + 1, "renumbering");
    count_neighbours(g);
    g->first[0] = 0;
    for (int i = 0; i < n; ++i) g->first[i + 1] = g->first[i] + (size_t)g->degree[i];
    FE_RESERVE(g->neighbour, g->first[n], "renumbering");
    list_neighbours(g);
    free(g->elem_first), free(g->elem);
    g->elem_first = g->elem = NULL;
    FE_RESERVE(g->child, n, "renumbering");
    FE_RESERVE(g->parent, n, "renumbering");
#pragma omp parallel for schedule(static) num_threads(omp_get_max_threads())
    for (int i = 0; i < n; ++i) g->parent[i] = NONE;
    return FE_OK;
}

static void close_graph(graph *g)
{
    free(g->elem_first), free(g->elem), free(g->degree), free(g->first), free(g->neighbour), free(g->mark);
    free(g->parent), free(g->child);
}

/* Entries of queue from `begin` to `end` are a level of nodes, numbered by their places. Adds the next level
 * behind them: a node follows its first neighbour in the queue. Returns where it ends. */
static int add_level_serially(graph *g, int *queue, int begin, int end)
{
    int n = end;
    for (int place = begin; place < end; ++place)
        for (size_t k = g->first[queue[place]]; k < g->first[queue[place] + 1]; ++k) {
            const int next = g->neighbour[k];
            if (g->parent[next] != NONE) continue;
            g->parent[next] = place;
            queue[n++] = next;
        }
    return n;
}

/* The same by several threads: a place claims the neighbours that no earlier place has, counts those that it
 * got, and lists them. */
static int add_level(graph *g, int threads, int *queue, int begin, int end)
{
    int n = end;
    if (threads < FEW_THREADS || end - begin < SMALL_LEVEL) return add_level_serially(g, queue, begin, end);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int place = begin; place < end; ++place)
        for (size_t k = g->first[queue[place]]; k < g->first[queue[place] + 1]; ++k)
            fe_lower(&g->parent[g->neighbour[k]], place);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int place = begin; place < end; ++place) {
        int count = 0;
        for (size_t k = g->first[queue[place]]; k < g->first[queue[place] + 1]; ++k)
            count += g->parent[g->neighbour[k]] == place;
        g->child[place] = count;
    }
    for (int place = begin; place < end; ++place) {
        const int count = g->child[place];
        g->child[place] = n, n += count;
    }
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int place = begin; place < end; ++place) {
        int at = g->child[place];
        for (size_t k = g->first[queue[place]]; k < g->first[queue[place] + 1]; ++k)
            if (g->parent[g->neighbour[k]] == place) queue[at++] = g->neighbour[k];
    }
    return n;
}

/* Nodes of root's part, none of which has a parent yet, level by level, the neighbours of a node by ascending
 * degree, into queue. Returns their number; *depth levels, of which the last starts at *last. */
static int breadth_first(graph *g, int root, int *queue, int *depth, int *last)
{
    const int threads = omp_get_max_threads();
    int end = 1;
    *depth = 0;
    queue[0] = root;
    g->parent[root] = ROOT;
    for (int begin = 0; begin < end;) {
        ++*depth, *last = begin;
        begin = end;
        end = add_level(g, threads, queue, *last, end);
    }
    return end;
}

/* Cuthill-McKee of the part of `root` into queue, from a node that is far from another (at most eight tries
 * to lengthen the levels). Returns its number of nodes. */
static int order_part(graph *g, int root, int *queue)
{
    int depth, last, n = breadth_first(g, root, queue, &depth, &last);
    for (int attempt = 0; attempt < 8; ++attempt) {
        int end = queue[last];
        for (int i = last; i < n; ++i)
            if (g->degree[queue[i]] < g->degree[end]) end = queue[i];
        const int before = depth;
#pragma omp parallel for schedule(static) num_threads(omp_get_max_threads()) if (n > SMALL_LEVEL)
        for (int i = 0; i < n; ++i) g->parent[queue[i]] = NONE;
        n = breadth_first(g, end, queue, &depth, &last);
        if (depth <= before) break;
    }
    return n;
}

static void order_all(graph *g, int *order)
{
    const int n = g->mesh->n_node;
    for (int root = 0, filled = 0; root < n; ++root)
        if (g->parent[root] == NONE) filled += order_part(g, root, order + filled);
    for (int i = 0, j = n - 1; i < j; ++i, --j) {
        const int t = order[i];
        order[i] = order[j], order[j] = t;
    }
}

fe_status fe_mesh_order_levels(const fe_mesh *mesh, int *node_order)
{
    graph g = {.mesh = mesh};
    fe_status status = open_graph(&g);
    if (status == FE_OK) order_all(&g, node_order);
    close_graph(&g);
    return status;
}
