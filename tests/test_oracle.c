/* The oracle checked against closed forms, symmetries and differences of itself. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/oracle.h"
#include "tests/common.h"

/* Fails with the numbers unless |a - b| <= bound. */
#define CLOSE(a, b, bound) close_to((a), (b), (bound), #a, __LINE__)
static void close_to(double a, double b, double bound, const char *what, int line)
{
    if (fabs(a - b) <= bound) return;
    fail_msg("line %d: %s = %.17g, expected %.17g, off by %.2e > %.2e", line, what, a, b, fabs(a - b), bound);
}

/* --- a small box ----------------------------------------------------------------------------------- */

/* Three cells an edge of linear elements, two of quadratic ones. */
enum {
    CELLS = 3,
    EDGE = CELLS + 1,
    N_CELL = CELLS * CELLS * CELLS,
    QUADRATIC_CELLS = 2,
    QUADRATIC_EDGE = 2 * QUADRATIC_CELLS + 1,
    N_NODE = QUADRATIC_EDGE * QUADRATIC_EDGE * QUADRATIC_EDGE, /* at most */
    MOST_POINTS = N_CELL * 24
};

/* The unit cube; inner nodes are moved by up to a fifth of a cell, or of the distance of a Hex27's nodes,
 * whose sides are then curved. A Tet10's edges stay straight. */
typedef struct box {
    oracle_mesh mesh;
    double x[N_NODE][3];
    int inner[N_NODE];
    int conn[N_CELL * 24]; /* 8 corners, or six tetrahedra of 4; fewer of quadratic elements */
} box;

static const int kinds[5][2] = {{4, 1}, {4, 4}, {8, 8}, {10, 4}, {27, 27}}; /* n_corner, n_point */

/* Corners of the six tetrahedra of a cell, all at its diagonal 0-6. */
static const int tets[6][4] = {{0, 1, 2, 6}, {0, 2, 3, 6}, {0, 3, 7, 6},
                               {0, 7, 4, 6}, {0, 4, 5, 6}, {0, 5, 1, 6}};

static int is_quadratic(const box *b) { return b->mesh.n_corner == 10 || b->mesh.n_corner == 27; }
static int is_tet(const box *b) { return b->mesh.n_corner == 4 || b->mesh.n_corner == 10; }
static int edge_of(const box *b) { return is_quadratic(b) ? QUADRATIC_EDGE : EDGE; }

/* Places of a Hex27's nodes in Gmsh's order, of which the first eight are the vertices of a cell. */
static const int places[27][3] = {{0, 0, 0}, {2, 0, 0}, {2, 2, 0}, {0, 2, 0}, {0, 0, 2}, {2, 0, 2}, {2, 2, 2},
                                  {0, 2, 2}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {2, 1, 0}, {2, 0, 1}, {1, 2, 0},
                                  {2, 2, 1}, {0, 2, 1}, {1, 0, 2}, {0, 1, 2}, {2, 1, 2}, {1, 2, 2}, {1, 1, 0},
                                  {1, 0, 1}, {0, 1, 1}, {2, 1, 1}, {1, 2, 1}, {1, 1, 2}, {1, 1, 1}};

/* The node at a place of a cell, or in the middle of two. */
static int node_at(const box *b, const int cell[3], const int p[3], const int q[3])
{
    int node = 0;
    for (int i = 2; i >= 0; i--)
        node = edge_of(b) * node + (is_quadratic(b) ? 2 * cell[i] + (p[i] + q[i]) / 2 : cell[i] + p[i] / 2);
    return node;
}

