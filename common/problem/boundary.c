/* Supports, loads, reaction groups and probes of a problem, evaluated on a mesh.
 *
 * A face load is a consistent nodal load: f_a = ∫ N_a t dA over the undeformed face. The volume element of a
 * face tells the outward direction, so the corner order in the mesh file does not matter. */
#include "common/problem/case.h"
#include "common/problem/expression.h"
#include "common/problem/mechanism.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct work {
    const fe_case *c;
    const fe_mesh *mesh;
    unsigned char *is_fixed; /* [n_node][3] */
    double *value;           /* [n_node][3] displacement at factor 1 of fixed components */
    int *owner;              /* [n_node][3] support that fixes them */
    int *first, *elem;       /* node→element lists, for loads */
    int n_contradiction;     /* components that a later support sets to something else */
} work;

static void close_work(work *w)
{
    free(w->is_fixed);
    free(w->value);
    free(w->owner);
    free(w->first);
    free(w->elem);
}

static const char *mesh_name(const work *w) { return w->mesh->path ? w->mesh->path : "the mesh"; }

/* fe_mesh_group chooses among dimensions; two groups of one dimension cannot be told apart. */
static fe_status check_unique(const work *w, const char *list, int index, const fe_group *group)
{
    for (int g = 0; g < w->mesh->n_group; g++) {
        const fe_group *other = &w->mesh->group[g];
        if (other == group || other->dim != group->dim || strcmp(other->name, group->name)) continue;
        return fe_fail(
            FE_BAD_INPUT,
            "%s: key \"%s[%d].group\": \"%s\" names two groups of %s, %d:%d and %d:%d; they need names of "
            "their own",
            w->c->file, list, index, group->name, mesh_name(w), group->dim, group->number, other->dim,
            other->number);
    }
    return FE_OK;
}

static fe_status find_group(const work *w, const char *list, int index, const char *name,
                            const fe_group **group)
{
    *group = fe_mesh_group(w->mesh, name);
    if (*group) return check_unique(w, list, index, *group);
    char names[512] = "";
    size_t used = 0;
    for (int g = 0; g < w->mesh->n_group && used < sizeof names; g++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", g ? ", " : "",
                                 w->mesh->group[g].name);
    return fe_fail(FE_BAD_INPUT, "%s: key \"%s[%d].group\": \"%s\" is not in %s; its groups are: %s%s",
                   w->c->file, list, index, name, mesh_name(w), used ? names : "none",
                   fe_mesh_alike(w->mesh, name));
}

/* --- supports ---------------------------------------------------------------------------------------- */

/* Puts file, key, group and text before the message of an expression. */
static fe_status refuse_expression(const fe_case *c, int s, int i, fe_status status)
{
    char reason[FE_MESSAGE_LENGTH];
    const fe_support *support = &c->support[s];
    snprintf(reason, sizeof reason, "%s", fe_message());
    return fe_fail(status, "%s: key \"dirichlet[%d].u.%c\", group \"%.100s\": \"%.120s\"%s", c->file, s,
                   "xyz"[i], support -> group, support -> expression[i], reason);
}

/* A later support is not asked, but two that do not agree are worth telling: values, and paths of values that
 * are not 0. The same formula gives the same value but for rounding. */
static fe_status compare_supports(work *w, fe_boundary *b, int s, size_t slot, double value)
{
    const int first = w->owner[slot], i = (int)(slot % 3);
    const double held = w->value[slot], size = fmax(fabs(held), fabs(value));
    const int same_path = w->c->support[first].path == w->c->support[s].path;
    if (fabs(value - held) <= 1e-12 * size && (same_path || size == 0)) return FE_OK;
    if (w->n_contradiction++) return FE_OK;
    if (asprintf(&b->note,
                 "%s: \"dirichlet[%d].u.%c\" is %g at node %lld of group \"%.100s\", where \"dirichlet[%d]\" "
                 "of group "
                 "\"%.100s\" sets %g%s: the first one holds",
                 w->c->file, s, "xyz"[i], value, (long long)w -> mesh -> node_tag[slot / 3],
                 w -> c -> support[s].group, first, w->c->support[first].group, held,
                 same_path ? "" : " on another path") >= 0)
        return FE_OK;
    b->note = NULL;
    return fe_fail(FE_OUT_OF_MEMORY, "%s: no host memory for a note", w->c->file);
}

