/* Blocks and colours of element_color and tiles of two_phase: what their kernels on a GPU rely on. */
#include <stdlib.h>
#include <string.h>

#include "common/backend/device.h"
#include "common/problem/share.h"
#include "tests/common.h"
#include "variants/element_color/assembly.h"
#include "variants/two_phase/tiles.h"

static const fe_material some_material = {.E = 1.0, .nu = 0.3, .sigma_y = 1.0, .H = 1.0};

enum { N_MESH = 5, N_RANK = 2, HUB_CELLS = 24 };

/* Two Tet4 above each of the squares of a grid, all with one apex: more elements at a node than a tile or a
 * block has room for. */
static void make_hub(fe_mesh *mesh)
{
    const int n = HUB_CELLS, row = n + 1, apex = row * row;
    *mesh = (fe_mesh){.kind = FE_TET4, .n_node = apex + 1, .n_elem = 2 * n * n};
    must(fe_allocate(3 * (size_t)mesh->n_node, sizeof(double), "hub", (void **)&mesh->x));
    must(fe_allocate(4 * (size_t)mesh->n_elem, sizeof(int), "hub", (void **)&mesh->conn));
    must(fe_allocate((size_t)mesh->n_node, sizeof(int64_t), "hub", (void **)&mesh->node_tag));
    must(fe_allocate((size_t)mesh->n_elem, sizeof(int64_t), "hub", (void **)&mesh->elem_tag));
    must(fe_allocate((size_t)mesh->n_elem, sizeof(int), "hub", (void **)&mesh->elem_group));
    for (int i = 0; i < apex; i++) mesh->x[3 * i] = i % row, mesh->x[3 * i + 1] = i / row;
    mesh->x[3 * apex] = mesh->x[3 * apex + 1] = 0.4 * n, mesh->x[3 * apex + 2] = n;
    for (int i = 0; i < mesh->n_node; i++) mesh->node_tag[i] = i + 1;
    for (int e = 0; e < mesh->n_elem; e++) {
        const int corner = e / 2 % n + e / 2 / n * row;
        const int tet[2][4] = {{corner, corner + 1, corner + row, apex},
                               {corner + 1, corner + row + 1, corner + row, apex}};
        memcpy(mesh->conn + 4 * (size_t)e, tet[e % 2], sizeof tet[0]);
        mesh->elem_tag[e] = e + 1;
    }
    must(fe_mesh_check(mesh));
}

static void make_mesh(int i, fe_mesh *mesh)
{
    const int kind = i % 2 ? FE_TET4 : FE_HEX8;
    const fe_box box = {.kind = kind, .cells = {9, 8, 7}, .length = {1, 1, 1}, .distort = 0.2, .seed = 1};
    if (i == N_MESH - 1)
        make_hub(mesh);
    else if (i < 2)
        must(fe_mesh_box(&box, mesh));
    else
        must(fe_mesh_irregular(kind, 2000, 1, mesh));
}

/* check for each rank of each mesh, in the mesh's own order and in pieces. */
static void each_problem(void (*check)(const fe_problem *))
{
    for (int i = 0; i < 2 * N_MESH; i++)
        for (int rank = 0; rank < N_RANK; rank++) {
            fe_mesh mesh;
            fe_partition partition;
            fe_share share;
            fe_device *d;
            fe_problem p;
            make_mesh(i / 2, &mesh);
            if (i % 2) must(fe_mesh_reorder(&mesh, FE_ORDER_BISECTION, 1));
            must(fe_partition_mesh(&mesh, N_RANK, FE_PARTITION_CONTIGUOUS, &partition));
            must(fe_share_build(&mesh, &partition, NULL, rank, &share));
            must(fe_backend_host.open(0, 2, &d));
            must(fe_problem_open(&mesh, &share, mesh.kind, &some_material, d, &p));
            check(&p);
            d->ops->close(d);
            fe_share_close(&share), fe_partition_close(&partition), fe_mesh_close(&mesh);
        }
}

/* --- blocks and colours of element_color ------------------------------------------------------------ */

/* A block's elements are those of the view, none twice; elements of one of its colours share no node. */
static void check_block(const fe_view *m, const element_color_order *order, const element_color_block *b,
                        int n_corner, int elements, uint8_t *seen)
{
    const size_t start = (size_t)elements * b->place;
    int *last = calloc((size_t)b->n_node, sizeof *last); /* 1 + the last colour at each node */
    assert_non_null(last);
    for (int i = 0; i < b->n_elem; i++) {
        const int e = order->elem[start + i], color = order->color[start + i];
        assert_false(seen[e]++);
        assert_true(color < b->n_color && (i == 0 || color >= order->color[start + i - 1]));
        for (int c = 0; c < n_corner; c++) {
            const int at = order->corner[n_corner * start + (size_t)c * elements + i];
            assert_true(at < b->n_node && last[at] <= color);
            last[at] = color + 1;
            assert_int_equal(element_color_node(order->node[b->first_node + at]), m->conn[c * m->ld + e]);
        }
    }
    free(last);
}

