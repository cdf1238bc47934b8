/* Node partitions. */
#include "common/mesh/bisect.h"
#include "common/problem/share.h"
#include "have/metis.h"

#include <omp.h>
#include <stdlib.h>

const char *const fe_partition_names[FE_N_PARTITION] = {"auto", "contiguous", "metis", "bisection"};

#if FE_HAVE_METIS
#include <fcntl.h>
#include <metis.h>
#include <stdio.h>
#include <unistd.h>

/* Above so many nodes METIS partitions clusters of consecutive nodes, because of its run time and its 32-bit
 * indices. */
enum { MOST_VERTICES = 4000000 };

/* Vertices are clusters of `width` consecutive nodes, weighted by the elements at their nodes; edges join
 * clusters with a common element, weighted by how often. */
typedef struct graph {
    idx_t n, *first, *adjacent, *edge_weight, *weight;
} graph;

static void close_graph(graph *g)
{
    free(g->first), free(g->adjacent), free(g->edge_weight), free(g->weight);
}

/* First node behind vertex i. */
static int vertex_end(const fe_mesh *mesh, int width, idx_t i)
{
    const int first = (int)i * width;
    return first < mesh->n_node - width ? first + width : mesh->n_node;
}

/* The row of vertex i into adjacent and edge_weight at n, or (where those are NULL) its length. place [n] is
 * scratch: where a neighbour stands, plus 1. */
static size_t graph_row(const fe_mesh *mesh, const int *row, const int *elem, int width, idx_t i, graph *g,
                        size_t n, size_t *place)
{
    const int n_corner = fe_corners(mesh->kind), first = (int)i * width, last = vertex_end(mesh, width, i);
    const size_t start = n;
    for (int k = row[first]; k < row[last]; k++)
        for (int c = 0; c < n_corner; c++) {
            const idx_t j = mesh->conn[(size_t)elem[k] * n_corner + c] / width;
            if (j == i) continue;
            if (place[j] <= start) {
                place[j] = ++n;
                if (g->adjacent) g->adjacent[n - 1] = j;
            }
            if (g->adjacent) g->edge_weight[place[j] - 1]++;
        }
    return n;
}

static fe_status fill_graph(const fe_mesh *mesh, const int *row, const int *elem, int width, graph *g)
{
    size_t *place = NULL;
    fe_status status = FE_OK;
    for (int fill = 0; fill < 2 && status == FE_OK; fill++) {
        size_t n = 0;
        free(place);
        status = fe_allocate((size_t)g->n, sizeof *place, "graph of nodes", (void **)&place);
        for (idx_t i = 0; i < g->n && status == FE_OK; i++) {
            g->weight[i] = row[vertex_end(mesh, width, i)] - row[(int)i * width];
            n = graph_row(mesh, row, elem, width, i, g, n, place);
            g->first[i + 1] = (idx_t)n;
            if (n > INT32_MAX)
                status = fe_fail(FE_FAILED,
                                 "METIS: the graph of nodes has more than %d edges; take "
                                 "--partition contiguous with --order bisection",
                                 INT32_MAX);
        }
        if (fill || status != FE_OK) continue;
        status = fe_allocate(n, sizeof *g->adjacent, "graph of nodes", (void **)&g->adjacent);
        if (status == FE_OK)
            status = fe_allocate(n, sizeof *g->edge_weight, "graph of nodes", (void **)&g->edge_weight);
    }
    free(place);
    return status;
}

static fe_status build_graph(const fe_mesh *mesh, int width, graph *g)
{
    int *row = NULL, *elem = NULL;
    g->n = (mesh->n_node + width - 1) / width;
    FE_ALLOCATE(g->first, (size_t)g->n + 1, "graph of nodes");
    FE_ALLOCATE(g->weight, g->n, "graph of nodes");
    fe_status status = fe_mesh_node_elements(mesh, &row, &elem);
    if (status == FE_OK) status = fill_graph(mesh, row, elem, width, g);
    free(row), free(elem);
    return status;
}

/* METIS says lines of its own where memory runs out. No other thread runs yet. */
static int divide(graph *g, idx_t parts, idx_t *part)
{
    idx_t constraints = 1, cut;
    fflush(stderr);
    const int kept = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (kept >= 0 && nowhere >= 0) dup2(nowhere, STDERR_FILENO);
    const int code = METIS_PartGraphKway(&g->n, &constraints, g->first, g->adjacent, g->weight, NULL,
                                         g->edge_weight, &parts, NULL, NULL, NULL, &cut, part);
    if (kept >= 0 && nowhere >= 0) dup2(kept, STDERR_FILENO);
    if (kept >= 0) close(kept);
    if (nowhere >= 0) close(nowhere);
    return code;
}

static fe_status metis_owners(const fe_mesh *mesh, int n_rank, int *owner)
{
    const int width = mesh->n_node / MOST_VERTICES + 1;
    graph g = {0};
    idx_t *part = NULL;
    fe_status status = build_graph(mesh, width, &g);
    if (status == FE_OK) status = fe_allocate((size_t)g.n, sizeof *part, "partition", (void **)&part);
    const int code = status == FE_OK ? divide(&g, n_rank, part) : METIS_OK;
    if (code == METIS_ERROR_MEMORY)
        status =
            fe_fail(FE_OUT_OF_MEMORY, "METIS: no host memory to part %d nodes into %d", mesh->n_node, n_rank);
    else if (code != METIS_OK)
        status = fe_fail(FE_FAILED, "METIS could not part %d nodes into %d", mesh->n_node, n_rank);
    for (int i = 0; i < mesh->n_node && status == FE_OK; i++) owner[i] = (int)part[i / width];
    free(part);
    close_graph(&g);
    return status;
}
#else
static fe_status metis_owners(const fe_mesh *mesh, int n_rank, int *owner)
{
    (void)mesh, (void)n_rank, (void)owner;
    return fe_fail(FE_BAD_INPUT,
                   "--partition metis: this build has no METIS (libmetis-dev was not found by make)");
}
#endif

