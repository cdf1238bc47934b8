/* Loads of a problem as nodal forces, f_a = ∫ N_a f over undeformed faces, volumes and lines, with the shape
 * functions of what carries them; and forces on points.
 *
 * The volume element of a face tells the outward direction, so the corner order in the mesh file does not
 * matter. */
#include "common/mesh/quadratic.h"
#include "common/problem/boundary.h"
#include "common/problem/expression.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct work {
    const fe_case *c;
    const fe_mesh *mesh;
    int *first, *elem; /* node→element lists */
    /* the load at hand: */
    const fe_load *load;
    fe_expression *expression[3];
    double *force;      /* [n_node][3] what it adds to */
    fe_side_rule *rule; /* the last one of quadratic lines, sides or elements */
} work;

/* --- values of a load ---------------------------------------------------------------------------------- */

static int n_value(const fe_load *l) { return l->kind == FE_LOAD_PRESSURE ? 1 : 3; }

/* The key of number i of the load. */
static const char *key_of(const fe_load *l, int i, char key[96])
{
    const char *name = l->kind == FE_LOAD_PRESSURE   ? "pressure"
                       : l->kind == FE_LOAD_TRACTION ? "traction"
                                                     : "force";
    int n = snprintf(key, 96, "%s[%d].%s", fe_load_list(l->kind), l->entry, name);
    if (n_value(l) == 3) snprintf(key + n, 96 - (size_t)n, "[%d]", i);
    return key;
}

/* Puts file, key and text before the message of an expression. */
static fe_status refuse_expression(const work *w, int i, fe_status status)
{
    char reason[FE_MESSAGE_LENGTH], key[96];
    snprintf(reason, sizeof reason, "%s", fe_message());
    return fe_fail(status, "%s: key \"%s\": \"%.120s\"%s", w->c->file, key_of(w->load, i, key),
                   w->load->expression[i], reason);
}

static fe_status open_values(work *w)
{
    for (int i = 0; i < n_value(w->load); i++) {
        if (!w->load->expression[i]) continue;
        const fe_status status = fe_expression_open(w->load->expression[i], &w->expression[i]);
        if (status != FE_OK) return refuse_expression(w, i, status);
    }
    return FE_OK;
}

static void close_values(work *w)
{
    for (int i = 0; i < 3; i++) {
        if (w->expression[i]) fe_expression_close(w->expression[i]);
        w->expression[i] = NULL;
    }
}

static int has_expression(const work *w) { return w->expression[0] || w->expression[1] || w->expression[2]; }

/* The load's numbers at a point. */
static fe_status values_at(const work *w, const double x[3], double value[3])
{
    for (int i = 0; i < 3; i++) {
        value[i] = w->load->value[i];
        if (!w->expression[i]) continue;
        const fe_status status = fe_expression_value(w->expression[i], x, &value[i]);
        if (status != FE_OK) return refuse_expression(w, i, status);
        if (isfinite(value[i])) continue;
        fe_fail(FE_BAD_INPUT, " is %g at (%g, %g, %g)", value[i], x[0], x[1], x[2]);
        return refuse_expression(w, i, FE_BAD_INPUT);
    }
    return FE_OK;
}

/* A point of the quadrature: force[a] += N_a f weight, with the load's value f there. */
static fe_status add_point(work *w, int n, const int *node, const double *shape, double weight)
{
    double x[3] = {0}, value[3];
    for (int a = 0; a < n; a++)
        for (int i = 0; i < 3; i++) x[i] += shape[a] * w->mesh->x[3 * (size_t)node[a] + (size_t)i];
    FE_TRY(values_at(w, x, value));
    for (int a = 0; a < n; a++)
        for (int i = 0; i < 3; i++) w->force[3 * (size_t)node[a] + (size_t)i] += shape[a] * value[i] * weight;
    return FE_OK;
}

/* --- faces --------------------------------------------------------------------------------------------- */

static int same_nodes(int n, const int *p, const int *q)
{
    int found = 0;
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++) found += p[a] == q[b];
    return found == n;
}

