/* One operation of a strategy on its rank: both parts, and the refresh of the ghosts that the second reads.
 */
#ifndef FE_PROBLEM_PARTS_H
#define FE_PROBLEM_PARTS_H

#include "common/ranks/comm.h"
#include "common/variant.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The residual or jacvec of a strategy's table. */
typedef fe_status (*fe_forces)(const fe_problem *p, void *work, fe_part part, const double *x, double *y);

/* y = forces(x), ghost rows of y undefined; x's ghosts are refreshed, or left as they are where comm is NULL.
 * The interior is computed while they travel, and the border behind it, or where the strategy and the backend
 * can beside it. Time counts for `phase` (FE_PHASE_...), and for FE_PHASE_EXCHANGE what the stream spends on
 * the exchange before and behind the interior; with FE_N_PHASE no phase is entered. */
fe_status fe_both_parts(const fe_problem *p, const fe_assembly *a, void *work, fe_comm *comm,
                        fe_forces forces, int phase, double *x, double *y);

#ifdef __cplusplus
}
#endif
#endif
