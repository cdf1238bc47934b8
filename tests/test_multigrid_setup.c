/* Steps of the multigrid's set-up on a GPU against those of the host: the same matrices, modes and products
 * from the same aggregates, level by level; and aggregates that are what they are to be. */
#include <stdlib.h>
#include <string.h>

#include "common/solver/multigrid_setup.h"
#include "tests/hierarchy.h"

#if FE_HAVE_CUDA
static int have_gpu(void) { return fe_cuda_devices() > 0; }

/* n numbers of `size` bytes in the memory of a set-up's steps, on the host. */
static void *copy(const fe_setup *k, size_t n, size_t size, const void *memory)
{
    char *host = malloc(n * size + 1);
    assert_non_null(host);
    if (k->steps == &fe_setup_host)
        memcpy(host, memory, n * size);
    else
        must(k->d->ops->memory.download(k->d, n * size, memory, host));
    return host;
}

/* Largest difference over the largest number. */
static void compare(const char *what, int level, size_t n, const fe_setup *a, const double *x,
                    const fe_setup *b, const double *y, double most)
{
    double *p = copy(a, n, sizeof *p, x), *q = copy(b, n, sizeof *q, y), error = 0.0, size = 0.0;
    for (size_t i = 0; i < n; i++) error = fmax(error, fabs(p[i] - q[i])), size = fmax(size, fabs(p[i]));
    if (!(error <= most * size))
        fail_msg("level %d: %s differ by %.2e of the largest", level, what, error / size);
    free(p), free(q);
}

static void compare_ints(const char *what, int level, size_t n, size_t size, const fe_setup *a, const void *x,
                         const fe_setup *b, const void *y)
{
    char *p = copy(a, n, size, x), *q = copy(b, n, size, y);
    if (memcmp(p, q, n * size)) fail_msg("level %d: %s differ", level, what);
    free(p), free(q);
}

static void compare_matrices(const char *what, const fe_setup *a, const fe_sparse *A, const fe_setup *b,
                             const fe_sparse *B)
{
    assert_int_equal(A->n_row, B->n_row);
    assert_int_equal(A->n_block, B->n_block);
    compare_ints(what, a->level, (size_t)A->n_row + 1, sizeof *A->first, a, A->first, b, B->first);
    compare_ints(what, a->level, (size_t)A->n_block, sizeof *A->column, a, A->column, b, B->column);
    compare(what, a->level, (size_t)(A->n_block * A->rows * A->columns), a, A->value, b, B->value, 1e-11);
}

/* Aggregates of the device are connected groups of nodes that cover all that are free, about as many as the
 * host's, none smaller than asked where it has a neighbour; the same when made again. */
static void check_aggregates(fe_setup *device, const fe_setup *host, fe_cut cut)
{
    const int n = host->n, n_own = device->n_own;
    int *of = copy(device, (size_t)n, sizeof *of, device->of), *label = calloc((size_t)n, sizeof *label),
        *size = calloc((size_t)n_own, sizeof *size), *parts = calloc((size_t)n_own, sizeof *parts), more = 1;
    assert_in_range(n_own, 0.9 * host->n_own, 1.1 * host->n_own + 1);
    for (int i = 0; i < n; i++) {
        assert_int_equal(of[i] < 0, host->of[i] < 0);
        label[i] = i;
        if (of[i] >= 0) assert_in_range(of[i], 0, n_own - 1), size[of[i]]++;
    }
    while (more) { /* the least node that is reached within the aggregate */
        more = 0;
        for (int i = 0; i < n; i++)
            for (int l = host->A.first[i]; l < host->A.first[i + 1]; l++) {
                const int j = host->A.column[l];
                if (of[i] >= 0 && of[j] == of[i] && label[j] < label[i]) label[i] = label[j], more = 1;
            }
    }
    for (int i = 0; i < n; i++)
        if (of[i] >= 0) parts[of[i]] += label[i] == i;
    for (int a = 0; a < n_own; a++) {
        assert_int_equal(parts[a], 1);
        assert_in_range(size[a], cut.least, 3 * cut.most);
    }
    must(device->steps->aggregate(device, cut));
    assert_int_equal(device->n_own, n_own);
    int *again = copy(device, (size_t)n, sizeof *of, device->of);
    assert_memory_equal(of, again, (size_t)n * sizeof *of);
    free(of), free(label), free(size), free(parts), free(again);
}

static void aggregate_both(fe_setup *host, fe_setup *device, fe_cut cut)
{
    must(host->steps->aggregate(host, cut));
    must(device->steps->aggregate(device, cut));
    check_aggregates(device, host, cut);
    /* from here on both have the host's */
    must(device->d->ops->memory.upload(device->d, (size_t)host->n * sizeof *host->of, host->of, device->of));
    device->n_own = host->n_own;
}

