/* The multigrid preconditioner: its aggregates, its cycle as an operator, and the iterations that conjugate
 * gradients need with it, on boxes and on the bracket. */
#include <stdlib.h>
#include <string.h>

#include "common/multigrid/aggregate.h"
#include "common/problem/apply.h"
#include "tests/hierarchy.h"

/* --- aggregates -------------------------------------------------------------------------------------- */

/* Grids of nx × ny × nz nodes, linked to the neighbours along the axes; the second stands `apart` from the
 * first, so close that pieces of space hold nodes of both. */
typedef struct grids {
    int n, *first, *column;
    double *x;
} grids;

static grids make_grids(const int size[3], int copies, double apart)
{
    const int one = size[0] * size[1] * size[2], step[3] = {1, size[0], size[0] * size[1]};
    grids g = {.n = copies * one};
    g.first = calloc((size_t)g.n + 1, sizeof *g.first);
    g.column = calloc(6 * (size_t)g.n, sizeof *g.column);
    g.x = calloc(3 * (size_t)g.n, sizeof *g.x);
    assert_true(g.first && g.column && g.x);
    for (int i = 0; i < g.n; i++) {
        const int k = i % one, at[3] = {k % size[0], k / size[0] % size[1], k / step[2]};
        g.first[i + 1] = g.first[i];
        for (int c = 0; c < 3; c++) {
            g.x[3 * (size_t)i + (size_t)c] = at[c] + (i >= one ? apart : 0.0);
            if (at[c] > 0) g.column[g.first[i + 1]++] = i - step[c];
            if (at[c] + 1 < size[c]) g.column[g.first[i + 1]++] = i + step[c];
        }
    }
    return g;
}

static void close_grids(grids *g) { free(g->first), free(g->column), free(g->x); }

/* Sizes of the aggregates; each has to be connected. */
static int *check_connected(const grids *g, const int *of, int n)
{
    int *size = calloc((size_t)n, sizeof *size), *stack = calloc((size_t)g->n, sizeof *stack), n_part = 0;
    uint8_t *seen = calloc((size_t)g->n, 1);
    assert_true(size && stack && seen);
    for (int i = 0; i < g->n; i++) {
        if (of[i] < 0) continue;
        assert_in_range(of[i], 0, n - 1);
        size[of[i]]++;
        if (seen[i]) continue;
        int top = 0;
        n_part++, seen[i] = 1, stack[top++] = i;
        while (top > 0) {
            const int j = stack[--top];
            for (int k = g->first[j]; k < g->first[j + 1]; k++)
                if (!seen[g->column[k]] && of[g->column[k]] == of[i])
                    seen[g->column[k]] = 1, stack[top++] = g->column[k];
        }
    }
    assert_int_equal(n_part, n);
    free(stack), free(seen);
    return size;
}

/* Two bodies with a gap of a tenth of a cell share no aggregate; all have 4 nodes, and about the size asked.
 */
static void aggregates_do_not_bridge_gaps(void **state)
{
    (void)state;
    const int size[3] = {13, 11, 9}, one = 13 * 11 * 9;
    for (int most = 8; most <= 27; most += 19) {
        grids g = make_grids(size, 2, 0.1);
        int *of = calloc((size_t)g.n, sizeof *of), *again = calloc((size_t)g.n, sizeof *of), n, m;
        const fe_graph graph = {.n = g.n, .first = g.first, .column = g.column, .x = g.x};
        must(fe_aggregate(&graph, most, 4, 1, 1, of, &n));
        must(fe_aggregate(&graph, most, 4, 1, 3, again, &m));
        assert_int_equal(n, m);
        assert_memory_equal(of, again, (size_t)g.n * sizeof *of);
        int *sizes = check_connected(&g, of, n);
        for (int a = 0; a < n; a++) assert_in_range(sizes[a], 4, 2 * most);
        for (int i = 0; i < one; i++)
            for (int j = one; j < g.n && i % 7 == 0; j++) assert_int_not_equal(of[i], of[j]);
        free(of), free(again), free(sizes);
        close_grids(&g);
    }
}

