/* Supports, loads and probes on meshes: against formulas by hand, and against the facts of the reference
 * results. */
#include "tests/common.h"
#include "tests/draft.h"
#include "tests/result.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

/* Rounding of sums of some thousand terms. */
#define TOLERANCE 1e-12

static void assert_near(double value, double expected, double scale, const char *what)
{
    if (!(fabs(value - expected) <= TOLERANCE * scale))
        fail_msg("%s is %.17g, expected %.17g", what, value, expected);
}

/* --- supports and probes ----------------------------------------------------------------------------- */

static const int cells_345[3] = {3, 4, 5};
static const double length_123[3] = {1, 2, 3};

static int slot_of(const fe_boundary *b, int slot)
{
    for (int k = 0; k < b->n_fixed; k++)
        if (b->fixed[k] == slot) return k;
    return -1;
}

static void supports_take_their_expressions(void **state)
{
    (void)state;
    draft d;
    fe_boundary b;
    open_draft(&d);
    fe_mesh mesh = tagged_box(FE_HEX8, cells_345, length_123, 0.1);
    add_support(&d, "x0", "0", NULL, "2*y - sin(z)/3", 0);
    add_support(&d, "x1", NULL, "y > 1 ? x^2 : -1e-3", NULL, 1);
    must(fe_boundary_apply(&d.c, &mesh, &b));
    assert_int_equal(b.n_fixed, 3 * 30); /* 5 x 6 nodes a side, two components and one */
    int found = 0;
    for (int n = 0; n < mesh.n_node; n++) {
        const double *x = mesh.x + 3 * n;
        const int k[3] = {slot_of(&b, 3 * n), slot_of(&b, 3 * n + 1), slot_of(&b, 3 * n + 2)};
        assert_int_equal(k[0] >= 0, x[0] == 0);
        assert_int_equal(k[1] >= 0, x[0] == 1);
        assert_int_equal(k[2] >= 0, x[0] == 0);
        if (k[0] >= 0) assert_true(b.value[k[0]] == 0 && b.path[k[0]] == 0);
        if (k[1] >= 0) assert_near(b.value[k[1]], x[1] > 1 ? 1 : -1e-3, 1, "u_y");
        if (k[1] >= 0) assert_int_equal(b.path[k[1]], 1);
        if (k[2] >= 0) assert_near(b.value[k[2]], 2 * x[1] - sin(x[2]) / 3, 4, "u_z");
        found += (k[0] >= 0) + (k[1] >= 0) + (k[2] >= 0);
    }
    assert_int_equal(found, b.n_fixed);
    for (int k = 1; k < b.n_fixed; k++) assert_true(b.fixed[k - 1] < b.fixed[k]);
    assert_null(b.load[0]);
    assert_null(b.load[1]);
    fe_boundary_close(&b);
    fe_mesh_close(&mesh);
}

static void first_support_wins(void **state)
{
    (void)state;
    draft d;
    fe_boundary b;
    open_draft(&d);
    fe_mesh mesh = tagged_box(FE_TET4, cells_345, length_123, 0);
    add_support(&d, "x0", "1", NULL, NULL, 1);
    add_support(&d, "y0", "2", "3", NULL, 0);
    add_support(&d, "x0", "1/0", "4", NULL, 0); /* its x does not count */
    add_support(&d, "z0", NULL, NULL, "0", 0);
    must(fe_boundary_apply(&d.c, &mesh, &b));
    assert_string_equal(b.note,
                        "draft.json: \"dirichlet[1].u.x\" is 2 at node 100 of group \"y0\", where "
                        "\"dirichlet[0]\" of group \"x0\" sets 1 on another path: the first one holds");
    for (int n = 0; n < mesh.n_node; n++) {
        const double *x = mesh.x + 3 * n;
        const int on_x0 = x[0] == 0, on_y0 = x[1] == 0, kx = slot_of(&b, 3 * n), ky = slot_of(&b, 3 * n + 1);
        assert_int_equal(kx >= 0, on_x0 || on_y0);
        if (kx >= 0) assert_true(b.value[kx] == (on_x0 ? 1 : 2) && b.path[kx] == on_x0);
        if (ky >= 0) assert_true(b.value[ky] == (on_y0 ? 3 : 4) && b.path[ky] == 0);
    }
    assert_int_equal(b.n_reaction, 5); /* x0.x y0.x y0.y x0.y z0.z */
    static const char *const group[4] = {"x0", "y0", "y0", "x0"};
    static const int component[4] = {0, 0, 1, 1}, n_node[4] = {30, 24, 24, 30};
    for (int r = 0; r < 4; r++) {
        assert_string_equal(b.reaction[r].group, group[r]);
        assert_int_equal(b.reaction[r].component, component[r]);
        assert_int_equal(b.reaction[r].n, n_node[r]);
        for (int k = 0; k < b.reaction[r].n; k++)
            assert_true(mesh.x[3 * b.reaction[r].node[k] + (group[r][0] == 'y')] == 0);
    }
    fe_boundary_close(&b);
    fe_mesh_close(&mesh);
}

