/* Boxes of hexahedra or tetrahedra, with named sides and, where wanted, distorted inside. The grid of nodes
 * is that of the cells, or twice as fine where elements are quadratic. */
#include "common/mesh/lookup.h"
#include "common/mesh/mesh.h"
#include "common/mesh/quadratic.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Vertices of the reference cell by bits x = 1, y = 2, z = 4, in the order of Hex8's corners. */
static const int hex_corner[8] = {0, 1, 3, 2, 4, 5, 7, 6};

/* Kuhn's six tetrahedra: paths along the axes from vertex 0 to vertex 7, with the middle two swapped where
 * the path is an odd permutation, so that all are positive. */
static const int tet_corner[6][4] = {{0, 1, 3, 7}, {0, 5, 1, 7}, {0, 3, 2, 7},
                                     {0, 2, 6, 7}, {0, 4, 5, 7}, {0, 6, 4, 7}};

/* Each displacement is at most d cells long, so an edge of a cell changes by 2d and the Jacobian matrix of a
 * unit cell stays within 2√3 d (Frobenius) of the identity: positive for d < 1/(2√3). */
#define SAFE_DISTORT 0.288

static fe_status check_box(const fe_box *box)
{
    static const char axis[] = "xyz";
    if (box->kind != FE_HEX8 && box->kind != FE_TET4 && !fe_is_quadratic(box->kind))
        return fe_fail(FE_BAD_INPUT, "box: element %d is neither hex8 nor tet4, tet10 or hex27", box->kind);
    double cell = 1;
    for (int i = 0; i < 3; ++i) {
        if (box->cells[i] < 1)
            return fe_fail(FE_BAD_INPUT, "box: %d cells in %c, at least 1 is needed", box->cells[i], axis[i]);
        if (!(box->length[i] > 0) || !isfinite(box->length[i]))
            return fe_fail(FE_BAD_INPUT, "box: length %g in %c is not positive", box->length[i], axis[i]);
        cell *= box->length[i] / box->cells[i];
    }
    if (!(cell > 0 && isfinite(cell)))
        return fe_fail(FE_BAD_INPUT, "box: lengths %g,%g,%g make cells of volume %g", box->length[0],
                       box->length[1], box->length[2], cell);
    if (!(box->distort >= 0 && box->distort < 0.5))
        return fe_fail(FE_BAD_INPUT, "box: distort %g is outside [0, 0.5)", box->distort);
    return FE_OK;
}

/* Distances between nodes along a cell. */
static int steps_of(const fe_box *box) { return fe_is_quadratic(box->kind) ? 2 : 1; }

/* Cells [first, last) of each axis. */
typedef struct window {
    int first[3], last[3];
} window;

/* Indices are int. */
static fe_status check_window(const fe_box *box, const window *w)
{
    double n_node = 1, n_elem = fe_is_tet(box->kind) ? 6 : 1;
    int cells[3];
    for (int i = 0; i < 3; ++i) {
        if (w->first[i] < 0 || w->last[i] <= w->first[i] || w->last[i] > box->cells[i])
            return fe_fail(FE_BAD_INPUT, "box: cells %d to %d are no piece of %d", w->first[i], w->last[i],
                           box->cells[i]);
        cells[i] = w->last[i] - w->first[i];
        n_node *= steps_of(box) * (double)cells[i] + 1.0, n_elem *= cells[i];
    }
    if (n_node > INT_MAX || n_elem > INT_MAX)
        return fe_fail(FE_BAD_INPUT,
                       "box: %d,%d,%d cells make %.0f nodes and %.0f elements, at most %d of each", cells[0],
                       cells[1], cells[2], n_node, n_elem, INT_MAX);
    return FE_OK;
}

/* Offset of each node of the elements in a cell from the cell's first node; n_step [3] steps of the grid. */
static void node_offsets(int kind, const int n_step[3], int offset[6][FE_MOST_CORNERS])
{
    const int stride[3] = {1, n_step[0] + 1, (n_step[0] + 1) * (n_step[1] + 1)};
    const int long_side = fe_is_quadratic(kind) ? 2 : 1;
    for (int t = 0; t < (fe_is_tet(kind) ? 6 : 1); ++t)
        for (int a = 0; a < fe_corners(kind); ++a) {
            int vertex[8];
            const int n = fe_node_vertices(kind, a, vertex);
            offset[t][a] = 0;
            for (int i = 0; i < 3; ++i) {
                int sum = 0;
                for (int v = 0; v < n; ++v)
                    sum += (fe_is_tet(kind) ? tet_corner[t][vertex[v]] : hex_corner[vertex[v]]) >> i & 1;
                offset[t][a] += long_side * sum / n * stride[i];
            }
        }
}

