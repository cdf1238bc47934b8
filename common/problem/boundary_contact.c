/* The nodes of each entry of "contact", their tributary areas, and whether the entry makes sense where the
 * run begins. */
#include "common/mesh/quadratic.h"
#include "common/problem/boundary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A node may begin so far inside an obstacle, as a share of sqrt(its area). */
static const double most_overlap = 0.1;

typedef struct work {
    const fe_case *c;
    const fe_mesh *mesh;
    const unsigned char *is_fixed; /* [n_node][3] */
    const fe_boundary *b;
    int *first, *elem; /* node→element lists */
    /* the entry at hand: */
    int entry;
    const fe_contact_entry *contact;
    double *area, *young; /* [n_node] area, and E area */
    double *outward;      /* [n_node][3] area vector */
    fe_side_rule *rule;   /* of quadratic sides */
    int n_left_out;
} work;

static double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static double young_of(const work *w, int e)
{
    return w->c->material[w->b->material_of ? w->b->material_of[e] : 0].E;
}

/* A point of the quadrature over a face: s and t are its tangents times the weight. */
static void add_point(work *w, int n, const int *node, const double *shape, const double s[3],
                      const double t[3], double weight, double E)
{
    double area[3];
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        area[i] = weight * (s[j] * t[k] - s[k] * t[j]);
    }
    const double size = sqrt(dot(area, area));
    for (int a = 0; a < n; a++) {
        w->area[node[a]] += shape[a] * size, w->young[node[a]] += E * shape[a] * size;
        for (int i = 0; i < 3; i++) w->outward[3 * (size_t)node[a] + (size_t)i] += shape[a] * area[i];
    }
}

static void add_triangle(work *w, const int *node, double E)
{
    static const double shape[3] = {1. / 3, 1. / 3, 1. / 3};
    const double *x[3];
    double s[3], t[3];
    for (int a = 0; a < 3; a++) x[a] = w->mesh->x + 3 * (size_t)node[a];
    for (int i = 0; i < 3; i++) s[i] = x[1][i] - x[0][i], t[i] = x[2][i] - x[0][i];
    add_point(w, 3, node, shape, s, t, 0.5, E);
}

