/* Supports, reaction groups and probes of a problem, evaluated on a mesh. Loads and materials are in files of
 * their own (boundary.h). */
#include "common/problem/boundary.h"
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
    int n_contradiction;     /* components that a later support sets to something else */
} work;

static void close_work(work *w)
{
    free(w->is_fixed);
    free(w->value);
    free(w->owner);
}

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
    char key[64];
    snprintf(key, sizeof key, "dirichlet[%d].group", s);
    FE_TRY(fe_boundary_group(w->c, w->mesh, key, support->group, FE_ANY_DIMENSION, "", &group));
    FE_TRY(fe_group_nodes(w->mesh, group, &n, &node));
    fe_status status = FE_OK;
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
        return fe_fail(
            FE_BAD_INPUT, "%s: key \"dirichlet\": there is no support at all%s", w->c->file,
            w->c->n_contact ? "; a group in contact does not count as one, because contact may open" : "");
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
            w->c->file, m.n_unknown, fe_boundary_mesh(w->mesh)) < 0)
        b->note = NULL;
    if (!m.moves) return FE_OK;
    fe_mechanism_say(w->mesh, &m, motion, sizeof motion);
    return fe_fail(FE_BAD_INPUT, "%s: key \"dirichlet\": %s%s", w->c->file, motion,
                   w->c->n_contact ? "; contact does not hold it, because it may open" : "");
}

/* --- loads ------------------------------------------------------------------------------------------- */

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
    FE_TRY(fe_boundary_loads(w->c, w->mesh, b));
    FE_TRY(sum_loads(w, b));
    FE_TRY(fe_boundary_materials(w->c, w->mesh, b));
    FE_TRY(fe_boundary_contact(w->c, w->mesh, w->is_fixed, b));
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
    for (int k = 0; k < b->n_contact; k++)
        free(b->contact[k].node), free(b->contact[k].area), free(b->contact[k].young);
    free(b->contact);
    free(b->fixed);
    free(b->value);
    free(b->path);
    free(b->load);
    free(b->total);
    free(b->reaction);
    free(b->probe);
    free(b->probe_distance);
    free(b->material_of);
    free(b->material_note);
    free(b->contact_note);
    free(b->note);
    *b = (fe_boundary){0};
}
