/* The state of a real part as a condition of operations: what `solve` leaves beside its result after a load
 * step (common/report/checkpoint.h). Operations start from the committed state of its points, at the
 * committed displacement and the last increment once more, where Newton's method begins the next load step.
 */
#ifndef BENCH_PART_H
#define BENCH_PART_H

#include "common/mesh/mesh.h"
#include "common/physics/material.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bench_part {
    fe_material material;
    double flows; /* share of elements that do in the operations, to two digits; who opens it counts them */
    int n_point;  /* of an element */
    const double *displacement, *increment; /* [n_node][3] of the mesh */
    const double *point;                    /* [elements that have yielded][n_point][FE_N_STATE] */
    int *place;                             /* [n_elem] of each among these, -1: it has not */
    struct fe_checkpoint *state;            /* which the arrays are in */
} bench_part;

/* Reads the state and the problem that it is of. FE_BAD_INPUT: a state that is damaged, or that of another
 * version, problem or mesh than these; one without a load step, or whose last one moved nothing; a problem of
 * several materials or without linear hardening. A build without jansson, muParser or zlib refuses all
 * (bench/first/no_part.c). */
fe_status bench_part_open(const char *problem, const char *state, const fe_mesh *mesh, bench_part *p);
/* Accepts a zeroed object. */
void bench_part_close(bench_part *p);

#ifdef __cplusplus
}
#endif
#endif
