/* Meshes with random states, and the oracle's answers; see scene.h. */
#include "tests/scene.h"
#include "tests/common.h"
#include "tests/curved.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void *zeros(size_t count, size_t size)
{
    void *memory = calloc(count + 8, size);
    assert_non_null(memory);
    return memory;
}

fe_materials materials_of(const scene *s, fe_material material[MATERIALS])
{
    for (int i = 0; i < s->n_material; i++) {
        const oracle_material *m = &s->material[i];
        material[i] = (fe_material){m->E, m->nu, m->sigma_y, m->H, m->sigma_inf, m->delta};
    }
    return (fe_materials){s->n_material, material, s->of};
}

const oracle_material *material_at(const scene *s, int e) { return &s->material[s->of[e]]; }

double yield_at(const scene *s, int e, const oracle_state *state)
{
    const oracle_material *m = material_at(s, e);
    return m->sigma_y + m->H * state->alpha -
           (m->delta > 0 ? (m->sigma_inf - m->sigma_y) * expm1(-m->delta * state->alpha) : 0);
}

void expand_tangent(double bulk, double shear, const double *stored, double C[6][6])
{
    const double theta = stored ? stored[0] : 1.0;
    double m[6] = {0};
    if (stored) {
        m[0] = stored[1], m[1] = stored[2], m[2] = -(stored[1] + stored[2]);
        m[3] = stored[3], m[4] = stored[4], m[5] = stored[5];
    }
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) {
            const double identity = i == j ? (i < 3 ? 1.0 : 0.5) : 0.0, both = i < 3 && j < 3 ? 1.0 : 0.0;
            C[i][j] = bulk * both + 2 * shear * theta * (identity - both / 3) - m[i] * m[j];
        }
}

double mises(const double s[6])
{
    return sqrt(0.5 * (pow(s[0] - s[1], 2) + pow(s[1] - s[2], 2) + pow(s[2] - s[0], 2)) +
                3 * (s[3] * s[3] + s[4] * s[4] + s[5] * s[5]));
}

void strain_at(const scene *s, int e, int q, const double *u, double eps[6])
{
    double dN[ORACLE_CORNERS][3];
    oracle_gradients(&s->oracle, e, q, dN);
    memset(eps, 0, 6 * sizeof *eps);
    for (int a = 0; a < s->oracle.n_corner; a++) {
        const double *at = u + 3 * (size_t)s->oracle.conn[e * s->oracle.n_corner + a];
        for (int i = 0; i < 3; i++) eps[i] += dN[a][i] * at[i];
        eps[3] += dN[a][1] * at[0] + dN[a][0] * at[1];
        eps[4] += dN[a][2] * at[1] + dN[a][1] * at[2];
        eps[5] += dN[a][2] * at[0] + dN[a][0] * at[2];
    }
}

void elastic_stress(const scene *s, int e, int q, const double *u, const oracle_state *state,
                    double stress[6])
{
    double eps[6], D[6][6];
    strain_at(s, e, q, u, eps);
    oracle_elasticity(material_at(s, e), D);
    for (int i = 0; i < 6; i++) eps[i] -= (i < 3 ? 1 : 2) * state->eps_p[i];
    for (int i = 0; i < 6; i++) {
        stress[i] = 0;
        for (int j = 0; j < 6; j++) stress[i] += D[i][j] * eps[j];
    }
}

double yield_excess(const scene *s, int e, int q)
{
    const oracle_state *state = &s->committed[e * s->oracle.n_point + q];
    double stress[6];
    elastic_stress(s, e, q, s->u, state, stress);
    return mises(stress) / yield_at(s, e, state) - 1;
}

static void draw_state(oracle_state *state)
{
    for (int i = 0; i < 6; i++) state->eps_p[i] = 3e-4 * uniform();
    state->eps_p[2] = -(state->eps_p[0] + state->eps_p[1]);
    state->alpha = 1e-3 * (1 + uniform());
}

/* Random committed states; an element that comes too close to f = 0 is drawn anew. Returns the share of
 * points that go plastic. */
