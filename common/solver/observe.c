/* What a run shows: results and fields that rank 0 hands to the observer after each accepted step. */
#include "common/ranks/ranks.h"
#include "common/solver/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int fe_run_kind(const fe_run *r)
{
    return r->mesh->kind == FE_TET4 && r->options->tet_points == 4 ? FE_TET4_P4 : r->mesh->kind;
}

/* A field over the mesh, n doubles. */
typedef struct field {
    double **x;
    size_t n;
} field;
enum { N_FIELD = 4 + FE_N_OUT - FE_OUT_MISES };

static void list_fields(fe_run *r, field list[N_FIELD])
{
    const size_t n_node = (size_t)r->mesh->n_node, n_elem = (size_t)r->mesh->n_elem;
    list[0] = (field){&r->displacement, 3 * n_node}, list[1] = (field){&r->reaction_force, 3 * n_node};
    for (int t = 0; t < 2; t++) list[2 + t] = (field){&r->tensors[t], 6 * n_elem};
    for (int c = FE_OUT_MISES; c < FE_N_OUT; c++)
        list[4 + c - FE_OUT_MISES] = (field){&r->element_fields[c], n_elem};
}

fe_status fe_run_fields_open(fe_run *r)
{
    field list[N_FIELD];
    if (r->observer && r->observer->keep)
        FE_TRY(fe_checkpoint_open(r->mesh, fe_run_kind(r), r->boundary->n_path, &r->kept));
    if (!r->observer || !r->observer->wants_fields) return FE_OK;
    list_fields(r, list);
    for (int f = 0; f < N_FIELD; f++) FE_ALLOCATE(*list[f].x, list[f].n, "output fields");
    FE_ALLOCATE(r->element_rank, r->mesh->n_elem, "output fields");
    const int n_corner = fe_corners(r->mesh->kind);
    for (int e = 0; e < r->mesh->n_elem; e++) {
        const int *node = r->mesh->conn + (size_t)e * n_corner;
        r->element_rank[e] = r->partition.n_rank;
        for (int c = 0; c < n_corner; c++)
            if (r->partition.owner[node[c]] < r->element_rank[e])
                r->element_rank[e] = r->partition.owner[node[c]];
    }
    return FE_OK;
}

void fe_run_fields_close(fe_run *r)
{
    field list[N_FIELD];
    list_fields(r, list);
    for (int f = 0; f < N_FIELD; f++) free(*list[f].x);
    free(r->element_rank);
    fe_checkpoint_close(&r->kept);
}

/* This rank's entries of the mesh's field arrays. */
static fe_status gather_fields(fe_solver *s, fe_run *r)
{
    const fe_share *share = s->share;
    const int ld = s->problem.view.ld;
    field list[N_FIELD];
    list_fields(r, list);
    /* Ranks of one process share the arrays; others bring zeros where they own nothing. */
    for (int f = 0; f < N_FIELD && r->options->mpi.size; f++)
        memset(*list[f].x, 0, list[f].n * sizeof(double));
    double *landing = NULL;
    const size_t vector = 3 * (size_t)share->n_owned, fields = (size_t)FE_N_OUT * ld;
    FE_ALLOCATE(landing, vector > fields ? vector : fields, "output fields");
    fe_device *d = s->device;
    double *targets[2] = {r->displacement, r->reaction_force};
    const double *sources[2] = {s->displacement, s->internal};
    fe_status status = FE_OK;
    for (int f = 0; f < 2 && status == FE_OK; f++) {
        status = d->ops->memory.download(d, vector * sizeof *landing, sources[f], landing);
        for (int i = 0; i < share->n_owned && status == FE_OK; i++)
            memcpy(targets[f] + 3 * (size_t)share->node[i], landing + 3 * (size_t)i, 3 * sizeof *landing);
    }
    if (status == FE_OK) status = d->ops->memory.download(d, fields * sizeof *landing, s->fields, landing);
    for (int e = 0; e < share->n_elem && status == FE_OK; e++) {
        if (!share->counted[e]) continue;
        const size_t elem = (size_t)share->elem[e];
        for (int c = 0; c < FE_N_OUT; c++) {
            const double value = landing[(size_t)c * ld + e];
            if (c < FE_OUT_MISES)
                r->tensors[c / 6][6 * elem + c % 6] = value;
            else
                r->element_fields[c][elem] = value;
        }
    }
    free(landing);
    for (int f = 0; f < N_FIELD && status == FE_OK; f++)
        status = s->comm->ops->collect(s->comm, list[f].n, *list[f].x);
    return status;
}

/* One call of rank 0's observer. */
typedef struct showing {
    fe_run *run;
    const fe_step_result *record;
    fe_fields fields;
    fe_status status;
    char message[FE_MESSAGE_LENGTH];
} showing;
static void *show(void *argument)
{
    showing *w = argument;
    const fe_observer *o = w->run->observer;
    pthread_mutex_lock(&w->run->showing);
    w->status = o->step(o->context, w->record, o->wants_fields ? &w->fields : NULL);
    if (w->status == FE_OK) { /* the observer has it, though not all that follows may be written */
        w->run->n_shown = w->run->result->n_step;
        if (o->keep && w->record) w->status = o->keep(o->context, &w->run->kept);
    }
    if (w->status != FE_OK) snprintf(w->message, sizeof w->message, "%s", fe_message());
    pthread_mutex_unlock(&w->run->showing);
    return NULL;
}

/* Everyone's fields are in place; rank 0 shows them. */
fe_status fe_run_observe(fe_solver *s, fe_run *r, const fe_step_result *record)
{
    const fe_observer *o = r->observer;
    if (!o) {
        if (s->comm->rank == 0) r->n_shown = r->result->n_step;
        return FE_OK;
    }
    const int64_t before = s->device->bytes_from_device;
    if (o->wants_fields && record) FE_TRY(gather_fields(s, r));
    if (o->keep && record) FE_TRY(fe_solver_keep(s, &r->kept));
    if (s->comm->rank == 0) r->result->bytes_from_device_output += s->device->bytes_from_device - before;
    s->device->bytes_from_device = before; /* the solve's own are counted apart */
    FE_TRY(s->comm->ops->barrier(s->comm));
    showing w = {.run = r,
                 .record = record,
                 .fields = {.time = record ? record->step : 0.0,
                            .displacement = r->displacement,
                            .reaction_force = r->reaction_force,
                            .stress = r->tensors[0],
                            .plastic_strain = r->tensors[1],
                            .von_mises = r->element_fields[FE_OUT_MISES],
                            .peeq = r->element_fields[FE_OUT_PEEQ],
                            .peeq_max = r->element_fields[FE_OUT_PEEQ_MAX],
                            .material = r->boundary->material_of,
                            .rank = r->element_rank}};
    const fe_status told = fe_ranks_first(s->comm, show, &w);
    if (w.status != FE_OK) return fe_fail(w.status, "%s", w.message);
    FE_TRY(told);
    return s->comm->ops->barrier(s->comm);
}
