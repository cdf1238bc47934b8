/* The result file: a run and its accepted steps as JSON. */
#include "common/report/result.h"
#include "common/base/file.h"
#include "common/report/version.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const fe_setup_names[FE_N_SETUP] = {"problem", "strategy", "preconditioner"};
const char *const fe_phase_names[FE_N_PHASE] = {"material",
                                                "residual",
                                                "jacvec",
                                                "orthogonalization",
                                                "reduction",
                                                "precondition",
                                                "precondition_product",
                                                "precondition_coarse",
                                                "precondition_transfer",
                                                "precondition_level1",
                                                "precondition_level2",
                                                "precondition_level3",
                                                "precondition_level4",
                                                "precondition_level5",
                                                "precondition_level6",
                                                "exchange",
                                                "host",
                                                "other"};

fe_step_result *fe_result_add_step(fe_result *r)
{
    fe_step_result *steps = realloc(r->step, ((size_t)r->n_step + 1) * sizeof *steps);
    if (!steps) return NULL;
    r->step = steps;
    fe_step_result *s = &r->step[r->n_step];
    const size_t n_path = (size_t)r->problem->n_path, n_probe = (size_t)r->boundary->n_probe,
                 n_reaction = (size_t)r->boundary->n_reaction;
    *s = (fe_step_result){.step = r->n_before + r->n_step + 1, .substeps = 1, .carriable = NAN};
    s->factor = calloc(n_path + 1, sizeof *s->factor);
    s->probe = calloc(n_probe + 1, sizeof *s->probe);
    s->reaction = calloc(n_reaction + 1, sizeof *s->reaction);
    s->contact = calloc((size_t)r->boundary->n_contact + 1, sizeof *s->contact);
    if (s->factor && s->probe && s->reaction && s->contact) {
        r->n_step++;
        return s;
    }
    free(s->factor);
    free(s->probe);
    free(s->reaction);
    free(s->contact);
    if (!r->n_step) free(r->step), r->step = NULL;
    return NULL;
}

void fe_result_applied(const fe_result *r, const fe_step_result *s, double force[3])
{
    for (int i = 0; i < 3; i++) {
        force[i] = 0.0;
        for (int p = 0; p < r->boundary->n_path; p++) force[i] += s->factor[p] * r->boundary->total[p][i];
    }
}

static void close_step(fe_step_result *s)
{
    free(s->factor), free(s->probe), free(s->reaction), free(s->residual), free(s->taken), free(s->contact);
}

double fe_increment_error(const fe_step_result *step)
{
    return step->flow > 0.0 ? step->flow_error / step->flow : 0.0;
}

void fe_result_drop_step(fe_result *r) { close_step(&r->step[--r->n_step]); }

void fe_result_fail_step(fe_result *r)
{
    if (!r->failed) r->failed = calloc(1, sizeof *r->failed);
    if (!r->failed) { /* the failure itself is what counts */
        fe_result_drop_step(r);
        return;
    }
    close_step(r->failed);
    *r->failed = r->step[--r->n_step];
}

void fe_result_close(fe_result *r)
{
    while (r->n_step) fe_result_drop_step(r);
    if (r->failed) close_step(r->failed);
    free(r->failed);
    free(r->step);
    free(r->hierarchy_seconds);
    r->step = r->failed = NULL, r->hierarchy_seconds = NULL;
    r->n_step = r->n_hierarchy = 0;
}

/* JSON has no infinity and no NaN: null stands for them. */
static json_t *number(double value) { return isfinite(value) ? json_real(value) : json_null(); }
static json_t *integer(int64_t value) { return json_integer((json_int_t)value); }

static json_t *numbers(int n, const double *value)
{
    json_t *list = json_array();
    for (int i = 0; list && i < n; i++)
        if (json_array_append_new(list, number(value ? value[i] : NAN))) {
            json_decref(list);
            return NULL;
        }
    return list;
}

