/* See random_problem.h. Loads are integrated here anew: sides of a box are flat, and middles of edges and
 * faces in the middle, so a face's nodes share a constant traction as the shape functions' integrals say. */
#include "tests/random_problem.h"
#include "tests/common.h"
#include "tests/scene.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- draws ------------------------------------------------------------------------------------------- */

static double between(double low, double high) { return low + (high - low) * 0.5 * (1 + uniform()); }
static int whole(int n) { return (int)(between(0, 1) * n) % n; } /* 0 … n - 1 */
static int chance(double share) { return between(0, 1) < share; }
static double power(double low, double high) { return pow(10, between(low, high)); }

static oracle_material draw_material(double E)
{
    static const double nearly[] = {0.49, 0.499, 0.4999, -0.9};
    oracle_material m = {.E = E, .nu = chance(0.7) ? between(-0.9, 0.49) : nearly[whole(4)]};
    m.sigma_y = chance(0.1) ? INFINITY : E * power(-3.5, -2);
    if (!isfinite(m.sigma_y)) return m;
    m.H = chance(0.3) ? 0 : E * power(-4, 0);
    if (!chance(0.3)) return m;
    m.sigma_inf = m.sigma_y * between(1, 3);
    m.delta = power(0, 2.5);
    return m;
}

/* Stiffnesses within a factor of ten thousand; "elastic" is a key of the whole problem, so all yield or none.
 * Limit loads are of linear elements: with dense matrices of quadratic ones each takes a minute. */
static void draw_materials(random_problem *p, double E)
{
    p->material[0] = draw_material(E);
    for (int m = 1; m < p->n_material; m++) do
            p->material[m] = draw_material(E * power(-2, 2));
        while (isfinite(p->material[m].sigma_y) != isfinite(p->material[0].sigma_y));
    for (int m = 0; m < p->n_material && fe_is_quadratic(p->mesh.kind); m++)
        if (isfinite(p->material[m].sigma_y) && p->material[m].H == 0)
            p->material[m].H = 1e-2 * p->material[m].E;
}

int hardens_by_voce(const random_problem *p)
{
    int does = 0;
    for (int m = 0; m < p->n_material; m++) does |= p->material[m].delta > 0;
    return does;
}

/* --- mesh -------------------------------------------------------------------------------------------- */

static int is_side_of(const fe_mesh *mesh, const int *facet)
{
    const int nc = fe_corners(mesh->kind);
    for (int e = 0; e < mesh->n_elem; e++) {
        int found = 0, wanted = 0;
        for (int a = 0; a < fe_facet_width(mesh->kind); a++) {
            wanted += facet[a] >= 0;
            for (int b = 0; b < nc; b++) found += facet[a] == mesh->conn[(size_t)e * nc + b];
        }
        if (found == wanted) return 1;
    }
    return 0;
}

static void thin_group(const fe_mesh *mesh, fe_group *g, const int *elem_number, const int *node_number)
{
    const int width = g->dim == 3 ? 1 : fe_facet_width(mesh->kind);
    int n = 0;
    for (int f = 0; f < g->n_facet; f++) {
        const int *facet = g->facet + (size_t)(width * f);
        if (g->dim == 3 && elem_number[g->facet[f]] >= 0) g->facet[n++] = elem_number[g->facet[f]];
        if (g->dim == 3) continue;
        int moved[FE_MOST_FACE], is_whole = 1;
        for (int a = 0; a < width; a++) {
            moved[a] = facet[a] < 0 ? -1 : node_number[facet[a]];
            is_whole &= facet[a] < 0 || moved[a] >= 0;
        }
        if (is_whole && is_side_of(mesh, moved))
            memcpy(g->facet + (size_t)(width * n++), moved, (size_t)width * sizeof *moved);
    }
    g->n_facet = n;
}

