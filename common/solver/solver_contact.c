/* Contact within the solver: passes over contact nodes behind a strategy's own. */
#include "common/solver/solver_contact.h"

#include <stdlib.h>
#include <string.h>

/* --- set-up ------------------------------------------------------------------------------------------ */

/* The nodes of one entry that the rank owns. */
static fe_status open_list(fe_solver *s, int entry, int *node, double *area, double *young)
{
    const fe_contact_side *side = &s->boundary->contact[entry];
    fe_contact_list *l = &s->contact.list[entry];
    int n = 0;
    for (int i = 0; i < side->n; i++) {
        const int local = s->share->local[side->node[i]];
        if (local < 0 || local >= s->share->n_owned) continue;
        node[n] = local, area[n] = side->area[i], young[n++] = side->young[i];
    }
    const fe_contact_nodes nodes = {n, node, area, young};
    FE_TRY(fe_contact_list_open(s->device, &nodes, s->problem.view.x,
                                s->problem_file->contact[entry].stiffness, l));
    l->obstacle = s->problem_file->contact[entry].obstacle;
    return FE_OK;
}

static fe_status open_lists(fe_solver *s, int **node, double **area, double **young)
{
    int most = 0;
    for (int i = 0; i < s->contact.n; i++)
        if (s->boundary->contact[i].n > most) most = s->boundary->contact[i].n;
    FE_ALLOCATE(*node, most, "contact");
    FE_ALLOCATE(*area, most, "contact");
    FE_ALLOCATE(*young, most, "contact");
    for (int i = 0; i < s->contact.n; i++) FE_TRY(open_list(s, i, *node, *area, *young));
    for (int i = 0; i < most; i++) (*area)[i] = 1.0;
    return fe_device_upload(s->device, (size_t)most, sizeof **area, *area, "contact",
                            (void **)&s->contact.ones);
}

fe_status fe_solver_contact_open(fe_solver *s)
{
    int *node = NULL;
    double *area = NULL, *young = NULL;
    if (!s->boundary->n_contact) return FE_OK;
    FE_ALLOCATE(s->contact.list, s->boundary->n_contact, "contact");
    s->contact.n = s->boundary->n_contact;
    s->contact.ops = fe_contact_operations_of(s->device);
    FE_TRY(fe_device_vector(s->device, s->share->n_local, "contact", &s->contact.projected));
    const fe_status status = open_lists(s, &node, &area, &young);
    free(node), free(area), free(young);
    return status;
}

void fe_solver_contact_close(fe_solver *s)
{
    free(s->contact.list);
    s->contact = (fe_contact){0};
}

/* --- passes ------------------------------------------------------------------------------------------ */

static void place_obstacles(fe_solver *s, const double *factor)
{
    for (int i = 0; i < s->contact.n; i++) {
        const fe_contact_entry *entry = &s->problem_file->contact[i];
        double *moved = s->contact.list[i].obstacle.moved;
        for (int c = 0; c < 3; c++) moved[c] = factor[entry->path] * entry->move[c];
    }
}

void fe_solver_contact_bilateral(fe_solver *s, int bilateral)
{
    for (int i = 0; i < s->contact.n; i++) s->contact.list[i].bilateral = bilateral;
}

fe_status fe_solver_contact_begin(fe_solver *s, const double *to)
{
    fe_device *d = s->device;
    if (!s->contact.n) return FE_OK;
    fe_solver_contact_bilateral(s, 0);
    for (int i = 0; i < s->contact.n; i++) {
        const fe_contact_list *l = &s->contact.list[i];
        FE_TRY(d->ops->vector.copy(d, (size_t)l->n, l->accepted, l->multiplier));
    }
    place_obstacles(s, s->accepted.factor); /* what is closed there is what the first iteration changes */
    FE_TRY(fe_solver_contact_linearize(s, s->accepted.displacement));
    place_obstacles(s, to);
    return FE_OK;
}

fe_status fe_solver_contact_forces(fe_solver *s, const double *displacement, double *f)
{
    for (int i = 0; i < s->contact.n; i++)
        FE_TRY(s->contact.ops->forces(s->device, &s->contact.list[i], displacement, f));
    return FE_OK;
}

/* Sum over all nodes of all ranks. */
static fe_status add_up(fe_solver *s, const fe_contact_list *l, const double *x, double *sum)
{
    return s->device->ops->vector.dot(s->device, (size_t)l->n, s->contact.ones, x, sum);
}