/* Text, with '?' for bytes that are not UTF-8 (file names may hold any); null for NULL. */
static json_t *text(const char *value)
{
    if (!value) return json_null();
    json_t *string = json_string(value);
    if (string) return string;
    char *copy = strdup(value);
    for (char *p = copy; p && *p; p++)
        if (*p & 0x80) *p = '?';
    string = json_string(copy);
    free(copy);
    return string;
}

/* Objects under construction. A NULL value is memory that ran out: `failed` remembers it to the end. */
typedef struct writer {
    int failed;
} writer;

static void put(writer *w, json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value)) w->failed = 1;
}

static json_t *factors_of(writer *w, const fe_result *r, const fe_step_result *s)
{
    json_t *o = json_object();
    for (int p = 0; p < r->problem->n_path; p++) put(w, o, r->problem->path[p].name, number(s->factor[p]));
    return o;
}

static json_t *probes_of(writer *w, const fe_result *r, const fe_step_result *s)
{
    json_t *o = json_object();
    for (int p = 0; p < r->boundary->n_probe; p++)
        put(w, o, r->problem->probe[p].name, numbers(3, s->probe[p]));
    return o;
}

static json_t *reactions_of(writer *w, const fe_result *r, const fe_step_result *s)
{
    static const char *const axes[3] = {"x", "y", "z"};
    json_t *o = json_object();
    for (int k = 0; k < r->boundary->n_reaction; k++) {
        const fe_reaction *reaction = &r->boundary->reaction[k];
        if (!json_object_get(o, reaction->group)) put(w, o, reaction->group, json_object());
        put(w, json_object_get(o, reaction->group), axes[reaction->component], number(s->reaction[k]));
    }
    return o;
}

/* A list, in the problem's order. */
static json_t *contact_of(writer *w, const fe_result *r, const fe_step_result *s)
{
    json_t *list = json_array();
    for (int k = 0; k < r->boundary->n_contact; k++) {
        const fe_contact_result *contact = &s->contact[k];
        json_t *o = json_object();
        put(w, o, "group", text(r->problem->contact[k].group));
        put(w, o, "force", numbers(3, contact->force));
        put(w, o, "area", number(contact->area));
        put(w, o, "nodes", integer(contact->closed));
        put(w, o, "max_pressure", number(contact->max_pressure));
        put(w, o, "max_overlap", number(contact->max_overlap));
        if (json_array_append_new(list, o)) w->failed = 1;
    }
    return list;
}

/* A list, an entry for each linear solve of the step. */
#define EACH_TAKEN(w, o, key, make, member)                                                                  \
    do {                                                                                                     \
        json_t *list = json_array();                                                                         \
        for (int i = 0; s->taken && i < s->newton_iterations; i++)                                           \
            if (json_array_append_new(list, make(s->taken[i].member))) (w)->failed = 1;                      \
        put(w, o, key, list);                                                                                \
    } while (0)

static json_t *newton_of(writer *w, const fe_result *r, const fe_step_result *s)
{
    json_t *o = json_object();
    put(w, o, "iterations", integer(s->newton_iterations));
    put(w, o, "krylov_iterations", integer(s->krylov_iterations));
    put(w, o, "residuals", numbers(s->n_residual, s->residual));
    EACH_TAKEN(w, o, "line_search", number, length);
    EACH_TAKEN(w, o, "increments", number, increment);
    EACH_TAKEN(w, o, "krylov", integer, krylov_iterations);
    EACH_TAKEN(w, o, "krylov_residuals", number, krylov_residual);
    EACH_TAKEN(w, o, "orthogonality", number, orthogonality);
    if (r->boundary->n_contact) {
        EACH_TAKEN(w, o, "contact_nodes", integer, closed);
        EACH_TAKEN(w, o, "contact_changes", integer, changed);
        put(w, o, "augmentations", integer(s->augmentations));
    }
    put(w, o, "substeps", integer(s->substeps));
    put(w, o, "extrapolated", integer(s->extrapolated));
    return o;
}

