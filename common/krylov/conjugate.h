/* Scalars of preconditioned conjugate gradients with one sum per iteration (Chronopoulos & Gear, J. Comput.
 * Appl. Math. 25, 1989), one body for both backends.
 *
 * With u = M r and w = A u, gamma = r·u and delta = w·u:
 *
 *     beta = gamma / last gamma      p·A p = delta - beta gamma / last alpha      alpha = gamma / p·A p
 *     p = u + beta p      s = w + beta s (= A p)      x += alpha p      r -= alpha s
 *
 * Each iteration reads a block of FE_CG_SIZE numbers and writes another one, or the same. An iteration
 * that detects the end changes no vector, and neither does any later one, so the host may enqueue iterations
 * before it knows the residual. r·r is negative after a direction without positive curvature, and NaN after a
 * number that is not finite. */
#ifndef FE_CONJUGATE_H
#define FE_CONJUGATE_H

#include "common/base/fe.h"

enum {
    FE_CG_GAMMA,      /* r·u of this iteration */
    FE_CG_DELTA,      /* w·u of this iteration */
    FE_CG_SQUARE,     /* r·r */
    FE_CG_LAST_GAMMA, /* of the iteration before, 0 in the first */
    FE_CG_LAST_ALPHA,
    FE_CG_FIRST, /* r·r of the first iteration, 0 in that one */
    FE_CG_SHARE, /* of it at which iterations end */
    FE_CG_END,   /* 1: it has ended */
    FE_CG_COUNT, /* iterations before this one, those after the end, too */
    FE_CG_SIZE
};

typedef struct fe_cg_step {
    double alpha, beta;
    double square; /* the next r·r where it has ended: nothing is summed then */
    int end;
} fe_cg_step;

FE_BOTH double fe_cg_first(const double *from)
{
    return from[FE_CG_FIRST] > 0.0 ? from[FE_CG_FIRST] : from[FE_CG_SQUARE];
}

FE_BOTH fe_cg_step fe_cg_step_of(const double *from)
{
    const double gamma = from[FE_CG_GAMMA], delta = from[FE_CG_DELTA], square = from[FE_CG_SQUARE];
    const double beta = from[FE_CG_LAST_GAMMA] > 0.0 ? gamma / from[FE_CG_LAST_GAMMA] : 0.0;
    const double curvature = beta != 0.0 ? delta - beta * gamma / from[FE_CG_LAST_ALPHA] : delta;
    fe_cg_step step = {0.0, beta, square, 1};
    if (from[FE_CG_END] != 0.0 || square <= from[FE_CG_SHARE] * fe_cg_first(from)) return step;
    if (!isfinite(gamma) || !isfinite(delta) || !isfinite(square)) {
        step.square = (double)NAN;
        return step;
    }
    step.square = -1.0;
    if (!(gamma > 0.0 && curvature > 0.0)) return step;
    step.alpha = gamma / curvature, step.end = !isfinite(step.alpha);
    return step;
}

/* The scalars of the first iteration except r·r. */
FE_BOTH void fe_cg_begin(double share, double *to)
{
    for (int i = 0; i < FE_CG_SIZE; i++)
        if (i != FE_CG_SQUARE) to[i] = i == FE_CG_SHARE ? share : 0.0;
}

/* All that the next iteration reads except r·r. */
FE_BOTH void fe_cg_pass(const double *from, const fe_cg_step *step, double *to)
{
    to[FE_CG_LAST_GAMMA] = from[FE_CG_GAMMA], to[FE_CG_LAST_ALPHA] = step->alpha;
    to[FE_CG_COUNT] = from[FE_CG_COUNT] + 1.0;
    to[FE_CG_FIRST] = fe_cg_first(from), to[FE_CG_SHARE] = from[FE_CG_SHARE], to[FE_CG_END] = step->end;
}

/* Of the two places where r·r lands in turn, that after so many iterations. */
FE_BOTH double *fe_cg_landing(double *landing, double iterations)
{
    return landing + (int64_t)iterations % 2;
}

#endif