/* First rank that owns nothing and so has no element; n_rank where there is none. */
static fe_status find_idle(int n_rank, int n_node, const int *owner, int *rank)
{
    uint8_t *owns = NULL;
    FE_ALLOCATE(owns, n_rank, "partition");
#pragma omp parallel for schedule(static) num_threads(omp_get_max_threads())
    for (int i = 0; i < n_node; i++)
        if (i == 0 || owner[i] != owner[i - 1]) {
#pragma omp atomic write
            owns[owner[i]] = 1;
        }
    for (*rank = 0; *rank < n_rank && owns[*rank];) ++*rank;
    free(owns);
    return FE_OK;
}

static void contiguous_owners(const fe_mesh *mesh, int n_rank, int *owner)
{
#pragma omp parallel for schedule(static) num_threads(omp_get_max_threads())
    for (int i = 0; i < mesh->n_node; i++) owner[i] = (int)((int64_t)i * n_rank / mesh->n_node);
}

/* Pieces of n / ranks nodes; the few that are left over go with the last. */
static fe_status bisection_owners(const fe_mesh *mesh, int n_rank, int *owner)
{
    const int n = mesh->n_node, most = n / n_rank;
    int *order = NULL;
    FE_RESERVE(order, n, "partition");
#pragma omp parallel for schedule(static) num_threads(omp_get_max_threads())
    for (int i = 0; i < n; i++) order[i] = i;
    const fe_status status = fe_bisect(mesh->x, order, n, most, omp_get_max_threads());
    for (int i = 0; status == FE_OK && i < n; i++)
        owner[order[i]] = i / most < n_rank ? i / most : n_rank - 1;
    free(order);
    return status;
}

/* Elements that are computed once more for each further owner of their corners, over elements. */
static double duplicates(const fe_mesh *mesh, const int *owner)
{
    const int n_corner = fe_corners(mesh->kind);
    int64_t again = 0;
#pragma omp parallel for schedule(static) num_threads(omp_get_max_threads()) reduction(+ : again)
    for (int e = 0; e < mesh->n_elem; e++) {
        const int *node = mesh->conn + (size_t)e * n_corner;
        for (int c = 1; c < n_corner; c++) {
            int d = 0;
            while (d < c && owner[node[d]] != owner[node[c]]) d++;
            again += d == c;
        }
    }
    return (double)again / mesh->n_elem;
}

/* Ranges that compute so few elements again are taken at once: boxes in their own order, cut into slabs. */
static const double hardly_any = 0.03;

static fe_status auto_owners(const fe_mesh *mesh, fe_partition *p)
{
    int *compact = NULL;
    contiguous_owners(mesh, p->n_rank, p->owner);
    p->method = FE_PARTITION_CONTIGUOUS;
    const double slabs = duplicates(mesh, p->owner);
    if (slabs <= hardly_any) return FE_OK;
    FE_RESERVE(compact, mesh->n_node, "partition");
    int method = FE_HAVE_METIS ? FE_PARTITION_METIS : FE_PARTITION_BISECTION;
    fe_status status = FE_HAVE_METIS ? metis_owners(mesh, p->n_rank, compact) : FE_FAILED;
    if (status == FE_FAILED) { /* METIS cannot, or is not there */
        method = FE_PARTITION_BISECTION;
        status = bisection_owners(mesh, p->n_rank, compact);
    }
    int idle = 0;
    if (status == FE_OK) status = find_idle(p->n_rank, mesh->n_node, compact, &idle);
    if (status == FE_OK && idle == p->n_rank && duplicates(mesh, compact) < slabs) {
        int *swap = p->owner;
        p->owner = compact, compact = swap;
        p->method = method;
    }
    free(compact);
    return status;
}

fe_status fe_partition_mesh(const fe_mesh *mesh, int n_rank, int method, fe_partition *p)
{
    *p = (fe_partition){.n_rank = n_rank};
    if (n_rank < 1 || n_rank > mesh->n_node)
        return fe_fail(FE_BAD_INPUT, "--ranks %d: %s has %d nodes", n_rank, mesh->path, mesh->n_node);
    FE_RESERVE(p->owner, mesh->n_node, "partition");
    p->method = method;
    if (n_rank == 1 || method == FE_PARTITION_CONTIGUOUS) {
        p->method = FE_PARTITION_CONTIGUOUS;
        contiguous_owners(mesh, n_rank, p->owner);
    } else if (method == FE_PARTITION_METIS) {
        FE_TRY(metis_owners(mesh, n_rank, p->owner));
    } else if (method == FE_PARTITION_BISECTION) {
        FE_TRY(bisection_owners(mesh, n_rank, p->owner));
    } else {
        FE_TRY(auto_owners(mesh, p));
    }
    int idle;
    FE_TRY(find_idle(n_rank, mesh->n_node, p->owner, &idle));
    if (idle < n_rank)
        return fe_fail(FE_BAD_INPUT, "--ranks %d: rank %d would own no node of %s", n_rank, idle, mesh->path);
    return FE_OK;
}

void fe_partition_close(fe_partition *p)
{
    free(p->owner);
    *p = (fe_partition){0};
}