static json_t *step_of(writer *w, const fe_result *r, const fe_step_result *s)
{
    json_t *o = json_object(), *seconds = json_object();
    double applied[3];
    for (int p = 0; p < FE_N_PHASE; p++)
        if (p < FE_PHASE_PRECONDITION_TRANSFER || p >= FE_PHASE_EXCHANGE) /* `solve` never asks for levels */
            put(w, seconds, fe_phase_names[p], number(s->seconds[p]));
    put(w, o, "step", integer(s->step));
    put(w, o, "factors", factors_of(w, r, s));
    put(w, o, "probes", probes_of(w, r, s));
    put(w, o, "reactions", reactions_of(w, r, s));
    fe_result_applied(r, s, applied);
    put(w, o, "applied", numbers(3, applied));
    put(w, o, "total_reaction", numbers(3, s->total_reaction));
    if (r->boundary->n_contact) put(w, o, "contact", contact_of(w, r, s));
    put(w, o, "max_peeq", number(s->max_peeq));
    put(w, o, "max_mises", number(s->max_mises));
    put(w, o, "elastic_energy", number(s->elastic_energy));
    put(w, o, "plastic_work", number(s->plastic_work));
    put(w, o, "int_peeq", number(s->int_peeq));
    put(w, o, "plastic_gp", integer(s->plastic_gp));
    put(w, o, "max_abs_u", number(s->max_abs_u));
    put(w, o, "norm_u", number(s->norm_u));
    put(w, o, "max_gradient", number(s->max_gradient));
    put(w, o, "increment_error", number(fe_increment_error(s)));
    put(w, o, "small_strain", json_boolean(s->max_gradient <= fe_largest_gradient));
    put(w, o, "newton", newton_of(w, r, s));
    put(w, o, "seconds", seconds);
    return o;
}

/* A step that was given up: how far it came. */
static json_t *failed_of(writer *w, const fe_result *r)
{
    if (!r->failed) return json_null();
    json_t *o = json_object();
    put(w, o, "step", integer(r->failed->step));
    put(w, o, "factors", factors_of(w, r, r->failed));
    put(w, o, "carried", number(r->failed->carried));
    put(w, o, "carriable", number(r->failed->carriable));
    put(w, o, "newton", newton_of(w, r, r->failed));
    return o;
}

static json_t *probe_nodes_of(writer *w, const fe_result *r)
{
    json_t *o = json_object();
    for (int p = 0; p < r->boundary->n_probe; p++) {
        json_t *probe = json_object();
        put(w, probe, "tag", integer(r->mesh->node_tag[r->boundary->probe[p]]));
        put(w, probe, "wanted", numbers(3, r->problem->probe[p].x));
        put(w, probe, "distance", number(r->boundary->probe_distance[p]));
        put(w, o, r->problem->probe[p].name, probe);
    }
    return o;
}

/* The "key: value" lines of fe_version_text as an object. */
static json_t *versions_of(writer *w)
{
    json_t *o = json_object();
    char *lines = strdup(fe_version_text()), *rest = lines;
    if (!lines) w->failed = 1;
    for (char *line; rest && (line = strsep(&rest, "\n"));) {
        char *colon = strstr(line, ": ");
        if (!colon) continue;
        *colon = 0;
        put(w, o, line, text(colon + 2));
    }
    free(lines);
    return o;
}

