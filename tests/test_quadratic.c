/* The mathematics of quadratic elements: shape functions, gradients and their transposes, curved volumes, the
 * order of corners, and a quadratic displacement that every strategy has to reproduce. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/backend/device.h"
#include "common/mesh/corners.h"
#include "common/physics/element.h"
#include "common/physics/stiffness.h"
#include "common/problem/summary.h"
#include "have/cuda.h"
#include "tests/common.h"
#include "tests/curved.h"
#include "tests/rig.h"

static const int kinds[] = {FE_TET10, FE_HEX27};

/* --- an element in reference coordinates ------------------------------------------------------------- */

/* Where the view's corner a stands. */
static void corner_at(int kind, int a, double s[3])
{
    static const double tet10[10][3] = {{0, 0, 0},     {1, 0, 0},     {0, 1, 0},   {0, 0, 1},
                                        {0.5, 0, 0},   {0.5, 0.5, 0}, {0, 0.5, 0}, {0, 0, 0.5},
                                        {0, 0.5, 0.5}, {0.5, 0, 0.5}};
    for (int i = 0; i < 3; i++)
        s[i] = kind == FE_TET10 ? tet10[a][i] : 0.5 * (i == 0 ? a % 3 : i == 1 ? a / 3 % 3 : a / 9);
}

static void point_at(int kind, int q, double s[3])
{
    const double far = (5 - sqrt(5.0)) / 20, near = (5 + 3 * sqrt(5.0)) / 20;
    for (int i = 0; i < 3; i++) {
        const int at = i == 0 ? q % 3 : i == 1 ? q / 3 % 3 : q / 9;
        s[i] = kind == FE_TET10 ? (q == i + 1 ? near : far) : 0.5 + 0.5 * (at - 1) * sqrt(0.6);
    }
}

/* Shape function of corner a, as the product of lines through the other corners. */
static double shape(int kind, int a, const double s[3])
{
    double corner[3], product = 1;
    corner_at(kind, a, corner);
    if (kind == FE_HEX27) {
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 3; k++)
                if (0.5 * k != corner[i]) product *= (s[i] - 0.5 * k) / (corner[i] - 0.5 * k);
        return product;
    }
    const double L[4] = {1 - s[0] - s[1] - s[2], s[0], s[1], s[2]},
                 own[4] = {1 - corner[0] - corner[1] - corner[2], corner[0], corner[1], corner[2]};
    for (int v = 0; v < 4; v++) {
        if (own[v] == 1) return L[v] * (2 * L[v] - 1);
        if (own[v] == 0.5) product *= 2 * L[v];
    }
    return product;
}

/* Derivatives by differences, which are exact for polynomials of degree 2. */
static void shape_gradient(int kind, int a, const double s[3], double g[3])
{
    for (int i = 0; i < 3; i++) {
        double up[3] = {s[0], s[1], s[2]}, down[3] = {s[0], s[1], s[2]};
        up[i] += 0.25, down[i] -= 0.25;
        g[i] = (shape(kind, a, up) - shape(kind, a, down)) / 0.5;
    }
}

static void gradients_of(int kind, fe_real f[][3], int q, fe_real G[3][3])
{
    const int k = q / fe_plane_points(kind), p = q % fe_plane_points(kind);
    fe_plane g[3];
    if (kind == FE_TET10) {
        fe_gradient_plane(FE_TET10, f, k, g);
        fe_gradient_at(FE_TET10, f, g, k, p, G);
    } else {
        fe_gradient_plane(FE_HEX27, f, k, g);
        fe_gradient_at(FE_HEX27, f, g, k, p, G);
    }
}

static void draw(int n, fe_real f[][3])
{
    for (int i = 0; i < n; i++)
        for (int c = 0; c < 3; c++)
            for (int l = 0; l < FE_LANES; l++) f[i][c][l] = uniform();
}

/* --- tests ------------------------------------------------------------------------------------------- */

