/* Refusal of meshes that no solver can use, and figures of quality. */
#include "common/mesh/jacobian.h"
#include "common/mesh/lookup.h"
#include "common/mesh/mesh.h"
#include "common/mesh/quadratic.h"

#include <stdlib.h>

#define GAUSS 0.57735026918962576451 /* 1/√3 */

static const char *name_of(const fe_mesh *mesh) { return mesh->path ? mesh->path : "mesh"; }

static void corners_of(const fe_mesh *mesh, const int *corner, double (*x)[3])
{
    for (int a = 0; a < fe_corners(mesh->kind); ++a)
        for (int i = 0; i < 3; ++i) x[a][i] = mesh->x[3 * (size_t)corner[a] + i];
}

static fe_status check_coordinates(const fe_mesh *mesh)
{
    for (size_t k = 0; k < 3 * (size_t)mesh->n_node; ++k)
        if (!isfinite(mesh->x[k]))
            return fe_fail(FE_BAD_INPUT, "%s: node %lld has %c = %g", name_of(mesh),
                           (long long)mesh->node_tag[k / 3], "xyz"[k % 3], mesh -> x[k]);
    return FE_OK;
}

static fe_status check_corners(const fe_mesh *mesh, int e)
{
    const int nc = fe_corners(mesh->kind);
    const int *corner = mesh->conn + (size_t)e * nc;
    for (int a = 0; a < nc; ++a) {
        if (corner[a] < 0 || corner[a] >= mesh->n_node)
            return fe_fail(FE_BAD_INPUT, "%s: element %lld names node index %d of %d", name_of(mesh),
                           (long long)mesh->elem_tag[e], corner[a], mesh->n_node);
        for (int b = 0; b < a; ++b)
            if (corner[a] == corner[b])
                return fe_fail(FE_BAD_INPUT, "%s: element %lld repeats node %lld", name_of(mesh),
                               (long long)mesh->elem_tag[e], (long long)mesh->node_tag[corner[a]]);
    }
    return FE_OK;
}

static double jacobian_at(int kind, const double (*x)[3], int q)
{
    if (fe_is_quadratic(kind)) {
        const fe_quadratic *t = fe_quadratic_of(kind);
        return fe_quadratic_jacobian(t->n_node, x, t->at_point[q]);
    }
    return kind == FE_TET4 ? fe_tet4_jacobian(x) : fe_hex8_point(x, q, GAUSS);
}

int fe_element_orientation(const fe_mesh *mesh, int e, int *point, double *jacobian)
{
    double x[FE_MOST_CORNERS][3];
    int n_positive = 0, n_negative = 0;
    const int n_point = fe_points(mesh->kind);
    corners_of(mesh, mesh->conn + (size_t)e * fe_corners(mesh->kind), x);
    for (int q = 0; q < n_point; ++q) {
        const double j = jacobian_at(mesh->kind, x, q);
        if (j > 0 && isfinite(j)) {
            ++n_positive;
            continue;
        }
        if (n_positive == q) *point = q, *jacobian = j;
        n_negative += j < 0 && isfinite(j);
    }
    return n_positive == n_point ? 1 : n_negative == n_point ? -1 : 0;
}

/* Whether the linear element of the vertices of a quadratic one has positive Jacobians. */
static int has_good_vertices(const fe_mesh *mesh, int e)
{
    const int kind = fe_linear_kind(mesh->kind), *corner = mesh->conn + (size_t)e * fe_corners(mesh->kind);
    const fe_mesh vertices = {.kind = kind, .x = mesh->x, .conn = (int *)corner};
    int point;
    double jacobian;
    return fe_element_orientation(&vertices, 0, &point, &jacobian) == 1;
}

