/* Boxes to benchmark on: how many cells they have, and the piece that a rank holds. */
#ifndef BENCH_BOX_H
#define BENCH_BOX_H

#include "common/mesh/mesh.h"
#include "common/problem/share.h"
#include "common/variant.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bench_box {
    int kind, n_dof; /* n_dof: approximate: the nearest cube of cells is taken */
    fe_order order;
    double plastic; /* share of elements */
    int scatter;    /* 0: clustered */
    const fe_backend *backend;
    int threads;
    int grid[3]; /* ranks along the axes; 0: one */
    int weak; /* 1: n_dof is that of each rank's cube, and the cubes are placed side by side; 0: that of the
                 whole box */
} bench_box;

/* Cells along each axis of the box with about n_dof degrees of freedom, and its exact number. */
int bench_box_cells(int n_dof);
int64_t bench_box_dofs(int cells);

/* Cells and degrees of freedom of the whole box, of all ranks. */
void bench_box_shape(const bench_box *box, int cells[3], int64_t *n_dof);

/* Makes the piece of the box around a rank's nodes, and the owners of all nodes of the piece. No rank makes
 * the whole box. */
fe_status bench_box_piece(const bench_box *b, int rank, fe_mesh *mesh, fe_partition *p);

#ifdef __cplusplus
}
#endif
#endif
