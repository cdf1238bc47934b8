/* Meshes of quadratic elements for tests: the nodes of edges, faces and centres are added to linear ones. */
#ifndef CURVED_H
#define CURVED_H

#include "common/mesh/mesh.h"

/* Makes the elements of a mesh of Tet4 or Hex8 quadratic: each new node stands at the mean of its vertices, and
 * comes behind the others. Groups are dropped. */
void make_quadratic(fe_mesh *mesh);
/* Moves the nodes that are no vertices at random, by up to this part of the distance of an element's vertices:
 * sides become curved. Nodes on the sides of the box [0, length] stay where they are, if `length` is given. */
void curve_sides(fe_mesh *mesh, double part, const double length[3]);
/* Whether a node is on a side of that box. */
int on_side(const fe_mesh *mesh, int node, const double length[3]);

#endif
