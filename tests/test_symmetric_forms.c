/* Set-ups of the other forms of assembled_symmetric: where transposed products are stored, and colours of
 * rows, against plain loops over the elements. Their products are tested as those of every strategy:
 * test_assembly_gather and test_assembly_colors. */
#include "bench/forms/forms.h"
#include "common/backend/device.h"
#include "common/problem/share.h"
#include "tests/common.h"
#include "tests/scene.h"

#include <stdlib.h>
#include <string.h>

/* A rank's problem on the host, and which nodes an element has in common. */
typedef struct shared {
    fe_partition partition;
    fe_share share;
    fe_device *device;
    fe_problem problem;
    char *adjacent; /* [n_local][n_local] */
} shared;

static shared open_shared(const fe_mesh *mesh, int n_rank, int rank)
{
    static const fe_material material = {.E = 1.0, .nu = 0.3, .sigma_y = 1.0, .H = 1.0};
    shared s;
    must(fe_partition_mesh(mesh, n_rank, FE_PARTITION_BISECTION, &s.partition));
    must(fe_share_build(mesh, &s.partition, NULL, rank, &s.share));
    must(fe_backend_host.open(0, 2, &s.device));
    must(fe_problem_open(mesh, &s.share, mesh->kind, &material, s.device, &s.problem));
    const fe_view *m = &s.problem.view;
    const int n_corner = fe_corners(mesh->kind);
    s.adjacent = zeros((size_t)m->n_local * m->n_local, 1);
    for (int e = 0; e < m->n_elem; e++)
        for (int k = 0; k < n_corner * n_corner; k++)
            s.adjacent[(size_t)m->conn[k / n_corner * m->ld + e] * m->n_local +
                       m->conn[k % n_corner * m->ld + e]] = 1;
    return s;
}
static void close_shared(shared *s)
{
    free(s->adjacent);
    s->device->ops->close(s->device);
    fe_share_close(&s->share);
    fe_partition_close(&s->partition);
}

/* Row `row` of the upper half has a block that another row of the rank gets back. */
static int gives(const shared *s, int row, int column)
{
    return column > row && column < s->problem.view.n_owned &&
           s->adjacent[(size_t)row * s->problem.view.n_local + column];
}

/* from[to]: 1 + the node that a product comes from, by the list. */
static int *sources(const shared *s, const form_gather *g, int slice)
{
    int *from = zeros((size_t)g->n_place * slice, sizeof *from), n = 0;
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++) {
        const bsr_rows *r = &g->matrix.part[part];
        for (int i = 0; i < (r->n_row + slice - 1) / slice * slice; i++)
            for (int place = r->first[i / slice]; place < r->first[i / slice + 1]; place++) {
                const size_t at = bsr_column_at(r, place, i % slice);
                const int to = g->part[part].to[at];
                if (i >= r->n_row || !gives(s, r->node[i], r->column[at])) {
                    assert_int_equal(to, -1);
                    continue;
                }
                assert_in_range(to, 0, g->n_place * slice - 1);
                assert_int_equal(from[to], 0);
                from[to] = 1 + r->node[i], n++;
            }
    }
    for (int row = 0; row < s->problem.view.n_owned; row++)
        for (int column = 0; column < s->problem.view.n_owned; column++) n -= gives(s, row, column);
    assert_int_equal(n, 0);
    return from;
}

/* Each row of a part gathers all that it is given, in the order of nodes, and then nothing. */
static void check_list(const shared *s, const bsr_rows *r, const form_list *list, int slice, const int *from)
{
    char *seen = zeros((size_t)r->n_row, 1);
    for (int i = 0; i < r->n_row; i++) {
        const int node = list->node[i];
        int other = 0;
        assert_in_range(node, r->row, r->row + r->n_row - 1);
        assert_int_equal(seen[node - r->row]++, 0);
        for (int place = list->first[i / slice]; place < list->first[i / slice + 1]; place++) {
            while (other < node && !gives(s, other, node)) other++;
            assert_int_equal(from[place * slice + i % slice], other < node ? 1 + other : 0);
            other++;
        }
        while (other < node) assert_false(gives(s, other++, node));
    }
    free(seen);
}

static void check_gather(shared *s, bsr_form form)
{
    form_gather *g;
    must(form_gather_set_up(&s->problem, form, FE_DOUBLE, (void **)&g));
    const int slice = 1 << g->matrix.part[FE_INTERIOR].shift;
    int *from = sources(s, g, slice);
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++)
        check_list(s, &g->matrix.part[part], &g->part[part], slice, from);
    for (size_t i = 0; i < 3 * (size_t)g->n_place * slice; i++)
        assert_true(((const double *)g->product)[i] == 0);
    free(from);
}

