/* Shares and halos of ranks: who owns and computes what, and that neighbours mean the same nodes when they
 * exchange values. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/backend/device.h"
#include "common/mesh/bisect.h"
#include "common/problem/share.h"
#include "common/ranks/ranks.h"
#include "have/cuda.h"
#include "have/metis.h"
#include "have/nccl.h"
#include "tests/common.h"

static const int partitions[] = {FE_PARTITION_CONTIGUOUS, FE_PARTITION_BISECTION,
#if FE_HAVE_METIS
                                 FE_PARTITION_METIS
#endif
};
enum { N_PARTITION = sizeof partitions / sizeof *partitions };

/* A distorted box in random order, so that every rank has many neighbours, and all its shares. */
typedef struct parted {
    fe_mesh mesh;
    fe_partition partition;
    int n_rank;
    fe_share share[7];
    int *first, *elem; /* elements at the nodes */
} parted;

static const int counts[] = {1, 2, 3, 4, 7};
enum { N_COUNT = sizeof counts / sizeof *counts };

static parted parted_open(int kind, int n_rank, int method, fe_order order)
{
    parted p = {.n_rank = n_rank};
    const fe_box box = {.kind = kind, .cells = {6, 5, 4}, .length = {3, 2, 1}, .distort = 0.2, .seed = 11};
    must(fe_mesh_box(&box, &p.mesh));
    must(fe_mesh_reorder(&p.mesh, order, 3));
    must(fe_mesh_node_elements(&p.mesh, &p.first, &p.elem));
    must(fe_partition_mesh(&p.mesh, n_rank, method, &p.partition));
    for (int r = 0; r < n_rank; r++) must(fe_share_build(&p.mesh, &p.partition, NULL, r, &p.share[r]));
    return p;
}

static void parted_close(parted *p)
{
    for (int r = 0; r < p->n_rank; r++) fe_share_close(&p->share[r]);
    fe_partition_close(&p->partition);
    free(p->first), free(p->elem);
    fe_mesh_close(&p->mesh);
}

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

