/* Curved sides of quadratic elements, for tests. */
#ifndef CURVED_H
#define CURVED_H

#include "common/mesh/mesh.h"

/* Moves the nodes that are no vertices at random, by up to this part of the distance of an element's
 * vertices: sides become curved. Nodes on the sides of the box [0, length] stay where they are, if `length`
 * is given. */
void curve_sides(fe_mesh *mesh, double part, const double length[3]);
/* Whether a node is on a side of that box. */
int on_side(const fe_mesh *mesh, int node, const double length[3]);

#endif