static void compare_levels(fe_setup *host, fe_setup *device, fe_cut cut, fe_sparse next[2])
{
    const size_t n = (size_t)host->n, b = (size_t)host->block;
    compare_matrices("matrices", host, &host->A, device, &device->A);
    must(host->steps->invert_diagonal(host));
    must(device->steps->invert_diagonal(device));
    compare("inverse blocks", host->level, n * b * b, host, host->inverse, device, device->inverse, 1e-9);
    host->lambda = device->lambda = 2.5;
    aggregate_both(host, device, cut);
    must(host->steps->measure(host));
    must(device->steps->measure(device));
    const size_t n_own = (size_t)host->n_own;
    assert_int_equal(host->smallest, device->smallest);
    assert_int_equal(host->largest, device->largest);
    compare("centres", host->level, 3 * n_own, host, host->next_x, device, device->next_x, 1e-13);
    compare("sizes", host->level, n_own, host, host->next_size, device, device->next_size, 1e-12);
    compare_ints("absent modes", host->level, 6 * n_own, 1, host, host->next_absent, device,
                 device->next_absent);
    must(host->steps->coarsen(host, &next[0]));
    must(device->steps->coarsen(device, &next[1]));
    compare_matrices("prolongators", host, &host->P, device, &device->P);
    compare_matrices("restrictions", host, &host->R, device, &device->R);
    compare_matrices("Galerkin matrices", host, &next[0], device, &next[1]);
}

static void check_mesh(const fe_mesh *mesh, const char *group, fe_cut cut)
{
    static const char *const names[2] = {"host", "cuda"};
    static const fe_setup_steps *const steps[2] = {&fe_setup_host, &fe_setup_cuda};
    bench *t[2];
    fe_setup k[2];
    fe_sample sample[2] = {{0}};
    for (int s = 0; s < 2; s++) {
        const scene at = {.backend = names[s], .threads = 2};
        t[s] = bench_open_bare(mesh, &at, group);
        t[s]->m = (fe_multigrid){.problem = &t[s]->problem, .comm = t[s]->comm, .device = t[s]->device};
        k[s] = (fe_setup){.m = &t[s]->m, .steps = steps[s], .d = t[s]->device, .block = 3, .threads = 2};
        must(steps[s]->open(&k[s]));
        must(steps[s]->finest(&k[s], t[s]->n_fixed, t[s]->fixed, &sample[s]));
    }
    assert_true(sample[0].n == sample[1].n && sample[0].surface == sample[1].surface);
    assert_true(fabs(sample[0].stretch - sample[1].stretch) <= 1e-12 * sample[0].stretch);
    for (int level = 0; level < 3 && k[0].n > 20; level++) {
        fe_sparse next[2] = {{0}};
        compare_levels(&k[0], &k[1], level ? (fe_cut){10, 2, 0} : cut, next);
        for (int s = 0; s < 2; s++) {
            k[s].steps->descend(&k[s], &next[s]);
            k[s].level++;
        }
        k[0].threads = 1 + level;
    }
    float *dense[2];
    int singular[2] = {0, 0};
    const size_t n = 6 * (size_t)k[0].n;
    for (int s = 0; s < 2; s++) must(steps[s]->keep_dense(&k[s], &dense[s], &singular[s]));
    assert_int_equal(singular[0], singular[1]);
    float *inverse = copy(&k[1], n * n, sizeof *inverse, dense[1]), error = 0.0f, size = 0.0f;
    for (size_t i = 0; i < n * n; i++)
        error = fmaxf(error, fabsf(inverse[i] - dense[0][i])), size = fmaxf(size, fabsf(dense[0][i]));
    if (!(error <= 1e-6f * size)) fail_msg("dense inverses differ by %.2e of the largest", error / size);
    free(inverse);
    for (int s = 0; s < 2; s++) {
        steps[s]->close(&k[s]);
        bench_close(t[s]);
    }
}

static void steps_agree(void **state)
{
    static const fe_cut cut = {27, 4, 1}, small = {12, 4, 1};
    (void)state;
    if (!have_gpu()) {
        print_message("skipped: set-up of multigrid on cuda: no CUDA device found\n");
        skip();
    }
    fe_mesh mesh = cube(FE_HEX8, 14);
    check_mesh(&mesh, NULL, cut);
    check_mesh(&mesh, NULL, small);
    fe_mesh_close(&mesh);
    mesh = box(FE_TET4, 9, 7, 30, 1, 1, 5, 0.2);
    check_mesh(&mesh, NULL, cut);
    fe_mesh_close(&mesh);
    mesh = box(FE_HEX8, 40, 1, 1, 40, 1, 1, 0.0); /* a strip: many nodes on lines */
    check_mesh(&mesh, NULL, small);
    fe_mesh_close(&mesh);
    static const char *const files[] = {"meshgen/bracket/bracket_hex8_coarse.msh",
                                        "meshgen/bracket/bracket_tet4_coarse.msh"};
    for (int f = 0; f < 2; f++) {
        must(fe_mesh_read(files[f], 0, &mesh));
        check_mesh(&mesh, "mount_upper", f ? small : cut);
        fe_mesh_close(&mesh);
    }
}
#else
static void steps_agree(void **state)
{
    (void)state;
    print_message("skipped: set-up of multigrid on cuda: built without CUDA\n");
    skip();
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(steps_agree)};
    return cmocka_run_group_tests_name("multigrid set-up", tests, NULL, NULL) ? 1 : 0;
}
