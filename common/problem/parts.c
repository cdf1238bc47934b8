#include "common/problem/parts.h"

typedef struct parts {
    const fe_problem *problem;
    void *work;
    fe_comm *comm;
    fe_forces forces;
    double *x, *y;
} parts;

static fe_status part(const parts *p, fe_part part)
{
    return p->forces(p->problem, p->work, part, p->x, p->y);
}

static fe_status enter(fe_device *d, int phase)
{
    return phase < FE_N_PHASE ? d->ops->phase(d, phase) : FE_OK;
}

/* begin or end of the exchange */
static fe_status exchange(const parts *p, fe_status (*step)(fe_comm *, double *), int phase)
{
    FE_TRY(enter(p->problem->device, phase < FE_N_PHASE ? FE_PHASE_EXCHANGE : phase));
    FE_TRY(step(p->comm, p->x));
    return enter(p->problem->device, phase);
}

static fe_status in_turn(const parts *p, int border, int phase)
{
    if (p->comm) FE_TRY(exchange(p, p->comm->exchange_begin, phase));
    FE_TRY(part(p, FE_INTERIOR));
    if (p->comm) FE_TRY(exchange(p, p->comm->exchange_end, phase));
    return border ? part(p, FE_BORDER) : FE_OK;
}

static fe_status exchange_and_border(const parts *p)
{
    if (p->comm) FE_TRY(fe_comm_exchange(p->comm, p->x));
    return part(p, FE_BORDER);
}

static fe_status side_by_side(const parts *p)
{
    fe_device *d = p->problem->device;
    FE_TRY(d->ops->beside_begin(d));
    const fe_status status = exchange_and_border(p), ended = d->ops->beside_end(d);
    FE_TRY(status);
    FE_TRY(ended);
    FE_TRY(part(p, FE_INTERIOR));
    return d->ops->join(d);
}

fe_status fe_both_parts(const fe_problem *p, const fe_assembly *a, void *work, fe_comm *comm,
                        fe_forces forces, int phase, double *x, double *y)
{
    const fe_view *m = &p->view;
    const fe_backend *ops = p->device->ops;
    const int border = m->n_elem > m->n_elem_interior || m->n_owned > m->n_node_interior;
    const parts all = {p, work, comm, forces, x, y};
    FE_TRY(enter(p->device, phase));
    if (!(a->traits & FE_STORES)) FE_TRY(ops->zero(p->device, 3 * (size_t)m->n_local * sizeof *y, y));
    return border && a->traits & FE_INDEPENDENT && ops->beside_begin ? side_by_side(&all)
                                                                     : in_turn(&all, border, phase);
}
