/* Steps of the multigrid's set-up on GPUs against those of the host, on one rank and on several: the same
 * matrices, modes and products from the same aggregates, level by level; and aggregates that are what they
 * are to be. */
#include <stdlib.h>
#include <string.h>

#include "common/multigrid/block_exact.h"
#include "common/multigrid/ghost_rows.h"
#include "common/multigrid/shared_level.h"
#include "tests/comparison.h"
#include "tests/hierarchy.h"
#include "tests/staged.h"

/* What ranks compare. The first of both set-ups is the host's; the other one's steps are the host's, too,
 * where this build or machine has no GPU, and then it is the messages by way of a device that are tested. */
typedef struct comparison {
    const fe_mesh *mesh;
    const char *group;
    fe_cut cut;
    const char *device;
    const fe_setup_steps *steps;
    int staged;
    fe_partition partition;
    fe_team *team; /* of the host's set-up */
} comparison;

/* --- aggregates -------------------------------------------------------------------------------------- */

/* Each aggregate's size, and the number of its connected parts. */
static void measure(const fe_setup *host, const int *of, int *size, int *parts)
{
    const int n = host->n;
    int *label = calloc((size_t)n + 1, sizeof *label), more = 1;
    if (!label) abort();
    for (int i = 0; i < n; i++) {
        label[i] = i;
        if (of[i] >= 0) size[of[i]]++;
    }
    while (more) { /* the least node that is reached within the aggregate */
        more = 0;
        for (int i = 0; i < n; i++)
            for (int l = host->A.first[i]; l < host->A.first[i + 1]; l++) {
                const int j = host->A.column[l];
                if (j < n && of[i] >= 0 && of[j] == of[i] && label[j] < label[i])
                    label[i] = label[j], more = 1;
            }
    }
    for (int i = 0; i < n; i++)
        if (of[i] >= 0) parts[of[i]] += label[i] == i;
    free(label);
}

static fe_status check_members(const fe_setup *host, const int *of, int n_own, fe_cut cut)
{
    fe_status status = FE_OK;
    int *size = calloc((size_t)n_own + 1, sizeof *size), *parts = calloc((size_t)n_own + 1, sizeof *parts);
    if (!size || !parts) abort();
    for (int i = 0; i < host->n; i++)
        if ((of[i] < 0) != (host->of[i] < 0) || of[i] >= n_own)
            status = fe_fail(FE_FAILED, "level %d: node %d is in aggregate %d", host->level, i, of[i]);
    if (status == FE_OK) measure(host, of, size, parts);
    for (int a = 0; a < n_own && status == FE_OK; a++)
        if (parts[a] != 1 || size[a] < cut.least || size[a] > 3 * cut.most)
            status = fe_fail(FE_FAILED, "level %d: aggregate %d has %d nodes in %d parts", host->level, a,
                             size[a], parts[a]);
    free(size), free(parts);
    return status;
}

/* Aggregates of the device are connected groups of nodes that cover all that are free, about as many as the
 * host's, none smaller than asked where it has a neighbour; the same when made again. */
static fe_status check_aggregates(fe_setup *device, const fe_setup *host, fe_cut cut)
{
    const size_t n = (size_t)host->n;
    const int n_own = device->n_own;
    int *of = copy_out(device, n, sizeof *of, device->of);
    fe_status status = check_members(host, of, n_own, cut);
    if (status == FE_OK && abs(n_own - host->n_own) > 0.1 * host->n_own + 1)
        status = compare_counts("aggregates", host->level, host->n_own, n_own);
    if (status == FE_OK && device->steps != &fe_setup_host) {
        status = device->steps->aggregate(device, cut);
        if (status == FE_OK) status = compare_counts("aggregates", host->level, n_own, device->n_own);
        int *again = copy_out(device, n, sizeof *of, device->of);
        if (status == FE_OK && memcmp(of, again, n * sizeof *of))
            status = fe_fail(FE_FAILED, "level %d: other aggregates when made again", host->level);
        free(again);
    }
    free(of);
    return status;
}

static fe_status aggregate_both(fe_setup *host, fe_setup *device, fe_cut cut)
{
    FE_TRY(host->steps->aggregate(host, cut));
    FE_TRY(device->steps->aggregate(device, cut));
    FE_TRY(check_aggregates(device, host, cut));
    /* from here on both have the host's */
    if (device->steps != &fe_setup_host)
        FE_TRY(device->d->ops->memory.upload(device->d, (size_t)host->n * sizeof *host->of, host->of,
                                             device->of));
    device->n_own = host->n_own;
    FE_TRY(fe_number_aggregates(host));
    return fe_number_aggregates(device);
}

