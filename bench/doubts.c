/* See doubts.h. */
#include "bench/doubts.h"

#include "common/report/locking.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of plain linear elements: said once, before the first step (step NULL) or where much has yielded. */
static void note_linear_locking(doubts *d, const fe_result *r, const fe_step_result *step)
{
    const fe_case *c = r->problem;
    const fe_mesh *mesh = r->mesh;
    const double points =
        (double)mesh->n_elem * (mesh->kind == FE_TET4 ? d->tet_points : fe_points(mesh->kind));
    const double share = step ? (double)step->plastic_gp / points : 0;
    fe_locking kind = FE_LOCKING_NONE;
    int at = 0; /* the material */
    for (int i = 0; i < c->n_material && kind == FE_LOCKING_NONE; i++)
        kind = fe_locking_of(&c->material[at = i], c->elastic, step ? step->max_peeq : 0, share);
    if (d->said_locking || kind == FE_LOCKING_NONE) return;
    d->said_locking = 1;
    if (kind == FE_LOCKING_ELASTIC)
        fe_note(
            "nu = %g: plain linear elements lock, coarse meshes are several times too stiff; compare with a "
            "finer mesh (docs/models.md, Locking)",
            c->material[at].nu);
    else
        fe_note(
            "load step %d: %.0f %% of the points have yielded and hardly harden: plain linear elements lock, "
            "coarse meshes carry too much; compare with a finer mesh (docs/models.md, Locking)",
            step->step, 100 * share);
}

/* Poisson's ratio, of all materials the largest. */
static double largest_nu(const fe_case *c)
{
    double nu = -1.0;
    for (int i = 0; i < c->n_material; i++) nu = fmax(nu, c->material[i].nu);
    return nu;
}

/* With its 27 points a Hex27 locks as well, where hardly any change of volume is left (docs/models.md). */
static void note_hex27_locking(const fe_case *c)
{
    static const double least = 0.4999;
    const double nu = largest_nu(c);
    if (nu >= least)
        fe_note(
            "nu = %.10g: hex27 locks, a coarse mesh can be far too stiff; compare with tet10 or a finer mesh "
            "(docs/models.md, Locking)",
            nu);
}

static void note_locking(doubts *d, const fe_result *r, const fe_step_result *step)
{
    const int kind = r->mesh->kind;
    if (!fe_is_quadratic(kind)) note_linear_locking(d, r, step);
    if (kind == FE_HEX27 && !step) note_hex27_locking(r->problem);
}

static double distance(const double *a, const double *b)
{
    const double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    return sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
}

/* Strains are differences of coordinates: of those far from the origin few digits are left. */
static void note_offset(const fe_mesh *mesh)
{
    static const double most = 1e-8; /* of a coordinate's rounding over the shortest element */
    const int n = fe_corners(mesh->kind);
    double farthest = 0.0, shortest = INFINITY;
    for (size_t i = 0; i < 3 * (size_t)mesh->n_node; i++) farthest = fmax(farthest, fabs(mesh->x[i]));
    for (int e = 0; e < mesh->n_elem; e++) {
        const int *node = mesh->conn + (size_t)n * (size_t)e;
        double length = 0.0;
        for (int i = 1; i < n; i++)
            length = fmax(length, distance(mesh->x + 3 * (size_t)node[0], mesh->x + 3 * (size_t)node[i]));
        shortest = fmin(shortest, length);
    }
    if (DBL_EPSILON * farthest > most * shortest)
        fe_note("coordinates reach %.3g, and there are elements of %.3g: strains keep about %.0f digits; "
                "move the mesh to the origin",
                farthest, shortest, fmax(0.0, floor(-log10(DBL_EPSILON * farthest / shortest))));
}

/* Of each node that a probe takes, in `reach`: how far the farthest node of its elements is. Others keep 0.
 */
