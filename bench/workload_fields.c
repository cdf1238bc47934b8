/* Displacements of nodes and states of elements; see workload_fields.h. */
#include "bench/workload_fields.h"
#include "common/backend/device.h"
#include "common/problem/state.h"
#include "have/cuda.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void bench_random_vector(int64_t node, uint64_t seed, double out[3])
{
    uint64_t state = fe_mix(seed) ^ fe_mix((uint64_t)node + 1);
    for (int i = 0; i < 3; i++) {
        state = fe_mix(state);
        out[i] = 0x1p-52 * (double)(state >> 11) - 1.0;
    }
}

void bench_round(int precision, size_t n, double *x)
{
    if (precision == FE_SINGLE)
        for (size_t i = 0; i < n; i++) x[i] = (float)x[i];
}

static double yield_strain(void) /* engineering strain, in shear */
{
    const fe_material m = bench_material(FE_LINEAR);
    return m.sigma_y * 2.0 * (1.0 + m.nu) / m.E / sqrt(3.0);
}

/* Three waves of about the body's length; those of several phases differ. Their gradients are 2 pi over that
 * length at most. */
static void wave_at(const bench_deformation *deformation, const double *x, double phase, double out[3])
{
    static const double number[3][3] = {{0.8, 0.3, -0.5}, {-0.4, 0.7, 0.5}, {0.6, -0.5, 0.6}};
    for (int i = 0; i < 3; i++) {
        double turns = 0.0;
        for (int j = 0; j < 3; j++)
            turns += number[i][j] * (x[j] - deformation->low[j]) / deformation->length;
        out[i] = sin(2.0 * M_PI * turns + phase + i);
    }
}

void bench_direction(const bench_deformation *deformation, const fe_mesh *mesh, int node, double v[3])
{
    if (deformation->operand == BENCH_SMOOTH)
        wave_at(deformation, mesh->x + 3 * (size_t)node, 0.0, v);
    else
        bench_random_vector(mesh->node_tag[node], 3, v);
}

void bench_displacement(const bench_deformation *deformation, const fe_mesh *mesh, int step, int node,
                        double u[3])
{
    static const double direction[3] = {1.0, 0.5, 0.25};
    const bench_part *part = deformation->part;
    if (part) {
        for (size_t k = 3 * (size_t)node, i = 0; i < 3; i++)
            u[i] = part->displacement[k + i] + (step ? part->increment[k + i] : 0.0);
        return;
    }
    const double yield = yield_strain(), below = deformation->height - mesh->x[3 * (size_t)node + 2],
                 slab = !deformation->chosen && below > 0.0 ? below : 0.0,
                 size = deformation->operand == BENCH_SMOOTH ? deformation->length / (2.0 * M_PI)
                        : deformation->size                  ? deformation->size[node]
                                                             : deformation->cell;
    if (deformation->operand == BENCH_SMOOTH)
        wave_at(deformation, mesh->x + 3 * (size_t)node, 1.0 + step, u);
    else
        bench_random_vector(mesh->node_tag[node], 1 + (uint64_t)step, u);
    for (int i = 0; i < 3; i++) u[i] = yield * (0.1 * size * u[i] + (step ? 4.0 : 2.0) * direction[i] * slab);
}

/* Of a chosen element, by its tag. */
static void chosen_state(int64_t e, int q, double state[FE_N_STATE])
{
    const double amount = -3.0 * yield_strain();
    double normal[3], shear[3];
    bench_random_vector(e, 5 + (uint64_t)q, normal);
    bench_random_vector(e, 13 + (uint64_t)q, shear);
    state[0] = amount * 0.05 * normal[0], state[1] = amount * 0.05 * normal[1]; /* xx yy */
    state[2] = amount * 0.05 * shear[0];                                        /* xy */
    state[3] = amount * (0.25 + 0.05 * shear[1]);                               /* yz */
    state[4] = amount * (0.50 + 0.05 * shear[2]);                               /* xz */
    state[5] = -amount / sqrt(3.0);
}

void bench_committed_state(const bench_deformation *deformation, const fe_mesh *mesh, int elem, int q,
                           double state[FE_N_STATE])
{
    const bench_part *part = deformation->part;
    memset(state, 0, FE_N_STATE * sizeof *state);
    if (part && part->place[elem] >= 0)
        memcpy(state, part->point + FE_N_STATE * ((size_t)part->place[elem] * part->n_point + q),
               FE_N_STATE * sizeof *state);
    else if (!part && deformation->chosen[elem])
        chosen_state(mesh->elem_tag[elem], q, state);
}

