/* The state of a run between two load steps: gathered from the ranks in the numbers of the mesh, and given
 * back to any number of them. */
#include "common/solver/restart.h"
#include "common/solver/solver_contact.h"

#include <stdlib.h>
#include <string.h>

fe_status fe_checkpoint_open(const fe_mesh *mesh, int kind, int n_path, int n_contact, fe_checkpoint *c)
{
    c->head = (fe_checkpoint_head){.n_path = n_path,
                                   .n_node = mesh->n_node,
                                   .n_elem = mesh->n_elem,
                                   .n_point = fe_points(kind),
                                   .n_contact = n_contact};
    FE_ALLOCATE(c->multiplier, n_contact, "state to resume from");
    FE_ALLOCATE(c->factor, n_path, "state to resume from");
    FE_ALLOCATE(c->change, n_path, "state to resume from");
    FE_ALLOCATE(c->displacement, 3 * (size_t)mesh->n_node, "state to resume from");
    FE_ALLOCATE(c->increment, 3 * (size_t)mesh->n_node, "state to resume from");
    FE_ALLOCATE(c->flags, mesh->n_elem, "state to resume from");
    return FE_OK;
}

/* Place of each element among those that have yielded; returns their number. */
static int64_t number_yielded(int64_t n_elem, const uint8_t *flags, int *place)
{
    int n = 0;
    for (int64_t e = 0; e < n_elem; e++) place[e] = n, n += flags[e] & FE_YIELDED;
    return n;
}

/* Numbers that an element's points have in a state. */
static size_t width(int kind) { return (size_t)fe_points(kind) * FE_N_STATE; }

/* Where a checkpoint has number i of point q of an element at `place`. */
static size_t kept_index(int kind, int place, int q, int i)
{
    return (size_t)place * width(kind) + (size_t)q * FE_N_STATE + (size_t)i;
}

/* --- gathering --------------------------------------------------------------------------------------- */

/* What a rank needs meanwhile. */
typedef struct room {
    double *numbers; /* a vector, or all points of the share */
    double *mark;    /* [n_elem] flags of the mesh's elements, for sums over processes */
    uint8_t *flags;  /* [n_elem of the share] */
    int *place;      /* [n_elem] of the mesh */
} room;

static size_t numbers_of(const fe_solver *s)
{
    const size_t points = width(s->problem.kind) * (size_t)s->problem.view.ld;
    return s->n_all > points ? s->n_all : points;
}

static fe_status open_room(const fe_solver *s, room *r)
{
    FE_ALLOCATE(r->numbers, numbers_of(s), "state to resume from");
    FE_ALLOCATE(r->flags, s->problem.view.ld, "state to resume from");
    FE_ALLOCATE(r->place, s->mesh_elements, "state to resume from");
    return FE_OK;
}

static void close_room(room *r) { free(r->numbers), free(r->mark), free(r->flags), free(r->place); }

static fe_status gather_vector(fe_solver *s, int apart, const double *x, double *numbers, double *all)
{
    const fe_share *share = s->share;
    const size_t n = 3 * (size_t)s->mesh_nodes;
    if (apart) memset(all, 0, n * sizeof *all);
    FE_TRY(s->device->ops->memory.download(s->device, s->n * sizeof *x, x, numbers));
    for (int i = 0; i < share->n_owned; i++)
        memcpy(all + 3 * (size_t)share->node[i], numbers + 3 * (size_t)i, 3 * sizeof *all);
    return s->comm->ops->collect(s->comm, n, all);
}

/* Flags of all elements, on all ranks. */
static fe_status gather_flags(fe_solver *s, int apart, room *r, uint8_t *all)
{
    const fe_share *share = s->share;
    FE_TRY(s->device->ops->memory.download(s->device, (size_t)share->n_elem, s->problem.view.committed.flags,
                                           r->flags));
    if (!apart) {
        for (int e = 0; e < share->n_elem; e++)
            if (share->counted[e]) all[share->elem[e]] = r->flags[e];
        return s->comm->ops->barrier(s->comm);
    }
    FE_ALLOCATE(r->mark, s->mesh_elements, "state to resume from");
    for (int e = 0; e < share->n_elem; e++)
        if (share->counted[e]) r->mark[share->elem[e]] = r->flags[e];
    FE_TRY(s->comm->ops->collect(s->comm, (size_t)s->mesh_elements, r->mark));
    for (int e = 0; e < s->mesh_elements; e++) all[e] = (uint8_t)r->mark[e];
    return s->comm->ops->broadcast(s->comm, (size_t)s->mesh_elements, all);
}

static fe_status gather_points(fe_solver *s, int apart, room *r, fe_checkpoint *c)
{
    const fe_share *share = s->share;
    const int kind = s->problem.kind;
    const int64_t n_yielded = number_yielded(s->mesh_elements, c->flags, r->place);
    const size_t n = (size_t)n_yielded * width(kind);
    if (apart || s->comm->rank == 0) {
        free(c->point);
        c->head.n_yielded = n_yielded;
        FE_ALLOCATE(c->point, n, "state to resume from");
    }
    FE_TRY(s->comm->ops->barrier(s->comm)); /* the array is there */
    FE_TRY(s->device->ops->memory.download(s->device,
                                           width(kind) * (size_t)s->problem.view.ld * sizeof *r->numbers,
                                           s->problem.view.committed.point, r->numbers));
    for (int e = 0; e < share->n_elem; e++) {
        if (!share->counted[e] || !(r->flags[e] & FE_YIELDED)) continue;
        for (int q = 0; q < fe_points(kind); q++)
            for (int i = 0; i < FE_N_STATE; i++)
                c->point[kept_index(kind, r->place[share->elem[e]], q, i)] =
                    r->numbers[fe_point_index(kind, i, q, e)];
    }
    return s->comm->ops->collect(s->comm, n, c->point);
}