static void box_cells(box *b)
{
    static const int edges[6][2] = {{0, 1}, {1, 2}, {2, 0}, {0, 3}, {2, 3}, {1, 3}};
    const int cells = is_quadratic(b) ? QUADRATIC_CELLS : CELLS, n = b->mesh.n_corner;
    int *conn = b->conn;
    for (int at = 0; at < cells * cells * cells; at++) {
        const int cell[3] = {at % cells, at / cells % cells, at / cells / cells};
        for (int a = 0; !is_tet(b) && a < n; a++) *conn++ = node_at(b, cell, places[a], places[a]);
        for (int t = 0; is_tet(b) && t < 6; t++)
            for (int a = 0; a < n; a++) {
                const int v = tets[t][a < 4 ? a : edges[a - 4][0]], w = tets[t][a < 4 ? a : edges[a - 4][1]];
                *conn++ = node_at(b, cell, places[v], places[w]);
            }
    }
    b->mesh.n_elem = (int)(conn - b->conn) / n;
}

/* Nodes on edges of Tet10 go to the middle of these, which all lead from a lower to a higher vertex. */
static void straighten(box *b)
{
    const int stride[3] = {1, QUADRATIC_EDGE, QUADRATIC_EDGE * QUADRATIC_EDGE};
    for (int n = 0; n < b->mesh.n_node; n++) {
        int away = 0;
        for (int i = 0; i < 3; i++) away += n / stride[i] % QUADRATIC_EDGE % 2 * stride[i];
        for (int i = 0; i < 3; i++) b->x[n][i] = (b->x[n - away][i] + b->x[n + away][i]) / 2;
    }
}

static void box_open(box *b, const int kind[2])
{
    memset(b, 0, sizeof *b);
    random_state = 7;
    b->mesh = (oracle_mesh){.n_corner = kind[0], .n_point = kind[1], .x = b->x[0], .conn = b->conn};
    const int edge = edge_of(b);
    b->mesh.n_node = edge * edge * edge;
    for (int n = 0; n < b->mesh.n_node; n++) {
        const int at[3] = {n % edge, n / edge % edge, n / edge / edge};
        b->inner[n] = 1;
        for (int i = 0; i < 3; i++) b->inner[n] &= at[i] > 0 && at[i] < edge - 1;
        for (int i = 0; i < 3; i++) b->x[n][i] = (at[i] + (b->inner[n] ? 0.2 * uniform() : 0)) / (edge - 1);
    }
    if (kind[0] == 10) straighten(b);
    box_cells(b);
}

/* Material of the tests in N and mm: first yield at a strain of about 1e-3. */
static const oracle_material steel = {.E = 200000, .nu = 0.3, .sigma_y = 250, .H = 2000};

/* Strain-free start and the states at a random displacement of the given size. */
typedef struct fields {
    double u[N_NODE * 3], v[N_NODE * 3], r[N_NODE * 3], y[N_NODE * 3], scale[N_NODE * 3];
    oracle_state committed[MOST_POINTS], trial[MOST_POINTS];
    double C[MOST_POINTS][6][6], d[N_NODE][3][3], d_scale[N_NODE][3][3];
} fields;

static fields *fields_open(const box *b, const oracle_material *material)
{
    fields *f = calloc(1, sizeof *f);
    assert_non_null(f);
    /* A first random increment is committed, so that the tests start from a plastic state; the second has
     * elastic points as well. */
    for (int i = 0; i < 3 * b->mesh.n_node; i++) f->u[i] = 1e-3 * uniform();
    oracle_update(&b->mesh, material, f->committed, f->u, f->trial, f->C);
    memcpy(f->committed, f->trial, sizeof f->trial);
    for (int i = 0; i < 3 * b->mesh.n_node; i++) f->u[i] += 4e-4 * uniform();
    for (int i = 0; i < 3 * b->mesh.n_node; i++) f->v[i] = uniform();
    oracle_update(&b->mesh, material, f->committed, f->u, f->trial, f->C);
    return f;
}

/* --- the material ---------------------------------------------------------------------------------- */

static double mises(const double s[6])
{
    return sqrt(0.5 * (pow(s[0] - s[1], 2) + pow(s[1] - s[2], 2) + pow(s[2] - s[0], 2)) +
                3 * (s[3] * s[3] + s[4] * s[4] + s[5] * s[5]));
}