/* Nodes that are left out have none; a line of nodes, straight or bent a little, joins what lies beside it;
 * what has no neighbour stays. */
static void small_and_flat_ones_join(void **state)
{
    (void)state;
    const int line[3] = {30, 1, 1}, strip[3] = {30, 2, 1};
    for (int k = 0; k < 3; k++) {
        grids g = make_grids(k == 1 ? strip : line, 1, 0.0);
        for (int i = 0; i < line[0] && k == 2; i++) g.x[3 * (size_t)i + 1] = 0.002 * i * i;
        int *of = calloc((size_t)g.n, sizeof *of), n;
        uint8_t *left_out = calloc((size_t)g.n, 1);
        const fe_graph graph = {g.n, g.first, g.column, g.x, left_out};
        for (int i = 0; i < g.n; i++) left_out[i] = i == 3;
        must(fe_aggregate(&graph, 9, 4, 1, 1, of, &n));
        assert_int_equal(of[3], -1);
        int *sizes = check_connected(&g, of, n);
        for (int a = 0; a < n; a++) assert_true(sizes[a] >= 4 || (k != 1 && sizes[a] == 3));
        if (k != 1) assert_in_range(n, 1, 2); /* all of a line is flat: one on each side of the gap */
        free(of), free(left_out), free(sizes);
        close_grids(&g);
    }
}

/* --- the tests --------------------------------------------------------------------------------------- */

static const char *const backends[] = {"host", "cuda"};
static const char *backend_of(void **state)
{
    const char *backend = *state;
    if (!strcmp(backend, "cuda") && fe_cuda_devices() <= 0) {
        print_message("skipped: multigrid on cuda: %s\n",
                      FE_HAVE_CUDA ? "no CUDA device found" : "built without CUDA");
        skip();
    }
    return backend;
}

/* Conjugate gradients to 1e-6 in `most` iterations, with a residual that is as small as said. */
static void assert_iterations(const char *what, bench *t, int most)
{
    const fe_krylov_result r = solve(t, 1e-6);
    must(apply_elastic(t, t->x, t->y));
    must(t->device->ops->vector.axpy(t->device, t->n, -1.0, t->b, t->y));
    const double left = sqrt(dot(t, t->y, t->y) / dot(t, t->b, t->b));
    if (!r.converged || r.iterations > most || left > 1.1e-6)
        fail_msg("%s: %d iterations (%s), residual %.2e; at most %d are allowed", what, r.iterations,
                 fe_krylov_reason(&r), left, most);
}

/* Bending boxes: independent of the size of the mesh. */
static void bending(void **state)
{
    scene s = {.backend = backend_of(state)};
    for (int k = 0; k < 5; k++) {
        const int kind = k < 3 ? FE_HEX8 : FE_TET4, cells = 8 << (k % 3);
        fe_mesh mesh = cube(kind, k == 4 ? 20 : cells);
        char what[64];
        snprintf(what, sizeof what, "bending, %s, %d cells", fe_kind_name(kind), cells);
        bench *t = bench_open(&mesh, &s, NULL);
        assert_iterations(what, t, 14);
        bench_close(t);
        fe_mesh_close(&mesh);
    }
}

/* Long and thin: a plate, and cells of 8 : 8 : 1. */
static void plate_and_long_cells(void **state)
{
    scene s = {.backend = backend_of(state)};
    fe_mesh plate = box(FE_HEX8, 60, 60, 2, 1, 1, 1.0 / 30, 0.0);
    bench *t = bench_open(&plate, &s, NULL);
    assert_iterations("plate", t, 16);
    bench_close(t);
    fe_mesh_close(&plate);
    fe_mesh cells = box(FE_HEX8, 16, 16, 16, 8, 8, 1, 0.0);
    t = bench_open(&cells, &s, NULL);
    assert_iterations("cells of 8 : 8 : 1", t, 40);
    bench_close(t);
    fe_mesh_close(&cells);
}

