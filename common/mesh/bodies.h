/* Bodies of a mesh: elements that are joined by whole faces. */
#ifndef FE_BODIES_H
#define FE_BODIES_H

#include "common/mesh/mesh.h"

/* body [n_elem], numbered in the order of their lowest elements. An element belongs to the body that holds
 * three of its corners (Tet4) or four (Hex8), so to that of each element that it shares a face with. Linear
 * elements with full integration have no motions without energy except rigid ones: a body moves without
 * energy only as a whole, while two bodies that share an edge or a node can turn about it. *body is to be
 * freed. */
fe_status fe_mesh_bodies(const fe_mesh *mesh, int *n_body, int **body);

#endif
