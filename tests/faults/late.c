/* In the place of fe_apply (linked with --wrap): its result is wrong from some call on, by a thousandth, as
 * where something is overwritten while it is timed. For tests that answers are checked after they were timed,
 * too.
 *
 *   FE_LATE=KIND:N   the N-th and later calls, counted from 1; KIND: residual, jacvec */
#include "common/problem/apply.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

fe_status __real_fe_apply(const fe_problem *p, const fe_assembly *a, void *work, fe_comm *comm,
                          fe_forces forces, int phase, double *x, double *y);

static int is_late(const char *kind)
{
    static atomic_long seen;
    const char *text = getenv("FE_LATE");
    const size_t n = strlen(kind);
    if (!text || strncmp(text, kind, n) || text[n] != ':') return 0;
    return atomic_fetch_add(&seen, 1) + 1 >= atol(text + n + 1);
}

fe_status __wrap_fe_apply(const fe_problem *p, const fe_assembly *a, void *work, fe_comm *comm,
                          fe_forces forces, int phase, double *x, double *y)
{
    FE_TRY(__real_fe_apply(p, a, work, comm, forces, phase, x, y));
    if (!is_late(forces == a->residual ? "residual" : "jacvec")) return FE_OK;
    const size_t n = 3 * (size_t)p->view.n_owned;
    return p->device->ops->vector.scale(p->device, n, 1.001, y);
}
