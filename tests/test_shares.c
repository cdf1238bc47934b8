/* Shares and halos of ranks: who owns and computes what, and that neighbours mean the same nodes when they
 * exchange values. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/backend/device.h"
#include "common/mesh/bisect.h"
#include "have/metis.h"
#include "tests/common.h"
#include "tests/parted.h"

/* Corners of an element that a rank owns. */
static int owned_corners(const parted *p, int elem, int rank)
{
    const int n_corner = fe_corners(p->mesh.kind);
    int n = 0;
    for (int c = 0; c < n_corner; c++)
        n += p->partition.owner[p->mesh.conn[(size_t)elem * n_corner + c]] == rank;
    return n;
}

/* Owned nodes are the partition's; owned interior nodes and owned border nodes follow the mesh's order, each
 * owner's ghosts that of tags; `local` inverts `node`. */
static void check_nodes(const parted *p, int rank)
{
    const fe_share *s = &p->share[rank];
    const int *owner = p->partition.owner, n_corner = fe_corners(p->mesh.kind);
    int n_owned = 0, n_held = 0;
    for (int i = 0; i < p->mesh.n_node; i++) {
        n_owned += owner[i] == rank;
        n_held += s->local[i] >= 0;
        if (s->local[i] >= 0) assert_int_equal(s->node[s->local[i]], i);
    }
    assert_int_equal(n_owned, s->n_owned);
    assert_int_equal(n_held, s->n_local);
    for (int i = 0; i < s->n_local; i++) {
        const int node = s->node[i];
        assert_int_equal(s->local[node], i);
        assert_true((owner[node] == rank) == (i < s->n_owned));
        if (i != 0 && i != s->n_node_interior && i != s->n_owned &&
            owner[node] == owner[s->node[i - 1]]) /* of one group */
            assert_true(i < s->n_owned ? node > s->node[i - 1]
                                       : p->mesh.node_tag[node] > p->mesh.node_tag[s->node[i - 1]]);
        int foreign = 0;
        for (int k = p->first[node]; k < p->first[node + 1]; k++)
            foreign |= owned_corners(p, p->elem[k], rank) < n_corner;
        if (i < s->n_owned) assert_true(foreign == (i >= s->n_node_interior));
    }
}

/* The rank holds the elements at its nodes and no others; interior ones have no ghost. */
static void check_elements(const parted *p, int rank, int *n_counted)
{
    const fe_share *s = &p->share[rank];
    const int n_corner = fe_corners(p->mesh.kind);
    uint8_t *held = calloc((size_t)p->mesh.n_elem, 1);
    assert_non_null(held);
    for (int k = 0; k < s->n_elem; k++) {
        const int e = s->elem[k], owned = owned_corners(p, e, rank);
        int lower = 0;
        for (int r = 0; r < rank; r++) lower += owned_corners(p, e, r);
        assert_int_equal(held[e], 0);
        held[e] = 1;
        assert_true(k < s->n_elem_interior ? owned == n_corner : owned < n_corner);
        assert_int_equal(s->counted[k], lower == 0);
        n_counted[e] += s->counted[k];
        for (int c = 0; c < n_corner; c++) assert_true(s->local[p->mesh.conn[(size_t)e * n_corner + c]] >= 0);
    }
    for (int e = 0; e < p->mesh.n_elem; e++) assert_true((owned_corners(p, e, rank) > 0) == held[e]);
    free(held);
}

