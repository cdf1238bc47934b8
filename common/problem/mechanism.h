/* Whether supports hold a mesh: what each connected part could still do as a rigid body. */
#ifndef FE_MECHANISM_H
#define FE_MECHANISM_H

#include "common/mesh/mesh.h"

/* The first part that can move. A rigid motion is u(x) = t + w × (x - c); what is told is a translation where
 * there is one, else a rotation, which may come with a motion along its axis. */
typedef struct fe_mechanism {
    int part, n_part; /* number of the part, from 0; n_part: all are held */
    int n_node, example;
    int n_free; /* rigid motions that are free: 1 to 6 */
    int rotates;
    double axis[3];  /* unit vector: of the translation, or of the rotation, */
    double point[3]; /* which turns about the axis through this point */
    double pitch;    /* way along the axis for a turn by one radian */
} fe_mechanism;

/* is_fixed [n_node][3]: components that supports prescribe. Parts are connected by elements through shared
 * nodes; that a part has hinges of its own is not seen. */
fe_status fe_mechanism_find(const fe_mesh *mesh, const unsigned char *is_fixed, fe_mechanism *m);

#endif
