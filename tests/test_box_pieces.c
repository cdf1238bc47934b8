/* Pieces of boxes that ranks make, linear and quadratic: together they are the box, neighbours mean the same
 * nodes, and operations on them give what they give on one rank. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/timed_mesh.h"
#include "bench/workload.h"
#include "common/backend/device.h"
#include "common/ranks/ranks.h"
#include "have/cuda.h"
#include "have/nccl.h"
#include "tests/common.h"

static const int kinds[] = {FE_TET4, FE_HEX8, FE_TET10, FE_HEX27};
enum { N_KIND = sizeof kinds / sizeof *kinds, MOST_RANKS = 12 };

/* Ranks along the axes, among them more than there are cells along an axis. */
static const int grids[][3] = {{1, 1, 1}, {1, 1, 2}, {1, 2, 2}, {3, 2, 1}, {2, 3, 2}, {1, 1, 5}};
enum { N_GRID = sizeof grids / sizeof *grids };

static bench_box box_of(int kind, const int grid[3], int weak, fe_order order)
{
    return (bench_box){.kind = kind,
                       .cells = {3, 2, 4},
                       .grid = {grid[0], grid[1], grid[2]},
                       .weak = weak,
                       .order = order,
                       .plastic = 0.5,
                       .backend = &fe_backend_host,
                       .threads = 1};
}

static int ranks_of(const bench_box *b) { return b->grid[0] * b->grid[1] * b->grid[2]; }

/* --- nodes and elements ------------------------------------------------------------------------------ */

typedef struct piece {
    fe_mesh mesh;
    fe_partition partition;
    fe_share share;
} piece;

/* Nodes of a piece are at the box's places, and its elements are the box's. */
static void check_piece(const piece *p, const fe_mesh *whole)
{
    const int nc = fe_corners(whole->kind);
    for (int n = 0; n < p->mesh.n_node; n++)
        assert_memory_equal(p->mesh.x + 3 * (size_t)n, whole->x + 3 * (size_t)(p->mesh.node_tag[n] - 1),
                            3 * sizeof(double));
    for (int e = 0; e < p->mesh.n_elem; e++)
        for (int a = 0; a < nc; a++)
            assert_int_equal(p->mesh.node_tag[p->mesh.conn[(size_t)e * nc + a]] - 1,
                             whole->conn[(size_t)(p->mesh.elem_tag[e] - 1) * nc + a]);
}

/* What rank r sends to another one are the ghosts that this one has of it, in the same order. */
static void check_halo(const piece *all, int r)
{
    const fe_halo *from = &all[r].share.halo;
    for (int i = 0; i < from->n_neighbor; i++) {
        const piece *other = &all[from->neighbor[i]];
        const fe_halo *to = &other->share.halo;
        int k = 0;
        while (k < to->n_neighbor && to->neighbor[k] != r) k++;
        assert_true(k < to->n_neighbor);
        const int n = from->send_first[i + 1] - from->send_first[i];
        assert_int_equal(n, to->ghost_first[k + 1] - to->ghost_first[k]);
        for (int j = 0; j < n; j++)
            assert_int_equal(
                all[r].mesh.node_tag[all[r].share.node[from->send_node[from->send_first[i] + j]]],
                other->mesh.node_tag[other->share.node[to->ghost_first[k] + j]]);
    }
}

/* Each node of the box has one owner, whom all pieces agree on, and each element is counted once. */
static void check_pieces(const bench_box *b)
{
    piece all[MOST_RANKS] = {0};
    fe_mesh whole;
    fe_box box = {.kind = b->kind, .distort = 0.2, .seed = 1};
    int64_t n_elem, n_dof;
    const int n_rank = ranks_of(b);
    bench_box_cells(b, box.cells);
    bench_box_size(b->kind, box.cells, &n_elem, &n_dof);
    for (int i = 0; i < 3; i++) box.length[i] = box.cells[i] * bench_box_cell(b);
    must(fe_mesh_box(&box, &whole));
    assert_int_equal(3 * (int64_t)whole.n_node, n_dof);
    assert_int_equal(whole.n_elem, n_elem);
    int *owner = malloc((size_t)whole.n_node * sizeof *owner), n_owned = 0, n_counted = 0;
    assert_non_null(owner);
    memset(owner, -1, (size_t)whole.n_node * sizeof *owner);
    for (int r = 0; r < n_rank; r++) {
        piece *p = &all[r];
        must(bench_box_piece(b, r, &p->mesh, &p->partition));
        assert_int_equal(p->partition.n_rank, n_rank);
        must(fe_share_build(&p->mesh, &p->partition, NULL, r, &p->share));
        check_piece(p, &whole);
        for (int n = 0; n < p->mesh.n_node; n++) {
            int *known = &owner[p->mesh.node_tag[n] - 1];
            if (*known >= 0) assert_int_equal(p->partition.owner[n], *known);
            *known = p->partition.owner[n];
        }
        assert_true(p->share.n_owned > 0);
        n_owned += p->share.n_owned;
        for (int e = 0; e < p->share.n_elem; e++) n_counted += p->share.counted[e];
    }
    assert_int_equal(n_owned, whole.n_node);
    assert_int_equal(n_counted, whole.n_elem);
    for (int r = 0; r < n_rank; r++) check_halo(all, r);
    for (int r = 0; r < n_rank; r++) {
        fe_share_close(&all[r].share), fe_partition_close(&all[r].partition);
        fe_mesh_close(&all[r].mesh);
    }
    free(owner);
    fe_mesh_close(&whole);
}