/* Perfect plasticity, linear hardening, Voce's law. */
static oracle_material material_of(int t)
{
    oracle_material m = steel;
    if (t % 3 != 1) m.H = 0;
    if (t % 3 == 2) m.H = 500, m.sigma_inf = 400, m.delta = 300;
    return m;
}
static double yield_of(const oracle_material *m, double alpha)
{
    return m->sigma_y + m->H * alpha +
           (m->delta > 0 ? (m->sigma_inf - m->sigma_y) * (1 - exp(-m->delta * alpha)) : 0);
}

static void random_strain(double size, double eps[6])
{
    for (int i = 0; i < 6; i++) eps[i] = size * uniform();
}

/* The stress lies on the yield surface (1e-12 sigma_y), equals D (eps - eps_p), and the flow is isochoric
 * with alpha's increment sqrt(2/3 d eps_p : d eps_p). */
static void test_return(void **unused)
{
    (void)unused;
    for (int t = 0; t < 2000; t++) {
        const oracle_material m = material_of(t);
        oracle_state committed = {{0}, 0}, s1 = {{0}, 0};
        double eps[6], sigma[6], C[6][6], D[6][6], flow = 0;
        oracle_elasticity(&m, D);
        random_strain(2e-3, eps);
        oracle_return(&m, eps, &committed, sigma, &s1, C);
        committed = s1;
        random_strain(8e-3, eps);
        oracle_return(&m, eps, &committed, sigma, &s1, C);
        const double limit = yield_of(&m, s1.alpha);
        assert_true(mises(sigma) <= limit + 1e-12 * m.sigma_y);
        if (s1.alpha > committed.alpha) CLOSE(mises(sigma), limit, 1e-12 * m.sigma_y);
        for (int i = 0; i < 6; i++) {
            double elastic = 0;
            for (int j = 0; j < 6; j++) elastic += D[i][j] * (eps[j] - (j < 3 ? 1 : 2) * s1.eps_p[j]);
            CLOSE(sigma[i], elastic, 1e-12 * m.E * 8e-3);
            flow += (i < 3 ? 1 : 2) * pow(s1.eps_p[i] - committed.eps_p[i], 2);
        }
        CLOSE(s1.eps_p[0] + s1.eps_p[1] + s1.eps_p[2], 0, 1e-17);
        CLOSE(s1.alpha - committed.alpha, sqrt(2 * flow / 3), 1e-16);
    }
}

/* Pure shear: tau = (sigma_y + H alpha) / sqrt 3 with alpha = (sqrt 3 mu gamma - sigma_y) / (3 mu + H). */
static void test_shear(void **unused)
{
    (void)unused;
    const double mu = steel.E / (2 * (1 + steel.nu)), gamma = 0.01;
    const double alpha = (sqrt(3) * mu * gamma - steel.sigma_y) / (3 * mu + steel.H);
    for (int i = 3; i < 6; i++) {
        const oracle_state start = {{0}, 0};
        double eps[6] = {0}, sigma[6], C[6][6];
        oracle_state state;
        eps[i] = gamma;
        oracle_return(&steel, eps, &start, sigma, &state, C);
        CLOSE(state.alpha, alpha, 1e-15);
        for (int j = 0; j < 6; j++)
            CLOSE(sigma[j], j == i ? (steel.sigma_y + steel.H * alpha) / sqrt(3) : 0, 1e-12 * steel.sigma_y);
        CLOSE(state.eps_p[i], sqrt(3) / 2 * alpha, 1e-15);
        CLOSE(C[i][i], mu * steel.H / (3 * mu + steel.H), 1e-12 * mu); /* proportional loading: no theta */
    }
}

/* Loading, unloading and reversal along one strain direction: the closed form that stands as "analytic" in
 * tests/validation/reference/patch_plastic.patch_hex.json. */
