/* What a run of `solve` leaves: result, fields, curve, and the state that it can be resumed from, in an order
 * in which a run that is killed at any moment loses no accepted step: fields, curve, result, state. What is
 * older, the state, tells how much of the others counts. */
#ifndef BENCH_OUTPUT_H
#define BENCH_OUTPUT_H

#include "common/base/lock.h"
#include "common/report/curve.h"
#include "common/solver/run.h"

typedef struct output {
    /* set by the caller, which keeps them; NULL: not wanted */
    const char *result, *fields, *curve;
    int resumes, keeps_state, keeps_last; /* keeps_last: the state also when all is done */
    const fe_case *problem;
    fe_mesh *mesh;

    fe_identity identity;
    uint64_t run; /* which result, or else problem and mesh */
    char *state;  /* path, beside the result's; NULL where there is no result */
    fe_lock lock, series_lock, curve_lock;
    fe_checkpoint from; /* what the run goes on from; n_step 0: the beginning */
    int first_field;    /* of the series, -1: there is none */
    fe_result_file file;
    fe_series series;
    fe_curve rows; /* of the curve */
} output;

/* Locks the result, before anything of it is read. FE_BAD_INPUT where another run writes it. Only the first
 * process of a run calls this. */
fe_status output_lock(output *o);
/* FE_BAD_INPUT where output would replace what it is computed from: the problem, or the mesh of this path. */
fe_status output_spares_inputs(output *o, const char *mesh);
/* With the mesh as it was read: what the run is a run of, and the state that it goes on from. *done: the
 * result is there, and complete. */
fe_status output_identify(output *o, int order, int tet_points, int *done);
/* FE_BAD_INPUT where this process has read, or identified, something else than rank 0. Each of several calls
 * it. */
fe_status output_agree(const output *o, const fe_mpi *mpi, int done);
/* Opens the files; nothing is written yet. r: with problem, mesh and boundary. FE_BAD_INPUT where a series of
 * this name is another run's. */
fe_status output_open(output *o, const fe_result *r);
/* Before the first step, from where on an older result is replaced: fields are those of the undeformed mesh.
 */
fe_status output_begin(output *o, const fe_result *r, const fe_fields *fields);
/* After each step, then with the state. */
fe_status output_step(output *o, const fe_result *r, const fe_step_result *step, const fe_fields *fields);
fe_status output_keep(output *o, fe_checkpoint *state);
/* At the end, with the final status. */
fe_status output_end(output *o, const fe_result *r);
void output_close(output *o);

#endif
