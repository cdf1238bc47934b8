/* Chebyshev sweeps on block-Jacobi, and the first of them, which Krylov methods make in passing: one body for
 * both backends. */
#ifndef FE_CHEBYSHEV_H
#define FE_CHEBYSHEV_H

#include "common/base/fe.h"

typedef struct fe_sweep {
    float old_factor, new_factor;
} fe_sweep;

/* The finest level's first sweep: b = exact_b as floats, direction = x = new D^-1 b. Of n nodes; D^-1 of one
 * is xx yy zz xy yz xz. */
typedef struct fe_fine_start {
    int n;
    const float *inverse;
    fe_sweep sweep;
    float *b, *direction, *x;
} fe_fine_start;

/* y = D^-1 r of one node of the finest level, one body for both backends. */
FE_BOTH void fe_apply_six(const float *D, const float r[3], float y[3])
{
    y[0] = D[0] * r[0] + D[3] * r[1] + D[5] * r[2];
    y[1] = D[3] * r[0] + D[1] * r[1] + D[4] * r[2];
    y[2] = D[5] * r[0] + D[4] * r[1] + D[2] * r[2];
}

/* The first sweep of node i, from its three numbers r of the right-hand side. */
FE_BOTH void fe_fine_start_node(const fe_fine_start *s, int i, const double r[3])
{
    const size_t at = 3 * (size_t)i;
    float y[3];
    for (int c = 0; c < 3; c++) s->b[at + (size_t)c] = (float)r[c];
    fe_apply_six(s->inverse + 2 * at, s->b + at, y);
    for (int c = 0; c < 3; c++)
        s->x[at + (size_t)c] = s->direction[at + (size_t)c] = s->sweep.new_factor * y[c];
}

#endif
