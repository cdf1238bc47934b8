/* The multigrid preconditioner on several ranks: levels that they share and levels that all have. Every
 * matrix is the product of its prolongator with the finer one, the cycle is symmetric and positive, and
 * iterations are about as many as on one rank. */
#include <stdlib.h>
#include <string.h>

#include "common/multigrid/rank_sums.h"
#include "tests/hierarchy.h"
#include "tests/staged.h"

typedef struct run {
    const fe_mesh *mesh;
    const char *device;  /* of the ranks: host or cuda */
    int staged, n_level; /* all ranks on the first device; levels that the ranks are to share */
    fe_partition partition;
    int iterations[8];
    double square[8]; /* |x|² */
} run;

/* --- products of a level ----------------------------------------------------------------------------- */

static fe_status refresh(bench *t, const fe_coarse_level *l, float *x)
{
    return l->halo ? fe_comm_exchange(t->comm, l->halo, (double *)x) : FE_OK;
}

/* Random numbers, the same on all ranks that have the level, and zero where an unknown does not exist: its
 * row of D^-1 is that of the identity, which no stiffness gives in these units. */
static fe_status random_level(bench *t, const fe_coarse_level *l, uint64_t seed, float *x)
{
    const size_t n = (size_t)l->n;
    float *host = NULL, *inverse = NULL;
    FE_ALLOCATE(host, 6 * n + 1, "test");
    FE_ALLOCATE(inverse, 36 * n + 1, "test");
    FE_TRY(t->device->ops->memory.download(t->device, 36 * n * sizeof *inverse, l->inverse, inverse));
    for (size_t i = 0; i < 6 * n; i++) {
        const uint64_t own = l->halo ? (uint64_t)t->comm->rank << 32 : 0;
        host[i] = inverse[6 * i + i % 6] == 1.0f ? 0.0f : (float)random_number(seed + own + i);
    }
    FE_TRY(t->device->ops->memory.upload(t->device, 6 * n * sizeof *host, host, x));
    free(host), free(inverse);
    return FE_OK;
}

/* l->b = R A P l->x from the next finer level: `at` is the level's. */
static fe_status by_the_finer_level(bench *t, int at)
{
    fe_device *d = t->device;
    const fe_block_ops *ops = fe_block_ops_of(d);
    fe_coarse_level *l = &t->m.coarse[at], *finer = l - 1;
    FE_TRY(refresh(t, l, l->x));
    if (at == 0) {
        FE_TRY(d->ops->memory.zero(d, t->n * sizeof *t->m.x, t->m.x));
        FE_TRY(ops->fine_prolong(d, &l->P, l->x, t->m.x, NULL));
        FE_TRY(d->ops->vector.widen(d, t->n, t->m.x, t->x));
        FE_TRY(apply_elastic(t, t->x, t->y));
        if (l->halo) FE_TRY(fe_comm_exchange(t->comm, FE_HALO_NODES, t->y));
        FE_TRY(d->ops->vector.narrow(d, 3 * (size_t)t->share.n_local, t->y, t->m.direction));
        FE_TRY(ops->fine_restrict(d, &l->R, t->m.direction, NULL, NULL, l->b));
    } else {
        FE_TRY(ops->product(d, &l->P, l->x, finer->x));
        FE_TRY(refresh(t, finer, finer->x));
        FE_TRY(ops->product(d, &finer->A, finer->x, finer->r));
        if (l->halo) FE_TRY(refresh(t, finer, finer->r));
        FE_TRY(ops->product(d, &l->R, finer->r, l->b));
    }
    if (!l->gathered) return FE_OK;
    FE_TRY(d->ops->vector.widen(d, 6 * (size_t)l->n, l->b, l->gathered));
    FE_TRY(fe_comm_sum(t->comm, d, 6 * l->n, l->gathered));
    return d->ops->vector.narrow(d, 6 * (size_t)l->n, l->gathered, l->b);
}

