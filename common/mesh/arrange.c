/* The order that suits a strategy, by what its gathers would read. */
#include "common/mesh/mesh.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { WARP = 32, N_SAMPLE = 2048, NODE_BYTES = 24, SECTOR = 32, LINE = 128, LINE_WEIGHT = 11 };

/* Different numbers among n, at most half of MOST, by a hash table. */
static int distinct(const int *number, int n)
{
    enum { MOST = 1 << 12 };
    const int bits = n <= 512 ? 10 : 12, n_place = 1 << bits;
    int table[MOST], count = 0;
    memset(table, -1, (size_t)n_place * sizeof *table);
    for (int i = 0; i < n; ++i) {
        unsigned at = (unsigned)number[i] * 2654435769u >> (32 - bits);
        while (table[at] >= 0 && table[at] != number[i]) at = (at + 1) % n_place;
        count += table[at] < 0;
        table[at] = number[i];
    }
    return count;
}

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
        n_sector += distinct(sector, n);
    }
    return n_sector + LINE_WEIGHT * distinct(line, n_line);
}

fe_status fe_order_cost(const fe_mesh *mesh, const fe_arrangement *a, double *cost)
{
    const int n_warp = mesh->n_elem / WARP, n = n_warp < N_SAMPLE ? n_warp : N_SAMPLE;
    const int threads = omp_get_max_threads();
    int *place = NULL, sum = 0;
    FE_RESERVE(place, mesh->n_node, "renumbering");
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int i = 0; i < mesh->n_node; ++i) place[a->node[i]] = i;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : sum)
    for (int k = 0; k < n; ++k) sum += warp_cost(mesh, a, place, WARP * (int)((int64_t)k * n_warp / n));
    free(place);
    *cost = n ? (double)sum / WARP / n : 0;
    return FE_OK;
}

/* In how many windows of WINDOW rows a group of GROUP elements has nodes, in the mean over a sample: so often
 * a gather by node fetches what is stored of elements, if a cache holds what the rows of one window read. */
static fe_status count_windows(const fe_mesh *mesh, const fe_arrangement *a, double *mean)
{
    enum { GROUP = 16, WINDOW = 32768 };
    const int nc = fe_corners(mesh->kind), n_group = mesh->n_elem / GROUP,
              n = n_group < N_SAMPLE ? n_group : N_SAMPLE;
    int *place = NULL, sum = 0;
    FE_RESERVE(place, mesh->n_node, "renumbering");
    for (int i = 0; i < mesh->n_node; ++i) place[a->node[i]] = i;
    for (int k = 0; k < n; ++k) {
        const int first = GROUP * (int)((int64_t)k * n_group / n);
        int window[GROUP * FE_MOST_CORNERS], count = 0;
        for (int e = first; e < first + GROUP; ++e)
            for (int c = 0; c < nc; ++c)
                window[count++] = place[mesh->conn[(size_t)a->elem[e] * nc + c]] / WINDOW;
        sum += distinct(window, count);
    }
    free(place);
    *mean = n ? (double)sum / n : 0;
    return FE_OK;
}

/* Whether an order suits better: it costs clearly less; or, for rows, about as much, and elements are fetched
 * far less often. H100, Hex8, irregular, 3.4 M degrees of freedom: morton fetches them 1.3 times, the mesh's
 * own order 3.4 times, which costs two_phase 1.8 times its time, node_csr 1.2 and element_atomic 1.03. */
static fe_status is_better(const fe_mesh *mesh, int pieces, const fe_arrangement *before,
                           const fe_arrangement *after, int *better)
{
    static const double clearly = 0.95, far = 0.7;
    double cost[2], windows[2];
    FE_TRY(fe_order_cost(mesh, before, &cost[0]));
    FE_TRY(fe_order_cost(mesh, after, &cost[1]));
    *better = cost[1] < clearly * cost[0];
    if (*better || pieces || clearly * cost[1] > cost[0]) return FE_OK;
    FE_TRY(count_windows(mesh, before, &windows[0]));
    FE_TRY(count_windows(mesh, after, &windows[1]));
    *better = windows[1] < far * windows[0];
    return FE_OK;
}

/* Replaces the arrangement by another order if that is better. */
static fe_status try_order(const fe_mesh *mesh, int pieces, fe_order order, fe_arrangement *best)
{
    fe_arrangement other;
    int better = 0;
    FE_TRY(fe_mesh_arrange(mesh, order, 1, &other));
    const fe_status status = is_better(mesh, pieces, best, &other, &better);
    const fe_arrangement worse = *best;
    if (status == FE_OK && better) *best = other, other = worse;
    fe_arrangement_close(&other);
    return status;
}

static fe_status arrange_for(const fe_mesh *mesh, int pieces, fe_arrangement *a)
{
    FE_TRY(try_order(mesh, pieces, FE_ORDER_MORTON, a));
    if (!pieces) return try_order(mesh, pieces, FE_ORDER_RCM, a);
    const int moved = a->name != fe_order_names[FE_ORDER_AS_IS];
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