int fe_boundary_orient(const fe_mesh *mesh, const int *first, const int *elem, const int *facet, int n,
                       int outward[FE_MOST_FACE], int *behind)
{
    const int n_face = fe_faces(mesh->kind);
    int n_owner = 0;
    for (int k = first[facet[0]]; k < first[facet[0] + 1]; k++)
        for (int f = 0; f < n_face; f++) {
            int node[FE_MOST_FACE];
            if (fe_element_face(mesh, elem[k], f, node) != n || !same_nodes(n, facet, node)) continue;
            memcpy(outward, node, (size_t)n * sizeof *node);
            *behind = elem[k];
            n_owner++;
        }
    return n_owner;
}

static void cross(const double a[3], const double b[3], double scale, double out[3])
{
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        out[i] = scale * (a[j] * b[k] - a[k] * b[j]);
    }
}

/* The same of a traction, or of a pressure, -p N_a; area: the point's area vector. */
static fe_status add_face_point(work *w, int n, const int *node, const double *shape, const double area[3])
{
    const double size = sqrt(area[0] * area[0] + area[1] * area[1] + area[2] * area[2]);
    if (w->load->kind == FE_LOAD_TRACTION) return add_point(w, n, node, shape, size);
    double x[3] = {0}, value[3];
    for (int a = 0; a < n; a++)
        for (int i = 0; i < 3; i++) x[i] += shape[a] * w->mesh->x[3 * (size_t)node[a] + (size_t)i];
    FE_TRY(values_at(w, x, value));
    for (int a = 0; a < n; a++)
        for (int i = 0; i < 3; i++)
            w->force[3 * (size_t)node[a] + (size_t)i] += shape[a] * (-value[0] * area[i]);
    return FE_OK;
}

/* One point, or for expressions three, which are exact for a linear one. */
static fe_status add_triangle(work *w, const int *node)
{
    const double *x0 = w->mesh->x + 3 * (size_t)node[0], *x1 = w->mesh->x + 3 * (size_t)node[1],
                 *x2 = w->mesh->x + 3 * (size_t)node[2];
    const int n = has_expression(w) ? 3 : 1;
    double s[3], t[3], area[3];
    for (int i = 0; i < 3; i++) {
        s[i] = x1[i] - x0[i];
        t[i] = x2[i] - x0[i];
    }
    cross(s, t, 0.5 / n, area);
    for (int q = 0; q < n; q++) {
        double shape[3] = {1. / 3, 1. / 3, 1. / 3};
        for (int a = 0; a < 3 && n > 1; a++) shape[a] = a == q ? 2. / 3 : 1. / 6;
        FE_TRY(add_face_point(w, 3, node, shape, area));
    }
    return FE_OK;
}

/* 2x2 Gauss points on the bilinear surface x(ξ, η): exact for pressure, where N_a ∂x/∂ξ × ∂x/∂η is at most
 * quadratic in ξ and in η; for traction the points define the area. */