/* Adds a random vector of at most distort distances between nodes, evenly spread over that ball. */
static void move_node(const fe_box *box, uint64_t node, double x[3])
{
    double r[3];
    uint64_t state = fe_mix(box->seed) ^ fe_mix(node + 1);
    do {
        for (int i = 0; i < 3; ++i) {
            state = fe_mix(state);
            r[i] = 0x1p-52 * (double)(state >> 11) - 1.0;
        }
    } while (r[0] * r[0] + r[1] * r[1] + r[2] * r[2] > 1.0);
    for (int i = 0; i < 3; ++i)
        x[i] += box->distort * r[i] * box->length[i] / (steps_of(box) * box->cells[i]);
}

static fe_status make_nodes(const fe_box *box, const window *w, fe_mesh *mesh)
{
    const int s = steps_of(box), c[3] = {s * box->cells[0], s * box->cells[1], s * box->cells[2]};
    mesh->n_node = 1;
    for (int i = 0; i < 3; ++i) mesh->n_node *= s * (w->last[i] - w->first[i]) + 1;
    FE_ALLOCATE(mesh->x, (size_t)mesh->n_node * 3, "coordinates");
    FE_ALLOCATE(mesh->node_tag, mesh->n_node, "node tags");
    size_t n = 0;
    for (int k = s * w->first[2]; k <= s * w->last[2]; ++k)
        for (int j = s * w->first[1]; j <= s * w->last[1]; ++j)
            for (int i = s * w->first[0]; i <= s * w->last[0]; ++i, ++n) {
                const int64_t number = i + (c[0] + (int64_t)1) * (j + (c[1] + (int64_t)1) * k);
                double *x = mesh->x + 3 * n;
                x[0] = box->length[0] * ((double)i / c[0]);
                x[1] = box->length[1] * ((double)j / c[1]);
                x[2] = box->length[2] * ((double)k / c[2]);
                const int inside = i > 0 && i < c[0] && j > 0 && j < c[1] && k > 0 && k < c[2];
                if (inside && box->distort > 0) move_node(box, (uint64_t)number, x);
                mesh->node_tag[n] = number + 1;
            }
    return FE_OK;
}

static fe_status make_elements(const fe_box *box, const window *w, fe_mesh *mesh)
{
    const int *c = box->cells, s = steps_of(box), a_cell = fe_is_tet(box->kind) ? 6 : 1;
    int size[3], n_step[3], offset[6][FE_MOST_CORNERS];
    for (int i = 0; i < 3; ++i) size[i] = w->last[i] - w->first[i], n_step[i] = s * size[i];
    mesh->n_elem = size[0] * size[1] * size[2] * a_cell;
    FE_ALLOCATE(mesh->conn, (size_t)mesh->n_elem * fe_corners(box->kind), "elements");
    FE_ALLOCATE(mesh->elem_tag, mesh->n_elem, "element tags");
    FE_ALLOCATE(mesh->elem_group, mesh->n_elem, "element groups");
    node_offsets(box->kind, n_step, offset);
    int *corner = mesh->conn;
    size_t e = 0;
    for (int k = 0; k < size[2]; ++k)
        for (int j = 0; j < size[1]; ++j)
            for (int i = 0; i < size[0]; ++i) {
                const int n = s * (i + (n_step[0] + 1) * (j + (n_step[1] + 1) * k));
                const int64_t cell =
                    w->first[0] + i + c[0] * (w->first[1] + j + c[1] * (int64_t)(w->first[2] + k));
                for (int t = 0; t < a_cell; ++t, ++e) {
                    for (int a = 0; a < fe_corners(box->kind); ++a) *corner++ = n + offset[t][a];
                    mesh->elem_tag[e] = a_cell * cell + t + 1;
                    mesh->elem_group[e] = 7;
                }
            }
    return FE_OK;
}

/* A facet of n vertices: the middles of its sides and its own, if its elements have these, lie halfway
 * between vertices in the grid's numbers, too. */
