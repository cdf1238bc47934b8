/* Host ranks as threads give the answer of one: the partition decides who computes, not what. Every strategy
 * runs on 3 ranks, one of them on 2 to 7; shares and halos are looked at themselves, as are ranks that fail
 * or hang.
 *
 * Newton stops at 1e-12 here instead of 1e-9, so that what is left of the residual is far below the 1e-8 that
 * displacements are compared to. Sums over elements and points show copies that are counted twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/mesh/bisect.h"
#include "common/variant.h"
#include "have/metis.h"
#include "tests/reference.h"

enum { N_STEP = 3, MAX_RUNS = 5 };

static const char *const cases[][2] = {{"strip", "strip_tet.msh"}, {"cylinder", "cylinder_hex.msh"}};
static const struct {
    int number;
    const char *name;
} partitions[] = {{FE_PARTITION_CONTIGUOUS, "contiguous"},
#if FE_HAVE_METIS
                  {FE_PARTITION_METIS, "metis"}
#endif
};
enum { N_CASE = sizeof cases / sizeof *cases, N_PARTITION = sizeof partitions / sizeof *partitions };

/* The first run is the one that the others are compared with. */
typedef struct way {
    int ranks, partition; /* of `partitions` */
} way;
static const way few[] = {{1, 0}, {3, 0}, {3, 1}}, contiguous[] = {{1, 0}, {2, 0}, {3, 0}, {4, 0}, {7, 0}},
                 metis[] = {{1, 0}, {2, 1}, {3, 1}, {4, 1}, {7, 1}};

typedef struct setting {
    const char *problem, *mesh, *variant;
    int n_run;
    const way *run; /* [n_run] */
    char name[160];
} setting;

typedef struct runs {
    fe_case problem;
    fe_mesh mesh;
    fe_boundary boundary;
    fe_result result[MAX_RUNS];
    history history[MAX_RUNS];
} runs;

static void runs_close(runs *r)
{
    for (int i = 0; i < MAX_RUNS; i++) {
        history_close(&r->history[i]);
        fe_result_close(&r->result[i]);
    }
    fe_boundary_close(&r->boundary);
    fe_mesh_close(&r->mesh);
    fe_case_close(&r->problem);
}

static fe_status runs_solve(const setting *s, runs *r)
{
    char path[256];
    snprintf(path, sizeof path, VALIDATION_FOLDER "/problems/%s.json", s->problem);
    FE_TRY(fe_case_read(path, &r->problem));
    r->problem.n_step = N_STEP; /* plasticity has begun by then */
    snprintf(path, sizeof path, VALIDATION_FOLDER "/meshes/%s", s->mesh);
    FE_TRY(fe_mesh_read(path, 0, &r->mesh));
    FE_TRY(fe_boundary_apply(&r->problem, &r->mesh, &r->boundary));
    fe_options options = fe_default_options();
    options.variant = s->variant;
    options.backend = "host";
    options.tolerance = 1e-12;
    options.threads = 1;
    for (int i = 0; i < s->n_run; i++) {
        options.ranks = s->run[i].ranks;
        options.partition = partitions[s->run[i].partition].number;
        FE_TRY(history_open(&r->mesh, &r->history[i]));
        const fe_observer observer = history_observer(&r->history[i]);
        FE_TRY(fe_solve(&r->problem, &r->mesh, &r->boundary, &options, &observer, &r->result[i]));
    }
    return FE_OK;
}

/* max |a - b| / max |a|; infinite on NaN. */
static double difference(const double *a, const double *b, size_t n)
{
    double largest = 0, scale = 0;
    for (size_t i = 0; i < n; i++) {
        if (!(fabs(a[i] - b[i]) <= largest)) largest = isnan(a[i] - b[i]) ? INFINITY : fabs(a[i] - b[i]);
        if (fabs(a[i]) > scale) scale = fabs(a[i]);
    }
    return largest == 0 ? 0 : largest / scale;
}

