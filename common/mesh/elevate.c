/* Quadratic elements of linear ones: Tet4 becomes Tet10, Hex8 becomes Hex27, with straight sides. */
#include "common/mesh/middles.h"
#include "common/mesh/quadratic.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static fe_status add_middles(fe_mesh *mesh, int kind, fe_middles *m)
{
    const int n_vertex = fe_vertices(kind), n_node = fe_corners(kind);
    int *conn = NULL;
    FE_ALLOCATE(conn, (size_t)mesh->n_elem * n_node, "elements");
    fe_status status = FE_OK;
    for (int e = 0; e < mesh->n_elem && status == FE_OK; ++e) {
        const int *vertex = mesh->conn + (size_t)e * n_vertex;
        int *node = conn + (size_t)e * n_node;
        memcpy(node, vertex, (size_t)n_vertex * sizeof *node);
        for (int a = n_vertex; a < n_node && status == FE_OK; ++a) {
            int own[8];
            const int n = fe_node_vertices(kind, a, own);
            for (int i = 0; i < n; ++i) own[i] = vertex[own[i]];
            status = fe_middle_make(m, n, own, &node[a]);
        }
    }
    free(mesh->conn);
    mesh->conn = conn;
    return status;
}

/* Middles of the sides of a facet, and of a quadrangle itself, behind its vertices, as Gmsh has them. */
static fe_status elevate_facet(const fe_mesh *mesh, const fe_middles *m, const fe_group *group, int f,
                               int width, int *node)
{
    const int *old = group->facet + 4 * (size_t)f;
    int n = 0, parent[8];
    for (int a = 0; a < width; ++a) node[a] = -1;
    for (; n < 4 && old[n] >= 0; ++n) node[n] = old[n];
    const int n_edge = n > 2 ? n : n - 1;
    for (int i = 0; i < n_edge + (n == 4); ++i) {
        if (i < n_edge)
            fe_middle_parents(2, (const int[]){old[i], old[(i + 1) % n]}, parent);
        else
            fe_middle_parents(4, old, parent);
        node[n + i] = fe_middle_find(m, parent);
        if (node[n + i] < 0)
            return fe_fail(FE_BAD_INPUT, "%s: group \"%s\": facet %d is no side of an element", mesh->path,
                           group->name, f + 1);
    }
    return FE_OK;
}

static fe_status elevate_group(const fe_mesh *mesh, const fe_middles *m, int kind, fe_group *group)
{
    const int width = fe_facet_width(kind);
    int *facet = NULL;
    if (group->dim == 3) return FE_OK;
    FE_ALLOCATE(facet, (size_t)group->n_facet * width, "facets");
    fe_status status = FE_OK;
    for (int f = 0; f < group->n_facet && status == FE_OK; ++f)
        status = elevate_facet(mesh, m, group, f, width, facet + (size_t)f * width);
    free(group->facet);
    group->facet = facet;
    return status;
}

static fe_status elevate(fe_mesh *mesh, int kind, fe_middles *m)
{
    FE_TRY(fe_middles_open(m, mesh->n_node));
    FE_TRY(add_middles(mesh, kind, m));
    for (int g = 0; g < mesh->n_group; ++g) FE_TRY(elevate_group(mesh, m, kind, &mesh->group[g]));
    mesh->kind = kind;
    return fe_middle_nodes(mesh, m);
}

fe_status fe_mesh_elevate(fe_mesh *mesh)
{
    fe_middles m = {0};
    fe_status status;
    if (mesh->kind != FE_TET4 && mesh->kind != FE_HEX8)
        status = fe_fail(FE_BAD_INPUT, "%s: its elements are %s already, not tet4 or hex8",
                         mesh->path ? mesh->path : "mesh", fe_kind_name(mesh->kind));
    else if (mesh->n_elem > INT_MAX / 27 || mesh->n_node > INT_MAX / 16)
        status = fe_fail(FE_BAD_INPUT, "%s: %d elements are too many to become quadratic",
                         mesh->path ? mesh->path : "mesh", mesh->n_elem);
    else
        status = elevate(mesh, mesh->kind == FE_TET4 ? FE_TET10 : FE_HEX27, &m);
    fe_middles_close(&m);
    if (status != FE_OK) fe_mesh_close(mesh);
    return status;
}
