/* The program `scaling`: times a strategy's operations, the exchange of ghosts, sums over ranks and Krylov
 * iterations. Each rank makes and holds its own piece of a box. Writes rows like those of `kernels`, with the
 * number of ranks. */
#include "bench/scaling.h"
#include "bench/options.h"
#include "common/mesh/mesh.h"
#include "common/report/row.h"
#include "common/report/version.h"
#include "common/variant.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: scaling [options]\n"
    "Times strategies on several ranks: threads of this process, or under mpirun or srun the processes that\n"
    "they start; on the cuda backend each has a GPU.\n"
    "\n"
    "  --backend host|cuda       (host)\n"
    "  --ranks N                 (1)\n"
    "  --threads N               OpenMP threads of each rank (OMP_NUM_THREADS, else cores / ranks)\n"
    "  --transport KIND          between GPUs: nccl (default), peer (they write into each other's memory; "
    "--ranks\n"
    "                            only)\n"
    "  --dofs N                  degrees of freedom, approximately (300000)\n"
    "  --weak                    --dofs is the number per rank, not the total\n"
    "  --elements LIST           tet4, hex8, tet4_p4, hex8_naive (hex8)\n"
    "  --variants LIST           strategies (all); --list prints them\n"
    "  --order ORDER             node order within each rank: lexicographic (default), rcm, morton,\n"
    "                            bisection, random\n"
    "  --restart M               basis length of GMRES, whose first M iterations are timed (30)\n"
    "  --repetitions N           samples of each operation (15)\n"
    "  --timeout SECONDS         a rank that does not answer for this time has failed (60)\n"
    "  --rows FILE.csv           result rows: results/README.md defines them\n"
    "  --give-up STATUS          run nothing: write rows with this status, as a sweep does after a crash\n"
    "  --capacity                print two lines, for scripts: host and the cores that ranks may run on,\n"
    "                            cuda and the GPUs found\n"
    "  --list --help --version\n"
    "\n"
    "exit: 0 done (failed checks and full memory are recorded in their rows); 1 the run failed; 2 bad "
    "input\n";

/* --- command line ------------------------------------------------------------------------------------ */

enum {
    OPT_BACKEND = 256,
    OPT_RANKS,
    OPT_THREADS,
    OPT_TRANSPORT,
    OPT_DOFS,
    OPT_WEAK,
    OPT_ELEMENTS,
    OPT_VARIANTS,
    OPT_ORDER,
    OPT_RESTART,
    OPT_REPETITIONS,
    OPT_TIMEOUT,
    OPT_ROWS,
    OPT_GIVE_UP,
    OPT_CAPACITY,
    OPT_LIST,
    OPT_HELP,
    OPT_VERSION
};
static const struct option flags[] = {{"backend", 1, 0, OPT_BACKEND},
                                      {"ranks", 1, 0, OPT_RANKS},
                                      {"threads", 1, 0, OPT_THREADS},
                                      {"transport", 1, 0, OPT_TRANSPORT},
                                      {"dofs", 1, 0, OPT_DOFS},
                                      {"weak", 0, 0, OPT_WEAK},
                                      {"elements", 1, 0, OPT_ELEMENTS},
                                      {"variants", 1, 0, OPT_VARIANTS},
                                      {"order", 1, 0, OPT_ORDER},
                                      {"restart", 1, 0, OPT_RESTART},
                                      {"repetitions", 1, 0, OPT_REPETITIONS},
                                      {"timeout", 1, 0, OPT_TIMEOUT},
                                      {"rows", 1, 0, OPT_ROWS},
                                      {"give-up", 1, 0, OPT_GIVE_UP},
                                      {"capacity", 0, 0, OPT_CAPACITY},
                                      {"list", 0, 0, OPT_LIST},
                                      {"help", 0, 0, OPT_HELP},
                                      {"version", 0, 0, OPT_VERSION},
                                      {0}};