void thin_out(fe_mesh *mesh, const unsigned char *is_kept)
{
    const int nc = fe_corners(mesh->kind), n_before = mesh->n_elem;
    int *node_number = zeros((size_t)mesh->n_node, sizeof(int)), n_node = 0;
    int *elem_number = zeros((size_t)n_before, sizeof(int));
    mesh->n_elem = 0;
    for (int e = 0; e < n_before; e++) {
        elem_number[e] = is_kept[e] ? mesh->n_elem : -1;
        if (!is_kept[e]) continue;
        memmove(mesh->conn + (size_t)mesh->n_elem * nc, mesh->conn + (size_t)e * nc,
                (size_t)nc * sizeof(int));
        mesh->elem_group[mesh->n_elem] = mesh->elem_group[e];
        mesh->elem_tag[mesh->n_elem++] = mesh->elem_tag[e];
    }
    for (int k = 0; k < mesh->n_elem * nc; k++) node_number[mesh->conn[k]] = 1;
    for (int n = 0; n < mesh->n_node; n++) {
        const int is_used = node_number[n];
        node_number[n] = is_used ? n_node : -1;
        if (!is_used) continue;
        memmove(mesh->x + 3 * (size_t)n_node, mesh->x + 3 * (size_t)n, 3 * sizeof(double));
        mesh->node_tag[n_node++] = mesh->node_tag[n];
    }
    mesh->n_node = n_node;
    for (int k = 0; k < mesh->n_elem * nc; k++) mesh->conn[k] = node_number[mesh->conn[k]];
    for (int g = 0; g < mesh->n_group; g++) thin_group(mesh, &mesh->group[g], elem_number, node_number);
    free(node_number), free(elem_number);
}

/* A group of some nodes, behind the others. */
static void add_points(fe_mesh *mesh, int n)
{
    char name[32];
    fe_group *g = &mesh->group[mesh->n_group];
    snprintf(name, sizeof name, "points %d", mesh->n_group);
    must(fe_group_open(g, name, mesh->kind, 0, 50 + mesh->n_group, (size_t)n));
    for (int k = 0; k < n; k++) {
        const int width = fe_facet_width(mesh->kind);
        for (int a = 0; a < width; a++) g->facet[width * k + a] = a ? -1 : whole(mesh->n_node);
    }
    mesh->n_group++;
}

/* Volumes of about the same number of elements, in no order; every material has one element at least. */
static void add_volumes(random_problem *p)
{
    const int n = p->mesh.n_elem;
    for (int e = 0; e < n; e++) p->elem_material[e] = e < p->n_material ? e : whole(p->n_material);
    for (int m = 0; m < p->n_material && p->n_material > 1; m++) {
        char name[32];
        fe_group *g = &p->mesh.group[p->mesh.n_group++];
        int count = 0;
        for (int e = 0; e < n; e++) count += p->elem_material[e] == m;
        snprintf(name, sizeof name, "volume %d", m);
        must(fe_group_open(g, name, p->mesh.kind, 3, 80 + m, (size_t)count));
        for (int e = 0, k = 0; e < n; e++)
            if (p->elem_material[e] == m) g->facet[k++] = e;
        p->c_volume[m] = g->name;
    }
}

/* About one in three is of second order, where the dense matrix stays small. */
enum { MOST_ELEVATED_TET4 = 48, MOST_ELEVATED_HEX8 = 6 };
static int is_elevated(const random_problem *p, int kind, int n_elem)
{
    return FE_HAVE_QUADRATIC && n_elem <= (kind == FE_HEX8 ? MOST_ELEVATED_HEX8 : MOST_ELEVATED_TET4) &&
           fe_mix(p->seed ^ 0x2d) % 2;
}

