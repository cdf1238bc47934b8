/* node_csr: one thread computes one row. It visits the elements at its node, sees each of them turned so
 * that the node is corner 0, and sums the forces on that corner in the CSR's order: no atomics, the same
 * bits every time, and every element computed once for each of its corners. */
#ifndef NODE_CSR_ASSEMBLY_H
#define NODE_CSR_ASSEMBLY_H

#include "common/physics/element.h"
#include "common/problem/visits.h"

/* What the device reads: corners by element, and for Tet4 fields by component, because neighbours read
 * neighbouring nodes: this touches fewer cache lines than rows of three. */
typedef struct node_csr {
    fe_visits visits;
    const fe_number *x;      /* [3][n] */
    fe_number *displacement; /* [3][n] */
    size_t n;                /* 0: none */
} node_csr;

#ifdef __cplusplus
extern "C"
#endif
    /* Coordinates by component, for vectors of doubles or floats, and memory for the displacement. */
    fe_status
    node_csr_open_fields(fe_problem *p, int precision, node_csr *w);

/* Force on corner 0 of the turned elements. */
FE_BODY void node_csr_corner(int kind, int op, const fe_view *m, fe_index e, fe_index turn,
                             const fe_number *displacement, fe_real force[3])
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
