/* Faces of elements, and elements that are numbered inside out: all of a mirrored mesh, or some of one from a
 * program that does not mind. */
#include "common/mesh/lookup.h"
#include "common/mesh/mesh.h"
#include "common/mesh/quadratic.h"

#include <limits.h>
#include <stdlib.h>

/* Corners of each face of an element, counterclockwise seen from outside; -1 where a face has three. */
static const signed char tet4_face[4][4] = {{0, 2, 1, -1}, {0, 1, 3, -1}, {1, 2, 3, -1}, {0, 3, 2, -1}};
static const signed char hex8_face[6][4] = {{0, 3, 2, 1}, {4, 5, 6, 7}, {0, 1, 5, 4},
                                            {2, 3, 7, 6}, {0, 4, 7, 3}, {1, 2, 6, 5}};

/* Of Hex27, the node in the middle of each of these faces. */
static const signed char hex27_middle[6] = {20, 25, 21, 24, 22, 23};

int fe_element_face(const fe_mesh *mesh, int e, int f, int node[FE_MOST_FACE])
{
    const int kind = mesh->kind, n_vertex = fe_is_tet(kind) ? 3 : 4, width = fe_facet_width(kind);
    const int *corner = mesh->conn + (size_t)e * fe_corners(kind);
    const signed char *vertex = n_vertex == 3 ? tet4_face[f] : hex8_face[f];
    int n = 0;
    for (int a = 0; a < n_vertex; ++a) node[n++] = corner[vertex[a]];
    for (int a = 0; fe_is_quadratic(kind) && a < n_vertex; ++a)
        node[n++] = corner[fe_edge_node(kind, vertex[a], vertex[(a + 1) % n_vertex])];
    if (kind == FE_HEX27) node[n++] = corner[hex27_middle[f]];
    for (int a = n; a < width; ++a) node[a] = -1;
    return n;
}

/* Exchanges two corners of a tetrahedron, bottom and top of a hexahedron. */
static void turn(int kind, int *corner)
{
    static const signed char tet[3][2] = {{2, 3}, {5, 9}, {6, 7}},
                             hex[9][2] = {{0, 4},  {1, 5},   {2, 6},   {3, 7},  {8, 16},
                                          {9, 17}, {11, 18}, {13, 19}, {20, 25}};
    const int n = kind == FE_TET10 ? 3 : fe_is_tet(kind) ? 1 : kind == FE_HEX27 ? 9 : 4;
    for (int k = 0; k < n; ++k) {
        const signed char *pair = fe_is_tet(kind) ? tet[k] : hex[k];
        const int old = corner[pair[0]];
        corner[pair[0]] = corner[pair[1]];
        corner[pair[1]] = old;
    }
}

/* Whether two elements see the n nodes of a face in the same order: then both lie on the same side of it. */
static int same_order(const int *p, const int *q, int n)
{
    int a = 0;
    while (a < n && q[a] != p[0]) ++a;
    return a < n && q[(a + 1) % n] == p[1];
}

static fe_status check_sides(const fe_mesh *mesh, const int *face, const int *first, int n_row)
{
    const int n_face = fe_faces(mesh->kind), n = n_face == 4 ? 3 : 4, width = fe_facet_width(mesh->kind);
    for (int r = 0; r < n_row; ++r)
        if (first[r] < r && same_order(face + width * (size_t)first[r], face + width * (size_t)r, n))
            return fe_fail(FE_BAD_INPUT,
                           "%s: elements %lld and %lld lie on the same side of a common face, however their "
                           "corners are numbered: the mesh is folded",
                           mesh->path ? mesh->path : "mesh", (long long)mesh->elem_tag[first[r] / n_face],
                           (long long)mesh->elem_tag[r / n_face]);
    return FE_OK;
}

static fe_status check_folds(const fe_mesh *mesh)
{
    const int n_face = fe_faces(mesh->kind), width = fe_facet_width(mesh->kind);
    if (mesh->n_elem > INT_MAX / n_face)
        return fe_fail(FE_BAD_INPUT, "%s: faces of %d elements are more than an index of 32 bits holds",
                       mesh->path ? mesh->path : "mesh", mesh->n_elem);
    const int n_row = mesh->n_elem * n_face;
    int *face = NULL, *first = NULL;
    FE_ALLOCATE(face, (size_t)width * (size_t)n_row, "faces");
    fe_status status = fe_allocate((size_t)n_row, sizeof *first, "faces", (void **)&first);
    for (int r = 0; status == FE_OK && r < n_row; ++r)
        fe_element_face(mesh, r / n_face, r % n_face, face + (size_t)width * (size_t)r);
    if (status == FE_OK) status = fe_first_rows(face, width, n_row, first);
    if (status == FE_OK) status = check_sides(mesh, face, first, n_row);
    free(face);
    free(first);
    return status;
}

fe_status fe_mesh_turn(fe_mesh *mesh, int *n_turned)
{
    *n_turned = 0;
    for (int e = 0; e < mesh->n_elem; ++e) {
        int point;
        double jacobian;
        if (fe_element_orientation(mesh, e, &point, &jacobian) != -1) continue;
        turn(mesh->kind, mesh->conn + (size_t)e * fe_corners(mesh->kind));
        ++*n_turned;
    }
    return *n_turned ? check_folds(mesh) : FE_OK;
}