static fe_status fix_node(work *w, fe_boundary *b, int s, int i, int node, fe_expression *e)
{
    const size_t slot = 3 * (size_t)node + (size_t)i;
    const double *x = w->mesh->x + 3 * (size_t)node;
    double value = 0;
    const fe_status status = fe_expression_value(e, x, &value);
    if (status != FE_OK) return refuse_expression(w->c, s, i, status);
    if (w->is_fixed[slot]) return compare_supports(w, b, s, slot, value);
    if (!isfinite(value)) {
        fe_fail(FE_BAD_INPUT, " is %g at node %lld (%g, %g, %g)", value, (long long)w->mesh->node_tag[node],
                x[0], x[1], x[2]);
        return refuse_expression(w->c, s, i, FE_BAD_INPUT);
    }
    w->is_fixed[slot] = 1;
    w->owner[slot] = s;
    w->value[slot] = value;
    return FE_OK;
}

/* Fixes component i of the nodes of support s that no earlier support has fixed. */
static fe_status fix_component(work *w, fe_boundary *b, int s, int i, int n, const int *node)
{
    fe_expression *e;
    fe_status status = fe_expression_open(w->c->support[s].expression[i], &e);
    if (status != FE_OK) status = refuse_expression(w->c, s, i, status);
    for (int k = 0; k < n && status == FE_OK; k++) status = fix_node(w, b, s, i, node[k], e);
    fe_expression_close(e);
    return status;
}

/* Records that the forces of component i over a group's nodes are summed, once for each (group, i). */
static fe_status add_reaction(fe_boundary *b, const char *group, int i, int n, const int *node)
{
    for (int k = 0; k < b->n_reaction; k++)
        if (b->reaction[k].component == i && strcmp(b->reaction[k].group, group) == 0) return FE_OK;
    fe_reaction *r = &b->reaction[b->n_reaction++];
    r->group = group;
    r->component = i;
    r->n = n;
    FE_ALLOCATE(r->node, n, "reaction nodes");
    memcpy(r->node, node, (size_t)n * sizeof *node);
    return FE_OK;
}

static fe_status apply_support(work *w, int s, fe_boundary *b)
{
    const fe_support *support = &w->c->support[s];
    const fe_group *group;
    int n = 0, *node = NULL;
    FE_TRY(find_group(w, "dirichlet", s, support->group, &group));
    FE_TRY(fe_group_nodes(w->mesh, group, &n, &node));
    fe_status status = FE_OK;
    if (!n)
        status =
            fe_fail(FE_BAD_INPUT, "%s: key \"dirichlet[%d].group\": \"%s\" is empty: no part of %s is in it",
                    w->c->file, s, support->group, mesh_name(w));
    for (int i = 0; i < 3 && status == FE_OK; i++) {
        if (!support->expression[i]) continue;
        status = fix_component(w, b, s, i, n, node);
        if (status == FE_OK) status = add_reaction(b, support->group, i, n, node);
    }
    free(node);
    return status;
}

static fe_status apply_supports(work *w, fe_boundary *b)
{
    const size_t n_slot = 3 * (size_t)w->mesh->n_node;
    if (n_slot > INT_MAX)
        return fe_fail(FE_BAD_INPUT, "%s: %d nodes are more than %d", w->c->file, w->mesh->n_node,
                       INT_MAX / 3);
    FE_ALLOCATE(w->is_fixed, n_slot, "supports");
    FE_ALLOCATE(w->value, n_slot, "supports");
    FE_ALLOCATE(w->owner, n_slot, "supports");
    FE_ALLOCATE(b->reaction, 3 * (size_t)w->c->n_support, "reactions");
    for (int s = 0; s < w->c->n_support; s++) FE_TRY(apply_support(w, s, b));

    for (size_t k = 0; k < n_slot; k++) b->n_fixed += w->is_fixed[k];
    if (!b->n_fixed)
        return fe_fail(FE_BAD_INPUT, "%s: key \"dirichlet\": there is no support at all", w->c->file);
    FE_ALLOCATE(b->fixed, b->n_fixed, "supports");
    FE_ALLOCATE(b->value, b->n_fixed, "supports");
    FE_ALLOCATE(b->path, b->n_fixed, "supports");
    for (size_t k = 0, f = 0; k < n_slot; k++) {
        if (!w->is_fixed[k]) continue;
        b->fixed[f] = (int)k;
        b->value[f] = w->value[k];
        b->path[f++] = w->c->support[w->owner[k]].path;
    }
    return FE_OK;
}

/* Every connected part of the mesh has to be held against rigid motions, and bodies that share no faces
 * against turning about what they share, or the operator is singular. */
