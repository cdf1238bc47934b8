/* Nodes of a workload whose rows the oracle computes, too; see sample.h. */
#include "bench/sample.h"
#include "bench/layers.h"
#include "bench/workload_fields.h"
#include "common/backend/device.h"
#include "common/problem/state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_SAMPLE = 256 }; /* nodes whose rows are compared with the oracle */

static void materials_of(const bench_workload *c, oracle_material material[BENCH_MOST_LAYERS])
{
    for (int i = 0; i < c->layers->all.n; i++) {
        const fe_material m = c->layers->material[i];
        material[i] = (oracle_material){m.E, m.nu, m.sigma_y, m.H, m.sigma_inf, m.delta};
    }
}

/* Elements of the mesh, all of them held by the rank, become local numbers. */
static fe_status local_elements(const fe_mesh *mesh, const fe_share *s, int n, int *elem)
{
    int *local = NULL;
    FE_ALLOCATE(local, mesh->n_elem, "sampled elements");
#pragma omp parallel for
    for (int k = 0; k < s->n_elem; k++) local[s->elem[k]] = k;
    for (int k = 0; k < n; k++) elem[k] = local[elem[k]];
    free(local);
    return FE_OK;
}

/* Lists the elements at sampled nodes, which have the first numbers. */
static fe_status list_elements(bench_oracle *o, const fe_mesh *mesh, const int *number)
{
    const int n_corner = fe_corners(mesh->kind);
    uint8_t *touches = NULL;
    int n = 0;
    FE_ALLOCATE(touches, mesh->n_elem, "sampled elements");
#pragma omp parallel for reduction(+ : n)
    for (int e = 0; e < mesh->n_elem; e++) {
        const int *node = mesh->conn + (size_t)e * n_corner;
        for (int a = 0; a < n_corner; a++)
            touches[e] |= number[node[a]] >= 0 && number[node[a]] < o->n_sample;
        n += touches[e];
    }
    const fe_status status = fe_allocate((size_t)n, sizeof *o->elem, "sampled elements", (void **)&o->elem);
    for (int e = 0; e < mesh->n_elem && status == FE_OK; e++)
        if (touches[e]) o->elem[o->mesh.n_elem++] = e;
    free(touches);
    return status;
}

/* Numbers the sampled nodes, which are owned, first, then the other corners of the elements at them, in
 * number [n_node]. */
static fe_status sample_elements(bench_oracle *o, const bench_workload *c, const fe_mesh *mesh, int *number)
{
    const fe_share *s = &c->share;
    const int n_corner = fe_corners(mesh->kind);
    int n_node = 0;
    for (int i = 0; i < mesh->n_node; i++) number[i] = -1;
    for (int i = 0; i < N_SAMPLE && n_node < mesh->n_node; i++) {
        const int n_border = s->n_owned - s->n_node_interior;
        const int first = i % 2 && n_border ? s->n_node_interior : 0; /* half of them read ghosts */
        const uint64_t pick = fe_mix((uint64_t)i + 17) % (uint64_t)(s->n_owned - first);
        const int node = s->node[i == 0 ? 0 : i == 1 ? s->n_owned - 1 : first + (int)pick];
        if (number[node] < 0) number[node] = n_node++;
    }
    o->n_sample = n_node;
    FE_TRY(list_elements(o, mesh, number)); /* numbers of the mesh, later replaced by local numbers */
    FE_ALLOCATE(o->conn, (size_t)o->mesh.n_elem * n_corner, "sampled elements");
    for (int k = 0; k < o->mesh.n_elem; k++)
        for (int a = 0; a < n_corner; a++) {
            const int node = mesh->conn[(size_t)o->elem[k] * n_corner + a];
            if (number[node] < 0) number[node] = n_node++;
            o->conn[(size_t)k * n_corner + a] = number[node];
        }
    o->mesh.n_node = n_node;
    FE_ALLOCATE(o->material, o->mesh.n_elem, "sampled elements");
    for (int k = 0; k < o->mesh.n_elem; k++) o->material[k] = c->layers->of[o->elem[k]];
    o->mesh.material = o->material;
    return local_elements(mesh, s, o->mesh.n_elem, o->elem);
}