/* --- levels ------------------------------------------------------------------------------------------ */

static fe_status multiply(const fe_sparse *A, const fe_sparse *B, fe_sparse *C)
{
    FE_TRY(fe_sparse_count(A, B, 2, A->n_row, C));
    FE_TRY(fe_sparse_open(C));
    return fe_sparse_fill(A, B, 2, C);
}

/* A set-up's next matrix beside R A P of one rank, of its A in host memory, which is released, and its P and
 * R, without its being known that it is symmetric; except where modes are absent. */
static fe_status compare_with_whole_product(const fe_setup *k, fe_sparse A, const fe_sparse *next,
                                            const uint8_t *absent)
{
    double error = 0.0, size = 0.0;
    fe_sparse P = host_copy(k, &k->P), R = host_copy(k, &k->R), own = host_copy(k, next), AP = {0},
              whole = {0};
    FE_TRY(multiply(&A, &P, &AP));
    FE_TRY(multiply(&R, &AP, &whole));
    FE_TRY(compare_counts("blocks", k->level, whole.n_block, own.n_block));
    for (int i = 0; i < whole.n_row; i++)
        for (int l = whole.first[i]; l < whole.first[i + 1]; l++)
            for (int c = 0; c < 36; c++) {
                const double a = fe_sparse_block(&whole, l)[c], b = fe_sparse_block(&own, l)[c];
                size = fmax(size, fabs(a));
                if (whole.column[l] != own.column[l]) error = INFINITY;
                if (whole.column[l] != i || !absent[6 * (size_t)i + (size_t)(c % 6)])
                    error = larger(error, fabs(a - b));
            }
    fe_sparse_close(&A), fe_sparse_close(&P), fe_sparse_close(&R), fe_sparse_close(&own);
    fe_sparse_close(&AP), fe_sparse_close(&whole);
    return error <= 1e-12 * size && size > 0.0
               ? FE_OK
               : fe_fail(FE_FAILED, "level %d: half of a product and the whole differ by %.2e", k->level,
                         error / size);
}

/* Blocks of R are the transposes of those of P to the last bit, also as they are kept; on one rank all are.
 */
static fe_status check_transfers(fe_setup *k)
{
    fe_block_matrix P, R;
    if (k->shared) return FE_OK;
    FE_TRY(k->steps->keep_transfers(k, &P, &R));
    const size_t stride = (size_t)FE_BLOCK_STRIDE(P.rows * P.columns), n = (size_t)k->P.n_block;
    int *first[2] = {download(k->d, (size_t)P.n_row + 1, sizeof(int), P.first),
                     download(k->d, (size_t)R.n_row + 1, sizeof(int), R.first)};
    int *column[2] = {download(k->d, n, sizeof(int), P.column), download(k->d, n, sizeof(int), R.column)};
    int16_t *value[2] = {download(k->d, n, stride * sizeof(int16_t), P.value),
                         download(k->d, n, stride * sizeof(int16_t), R.value)};
    int wrong = R.rows != P.columns || R.columns != P.rows || first[1][R.n_row] != (int)n;
    for (int i = 0; i < R.n_row && !wrong; i++)
        for (int l = first[1][i]; l < first[1][i + 1] && !wrong; l++) {
            const int row = column[1][l], begin = first[0][row];
            const int place = fe_find_column(column[0] + begin, first[0][row + 1] - begin, i);
            if (place < 0) {
                wrong = 1;
                continue;
            }
            const int16_t *const p = value[0] + stride * (size_t)(begin + place), *const r =
                                                                                      value[1] +
                                                                                      stride * (size_t)l;
            wrong = memcmp(p + P.rows * P.columns, r + P.rows * P.columns, sizeof(float)) != 0; /* scales */
            for (int c = 0; c < P.rows * P.columns; c++)
                wrong |= p[c] != r[c % P.columns * P.rows + c / P.columns];
        }
    for (int s = 0; s < 2; s++) free(first[s]), free(column[s]), free(value[s]);
    const void *const memory[] = {P.first, P.column, P.value, R.first, R.column, R.value};
    for (int i = 0; i < 6; i++) k->d->ops->memory.release(k->d, (void *)memory[i]);
    return wrong ? fe_fail(FE_FAILED, "level %d: R is not P's transpose as they are kept", k->level) : FE_OK;
}

