/* Loads and supports on Tet10 and Hex27: single elements by hand, and sums that are integrals over curved
 * bodies. */
#include "tests/common.h"
#include "tests/draft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int quadratic[2] = {FE_TET10, FE_HEX27}, cells_234[3] = {2, 3, 4};
static const double length_123[3] = {1, 2, 3};
static const char *const sides[6] = {"x0", "x1", "y0", "y1", "z0", "z1"};

/* Rounding of sums of some thousand terms. */
static void assert_near(double value, double expected, double scale)
{
    if (!(fabs(value - expected) <= 1e-12 * scale)) fail_msg("%.17g is not %.17g", value, expected);
}

/* A straight box: a uniform traction gives a side's vertices nothing and each middle a third of the area
 * (Tri6), or 1/36, 4/36 and 16/36 of it (Quad9); a uniform body force gives a Tet10's vertices -1/20 and its
 * middles 1/5 of the volume, and a Hex27's nodes products of 1/6, 4/6, 1/6. */
static void single_elements_by_hand(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        draft d;
        fe_boundary b;
        const int kind = quadratic[k], n_vertex = fe_vertices(kind), width = fe_facet_width(kind);
        open_draft(&d);
        fe_mesh mesh = tagged_box(kind, (const int[]){1, 1, 1}, length_123, 0);
        add_support(&d, "x0", "0", "0", "0", 0);
        add_traction(&d, "z1", 0, 7, 0, 0);
        add_body_force(&d, NULL, 0, 0, 11);
        must(fe_boundary_apply(&d.c, &mesh, &b));
        double *expected = calloc(3 * (size_t)mesh.n_node, sizeof *expected);
        assert_non_null(expected);
        const fe_group *top = fe_mesh_group(&mesh, "z1");
        for (int f = 0; f < top->n_facet; f++)
            for (int a = 0; a < width; a++) {
                const int node = top->facet[f * width + a];
                if (node < 0) continue;
                const double share = kind == FE_TET10 ? (a < 3 ? 0 : 1. / 3) / 2
                                     : a < 4          ? 1. / 36
                                     : a < 8          ? 4. / 36
                                                      : 16. / 36;
                expected[3 * node + 1] += 7 * 2 * share;
            }
        for (int e = 0; e < mesh.n_elem; e++)
            for (int a = 0; a < fe_corners(kind); a++) {
                const double share = kind == FE_TET10 ? (a < n_vertex ? -1. / 20 : 1. / 5) / 6
                                                      : (a < 8    ? 1.
                                                         : a < 20 ? 4.
                                                         : a < 26 ? 16.
                                                                  : 64.) /
                                                            216;
                expected[3 * mesh.conn[e * fe_corners(kind) + a] + 2] += 11 * 6 * share;
            }
        for (int i = 0; i < 3 * mesh.n_node; i++) assert_near(b.load[0][i], expected[i], 10);
        free(expected);
        fe_boundary_close(&b);
        fe_mesh_close(&mesh);
    }
}

/* All nodes of a side are held, and the values are those at the nodes. */
static void supports_hold_all_nodes_of_a_side(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        draft d;
        fe_boundary b;
        open_draft(&d);
        fe_mesh mesh = tagged_box(quadratic[k], cells_234, length_123, 0.1);
        add_support(&d, "x0", "0", "y*z", "0", 0);
        must(fe_boundary_apply(&d.c, &mesh, &b));
        assert_int_equal(b.n_fixed, 3 * 7 * 9);
        for (int f = 0; f < b.n_fixed; f++) {
            const double *x = mesh.x + b.fixed[f] / 3 * 3;
            assert_true(x[0] == 0);
            assert_near(b.value[f], b.fixed[f] % 3 == 1 ? x[1] * x[2] : 0, 6);
        }
        fe_boundary_close(&b);
        fe_mesh_close(&mesh);
    }
}

/* On a closed curved surface a uniform pressure has no resultant and Σ x · f = -3 p V; one that grows with
 * depth lifts by the weight of the volume. Both are exact, however the sides are curved. */