static void bracket(void **state)
{
    static const char *const files[] = {"meshgen/bracket/bracket_hex8_coarse.msh",
                                        "meshgen/bracket/bracket_tet4_coarse.msh"};
    for (int k = 0; k < 4; k++) {
        const scene s = {.backend = backend_of(state), .nu = k / 2 ? 0.49 : 0.3};
        fe_mesh mesh = {0};
        must(fe_mesh_read(files[k % 2], 0, &mesh));
        bench *t = bench_open(&mesh, &s, "mount_upper");
        assert_iterations(files[k % 2], t, k / 2 ? 30 : 15);
        bench_close(t);
        fe_mesh_close(&mesh);
    }
}

/* (M r, s) = (r, M s), and (M r, r) > 0, to what single precision leaves. */
static void symmetric_and_positive(void **state)
{
    for (int k = 0; k < 3; k++) {
        const scene s = {.backend = backend_of(state), .nu = k == 2 ? 0.49 : 0.3};
        fe_mesh mesh = k == 1 ? cube(FE_TET4, 9) : cube(FE_HEX8, 10);
        bench *t = bench_open(&mesh, &s, NULL);
        double *r, *q;
        must(fe_device_vector(t->device, t->share.n_local, "test", &r));
        must(fe_device_vector(t->device, t->share.n_local, "test", &q));
        for (uint64_t seed = 0; seed < 5; seed++) {
            fill(t, 1000000 * seed, r);
            fill(t, 1000000 * seed + 500000, q);
            must(fe_multigrid_apply(&t->m, r, t->x));
            must(fe_multigrid_apply(&t->m, q, t->y));
            const double size = sqrt(dot(t, t->x, r) * dot(t, t->y, q));
            assert_true(dot(t, t->x, r) > 0 && dot(t, t->y, q) > 0);
            if (fabs(dot(t, t->x, q) - dot(t, t->y, r)) > 2e-6 * size)
                fail_msg("not symmetric by %.2e", fabs(dot(t, t->x, q) - dot(t, t->y, r)) / size);
        }
        bench_close(t);
        fe_mesh_close(&mesh);
    }
}

/* t->x [n] becomes D^-1 A t->x on a level. */
static void apply_level(bench *t, int level, size_t n)
{
    fe_device *d = t->device;
    const fe_coarse_level *l = t->m.coarse;
    float *x = level ? l->x : t->m.x, *y = level ? l->y : t->m.product;
    must(d->ops->vector.narrow(d, n, t->x, x));
    must(d->ops->memory.zero(d, n * sizeof *y, y));
    must(fe_multigrid_level_product(&t->m, level, x, y, t->y));
    must(fe_multigrid_level_inverse(&t->m, level, y, x));
    must(d->ops->vector.widen(d, n, x, t->x));
}

/* Largest eigenvalue of D^-1 A by many steps of the power method, a lower bound, against the report's: of the
 * finest level, and of the next one, with the operators that the cycle has. */
static void bound_of_the_spectrum(void **state)
{
    for (int k = 0; k < 4; k++) {
        const scene s = {.backend = backend_of(state)};
        const int level = k / 2;
        fe_mesh mesh = cube(k % 2 ? FE_TET4 : FE_HEX8, level ? 20 : 8);
        bench *t = bench_open(&mesh, &s, NULL);
        const size_t rows = 6 * (size_t)t->m.coarse[0].A.n_row, n = level ? rows : t->n;
        double largest = 0.0;
        assert_true(n > 0 && n <= t->n);
        fill(t, 1, t->x);
        must(t->device->ops->memory.zero(t->device, (t->n - n) * sizeof *t->x, t->x + n));
        for (int i = 0; i < 300; i++) {
            const double before = sqrt(dot(t, t->x, t->x));
            apply_level(t, level, n);
            const double now = sqrt(dot(t, t->x, t->x));
            largest = now / before;
            must(t->device->ops->vector.scale(t->device, t->n, 1.0 / now, t->x));
        }
        assert_true(largest <= t->m.report.lambda[level]);
        assert_true(largest >= 0.9 * t->m.report.lambda[level]);
        bench_close(t);
        fe_mesh_close(&mesh);
    }
}

