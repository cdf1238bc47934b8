/* A run of `solve` in this process: what its ranks share, and what they show of it. */
#ifndef FE_RUN_SHARED_H
#define FE_RUN_SHARED_H

#include "common/problem/state.h"
#include "common/solver/restart.h"
#include "common/solver/solver.h"

#include <pthread.h>

/* What the ranks of this process share. Field arrays are the mesh's; ranks write disjoint entries. */
typedef struct fe_run {
    const fe_case *problem;
    const fe_mesh *mesh;
    const fe_boundary *boundary;
    const fe_options *options;
    fe_benchmark benchmark;
    const fe_observer *observer;
    fe_result *result;
    fe_partition partition;
    fe_arrangement arrangement; /* of the order auto */
    double prepare_seconds;     /* partition and order */
    int abandoned;              /* a rank's thread did not end, or MPI may still write to its memory */
    int n_shown;                /* steps that rank 0's observer has seen: these are not taken back */
    pthread_mutex_t showing;    /* held while it sees one */
    fe_ending ending;           /* as rank 0 found it, with all others */
    const fe_backend *backend;
    const fe_variant *variant;
    fe_direct direct; /* where a rank needed it */
    double *displacement, *reaction_force;
    double *element_fields[FE_N_OUT], *tensors[3]; /* by FE_OUT_…; the first fields are those of tensors */
    double *nodal_stress, *point_stress;           /* where the observer wants them */
    double *contact[3];                            /* fe_fields.contact */
    int *element_rank;                             /* lowest owner of a corner */
    fe_checkpoint kept;                            /* where the observer wants it */
} fe_run;

/* Element kind with the options' number of integration points. */
int fe_run_kind(const fe_run *r);

/* Fields that the observer wants: FE_FIELDS_..., and their arrays. */
int fe_run_wants(const fe_run *r);
fe_status fe_run_fields_open(fe_run *r);
void fe_run_fields_close(fe_run *r);

/* On all ranks: the accepted step, or NULL before the first, is shown to the observer by rank 0. */
fe_status fe_run_observe(fe_solver *s, fe_run *r, const fe_step_result *record);

#endif
