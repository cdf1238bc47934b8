/* A strategy's problem on one rank; see rig.h. */
#include "tests/rig.h"
#include "common/backend/device.h"
#include "common/problem/apply.h"
#include "tests/common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t state_length(const rig *b)
{
    return (size_t)FE_N_STATE * fe_points(b->problem.kind) * b->problem.view.ld;
}

/* The committed state of the share's elements, NaN where it must not be read, and NaN tangents. */
static void upload_state(rig *b)
{
    const fe_view *v = &b->problem.view;
    const size_t n = state_length(b);
    const int n_point = fe_points(b->problem.kind);
    double *point = zeros(n, sizeof *point);
    uint8_t *flags = zeros((size_t)v->ld, 1);
    for (int e = 0; e < v->n_elem; e++) {
        const oracle_state *state = b->scene->committed + b->share.elem[e] * n_point;
        for (int q = 0; q < n_point; q++) flags[e] |= state[q].alpha > 0 ? FE_YIELDED : 0;
        for (int q = 0; q < n_point; q++) {
            const double *p = state[q].eps_p;
            const double stored[FE_N_STATE] = {p[0], p[1], p[3], p[4], p[5], state[q].alpha};
            for (int c = 0; c < FE_N_STATE; c++)
                point[fe_point_index(b->problem.kind, c, q, e)] = flags[e] ? stored[c] : NAN;
        }
    }
    must(b->device->ops->memory.upload(b->device, n * sizeof *point, point, v->committed.point));
    must(b->device->ops->memory.upload(b->device, (size_t)v->ld, flags, v->committed.flags));
    for (size_t i = 0; i < n; i++) point[i] = NAN;
    must(b->device->ops->memory.upload(b->device, n * sizeof *point, point, v->tangent));
    must(b->device->ops->wait(b->device));
    free(point), free(flags);
}

rig rig_open(const scene *s, const fe_assembly *assembly, const char *backend, int threads, int n_rank,
             int rank, int method)
{
    rig b = {.scene = s, .assembly = assembly};
    const fe_backend *ops;
    fe_material material[MATERIALS];
    const fe_materials materials = materials_of(s, material);
    must(fe_backend_find(backend, &ops));
    must(ops->open(0, threads, &b.device));
    must(fe_partition_mesh(&s->mesh, n_rank, method, &b.partition));
    must(fe_share_build(&s->mesh, &b.partition, NULL, rank, &b.share));
    must(fe_problem_open_materials(&s->mesh, &b.share, s->kind, &materials, b.device, &b.problem));
    upload_state(&b);
    must(fe_assembly_set_up(assembly, &b.problem, &b.work));
    must(fe_device_vector(b.device, 3 * b.share.n_local, "test", &b.in));
    must(fe_device_vector(b.device, 3 * b.share.n_local, "test", &b.out));
    b.landing = zeros(9 * (size_t)b.share.n_local, sizeof *b.landing);
    return b;
}

rig rig_whole(const scene *s, const fe_assembly *assembly, const char *backend, int threads)
{
    return rig_open(s, assembly, backend, threads, 1, 0, FE_PARTITION_CONTIGUOUS);
}

void rig_close(rig *b)
{
    free(b->landing);
    fe_share_close(&b->share);
    fe_partition_close(&b->partition);
    b->device->ops->close(b->device);
}

/* Copies n numbers of `landing` to a vector on the device, as the floats or doubles that it holds; and back.
 */
static void put(const rig *b, size_t n, double *vector)
{
    float *rounded = zeros(n, sizeof *rounded);
    for (size_t i = 0; i < n && b->in_floats; i++) rounded[i] = (float)b->landing[i];
    if (b->in_floats)
        must(b->device->ops->memory.upload(b->device, n * sizeof *rounded, rounded, vector));
    else
        must(b->device->ops->memory.upload(b->device, n * sizeof *vector, b->landing, vector));
    must(b->device->ops->wait(b->device));
    free(rounded);
}
static void fetch(const rig *b, size_t n, const double *vector)
{
    float *rounded = zeros(n, sizeof *rounded);
    if (b->in_floats)
        must(b->device->ops->memory.download(b->device, n * sizeof *rounded, vector, rounded));
    else
        must(b->device->ops->memory.download(b->device, n * sizeof *vector, vector, b->landing));
    for (size_t i = 0; i < n && b->in_floats; i++) b->landing[i] = rounded[i];
    free(rounded);
}