static void probes_take_the_nearest_node(void **state)
{
    (void)state;
    draft d;
    fe_boundary b;
    open_draft(&d);
    fe_mesh mesh = tagged_box(FE_HEX8, (const int[]){2, 2, 2}, (const double[]){2, 2, 2}, 0);
    add_support(&d, "x0", "0", "0", "0", 0);
    d.c.n_probe = 2;
    d.probe[0] = (fe_probe){.name = "a", .x = {1, 2, 0}};
    d.probe[1] = (fe_probe){.name = "b", .x = {5, 2.25, 1}};
    must(fe_boundary_apply(&d.c, &mesh, &b));
    assert_int_equal(b.n_probe, 2);
    assert_int_equal(b.probe[0], 1 + 3 * 2);
    assert_true(b.probe_distance[0] == 0);
    assert_int_equal(b.probe[1], 2 + 3 * (2 + 3 * 1));
    assert_near(b.probe_distance[1], sqrt(9.0625), 3, "distance");
    fe_boundary_close(&b);
    fe_mesh_close(&mesh);
}

/* --- loads ------------------------------------------------------------------------------------------- */

static const char *const sides[6] = {"x0", "x1", "y0", "y1", "z0", "z1"};

/* On a flat side the resultant is t A and acts at the centre of the side. */
static void traction_sums_to_force_and_moment(void **state)
{
    (void)state;
    static const double t[3] = {3, -5, 7};
    for (int kind = FE_TET4; kind <= FE_HEX8; kind += FE_HEX8 - FE_TET4)
        for (int side = 0; side < 6; side++) {
            draft d;
            fe_boundary b;
            double force[3], moment[3], virial;
            open_draft(&d);
            fe_mesh mesh = tagged_box(kind, cells_345, length_123, 0.2);
            add_support(&d, "x0", "0", "0", "0", 0);
            add_traction(&d, sides[side], t[0], t[1], t[2], 1);
            must(fe_boundary_apply(&d.c, &mesh, &b));
            assert_null(b.load[0]);
            resultant(&mesh, b.load[1], force, moment, &virial);
            const int axis = side / 2;
            const double area = 6 / length_123[axis];
            double centre[3] = {0.5, 1, 1.5};
            centre[axis] = side % 2 ? length_123[axis] : 0;
            for (int i = 0; i < 3; i++) {
                const int j = (i + 1) % 3, k = (i + 2) % 3;
                assert_near(force[i], t[i] * area, 40, "force");
                assert_near(moment[i], area * (centre[j] * t[k] - centre[k] * t[j]), 100, "moment");
            }
            for (int n = 0; n < mesh.n_node; n++)
                if (mesh.x[3 * n + axis] != centre[axis]) assert_true(b.load[1][3 * n] == 0);
            fe_boundary_close(&b);
            fe_mesh_close(&mesh);
        }
}

/* Trapezoid (0,0) (2,0) (1,1) (0,1) in its bilinear map x = r (2 - s), y = s on [0,1]², dA = (2 - s) dr ds:
 * ∫ N dA = 5/12 at the corners of the long edge, 1/3 at those of the short one, by hand. */
static void one_quadrangle_by_hand(void **state)
{
    (void)state;
    double x[24] = {0, 0, 0, 2, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1, 2, 0, 1, 1, 1, 1, 0, 1, 1};
    static const double share[4] = {5. / 12, 5. / 12, 1. / 3, 1. / 3};
    static const int orders[4][4] = {
        {4, 5, 6, 7}, {7, 6, 5, 4}, {6, 7, 4, 5}, {4, 6, 5, 7}}; /* any will do */
    for (int o = 0; o < 4; o++) {
        int facet[4];
        draft d;
        fe_mesh mesh;
        fe_group group[2];
        fe_boundary b;
        memcpy(facet, orders[o], sizeof facet);
        one_element(FE_HEX8, x, facet, &mesh, group);
        open_draft(&d);
        add_support(&d, "all", "0", "0", "0", 0);
        add_traction(&d, "top", 1, 2, 0, 0);
        add_pressure(&d, "top", 10);
        must(fe_boundary_apply(&d.c, &mesh, &b));
        for (int a = 0; a < 4; a++) {
            assert_true(b.load[0][3 * a] == 0 && b.load[0][3 * a + 2] == 0);
            assert_near(b.load[0][3 * (a + 4)], share[a], 1, "f_x");
            assert_near(b.load[0][3 * (a + 4) + 1], 2 * share[a], 1, "f_y");
            assert_near(b.load[0][3 * (a + 4) + 2], -10 * share[a], 10, "f_z"); /* into the body: down */
        }
        fe_boundary_close(&b);
    }
}