/* The same bits from another hierarchy and with other threads. */
static void repeats(void **state)
{
    double *first = NULL;
    fe_mesh mesh = cube(FE_HEX8, 12);
    for (int k = 0; k < 3; k++) {
        const scene s = {.backend = backend_of(state), .threads = 1 + k % 2};
        bench *t = bench_open(&mesh, &s, NULL);
        double *host = calloc(t->n, sizeof *host);
        assert_non_null(host);
        fill(t, 7, t->y);
        must(fe_multigrid_apply(&t->m, t->y, t->x));
        must(t->device->ops->memory.download(t->device, t->n * sizeof *host, t->x, host));
        if (first) assert_memory_equal(first, host, t->n * sizeof *host);
        free(first);
        first = host;
        bench_close(t);
    }
    free(first);
    fe_mesh_close(&mesh);
}

/* The product that the cycle uses, in single precision and set up from the work of that in double precision,
 * against the latter. */
static void assert_single_product(bench *t, const char *name)
{
    fe_device *d = t->device;
    const fe_problem elastic = fe_multigrid_single(&t->m);
    double *right = calloc(t->n, sizeof *right), error = 0.0, size = 0.0;
    float *found = calloc(t->n, sizeof *found);
    assert_true(right && found);
    fill(t, 3, t->x);
    must(d->ops->vector.narrow(d, t->n, t->x, t->m.x));
    must(d->ops->vector.widen(d, t->n, t->m.x, t->x));
    must(elastic_product(t, t->x, t->y));
    must(fe_apply_single(&elastic, t->m.single, t->m.single_work, t->m.single->jacvec, t->m.x, t->m.b));
    must(d->ops->memory.download(d, t->n * sizeof *right, t->y, right));
    must(d->ops->memory.download(d, t->n * sizeof *found, t->m.b, found));
    for (size_t i = 0; i < t->n; i++)
        error = fmax(error, fabs((double)found[i] - right[i])), size = fmax(size, fabs(right[i]));
    if (!(error < 5e-6 * size) || error == 0.0) fail_msg("%s: product is off by %.2e", name, error / size);
    free(right), free(found);
}

/* All strategies have the same elastic product, those with a matrix too, whatever state that is of. */
static void strategies_of(const char *backend, int kind)
{
    fe_mesh mesh = cube(kind, 7);
    double *expected = NULL;
    for (int v = 0; v < fe_variant_count(); v++) {
        const fe_variant *variant = fe_variant_at(v);
        const scene s = {.backend = backend, .variant = variant->name};
        if (!(strcmp(backend, "cuda") ? variant->host : variant->cuda)) continue;
        bench *t = bench_open(&mesh, &s, NULL);
        double *host = calloc(t->n, sizeof *host), error = 0, size = 0;
        assert_non_null(host);
        assert_single_product(t, variant->name);
        fill(t, 11, t->x); /* far beyond yield */
        must(t->assembly->material(&t->problem, t->work, FE_LINEARIZATION_CONSISTENT, t->x));
        fill(t, 7, t->y);
        must(fe_multigrid_apply(&t->m, t->y, t->x));
        must(t->device->ops->memory.download(t->device, t->n * sizeof *host, t->x, host));
        for (size_t i = 0; i < t->n && expected; i++)
            error = fmax(error, fabs(host[i] - expected[i])), size = fmax(size, fabs(expected[i]));
        if (error > 1e-5 * size) fail_msg("%s: off by %.2e", variant->name, error / size);
        if (!expected)
            expected = host;
        else
            free(host);
        bench_close(t);
    }
    free(expected);
    fe_mesh_close(&mesh);
}
static void strategies(void **state)
{
    strategies_of(backend_of(state), FE_HEX8);
    strategies_of(backend_of(state), FE_TET4);
}

/* One element, of which four nodes are free; and one cell of tetrahedra. */
static void one_element(void **state)
{
    const scene s = {.backend = backend_of(state)};
    for (int kind = FE_TET4; kind <= FE_HEX8; kind += FE_HEX8 - FE_TET4) {
        fe_mesh mesh = box(kind, 1, 1, 1, 1, 1, 1, 0.0);
        bench *t = bench_open(&mesh, &s, NULL);
        assert_iterations("one element", t, 14);
        bench_close(t);
        fe_mesh_close(&mesh);
    }
}