static void test_path(void **unused)
{
    (void)unused;
    const oracle_material m = {.E = 210000, .nu = 0.3, .sigma_y = 250, .H = 2000};
    const double direction[6] = {1e-3, -0.5e-3, 0.6e-3, 0.6e-3, 0.6e-3, -0.2e-3};
    const double factor[6] = {1, 2, 4, 3, -2, 5};
    const double peeq[6] = {0,
                            0.0010168275883587644,
                            0.0030569549248283603,
                            0.0030569549248283603,
                            0.007080686538742476,
                            0.012058602084139645};
    const double stress_xx[6] = {294.80769230769226, 488.4671307058066,   875.1421936780987,
                                 580.3345013704064,  -493.44591091006953, 1075.0330685400054};
    const double stress_xz[6] = {-16.153846153846153,  -16.33691537460105, -16.60139900180507,
                                 -0.44755284795892003, 17.123038564747823, -17.768379243158762};
    oracle_state state = {{0}, 0}, next;
    for (int step = 0; step < 6; step++) {
        double eps[6], sigma[6], C[6][6];
        for (int i = 0; i < 6; i++) eps[i] = factor[step] * direction[i];
        oracle_return(&m, eps, &state, sigma, &next, C);
        state = next;
        CLOSE(state.alpha, peeq[step], 1e-15);
        CLOSE(sigma[0], stress_xx[step], 1e-11 * m.sigma_y);
        CLOSE(sigma[5], stress_xz[step], 1e-11 * m.sigma_y);
    }
}

/* C is symmetric and the derivative of the stress. Central differences of step h err by h^2 and eps / h:
 * 1e-8 E at h = 1e-6 of the strain. */
static void test_tangent(void **unused)
{
    (void)unused;
    int n_plastic = 0;
    for (int t = 0; t < 500; t++) {
        const oracle_material m = material_of(t);
        const oracle_state zero = {{0}, 0};
        oracle_state start, state;
        double eps[6], sigma[6], plus[6], minus[6], C[6][6], ignored[6][6];
        random_strain(2e-3, eps);
        oracle_return(&m, eps, &zero, sigma, &start, C);
        random_strain(1.2e-3, eps);
        oracle_return(&m, eps, &start, sigma, &state, C);
        n_plastic += state.alpha > start.alpha;
        if (fabs(mises(sigma) - yield_of(&m, start.alpha)) < 1e-4 * m.sigma_y && state.alpha == start.alpha)
            continue; /* at the kink */
        for (int j = 0; j < 6; j++) {
            const double h = 4e-9, e0 = eps[j];
            eps[j] = e0 + h;
            oracle_return(&m, eps, &start, plus, &state, ignored);
            eps[j] = e0 - h;
            oracle_return(&m, eps, &start, minus, &state, ignored);
            eps[j] = e0;
            for (int i = 0; i < 6; i++) CLOSE(C[i][j], (plus[i] - minus[i]) / (2 * h), 1e-7 * m.E);
            for (int i = 0; i < 6; i++) CLOSE(C[i][j], C[j][i], 1e-14 * m.E);
        }
    }
    assert_in_range(n_plastic, 100, 499);
}

/* --- the element ----------------------------------------------------------------------------------- */

/* Linear field u = A x. */
static void linear_field(const box *b, double A[3][3], double *u)
{
    for (int n = 0; n < b->mesh.n_node; n++)
        for (int i = 0; i < 3; i++)
            u[3 * n + i] = A[i][0] * b->x[n][0] + A[i][1] * b->x[n][1] + A[i][2] * b->x[n][2];
}

static double dot(const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < N_NODE * 3; i++) sum += a[i] * b[i];
    return sum;
}

static void test_volume(void **kind)
{
    box b;
    double dN[ORACLE_CORNERS][3];
    box_open(&b, *kind);
    for (int e = 0; e < b.mesh.n_elem; e++)
        for (int q = 0; q < b.mesh.n_point; q++) assert_true(oracle_gradients(&b.mesh, e, q, dN) > 0);
    CLOSE(oracle_volume(&b.mesh), 1, 1e-14);
}