static void one_triangle_by_hand(void **state)
{
    (void)state;
    double x[12] = {0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 5};
    static const int orders[2][4] = {{1, 2, 3, -1}, {2, 1, 3, -1}};
    for (int o = 0; o < 2; o++) {
        int facet[4];
        draft d;
        fe_mesh mesh;
        fe_group group[2];
        fe_boundary b;
        memcpy(facet, orders[o], sizeof facet);
        one_element(FE_TET4, x, facet, &mesh, group);
        open_draft(&d);
        add_support(&d, "all", "0", "0", "0", 0);
        add_pressure(&d, "top", 6);
        must(fe_boundary_apply(&d.c, &mesh, &b));
        /* area vector ½ (-3,4,0) × (-3,0,5) = (10, 7.5, 6); each corner takes -p/3 of it */
        static const double expected[3] = {-20, -15, -12};
        for (int i = 0; i < 3; i++) {
            assert_true(b.load[0][i] == 0);
            for (int a = 1; a < 4; a++) assert_near(b.load[0][3 * a + i], expected[i], 20, "f");
        }
        fe_boundary_close(&b);
    }
}

/* p on a closed surface: no force, no moment, and Σ x·f = -p ∮ x·n dA = -3 p V by the divergence theorem. */
static void pressure_on_a_closed_surface(void **state)
{
    (void)state;
    for (int kind = FE_TET4; kind <= FE_HEX8; kind += FE_HEX8 - FE_TET4) {
        draft d;
        fe_boundary b;
        fe_quality quality;
        double force[3], moment[3], virial;
        open_draft(&d);
        fe_mesh mesh = tagged_box(kind, cells_345, length_123, 0.1);
        warp(&mesh);
        add_support(&d, "x0", "0", "0", "0", 0);
        for (int side = 0; side < 6; side++) add_pressure(&d, sides[side], 2);
        must(fe_boundary_apply(&d.c, &mesh, &b));
        must(fe_mesh_quality(&mesh, &quality));
        resultant(&mesh, b.load[0], force, moment, &virial);
        for (int i = 0; i < 3; i++) {
            assert_near(force[i], 0, 40, "force");
            assert_near(moment[i], 0, 100, "moment");
        }
        assert_near(virial, -6 * quality.volume, 40, "virial");
        fe_boundary_close(&b);
        fe_mesh_close(&mesh);
    }
}

/* The corner order of facets in a file is arbitrary: all loads stay bitwise the same. */
static void loads_ignore_facet_orientation(void **state)
{
    (void)state;
    for (int kind = FE_TET4; kind <= FE_HEX8; kind += FE_HEX8 - FE_TET4) {
        draft d;
        fe_boundary b[2];
        open_draft(&d);
        fe_mesh mesh = tagged_box(kind, cells_345, length_123, 0.1);
        warp(&mesh);
        add_support(&d, "x0", "0", "0", "0", 0);
        add_pressure(&d, "y1", 1.5);
        add_traction(&d, "z0", 1, 2, 3, 0);
        must(fe_boundary_apply(&d.c, &mesh, &b[0]));
        for (int g = 0; g < mesh.n_group; g++)
            for (int f = 0; mesh.group[g].dim == 2 && f < mesh.group[g].n_facet; f++) {
                int *facet = mesh.group[g].facet + 4 * f, last = facet[3] < 0 ? 2 : 3, first = facet[0];
                if (f % 3 == 1) continue;
                facet[0] = facet[last];
                facet[last] = first;
            }
        must(fe_boundary_apply(&d.c, &mesh, &b[1]));
        assert_memory_equal(b[0].load[0], b[1].load[0], 3 * (size_t)mesh.n_node * sizeof(double));
        fe_boundary_close(&b[0]);
        fe_boundary_close(&b[1]);
        fe_mesh_close(&mesh);
    }
}

/* A quarter tube from r = 1 to 2, height 3: pressure p inside pushes with p r h in x and in y, whatever the
 * number of chords, since the chords project onto the same rectangle. */