fe_status fe_solver_contact_linearize(fe_solver *s, const double *displacement)
{
    fe_device *d = s->device;
    double counts[2];
    s->contact.closed = s->contact.changed = 0;
    for (int i = 0; i < s->contact.n; i++) {
        const fe_contact_list *l = &s->contact.list[i];
        FE_TRY(s->contact.ops->linearize(d, l, displacement, s->supports.held));
        FE_TRY(add_up(s, l, l->closed, s->scalar));
        FE_TRY(add_up(s, l, l->changed, s->scalar + 1));
        FE_TRY(fe_comm_sum(s->comm, d, 2, s->scalar));
        FE_TRY(d->ops->memory.download(d, sizeof counts, s->scalar, counts));
        s->contact.closed += (int)counts[0], s->contact.changed += (int)counts[1];
    }
    return FE_OK;
}

fe_status fe_solver_contact_product(fe_solver *s, const double *v, double *y)
{
    for (int i = 0; i < s->contact.n; i++)
        FE_TRY(s->contact.ops->product(s->device, &s->contact.list[i], v, y));
    return FE_OK;
}

fe_status fe_solver_contact_diagonal(fe_solver *s, double *D)
{
    for (int i = 0; i < s->contact.n; i++)
        FE_TRY(s->contact.ops->diagonal(s->device, &s->contact.list[i], D));
    return FE_OK;
}

static fe_status apply_around(void *context, double *r, double *z)
{
    fe_solver *s = context;
    const fe_contact *c = &s->contact;
    FE_TRY(s->device->ops->vector.copy(s->device, s->n, r, c->projected));
    for (int i = 0; i < c->n; i++) FE_TRY(c->ops->before(s->device, &c->list[i], c->projected));
    FE_TRY(c->inner->apply(c->inner->context, c->projected, z));
    for (int i = c->n - 1; i >= 0; i--) FE_TRY(c->ops->after(s->device, &c->list[i], z));
    return FE_OK;
}

const fe_operator *fe_solver_contact_around(fe_solver *s, const fe_operator *precondition,
                                            fe_operator *around)
{
    if (!s->contact.n || !precondition) return precondition;
    s->contact.inner = precondition;
    *around = (fe_operator){.apply = apply_around, .context = s};
    return around;
}

double fe_solver_contact_scale(const fe_solver *s)
{
    double scale = 1.0;
    for (int i = 0; i < s->contact.n && s->contact.closed; i++)
        scale = fmax(scale, 1.0 + s->contact.list[i].stiffness);
    return scale;
}

/* --- load steps -------------------------------------------------------------------------------------- */

static fe_status summarize(fe_solver *s, const fe_contact_list *l, fe_contact_result *r)
{
    enum { N_SUM = 5, N_MOST = 2 };
    fe_device *d = s->device;
    double number[N_SUM + N_MOST];
    FE_TRY(s->contact.ops->measure(d, l, s->displacement));
    const size_t row = (size_t)l->n;
    for (int k = 0; k < N_SUM; k++)
        FE_TRY(add_up(s, l, l->out + (size_t)(FE_CONTACT_FORCE + k) * row, s->scalar + k));
    FE_TRY(d->ops->vector.largest(d, row, l->out + FE_CONTACT_PRESSURE * row, s->scalar + N_SUM));
    FE_TRY(d->ops->vector.largest(d, row, l->out + FE_CONTACT_OVERLAP * row, s->scalar + N_SUM + 1));
    FE_TRY(fe_comm_sum(s->comm, d, N_SUM, s->scalar));
    FE_TRY(fe_comm_largest(s->comm, d, N_MOST, s->scalar + N_SUM));
    FE_TRY(d->ops->memory.download(d, sizeof number, s->scalar, number));
    for (int i = 0; i < N_SUM + N_MOST; i++)
        if (!isfinite(number[i])) return fe_fail(FE_FAILED, "a number of contact is not finite");
    memcpy(r->force, number, sizeof r->force);
    r->area = number[3], r->closed = (int64_t)(number[4] + 0.5);
    r->max_pressure = number[N_SUM], r->max_overlap = number[N_SUM + 1];
    return FE_OK;
}

fe_status fe_solver_contact_summarize(fe_solver *s, fe_step_result *record)
{
    for (int i = 0; i < s->contact.n; i++) FE_TRY(summarize(s, &s->contact.list[i], &record->contact[i]));
    return FE_OK;
}

fe_status fe_solver_contact_accept(fe_solver *s)
{
    fe_device *d = s->device;
    for (int i = 0; i < s->contact.n; i++) {
        const fe_contact_list *l = &s->contact.list[i];
        FE_TRY(d->ops->vector.copy(d, (size_t)l->n, l->multiplier, l->accepted));
    }
    return FE_OK;
}

fe_status fe_solver_contact_reset(fe_solver *s)
{
    fe_device *d = s->device;
    for (int i = 0; i < s->contact.n; i++) {
        const fe_contact_list *l = &s->contact.list[i];
        FE_TRY(d->ops->memory.zero(d, (size_t)l->n * sizeof *l->accepted, l->accepted));
    }
    return FE_OK;
}

