/* Opens a benchmark workload and runs operations on it; see workload.h. */
#include "bench/workload.h"
#include "bench/contact.h"
#include "bench/layers.h"
#include "bench/sample.h"
#include "bench/workload_fields.h"
#include "common/backend/device.h"
#include "common/problem/apply.h"

#include <stdlib.h>

const char *const bench_operation_names[BENCH_N_OPERATION] = {"residual", "material",    "jacvec_elastic",
                                                              "jacvec",   "jacvec_full", "diagonal"};

static fe_status open_single(bench_workload *c)
{
    const size_t n = 3 * (size_t)c->share.n_local + 16;
    FE_TRY(fe_device_allocate(c->device, n, sizeof(float), "displacement", (void **)&c->floats.displacement));
    FE_TRY(fe_device_allocate(c->device, n, sizeof(float), "direction", (void **)&c->floats.direction));
    return fe_device_allocate(c->device, 3 * n, sizeof(float), "output", (void **)&c->floats.out);
}

static fe_status open_problem(bench_workload *c, const fe_mesh *mesh)
{
    const int n_local = c->share.n_local;
    const size_t before = c->device->bytes_resident;
    FE_TRY(fe_problem_open_materials(mesh, &c->share, c->box.kind, &c->layers->all, c->device, &c->problem));
    FE_TRY(fe_problem_open_floats(&c->problem, c->box.precision));
    c->bytes = c->device->bytes_resident - before;
    if (c->box.full)
        FE_TRY(fe_device_allocate(c->device,
                                  FE_N_FULL * (size_t)fe_points(c->box.kind) * (size_t)c->problem.view.ld,
                                  sizeof *c->full, "full tangents", (void **)&c->full));
    FE_TRY(fe_device_vector(c->device, n_local, "displacement", &c->displacement));
    FE_TRY(fe_device_vector(c->device, n_local, "direction", &c->direction));
    FE_TRY(
        fe_device_allocate(c->device, 9 * (size_t)n_local + 8, sizeof(double), "output", (void **)&c->out));
    if (c->box.precision == FE_SINGLE) FE_TRY(open_single(c));
    return bench_upload_fields(c, mesh);
}

/* The rank's share of the mesh, in the order asked for. */
static fe_status open_share(bench_workload *c, const fe_mesh *mesh, const fe_partition *p, int rank)
{
    fe_arrangement a = {0};
    const int choose = c->box.order == FE_ORDER_AUTO;
    const double start = fe_seconds();
    if (choose) FE_TRY(fe_mesh_arrange_for(mesh, c->box.pieces, &a));
    c->numbering = choose ? a.name : fe_order_names[c->box.order];
    if (!c->box.mesh && c->numbering == fe_order_names[FE_ORDER_AS_IS]) /* of a box */
        c->numbering = fe_order_names[FE_ORDER_LEXICOGRAPHIC];
    c->arrange_seconds = fe_seconds() - start;
    const fe_status status = fe_share_build(mesh, p, choose ? &a : NULL, rank, &c->share);
    fe_arrangement_close(&a);
    return status;
}

static fe_status open_on_device(bench_workload *c, const fe_mesh *mesh, const fe_partition *p)
{
    FE_TRY(open_share(c, mesh, p, c->comm ? c->comm->rank : 0));
    if (c->comm) FE_TRY(c->comm->ops->attach(c->comm, c->device, FE_HALO_NODES, &c->share.halo));
    FE_TRY(bench_deformation_open(c, mesh));
    FE_TRY(open_problem(c, mesh));
    FE_TRY(bench_contact_open(c));
    FE_TRY(bench_oracle_open(c, mesh));
    FE_TRY(bench_count_flags(c, c->problem.view.committed.flags, FE_YIELDED, &c->n_yielded));
    return bench_count_flags(c, c->problem.view.trial.flags, FE_SOFTENED, &c->n_softened);
}