/* Prints what differs by more than 1e-8 between run 0 and run i at step s; returns how much does. */
static int count_differences(const setting *c, const runs *r, int i, int s)
{
    const fe_step_result *a = &r->result[0].step[s], *b = &r->result[i].step[s];
    const history_step *f = &r->history[0].step[s], *g = &r->history[i].step[s];
    const size_t n_node = (size_t)r->mesh.n_node, n_elem = (size_t)r->mesh.n_elem;
    const struct {
        const char *what;
        double difference;
    } checks[] = {{"displacement", difference(f->displacement, g->displacement, 3 * n_node)},
                  {"stress", difference(f->stress, g->stress, 6 * n_elem)},
                  {"peeq", difference(f->peeq, g->peeq, n_elem)},
                  {"reactions", difference(a->reaction, b->reaction, (size_t)r->boundary.n_reaction)},
                  {"probes", difference(a->probe[0], b->probe[0], 3 * (size_t)r->boundary.n_probe)},
                  {"max_peeq", difference(&a->max_peeq, &b->max_peeq, 1)},
                  {"max_mises", difference(&a->max_mises, &b->max_mises, 1)},
                  {"elastic_energy", difference(&a->elastic_energy, &b->elastic_energy, 1)},
                  {"plastic_work", difference(&a->plastic_work, &b->plastic_work, 1)},
                  {"int_peeq", difference(&a->int_peeq, &b->int_peeq, 1)},
                  {"norm_u", difference(&a->norm_u, &b->norm_u, 1)},
                  {"volume", difference(&r->result[0].volume, &r->result[i].volume, 1)},
                  {"plastic_gp", a->plastic_gp == b->plastic_gp ? 0 : INFINITY}};
    int n = 0;
    for (size_t k = 0; k < sizeof checks / sizeof *checks; k++) {
        if (checks[k].difference <= 1e-8) continue;
        print_error("%s: %d ranks, %s, step %d: %s differs by %.2e\n", c->name, c->run[i].ranks,
                    partitions[c->run[i].partition].name, s + 1, checks[k].what, checks[k].difference);
        n++;
    }
    return n;
}

static void test_ranks(void **state)
{
    const setting *s = *state;
    runs r = {0};
    int n = 0;
    const fe_status status = runs_solve(s, &r);
    if (status != FE_OK) print_error("%s: %s\n", s->name, fe_message());
    for (int i = 0; i < s->n_run && status == FE_OK; i++) {
        if (r.result[i].n_step != N_STEP || r.history[i].n_step != N_STEP) n++;
        for (int t = 0; t < N_STEP && n == 0; t++) n += count_differences(s, &r, i, t);
    }
    const int plastic = status == FE_OK && n == 0 && r.result[0].step[N_STEP - 1].plastic_gp > 0;
    runs_close(&r);
    assert_int_equal(status, FE_OK);
    assert_int_equal(n, 0);
    assert_true(plastic);
}

/* --- shares and halos ------------------------------------------------------------------------------- */

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

static void must(fe_status status)
{
    if (status != FE_OK) fail_msg("%s", fe_message());
}

static parted parted_open(int kind, int n_rank, int method, fe_order order)
{
    parted p = {.n_rank = n_rank};
    const fe_box box = {.kind = kind, .cells = {6, 5, 4}, .length = {3, 2, 1}, .distort = 0.2, .seed = 11};
    must(fe_mesh_box(&box, &p.mesh));
    must(fe_mesh_reorder(&p.mesh, order, 3));
    must(fe_mesh_node_elements(&p.mesh, &p.first, &p.elem));
    must(fe_partition_mesh(&p.mesh, n_rank, method, &p.partition));
    for (int r = 0; r < n_rank; r++) must(fe_share_build(&p.mesh, &p.partition, r, &p.share[r]));
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
        parted p = parted_open(kinds[i % 2], counts[i / 4 % N_COUNT], partitions[i / 4 / N_COUNT].number,
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
            must(fe_share_build(&mesh, &partition, i / 2, &share));
            const int moved = count_moved(&mesh, &share);
            assert_true(mesh.in_pieces || n_rank == 1 ? moved == 0 : moved > share.n_elem_interior / 2);
            if (mesh.in_pieces) assert_true(mean_nodes(&mesh, &share) <= 1.2 * 225);
            fe_share_close(&share);
        }
        fe_partition_close(&partition);
    }
    fe_mesh_close(&mesh);
}