/* What a rank sends to a neighbour is, node by node, what the neighbour holds as that rank's ghosts. */
static void check_halo(const parted *p, int rank)
{
    const fe_share *s = &p->share[rank];
    const fe_halo *h = &s->halo;
    assert_int_equal(h->ghost_first[0], s->n_owned);
    assert_int_equal(h->ghost_first[h->n_neighbor], s->n_local);
    assert_int_equal(h->send_first[0], 0);
    for (int i = 0; i < h->n_neighbor; i++) {
        const int peer = h->neighbor[i];
        const fe_halo *mirror = &p->share[peer].halo;
        assert_true(peer != rank && (i == 0 || peer > h->neighbor[i - 1]));
        for (int g = h->ghost_first[i]; g < h->ghost_first[i + 1]; g++)
            assert_int_equal(p->partition.owner[s->node[g]], peer);
        int place = 0;
        while (place < mirror->n_neighbor && mirror->neighbor[place] != rank) place++;
        assert_true(place < mirror->n_neighbor);
        const int n = h->send_first[i + 1] - h->send_first[i];
        assert_true(n > 0);
        assert_int_equal(n, mirror->ghost_first[place + 1] - mirror->ghost_first[place]);
        for (int k = 0; k < n; k++) {
            const int sent = h->send_node[h->send_first[i] + k];
            assert_in_range(sent, 0, s->n_owned - 1);
            assert_int_equal(s->node[sent], p->share[peer].node[mirror->ghost_first[place] + k]);
        }
    }
}

static void check_shares(const parted *p)
{
    int *n_counted = calloc((size_t)p->mesh.n_elem, sizeof *n_counted), n_owned = 0;
    assert_non_null(n_counted);
    for (int r = 0; r < p->n_rank; r++) {
        check_nodes(p, r);
        check_elements(p, r, n_counted);
        check_halo(p, r);
        n_owned += p->share[r].n_owned;
    }
    assert_int_equal(n_owned, p->mesh.n_node);
    for (int e = 0; e < p->mesh.n_elem; e++) assert_int_equal(n_counted[e], 1);
    free(n_counted);
}

static void test_shares(void **state)
{
    (void)state;
    each_partition(check_shares);
}

/* Mean number of nodes of as many interior elements of a share as make a piece. */
static double mean_nodes(const fe_mesh *mesh, const fe_share *s)
{
    const int n_corner = fe_corners(mesh->kind), size = fe_piece_elements(mesh->kind),
              n_piece = s->n_elem_interior / size;
    int n = 0, *seen = calloc((size_t)mesh->n_node, sizeof *seen);
    assert_non_null(seen);
    for (int k = 0; k < n_piece * size; k++)
        for (int c = 0; c < n_corner; c++) {
            const int node = mesh->conn[(size_t)s->elem[k] * n_corner + c], mark = k / size + 1;
            n += seen[node] != mark;
            seen[node] = mark;
        }
    free(seen);
    return (double)n / n_piece;
}

/* Interior elements whose place changes where they are cut into pieces once more, as `patch` does. */
static int count_moved(const fe_mesh *mesh, const fe_share *s)
{
    int n = 0, *elem = malloc((size_t)s->n_elem_interior * sizeof *elem);
    assert_non_null(elem);
    memcpy(elem, s->elem, (size_t)s->n_elem_interior * sizeof *elem);
    must(fe_mesh_sort_pieces(mesh, s->n_elem_interior, elem));
    for (int k = 0; k < s->n_elem_interior; k++) n += elem[k] != s->elem[k];
    free(elem);
    return n;
}

/* Nodes among [first, end) of a share that an earlier piece of elements [from, to) meets than it does the
 * node in front of them: then a patch would not find its nodes side by side. */
static int count_out_of_order(const fe_mesh *mesh, const fe_share *s, int from, int to, int first, int end)
{
    const int n_corner = fe_corners(mesh->kind), size = fe_piece_elements(mesh->kind);
    int n = 0, *piece = calloc((size_t)s->n_local, sizeof *piece);
    assert_non_null(piece);
    for (int k = to - 1; k >= from; k--)
        for (int c = 0; c < n_corner; c++)
            piece[s->local[mesh->conn[(size_t)s->elem[k] * n_corner + c]]] = (k - from) / size + 1;
    for (int i = first; i < end; i++) {
        assert_true(piece[i]);
        n += i > first && piece[i - 1] > piece[i];
    }
    free(piece);
    return n;
}

/* A mesh in compact pieces is so within each share, too: 128 Hex8 have 225 nodes at best, and a fifth more
 * where pieces have other shapes. In the mesh's own order what ranks leave of its pieces is cut otherwise. */
