/* The command line of the program `scaling`. */
#include "bench/layers.h"
#include "bench/options.h"
#include "bench/scaling.h"
#include "common/backend/device.h"
#include "common/problem/share.h"
#include "common/report/version.h"

#include <stdio.h>

static const char help[] =
    "usage: scaling [options]\n"
    "Times strategies on several ranks: threads of this process, or under mpirun or srun the processes that\n"
    "they start; on the cuda backend each has a GPU.\n"
    "\n"
    "  --backend host|cuda       (host)\n"
    "  --ranks N                 (1)\n"
    "  --threads N               OpenMP threads of each rank (cores / ranks, at most OMP_NUM_THREADS)\n"
    "  --transport KIND          between GPUs: auto (default): peer where NVLink joins all, else nccl;\n"
    "                            nccl; peer (they write into each other's memory; --ranks only)\n"
    "  --mesh MESH               box (default), slender, 119x119x119, irregular, FILE.msh, as --fe_mesh\n"
    "                            of kernels; of the last two each process holds the whole mesh\n"
    "  --refine N                makes eight elements of each of a FILE.msh, N times (0)\n"
    "  --dofs N                  degrees of freedom, approximately (300000)\n"
    "  --weak                    --dofs or the cells are those of a rank, not the total; boxes only\n"
    "  --elements LIST           tet4, hex8, tet10, hex27, tet4_p4, hex8_naive (hex8)\n"
    "  --variants LIST           strategies (all); --list prints them\n"
    "  --order ORDER             order within each rank: auto (default: what each strategy wants), as-is,\n"
    "                            lexicographic, rcm, morton, bisection, random\n"
    "  --materials N             N layers of different materials, 2 to 16, which elements look up (1)\n"
    "  --gmres LIST              forms of GMRES that are timed (all): mgs, mgs_single, cgs2, cgs2_single,\n"
    "                            dcgs2, dcgs2_single; _single: its basis is stored in floats\n"
    "  --restart M               basis length of GMRES, whose first M iterations are timed (30)\n"
    "  --repetitions N           samples of each operation (15)\n"
    "  --timeout SECONDS         a rank that does not answer for this time has failed (60)\n"
    "  --rows FILE.csv           adds result rows to a file: results/README.md defines them\n"
    "  --samples FILE.csv        adds the samples of the rows, with their conditions, to a file\n"
    "  --process N               number of this run among those that measure the same, for rows and\n"
    "                            samples; from 2 on strategies come in another order (1)\n"
    "  --give-up STATUS          run nothing: write rows with this status, as a sweep does after a crash\n"
    "  --capacity                print two lines, for scripts: host and the cores that ranks may run on,\n"
    "                            cuda and the GPUs found\n"
    "  --list --help --version\n"
    "\n"
    "exit: 0 done (failed checks and full memory are recorded in their rows); 1 the run failed;\n"
    "      2 bad input\n";

const char *const scaling_forms[SCALING_FORMS] = {"mgs",         "mgs_single", "cgs2",
                                                  "cgs2_single", "dcgs2",      "dcgs2_single"};

enum {
    OPT_BACKEND = 256,
    OPT_RANKS,
    OPT_THREADS,
    OPT_TRANSPORT,
    OPT_MESH,
    OPT_REFINE,
    OPT_DOFS,
    OPT_MATERIALS,
    OPT_WEAK,
    OPT_ELEMENTS,
    OPT_VARIANTS,
    OPT_ORDER,
    OPT_GMRES,
    OPT_RESTART,
    OPT_REPETITIONS,
    OPT_TIMEOUT,
    OPT_ROWS,
    OPT_SAMPLES,
    OPT_PROCESS,
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
                                      {"mesh", 1, 0, OPT_MESH},
                                      {"refine", 1, 0, OPT_REFINE},
                                      {"dofs", 1, 0, OPT_DOFS},
                                      {"materials", 1, 0, OPT_MATERIALS},
                                      {"weak", 0, 0, OPT_WEAK},
                                      {"elements", 1, 0, OPT_ELEMENTS},
                                      {"variants", 1, 0, OPT_VARIANTS},
                                      {"order", 1, 0, OPT_ORDER},
                                      {"gmres", 1, 0, OPT_GMRES},
                                      {"restart", 1, 0, OPT_RESTART},
                                      {"repetitions", 1, 0, OPT_REPETITIONS},
                                      {"timeout", 1, 0, OPT_TIMEOUT},
                                      {"rows", 1, 0, OPT_ROWS},
                                      {"samples", 1, 0, OPT_SAMPLES},
                                      {"process", 1, 0, OPT_PROCESS},
                                      {"give-up", 1, 0, OPT_GIVE_UP},
                                      {"capacity", 0, 0, OPT_CAPACITY},
                                      {"list", 0, 0, OPT_LIST},
                                      {"help", 0, 0, OPT_HELP},
                                      {"version", 0, 0, OPT_VERSION},
                                      {0}};

