/* The command line of the program `solves`. */
#include "bench/options.h"
#include "bench/solves.h"
#include "common/ranks/ranks.h"
#include "common/report/version.h"

#include <stdio.h>

static const char help[] =
    "usage: solves PROBLEM.json (--mesh FILE | --cells N) [options]\n"
    "Times whole solves of a problem with several strategies in turns; each answer is checked.\n"
    "\n"
    "  --mesh FILE               MSH 2.2 or 4.1\n"
    "  --cells N                 instead: a distorted cube of N cells an axis\n"
    "  --element KIND            of the cube: tet4, hex8, tet10, hex27 (hex8)\n"
    "  --load LOAD               steps (default): all load steps by Newton and CG, as `solve` has them;\n"
    "                            linear: the first load step without yielding, one CG solve to 1e-8;\n"
    "                            fixed: 20 Newton iterations of 30 GMRES iterations a load step, whatever\n"
    "                            comes out\n"
    "  --jacobian KIND           of the loads steps and linear: tangent (default), difference (by GMRES);\n"
    "                            of steps also elastic (frozen: modified Newton)\n"
    "  --anderson M              of the load steps: Anderson acceleration with M differences (0)\n"
    "  --newton-iterations N     of the load steps: most in one (60); a frozen Jacobian takes many\n"
    "  --basis PRECISION         what GMRES of the load fixed stores its basis in: double (default), single\n"
    "  --products PRECISION      of linear solves: double (default), mixed; the reference has doubles\n"
    "  --precondition KIND       block-jacobi, multigrid (default), chebyshev, none\n"
    "  --backend host|cuda       (host)\n"
    "  --ranks N                 threads of this process (1); on cuda each has a GPU\n"
    "  --threads N               OpenMP threads of each rank (cores / ranks)\n"
    "  --transport KIND          between GPUs: auto (default), nccl, peer\n"
    "  --variants LIST           strategies (all); solve --list prints them\n"
    "  --repetitions N           samples (7)\n"
    "  --error E                 largest error of an answer that counts: |change of a displacement| /\n"
    "                            largest displacement (1e-6)\n"
    "  --rows FILE.csv           adds result rows to a file: results/README.md defines them\n"
    "  --samples FILE.csv        adds the samples of the rows, with their conditions, to a file\n"
    "  --parts                   prints what each part of a set-up of multigrid takes, one after the\n"
    "                            other; without --rows\n"
    "  --process N               number of this run among those that measure the same, for rows and\n"
    "                            samples; from 2 on strategies come in another order (1)\n"
    "  --give-up STATUS          run nothing: write rows with this status, as a sweep does after a crash\n"
    "  --help --version\n"
    "\n"
    "exit: 0 done, with failed solves, checks and full memory recorded in their rows; 1 the run failed;\n"
    "      2 bad input; 130 interrupted\n";

const char *const solves_jacobian_names[SOLVES_N_JACOBIAN] = {"tangent", "difference", "elastic"};
enum { N_PRODUCTS = FE_MIXED + 1 };
static const char *const product_names[N_PRODUCTS] = {"double", "mixed"};

enum {
    OPT_LOAD = 256,
    OPT_JACOBIAN,
    OPT_ANDERSON,
    OPT_NEWTON_ITERATIONS,
    OPT_BASIS,
    OPT_PRODUCTS,
    OPT_PRECONDITION,
    OPT_BACKEND,
    OPT_RANKS,
    OPT_THREADS,
    OPT_TRANSPORT,
    OPT_VARIANTS,
    OPT_REPETITIONS,
    OPT_ERROR,
    OPT_ROWS,
    OPT_SAMPLES,
    OPT_PROCESS,
    OPT_PARTS,
    OPT_GIVE_UP,
    OPT_HELP,
    OPT_VERSION
};
static const struct option flags[] = {WHOLE_FLAGS,
                                      {"load", 1, 0, OPT_LOAD},
                                      {"jacobian", 1, 0, OPT_JACOBIAN},
                                      {"anderson", 1, 0, OPT_ANDERSON},
                                      {"newton-iterations", 1, 0, OPT_NEWTON_ITERATIONS},
                                      {"basis", 1, 0, OPT_BASIS},
                                      {"products", 1, 0, OPT_PRODUCTS},
                                      {"precondition", 1, 0, OPT_PRECONDITION},
                                      {"backend", 1, 0, OPT_BACKEND},
                                      {"ranks", 1, 0, OPT_RANKS},
                                      {"threads", 1, 0, OPT_THREADS},
                                      {"transport", 1, 0, OPT_TRANSPORT},
                                      {"variants", 1, 0, OPT_VARIANTS},
                                      {"repetitions", 1, 0, OPT_REPETITIONS},
                                      {"error", 1, 0, OPT_ERROR},
                                      {"rows", 1, 0, OPT_ROWS},
                                      {"samples", 1, 0, OPT_SAMPLES},
                                      {"process", 1, 0, OPT_PROCESS},
                                      {"parts", 0, 0, OPT_PARTS},
                                      {"give-up", 1, 0, OPT_GIVE_UP},
                                      {"help", 0, 0, OPT_HELP},
                                      {"version", 0, 0, OPT_VERSION},
                                      {0}};

