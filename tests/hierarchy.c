#include "tests/hierarchy.h"
#include "common/problem/apply.h"

#include <stdlib.h>
#include <string.h>

double random_number(uint64_t i) { return 0x1p-52 * (double)(fe_mix(fe_mix(i)) >> 11) - 1.0; }

static fe_status open_supports(bench *t, const fe_mesh *mesh, const scene *s, const char *group)
{
    int n = 0, *node = NULL, *at = NULL;
    uint8_t *held = NULL;
    FE_ALLOCATE(held, mesh->n_node, "test");
    FE_ALLOCATE(at, 3 * (size_t)mesh->n_node, "test");
    double least = INFINITY;
    for (int i = 0; i < mesh->n_node; i++) least = fmin(least, mesh->x[3 * (size_t)i]);
    if (group) {
        const fe_group *g = fe_mesh_group(mesh, group);
        if (!g) return fe_fail(FE_BAD_INPUT, "no group %s", group);
        FE_TRY(fe_group_nodes(mesh, g, &n, &node));
        for (int i = 0; i < n; i++) held[node[i]] = 1;
        free(node);
    } else {
        for (int i = 0; i < mesh->n_node; i++) held[i] = mesh->x[3 * (size_t)i] <= least;
    }
    for (int i = 0; i < t->share.n_owned && !s->loose; i++)
        for (int c = 0; c < 3; c++)
            if (held[t->share.node[i]]) at[t->n_fixed++] = 3 * i + c;
    const fe_status status =
        fe_device_upload(t->device, (size_t)t->n_fixed, sizeof *at, at, "test", (void **)&t->fixed);
    free(held), free(at);
    return status;
}

static fe_status open_vectors(bench *t, const fe_mesh *mesh)
{
    fe_device *d = t->device;
    double *host = NULL, low = INFINITY, high = -INFINITY;
    FE_TRY(fe_device_vector(d, t->share.n_local, "test", &t->b));
    FE_TRY(fe_device_vector(d, t->share.n_local, "test", &t->x));
    FE_TRY(fe_device_vector(d, t->share.n_local, "test", &t->y));
    FE_ALLOCATE(host, 3 * (size_t)t->share.n_local, "test");
    for (int i = 0; i < mesh->n_node; i++) {
        low = fmin(low, mesh->x[3 * (size_t)i]);
        high = fmax(high, mesh->x[3 * (size_t)i]);
    }
    for (int i = 0; i < t->share.n_owned; i++)
        host[3 * (size_t)i + 2] = mesh->x[3 * (size_t)t->share.node[i]] > 0.5 * (low + high);
    fe_status status = d->ops->memory.upload(d, 3 * (size_t)t->share.n_owned * sizeof *host, host, t->b);
    if (status == FE_OK) status = d->ops->vector.put(d, t->n_fixed, t->fixed, 0.0, NULL, t->b);
    free(host);
    return status;
}

fe_status bench_open_rank(const fe_mesh *mesh, const scene *s, const char *group, const fe_partition *p,
                          fe_comm *comm, fe_device *d, bench *t)
{
    const fe_variant *v = fe_variant_find(s->variant ? s->variant : "node_csr");
    *t = (bench){.device = d, .comm = comm};
    t->assembly = fe_variant_table(v, d->ops->on_gpu, FE_DOUBLE);
    FE_TRY(fe_share_build(mesh, p, NULL, comm->rank, &t->share));
    FE_TRY(comm->ops->attach(comm, d, FE_HALO_NODES, &t->share.halo));
    const fe_material steel = {.E = 210e3, .nu = s->nu > 0 ? s->nu : 0.3, .sigma_y = 250, .H = 2000};
    FE_TRY(fe_problem_open(mesh, &t->share, mesh->kind, &steel, d, &t->problem));
    FE_TRY(fe_assembly_set_up(t->assembly, &t->problem, &t->work));
    FE_TRY(open_supports(t, mesh, s, group));
    FE_TRY(open_vectors(t, mesh));
    t->n = 3 * (size_t)t->share.n_owned;
    return fe_krylov_open(d, comm, t->n, 3 * (size_t)t->share.n_local, 0, 0, 0, &t->krylov);
}