/* --- ranks that talk -------------------------------------------------------------------------------- */

typedef struct talker {
    const parted *parted;
    fe_team *team;
    int rank, wrong; /* ghosts, after all exchanges */
    fe_status status;
} talker;

enum { N_EXCHANGE = 300 };

static double value_at(int node, int component, int turn) { return node + 0.25 * component + 1e5 * turn; }

/* Exchanges follow each other without a barrier: ranks that run ahead pack the next one while others still
 * read the last. Ghosts are NaN before each. */
static fe_status talk(talker *t, fe_comm *comm, fe_device *device)
{
    const fe_share *s = &t->parted->share[t->rank];
    double *x = NULL;
    FE_TRY(comm->ops->attach(comm, device, &s->halo));
    FE_TRY(fe_device_vector(device, s->n_local, "test", &x));
    for (int turn = 0; turn < N_EXCHANGE; turn++) {
        for (int i = 0; i < s->n_local; i++)
            for (int c = 0; c < 3; c++)
                x[3 * (size_t)i + c] = i < s->n_owned ? value_at(s->node[i], c, turn) : NAN;
        FE_TRY(comm->ops->exchange_begin(comm, x));
        FE_TRY(comm->ops->exchange_end(comm, x));
        for (int i = 0; i < s->n_local; i++)
            for (int c = 0; c < 3; c++) t->wrong += x[3 * (size_t)i + c] != value_at(s->node[i], c, turn);
    }
    double sums[2] = {s->n_owned, t->rank};
    FE_TRY(fe_comm_sum(comm, device, 1, sums));
    FE_TRY(fe_comm_largest(comm, device, 1, sums + 1));
    t->wrong += sums[0] != t->parted->mesh.n_node || sums[1] != t->parted->n_rank - 1;
    return comm->ops->barrier(comm); /* packs go with the device */
}

static void *talker_main(void *argument)
{
    talker *t = argument;
    fe_comm *comm = NULL;
    fe_device *device = NULL;
    t->status = fe_comm_team(t->team, t->rank, &comm);
    if (t->status == FE_OK) t->status = fe_backend_host.open(0, 1, &device);
    if (t->status == FE_OK) t->status = talk(t, comm, device);
    if (t->status != FE_OK && comm) comm->ops->abort(comm, t->status, fe_message());
    fe_backend_host.close(device);
    fe_comm_close(comm);
    return NULL;
}

static void check_exchange(const parted *p)
{
    fe_team *team;
    talker talkers[7];
    pthread_t thread[7];
    int wrong = 0;
    must(fe_team_open(p->n_rank, &team));
    for (int r = 0; r < p->n_rank; r++) {
        talkers[r] = (talker){.parted = p, .team = team, .rank = r};
        assert_int_equal(pthread_create(&thread[r], NULL, talker_main, &talkers[r]), 0);
    }
    for (int r = 0; r < p->n_rank; r++) {
        pthread_join(thread[r], NULL);
        wrong += talkers[r].wrong + (talkers[r].status != FE_OK);
        if (talkers[r].wrong || talkers[r].status != FE_OK)
            print_error("%s, rank %d of %d: status %d, %d wrong values\n", fe_kind_name(p->mesh.kind), r,
                        p->n_rank, (int)talkers[r].status, talkers[r].wrong);
    }
    fe_team_close(team);
    assert_int_equal(wrong, 0);
}

static void test_exchanges(void **state)
{
    (void)state;
    each_partition(check_exchange);
}

/* --- ranks that fail -------------------------------------------------------------------------------- */