static fe_status set_flag(solves_arguments *a, int key, const char *flag, const char *text)
{
    switch (key) {
    case OPT_BACKEND: a->backend = text; return FE_OK;
    case OPT_ROWS: a->rows = text; return FE_OK;
    case OPT_SAMPLES: a->samples = text; return FE_OK;
    case OPT_PROCESS: return option_whole(flag, text, 1, 1000000, &a->process);
    case OPT_PARTS: a->parts = 1; return FE_OK;
    case OPT_GIVE_UP: a->give_up = text; return FE_OK;
    case OPT_RANKS:
        FE_TRY(option_whole(flag, text, 1, 4096, &a->asked));
        a->ranks = a->asked;
        return FE_OK;
    case OPT_THREADS: return option_whole(flag, text, 1, 4096, &a->threads);
    case OPT_REPETITIONS: return option_whole(flag, text, 1, WHOLE_MOST_REPETITIONS, &a->repetitions);
    case OPT_ERROR: return option_share(flag, text, &a->most_error);
    case OPT_LOAD: return option_choice(flag, text, whole_load_names, WHOLE_N_LOAD, &a->choice.load);
    case OPT_JACOBIAN:
        return option_choice(flag, text, solves_jacobian_names, SOLVES_N_JACOBIAN, &a->jacobian);
    case OPT_ANDERSON: return option_whole(flag, text, 0, 16, &a->anderson);
    case OPT_NEWTON_ITERATIONS: return option_whole(flag, text, 1, 100000, &a->newton_iterations);
    case OPT_BASIS: return option_choice(flag, text, fe_basis_names, FE_N_BASIS, &a->basis);
    case OPT_PRODUCTS: return option_choice(flag, text, product_names, N_PRODUCTS, &a->products);
    case OPT_TRANSPORT: return option_choice(flag, text, fe_transport_names, FE_N_TRANSPORT, &a->transport);
    case OPT_PRECONDITION: /* not auto, which changes under way */
        FE_TRY(option_choice(flag, text, fe_precondition_names + 1, FE_N_PRECONDITION - 1, &a->precondition));
        a->precondition++;
        return FE_OK;
    case OPT_VARIANTS: return option_variants(flag, text, &a->n_variant, a->variant);
    }
    return whole_flag(key, flag, text, &a->choice);
}

/* What the load has no use for would be told in rows as if it had been measured. */
static fe_status check_load(const solves_arguments *a)
{
    const int load = a->choice.load;
    const char *name = whole_load_names[load];
    if (a->basis && load != WHOLE_FIXED)
        return fe_fail(FE_BAD_INPUT, "--basis %s: --load %s solves by CG, which has none",
                       fe_basis_names[a->basis], name);
    if (a->jacobian == FE_JACOBIAN_ELASTIC && load == WHOLE_LINEAR)
        return fe_fail(FE_BAD_INPUT, "--jacobian elastic: so is the tangent of --load linear");
    if (a->jacobian != FE_JACOBIAN_TANGENT && load == WHOLE_FIXED)
        return fe_fail(FE_BAD_INPUT, "--jacobian %s: --load fixed has tangents",
                       solves_jacobian_names[a->jacobian]);
    if (a->anderson && load != WHOLE_STEPS)
        return fe_fail(FE_BAD_INPUT, "--anderson %d: is for --load steps, not %s", a->anderson, name);
    if (a->newton_iterations && load != WHOLE_STEPS)
        return fe_fail(FE_BAD_INPUT, "--newton-iterations %d: is for --load steps, not %s",
                       a->newton_iterations, name);
    return FE_OK;
}

fe_status solves_parse(int argc, char **argv, solves_arguments *a)
{
    int key, index = 0;
    FE_ALLOCATE(a->variant, fe_variant_count(), "variants");
    while (a->n_variant < fe_variant_count()) a->variant[a->n_variant] = a->n_variant, a->n_variant++;
    while (1) {
        FE_TRY(option_next("solves", argc, argv, flags, &key, &index));
        if (key < 0) break;
        a->done = 1;
        if (key == OPT_HELP) return fputs(help, stdout), FE_OK;
        if (key == OPT_VERSION) return fputs(fe_version_text(), stdout), FE_OK;
        a->done = 0;
        FE_TRY(set_flag(a, key, flags[index].name, optarg));
    }
    if (a->products != FE_DOUBLE && a->jacobian == FE_JACOBIAN_DIFFERENCE)
        return fe_fail(FE_BAD_INPUT, "--products mixed: --jacobian difference has no products of tangents");
    FE_TRY(check_load(a));
    if (a->parts && (a->rows || a->samples))
        return fe_fail(FE_BAD_INPUT, "--parts: its set-ups take longer than those of rows");
    option_shuffle(a->process, a->n_variant, a->variant);
    return whole_complete("solves", argc - optind, argv + optind, &a->choice);
}