static fe_status check_jacobians(const fe_mesh *mesh)
{
    int first = mesh->n_elem, n_bad = 0, n_inside_out = 0, n_bent = 0, point = 0;
    double jacobian = 0;
#pragma omp parallel for reduction(min : first) reduction(+ : n_bad, n_inside_out, n_bent)
    for (int e = 0; e < mesh->n_elem; ++e) {
        int q;
        double j;
        const int orientation = fe_element_orientation(mesh, e, &q, &j);
        if (orientation == 1) continue;
        if (e < first) first = e;
        ++n_bad;
        n_inside_out += orientation == -1;
        n_bent += orientation == 0 && fe_is_quadratic(mesh->kind) && has_good_vertices(mesh, e);
    }
    if (!n_bad) return FE_OK;
    fe_element_orientation(mesh, first, &point, &jacobian);
    return fe_fail(
        FE_BAD_INPUT,
        "%s: element %lld has Jacobian %g at quadrature point %d: %d of %d elements are inverted%s",
        name_of(mesh), (long long)mesh->elem_tag[first], jacobian, point, n_bad, mesh->n_elem,
        n_inside_out == mesh->n_elem ? ", all: the mesh is mirrored; meshgen turn OLD.msh -o "
                                       "NEW.msh renumbers their corners"
        : n_inside_out == n_bad      ? "; if only their corners are numbered the other way round, "
                                       "meshgen turn OLD.msh -o NEW.msh mends them"
        : n_bent == n_bad ? ": their middle nodes lie too far from the middle of their sides, or are "
                            "not in Gmsh's order; for curved sides, a finer mesh or gmsh's "
                            "Mesh.HighOrderOptimize = 2 helps"
                          : " or flat");
}

static fe_status check_duplicates(const fe_mesh *mesh)
{
    int *first = NULL;
    FE_ALLOCATE(first, mesh->n_elem, "table of elements");
    fe_status status = fe_first_rows(mesh->conn, fe_corners(mesh->kind), mesh->n_elem, first);
    for (int e = 0; status == FE_OK && e < mesh->n_elem; ++e)
        if (first[e] != e)
            status =
                fe_fail(FE_BAD_INPUT, "%s: element %lld has the same nodes as element %lld", name_of(mesh),
                        (long long)mesh->elem_tag[e], (long long)mesh->elem_tag[first[e]]);
    free(first);
    return status;
}

fe_status fe_mesh_check(const fe_mesh *mesh)
{
    if (mesh->n_node < 1 || mesh->n_elem < 1)
        return fe_fail(FE_BAD_INPUT, "%s: %d nodes and %d elements", name_of(mesh), mesh->n_node,
                       mesh->n_elem);
    FE_TRY(check_coordinates(mesh));
    for (int e = 0; e < mesh->n_elem; ++e) FE_TRY(check_corners(mesh, e));
    FE_TRY(check_duplicates(mesh));
    return check_jacobians(mesh);
}

/* Neighbours along the edges of a corner, so that the three edges form a positive triple. */
static const signed char hex_neighbour[8][3] = {{1, 3, 4}, {2, 0, 5}, {3, 1, 6}, {0, 2, 7},
                                                {7, 5, 0}, {4, 6, 1}, {5, 7, 2}, {6, 4, 3}};
static const signed char tet_neighbour[4][3] = {{1, 2, 3}, {2, 0, 3}, {0, 1, 3}, {1, 0, 2}};

static double distance(const double a[3], const double b[3])
{
    const double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    return sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
}

/* The edge from vertex a to b, or its tangent at a where the element is quadratic: the derivative along a
 * reference edge of length 1. */
static void edge_of(int kind, const double (*x)[3], int a, int b, double edge[3])
{
    const int middle = fe_is_quadratic(kind) ? fe_edge_node(kind, a, b) : -1;
    for (int i = 0; i < 3; ++i)
        edge[i] = middle < 0 ? x[b][i] - x[a][i] : 4 * x[middle][i] - 3 * x[a][i] - x[b][i];
}

static double jacobian_at_node(int kind, const double (*x)[3], int a)
{
    if (kind == FE_TET4) return fe_tet4_jacobian(x);
    if (kind == FE_HEX8) return fe_hex8_point(x, a, 1.0);
    const fe_quadratic *t = fe_quadratic_of(kind);
    return fe_quadratic_jacobian(t->n_node, x, t->at_node[a]);
}

