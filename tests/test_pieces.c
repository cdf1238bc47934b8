/* Arrays that the host writes in pieces, the lists of node_csr that are written so, and the mesh that lists
 * are made of. */
#include "common/backend/device.h"
#include "common/problem/share.h"
#include "tests/common.h"
#include "tests/scene.h"
#include "variants/node_csr/assembly.h"

#include <stdlib.h>
#include <string.h>

enum { N_PIECE = 3000, LARGE = 1777 };

/* Pieces of 0 to 6 KB, and one of 9 MB, which is more than a batch has. */
static size_t begin(const void *of, int i)
{
    (void)of;
    const size_t rounds = (size_t)i / 7, rest = (size_t)i % 7;
    return 1000 * (21 * rounds + rest * (rest + 1) / 2) + (i > LARGE ? (size_t)9 << 20 : 0);
}
static char byte_at(size_t i) { return (char)(i * 2654435769u >> 24); }
static void write_piece(const void *of, int i, char *to)
{
    for (size_t k = begin(of, i); k < begin(of, i + 1); k++) *to++ = byte_at(k);
}

static void all_bytes_arrive(void **state)
{
    (void)state;
    static const int count[] = {0, 1, 8, LARGE + 1, N_PIECE};
    for (int threads = 1; threads < 8; threads += 3)
        for (size_t c = 0; c < sizeof count / sizeof *count; c++) {
            const fe_pieces pieces = {count[c], NULL, begin, write_piece};
            const size_t n = begin(NULL, count[c]);
            fe_device *d;
            void *memory;
            must(fe_backend_host.open(0, threads, &d));
            must(fe_device_upload_pieces(d, &pieces, "test", &memory));
            char *found = zeros(n, 1);
            must(d->ops->memory.download(d, n, memory, found));
            for (size_t i = 0; i < n; i++)
                if (found[i] != byte_at(i)) fail_msg("byte %zu of %zu, %d threads", i, n, threads);
            free(found);
            d->ops->close(d);
        }
}

/* What the threads of a team read: of each row's elements the other corners, turned so that the row's is
 * corner 0, in the order of the view. */
static void check_list(const fe_view *m, const node_csr_list *l, int team)
{
    for (int at = 0; at < m->n_node_interior; at++) {
        const int row = l->row ? l->row[at] : at, first = m->corner_first[row];
        for (int i = 0; i < m->corner_first[row + 1] - first; i++) {
            const int thread = at * team + i % team, corner = m->corner[first + i];
            const node_csr_entry *e = &l->entry[l->slice[thread / NODE_CSR_WARP] + thread % NODE_CSR_WARP +
                                                NODE_CSR_WARP * (i / team)];
            assert_int_equal(e->corner, corner);
            for (int b = 1; b < 4; b++)
                assert_int_equal(e->node[b - 1], m->conn[(size_t)(b ^ (corner & 7)) * m->ld + (corner >> 3)]);
        }
    }
    if (l->row) require_permutation(l->row, m->n_node_interior);
}

static void lists_have_all_corners(void **state)
{
    (void)state;
    static const fe_material material = {.E = 1.0, .nu = 0.3, .sigma_y = 1.0, .H = 1.0};
    fe_mesh mesh = make_box(FE_TET4, (const int[]){31, 29, 27}, (const double[]){1, 1, 1}, 0.2, 3);
    must(fe_mesh_reorder(&mesh, FE_ORDER_RANDOM, 3)); /* teams and slices of many lengths */
    for (int ranks = 1; ranks < 3; ranks++) {
        fe_partition partition;
        fe_share share;
        fe_device *d;
        fe_problem p;
        void *work;
        must(fe_partition_mesh(&mesh, ranks, FE_PARTITION_CONTIGUOUS, &partition));
        must(fe_share_build(&mesh, &partition, NULL, ranks - 1, &share));
        must(fe_backend_host.open(0, 3, &d));
        must(fe_problem_open(&mesh, &share, FE_TET4, &material, d, &p));
        must(node_csr_open(&p, FE_DOUBLE, &work));
        const node_csr_lists *lists = work;
        check_list(&p.view, &lists->single, 1);
        check_list(&p.view, &lists->team, NODE_CSR_TEAM);
        d->ops->close(d);
        fe_share_close(&share);
        fe_partition_close(&partition);
    }
    fe_mesh_close(&mesh);
}

static void must_be_of_view(const fe_problem *p, const fe_host_mesh *mesh)
{
    const fe_view *m = &p->view;
    assert_memory_equal(mesh->x, m->x, 3 * (size_t)m->n_local * sizeof(double));
    assert_memory_equal(mesh->conn, m->conn, (size_t)fe_corners(p->kind) * m->ld * sizeof(int));
    assert_memory_equal(mesh->corner_first, m->corner_first, ((size_t)m->n_owned + 1) * sizeof(int));
    assert_memory_equal(mesh->corner, m->corner, (size_t)m->corner_first[m->n_owned] * sizeof(int));
}

/* What set-ups read of a mesh: with the host's memory the view itself; beside a GPU, which the host's memory
 * stands for here, what the problem keeps, and from then on what is read back. */
static void set_ups_find_the_mesh(void **state)
{
    (void)state;
    static const fe_material material = {.E = 1.0, .nu = 0.3, .sigma_y = 1.0, .H = 1.0};
    fe_mesh mesh = make_box(FE_HEX8, (const int[]){5, 4, 3}, (const double[]){1, 1, 1}, 0.2, 3);
    fe_partition partition;
    fe_share share;
    must(fe_partition_mesh(&mesh, 2, FE_PARTITION_CONTIGUOUS, &partition));
    must(fe_share_build(&mesh, &partition, NULL, 1, &share));
    for (int on_gpu = 0; on_gpu < 2; on_gpu++) {
        fe_backend backend = fe_backend_host;
        backend.on_gpu = on_gpu;
        fe_device *d;
        fe_problem p;
        must(fe_backend_host.open(0, 2, &d));
        d->ops = &backend;
        must(fe_problem_open(&mesh, &share, FE_HEX8, &material, d, &p));
        for (int forgotten = 0; forgotten < 3; forgotten++) {
            const int64_t before = d->bytes_from_device;
            fe_host_mesh found;
            must(fe_problem_host_mesh(&p, &found));
            must_be_of_view(&p, &found);
            assert_int_equal(found.conn == p.view.conn, !on_gpu);
            assert_int_equal(d->bytes_from_device > before, on_gpu && forgotten);
            must(fe_problem_host_mesh(&p, &found));
            must_be_of_view(&p, &found);
            fe_problem_forget_mesh(&p);
        }
        d->ops = &fe_backend_host;
        d->ops->close(d);
    }
    fe_share_close(&share);
    fe_partition_close(&partition);
    fe_mesh_close(&mesh);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_bytes_arrive),
                                       cmocka_unit_test(lists_have_all_corners),
                                       cmocka_unit_test(set_ups_find_the_mesh)};
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