/* Shape functions are 1 at their own corner and 0 at the others, and the bodies' derivatives are theirs. */
static void test_gradients(void **state)
{
    (void)state;
    for (int t = 0; t < 2; t++) {
        const int kind = kinds[t], n = fe_corners(kind);
        for (int a = 0; a < n; a++)
            for (int b = 0; b < n; b++) {
                double s[3];
                corner_at(kind, b, s);
                assert_true(fabs(shape(kind, a, s) - (a == b)) < 1e-15);
            }
        for (int q = 0; q < fe_points(kind); q++) {
            double s[3], sum[3] = {0}, share = 0;
            point_at(kind, q, s);
            for (int a = 0; a < n; a++) {
                double g[3];
                fe_real many[3];
                shape_gradient(kind, a, s, g);
                fe_quadratic_gradients(kind, fe_same_index(a), q, many);
                for (int j = 0; j < 3; j++) {
                    assert_true(fabs((double)fe_shape_gradient(kind, a, q, j) - g[j]) < 1e-14);
                    assert_true(fabs((double)many[j][FE_LANES - 1] - g[j]) < 1e-14);
                    sum[j] += (double)fe_shape_gradient(kind, a, q, j);
                }
                share += fe_corner_share(kind, a, q);
                assert_true(fe_corner_share(kind, a, q) > 0);
            }
            assert_true(fabs(share - 1) < 1e-14);
            for (int j = 0; j < 3; j++) assert_true(fabs(sum[j]) < 1e-13);
        }
    }
}

/* Gradients of a field at all points, which are computed by planes, are sums over the corners. */
static void test_fields(void **state)
{
    (void)state;
    for (int t = 0; t < 2; t++) {
        const int kind = kinds[t], n = fe_corners(kind);
        fe_real f[FE_MOST_CORNERS][3], G[3][3];
        draw(n, f);
        for (int q = 0; q < fe_points(kind); q++) {
            gradients_of(kind, f, q, G);
            for (int c = 0; c < 3; c++)
                for (int j = 0; j < 3; j++)
                    for (int l = 0; l < FE_LANES; l++) {
                        double sum = 0;
                        for (int a = 0; a < n; a++)
                            sum += (double)fe_shape_gradient(kind, a, q, j) * (double)f[a][c][l];
                        assert_true(fabs((double)G[c][j][l] - sum) < 1e-13);
                    }
        }
    }
}

/* y = transpose of P: f · y = sum over points of gradient(f) · P for every field. */
static void test_transposes(void **state)
{
    (void)state;
    for (int t = 0; t < 2; t++) {
        const int kind = kinds[t], n = fe_corners(kind), n_point = fe_plane_points(kind);
        fe_real f[FE_MOST_CORNERS][3], y[FE_MOST_CORNERS][3], G[3][3];
        double points = 0, corners = 0;
        draw(n, f);
        for (int a = 0; a < n; a++)
            for (int c = 0; c < 3; c++) y[a][c] = fe_splat(0);
        for (int k = 0; k < fe_planes(kind); k++) {
            fe_plane sums[3];
            if (kind == FE_TET10)
                fe_gradient_start(FE_TET10, sums);
            else
                fe_gradient_start(FE_HEX27, sums);
            for (int p = 0; p < n_point; p++) {
                fe_real P[3][3];
                draw(3, P);
                gradients_of(kind, f, fe_point_of(kind, k, p), G);
                for (int i = 0; i < 9; i++) points += (double)P[i / 3][i % 3][1] * (double)G[i / 3][i % 3][1];
                if (kind == FE_TET10)
                    fe_gradient_close(FE_TET10, P, k, p, sums, y);
                else
                    fe_gradient_close(FE_HEX27, P, k, p, sums, y);
            }
            if (kind == FE_TET10)
                fe_gradient_end(FE_TET10, sums, k, y);
            else
                fe_gradient_end(FE_HEX27, sums, k, y);
        }
        for (int a = 0; a < n; a++)
            for (int c = 0; c < 3; c++) corners += (double)f[a][c][1] * (double)y[a][c][1];
        assert_true(fabs(points - corners) < 1e-11);
    }
}