/* A x = R A P x in single precision. */
static fe_status check_level(bench *t, int at)
{
    fe_device *d = t->device;
    const fe_coarse_level *l = &t->m.coarse[at];
    const size_t n = 6 * (size_t)l->n;
    float *p = NULL, *q = NULL;
    double error = 0.0, size = 0.0;
    FE_ALLOCATE(p, n + 1, "test");
    FE_ALLOCATE(q, n + 1, "test");
    FE_TRY(random_level(t, l, 77, l->x));
    FE_TRY(by_the_finer_level(t, at));
    FE_TRY(refresh(t, l, l->x));
    FE_TRY(fe_block_ops_of(d)->product(d, &l->A, l->x, l->r));
    FE_TRY(d->ops->memory.download(d, n * sizeof *p, l->b, p));
    FE_TRY(d->ops->memory.download(d, n * sizeof *q, l->r, q));
    for (size_t i = 0; i < n; i++)
        error = fmax(error, fabs((double)p[i] - (double)q[i])), size = fmax(size, fabs((double)q[i]));
    free(p), free(q);
    return error <= 1e-4 * size
               ? FE_OK
               : fe_fail(FE_FAILED, "level %d of %d: A and R A P differ by %.2e of the largest", at + 1,
                         t->m.n_coarse, error / size);
}

/* --- the cycle --------------------------------------------------------------------------------------- */

static fe_status dot_ranks(bench *t, const double *x, const double *y, double *value)
{
    fe_device *d = t->device;
    double *scalar = NULL;
    FE_TRY(fe_device_allocate(d, 1, sizeof *scalar, "test", (void **)&scalar));
    FE_TRY(d->ops->vector.dot(d, t->n, x, y, scalar));
    FE_TRY(fe_comm_sum(t->comm, d, 1, scalar));
    return d->ops->memory.download(d, sizeof *value, scalar, value);
}

static fe_status fill_rank(bench *t, uint64_t seed, double *x)
{
    double *host = NULL;
    FE_ALLOCATE(host, t->n + 1, "test");
    for (size_t i = 0; i < t->n; i++)
        host[i] = random_number(seed + 3 * (uint64_t)t->share.node[i / 3] + i % 3);
    FE_TRY(t->device->ops->memory.upload(t->device, t->n * sizeof *host, host, x));
    free(host);
    return t->device->ops->vector.put(t->device, t->n_fixed, t->fixed, 0.0, NULL, x);
}

/* How far apart x and y are, relative to x. */
static fe_status distance(bench *t, double *x, double *y, double *apart)
{
    double square, whole;
    FE_TRY(t->device->ops->vector.axpy(t->device, t->n, -1.0, x, y));
    FE_TRY(dot_ranks(t, y, y, &square));
    FE_TRY(dot_ranks(t, x, x, &whole));
    *apart = sqrt(square / whole);
    return FE_OK;
}

typedef fe_status (*cycle)(void *multigrid, double *r, double *z);

/* Symmetric to the rounding of the cycle, and positive. */
static fe_status check_symmetry(bench *t, cycle apply, double rounding, double *r, double *q)
{
    double rr, qq, rq, qr;
    for (uint64_t seed = 0; seed < 3; seed++) {
        FE_TRY(fill_rank(t, 10000000 * seed, r));
        FE_TRY(fill_rank(t, 10000000 * seed + 5000000, q));
        FE_TRY(apply(&t->m, r, t->x));
        FE_TRY(apply(&t->m, q, t->y));
        FE_TRY(dot_ranks(t, t->x, r, &rr));
        FE_TRY(dot_ranks(t, t->y, q, &qq));
        FE_TRY(dot_ranks(t, t->x, q, &rq));
        FE_TRY(dot_ranks(t, t->y, r, &qr));
        if (!(rr > 0.0) || !(qq > 0.0) || !(fabs(rq - qr) <= rounding * sqrt(rr * qq)))
            return fe_fail(FE_FAILED, "a cycle that is not symmetric by %.2e, or not positive: %.2e %.2e",
                           fabs(rq - qr) / sqrt(rr * qq), rr, qq);
    }
    return FE_OK;
}