static fe_status compare_levels(fe_setup *host, fe_setup *device, fe_cut cut, fe_sparse next[2])
{
    const size_t n = (size_t)host->n, b = (size_t)host->block;
    const int level = host->level;
    FE_TRY(compare_counts("shared", level, host->shared, device->shared));
    FE_TRY(compare_matrices("matrices", host, &host->A, device, &device->A));
    FE_TRY(host->steps->invert_diagonal(host));
    FE_TRY(device->steps->invert_diagonal(device));
    FE_TRY(compare_numbers("inverse blocks", level, n * b * b, host, host->inverse, device, device->inverse,
                           1e-9));
    host->lambda = device->lambda = 2.5;
    FE_TRY(aggregate_both(host, device, cut));
    FE_TRY(host->steps->measure(host));
    FE_TRY(device->steps->measure(device));
    if (level == 0) {
        FE_TRY(compare_counts("nodes at least", level, host->smallest, device->smallest));
        FE_TRY(compare_counts("nodes at most", level, host->largest, device->largest));
    }
    fe_sparse A[2] = {{0}};
    if (!host->shared) A[0] = host_copy(host, &host->A), A[1] = host_copy(device, &device->A);
    FE_TRY(host->steps->coarsen(host, &next[0]));
    FE_TRY(device->steps->coarsen(device, &next[1]));
    if (!host->shared) {
        FE_TRY(compare_with_whole_product(host, A[0], &next[0], host->next_absent));
        FE_TRY(compare_with_whole_product(device, A[1], &next[1], host->next_absent));
    }
    const size_t n_next = (size_t)host->n_next;
    FE_TRY(compare_counts("aggregates", level, host->n_next, device->n_next));
    FE_TRY(compare_numbers("centres", level, 3 * n_next, host, host->next_x, device, device->next_x, 1e-13));
    FE_TRY(compare_numbers("sizes", level, n_next, host, host->next_size, device, device->next_size, 1e-12));
    FE_TRY(compare_ints("absent modes", level, 6 * n_next, 1, host, host->next_absent, device,
                        device->next_absent));
    FE_TRY(compare_matrices("prolongators", host, &host->P, device, &device->P));
    FE_TRY(compare_matrices("restrictions", host, &host->R, device, &device->R));
    FE_TRY(check_transfers(host));
    FE_TRY(check_transfers(device));
    return compare_matrices("Galerkin matrices", host, &next[0], device, &next[1]);
}

/* Entry by entry, in whichever precision they are kept, and the condition numbers, which choose it. */
static fe_status compare_inverses(fe_setup k[2])
{
    fe_dense dense[2];
    char *host[2];
    double error = 0.0, size = 0.0, condition[2];
    int singular[2] = {0, 0};
    const size_t n = 6 * (size_t)k[0].n;
    for (int s = 0; s < 2; s++) {
        FE_TRY(k[s].steps->keep_dense(&k[s], &dense[s], &condition[s], &singular[s]));
        FE_ALLOCATE(host[s], n * n * sizeof(double), "test");
        const void *kept = dense[s].exact ? (const void *)dense[s].exact : dense[s].single;
        const size_t bytes = n * n * (dense[s].exact ? sizeof(double) : sizeof(float));
        FE_TRY(k[s].d->ops->memory.download(k[s].d, bytes, kept, host[s]));
        *(dense[s].exact ? (void **)&dense[s].exact : (void **)&dense[s].single) = host[s];
    }
    FE_TRY(compare_counts("singular", k[0].level, singular[0], singular[1]));
    for (int i = 0; i < (int)n; i++)
        for (int j = 0; j < (int)n; j++) {
            const double one = fe_dense_entry(&dense[0], i, j), other = fe_dense_entry(&dense[1], i, j);
            error = larger(error, fabs(one - other)), size = larger(size, fabs(one));
        }
    free(host[0]), free(host[1]);
    if (!(fabs(condition[1] - condition[0]) <= 1e-3 * condition[0]))
        return fe_fail(FE_FAILED, "condition numbers %.6e and %.6e", condition[0], condition[1]);
    return error <= 1e-6 * size
               ? FE_OK
               : fe_fail(FE_FAILED, "dense inverses differ by %.2e of the largest", error / size);
}

