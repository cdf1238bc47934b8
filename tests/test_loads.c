/* Body forces, forces on lines and points, and loads that are expressions: their sums are integrals that are
 * known in closed form. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/child.h"
#include "tests/common.h"
#include "tests/draft.h"
#include "tests/result.h"

static const double length_123[3] = {1, 2, 3};
static const int cells_345[3] = {3, 4, 5};

static void assert_near(double value, double expected, double scale)
{
    if (!(fabs(value - expected) <= 1e-13 * scale)) fail_msg("%.17g is not %.17g", value, expected);
}

/* Adds a group of points (dim 0) or lines (dim 1) to the mesh. */
static void add_group(fe_mesh *mesh, const char *name, int dim, int n, const int (*node)[2])
{
    mesh->group = realloc(mesh->group, ((size_t)mesh->n_group + 1) * sizeof *mesh->group);
    assert_non_null(mesh->group);
    fe_group *group = &mesh->group[mesh->n_group];
    must(fe_group_open(group, name, mesh->kind, dim, 90 + mesh->n_group, (size_t)n));
    mesh->n_group++;
    for (int f = 0; f < n; f++)
        for (int a = 0; a < 4; a++) group->facet[4 * f + a] = a <= dim ? node[f][a] : -1;
}

/* The nodes of the edge y = z = 0 of a box of 3 cells along x, as lines; its two ends as points. */
static void add_edge(fe_mesh *mesh)
{
    static const int line[3][2] = {{0, 1}, {2, 1}, {2, 3}}, point[2][2] = {{0, -1}, {3, -1}};
    add_group(mesh, "edge", 1, 3, line);
    add_group(mesh, "ends", 0, 2, point);
}

static void apply(const draft *d, const fe_mesh *mesh, fe_boundary *b)
{
    must(fe_boundary_apply(&d->c, mesh, b));
}

/* A force per volume: the resultant is f V and acts at the centre of the box, whatever the elements. */
static void body_force_sums_to_force_and_moment(void **state)
{
    (void)state;
    static const double f[3] = {3, -5, 7}, centre[3] = {0.5, 1, 1.5};
    for (int kind = FE_TET4; kind <= FE_HEX8; kind += FE_HEX8 - FE_TET4) {
        draft d;
        fe_boundary b;
        double force[3], moment[3], virial;
        open_draft(&d);
        fe_mesh mesh = tagged_box(kind, cells_345, length_123, 0.2);
        add_support(&d, "x0", "0", "0", "0", 0);
        add_body_force(&d, NULL, f[0], f[1], f[2]);
        apply(&d, &mesh, &b);
        resultant(&mesh, b.load[0], force, moment, &virial);
        for (int i = 0; i < 3; i++) {
            const int j = (i + 1) % 3, k = (i + 2) % 3;
            assert_near(force[i], 6 * f[i], 100);
            assert_near(moment[i], 6 * (centre[j] * f[k] - centre[k] * f[j]), 300);
        }
        fe_boundary_close(&b);
        fe_mesh_close(&mesh);
    }
}

/* On one volume only its nodes are loaded; one element by hand: a quarter of the weight at each corner of a
 * Tet4, an eighth at each of a cube. */
static void body_force_stays_in_its_group(void **state)
{
    (void)state;
    draft d;
    fe_boundary b;
    double tet[12] = {0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 5}, force[3], moment[3], virial;
    int facet[4] = {1, 2, 3, -1};
    fe_mesh mesh;
    fe_group group[2];
    one_element(FE_TET4, tet, facet, &mesh, group);
    open_draft(&d);
    add_support(&d, "all", "0", "0", "0", 0);
    add_body_force(&d, "all", 0, 0, -2);
    apply(&d, &mesh, &b);
    for (int a = 0; a < 4; a++) assert_near(b.load[0][3 * a + 2], -5, 5); /* volume 10 */
    fe_boundary_close(&b);

    mesh = tagged_box(FE_HEX8, (const int[]){3, 1, 1}, (const double[]){3, 1, 1}, 0);
    ((fe_group *)fe_mesh_group(&mesh, "body"))->n_facet = 1; /* the first cell */
    d.support[0].group = (char *)"x0", d.load[0].group = (char *)"body";
    apply(&d, &mesh, &b);
    resultant(&mesh, b.load[0], force, moment, &virial);
    assert_near(force[2], -2, 2);
    for (int n = 0; n < mesh.n_node; n++)
        assert_near(b.load[0][3 * n + 2], mesh.x[3 * n] <= 1 ? -0.25 : 0, 1);
    fe_boundary_close(&b);
    fe_mesh_close(&mesh);
}

