/* Parts of fe_boundary_apply (case.h), and how they find groups. */
#ifndef FE_BOUNDARY_H
#define FE_BOUNDARY_H

#include "common/problem/case.h"

/* Dimensions of groups: bit d for dimension d. */
enum { FE_POINTS_AND_LINES = 3, FE_FACES = 4, FE_ELEMENTS = 8, FE_ANY_DIMENSION = 15 };

/* The mesh in messages. */
const char *fe_boundary_mesh(const fe_mesh *mesh);
/* The group that `key` of the problem names, of one of these dimensions; of several the one that
 * fe_mesh_group prefers, or else the first. FE_BAD_INPUT: there is none of that name (lists the groups that
 * exist), none of these dimensions (`lacks`: what such a group would have), two of its dimension, or nothing
 * is in it. */
fe_status fe_boundary_group(const fe_case *c, const fe_mesh *mesh, const char *key, const char *name,
                            int dimensions, const char *lacks, const fe_group **group);

/* Consistent nodal forces of all loads, b->load. */
fe_status fe_boundary_loads(const fe_case *c, const fe_mesh *mesh, fe_boundary *b);
/* The material of each element, b->material_of and b->material_note. FE_BAD_INPUT: a volume that is not in
 * the mesh, an element in none of them, or in two with different materials (its tag). */
fe_status fe_boundary_materials(const fe_case *c, const fe_mesh *mesh, fe_boundary *b);
/* The nodes of each entry of "contact", b->contact; materials were found. is_fixed [n_node][3]: components
 * that supports prescribe. Nodes that these hold in the direction of contact are left out (b->contact_note).
 * FE_BAD_INPUT: a face whose nodes are all held so, an obstacle that a node begins too deep in, or that is
 * not in front of the surface. */
fe_status fe_boundary_contact(const fe_case *c, const fe_mesh *mesh, const unsigned char *is_fixed,
                              fe_boundary *b);

/* A facet's n nodes in the order in which an element behind it sees them from outside, by node→element lists.
 * *elem: that element. Returns how many elements have it as a face. */
int fe_boundary_orient(const fe_mesh *mesh, const int *first, const int *elem, const int *facet, int n,
                       int outward[FE_MOST_FACE], int *behind);

#endif