/* A rank that makes one call and keeps what came of it. */
typedef struct caller {
    fe_team *team;
    int rank, call;
    fe_status status;
    char message[256];
} caller;

enum { BARRIER, SUM, LARGEST, BROADCAST, COLLECT, CHECK, N_CALL };

static void *call(void *argument)
{
    caller *c = argument;
    fe_comm *comm;
    double x = 0;
    c->status = fe_comm_team(c->team, c->rank, &comm);
    if (c->status != FE_OK) return NULL;
    switch (c->call) {
    case BARRIER: c->status = comm->ops->barrier(comm); break;
    case SUM: c->status = fe_comm_sum(comm, NULL, 1, &x); break;
    case LARGEST: c->status = fe_comm_largest(comm, NULL, 1, &x); break;
    case BROADCAST: c->status = comm->ops->broadcast(comm, sizeof x, &x); break;
    case COLLECT: c->status = comm->ops->collect(comm, 1, &x); break;
    case CHECK:
        while ((c->status = comm->ops->check(comm, fe_seconds())) == FE_OK) sched_yield();
        break;
    }
    snprintf(c->message, sizeof c->message, "%s", c->status == FE_OK ? "" : fe_message());
    fe_comm_close(comm);
    return NULL;
}

/* Ranks 0 and 2 make a call; rank 1 aborts, before or after them, or never comes. */
static void call_without_rank_1(int what, int aborts, caller c[2])
{
    fe_team *team;
    fe_comm *comm;
    pthread_t thread[2];
    must(fe_team_open(3, &team));
    must(fe_comm_team(team, 1, &comm));
    for (int i = 0; i < 2; i++) {
        if (i && aborts) {
            usleep(20000); /* for the first to come to its wait */
            comm->ops->abort(comm, FE_OUT_OF_MEMORY, "on purpose");
        }
        c[i] = (caller){.team = team, .rank = 2 * i, .call = what};
        assert_int_equal(pthread_create(&thread[i], NULL, call, &c[i]), 0);
    }
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    fe_comm_close(comm);
    fe_team_close(team);
}

static void test_abort_reaches_every_wait(void **state)
{
    (void)state;
    const double start = fe_seconds();
    for (int what = 0; what < N_CALL; what++) {
        caller c[2];
        call_without_rank_1(what, 1, c);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(c[i].status, FE_OUT_OF_MEMORY);
            assert_string_equal(c[i].message, "another rank failed: rank 1: on purpose");
        }
    }
    assert_true(fe_seconds() - start < 0.5 * fe_comm_timeout); /* woken, not run out of time */
}

static void test_missing_rank_is_named(void **state)
{
    (void)state;
    caller c[2];
    fe_comm_timeout = 1.0;
    const double start = fe_seconds();
    call_without_rank_1(BARRIER, 0, c);
    const double seconds = fe_seconds() - start;
    fe_comm_timeout = 60.0;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(c[i].status, FE_FAILED);
        assert_string_equal(c[i].message, "rank 1 has not answered for 1 s (--timeout)");
    }
    assert_true(seconds >= 1.0 && seconds < 30.0);
}

/* An observer that shows step 2 for longer than the others wait. */
static fe_status show_slowly(void *context, const fe_step_result *step, const fe_fields *fields)
{
    (void)fields;
    if (!step) return FE_OK;
    *(int *)context = step->step;
    if (step->step == 2) usleep(4000000);
    return FE_OK;
}

