/* What a run shows: results and fields that rank 0 hands to the observer after each accepted step. */
#include "common/ranks/ranks.h"
#include "common/solver/run_shared.h"
#include "common/solver/solver_contact.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int fe_run_kind(const fe_run *r)
{
    return r->mesh->kind == FE_TET4 && r->options->tet_points == 4 ? FE_TET4_P4 : r->mesh->kind;
}

int fe_run_wants(const fe_run *r) { return r->observer ? r->observer->wants_fields : FE_FIELDS_NONE; }

/* A field over the mesh, n doubles. */
typedef struct field {
    double **x;
    size_t n;
} field;
enum { N_TENSOR = FE_OUT_MISES / 6, N_CONTACT = 3 };
enum { N_FIELD = 4 + N_TENSOR + FE_N_OUT - FE_OUT_MISES + N_CONTACT };

/* Returns how many there are. */
static int list_fields(fe_run *r, field list[N_FIELD])
{
    const size_t n_node = (size_t)r->mesh->n_node, n_elem = (size_t)r->mesh->n_elem;
    int n = 0;
    if (fe_run_wants(r) == FE_FIELDS_NONE) return n;
    list[n++] = (field){&r->displacement, 3 * n_node};
    if (fe_run_wants(r) == FE_FIELDS_DISPLACEMENT) return n;
    list[n++] = (field){&r->reaction_force, 3 * n_node};
    for (int t = 0; t < N_TENSOR; t++) list[n++] = (field){&r->tensors[t], 6 * n_elem};
    for (int c = FE_OUT_MISES; c < FE_N_OUT; c++) list[n++] = (field){&r->element_fields[c], n_elem};
    const int stress = r->observer->stress;
    if (stress >= FE_STRESS_AT_NODES) list[n++] = (field){&r->nodal_stress, 6 * n_node};
    if (stress >= FE_STRESS_OF_POINTS)
        list[n++] = (field){&r->point_stress, 6 * (size_t)fe_points(fe_run_kind(r)) * n_elem};
    if (!r->boundary->n_contact) return n;
    for (int k = 0; k < N_CONTACT; k++) list[n++] = (field){&r->contact[k], n_node};
    return n;
}

fe_status fe_run_fields_open(fe_run *r)
{
    field list[N_FIELD];
    if (r->observer && r->observer->keep)
        FE_TRY(fe_checkpoint_open(r->mesh, fe_run_kind(r), r->boundary->n_path, fe_contact_count(r->boundary),
                                  &r->kept));
    const int n_field = list_fields(r, list);
    for (int f = 0; f < n_field; f++) FE_ALLOCATE(*list[f].x, list[f].n, "output fields");
    if (fe_run_wants(r) != FE_FIELDS_ALL) return FE_OK;
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
    const int n_field = list_fields(r, list);
    for (int f = 0; f < n_field; f++) free(*list[f].x);
    free(r->element_rank);
    fe_checkpoint_close(&r->kept);
}

/* x [n_owned][width] of this rank into the mesh's `to`. */
static fe_status gather_nodes(fe_solver *s, int width, const double *x, double *landing, double *to)
{
    const fe_share *share = s->share;
    const size_t row = (size_t)width * sizeof *to;
    FE_TRY(s->device->ops->memory.download(s->device, (size_t)share->n_owned * row, x, landing));
    for (int i = 0; i < share->n_owned; i++)
        memcpy(to + (size_t)width * share->node[i], landing + (size_t)width * i, row);
    return FE_OK;
}