static fe_status open_case(bench_workload *c)
{
    fe_mesh piece = {0};
    fe_partition p = {0};
    for (int i = 0; i < 3; i++)
        if (c->box.grid[i] == 0) c->box.grid[i] = 1;
    const fe_mesh *mesh = c->box.mesh ? c->box.mesh : &piece;
    fe_status status = c->box.partition ? FE_OK
                       : c->box.mesh    ? fe_partition_mesh(mesh, 1, FE_PARTITION_CONTIGUOUS, &p)
                                        : bench_box_piece(&c->box, c->comm ? c->comm->rank : 0, &piece, &p);
    bench_layers layers = {0};
    c->layers = &layers;
    if (status == FE_OK) status = bench_layers_open(&c->box, mesh, &layers);
    if (status == FE_OK) status = open_on_device(c, mesh, c->box.partition ? c->box.partition : &p);
    bench_deformation_close(c);
    bench_layers_close(&layers);
    c->layers = NULL;
    fe_partition_close(&p);
    fe_mesh_close(&piece);
    return status;
}

fe_status bench_workload_open(const bench_box *box, bench_workload *c)
{
    *c = (bench_workload){.box = *box, .owns_device = 1};
    FE_TRY(box->backend->open(0, box->threads, &c->device));
    return open_case(c);
}

fe_status bench_workload_open_rank(const bench_box *box, fe_comm *comm, fe_device *device, bench_workload *c)
{
    *c = (bench_workload){.box = *box, .comm = comm, .device = device};
    return open_case(c);
}

void bench_workload_close(bench_workload *c)
{
    if (c->owns_device && c->device) c->device->ops->close(c->device);
    bench_oracle_close(c->oracle);
    fe_share_close(&c->share);
    *c = (bench_workload){0};
}

fe_status bench_prepare(bench_workload *c, const fe_assembly *a, void *work, bench_operation op)
{
    c->problem.view.full = op == BENCH_JACVEC_FULL ? c->full : NULL;
    if (op == BENCH_RESIDUAL || op == BENCH_MATERIAL) return FE_OK;
    return a->material(&c->problem, work,
                       op == BENCH_JACVEC_ELASTIC ? FE_LINEARIZATION_ELASTIC : FE_LINEARIZATION_CONSISTENT,
                       c->displacement);
}

fe_status bench_forces(bench_workload *c, const fe_assembly *a, void *work, bench_operation op, double *x,
                       double *y)
{
    return fe_apply(&c->problem, a, work, c->comm, op == BENCH_RESIDUAL ? a->residual : a->jacvec, FE_N_PHASE,
                    x, y);
}

static fe_status diagonal(bench_workload *c, const fe_assembly *a, void *work, void *out)
{
    const fe_problem in = fe_problem_in(&c->problem, a->precision);
    return a->diagonal(&in, work, out);
}

/* residual, jacvec and diagonal */
static fe_status apply_single(bench_workload *c, const fe_assembly *a, void *work, bench_operation op)
{
    const int residual = op == BENCH_RESIDUAL;
    if (op != BENCH_DIAGONAL)
        return fe_apply_single(&c->problem, a, work, residual ? a->residual : a->jacvec,
                               residual ? c->floats.displacement : c->floats.direction, c->floats.out);
    FE_TRY(c->device->ops->memory.zero(c->device, bench_entries(op, c->share.n_local) * sizeof(float),
                                       c->floats.out));
    return diagonal(c, a, work, c->floats.out);
}

fe_status bench_apply(bench_workload *c, const fe_assembly *a, void *work, bench_operation op)
{
    if (op == BENCH_MATERIAL)
        return a->material(&c->problem, work, FE_LINEARIZATION_CONSISTENT, c->displacement);
    if (a->precision == FE_SINGLE) return apply_single(c, a, work, op);
    if (op != BENCH_DIAGONAL)
        return bench_forces(c, a, work, op, op == BENCH_RESIDUAL ? c->displacement : c->direction, c->out);
    FE_TRY(
        c->device->ops->memory.zero(c->device, bench_entries(op, c->share.n_local) * sizeof(double), c->out));
    return diagonal(c, a, work, c->out);
}
