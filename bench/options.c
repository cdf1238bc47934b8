/* Values of command lines, and the end of a program of several ranks. */
#include "bench/options.h"
#include "common/base/cores.h"
#include "common/ranks/ranks.h"
#include "common/variant.h"

#include <errno.h>
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

fe_status option_choice(const char *flag, const char *text, const char *const *choices, int n, int *out)
{
    char list[512] = "";
    for (int i = 0; i < n; i++) {
        if (!strcmp(text, choices[i])) {
            *out = i;
            return FE_OK;
        }
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "", choices[i]);
    }
    return fe_fail(FE_BAD_INPUT, "--%s %s: is none of %s", flag, text, list);
}

fe_status option_list(const char *flag, const char *text, const char *const *names, int n, int *count,
                      int *list)
{
    char *copy = strdup(text), *rest = copy;
    fe_status status = copy ? FE_OK : fe_fail(FE_OUT_OF_MEMORY, "--%s", flag);
    *count = 0;
    for (char *word; status == FE_OK && (word = strsep(&rest, ","));) {
        int index = 0;
        status = option_choice(flag, word, names, n, &index);
        for (int i = 0; i < *count && status == FE_OK; i++)
            if (list[i] == index) status = fe_fail(FE_BAD_INPUT, "--%s %s: %s twice", flag, text, word);
        if (status == FE_OK) list[(*count)++] = index;
    }
    free(copy);
    return status;
}

fe_status option_variants(const char *flag, const char *text, int *count, int *list)
{
    const char **names = NULL;
    const int n = fe_variant_count();
    FE_ALLOCATE(names, n, "names");
    for (int i = 0; i < n; i++) names[i] = fe_variant_at(i)->name;
    const fe_status status = option_list(flag, text, names, n, count, list);
    free(names);
    return status;
}

void option_shuffle(int process, int n, int *list)
{
    for (int i = n - 1; process > 1 && i > 0; i--) {
        const int k = (int)(fe_mix((uint64_t)process << 32 | (uint64_t)i) % (uint64_t)(i + 1)),
                  swapped = list[i];
        list[i] = list[k], list[k] = swapped;
    }
}

fe_status option_whole(const char *flag, const char *text, int least, int most, int *out)
{
    char *end;
    errno = 0;
    const long value = strtol(text, &end, 10);
    if (errno || end == text || *end || value < least || value > most)
        return fe_fail(FE_BAD_INPUT, "--%s %s: is not a whole number from %d to %d", flag, text, least, most);
    *out = (int)value;
    return FE_OK;
}

fe_status option_share(const char *flag, const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    if (end == text || *end || !(*out > 0.0 && *out < 1.0))
        return fe_fail(FE_BAD_INPUT, "--%s %s: is not a number between 0 and 1", flag, text);
    return FE_OK;
}

/* In a cluster of letters getopt stays at the word until the last one is read. */
static fe_status unknown(const char *program, const char *word)
{
    if (optopt && strncmp(word, "--", 2))
        return fe_fail(FE_BAD_INPUT, "-%c: is not an option; %s --help lists them", optopt, program);
    return fe_fail(FE_BAD_INPUT, "%s: is not an option; %s --help lists them", word, program);
}

fe_status option_next(const char *program, int argc, char **argv, const struct option *flags, int *key,
                      int *index)
{
    opterr = 0;
    *key = getopt_long(argc, argv, ":", flags, index);
    if (*key == '?') return unknown(program, argv[optind - 1]);
    if (*key == ':') return fe_fail(FE_BAD_INPUT, "%s: needs a value", argv[optind - 1]);
    if (*key >= 0 && optarg && !*optarg)
        return fe_fail(FE_BAD_INPUT, "--%s: its value is empty", flags[*index].name);
    return FE_OK;
}

fe_status option_ranks(int asked, const fe_mpi *mpi, int *ranks)
{
    *ranks = mpi->size ? mpi->size : asked ? asked : 1;
    if (mpi->size && asked && asked != mpi->size)
        return fe_fail(FE_BAD_INPUT, "--ranks %d: %d processes were started, and each is a rank", asked,
                       mpi->size);
    const fe_ranks process = {.n_rank = 1, .mpi = *mpi};
    omp_set_num_threads(fe_ranks_threads(&process)); /* of what comes before the ranks: the mesh */
    if (mpi->rank == 0 && fe_threads_asked() > fe_cores())
        fe_note("OMP_NUM_THREADS=%s: bounded by the cores that this process may use, %d; --threads N is not",
                getenv("OMP_NUM_THREADS"), fe_cores());
    return FE_OK;
}

/* METIS catches SIGTERM meanwhile, and gives it back to a handler that serves once (signal of System V): the
 * second of two signals that are one would then kill. */
static void (*noted)(int);
static void note_and_stay(int number)
{
    const struct sigaction action = {.sa_handler = note_and_stay};
    sigaction(number, &action, NULL);
    noted(number);
}

void option_catch_interrupts(void)
{
    struct sigaction action;
    fe_catch_interrupts();
    sigaction(SIGTERM, NULL, &action);
    noted = action.sa_handler, action.sa_handler = note_and_stay;
    sigaction(SIGTERM, &action, NULL);
}

int option_exit(const char *program, fe_status status)
{
    const int speaks = fe_mpi_meet(status);
    return fe_exit_code(status, speaks ? program : NULL);
}

void option_leave(const char *program, fe_status status)
{
    if (fe_ranks_stranded()) option_end(option_exit(program, status));
}

void option_end(int code)
{
    fe_mpi_close(code);
    fe_ranks_leave(code);
}