static fe_status check_parts(const work *w, fe_boundary *b)
{
    fe_mechanism m;
    char motion[FE_MESSAGE_LENGTH];
    FE_TRY(fe_mechanism_find(w->mesh, w->is_fixed, &m));
    if (m.n_unknown && !b->note &&
        asprintf(
            &b->note,
            "%s: %d bodies of %s are joined by edges and nodes only; whether they hold each other was not "
            "examined",
            w->c->file, m.n_unknown, mesh_name(w)) < 0)
        b->note = NULL;
    if (!m.moves) return FE_OK;
    fe_mechanism_say(w->mesh, &m, motion, sizeof motion);
    return fe_fail(FE_BAD_INPUT, "%s: key \"dirichlet\": %s", w->c->file, motion);
}

/* --- loads ------------------------------------------------------------------------------------------- */

static int same_nodes(int n, const int *p, const int *q)
{
    int found = 0;
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++) found += p[a] == q[b];
    return found == n;
}

/* The facet's nodes in the order in which the element behind it sees them from outside. Returns how many
 * elements have it as a face. */
static int orient_facet(const work *w, const int *facet, int n, int outward[4])
{
    const int n_face = fe_faces(w->mesh->kind);
    int n_owner = 0;
    for (int k = w->first[facet[0]]; k < w->first[facet[0] + 1]; k++)
        for (int f = 0; f < n_face; f++) {
            int node[4];
            if (fe_element_face(w->mesh, w->elem[k], f, node) != n || !same_nodes(n, facet, node)) continue;
            memcpy(outward, node, sizeof node);
            n_owner++;
        }
    return n_owner;
}

/* load[a] += t N_a w |n| for a traction, -p N_a w n for a pressure, at one point with area vector w n. */
static void add_point(const fe_load *l, int n, const int *node, const double *shape, const double area[3],
                      double *load)
{
    const double size = sqrt(area[0] * area[0] + area[1] * area[1] + area[2] * area[2]);
    for (int a = 0; a < n; a++)
        for (int i = 0; i < 3; i++)
            load[3 * (size_t)node[a] + (size_t)i] +=
                shape[a] * (l->is_pressure ? -l->pressure * area[i] : l->traction[i] * size);
}

static void cross(const double a[3], const double b[3], double scale, double out[3])
{
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        out[i] = scale * (a[j] * b[k] - a[k] * b[j]);
    }
}

static void add_triangle(const fe_load *l, const fe_mesh *mesh, const int *node, double *load)
{
    static const double shape[3] = {1. / 3, 1. / 3, 1. / 3};
    const double *x0 = mesh->x + 3 * (size_t)node[0], *x1 = mesh->x + 3 * (size_t)node[1],
                 *x2 = mesh->x + 3 * (size_t)node[2];
    double s[3], t[3], area[3];
    for (int i = 0; i < 3; i++) {
        s[i] = x1[i] - x0[i];
        t[i] = x2[i] - x0[i];
    }
    cross(s, t, 0.5, area);
    add_point(l, 3, node, shape, area, load);
}

/* 2x2 Gauss points on the bilinear surface x(ξ, η): exact for pressure, where N_a ∂x/∂ξ × ∂x/∂η is at most
 * quadratic in ξ and in η; for traction the points define the area. */
