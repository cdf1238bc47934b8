/* Multigrid by order: the level of all nodes of quadratic elements above the linear elements on the vertices.
 * The interpolation against shape functions, the linear problem against a mesh of linear elements, the cycle
 * as an operator, and the iterations of conjugate gradients against those of linear elements with as many
 * nodes. */
#include <stdlib.h>
#include <string.h>

#include "common/multigrid/aggregate.h"
#include "common/multigrid/orders.h"
#include "common/problem/apply.h"
#include "tests/curved.h"
#include "tests/hierarchy.h"

static const int kinds[] = {FE_TET10, FE_HEX27};
static const char plain[] = "element_atomic";

/* A box of cells of any kind; distorted: vertices move, and sides of quadratic elements are curved. */
static fe_mesh cells_of(int kind, int nx, int ny, int nz, int distorted)
{
    const double length[3] = {1, 1, 1};
    fe_mesh mesh = box(fe_linear_kind(kind), nx, ny, nz, 1, 1, 1, distorted ? 0.15 : 0.0);
    if (!fe_is_quadratic(kind)) return mesh;
    must(fe_mesh_elevate(&mesh));
    if (distorted) curve_sides(&mesh, 0.03, length);
    return mesh;
}
static fe_mesh cube_of(int kind, int n) { return cells_of(kind, n, n, n, 1); }

static const char *backend_of(void **state)
{
    const char *backend = *state;
    if (!strcmp(backend, "cuda") && fe_cuda_devices() <= 0) {
        print_message("skipped: multigrid by order on cuda: %s\n",
                      FE_HAVE_CUDA ? "no CUDA device found" : "built without CUDA");
        skip();
    }
    return backend;
}

/* --- between the orders ------------------------------------------------------------------------------ */

/* [count] of a bench's device. */
static void *fetch(const bench *t, size_t count, size_t size, const void *there)
{
    void *here = calloc(count + 1, size);
    assert_non_null(here);
    must(t->device->ops->memory.download(t->device, count * size, there, here));
    return here;
}

/* On straight sides every node is the mean of its vertices, and each vertex is itself: coordinates are
 * interpolated exactly, and vertices keep theirs. */
static void interpolation(void **state)
{
    const scene s = {.backend = backend_of(state), .variant = plain};
    for (int k = 0; k < 2; k++) {
        fe_mesh mesh = cells_of(kinds[k], 3, 4, 5, 0);
        bench *t = bench_open(&mesh, &s, NULL);
        const fe_orders *o = t->m.orders;
        const fe_view *v = &o->problem.view;
        const int n = t->share.n_local;
        const int *first = fetch(t, (size_t)n + 1, sizeof *first, o->transfer.up_first),
                  *number = fetch(t, (size_t)n + 1, sizeof *number, o->number),
                  *up = fetch(t, (size_t)first[n], sizeof *up, o->transfer.up);
        const double *x = fetch(t, 3 * (size_t)v->n_local, sizeof *x, v->x);
        assert_int_equal(v->n_local, 4 * 5 * 6);
        for (int i = 0; i < n; i++) {
            const int count = first[i + 1] - first[i];
            assert_true((count == 1) == (number[i + 1] > number[i]));
            for (size_t c = 0; c < 3; c++) {
                double mean = 0.0;
                for (int p = first[i]; p < first[i + 1]; p++) mean += x[3 * (size_t)up[p] + c] / count;
                assert_true(fabs(mean - mesh.x[3 * (size_t)t->share.node[i] + c]) < 1e-14);
            }
        }
        free((void *)first), free((void *)number), free((void *)up), free((void *)x);
        bench_close(t);
        fe_mesh_close(&mesh);
    }
}

/* (restrict r, y) = (r, prolong y) for every r that is zero at supports. */
static void transposes(void **state)
{
    const scene s = {.backend = backend_of(state), .variant = plain};
    for (int k = 0; k < 2; k++) {
        fe_mesh mesh = cube_of(kinds[k], 4);
        bench *t = bench_open(&mesh, &s, NULL);
        fe_device *d = t->device;
        fe_orders *o = t->m.orders;
        const fe_order_steps *steps = fe_order_steps_of(d);
        const size_t n = 3 * (size_t)o->transfer.n_down;
        double *b, *y, down, up;
        must(fe_device_vector(d, o->problem.view.n_local, "test", &b));
        must(fe_device_vector(d, o->problem.view.n_local, "test", &y));
        assert_true(n < t->n);
        fill(t, 1, t->x);
        must(d->ops->vector.copy(d, n, t->x, y));
        fill(t, 2, t->x);
        must(d->ops->memory.zero(d, t->n * sizeof *t->y, t->y));
        must(steps->exact_prolong(d, &o->transfer, t->m.inverse, y, t->y));
        must(steps->exact_restrict(d, &o->transfer, t->x, b));
        up = dot(t, t->x, t->y);
        must(d->ops->memory.zero(d, t->n * sizeof *t->y, t->y));
        must(d->ops->memory.zero(d, t->n * sizeof *t->x, t->x));
        must(d->ops->vector.copy(d, n, b, t->x));
        must(d->ops->vector.copy(d, n, y, t->y));
        down = dot(t, t->x, t->y);
        assert_true(fabs(up) > 1e-3 && fabs(up - down) < 1e-12 * fabs(up) * (double)n);
        bench_close(t);
        fe_mesh_close(&mesh);
    }
}