/* Calls check for both elements, all numbers of ranks and partitions, in an order and in compact pieces. */
static void each_partition(void (*check)(const parted *))
{
    static const int kinds[] = {FE_TET4, FE_HEX8};
    static const fe_order orders[] = {FE_ORDER_RANDOM, FE_ORDER_BISECTION};
    for (int i = 0; i < 2 * 2 * N_COUNT * N_PARTITION; i++) {
        parted p = parted_open(kinds[i % 2], counts[i / 4 % N_COUNT], partitions[i / 4 / N_COUNT],
                               orders[i / 2 % 2]);
        check(&p);
        parted_close(&p);
    }
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

/* --- ranks that talk -------------------------------------------------------------------------------- */

typedef struct conversation {
    const parted *parted;
    int wrong[7]; /* of each rank: ghosts after all exchanges, and sums */
} conversation;

enum { N_EXCHANGE = 300 };

static double value_at(int node, int component, int turn) { return node + 0.25 * component + 1e5 * turn; }

/* A halo with two nodes for each of another one. */
static fe_halo open_pairs(const fe_halo *h)
{
    const int n = h->n_neighbor;
    fe_halo pairs = {.n_neighbor = n, .neighbor = h->neighbor};
    pairs.ghost_first = calloc((size_t)n + 1, sizeof(int)),
    pairs.send_first = calloc((size_t)n + 1, sizeof(int));
    pairs.send_node = calloc(2 * (size_t)h->send_first[n] + 1, sizeof(int));
    for (int i = 0; i <= n; i++)
        pairs.ghost_first[i] = 2 * h->ghost_first[i], pairs.send_first[i] = 2 * h->send_first[i];
    for (int i = 0; i < 2 * h->send_first[n]; i++) pairs.send_node[i] = 2 * h->send_node[i / 2] + i % 2;
    return pairs;
}

/* One exchange of x, which has `each` nodes for a node of the share; ghosts are NaN before. told: the same on
 * the host. Begun and ended, or at once. */
static fe_status say(conversation *t, fe_comm *comm, fe_device *device, int which, int each, int turn,
                     double *told, double *x)
{
    const fe_share *s = &t->parted->share[comm->rank];
    const size_t bytes = 3 * (size_t)(each * s->n_local) * sizeof *x;
    for (int i = 0; i < each * s->n_local; i++)
        for (int c = 0; c < 3; c++)
            told[3 * (size_t)i + c] =
                i < each * s->n_owned ? value_at(s->node[i / each], c + i % each, turn) : NAN;
    FE_TRY(device->ops->memory.upload(device, bytes, told, x));
    if (turn % 2) {
        FE_TRY(fe_comm_exchange(comm, which, x));
    } else {
        FE_TRY(comm->ops->exchange_begin(comm, which, x));
        FE_TRY(comm->ops->exchange_end(comm, which, x));
    }
    FE_TRY(device->ops->memory.download(device, bytes, x, told));
    for (int i = 0; i < each * s->n_local; i++)
        for (int c = 0; c < 3; c++)
            t->wrong[comm->rank] +=
                told[3 * (size_t)i + c] != value_at(s->node[i / each], c + i % each, turn);
    return FE_OK;
}

/* The same of floats, one for each node of the share, where a communicator has that. */
static fe_status say_single(conversation *t, fe_comm *comm, fe_device *device, int turn, double *room,
                            double *x)
{
    const fe_share *s = &t->parted->share[comm->rank];
    const size_t n = 3 * (size_t)s->n_local;
    float *told = (float *)room;
    if (!comm->ops->exchange_single) return FE_OK;
    for (size_t i = 0; i < n; i++)
        told[i] = (int)(i / 3) < s->n_owned ? (float)value_at(s->node[i / 3], (int)(i % 3), turn) : NAN;
    FE_TRY(device->ops->memory.upload(device, n * sizeof *told, told, x));
    FE_TRY(comm->ops->exchange_single(comm, FE_HALO_NODES, (float *)x));
    FE_TRY(device->ops->memory.download(device, n * sizeof *told, x, told));
    for (size_t i = 0; i < n; i++)
        t->wrong[comm->rank] += told[i] != (float)value_at(s->node[i / 3], (int)(i % 3), turn);
    return FE_OK;
}

/* Sums of short and long vectors, several in turn, and a maximum. */
static fe_status add_up(conversation *t, fe_comm *comm, fe_device *device)
{
    static const int lengths[] = {1, 300, 6 * 8192, 6 * 8192 + 1, 2};
    enum { MOST = 6 * 8192 + 1, N = sizeof lengths / sizeof *lengths };
    double *told = NULL, *x = NULL;
    FE_ALLOCATE(told, MOST, "test");
    FE_TRY(fe_device_allocate(device, MOST, sizeof *x, "test", (void **)&x));
    for (int turn = 0; turn < 4 * N; turn++) {
        const int n = lengths[turn % N];
        for (int i = 0; i < n; i++) told[i] = (comm->rank + 1.0) * (i + turn);
        FE_TRY(device->ops->memory.upload(device, (size_t)n * sizeof *x, told, x));
        FE_TRY(fe_comm_sum(comm, device, n, x));
        FE_TRY(device->ops->memory.download(device, (size_t)n * sizeof *x, x, told));
        for (int i = 0; i < n; i++)
            t->wrong[comm->rank] += told[i] != 0.5 * comm->size * (comm->size + 1.0) * (i + turn);
    }
    told[0] = comm->rank;
    FE_TRY(device->ops->memory.upload(device, sizeof *x, told, x));
    FE_TRY(fe_comm_largest(comm, device, 1, x));
    FE_TRY(device->ops->memory.download(device, sizeof *x, x, told));
    t->wrong[comm->rank] += told[0] != comm->size - 1;
    free(told);
    return FE_OK;
}

/* Exchanges follow each other without a barrier: ranks that run ahead pack the next one while others still
 * read the last. There are two halos, of which the second one changes on the way. */
static fe_status talk(void *context, fe_comm *comm, fe_device *device)
{
    conversation *t = context;
    const fe_share *s = &t->parted->share[comm->rank];
    fe_halo pairs = open_pairs(&s->halo);
    double *told = NULL, *x = NULL;
    FE_TRY(comm->ops->attach(comm, device, FE_HALO_NODES, &s->halo));
    FE_TRY(comm->ops->attach(comm, device, FE_HALO_LEVEL, &pairs));
    FE_ALLOCATE(told, 6 * (size_t)s->n_local, "test");
    FE_TRY(fe_device_vector(device, 2 * s->n_local, "test", &x));
    for (int turn = 0; turn < N_EXCHANGE; turn++) {
        const int single = turn >= N_EXCHANGE / 2;
        if (turn == N_EXCHANGE / 2) FE_TRY(comm->ops->attach(comm, device, FE_HALO_LEVEL, &s->halo));
        FE_TRY(say(t, comm, device, FE_HALO_NODES, 1, turn, told, x));
        if (turn % 5 == 0) FE_TRY(say_single(t, comm, device, turn, told, x));
        for (int more = 0; more < turn % 3; more++)
            FE_TRY(say(t, comm, device, FE_HALO_LEVEL, single ? 1 : 2, turn + more, told, x));
    }
    free(pairs.ghost_first), free(pairs.send_first), free(pairs.send_node), free(told);
    FE_TRY(add_up(t, comm, device));
    return comm->ops->barrier(comm); /* packs go with the device */
}

static void check_talk(const parted *p, const fe_backend *backend, int transport)
{
    conversation t = {.parted = p};
    fe_ranks ranks = {.backend = backend, .n_rank = p->n_rank, .threads = 1, .transport = transport};
    int wrong = 0;
    must(fe_ranks_run(&ranks, talk, &t));
    for (int r = 0; r < p->n_rank; r++) {
        wrong += t.wrong[r];
        if (t.wrong[r])
            print_error("%s, %s, rank %d of %d: %d wrong values\n", fe_kind_name(p->mesh.kind),
                        fe_transport_names[transport], r, p->n_rank, t.wrong[r]);
    }
    assert_int_equal(wrong, 0);
}

static void check_exchange(const parted *p) { check_talk(p, &fe_backend_host, 0); }

static void test_exchanges(void **state)
{
    (void)state;
    each_partition(check_exchange);
}

/* The same between GPUs, by NCCL and by peer memory. */
static void test_exchanges_of_gpus(void **state)
{
    (void)state;
#if FE_HAVE_CUDA
    const int devices = fe_cuda_devices();
    skip_if(devices < 2 ? "needs two GPUs" : FE_HAVE_NCCL ? NULL : "this build has no NCCL", "exchanges");
    for (int n = 2; n <= devices && n <= 4; n++)
        for (int k = 0; k < 2 * FE_N_TRANSPORT; k++) {
            parted p = parted_open(FE_HEX8, n, partitions[k % 2], FE_ORDER_RANDOM);
            check_talk(&p, &fe_backend_cuda, k / 2);
            parted_close(&p);
        }
#else
    skip_if("this build has no CUDA", "exchanges");
#endif
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_auto),
        cmocka_unit_test(test_exchanges),
        cmocka_unit_test(test_exchanges_of_gpus),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