/* 2x2 Gauss points: exact for a flat face. */
static void add_quadrangle(work *w, const int *node, double E)
{
    static const double corner[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
    for (int q = 0; q < 4; q++) {
        double shape[4], s[3] = {0}, t[3] = {0};
        for (int a = 0; a < 4; a++) {
            const double *x = w->mesh->x + 3 * (size_t)node[a];
            const double fx = 1 + corner[a][0] * corner[q][0] / sqrt(3),
                         fy = 1 + corner[a][1] * corner[q][1] / sqrt(3);
            shape[a] = 0.25 * fx * fy;
            for (int i = 0; i < 3; i++) {
                s[i] += 0.25 * corner[a][0] * fy * x[i];
                t[i] += 0.25 * corner[a][1] * fx * x[i];
            }
        }
        add_point(w, 4, node, shape, s, t, 1.0, E);
    }
}

/* Points at the nodes: contact acts there. So vertices of triangles have no area. */
static fe_status add_quadratic(work *w, int n, const int *node, double E)
{
    if (!w->rule) FE_ALLOCATE(w->rule, 1, "quadrature");
    if (w->rule->n_node != n) fe_side_nodes_make(n, w->rule);
    for (int q = 0; q < n; q++) {
        double s[3] = {0}, t[3] = {0};
        for (int a = 0; a < n; a++)
            for (int i = 0; i < 3; i++) {
                const double x = w->mesh->x[3 * (size_t)node[a] + (size_t)i];
                s[i] += w->rule->gradient[q][a][0] * x, t[i] += w->rule->gradient[q][a][1] * x;
            }
        add_point(w, n, node, w->rule->shape[q], s, t, w->rule->weight[q], E);
    }
    return FE_OK;
}

/* Supports prescribe the displacement of a node along its outward normal, or nearly so. */
static int is_held(const work *w, int node)
{
    const double *N = w->outward + 3 * (size_t)node;
    double free[3];
    for (int i = 0; i < 3; i++) free[i] = w->is_fixed[3 * (size_t)node + (size_t)i] ? 0.0 : N[i];
    return dot(free, free) < 0.01 * dot(N, N);
}

static fe_status add_facets(work *w, const fe_group *group)
{
    const int kind = w->mesh->kind;
    for (int f = 0; f < group->n_facet; f++) {
        const int *facet = group->facet + (size_t)fe_facet_width(kind) * (size_t)f,
                  n = fe_facet_nodes(kind, facet);
        int outward[FE_MOST_FACE], behind = -1;
        const int n_owner = fe_boundary_orient(w->mesh, w->first, w->elem, facet, n, outward, &behind);
        if (n_owner != 1)
            return fe_fail(
                FE_BAD_INPUT,
                "%s: key \"contact[%d].group\": \"%s\": the face at node %lld belongs to %d volume "
                "elements, a face in contact must belong to one",
                w->c->file, w->entry, group->name, (long long)w->mesh->node_tag[facet[0]], n_owner);
        const double E = young_of(w, behind);
        if (n == 3)
            add_triangle(w, outward, E);
        else if (n == 4)
            add_quadrangle(w, outward, E);
        else
            FE_TRY(add_quadratic(w, n, outward, E));
    }
    return FE_OK;
}

/* A face whose nodes are all held cannot be in contact, whatever the obstacle. */
static fe_status check_supports(const work *w, const fe_group *group)
{
    for (int f = 0; f < group->n_facet; f++) {
        const int *facet = group->facet + (size_t)fe_facet_width(w->mesh->kind) * (size_t)f,
                  n = fe_facet_nodes(w->mesh->kind, facet);
        int free = 0;
        for (int a = 0; a < n; a++) free += w->area[facet[a]] > 0 && !is_held(w, facet[a]);
        if (!free)
            return fe_fail(FE_BAD_INPUT,
                           "%s: key \"contact[%d].group\": \"%s\": the face at node %lld is supported in the "
                           "direction of contact",
                           w->c->file, w->entry, group->name, (long long)w->mesh->node_tag[facet[0]]);
    }
    return FE_OK;
}

/* Where the run begins: no node deep inside, and the obstacle in front of the nearest one. */
static fe_status check_obstacle(const work *w, const fe_contact_side *s)
{
    static const double zero[3];
    double least = INFINITY, bend, n[3], nearest[3] = {0};
    int at = -1;
    for (int k = 0; k < s->n; k++) {
        const double gap =
            fe_obstacle_gap(&w->contact->obstacle, w->mesh->x + 3 * (size_t)s->node[k], zero, n, &bend);
        if (!(gap < least)) continue;
        least = gap, at = k;
        memcpy(nearest, n, sizeof nearest);
    }
    if (at < 0) return FE_OK;
    const double *N = w->outward + 3 * (size_t)s->node[at], limit = most_overlap * sqrt(s->area[at]);
    const long long tag = (long long)w->mesh->node_tag[s->node[at]];
    if (dot(nearest, N) > 0.5 * sqrt(dot(N, N)))
        return fe_fail(FE_BAD_INPUT,
                       "%s: key \"contact[%d].obstacle\": lies behind the surface \"%s\", on the body's side "
                       "of it (node %lld, gap %g)",
                       w->c->file, w->entry, w->contact->group, tag, least);
    if (least < -limit)
        return fe_fail(FE_BAD_INPUT,
                       "%s: key \"contact[%d].obstacle\": node %lld of \"%s\" begins %g inside it; at most "
                       "%g, a tenth of the root of its area, is accepted",
                       w->c->file, w->entry, tag, w->contact->group, -least, limit);
    return FE_OK;
}

/* The nodes that have an area and may move along their normal. */
static fe_status collect(work *w, const fe_group *group, fe_contact_side *s)
{
    int n, *node = NULL;
    FE_TRY(fe_group_nodes(w->mesh, group, &n, &node));
    s->node = node;
    FE_ALLOCATE(s->area, n, "contact");
    FE_ALLOCATE(s->young, n, "contact");
    for (int k = 0; k < n; k++) {
        const int at = node[k];
        if (!(w->area[at] > 0)) continue;
        if (is_held(w, at)) {
            w->n_left_out++;
            continue;
        }
        s->node[s->n] = at, s->area[s->n] = w->area[at];
        s->young[s->n++] = w->young[at] / w->area[at];
    }
    return FE_OK;
}

static fe_status apply_entry(work *w, fe_contact_side *s)
{
    const fe_group *group;
    char key[64];
    const size_t n_node = (size_t)w->mesh->n_node;
    snprintf(key, sizeof key, "contact[%d].group", w->entry);
    FE_TRY(fe_boundary_group(w->c, w->mesh, key, w->contact->group, FE_FACES, "faces", &group));
    memset(w->area, 0, n_node * sizeof *w->area), memset(w->young, 0, n_node * sizeof *w->young);
    memset(w->outward, 0, 3 * n_node * sizeof *w->outward);
    FE_TRY(add_facets(w, group));
    FE_TRY(check_supports(w, group));
    FE_TRY(collect(w, group, s));
    return check_obstacle(w, s);
}

static fe_status apply(work *w, fe_boundary *b)
{
    FE_ALLOCATE(w->area, w->mesh->n_node, "contact");
    FE_ALLOCATE(w->young, w->mesh->n_node, "contact");
    FE_ALLOCATE(w->outward, 3 * (size_t)w->mesh->n_node, "contact");
    FE_TRY(fe_mesh_node_elements(w->mesh, &w->first, &w->elem));
    for (w->entry = 0; w->entry < w->c->n_contact; w->entry++) {
        w->contact = &w->c->contact[w->entry];
        b->n_contact++;
        FE_TRY(apply_entry(w, &b->contact[w->entry]));
    }
    if (!w->n_left_out) return FE_OK;
    if (asprintf(&b->contact_note,
                 "%s: \"contact\": %d nodes at the edge of a support are left out: it holds them in the "
                 "direction of contact",
                 w->c->file, w->n_left_out) >= 0)
        return FE_OK;
    b->contact_note = NULL;
    return fe_fail(FE_OUT_OF_MEMORY, "%s: no host memory for a note", w->c->file);
}

fe_status fe_boundary_contact(const fe_case *c, const fe_mesh *mesh, const unsigned char *is_fixed,
                              fe_boundary *b)
{
    work w = {.c = c, .mesh = mesh, .is_fixed = is_fixed, .b = b};
    if (!c->n_contact) return FE_OK;
    FE_ALLOCATE(b->contact, c->n_contact, "contact");
    const fe_status status = apply(&w, b);
    free(w.area), free(w.young), free(w.outward), free(w.rule), free(w.first), free(w.elem);
    return status;
}
