/* A rank of the program `scaling` at work on a case: what scaling_rank.c opens and scaling_times.c times. */
#ifndef BENCH_SCALING_RANK_H
#define BENCH_SCALING_RANK_H

#include "bench/conditions.h"
#include "bench/scaling.h"
#include "bench/workload.h"
#include "common/krylov/krylov.h"
#include "common/report/row.h"

typedef struct scaling_bench {
    const scaling_task *task;
    fe_comm *comm;
    fe_device *device;
    bench_workload c;
    fe_krylov krylov[FE_N_BASIS];
    fe_krylov_result result; /* of the last solve */
    double *scalar, *b, *x, *y;
    const fe_assembly *assembly; /* the current strategy and its work */
    void *work;
    char mesh[96], device_name[128];
    fe_row row;              /* of the current strategy; "none": of what belongs to no strategy */
    bench_conditions around; /* of rank 0 */
} scaling_bench;

/* Checks and times exchanges and sums. */
fe_status scaling_time_shared(scaling_bench *b);
/* Sets up all strategies that belong to the task, then checks and times one operation after the other, each
 * of all strategies in turns. */
fe_status scaling_time_variants(scaling_bench *b);

#endif
