/* `element_only` is the element kernel of element_atomic without its sums, from the same physics header, with
 * its reads and its arithmetic; of a Hex27 on the device, which no thread can hold, it is that of
 * element_team. Forces are not added to anything. So it has no result to check and is not a strategy: only
 * `kernels` has it. Only residual and jacvec are timed. A strategy that reads in a better order can be
 * faster. */
#ifndef BENCH_ELEMENT_ONLY_H
#define BENCH_ELEMENT_ONLY_H

#include "common/physics/lanes.h"

/* Computes the forces of the elements e, but does not keep them: y is written only if they are not numbers,
 * which the compiler cannot exclude. */
FE_BODY void bench_element_only_forces(int kind, int op, const fe_view *m, fe_index e,
                                       const fe_number *displacement, fe_number *y)
{
    fe_index node[FE_MOST_CORNERS];
    fe_real x[FE_MOST_CORNERS][3], f[FE_MOST_CORNERS][3], force[FE_MOST_CORNERS][3], sum = fe_splat(FE_EMPTY);
    const fe_element element = fe_element_load(kind, m, e, fe_no_turn(), node, x);
    fe_element_read(kind, node, displacement, f);
    fe_element_forces(kind, op, m, element, x, f, force);
    FE_UNROLL_FOR (int b = 0; b < fe_corners(kind); b++)
        FE_UNROLL_FOR (int c = 0; c < 3; c++) sum += force[b][c];
    if (fe_any(sum != sum)) y[0] = NAN;
}

#ifdef __CUDACC__
/* The same of a Hex27 on a warp. */
FE_BODY void bench_element_only_warp(int op, const fe_view *m, int e, const fe_number *displacement,
                                     fe_number *y)
{
    const int node = m->conn[(size_t)fe_hex27_lane() * m->ld + e];
    fe_real x[3], u[3], force[3];
    fe_read3(fe_coordinates(m), node, x);
    fe_read3(displacement, node, u);
    fe_hex27_warp_forces(op, m, fe_element_open(m, e, fe_no_turn()), x, u, force);
    const fe_real sum = force[0] + force[1] + force[2];
    if (sum != sum) y[0] = NAN;
}
#endif

#endif
