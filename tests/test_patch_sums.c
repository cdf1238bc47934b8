/* patch_ordered: in which order sums are taken. */
#include <math.h>
#include <stdlib.h>

#include "common/backend/device.h"
#include "common/problem/apply.h"
#include "common/problem/share.h"
#include "tests/common.h"
#include "tests/scene.h"

static const fe_material some_material = {.E = 1.0, .nu = 0.3, .sigma_y = 1.0, .H = 1.0};

/* f_int at a displacement, by a strategy on the host. */
static void find_residual(const fe_mesh *mesh, const fe_share *share, const char *variant, int threads,
                          const double *displacement, double *r)
{
    const fe_assembly *a = fe_variant_find(variant)->host;
    const size_t bytes = 3 * (size_t)share->n_local * sizeof(double);
    fe_device *d;
    fe_problem p;
    void *work;
    double *in, *out;
    must(fe_backend_host.open(0, threads, &d));
    must(fe_problem_open(mesh, share, mesh->kind, &some_material, d, &p));
    must(fe_assembly_set_up(a, &p, &work));
    must(fe_device_vector(d, 3 * share->n_local, "test", &in));
    must(fe_device_vector(d, 3 * share->n_local, "test", &out));
    must(d->ops->memory.upload(d, bytes, displacement, in));
    must(fe_apply(&p, a, work, NULL, a->residual, FE_N_PHASE, in, out));
    must(d->ops->memory.download(d, bytes, out, r));
    d->ops->close(d);
}

/* A single thread adds the patches in their order; so does patch_ordered with any number of threads. */
static void sums_are_in_the_order_of_patches(void **state)
{
    (void)state;
    static const int kinds[] = {FE_HEX8, FE_TET4, FE_HEX27, FE_TET10};
    const int n_kind = FE_QUADRATIC ? 4 : 2;
    for (int k = 0; k < 2 * n_kind; k++) {
        const int kind = kinds[k % n_kind], half = fe_is_quadratic(kind) ? 2 : 1;
        fe_mesh mesh = make_box(kind, (const int[]){19 / half, 14 / half, 12 / half},
                                (const double[]){2, 1.4, 1.3}, 0.2, 3);
        fe_partition partition;
        fe_share share;
        must(fe_mesh_reorder(&mesh, FE_ORDER_BISECTION, 3));
        must(fe_partition_mesh(&mesh, k < n_kind ? 1 : 2, FE_PARTITION_CONTIGUOUS, &partition));
        must(fe_share_build(&mesh, &partition, NULL, 0, &share));
        const size_t n = 3 * (size_t)share.n_local, owned = 3 * (size_t)share.n_owned * sizeof(double);
        double *u = zeros(n, sizeof *u), *expected = zeros(n, sizeof *u), *r = zeros(n, sizeof *u);
        for (size_t i = 0; i < n; i++) u[i] = 0.1 * sin(17.0 * (double)i);
        find_residual(&mesh, &share, "patch", 1, u, expected);
        for (int threads = 1; threads < 8; threads += 3) {
            find_residual(&mesh, &share, "patch_ordered", threads, u, r);
            assert_memory_equal(r, expected, owned);
        }
        free(u), free(expected), free(r);
        fe_share_close(&share);
        fe_partition_close(&partition);
        fe_mesh_close(&mesh);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums_are_in_the_order_of_patches)};
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
