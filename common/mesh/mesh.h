/* A whole mesh in host memory: nodes, one kind of volume element, and named groups.
 *
 * Corner order is Gmsh's, which is VTK's. Groups keep Gmsh's (dimension, number) pair and name. */
#ifndef FE_MESH_H
#define FE_MESH_H

#include "common/base/fe.h"
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One physical group. Facets are points (dim 0), lines (1), triangles or quadrangles (2); groups of volume
 * elements (3) hold indices of elements instead. A facet that a file repeats is kept once. */
typedef struct fe_group {
    char *name; /* as in the file; "dim:number" where the file gives no name */
    int dim, number;
    int n_facet; /* facets, or elements where dim is 3 */
    int *facet;  /* [n_facet][4] nodes, -1 where a facet has fewer; dim 3: [n_facet] elements */
} fe_group;

typedef struct fe_mesh {
    char *path; /* file it came from, for messages */
    int kind;   /* FE_TET4 or FE_HEX8 */
    int n_node, n_elem;
    double *x;         /* [n_node][3] */
    int64_t *node_tag; /* [n_node] */
    int *conn;         /* [n_elem][fe_corners(kind)] nodes, 0-based */
    int64_t *elem_tag; /* [n_elem] */
    int *elem_group;   /* [n_elem] physical number of its (first) volume group, 0 where none */
    int n_group;
    fe_group *group;
    int in_pieces; /* elements are sorted in compact pieces; shares of the mesh are then sorted in the same
                      way */
} fe_mesh;

/* Releases everything; accepts a zeroed or half-built mesh and leaves it zeroed. */
void fe_mesh_close(fe_mesh *mesh);

/* Reads Gmsh MSH 2.2 or 4.1, ASCII or binary, and checks it (fe_mesh_check). Nodes that no volume element
 * uses are dropped, with a note on stderr where `notes` is set. FE_BAD_INPUT names file, section and line or
 * tag. */
fe_status fe_mesh_read(const char *path, int notes, fe_mesh *mesh);

/* Writes MSH 4.1: ASCII, or binary where `binary` is set. A full disk is FE_FAILED and leaves no partial file
 * at `path` (the file is written under another name, then renamed). */
fe_status fe_mesh_write(const fe_mesh *mesh, const char *path, int binary);

/* Refuses meshes that no solver can use: coordinates that are not finite, node indices out of range, an
 * element that repeats a node, an element whose Jacobian is not positive at a quadrature point (tag and
 * value), duplicated elements. */
fe_status fe_mesh_check(const fe_mesh *mesh);

/* A hash of all of it: nodes, elements, tags, groups and their names. */
uint64_t fe_mesh_hash(const fe_mesh *mesh);

/* Group by exact name, any dimension; where a name exists in several dimensions the highest below 3 wins.
 * NULL where there is none. */
const fe_group *fe_mesh_group(const fe_mesh *mesh, const char *name);

/* Node set of a group, ascending, each node once. *node is allocated, [*n]. */
fe_status fe_group_nodes(const fe_mesh *mesh, const fe_group *group, int *n, int **node);

/* Node→element CSR of the whole mesh: first [n_node+1], elem [first[n_node]], ascending in each row. */
fe_status fe_mesh_node_elements(const fe_mesh *mesh, int **first, int **elem);

/* Connected components of the mesh through shared nodes: part [n_node], *n_part of them. */
fe_status fe_mesh_components(const fe_mesh *mesh, int *n_part, int **part);

/* Renumbers nodes in place (tags and groups follow) and sorts elements so that they follow their nodes.
 * Orders: as-is, lexicographic (by z, y, x of the coordinates), rcm (reverse Cuthill-McKee), morton
 * (space-filling curve), bisection (elements in compact pieces, see fe_bisect, and nodes as these meet them),
 * random (seed; elements are shuffled, too). */
typedef enum fe_order {
    FE_ORDER_AS_IS,
    FE_ORDER_LEXICOGRAPHIC,
    FE_ORDER_RCM,
    FE_ORDER_MORTON,
    FE_ORDER_BISECTION,
    FE_ORDER_RANDOM,
    FE_N_ORDER
} fe_order;
extern const char *const fe_order_names[FE_N_ORDER]; /* "as-is", "lexicographic", … */
fe_status fe_mesh_reorder(fe_mesh *mesh, fe_order order, uint64_t seed);

/* Sorts n elements of the mesh into compact pieces (fe_bisect). */
fe_status fe_mesh_sort_pieces(const fe_mesh *mesh, int n, int *elem);

/* Quality over all elements. Jacobians are taken at the corners (Hex8) or the centre (Tet4); `scaled` is the
 * Jacobian over the product of its three edge lengths (1 for a cube; √2 × that for Tet4, 1 for a regular
 * one). Aspect ratio is longest over shortest edge. Bandwidth is the largest |i − j| over nodes that share
 * an element. */
typedef struct fe_quality {
    double volume, min_jacobian, max_jacobian, min_scaled, max_aspect;
    int bandwidth;
    double mean_bandwidth; /* mean over elements of largest minus smallest node */
    int max_valence;       /* elements at one node */
} fe_quality;
fe_status fe_mesh_quality(const fe_mesh *mesh, fe_quality *quality);

/* A box [0,length]³ of cells[i] cells along each axis, Hex8 or Tet4 (six tetrahedra per cell, sharing its
 * main diagonal), nodes lexicographic with x fastest. `distort` moves each interior node at random by up to
 * that share of the cell size (0.2 keeps every Jacobian positive; values that would not are refused).
 * Boundary groups x0 x1 y0 y1 z0 z1, volume group "body". */
typedef struct fe_box {
    int kind;
    int cells[3];
    double length[3];
    double distort;
    uint64_t seed;
} fe_box;
fe_status fe_mesh_box(const fe_box *box, fe_mesh *mesh);
/* Only the cells [first, last) of each axis, with the tags and coordinates of the whole box, without groups.
 * Each of several ranks makes its own piece, so none has to hold the whole box. */
fe_status fe_mesh_box_piece(const fe_box *box, const int first[3], const int last[3], fe_mesh *mesh);

#ifdef __cplusplus
}
#endif
#endif
