/* Faces of elements, and elements that are numbered inside out: all of a mirrored mesh, or some of one from a
 * program that does not mind. */
#include "common/mesh/lookup.h"
#include "common/mesh/mesh.h"

#include <limits.h>
#include <stdlib.h>

/* Corners of each face of an element, counterclockwise seen from outside; -1 where a face has three. */
static const signed char tet4_face[4][4] = {{0, 2, 1, -1}, {0, 1, 3, -1}, {1, 2, 3, -1}, {0, 3, 2, -1}};
static const signed char hex8_face[6][4] = {{0, 3, 2, 1}, {4, 5, 6, 7}, {0, 1, 5, 4},
                                            {2, 3, 7, 6}, {0, 4, 7, 3}, {1, 2, 6, 5}};

int fe_element_face(const fe_mesh *mesh, int e, int f, int node[4])
{
    const int n_corner = fe_corners(mesh->kind);
    const signed char *corner = n_corner == 4 ? tet4_face[f] : hex8_face[f];
    for (int a = 0; a < 4; ++a) node[a] = corner[a] < 0 ? -1 : mesh->conn[(size_t)e * n_corner + corner[a]];
    return n_corner == 4 ? 3 : 4;
}

/* Exchanges two corners of a Tet4, bottom and top of a Hex8. */
static void turn(int kind, int *corner)
{
    const int n = fe_corners(kind), a = n == 4 ? 2 : 0, distance = n == 4 ? 1 : 4;
    for (int k = a; k < a + distance; ++k) {
        const int old = corner[k];
        corner[k] = corner[k + distance];
        corner[k + distance] = old;
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
    const int n_face = fe_faces(mesh->kind), n = n_face == 4 ? 3 : 4;
    for (int r = 0; r < n_row; ++r)
        if (first[r] < r && same_order(face + 4 * (size_t)first[r], face + 4 * (size_t)r, n))
            return fe_fail(FE_BAD_INPUT,
                           "%s: elements %lld and %lld lie on the same side of a common face, however their "
                           "corners are numbered: the mesh is folded",
                           mesh->path ? mesh->path : "mesh", (long long)mesh->elem_tag[first[r] / n_face],
                           (long long)mesh->elem_tag[r / n_face]);
    return FE_OK;
}

static fe_status check_folds(const fe_mesh *mesh)
{
    const int n_face = fe_faces(mesh->kind);
    if (mesh->n_elem > INT_MAX / n_face)
        return fe_fail(FE_BAD_INPUT, "%s: faces of %d elements are more than an index of 32 bits holds",
                       mesh->path ? mesh->path : "mesh", mesh->n_elem);
    const int n_row = mesh->n_elem * n_face;
    int *face = NULL, *first = NULL;
    FE_ALLOCATE(face, 4 * (size_t)n_row, "faces");
    fe_status status = fe_allocate((size_t)n_row, sizeof *first, "faces", (void **)&first);
    for (int r = 0; status == FE_OK && r < n_row; ++r)
        fe_element_face(mesh, r / n_face, r % n_face, face + 4 * (size_t)r);
    if (status == FE_OK) status = fe_first_rows(face, 4, n_row, first);
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