/* Jacobians, scaled Jacobians and edges seen from each vertex; Jacobians at the other nodes. */
static void add_shape(fe_quality *q, int kind, const double (*x)[3])
{
    static const double origin[3];
    const int is_tet = fe_is_tet(kind);
    double shortest = INFINITY, longest = 0;
    for (int a = 0; a < fe_corners(kind); ++a) {
        const double jacobian = jacobian_at_node(kind, x, a);
        q->min_jacobian = fmin(q->min_jacobian, jacobian);
        q->max_jacobian = fmax(q->max_jacobian, jacobian);
        if (a >= fe_vertices(kind)) continue;
        const signed char *neighbour = is_tet ? tet_neighbour[a] : hex_neighbour[a];
        double edges = 1;
        for (int k = 0; k < 3; ++k) {
            const double length = distance(x[a], x[neighbour[k]]);
            double edge[3];
            edge_of(kind, x, a, neighbour[k], edge);
            shortest = fmin(shortest, length);
            longest = fmax(longest, length);
            edges *= fe_is_quadratic(kind) ? distance(edge, origin) : length;
        }
        q->min_scaled = fmin(q->min_scaled, jacobian * (is_tet ? M_SQRT2 : 8.0) / edges);
    }
    q->max_aspect = fmax(q->max_aspect, longest / shortest);
}

static double volume_of(int kind, const double (*x)[3])
{
    if (kind == FE_TET4) return fe_tet4_jacobian(x) / 6;
    double volume = 0;
    if (kind == FE_HEX8) {
        for (int q = 0; q < 8; ++q) volume += fe_hex8_point(x, q, GAUSS);
        return volume;
    }
    const fe_quadratic *t = fe_quadratic_of(kind);
    for (int q = 0; q < t->n_volume; ++q)
        volume += t->weight[q] * fe_quadratic_jacobian(t->n_node, x, t->in_volume[q]);
    return volume;
}

/* By parts whose number does not go with that of threads, so that the sum has the same bits. */
double fe_mesh_volume(const fe_mesh *mesh)
{
    enum { N_PART = 256 };
    double part[N_PART], sum = 0;
#pragma omp parallel for schedule(static)
    for (int k = 0; k < N_PART; ++k) {
        const int first = (int)((int64_t)mesh->n_elem * k / N_PART),
                  end = (int)((int64_t)mesh->n_elem * (k + 1) / N_PART);
        double x[FE_MOST_CORNERS][3], volume = 0;
        for (int e = first; e < end; ++e) {
            corners_of(mesh, mesh->conn + (size_t)e * fe_corners(mesh->kind), x);
            volume += volume_of(mesh->kind, x);
        }
        part[k] = volume;
    }
    for (int k = 0; k < N_PART; ++k) sum += part[k];
    return sum;
}

fe_status fe_mesh_quality(const fe_mesh *mesh, fe_quality *quality)
{
    const int nc = fe_corners(mesh->kind);
    fe_quality q = {.min_jacobian = INFINITY, .max_jacobian = -INFINITY, .min_scaled = INFINITY};
    q.volume = fe_mesh_volume(mesh);
    int *valence = NULL;
    FE_ALLOCATE(valence, mesh->n_node, "valence of nodes");
    for (int e = 0; e < mesh->n_elem; ++e) {
        const int *corner = mesh->conn + (size_t)e * nc;
        double x[FE_MOST_CORNERS][3];
        corners_of(mesh, corner, x);
        add_shape(&q, mesh->kind, x);
        int low = corner[0], high = corner[0];
        for (int a = 0; a < nc; ++a) {
            if (corner[a] < low) low = corner[a];
            if (corner[a] > high) high = corner[a];
            if (++valence[corner[a]] > q.max_valence) q.max_valence = valence[corner[a]];
        }
        if (high - low > q.bandwidth) q.bandwidth = high - low;
        q.mean_bandwidth += high - low;
    }
    if (mesh->n_elem > 0) q.mean_bandwidth /= mesh->n_elem;
    q.min_valence = q.max_valence;
    for (int i = 0; i < mesh->n_node; ++i)
        if (valence[i] < q.min_valence) q.min_valence = valence[i];
    free(valence);
    *quality = q;
    return FE_OK;
}
