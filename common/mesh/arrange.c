/* The order that suits a strategy, by what its gathers would read. */
#include "common/mesh/distinct.h"
#include "common/mesh/mesh.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { WARP = 32, N_SAMPLE = 2048, NODE_BYTES = 24, SECTOR = 32, LINE = 128, LINE_WEIGHT = 11 };

_Static_assert(2 * WARP * FE_MOST_CORNERS <= FE_DISTINCT_MOST, "lines of a warp");

/* Of all elements of the warp that starts at element `first`. */
static int warp_cost(const fe_mesh *mesh, const fe_arrangement *a, const int *place, int first)
{
    const int nc = fe_corners(mesh->kind);
    int sector[2 * WARP], line[2 * WARP * FE_MOST_CORNERS], n_sector = 0, n_line = 0;
    for (int c = 0; c < nc; ++c) {
        int n = 0;
        for (int e = first; e < first + WARP; ++e) {
            const int64_t byte = (int64_t)NODE_BYTES * place[mesh->conn[(size_t)a->elem[e] * nc + c]],
                          last = byte + NODE_BYTES - 1;
            sector[n++] = (int)(byte / SECTOR), sector[n++] = (int)(last / SECTOR);
            line[n_line++] = (int)(byte / LINE), line[n_line++] = (int)(last / LINE);
        }
        n_sector += fe_distinct(sector, n);
    }
    return n_sector + LINE_WEIGHT * fe_distinct(line, n_line);
}

/* At which place each node is. */
static fe_status find_places(const fe_mesh *mesh, const fe_arrangement *a, int **place)
{
    FE_RESERVE(*place, mesh->n_node, "renumbering");
#pragma omp parallel for schedule(static) num_threads(omp_get_max_threads())
    for (int i = 0; i < mesh->n_node; ++i) (*place)[a->node[i]] = i;
    return FE_OK;
}

fe_status fe_order_cost(const fe_mesh *mesh, const fe_arrangement *a, double *cost)
{
    const int n_warp = mesh->n_elem / WARP, n = n_warp < N_SAMPLE ? n_warp : N_SAMPLE;
    int *place = NULL, sum = 0;
    FE_TRY(find_places(mesh, a, &place));
#pragma omp parallel for schedule(static) num_threads(omp_get_max_threads()) reduction(+ : sum)
    for (int k = 0; k < n; ++k) sum += warp_cost(mesh, a, place, WARP * (int)((int64_t)k * n_warp / n));
    free(place);
    *cost = n ? (double)sum / WARP / n : 0;
    return FE_OK;
}

/* Windows of WINDOW rows in which the GROUP elements from `first` on have nodes. */
enum { GROUP = 16, WINDOW = 32768 };
static int windows_of(const fe_mesh *mesh, const fe_arrangement *a, const int *place, int first)
{
    const int nc = fe_corners(mesh->kind);
    int window[GROUP * FE_MOST_CORNERS], n = 0;
    for (int e = first; e < first + GROUP; ++e)
        for (int c = 0; c < nc; ++c) window[n++] = place[mesh->conn[(size_t)a->elem[e] * nc + c]] / WINDOW;
    return fe_distinct(window, n);
}

/* The mean of windows_of over a sample: so often a gather by node fetches what is stored of elements, if a
 * cache holds what the rows of one window read. */
static fe_status count_windows(const fe_mesh *mesh, const fe_arrangement *a, double *mean)
{
    const int n_group = mesh->n_elem / GROUP, n = n_group < N_SAMPLE ? n_group : N_SAMPLE;
    int *place = NULL, sum = 0;
    FE_TRY(find_places(mesh, a, &place));
#pragma omp parallel for schedule(static) num_threads(omp_get_max_threads()) reduction(+ : sum)
    for (int k = 0; k < n; ++k) sum += windows_of(mesh, a, place, GROUP * (int)((int64_t)k * n_group / n));
    free(place);
    *mean = n ? (double)sum / n : 0;
    return FE_OK;
}

/* An order costs clearly less than another if it costs at most this share. */
static const double clearly = 0.95;

/* What the order of a large box costs, whose rows of cells are runs of nodes: the least of all orders of large
 * meshes that are known. */
static double cost_of_rows(int kind)
{
    switch (kind) {
    case FE_TET4: return 4.7;
    case FE_HEX8: return 16;
    case FE_TET10: return 19.4;
    default: return 80; /* Hex27 */
    }
}

typedef struct candidate {
    fe_arrangement order;
    double cost;
} candidate;

static fe_status open_candidate(const fe_mesh *mesh, fe_order order, candidate *c)
{
    FE_TRY(fe_mesh_arrange(mesh, order, 1, &c->order));
    const fe_status status = fe_order_cost(mesh, &c->order, &c->cost);
    if (status != FE_OK) fe_arrangement_close(&c->order);
    return status;
}

/* Whether an order suits better: it costs clearly less; or, for rows, about as much, and elements are fetched
 * far less often. H100, Hex8, irregular, 3.4 M degrees of freedom: morton fetches them 1.3 times, the mesh's
 * own order 3.4 times, which costs two_phase 1.8 times its time, node_csr 1.2 and element_atomic 1.03. */
static fe_status is_better(const fe_mesh *mesh, int pieces, const candidate *before, const candidate *after,
                           int *better)
{
    static const double far = 0.7;
    double windows[2];
    *better = after->cost < clearly * before->cost;
    if (*better || pieces || clearly * after->cost > before->cost) return FE_OK;
    FE_TRY(count_windows(mesh, &before->order, &windows[0]));
    FE_TRY(count_windows(mesh, &after->order, &windows[1]));
    *better = windows[1] < far * windows[0];
    return FE_OK;
}

/* Replaces the best order by another one if that is better. */
static fe_status try_order(const fe_mesh *mesh, int pieces, fe_order order, candidate *best)
{
    candidate other;
    int better = 0;
    FE_TRY(open_candidate(mesh, order, &other));
    const fe_status status = is_better(mesh, pieces, best, &other, &better);
    const candidate worse = *best;
    if (status == FE_OK && better) *best = other, other = worse;
    fe_arrangement_close(&other.order);
    return status;
}

/* Two orders, unless the mesh's own costs so little that neither can cost clearly less. */
static fe_status try_orders(const fe_mesh *mesh, int pieces, candidate *best)
{
    if (clearly * best->cost <= cost_of_rows(mesh->kind)) return FE_OK;
    FE_TRY(try_order(mesh, pieces, FE_ORDER_MORTON, best));
    return pieces ? FE_OK : try_order(mesh, pieces, FE_ORDER_RCM, best);
}

static fe_status cut_in_pieces(const fe_mesh *mesh, fe_arrangement *a)
{
    const int moved = a->name != fe_order_names[FE_ORDER_AS_IS];
    a->name = moved ? "morton+bisection" : fe_order_names[FE_ORDER_BISECTION];
    a->in_pieces = 1;
    return fe_mesh_order_pieces(mesh, a->elem, a->node);
}

fe_status fe_mesh_arrange_for(const fe_mesh *mesh, int pieces, fe_arrangement *a)
{
    candidate best;
    *a = (fe_arrangement){0};
    FE_TRY(open_candidate(mesh, FE_ORDER_AS_IS, &best));
    fe_status status = try_orders(mesh, pieces, &best);
    if (status == FE_OK && pieces) status = cut_in_pieces(mesh, &best.order);
    if (status != FE_OK) fe_arrangement_close(&best.order);
    *a = best.order;
    return status;
}
