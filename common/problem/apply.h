/* One operation of a strategy on its rank: both parts, and the exchange of the ghosts that the border part
 * reads. */
#ifndef FE_APPLY_H
#define FE_APPLY_H

#include "common/ranks/comm.h"
#include "common/variant.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The residual or jacvec of a strategy's table. */
typedef fe_status (*fe_forces)(const fe_problem *p, void *work, fe_part part, const void *displacement,
                               void *y);

/* y = forces(displacement, or the direction of jacvec) of a table in double or mixed precision; ghost rows of
 * y are undefined. The input's ghosts are refreshed, or left as they are where comm is NULL. The interior is
 * computed during the exchange. The border runs after it, or on the side stream where the strategy and the
 * backend allow that. Time counts for `phase` (FE_PHASE_...), except that what the stream spends on the
 * exchange before and after the interior counts for FE_PHASE_EXCHANGE; with FE_N_PHASE no phase is set. */
fe_status fe_apply(const fe_problem *p, const fe_assembly *a, void *work, fe_comm *comm, fe_forces forces,
                   int phase, double *displacement, double *y);
/* The same for a y whose owned rows the caller has cleared, if the strategy adds to them (not FE_STORES). */
fe_status fe_apply_cleared(const fe_problem *p, const fe_assembly *a, void *work, fe_comm *comm,
                           fe_forces forces, int phase, double *displacement, double *y);
/* fe_apply of a table in single precision, whose vectors are floats, on one rank: nothing is exchanged. */
fe_status fe_apply_single(const fe_problem *p, const fe_assembly *a, void *work, fe_forces forces,
                          const float *displacement, float *y);
/* The same on several ranks, for a y that is cleared in the same way. Ghosts are exchanged as doubles in
 * `exchanged` [n_local][3], which is scratch, unless the communicator exchanges floats. */
fe_status fe_apply_single_cleared(const fe_problem *p, const fe_assembly *a, void *work, fe_comm *comm,
                                  fe_forces forces, int phase, float *displacement, float *y,
                                  double *exchanged);
/* Refreshes the ghosts of x [n_local][3] in the same way. */
fe_status fe_exchange_single(const fe_problem *p, fe_comm *comm, float *x, double *exchanged);

#ifdef __cplusplus
}
#endif
#endif