static fe_status set_flag(scaling_arguments *a, int key, const char *flag, const char *text)
{
    static const char *const transports[] = {"nccl", "peer"};
    const char *kinds[FE_N_KIND];
    for (int i = 0; i < FE_N_KIND; i++) kinds[i] = fe_kind_name(i);
    switch (key) {
    case OPT_BACKEND: a->backend = text; return FE_OK;
    case OPT_ROWS: a->rows = text; return FE_OK;
    case OPT_GIVE_UP: a->give_up = text; return FE_OK;
    case OPT_WEAK: a->weak = 1; return FE_OK;
    case OPT_RANKS: return option_whole(flag, text, 1, 4096, &a->ranks);
    case OPT_THREADS: return option_whole(flag, text, 1, 4096, &a->threads);
    case OPT_TRANSPORT: return option_choice(flag, text, transports, 2, &a->transport);
    case OPT_DOFS: return option_whole(flag, text, 1, 2000000000, &a->dofs);
    case OPT_RESTART: return option_whole(flag, text, 1, 1000, &a->restart);
    case OPT_REPETITIONS: return option_whole(flag, text, 1, MOST_REPETITIONS, &a->repetitions);
    case OPT_TIMEOUT: return option_whole(flag, text, 1, 1000000, &a->timeout);
    case OPT_ORDER: return option_choice(flag, text, fe_order_names, FE_N_ORDER, &a->order);
    case OPT_ELEMENTS: return option_list(flag, text, kinds, FE_N_KIND, &a->n_kind, a->kind);
    case OPT_VARIANTS: return option_variants(flag, text, &a->n_variant, a->variant);
    }
    return FE_OK;
}

static fe_status parse(int argc, char **argv, scaling_arguments *a)
{
    int key, index = 0;
    FE_ALLOCATE(a->variant, fe_variant_count(), "variants");
    while (a->n_variant < fe_variant_count()) a->variant[a->n_variant] = a->n_variant, a->n_variant++;
    while (1) {
        FE_TRY(option_next("scaling", argc, argv, flags, &key, &index));
        if (key < 0) break;
        a->done = 1;
        if (key == OPT_HELP) return fputs(help, stdout), FE_OK;
        if (key == OPT_VERSION) return fputs(fe_version_text(), stdout), FE_OK;
        if (key == OPT_CAPACITY)
            return printf("host %d\ncuda %d\n", fe_host_cores(), fe_cuda_devices()), FE_OK;
        if (key == OPT_LIST) {
            for (int i = 0; i < fe_variant_count(); i++) puts(fe_variant_at(i)->name);
            return FE_OK;
        }
        a->done = 0;
        FE_TRY(set_flag(a, key, flags[index].name, optarg));
    }
    return optind < argc
               ? fe_fail(FE_BAD_INPUT, "%s: is not an option; scaling --help lists them", argv[optind])
               : FE_OK;
}

static fe_status run_kinds(const scaling_arguments *a, fe_ranks *ranks, scaling_task *t)
{
    fe_status status = FE_OK;
    for (int i = 0; i < a->n_kind && status == FE_OK && !ranks->abandoned; i++) {
        t->kind = a->kind[i];
        status = fe_ranks_run(ranks, scaling_run_rank, t);
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
    FE_TRY(fe_machine_find(&machine));
    t.machine = machine.slug;
    if (a->rows && mpi->rank == 0) {
        t.rows = fopen(a->rows, "w");
        if (!t.rows) return fe_fail(FE_BAD_INPUT, "%s: %s", a->rows, strerror(errno));
        fe_row_write_header(t.rows);
    }
    if (a->give_up) scaling_write_off(&t, &machine);
    const fe_status status = a->give_up ? FE_OK : run_kinds(a, &ranks, &t);
    if (t.rows && (ferror(t.rows) | fclose(t.rows)) && status == FE_OK)
        return fe_fail(FE_FAILED, "%s: could not be written", a->rows);
    return status;
}

int main(int argc, char **argv)
{
    scaling_arguments a = {.backend = "host",
                           .dofs = 300000,
                           .n_kind = 1,
                           .kind = {FE_HEX8},
                           .order = FE_ORDER_LEXICOGRAPHIC,
                           .restart = 30,
                           .repetitions = 15};
    fe_mpi mpi = {0};
    fe_program_begin();
    fe_status status = parse(argc, argv, &a);
    const fe_status opened = a.done ? FE_OK : fe_mpi_open(&mpi);
    if (status == FE_OK) status = opened;
    if (status == FE_OK && !a.done) status = run(&a, &mpi);
    const int code = option_exit("scaling", status);
    free(a.variant);
    option_end(code);
    return code;
}