/* A linear displacement beyond yield: every point has the stress of the point formula, inner nodes are in
 * balance, and the forces do the work of that stress: r·v = sigma : grad v × volume for a linear v. */
static void test_patch(void **kind)
{
    double A[3][3] = {{3e-3, 1e-3, -2e-3}, {5e-4, -1e-3, 8e-4}, {-7e-4, 2e-3, 1.5e-3}};
    double eps[6] = {A[0][0], A[1][1], A[2][2], A[0][1] + A[1][0], A[1][2] + A[2][1], A[0][2] + A[2][0]};
    const int voigt[3][3] = {{0, 3, 5}, {3, 1, 4}, {5, 4, 2}};
    const oracle_state zero = {{0}, 0};
    oracle_state state;
    double sigma[6], C[6][6];
    oracle_return(&steel, eps, &zero, sigma, &state, C);
    assert_true(state.alpha > 1e-4);

    box b;
    box_open(&b, *kind);
    fields *f = calloc(1, sizeof *f);
    assert_non_null(f);
    linear_field(&b, A, f->u);
    oracle_update(&b.mesh, &steel, f->committed, f->u, f->trial, f->C);
    oracle_residual(&b.mesh, &steel, f->committed, f->u, f->r, f->scale);
    for (int p = 0; p < b.mesh.n_elem * b.mesh.n_point; p++) CLOSE(f->trial[p].alpha, state.alpha, 1e-15);
    for (int n = 0; n < b.mesh.n_node; n++)
        for (int i = 0; i < 3 && b.inner[n]; i++) CLOSE(f->r[3 * n + i], 0, 1e-12 * f->scale[3 * n + i]);
    for (int k = 0; k < 9; k++) {
        double G[3][3] = {{0}};
        G[k / 3][k % 3] = 1;
        linear_field(&b, G, f->v);
        CLOSE(dot(f->r, f->v), sigma[voigt[k / 3][k % 3]], 1e-11 * steel.sigma_y);
    }
    free(f);
}

/* Translations and infinitesimal rotations: no force, from the residual or from K with a plastic tangent.
 * Both are measured against E × edge × displacement; the oracle's own scale is as large, although the terms
 * within each element cancel. */
static void test_rigid(void **kind)
{
    box b;
    box_open(&b, *kind);
    fields *f = fields_open(&b, &steel);
    static const oracle_state start[MOST_POINTS];
    for (int mode = 0; mode < 6; mode++) {
        double A[3][3] = {{0}};
        const int i = mode % 3, j = (i + 1) % 3;
        if (mode < 3) A[i][j] = 1, A[j][i] = -1;
        linear_field(&b, A, f->v);
        for (int n = 0; n < b.mesh.n_node && mode >= 3; n++) f->v[3 * n + i] = 1;
        oracle_jacvec(&b.mesh, f->C, f->v, f->y, f->scale);
        oracle_residual(&b.mesh, &steel, start, f->v, f->r, NULL);
        for (int k = 0; k < 3 * b.mesh.n_node; k++) CLOSE(f->y[k], 0, 1e-13 * steel.E);
        for (int k = 0; k < 3 * b.mesh.n_node; k++) assert_true(f->scale[k] > 1e-3 * steel.E);
        for (int k = 0; k < 3 * b.mesh.n_node; k++) CLOSE(f->r[k], 0, 1e-13 * steel.E);
    }
    free(f);
}

