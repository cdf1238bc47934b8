/* Result, fields and state of a run; see output.h. */
#include "bench/output.h"
#include "common/base/file.h"
#include "common/base/hash.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static fe_status spare(const output *o, const char *input)
{
    if (o->result && fe_file_same(o->result, input))
        return fe_fail(FE_BAD_INPUT, "--result %s: is the same file as %s, which is read", o->result, input);
    if (o->state && fe_file_same(o->state, input))
        return fe_fail(FE_BAD_INPUT, "--result %s: its state %s is the same file as %s, which is read",
                       o->result, o->state, input);
    if (o->curve && fe_file_same(o->curve, input))
        return fe_fail(FE_BAD_INPUT, "--curve %s: is the same file as %s, which is read", o->curve, input);
    return o->fields ? fe_series_spares(o->fields, o->problem->name, o->problem->n_step, input) : FE_OK;
}

static fe_status no_memory(const char *path)
{
    return fe_fail(FE_OUT_OF_MEMORY, "%s: no host memory for a path", path);
}

/* A result or a curve must not be one of the files that --output writes. */
static fe_status spare_series(const output *o, const char *flag, const char *path)
{
    const fe_status status =
        path && o->fields ? fe_series_spares(o->fields, o->problem->name, o->problem->n_step, path) : FE_OK;
    if (status != FE_BAD_INPUT) return status;
    return fe_fail(FE_BAD_INPUT, "--%s %s: --output %s writes the same file", flag, path, o->fields);
}

/* Names of states and locks are those of runs, which may still need them. */
static fe_status check_ending(const char *flag, const char *path)
{
    static const char *const kept[] = {".state", ".lock"};
    const size_t n = path ? strlen(path) : 0;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (n >= strlen(kept[i]) && !strcmp(path + n - strlen(kept[i]), kept[i]))
            return fe_fail(FE_BAD_INPUT,
                           "--%s %s: files with the ending %s are a run's own; give another name", flag, path,
                           kept[i]);
    return FE_OK;
}

/* Outputs do not replace each other. */
static fe_status spare_outputs(const output *o)
{
    FE_TRY(check_ending("result", o->result));
    FE_TRY(check_ending("curve", o->curve));
    if (o->curve && o->result && fe_file_same(o->curve, o->result))
        return fe_fail(FE_BAD_INPUT, "--curve %s: --result writes the same file", o->curve);
    FE_TRY(spare_series(o, "curve", o->curve));
    return spare_series(o, "result", o->result);
}

/* The folder and the name of a file that may not be there yet. */
static fe_status add_place(fe_hash *h, const char *path)
{
    char *place = fe_file_place(path);
    if (!place) return no_memory(path);
    char *name = strrchr(place, '/');
    *name++ = 0;
    fe_hash_add(h, strlen(place) + 1, place);
    fe_hash_add(h, strlen(name) + 1, name);
    free(place);
    return FE_OK;
}

/* Whose the series is: the result's; of a run without a result, the problem's on this mesh. */
static fe_status find_run(output *o, const char *mesh)
{
    fe_hash run = {0};
    FE_TRY(add_place(&run, o->result ? o->result : o->problem->file));
    if (!o->result) FE_TRY(add_place(&run, mesh));
    o->run = fe_hash_value(&run);
    return FE_OK;
}

fe_status output_spares_inputs(output *o, const char *mesh)
{
    FE_TRY(find_run(o, mesh));
    if (o->result && asprintf(&o->state, "%s.state", o->result) < 0) {
        o->state = NULL;
        return no_memory(o->result);
    }
    FE_TRY(spare(o, o->problem->file));
    FE_TRY(spare(o, mesh));
    return spare_outputs(o);
}

fe_status output_lock(output *o) { return o->result ? fe_lock_open(&o->lock, o->result) : FE_OK; }

fe_status output_identify(output *o, int order, int tet_points, int *done)
{
    char inputs[FE_INPUT_HASH];
    *done = 0;
    o->identity = fe_identity_of(o->problem->hash, fe_mesh_hash(o->mesh), order,
                                 o->mesh->kind == FE_TET4 ? tet_points : 1);
    if (!o->resumes) return FE_OK;
    fe_identity_inputs(&o->identity, inputs);
    if (access(o->state, F_OK)) { /* a run that has converged keeps none */
        FE_TRY(fe_result_is_done(o->result, inputs, done));
        if (*done) return FE_OK;
    }
    FE_TRY(fe_checkpoint_read(o->state, &o->from));
    return fe_checkpoint_belongs(&o->from, o->state, &o->identity, o->problem, o->mesh);
}

/* What the ranks have to have in common, and what would otherwise be solved on each with numbers of its own.
 */
typedef struct inputs {
    fe_identity identity;
    fe_checkpoint_head from;
    int64_t done;
} inputs;

static fe_status differs(const char *path)
{
    return fe_fail(FE_BAD_INPUT, "%s: is not what rank 0 has read; all hosts need the same file", path);
}

