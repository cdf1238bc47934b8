/* Node partitions and the numbering that they imply. */
#include "common/problem/share.h"
#include "have/metis.h"

#include <stdlib.h>

#if FE_HAVE_METIS
#include <metis.h>

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

static fe_status metis_owners(const fe_mesh *mesh, int n_rank, int *owner)
{
    const int width = mesh->n_node / MOST_VERTICES + 1;
    graph g = {0};
    idx_t *part = NULL, parts = n_rank, constraints = 1, cut;
    fe_status status = build_graph(mesh, width, &g);
    if (status == FE_OK) status = fe_allocate((size_t)g.n, sizeof *part, "partition", (void **)&part);
    if (status == FE_OK &&
        METIS_PartGraphKway(&g.n, &constraints, g.first, g.adjacent, g.weight, NULL, g.edge_weight, &parts,
                            NULL, NULL, NULL, &cut, part) != METIS_OK)
        status = fe_fail(FE_FAILED, "METIS could not partition %d nodes into %d", mesh->n_node, n_rank);
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

/* Every rank has to own a node; otherwise it would have no element. */
static fe_status check_owners(const fe_mesh *mesh, const fe_partition *p)
{
    uint8_t *owns = NULL;
    FE_ALLOCATE(owns, p->n_rank, "partition");
    for (int i = 0; i < mesh->n_node; i++) owns[p->owner[i]] = 1;
    int rank = 0;
    while (rank < p->n_rank && owns[rank]) rank++;
    free(owns);
    return rank == p->n_rank ? FE_OK
                             : fe_fail(FE_BAD_INPUT, "--ranks %d: rank %d would own no node of %s", p->n_rank,
                                       rank, mesh->path);
}

fe_status fe_partition_mesh(const fe_mesh *mesh, int n_rank, int method, fe_partition *p)
{
    *p = (fe_partition){.n_rank = n_rank};
    if (n_rank < 1 || n_rank > mesh->n_node)
        return fe_fail(FE_BAD_INPUT, "--ranks %d: %s has %d nodes", n_rank, mesh->path, mesh->n_node);
    FE_ALLOCATE(p->owner, mesh->n_node, "partition");
    if (method == FE_PARTITION_METIS && n_rank > 1)
        FE_TRY(metis_owners(mesh, n_rank, p->owner));
    else
        for (int i = 0; i < mesh->n_node; i++) p->owner[i] = (int)((int64_t)i * n_rank / mesh->n_node);
    return check_owners(mesh, p);
}

void fe_partition_close(fe_partition *p)
{
    free(p->owner);
    *p = (fe_partition){0};
}