/* Blocks of one colour share no node, and the first block at a node is marked. */
static void check_colors(const fe_problem *p, int elements, int nodes)
{
    const fe_view *m = &p->view;
    void *work;
    must(element_color_open((fe_problem *)p, elements, nodes, 1, &work));
    const element_color_order *order = work;
    uint8_t *seen = calloc((size_t)m->n_elem, 1);
    int *last = calloc((size_t)m->n_local, sizeof *last), launch = 0;
    assert_true(seen && last);
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++)
        for (int color = 0; color < order->n_color[part]; color++) {
            launch++;
            for (int i = order->first[part][color]; i < order->first[part][color + 1]; i++) {
                const element_color_block *b = &order->block[i];
                assert_true(b->n_elem > 0 && b->n_elem <= elements && b->n_node <= nodes);
                check_block(m, order, b, fe_corners(p->kind), elements, seen);
                for (int k = 0; k < b->n_node; k++) {
                    const int entry = order->node[b->first_node + k], node = element_color_node(entry);
                    assert_int_not_equal(last[node], launch);
                    assert_int_equal(entry < 0, last[node] == 0);
                    last[node] = launch;
                }
            }
        }
    for (int e = 0; e < m->n_elem; e++) assert_true(seen[e]);
    free(seen), free(last);
}

static void check_some_sizes(const fe_problem *p)
{
    const int nodes = fe_corners(p->kind) == 8 ? 384 : 192;
    check_colors(p, fe_piece_elements(p->kind), nodes);
    check_colors(p, fe_piece_elements(p->kind) / 2, nodes);
    check_colors(p, fe_piece_elements(p->kind), 40); /* most blocks are cut */
}

static void colors_keep_blocks_apart(void **state)
{
    (void)state;
    each_problem(check_some_sizes);
}

/* --- tiles of two_phase ------------------------------------------------------------------------------ */

/* Each row is in one tile or a long row, in the part that it belongs to, and each corner of a tile's rows has
 * the place of its number. */
static void check_tiles(const fe_problem *p)
{
    const fe_view *m = &p->view;
    const int n_corner = fe_corners(p->kind), bound[3] = {0, m->n_node_interior, m->n_owned};
    two_phase w = {0};
    must(two_phase_open_tiles(p, &w));
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++) {
        int row = bound[part], tile = w.first_tile[part], n_long = w.first_long[part];
        while (row < bound[part + 1]) {
            if (n_long < w.first_long[part + 1] && w.long_row[n_long] == row) {
                assert_true(m->corner_first[row + 1] - m->corner_first[row] > TWO_PHASE_PLACES);
                n_long++, row++;
                continue;
            }
            assert_true(tile < w.first_tile[part + 1]);
            const two_phase_tile t = w.tile[tile++];
            const int end = m->corner_first[row + t.n_row], n = end - t.first_corner;
            assert_true(t.row == row && t.n_row > 0 && t.first_corner == m->corner_first[row]);
            assert_true(n <= TWO_PHASE_PLACES);
            int placed = 0;
            for (int i = 0; i < t.n_elem * n_corner; i++) {
                const int place = w.place[(size_t)t.elem * n_corner + i], k = place - place / 9;
                if (place == TWO_PHASE_NO_PLACE) continue;
                assert_true(k < n && two_phase_skewed(k) == place);
                assert_int_equal(m->corner[t.first_corner + k],
                                 8 * w.tile_elem[t.elem + i / n_corner] + i % n_corner);
                placed++;
            }
            assert_int_equal(placed, n);
            row += t.n_row;
        }
        assert_true(row == bound[part + 1] && tile == w.first_tile[part + 1]);
        assert_int_equal(n_long, w.first_long[part + 1]);
    }
}

static void tiles_hold_their_corners(void **state)
{
    (void)state;
    each_problem(check_tiles);
}

/* The apex of a hub has a row of its own, others have none. */
static int n_long_row;
static void check_long_row(const fe_problem *p)
{
    two_phase w = {0};
    int most = 0;
    must(two_phase_open_tiles(p, &w));
    for (int i = 0; i < p->view.n_owned; i++) {
        const int n = p->view.corner_first[i + 1] - p->view.corner_first[i];
        if (n > most) most = n;
    }
    assert_int_equal(w.first_long[2], most > TWO_PHASE_PLACES);
    n_long_row += w.first_long[2];
}

static void long_rows_are_told_apart(void **state)
{
    (void)state;
    each_problem(check_long_row);
    assert_int_equal(n_long_row, 2); /* of the hub in both orders */
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(colors_keep_blocks_apart),
        cmocka_unit_test(tiles_hold_their_corners),
        cmocka_unit_test(long_rows_are_told_apart),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