static int *put_facet(int kind, const int *vertex, int n, int *facet)
{
    int count = 0;
    for (int a = 0; a < n; ++a) facet[count++] = vertex[a];
    for (int a = 0; fe_is_quadratic(kind) && a < n; ++a)
        facet[count++] = (vertex[a] + vertex[(a + 1) % n]) / 2;
    if (kind == FE_HEX27) facet[count++] = (vertex[0] + vertex[2]) / 2;
    while (count < fe_facet_width(kind)) facet[count++] = -1;
    return facet + count;
}

/* The side across `axis` at its start (end = 0) or end; facets point outwards. A quadrangle is cut from its
 * lowest to its highest vertex, as Kuhn's tetrahedra cut it. */
static fe_status make_side(const fe_box *box, int axis, int end, fe_group *group)
{
    const int *c = box->cells;
    const int is_tet = fe_is_tet(box->kind), s = steps_of(box), kind = box->kind;
    const int u = (axis + 1) % 3, v = (axis + 2) % 3; /* u × v points along the axis */
    const int stride[3] = {s, s * (s * c[0] + 1), s * (s * c[0] + 1) * (s * c[1] + 1)}; /* between vertices */
    const char name[3] = {"xyz"[axis], end ? '1' : '0', 0};
    const double n_facet = (double)c[u] * c[v] * (is_tet ? 2 : 1);
    if (n_facet > INT_MAX) return fe_fail(FE_BAD_INPUT, "box: side %s has %.0f facets", name, n_facet);
    FE_TRY(fe_group_open(group, name, kind, 2, 2 * axis + end + 1, (size_t)n_facet));
    int *facet = group->facet;
    for (int j = 0; j < c[v]; ++j)
        for (int i = 0; i < c[u]; ++i) {
            const int low = end * c[axis] * stride[axis] + i * stride[u] + j * stride[v];
            const int high = low + stride[u] + stride[v];
            const int right = low + stride[end ? u : v], left = low + stride[end ? v : u];
            facet = put_facet(kind, (const int[]){low, right, high, left}, is_tet ? 3 : 4, facet);
            if (is_tet) facet = put_facet(kind, (const int[]){low, high, left}, 3, facet);
        }
    return FE_OK;
}

static fe_status make_groups(const fe_box *box, fe_mesh *mesh)
{
    FE_ALLOCATE(mesh->group, 7, "groups");
    mesh->n_group = 7;
    for (int side = 0; side < 6; ++side) FE_TRY(make_side(box, side / 2, side % 2, &mesh->group[side]));
    fe_group *body = &mesh->group[6];
    FE_TRY(fe_group_open(body, "body", box->kind, 3, 7, (size_t)mesh->n_elem));
    for (int e = 0; e < mesh->n_elem; ++e) body->facet[e] = e;
    return FE_OK;
}

static fe_status make_window(const fe_box *box, const window *w, fe_mesh *mesh)
{
    FE_TRY(check_window(box, w));
    mesh->kind = box->kind;
    FE_ALLOCATE(mesh->path, 4, "name");
    strcpy(mesh->path, "box");
    FE_TRY(make_nodes(box, w, mesh));
    return make_elements(box, w, mesh);
}

static fe_status make_box(const fe_box *box, fe_mesh *mesh)
{
    FE_TRY(make_window(box, &(window){{0}, {box->cells[0], box->cells[1], box->cells[2]}}, mesh));
    FE_TRY(make_groups(box, mesh));
    if (box->distort > (fe_is_quadratic(box->kind) ? 0 : SAFE_DISTORT) && fe_mesh_check(mesh) != FE_OK) {
        char why[512];
        snprintf(why, sizeof why, "%s", fe_message());
        return fe_fail(FE_BAD_INPUT, "box: distort %g is too large: %s", box->distort, why);
    }
    return FE_OK;
}

fe_status fe_mesh_box(const fe_box *box, fe_mesh *mesh)
{
    *mesh = (fe_mesh){0};
    FE_TRY(check_box(box));
    const fe_status status = make_box(box, mesh);
    if (status != FE_OK) fe_mesh_close(mesh);
    return status;
}

fe_status fe_mesh_box_piece(const fe_box *box, const int first[3], const int last[3], fe_mesh *mesh)
{
    const window w = {{first[0], first[1], first[2]}, {last[0], last[1], last[2]}};
    *mesh = (fe_mesh){0};
    FE_TRY(check_box(box));
    const fe_status status = make_window(box, &w, mesh);
    if (status != FE_OK) fe_mesh_close(mesh);
    return status;
}