static void test_pieces_are_the_box(void **state)
{
    (void)state;
    static const fe_order orders[] = {FE_ORDER_AUTO, FE_ORDER_LEXICOGRAPHIC, FE_ORDER_MORTON};
    for (int k = 0; k < N_KIND; k++)
        for (int g = 0; g < N_GRID; g++)
            for (int weak = 0; weak < 2; weak++)
                for (int o = 0; o < 3; o++) {
                    const bench_box b = box_of(kinds[k], grids[g], weak, orders[o]);
                    check_pieces(&b);
                }
}

/* A rank without a node would have nothing to do. Quadratic elements have nodes between those of the cells.
 */
static void test_ranks_without_nodes_are_refused(void **state)
{
    (void)state;
    for (int k = 0; k < N_KIND; k++) {
        const int most = fe_is_quadratic(kinds[k]) ? 9 : 5;
        for (int more = 0; more < 2; more++) {
            piece p = {0};
            const bench_box b = box_of(kinds[k], (const int[]){1, 1, most + more}, 0, FE_ORDER_AUTO);
            assert_int_equal(bench_box_piece(&b, 0, &p.mesh, &p.partition), more ? FE_BAD_INPUT : FE_OK);
            if (more) assert_message("ranks along an axis of");
            fe_mesh_close(&p.mesh), fe_partition_close(&p.partition);
        }
    }
}

/* --- answers ----------------------------------------------------------------------------------------- */

static const bench_operation operations[] = {BENCH_RESIDUAL, BENCH_JACVEC_ELASTIC, BENCH_JACVEC};
enum { N_OPERATION = sizeof operations / sizeof *operations };

/* What all strategies of a backend compute on a box: rows of nodes by their tags. */
typedef struct answers {
    bench_box box;
    int on_gpu, n_node;
    double *rows; /* [strategies][N_OPERATION][n_node][3] */
} answers;

static const fe_assembly *table_of(const answers *all, int i)
{
    const fe_assembly *a = fe_variant_table(fe_variant_at(i), all->on_gpu, FE_DOUBLE);
    return a && (a->quadratic || !fe_is_quadratic(all->box.kind)) ? a : NULL;
}

/* A strategy's rows of a rank's nodes, [n_owned][3], to their places. */
static fe_status compute(const answers *all, bench_workload *c, const int64_t *tag, int i, double *own)
{
    const fe_assembly *a = table_of(all, i);
    void *work = NULL;
    if (!a) return FE_OK;
    FE_TRY(fe_assembly_set_up(a, &c->problem, &work));
    for (int k = 0; k < N_OPERATION; k++) {
        FE_TRY(bench_prepare(c, a, work, operations[k]));
        FE_TRY(bench_apply(c, a, work, operations[k]));
        FE_TRY(c->device->ops->memory.download(c->device, 3 * (size_t)c->share.n_owned * sizeof *own, c->out,
                                               own));
        double *rows = all->rows + ((size_t)i * N_OPERATION + (size_t)k) * 3 * (size_t)all->n_node;
        for (int n = 0; n < c->share.n_owned; n++)
            memcpy(rows + 3 * (size_t)(tag[c->share.node[n]] - 1), own + 3 * (size_t)n, 3 * sizeof *own);
    }
    return FE_OK;
}

