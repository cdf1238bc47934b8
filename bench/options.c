/* Values of command lines, and the end of a program of several ranks. */
#include "bench/options.h"
#include "common/ranks/ranks.h"

#include <errno.h>
#include <getopt.h>
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

/* In a group of one-letter options getopt stays at the word until the last letter is read. */
fe_status option_unknown(const char *program, const char *word)
{
    if (optopt && strncmp(word, "--", 2))
        return fe_fail(FE_BAD_INPUT, "-%c: is not an option; %s --help lists them", optopt, program);
    return fe_fail(FE_BAD_INPUT, "%s: is not an option; %s --help lists them", word, program);
}

fe_status option_ranks(int asked, const fe_mpi *mpi, int *ranks)
{
    *ranks = mpi->size ? mpi->size : asked ? asked : 1;
    if (mpi->size && asked && asked != mpi->size)
        return fe_fail(FE_BAD_INPUT, "--ranks %d: %d processes were started, and each is a rank", asked,
                       mpi->size);
    return FE_OK;
}

int option_exit(const char *program, fe_status status)
{
    const int speaks = fe_mpi_meet(status);
    return fe_exit_code(status, speaks ? program : NULL);
}

void option_end(int code)
{
    fe_mpi_close(code);
    if (!fe_ranks_stranded()) return;
    fflush(NULL);
    _exit(code);
}