static fe_status add_quadrangle(work *w, const int *node)
{
    static const double corner[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
    for (int q = 0; q < 4; q++) {
        const double xi = corner[q][0] / sqrt(3), eta = corner[q][1] / sqrt(3);
        double shape[4], s[3] = {0}, t[3] = {0}, area[3];
        for (int a = 0; a < 4; a++) {
            const double *x = w->mesh->x + 3 * (size_t)node[a];
            const double fx = 1 + corner[a][0] * xi, fy = 1 + corner[a][1] * eta;
            shape[a] = 0.25 * fx * fy;
            for (int i = 0; i < 3; i++) {
                s[i] += 0.25 * corner[a][0] * fy * x[i];
                t[i] += 0.25 * corner[a][1] * fx * x[i];
            }
        }
        cross(s, t, 1, area);
        FE_TRY(add_face_point(w, 4, node, shape, area));
    }
    return FE_OK;
}

/* A line, a side or an element with quadratic shape functions, by a rule that is exact for constant loads on
 * curved ones, N_a det J or N_a ∂x/∂ξ × ∂x/∂η, and for linear expressions; the lengths of curved lines and
 * the areas under tractions are no polynomials. */
static fe_status add_quadratic(work *w, int n, const int *node)
{
    const int side = n >= 10 && has_expression(w) ? 5 : 4;
    if (!w->rule) FE_ALLOCATE(w->rule, 1, "quadrature");
    if (w->rule->n_node != n || w->rule->side != side) fe_side_rule_make(n, side, w->rule);
    for (int q = 0; q < w->rule->n_point; q++) {
        const double *shape = w->rule->shape[q], weight = w->rule->weight[q];
        double J[3][3] = {{0}}, area[3]; /* J[j] = ∂x / ∂ξ_j */
        for (int a = 0; a < n; a++)
            for (int j = 0; j < 3; j++)
                for (int i = 0; i < 3; i++)
                    J[j][i] += w->rule->gradient[q][a][j] * w->mesh->x[3 * (size_t)node[a] + (size_t)i];
        cross(J[0], J[1], weight, area);
        if (n == 3)
            FE_TRY(add_point(w, n, node, shape,
                             weight * sqrt(J[0][0] * J[0][0] + J[0][1] * J[0][1] + J[0][2] * J[0][2])));
        else if (n < 10)
            FE_TRY(add_face_point(w, n, node, shape, area));
        else
            FE_TRY(add_point(w, n, node, shape, area[0] * J[2][0] + area[1] * J[2][1] + area[2] * J[2][2]));
    }
    return FE_OK;
}

/* "1, 2, 3": the tags of a facet's vertices. */
static void facet_tags(const fe_mesh *mesh, const int *facet, int n, char text[96])
{
    for (int a = 0, used = 0; a < n; a++)
        used += snprintf(text + used, 96 - (size_t)used, "%s%lld", a ? ", " : "",
                         (long long)mesh->node_tag[facet[a]]);
}

static fe_status apply_faces(work *w, const fe_group *group)
{
    const fe_load *l = w->load;
    const int kind = w->mesh->kind;
    if (!w->first) FE_TRY(fe_mesh_node_elements(w->mesh, &w->first, &w->elem));
    for (int f = 0; f < group->n_facet; f++) {
        const int *facet = group->facet + (size_t)fe_facet_width(kind) * (size_t)f,
                  n = fe_facet_nodes(kind, facet);
        int outward[FE_MOST_FACE];
        int behind = -1;
        const int n_owner = fe_boundary_orient(w->mesh, w->first, w->elem, facet, n, outward, &behind);
        if (n_owner != 1) {
            char tags[96];
            facet_tags(w->mesh, facet, fe_facet_vertices(kind, facet), tags);
            return fe_fail(
                FE_BAD_INPUT,
                "%s: key \"neumann[%d].group\": \"%s\": the face with nodes %s belongs to %d volume "
                "elements, a loaded face must belong to one",
                w->c->file, l->entry, l->group, tags, n_owner);
        }
        FE_TRY(n == 3   ? add_triangle(w, outward)
               : n == 4 ? add_quadrangle(w, outward)
                        : add_quadratic(w, n, outward));
    }
    return FE_OK;
}

/* --- volumes, lines and points ------------------------------------------------------------------------- */

/* One point, or for expressions four, which are exact for a linear one. */
static fe_status add_tet4(work *w, const int *node)
{
    const double *x0 = w->mesh->x + 3 * (size_t)node[0];
    const int n = has_expression(w) ? 4 : 1;
    const double near = (5 - sqrt(5)) / 20;
    double edge[3][3], normal[3];
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++) edge[k][i] = w->mesh->x[3 * (size_t)node[k + 1] + (size_t)i] - x0[i];
    cross(edge[0], edge[1], 1. / 6, normal);
    const double volume = normal[0] * edge[2][0] + normal[1] * edge[2][1] + normal[2] * edge[2][2];
    for (int q = 0; q < n; q++) {
        double shape[4] = {0.25, 0.25, 0.25, 0.25};
        for (int a = 0; a < 4 && n > 1; a++) shape[a] = a == q ? 1 - 3 * near : near;
        FE_TRY(add_point(w, 4, node, shape, volume / n));
    }
    return FE_OK;
}

