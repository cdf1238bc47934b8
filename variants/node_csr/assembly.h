/* node_csr: one thread computes one row. It visits the elements at its node, sees each of them turned so
 * that the node is corner 0, and sums the forces on that corner in the CSR's order: no atomics, the same
 * bits every time, and every element computed once for each of its corners. Quadratic elements are not
 * turned, and on the device neighbouring threads take one together (spread.h). */
#ifndef NODE_CSR_ASSEMBLY_H
#define NODE_CSR_ASSEMBLY_H

#include "common/physics/element.h"
#include "common/variant.h"

/* For Tet4 on the device. Each row has a team of threads. Entry k of thread t is at slice[t / 32] + 32 k + t
 * % 32, so that a warp reads neighbouring entries; those of a row go round its team. */
enum { NODE_CSR_WARP = 32, NODE_CSR_TEAM = 4 };
typedef struct node_csr_entry {
    int node[3]; /* corners 1 2 3 of the turned element */
    int corner;  /* 8 × element + corner */
} node_csr_entry;
typedef struct node_csr_list {
    const int *row; /* of each team; NULL: the row of its number */
    const int *slice;
    const node_csr_entry *entry;
} node_csr_list;

/* Elastic products have one thread for each row, because threads then wait for loads at the start of a row,
 * more often in a team. Other operations have teams of NODE_CSR_TEAM, whose rows are sorted by length in
 * windows: threads of a team read the same lines of tangents, and a warp waits less for its longest row.
 * Fields are stored by component, because neighbouring rows read neighbouring nodes: this touches a third of
 * the cache lines that rows of three would. */
typedef struct node_csr_lists {
    node_csr_list single, team;
    const fe_number *x;      /* [3][n] */
    fe_number *displacement; /* [3][n] */
    size_t n;
} node_csr_lists;

/* Most corners of a block of Hex8 or Tet10 (fe_visits). */
enum { NODE_CSR_MOST = 1024 };

#ifdef __cplusplus
extern "C"
#endif
    /* *work: Tet4: node_csr_lists for vectors of doubles or floats. Hex8: fe_visits, or NULL. Tet10:
       fe_visits. Other kinds: NULL. */
    fe_status
    node_csr_open(fe_problem *p, int precision, void **work);

/* Elements as a gather looks at their corner: linear ones turned so that it is corner 0, quadratic ones as
 * they are. */
FE_BODY fe_index node_csr_turn(int kind, fe_index corner)
{
    return fe_is_quadratic(kind) ? fe_no_turn() : corner;
}

/* Force on that corner. */
FE_BODY void node_csr_corner(int kind, int op, const fe_view *m, fe_index e, fe_index corner,
                             const fe_number *displacement, fe_real force[3])
{
    fe_index node[FE_MOST_CORNERS];
    fe_real x[FE_MOST_CORNERS][3], f[FE_MOST_CORNERS][3];
    const fe_element element = fe_element_load(kind, m, e, node_csr_turn(kind, corner), node, x);
    fe_element_read(kind, node, displacement, f);
    fe_corner_force(kind, op, m, element, corner, x, f, force);
}

/* Its diagonal block. */
FE_BODY void node_csr_block(int kind, const fe_view *m, fe_index e, fe_index corner, fe_real block[6])
{
    fe_index node[FE_MOST_CORNERS];
    fe_real x[FE_MOST_CORNERS][3];
    const fe_element element = fe_element_load(kind, m, e, node_csr_turn(kind, corner), node, x);
    if (fe_is_quadratic(kind))
        fe_corner_diagonal(kind, m, element, x, corner, block);
    else
        fe_element_diagonal(kind, m, element, x, 0, block);
}

#endif
