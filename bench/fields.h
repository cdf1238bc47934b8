/* Displacements and committed states of a benchmark case.
 *
 * The box is [0, 1]³ of steel (MPa). Clustered: a displacement that shears the slab z < plastic takes that
 * slab to twice the yield strain (committed) and then to four times (trial); elsewhere, and on top, nodes
 * move at random by a tenth of the yield strain. Scattered: nodes only move at random, and each element is
 * chosen with probability `plastic` to hold a committed plastic strain of three times the yield strain, as if
 * such a shear had left it behind. The stress of this strain takes the element, and none of its neighbours,
 * beyond yield. In both cases the plastic elements have a committed state and a softened tangent, and the
 * others have neither. The direction vectors of jacvec are random. */
#ifndef BENCH_FIELDS_H
#define BENCH_FIELDS_H

#include "bench/case.h"

#define BENCH_YOUNG 200e3 /* the steel */
#define BENCH_POISSON 0.3
#define BENCH_YIELD 250.0
#define BENCH_HARDENING 2000.0

/* Three numbers in [-1, 1] for a tag and a seed, the same on every rank. Seed 3 is that of the direction. */
void bench_random_vector(int64_t node, uint64_t seed, double out[3]);
/* Displacement of step 0 (committed) or 1: the slab z < plastic sheared, and a random part. */
void bench_displacement(const bench_box *box, int cells, int step, int64_t node, const double x[3],
                        double u[3]);
/* Scattered: committed state of point q of the element with tag e, as fe_state stores it; 0 where it was not
 * chosen. */
void bench_scattered_state(const bench_box *box, int64_t e, int q, double state[FE_N_STATE]);

/* Fills u, v and both states of the case. mesh: the piece that the case was made of. */
fe_status bench_upload_fields(bench_case *c, const fe_mesh *mesh);

#endif