static void pressure_on_a_curved_body(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++)
        for (int grows = 0; grows < 2; grows++) {
            draft d;
            fe_boundary b;
            fe_quality quality;
            double force[3], moment[3], virial;
            open_draft(&d);
            fe_mesh mesh = tagged_box(quadratic[k], cells_234, length_123, 0.1);
            warp(&mesh);
            must(fe_mesh_quality(&mesh, &quality));
            add_support(&d, "x0", "0", "0", "0", 0);
            for (int s = 0; s < 6; s++) {
                add_pressure(&d, sides[s], 3);
                if (grows) d.load[s].expression[0] = (char *)"-3*z";
            }
            must(fe_boundary_apply(&d.c, &mesh, &b));
            resultant(&mesh, b.load[0], force, moment, &virial);
            for (int i = 0; i < 3; i++) assert_near(force[i], grows && i == 2 ? 3 * quality.volume : 0, 100);
            if (!grows) {
                for (int i = 0; i < 3; i++) assert_near(moment[i], 0, 300);
                assert_near(virial, -9 * quality.volume, 300);
            }
            fe_boundary_close(&b);
            fe_mesh_close(&mesh);
        }
}

/* The order of a facet's nodes does not matter. */
static void facets_may_be_turned(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        draft d;
        fe_boundary b[2];
        open_draft(&d);
        fe_mesh mesh = tagged_box(quadratic[k], cells_234, length_123, 0.1);
        warp(&mesh);
        add_support(&d, "x0", "0", "0", "0", 0);
        add_pressure(&d, "y1", 2);
        add_traction(&d, "z1", 1, 2, 3, 0);
        must(fe_boundary_apply(&d.c, &mesh, &b[0]));
        for (int s = 3; s < 6; s += 2) { /* mirrored: two vertices, and the middles that then change places */
            const fe_group *g = fe_mesh_group(&mesh, sides[s]);
            for (int f = 0; f < g->n_facet; f++) {
                int *facet = g->facet + FE_MOST_FACE * f, old;
                const int nv = fe_facet_vertices(mesh.kind, facet);
                const int swap[2][2] = {{1, nv - 1}, {nv, 2 * nv - 1}};
                for (int i = 0; i < 2; i++)
                    old = facet[swap[i][0]], facet[swap[i][0]] = facet[swap[i][1]], facet[swap[i][1]] = old;
                if (nv == 4) old = facet[5], facet[5] = facet[6], facet[6] = old;
            }
        }
        must(fe_boundary_apply(&d.c, &mesh, &b[1]));
        assert_memory_equal(b[0].load[0], b[1].load[0], 3 * (size_t)mesh.n_node * sizeof(double));
        fe_boundary_close(&b[0]), fe_boundary_close(&b[1]);
        fe_mesh_close(&mesh);
    }
}

/* x = p + (0.1 p_y², 0.05 p_z p_x, -0.08 p_x²) maps the straight box p exactly to one of quadratic elements.
 */
static double bend(const double p[3], double x[3])
{
    x[0] = p[0] + 0.1 * p[1] * p[1];
    x[1] = p[1] + 0.05 * p[2] * p[0];
    x[2] = p[2] - 0.08 * p[0] * p[0];
    const double J[3][3] = {{1, 0.2 * p[1], 0}, {0.05 * p[2], 1, 0.05 * p[0]}, {-0.16 * p[0], 0, 1}};
    return J[0][0] * (J[1][1] * J[2][2] - J[1][2] * J[2][1]) -
           J[0][1] * (J[1][0] * J[2][2] - J[1][2] * J[2][0]) +
           J[0][2] * (J[1][0] * J[2][1] - J[1][1] * J[2][0]);
}

/* ∫ (1, x, y, z) over the bent box, by Gauss's rule of 5³ points over the straight one: exact. */
static void integrate(double sum[4])
{
    static const double place[5] = {-0.906179845938663993, -0.538469310105683091, 0, 0.538469310105683091,
                                    0.906179845938663993},
                        weight[5] = {0.236926885056189088, 0.478628670499366468, 128. / 225,
                                     0.478628670499366468, 0.236926885056189088};
    memset(sum, 0, 4 * sizeof *sum);
    for (int q = 0; q < 125; q++) {
        const int at[3] = {q % 5, q / 5 % 5, q / 25};
        double p[3], x[3], w = 6. / 8;
        for (int i = 0; i < 3; i++) p[i] = 0.5 * length_123[i] * (1 + place[at[i]]), w *= weight[at[i]];
        w *= bend(p, x);
        sum[0] += w;
        for (int i = 0; i < 3; i++) sum[1 + i] += w * x[i];
    }
}

