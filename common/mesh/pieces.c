/* Compact pieces of elements, by bisection, and nodes in the order of pieces. */
#include "common/base/lower.h"
#include "common/base/sort.h"
#include "common/mesh/bisect.h"
#include "common/mesh/mesh.h"

#include <limits.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* centre [n][3] of elements elem [n]. */
static void find_centres(const fe_mesh *mesh, const int *elem, int n, int threads, double *centre)
{
    const int nc = fe_corners(mesh->kind);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int k = 0; k < n; ++k) {
        double sum[3] = {0};
        for (int a = 0; a < nc; ++a)
            for (int i = 0; i < 3; ++i)
                sum[i] += mesh->x[3 * (size_t)mesh->conn[(size_t)elem[k] * nc + a] + i] / nc;
        memcpy(centre + 3 * (size_t)k, sum, sizeof sum);
    }
}

fe_status fe_mesh_sort_pieces(const fe_mesh *mesh, int n, int *elem)
{
    const int threads = omp_get_max_threads();
    double *centre = NULL;
    int *order = NULL;
    FE_RESERVE(centre, 3 * (size_t)n, "renumbering");
    fe_status status = fe_reserve((size_t)n, sizeof *order, "renumbering", (void **)&order);
    if (status == FE_OK) {
        find_centres(mesh, elem, n, threads, centre);
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int k = 0; k < n; ++k) order[k] = k;
        status = fe_bisect(centre, order, n, fe_piece_elements(mesh->kind), threads);
    }
    if (status == FE_OK) {
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int k = 0; k < n; ++k) order[k] = elem[order[k]];
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int k = 0; k < n; ++k) elem[k] = order[k];
    }
    free(centre), free(order);
    return status;
}

/* The first piece of elements elem [n] that has a node, INT_MAX for nodes without such elements. */
static void find_first_pieces(const fe_mesh *mesh, int n, const int *elem, int threads, int *piece)
{
    const int nc = fe_corners(mesh->kind), most = fe_piece_elements(mesh->kind);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int i = 0; i < mesh->n_node; ++i) piece[i] = INT_MAX;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int k = 0; k < n; ++k)
        for (int a = 0; a < nc; ++a) fe_lower(&piece[mesh->conn[(size_t)elem[k] * nc + a]], k / most);
}

fe_status fe_mesh_sort_nodes(const fe_mesh *mesh, int n_elem, const int *elem, int n_node, int *node)
{
    const int threads = omp_get_max_threads();
    int *piece = NULL;
    uint64_t *word = NULL;
    FE_RESERVE(piece, mesh->n_node, "renumbering");
    fe_status status = fe_reserve((size_t)n_node, sizeof *word, "renumbering", (void **)&word);
    if (status == FE_OK) {
        find_first_pieces(mesh, n_elem, elem, threads, piece);
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int i = 0; i < n_node; ++i) word[i] = fe_word_of((uint32_t)piece[node[i]], node[i]);
        status = fe_sort_words(word, n_node, threads);
    }
    if (status == FE_OK) fe_items_of(word, n_node, threads, node);
    free(piece), free(word);
    return status;
}

fe_status fe_mesh_order_pieces(const fe_mesh *mesh, int *elem_order, int *node_order)
{
    FE_TRY(fe_mesh_sort_pieces(mesh, mesh->n_elem, elem_order));
    return fe_mesh_sort_nodes(mesh, mesh->n_elem, elem_order, mesh->n_node, node_order);
}