/* Output may take longer than the others wait for a silent rank. */
static void test_slow_output_is_awaited(void **state)
{
    (void)state;
    fe_case problem;
    fe_mesh mesh;
    fe_boundary boundary;
    fe_result result = {0};
    int shown = 0;
    const fe_observer observer = {&shown, 0, show_slowly};
    must(fe_case_read(VALIDATION_FOLDER "/problems/patch_plastic.json", &problem));
    must(fe_mesh_read(VALIDATION_FOLDER "/meshes/patch_hex.msh", 0, &mesh));
    must(fe_boundary_apply(&problem, &mesh, &boundary));
    fe_options options = fe_default_options();
    options.ranks = 2;
    options.threads = 1;
    assert_true(problem.n_step > 2);
    fe_comm_timeout = 1.0;
    const fe_status status = fe_solve(&problem, &mesh, &boundary, &options, &observer, &result);
    fe_comm_timeout = 60.0;
    assert_int_equal(status, FE_OK);
    assert_string_equal(result.status, "converged");
    assert_int_equal(shown, problem.n_step);
    assert_int_equal(result.n_step, problem.n_step);
    fe_result_close(&result);
    fe_boundary_close(&boundary);
    fe_mesh_close(&mesh);
    fe_case_close(&problem);
}

static void *meet_and_abort(void *team)
{
    fe_comm *comm;
    if (fe_comm_team(team, 1, &comm) != FE_OK) return NULL;
    if (comm->ops->barrier(comm) == FE_OK) comm->ops->abort(comm, FE_FAILED, "on purpose");
    fe_comm_close(comm);
    return NULL;
}

/* A rank that fails just behind a barrier that all have reached does not fail it for those which wake up
 * later: rank 0 would drop a load step that every rank has finished. */
static void test_abort_behind_a_barrier(void **state)
{
    (void)state;
    for (int trial = 0; trial < 2000; trial++) {
        fe_team *team;
        fe_comm *comm;
        pthread_t other;
        assert_int_equal(fe_team_open(2, &team), FE_OK);
        assert_int_equal(fe_comm_team(team, 0, &comm), FE_OK);
        assert_int_equal(pthread_create(&other, NULL, meet_and_abort, team), 0);
        const fe_status met = comm->ops->barrier(comm), missed = comm->ops->barrier(comm);
        pthread_join(other, NULL);
        fe_comm_close(comm);
        fe_team_close(team);
        assert_int_equal(met, FE_OK);
        assert_int_equal(missed, FE_FAILED);
    }
}

/* Adds one test; returns how many. */
static size_t add(setting *s, struct CMUnitTest *test, const char *const *c, const char *variant, int n_run,
                  const way *run, const char *what)
{
    *s = (setting){c[0], c[1], variant, n_run, run, ""};
    snprintf(s->name, sizeof s->name, "%s %s %s", c[1], variant, what);
    *test = (struct CMUnitTest){.name = s->name, .test_func = test_ranks, .initial_state = s};
    return 1;
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest of_parts[] = {
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_exchanges),
        cmocka_unit_test(test_abort_reaches_every_wait),
        cmocka_unit_test(test_missing_rank_is_named),
        cmocka_unit_test(test_slow_output_is_awaited),
        cmocka_unit_test(test_abort_behind_a_barrier),
    };
    enum { N_PARTS = sizeof of_parts / sizeof *of_parts };
    const size_t most = N_PARTS + (size_t)fe_variant_count() * N_CASE * 2;
    setting *settings = calloc(most, sizeof *settings);
    struct CMUnitTest *tests = calloc(most, sizeof *tests);
    if (!settings || !tests) return 1;
    size_t n = N_PARTS;
    memcpy(tests, of_parts, sizeof of_parts);
    for (int v = 0; v < fe_variant_count(); v++) {
        const fe_variant *variant = fe_variant_at(v);
        const int all = !strcmp(variant->name, fe_default_options().variant);
        for (int k = 0; variant->host && k < N_CASE; k++) {
            const char *name = variant->name;
            if (!all)
                n += add(settings + n, tests + n, cases[k], name, 1 + N_PARTITION, few, "1 and 3 ranks");
            if (all) n += add(settings + n, tests + n, cases[k], name, MAX_RUNS, contiguous, "contiguous");
            if (all && FE_HAVE_METIS)
                n += add(settings + n, tests + n, cases[k], name, MAX_RUNS, metis, "metis");
        }
    }
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    const int failed = _cmocka_run_group_tests("ranks", tests, n, NULL, NULL);
    free(tests);
    free(settings);
    return failed ? 1 : 0;
}