/* The cycle in single precision, and the one in double: they differ by rounding. */
static fe_status check_cycle(bench *t)
{
    double *r, *q, apart;
    FE_TRY(fe_device_vector(t->device, t->share.n_local, "test", &r));
    FE_TRY(fe_device_vector(t->device, t->share.n_local, "test", &q));
    FE_TRY(fe_multigrid_open_exact(&t->m));
    FE_TRY(check_symmetry(t, fe_multigrid_apply, 2e-6, r, q));
    FE_TRY(check_symmetry(t, fe_multigrid_apply_exact, 1e-11, r, q));
    FE_TRY(fe_multigrid_apply(&t->m, r, t->x));
    FE_TRY(fe_multigrid_apply_exact(&t->m, r, t->y));
    FE_TRY(distance(t, t->x, t->y, &apart));
    return apart <= 1e-4 ? FE_OK
                         : fe_fail(FE_FAILED, "the cycles in floats and in doubles are %.2e apart", apart);
}

/* --- a rank ------------------------------------------------------------------------------------------ */

static fe_status use(run *r, bench *t)
{
    fe_krylov_result result = {0};
    int shared = 0;
    FE_TRY(bench_precondition(t));
    const fe_operator A = {.apply = apply_elastic, .context = t},
                      M = {.apply = fe_multigrid_apply, .context = &t->m};
    for (int at = 0; at < t->m.n_coarse; at++) {
        shared += t->m.coarse[at].halo != 0;
        if (t->m.coarse[at].A.first) FE_TRY(check_level(t, at));
    }
    if (shared != (t->comm->size > 1 ? r->n_level : 0))
        return fe_fail(FE_FAILED, "the ranks share %d levels", shared);
    FE_TRY(check_cycle(t));
    FE_TRY(fe_cg(&t->krylov, &A, &M, t->b, t->x, 1e-8, 100, &result));
    FE_TRY(dot_ranks(t, t->x, t->x, &r->square[t->comm->rank]));
    r->iterations[t->comm->rank] = result.converged ? result.iterations : 1000;
    return FE_OK;
}

static fe_status run_rank(void *context, fe_comm *comm, fe_device *device)
{
    run *r = context;
    const scene s = {.backend = r->device};
    bench t = {0};
    fe_comm *staged = NULL;
    fe_device *own = device;
    const fe_backend *backend;
    if (r->staged) {
        FE_TRY(fe_backend_find(r->device, &backend));
        FE_TRY(backend->open(0, 1, &own));
        FE_TRY(staged_comm(comm, own, &staged));
    }
    FE_TRY(bench_open_rank(r->mesh, &s, NULL, &r->partition, staged ? staged : comm, own, &t));
    FE_TRY(use(r, &t));
    FE_TRY(t.comm->ops->barrier(t.comm));
    fe_share_close(&t.share);
    if (staged) {
        fe_comm_close(staged);
        own->ops->close(own);
    }
    return FE_OK;
}

static run run_ranks(const fe_mesh *mesh, const char *device, int staged, int transport, int n_rank,
                     int method, int whole, int n_level)
{
    run r = {.mesh = mesh, .device = device, .staged = staged, .n_level = n_level};
    fe_ranks launch = {.n_rank = n_rank, .threads = 1, .transport = transport};
    const int before = fe_multigrid_whole;
    must(fe_backend_find(staged ? "host" : device, &launch.backend));
    must(fe_partition_mesh(mesh, n_rank, method, &r.partition));
    fe_multigrid_whole = whole;
    const fe_status status = fe_ranks_run(&launch, run_rank, &r);
    fe_multigrid_whole = before;
    fe_partition_close(&r.partition);
    if (status != FE_OK)
        fail_msg("%s, %d ranks, levels up to %d aggregates whole: %s", device, n_rank, whole, fe_message());
    return r;
}