static fe_status sample_fields(bench_oracle *o, const bench_workload *c, const fe_mesh *mesh,
                               const int *number)
{
    const size_t n = (size_t)o->mesh.n_node;
    FE_ALLOCATE(o->node, n, "sampled nodes");
    FE_ALLOCATE(o->x, 3 * n, "sampled nodes");
    FE_ALLOCATE(o->u[0], 3 * n, "sampled nodes");
    FE_ALLOCATE(o->u[1], 3 * n, "sampled nodes");
    FE_ALLOCATE(o->v, 3 * n, "sampled nodes");
    for (int i = 0; i < mesh->n_node; i++) {
        const int k = number[i];
        if (k < 0) continue;
        o->node[k] = c->share.local[i];
        memcpy(o->x + 3 * (size_t)k, mesh->x + 3 * (size_t)i, 3 * sizeof *o->x);
        bench_direction(c->deformation, mesh, i, o->v + 3 * (size_t)k);
        bench_round(c->box.precision, 3, o->v + 3 * (size_t)k);
        for (int step = 0; step < 2; step++) {
            bench_displacement(c->deformation, mesh, step, i, o->u[step] + 3 * (size_t)k);
            bench_round(c->box.precision, 3, o->u[step] + 3 * (size_t)k);
        }
    }
    o->mesh.x = o->x, o->mesh.conn = o->conn;
    o->mesh.n_corner = fe_corners(c->box.kind), o->mesh.n_point = fe_points(c->box.kind);
    return FE_OK;
}

/* The committed state of the sampled elements in the oracle's form. */
static void sample_committed(bench_oracle *o, const bench_workload *c, const fe_mesh *mesh,
                             const oracle_material *steel)
{
    const int n_point = o->mesh.n_point;
    if (!bench_has_committed(c->deformation)) {
        memset(o->trial, 0, (size_t)o->mesh.n_elem * n_point * sizeof *o->trial);
        oracle_update(&o->mesh, steel, o->trial, o->u[0], o->committed, o->tangent);
        return;
    }
    for (int p = 0; p < o->mesh.n_elem * n_point; p++) {
        double s[FE_N_STATE];
        bench_committed_state(c->deformation, mesh, c->share.elem[o->elem[p / n_point]], p % n_point, s);
        o->committed[p] = (oracle_state){{s[0], s[1], -s[0] - s[1], s[2], s[3], s[4]}, s[5]};
    }
}

/* A part turns and moves by many times its strains, which are small differences of displacements: its
 * residual may also lose 8 rounding errors of the sum of |K| |u|. */
static fe_status sample_slack(bench_oracle *o, int precision)
{
    const double rounding = precision == FE_DOUBLE ? 0x1p-53 : 0x1p-24;
    const size_t n = 3 * (size_t)o->mesh.n_node;
    double *force = NULL;
    FE_ALLOCATE(o->slack, n, "oracle");
    FE_ALLOCATE(force, n, "oracle");
    oracle_jacvec(&o->mesh, o->elastic, o->u[1], force, o->slack);
    for (size_t i = 0; i < n; i++) o->slack[i] *= 8.0 * rounding;
    free(force);
    return FE_OK;
}

static fe_status sample_results(bench_oracle *o, const bench_workload *c, const fe_mesh *mesh)
{
    const int n_material = c->layers->all.n;
    oracle_material steel[BENCH_MOST_LAYERS];
    materials_of(c, steel);
    const size_t points = (size_t)o->mesh.n_elem * o->mesh.n_point;
    oracle_material elastic[BENCH_MOST_LAYERS];
    for (int i = 0; i < n_material; i++)
        elastic[i] = (oracle_material){.E = steel[i].E, .nu = steel[i].nu, .sigma_y = INFINITY};
    for (int op = 0; op < BENCH_N_OPERATION; op++) {
        const size_t n = (size_t)o->mesh.n_node * (op == BENCH_DIAGONAL ? 9 : 3);
        FE_ALLOCATE(o->result[op], n, "oracle");
        FE_ALLOCATE(o->scale[op], n, "oracle");
    }
    FE_ALLOCATE(o->committed, points, "oracle");
    FE_ALLOCATE(o->trial, points, "oracle");
    FE_ALLOCATE(o->tangent, points, "oracle");
    FE_ALLOCATE(o->elastic, points, "oracle");
    oracle_update(&o->mesh, elastic, o->committed, o->u[0], o->trial, o->elastic);
    sample_committed(o, c, mesh, steel);
    oracle_update(&o->mesh, steel, o->committed, o->u[1], o->trial, o->tangent);
    oracle_residual(&o->mesh, steel, o->committed, o->u[1], o->result[BENCH_RESIDUAL],
                    o->scale[BENCH_RESIDUAL]);
    if (c->deformation->part) FE_TRY(sample_slack(o, c->box.precision));
    oracle_jacvec(&o->mesh, o->elastic, o->v, o->result[BENCH_JACVEC_ELASTIC],
                  o->scale[BENCH_JACVEC_ELASTIC]);
    oracle_jacvec(&o->mesh, o->tangent, o->v, o->result[BENCH_JACVEC], o->scale[BENCH_JACVEC]);
    const size_t bytes = 3 * (size_t)o->mesh.n_node * sizeof(double); /* the same with 21 numbers */
    memcpy(o->result[BENCH_JACVEC_FULL], o->result[BENCH_JACVEC], bytes);
    memcpy(o->scale[BENCH_JACVEC_FULL], o->scale[BENCH_JACVEC], bytes);
    oracle_diagonal(&o->mesh, o->tangent, (double(*)[3][3])o->result[BENCH_DIAGONAL],
                    (double(*)[3][3])o->scale[BENCH_DIAGONAL]);
    /* K_ij of a node may cancel within an element; it is bounded by sqrt(K_ii K_jj). */
    for (int n = 0; n < o->mesh.n_node; n++) {
        double *scale = o->scale[BENCH_DIAGONAL] + 9 * (size_t)n;
        for (int k = 0; k < 9; k++)
            if (k % 4) scale[k] = sqrt(scale[4 * (k / 3)] * scale[4 * (k % 3)]);
    }
    return FE_OK;
}

