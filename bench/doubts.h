/* What `solve` says, in one line each and once, where an answer was accepted and may yet be far off: elements
 * that lock, meshes far from the origin, probes far from the mesh, loads below the tolerance, contact whose
 * nodes were passed or cannot give way. */
#ifndef BENCH_DOUBTS_H
#define BENCH_DOUBTS_H

#include "common/report/result.h"

typedef struct doubts {
    int tet_points; /* of a Tet4; all else begins at 0 */
    int said_locking, said_balance, said_passed, said_overlap;
    double largest_load; /* so far: a component of the sum of all loads */
} doubts;

/* Before the first load step. FE_OUT_OF_MEMORY is its only error. */
fe_status doubts_begin(doubts *d, const fe_result *r);
/* After each accepted load step. */
void doubts_step(doubts *d, const fe_result *r, const fe_step_result *step);
/* Where Poisson's ratio may be why a step was given up, the message gets it. */
void doubts_explain(const fe_result *r, char message[FE_MESSAGE_LENGTH]);

#endif