/* Level 1 has more than 80 aggregates on any number of ranks, level 2 less, but more than 7. */
static void compare_with_one(const fe_mesh *mesh, const char *device, int staged, int transport, int most)
{
    static const int methods[] = {FE_PARTITION_CONTIGUOUS, FE_PARTITION_BISECTION}, whole[] = {100000, 80, 7};
    const run alone = run_ranks(mesh, device, staged, 0, 1, FE_PARTITION_CONTIGUOUS, 0, 0);
    for (int n = 2; n <= most; n++)
        for (int k = 0; k < 3; k++) {
            const run r = run_ranks(mesh, device, staged, transport, n, methods[(n + k) % 2], whole[k], k);
            for (int i = 0; i < n; i++) {
                if (r.iterations[i] > 1.3 * alone.iterations[0])
                    fail_msg("%s, %d ranks, %d shared levels: %d iterations, %d on one", device, n, k,
                             r.iterations[i], alone.iterations[0]);
                assert_true(fabs(r.square[i] - alone.square[0]) <= 1e-6 * alone.square[0]);
            }
        }
}

/* Ranks that share no level, one, and two; the same with a device's memory in between. */
static void check_backend(const char *device, int staged, int transport, int most)
{
    for (int kind = FE_TET4; kind <= FE_HEX8; kind += FE_HEX8 - FE_TET4) {
        fe_mesh mesh = box(kind, 24, 10, 10, 2.4, 1, 1, 0.15);
        compare_with_one(&mesh, device, staged, transport, most);
        fe_mesh_close(&mesh);
    }
}

/* The last rank has too little memory and ends its set-up; the others find out where they would wait for it.
 * None of them goes on to send anything. */
static fe_status run_short(void *context, fe_comm *comm, fe_device *device)
{
    int *most = context, own[2] = {1 + comm->rank, 3};
    fe_multigrid m = {.comm = comm, .device = device};
    fe_setup k = {.m = &m, .d = device};
    FE_TRY(fe_setup_agree(&k, FE_OK, own));
    const int last = comm->rank == comm->size - 1;
    const fe_status first = fe_setup_agree(&k, last ? FE_OUT_OF_MEMORY : FE_OK, last ? NULL : own + 1),
                    then = fe_setup_agree(&k, first, NULL);
    most[comm->rank] = own[0];
    device->ops->memory.release(device, k.sums);
    return first == FE_OUT_OF_MEMORY && then == FE_OUT_OF_MEMORY ? FE_OK : fe_fail(FE_FAILED, "no agreement");
}

static void too_little_memory(void **state)
{
    (void)state;
    int most[3] = {0};
    fe_ranks launch = {.n_rank = 3, .threads = 1, .backend = &fe_backend_host};
    must(fe_ranks_run(&launch, run_short, most));
    for (int i = 0; i < 3; i++) assert_int_equal(most[i], 3);
}

static void host(void **state)
{
    (void)state;
    check_backend("host", 0, 0, 4);
}

static void host_staged(void **state)
{
    (void)state;
    check_backend("host", 1, 0, 2);
}

static void need_gpus(int n)
{
    if (fe_cuda_devices() >= n) return;
    print_message("skipped: multigrid of several ranks on cuda: %d CUDA devices are needed, %d were found\n",
                  n, fe_cuda_devices());
    skip();
}

static void cuda_staged(void **state)
{
    (void)state;
    need_gpus(1);
    check_backend("cuda", 1, 0, 3);
}

static void cuda(void **state)
{
    (void)state;
    need_gpus(2);
    for (int transport = FE_TRANSPORT_NCCL; transport < FE_N_TRANSPORT; transport++)
        check_backend("cuda", 0, transport, fe_cuda_devices() < 4 ? fe_cuda_devices() : 4);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(too_little_memory), cmocka_unit_test(host),
                                       cmocka_unit_test(host_staged), cmocka_unit_test(cuda_staged),
                                       cmocka_unit_test(cuda)};
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("multigrid of several ranks", tests, NULL, NULL) ? 1 : 0;
}
