/* A body grows from an element: its elements' nodes are its own, and an element joins when enough of its
 * corners are. A mesh that is one body and in a good order is known as such by one sweep over its elements.
 */
#include "common/mesh/bodies.h"

#include <stdlib.h>

typedef struct growth {
    const fe_mesh *mesh;
    int *first, *elem;   /* elements at nodes */
    unsigned char *held; /* [n_elem] corners that the body holds, or JOINED */
    int *owner;          /* [n_node] the body that took the node last, from 1 */
    int *queue, n_queue; /* [n_elem] elements of all bodies, one body after another */
} growth;

enum { JOINED = 0xff };

static fe_status open_growth(growth *g)
{
    FE_TRY(fe_mesh_node_elements(g->mesh, &g->first, &g->elem));
    FE_ALLOCATE(g->held, g->mesh->n_elem, "bodies of the mesh");
    FE_ALLOCATE(g->owner, g->mesh->n_node, "bodies of the mesh");
    FE_ALLOCATE(g->queue, g->mesh->n_elem, "bodies of the mesh");
    return FE_OK;
}

static void close_growth(growth *g)
{
    free(g->first);
    free(g->elem);
    free(g->held);
    free(g->owner);
    free(g->queue);
}

static void add_element(growth *g, int e)
{
    g->held[e] = JOINED;
    g->queue[g->n_queue++] = e;
}

/* Three corners of a Tet4 are one of its faces. Four of a Hex8 are a face, or lie on no line either; so do
 * four nodes of a quadratic element, whose straight lines hold three. */
static int enough_corners(const fe_mesh *mesh) { return fe_corners(mesh->kind) == 4 ? 3 : 4; }

static void take_node(growth *g, int node)
{
    const int enough = enough_corners(g->mesh);
    for (int k = g->first[node]; k < g->first[node + 1]; k++) {
        const int e = g->elem[k];
        if (g->held[e] != JOINED && ++g->held[e] == enough) add_element(g, e);
    }
}

/* A body, numbered from 1: what is added to the queue. */
static void grow(growth *g, int b, int seed)
{
    const int nc = fe_corners(g->mesh->kind);
    int k = g->n_queue;
    for (add_element(g, seed); k < g->n_queue; k++) {
        const int *corner = g->mesh->conn + (size_t)g->queue[k] * nc;
        for (int a = 0; a < nc; a++) {
            if (g->owner[corner[a]] == b) continue;
            g->owner[corner[a]] = b;
            take_node(g, corner[a]);
        }
    }
}

/* Elements that some corners were taken of, but did not join, forget them. */
static void forget(growth *g, int begin)
{
    const int nc = fe_corners(g->mesh->kind);
    for (int k = begin; k < g->n_queue; k++)
        for (int a = 0; a < nc; a++) {
            const int node = g->mesh->conn[(size_t)g->queue[k] * nc + a];
            for (int i = g->first[node]; i < g->first[node + 1]; i++)
                if (g->held[g->elem[i]] != JOINED) g->held[g->elem[i]] = 0;
        }
}

static fe_status grow_all(growth *g, int *n_body, int *body)
{
    FE_TRY(open_growth(g));
    for (int e = 0; e < g->mesh->n_elem; e++) {
        if (g->held[e] == JOINED) continue;
        const int begin = g->n_queue;
        grow(g, *n_body + 1, e);
        for (int k = begin; k < g->n_queue; k++) body[g->queue[k]] = *n_body;
        if (g->n_queue < g->mesh->n_elem) forget(g, begin);
        ++*n_body;
    }
    return FE_OK;
}

/* Whether each element but the first has enough corners in common with those before it. */
static fe_status sweep(const fe_mesh *mesh, int *is_one)
{
    const int nc = fe_corners(mesh->kind), enough = enough_corners(mesh);
    unsigned char *is_taken = NULL; /* [n_node] */
    FE_ALLOCATE(is_taken, mesh->n_node, "bodies of the mesh");
    *is_one = 1;
    for (int e = 0; e < mesh->n_elem && *is_one; e++) {
        const int *corner = mesh->conn + (size_t)e * nc;
        int held = 0;
        for (int a = 0; a < nc; a++) held += is_taken[corner[a]];
        for (int a = 0; a < nc; a++) is_taken[corner[a]] = 1;
        *is_one = e == 0 || held >= enough;
    }
    free(is_taken);
    return FE_OK;
}

fe_status fe_mesh_bodies(const fe_mesh *mesh, int *n_body, int **body)
{
    growth g = {.mesh = mesh};
    int is_one;
    *n_body = 0;
    *body = NULL;
    FE_ALLOCATE(*body, mesh->n_elem, "bodies of the mesh");
    fe_status status = sweep(mesh, &is_one);
    if (status == FE_OK && is_one)
        *n_body = 1;
    else if (status == FE_OK)
        status = grow_all(&g, n_body, *body);
    close_growth(&g);
    if (status == FE_OK) return FE_OK;
    free(*body);
    *body = NULL;
    return status;
}
