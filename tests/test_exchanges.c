/* Exchanges and sums of ranks: threads of the host, and GPUs by NCCL and by peer memory. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/ranks/ranks.h"
#include "have/cuda.h"
#include "have/nccl.h"
#include "tests/common.h"
#include "tests/parted.h"

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
        told[i] = (int)(i / 3) < s->n_owned ? (float)value_at(s->node[i / 3], (int)(i % 3), turn % 16) : NAN;
    FE_TRY(device->ops->memory.upload(device, n * sizeof *told, told, x));
    FE_TRY(comm->ops->exchange_single(comm, FE_HALO_NODES, (float *)x));
    FE_TRY(device->ops->memory.download(device, n * sizeof *told, x, told));
    for (size_t i = 0; i < n; i++)
        t->wrong[comm->rank] += told[i] != (float)value_at(s->node[i / 3], (int)(i % 3), turn % 16);
    return FE_OK;
}

/* Ranks in a row, each of which needs two nodes of the one before it, and sends nothing back. */
typedef struct row {
    fe_halo halo;
    int neighbor[2], ghost_first[3], send_first[3], send_node[2];
} row;
enum { ROW_OWNED = 3, ROW_LOCAL = 5 };
static const int row_sent[] = {0, 2};

static void row_open(const fe_comm *comm, row *r)
{
    const int before = comm->rank > 0, after = comm->rank + 1 < comm->size;
    *r = (row){.ghost_first = {ROW_OWNED}, .send_node = {row_sent[0], row_sent[1]}};
    int n = 0;
    if (before) {
        r->neighbor[n++] = comm->rank - 1;
        r->ghost_first[n] = ROW_LOCAL, r->send_first[n] = 0;
    }
    if (after) {
        r->neighbor[n++] = comm->rank + 1;
        r->ghost_first[n] = r->ghost_first[n - 1], r->send_first[n] = 2;
    }
    r->halo = (fe_halo){n, r->neighbor, r->ghost_first, r->send_first, r->send_node};
}
static double row_value(int rank, int node, int c, int turn)
{
    if (node >= ROW_OWNED && rank == 0) return NAN; /* has no ghosts */
    return node < ROW_OWNED ? value_at(10 * rank + node, c, turn % 16)
                            : value_at(10 * (rank - 1) + row_sent[node - ROW_OWNED], c, turn % 16);
}

enum { N_AHEAD = 60, ROW_NUMBERS = 3 * ROW_LOCAL };

/* The vectors of all turns: doubles or, where the communicator exchanges them, floats in every third turn.
 * fresh: ghosts are NaN; otherwise counts the numbers that are not what they must be. */
static int row_numbers(const fe_comm *comm, int fresh, double *x)
{
    int wrong = 0;
    for (int turn = 0; turn < N_AHEAD; turn++)
        for (int i = 0; i < ROW_NUMBERS; i++) {
            const int floats = turn % 3 == 2 && comm->ops->exchange_single;
            double *const own = x + (size_t)turn * ROW_NUMBERS;
            const double right = row_value(comm->rank, i / 3, i % 3, turn),
                         value = fresh && i / 3 >= ROW_OWNED ? NAN : right;
            if (fresh && floats)
                ((float *)own)[i] = (float)value;
            else if (fresh)
                own[i] = value;
            else if (!isnan(right))
                wrong += (floats ? (double)((float *)own)[i] : own[i]) != right;
        }
    return wrong;
}

/* Many exchanges and sums that are enqueued without a wait, after the second rank has slept: the first one
 * has nothing to wait for but that others have read what it sent. */
