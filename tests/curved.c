/* See curved.h. */
#include "tests/curved.h"
#include "tests/common.h"
#include "tests/scene.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