/* A halo of a level has the owners' nodes on both sides. */
static fe_status descend(fe_setup k[2], fe_sparse next[2])
{
    for (int s = 0; s < 2; s++) {
        fe_ghosts_close(&k[s]);
        k[s].steps->descend(&k[s], &next[s]);
        k[s].level++;
        FE_TRY(fe_ghosts_open(&k[s]));
    }
    k[0].threads = 1 + k[0].level % 3;
    return compare_counts("nodes of all ranks", k[0].level, k[0].n_all, k[1].n_all);
}

static fe_status compare_set_ups(const comparison *c, bench t[2], fe_setup k[2])
{
    const fe_setup_steps *const steps[2] = {&fe_setup_host, c->steps};
    fe_sample sample[2] = {{0}};
    for (int s = 0; s < 2; s++) {
        t[s].m = (fe_multigrid){.problem = &t[s].problem, .comm = t[s].comm, .device = t[s].device};
        k[s] = (fe_setup){.m = &t[s].m,
                          .steps = steps[s],
                          .d = t[s].device,
                          .block = 3,
                          .shared = t[s].comm->size > 1,
                          .threads = 2};
        FE_TRY(steps[s]->open(&k[s]));
        FE_TRY(steps[s]->finest(&k[s], t[s].n_fixed, t[s].fixed, &sample[s]));
        FE_TRY(fe_ghosts_open(&k[s]));
    }
    if (sample[0].n != sample[1].n || sample[0].surface != sample[1].surface ||
        fabs(sample[0].stretch - sample[1].stretch) > 1e-12 * sample[0].stretch)
        return fe_fail(FE_FAILED, "samples differ");
    for (int level = 0; level < 3 && k[0].n_all > 20; level++) {
        fe_sparse next[2] = {{0}};
        FE_TRY(compare_levels(&k[0], &k[1], level ? (fe_cut){10, 2, 0} : c->cut, next));
        FE_TRY(descend(k, next));
    }
    return k[0].shared ? FE_OK : compare_inverses(k);
}

/* --- ranks ------------------------------------------------------------------------------------------- */

static fe_status compare_rank(void *context, fe_comm *comm, fe_device *device)
{
    const comparison *c = context;
    const scene s[2] = {{.backend = "host"}, {.backend = c->device}};
    const fe_backend *backend;
    bench *t = calloc(2, sizeof *t);
    fe_setup *k = calloc(2, sizeof *k);
    fe_comm *host_comm = NULL, *other = comm, *staged = NULL;
    fe_device *host = NULL, *own = device;
    if (!t || !k) abort();
    host_comm = fe_comm_team(c->team, comm->rank);
    FE_TRY(fe_backend_host.open(0, 2, &host));
    if (c->staged) {
        FE_TRY(fe_backend_find(c->device, &backend));
        FE_TRY(backend->open(0, 2, &own));
        FE_TRY(staged_comm(comm, own, &staged));
        other = staged;
    }
    FE_TRY(bench_open_rank(c->mesh, &s[0], c->group, &c->partition, host_comm, host, &t[0]));
    FE_TRY(bench_open_rank(c->mesh, &s[1], c->group, &c->partition, other, own, &t[1]));
    const fe_status status = compare_set_ups(c, t, k);
    if (status != FE_OK) { /* others may wait on either */
        host_comm->ops->abort(host_comm, status, fe_message());
        return status;
    }
    FE_TRY(host_comm->ops->barrier(host_comm));
    FE_TRY(other->ops->barrier(other));
    for (int i = 0; i < 2; i++) {
        fe_ghosts_close(&k[i]);
        k[i].steps->close(&k[i]);
        fe_share_close(&t[i].share);
    }
    fe_comm_close(staged);
    fe_comm_close(host_comm);
    fe_backend_host.close(host);
    if (c->staged) own->ops->close(own);
    free(t), free(k);
    return FE_OK;
}

/* Where the second set-up's vectors are, and its steps; on a GPU with little memory steps are the host's. */
enum { ON_HOST, ON_GPU, ON_GPU_BY_HOST };

typedef struct setting {
    int where, n_rank, staged, transport; /* staged: ranks send by way of the host's memory */
} setting;

