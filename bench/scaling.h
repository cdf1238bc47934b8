/* The program `scaling`: its command line, its cases, and the work of one rank. */
#ifndef BENCH_SCALING_H
#define BENCH_SCALING_H

#include "bench/timed_mesh.h"
#include "common/krylov/krylov.h"
#include "common/problem/share.h"
#include "common/ranks/ranks.h"
#include "common/report/machine.h"

#include <stdio.h>

enum { SCALING_MOST_REPETITIONS = 999, SCALING_FORMS = FE_N_ORTHOGONALIZATION * FE_N_BASIS };
extern const char *const scaling_forms[SCALING_FORMS]; /* "mgs", "mgs_single", "cgs2", … */

typedef struct scaling_arguments {
    const char *backend, *rows, *samples, *give_up, *mesh;
    int ranks, threads, transport, dofs, materials, weak, order, refine, restart, repetitions, timeout,
        process, done;
    int n_kind, kind[FE_N_KIND];
    int n_variant, *variant;
    int n_form, form[SCALING_FORMS]; /* of GMRES, which are timed: orthogonalization · FE_N_BASIS + basis */
} scaling_arguments;

/* One element's case on all ranks of this process. */
typedef struct scaling_task {
    const scaling_arguments *arguments;
    const fe_ranks *ranks;
    const char *machine;
    FILE *rows, *samples; /* rank 0 */
    bench_mesh mesh;
    int kind;
    const fe_mesh *whole; /* what no box is */
    fe_partition partition;
    int pieces; /* order auto: strategies that want pieces, or the others */
    int again;  /* others were run on this case before */
} scaling_task;

/* scaling_options.c: adds what the words say to the defaults in a; variant is allocated. */
fe_status scaling_parse(int argc, char **argv, scaling_arguments *a);

/* Strategy i of the arguments on the task's backend, NULL where it has no table there; and whether it is
 * among those that the task is for now. */
const fe_assembly *scaling_table(const scaling_task *t, int i);
int scaling_belongs(const scaling_task *t, int i);

/* scaling_rank.c: times these strategies on a rank's piece; context: a scaling_task. Rank 0 writes the rows.
 */
fe_status scaling_run_rank(void *context, fe_comm *comm, fe_device *device);
/* Rows of cases that did not finish, with the status that the arguments give up with. */
fe_status scaling_write_off(const scaling_task *t, const fe_machine *machine);

#endif