static double draw_states(scene *s)
{
    const int n_point = s->oracle.n_point;
    int plastic = 0;
    for (int e = 0; e < s->mesh.n_elem; e++) {
        oracle_state *state = s->committed + e * n_point;
        int close = 1, n = 0;
        for (int attempt = 0; close; attempt++) {
            assert_true(attempt < 100);
            const int virgin = attempt == 0 && uniform() < -0.4;
            memset(state, 0, (size_t)n_point * sizeof *state);
            close = n = 0;
            for (int q = 0; q < n_point; q++) {
                if (!virgin) draw_state(&state[q]);
                const double f = yield_excess(s, e, q);
                close |= fabs(f) < MARGIN;
                n += f > 0;
            }
        }
        plastic += n;
    }
    return (double)plastic / ((double)s->mesh.n_elem * n_point);
}

/* Displacement that makes about half of the points plastic. */
static void draw_fields(scene *s)
{
    const size_t n = 3 * (size_t)s->mesh.n_node;
    const double h = cbrt(oracle_volume(&s->oracle) / s->mesh.n_elem);
    double share = 0, size = 1e-3 * h;
    for (int attempt = 0; share < 0.3 || share > 0.8; attempt++) {
        assert_true(attempt < 40);
        if (attempt) size *= share < 0.3 ? 1.3 : 0.7;
        for (size_t i = 0; i < n; i++) s->u[i] = size * uniform();
        share = draw_states(s);
    }
    for (size_t i = 0; i < n; i++) s->v[i] = uniform(), s->w[i] = uniform();
}

static void ask_oracle(scene *s)
{
    const oracle_mesh *m = &s->oracle;
    for (int p = 0; p < m->n_elem * m->n_point; p++)
        oracle_elasticity(material_at(s, p / m->n_point), s->C_elastic[p]);
    oracle_residual(m, s->material, s->committed, s->u, s->r, s->r_scale);
    oracle_update(m, s->material, s->committed, s->u, s->trial, s->C);
    oracle_jacvec(m, s->C, s->v, s->y, s->y_scale);
    oracle_jacvec(m, s->C_elastic, s->v, s->l, s->l_scale);
    oracle_diagonal(m, s->C, (double(*)[3][3])s->d, (double(*)[3][3])s->d_scale);
    /* K_ij of a node may cancel within an element; it is bounded by sqrt(K_ii K_jj). */
    for (int n = 0; n < m->n_node; n++) {
        double *scale = s->d_scale + 9 * (size_t)n;
        for (int k = 0; k < 9; k++)
            if (k % 4) scale[k] = sqrt(scale[4 * (k / 3)] * scale[4 * (k % 3)]);
    }
}

/* The node at a point of the grid, a new one where there is none. place: 12 × the points of all nodes. */
static int node_at(int (*place)[3], int *n, const int at[3])
{
    for (int i = 0; i < *n; i++)
        if (!memcmp(place[i], at, sizeof place[i])) return i;
    memcpy(place[*n], at, sizeof place[*n]);
    return (*n)++;
}

/* The mean of some corners of a Tet4, those in the bits of `set`. */
static int node_between(int (*place)[3], int *n, int (*corner)[3], int set)
{
    int at[3] = {0};
    for (int i = 0; i < 3; i++)
        for (int b = 0; b < 4; b++)
            at[i] += set >> b & 1 ? 12 * corner[b][i] / __builtin_popcount((unsigned)set) : 0;
    return node_at(place, n, at);
}

/* One Tet4 that is turned at random, or one Hex8 at each of its corners. */
static void add_elements(fe_mesh *mesh, int (*place)[3], int (*corner)[3])
{
    const int turn = (int)(fe_mix((uint64_t)mesh->n_elem) % 4);
    static const int hex8[8] = {1, 3, 7, 5, 9, 11, 15, 13}; /* bit b: corner b ^ v, of the Hex8 at corner v */
    if (mesh->kind == FE_TET4) {
        for (int b = 0; b < 4; b++)
            mesh->conn[4 * mesh->n_elem + b] = node_between(place, &mesh->n_node, corner, 1 << (b ^ turn));
        mesh->n_elem++;
        return;
    }
    for (int v = 0; v < 4; v++, mesh->n_elem++)
        for (int a = 0; a < 8; a++) {
            int set = 0;
            for (int b = 0; b < 4; b++) set |= (hex8[a] >> b & 1) << (b ^ v);
            mesh->conn[8 * mesh->n_elem + a] = node_between(place, &mesh->n_node, corner, set);
        }
}