/* Boxes side by side in one mesh, a hundredth of a cell apart. */
static fe_mesh two_boxes(int cells, double gap)
{
    fe_mesh one = box(FE_HEX8, cells, cells, cells, 1, 1, 1, 0.1), two = {.kind = FE_HEX8};
    two.path = strdup("two boxes");
    two.n_node = 2 * one.n_node, two.n_elem = 2 * one.n_elem;
    two.x = calloc(3 * (size_t)two.n_node, sizeof *two.x);
    two.node_tag = calloc((size_t)two.n_node, sizeof *two.node_tag);
    two.conn = calloc(8 * (size_t)two.n_elem, sizeof *two.conn);
    two.elem_tag = calloc((size_t)two.n_elem, sizeof *two.elem_tag);
    two.elem_group = calloc((size_t)two.n_elem, sizeof *two.elem_group);
    for (int i = 0; i < two.n_node; i++) {
        memcpy(two.x + 3 * (size_t)i, one.x + 3 * (size_t)(i % one.n_node), 3 * sizeof *two.x);
        two.x[3 * (size_t)i + 1] += i >= one.n_node ? 1.0 + gap : 0.0;
        two.node_tag[i] = i + 1;
    }
    for (int e = 0; e < two.n_elem; e++) {
        for (int c = 0; c < 8; c++)
            two.conn[8 * (size_t)e + (size_t)c] =
                one.conn[8 * (size_t)(e % one.n_elem) + (size_t)c] + (e >= one.n_elem ? one.n_node : 0);
        two.elem_tag[e] = e + 1;
    }
    fe_mesh_close(&one);
    return two;
}

/* Two parts, as many iterations as one needs; and bodies that nothing holds, under loads that balance: that
 * is said, and solved. */
static void parts_and_free_bodies(void **state)
{
    for (int k = 0; k < 4; k++) {
        const int loose = k % 2;
        const scene s = {.backend = backend_of(state), .loose = loose};
        fe_mesh mesh = two_boxes(k < 2 ? 8 : 24, 1e-3); /* rounding must not hold the larger ones, either */
        bench *t = bench_open(&mesh, &s, NULL);
        assert_int_equal(t->m.report.singular, loose);
        if (loose) {
            fill(t, 5, t->x);
            must(elastic_product(t, t->x, t->b));
        }
        assert_iterations(loose ? "free bodies" : "two parts", t, loose ? 20 : 14);
        bench_close(t);
        fe_mesh_close(&mesh);
    }
}

/* --- ranks ------------------------------------------------------------------------------------------- */

typedef struct run {
    const fe_mesh *mesh;
    const scene *scene;
    fe_partition partition;
    int iterations[8];
    double square[8]; /* |x|² */
} run;

static fe_status solve_rank(void *context, fe_comm *comm, fe_device *device)
{
    run *r = context;
    bench t;
    fe_krylov_result result = {0};
    fe_status status = bench_open_rank(r->mesh, r->scene, NULL, &r->partition, comm, device, &t);
    if (status == FE_OK) status = bench_precondition(&t);
    const fe_operator A = {.apply = apply_elastic, .context = &t},
                      M = {.apply = fe_multigrid_apply, .context = &t.m};
    if (status == FE_OK) status = fe_cg(&t.krylov, &A, &M, t.b, t.x, 1e-8, 100, &result);
    if (status == FE_OK) status = device->ops->vector.dot(device, t.n, t.x, t.x, t.y);
    if (status == FE_OK) status = fe_comm_sum(comm, device, 1, t.y);
    if (status == FE_OK)
        status = device->ops->memory.download(device, sizeof(double), t.y, &r->square[comm->rank]);
    r->iterations[comm->rank] = result.converged ? result.iterations : 1000;
    fe_share_close(&t.share);
    return status;
}

