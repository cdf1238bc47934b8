/* Mechanisms in words. */
#include "common/problem/mechanism.h"

#include <stdio.h>

/* "it can rotate about the axis ...". Adds to a text of n characters, and returns its new length. */
static int say_motion(const fe_motion *m, const char *who, char *text, size_t size, int n)
{
    const double *a = m->axis, *p = m->point;
    if (!m->rotates)
        n += snprintf(text + n, size - (size_t)n, "%s can move along (%.4g, %.4g, %.4g)", who, a[0], a[1],
                      a[2]);
    else
        n += snprintf(text + n, size - (size_t)n,
                      "%s can rotate about the axis through (%.4g, %.4g, %.4g) along (%.4g, %.4g, %.4g)", who,
                      p[0], p[1], p[2], a[0], a[1], a[2]);
    if (m->rotates && m->pitch != 0)
        n += snprintf(text + n, size - (size_t)n, " as a screw of %.4g a radian", m->pitch);
    if (m->n_free > 1)
        n += snprintf(text + n, size - (size_t)n, " (%d of its 6 rigid motions are free)", m->n_free);
    return n;
}

/* "node 7 alone", "nodes 7, 8 and 3 more alone": tags. */
static int say_shared(const fe_mesh *mesh, const fe_mechanism *m, char *text, size_t size, int n)
{
    const int n_named = m->n_shared < FE_NAMED_NODES ? m->n_shared : FE_NAMED_NODES;
    n += snprintf(text + n, size - (size_t)n, "node%s", m->n_shared == 1 ? "" : "s");
    for (int k = 0; k < n_named; k++)
        n += snprintf(text + n, size - (size_t)n, "%s %lld", k ? "," : "",
                      (long long)mesh->node_tag[m->shared[k]]);
    if (m->n_shared > n_named)
        n += snprintf(text + n, size - (size_t)n, " and %d more", m->n_shared - n_named);
    return n + snprintf(text + n, size - (size_t)n, "%s alone", m->is_supported ? " and its supports" : "");
}

static int say_hinge(const fe_mesh *mesh, const fe_mechanism *m, char *text, size_t size)
{
    const long long elem = (long long)mesh->elem_tag[m->elem];
    const int linked = m->hinge == FE_HINGE_LINKAGE;
    int n = linked ? snprintf(text, size, "the bodies of elements %lld and %lld of the mesh are joined by ",
                              elem, (long long)mesh->elem_tag[m->other])
                   : snprintf(text, size, "the body of element %lld of the mesh (%d element%s) is held by ",
                              elem, m->n_elem, m->n_elem == 1 ? "" : "s");
    n = say_shared(mesh, m, text, size, n);
    n += snprintf(text + n, size - (size_t)n, "%s: ", m->hinge == FE_HINGE_BODY ? "" : ", in a linkage");
    n = say_motion(&m->motion, linked ? "one" : "it", text, size, n);
    if (linked) n += snprintf(text + n, size - (size_t)n, " against the other");
    if (m->n_loose > 1) n += snprintf(text + n, size - (size_t)n, "; %d bodies in all are loose", m->n_loose);
    return n;
}

void fe_mechanism_say(const fe_mesh *mesh, const fe_mechanism *m, char *text, size_t size)
{
    if (m->hinge != FE_HINGE_NONE) {
        say_hinge(mesh, m, text, size);
        return;
    }
    const int n =
        snprintf(text, size, "part %d of %d of the mesh (%d nodes, among them %lld) %s: ", m->part + 1,
                 m->n_part, m->n_node, (long long)mesh->node_tag[m->example],
                 m->motion.n_free == 6 ? "has no support" : "is not held by its supports");
    say_motion(&m->motion, "it", text, size, n);
}