/* What all ranks have alike. */
static void keep_numbers(const fe_solver *s, fe_checkpoint *c)
{
    fe_checkpoint_head *h = &c->head;
    const size_t bytes = (size_t)s->boundary->n_path * sizeof(double);
    memcpy(c->factor, s->accepted.factor, bytes), memcpy(c->change, s->accepted.change, bytes);
    h->n_step = s->progress.load_step;
    h->precondition_asked = s->options->precondition, h->precondition = s->preconditioner.kind;
    h->scale = s->forces.accepted, h->largest_load = s->forces.largest_load,
    h->compliance = s->forces.compliance;
    h->plastic_work = s->plastic_work, h->warned_gradient = s->warned.gradient,
    h->warned_error = s->warned.error;
}

static fe_status keep_with(fe_solver *s, room *r, fe_checkpoint *c)
{
    const int apart = s->options->mpi.size > 0;
    FE_TRY(open_room(s, r));
    FE_TRY(gather_vector(s, apart, s->accepted.displacement, r->numbers, c->displacement));
    FE_TRY(gather_vector(s, apart, s->accepted.increment, r->numbers, c->increment));
    FE_TRY(fe_solver_contact_keep(s, c->multiplier));
    FE_TRY(gather_flags(s, apart, r, c->flags));
    FE_TRY(gather_points(s, apart, r, c));
    if (s->comm->rank == 0) keep_numbers(s, c);
    return FE_OK;
}

fe_status fe_solver_keep(fe_solver *s, fe_checkpoint *c)
{
    room r = {0};
    const fe_status status = keep_with(s, &r, c);
    close_room(&r);
    return status;
}

/* --- giving back ------------------------------------------------------------------------------------- */

static fe_status restore_vector(fe_solver *s, const double *all, double *numbers, double *x)
{
    for (int i = 0; i < s->share->n_local; i++)
        memcpy(numbers + 3 * (size_t)i, all + 3 * (size_t)s->share->node[i], 3 * sizeof *numbers);
    return s->device->ops->memory.upload(s->device, s->n_all * sizeof *x, numbers, x);
}

static fe_status restore_points(fe_solver *s, const fe_checkpoint *c, room *r)
{
    const fe_share *share = s->share;
    const fe_view *v = &s->problem.view;
    const int kind = s->problem.kind;
    const size_t bytes = width(kind) * (size_t)v->ld * sizeof *r->numbers;
    number_yielded(c->head.n_elem, c->flags, r->place);
    memset(r->numbers, 0, bytes);
    for (int e = 0; e < share->n_elem; e++) {
        r->flags[e] = c->flags[share->elem[e]];
        for (int q = 0; q < fe_points(kind) && (r->flags[e] & FE_YIELDED); q++)
            for (int i = 0; i < FE_N_STATE; i++)
                r->numbers[fe_point_index(kind, i, q, e)] =
                    c->point[kept_index(kind, r->place[share->elem[e]], q, i)];
    }
    FE_TRY(s->device->ops->memory.upload(s->device, bytes, r->numbers, v->committed.point));
    return s->device->ops->memory.upload(s->device, (size_t)share->n_elem, r->flags, v->committed.flags);
}

static fe_status restore_numbers(fe_solver *s, const fe_checkpoint *c)
{
    const fe_checkpoint_head *h = &c->head;
    const size_t bytes = (size_t)s->boundary->n_path * sizeof(double);
    const char *better = "";
    memcpy(s->accepted.factor, c->factor, bytes), memcpy(s->accepted.change, c->change, bytes);
    s->forces.accepted = h->scale, s->forces.largest_load = h->largest_load,
    s->forces.compliance = h->compliance;
    s->plastic_work = h->plastic_work, s->warned.gradient = h->warned_gradient,
    s->warned.error = h->warned_error;
    /* what had taken over stays, unless something else is asked for now */
    if (h->precondition_asked == s->options->precondition)
        while (better && s->preconditioner.kind < h->precondition)
            FE_TRY(fe_solver_better_preconditioner(s, &better));
    return FE_OK;
}

static fe_status restore_with(fe_solver *s, room *r, const fe_checkpoint *c)
{
    FE_TRY(open_room(s, r));
    FE_TRY(restore_vector(s, c->displacement, r->numbers, s->accepted.displacement));
    FE_TRY(restore_vector(s, c->increment, r->numbers, s->accepted.increment));
    FE_TRY(fe_solver_contact_restore(s, (int)c->head.n_contact, c->multiplier));
    FE_TRY(restore_points(s, c, r));
    return restore_numbers(s, c);
}

fe_status fe_solver_restore(fe_solver *s, const fe_checkpoint *c)
{
    room r = {0};
    const fe_status status = restore_with(s, &r, c);
    close_room(&r);
    return status;
}
