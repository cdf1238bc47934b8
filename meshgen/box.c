/* Boxes of Hex8 or Tet4, with named sides and, where wanted, distorted inside. */
#include "common/mesh/lookup.h"
#include "common/mesh/mesh.h"

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
    if (box->kind != FE_HEX8 && box->kind != FE_TET4)
        return fe_fail(FE_BAD_INPUT, "box: element %d is neither hex8 nor tet4", box->kind);
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

/* Cells [first, last) of each axis. */
typedef struct window {
    int first[3], last[3];
} window;

/* Indices are int. */
static fe_status check_window(const fe_box *box, const window *w)
{
    double n_node = 1, n_elem = box->kind == FE_TET4 ? 6 : 1;
    int cells[3];
    for (int i = 0; i < 3; ++i) {
        if (w->first[i] < 0 || w->last[i] <= w->first[i] || w->last[i] > box->cells[i])
            return fe_fail(FE_BAD_INPUT, "box: cells %d to %d are no piece of %d", w->first[i], w->last[i],
                           box->cells[i]);
        cells[i] = w->last[i] - w->first[i];
        n_node *= cells[i] + 1.0, n_elem *= cells[i];
    }
    if (n_node > INT_MAX || n_elem > INT_MAX)
        return fe_fail(FE_BAD_INPUT,
                       "box: %d,%d,%d cells make %.0f nodes and %.0f elements, at most %d of each", cells[0],
                       cells[1], cells[2], n_node, n_elem, INT_MAX);
    return FE_OK;
}

/* Offset of each vertex of a cell from its vertex 0. */
static void vertex_steps(const int cells[3], int step[8])
{
    const int dx = 1, dy = cells[0] + 1, dz = dy * (cells[1] + 1);
    for (int v = 0; v < 8; ++v) step[v] = (v & 1 ? dx : 0) + (v & 2 ? dy : 0) + (v & 4 ? dz : 0);
}

/* Adds a random vector of at most distort cells, evenly spread over that ball. */
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
    for (int i = 0; i < 3; ++i) x[i] += box->distort * r[i] * box->length[i] / box->cells[i];
}

static fe_status make_nodes(const fe_box *box, const window *w, fe_mesh *mesh)
{
    const int *c = box->cells;
    mesh->n_node = 1;
    for (int i = 0; i < 3; ++i) mesh->n_node *= w->last[i] - w->first[i] + 1;
    FE_ALLOCATE(mesh->x, (size_t)mesh->n_node * 3, "coordinates");
    FE_ALLOCATE(mesh->node_tag, mesh->n_node, "node tags");
    size_t n = 0;
    for (int k = w->first[2]; k <= w->last[2]; ++k)
        for (int j = w->first[1]; j <= w->last[1]; ++j)
            for (int i = w->first[0]; i <= w->last[0]; ++i, ++n) {
                const int64_t number = i + (c[0] + 1) * (j + (c[1] + 1) * (int64_t)k);
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
    const int *c = box->cells, is_tet = box->kind == FE_TET4, a_cell = is_tet ? 6 : 1;
    int size[3], step[8];
    for (int i = 0; i < 3; ++i) size[i] = w->last[i] - w->first[i];
    mesh->n_elem = size[0] * size[1] * size[2] * a_cell;
    FE_ALLOCATE(mesh->conn, (size_t)mesh->n_elem * fe_corners(box->kind), "elements");
    FE_ALLOCATE(mesh->elem_tag, mesh->n_elem, "element tags");
    FE_ALLOCATE(mesh->elem_group, mesh->n_elem, "element groups");
    vertex_steps(size, step);
    int *corner = mesh->conn;
    size_t e = 0;
    for (int k = 0; k < size[2]; ++k)
        for (int j = 0; j < size[1]; ++j)
            for (int i = 0; i < size[0]; ++i) {
                const int n = i + (size[0] + 1) * (j + (size[1] + 1) * k);
                const int64_t cell =
                    w->first[0] + i + c[0] * (w->first[1] + j + c[1] * (int64_t)(w->first[2] + k));
                if (is_tet)
                    for (int t = 0; t < 6; ++t)
                        for (int a = 0; a < 4; ++a) *corner++ = n + step[tet_corner[t][a]];
                else
                    for (int a = 0; a < 8; ++a) *corner++ = n + step[hex_corner[a]];
                for (int t = 0; t < a_cell; ++t, ++e) {
                    mesh->elem_tag[e] = a_cell * cell + t + 1;
                    mesh->elem_group[e] = 7;
                }
            }
    return FE_OK;
}

/* The side across `axis` at its start (end = 0) or end; facets point outwards. A quadrangle is cut from its
 * lowest to its highest vertex, as Kuhn's tetrahedra cut it. */
static fe_status make_side(const fe_box *box, int axis, int end, fe_group *group)
{
    const int *c = box->cells;
    const int is_tet = box->kind == FE_TET4;
    const int u = (axis + 1) % 3, v = (axis + 2) % 3; /* u × v points along the axis */
    const int stride[3] = {1, c[0] + 1, (c[0] + 1) * (c[1] + 1)};
    const char name[3] = {"xyz"[axis], end ? '1' : '0', 0};
    const double n_facet = (double)c[u] * c[v] * (is_tet ? 2 : 1);
    if (n_facet > INT_MAX) return fe_fail(FE_BAD_INPUT, "box: side %s has %.0f facets", name, n_facet);
    FE_TRY(fe_group_open(group, name, 2, 2 * axis + end + 1, (size_t)n_facet));
    int *facet = group->facet;
    for (int j = 0; j < c[v]; ++j)
        for (int i = 0; i < c[u]; ++i) {
            const int low = end * c[axis] * stride[axis] + i * stride[u] + j * stride[v];
            const int high = low + stride[u] + stride[v];
            const int right = low + stride[end ? u : v], left = low + stride[end ? v : u];
            const int quad[4] = {low, right, high, left};
            const int triangles[8] = {low, right, high, -1, low, high, left, -1};
            memcpy(facet, is_tet ? triangles : quad, (is_tet ? 8 : 4) * sizeof *facet);
            facet += is_tet ? 8 : 4;
        }
    return FE_OK;
}

static fe_status make_groups(const fe_box *box, fe_mesh *mesh)
{
    FE_ALLOCATE(mesh->group, 7, "groups");
    mesh->n_group = 7;
    for (int side = 0; side < 6; ++side) FE_TRY(make_side(box, side / 2, side % 2, &mesh->group[side]));
    fe_group *body = &mesh->group[6];
    FE_TRY(fe_group_open(body, "body", 3, 7, (size_t)mesh->n_elem));
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
    if (box->distort > SAFE_DISTORT && fe_mesh_check(mesh) != FE_OK) {
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