/* The linear problem on the vertices has the elastic product of a mesh of linear elements, node by node. */
static void linear_elements(void **state)
{
    const scene s = {.backend = backend_of(state), .variant = plain};
    for (int k = 0; k < 2; k++) {
        fe_mesh mesh = cells_of(kinds[k], 4, 3, 2, 0),
                linear = cells_of(fe_linear_kind(kinds[k]), 4, 3, 2, 0);
        bench *t = bench_open(&mesh, &s, NULL), *l = bench_open(&linear, &s, NULL);
        const fe_orders *o = t->m.orders;
        const fe_multigrid *v = &o->vertices;
        const int n = o->problem.view.n_local;
        fe_device *d = t->device;
        double *x = fetch(t, 3 * (size_t)n, sizeof *x, o->problem.view.x), *there, *product,
               *out = calloc(3 * (size_t)n, sizeof *out), *expected = calloc(3 * (size_t)n, sizeof *out);
        int *node = calloc((size_t)n, sizeof *node);
        fe_problem elastic = o->problem;
        assert_true(out && expected && node);
        assert_int_equal(n, l->share.n_local);
        for (int i = 0; i < n; i++) { /* by place */
            int j = 0;
            while (fe_square_distance(x + 3 * (size_t)i, linear.x + 3 * (size_t)l->share.node[j]) > 1e-20)
                j++;
            node[i] = j;
        }
        fill(l, 3, l->x);
        must(elastic_product(l, l->x, l->y));
        must(l->device->ops->memory.download(l->device, l->n * sizeof *out, l->x, out));
        for (size_t i = 0; i < (size_t)n; i++) memcpy(x + 3 * i, out + 3 * (size_t)node[i], 3 * sizeof *x);
        must(l->device->ops->memory.download(l->device, l->n * sizeof *out, l->y, expected));
        must(fe_device_vector(d, n, "test", &there));
        must(fe_device_vector(d, n, "test", &product));
        must(d->ops->memory.upload(d, l->n * sizeof *x, x, there));
        must(fe_apply(&elastic, v->assembly, v->work, t->comm, v->assembly->jacvec, FE_N_PHASE, there,
                      product));
        must(d->ops->memory.download(d, l->n * sizeof *out, product, out));
        double size = 0.0;
        for (size_t i = 0; i < l->n; i++) size = fmax(size, fabs(expected[i]));
        for (size_t i = 0; i < (size_t)n; i++)
            for (size_t c = 0; c < 3; c++)
                assert_true(fabs(out[3 * i + c] - expected[3 * (size_t)node[i] + c]) < 1e-12 * size);
        free(x), free(out), free(expected), free(node);
        bench_close(t), bench_close(l);
        fe_mesh_close(&mesh), fe_mesh_close(&linear);
    }
}

/* The elastic matrix, which the direct solver takes, against the product. */
static void elastic_matrix(void **state)
{
    const scene s = {.backend = backend_of(state), .variant = plain};
    for (int k = 0; k < 2; k++) {
        fe_mesh mesh = cube_of(kinds[k], 3);
        bench *t = bench_open_bare(&mesh, &s, NULL);
        fe_elastic_rows e = {0};
        double error = 0.0, size = 0.0;
        t->m.assembly = t->assembly, t->m.work = t->work;
        must(fe_elastic_rows_open(&t->problem, t->n_fixed, t->fixed, 2, &e));
        fill(t, 3, t->x);
        must(apply_elastic(t, t->x, t->y));
        double *x = fetch(t, t->n, sizeof *x, t->x), *y = fetch(t, t->n, sizeof *y, t->y);
        for (int i = 0; i < e.A.n_row; i++)
            for (size_t r = 0; r < 3; r++) {
                double sum = 0.0;
                for (int p = e.A.first[i]; p < e.A.first[i + 1]; p++)
                    for (size_t c = 0; c < 3; c++)
                        sum += fe_sparse_block(&e.A, p)[3 * r + c] * x[3 * (size_t)e.A.column[p] + c];
                error = fmax(error, fabs(sum - y[3 * (size_t)i + r])), size = fmax(size, fabs(sum));
            }
        if (!(error < 1e-12 * size)) fail_msg("%s: off by %.2e of %.2e", fe_kind_name(kinds[k]), error, size);
        free(x), free(y);
        fe_elastic_rows_close(&e);
        bench_close(t);
        fe_mesh_close(&mesh);
    }
}

