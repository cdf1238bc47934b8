/* Renumbering of nodes and elements: by coordinates, along the mesh's graph, along a curve, at random. */
#include "common/base/sort.h"
#include "common/mesh/lookup.h"
#include "common/mesh/mesh.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

const char *const fe_order_names[FE_N_ORDER + 1] = {"as-is",     "lexicographic", "rcm", "morton",
                                                    "bisection", "random",        "auto"};

/* --- applying a numbering --------------------------------------------------------------------------------
 */

/* In place: entry i of `size` bytes becomes what entry order[i] was. */
static fe_status permute(void *array, const int *order, int n, size_t size)
{
    const int threads = omp_get_max_threads();
    char *copy = NULL, *at = array;
    FE_TRY(fe_reserve((size_t)n, size, "renumbering", (void **)&copy));
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int i = 0; i < n; ++i) memcpy(copy + (size_t)i * size, at + (size_t)order[i] * size, size);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int i = 0; i < n; ++i) memcpy(at + (size_t)i * size, copy + (size_t)i * size, size);
    free(copy);
    return FE_OK;
}

static fe_status inverse_of(const int *order, int n, int **inverse)
{
    FE_RESERVE(*inverse, n, "renumbering");
#pragma omp parallel for schedule(static) num_threads(omp_get_max_threads())
    for (int i = 0; i < n; ++i) (*inverse)[order[i]] = i;
    return FE_OK;
}

/* node_order[i] is the node that becomes node i. */
static fe_status renumber_nodes(fe_mesh *mesh, const int *node_order)
{
    int *number = NULL;
    FE_TRY(permute(mesh->x, node_order, mesh->n_node, 3 * sizeof *mesh->x));
    FE_TRY(permute(mesh->node_tag, node_order, mesh->n_node, sizeof *mesh->node_tag));
    FE_TRY(inverse_of(node_order, mesh->n_node, &number));
    const size_t n_corner = (size_t)mesh->n_elem * fe_corners(mesh->kind);
#pragma omp parallel for schedule(static) num_threads(omp_get_max_threads())
    for (size_t k = 0; k < n_corner; ++k) mesh->conn[k] = number[mesh->conn[k]];
    for (int g = 0; g < mesh->n_group; ++g) {
        int *facet = mesh->group[g].facet;
        const size_t n = (size_t)fe_facet_width(mesh->kind) * (size_t)mesh->group[g].n_facet;
        for (size_t k = 0; mesh->group[g].dim < 3 && k < n; ++k)
            if (facet[k] >= 0) facet[k] = number[facet[k]];
    }
    free(number);
    return FE_OK;
}

static fe_status renumber_elements(fe_mesh *mesh, const int *elem_order)
{
    int *number = NULL;
    FE_TRY(
        permute(mesh->conn, elem_order, mesh->n_elem, (size_t)fe_corners(mesh->kind) * sizeof *mesh->conn));
    FE_TRY(permute(mesh->elem_tag, elem_order, mesh->n_elem, sizeof *mesh->elem_tag));
    FE_TRY(permute(mesh->elem_group, elem_order, mesh->n_elem, sizeof *mesh->elem_group));
    FE_TRY(inverse_of(elem_order, mesh->n_elem, &number));
    for (int g = 0; g < mesh->n_group; ++g) {
        fe_group *group = &mesh->group[g];
        if (group->dim != 3) continue;
        for (int f = 0; f < group->n_facet; ++f) group->facet[f] = number[group->facet[f]];
        if (group->n_facet > 0) qsort(group->facet, (size_t)group->n_facet, sizeof(int), fe_compare_ints);
    }
    free(number);
    return FE_OK;
}

/* Elements by their lowest node in the order of nodes, those of one node in the order they had. */
static fe_status elements_after_nodes(const fe_mesh *mesh, const int *node_order, int *elem_order)
{
    const int nc = fe_corners(mesh->kind), threads = omp_get_max_threads();
    uint64_t *word = NULL;
    int *number = NULL;
    FE_RESERVE(word, mesh->n_elem, "renumbering");
    fe_status status = inverse_of(node_order, mesh->n_node, &number);
    if (status == FE_OK) {
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int e = 0; e < mesh->n_elem; ++e) {
            const int *corner = mesh->conn + (size_t)e * nc;
            int lowest = number[corner[0]];
            for (int a = 1; a < nc; ++a)
                if (number[corner[a]] < lowest) lowest = number[corner[a]];
            word[e] = fe_word_of((uint32_t)lowest, e);
        }
        status = fe_sort_words(word, mesh->n_elem, threads);
    }
    if (status == FE_OK) fe_items_of(word, mesh->n_elem, threads, elem_order);
    free(word), free(number);
    return status;
}

/* --- orders of nodes --------------------------------------------------------------------------------------
 */

