/* Uniform refinement: each Tet4 or Hex8 becomes eight. */
#include "common/mesh/middles.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* --- Tet4 ------------------------------------------------------------------------------------------------
 */

/* Middles 4 … 9 of a tetrahedron. */
static const int tet_edge[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
/* A tetrahedron at each corner; an octahedron is left. */
static const int tet_at_corner[4][4] = {{0, 4, 5, 6}, {4, 1, 7, 8}, {5, 7, 2, 9}, {6, 8, 9, 3}};
/* It is cut along one of its three diagonals: the ends, and the other four nodes around it. */
static const int tet_diagonal[3][6] = {{4, 9, 5, 7, 8, 6}, {5, 8, 6, 9, 7, 4}, {6, 7, 4, 8, 9, 5}};

static double distance(const double *x, const double *y)
{
    double sum = 0;
    for (int i = 0; i < 3; ++i) sum += (x[i] - y[i]) * (x[i] - y[i]);
    return sum;
}

static int shortest_diagonal(const double *x, const int *node)
{
    int best = 0;
    double least = INFINITY;
    for (int d = 0; d < 3; ++d) {
        const double length =
            distance(x + 3 * (size_t)node[tet_diagonal[d][0]], x + 3 * (size_t)node[tet_diagonal[d][1]]);
        if (length < 0.999 * least) least = length, best = d; /* a tie goes to the first */
    }
    return best;
}

/* A random diagonal, unless a node would then have more than FE_MOST_VALENCE elements. valence [node]: with
 * all octahedra cut elsewhere; each diagonal adds two. */
static int random_diagonal(uint64_t random, int *valence, const int *node)
{
    int best = 0, least = INT_MAX;
    for (int k = 0; k < 3; ++k) {
        const int d = (int)((random + (uint64_t)k) % 3), p = valence[node[tet_diagonal[d][0]]],
                  q = valence[node[tet_diagonal[d][1]]], most = p > q ? p : q;
        if (most + 2 > FE_MOST_VALENCE && most >= least) continue;
        best = d, least = most;
        if (most + 2 <= FE_MOST_VALENCE) break;
    }
    valence[node[tet_diagonal[best][0]]] += 2, valence[node[tet_diagonal[best][1]]] += 2;
    return best;
}

static fe_status tet_nodes(const fe_mesh *mesh, fe_middles *m, int e, int node[10])
{
    memcpy(node, mesh->conn + 4 * (size_t)e, 4 * sizeof *node);
    for (int k = 0; k < 6; ++k)
        FE_TRY(fe_middle_make(m, 2, (const int[]){node[tet_edge[k][0]], node[tet_edge[k][1]]}, &node[4 + k]));
    return FE_OK;
}

static void tet_children(const int node[10], int diagonal, int *child)
{
    const int *d = tet_diagonal[diagonal];
    for (int c = 0; c < 4; ++c)
        for (int a = 0; a < 4; ++a) *child++ = node[tet_at_corner[c][a]];
    for (int c = 0; c < 4; ++c) {
        const int corner[4] = {d[0], d[1], d[2 + (c + 1) % 4], d[2 + c]};
        for (int a = 0; a < 4; ++a) *child++ = node[corner[a]];
    }
}

/* --- Hex8 ------------------------------------------------------------------------------------------------
 */

/* Nodes of a grid of 3 × 3 × 3 in a hexahedron: node (i, j, k) is the middle of the corners on which its
 * coordinates 0 and 2 leave a choice. */
static const int hex_corner_at[8] = {0, 1, 3, 2, 4, 5, 7, 6}; /* Gmsh's corner of each binary one */

static fe_status hex_nodes(const fe_mesh *mesh, fe_middles *m, int e, int node[27])
{
    const int *corner = mesh->conn + 8 * (size_t)e;
    for (int g = 0; g < 27; ++g) {
        const int at[3] = {g % 3, g / 3 % 3, g / 9};
        int own[8] = {0}, n = 0;
        for (int b = 0; b < 8; ++b) {
            int meets = 1;
            for (int i = 0; i < 3; ++i) meets &= at[i] == 1 || at[i] == 2 * (b >> i & 1);
            if (meets) own[n++] = corner[hex_corner_at[b]];
        }
        node[g] = own[0];
        if (n > 1) FE_TRY(fe_middle_make(m, n, own, &node[g]));
    }
    return FE_OK;
}

static void hex_children(const int node[27], int *child)
{
    for (int c = 0; c < 8; ++c)
        for (int a = 0; a < 8; ++a) {
            const int b = hex_corner_at[a];
            *child++ =
                node[(c & 1) + (b & 1) + 3 * ((c >> 1 & 1) + (b >> 1 & 1)) + 9 * ((c >> 2) + (b >> 2))];
        }
}

/* --- the whole mesh --------------------------------------------------------------------------------------
 */

/* Own and new nodes of each element: number [n_elem][10 or 27]. */
static fe_status number_nodes(const fe_mesh *mesh, fe_middles *m, int *number)
{
    for (int e = 0; e < mesh->n_elem; ++e)
        FE_TRY(mesh->kind == FE_TET4 ? tet_nodes(mesh, m, e, number + 10 * (size_t)e)
                                     : hex_nodes(mesh, m, e, number + 27 * (size_t)e));
    return FE_OK;
}

/* Elements 8e … 8e + 7 are those of element e. */
static fe_status add_elements(fe_mesh *mesh, uint64_t seed, const int *number)
{
    const int nc = fe_corners(mesh->kind), n_own = nc == 4 ? 10 : 27, n = mesh->n_elem;
    int *conn = NULL, *group = NULL, *valence = NULL;
    int64_t *tag = NULL;
    FE_ALLOCATE(conn, 8 * (size_t)n * nc, "elements");
    free(mesh->conn);
    mesh->conn = conn;
    FE_ALLOCATE(tag, 8 * (size_t)n, "element tags");
    free(mesh->elem_tag);
    mesh->elem_tag = tag;
    FE_ALLOCATE(group, 8 * (size_t)n, "element groups");
    for (size_t e = 0; e < 8 * (size_t)n; ++e) group[e] = mesh->elem_group[e / 8], tag[e] = (int64_t)e + 1;
    free(mesh->elem_group);
    mesh->elem_group = group;
    mesh->n_elem = 8 * n;
    FE_ALLOCATE(valence, mesh->n_node, "refinement");
    for (size_t k = 0; nc == 4 && k < 10 * (size_t)n; ++k)
        valence[number[k]] += k % 10 < 4 ? 1 : 4; /* of a middle: two at the corners, two of the octahedron */
    for (int e = 0; e < n; ++e) {
        const int *own = number + (size_t)n_own * e;
        if (nc == 8)
            hex_children(own, conn + 64 * (size_t)e);
        else
            tet_children(own,
                         seed ? random_diagonal(fe_mix(fe_mix(seed) ^ (uint64_t)e), valence, own)
                              : shortest_diagonal(mesh->x, own),
                         conn + 32 * (size_t)e);
    }
    free(valence);
    return FE_OK;
}

/* Facets: a point stays, a line becomes two, a triangle or a quadrangle four. */
static fe_status refine_facet(const fe_mesh *mesh, const fe_middles *m, const fe_group *group, int f,
                              int *out)
{
    const int *old = group->facet + 4 * (size_t)f;
    int n = 0, middle[5], parent[8];
    while (n < 4 && old[n] >= 0) ++n;
    for (int i = 0; i < 5; ++i) middle[i] = 0;
    for (int i = 0; i < (n > 2 ? n : n - 1) + (n == 4); ++i) {
        if (i < n)
            fe_middle_parents(2, (const int[]){old[i], old[(i + 1) % n]}, parent);
        else
            fe_middle_parents(4, old, parent);
        middle[i] = fe_middle_find(m, parent);
        if (middle[i] < 0)
            return fe_fail(FE_BAD_INPUT, "%s: group \"%s\": facet %d is no side of an element", mesh->path,
                           group->name, f + 1);
    }
    for (int c = 0; c < (n < 3 ? n : 4); ++c, out += 4) {
        const int before = n > 2 ? middle[(c + n - 1) % n] : -1;
        int facet[4] = {old[c % n], middle[c % n], n == 4 ? middle[4] : before, n == 4 ? before : -1};
        if (n == 1) facet[1] = -1;
        if (n == 2) facet[0] = old[c], facet[1] = middle[0];
        if (n == 3 && c == 3) memcpy(facet, middle, 3 * sizeof *facet);
        memcpy(out, facet, sizeof facet);
    }
    return FE_OK;
}

static fe_status refine_group(const fe_mesh *mesh, const fe_middles *m, fe_group *group)
{
    const size_t most = (size_t)group->n_facet * (group->dim == 3 ? 8 : 1 << group->dim);
    int *facet = NULL;
    if (most > INT_MAX)
        return fe_fail(FE_BAD_INPUT, "%s: group \"%s\" would have %zu facets", mesh->path, group->name, most);
    FE_ALLOCATE(facet, most * (group->dim == 3 ? 1 : 4), "facets");
    fe_status status = FE_OK;
    for (int f = 0; f < group->n_facet && status == FE_OK; ++f)
        if (group->dim == 3)
            for (int c = 0; c < 8; ++c) facet[8 * (size_t)f + c] = 8 * group->facet[f] + c;
        else
            status = refine_facet(mesh, m, group, f, facet + ((size_t)f << group->dim) * 4);
    if (status != FE_OK) {
        free(facet);
        return status;
    }
    free(group->facet);
    group->facet = facet, group->n_facet = (int)most;
    return FE_OK;
}

static fe_status refine(fe_mesh *mesh, uint64_t seed, fe_middles *m, int **number)
{
    FE_TRY(fe_middles_open(m, mesh->n_node));
    FE_ALLOCATE(*number, (size_t)mesh->n_elem * (mesh->kind == FE_TET4 ? 10 : 27), "refinement");
    FE_TRY(number_nodes(mesh, m, *number));
    for (int g = 0; g < mesh->n_group; ++g) FE_TRY(refine_group(mesh, m, &mesh->group[g]));
    FE_TRY(fe_middle_nodes(mesh, m));
    return add_elements(mesh, seed, *number);
}

fe_status fe_mesh_refine(fe_mesh *mesh, uint64_t seed)
{
    fe_middles m = {0};
    int *number = NULL;
    if (fe_is_quadratic(mesh->kind))
        return fe_fail(FE_BAD_INPUT,
                       "%s: %s elements are not refined: refine the linear mesh, then meshgen quadratic",
                       mesh->path, fe_kind_name(mesh->kind));
    if (mesh->n_elem > INT_MAX / 8 || mesh->n_node > INT_MAX / 16)
        return fe_fail(FE_BAD_INPUT, "%s: %d elements are too many to make eight of each", mesh->path,
                       mesh->n_elem);
    const fe_status status = refine(mesh, seed, &m, &number);
    fe_middles_close(&m);
    free(number);
    mesh->in_pieces = 0;
    if (status != FE_OK) fe_mesh_close(mesh);
    return status;
}
