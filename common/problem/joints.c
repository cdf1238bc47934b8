/* The lists of joints.h. */
#include "common/problem/joints.h"

#include <stdlib.h>

/* Nodes with supports, and those whose elements are of several bodies. */
static fe_status list_nodes(fe_joints *j, const int *first, const int *elem, const unsigned char *is_fixed)
{
    unsigned *mark = NULL; /* 8: it is listed */
    FE_ALLOCATE(mark, j->mesh->n_node, "joints");
    for (int n = 0; n < j->mesh->n_node; n++) {
        const unsigned char *fixed = is_fixed + 3 * (size_t)n;
        const unsigned axes = fixed[0] | fixed[1] << 1 | fixed[2] << 2;
        int is_listed = axes != 0;
        for (int k = first[n]; k < first[n + 1]; k++)
            is_listed |= j->body[elem[k]] != j->body[elem[first[n]]];
        if (is_listed) mark[n] = 8 | axes, j->n++;
    }
    fe_status status = fe_allocate((size_t)j->n, sizeof *j->node, "joints", (void **)&j->node);
    if (status == FE_OK) status = fe_allocate((size_t)j->n, sizeof *j->axes, "joints", (void **)&j->axes);
    for (int n = 0, k = 0; status == FE_OK && n < j->mesh->n_node; n++)
        if (mark[n]) j->node[k] = n, j->axes[k++] = mark[n] & 7;
    free(mark);
    return status;
}

/* Bodies at each node, each once: of the elements at the mesh's node in their order. */
static fe_status list_bodies(fe_joints *j, const int *first, const int *elem)
{
    int *last = NULL; /* [n_body] the node that listed the body last, + 1 */
    size_t most = 0;
    for (int k = 0; k < j->n; k++) most += (size_t)(first[j->node[k] + 1] - first[j->node[k]]);
    FE_ALLOCATE(j->body_first, (size_t)j->n + 1, "joints");
    FE_ALLOCATE(j->bodies, most, "joints");
    FE_ALLOCATE(last, j->n_body, "joints");
    for (int k = 0, used = 0; k < j->n; k++) {
        for (int i = first[j->node[k]]; i < first[j->node[k] + 1]; i++) {
            const int b = j->body[elem[i]];
            if (last[b] != k + 1) j->bodies[used++] = b;
            last[b] = k + 1;
        }
        j->body_first[k + 1] = used;
    }
    free(last);
    return FE_OK;
}

static fe_status turn_lists(fe_joints *j)
{
    const int n = j->body_first[j->n];
    FE_ALLOCATE(j->node_first, (size_t)j->n_body + 2, "joints");
    FE_ALLOCATE(j->nodes, n, "joints");
    int *const next = j->node_first + 1; /* becomes the end of each list, one place further */
    for (int i = 0; i < n; i++) next[j->bodies[i] + 1]++;
    for (int b = 0; b < j->n_body; b++) next[b + 1] += next[b];
    for (int k = 0; k < j->n; k++)
        for (int i = j->body_first[k]; i < j->body_first[k + 1]; i++) j->nodes[next[j->bodies[i]]++] = k;
    return FE_OK;
}

static fe_status list(fe_joints *j, const int *first, const int *elem, const unsigned char *is_fixed)
{
    FE_TRY(list_nodes(j, first, elem, is_fixed));
    FE_TRY(list_bodies(j, first, elem));
    FE_TRY(turn_lists(j));
    FE_ALLOCATE(j->is_held, j->n_body, "joints");
    return FE_OK;
}

fe_status fe_joints_open(fe_joints *j, const unsigned char *is_fixed)
{
    int *first, *elem;
    FE_TRY(fe_mesh_node_elements(j->mesh, &first, &elem));
    const fe_status status = list(j, first, elem, is_fixed);
    free(first);
    free(elem);
    return status;
}

void fe_joints_hold(const fe_joints *j, int b, int shared_hold, fe_hold *hold, fe_rigid *rigid)
{
    int n = 0;
    for (int i = j->node_first[b]; i < j->node_first[b + 1]; i++) {
        const int k = j->nodes[i];
        const unsigned axes = shared_hold && fe_joint_width(j, k) > 1 ? 7 : j->axes[k];
        if (axes) hold[n++] = (fe_hold){j->node[k], axes};
    }
    fe_rigid_hold(j->mesh->x, n, hold, rigid);
}

void fe_joints_close(fe_joints *j)
{
    free(j->body);
    free(j->node);
    free(j->axes);
    free(j->body_first);
    free(j->bodies);
    free(j->node_first);
    free(j->nodes);
    free(j->is_held);
    *j = (fe_joints){0};
}