/* in = the mesh's vector x at the local nodes; ghosts NaN unless wanted. */
static void give(rig *b, const double *x, int with_ghosts)
{
    const int n_local = b->share.n_local;
    for (int i = 0; i < n_local; i++)
        for (int c = 0; c < 3; c++)
            b->landing[3 * (size_t)i + c] =
                i < b->share.n_owned || with_ghosts ? x[3 * (size_t)b->share.node[i] + c] : NAN;
    put(b, 3 * (size_t)n_local, b->in);
}

/* Zeroes the output, or fills it with NaN if the strategy stores every row. */
static void clear(rig *b, int stores)
{
    const size_t n = 9 * (size_t)b->share.n_local;
    must(b->device->ops->memory.zero(b->device, n * sizeof(double), b->out));
    if (!stores) return;
    for (size_t i = 0; i < n; i++) b->landing[i] = NAN;
    put(b, n, b->out);
}

/* Copies owned rows of the device's output to rows of the mesh's vector y. */
static void take(rig *b, int width, double *y)
{
    const size_t row = (size_t)width * sizeof *y;
    fetch(b, (size_t)b->share.n_owned * (size_t)width, b->out);
    for (int i = 0; i < b->share.n_owned; i++)
        memcpy(y + (size_t)width * b->share.node[i], b->landing + (size_t)width * i, row);
}

void rig_apply(rig *b, fe_forces forces, const double *x, double *y)
{
    const int last = b->assembly->traits & FE_INDEPENDENT ? FE_INTERIOR : FE_BORDER;
    const fe_problem in = fe_problem_in(&b->problem, b->assembly->precision);
    b->in_floats = b->assembly->precision == FE_SINGLE;
    clear(b, b->assembly->traits & FE_STORES);
    for (int turn = 0; turn < 2; turn++) {
        const fe_part part = turn == 0 ? (fe_part)!last : (fe_part)last;
        give(b, x, part == FE_BORDER);
        must(forces(&in, b->work, part, b->in, b->out));
        must(b->device->ops->wait(b->device));
    }
    take(b, 3, y);
}

void rig_material(rig *b, fe_linearization mode, const double *u)
{
    b->in_floats = 0;
    give(b, u, 1);
    must(b->assembly->material(&b->problem, b->work, mode, b->in));
    must(b->device->ops->wait(b->device));
}

void rig_diagonal(rig *b, double *d)
{
    const fe_problem in = fe_problem_in(&b->problem, b->assembly->precision);
    b->in_floats = b->assembly->precision == FE_SINGLE;
    clear(b, 0);
    must(b->assembly->diagonal(&in, b->work, b->out));
    take(b, 9, d);
}

snapshot snapshot_take(const rig *b)
{
    const fe_view *v = &b->problem.view;
    snapshot k = {.n = state_length(b), .ld = (size_t)v->ld};
    double **arrays[] = {&k.committed, &k.trial, &k.tangent};
    const double *sources[] = {v->committed.point, v->trial.point, v->tangent};
    for (int i = 0; i < 3; i++) {
        *arrays[i] = zeros(k.n, sizeof(double));
        must(b->device->ops->memory.download(b->device, k.n * sizeof(double), sources[i], *arrays[i]));
    }
    k.committed_flags = zeros(k.ld, 1), k.trial_flags = zeros(k.ld, 1);
    must(b->device->ops->memory.download(b->device, k.ld, v->committed.flags, k.committed_flags));
    must(b->device->ops->memory.download(b->device, k.ld, v->trial.flags, k.trial_flags));
    return k;
}

void snapshot_close(snapshot *k)
{
    free(k->committed), free(k->trial), free(k->tangent), free(k->committed_flags), free(k->trial_flags);
}

int snapshot_differs(const snapshot *a, const snapshot *b)
{
    const size_t bytes = a->n * sizeof(double);
    return (memcmp(a->committed, b->committed, bytes) ||
            memcmp(a->committed_flags, b->committed_flags, a->ld)) +
           2 * (memcmp(a->trial, b->trial, bytes) || memcmp(a->trial_flags, b->trial_flags, a->ld)) +
           4 * (memcmp(a->tangent, b->tangent, bytes) != 0);
}