static void draw_mesh(random_problem *p, double length)
{
    const int kind = chance(0.5) ? FE_HEX8 : FE_TET4, most = kind == FE_HEX8 ? 3 : 2;
    const int cells[3] = {1 + whole(4), 1 + whole(most), 1 + whole(most)};
    const double size[3] = {length * cells[0] * power(0, 0.4), length * cells[1] * power(0, 0.4),
                            length * cells[2] * power(0, 0.4)};
    const int n_elem = (kind == FE_HEX8 ? 1 : 6) * cells[0] * cells[1] * cells[2];
    const int second_order = is_elevated(p, kind, n_elem);
    p->mesh = make_box(kind, cells, size, chance(0.5) ? second_order ? 0.1 : 0.2 : 0, p->seed);
    if (second_order) must(fe_mesh_elevate(&p->mesh));
    tag_nodes(&p->mesh, 1 + whole(1000), 1 + whole(3));
    if (chance(0.3)) {
        unsigned char *is_kept = zeros((size_t)p->mesh.n_elem, 1);
        const double share = between(0.6, 1);
        for (int e = 0; e < p->mesh.n_elem; e++) is_kept[e] = e == 0 || chance(share);
        thin_out(&p->mesh, is_kept);
        free(is_kept);
    }
    if (chance(0.3)) must(fe_mesh_reorder(&p->mesh, FE_ORDER_RANDOM, p->seed));
    p->mesh.group = realloc(p->mesh.group, (size_t)(p->mesh.n_group + MOST_SUPPORTS + MOST_MATERIALS) *
                                               sizeof *p->mesh.group);
    assert_non_null(p->mesh.group);
    p->elem_material = zeros((size_t)p->mesh.n_elem, sizeof(int));
}

/* One of the six sides that has a face; x0 where it has none is asked for again. */
static int draw_side(const fe_mesh *mesh)
{
    for (;;) {
        const int g = whole(mesh->n_group);
        if (mesh->group[g].dim == 2 && mesh->group[g].n_facet) return g;
    }
}

/* --- supports, loads, paths -------------------------------------------------------------------------- */

/* Size of displacements at which the stress is about the yield stress. */
static double yield_displacement(const random_problem *p, double length)
{
    const oracle_material *m = &p->material[0];
    return length * (isfinite(m->sigma_y) ? m->sigma_y / m->E : 1e-3);
}

static void draw_support(random_problem *p, double length)
{
    random_support *s = &p->support[p->n_support];
    const double size = yield_displacement(p, length);
    const int clamped = p->n_support == 0 && chance(0.7), moved = p->n_support && chance(0.4);
    *s = (random_support){.path = whole(N_PATHS)};
    if (chance(0.7)) {
        s->group = draw_side(&p->mesh);
    } else {
        add_points(&p->mesh, 1 + whole(6));
        s->group = p->mesh.n_group - 1;
    }
    for (int i = 0; i < 3; i++) {
        s->is_given[i] = clamped || chance(0.5);
        if (moved) s->plane[i][0] = 3 * size * uniform();
        for (int k = 0; k < 3 && moved && chance(0.5); k++) s->plane[i][1 + k] = size / length * uniform();
        const double *a = s->plane[i];
        snprintf(s->text[i], sizeof s->text[i], "%.17g + %.17g*x + %.17g*y + %.17g*z", a[0], a[1], a[2],
                 a[3]);
    }
    if (s->is_given[0] || s->is_given[1] || s->is_given[2]) p->n_support++;
}

static void draw_load(random_problem *p)
{
    const oracle_material *m = &p->material[0];
    random_load *l = &p->load[p->n_load++];
    /* without hardening some loads are more than can be carried */
    const double size =
        (isfinite(m->sigma_y) ? m->sigma_y : 1e-3 * m->E) * power(-1.5, m->H == 0 && m->delta == 0 ? 0.7 : 0);
    *l = (random_load){.group = draw_side(&p->mesh), .is_pressure = chance(0.3), .path = whole(N_PATHS)};
    l->pressure = size * uniform();
    for (int i = 0; i < 3; i++) l->traction[i] = 0.6 * size * uniform();
}