static void add_quadrangle(const fe_load *l, const fe_mesh *mesh, const int *node, double *load)
{
    static const double corner[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
    for (int q = 0; q < 4; q++) {
        const double xi = corner[q][0] / sqrt(3), eta = corner[q][1] / sqrt(3);
        double shape[4], s[3] = {0}, t[3] = {0}, area[3];
        for (int a = 0; a < 4; a++) {
            const double *x = mesh->x + 3 * (size_t)node[a];
            const double fx = 1 + corner[a][0] * xi, fy = 1 + corner[a][1] * eta;
            shape[a] = 0.25 * fx * fy;
            for (int i = 0; i < 3; i++) {
                s[i] += 0.25 * corner[a][0] * fy * x[i];
                t[i] += 0.25 * corner[a][1] * fx * x[i];
            }
        }
        cross(s, t, 1, area);
        add_point(l, 4, node, shape, area, load);
    }
}

/* "1, 2, 3": the tags of a facet's nodes. */
static void facet_tags(const fe_mesh *mesh, const int *facet, int n, char text[96])
{
    for (int a = 0, used = 0; a < n; a++)
        used += snprintf(text + used, 96 - (size_t)used, "%s%lld", a ? ", " : "",
                         (long long)mesh->node_tag[facet[a]]);
}

static fe_status apply_load(const work *w, int k, fe_boundary *b)
{
    const fe_load *l = &w->c->load[k];
    const fe_group *group;
    FE_TRY(find_group(w, "neumann", k, l->group, &group));
    if (group->dim != 2)
        return fe_fail(FE_BAD_INPUT,
                       "%s: key \"neumann[%d].group\": \"%s\" has no faces (its dimension is %d)", w->c->file,
                       k, l->group, group->dim);
    if (!group->n_facet)
        return fe_fail(FE_BAD_INPUT, "%s: key \"neumann[%d].group\": \"%s\" is empty: no face of %s is in it",
                       w->c->file, k, l->group, mesh_name(w));
    if (!b->load[l->path]) FE_ALLOCATE(b->load[l->path], 3 * (size_t)w->mesh->n_node, "loads");
    for (int f = 0; f < group->n_facet; f++) {
        const int *facet = group->facet + 4 * (size_t)f, n = facet[3] < 0 ? 3 : 4;
        int outward[4];
        const int n_owner = orient_facet(w, facet, n, outward);
        if (n_owner != 1) {
            char tags[96];
            facet_tags(w->mesh, facet, n, tags);
            return fe_fail(
                FE_BAD_INPUT,
                "%s: key \"neumann[%d].group\": \"%s\": the face with nodes %s belongs to %d volume "
                "elements, a loaded face must belong to one",
                w->c->file, k, l->group, tags, n_owner);
        }
        if (n == 3)
            add_triangle(l, w->mesh, outward, b->load[l->path]);
        else
            add_quadrangle(l, w->mesh, outward, b->load[l->path]);
    }
    return FE_OK;
}

static fe_status apply_loads(work *w, fe_boundary *b)
{
    FE_ALLOCATE(b->load, w->c->n_path, "loads");
    b->n_path = w->c->n_path;
    if (!w->c->n_load) return FE_OK;
    FE_TRY(fe_mesh_node_elements(w->mesh, &w->first, &w->elem));
    for (int k = 0; k < w->c->n_load; k++) FE_TRY(apply_load(w, k, b));
    return FE_OK;
}

/* The resultant of each path's loads at factor 1. */
static fe_status sum_loads(const work *w, fe_boundary *b)
{
    FE_ALLOCATE(b->total, b->n_path, "loads");
    for (int p = 0; p < b->n_path; p++)
        for (int n = 0; b->load[p] && n < w->mesh->n_node; n++)
            for (int i = 0; i < 3; i++) b->total[p][i] += b->load[p][3 * (size_t)n + (size_t)i];
    return FE_OK;
}

/* --- probes ------------------------------------------------------------------------------------------ */

static fe_status place_probes(const work *w, fe_boundary *b)
{
    FE_ALLOCATE(b->probe, w->c->n_probe, "probes");
    FE_ALLOCATE(b->probe_distance, w->c->n_probe, "probes");
    b->n_probe = w->c->n_probe;
    for (int p = 0; p < b->n_probe; p++) {
        const double *wanted = w->c->probe[p].x;
        double nearest = INFINITY;
        for (int n = 0; n < w->mesh->n_node; n++) {
            const double *x = w->mesh->x + 3 * (size_t)n;
            const double d[3] = {x[0] - wanted[0], x[1] - wanted[1], x[2] - wanted[2]};
            const double square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
            if (!(square < nearest)) continue;
            nearest = square;
            b->probe[p] = n;
        }
        b->probe_distance[p] = sqrt(nearest);
    }
    return FE_OK;
}

static fe_status apply(work *w, fe_boundary *b)
{
    FE_TRY(apply_supports(w, b));
    FE_TRY(check_parts(w, b));
    FE_TRY(apply_loads(w, b));
    FE_TRY(sum_loads(w, b));
    return place_probes(w, b);
}

fe_status fe_boundary_apply(const fe_case *c, const fe_mesh *mesh, fe_boundary *b)
{
    *b = (fe_boundary){0};
    work w = {.c = c, .mesh = mesh};
    const fe_status status = apply(&w, b);
    close_work(&w);
    if (status != FE_OK) fe_boundary_close(b);
    return status;
}

void fe_boundary_close(fe_boundary *b)
{
    for (int p = 0; b->load && p < b->n_path; p++) free(b->load[p]);
    for (int r = 0; r < b->n_reaction; r++) free(b->reaction[r].node);
    free(b->fixed);
    free(b->value);
    free(b->path);
    free(b->load);
    free(b->total);
    free(b->reaction);
    free(b->probe);
    free(b->probe_distance);
    free(b->note);
    *b = (fe_boundary){0};
}