static fe_status run_ahead(conversation *t, fe_comm *comm, fe_device *device)
{
    const size_t bytes = sizeof(double) * ROW_NUMBERS * N_AHEAD;
    double *told = NULL, *x = NULL, *sums = NULL, ones[2 * N_AHEAD];
    row r;
    row_open(comm, &r);
    FE_ALLOCATE(told, ROW_NUMBERS * N_AHEAD, "test");
    FE_TRY(fe_device_allocate(device, ROW_NUMBERS * N_AHEAD, sizeof *x, "test", (void **)&x));
    FE_TRY(fe_device_allocate(device, 2 * N_AHEAD, sizeof *sums, "test", (void **)&sums));
    row_numbers(comm, 1, told);
    for (int i = 0; i < 2 * N_AHEAD; i++) ones[i] = (comm->rank + 1.0) * i;
    FE_TRY(device->ops->memory.upload(device, bytes, told, x));
    FE_TRY(device->ops->memory.upload(device, sizeof ones, ones, sums));
    FE_TRY(comm->ops->attach(comm, device, FE_HALO_LEVEL, &r.halo));
    if (comm->rank == 1) usleep(20000);
    for (int turn = 0; turn < N_AHEAD; turn++) {
        double *const own = x + (size_t)turn * ROW_NUMBERS;
        if (turn % 3 == 2 && comm->ops->exchange_single) {
            FE_TRY(comm->ops->exchange_single(comm, FE_HALO_LEVEL, (float *)own));
        } else if (turn % 3) {
            FE_TRY(fe_comm_exchange(comm, FE_HALO_LEVEL, own));
        } else {
            FE_TRY(comm->ops->exchange_begin(comm, FE_HALO_LEVEL, own));
            FE_TRY(comm->ops->exchange_end(comm, FE_HALO_LEVEL, own));
        }
        if (turn % 5 < 2) FE_TRY(fe_comm_sum(comm, device, 2, sums + 2 * turn));
    }
    FE_TRY(device->ops->memory.download(device, bytes, x, told));
    FE_TRY(device->ops->memory.download(device, sizeof ones, sums, ones));
    t->wrong[comm->rank] += row_numbers(comm, 0, told);
    for (int i = 0; i < 2 * N_AHEAD; i++)
        t->wrong[comm->rank] +=
            ones[i] != (i / 2 % 5 < 2 ? 0.5 * comm->size * (comm->size + 1.0) * i : (comm->rank + 1.0) * i);
    free(told);
    return comm->ops->barrier(comm); /* the halo goes */
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

/* Exchanges follow each other without a barrier: on the host ranks that run ahead pack the next one while
 * others still read the last. There are two halos, of which the second one changes on the way. */
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
        const int plain = turn >= N_EXCHANGE / 2;
        if (turn == N_EXCHANGE / 2) FE_TRY(comm->ops->attach(comm, device, FE_HALO_LEVEL, &s->halo));
        FE_TRY(say(t, comm, device, FE_HALO_NODES, 1, turn, told, x));
        if (turn % 5 == 0) FE_TRY(say_single(t, comm, device, turn, told, x));
        for (int more = 0; more < turn % 3; more++)
            FE_TRY(say(t, comm, device, FE_HALO_LEVEL, plain ? 1 : 2, turn + more, told, x));
    }
    free(pairs.ghost_first), free(pairs.send_first), free(pairs.send_node), free(told);
    FE_TRY(add_up(t, comm, device));
    FE_TRY(run_ahead(t, comm, device));
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
                        backend->on_gpu ? fe_transport_names[transport] : "host", r, p->n_rank, t.wrong[r]);
    }
    assert_int_equal(wrong, 0);
}

static void check_exchange(const parted *p) { check_talk(p, &fe_backend_host, 0); }

static void test_exchanges(void **state)
{
    (void)state;
    each_partition(check_exchange);
}

/* Without being asked for, peer memory is taken between GPUs of one process that it suits, and only there. */
static void test_chosen_transport(void **state)
{
    (void)state;
    const fe_ranks host = {.backend = &fe_backend_host, .n_rank = 2};
    assert_int_equal(fe_ranks_transport(&host), FE_TRANSPORT_NCCL);
#if FE_HAVE_CUDA && FE_HAVE_NCCL
    const int devices = fe_cuda_devices();
    fe_ranks r = {.backend = &fe_backend_cuda, .n_rank = 1};
    assert_int_equal(fe_ranks_transport(&r), FE_TRANSPORT_NCCL);
    r.n_rank = devices + 1;
    assert_int_equal(fe_ranks_transport(&r), FE_TRANSPORT_NCCL);
    r.n_rank = 2;
    const int suits = fe_comm_peer_suits(2);
    assert_true(!suits || devices > 1);
    assert_int_equal(fe_ranks_transport(&r), suits ? FE_TRANSPORT_PEER : FE_TRANSPORT_NCCL);
    r.transport = FE_TRANSPORT_NCCL;
    assert_int_equal(fe_ranks_transport(&r), FE_TRANSPORT_NCCL);
    r.transport = FE_TRANSPORT_AUTO, r.mpi.size = 2;
    assert_int_equal(fe_ranks_transport(&r), FE_TRANSPORT_NCCL);
#endif
}

/* The same between GPUs, by NCCL, by peer memory and by what is chosen. */
static void test_exchanges_of_gpus(void **state)
{
    (void)state;
#if FE_HAVE_CUDA
    const int devices = fe_cuda_devices();
    skip_if(devices < 2 ? "needs two GPUs" : FE_HAVE_NCCL ? NULL : "this build has no NCCL", "exchanges");
    static const int partitions[] = {FE_PARTITION_CONTIGUOUS, FE_PARTITION_BISECTION};
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
        cmocka_unit_test(test_exchanges),
        cmocka_unit_test(test_chosen_transport),
        cmocka_unit_test(test_exchanges_of_gpus),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
