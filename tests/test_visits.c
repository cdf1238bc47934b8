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
    for (int i = 0; i < 6; i++) {
        scene s;
        scene_open(&s, i < 3 ? SHAPE_OCTAHEDRON : SHAPE_BRACKET, FE_TET4);
        for (int rank = 0; rank < 2; rank++) {
            rig b = rig_open(&s, assembly, "host", 1, 2, rank, FE_PARTITION_CONTIGUOUS);
            fe_visits v;
            must(fe_visits_open(&b.problem, most[i % 3], &v));
            check_groups(&b, &v, FE_INTERIOR, most[i % 3]);
            check_groups(&b, &v, FE_BORDER, most[i % 3]);
            rig_close(&b);
        }
        scene_close(&s);
    }
}

/* Strategies that use them, where one row has more corners than a block's memory. */
static void check_sums(const char *name, const char *backend)
{
    const fe_variant *variant = fe_variant_find(name);
    skip_if(variant_missing(variant, backend), name);
    const fe_assembly *assembly = !strcmp(backend, "cuda") ? variant->cuda : variant->host;
    for (int kind = 0; kind < FE_N_KIND; kind++) {
        scene s;
        scene_open(&s, SHAPE_OCTAHEDRON, kind);
        const size_t n = 3 * (size_t)s.mesh.n_node;
        double *r = new_vector(&s, 3);
        rig b = rig_whole(&s, assembly, backend, THREADS);
        rig_apply(&b, assembly->residual, s.u, r);
        rig_close(&b);
        assert_int_equal(compare("residual", &s, n, r, s.r, s.r_scale, TOLERANCE), 0);
        free(r);
        scene_close(&s);
    }
}
static void test_node_csr_host(void **state) { (void)state, check_sums("node_csr", "host"); }
static void test_node_csr_cuda(void **state) { (void)state, check_sums("node_csr", "cuda"); }
static void test_dof_csr_host(void **state) { (void)state, check_sums("dof_csr", "host"); }
static void test_dof_csr_cuda(void **state) { (void)state, check_sums("dof_csr", "cuda"); }

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),         cmocka_unit_test(test_node_csr_host),
        cmocka_unit_test(test_node_csr_cuda), cmocka_unit_test(test_dof_csr_host),
        cmocka_unit_test(test_dof_csr_cuda),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