/* whole: coarser levels up to so many aggregates are whole on every rank */
static void check_mesh(const fe_mesh *mesh, const char *group, fe_cut cut, setting s, int whole)
{
    comparison c = {.mesh = mesh, .group = group, .cut = cut, .staged = s.staged};
    fe_ranks launch = {.n_rank = s.n_rank, .threads = 2, .transport = s.transport};
    const int before = fe_multigrid_whole;
    c.device = s.where == ON_HOST ? "host" : "cuda", c.steps = &fe_setup_host;
#if FE_HAVE_CUDA
    if (s.where == ON_GPU) c.steps = &fe_setup_cuda;
#endif
    must(fe_backend_find(s.staged ? "host" : c.device, &launch.backend));
    must(fe_partition_mesh(mesh, s.n_rank, FE_PARTITION_BISECTION, &c.partition));
    must(fe_team_open(s.n_rank, &c.team));
    fe_multigrid_whole = whole;
    const fe_status status = fe_ranks_run(&launch, compare_rank, &c);
    fe_multigrid_whole = before;
    fe_partition_close(&c.partition);
    if (status != FE_OK) fail_msg("%d ranks, whole up to %d aggregates: %s", s.n_rank, whole, fe_message());
    fe_team_close(c.team);
}

static void check_all(setting s)
{
    static const fe_cut cut = {27, 4, 1}, small = {12, 4, 1};
    const int whole[] = {100000, 100, 5}, n_whole = s.n_rank > 1 ? 3 : 1;
    fe_mesh mesh = cube(FE_HEX8, 14);
    for (int w = 0; w < n_whole; w++) {
        check_mesh(&mesh, NULL, cut, s, whole[w]);
        check_mesh(&mesh, NULL, small, s, whole[w]);
    }
    fe_mesh_close(&mesh);
    mesh = box(FE_TET4, 9, 7, 30, 1, 1, 5, 0.2);
    for (int w = 0; w < n_whole; w++) check_mesh(&mesh, NULL, cut, s, whole[w]);
    fe_mesh_close(&mesh);
}

static void need_gpus(int n)
{
    if (fe_cuda_devices() >= n) return;
    print_message("skipped: set-up of multigrid on cuda: %d CUDA devices are needed, %d were found\n", n,
                  fe_cuda_devices());
    skip();
}

static void steps_agree(void **state)
{
    static const fe_cut cut = {27, 4, 1}, small = {12, 4, 1}, tiny = {5, 1, 0};
    static const setting one_gpu = {ON_GPU, .n_rank = 1};
    (void)state;
    need_gpus(1);
    check_all(one_gpu);
    fe_mesh mesh = box(FE_HEX8, 40, 1, 1, 40, 1, 1, 0.0); /* a strip: many nodes on lines */
    check_mesh(&mesh, NULL, small, one_gpu, 0);
    fe_mesh_close(&mesh);
    mesh = cube(FE_HEX8, 12); /* rows of the next matrix of up to 185 blocks */
    check_mesh(&mesh, NULL, tiny, one_gpu, 0);
    fe_mesh_close(&mesh);
    static const char *const files[] = {"meshgen/bracket/bracket_hex8_coarse.msh",
                                        "meshgen/bracket/bracket_tet4_coarse.msh"};
    for (int f = 0; f < 2; f++) {
        must(fe_mesh_read(files[f], 0, &mesh));
        check_mesh(&mesh, "mount_upper", f ? small : cut, one_gpu, 0);
        fe_mesh_close(&mesh);
    }
}

/* Several ranks on one GPU, and on one each. */
static void steps_of_ranks_agree_on_one_gpu(void **state)
{
    (void)state;
    need_gpus(1);
    for (int n = 2; n <= 3; n++) check_all((setting){ON_GPU, n, .staged = 1});
    check_all((setting){ON_GPU_BY_HOST, 2, .staged = 1});
}

static void steps_of_ranks_agree(void **state)
{
    (void)state;
    need_gpus(2);
    for (int n = 2; n <= 4 && n <= fe_cuda_devices(); n++)
        for (int transport = FE_TRANSPORT_NCCL; transport < FE_N_TRANSPORT; transport++)
            check_all((setting){ON_GPU, n, .transport = transport});
}

/* The same comparison of the host with itself: the test's own messages and memory. */
static void host_agrees(void **state)
{
    (void)state;
    check_all((setting){ON_HOST, 2, .staged = 1});
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(host_agrees), cmocka_unit_test(steps_agree),
                                       cmocka_unit_test(steps_of_ranks_agree_on_one_gpu),
                                       cmocka_unit_test(steps_of_ranks_agree)};
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("multigrid set-up", tests, NULL, NULL) ? 1 : 0;
}
