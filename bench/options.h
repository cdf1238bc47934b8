/* What the programs that run ranks share of their command lines. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include "common/ranks/comm.h"

#include <getopt.h>

/* Index of text among the n choices. FE_BAD_INPUT lists them. */
fe_status option_choice(const char *flag, const char *text, const char *const *choices, int n, int *out);
/* Indices of the names between commas, each once, among the n that exist: list [n], of which *count are set.
 */
fe_status option_list(const char *flag, const char *text, const char *const *names, int n, int *count,
                      int *list);
/* The same of strategies. */
fe_status option_variants(const char *flag, const char *text, int *count, int *list);
/* Brings the list of process 2, 3, ... into an order of its own, the same each time, so that none of several
 * processes' rows is always the first or the hottest; that of process 1 stays. */
void option_shuffle(int process, int n, int *list);
/* A whole number within [least, most]. */
fe_status option_whole(const char *flag, const char *text, int least, int most, int *out);
/* A number between 0 and 1. */
fe_status option_share(const char *flag, const char *text, double *out);
/* The next flag of a command line, whose value is then in optarg: *key and its *index in flags; *key -1:
 * there is none. FE_BAD_INPUT for one that is unknown or lacks its value. */
fe_status option_next(const char *program, int argc, char **argv, const struct option *flags, int *key,
                      int *index);
/* The ranks of a run: the launcher's processes where there are any, else those asked for (0: one). */
fe_status option_ranks(int asked, const fe_mpi *mpi, int *ranks);
/* fe_catch_interrupts that lasts whatever libraries do. */
void option_catch_interrupts(void);
/* Exit code; one rank prints for all that end in the same way. */
int option_exit(const char *program, fe_status status);
/* Ends the program here if a rank was abandoned: it may still use whatever it was given. */
void option_leave(const char *program, fe_status status);
/* The last call of main: leaves MPI. It does not return where an abandoned thread or request may still be
 * active. */
void option_end(int code);

#endif