/* --- what is kept and shown -------------------------------------------------------------------------- */

/* The next node of an entry after place `at` that this rank owns, or the entry's number of nodes. */
static int next_owned(const fe_solver *s, const fe_contact_side *side, int at)
{
    for (at++; at < side->n; at++) {
        const int local = s->share->local[side->node[at]];
        if (local >= 0 && local < s->share->n_owned) break;
    }
    return at;
}

static fe_status keep_list(fe_solver *s, int entry, double *room, double *all)
{
    const fe_contact_list *l = &s->contact.list[entry];
    const fe_contact_side *side = &s->boundary->contact[entry];
    FE_TRY(s->device->ops->memory.download(s->device, (size_t)l->n * sizeof *room, l->accepted, room));
    for (int i = 0, at = next_owned(s, side, -1); at < side->n; at = next_owned(s, side, at))
        all[at] = room[i++];
    return FE_OK;
}

static fe_status restore_list(fe_solver *s, int entry, double *room, const double *all)
{
    const fe_contact_list *l = &s->contact.list[entry];
    const fe_contact_side *side = &s->boundary->contact[entry];
    for (int i = 0, at = next_owned(s, side, -1); at < side->n; at = next_owned(s, side, at))
        room[i++] = all[at];
    return s->device->ops->memory.upload(s->device, (size_t)l->n * sizeof *room, room, l->accepted);
}

fe_status fe_solver_contact_keep(fe_solver *s, double *multiplier)
{
    const int n = fe_contact_count(s->boundary);
    double *room = NULL;
    if (!s->contact.n) return FE_OK;
    if (s->options->mpi.size) memset(multiplier, 0, (size_t)n * sizeof *multiplier);
    FE_ALLOCATE(room, n, "contact");
    fe_status status = FE_OK;
    for (int i = 0, first = 0; i < s->contact.n && status == FE_OK; first += s->boundary->contact[i++].n)
        status = keep_list(s, i, room, multiplier + first);
    free(room);
    return status == FE_OK ? s->comm->ops->collect(s->comm, (size_t)n, multiplier) : status;
}

fe_status fe_solver_contact_restore(fe_solver *s, int n, const double *multiplier)
{
    double *room = NULL;
    if (n != fe_contact_count(s->boundary))
        return fe_fail(FE_BAD_INPUT, "the state has %d contact nodes, the problem has %d", n,
                       fe_contact_count(s->boundary));
    FE_ALLOCATE(room, n, "contact");
    fe_status status = FE_OK;
    for (int i = 0, first = 0; i < s->contact.n && status == FE_OK; first += s->boundary->contact[i++].n)
        status = restore_list(s, i, room, multiplier + first);
    free(room);
    return status;
}

static fe_status show_list(fe_solver *s, int entry, double *room, double *gap, double *pressure,
                           double *status)
{
    const fe_contact_list *l = &s->contact.list[entry];
    const fe_contact_side *side = &s->boundary->contact[entry];
    const size_t n = (size_t)l->n;
    FE_TRY(s->device->ops->memory.download(s->device, FE_N_CONTACT_OUT * n * sizeof *room, l->out, room));
    for (int i = 0, at = next_owned(s, side, -1); at < side->n; at = next_owned(s, side, at), i++) {
        const int node = side->node[at];
        const double own = room[FE_CONTACT_GAP * n + (size_t)i];
        gap[node] = status[node] == 0.0 ? own : fmin(gap[node], own);
        pressure[node] = fmax(pressure[node], room[FE_CONTACT_PRESSURE * n + (size_t)i]);
        status[node] = fmax(status[node], 1.0 + room[FE_CONTACT_CLOSED * n + (size_t)i]);
    }
    return FE_OK;
}

/* Fields of the step before are gone from this rank's nodes. */
static void clear_fields(const fe_solver *s, double *gap, double *pressure, double *status)
{
    for (int i = 0; i < s->share->n_owned; i++) {
        const int node = s->share->node[i];
        gap[node] = pressure[node] = status[node] = 0.0;
    }
}

fe_status fe_solver_contact_fields(fe_solver *s, double *gap, double *pressure, double *status)
{
    double *room = NULL;
    if (!s->contact.n) return FE_OK;
    clear_fields(s, gap, pressure, status);
    FE_ALLOCATE(room, FE_N_CONTACT_OUT * (size_t)fe_contact_count(s->boundary), "contact");
    fe_status result = FE_OK;
    for (int i = 0; i < s->contact.n && result == FE_OK; i++)
        result = show_list(s, i, room, gap, pressure, status);
    free(room);
    return result;
}
