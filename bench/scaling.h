/* The program `scaling`: its arguments, and the work of one rank. */
#ifndef BENCH_SCALING_H
#define BENCH_SCALING_H

#include "common/ranks/ranks.h"
#include "common/report/machine.h"

#include <stdio.h>

enum { MOST_REPETITIONS = 999 };

typedef struct scaling_arguments {
    const char *backend, *rows, *give_up;
    int ranks, threads, transport, dofs, weak, order, restart, repetitions, timeout, done;
    int n_kind, kind[FE_N_KIND];
    int n_variant, *variant;
} scaling_arguments;

/* One element's case on all ranks of this process. */
typedef struct scaling_task {
    const scaling_arguments *arguments;
    const fe_ranks *ranks;
    const char *machine;
    FILE *rows; /* rank 0 */
    int kind;
} scaling_task;

/* All strategies on a rank's piece; context: a scaling_task. Rank 0 writes the rows. */
fe_status scaling_run_rank(void *context, fe_comm *comm, fe_device *device);
/* Rows of cases that did not finish, with the status that the arguments give up with. */
void scaling_write_off(const scaling_task *t, const fe_machine *machine);

#endif