/* Fisher-Yates. */
static void shuffle(int *order, int n, uint64_t seed)
{
    uint64_t state = fe_mix(seed);
    for (int i = n - 1; i > 0; --i) {
        state = fe_mix(state);
        const int j = (int)(((unsigned __int128)state * (unsigned)(i + 1)) >> 64);
        const int t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
}

static int compare_coordinates(const void *p, const void *q, void *coordinates)
{
    const int a = *(const int *)p, b = *(const int *)q;
    const double *x = (const double *)coordinates + 3 * (size_t)a,
                 *y = (const double *)coordinates + 3 * (size_t)b;
    for (int i = 2; i >= 0; --i)
        if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
    return (a > b) - (a < b);
}

/* The 21 low bits of v, three places apart. */
static uint64_t spread_bits(uint64_t v)
{
    v &= 0x1fffff;
    v = (v | v << 32) & 0x001f00000000ffff;
    v = (v | v << 16) & 0x001f0000ff0000ff;
    v = (v | v << 8) & 0x100f00f00f00f00f;
    v = (v | v << 4) & 0x10c30c30c30c30c3;
    return (v | v << 2) & 0x1249249249249249;
}

static void morton_keys(const fe_mesh *mesh, uint64_t *key)
{
    const int n_node = mesh->n_node, threads = omp_get_max_threads();
    double low[3], size = 0;
    for (int i = 0; i < 3; ++i) {
        double least = INFINITY, most = -INFINITY;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(min : least) reduction(max : most)
        for (int n = 0; n < n_node; ++n) {
            least = fmin(least, mesh->x[3 * (size_t)n + i]);
            most = fmax(most, mesh->x[3 * (size_t)n + i]);
        }
        low[i] = least;
        size = fmax(size, most - least);
    }
    const double scale = size > 0 ? 0x1fffff / size : 0;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int n = 0; n < n_node; ++n) {
        const double *x = mesh->x + 3 * (size_t)n;
        key[n] = 0;
        for (int i = 0; i < 3; ++i) key[n] |= spread_bits((uint64_t)((x[i] - low[i]) * scale)) << i;
    }
}

/* Morton's curve over the mesh's bounding cube, 21 bits an axis; nodes with the same key by number. The lower
 * halves of the keys are sorted first. */
static fe_status sort_along_curve(const fe_mesh *mesh, uint64_t *key, uint64_t *word)
{
    const int n_node = mesh->n_node, threads = omp_get_max_threads();
    morton_keys(mesh, key);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int n = 0; n < n_node; ++n) word[n] = fe_word_of((uint32_t)key[n], n);
    FE_TRY(fe_sort_words(word, n_node, threads));
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int i = 0; i < n_node; ++i)
        word[i] = fe_word_of((uint32_t)(key[fe_item_of(word[i])] >> 32), fe_item_of(word[i]));
    return fe_sort_words(word, n_node, threads);
}

static fe_status morton_order(const fe_mesh *mesh, int *order)
{
    uint64_t *key = NULL, *word = NULL;
    FE_RESERVE(key, mesh->n_node, "Morton keys");
    fe_status status = fe_reserve((size_t)mesh->n_node, sizeof *word, "Morton keys", (void **)&word);
    if (status == FE_OK) status = sort_along_curve(mesh, key, word);
    if (status == FE_OK) fe_items_of(word, mesh->n_node, omp_get_max_threads(), order);
    free(key), free(word);
    return status;
}

/* --- all orders ------------------------------------------------------------------------------------------
 */

static fe_status find_order(const fe_mesh *mesh, fe_order order, uint64_t seed, int *node_order)
{
    switch (order) {
    case FE_ORDER_LEXICOGRAPHIC:
        qsort_r(node_order, (size_t)mesh->n_node, sizeof *node_order, compare_coordinates, mesh->x);
        return FE_OK;
    case FE_ORDER_RCM: return fe_mesh_order_levels(mesh, node_order);
    case FE_ORDER_MORTON: return morton_order(mesh, node_order);
    case FE_ORDER_RANDOM: shuffle(node_order, mesh->n_node, seed); return FE_OK;
    default: return FE_OK; /* as-is */
    }
}

static fe_status find_orders(const fe_mesh *mesh, fe_order order, uint64_t seed, int *node_order,
                             int *elem_order)
{
#pragma omp parallel for schedule(static) num_threads(omp_get_max_threads())
    for (int i = 0; i < mesh->n_node; ++i) node_order[i] = i;
#pragma omp parallel for schedule(static) num_threads(omp_get_max_threads())
    for (int e = 0; e < mesh->n_elem; ++e) elem_order[e] = e;
    if (order == FE_ORDER_AS_IS) return FE_OK;
    if (order == FE_ORDER_BISECTION) return fe_mesh_order_pieces(mesh, elem_order, node_order);
    FE_TRY(find_order(mesh, order, seed, node_order));
    if (order != FE_ORDER_RANDOM) return elements_after_nodes(mesh, node_order, elem_order);
    shuffle(elem_order, mesh->n_elem, ~seed);
    return FE_OK;
}

fe_status fe_mesh_arrange(const fe_mesh *mesh, fe_order order, uint64_t seed, fe_arrangement *a)
{
    *a = (fe_arrangement){0};
    if ((int)order < 0 || order >= FE_N_ORDER)
        return fe_fail(FE_BAD_INPUT, "order %d is not one of 0..%d", (int)order, FE_N_ORDER - 1);
    *a = (fe_arrangement){.name = fe_order_names[order], .in_pieces = order == FE_ORDER_BISECTION};
    fe_status status = fe_reserve((size_t)mesh->n_node, sizeof(int), "renumbering", (void **)&a->node);
    if (status == FE_OK)
        status = fe_reserve((size_t)mesh->n_elem, sizeof(int), "renumbering", (void **)&a->elem);
    if (status == FE_OK) status = find_orders(mesh, order, seed, a->node, a->elem);
    if (status != FE_OK) fe_arrangement_close(a);
    return status;
}

void fe_arrangement_close(fe_arrangement *a)
{
    free(a->node), free(a->elem);
    *a = (fe_arrangement){0};
}

fe_status fe_mesh_reorder(fe_mesh *mesh, fe_order order, uint64_t seed)
{
    if (order == FE_ORDER_AS_IS) return FE_OK;
    fe_arrangement a;
    FE_TRY(fe_mesh_arrange(mesh, order, seed, &a));
    fe_status status = renumber_nodes(mesh, a.node);
    if (status == FE_OK) status = renumber_elements(mesh, a.elem);
    mesh->in_pieces = order == FE_ORDER_BISECTION;
    fe_arrangement_close(&a);
    return status;
}
