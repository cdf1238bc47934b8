/* element_atomic: one thread computes one element and adds its corner forces to the nodes with atomics. */
#ifndef ELEMENT_ATOMIC_ASSEMBLY_H
#define ELEMENT_ATOMIC_ASSEMBLY_H

#include "common/physics/element.h"

/* y[node] += corner forces of the elements e, for the first `active` lanes. */
FE_BODY void element_atomic_forces(int kind, int op, const fe_view *m, fe_index e, int active, int contended,
                                   const fe_number *displacement, fe_number *y)
{
    fe_index node[FE_MOST_CORNERS];
    fe_real x[FE_MOST_CORNERS][3], f[FE_MOST_CORNERS][3], force[FE_MOST_CORNERS][3];
    const fe_element element = fe_element_load(kind, m, e, fe_no_turn(), node, x);
    fe_element_read(kind, node, displacement, f);
    fe_element_forces(kind, op, m, element, x, f, force);
    FE_UNROLL_FOR (int b = 0; b < fe_corners(kind); b++) fe_add3(y, node[b], active, contended, force[b]);
}

/* d[node] += diagonal blocks of the elements e. */
FE_BODY void element_atomic_diagonal(int kind, const fe_view *m, fe_index e, int active, int contended,
                                     fe_number *d)
{
    fe_index node[FE_MOST_CORNERS];
    fe_real x[FE_MOST_CORNERS][3], block[6], rows[3][3];
    const fe_element element = fe_element_load(kind, m, e, fe_no_turn(), node, x);
    FE_UNROLL_LARGE_FOR (int b = 0; b < fe_corners(kind); b++) {
        fe_element_diagonal(kind, m, element, x, b, block);
        fe_block_rows(block, rows);
        FE_UNROLL_FOR (int i = 0; i < 3; i++) fe_add3(d, fe_times3(node[b], i), active, contended, rows[i]);
    }
}

#endif
