/* Which nodes of quadratic elements are vertices, and the problem of the linear elements on them: a view with
 * the same elements in the same order, of owned vertices and ghosts, and their halo. */
#include "common/multigrid/orders.h"
#include "common/problem/share.h"

#include <stdlib.h>
#include <string.h>

/* Arrays of the linear view, and of the transfer. The state is the one of the quadratic elements, of which an
 * elastic product reads nothing. */
static fe_status open_arrays(const fe_problem *p, const fe_order_counts *n, fe_orders *o)
{
    fe_device *d = p->device;
    fe_view *v = &o->problem.view;
    fe_order_transfer *t = &o->transfer;
    const size_t ld = (size_t)p->view.ld, corners = (size_t)fe_vertices(p->kind) * ld;
    t->n_up = p->view.n_owned, t->n_down = n->owned;
    FE_TRY(fe_device_allocate(d, 3 * (size_t)n->local + 8, sizeof *v->x, "vertices", (void **)&v->x));
    FE_TRY(fe_device_allocate(d, corners, sizeof *v->conn, "vertices", (void **)&v->conn));
    FE_TRY(fe_device_allocate(d, (size_t)n->owned + 1, sizeof *v->corner_first, "vertices",
                              (void **)&v->corner_first));
    /* each corner of each element at most, those of ghosts' included */
    FE_TRY(fe_device_allocate(d, corners, sizeof *v->corner, "vertices", (void **)&v->corner));
    FE_TRY(fe_device_allocate(d, (size_t)n->up, sizeof *t->up, "vertices", (void **)&t->up));
    FE_TRY(fe_device_allocate(d, (size_t)n->owned + 2, sizeof *t->down_first, "vertices",
                              (void **)&t->down_first));
    return fe_device_allocate(d, (size_t)n->up, sizeof *t->down, "vertices", (void **)&t->down);
}

/* Both ends of an exchange leave the nodes out that are no vertices, so their order stays that of all nodes.
 */
static fe_status open_halo(const fe_problem *p, const fe_halo *of, int size, fe_orders *o)
{
    fe_device *d = p->device;
    fe_halo *h = &o->halo;
    const int n = of->n_neighbor, n_local = p->view.n_local;
    int *number = NULL, *memory = NULL, sent = 0;
    FE_TRY(fe_device_keep(d, (3 * (size_t)size + 2 + (size_t)of->send_first[n]) * sizeof *memory, "halo",
                          (void **)&memory));
    *h = (fe_halo){n, memory, memory + size, memory + 2 * size + 1, memory + 3 * size + 2};
    FE_ALLOCATE(number, n_local + 1, "vertices");
    const fe_status status =
        d->ops->memory.download(d, ((size_t)n_local + 1) * sizeof *number, o->number, number);
    for (int i = 0; i <= n && status == FE_OK; i++) {
        h->ghost_first[i] = number[of->ghost_first[i]], h->send_first[i] = sent;
        if (i == n) break;
        h->neighbor[i] = of->neighbor[i];
        for (int k = of->send_first[i]; k < of->send_first[i + 1]; k++) {
            const int node = of->send_node[k];
            if (number[node + 1] > number[node]) h->send_node[sent++] = number[node];
        }
    }
    free(number);
    return status;
}

static fe_status find_vertices(const fe_problem *p, void *own, fe_orders *o)
{
    const fe_order_steps *steps = fe_order_steps_of(p->device);
    fe_order_counts n;
    o->problem = *p;
    o->problem.kind = fe_linear_kind(p->kind), o->problem.halo = FE_HALO_VERTICES;
    o->problem.floats = (fe_floats){0};
    FE_TRY(fe_problem_keep_mesh(&o->problem));
    FE_TRY(steps->find(own, p, o, &n));
    fe_view *v = &o->problem.view;
    v->n_owned = n.owned, v->n_local = n.local, v->n_node_interior = n.interior;
    v->elastic = 1, v->tangent = NULL, v->full = NULL, v->committed.point = v->trial.point = NULL;
    FE_TRY(open_arrays(p, &n, o));
    return steps->fill(own, p, o);
}

fe_status fe_orders_open(const fe_problem *p, fe_comm *comm, fe_orders **out)
{
    fe_device *d = p->device;
    const fe_order_steps *steps = fe_order_steps_of(d);
    const size_t n = (size_t)p->view.n_local + 1;
    void *own = NULL;
    FE_TRY(fe_device_keep(d, sizeof **out, "vertices", (void **)out));
    fe_orders *o = *out;
    FE_TRY(fe_device_allocate(d, n, sizeof *o->number, "vertices", (void **)&o->number));
    FE_TRY(
        fe_device_allocate(d, n, sizeof *o->transfer.up_first, "vertices", (void **)&o->transfer.up_first));
    fe_status status = steps->open(p, &own);
    if (status == FE_OK) status = find_vertices(p, own, o);
    steps->close(own);
    if (status != FE_OK || comm->size == 1) return status;
    FE_TRY(open_halo(p, comm->halo[p->halo], comm->size, o));
    return comm->ops->attach(comm, d, FE_HALO_VERTICES, &o->halo);
}

fe_status fe_orders_constrain(fe_orders *o, const fe_problem *p, int n_fixed, const int *at)
{
    fe_device *d = p->device;
    if (o->fixed) d->ops->memory.release(d, o->fixed);
    o->fixed = NULL;
    FE_TRY(
        fe_device_allocate(d, (size_t)n_fixed, sizeof *o->fixed, "supports of vertices", (void **)&o->fixed));
    return fe_order_steps_of(d)->constrain(p, n_fixed, at, o);
}
