/* node_csr: one thread computes one row. It visits the elements at its node, sees each of them turned so
 * that the node is corner 0, and sums the forces on that corner in the CSR's order: no atomics, the same
 * bits every time, and every element computed once for each of its corners. */
#ifndef NODE_CSR_ASSEMBLY_H
#define NODE_CSR_ASSEMBLY_H

#include "common/physics/element.h"
#include "common/variant.h"

/* Tet4 on the device. Teams of threads share rows, which are sorted by length (fe_rows_by_length). Entry k of
 * thread t is at slice[t / 32] + 32 k + t % 32, so that a warp reads neighbouring entries. Fields are stored
 * by component, because neighbouring rows read neighbouring nodes: this touches a third of the cache lines
 * that rows of three would. */
enum { NODE_CSR_WARP = 32 };
typedef struct node_csr_entry {
    int node[3]; /* corners 1 2 3 of the turned element */
    int corner;  /* 8 × element + corner */
} node_csr_entry;
typedef struct node_csr_fields {
    const fe_number *x;      /* [3][n] */
    fe_number *displacement; /* [3][n] */
    size_t n;
} node_csr_fields;
typedef struct node_csr_lists {
    node_csr_fields by; /* component */
    int team;           /* threads of a row */
    const int *row;     /* [n_node_interior] */
    const int *slice;
    const node_csr_entry *entry;
} node_csr_lists;

/* Hex8 on the device. A warp has some rows that follow each other, with at most NODE_CSR_VISITS corners. Its
 * threads take these corners by element, not by row, so that no thread waits for a longer row, and neighbours
 * read the same element. Then each row sums its own. */
enum { NODE_CSR_VISITS = 1024 };
typedef struct node_csr_visits {
    node_csr_fields by; /* component */
    int unit, comp, cap;
    const int *first;       /* [n_warp + 1] first row of each warp */
    const int *corner;      /* the view's, sorted in each warp */
    const uint16_t *own;    /* where they were before, counted from the warp's first one */
    int n_interior, n_warp; /* warps of the interior, and all of them */
} node_csr_visits;

#ifdef __cplusplus
extern "C"
#endif
    /* *work: Tet4: node_csr_lists for vectors of doubles or floats. Hex8: node_csr_visits, or NULL where a
     * row is too long. Other kinds: NULL. */
    fe_status
    node_csr_open(fe_problem *p, int precision, void **work);

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
