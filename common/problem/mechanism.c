/* The search for mechanisms, from the cheap to the dear.
 *
 * 1. Each connected part is one rigid body: its supports must hold it.
 * 2. Bodies that supports hold are fixed, then those that supports and fixed nodes hold, and so on.
 * 3. Every other body must be held by its supports and the nodes that it shares, were these all fixed.
 * 4. What is left are bodies that only hold each other: common/problem/linkage.c.
 *
 * Most meshes have one body in each part, and the search ends after the first step. */
#include "common/mesh/bodies.h"
#include "common/problem/joints.h"

#include <stdlib.h>

/* --- parts ------------------------------------------------------------------------------------------- */

/* Nodes with supports, by part: those of part p are hold [begin[p]] to hold [begin[p + 1] - 1]. */
static fe_status list_holds(const fe_mesh *mesh, const int *part, int n_part, const unsigned char *is_fixed,
                            int **begin, fe_hold **hold)
{
    FE_ALLOCATE(*begin, (size_t)n_part + 2, "supports of parts");
    int *const next = *begin + 1;
    for (int pass = 0; pass < 2; pass++) {
        for (int n = 0; n < mesh->n_node; n++) {
            const unsigned char *fixed = is_fixed + 3 * (size_t)n;
            const unsigned axes = fixed[0] | fixed[1] << 1 | fixed[2] << 2;
            if (axes && pass == 0) next[part[n] + 1]++;
            if (axes && pass == 1) (*hold)[next[part[n]]++] = (fe_hold){n, axes};
        }
        if (pass == 1) break;
        for (int p = 0; p < n_part; p++) next[p + 1] += next[p];
        FE_ALLOCATE(*hold, next[n_part], "supports of parts");
    }
    return FE_OK;
}

/* Step 1. */
static fe_status find_part(const fe_mesh *mesh, const int *part, const unsigned char *is_fixed,
                           fe_mechanism *m)
{
    int *begin = NULL;
    fe_hold *hold = NULL;
    fe_rigid rigid;
    const fe_status status = list_holds(mesh, part, m->n_part, is_fixed, &begin, &hold);
    for (int p = 0; status == FE_OK && p < m->n_part && !m->moves; p++) {
        fe_rigid_hold(mesh->x, begin[p + 1] - begin[p], hold + begin[p], &rigid);
        m->moves = rigid.rank < FE_N_MOTION;
        m->part = p;
    }
    free(begin);
    free(hold);
    if (!m->moves) return status;
    fe_rigid_describe(&rigid, &m->motion);
    for (int n = mesh->n_node - 1; n >= 0; n--)
        if (part[n] == m->part) m->n_node++, m->example = n;
    return status;
}

/* --- bodies ------------------------------------------------------------------------------------------ */

/* A body is fixed, and with it its nodes. Bodies there are asked again. Returns the queue's new end. */
static int fix_body(fe_joints *j, int b, unsigned char *is_waiting, int *queue, int end)
{
    j->is_held[b] = 1;
    for (int i = j->node_first[b]; i < j->node_first[b + 1]; i++) {
        const int k = j->nodes[i];
        if (j->axes[k] == 7) continue;
        j->axes[k] = 7;
        for (int l = j->body_first[k]; l < j->body_first[k + 1]; l++) {
            const int other = j->bodies[l];
            if (j->is_held[other] || is_waiting[other]) continue;
            is_waiting[other] = 1;
            queue[end++ % j->n_body] = other;
        }
    }
    return end;
}

/* Step 2. The queue is a ring: each body waits in it once at most. */
static fe_status hold_bodies(fe_joints *j, fe_hold *hold)
{
    unsigned char *is_waiting = NULL;
    int *queue = NULL;
    fe_rigid rigid;
    FE_ALLOCATE(queue, j->n_body, "bodies that are held");
    const fe_status status =
        fe_allocate((size_t)j->n_body, sizeof *is_waiting, "bodies that are held", (void **)&is_waiting);
    int end = status == FE_OK ? j->n_body : 0, begin = 0;
    for (int b = 0; b < end; b++) queue[b] = b, is_waiting[b] = 1;
    while (begin < end) {
        const int b = queue[begin++ % j->n_body];
        is_waiting[b] = 0;
        fe_joints_hold(j, b, 0, hold, &rigid);
        if (rigid.rank == FE_N_MOTION) end = fix_body(j, b, is_waiting, queue, end);
        if (begin >= j->n_body) begin -= j->n_body, end -= j->n_body; /* counters stay small */
    }
    free(queue);
    free(is_waiting);
    return status;
}

static void describe_body(const fe_joints *j, int b, const fe_rigid *rigid, fe_mechanism *m)
{
    m->moves = 1, m->hinge = FE_HINGE_BODY;
    fe_rigid_describe(rigid, &m->motion);
    for (int e = j->mesh->n_elem - 1; e >= 0; e--)
        if (j->body[e] == b) m->n_elem++, m->elem = e;
    for (int i = j->node_first[b]; i < j->node_first[b + 1]; i++) {
        const int k = j->nodes[i];
        if (fe_joint_width(j, k) == 1)
            m->is_supported = 1;
        else if (m->n_shared++ < FE_NAMED_NODES)
            m->shared[m->n_shared - 1] = j->node[k];
    }
}

/* Step 3. */
static void find_loose(const fe_joints *j, fe_hold *hold, fe_mechanism *m)
{
    fe_rigid rigid;
    for (int b = 0; b < j->n_body; b++) {
        if (j->is_held[b]) continue;
        fe_joints_hold(j, b, 1, hold, &rigid);
        if (rigid.rank == FE_N_MOTION) continue;
        if (!m->n_loose++) describe_body(j, b, &rigid, m);
    }
}

static fe_status find_hinge(const fe_mesh *mesh, const unsigned char *is_fixed, fe_mechanism *m)
{
    fe_joints j = {.mesh = mesh};
    fe_hold *hold = NULL;
    fe_status status = fe_mesh_bodies(mesh, &j.n_body, &j.body);
    m->n_body = j.n_body;
    if (status == FE_OK && j.n_body > m->n_part) {
        status = fe_joints_open(&j, is_fixed);
        if (status == FE_OK)
            status = fe_allocate((size_t)j.n, sizeof *hold, "holds of a body", (void **)&hold);
        if (status == FE_OK) status = hold_bodies(&j, hold);
        if (status == FE_OK) find_loose(&j, hold, m);
        if (status == FE_OK && !m->moves) status = fe_linkage_find(&j, m);
    }
    free(hold);
    fe_joints_close(&j);
    return status;
}

fe_status fe_mechanism_find(const fe_mesh *mesh, const unsigned char *is_fixed, fe_mechanism *m)
{
    int *part = NULL;
    *m = (fe_mechanism){0};
    FE_TRY(fe_mesh_components(mesh, &m->n_part, &part));
    const fe_status status = find_part(mesh, part, is_fixed, m);
    free(part);
    return status == FE_OK && !m->moves ? find_hinge(mesh, is_fixed, m) : status;
}