/* --- the cycle --------------------------------------------------------------------------------------- */

typedef fe_status (*cycle)(void *multigrid, double *r, double *z);

/* Symmetric and positive: the cycle in floats to their rounding, the other one to that of doubles. */
static void symmetric_and_positive(void **state)
{
    static const cycle cycles[] = {fe_multigrid_apply, fe_multigrid_apply_exact};
    static const double rounding[] = {2e-6, 1e-11};
    for (int k = 0; k < 4; k++) {
        const scene s = {.backend = backend_of(state), .variant = plain, .nu = k / 2 ? 0.49 : 0.3};
        fe_mesh mesh = cube_of(kinds[k % 2], 6);
        bench *t = bench_open(&mesh, &s, NULL);
        double *r, *q;
        must(fe_device_vector(t->device, t->share.n_local, "test", &r));
        must(fe_device_vector(t->device, t->share.n_local, "test", &q));
        must(fe_multigrid_open_exact(&t->m));
        for (int e = 0; e < 2; e++)
            for (uint64_t seed = 0; seed < 5; seed++) {
                fill(t, 1000000 * seed, r);
                fill(t, 1000000 * seed + 500000, q);
                must(cycles[e](&t->m, r, t->x));
                must(cycles[e](&t->m, q, t->y));
                const double xr = dot(t, t->x, r), yq = dot(t, t->y, q),
                             off = fabs(dot(t, t->x, q) - dot(t, t->y, r)) / sqrt(xr * yq);
                if (!(xr > 0) || !(yq > 0) || !(off < rounding[e]))
                    fail_msg("%s: cycle %d: not symmetric by %.2e, or not positive: %.2e %.2e",
                             fe_kind_name(kinds[k % 2]), e, off, xr, yq);
            }
        bench_close(t);
        fe_mesh_close(&mesh);
    }
}

static fe_krylov_result solve_cube(const scene *s, int kind, int cells)
{
    fe_mesh mesh = cube_of(kind, cells);
    bench *t = bench_open(&mesh, s, NULL);
    const fe_krylov_result r = solve(t, 1e-8);
    must(apply_elastic(t, t->x, t->y));
    must(t->device->ops->vector.axpy(t->device, t->n, -1.0, t->b, t->y));
    const double left = sqrt(dot(t, t->y, t->y) / dot(t, t->b, t->b));
    if (!r.converged || left > 1.1e-8)
        fail_msg("%s, %d cells: %d iterations (%s), residual %.2e", fe_kind_name(kind), cells, r.iterations,
                 fe_krylov_reason(&r), left);
    bench_close(t);
    fe_mesh_close(&mesh);
    return r;
}

/* Bending cubes of as many nodes. */
static void iterations(void **state)
{
    int bad = 0;
    for (int k = 0; k < 2; k++)
        for (int stiff = 0; stiff < 2; stiff++)
            for (int cells = 8; cells <= 16; cells += 4) {
                const scene s = {.backend = backend_of(state), .variant = plain, .nu = stiff ? 0.49 : 0.3};
                const int linear = solve_cube(&s, fe_linear_kind(kinds[k]), 2 * cells).iterations,
                          quadratic = solve_cube(&s, kinds[k], cells).iterations;
                if (quadratic > 1.5 * linear)
                    print_message("%s, %d cells, nu %g: %d iterations, linear elements %d\n",
                                  fe_kind_name(kinds[k]), cells, s.nu, quadratic, linear);
                bad += quadratic > 1.5 * linear;
            }
    if (bad) fail_msg("%d of these take more than 1.5 times as many", bad);
}

/* Every strategy has the same cycle, those whose vertices are another strategy's, too. */
static void strategies(void **state)
{
    for (int k = 0; k < 2; k++) {
        fe_mesh mesh = cube_of(kinds[k], 4);
        double *expected = NULL;
        for (int v = 0; v < fe_variant_count(); v++) {
            const fe_variant *variant = fe_variant_at(v);
            const scene s = {.backend = backend_of(state), .variant = variant->name};
            const fe_assembly *table = strcmp(s.backend, "cuda") ? variant->host : variant->cuda;
            if (!table || !table->quadratic) continue;
            bench *t = bench_open(&mesh, &s, NULL);
            double error = 0, size = 0;
            fill(t, 7, t->y);
            must(fe_multigrid_apply(&t->m, t->y, t->x));
            double *host = fetch(t, t->n, sizeof *host, t->x);
            for (size_t i = 0; i < t->n && expected; i++)
                error = fmax(error, fabs(host[i] - expected[i])), size = fmax(size, fabs(expected[i]));
            if (!(error <= 1e-5 * size)) fail_msg("%s: off by %.2e", variant->name, error / size);
            if (!expected)
                expected = host;
            else
                free(host);
            bench_close(t);
        }
        free(expected);
        fe_mesh_close(&mesh);
    }
}

