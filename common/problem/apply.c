/* Both parts of an operation on a rank: one after the other, or the border and its exchange on the side
 * stream while the interior runs. */
#include "common/problem/apply.h"

typedef struct application {
    fe_problem problem; /* in the table's precision */
    const fe_assembly *assembly;
    void *work;
    fe_comm *comm;
    fe_forces forces;
    void *displacement, *y;
    size_t number;     /* bytes of one of theirs */
    int cleared;       /* y is, where the strategy needs it */
    double *exchanged; /* of floats: [n_local][3], for ghosts that are exchanged as doubles */
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

/* An exchange of floats: only nodes of the border are ghosts elsewhere. */
static fe_status begin_single(const fe_problem *p, fe_comm *comm, const float *x, double *exchanged)
{
    const size_t from = 3 * (size_t)p->view.n_node_interior, end = 3 * (size_t)p->view.n_owned;
    FE_TRY(p->device->ops->vector.widen(p->device, end - from, x + from, exchanged + from));
    return fe_comm_exchange_begin(comm, p->halo, exchanged);
}
static fe_status end_single(const fe_problem *p, fe_comm *comm, float *x, double *exchanged)
{
    const size_t from = 3 * (size_t)p->view.n_owned, end = 3 * (size_t)p->view.n_local;
    FE_TRY(fe_comm_exchange_end(comm, p->halo, exchanged));
    return p->device->ops->vector.narrow(p->device, end - from, exchanged + from, x + from);
}

static fe_status begin(const application *p)
{
    if (p->exchanged) return begin_single(&p->problem, p->comm, p->displacement, p->exchanged);
    return fe_comm_exchange_begin(p->comm, p->problem.halo, p->displacement);
}
static fe_status end(const application *p)
{
    if (p->exchanged) return end_single(&p->problem, p->comm, p->displacement, p->exchanged);
    return fe_comm_exchange_end(p->comm, p->problem.halo, p->displacement);
}

/* begin or end of the exchange */
static fe_status exchange(const application *p, fe_status (*step)(const application *), int phase)
{
    if (phase < FE_N_PHASE) FE_TRY(fe_comm_phase(p->comm, p->problem.device, FE_PHASE_EXCHANGE));
    FE_TRY(step(p));
    return enter(p->problem.device, phase);
}

static fe_status in_turn(const application *p, int border, int phase)
{
    if (p->comm) FE_TRY(exchange(p, begin, phase));
    FE_TRY(clear(p));
    FE_TRY(compute(p, FE_INTERIOR));
    if (p->comm) FE_TRY(exchange(p, end, phase));
    return border ? compute(p, FE_BORDER) : FE_OK;
}

static fe_status exchange_and_border(const application *p)
{
    if (p->comm && p->exchanged)
        FE_TRY(fe_exchange_single(&p->problem, p->comm, p->displacement, p->exchanged));
    else if (p->comm)
        FE_TRY(fe_comm_exchange(p->comm, p->problem.halo, p->displacement));
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
    const int border = fe_has_border(&all->problem.view),
              beside = border && all->assembly->traits & FE_INDEPENDENT && d->ops->side.begin;
    FE_TRY(enter(all->problem.device, phase));
    return beside ? side_by_side(all) : in_turn(all, border, phase);
}

static fe_status apply(const fe_problem *p, const fe_assembly *a, void *work, fe_comm *comm, fe_forces forces,
                       int phase, void *displacement, void *y, int cleared, double *exchanged)
{
    const application all = {.problem = fe_problem_in(p, a->precision),
                             .assembly = a,
                             .work = work,
                             .comm = comm,
                             .forces = forces,
                             .displacement = displacement,
                             .y = y,
                             .number = a->precision == FE_SINGLE ? sizeof(float) : sizeof(double),
                             .cleared = cleared,
                             .exchanged = exchanged};
    return run(&all, phase);
}

fe_status fe_apply(const fe_problem *p, const fe_assembly *a, void *work, fe_comm *comm, fe_forces forces,
                   int phase, double *displacement, double *y)
{
    return apply(p, a, work, comm, forces, phase, displacement, y, 0, NULL);
}

fe_status fe_apply_cleared(const fe_problem *p, const fe_assembly *a, void *work, fe_comm *comm,
                           fe_forces forces, int phase, double *displacement, double *y)
{
    return apply(p, a, work, comm, forces, phase, displacement, y, 1, NULL);
}

fe_status fe_apply_single(const fe_problem *p, const fe_assembly *a, void *work, fe_forces forces,
                          const float *displacement, float *y)
{
    return apply(p, a, work, NULL, forces, FE_N_PHASE, (void *)displacement, y, 0, NULL);
}

fe_status fe_apply_single_cleared(const fe_problem *p, const fe_assembly *a, void *work, fe_comm *comm,
                                  fe_forces forces, int phase, float *displacement, float *y,
                                  double *exchanged)
{
    return apply(p, a, work, comm, forces, phase, displacement, y, 1, exchanged);
}

fe_status fe_exchange_single(const fe_problem *p, fe_comm *comm, float *x, double *exchanged)
{
    if (comm->ops->exchange_single) {
        fe_comm_count_exchange(comm, p->halo, sizeof *x);
        return comm->ops->exchange_single(comm, p->halo, x);
    }
    FE_TRY(begin_single(p, comm, x, exchanged));
    return end_single(p, comm, x, exchanged);
}
