/* Orders of nodes and elements: each only renumbers, bisection and Cuthill-McKee are those of the textbook.
 */
#include "common/base/sort.h"
#include "common/mesh/bisect.h"
#include "common/mesh/mesh.h"
#include "tests/common.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

static int is_permutation(const int64_t *tag, int n)
{
    char *seen = calloc((size_t)n + 1, 1);
    int fine = 1;
    for (int i = 0; i < n; ++i) fine &= tag[i] >= 1 && tag[i] <= n && !seen[tag[i]]++;
    free(seen);
    return fine;
}

/* Sorting the tags of a reordered box must give the box back: coordinates, corners and groups by tag. */
static void require_reordered(const fe_mesh *box, const fe_mesh *mesh)
{
    const int nc = fe_corners(box->kind), width = fe_facet_width(box->kind);
    assert_true(is_permutation(mesh->node_tag, mesh->n_node));
    assert_true(is_permutation(mesh->elem_tag, mesh->n_elem));
    for (int n = 0; n < mesh->n_node; ++n)
        assert_memory_equal(mesh->x + 3 * (size_t)n, box->x + 3 * (size_t)(mesh->node_tag[n] - 1),
                            3 * sizeof(double));
    for (int e = 0; e < mesh->n_elem; ++e)
        for (int a = 0; a < nc; ++a)
            assert_int_equal(mesh->node_tag[mesh->conn[(size_t)e * nc + a]] - 1,
                             box->conn[(size_t)(mesh->elem_tag[e] - 1) * nc + a]);
    for (int g = 0; g < 6; ++g)
        for (size_t k = 0; k < width * (size_t)mesh->group[g].n_facet; ++k) {
            const int mine = mesh->group[g].facet[k], old = box->group[g].facet[k];
            assert_int_equal(mine < 0 ? mine : mesh->node_tag[mine] - 1, old);
        }
    for (int f = 0; f < mesh->n_elem; ++f) assert_int_equal(mesh->group[6].facet[f], f);
}

/* 16³ Hex8 in pieces of 4 × 4 × 8 cells: 225 nodes each, whatever the order before. */
static void bisection_makes_compact_pieces(void **state)
{
    (void)state;
    fe_mesh mesh = small_box(FE_HEX8, 16, 16, 16, 0);
    const int most = fe_piece_elements(FE_HEX8);
    must(fe_mesh_reorder(&mesh, FE_ORDER_RANDOM, 4));
    must(fe_mesh_reorder(&mesh, FE_ORDER_BISECTION, 0));
    int *seen = calloc((size_t)mesh.n_node, sizeof *seen), highest = -1;
    assert_non_null(seen);
    for (int first = 0; first < mesh.n_elem; first += most) {
        int n = 0, before = highest;
        for (int k = 8 * first; k < 8 * (first + most); ++k) {
            const int node = mesh.conn[k];
            n += seen[node] != first + 1;
            seen[node] = first + 1;
            if (node > highest) highest = node;
        }
        assert_int_equal(n, 225);
        for (int node = before + 1; node <= highest; ++node) assert_int_equal(seen[node], first + 1);
    }
    assert_int_equal(highest, mesh.n_node - 1);
    free(seen);
    fe_mesh_close(&mesh);
}

/* A textbook bisection: each range sorted by the coordinate on its longest axis, then by the order before. */
typedef struct ranked {
    double x;
    int place, item;
} ranked;
static int by_rank(const void *p, const void *q)
{
    const ranked *a = p, *b = q;
    return a->x != b->x ? (a->x > b->x) - (a->x < b->x) : (a->place > b->place) - (a->place < b->place);
}
static int by_place(const void *p, const void *q)
{
    return ((const ranked *)p)->place - ((const ranked *)q)->place;
}
static void cut_slowly(const double *x, ranked *r, int n, int most)
{
    if (n <= most) return;
    const int left = (n + most - 1) / most / 2 * most;
    double longest = -1.0;
    int axis = 0;
    for (int c = 2; c >= 0; --c) {
        double low = INFINITY, high = -INFINITY;
        for (int i = 0; i < n; ++i) {
            low = fmin(low, x[3 * (size_t)r[i].item + c]);
            high = fmax(high, x[3 * (size_t)r[i].item + c]);
        }
        if (high - low > longest) longest = high - low, axis = c;
    }
    for (int i = 0; i < n; ++i) r[i].x = x[3 * (size_t)r[i].item + axis];
    qsort(r, (size_t)n, sizeof *r, by_rank);
    qsort(r, (size_t)left, sizeof *r, by_place);
    qsort(r + left, (size_t)(n - left), sizeof *r, by_place);
    cut_slowly(x, r, left, most);
    cut_slowly(x, r + left, n - left, most);
}

/* Any number of threads gives what the textbook gives: items at many equal coordinates, so few and so many
 * that one thread and all of them cut. */