/* Rows of a colour add to each row once at most. */
static void check_color(const shared *s, const bsr_rows *r, int first, int last)
{
    char *added = zeros((size_t)s->problem.view.n_owned, 1);
    for (int i = first; i < last; i++)
        for (int column = r->node[i]; column < s->problem.view.n_owned; column++)
            if (column == r->node[i] || gives(s, r->node[i], column)) assert_int_equal(added[column]++, 0);
    free(added);
}

/* The sorted rows have the blocks of the upper half, ascending, the diagonal first, and then their own
 * column. */
static void check_row(const shared *s, const bsr_rows *r, int i)
{
    const int slice = 1 << r->shift, node = r->node[i];
    int place = r->first[i / slice];
    assert_int_equal(r->diagonal[i], 0);
    for (int column = node; column < s->problem.view.n_local; column++)
        if (column == node || s->adjacent[(size_t)node * s->problem.view.n_local + column]) {
            assert_true(place < r->first[i / slice + 1]);
            assert_int_equal(r->column[bsr_column_at(r, place++, i % slice)], column);
        }
    while (place < r->first[i / slice + 1])
        assert_int_equal(r->column[bsr_column_at(r, place++, i % slice)], node);
}

static void check_colors(shared *s, bsr_form form)
{
    form_colors *colors;
    must(form_colors_set_up(&s->problem, form, FE_DOUBLE, (void **)&colors));
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++) {
        const bsr_rows *r = &colors->matrix.part[part];
        const int *first = colors->first[part];
        char *seen = zeros((size_t)r->n_row, 1);
        for (int i = 0; i < r->n_row; i++) {
            assert_int_equal(seen[r->node[i] - r->row]++, 0);
            assert_int_equal(r->at[r->node[i] - r->row], i);
            check_row(s, r, i);
        }
        free(seen);
        if (r->n_row == 0) continue;
        assert_int_equal(first[0], 0);
        assert_int_equal(first[colors->n[part]], r->n_row);
        for (int c = 0; c < colors->n[part]; c++) {
            assert_true(first[c] < first[c + 1]);
            check_color(s, r, first[c], first[c + 1]);
        }
    }
}

/* Boxes and irregular meshes of more rows than a window has, on one rank and on the second of two; some of
 * quadratic elements where the build has them. */
static void each_problem(void (*check)(shared *s, bsr_form form))
{
    const int linear[] = {10, 10, 9}, quadratic[] = {5, 4, 3};
    const double length[] = {1.2, 1.1, 0.9};
    for (int k = 0; k < (FE_HAVE_QUADRATIC ? 6 : 4); k++) {
        fe_mesh mesh;
        const int kind = k < 4 ? (k % 2 ? FE_TET4 : FE_HEX8) : k % 2 ? FE_TET10 : FE_HEX27;
        if (k < 2 || k > 3)
            mesh = make_box(kind, k < 2 ? linear : quadratic, length, 0.2, 1);
        else
            must(fe_mesh_irregular(kind, 1200, 1, &mesh));
        for (int n_rank = 1; n_rank <= 2; n_rank++) {
            shared s = open_shared(&mesh, n_rank, n_rank - 1);
            check(&s, BSR_UPPER_WARP);
            check(&s, BSR_UPPER_LINE);
            close_shared(&s);
        }
        fe_mesh_close(&mesh);
    }
}

static void products_are_gathered_once(void **state)
{
    (void)state;
    each_problem(check_gather);
}

static void colors_have_no_row_in_common(void **state)
{
    (void)state;
    each_problem(check_colors);
}

/* All neighbours of the node in the middle of an octahedron add to it, where it is the last one. */
static void too_many_colors_are_refused(void **state)
{
    (void)state;
    scene s;
    scene_open(&s, SHAPE_OCTAHEDRON, FE_TET4);
    int *first, *elem, middle = 0;
    must(fe_mesh_node_elements(&s.mesh, &first, &elem));
    while (first[middle + 1] - first[middle] < CENTRE_ELEMENTS) middle++;
    free(first), free(elem);
    for (int i = 0; i < 4 * s.mesh.n_elem; i++) {
        int *node = &s.mesh.conn[i];
        *node = *node == middle ? s.mesh.n_node - 1 : *node == s.mesh.n_node - 1 ? middle : *node;
    }
    shared one = open_shared(&s.mesh, 1, 0);
    void *work;
    assert_int_equal(form_colors_set_up(&one.problem, BSR_UPPER_LINE, FE_DOUBLE, &work), FE_BAD_INPUT);
    assert_message("more than 256 colours");
    close_shared(&one);
    scene_close(&s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(products_are_gathered_once),
                                       cmocka_unit_test(colors_have_no_row_in_common),
                                       cmocka_unit_test(too_many_colors_are_refused)};
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
