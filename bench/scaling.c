/* The program `scaling`: times a strategy's operations, the exchange of ghosts, sums over ranks and Krylov
 * iterations. Each rank makes and holds its own piece of a box, or its share of another mesh. Writes rows
 * like those of `kernels`, with the number of ranks. */
#include "bench/scaling.h"
#include "bench/options.h"
#include "common/mesh/mesh.h"
#include "common/report/row.h"
#include "common/variant.h"

#include <stdlib.h>
#include <string.h>

/* A mesh that is no box, and its partition. */
static fe_status open_whole(scaling_task *t, fe_mesh *made)
{
    const scaling_arguments *a = t->arguments;
    FE_TRY(bench_mesh_whole(&t->mesh, t->kind, a->dofs, (fe_order)a->order, made, &t->whole));
    if (!t->whole) return FE_OK;
    return fe_partition_mesh(t->whole, t->ranks->n_rank, FE_PARTITION_AUTO, &t->partition);
}

/* In the order auto the strategies that want neighbours and those that want pieces come one after the other,
 * in every second process the other way round: on devices that are opened anew, because each order is a case
 * with memory of its own. */
static fe_status run_wishes(fe_ranks *ranks, scaling_task *t)
{
    const int wishes = t->arguments->order == FE_ORDER_AUTO ? 2 : 1;
    t->again = 0;
    for (int k = 0; k < wishes; k++) {
        t->pieces = (k + t->arguments->process + 1) % wishes;
        int n = 0;
        for (int i = 0; i < t->arguments->n_variant; i++) n += scaling_belongs(t, i);
        if (!n) continue;
        FE_TRY(fe_ranks_run(ranks, scaling_run_rank, t));
        t->again = 1;
    }
    return FE_OK;
}

static fe_status run_kinds(const scaling_arguments *a, fe_ranks *ranks, scaling_task *t)
{
    fe_status status = FE_OK;
    for (int i = 0; i < a->n_kind && status == FE_OK; i++) {
        fe_mesh made = {0};
        t->kind = a->kind[i];
        FE_TRY(bench_kind_check("--elements", t->kind));
        if (!bench_mesh_holds(&t->mesh, t->kind))
            return fe_fail(FE_BAD_INPUT, "--elements %s: %s holds %s", fe_kind_name(t->kind), a->mesh,
                           fe_kind_name(t->mesh.file.kind));
        status = open_whole(t, &made);
        if (status == FE_OK) status = run_wishes(ranks, t);
        option_leave("scaling", status);
        fe_partition_close(&t->partition);
        fe_mesh_close(&made);
    }
    return status;
}

static fe_status run(const scaling_arguments *a, const fe_mpi *mpi)
{
    fe_machine machine;
    fe_ranks ranks = {.threads = a->threads, .mpi = *mpi, .transport = a->transport};
    scaling_task t = {.arguments = a, .ranks = &ranks};
    if (a->timeout) fe_comm_timeout = a->timeout;
    FE_TRY(fe_backend_find(a->backend, &ranks.backend));
    FE_TRY(option_ranks(a->ranks, mpi, &ranks.n_rank));
    FE_TRY(fe_ranks_check(&ranks));
    FE_TRY(fe_machine_find(mpi->size > 0, &machine));
    t.machine = machine.slug;
    if (a->rows && mpi->rank == 0) { FE_TRY(fe_rows_open(a->rows, FE_ROW_COLUMNS, &t.rows)); }
    fe_status status =
        a->samples && mpi->rank == 0 ? fe_rows_open(a->samples, FE_SAMPLE_COLUMNS, &t.samples) : FE_OK;
    if (status == FE_OK) status = bench_mesh_open(a->mesh, a->refine, (fe_order)a->order, &t.mesh);
    if (status == FE_OK && a->weak && (t.mesh.shape == BENCH_FILE || t.mesh.shape == BENCH_IRREGULAR))
        status = fe_fail(FE_BAD_INPUT, "--weak: is for boxes");
    if (status == FE_OK && a->refine && t.mesh.shape != BENCH_FILE)
        status = fe_fail(FE_BAD_INPUT, "--refine %d: is for a FILE.msh", a->refine);
    if (status == FE_OK) status = a->give_up ? scaling_write_off(&t, &machine) : run_kinds(a, &ranks, &t);
    bench_mesh_close(&t.mesh);
    const int lost = t.rows && (ferror(t.rows) | fclose(t.rows));
    const int lost_samples = t.samples && (ferror(t.samples) | fclose(t.samples));
    if (status == FE_OK && (lost || lost_samples))
        return fe_fail(FE_FAILED, "%s: could not be written", lost ? a->rows : a->samples);
    return status;
}

int main(int argc, char **argv)
{
    scaling_arguments a = {.backend = "host",
                           .mesh = "box",
                           .dofs = 300000,
                           .n_kind = 1,
                           .kind = {FE_HEX8},
                           .order = FE_ORDER_AUTO,
                           .restart = 30,
                           .repetitions = 15,
                           .process = 1};
    fe_mpi mpi = {0};
    fe_program_begin();
    fe_status status = scaling_parse(argc, argv, &a);
    const fe_status opened = a.done ? FE_OK : fe_mpi_open(status == FE_OK ? a.ranks : 1, &mpi);
    if (status == FE_OK) status = opened;
    if (status == FE_OK && !a.done) status = run(&a, &mpi);
    const int code = option_exit("scaling", status);
    free(a.variant);
    option_end(code);
    return code;
}
