/* Lists of corners for gathers on the device, with rows that are longer than a block can hold. */
#include "common/backend/device.h"
#include "common/problem/visits.h"
#include "tests/common.h"
#include "tests/rig.h"

#include <stdlib.h>
#include <string.h>

/* Corner i of a group is at place[i] of its part of the view's rows, each place once. */
static void check_part(const fe_visits *v, const int *corner, int n, int start)
{
    char *seen = zeros((size_t)n, 1);
    for (int i = 0; i < n; i++) {
        const int place = v->place[start + i];
        assert_in_range(place, 0, n - 1);
        assert_int_equal(seen[place]++, 0);
        assert_int_equal(v->corner[start + i], corner[start + place]);
    }
    free(seen);
}

/* The groups of a part follow each other, and none could have the next row, too. On the host. */
static void check_groups(const rig *b, const fe_visits *v, fe_part part, int most)
{
    const fe_view *m = &b->problem.view;
    int first, last, row, end;
    fe_part_groups(v, part, &first, &last);
    fe_part_nodes(m, part, &row, &end);
    for (int g = first; g < last; g++) {
        const int from = m->corner_first[v->first[g]], to = m->corner_first[v->first[g + 1]];
        assert_int_equal(v->first[g], row);
        assert_true(v->first[g + 1] > row);
        assert_true(to - from <= most || v->first[g + 1] == row + 1);
        row = v->first[g + 1];
        if (row < end) assert_true(m->corner_first[row + 1] - from > most);
        for (int at = from; at < to; at += most)
            check_part(v, m->corner, to - at < most ? to - at : most, at);
    }
    assert_int_equal(row, end);
}

static void test_lists(void **state)
{
    (void)state;
    static const int most[] = {512, 1024, 40};
    const fe_assembly *assembly = fe_variant_find("node_csr")->host;
    for (int i = 0; i < (assembly->quadratic ? 12 : 6); i++) {
        scene s;
        scene_open(&s, i % 6 < 3 ? SHAPE_OCTAHEDRON : SHAPE_BRACKET, i < 6 ? FE_TET4 : FE_TET10);
        for (int rank = 0; rank < 2; rank++) {
            rig b = rig_open(&s, assembly, "host", 1, 2, rank, FE_PARTITION_CONTIGUOUS);
            fe_visits *v;
            must(fe_visits_open(&b.problem, most[i % 3], &v));
            assert_non_null(v);
            check_groups(&b, v, FE_INTERIOR, most[i % 3]);
            check_groups(&b, v, FE_BORDER, most[i % 3]);
            rig_close(&b);
        }
        scene_close(&s);
    }
}

/* Boxes have none, except where their nodes are shuffled. */
static void test_regular_rows(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++)
        for (int shuffled = 0; shuffled < 2; shuffled++) {
            const int cells[3] = {15, 12, 9}; /* as SHAPE_REGULAR */
            const double length[3] = {1.2, 1, 0.8};
            fe_mesh mesh = make_box(kind ? FE_HEX8 : FE_TET4, cells, length, 0.2, 1);
            int *first, *elem;
            if (shuffled) must(fe_mesh_reorder(&mesh, FE_ORDER_RANDOM, 1));
            must(fe_mesh_node_elements(&mesh, &first, &elem));
            const int n_corner = fe_corners(mesh.kind);
            for (int row = 0; row < mesh.n_node; row++)
                for (int k = first[row]; k < first[row + 1]; k++) {
                    int a = 0;
                    while (mesh.conn[elem[k] * n_corner + a] != row) a++;
                    elem[k] = 8 * elem[k] + a;
                }
            assert_int_equal(fe_rows_are_regular(first, elem, mesh.n_node), !shuffled);
            free(first), free(elem);
            fe_mesh_close(&mesh);
        }
}

static int products_are_right(const scene *s, const fe_assembly *assembly, const char *backend)
{
    const size_t n = 3 * (size_t)s->mesh.n_node;
    double *r = new_vector(s, 3), *y = new_vector(s, 3), *d = new_vector(s, 9);
    rig b = rig_whole(s, assembly, backend, THREADS);
    rig_apply(&b, assembly->residual, s->u, r);
    rig_material(&b, FE_LINEARIZATION_CONSISTENT, s->u);
    rig_apply(&b, assembly->jacvec, s->v, y);
    rig_diagonal(&b, d);
    rig_close(&b);
    const int bad = compare("residual", s, n, r, s->r, s->r_scale, TOLERANCE) +
                    compare("jacvec", s, n, y, s->y, s->y_scale, TOLERANCE) +
                    compare("diagonal", s, 3 * n, d, s->d, s->d_scale, TOLERANCE);
    free(r), free(y), free(d);
    return !bad;
}

/* Of quadratic elements Tet10 have lists, on regular rows too, and Hex27 none: test_assembly has boxes of
 * both. */
static int has_lists(const fe_assembly *assembly, int kind, int shape)
{
    return assembly->quadratic && kind == FE_TET10 && shape == SHAPE_OCTAHEDRON;
}

/* Gathers on regular rows (fe_rows_are_regular chooses the form of node_csr and dof_csr), and where one row has
 * more corners than a block's memory. */
static void check_sums(const char *name, const char *backend)
{
    const fe_variant *variant = fe_variant_find(name);
    skip_if(variant_missing(variant, backend), name);
    const fe_assembly *assembly = !strcmp(backend, "cuda") ? variant->cuda : variant->host;
    for (int kind = 0; kind < FE_N_KIND; kind++)
        for (int shape = SHAPE_OCTAHEDRON; shape <= SHAPE_REGULAR; shape++) {
            scene s;
            if (fe_is_quadratic(kind) && !has_lists(assembly, kind, shape)) continue;
            scene_open(&s, shape, kind);
            assert_true(products_are_right(&s, assembly, backend));
            scene_close(&s);
        }
}
#define TEST(name)                                                                                           \
    static void test_##name##_host(void **state) { (void)state, check_sums(#name, "host"); }                 \
    static void test_##name##_cuda(void **state) { (void)state, check_sums(#name, "cuda"); }
TEST(node_csr)
TEST(dof_csr)
TEST(corner_gather)
#undef TEST

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_regular_rows),
        cmocka_unit_test(test_node_csr_host),
        cmocka_unit_test(test_node_csr_cuda),
        cmocka_unit_test(test_dof_csr_host),
        cmocka_unit_test(test_dof_csr_cuda),
        cmocka_unit_test(test_corner_gather_host),
        cmocka_unit_test(test_corner_gather_cuda),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