static json_t *run_of(writer *w, const fe_result *r)
{
    json_t *o = json_object(), *from_device = json_object(), *quality = json_object(), *setup = json_object();
    put(w, o, "variant", text(r->variant));
    put(w, o, "backend", text(r->backend));
    put(w, o, "device", text(r->device));
    put(w, o, "ranks", integer(r->ranks));
    put(w, o, "threads", integer(r->threads));
    put(w, o, "communication", text(r->communication));
    put(w, o, "partition", text(r->partition));
    put(w, o, "order", text(r->order));
    put(w, quality, "imbalance", number(r->quality.imbalance));
    put(w, quality, "ghosts", number(r->quality.ghosts));
    put(w, quality, "duplicates", number(r->quality.duplicates));
    put(w, quality, "most_neighbors", integer(r->quality.most_neighbors));
    put(w, o, "partition_quality", quality);
    put(w, o, "precondition", text(r->precondition));
    put(w, o, "products", text(r->products));
    put(w, o, "command", text(r->command));
    put(w, o, "flags", text(r->flags));
    put(w, o, "resumed_after", r->n_before ? integer(r->n_before) : json_null());
    put(w, o, "inputs", *r->inputs ? text(r->inputs) : json_null());
    put(w, o, "commit", text(fe_commit()));
    put(w, o, "versions", versions_of(w));
    for (int i = 0; i < FE_N_SETUP; i++) put(w, setup, fe_setup_names[i], number(r->setup_seconds[i]));
    put(w, o, "setup_seconds", setup);
    put(w, o, "bytes_to_device", integer(r->bytes_to_device));
    put(w, from_device, "setup", integer(r->bytes_from_device_setup));
    put(w, from_device, "solve", integer(r->bytes_from_device_solve));
    put(w, from_device, "output", integer(r->bytes_from_device_output));
    put(w, o, "bytes_from_device", from_device);
    put(w, o, "bytes_resident", integer((int64_t)r->bytes_resident));
    return o;
}

/* As in the problem file, but only what holds. */
static json_t *material_of(writer *w, const fe_material *m)
{
    json_t *o = json_object();
    const fe_j2 computed = fe_j2_of(m);
    const int hardening = fe_hardening_of(&computed);
    put(w, o, "E", number(m->E));
    put(w, o, "nu", number(m->nu));
    if (isinf(m->sigma_y)) return o;
    put(w, o, "hardening", text(fe_hardening_names[hardening]));
    put(w, o, "sigma_y", number(m->sigma_y));
    put(w, o, "H", number(m->H));
    if (hardening == FE_LINEAR) return o;
    put(w, o, "sigma_inf", number(m->sigma_inf));
    put(w, o, "delta", number(m->delta));
    return o;
}

/* "material", or "materials" by volume, as the file has it. */
static void put_materials(writer *w, json_t *o, const fe_case *c)
{
    json_t *several = c->volume ? json_object() : NULL;
    for (int i = 0; i < c->n_material; i++)
        if (several)
            put(w, several, c->volume[i], material_of(w, &c->material[i]));
        else
            put(w, o, "material", material_of(w, &c->material[i]));
    if (several) put(w, o, "materials", several);
}

/* What is known before the first step. */
static json_t *head_of(writer *w, const fe_result *r)
{
    json_t *o = json_object();
    put(w, o, "problem", text(r->problem->name));
    put(w, o, "mesh", text(r->mesh_name));
    put(w, o, "element", text(r->element));
    put(w, o, "nodes", integer(r->mesh->n_node));
    put(w, o, "elements", integer(r->mesh->n_elem));
    put(w, o, "volume", number(r->volume));
    put(w, o, "units", text(r->problem->units));
    put_materials(w, o, r->problem);
    put(w, o, "probe_nodes", probe_nodes_of(w, r));
    return o;
}

static json_t *end_of(writer *w, const fe_result *r)
{
    json_t *o = json_object();
    put(w, o, "status", text(r->status));
    put(w, o, "failed_step", failed_of(w, r));
    put(w, o, "run", run_of(w, r));
    return o;
}

/* Text under construction, of lines that are indented. */
typedef struct lines {
    char *text;
    size_t n, capacity;
    int indent;
} lines;

static int append(const char *text, size_t n, void *context)
{
    lines *l = context;
    for (size_t i = 0; i < n; i++) {
        if (l->capacity - l->n < 8) {
            const size_t capacity = l->capacity ? 2 * l->capacity : 4096;
            char *bigger = realloc(l->text, capacity);
            if (!bigger) return -1;
            l->text = bigger, l->capacity = capacity;
        }
        l->text[l->n++] = text[i];
        for (int k = 0; k < l->indent && text[i] == '\n'; k++) l->text[l->n++] = ' ';
    }
    return 0;
}

