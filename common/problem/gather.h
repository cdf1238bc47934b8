/* One block of an assembled matrix on the device, from the elements that two nodes share. */
#ifndef FE_GATHER_H
#define FE_GATHER_H

#include "common/physics/stiffness.h"

/* Entry i of the elements at a node, corner by corner from `first` in the CSR: the element's CSR entry, and
 * its corner b. */
FE_BODY bool fe_has_column(int kind, const fe_view *m, int first, int i, int column, int *corner, int *b)
{
    *corner = m->corner[first + i / fe_corners(kind)], *b = i % fe_corners(kind);
    return m->conn[fe_corner_place(*b, 0, m->ld, *corner >> 3)] == column;
}

/* K[0] += the block of a row's node and a column's node: sums over the elements at the row's node, in the
 * CSR's order. The search runs ahead of the computing, so that the threads of a warp compute together. */
FE_BODY void fe_gather_block(int kind, const fe_view *m, int row, int column, double K[8][9])
{
    const int first = m->corner_first[row], n = (m->corner_first[row + 1] - first) * fe_corners(kind);
    for (int i = 0; i < n; i++) {
        int corner, b;
        bool found = false;
        while (i < n && !(found = fe_has_column(kind, m, first, i, column, &corner, &b))) i++;
        if (!found) return;
        fe_index node[8];
        fe_real x[8][3];
        const fe_element e = fe_element_load(kind, m, corner >> 3, corner & 7, node, x);
#pragma unroll 1
        for (int k = 0; k < fe_planes(kind); k++) fe_add_stiffness(kind, m, e, k, x, b ^ (corner & 7), 1, K);
    }
}

#endif