fe_status bench_precondition(bench *t)
{
    return fe_multigrid_open(&t->problem, t->assembly, t->work, t->comm, t->n_fixed, t->fixed, 1, &t->m);
}

bench *bench_open_bare(const fe_mesh *mesh, const scene *s, const char *group)
{
    bench *t = calloc(1, sizeof *t);
    const fe_backend *ops;
    fe_device *d;
    fe_team *team;
    fe_comm *comm;
    fe_partition p;
    assert_non_null(t);
    must(fe_backend_find(s->backend ? s->backend : "host", &ops));
    must(ops->open(0, s->threads ? s->threads : 1, &d));
    must(fe_team_open(1, &team));
    comm = fe_comm_team(team, 0);
    must(fe_partition_mesh(mesh, 1, FE_PARTITION_CONTIGUOUS, &p));
    must(bench_open_rank(mesh, s, group, &p, comm, d, t));
    t->team = team, t->partition = p;
    return t;
}

bench *bench_open(const fe_mesh *mesh, const scene *s, const char *group)
{
    bench *t = bench_open_bare(mesh, s, group);
    must(bench_precondition(t));
    return t;
}

void bench_close(bench *t)
{
    fe_share_close(&t->share);
    fe_partition_close(&t->partition);
    fe_comm_close(t->comm);
    fe_team_close(t->team);
    t->device->ops->close(t->device);
    free(t);
}

fe_status elastic_product(bench *t, double *x, double *y)
{
    fe_problem elastic = t->problem;
    elastic.view.elastic = 1;
    return fe_apply(&elastic, t->m.assembly, t->m.work, t->comm, t->m.assembly->jacvec, FE_N_PHASE, x, y);
}

fe_status apply_elastic(void *context, double *x, double *y)
{
    bench *t = context;
    FE_TRY(elastic_product(t, x, y));
    return t->device->ops->vector.put(t->device, t->n_fixed, t->fixed, 0.0, NULL, y);
}

fe_krylov_result solve(bench *t, double tolerance)
{
    const fe_operator A = {.apply = apply_elastic, .context = t},
                      M = {.apply = fe_multigrid_apply, .context = &t->m};
    fe_krylov_result result;
    must(fe_cg(&t->krylov, &A, &M, t->b, t->x, tolerance, 200, &result));
    return result;
}

double dot(bench *t, const double *x, const double *y)
{
    double *scalar, value;
    must(fe_device_allocate(t->device, 1, sizeof value, "test", (void **)&scalar));
    must(t->device->ops->vector.dot(t->device, t->n, x, y, scalar));
    must(fe_comm_sum(t->comm, t->device, 1, scalar));
    must(t->device->ops->memory.download(t->device, sizeof value, scalar, &value));
    t->device->ops->memory.release(t->device, scalar);
    return value;
}

void fill(bench *t, uint64_t seed, double *x)
{
    double *host = calloc(t->n, sizeof *host);
    assert_non_null(host);
    for (size_t i = 0; i < t->n; i++) host[i] = random_number(seed + i);
    must(t->device->ops->memory.upload(t->device, t->n * sizeof *host, host, x));
    must(t->device->ops->vector.put(t->device, t->n_fixed, t->fixed, 0.0, NULL, x));
    free(host);
}

fe_mesh box(int kind, int nx, int ny, int nz, double lx, double ly, double lz, double distort)
{
    fe_mesh mesh = {0};
    const fe_box b = {
        .kind = kind, .cells = {nx, ny, nz}, .length = {lx, ly, lz}, .distort = distort, .seed = 1};
    must(fe_mesh_box(&b, &mesh));
    return mesh;
}

fe_mesh cube(int kind, int cells) { return box(kind, cells, cells, cells, 1, 1, 1, 0.15); }