/* Tet4 between the centre and the triangles of a surface |x| + |y| + |z| = OCTAHEDRON_CELLS. */
static void octahedron(fe_mesh *mesh)
{
    enum { N = OCTAHEDRON_CELLS, MOST = 16 * CENTRE_ELEMENTS };
    int(*place)[3] = zeros(MOST, sizeof *place);
    mesh->conn = zeros((size_t)4 * 8 * CENTRE_ELEMENTS, sizeof *mesh->conn);
    for (int octant = 0; octant < 8; octant++)
        for (int i = 0; i < N; i++)
            for (int j = 0; i + j < N; j++)
                for (int down = 0; down < 2 && i + j + down < N; down++) {
                    const int up[3][2] = {{i + 1, j}, {i, j + 1}, {i, j}},
                              low[3][2] = {{i + 1, j}, {i + 1, j + 1}, {i, j + 1}};
                    int corner[4][3] = {{0}};
                    for (int b = 0; b < 3; b++) {
                        const int *at = down ? low[b] : up[b], whole[3] = {at[0], at[1], N - at[0] - at[1]};
                        /* a mirrored octant has its triangles the other way round */
                        int *to = corner[__builtin_parity((unsigned)octant) && b ? 4 - b : b + 1];
                        for (int c = 0; c < 3; c++) to[c] = octant >> c & 1 ? -whole[c] : whole[c];
                    }
                    add_elements(mesh, place, corner);
                }
    mesh->x = zeros(3 * (size_t)mesh->n_node, sizeof *mesh->x);
    mesh->node_tag = zeros((size_t)mesh->n_node, sizeof *mesh->node_tag);
    tag_nodes(mesh, 1, 1);
    for (int i = 0; i < mesh->n_node; i++)
        for (int c = 0; c < 3; c++) mesh->x[3 * i + c] = place[i][c] / (12.0 * N);
    free(place);
}

static void scene_mesh(scene *s, int shape)
{
    const int mesh_kind = fe_is_tet(s->kind) ? FE_TET4 : FE_HEX8;
    if (shape == SHAPE_OCTAHEDRON) {
        s->mesh.kind = mesh_kind;
        octahedron(&s->mesh);
        if (fe_is_quadratic(s->kind)) must(fe_mesh_elevate(&s->mesh));
        return;
    }
    if (shape == SHAPE_BRACKET && !fe_is_quadratic(s->kind)) {
        must(fe_mesh_read(mesh_kind == FE_HEX8 ? "meshgen/bracket/bracket_hex8_coarse.msh"
                                               : "meshgen/bracket/bracket_tet4_coarse.msh",
                          0, &s->mesh));
        return;
    }
    const int times = shape == SHAPE_REGULAR ? 3 : 1;
    const fe_box box = {.kind = mesh_kind,
                        .cells = {5 * times, 4 * times, 3 * times},
                        .length = {BOX_X, BOX_Y, BOX_Z},
                        .distort = 0.2,
                        .seed = 3};
    must(fe_mesh_box(&box, &s->mesh));
    if (fe_is_quadratic(s->kind)) must(fe_mesh_elevate(&s->mesh));
    if (s->is_curved) curve_sides(&s->mesh, 0.08, box.length);
    if (shape == SHAPE_RANDOM) must(fe_mesh_reorder(&s->mesh, FE_ORDER_RANDOM, 5));
}

