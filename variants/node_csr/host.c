/* node_csr on the host: one corner of the CSR per SIMD lane, so that lanes stay full for nodes of any
 * valence; each thread owns blocks of rows and adds the lanes to them in the CSR's order. */
#include "common/problem/loops.h"
#include "common/problem/rows.h"
#include "variants/node_csr/assembly.h"

/* y rows [first, last) += forces on their corners. */
FE_BODY void rows_forces(int kind, int op, const fe_view *m, int first, int last,
                         const fe_number *displacement, fe_number *y)
{
    const int end = m->corner_first[last];
    for (int at = m->corner_first[first], row = first; at < end; at += FE_LANES) {
        const fe_corners_at c = fe_open_corners(kind, m, at, end, &row);
        fe_real force[3];
        node_csr_corner(kind, op, m, c.e, c.corner, displacement, force);
        fe_add3(y, c.row, c.active, 0, force);
    }
}

FE_BODY void rows_diagonal(int kind, const fe_view *m, int first, int last, fe_number *d)
{
    const int end = m->corner_first[last];
    for (int at = m->corner_first[first], row = first; at < end; at += FE_LANES) {
        const fe_corners_at c = fe_open_corners(kind, m, at, end, &row);
        fe_real block[6];
        node_csr_block(kind, m, c.e, c.corner, block);
        fe_add_blocks(d, &c, block);
    }
}

#define FORCES(KIND, OP)                                                                                     \
    FE_PARALLEL_FOR (i, first, last, FE_ROW_BLOCK, threads)                                                  \
    rows_forces(KIND, OP, m, i, fe_row_block_end(i, last), displacement, y)
FE_HOST_FORCES(fe_part_nodes, FORCES)
#undef FORCES

#define DIAGONAL(KIND)                                                                                       \
    FE_PARALLEL_FOR (i, first, last, FE_ROW_BLOCK, threads)                                                  \
    rows_diagonal(KIND, m, i, fe_row_block_end(i, last), d)
FE_HOST_DIAGONAL(n_owned, DIAGONAL)
#undef DIAGONAL

FE_TABLE(node_csr_host, .residual = residual, .material = fe_material_host, .jacvec = jacvec,
         .diagonal = diagonal)