static fe_status gather_elements(fe_solver *s, fe_run *r, double *landing)
{
    const fe_share *share = s->share;
    const size_t ld = (size_t)s->problem.view.ld;
    FE_TRY(s->device->ops->memory.download(s->device, FE_N_OUT * ld * sizeof *landing, s->output.fields,
                                           landing));
    for (int e = 0; e < share->n_elem; e++) {
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
    return FE_OK;
}

/* The stresses of an element's points, one after the other. */
static fe_status gather_points(fe_solver *s, fe_run *r, double *landing)
{
    const fe_share *share = s->share;
    const int kind = s->problem.kind, ld = s->problem.view.ld, n_point = fe_points(kind);
    FE_TRY(s->device->ops->memory.download(s->device, 6 * (size_t)n_point * ld * sizeof *landing,
                                           s->output.points, landing));
    for (int e = 0; e < share->n_elem; e++) {
        if (!share->counted[e]) continue;
        double *to = r->point_stress + 6 * (size_t)n_point * share->elem[e];
        for (int q = 0; q < n_point; q++)
            for (int c = 0; c < 6; c++) *to++ = landing[fe_out_point_index(kind, ld, c, q, e)];
    }
    return FE_OK;
}

static fe_status gather_own(fe_solver *s, fe_run *r, double *landing)
{
    FE_TRY(gather_nodes(s, 3, s->displacement, landing, r->displacement));
    if (fe_run_wants(r) == FE_FIELDS_DISPLACEMENT) return FE_OK;
    FE_TRY(fe_solver_support_forces(s, s->scratch));
    FE_TRY(gather_nodes(s, 3, s->scratch, landing, r->reaction_force));
    FE_TRY(gather_elements(s, r, landing));
    if (r->nodal_stress) {
        FE_TRY(fe_node_stress(&s->problem, s->output.points, s->output.nodal));
        FE_TRY(gather_nodes(s, 6, s->output.nodal, landing, r->nodal_stress));
    }
    if (r->point_stress) FE_TRY(gather_points(s, r, landing));
    return fe_solver_contact_fields(s, r->contact[0], r->contact[1], r->contact[2]);
}

/* Doubles that the largest download of this rank takes. */
static size_t landing_length(const fe_solver *s, const fe_run *r)
{
    const size_t n = (size_t)s->share->n_owned, ld = (size_t)s->problem.view.ld;
    if (fe_run_wants(r) == FE_FIELDS_DISPLACEMENT) return 3 * n;
    const size_t points = r->point_stress ? 6 * (size_t)fe_points(s->problem.kind) : 0,
                 wide = (points > FE_N_OUT ? points : FE_N_OUT) * ld;
    return 6 * n > wide ? 6 * n : wide;
}

/* This rank's entries of the mesh's field arrays. */
static fe_status gather_fields(fe_solver *s, fe_run *r)
{
    field list[N_FIELD];
    const int n_field = list_fields(r, list);
    /* Ranks of one process share the arrays; others bring zeros where they own nothing. */
    for (int f = 0; f < n_field && r->options->mpi.size; f++)
        memset(*list[f].x, 0, list[f].n * sizeof(double));
    double *landing = NULL;
    FE_ALLOCATE(landing, landing_length(s, r), "output fields");
    const fe_status status = gather_own(s, r, landing);
    free(landing);
    FE_TRY(status);
    for (int f = 0; f < n_field; f++) FE_TRY(s->comm->ops->collect(s->comm, list[f].n, *list[f].x));
    return FE_OK;
}

/* One call of rank 0's observer. */
typedef struct showing {
    fe_run *run;
    const fe_step_result *record;
    fe_fields fields;
    int threads;
    fe_status status;
    char message[FE_MESSAGE_LENGTH];
} showing;
static void *show(void *argument)
{
    showing *w = argument;
    const fe_observer *o = w->run->observer;
    omp_set_num_threads(w->threads);
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
    if (fe_run_wants(r) && record) FE_TRY(gather_fields(s, r));
    if (o->keep && record) FE_TRY(fe_solver_keep(s, &r->kept));
    if (s->comm->rank == 0) r->result->bytes_from_device_output += s->device->bytes_from_device - before;
    s->device->bytes_from_device = before; /* the solve's own are counted apart */
    FE_TRY(s->comm->ops->barrier(s->comm));
    showing w = {.run = r,
                 .record = record,
                 .threads = fe_device_host_threads(s->device),
                 .fields = {.time = record ? record->step : 0.0,
                            .displacement = r->displacement,
                            .reaction_force = r->reaction_force,
                            .nodal_stress = r->nodal_stress,
                            .stress = r->tensors[FE_OUT_STRESS / 6],
                            .plastic_strain = r->tensors[FE_OUT_PLASTIC_STRAIN / 6],
                            .strain = r->tensors[FE_OUT_STRAIN / 6],
                            .point_stress = r->point_stress,
                            .n_point = fe_points(fe_run_kind(r)),
                            .contact = {r->contact[0], r->contact[1], r->contact[2]},
                            .von_mises = r->element_fields[FE_OUT_MISES],
                            .von_mises_max = r->element_fields[FE_OUT_MISES_MAX],
                            .peeq = r->element_fields[FE_OUT_PEEQ],
                            .peeq_max = r->element_fields[FE_OUT_PEEQ_MAX],
                            .material = r->boundary->material_of,
                            .rank = r->element_rank}};
    const fe_status told = fe_ranks_first(s->comm, show, &w);
    if (w.status != FE_OK) return fe_fail(w.status, "%s", w.message);
    FE_TRY(told);
    return s->comm->ops->barrier(s->comm);
}