static void measure_reach(const fe_mesh *mesh, const fe_boundary *b, double *reach)
{
    const int n = fe_corners(mesh->kind);
    for (int p = 0; p < b->n_probe; p++) reach[b->probe[p]] = DBL_MIN; /* marks it */
    for (int e = 0; e < mesh->n_elem; e++) {
        const int *node = mesh->conn + (size_t)n * (size_t)e;
        for (int i = 0; i < n; i++) {
            const double *x = mesh->x + 3 * (size_t)node[i];
            if (reach[node[i]] == 0.0) continue;
            for (int j = 0; j < n; j++)
                reach[node[i]] = fmax(reach[node[i]], distance(x, mesh->x + 3 * (size_t)node[j]));
        }
    }
}

/* A probe takes the nearest node, however far that is: said of the farthest probe that lies beyond all
 * elements of its node. */
static fe_status note_probes(const fe_result *r)
{
    const fe_boundary *b = r->boundary;
    int farthest = -1;
    double *reach;
    char name[64];
    if (!b->n_probe) return FE_OK;
    FE_ALLOCATE(reach, r->mesh->n_node, "reach of probes");
    measure_reach(r->mesh, b, reach);
    for (int p = 0; p < b->n_probe; p++)
        if (b->probe_distance[p] > reach[b->probe[p]] &&
            (farthest < 0 || b->probe_distance[p] > b->probe_distance[farthest]))
            farthest = p;
    free(reach);
    if (farthest < 0) return FE_OK;
    const double *x = r->mesh->x + 3 * (size_t)b->probe[farthest];
    snprintf(name, sizeof name, "%s", r->problem->probe[farthest].name);
    fe_note(
        "\"probes.%s\": the nearest node, at (%g, %g, %g), is %.3g away, farther than its elements reach; "
        "its displacement is taken",
        fe_printable(name), x[0], x[1], x[2], b->probe_distance[farthest]);
    return FE_OK;
}

/* Sizes of all nodal loads of a step, in the direction in which their sum is the largest. */
static double size_of_loads(const fe_result *r, const fe_step_result *step)
{
    double size[3] = {0.0, 0.0, 0.0};
    for (int p = 0; p < r->boundary->n_path; p++) {
        const double *load = r->boundary->load[p];
        for (int n = 0; load && n < r->mesh->n_node; n++)
            for (int i = 0; i < 3; i++) size[i] += fabs(step->factor[p] * load[3 * (size_t)n + (size_t)i]);
    }
    return fmax(fmax(size[0], size[1]), size[2]);
}

/* Equilibrium is reached beside the largest force so far. Loads that are as small as what is left of it, in
 * one direction or in a later step, have no answer of their own: said once, where a hundredth of them is not
 * balanced. Sums of loads that cancel are no loads. */
static void note_balance(doubts *d, const fe_result *r, const fe_step_result *step)
{
    static const double part = 0.01, least = 1e-12;
    double load[3], left[3];
    fe_result_applied(r, step, load);
    for (int i = 0; i < 3; i++) {
        left[i] = load[i] + step->total_reaction[i];
        for (int k = 0; k < r->boundary->n_contact; k++) left[i] += step->contact[k].force[i];
        d->largest_load = fmax(d->largest_load, fabs(load[i]));
    }
    for (int i = 0; i < 3 && !d->said_balance; i++) {
        if (fabs(load[i]) <= least * d->largest_load || fabs(left[i]) <= part * fabs(load[i])) continue;
        if (fabs(load[i]) <= least * size_of_loads(r, step)) continue;
        d->said_balance = 1;
        fe_note(
            "load step %d: loads of %g in %c differ by %.2g from what supports take: they are small beside "
            "the largest forces, and what they alone move is not known; --tolerance 1e-12 tells more",
            step->step, load[i], "xyz"[i], fabs(left[i]));
    }
}

/* Where an obstacle is in a load step, 0: at rest before the first one. */
static fe_obstacle obstacle_at(const fe_case *c, const fe_contact_entry *entry, int step)
{
    fe_obstacle o = entry->obstacle;
    for (int i = 0; i < 3; i++)
        o.moved[i] = step ? c->path[entry->path].factor[step - 1] * entry->move[i] : 0.0;
    return o;
}

/* A ball or cylinder pushes a node away from its centre. Where the centre has passed a node within an
 * increment, it pushes to the wrong side, or has left the node behind: said once, by the nodes' first places.
 */