static fe_status compute_all(const answers *all, fe_comm *comm, bench_workload *c)
{
    fe_mesh mesh = {0};
    fe_partition p = {0};
    double *own = NULL;
    fe_status status = bench_box_piece(&all->box, comm->rank, &mesh, &p);
    if (status == FE_OK)
        status = fe_allocate(3 * (size_t)c->share.n_owned, sizeof *own, "test", (void **)&own);
    for (int i = 0; i < fe_variant_count() && status == FE_OK; i++)
        status = compute(all, c, mesh.node_tag, i, own);
    free(own);
    fe_partition_close(&p), fe_mesh_close(&mesh);
    return status;
}

static fe_status answer(void *context, fe_comm *comm, fe_device *device)
{
    const answers *all = context;
    bench_workload c;
    fe_status status = bench_workload_open_rank(&all->box, comm, device, &c);
    if (status == FE_OK) status = compute_all(all, comm, &c);
    if (status == FE_OK) status = comm->ops->barrier(comm); /* halos go */
    bench_workload_close(&c);
    return status;
}

static size_t numbers_of(const answers *all)
{
    return (size_t)fe_variant_count() * N_OPERATION * 3 * (size_t)all->n_node;
}

static answers answers_open(int kind, const int grid[3], int pieces, const fe_backend *backend)
{
    answers all = {.box = box_of(kind, grid, 0, FE_ORDER_AUTO), .on_gpu = backend->on_gpu};
    int cells[3];
    int64_t n_elem, n_dof;
    all.box.backend = backend, all.box.pieces = pieces;
    bench_box_cells(&all.box, cells);
    bench_box_size(kind, cells, &n_elem, &n_dof);
    all.n_node = (int)(n_dof / 3);
    all.rows = calloc(numbers_of(&all), sizeof *all.rows);
    assert_non_null(all.rows);
    fe_ranks ranks = {.backend = backend, .n_rank = ranks_of(&all.box), .threads = 1};
    must(fe_ranks_run(&ranks, answer, &all));
    return all;
}

/* Differences are rounding errors of sums in another order. */
static int compare(const answers *all, const answers *one)
{
    const size_t n = 3 * (size_t)all->n_node;
    int bad = 0;
    for (int i = 0; i < fe_variant_count() * N_OPERATION; i++) {
        const double *x = all->rows + (size_t)i * n, *y = one->rows + (size_t)i * n;
        double largest = 0.0, error = 0.0;
        for (size_t k = 0; k < n; k++)
            largest = fmax(largest, fabs(y[k])), error = fmax(error, fabs(x[k] - y[k]));
        if (!table_of(all, i / N_OPERATION) || (largest > 0.0 && error <= 1e-12 * largest)) continue;
        print_error("%s, %s, ranks %dx%dx%d, %s: %g instead of 0, of %g\n", fe_kind_name(all->box.kind),
                    fe_variant_at(i / N_OPERATION)->name, all->box.grid[0], all->box.grid[1],
                    all->box.grid[2], bench_operation_names[operations[i % N_OPERATION]], error, largest);
        bad++;
    }
    return bad;
}

/* In both orders of elements, neighbours and pieces. */
static void check_answers(const fe_backend *backend, int most)
{
    int bad = 0;
    for (int k = 0; k < N_KIND; k++) {
        if (fe_is_quadratic(kinds[k]) && !FE_HAVE_QUADRATIC) continue;
        answers one = answers_open(kinds[k], grids[0], 0, backend);
        for (int g = 1; g < N_GRID; g++) {
            if (grids[g][0] * grids[g][1] * grids[g][2] > most) continue;
            answers all = answers_open(kinds[k], grids[g], g % 2, backend);
            bad += compare(&all, &one);
            free(all.rows);
        }
        free(one.rows);
    }
    assert_int_equal(bad, 0);
}

static void test_answers_are_those_of_one_rank(void **state)
{
    (void)state;
    check_answers(&fe_backend_host, 5);
}

static void test_answers_of_gpus(void **state)
{
    (void)state;
#if FE_HAVE_CUDA
    const int devices = fe_cuda_devices();
    skip_if(devices < 2 ? "needs two GPUs" : FE_HAVE_NCCL ? NULL : "this build has no NCCL", "answers");
    check_answers(&fe_backend_cuda, devices < 5 ? devices : 5);
#else
    skip_if("this build has no CUDA", "answers");
#endif
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces_are_the_box),
        cmocka_unit_test(test_ranks_without_nodes_are_refused),
        cmocka_unit_test(test_answers_are_those_of_one_rank),
        cmocka_unit_test(test_answers_of_gpus),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