/* Places of the sampled elements' history in trial.point, as fe_state lays it out. */
static fe_status sample_places(bench_oracle *o, const bench_workload *c)
{
    const int ld = c->problem.view.ld, width = FE_N_STATE * o->mesh.n_point;
    const size_t n = (size_t)o->mesh.n_elem * width;
    int *place = NULL;
    if ((int64_t)width * ld > INT32_MAX)
        return fe_fail(FE_BAD_INPUT, "%d elements are too many for one benchmark workload",
                       c->problem.view.n_elem);
    FE_ALLOCATE(place, n, "sampled points");
    for (int k = 0; k < o->mesh.n_elem; k++)
        for (int i = 0; i < width; i++)
            place[(size_t)k * width + i] =
                (int)fe_point_index(c->box.kind, i / o->mesh.n_point, i % o->mesh.n_point, o->elem[k]);
    o->width = width;
    fe_status status =
        fe_device_upload(c->device, n, sizeof *place, place, "sampled points", (void **)&o->place);
    free(place);
    if (status == FE_OK)
        status = fe_device_allocate(c->device, n, sizeof(double), "sampled points", (void **)&o->taken);
    if (status == FE_OK)
        status = fe_device_allocate(c->device, 1, sizeof(uint64_t), "fingerprint", (void **)&o->hash);
    return status;
}

fe_status bench_oracle_open(bench_workload *c, const fe_mesh *mesh)
{
    int *number = NULL;
    FE_ALLOCATE(c->oracle, 1, "oracle");
    FE_ALLOCATE(c->oracle->flags, c->share.n_elem, "flags");
    FE_ALLOCATE(number, mesh->n_node, "oracle");
    fe_status status = sample_elements(c->oracle, c, mesh, number);
    if (status == FE_OK) status = sample_fields(c->oracle, c, mesh, number);
    free(number);
    FE_TRY(status);
    FE_TRY(sample_results(c->oracle, c, mesh));
    return sample_places(c->oracle, c);
}

void bench_oracle_close(bench_oracle *o)
{
    if (!o) return;
    free(o->node), free(o->elem), free(o->material), free(o->x), free(o->conn), free(o->u[0]), free(o->u[1]),
        free(o->v);
    free(o->landing), free(o->slack), free(o->committed), free(o->trial), free(o->tangent), free(o->elastic),
        free(o->flags);
    for (int op = 0; op < BENCH_N_OPERATION; op++)
        free(o->result[op]), free(o->scale[op]), free(o->first[op]);
    free(o);
}

fe_status bench_count_flags(const bench_workload *c, const uint8_t *flags, int flag, int *count)
{
    uint8_t *host = c->oracle->flags;
    const int n = c->problem.view.n_elem;
    FE_TRY(c->device->ops->memory.download(c->device, (size_t)n, flags, host));
    *count = 0;
    for (int e = 0; e < n; e++) *count += (host[e] & flag) != 0;
    return FE_OK;
}
