/* Bodies of a mesh and the nodes that hold them: those that bodies share, and those with supports. */
#ifndef FE_JOINTS_H
#define FE_JOINTS_H

#include "common/problem/mechanism.h"

/* "Nodes" are numbers of this list unless they are said to be the mesh's. */
typedef struct fe_joints {
    const fe_mesh *mesh;
    int n_body, *body;        /* [n_elem] body of each element */
    int n, *node;             /* [n] the mesh's nodes, ascending */
    unsigned *axes;           /* [n] components that are fixed: by supports, or all by a body that is held */
    int *body_first, *bodies; /* [n+1] bodies at each node */
    int *node_first, *nodes;  /* [n_body+1] nodes of each body */
    unsigned char *is_held;   /* [n_body] it is fixed by nodes that are */
} fe_joints;

/* Of a mesh whose bodies are set already; none is held yet. */
fe_status fe_joints_open(fe_joints *j, const unsigned char *is_fixed);
void fe_joints_close(fe_joints *j);
/* How many bodies a node belongs to. */
static inline int fe_joint_width(const fe_joints *j, int node)
{
    return j->body_first[node + 1] - j->body_first[node];
}

/* How the nodes of a body hold it. Nodes that it shares count as fixed where `shared_hold` is set. hold [n]
 * is work space. */
void fe_joints_hold(const fe_joints *j, int b, int shared_hold, fe_hold *hold, fe_rigid *rigid);

/* Bodies that are not held and yet not loose alone: whether some could move together. */
fe_status fe_linkage_find(const fe_joints *j, fe_mechanism *m);

#endif