/* f = (x, 0, y z): its integrals over the box are V/2, 0, V × 1 × 3/2. A distorted element's own share of a
 * product of coordinates is not a sum of its map's terms, so the third one is checked on a regular box. */
static void body_force_takes_expressions(void **state)
{
    (void)state;
    for (int kind = FE_TET4; kind <= FE_HEX8; kind += FE_HEX8 - FE_TET4)
        for (int distorted = 0; distorted < 2; distorted++) {
            draft d;
            fe_boundary b;
            double force[3], moment[3], virial;
            open_draft(&d);
            fe_mesh mesh = tagged_box(kind, cells_345, length_123, distorted ? 0.2 : 0);
            add_support(&d, "x0", "0", "0", "0", 0);
            add_body_force(&d, NULL, 0, 0, 0);
            d.load[0].expression[0] = (char *)"x", d.load[0].expression[2] = (char *)"y*z";
            apply(&d, &mesh, &b);
            resultant(&mesh, b.load[0], force, moment, &virial);
            assert_near(force[0], 3, 100);
            assert_near(force[1], 0, 100);
            if (!distorted) assert_near(force[2], 9, 300);
            fe_boundary_close(&b);
            fe_mesh_close(&mesh);
        }
}

/* Pressure that grows with depth on a closed surface lifts by the weight of the volume: Archimedes. */
static void pressure_takes_an_expression(void **state)
{
    (void)state;
    static const char *const sides[6] = {"x0", "x1", "y0", "y1", "z0", "z1"};
    for (int kind = FE_TET4; kind <= FE_HEX8; kind += FE_HEX8 - FE_TET4) {
        draft d;
        fe_boundary b;
        fe_quality quality;
        double force[3], moment[3], virial;
        open_draft(&d);
        fe_mesh mesh = tagged_box(kind, cells_345, length_123, 0.1);
        warp(&mesh);
        add_support(&d, "x0", "0", "0", "0", 0);
        for (int i = 0; i < 6; i++) {
            add_pressure(&d, sides[i], 0);
            d.load[i].expression[0] = (char *)"5 - 2*z";
        }
        apply(&d, &mesh, &b);
        must(fe_mesh_quality(&mesh, &quality));
        resultant(&mesh, b.load[0], force, moment, &virial);
        assert_near(force[0], 0, 300);
        assert_near(force[1], 0, 300);
        assert_near(force[2], 2 * quality.volume, 300);
        fe_boundary_close(&b);
        fe_mesh_close(&mesh);
    }
}

/* A traction x on the side z1: ∫ x dA = 1, and its moment about the z axis from y: ∫ -y x dA = -1 × 2 / 2. */
static void traction_takes_expressions(void **state)
{
    (void)state;
    for (int kind = FE_TET4; kind <= FE_HEX8; kind += FE_HEX8 - FE_TET4) {
        draft d;
        fe_boundary b;
        double force[3], moment[3], virial;
        open_draft(&d);
        fe_mesh mesh = tagged_box(kind, cells_345, length_123, 0);
        add_support(&d, "x0", "0", "0", "0", 0);
        add_traction(&d, "z1", 0, 4, 0, 0);
        d.load[0].expression[0] = (char *)"x";
        apply(&d, &mesh, &b);
        resultant(&mesh, b.load[0], force, moment, &virial);
        assert_near(force[0], 1, 30);
        assert_near(force[1], 8, 30);
        assert_near(moment[2], 0.5 * 8 - 1, 30);
        fe_boundary_close(&b);
        fe_mesh_close(&mesh);
    }
}