/* One element, and one cell of tetrahedra; the set-up is opened a second time with other supports. */
static void small_and_again(void **state)
{
    const scene s = {.backend = backend_of(state), .variant = plain};
    for (int k = 0; k < 2; k++) {
        fe_mesh mesh = cells_of(kinds[k], 1, 1, 1, 0);
        bench *t = bench_open(&mesh, &s, NULL);
        const fe_krylov_result r = solve(t, 1e-8);
        assert_true(r.converged && r.iterations <= 40);
        t->n_fixed -= 3; /* a node is free */
        must(bench_precondition(t));
        const fe_krylov_result again = solve(t, 1e-8);
        assert_true(again.converged && again.iterations <= 60);
        bench_close(t);
        fe_mesh_close(&mesh);
    }
}

/* --- ranks ------------------------------------------------------------------------------------------- */

typedef struct run {
    const fe_mesh *mesh;
    const scene *scene;
    fe_partition partition;
    int iterations[4];
    double square[4]; /* |x|² */
} run;

static fe_status solve_rank(void *context, fe_comm *comm, fe_device *device)
{
    run *r = context;
    bench t;
    fe_krylov_result result = {0};
    fe_status status = bench_open_rank(r->mesh, r->scene, NULL, &r->partition, comm, device, &t);
    if (status == FE_OK) status = bench_precondition(&t);
    if (status == FE_OK) status = fe_multigrid_open_exact(&t.m);
    const fe_operator A = {.apply = apply_elastic, .context = &t},
                      M = {.apply = fe_multigrid_apply, .context = &t.m},
                      exact = {.apply = fe_multigrid_apply_exact, .context = &t.m};
    for (int e = 0; e < 2 && status == FE_OK; e++) {
        status = fe_cg(&t.krylov, &A, e ? &exact : &M, t.b, t.x, 1e-8, 100, &result);
        if (!result.converged || (e && result.iterations > r->iterations[comm->rank] + 1))
            status = fe_fail(FE_FAILED, "cycle %d: %d iterations", e, result.iterations);
        r->iterations[comm->rank] = result.iterations;
    }
    if (status == FE_OK) status = device->ops->vector.dot(device, t.n, t.x, t.x, t.y);
    if (status == FE_OK) status = fe_comm_sum(comm, device, 1, t.y);
    if (status == FE_OK)
        status = device->ops->memory.download(device, sizeof(double), t.y, &r->square[comm->rank]);
    fe_share_close(&t.share);
    return status;
}

/* Any number of ranks finds the same solution in about as many iterations, by strategies of every kind. */
static void ranks(void **state)
{
    static const char *const variants[] = {"element_atomic", "node_csr", "patch", "assembled_bsr"};
    const char *backend = backend_of(state);
    for (int k = 0; k < 8; k++) {
        const scene s = {.backend = backend, .variant = variants[k / 2]};
        fe_mesh mesh = cube_of(kinds[k % 2], 6);
        run all[2] = {{&mesh, &s}, {&mesh, &s}};
        if (!strcmp(backend, "cuda") && fe_cuda_devices() < 2) skip();
        for (int n = 1; n <= 2; n++) {
            run *r = &all[n - 1];
            fe_ranks launch = {.n_rank = n, .threads = 1};
            must(fe_partition_mesh(&mesh, n, FE_PARTITION_BISECTION, &r->partition));
            must(fe_backend_find(backend, &launch.backend));
            must(fe_ranks_run(&launch, solve_rank, r));
            fe_partition_close(&r->partition);
        }
        assert_in_range(all[1].iterations[0], all[0].iterations[0] - 3, all[0].iterations[0] + 5);
        assert_int_equal(all[1].iterations[0], all[1].iterations[1]);
        assert_true(fabs(all[1].square[0] / all[0].square[0] - 1.0) < 1e-6);
        fe_mesh_close(&mesh);
    }
}

int main(int argc, char **argv)
{
    static char host[] = "host", cuda[] = "cuda";
#define ON(test, backend)                                                                                    \
    {                                                                                                        \
#test " " #backend, test, NULL, NULL, backend                                                        \
    }
#define BOTH(test) ON(test, host), ON(test, cuda)
    const struct CMUnitTest tests[] = {BOTH(interpolation),
                                       BOTH(transposes),
                                       BOTH(linear_elements),
                                       BOTH(elastic_matrix),
                                       BOTH(symmetric_and_positive),
                                       BOTH(iterations),
                                       BOTH(strategies),
                                       BOTH(small_and_again),
                                       BOTH(ranks)};
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("multigrid by order", tests, NULL, NULL) ? 1 : 0;
}
