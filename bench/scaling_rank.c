/* What one rank of the program `scaling` does: a case of its own piece of a box, or its share of another
 * mesh, on which strategies are timed (scaling_times.c). */
#include "bench/scaling_rank.h"
#include "bench/check_ranks.h"

#include <string.h>

typedef scaling_bench bench;

/* --- one case ---------------------------------------------------------------------------------------- */

static fe_status describe(bench *b, const bench_box *box)
{
    const scaling_arguments *a = b->task->arguments;
    const scaling_task *t = b->task;
    int cells[3];
    int64_t n_dof, n_elem;
    char name[64];
    bench_box_cells(box, cells);
    if (cells[0]) {
        bench_box_size(box->kind, cells, &n_elem, &n_dof);
        snprintf(name, sizeof name, "box%dx%dx%d", cells[0], cells[1], cells[2]);
    } else {
        FE_TRY(bench_mesh_size(&t->mesh, box->kind, a->dofs, &n_elem, &n_dof));
        bench_mesh_name(&t->mesh, box->kind, a->dofs, sizeof name, name);
    }
    if (a->materials > 1)
        snprintf(name + strlen(name), sizeof name - strlen(name), "-materials%d", a->materials);
    snprintf(b->mesh, sizeof b->mesh, "%s-%dx%dx%d-%s-%s", a->weak ? "weak" : "strong", box->grid[0],
             box->grid[1], box->grid[2], b->comm->ops->name, name);
    snprintf(b->device_name, sizeof b->device_name, "%s", b->device->name);
    b->row = (fe_row){.machine = b->task->machine,
                      .backend = b->device->ops->name,
                      .device = b->device_name,
                      .ranks = b->comm->size,
                      .threads = b->device->threads,
                      .variant = "none",
                      .element = fe_kind_name(box->kind),
                      .mesh = b->mesh,
                      .order = fe_order_names[box->order],
                      .plastic = box->plastic,
                      .plastic_pattern = "clustered",
                      .numbering = b->c.numbering,
                      .n_elem = n_elem,
                      .n_dof = n_dof,
                      .bytes = (double)b->c.bytes,
                      .plastic_measured = box->plastic,
                      .error = NAN,
                      .deterministic = -1,
                      .process = a->process,
                      .status = "ok"};
    return FE_OK;
}

static fe_status run_on_case(bench *b)
{
    const scaling_arguments *a = b->task->arguments;
    fe_device *d = b->device;
    const size_t n = 3 * (size_t)b->c.share.n_owned, n_all = 3 * (size_t)b->c.share.n_local;
    fe_partition_quality quality;
    FE_TRY(fe_device_allocate(d, BENCH_LONGEST_SUM, sizeof(double), "scalars", (void **)&b->scalar));
    FE_TRY(fe_device_vector(d, b->c.share.n_local, "right-hand side", &b->b));
    FE_TRY(fe_device_vector(d, b->c.share.n_local, "solution", &b->x));
    FE_TRY(fe_device_vector(d, b->c.share.n_local, "product", &b->y));
    for (int basis = 0; basis < FE_N_BASIS; basis++)
        FE_TRY(fe_krylov_open(d, b->comm, n, n_all, a->restart, FE_ORTHOGONALIZATION_DCGS2, basis,
                              &b->krylov[basis]));
    FE_TRY(d->ops->vector.copy(d, n, b->c.direction, b->b));
    FE_TRY(fe_share_quality(&b->c.share, b->comm, d, &quality));
    if (b->comm->rank == 0)
        printf("%s %s on %d ranks (%s, %d threads each), %lld DoF: a rank has at most %.3f times the mean "
               "number "
               "of elements; %.2f %% computed by several ranks; %.2f %% ghosts\n%-18s %-22s %12s %22s %10s "
               "%10s\n",
               b->mesh, b->row.element, b->comm->size, b->comm->ops->name, d->threads,
               (long long)b->row.n_dof, quality.imbalance, 100.0 * quality.duplicates, 100.0 * quality.ghosts,
               "variant", "operation", "median us", "95 % interval us", "MDoF/s", "GB/s");
    if (!b->task->again) FE_TRY(scaling_time_shared(b));
    return scaling_time_variants(b);
}

/* Ranks along the axes whose pieces of a cube have the least surface. */
static void choose_grid(int ranks, int grid[3])
{
    double least = INFINITY;
    for (int i = 1; i <= ranks; i++)
        for (int j = 1; ranks % i == 0 && j <= ranks / i; j++) {
            if (ranks / i % j) continue;
            const int k = ranks / i / j;
            /* Cuts across the slowest axis of the node order come first. */
            const double surface = 1.02 * i + 1.01 * j + k;
            if (surface < least) least = surface, grid[0] = i, grid[1] = j, grid[2] = k;
        }
}

static bench_box box_of(const scaling_task *t, int kind)
{
    const scaling_arguments *a = t->arguments;
    const fe_ranks *l = t->ranks;
    bench_box box = {.kind = kind,
                     .mesh = t->whole,
                     .partition = t->whole ? &t->partition : NULL,
                     .pieces = t->pieces,
                     .order = (fe_order)a->order,
                     .plastic = 1.0,
                     .backend = l->backend,
                     .materials = a->materials,
                     .weak = a->weak};
    bench_mesh_cells(&t->mesh, kind, a->dofs, box.cells);
    if (box.cells[0])
        choose_grid(l->n_rank, box.grid);
    else
        box.grid[0] = box.grid[1] = 1, box.grid[2] = l->n_rank;
    return box;
}

fe_status scaling_run_rank(void *context, fe_comm *comm, fe_device *device)
{
    const scaling_task *t = context;
    bench b = {.task = t, .comm = comm, .device = device};
    const bench_box box = box_of(t, t->kind);
    fe_status status = bench_workload_open_rank(&box, comm, device, &b.c);
    if (status == FE_OK) status = describe(&b, &box);
    if (comm->rank == 0) bench_conditions_open(device->ops, &b.around);
    if (status == FE_OK) status = run_on_case(&b);
    if (status != FE_OK) fe_comm_abort(comm, status); /* before recordings are forgotten */
    for (int basis = 0; basis < FE_N_BASIS; basis++) fe_krylov_close(&b.krylov[basis]);
    bench_workload_close(&b.c);
    return status;
}

fe_status scaling_write_off(const scaling_task *t, const fe_machine *machine)
{
    const scaling_arguments *a = t->arguments;
    const fe_ranks *l = t->ranks;
    const int on_gpu = l->backend->on_gpu;
    fe_comm_operations operations = {.name = l->mpi.size ? "mpi" : "threads"};
    fe_comm comm = {.ops = &operations, .size = l->n_rank};
    fe_device device = {.ops = l->backend, .threads = a->threads};
    if (on_gpu && l->n_rank > 1) operations.name = fe_transport_names[fe_ranks_transport(l)];
    snprintf(device.name, sizeof device.name, "%s", on_gpu ? machine->gpu : machine->cpu);
    for (int i = 0; i < a->n_kind; i++) {
        bench b = {.task = t, .comm = &comm, .device = &device};
        const bench_box box = box_of(t, a->kind[i]);
        if (!bench_mesh_holds(&t->mesh, a->kind[i])) continue;
        FE_TRY(describe(&b, &box));
        b.row.status = a->give_up, b.row.operation = "jacvec";
        for (int k = 0; k < a->n_variant; k++) {
            b.row.variant = fe_variant_at(a->variant[k])->name;
            if (t->rows && scaling_table(t, k)) fe_row_write(t->rows, &b.row);
        }
    }
    return FE_OK;
}
