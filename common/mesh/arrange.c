/* Orders that suit strategies: compact pieces of elements, and rows whose neighbours share nodes. */
#include "common/mesh/bisect.h"
#include "common/mesh/mesh.h"

#include <omp.h>
#include <stdlib.h>

/* --- compact pieces of elements, nodes in the order of pieces ------------------------------------------- */

static int ascending(const void *p, const void *q)
{
    const int a = *(const int *)p, b = *(const int *)q;
    return (a > b) - (a < b);
}

fe_status fe_mesh_sort_pieces(const fe_mesh *mesh, int n, int *elem)
{
    const int nc = fe_corners(mesh->kind);
    double *centre = NULL;
    int *order = NULL;
    FE_ALLOCATE(centre, 3 * (size_t)n, "renumbering");
    for (int k = 0; k < n; ++k)
        for (int a = 0; a < nc; ++a)
            for (int i = 0; i < 3; ++i)
                centre[3 * (size_t)k + i] +=
                    mesh->x[3 * (size_t)mesh->conn[(size_t)elem[k] * nc + a] + i] / nc;
    fe_status status = fe_allocate((size_t)n, sizeof *order, "renumbering", (void **)&order);
    if (status == FE_OK) {
        for (int k = 0; k < n; ++k) order[k] = k;
        fe_bisect(centre, order, n, fe_piece_elements(mesh->kind), omp_get_max_threads());
        for (int k = 0; k < n; ++k) order[k] = elem[order[k]];
        for (int k = 0; k < n; ++k) elem[k] = order[k];
    }
    free(centre), free(order);
    return status;
}

/* Piece after piece the places, in node_order, of the nodes that no earlier piece has, in ascending order;
 * nodes without elements last. place [n_node]: where a node is in node_order, -1 once it was taken. */
static void nodes_by_piece(const fe_mesh *mesh, const int *elem_order, int *place, int *taken)
{
    const int nc = fe_corners(mesh->kind), most = fe_piece_elements(mesh->kind);
    int n = 0;
    for (int first = 0; first < mesh->n_elem; first += most) {
        const int start = n, end = first + most < mesh->n_elem ? first + most : mesh->n_elem;
        for (int k = first; k < end; ++k)
            for (int a = 0; a < nc; ++a) {
                int *at = &place[mesh->conn[(size_t)elem_order[k] * nc + a]];
                if (*at >= 0) taken[n++] = *at, *at = -1;
            }
        qsort(taken + start, (size_t)(n - start), sizeof *taken, ascending);
    }
    for (int i = 0; i < mesh->n_node; ++i)
        if (place[i] >= 0) taken[n++] = place[i];
}

fe_status fe_mesh_order_pieces(const fe_mesh *mesh, int *elem_order, int *node_order)
{
    int *place = NULL, *taken = NULL;
    FE_TRY(fe_mesh_sort_pieces(mesh, mesh->n_elem, elem_order));
    FE_ALLOCATE(place, mesh->n_node, "renumbering");
    const fe_status status = fe_allocate((size_t)mesh->n_node, sizeof *taken, "renumbering", (void **)&taken);
    for (int i = 0; i < mesh->n_node; ++i) place[node_order[i]] = i;
    if (status == FE_OK) {
        nodes_by_piece(mesh, elem_order, place, taken);
        for (int i = 0; i < mesh->n_node; ++i) taken[i] = node_order[taken[i]];
        for (int i = 0; i < mesh->n_node; ++i) node_order[i] = taken[i];
    }
    free(place), free(taken);
    return status;
}

/* --- rows ------------------------------------------------------------------------------------------------
 */

enum { WARP = 32, N_SAMPLE = 2048, NODE_BYTES = 24, SECTOR = 32, LINE = 128, LINE_WEIGHT = 11 };

/* Numbers among n. */
static int distinct(int *number, int n)
{
    int count = n > 0;
    qsort(number, (size_t)n, sizeof *number, ascending);
    for (int i = 1; i < n; ++i) count += number[i] != number[i - 1];
    return count;
}

/* Of the warp that starts at element `first`. */
static double warp_cost(const fe_mesh *mesh, const fe_arrangement *a, const int *place, int first)
{
    const int nc = fe_corners(mesh->kind);
    int sector[2 * WARP], line[2 * WARP * 8], n_sector = 0, n_line = 0;
    for (int c = 0; c < nc; ++c) {
        int n = 0;
        for (int e = first; e < first + WARP; ++e) {
            const int64_t byte = (int64_t)NODE_BYTES * place[mesh->conn[(size_t)a->elem[e] * nc + c]],
                          last = byte + NODE_BYTES - 1;
            sector[n++] = (int)(byte / SECTOR), sector[n++] = (int)(last / SECTOR);
            line[n_line++] = (int)(byte / LINE), line[n_line++] = (int)(last / LINE);
        }
        n_sector += distinct(sector, n);
    }
    return (n_sector + LINE_WEIGHT * (double)distinct(line, n_line)) / WARP;
}

fe_status fe_order_cost(const fe_mesh *mesh, const fe_arrangement *a, double *cost)
{
    const int n_warp = mesh->n_elem / WARP, n = n_warp < N_SAMPLE ? n_warp : N_SAMPLE;
    int *place = NULL;
    double sum = 0;
    FE_ALLOCATE(place, mesh->n_node, "renumbering");
    for (int i = 0; i < mesh->n_node; ++i) place[a->node[i]] = i;
    for (int k = 0; k < n; ++k) sum += warp_cost(mesh, a, place, WARP * (int)((int64_t)k * n_warp / n));
    free(place);
    *cost = n ? sum / n : 0;
    return FE_OK;
}

/* Replaces the arrangement by another order if that costs clearly less. */
static fe_status try_order(const fe_mesh *mesh, fe_order order, fe_arrangement *best)
{
    static const double clearly = 0.95;
    fe_arrangement other;
    double before, cost;
    FE_TRY(fe_order_cost(mesh, best, &before));
    FE_TRY(fe_mesh_arrange(mesh, order, 1, &other));
    const fe_status status = fe_order_cost(mesh, &other, &cost);
    const fe_arrangement worse = *best;
    if (status == FE_OK && cost < clearly * before) *best = other, other = worse;
    fe_arrangement_close(&other);
    return status;
}

static fe_status arrange_for(const fe_mesh *mesh, int pieces, fe_arrangement *a)
{
    FE_TRY(try_order(mesh, FE_ORDER_MORTON, a));
    const int moved = a->name != fe_order_names[FE_ORDER_AS_IS];
    if (!pieces) return moved ? try_order(mesh, FE_ORDER_RCM, a) : FE_OK;
    a->name = moved ? "morton+bisection" : fe_order_names[FE_ORDER_BISECTION];
    a->in_pieces = 1;
    return fe_mesh_order_pieces(mesh, a->elem, a->node);
}

fe_status fe_mesh_arrange_for(const fe_mesh *mesh, int pieces, fe_arrangement *a)
{
    FE_TRY(fe_mesh_arrange(mesh, FE_ORDER_AS_IS, 1, a));
    const fe_status status = arrange_for(mesh, pieces, a);
    if (status != FE_OK) fe_arrangement_close(a);
    return status;
}