/* Brings it into the workload, some groups of elements at a time. */
static fe_status upload_committed(bench_workload *c, const fe_mesh *mesh)
{
    enum { CHUNK = FE_GROUP < 1024 ? 1024 * FE_GROUP : FE_GROUP };
    const fe_view *m = &c->problem.view;
    const fe_backend *ops = c->device->ops;
    const int kind = c->box.kind, n_point = fe_points(kind);
    const size_t width = (size_t)FE_N_NUMBER * n_point;
    double *point = NULL;
    uint8_t *flags = NULL;
    fe_status status = FE_OK;
    FE_ALLOCATE(point, CHUNK * width, "plastic state");
    FE_ALLOCATE(flags, m->ld, "plastic state");
    for (int first = 0; first < m->ld && status == FE_OK; first += CHUNK) {
        const int n = m->ld - first < CHUNK ? m->ld - first : CHUNK;
        const int last = first + n < m->n_elem ? first + n : m->n_elem;
#pragma omp parallel for
        for (int e = first; e < last; e++)
            for (int q = 0; q < n_point; q++) {
                double state[FE_N_STATE];
                bench_committed_state(c->deformation, mesh, c->share.elem[e], q, state);
                for (int i = 0; i < FE_N_STATE; i++) point[fe_point_index(kind, i, q, e - first)] = state[i];
                flags[e] |= state[FE_N_STATE - 1] > 0.0 ? FE_YIELDED : 0;
            }
        status = ops->memory.upload(c->device, (size_t)n * width * sizeof *point, point,
                                    m->committed.point + (size_t)first * width);
        if (status == FE_OK) status = ops->wait(c->device);
    }
    if (status == FE_OK) status = ops->memory.upload(c->device, (size_t)m->ld, flags, m->committed.flags);
    if (status == FE_OK) status = ops->wait(c->device);
    free(point), free(flags);
    return status;
}

/* State at u, as every strategy has to compute it. */
static fe_status common_material(bench_workload *c)
{
#if FE_HAVE_CUDA
    if (c->device->ops->on_gpu)
        return fe_material_cuda(&c->problem, NULL, FE_LINEARIZATION_CONSISTENT, c->displacement);
#endif
    return fe_material_host(&c->problem, NULL, FE_LINEARIZATION_CONSISTENT, c->displacement);
}

/* Owners send the ghost values of fields. */
static fe_status refresh(bench_workload *c, double *x)
{
    return c->comm ? fe_comm_exchange(c->comm, FE_HALO_NODES, x) : FE_OK;
}

static fe_status upload_floats(const bench_workload *c, const double *field, float *x)
{
    const size_t n = 3 * (size_t)c->share.n_owned;
    float *rounded = NULL;
    FE_ALLOCATE(rounded, n, "fields");
    for (size_t i = 0; i < n; i++) rounded[i] = (float)field[i];
    fe_status status = c->device->ops->memory.upload(c->device, n * sizeof *rounded, rounded, x);
    if (status == FE_OK) status = c->device->ops->wait(c->device);
    free(rounded);
    return status;
}

fe_status bench_upload_fields(bench_workload *c, const fe_mesh *mesh)
{
    fe_device *d = c->device;
    const fe_share *s = &c->share;
    const size_t bytes = 3 * (size_t)s->n_local * sizeof(double);
    double *field = NULL;
    fe_status status = FE_OK;
    FE_ALLOCATE(field, 3 * (size_t)s->n_local, "fields");
    for (size_t i = 3 * (size_t)s->n_owned; i < 3 * (size_t)s->n_local; i++) field[i] = NAN;
    for (int pass = 0; pass < 3 && status == FE_OK; pass++) {
        double *x = pass < 2 ? c->displacement : c->direction;
#pragma omp parallel for
        for (int i = 0; i < s->n_owned; i++) {
            const int node = s->node[i];
            if (pass < 2)
                bench_displacement(c->deformation, mesh, pass, node, field + 3 * (size_t)i);
            else
                bench_direction(c->deformation, mesh, node, field + 3 * (size_t)i);
        }
        bench_round(c->box.precision, 3 * (size_t)s->n_owned, field);
        status = d->ops->memory.upload(d, bytes, field, x);
        if (status == FE_OK && c->floats.out)
            status = upload_floats(c, field, pass < 2 ? c->floats.displacement : c->floats.direction);
        if (status == FE_OK) status = refresh(c, x);
        if (status != FE_OK || pass == 2) continue;
        if (pass == 0 && bench_has_committed(c->deformation)) {
            status = upload_committed(c, mesh);
            continue;
        }
        status = common_material(c);
        if (status == FE_OK && pass == 0) fe_problem_accept(&c->problem);
    }
    free(field);
    return status;
}