/* x = s_0 + a s_0² + b s_1 s_2, y = s_1 + c s_2², z = s_2 has the determinant 1 + 2 a s_0. */
static void test_volumes(void **state)
{
    (void)state;
    const double a = 0.3, b = 0.2, c = -0.25;
    for (int t = 0; t < 2; t++) {
        const int kind = kinds[t];
        fe_real x[FE_MOST_CORNERS][3];
        double volume = 0;
        for (int i = 0; i < fe_corners(kind); i++) {
            double s[3];
            corner_at(kind, i, s);
            x[i][0] = fe_splat(s[0] + a * s[0] * s[0] + b * s[1] * s[2]);
            x[i][1] = fe_splat(s[1] + c * s[2] * s[2]);
            x[i][2] = fe_splat(s[2]);
        }
        for (int q = 0; q < fe_points(kind); q++) {
            fe_real J[3][3], strain[6];
            double s[3];
            point_at(kind, q, s);
            gradients_of(kind, x, q, J);
            const fe_real part = fe_point_strain(kind, q, J, J, strain);
            assert_true(fabs((double)part[0] / (double)fe_weight_at(kind, q) - (1 + 2 * a * s[0])) < 1e-13);
            volume += (double)part[0];
        }
        const double expected = kind == FE_TET10 ? 1.0 / 6 + 2 * a / 24 : 1 + a;
        assert_true(fabs(volume - expected) < 1e-14);
    }
}

/* Corner c of the view stands where Gmsh's corner of it does: ternary order. Gmsh's edges and faces are in
 * the middle of the vertices that its manual names. */
static void test_corners(void **state)
{
    (void)state;
    static const int middle[19][8] = {{0, 1, -1},
                                      {0, 3, -1},
                                      {0, 4, -1},
                                      {1, 2, -1},
                                      {1, 5, -1},
                                      {2, 3, -1},
                                      {2, 6, -1},
                                      {3, 7, -1},
                                      {4, 5, -1},
                                      {4, 7, -1},
                                      {5, 6, -1},
                                      {6, 7, -1},
                                      {0, 3, 2, 1, -1},
                                      {0, 1, 5, 4, -1},
                                      {0, 4, 7, 3, -1},
                                      {1, 2, 6, 5, -1},
                                      {2, 3, 7, 6, -1},
                                      {4, 5, 6, 7, -1},
                                      {0, 1, 2, 3, 4, 5, 6, 7}};
    static const double vertex[8][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0},
                                        {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}};
    int seen[27] = {0};
    for (int c = 0; c < 27; c++) {
        const int gmsh = fe_mesh_corner(FE_HEX27, c);
        double s[3], at[3] = {0};
        int n = 0;
        corner_at(FE_HEX27, c, s);
        seen[gmsh]++;
        if (gmsh < 8) memcpy(at, vertex[gmsh], sizeof at), n = 1;
        for (int k = 0; gmsh >= 8 && k < 8 && middle[gmsh - 8][k] >= 0; k++, n++)
            for (int i = 0; i < 3; i++) at[i] += vertex[middle[gmsh - 8][k]][i];
        for (int i = 0; i < 3; i++) assert_true(at[i] / n == s[i]);
    }
    for (int c = 0; c < 27; c++) assert_int_equal(seen[c], 1);
    for (int c = 0; c < 10; c++) assert_int_equal(fe_mesh_corner(FE_TET10, c), c);
}

/* --- a quadratic displacement ------------------------------------------------------------------------ */

/* The gradient of a harmonic polynomial of degree 3: it has no divergence and each component is harmonic, so
 * it is an elastic solution without body forces. Elements with plane sides have it exactly. */
static void harmonic(const double x[3], double u[3])
{
    const double X = x[0], Y = x[1], Z = x[2];
    u[0] = 3 * (X * X - Y * Y) + 2 * Y * Z + 2 * X * Z;
    u[1] = -6 * X * Y + 2 * X * Z;
    u[2] = 2 * X * Y + X * X - Z * Z;
}

