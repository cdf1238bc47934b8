/* What tables of mixed and single precision need of a problem besides itself: its tangent, and in single
 * precision its coordinates, in floats. */
#include "common/backend/device.h"
#include "common/variant.h"

/* Far from the origin floats would not tell neighbouring nodes apart, so coordinates are those from one node.
 */
fe_status fe_problem_open_coordinates(fe_problem *p)
{
    fe_device *d = p->device;
    const int n = p->view.n_local;
    if (p->floats.x) return FE_OK;
    FE_TRY(fe_device_reserve(d, 3 * (size_t)n, sizeof *p->floats.x, "coordinates in floats",
                             (void **)&p->floats.x));
    return d->ops->vector.round_nodes(d, n, n / 2, p->view.x, p->floats.x);
}

fe_status fe_problem_open_floats(fe_problem *p, int precision)
{
    const size_t n = (size_t)FE_N_TANGENT * (size_t)fe_points(p->kind) * (size_t)p->view.ld;
    if (precision == FE_DOUBLE) return FE_OK;
    if (!p->floats.tangent)
        FE_TRY(fe_device_allocate(p->device, n, sizeof *p->floats.tangent, "tangent in floats",
                                  (void **)&p->floats.tangent));
    return precision == FE_SINGLE ? fe_problem_open_coordinates(p) : FE_OK;
}

fe_problem fe_problem_in(const fe_problem *p, int precision)
{
    fe_problem in = *p;
    if (precision != FE_DOUBLE) in.view.tangent = (void *)p->floats.tangent;
    if (precision == FE_SINGLE) in.view.x = (void *)p->floats.x;
    return in;
}

static fe_status check_kind(const fe_assembly *a, const fe_problem *p, int elastic)
{
    if (!fe_precision_has(a->precision, p->kind) && !(elastic && fe_is_quadratic(p->kind)))
        return fe_fail(FE_BAD_INPUT, "%s: there is no %s precision of these elements, only of tet4 and hex8",
                       fe_kind_name(p->kind), fe_precision_name(a->precision));
    if (fe_is_quadratic(p->kind) && !a->quadratic)
        return fe_fail(FE_BAD_INPUT, "%s: this strategy does not compute quadratic elements%s",
                       fe_kind_name(p->kind), FE_HAVE_QUADRATIC ? "" : ", which are not in this build");
    return FE_OK;
}

fe_status fe_assembly_set_up(const fe_assembly *a, fe_problem *p, void **work)
{
    *work = NULL;
    FE_TRY(check_kind(a, p, 0));
    FE_TRY(fe_problem_open_floats(p, a->precision));
    return a->setup ? a->setup(p, work) : FE_OK;
}

fe_status fe_assembly_set_up_elastic(const fe_assembly *single, fe_problem *p, void *in_double, void **work)
{
    *work = NULL;
    FE_TRY(check_kind(single, p, 1));
    FE_TRY(fe_problem_open_coordinates(p));
    if (single->setup_from) return single->setup_from(p, in_double, work);
    return single->setup ? single->setup(p, work) : FE_OK;
}