static fe_status set_flag(scaling_arguments *a, int key, const char *flag, const char *text)
{
    const char *kinds[FE_N_KIND];
    for (int i = 0; i < FE_N_KIND; i++) kinds[i] = fe_kind_name(i);
    switch (key) {
    case OPT_BACKEND: a->backend = text; return FE_OK;
    case OPT_ROWS: a->rows = text; return FE_OK;
    case OPT_SAMPLES: a->samples = text; return FE_OK;
    case OPT_PROCESS: return option_whole(flag, text, 1, 1000000, &a->process);
    case OPT_GIVE_UP: a->give_up = text; return FE_OK;
    case OPT_MESH: a->mesh = text; return FE_OK;
    case OPT_REFINE: return option_whole(flag, text, 0, 10, &a->refine);
    case OPT_MATERIALS: return option_whole(flag, text, 1, BENCH_MOST_LAYERS, &a->materials);
    case OPT_WEAK: a->weak = 1; return FE_OK;
    case OPT_RANKS: return option_whole(flag, text, 1, 4096, &a->ranks);
    case OPT_THREADS: return option_whole(flag, text, 1, 4096, &a->threads);
    case OPT_TRANSPORT: return option_choice(flag, text, fe_transport_names, FE_N_TRANSPORT, &a->transport);
    case OPT_DOFS: return option_whole(flag, text, 1, 2000000000, &a->dofs);
    case OPT_GMRES: return option_list(flag, text, scaling_forms, SCALING_FORMS, &a->n_form, a->form);
    case OPT_RESTART: return option_whole(flag, text, 1, 1000, &a->restart);
    case OPT_REPETITIONS: return option_whole(flag, text, 1, SCALING_MOST_REPETITIONS, &a->repetitions);
    case OPT_TIMEOUT: return option_whole(flag, text, 1, 1000000, &a->timeout);
    case OPT_ORDER: return option_choice(flag, text, fe_order_names, FE_N_ORDER + 1, &a->order);
    case OPT_ELEMENTS: return option_list(flag, text, kinds, FE_N_KIND, &a->n_kind, a->kind);
    case OPT_VARIANTS: return option_variants(flag, text, &a->n_variant, a->variant);
    }
    return FE_OK;
}

fe_status scaling_parse(int argc, char **argv, scaling_arguments *a)
{
    int key, index = 0;
    FE_ALLOCATE(a->variant, fe_variant_count(), "variants");
    while (a->n_form < SCALING_FORMS) a->form[a->n_form] = a->n_form, a->n_form++;
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
    option_shuffle(a->process, a->n_variant, a->variant);
    return optind < argc
               ? fe_fail(FE_BAD_INPUT, "%s: is not an option; scaling --help lists them", argv[optind])
               : FE_OK;
}

const fe_assembly *scaling_table(const scaling_task *t, int i)
{
    const fe_variant *v = fe_variant_at(t->arguments->variant[i]);
    return fe_variant_table(v, t->ranks->backend->on_gpu, FE_DOUBLE);
}

int scaling_belongs(const scaling_task *t, int i)
{
    const fe_assembly *table = scaling_table(t, i);
    if (table && fe_is_quadratic(t->kind) && !table->quadratic) return 0;
    return table && (t->arguments->order != FE_ORDER_AUTO || fe_wants_pieces(table, t->kind) == t->pieces);
}
