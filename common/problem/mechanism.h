/* Whether supports hold a mesh: what each connected part could still do as a rigid body, and whether bodies
 * that share only edges or nodes could turn about these. */
#ifndef FE_MECHANISM_H
#define FE_MECHANISM_H

#include "common/mesh/mesh.h"
#include "common/problem/rigid.h"

typedef enum fe_hinge {
    FE_HINGE_NONE,    /* a whole part moves, or nothing does */
    FE_HINGE_BODY,    /* a body moves alone: all the rest could be fixed */
    FE_HINGE_LINKAGE, /* two bodies of a chain of bodies move against each other, */
    FE_HINGE_GROUND,  /* or such a body against what is held */
} fe_hinge;

enum { FE_NAMED_NODES = 6 };

typedef struct fe_mechanism {
    int moves;           /* 0: everything is held, as far as is known */
    int part, n_part;    /* number of the part that moves as a whole, from 0, of how many */
    int n_node, example; /* its nodes, and one of them */
    fe_motion motion;
    fe_hinge hinge;
    int n_body, n_loose;        /* bodies of the mesh, and those that could move alone */
    int n_elem, elem, other;    /* elements of the body that moves, one of them, and one of the other body */
    int n_shared;               /* nodes that alone join it to the rest or to the other body, */
    int shared[FE_NAMED_NODES]; /* the first of them */
    int is_supported;           /* the body has supports of its own */
    int n_unknown;              /* bodies in a network of hinges that is too large to be examined; 0: none */
} fe_mechanism;

/* The first mechanism. is_fixed [n_node][3]: components that supports prescribe. Parts are connected by
 * elements through shared nodes, bodies through faces (common/mesh/bodies.h). */
fe_status fe_mechanism_find(const fe_mesh *mesh, const unsigned char *is_fixed, fe_mechanism *m);

/* What moves and how, as one line for people; size: FE_MESSAGE_LENGTH or more. */
void fe_mechanism_say(const fe_mesh *mesh, const fe_mechanism *m, char *text, size_t size);

#endif