/* K v is the derivative of the residual along v, and K is symmetric. The difference's own error is 1e-8. */
static void test_jacobian(void **kind)
{
    box b;
    box_open(&b, *kind);
    fields *f = fields_open(&b, &steel);
    const double h = 1e-9;
    double plus[N_NODE * 3], minus[N_NODE * 3], u[N_NODE * 3];
    int n_plastic = 0;
    for (int p = 0; p < b.mesh.n_elem * b.mesh.n_point; p++)
        n_plastic += f->trial[p].alpha > f->committed[p].alpha;
    assert_in_range(n_plastic, 1, b.mesh.n_elem * b.mesh.n_point - 1);

    oracle_jacvec(&b.mesh, f->C, f->v, f->y, f->scale);
    for (int i = 0; i < 3 * b.mesh.n_node; i++) u[i] = f->u[i] + h * f->v[i];
    oracle_residual(&b.mesh, &steel, f->committed, u, plus, NULL);
    for (int i = 0; i < 3 * b.mesh.n_node; i++) u[i] = f->u[i] - h * f->v[i];
    oracle_residual(&b.mesh, &steel, f->committed, u, minus, NULL);
    for (int i = 0; i < 3 * b.mesh.n_node; i++)
        CLOSE(f->y[i], (plus[i] - minus[i]) / (2 * h), 1e-7 * steel.E);

    oracle_jacvec(&b.mesh, f->C, f->u, f->r, NULL);
    CLOSE(dot(f->u, f->y), dot(f->v, f->r), 1e-12 * sqrt(dot(f->u, f->u) * dot(f->y, f->y)));
    free(f);
}

/* The diagonal blocks are K times unit vectors. */
static void test_diagonal(void **kind)
{
    box b;
    box_open(&b, *kind);
    fields *f = fields_open(&b, &steel);
    oracle_diagonal(&b.mesh, f->C, f->d, f->d_scale);
    for (int column = 0; column < 3 * b.mesh.n_node; column += 5) {
        const int n = column / 3;
        memset(f->v, 0, sizeof f->v);
        f->v[column] = 1;
        oracle_jacvec(&b.mesh, f->C, f->v, f->y, NULL);
        for (int i = 0; i < 3; i++) {
            CLOSE(f->d[n][i][column % 3], f->y[3 * n + i], 1e-14 * f->d_scale[n][i][column % 3]);
            assert_true(f->d_scale[n][i][column % 3] >= fabs(f->d[n][i][column % 3]));
        }
    }
    free(f);
}

/* Linear tetrahedra have one strain: both rules give the same force to rounding. */
static void test_tet_rules(void **unused)
{
    (void)unused;
    box one, four;
    box_open(&one, kinds[0]);
    box_open(&four, kinds[1]);
    fields *f = calloc(1, sizeof *f);
    assert_non_null(f);
    for (int i = 0; i < 3 * one.mesh.n_node; i++) f->u[i] = 1e-3 * uniform();
    static const oracle_state start[MOST_POINTS];
    oracle_residual(&one.mesh, &steel, start, f->u, f->r, f->scale);
    oracle_residual(&four.mesh, &steel, start, f->u, f->y, NULL);
    for (int i = 0; i < 3 * one.mesh.n_node; i++) CLOSE(f->r[i], f->y[i], 1e-13 * f->scale[i]);
    free(f);
}

/* One test per element kind, which arrives as initial state. */
#define EACH_KIND(test)                                                                                      \
    {#test " tet4", test, NULL, NULL, (void *)kinds[0]},                                                     \
        {#test " tet4_p4", test, NULL, NULL, (void *)kinds[1]},                                              \
        {#test " hex8", test, NULL, NULL, (void *)kinds[2]},                                                 \
        {#test " tet10", test, NULL, NULL, (void *)kinds[3]},                                                \
    {                                                                                                        \
#test " hex27", test, NULL, NULL, (void *)kinds[4]                                                   \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_return), cmocka_unit_test(test_shear),
        cmocka_unit_test(test_path),   cmocka_unit_test(test_tangent),
        EACH_KIND(test_volume),        EACH_KIND(test_patch),
        EACH_KIND(test_rigid),         EACH_KIND(test_jacobian),
        EACH_KIND(test_diagonal),      cmocka_unit_test(test_tet_rules),
    };
    return cmocka_run_group_tests_name("oracle", tests, NULL, NULL) ? 1 : 0;
}
