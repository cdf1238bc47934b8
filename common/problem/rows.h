/* Gathering rows on the host: one corner of the CSR per lane, so that lanes stay full for nodes of any
 * valence. A thread owns blocks of rows and adds the lanes to them in the CSR's order. */
#ifndef FE_ROWS_H
#define FE_ROWS_H

#include "common/physics/element.h"

/* 1500 corners of Tet4: so many that the partly filled lanes at the end do not count. */
enum { FE_ROW_BLOCK = 64 };

/* Corners at, at + 1, … of the CSR: element, corner in it, row; `active` of them, the last one repeated. */
typedef struct fe_corners_at {
    fe_index e, corner, row;
    int active;
} fe_corners_at;

/* *row: the row of corner `at` or one before it; it is advanced. */
FE_BODY fe_corners_at fe_open_corners(int kind, const fe_view *m, int at, int end, int *row)
{
    fe_corners_at c = {.active = end - at < FE_LANES ? end - at : FE_LANES};
    for (int l = 0; l < FE_LANES; l++) {
        const int k = at + (l < c.active ? l : c.active - 1);
        while (k >= m->corner_first[*row + 1]) ++*row;
        c.e.lane[l] = fe_code_element(kind, m->corner[k]);
        c.corner.lane[l] = fe_code_corner(kind, m->corner[k]), c.row.lane[l] = *row;
    }
    return c;
}

/* d [row][3][3] += symmetric blocks xx yy zz xy yz xz of the corners. */
FE_BODY void fe_add_blocks(fe_number *d, const fe_corners_at *c, const fe_real block[6])
{
    fe_real rows[3][3];
    fe_block_rows(block, rows);
    for (int l = 0; l < c->active; l++)
        for (int i = 0; i < 9; i++) d[9 * (size_t)c->row.lane[l] + i] += rows[i / 3][i % 3][l];
}

/* Last row + 1 of the block that starts at row i. */
FE_BODY int fe_row_block_end(int i, int last) { return i + FE_ROW_BLOCK < last ? i + FE_ROW_BLOCK : last; }

#endif
