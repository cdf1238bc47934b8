/* A whole mesh in host memory: nodes, one kind of volume element, and named groups.
 *
 * The order of an element's nodes is Gmsh's: vertices first, as VTK has them, then the middles of edges and
 * faces and the centre (common/mesh/quadratic.h). Groups keep Gmsh's (dimension, number) pair and name. */
#ifndef FE_MESH_H
#define FE_MESH_H

#include "common/base/fe.h"
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One physical group. Facets are points (dim 0), lines (1), triangles or quadrangles (2), with
 * the middle nodes of their sides where elements are quadratic; groups of volume elements (3) hold indices of
 * elements instead. A facet that a file repeats is kept once. */
typedef struct fe_group {
    char *name; /* as in the file; "dim:number" where the file gives no name */
    int dim, number;
    int n_facet; /* facets, or elements where dim is 3 */
    int *facet;  /* [n_facet][fe_facet_width(kind)] nodes, -1 behind the last; dim 3: [n_facet] elements */
} fe_group;

typedef struct fe_mesh {
    char *path; /* file it came from, for messages */
    int kind;   /* FE_TET4, FE_HEX8, FE_TET10 or FE_HEX27 */
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
 * uses are dropped. FE_BAD_INPUT names file, section and line or tag. With `notes` stderr tells what is left
 * out, and of nodes of two parts at one place (fe_mesh_coincident). */
fe_status fe_mesh_read(const char *path, int notes, fe_mesh *mesh);
/* The same, where elements may be numbered inside out: they are turned before the check. */
fe_status fe_mesh_read_turned(const char *path, int notes, int *n_turned, fe_mesh *mesh);

/* Writes MSH 4.1: ASCII, or binary where `binary` is set. A full disk is FE_FAILED and leaves no partial file
 * at `path` (the file is written under another name, then renamed). The format has elements by volume group:
 * their order stays where each such group has all of them. */
fe_status fe_mesh_write(const fe_mesh *mesh, const char *path, int binary);

/* Refuses meshes that no solver can use: coordinates that are not finite, node indices out of range, an
 * element that repeats a node, duplicated elements, elements whose Jacobian is not positive at a quadrature
 * point (how many, and tag and value of the first). */
fe_status fe_mesh_check(const fe_mesh *mesh);

/* Jacobians of an element at its quadrature points: 1 where all are positive, -1 where all are negative (it
 * is numbered inside out), else 0. *point: the first that is not positive, *jacobian: its value. */
int fe_element_orientation(const fe_mesh *mesh, int e, int *point, double *jacobian);

/* Renumbers the corners of elements that are numbered inside out, as all are of a mirrored mesh. FE_BAD_INPUT
 * where two elements then lie on the same side of a common face: the mesh is folded. */
fe_status fe_mesh_turn(fe_mesh *mesh, int *n_turned);

/* Nodes of face f of element e as a facet: vertices, counterclockwise seen from outside of an element with
 * positive Jacobians, then the middles of its sides in the same order and of the face; -1 behind the last, up
 * to fe_facet_width. Returns their number. */
enum { FE_MOST_FACE = 9 };
int fe_element_face(const fe_mesh *mesh, int e, int f, int node[FE_MOST_FACE]);
FE_BOTH int fe_faces(int kind) { return fe_is_tet(kind) ? 4 : 6; }
/* Nodes that a facet of a mesh of this kind has room for, those that it has, and its vertices. */
FE_BOTH int fe_facet_width(int kind) { return fe_is_quadratic(kind) ? FE_MOST_FACE : 4; }
FE_BOTH int fe_facet_nodes(int kind, const int *facet)
{
    int n = 0;
    while (n < fe_facet_width(kind) && facet[n] >= 0) ++n;
    return n;
}
FE_BOTH int fe_facet_vertices(int kind, const int *facet)
{
    const int n = fe_facet_nodes(kind, facet);
    return !fe_is_quadratic(kind) || n < 3 ? n : n == 3 ? 2 : n == 6 ? 3 : 4;
}

/* A hash of all of it: nodes, elements, tags, groups and their names. */
uint64_t fe_mesh_hash(const fe_mesh *mesh);

/* A group of n_facet facets, or elements, of a mesh of a kind, that the caller fills in. */
fe_status fe_group_open(fe_group *group, const char *name, int kind, int dim, int number, size_t n_facet);

/* Group by exact name, any dimension; where a name exists in several dimensions the highest below 3 wins.
 * NULL where there is none. */
const fe_group *fe_mesh_group(const fe_mesh *mesh, const char *name);

/* What to say about a group whose name only looks like this one (fe_alike), "" where there is none. Valid
 * until the next call. */
const char *fe_mesh_alike(const fe_mesh *mesh, const char *name);

/* Node set of a group, ascending, each node once. *node is allocated, [*n]. */
fe_status fe_group_nodes(const fe_mesh *mesh, const fe_group *group, int *n, int **node);

/* Node→element CSR of the whole mesh: first [n_node+1], elem [first[n_node]], ascending in each row. */
fe_status fe_mesh_node_elements(const fe_mesh *mesh, int **first, int **elem);

/* Connected components of the mesh through shared nodes: part [n_node], *n_part of them. */
fe_status fe_mesh_components(const fe_mesh *mesh, int *n_part, int **part);

/* Nodes that have a node of another part at the same place: within FE_COINCIDENT of the shortest edge.
 * Parts of an assembly that should hold together are joined by common nodes alone. */
#define FE_COINCIDENT 1e-4
typedef struct fe_coincidence {
    int n_part, n_node; /* parts of the mesh; nodes with a twin */
    int example[2];     /* two such nodes */
} fe_coincidence;
fe_status fe_mesh_coincident(const fe_mesh *mesh, fe_coincidence *found);

/* Orders of nodes; elements follow their nodes. as-is, lexicographic (by z, y, x of the coordinates), rcm
 * (reverse Cuthill-McKee), morton (space-filling curve), bisection (elements in compact pieces, see
 * fe_bisect, and nodes as these meet them), random (seed; elements are shuffled, too). */
typedef enum fe_order {
    FE_ORDER_AS_IS,
    FE_ORDER_LEXICOGRAPHIC,
    FE_ORDER_RCM,
    FE_ORDER_MORTON,
    FE_ORDER_BISECTION,
    FE_ORDER_RANDOM,
    FE_N_ORDER,
    FE_ORDER_AUTO = FE_N_ORDER /* no order, but the choice of fe_mesh_arrange_for: for programs */
} fe_order;
extern const char *const fe_order_names[FE_N_ORDER + 1]; /* "as-is", "lexicographic", … "random", "auto" */
/* An order of a mesh, which keeps its own numbers. */
typedef struct fe_arrangement {
    const char *name; /* for people */
    int in_pieces;    /* elements are sorted in compact pieces */
    int *node, *elem; /* [n_node], [n_elem] the mesh's node or element at each place */
} fe_arrangement;
fe_status fe_mesh_arrange(const fe_mesh *mesh, fe_order order, uint64_t seed, fe_arrangement *a);
/* An order that suits a strategy. Rows: the mesh's own, unless morton or rcm has the nodes of neighbouring
 * elements closer together in memory (fe_order_cost), or about as close, and the elements of neighbouring
 * rows much closer. Pieces (FE_PIECES): bisection of the better of the mesh's own order and morton. Where the
 * mesh's own reads about as little as a large box's, no other order is tried. */
fe_status fe_mesh_arrange_for(const fe_mesh *mesh, int pieces, fe_arrangement *a);
/* What warps of 32 neighbouring elements read to gather nodes of 24 bytes: sectors of 32 bytes that each
 * corner touches, and 11 times the lines of 128 bytes that all corners together touch; of an element, in the
 * mean over a sample. The weight fits element_atomic (H200, Tet4 boxes of 6.4 M DoF: in bisection it
 * takes 1.37 times as long as in lexicographic order). */
fe_status fe_order_cost(const fe_mesh *mesh, const fe_arrangement *a, double *cost);
void fe_arrangement_close(fe_arrangement *a);
/* Renumbers nodes and elements in place; tags and groups follow. */
fe_status fe_mesh_reorder(fe_mesh *mesh, fe_order order, uint64_t seed);

/* Sorts n elements of the mesh into compact pieces (fe_bisect); within a piece they keep their order. */
fe_status fe_mesh_sort_pieces(const fe_mesh *mesh, int n, int *elem);
/* Sorts n_node nodes of the mesh as the pieces of elem [n_elem], which are sorted, meet them; within a piece
 * they keep their order, and nodes of no piece come last. */
fe_status fe_mesh_sort_nodes(const fe_mesh *mesh, int n_elem, const int *elem, int n_node, int *node);
/* Both, of all elements and nodes. */
fe_status fe_mesh_order_pieces(const fe_mesh *mesh, int *elem_order, int *node_order);
/* node_order [n_node]: reverse Cuthill-McKee, node_order[i] becomes node i. The result does not depend on the
 * number of threads. */
fe_status fe_mesh_order_levels(const fe_mesh *mesh, int *node_order);

/* Makes eight elements of each, in place: new nodes in the middle of edges, faces and Hex8, numbered behind
 * the others in the order in which elements meet them; elements 8e … 8e + 7 are those of element e. Of the
 * three ways to cut the octahedron inside a Tet4, seed 0 takes the shortest diagonal; any other seed a random
 * one, so that nodes have irregular numbers of elements, at most FE_MOST_VALENCE where there is a choice.
 * Children of a Tet4 have an eighth of its volume, those of a Hex8 share its map: Jacobians stay positive.
 * Groups follow, curved sides do not. Closes the mesh on failure. */
enum { FE_MOST_VALENCE = 38 };
fe_status fe_mesh_refine(fe_mesh *mesh, uint64_t seed);

/* Makes Tet10 of Tet4, Hex27 of Hex8, in place: new nodes in the middle of edges, of faces and of elements,
 * numbered behind the others in the order in which elements meet them. Facets of groups get theirs; sides
 * stay straight. fe_mesh_check may refuse the result of Hex8 that are nearly folded at a vertex, because the
 * quadrature points of Hex27 are nearer to it. Closes the mesh on failure. */
fe_status fe_mesh_elevate(fe_mesh *mesh);

/* Quality over all elements. Jacobians are taken at the centre (Tet4) or at all nodes (others); `scaled` is
 * the Jacobian at a vertex over the product of the lengths of its three edges, of their tangents where they
 * are curved (1 for a cube; √2 × that for tetrahedra, 1 for a regular one). Aspect ratio is longest over
 * shortest edge, from vertex to vertex. Bandwidth is the largest |i − j| over nodes that share
 * an element. */
typedef struct fe_quality {
    double volume, min_jacobian, max_jacobian, min_scaled, max_aspect;
    int bandwidth;
    double mean_bandwidth;        /* mean over elements of largest minus smallest node */
    int min_valence, max_valence; /* elements at one node */
} fe_quality;
fe_status fe_mesh_quality(const fe_mesh *mesh, fe_quality *quality);
double fe_mesh_volume(const fe_mesh *mesh); /* alone, on all threads; the same bits on any number of them */

/* A box [0,length]³ of cells[i] cells along each axis, hexahedra or tetrahedra (six per cell, sharing its
 * main diagonal), nodes lexicographic with x fastest. `distort` moves each interior node at random by up to
 * that share of the distance between nodes, which is the cell size, or half of it where elements are
 * quadratic: these then have curved sides (0.2 keeps every Jacobian positive; values that would not are
 * refused).
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

/* An unstructured mesh of the unit cube with about n_node nodes, graded: cells are smallest at the corner 0
 * and FE_GRADING times as long at the other end of each axis. Interior nodes have very different numbers of
 * elements, as those of mesh generators for parts do.
 *
 * Tet4: a grid of cells with a node in each, the diagonals of all faces chosen at random: 12 Tet4 a cell;
 * then each Tet4 becomes eight (fe_mesh_refine with random diagonals). A node inside has 12 to about 40
 * elements, 24 in the mean; on the surface down to 3. Hex8: a grid of cells, of which a random fifth holds a
 * smaller hexahedron, joined to its sides by six others; then each Hex8 becomes eight. A node inside has 4 to
 * 12 elements; on the surface down to 1. Quadratic elements have the nodes of the refinement as their middle
 * nodes instead: as many nodes, an eighth of the elements, straight sides.
 *
 * Nodes and elements are numbered as a generator leaves them, not by coordinates: bricks of 4 × 4 × 4 cells
 * come in random order, the nodes of the grid come before those of the refinement. Same groups as a box. Same
 * mesh for the same arguments. */
enum { FE_GRADING = 4 };
fe_status fe_mesh_irregular(int kind, int n_node, uint64_t seed, fe_mesh *mesh);
/* Numbers of nodes and elements of that mesh, without making it. */
fe_status fe_mesh_irregular_size(int kind, int n_node, uint64_t seed, int *nodes, int *elements);

#ifdef __cplusplus
}
#endif
#endif