/* Appends an object and gives it up. */
static void dump(writer *w, json_t *o, int indent, lines *l)
{
    l->indent = indent;
    if (!o || json_dump_callback(o, append, l, JSON_INDENT(1) | JSON_REAL_PRECISION(17))) w->failed = 1;
    l->indent = 0;
    json_decref(o);
}

static void say(writer *w, const char *text, lines *l)
{
    if (append(text, strlen(text), l)) w->failed = 1;
}

/* What the file lacks of {head, "steps": [steps ...; the brace behind the head is left out. */
static void dump_more(writer *w, const fe_result_file *f, const fe_result *r, lines *more)
{
    if (!f->has_head) {
        dump(w, head_of(w, r), 0, more);
        if (more->n > 2) more->n -= 2;
        say(w, ",\n \"steps\": [", more);
    }
    for (int k = f->n_step; k < r->n_step; k++) {
        say(w, r->n_before + k ? ",\n  " : "\n  ", more);
        dump(w, step_of(w, r, &r->step[k]), 2, more);
    }
}

/* ], end}; the brace before the end is left out. */
static void dump_end(writer *w, const fe_result *r, lines *end)
{
    say(w, "\n ],", end);
    const size_t brace = end->n;
    dump(w, end_of(w, r), 0, end);
    say(w, "\n", end);
    if (!w->failed) memmove(end->text + brace, end->text + brace + 1, --end->n - brace);
}

fe_status fe_result_open(fe_result_file *f, const char *path)
{
    *f = (fe_result_file){0};
    return fe_growing_open(&f->file, path);
}

fe_status fe_result_resume(fe_result_file *f, const fe_checkpoint *state)
{
    const fe_checkpoint_head *h = &state->head;
    char *text;
    size_t n;
    fe_hash hash = {0};
    if (!h->n_step) return FE_OK; /* it begins anew */
    FE_TRY(fe_file_read(f->file.path, &text, &n));
    if (n > h->result_bytes) fe_hash_add(&hash, h->result_bytes, text);
    fe_status status =
        n > h->result_bytes && fe_hash_value(&hash) == h->result_hash
            ? fe_growing_resume(&f->file, h->result_bytes, text)
            : fe_fail(FE_BAD_INPUT, "%s: is not the result that the state beside it belongs to",
                      f->file.name);
    if (status == FE_OK) f->has_head = 1, f->hash = hash;
    free(text);
    return status;
}

fe_status fe_result_is_done(const char *path, const char *inputs, int *done)
{
    char *text;
    size_t n;
    *done = 0;
    FE_TRY(fe_file_read(path, &text, &n));
    json_t *root = json_loadb(text, n, 0, NULL);
    const char *status = json_string_value(json_object_get(root, "status")),
               *of = json_string_value(json_object_get(json_object_get(root, "run"), "inputs"));
    *done = status && of && !strcmp(status, "converged") && !strcmp(of, inputs);
    json_decref(root);
    free(text);
    return FE_OK;
}

fe_status fe_result_write(fe_result_file *f, const fe_result *r)
{
    writer w = {0};
    lines more = {0}, end = {0};
    fe_status status;
    dump_more(&w, f, r, &more);
    dump_end(&w, r, &end);
    if (w.failed)
        status = fe_fail(FE_OUT_OF_MEMORY, "%s: no host memory for the result", f->file.name);
    else
        status = fe_growing_write(&f->file, more.n, more.text ? more.text : "", end.n, end.text);
    if (status == FE_OK) f->has_head = 1, f->n_step = r->n_step, fe_hash_add(&f->hash, more.n, more.text);
    free(more.text), free(end.text);
    return status;
}

void fe_result_file_close(fe_result_file *f) { fe_growing_close(&f->file); }
