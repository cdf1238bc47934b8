/* What tables of mixed and single precision need of a problem besides itself: its tangent, and in single
 * precision its coordinates, in floats. */
#include "common/backend/device.h"
#include "common/variant.h"

#include <stdlib.h>

/* Far from the origin floats would not tell neighbouring nodes apart, so coordinates are those from the mean.
 */
static void round_coordinates(const double *x, size_t n, float *rounded)
{
    double mean[3] = {0.0, 0.0, 0.0};
    for (size_t i = 0; i < 3 * n; i++) mean[i % 3] += x[i] / (double)n;
    for (size_t i = 0; i < 3 * n; i++) rounded[i] = (float)(x[i] - mean[i % 3]);
}

static fe_status open_coordinates(fe_problem *p)
{
    fe_device *d = p->device;
    const size_t n = (size_t)p->view.n_local;
    double *x = NULL;
    float *rounded = NULL;
    FE_ALLOCATE(x, 3 * n, "coordinates in floats");
    fe_status status = fe_allocate(3 * n, sizeof *rounded, "coordinates in floats", (void **)&rounded);
    if (status == FE_OK) status = d->ops->memory.download(d, 3 * n * sizeof *x, p->view.x, x);
    if (status == FE_OK) {
        round_coordinates(x, n, rounded);
        status = fe_device_upload(d, 3 * n, sizeof *rounded, rounded, "coordinates in floats",
                                  (void **)&p->floats.x);
    }
    free(x), free(rounded);
    return status;
}

fe_status fe_problem_open_floats(fe_problem *p, int precision)
{
    const size_t n = (size_t)FE_N_TANGENT * (size_t)fe_points(p->kind) * (size_t)p->view.ld;
    if (precision == FE_DOUBLE) return FE_OK;
    if (!p->floats.tangent)
        FE_TRY(fe_device_allocate(p->device, n, sizeof *p->floats.tangent, "tangent in floats",
                                  (void **)&p->floats.tangent));
    return precision == FE_SINGLE && !p->floats.x ? open_coordinates(p) : FE_OK;
}

fe_problem fe_problem_in(const fe_problem *p, int precision)
{
    fe_problem in = *p;
    if (precision != FE_DOUBLE) in.view.tangent = (void *)p->floats.tangent;
    if (precision == FE_SINGLE) in.view.x = (void *)p->floats.x;
    return in;
}

fe_status fe_assembly_set_up(const fe_assembly *a, fe_problem *p, void **work)
{
    *work = NULL;
    if (!fe_precision_has(a->precision, p->kind))
        return fe_fail(FE_BAD_INPUT, "%s: there is no %s precision of these elements, only of tet4 and hex8",
                       fe_kind_name(p->kind), fe_precision_name(a->precision));
    FE_TRY(fe_problem_open_floats(p, a->precision));
    return a->setup ? a->setup(p, work) : FE_OK;
}