/* 2x2x2 Gauss points: N_a det J is at most cubic along each axis, and so integrated exactly. */
static fe_status add_hex8(work *w, const int *node)
{
    static const signed char corner[8][3] = {{-1, -1, -1}, {1, -1, -1}, {1, 1, -1}, {-1, 1, -1},
                                             {-1, -1, 1},  {1, -1, 1},  {1, 1, 1},  {-1, 1, 1}};
    for (int q = 0; q < 8; q++) {
        double shape[8], J[3][3] = {{0}}, normal[3]; /* J[j] = ∂x / ∂s_j */
        for (int a = 0; a < 8; a++) {
            const double *x = w->mesh->x + 3 * (size_t)node[a];
            double f[3];
            for (int j = 0; j < 3; j++) f[j] = 0.5 * (1 + corner[a][j] * corner[q][j] / sqrt(3));
            shape[a] = f[0] * f[1] * f[2];
            for (int j = 0; j < 3; j++)
                for (int i = 0; i < 3; i++)
                    J[j][i] += 0.5 * corner[a][j] * f[(j + 1) % 3] * f[(j + 2) % 3] * x[i];
        }
        cross(J[0], J[1], 1, normal);
        FE_TRY(add_point(w, 8, node, shape, normal[0] * J[2][0] + normal[1] * J[2][1] + normal[2] * J[2][2]));
    }
    return FE_OK;
}

static fe_status apply_volume(work *w, const fe_group *group)
{
    const int n_corner = fe_corners(w->mesh->kind), n = group ? group->n_facet : w->mesh->n_elem;
    for (int k = 0; k < n; k++) {
        const int *node = w->mesh->conn + (size_t)n_corner * (size_t)(group ? group->facet[k] : k);
        FE_TRY(n_corner == 4   ? add_tet4(w, node)
               : n_corner == 8 ? add_hex8(w, node)
                               : add_quadratic(w, n_corner, node));
    }
    return FE_OK;
}

/* Two Gauss points. */
static fe_status add_line(work *w, const int *node)
{
    double square = 0;
    for (int i = 0; i < 3; i++) {
        const double d =
            w->mesh->x[3 * (size_t)node[1] + (size_t)i] - w->mesh->x[3 * (size_t)node[0] + (size_t)i];
        square += d * d;
    }
    for (int q = 0; q < 2; q++) {
        const double here = 0.5 + (q ? 0.5 : -0.5) / sqrt(3), shape[2] = {1 - here, here};
        FE_TRY(add_point(w, 2, node, shape, 0.5 * sqrt(square)));
    }
    return FE_OK;
}

static fe_status apply_lines_or_points(work *w, const fe_group *group)
{
    static const double whole[1] = {1};
    for (int k = 0; k < group->n_facet; k++) {
        const int *node = group->facet + (size_t)fe_facet_width(w->mesh->kind) * (size_t)k;
        FE_TRY(!group->dim                      ? add_point(w, 1, node, whole, 1)
               : fe_is_quadratic(w->mesh->kind) ? add_quadratic(w, 3, node)
                                                : add_line(w, node));
    }
    return FE_OK;
}

/* --- all of them --------------------------------------------------------------------------------------- */

static fe_status apply_load(work *w, fe_boundary *b)
{
    const fe_load *l = w->load;
    const fe_group *group = NULL;
    const int dimensions = l->kind == FE_LOAD_BODY    ? FE_ELEMENTS
                           : l->kind == FE_LOAD_NODAL ? FE_POINTS_AND_LINES
                                                      : FE_FACES;
    const char *lacks = l->kind == FE_LOAD_BODY    ? "volume elements"
                        : l->kind == FE_LOAD_NODAL ? "points or lines"
                                                   : "faces";
    char key[64];
    snprintf(key, sizeof key, "%s[%d].group", fe_load_list(l->kind), l->entry);
    if (l->group) FE_TRY(fe_boundary_group(w->c, w->mesh, key, l->group, dimensions, lacks, &group));
    if (!b->load[l->path]) FE_ALLOCATE(b->load[l->path], 3 * (size_t)w->mesh->n_node, "loads");
    w->force = b->load[l->path];
    FE_TRY(open_values(w));
    if (l->kind == FE_LOAD_BODY) return apply_volume(w, group);
    return l->kind == FE_LOAD_NODAL ? apply_lines_or_points(w, group) : apply_faces(w, group);
}

fe_status fe_boundary_loads(const fe_case *c, const fe_mesh *mesh, fe_boundary *b)
{
    work w = {.c = c, .mesh = mesh};
    fe_status status = FE_OK;
    FE_ALLOCATE(b->load, c->n_path, "loads");
    b->n_path = c->n_path;
    for (int k = 0; k < c->n_load && status == FE_OK; k++) {
        w.load = &c->load[k];
        status = apply_load(&w, b);
        close_values(&w);
    }
    free(w.first), free(w.elem), free(w.rule);
    return status;
}