fe_status output_agree(const output *o, const fe_mpi *mpi, int done)
{
    static inputs first; /* MPI may still write it where this rank gives up */
    const inputs own = {o->identity, o->from.head, done};
    fe_comm *comm;
    if (mpi->size < 2) return FE_OK;
    first = own;
    FE_TRY(fe_comm_mpi(mpi, &comm));
    const fe_status status = comm->ops->broadcast(comm, sizeof first, &first);
    fe_comm_close(comm);
    if (status != FE_OK) {
        const char *cause = fe_comm_cause(fe_message()); /* of another process's rank */
        return cause ? fe_fail(status, "%s", cause) : status;
    }
    if (strcmp(own.identity.version, first.identity.version))
        return fe_fail(FE_BAD_INPUT, "this is version %s, and rank 0 is version %s", own.identity.version,
                       first.identity.version);
    if (own.identity.problem != first.identity.problem) return differs(o->problem->file);
    if (own.identity.mesh != first.identity.mesh) return differs(o->mesh->path);
    if (memcmp(&own.identity, &first.identity, sizeof own.identity))
        return fe_fail(FE_BAD_INPUT, "--order and --tet-points are not those of rank 0");
    return memcmp(&own, &first, sizeof own) ? differs(o->state) : FE_OK;
}

/* Runs of one folder, at the same time or one after the other, do not replace each other's series. */
static fe_status open_series(output *o)
{
    FE_TRY(fe_series_open(&o->series, o->fields, o->problem->name));
    FE_TRY(fe_lock_open(&o->series_lock, o->series.list.name));
    o->series.run = o->run;
    return o->resumes ? FE_OK : fe_series_belongs(&o->series, o->run); /* the result may have moved */
}

/* Rows of earlier steps stay where the run goes on. */
static fe_status open_curve(output *o, const fe_result *r)
{
    FE_TRY(fe_lock_open(&o->curve_lock, o->curve));
    FE_TRY(fe_curve_open(&o->rows, o->curve));
    return o->from.head.n_step ? fe_curve_resume(&o->rows, r, (int)o->from.head.n_step) : FE_OK;
}

fe_status output_open(output *o, const fe_result *r)
{
    o->first_field = o->from.head.n_step ? (int)o->from.head.first_field : -1;
    if (o->curve) FE_TRY(open_curve(o, r));
    if (o->fields) FE_TRY(open_series(o));
    if (!o->result) return FE_OK;
    FE_TRY(fe_result_open(&o->file, o->result));
    fe_file_sweep(o->state);
    return fe_result_resume(&o->file, &o->from);
}

/* A result that is a device or a pipe has none. */
static int has_state(const output *o) { return o->result && o->file.file.temporary; }

/* The state before the first step, which any result goes with; it ends that of an older run. */
static fe_status begin_state(output *o)
{
    const fe_checkpoint none = {.head = {.identity = o->identity, .first_field = -1}};
    if (!has_state(o)) return FE_OK;
    FE_TRY(fe_growing_probe(&o->file.file));
    if (o->keeps_state) return fe_checkpoint_write(&none, o->state);
    unlink(o->state);
    return FE_OK;
}

static fe_status write_fields(output *o, const fe_fields *fields)
{
    if (!o->fields) return FE_OK;
    if (o->first_field < 0) o->first_field = o->series.n;
    return fe_series_write(&o->series, o->mesh, fields);
}

fe_status output_begin(output *o, const fe_result *r, const fe_fields *fields)
{
    const int before = (int)o->from.head.n_step;
    if (!before) {
        FE_TRY(begin_state(o));
        FE_TRY(write_fields(o, fields));
        if (o->curve) FE_TRY(fe_curve_write(&o->rows, r, NULL));
    } else if (o->fields) {
        FE_TRY(fe_series_resume(&o->series, o->first_field, before));
    } else {
        o->first_field = -1; /* the series will lack steps */
    }
    return o->result ? fe_result_write(&o->file, r) : FE_OK;
}

fe_status output_step(output *o, const fe_result *r, const fe_step_result *step, const fe_fields *fields)
{
    FE_TRY(write_fields(o, fields));
    if (o->curve) FE_TRY(fe_curve_write(&o->rows, r, step));
    return o->result ? fe_result_write(&o->file, r) : FE_OK;
}

fe_status output_keep(output *o, fe_checkpoint *state)
{
    fe_checkpoint_head *h = &state->head;
    if (!has_state(o)) return FE_OK;
    h->identity = o->identity;
    h->first_field = o->first_field;
    h->result_bytes = o->file.file.n_body;
    h->result_hash = fe_hash_value(&o->file.hash);
    return fe_checkpoint_write(state, o->state);
}

fe_status output_end(output *o, const fe_result *r)
{
    if (!o->result) return FE_OK;
    FE_TRY(fe_result_write(&o->file, r));
    if (has_state(o) && !o->keeps_last && !strcmp(r->status, "converged"))
        unlink(o->state); /* nothing is left to do */
    return FE_OK;
}

void output_close(output *o)
{
    fe_result_file_close(&o->file);
    fe_series_close(&o->series);
    fe_curve_close(&o->rows);
    fe_lock_close(&o->lock);
    fe_lock_close(&o->series_lock);
    fe_lock_close(&o->curve_lock);
    fe_checkpoint_close(&o->from);
    free(o->state);
    *o = (output){0};
}
