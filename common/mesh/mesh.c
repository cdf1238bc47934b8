/* The mesh's own housekeeping: release, groups and their node sets, node→element lists, connected parts. */
#include "common/mesh/mesh.h"
#include "common/base/alike.h"
#include "common/base/hash.h"
#include "common/mesh/incidence.h"

#include <limits.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

void fe_mesh_close(fe_mesh *mesh)
{
    for (int g = 0; mesh->group && g < mesh->n_group; ++g) {
        free(mesh->group[g].name);
        free(mesh->group[g].facet);
    }
    free(mesh->group);
    free(mesh->path);
    free(mesh->x);
    free(mesh->node_tag);
    free(mesh->conn);
    free(mesh->elem_tag);
    free(mesh->elem_group);
    *mesh = (fe_mesh){0};
}

uint64_t fe_mesh_hash(const fe_mesh *mesh)
{
    const size_t n_node = (size_t)mesh->n_node, n_elem = (size_t)mesh->n_elem;
    fe_hash h = {0};
    const int head[] = {mesh->kind, mesh->n_node, mesh->n_elem, mesh->n_group};
    fe_hash_add(&h, sizeof head, head);
    fe_hash_add(&h, 3 * n_node * sizeof *mesh->x, mesh->x);
    fe_hash_add(&h, n_node * sizeof *mesh->node_tag, mesh->node_tag);
    fe_hash_add(&h, n_elem * (size_t)fe_corners(mesh->kind) * sizeof *mesh->conn, mesh->conn);
    fe_hash_add(&h, n_elem * sizeof *mesh->elem_tag, mesh->elem_tag);
    fe_hash_add(&h, n_elem * sizeof *mesh->elem_group, mesh->elem_group);
    for (int g = 0; g < mesh->n_group; ++g) {
        const fe_group *group = &mesh->group[g];
        const int counts[] = {group->dim, group->number, group->n_facet};
        fe_hash_add(&h, sizeof counts, counts);
        fe_hash_add(&h, strlen(group->name) + 1, group->name);
        fe_hash_add(&h,
                    (size_t)group->n_facet * (size_t)(group->dim == 3 ? 1 : fe_facet_width(mesh->kind)) *
                        sizeof *group->facet,
                    group->facet);
    }
    return fe_hash_value(&h);
}

fe_status fe_group_open(fe_group *group, const char *name, int kind, int dim, int number, size_t n_facet)
{
    *group = (fe_group){.dim = dim, .number = number};
    FE_ALLOCATE(group->name, strlen(name) + 1, "group name");
    strcpy(group->name, name);
    FE_ALLOCATE(group->facet, n_facet * (size_t)(dim == 3 ? 1 : fe_facet_width(kind)), "facets");
    group->n_facet = (int)n_facet;
    return FE_OK;
}

const fe_group *fe_mesh_group(const fe_mesh *mesh, const char *name)
{
    const fe_group *found = NULL;
    for (int g = 0; g < mesh->n_group; ++g) {
        const fe_group *group = &mesh->group[g];
        if (strcmp(group->name, name) != 0) continue;
        const int better = !found || (group->dim < 3 && (found->dim == 3 || group->dim > found->dim));
        if (better) found = group;
    }
    return found;
}

const char *fe_mesh_alike(const fe_mesh *mesh, const char *name)
{
    const char *found = NULL;
    for (int g = 0; g < mesh->n_group && !found; ++g) found = fe_alike(name, mesh->group[g].name);
    return found ? found : "";
}

fe_status fe_group_nodes(const fe_mesh *mesh, const fe_group *group, int *n, int **node)
{
    const int nc = fe_corners(mesh->kind), width = fe_facet_width(mesh->kind);
    char *used = NULL;
    *n = 0;
    *node = NULL;
    FE_ALLOCATE(used, mesh->n_node, "marks of nodes");
    for (int f = 0; f < group->n_facet; ++f) {
        const int *corner =
            group->dim == 3 ? mesh->conn + (size_t)group->facet[f] * nc : group->facet + (size_t)f * width;
        for (int a = 0; a < (group->dim == 3 ? nc : width); ++a)
            if (corner[a] >= 0) used[corner[a]] = 1;
    }
    int count = 0;
    for (int i = 0; i < mesh->n_node; ++i) count += used[i];
    const fe_status status = fe_allocate((size_t)count, sizeof **node, "nodes of a group", (void **)node);
    for (int i = 0; status == FE_OK && i < mesh->n_node; ++i)
        if (used[i]) (*node)[(*n)++] = i;
    free(used);
    return status;
}

fe_status fe_mesh_node_elements(const fe_mesh *mesh, int **first, int **elem)
{
    const int nc = fe_corners(mesh->kind);
    const size_t n_entry = (size_t)mesh->n_elem * nc;
    *first = *elem = NULL;
    if (n_entry > INT_MAX)
        return fe_fail(FE_BAD_INPUT, "%s: %d elements of %d corners are more than an index of 32 bits holds",
                       mesh->path ? mesh->path : "mesh", mesh->n_elem, nc);
    const fe_corners_of of = {mesh->conn, mesh->n_node, mesh->n_elem, nc, (size_t)nc, 1, 0};
    return fe_list_corners(&of, omp_get_max_threads(), "elements at nodes", first, elem);
}

/* Root of a node in the union-find forest, halving the path on the way. */
static int root_of(int *parent, int i)
{
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
}

fe_status fe_mesh_components(const fe_mesh *mesh, int *n_part, int **part)
{
    const int nc = fe_corners(mesh->kind);
    int *parent = NULL;
    *n_part = 0;
    *part = NULL;
    FE_ALLOCATE(parent, mesh->n_node, "parts of the mesh");
    for (int i = 0; i < mesh->n_node; ++i) parent[i] = i;
    for (int e = 0; e < mesh->n_elem; ++e) {
        const int *corner = mesh->conn + (size_t)e * nc;
        for (int a = 1; a < nc; ++a) {
            const int p = root_of(parent, corner[0]), q = root_of(parent, corner[a]);
            if (p < q)
                parent[q] = p;
            else
                parent[p] = q;
        }
    }
    /* A root is the lowest node of its part, so its number is known when the others are reached. */
    for (int i = 0; i < mesh->n_node; ++i) {
        const int root = parent[i];
        parent[i] = root == i ? (*n_part)++ : parent[root];
    }
    *part = parent;
    return FE_OK;
}