static void pressure_in_a_quarter_tube(void **state)
{
    (void)state;
    for (int kind = FE_TET4; kind <= FE_HEX8; kind += FE_HEX8 - FE_TET4) {
        draft d;
        fe_boundary b;
        double force[3], moment[3], virial;
        open_draft(&d);
        fe_mesh mesh = tagged_box(kind, (const int[]){3, 7, 4}, (const double[]){1, 1, 3}, 0);
        for (int n = 0; n < mesh.n_node; n++) {
            double *x = mesh.x + 3 * n;
            const double r = 1 + x[0], angle = 1.5707963267948966 * x[1];
            x[0] = r * cos(angle);
            x[1] = r * sin(angle);
        }
        must(fe_mesh_check(&mesh));
        add_support(&d, "z0", "0", "0", "0", 0);
        add_pressure(&d, "x0", 11);
        must(fe_boundary_apply(&d.c, &mesh, &b));
        resultant(&mesh, b.load[0], force, moment, &virial);
        assert_near(force[0], 33, 33, "force x");
        assert_near(force[1], 33, 33, "force y");
        assert_near(force[2], 0, 33, "force z");
        assert_near(moment[0], -33 * 1.5, 50, "moment x");
        assert_near(moment[1], 33 * 1.5, 50, "moment y");
        assert_near(moment[2], 0, 50, "moment z");
        fe_boundary_close(&b);
        fe_mesh_close(&mesh);
    }
}

/* --- validation meshes ------------------------------------------------------------------------------- */

/* Area and node count of every surface group as three other programs counted them. */
static void compare_groups(const fe_mesh *mesh, json_t *facts)
{
    const char *name;
    json_t *fact;
    json_object_foreach(facts, name, fact)
    {
        draft d;
        fe_boundary b;
        double force[3], moment[3], virial;
        open_draft(&d);
        add_support(&d, name, "0", "0", "0", 0);
        add_traction(&d, name, 1, 0, 0, 0);
        must(fe_boundary_apply(&d.c, mesh, &b));
        resultant(mesh, b.load[0], force, moment, &virial);
        const double area = json_number_value(result_at(fact, "area"));
        /* the length of a curved side's normal is no polynomial: its area to 1e-10 */
        assert_near(force[0], area, fe_is_quadratic(mesh->kind) ? 100 * area : area, name);
        assert_int_equal(b.reaction[0].n, json_integer_value(result_at(fact, "nodes")));
        fe_boundary_close(&b);
    }
}

static void validation_meshes_have_the_references_facts(void **state)
{
    (void)state;
    glob_t found;
    skip_if(glob("tests/validation/reference/*.json", 0, NULL, &found) ? "not below the working directory"
                                                                       : NULL,
            "tests/validation");
    for (size_t i = 0; i < found.gl_pathc; i++) {
        json_t *reference = json_load_file(found.gl_pathv[i], 0, NULL);
        assert_non_null(reference);
        char path[256], *mesh_path;
        fe_case c;
        fe_mesh mesh = {0};
        fe_boundary b;
        snprintf(path, sizeof path, "tests/validation/problems/%s.json",
                 json_string_value(result_at(reference, "problem")));
        must(fe_case_read(path, &c));
        must(fe_case_mesh_path(&c, json_string_value(result_at(reference, "mesh")), &mesh_path));
        must(fe_mesh_read(mesh_path, 0, &mesh));
        must(fe_boundary_apply(&c, &mesh, &b));
        for (int p = 0; p < b.n_probe; p++) {
            json_t *probe = result_at(result_at(reference, "probe_nodes"), c.probe[p].name);
            assert_int_equal(mesh.node_tag[b.probe[p]], json_integer_value(result_at(probe, "tag")));
            assert_near(b.probe_distance[p], json_number_value(result_at(probe, "distance")), 1, "distance");
        }
        json_t *reactions = result_at(json_array_get(result_at(reference, "steps"), 0), "reactions");
        for (int r = 0; r < b.n_reaction; r++)
            result_at(result_at(reactions, b.reaction[r].group),
                      (const char *[]){"x", "y", "z"}[b.reaction[r].component]);
        compare_groups(&mesh, result_at(reference, "group_facts"));
        fe_boundary_close(&b);
        fe_mesh_close(&mesh);
        fe_case_close(&c);
        free(mesh_path);
        json_decref(reference);
    }
    globfree(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(supports_take_their_expressions),
        cmocka_unit_test(first_support_wins),
        cmocka_unit_test(probes_take_the_nearest_node),
        cmocka_unit_test(traction_sums_to_force_and_moment),
        cmocka_unit_test(one_quadrangle_by_hand),
        cmocka_unit_test(one_triangle_by_hand),
        cmocka_unit_test(pressure_on_a_closed_surface),
        cmocka_unit_test(loads_ignore_facet_orientation),
        cmocka_unit_test(pressure_in_a_quarter_tube),
        cmocka_unit_test(validation_meshes_have_the_references_facts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