/* Force per length on the three lines of an edge: half a line's at each of its ends. An expression is
 * integrated: x over [0, 1] with the shape functions. Each point gets the whole force. */
static void lines_and_points(void **state)
{
    (void)state;
    draft d;
    fe_boundary b;
    fe_mesh mesh = tagged_box(FE_HEX8, cells_345, length_123, 0);
    add_edge(&mesh);
    open_draft(&d);
    add_support(&d, "z1", "0", "0", "0", 0);
    add_nodal(&d, "edge", 0, 0, -6);
    d.load[0].expression[0] = (char *)"x";
    add_nodal(&d, "ends", 0, 5, 0);
    apply(&d, &mesh, &b);
    static const double share[4] = {1. / 6, 1. / 3, 1. / 3, 1. / 6},
                        of_x[4] = {1. / 54, 1. / 9, 2. / 9, 4. / 27};
    for (int n = 0; n < mesh.n_node; n++) {
        const double *f = b.load[0] + 3 * n;
        assert_near(f[0], n < 4 ? of_x[n] : 0, 1);
        assert_near(f[1], n == 0 || n == 3 ? 5 : 0, 5);
        assert_near(f[2], n < 4 ? -6 * share[n] : 0, 6);
    }
    fe_boundary_close(&b);
    fe_mesh_close(&mesh);
}

static void assert_refused(const draft *d, const fe_mesh *mesh, const char *message)
{
    fe_boundary b;
    assert_int_equal(fe_boundary_apply(&d->c, mesh, &b), FE_BAD_INPUT);
    assert_message("draft.json: key ");
    assert_message(message);
    fe_boundary_close(&b);
}

static void refuses_wrong_groups_and_expressions(void **state)
{
    (void)state;
    draft d;
    fe_mesh mesh = tagged_box(FE_HEX8, cells_345, length_123, 0);
    add_edge(&mesh);
    open_draft(&d);
    add_support(&d, "x0", "0", "0", "0", 0);
    add_body_force(&d, "x1", 0, 0, 1);
    assert_refused(&d, &mesh, "\"body_force[0].group\": \"x1\" has no volume elements (its dimension is 2)");
    d.load[0].group = (char *)"nowhere";
    assert_refused(&d, &mesh, "\"body_force[0].group\": \"nowhere\" is not in box; its groups are: x0, x1");
    d.load[0].group = NULL, d.load[0].expression[1] = (char *)"1/(x";
    assert_refused(&d, &mesh, "\"body_force[0].force[1]\": \"1/(x\": Missing parenthesis");
    d.load[0].expression[1] = (char *)"sqrt(-1 - x)";
    assert_refused(&d, &mesh, "\"body_force[0].force[1]\": \"sqrt(-1 - x)\" is ");
    d.c.n_load = 0;
    add_body_force(&d, NULL, 0, 0, 1);
    add_nodal(&d, "edge", 0, 0, 1);
    add_nodal(&d, "x1", 0, 0, 1);
    assert_refused(&d, &mesh, "\"nodal[1].group\": \"x1\" has no points or lines (its dimension is 2)");
    d.load[2].group = (char *)"body";
    assert_refused(&d, &mesh, "\"nodal[1].group\": \"body\" has no points or lines (its dimension is 3)");
    d.c.n_load = 0;
    add_traction(&d, "edge", 0, 0, 1, 0);
    assert_refused(&d, &mesh, "\"neumann[0].group\": \"edge\" has no faces (its dimension is 1)");
    d.load[0].group = (char *)"x1", d.load[0].expression[2] = (char *)"y y";
    assert_refused(&d, &mesh, "\"neumann[0].traction[2]\": \"y y\": Unexpected");
    fe_mesh_close(&mesh);
}