static void body_force_in_a_curved_body(void **state)
{
    (void)state;
    double sum[4], force[3], moment[3], virial;
    integrate(sum);
    for (int k = 0; k < 2; k++)
        for (int grows = 0; grows < 2; grows++) {
            draft d;
            fe_boundary b;
            open_draft(&d);
            fe_mesh mesh = tagged_box(quadratic[k], cells_234, length_123, 0);
            for (int n = 0; n < mesh.n_node; n++) {
                double p[3];
                memcpy(p, mesh.x + 3 * n, sizeof p);
                bend(p, mesh.x + 3 * n);
            }
            add_support(&d, "x0", "0", "0", "0", 0);
            add_body_force(&d, NULL, 3, -5, 7);
            if (grows) d.load[0].expression[0] = (char *)"x", d.load[0].expression[2] = (char *)"2*y - z";
            must(fe_boundary_apply(&d.c, &mesh, &b));
            resultant(&mesh, b.load[0], force, moment, &virial);
            assert_near(force[0], grows ? sum[1] : 3 * sum[0], 100);
            assert_near(force[1], -5 * sum[0], 100);
            assert_near(force[2], grows ? 2 * sum[2] - sum[3] : 7 * sum[0], 100);
            if (!grows) assert_near(moment[0], 7 * sum[2] + 5 * sum[3], 300);
            fe_boundary_close(&b);
            fe_mesh_close(&mesh);
        }
}

/* Along a line of three nodes 1/6, 4/6, 1/6; and forces on points. */
static void lines_and_points(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        draft d;
        fe_boundary b;
        open_draft(&d);
        fe_mesh mesh = tagged_box(quadratic[k], cells_234, length_123, 0);
        mesh.group = realloc(mesh.group, 9 * sizeof *mesh.group);
        assert_non_null(mesh.group);
        must(fe_group_open(&mesh.group[7], "edge", mesh.kind, 1, 91, 2));
        must(fe_group_open(&mesh.group[8], "end", mesh.kind, 0, 92, 1));
        mesh.n_group = 9;
        static const int line[2][3] = {{0, 2, 1}, {4, 2, 3}}; /* y = z = 0: nodes 0 … 4 */
        for (int f = 0; f < 2; f++)
            for (int a = 0; a < FE_MOST_FACE; a++)
                mesh.group[7].facet[FE_MOST_FACE * f + a] = a < 3 ? line[f][a] : -1;
        for (int a = 0; a < FE_MOST_FACE; a++) mesh.group[8].facet[a] = a ? -1 : 4;
        add_support(&d, "x0", "0", "0", "0", 0);
        add_nodal(&d, "edge", 0, 6, 0);
        add_nodal(&d, "end", 5, 0, 0);
        must(fe_boundary_apply(&d.c, &mesh, &b));
        static const double share[5] = {0.5, 2, 1, 2, 0.5};
        for (int n = 0; n < mesh.n_node; n++) {
            assert_near(b.load[0][3 * n + 1], n < 5 ? share[n] : 0, 1);
            assert_near(b.load[0][3 * n], n == 4 ? 5 : 0, 1);
        }
        fe_boundary_close(&b);
        fe_mesh_close(&mesh);
    }
}

static void inner_faces_are_refused(void **state)
{
    (void)state;
    draft d;
    fe_boundary b;
    open_draft(&d);
    fe_mesh mesh = tagged_box(FE_HEX27, (const int[]){2, 1, 1}, length_123, 0);
    add_support(&d, "x0", "0", "0", "0", 0);
    add_pressure(&d, "x1", 1);
    fe_group *g = (fe_group *)fe_mesh_group(&mesh, "x1");
    assert_int_equal(fe_element_face(&mesh, 0, 5, g->facet), 9); /* towards the other element */
    assert_int_equal(fe_boundary_apply(&d.c, &mesh, &b), FE_BAD_INPUT);
    assert_non_null(strstr(fe_message(), "belongs to 2 volume elements"));
    fe_mesh_close(&mesh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_elements_by_hand),     cmocka_unit_test(supports_hold_all_nodes_of_a_side),
        cmocka_unit_test(pressure_on_a_curved_body),   cmocka_unit_test(facets_may_be_turned),
        cmocka_unit_test(body_force_in_a_curved_body), cmocka_unit_test(lines_and_points),
        cmocka_unit_test(inner_faces_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