static void bisection_is_that_of_the_textbook(void **state)
{
    (void)state;
    static const struct {
        int n, most, values; /* coordinates are whole numbers below this */
    } cases[] = {
        {1, 4, 3}, {9, 4, 1}, {500, 7, 5}, {5000, 128, 1000000}, {90000, 360, 40}, {70000, 29999, 1 << 30}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        const int n = cases[k].n, most = cases[k].most;
        double *x = malloc(3 * (size_t)n * sizeof *x);
        int *order = malloc((size_t)n * sizeof *order);
        ranked *r = malloc((size_t)n * sizeof *r);
        assert_true(x && order && r);
        for (int i = 0; i < 3 * n; ++i)
            x[i] = (double)(fe_mix((uint64_t)i + 7) % (uint64_t)cases[k].values) - cases[k].values / 2;
        for (int i = 0; i < n; ++i) r[i] = (ranked){0.0, i, n - 1 - i};
        cut_slowly(x, r, n, most);
        for (int threads = 1; threads < 8; threads += threads) {
            for (int i = 0; i < n; ++i) order[i] = n - 1 - i;
            must(fe_bisect(x, order, n, most, threads));
            for (int i = 0; i < n; ++i)
                if (order[i] != r[i].item)
                    fail_msg("case %zu, %d threads: item %d at place %d, not %d", k, threads, order[i], i,
                             r[i].item);
        }
        free(x), free(order), free(r);
    }
}

/* Words come sorted by their keys, and equal keys in the order of the items. */
static void words_are_sorted(void **state)
{
    (void)state;
    static const uint32_t greatest[] = {0, 1, 2000, 3000000, UINT32_MAX};
    enum { MOST = 60000 };
    static uint64_t word[MOST];
    for (size_t k = 0; k < sizeof greatest / sizeof *greatest; ++k)
        for (int n = 1; n <= MOST; n *= 11)
            for (int threads = 1; threads < 9; threads += 3) {
                uint64_t sum = 0;
                for (int i = 0; i < n; ++i) {
                    const uint32_t key = (uint32_t)(fe_mix((uint64_t)i) % ((uint64_t)greatest[k] + 1));
                    word[i] = fe_word_of(key, i);
                    sum += fe_mix(word[i]);
                }
                must(fe_sort_words(word, n, threads));
                for (int i = 0; i < n; ++i) {
                    assert_true(i == 0 || word[i - 1] < word[i]);
                    sum -= fe_mix(word[i]);
                }
                assert_true(sum == 0); /* the words are the same */
            }
}

static void orders_only_renumber(void **state)
{
    (void)state;
    static const int kinds[] = {FE_TET4, FE_HEX8, FE_TET10, FE_HEX27};
    for (int k = 0; k < 4; ++k)
        for (int order = 0; order < FE_N_ORDER; ++order) {
            const int kind = kinds[k];
            fe_mesh box = small_box(kind, 7, 5, 6, 0), mesh = small_box(kind, 7, 5, 6, 0);
            must(fe_mesh_reorder(&mesh, FE_ORDER_RANDOM, 11));
            require_reordered(&box, &mesh);
            const fe_quality before = quality_of(&mesh);
            must(fe_mesh_reorder(&mesh, (fe_order)order, 12));
            require_reordered(&box, &mesh);
            const fe_quality after = quality_of(&mesh);
            assert_int_equal(after.max_valence, before.max_valence);
            if (order == FE_ORDER_RCM) assert_true(after.bandwidth < before.bandwidth / 2);
            if (order == FE_ORDER_MORTON) assert_true(after.mean_bandwidth < before.mean_bandwidth / 2);
            if (order == FE_ORDER_LEXICOGRAPHIC)
                assert_memory_equal(mesh.x, box.x, 3 * (size_t)box.n_node * sizeof *box.x);
            fe_mesh_close(&box);
            fe_mesh_close(&mesh);
        }
    fe_mesh mesh = small_box(FE_HEX8, 1, 1, 1, 0);
    assert_int_equal(fe_mesh_reorder(&mesh, (fe_order)17, 0), FE_BAD_INPUT);
    fe_mesh_close(&mesh);
}

/* --- Cuthill-McKee with a matrix of neighbours --------------------------------------------------- */

typedef struct plain_graph {
    int n;
    char *joined; /* [n][n] */
    int *degree;
} plain_graph;

static plain_graph graph_of(const fe_mesh *mesh)
{
    const int n = mesh->n_node, nc = fe_corners(mesh->kind);
    plain_graph g = {n, calloc((size_t)n * (size_t)n, 1), calloc((size_t)n, sizeof(int))};
    assert_true(g.joined && g.degree);
    for (int e = 0; e < mesh->n_elem; ++e)
        for (int a = 0; a < nc; ++a)
            for (int b = 0; b < nc; ++b)
                if (a != b)
                    g.joined[(size_t)mesh->conn[e * nc + a] * (size_t)n + (size_t)mesh->conn[e * nc + b]] = 1;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) g.degree[i] += g.joined[(size_t)i * (size_t)n + (size_t)j];
    return g;
}

