/* Nodes and shape functions of Tet10 and Hex27 in Gmsh's order (reference manual, "Node ordering"). */
#ifndef FE_QUADRATIC_H
#define FE_QUADRATIC_H

#include "common/base/fe.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The local node in the middle of the edge between vertices p and q, -1 where they have none. */
int fe_edge_node(int kind, int p, int q);

/* The vertices in whose middle local node a of a straight element lies: a vertex itself, two of an edge, four
 * of a face, eight. Returns their number. */
int fe_node_vertices(int kind, int a, int vertex[8]);

/* Reference coordinates of local node a: Tet10 over [0, 1], Hex27 over [-1, 1]. */
void fe_quadratic_place(int kind, int a, double at[3]);

/* Shape functions [n_node], and their gradients by the reference coordinates. */
void fe_quadratic_shapes(int kind, const double at[3], double *shape);
void fe_quadratic_gradients(int kind, const double at[3], double (*gradient)[3]);

/* Gradients where Jacobians are looked at, and exact weights of the volume: Σ weight · Jacobian. Tet10 has
 * the four points of its rule and, for the volume alone, the five of Keast's rule of degree 3. */
typedef struct fe_quadratic {
    int n_node, n_point, n_volume;
    double at_point[27][27][3]; /* [point][node]: the rule of the kind */
    double at_node[27][27][3];
    double in_volume[27][27][3], weight[27];
} fe_quadratic;
const fe_quadratic *fe_quadratic_of(int kind);

/* Gauss's rule with `side` points along each axis, at most FE_MOST_SIDE, over a line of 3 nodes, a side of 6
 * or 9 or an element of 10 or 27: exact to degree 2 side - 1 in each coordinate, or in all together, 2 side -
 * 2 on triangles and 2 side - 3 on tetrahedra, where the rule of the square or cube is collapsed. Gradients
 * of lines and sides are by their first one or two reference coordinates. */
enum { FE_MOST_SIDE = 5 };
typedef struct fe_side_rule {
    int n_node, side, n_point; /* 0: not made yet */
    double weight[125], shape[125][27], gradient[125][27][3];
} fe_side_rule;
void fe_side_rule_make(int n_node, int side, fe_side_rule *r);
/* A rule over a side of 6 or 9 whose points are its nodes: exact to degree 2, or 3 in each coordinate. The
 * vertices of a triangle weigh nothing, its other nodes a third each; a square has Simpson's rule. */
void fe_side_nodes_make(int n_node, fe_side_rule *r);

/* det of dx/dξ, by n_node gradients. */
double fe_quadratic_jacobian(int n_node, const double (*x)[3], const double (*gradient)[3]);

#ifdef __cplusplus
}
#endif
#endif