/* Any number of ranks finds the same solution in about as many iterations. */
static void ranks(void **state)
{
    const scene s = {.backend = backend_of(state)};
    fe_mesh mesh = box(FE_HEX8, 20, 10, 10, 2, 1, 1, 0.15);
    int alone = 0;
    double square = 0;
    for (int n = 1; n <= 4; n++) {
        run r = {.mesh = &mesh, .scene = &s};
        fe_ranks launch = {.n_rank = n, .threads = 1};
        must(fe_backend_find(s.backend, &launch.backend));
        if (!strcmp(s.backend, "cuda") && n > fe_cuda_devices()) break;
        must(fe_partition_mesh(&mesh, n, FE_PARTITION_CONTIGUOUS, &r.partition));
        must(fe_ranks_run(&launch, solve_rank, &r));
        fe_partition_close(&r.partition);
        if (n == 1) alone = r.iterations[0], square = r.square[0];
        for (int k = 0; k < n; k++) {
            if (r.iterations[k] > 1.3 * alone)
                fail_msg("%d ranks: %d iterations, %d on one", n, r.iterations[k], alone);
            assert_true(fabs(r.square[k] - square) <= 1e-6 * square);
        }
    }
    fe_mesh_close(&mesh);
}

/* On a device the last two levels take fewer steps, of a cycle that is the same to the rounding of 16-bit
 * numbers; with two sweeps and with four, and with a dense level that is far smaller than the one above. */
static void last_levels(void **state)
{
    static const struct {
        int kind, nx, ny, nz;
        double nu;
    } problems[] = {{FE_HEX8, 24, 24, 24, 0.3}, {FE_TET4, 20, 20, 20, 0.3}, {FE_HEX8, 15, 15, 15, 0.49}};
    for (int k = 0; k < 3; k++) {
        const scene s = {.backend = backend_of(state), .nu = problems[k].nu};
        fe_mesh mesh = box(problems[k].kind, problems[k].nx, problems[k].ny, problems[k].nz, 1, 1, 1, 0.1);
        bench *t = bench_open(&mesh, &s, NULL);
        fe_device *d = t->device;
        fe_last_levels *last = &t->m.coarse[t->m.n_coarse - 2].last;
        double *z = NULL, found, right;
        assert_true(t->m.n_coarse > 1);
        assert_int_equal(last->n, d->ops->on_gpu ? t->m.report.n[t->m.n_coarse - 1] : 0);
        must(fe_device_vector(d, t->share.n_local, "test", &z));
        fill(t, 1, t->x);
        must(fe_multigrid_apply(&t->m, t->x, t->y));
        last->n = 0;
        must(fe_multigrid_apply(&t->m, t->x, z));
        must(d->ops->vector.axpy(d, t->n, -1.0, z, t->y));
        found = sqrt(dot(t, t->y, t->y)), right = sqrt(dot(t, z, z));
        if (!(found <= 1e-4 * right)) fail_msg("problem %d: off by %.2e of %.2e", k, found, right);
        bench_close(t);
        fe_mesh_close(&mesh);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        CMUnitTestFunction test;
    } subjects[] = {{"bending", bending},
                    {"plate and long cells", plate_and_long_cells},
                    {"bracket", bracket},
                    {"symmetric and positive", symmetric_and_positive},
                    {"bound of the spectrum", bound_of_the_spectrum},
                    {"last levels", last_levels},
                    {"repeats", repeats},
                    {"strategies", strategies},
                    {"one element", one_element},
                    {"parts and free bodies", parts_and_free_bodies},
                    {"ranks", ranks}};
    enum { N = sizeof subjects / sizeof *subjects };
    struct CMUnitTest tests[2 + 2 * N] = {{0}};
    static char names[2 + 2 * N][64];
    int n = 0;
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(aggregates_do_not_bridge_gaps);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(small_and_flat_ones_join);
    for (int k = 0; k < 2; k++) {
        const int there = k == 0 || fe_cuda_devices() > 0;
        for (int i = 0; i < (there ? N : 1); i++, n++) { /* one skip in place of all */
            snprintf(names[n], sizeof names[n], "%s %s", there ? subjects[i].name : "*", backends[k]);
            tests[n] = (struct CMUnitTest){.name = names[n],
                                           .test_func = subjects[i].test,
                                           .initial_state = (void *)(uintptr_t)backends[k]};
        }
    }
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return _cmocka_run_group_tests("multigrid", tests, (size_t)n, NULL, NULL) ? 1 : 0;
}
