/* See curved.h. */
#include "tests/curved.h"
#include "tests/common.h"
#include "tests/scene.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The vertices in whose middle each further node is, -1 behind the last one: Gmsh's order. */
static const int tet10[6][8] = {{0, 1, -1}, {1, 2, -1}, {2, 0, -1}, {0, 3, -1}, {2, 3, -1}, {1, 3, -1}};
static const int hex27[19][8] = {
    {0, 1, -1},       {0, 3, -1},       {0, 4, -1},       {1, 2, -1},       {1, 5, -1},
    {2, 3, -1},       {2, 6, -1},       {3, 7, -1},       {4, 5, -1},       {4, 7, -1},
    {5, 6, -1},       {6, 7, -1},       {0, 3, 2, 1, -1}, {0, 1, 5, 4, -1}, {0, 4, 7, 3, -1},
    {1, 2, 6, 5, -1}, {2, 3, 7, 6, -1}, {4, 5, 6, 7, -1}, {0, 1, 2, 3, 4, 5, 6, 7}};

/* A node between vertices: its vertices in ascending order, -1 behind the last one, and its place in conn. */
typedef struct between {
    int vertex[8];
    size_t at;
} between;

static int compare_vertices(const void *p, const void *q)
{
    const between *a = p, *b = q;
    for (int i = 0; i < 8; i++)
        if (a->vertex[i] != b->vertex[i]) return (a->vertex[i] > b->vertex[i]) - (a->vertex[i] < b->vertex[i]);
    return 0;
}

static between sorted(const int *corner, const int set[8], size_t at)
{
    between found = {.at = at};
    int n = 0;
    for (int i = 0; i < 8; i++) found.vertex[i] = -1;
    for (; n < 8 && set[n] >= 0; n++) {
        int k = n;
        for (; k > 0 && found.vertex[k - 1] > corner[set[n]]; k--) found.vertex[k] = found.vertex[k - 1];
        found.vertex[k] = corner[set[n]];
    }
    return found;
}

static void place_node(fe_mesh *mesh, const between *found)
{
    double *x = mesh->x + 3 * (size_t)mesh->n_node;
    int n = 0;
    while (n < 8 && found->vertex[n] >= 0) n++;
    for (int c = 0; c < 3; c++) {
        for (int k = 0; k < n; k++) x[c] += mesh->x[3 * (size_t)found->vertex[k] + c];
        x[c] /= n;
    }
    mesh->node_tag[mesh->n_node] = mesh->n_node + 1000000;
    mesh->n_node++;
}

void make_quadratic(fe_mesh *mesh)
{
    const int is_tet = fe_is_tet(mesh->kind), kind = is_tet ? FE_TET10 : FE_HEX27, n_old = fe_corners(mesh->kind),
              n_new = fe_corners(kind), n_more = n_new - n_old;
    const size_t n = (size_t)mesh->n_elem * n_more;
    int *conn = zeros((size_t)mesh->n_elem * n_new, sizeof *conn);
    between *all = zeros(n, sizeof *all);
    for (int e = 0; e < mesh->n_elem; e++) {
        const int *corner = mesh->conn + (size_t)e * n_old;
        memcpy(conn + (size_t)e * n_new, corner, (size_t)n_old * sizeof *conn);
        for (int k = 0; k < n_more; k++)
            all[(size_t)e * n_more + k] =
                sorted(corner, is_tet ? tet10[k] : hex27[k], (size_t)e * n_new + n_old + k);
    }
    qsort(all, n, sizeof *all, compare_vertices);
    double *x = zeros(3 * (mesh->n_node + n), sizeof *x);
    int64_t *tag = zeros(mesh->n_node + n, sizeof *tag);
    memcpy(x, mesh->x, 3 * (size_t)mesh->n_node * sizeof *x);
    memcpy(tag, mesh->node_tag, (size_t)mesh->n_node * sizeof *tag);
    free(mesh->x), free(mesh->node_tag), free(mesh->conn);
    mesh->x = x, mesh->node_tag = tag, mesh->conn = conn, mesh->kind = kind;
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || compare_vertices(&all[i - 1], &all[i])) place_node(mesh, &all[i]);
        conn[all[i].at] = mesh->n_node - 1;
    }
    free(all);
    for (int g = 0; g < mesh->n_group; g++) free(mesh->group[g].name), free(mesh->group[g].facet);
    mesh->n_group = 0;
}

int on_side(const fe_mesh *mesh, int node, const double length[3])
{
    const double *x = mesh->x + 3 * (size_t)node;
    int on = 0;
    for (int c = 0; c < 3; c++) on |= fabs(x[c]) < 1e-12 || fabs(x[c] - length[c]) < 1e-12;
    return on;
}

void curve_sides(fe_mesh *mesh, double part, const double length[3])
{
    const int n_corner = fe_corners(mesh->kind), n_vertex = fe_vertices(mesh->kind);
    char *moved = zeros((size_t)mesh->n_node, 1);
    for (int e = 0; e < mesh->n_elem; e++) {
        const int *corner = mesh->conn + (size_t)e * n_corner;
        double size = 0;
        for (int c = 0; c < 3; c++)
            size += pow(mesh->x[3 * (size_t)corner[1] + c] - mesh->x[3 * (size_t)corner[0] + c], 2);
        for (int a = n_vertex; a < n_corner; a++) {
            if (moved[corner[a]]++ || (length && on_side(mesh, corner[a], length))) continue;
            for (int c = 0; c < 3; c++) mesh->x[3 * (size_t)corner[a] + c] += part * sqrt(size) * uniform();
        }
        for (int a = n_vertex; a < n_corner; a++) moved[corner[a]] = 1;
    }
    free(moved);
}