/* Loads rise, turn back and go below zero; the second path has a life of its own. */
static void draw_paths(random_problem *p)
{
    p->n_step = 1 + whole(MOST_STEPS);
    for (int s = 0; s < p->n_step; s++)
        for (int k = 0; k < N_PATHS; k++) p->factor[k][s] = s && chance(0.1) ? 0 : 1.3 * uniform();
}

/* --- the case ---------------------------------------------------------------------------------------- */

static void make_case(random_problem *p)
{
    static char *const names[N_PATHS] = {"load", "hold"};
    for (int i = 0; i < p->n_material; i++) {
        const oracle_material *m = &p->material[i];
        p->c_material[i] = (fe_material){m->E, m->nu, m->sigma_y, m->H, m->sigma_inf, m->delta};
    }
    p->c = (fe_case){.file = "random.json",
                     .name = "random",
                     .units = "",
                     .elastic = !isfinite(p->material[0].sigma_y),
                     .n_material = p->n_material,
                     .material = p->c_material,
                     .volume = p->n_material > 1 ? p->c_volume : NULL,
                     .n_support = p->n_support,
                     .n_load = p->n_load,
                     .n_path = N_PATHS,
                     .n_step = p->n_step,
                     .support = p->c_support,
                     .load = p->c_load,
                     .path = p->c_path};
    for (int k = 0; k < N_PATHS; k++) p->c_path[k] = (fe_path){names[k], p->factor[k]};
    for (int s = 0; s < p->n_support; s++) {
        random_support *from = &p->support[s];
        p->c_support[s] = (fe_support){.group = p->mesh.group[from->group].name, .path = from->path};
        for (int i = 0; i < 3; i++) p->c_support[s].expression[i] = from->is_given[i] ? from->text[i] : NULL;
    }
    for (int l = 0; l < p->n_load; l++) {
        const random_load *from = &p->load[l];
        p->c_load[l] = (fe_load){.group = p->mesh.group[from->group].name,
                                 .kind = from->is_pressure ? FE_LOAD_PRESSURE : FE_LOAD_TRACTION,
                                 .entry = l,
                                 .path = from->path};
        memcpy(p->c_load[l].value, from->traction, sizeof from->traction);
        if (from->is_pressure) p->c_load[l].value[0] = from->pressure;
    }
}

/* --- plain numbers ----------------------------------------------------------------------------------- */

static void fix_node(random_problem *p, const random_support *s, int n)
{
    const double *x = p->mesh.x + 3 * (size_t)n;
    for (int i = 0; i < 3; i++) {
        const size_t k = 3 * (size_t)n + (size_t)i;
        const double *a = s->plane[i];
        if (!s->is_given[i] || p->is_fixed[k]) continue;
        p->is_fixed[k] = 1;
        p->value[k] = a[0] + a[1] * x[0] + a[2] * x[1] + a[3] * x[2];
        p->value_path[k] = s->path;
    }
}

static void fix_nodes(random_problem *p)
{
    for (int s = 0; s < p->n_support; s++) {
        const fe_group *g = &p->mesh.group[p->support[s].group];
        for (int k = 0; k < fe_facet_width(p->mesh.kind) * g->n_facet; k++)
            if (g->facet[k] >= 0) fix_node(p, &p->support[s], g->facet[k]);
    }
}

/* Twice the area vector of a triangle. */
static void area_of(const double *a, const double *b, const double *c, double area[3])
{
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        area[i] = (b[j] - a[j]) * (c[k] - a[k]) - (b[k] - a[k]) * (c[j] - a[j]);
    }
}

/* Shares of a constant traction: of vertices, middles of edges, the middle of the face. */
static double share_of(int n, int a)
{
    switch (n) {
    case 6: return a < 3 ? 0 : 1.0 / 3;
    case 9: return a < 4 ? 1.0 / 36 : a < 8 ? 1.0 / 9 : 4.0 / 9;
    default: return 1.0 / n;
    }
}

