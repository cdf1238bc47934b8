/* Both parts of an operation on a rank: one after the other, or the border and its exchange on the side
 * stream while the interior runs. */
#include "common/problem/apply.h"

typedef struct application {
    fe_problem problem; /* in the table's precision */
    const fe_assembly *assembly;
    void *work;
    fe_comm *comm;
    fe_forces forces;
    double *displacement, *y;
    size_t number; /* bytes of one of theirs */
    int cleared;   /* y is, where the strategy needs it */
} application;

static fe_status compute(const application *p, fe_part part)
{
    const fe_status status = p->forces(&p->problem, p->work, part, p->displacement, p->y);
    p->problem.device->overlaps = 0;
    return status;
}

static fe_status clear(const application *p)
{
    fe_device *d = p->problem.device;
    if (p->cleared || p->assembly->traits & FE_STORES) return FE_OK;
    return d->ops->memory.clear(d, 3 * (size_t)p->problem.view.n_local * p->number, p->y);
}

static fe_status enter(fe_device *d, int phase)
{
    return phase < FE_N_PHASE ? d->ops->phase(d, phase) : FE_OK;
}

/* begin or end of the exchange */
static fe_status exchange(const application *p, fe_status (*step)(fe_comm *, int, double *), int phase)
{
    FE_TRY(enter(p->problem.device, phase < FE_N_PHASE ? FE_PHASE_EXCHANGE : phase));
    FE_TRY(step(p->comm, FE_HALO_NODES, p->displacement));
    return enter(p->problem.device, phase);
}

static fe_status in_turn(const application *p, int border, int phase)
{
    if (p->comm) FE_TRY(exchange(p, p->comm->ops->exchange_begin, phase));
    FE_TRY(clear(p));
    FE_TRY(compute(p, FE_INTERIOR));
    if (p->comm) FE_TRY(exchange(p, p->comm->ops->exchange_end, phase));
    return border ? compute(p, FE_BORDER) : FE_OK;
}

static fe_status exchange_and_border(const application *p)
{
    if (p->comm) FE_TRY(fe_comm_exchange(p->comm, FE_HALO_NODES, p->displacement));
    return compute(p, FE_BORDER);
}

static fe_status side_by_side(const application *p)
{
    fe_device *d = p->problem.device;
    FE_TRY(clear(p)); /* both add to it */
    d->overlaps = 0;
    FE_TRY(d->ops->side.begin(d));
    const fe_status status = exchange_and_border(p), ended = d->ops->side.end(d);
    FE_TRY(status);
    FE_TRY(ended);
    FE_TRY(compute(p, FE_INTERIOR));
    return d->ops->side.join(d);
}

static fe_status run(const application *all, int phase)
{
    const fe_device *d = all->problem.device;
    const fe_view *m = &all->problem.view;
    const int border = m->n_elem > m->n_elem_interior || m->n_owned > m->n_node_interior,
              beside = border && all->assembly->traits & FE_INDEPENDENT && d->ops->side.begin;
    FE_TRY(enter(all->problem.device, phase));
    return beside ? side_by_side(all) : in_turn(all, border, phase);
}

fe_status fe_apply(const fe_problem *p, const fe_assembly *a, void *work, fe_comm *comm, fe_forces forces,
                   int phase, double *displacement, double *y)
{
    const application all = {
        fe_problem_in(p, a->precision), a, work, comm, forces, displacement, y, sizeof *y, 0};
    return run(&all, phase);
}

fe_status fe_apply_cleared(const fe_problem *p, const fe_assembly *a, void *work, fe_comm *comm,
                           fe_forces forces, int phase, double *displacement, double *y)
{
    const application all = {
        fe_problem_in(p, a->precision), a, work, comm, forces, displacement, y, sizeof *y, 1};
    return run(&all, phase);
}

fe_status fe_apply_single(const fe_problem *p, const fe_assembly *a, void *work, fe_forces forces,
                          const float *displacement, float *y)
{
    const application all = {fe_problem_in(p, FE_SINGLE), a,         work,      NULL, forces,
                             (void *)displacement,        (void *)y, sizeof *y, 0};
    return run(&all, FE_N_PHASE);
}
