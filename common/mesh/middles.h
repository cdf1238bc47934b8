/* Nodes in the middle of edges, faces and elements, as refinement and elements of second order need them.
 * Private to the code of meshes. */
#ifndef FE_MIDDLES_H
#define FE_MIDDLES_H

#include "common/mesh/mesh.h"

/* New nodes lie in the middle of an edge, a face or a Hex8 and are known by the nodes of it, their parents,
 * in ascending order, -1 behind the last. Those whose lowest parent is the same node form a chain. */
typedef struct fe_middles {
    int n_old, n, capacity;
    int *first;       /* [n_old] first of the chain, -1: empty */
    int *next;        /* [capacity] */
    int (*parent)[8]; /* [capacity] */
} fe_middles;

/* Of a mesh whose nodes become the parents; closing accepts a zeroed one. */
fe_status fe_middles_open(fe_middles *m, int n_node);
void fe_middles_close(fe_middles *m);

/* The nodes in ascending order, as a list of parents. */
void fe_middle_parents(int n, const int *node, int parent[8]);

/* Number of the node in the middle of these parents, -1 where there is none. */
int fe_middle_find(const fe_middles *m, const int parent[8]);

/* The same of n nodes; the node is made where it is not there yet. */
fe_status fe_middle_make(fe_middles *m, int n, const int *node, int *number);

/* Adds all of them to the mesh, behind its nodes. */
fe_status fe_middle_nodes(fe_mesh *mesh, const fe_middles *m);

#endif