static void test_pieces(void **state)
{
    (void)state;
    const fe_box box = {
        .kind = FE_HEX8, .cells = {30, 26, 22}, .length = {3, 2.6, 2.2}, .distort = 0.1, .seed = 2};
    fe_mesh mesh;
    must(fe_mesh_box(&box, &mesh));
    must(fe_mesh_reorder(&mesh, FE_ORDER_BISECTION, 0));
    for (int n_rank = 1; n_rank <= 3; n_rank++) {
        fe_partition partition;
        must(fe_partition_mesh(&mesh, n_rank, FE_PARTITION_CONTIGUOUS, &partition));
        for (int i = 0; i < 2 * n_rank; i++) {
            fe_share share;
            mesh.in_pieces = i % 2;
            must(fe_share_build(&mesh, &partition, NULL, i / 2, &share));
            const int moved = count_moved(&mesh, &share);
            assert_true(mesh.in_pieces || n_rank == 1 ? moved == 0 : moved > share.n_elem_interior / 2);
            if (mesh.in_pieces) {
                const int interior = share.n_elem_interior, nodes = share.n_node_interior;
                assert_true(mean_nodes(&mesh, &share) <= 1.2 * 225);
                assert_int_equal(count_out_of_order(&mesh, &share, 0, interior, 0, nodes), 0);
                assert_int_equal(
                    count_out_of_order(&mesh, &share, interior, share.n_elem, nodes, share.n_owned), 0);
            }
            fe_share_close(&share);
        }
        fe_partition_close(&partition);
    }
    fe_mesh_close(&mesh);
}

/* Elements that shares hold more than once, over elements. */
static double computed_again(const fe_mesh *mesh, int n_rank, int method, int *used)
{
    fe_partition partition;
    double n = 0;
    must(fe_partition_mesh(mesh, n_rank, method, &partition));
    *used = partition.method;
    for (int r = 0; r < n_rank; r++) {
        fe_share share;
        must(fe_share_build(mesh, &partition, NULL, r, &share));
        n += share.n_elem;
        fe_share_close(&share);
    }
    fe_partition_close(&partition);
    return n / mesh->n_elem - 1;
}

/* The default reads the mesh: slabs of a long box stay, where nothing computes less again; nodes in random
 * order are not cut into ranges, which would compute most elements on every rank. */
static void test_auto(void **state)
{
    (void)state;
    const fe_box box = {.kind = FE_HEX8, .cells = {4, 4, 119}, .length = {1, 1, 30}, .seed = 2};
    const int best = FE_HAVE_METIS ? FE_PARTITION_METIS : FE_PARTITION_BISECTION;
    fe_mesh mesh;
    int used;
    must(fe_mesh_box(&box, &mesh));
    for (int n_rank = 2; n_rank <= 4; n_rank++) {
        const double slabs = computed_again(&mesh, n_rank, FE_PARTITION_CONTIGUOUS, &used);
        assert_true(fabs(slabs - (n_rank - 1) / 119.0) < 1e-12);
        assert_true(computed_again(&mesh, n_rank, FE_PARTITION_AUTO, &used) <= slabs);
        assert_int_equal(used, FE_PARTITION_CONTIGUOUS);
    }
    must(fe_mesh_reorder(&mesh, FE_ORDER_RANDOM, 3));
    for (int n_rank = 1; n_rank <= 4; n_rank++) {
        const double ranges = computed_again(&mesh, n_rank, FE_PARTITION_CONTIGUOUS, &used),
                     compact = computed_again(&mesh, n_rank, FE_PARTITION_AUTO, &used);
        assert_int_equal(used, n_rank == 1 ? FE_PARTITION_CONTIGUOUS : best);
        if (n_rank > 1) assert_true(ranges > 0.9 && compact < 0.1);
        if (n_rank > 1) assert_true(computed_again(&mesh, n_rank, FE_PARTITION_BISECTION, &used) < 0.1);
    }
    fe_mesh_close(&mesh);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_auto),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