static void open_patch(scene *s, int kind)
{
    const int cells[3] = {3, 3, 3};
    const double length[3] = {BOX_X, BOX_Y, BOX_Z};
    *s = (scene){.kind = kind, .n_material = 1, .material = {{.E = 200000, .nu = 0.3, .sigma_y = INFINITY}}};
    random_state = 11;
    s->mesh = make_box(kind == FE_TET10 ? FE_TET4 : FE_HEX8, cells, length, kind == FE_TET10 ? 0.2 : 0, 1);
    must(fe_mesh_elevate(&s->mesh));
    snprintf(s->name, sizeof s->name, "%s", fe_kind_name(kind));
    s->of = zeros((size_t)s->mesh.n_elem, 1);
    s->committed = zeros((size_t)s->mesh.n_elem * fe_points(kind), sizeof *s->committed);
    s->oracle = (oracle_mesh){.n_corner = fe_corners(kind),
                              .n_point = fe_points(kind),
                              .n_node = s->mesh.n_node,
                              .n_elem = s->mesh.n_elem,
                              .x = s->mesh.x,
                              .conn = s->mesh.conn,
                              .material = s->of};
}

/* No force at the nodes inside, by residual and by product. The oracle's terms say what rounding is of. */
static int check_harmonic(const scene *s, const fe_assembly *assembly, const char *backend)
{
    const size_t n = 3 * (size_t)s->mesh.n_node;
    const double length[3] = {BOX_X, BOX_Y, BOX_Z};
    double *u = new_vector(s, 3), *r = new_vector(s, 3), *y = new_vector(s, 3), *scale = new_vector(s, 3),
           *expected = zeros(n, sizeof *expected);
    for (int i = 0; i < s->mesh.n_node; i++) {
        harmonic(s->mesh.x + 3 * (size_t)i, u + 3 * (size_t)i);
        for (int c = 0; c < 3; c++) u[3 * (size_t)i + c] *= 1e-3;
    }
    oracle_residual(&s->oracle, s->material, s->committed, u, r, scale);
    int inside = 0;
    for (size_t i = 0; i < n; i++)
        if (on_side(&s->mesh, (int)(i / 3), length))
            scale[i] = INFINITY;
        else
            inside++;
    assert_true(inside > 300);
    rig b = rig_whole(s, assembly, backend, THREADS);
    int bad = compare("oracle's residual of a quadratic displacement", s, n, r, expected, scale, 1e-13);
    rig_apply(&b, assembly->residual, u, r);
    rig_material(&b, FE_LINEARIZATION_CONSISTENT, u);
    rig_apply(&b, assembly->jacvec, u, y);
    bad += compare("residual of a quadratic displacement", s, n, r, expected, scale, TOLERANCE);
    bad += compare("product with a quadratic displacement", s, n, y, expected, scale, TOLERANCE);
    rig_close(&b);
    free(u), free(r), free(y), free(scale), free(expected);
    return bad;
}

static void test_patch(void **state)
{
    const char *backend = *state;
    const int cuda = !strcmp(backend, "cuda");
    int n = 0;
    skip_if(!cuda || fe_cuda_devices() > 0 ? NULL
            : FE_HAVE_CUDA                 ? "no CUDA device found"
                                           : "built without CUDA",
            "quadratic displacement on cuda");
    for (int t = 0; t < 2; t++) {
        scene s;
        open_patch(&s, kinds[t]);
        for (int i = 0; i < fe_variant_count(); i++) {
            const fe_assembly *a = cuda ? fe_variant_at(i)->cuda : fe_variant_at(i)->host;
            if (!a || !a->quadratic) continue;
            assert_int_equal(check_harmonic(&s, a, backend), 0);
            n++;
        }
        free(s.of), free(s.committed);
        fe_mesh_close(&s.mesh);
    }
    assert_true(n > 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_transposes),
        cmocka_unit_test(test_volumes),
        cmocka_unit_test(test_corners),
        {.name = "patch host", .test_func = test_patch, .initial_state = "host"},
        {.name = "patch cuda", .test_func = test_patch, .initial_state = "cuda"},
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("quadratic", tests, NULL, NULL) ? 1 : 0;
}