void scene_open(scene *s, int shape, int kind)
{
    static const char *const shapes[] = {"box",
                                         "box in random order",
                                         "bracket",
                                         "box, Voce's law",
                                         "box, several materials",
                                         "box, several laws",
                                         "octahedron",
                                         "larger box"};
    const int voce = shape == SHAPE_VOCE   ? 0
                     : shape == SHAPE_LAWS ? 1
                                           : -1,
              is_box = shape >= SHAPE_VOCE && shape < N_SHAPE;
    *s = (scene){.kind = kind,
                 .is_curved = shape == SHAPE_BRACKET && fe_is_quadratic(kind),
                 .n_material = shape == SHAPE_SEVERAL || shape == SHAPE_LAWS ? MATERIALS : 1,
                 .material = {{.E = 200000, .nu = 0.3, .sigma_y = 250, .H = 2000},
                              {.E = 70000, .nu = 0.4, .sigma_y = 90, .H = 500},
                              {.E = 600000, .nu = 0.1, .sigma_y = 700, .H = 9000}}};
    /* The exponent changes by 0.1 to 1 from point to point, so the law is far from linear. */
    if (voce >= 0)
        s->material[voce].H = 500, s->material[voce].sigma_inf = 400, s->material[voce].delta = 300;
    snprintf(s->name, sizeof s->name, "%s %s", fe_kind_name(kind),
             s->is_curved ? "box with curved sides" : shapes[shape]);
    /* Boxes are that of SHAPE_LEXICOGRAPHIC: what floats lose depends on the mesh. */
    random_state = (uint64_t)(100 * (is_box ? SHAPE_LEXICOGRAPHIC : shape) + kind + 1);
    scene_mesh(s, shape);
    s->of = zeros((size_t)s->mesh.n_elem, 1);
    for (int e = 0; e < s->mesh.n_elem && s->n_material > 1; e++)
        s->of[e] = (unsigned char)(fe_mix((uint64_t)e) % MATERIALS);
    s->oracle = (oracle_mesh){.n_corner = fe_corners(kind),
                              .n_point = fe_points(kind),
                              .n_node = s->mesh.n_node,
                              .n_elem = s->mesh.n_elem,
                              .x = s->mesh.x,
                              .conn = s->mesh.conn,
                              .material = s->of};
    const size_t n_node = (size_t)s->mesh.n_node, n_point = (size_t)s->mesh.n_elem * s->oracle.n_point;
    double **vectors[] = {&s->u, &s->v, &s->w, &s->r, &s->r_scale, &s->y, &s->l, &s->l_scale, &s->y_scale};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        *vectors[i] = zeros(3 * n_node, sizeof(double));
    s->d = zeros(9 * n_node, sizeof *s->d), s->d_scale = zeros(9 * n_node, sizeof *s->d);
    s->committed = zeros(n_point, sizeof *s->committed), s->trial = zeros(n_point, sizeof *s->trial);
    s->C = zeros(n_point, sizeof *s->C), s->C_elastic = zeros(n_point, sizeof *s->C);
    draw_fields(s);
    ask_oracle(s);
}

void scene_close(scene *s)
{
    free(s->of), free(s->u), free(s->v), free(s->w), free(s->r), free(s->r_scale), free(s->y),
        free(s->y_scale);
    free(s->l), free(s->l_scale), free(s->d), free(s->d_scale);
    for (int motion = 0; motion < 2; motion++) free(s->rigid[motion]), free(s->rigid_scale[motion]);
    free(s->committed), free(s->trial), free(s->C), free(s->C_elastic);
    fe_mesh_close(&s->mesh);
}

int compare(const char *what, const scene *s, size_t n, const double *a, const double *b, const double *scale,
            double tolerance)
{
    int bad = 0;
    size_t worst = 0;
    double largest = 0;
    for (size_t i = 0; i < n; i++) {
        const double error = fabs(a[i] - b[i]);
        if (error <= tolerance * scale[i]) continue;
        const double relative = isnan(error) ? INFINITY : error / scale[i];
        if (relative > largest || !bad) largest = relative, worst = i;
        bad++;
    }
    if (bad)
        print_error(
            "%s: %s: %d of %zu entries are off, entry %zu most: %.17g, not %.17g, off by %.2e > %.0e\n",
            s->name, what, bad, n, worst, a[worst], b[worst], largest, tolerance);
    return bad;
}

double *new_vector(const scene *s, int width)
{
    const size_t n = (size_t)width * s->mesh.n_node;
    double *x = zeros(n, sizeof *x);
    for (size_t i = 0; i < n; i++) x[i] = NAN;
    return x;
}
