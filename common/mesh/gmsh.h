/* What an MSH file holds, before it becomes a mesh: private to the reader. */
#ifndef FE_GMSH_H
#define FE_GMSH_H

#include "common/mesh/mesh.h"
#include "common/mesh/scan.h"

#define TEXT 0 /* bytes of a number that is text even in a binary file */

/* Elements of one width. The owner is an entity's tag (4.1) or a physical number (2.2, 0 for none). */
typedef struct fe_gmsh_rows {
    int width;
    size_t n, capacity;
    int64_t *tag;  /* [n] */
    int64_t *node; /* [n][width] node tags; -1 behind a facet's last */
    int *owner;    /* [n] */
} fe_gmsh_rows;

/* Physical groups of one entity (4.1). */
typedef struct fe_gmsh_entity {
    int dim, tag;
    int n_physical;
    size_t first_physical; /* in physical[] */
} fe_gmsh_entity;

typedef struct fe_gmsh_name {
    int dim, number;
    char *name;
} fe_gmsh_name;

typedef struct fe_gmsh {
    const char *path;
    size_t n_byte; /* of the file */
    int notes;     /* what is left out is told on stderr */
    int version;   /* 22 or 41 */
    int has_nodes, has_elements;
    int parametric; /* 2.2: each node is followed by its entity, and its parameters there */
    size_t n_node, node_capacity;
    int64_t *node_tag;
    double *x;           /* [n_node][3] */
    int kind;            /* of the volume elements, -1 before the first */
    int64_t first[2][2]; /* type and tag of the first element of each order but points; type 0: none */
    fe_gmsh_rows volume, facet;
    size_t n_entity, entity_capacity, n_physical, physical_capacity;
    fe_gmsh_entity *entity;
    int *physical;
    size_t n_name, name_capacity;
    fe_gmsh_name *name;
} fe_gmsh;

/* Bodies of $Nodes and $Elements. */
fe_status fe_gmsh_nodes(fe_scan *s, fe_gmsh *m);
fe_status fe_gmsh_elements(fe_scan *s, fe_gmsh *m);

/* A physical number; its sign is an orientation. */
fe_status fe_gmsh_physical(fe_scan *s, int bytes, int *number);

/* A growing list: returns the capacity for `wanted` entries, and enlarges an array to it. Arrays of one list
 * share its capacity, which is set after the last of them has grown. */
size_t fe_gmsh_capacity(size_t capacity, size_t wanted);
fe_status fe_gmsh_resize(void **array, size_t count, size_t size, const char *what);
#define RESIZE(pointer, count, what)                                                                         \
    FE_TRY(fe_gmsh_resize((void **)&(pointer), (count), sizeof *(pointer), (what)))

/* Makes a mesh: indices for tags, groups, no repeated elements and no unused nodes. */
fe_status fe_gmsh_build(fe_gmsh *file, fe_mesh *mesh);

#endif
