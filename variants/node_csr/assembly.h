/* node_csr: one thread computes one row. It visits the elements at its node, sees each of them turned so
 * that the node is corner 0, and sums the forces on that corner in the CSR's order: no atomics, the same
 * bits every time, and every element computed once for each of its corners. */
#ifndef NODE_CSR_ASSEMBLY_H
#define NODE_CSR_ASSEMBLY_H

#include "common/physics/element.h"
#include "common/variant.h"

/* Force on corner 0 of the turned elements. */
FE_BODY void node_csr_corner(int kind, int op, const fe_view *m, fe_index e, fe_index turn,
                             const double *displacement, fe_real force[3])
{
    fe_index node[8];
    fe_real x[8][3], f[8][3];
    const fe_element element = fe_element_load(kind, m, e, turn, node, x);
    fe_element_read(kind, node, displacement, f);
    fe_corner_force(kind, op, m, element, x, f, force);
}

/* Diagonal block of corner 0 of the turned elements. */
FE_BODY void node_csr_block(int kind, const fe_view *m, fe_index e, fe_index turn, fe_real block[6])
{
    fe_index node[8];
    fe_real x[8][3];
    const fe_element element = fe_element_load(kind, m, e, turn, node, x);
    fe_element_diagonal(kind, m, element, x, 0, block);
}

#endif