static void note_passed(doubts *d, const fe_result *r, const fe_step_result *step, int k)
{
    const fe_contact_entry *entry = &r->problem->contact[k];
    const fe_contact_side *side = &r->boundary->contact[k];
    const fe_obstacle before = obstacle_at(r->problem, entry, step->step - 1),
                      now = obstacle_at(r->problem, entry, step->step);
    double move[3];
    for (int i = 0; i < 3; i++) move[i] = now.moved[i] - before.moved[i];
    fe_obstacle_across(&now, move);
    const double length = sqrt(move[0] * move[0] + move[1] * move[1] + move[2] * move[2]);
    if (d->said_passed || now.kind == FE_PLANE || length / step->substeps <= now.radius) return;
    for (int j = 0; j < side->n; j++) {
        const double *x = r->mesh->x + 3 * (size_t)side->node[j];
        double arm[3], ahead = 0.0, beside = 0.0;
        for (int i = 0; i < 3; i++) arm[i] = x[i] - before.at[i] - before.moved[i];
        fe_obstacle_across(&now, arm);
        for (int i = 0; i < 3; i++) ahead += arm[i] * move[i] / length, beside += arm[i] * arm[i];
        if (ahead <= 0.0 || ahead >= length || beside - ahead * ahead >= now.radius * now.radius) continue;
        d->said_passed = 1;
        fe_note("load step %d: the obstacle of \"contact[%d]\" moves by %g at once, more than its radius %g, "
                "past nodes of \"%s\": it may push them to the wrong side; take more load steps "
                "(docs/contact.md)",
                step->step, k, length, now.radius, entry->group);
        return;
    }
}

/* The augmented method ends with nodes on the obstacle. Where supports hold a node, or the tolerance is wide,
 * some stay inside, and its force is the penalty's. */
static void note_overlap(doubts *d, const fe_result *r, const fe_step_result *step, int k)
{
    static const double part = 0.01;
    const fe_contact_entry *entry = &r->problem->contact[k];
    const fe_contact_side *side = &r->boundary->contact[k];
    const fe_contact_result *found = &step->contact[k];
    double penalty = INFINITY; /* the least of its nodes: pressure over overlap */
    if (d->said_overlap || !entry->augmented) return;
    for (int j = 0; j < side->n; j++)
        if (side->area[j] > 0.0)
            penalty = fmin(penalty, entry->stiffness * side->young[j] / sqrt(side->area[j]));
    if (!(penalty * found->max_overlap > part * found->max_pressure)) return;
    d->said_overlap = 1;
    fe_note(
        "load step %d: nodes of \"%s\" stay inside the obstacle of \"contact[%d]\", by up to %.2g: supports "
        "hold them there, so that forces of contact follow from its \"penalty\"; leave them out of the "
        "group, or free them (docs/contact.md)",
        step->step, entry->group, k, found->max_overlap);
}

fe_status doubts_begin(doubts *d, const fe_result *r)
{
    note_offset(r->mesh);
    note_locking(d, r, NULL);
    return note_probes(r);
}

void doubts_step(doubts *d, const fe_result *r, const fe_step_result *step)
{
    note_locking(d, r, step);
    note_balance(d, r, step);
    for (int k = 0; k < r->boundary->n_contact; k++) note_passed(d, r, step, k), note_overlap(d, r, step, k);
}

void doubts_explain(const fe_result *r, char message[FE_MESSAGE_LENGTH])
{
    const double nu = largest_nu(r->problem), bulk = 2.0 / 3.0 * (1.0 + nu) / (1.0 - 2.0 * nu);
    const size_t n = strlen(message);
    if (nu < 0.4999 || strcmp(r->status, "not_converged")) return;
    snprintf(
        message + n, FE_MESSAGE_LENGTH - n,
        "; key \"material.nu\" is %.15g: near 0.5 linear solves lose digits (the bulk modulus is %.1e times "
        "the shear modulus) and linear elements lock; take 0.49 to 0.499",
        nu, bulk);
}