/* The sides of a box stay flat parallelograms' halves or rectangles. Outward is the way from the box's
 * middle. */
static void load_face(random_problem *p, const random_load *l, const int *facet, int axis, int sign)
{
    const int n = fe_facet_nodes(p->mesh.kind, facet);
    const double *x = p->mesh.x;
    double area[3], size = 0;
    area_of(x + 3 * facet[0], x + 3 * facet[1], x + 3 * facet[2], area);
    for (int i = 0; i < 3; i++) size += area[i] * area[i];
    size = sqrt(size) * (fe_facet_vertices(p->mesh.kind, facet) == 3 ? 0.5 : 1);
    for (int a = 0; a < n; a++)
        for (int i = 0; i < 3; i++)
            p->force[l->path][3 * (size_t)facet[a] + (size_t)i] +=
                size * share_of(n, a) *
                (l->is_pressure ? (i == axis ? -sign * l->pressure : 0) : l->traction[i]);
}

static void load_nodes(random_problem *p)
{
    for (int k = 0; k < N_PATHS; k++) p->force[k] = zeros(3 * (size_t)p->mesh.n_node, sizeof(double));
    for (int l = 0; l < p->n_load; l++) {
        const fe_group *g = &p->mesh.group[p->load[l].group]; /* x0, x1, y0, ... */
        for (int f = 0; f < g->n_facet; f++)
            load_face(p, &p->load[l], g->facet + (size_t)(fe_facet_width(p->mesh.kind) * f), g->name[0] - 'x',
                      g->name[1] == '1' ? 1 : -1);
    }
}

void random_problem_at(const random_problem *p, int step, double *value, double *load)
{
    for (int k = 0; k < 3 * p->mesh.n_node; k++) {
        value[k] = p->is_fixed[k] ? p->value[k] * p->factor[p->value_path[k]][step] : 0;
        load[k] = 0;
        for (int l = 0; l < N_PATHS; l++) load[k] += p->factor[l][step] * p->force[l][k];
    }
}

void random_problem_open(random_problem *p, uint64_t seed)
{
    *p = (random_problem){.seed = seed};
    random_state = fe_mix(seed);
    const double length = power(-3, 3);
    draw_mesh(p, length);
    p->n_material =
        chance(0.4) ? 1 + whole(p->mesh.n_elem < MOST_MATERIALS ? p->mesh.n_elem : MOST_MATERIALS) : 1;
    const double E = power(0, 6);
    draw_materials(p, E);
    add_volumes(p);
    const int n_support = 1 + whole(MOST_SUPPORTS - 1), n_load = whole(MOST_LOADS + 1);
    for (int s = 0; s < n_support || !p->n_support; s++) draw_support(p, length);
    for (int l = 0; l < n_load; l++) draw_load(p);
    draw_paths(p);
    make_case(p);
    p->is_fixed = zeros(3 * (size_t)p->mesh.n_node, 1);
    p->value = zeros(3 * (size_t)p->mesh.n_node, sizeof(double));
    p->value_path = zeros(3 * (size_t)p->mesh.n_node, sizeof(int));
    fix_nodes(p);
    load_nodes(p);
    const oracle_material *m = &p->material[0];
    snprintf(p->said, sizeof p->said,
             "%d %s, %d materials, nu %.4g, H/E %.2g, delta %.3g, sigma_y/E %.2g, %d steps", p->mesh.n_elem,
             fe_kind_name(p->mesh.kind), p->n_material, m->nu, m->H / m->E, m->delta, m->sigma_y / m->E,
             p->n_step);
}

void random_problem_close(random_problem *p)
{
    fe_mesh_close(&p->mesh);
    free(p->elem_material), free(p->is_fixed), free(p->value), free(p->value_path);
    for (int k = 0; k < N_PATHS; k++) free(p->force[k]);
    *p = (random_problem){0};
}