/* Levels from a root; of the neighbours that are new always the one of the least degree and number. */
static int search_plainly(const plain_graph *g, int root, int *queue, int *level)
{
    int n = 1;
    for (int i = 0; i < g->n; ++i) level[i] = -1;
    queue[0] = root, level[root] = 0;
    for (int head = 0; head < n; ++head)
        for (;;) {
            int best = -1;
            for (int j = 0; j < g->n; ++j)
                if (g->joined[(size_t)queue[head] * (size_t)g->n + (size_t)j] && level[j] < 0 &&
                    (best < 0 || g->degree[j] < g->degree[best]))
                    best = j;
            if (best < 0) break;
            queue[n++] = best, level[best] = level[queue[head]] + 1;
        }
    return n;
}

static void order_plainly(const plain_graph *g, int *order)
{
    int filled = 0, *level = calloc((size_t)g->n, sizeof *level), *done = calloc((size_t)g->n, sizeof *done);
    assert_true(level && done);
    for (int root = 0; root < g->n; ++root) {
        if (done[root]) continue;
        int *queue = order + filled, n = search_plainly(g, root, queue, level);
        for (int attempt = 0; attempt < 8; ++attempt) {
            const int depth = level[queue[n - 1]];
            int end = -1;
            for (int i = 0; i < n; ++i)
                if (level[queue[i]] == depth && (end < 0 || g->degree[queue[i]] < g->degree[end]))
                    end = queue[i];
            n = search_plainly(g, end, queue, level);
            if (level[queue[n - 1]] <= depth) break;
        }
        for (int i = 0; i < n; ++i) done[queue[i]] = 1;
        filled += n;
    }
    assert_int_equal(filled, g->n);
    for (int i = 0; i < g->n / 2; ++i) {
        const int t = order[i];
        order[i] = order[g->n - 1 - i], order[g->n - 1 - i] = t;
    }
    free(level), free(done);
}

static void require_plain_levels(const fe_mesh *mesh)
{
    const plain_graph g = graph_of(mesh);
    int *mine = calloc((size_t)g.n, sizeof *mine), *plain = calloc((size_t)g.n, sizeof *plain);
    assert_true(mine && plain);
    order_plainly(&g, plain);
    const int before = omp_get_max_threads();
    for (int threads = 1; threads < 8; threads += threads < 3 ? 1 : 2) {
        omp_set_num_threads(threads);
        must(fe_mesh_order_levels(mesh, mine));
        assert_memory_equal(mine, plain, (size_t)g.n * sizeof *mine);
    }
    omp_set_num_threads(before);
    free(mine), free(plain), free(g.joined), free(g.degree);
}

static void levels_are_those_of_the_textbook(void **state)
{
    (void)state;
    static const int kinds[] = {FE_TET4, FE_HEX8, FE_TET10, FE_HEX27};
    for (int k = 0; k < 5; ++k) {
        const int n = k < 2 ? 6 : k < 4 ? 3 : 15; /* the last one has levels that several threads add */
        fe_mesh mesh = small_box(k < 4 ? kinds[k] : FE_HEX8, n, n - 1, n + 1, 0);
        must(fe_mesh_reorder(&mesh, FE_ORDER_RANDOM, (uint64_t)k));
        require_plain_levels(&mesh);
        fe_mesh_close(&mesh);
    }
}

/* N tetrahedra around an edge, whose two nodes have more elements than others, and a body of its own. */
static void levels_of_a_hub(void **state)
{
    (void)state;
    enum { N = 300 };
    int conn[4 * (N + 1)];
    for (int e = 0; e < N; ++e) {
        const int corner[] = {N, N + 1, (7 * e) % N, (7 * e + 7) % N};
        memcpy(conn + 4 * e, corner, sizeof corner);
    }
    for (int a = 0; a < 4; ++a) conn[4 * N + a] = N + 2 + a;
    const fe_mesh mesh = {.kind = FE_TET4, .n_node = N + 6, .n_elem = N + 1, .conn = conn};
    require_plain_levels(&mesh);
}

/* The same bits on any number of threads. */
static void volume_of_any_threads(void **state)
{
    (void)state;
    fe_mesh mesh = small_box(FE_HEX8, 9, 10, 11, 0.2);
    const double volume = quality_of(&mesh).volume;
    const int before = omp_get_max_threads();
    assert_true(fabs(volume / 2.1 - 1) < 1e-13);
    for (int threads = 1; threads < 6; ++threads) {
        omp_set_num_threads(threads);
        assert_true(fe_mesh_volume(&mesh) == volume);
    }
    omp_set_num_threads(before);
    fe_mesh_close(&mesh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_only_renumber),
        cmocka_unit_test(bisection_makes_compact_pieces),
        cmocka_unit_test(bisection_is_that_of_the_textbook),
        cmocka_unit_test(words_are_sorted),
        cmocka_unit_test(levels_are_those_of_the_textbook),
        cmocka_unit_test(levels_of_a_hub),
        cmocka_unit_test(volume_of_any_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