/* A bar that hangs under its weight, nu = 0: u = rho g (L x - x²/2) / E, at nodes exact for equal Hex8, since
 * a layer's nodal loads are those of one-dimensional elements. Half way on the path its weight is half. */
static void a_hanging_bar(void **state)
{
    (void)state;
    write_file("hang.json",
               "{\"name\": \"hang\", \"meshes\": [\"box.msh\"],\n"
               " \"material\": {\"E\": 1000, \"nu\": 0}, \"elastic\": true,\n"
               " \"dirichlet\": [%s],\n \"body_force\": [{\"force\": [80, 0, 0], \"path\": \"weight\"}],\n"
               " \"paths\": {\"weight\": [0.5, 1], \"load\": [1, 1]},\n"
               " \"probes\": {\"corner\": [1, 1, 1], \"middle\": [0.5, 0, 0]}}\n",
               ROLLERS);
    child_must(0, "meshgen box --element hex8 --cells 4,2,2 -o box.msh");
    for (int ranks = 1; ranks < 4; ranks += 2) {
        assert_int_equal(child_run("solve hang.json --threads 1 --ranks %d --result hang.r.json", ranks), 0);
        json_t *root = result_load_checked("hang.r.json", "converged", 2);
        for (size_t i = 0; i < 2; i++) {
            const json_t *step = result_step(root, i);
            const double weight = i ? 80 : 40;
            json_t *middle = result_at(result_at(step, "probes"), "middle");
            result_near("end", result_probe(step, 0), weight * 0.5 / 1000, 1e-9);
            result_near("middle", json_number_value(json_array_get(middle, 0)), weight * 0.375 / 1000, 1e-9);
            result_near("across", result_probe(step, 1), 0, 1e-9);
        }
        json_decref(root);
    }
}

/* Keys that a problem file cannot have. */
static void refuses_wrong_entries(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"\"body_force\": [{\"group\": \"body\"}]", "key \"body_force[0].force\": is missing"},
        {"\"body_force\": [{\"force\": 1}]",
         "key \"body_force[0].force\": 1 is not a list of three numbers or"},
        {"\"body_force\": [{\"force\": [0, 0, null]}]",
         "key \"body_force[0].force[2]\": null is not a number"},
        {"\"nodal\": [{\"force\": [0, 0, 1]}]", "key \"nodal[0].group\": is missing"},
        {"\"nodal\": [{\"group\": \"p\", \"force\": [0, 0, 1], \"path\": \"q\"}]",
         "key \"nodal[0].path\": \"q\""},
        {"\"nodal\": {}", "key \"nodal\": {} is not a list"},
        {"\"nodal\": [{\"group\": \"p\", \"traction\": [0, 0, 1]}]", "unknown key \"nodal[0].traction\""},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_file("bad.json",
                   "{\"meshes\": [\"box.msh\"], \"material\": {\"E\": 1, \"nu\": 0}, \"elastic\": true,\n"
                   " \"dirichlet\": [%s], %s, \"paths\": {\"load\": [1]}}\n",
                   ROLLERS, bad[i][0]);
        child_must(2, "solve bad.json --threads 1");
        child_assert_said(bad[i][0], "solve", PARTS("bad.json", bad[i][1], NULL));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(body_force_sums_to_force_and_moment),
                                       cmocka_unit_test(body_force_stays_in_its_group),
                                       cmocka_unit_test(body_force_takes_expressions),
                                       cmocka_unit_test(pressure_takes_an_expression),
                                       cmocka_unit_test(traction_takes_expressions),
                                       cmocka_unit_test(lines_and_points),
                                       cmocka_unit_test(refuses_wrong_groups_and_expressions),
                                       cmocka_unit_test(a_hanging_bar),
                                       cmocka_unit_test(refuses_wrong_entries)};
    return cmocka_run_group_tests(tests, child_open, child_close);
}
