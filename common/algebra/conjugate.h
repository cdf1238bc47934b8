/* Scalars of preconditioned conjugate gradients with one sum per iteration (Chronopoulos & Gear, J. Comput.
 * Appl. Math. 25, 1989), one body for both backends.
 *
 * With u = M r and w = A u, gamma = r·u and delta = w·u:
 *
 *     beta = gamma / last gamma      p·A p = delta - beta gamma / last alpha      alpha = gamma / p·A p
 *     p = u + beta p      s = w + beta s (= A p)      x += alpha p      r -= alpha s
 *
 * There are two blocks of FE_CG_SIZE numbers: each iteration reads one and writes the other. An iteration
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
    FE_CG_TARGET, /* r·r at which iterations end */
    FE_CG_END,    /* 1: it has ended */
    FE_CG_SIZE = 8
};

typedef struct fe_cg_step {
    double alpha, beta;
    double square; /* r·r in the other block where it has ended: nothing is summed then */
    int end;
} fe_cg_step;

FE_BOTH fe_cg_step fe_cg_step_of(const double *from)
{
    const double gamma = from[FE_CG_GAMMA], delta = from[FE_CG_DELTA], square = from[FE_CG_SQUARE];
    const double beta = from[FE_CG_LAST_GAMMA] > 0.0 ? gamma / from[FE_CG_LAST_GAMMA] : 0.0;
    const double curvature = beta != 0.0 ? delta - beta * gamma / from[FE_CG_LAST_ALPHA] : delta;
    fe_cg_step step = {0.0, beta, square, 1};
    if (from[FE_CG_END] != 0.0 || square <= from[FE_CG_TARGET]) return step;
    if (!isfinite(gamma) || !isfinite(delta) || !isfinite(square)) {
        step.square = (double)NAN;
        return step;
    }
    step.square = -1.0;
    if (!(gamma > 0.0 && curvature > 0.0)) return step;
    step.alpha = gamma / curvature, step.end = !isfinite(step.alpha);
    return step;
}

/* What became of a solve, and what is known of it so far. */
enum { FE_CG_GOES_ON, FE_CG_CONVERGED, FE_CG_BREAKDOWN, FE_CG_STAGNATED, FE_CG_NOT_FINITE };
typedef struct fe_cg_progress {
    double target;               /* r·r at which it ends */
    double last;                 /* r·r after the last iteration, if that is a number, */
    double before;               /* and after the one before */
    double least;                /* the smallest r·r, */
    int least_at;                /* and the iteration that reached it */
    int iterations, most, state; /* most: where a loop on the device ends at the latest */
} fe_cg_progress;

/* Whether the iteration behind the last one will hardly reach the target, if r·r goes on to fall as it did.
 */
FE_BOTH int fe_cg_is_far(const fe_cg_progress *p)
{
    const double rate = p->iterations ? p->last / p->before : 0.01;
    return p->last * (rate < 1.0 ? rate : 1.0) > 10.0 * p->target;
}

/* Notes an iteration that left `square`. CG's residual may grow for many iterations before it falls. If the
 * smallest one was reached in n iterations, CG stagnates when n + 5000 more have not improved it. */
FE_BOTH void fe_cg_note(fe_cg_progress *p, double square)
{
    if (p->state != FE_CG_GOES_ON) return;
    p->iterations++;
    if (square < 0.0 || !isfinite(square)) {
        p->state = square < 0.0 ? FE_CG_BREAKDOWN : FE_CG_NOT_FINITE;
        return;
    }
    p->before = p->last, p->last = square;
    if (square < p->least) p->least = square, p->least_at = p->iterations;
    if (square <= p->target)
        p->state = FE_CG_CONVERGED;
    else if (p->iterations >= 2 * p->least_at + 5000)
        p->state = FE_CG_STAGNATED;
}

/* All of the other block except r·r. */
FE_BOTH void fe_cg_pass(const double *from, const fe_cg_step *step, double *to)
{
    to[FE_CG_LAST_GAMMA] = from[FE_CG_GAMMA], to[FE_CG_LAST_ALPHA] = step->alpha;
    to[FE_CG_TARGET] = from[FE_CG_TARGET], to[FE_CG_END] = step->end;
}

#endif
