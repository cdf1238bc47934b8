/* Reads reference results and measures how far a run is from them; see reference.h. */
#include "tests/reference.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- problems -------------------------------------------------------------------------------------- */

fe_status validation_open(const char *problem, const char *mesh, validation *v)
{
    char path[256];
    *v = (validation){0};
    snprintf(path, sizeof path, VALIDATION_FOLDER "/problems/%s.json", problem);
    FE_TRY(fe_case_read(path, &v->problem));
    snprintf(path, sizeof path, VALIDATION_FOLDER "/meshes/%s", mesh);
    FE_TRY(fe_mesh_read(path, 0, &v->mesh));
    return fe_boundary_apply(&v->problem, &v->mesh, &v->boundary);
}

void validation_close(validation *v)
{
    fe_boundary_close(&v->boundary);
    fe_mesh_close(&v->mesh);
    fe_case_close(&v->problem);
}

/* --- reading --------------------------------------------------------------------------------------- */

/* Lines of a CSV file after its header; 0 where there is no file. */
static int csv_lines(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    char line[1024];
    int n = -1;
    while (fgets(line, sizeof line, file)) n++;
    fclose(file);
    return n;
}

static int displacement_row(const char *line, reference_displacement *row)
{
    long long tag = 0;
    const int n = sscanf(line, "%d,%lld,%lf,%lf,%lf", &row->step, &tag, &row->u[0], &row->u[1], &row->u[2]);
    row->tag = tag;
    return n == 5;
}

static int element_row(const char *line, reference_element *row)
{
    long long tag = 0;
    double *s = row->stress;
    const int n = sscanf(line, "%lld,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf", &tag, &s[0], &s[1], &s[2], &s[3],
                         &s[4], &s[5], &row->peeq, &row->peeq_max);
    row->tag = tag;
    return n == 9;
}

/* Reads both files' rows: displacements, or elements where `elements` is set. */
static fe_status read_rows(const char *path, int elements, reference *ref)
{
    const int n = csv_lines(path);
    if (n <= 0) return FE_OK;
    if (elements)
        FE_ALLOCATE(ref->element, n, path);
    else
        FE_ALLOCATE(ref->displacement, n, path);
    FILE *file = fopen(path, "r");
    char line[1024];
    int row = -1, good = file != NULL;
    while (good && row < n && fgets(line, sizeof line, file)) {
        if (row >= 0)
            good = elements ? element_row(line, &ref->element[row])
                            : displacement_row(line, &ref->displacement[row]);
        row++;
    }
    if (file) fclose(file);
    if (!good || row != n) return fe_fail(FE_BAD_INPUT, "%s: line %d is not a row", path, row + 1);
    if (elements)
        ref->n_element = n;
    else
        ref->n_displacement = n;
    return FE_OK;
}

fe_status reference_open(const char *name, const char *mesh, reference *ref)
{
    char stem[256], path[320];
    json_error_t error;
    const int length = (int)strcspn(mesh, ".");
    snprintf(stem, sizeof stem, VALIDATION_FOLDER "/reference/%s.%.*s", name, length, mesh);
    *ref = (reference){0};
    snprintf(path, sizeof path, "%s.json", stem);
    ref->root = json_load_file(path, 0, &error);
    if (!ref->root) return fe_fail(FE_BAD_INPUT, "%s: line %d: %s", path, error.line, error.text);
    ref->n_step = (int)json_array_size(json_object_get(ref->root, "steps"));
    snprintf(path, sizeof path, "%s.displacement.csv", stem);
    FE_TRY(read_rows(path, 0, ref));
    snprintf(path, sizeof path, "%s.elements_last_step.csv", stem);
    return read_rows(path, 1, ref);
}

void reference_close(reference *ref)
{
    json_decref(ref->root);
    free(ref->displacement);
    free(ref->element);
    *ref = (reference){0};
}

/* --- keeping --------------------------------------------------------------------------------------- */

fe_status history_open(const fe_mesh *mesh, history *h)
{
    int repeated;
    *h = (history){.mesh = mesh};
    FE_TRY(fe_tag_map_open(&h->node, mesh->node_tag, mesh->n_node, &repeated));
    return fe_tag_map_open(&h->elem, mesh->elem_tag, mesh->n_elem, &repeated);
}

void history_close(history *h)
{
    for (int s = 0; s < h->n_step; s++) {
        free(h->step[s].displacement);
        free(h->step[s].reaction_force);
        free(h->step[s].stress);
        free(h->step[s].peeq);
        free(h->step[s].peeq_max);
    }
    free(h->step);
    fe_tag_map_close(&h->node);
    fe_tag_map_close(&h->elem);
    *h = (history){0};
}

static fe_status keep(const double *field, size_t n, double **copy)
{
    FE_ALLOCATE(*copy, n, "history");
    memcpy(*copy, field, n * sizeof **copy);
    return FE_OK;
}

static fe_status history_add(void *context, const fe_step_result *result, const fe_fields *fields)
{
    history *h = context;
    h->n_call++;
    if (!result) return FE_OK; /* step 0 */
    if (!fields) return fe_fail(FE_FAILED, "step %d came without its fields", result->step);
    history_step *step = realloc(h->step, (size_t)(h->n_step + 1) * sizeof *step);
    if (!step) return fe_fail(FE_OUT_OF_MEMORY, "history of %d steps", h->n_step + 1);
    h->step = step;
    step += h->n_step++;
    *step = (history_step){0};
    const size_t n_node = (size_t)h->mesh->n_node, n_elem = (size_t)h->mesh->n_elem;
    FE_TRY(keep(fields->displacement, 3 * n_node, &step->displacement));
    FE_TRY(keep(fields->reaction_force, 3 * n_node, &step->reaction_force));
    FE_TRY(keep(fields->stress, 6 * n_elem, &step->stress));
    FE_TRY(keep(fields->peeq, n_elem, &step->peeq));
    return keep(fields->peeq_max, n_elem, &step->peeq_max);
}

fe_observer history_observer(history *h)
{
    return (fe_observer){.context = h, .wants_fields = FE_FIELDS_ALL, .step = history_add};
}

/* --- closed forms ---------------------------------------------------------------------------------- */

/* A uniform state: u = A x, one stress and one peeq in every element. */
typedef struct uniform {
    double A[3][3], stress[6], peeq;
} uniform;

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* 1 where the reference has a closed form of step s: patch_* prescribe the field of problems/patch_*.json on
 * the whole boundary, uniaxial_* pull a cube of 10 mm, held at x, y, z = 0, by 0.01 mm × factor. */
static int closed_form(const reference *ref, int s, uniform *form)
{
    static const double patch[3][3] = {
        {1e-3, 0.4e-3, -0.3e-3}, {0.2e-3, -0.5e-3, 0.25e-3}, {0.1e-3, 0.35e-3, 0.6e-3}};
    const json_t *step = json_array_get(json_object_get(ref->root, "steps"), (size_t)s);
    const json_t *analytic = json_array_get(json_object_get(ref->root, "analytic"), (size_t)s);
    const json_t *stress = json_object_get(analytic, "sigma");
    const double factor = number(json_object_get(step, "factors"), "load");
    if (!analytic) return 0; /* none, or an object with Hill's approximate solution */
    *form = (uniform){.peeq = number(analytic, "peeq")};
    if (stress) {
        for (int i = 0; i < 9; i++) form->A[i / 3][i % 3] = factor * patch[i / 3][i % 3];
        for (size_t i = 0; i < 6; i++) form->stress[i] = json_number_value(json_array_get(stress, i));
    } else {
        form->A[0][0] = factor * 1e-3;
        form->A[1][1] = form->A[2][2] = number(analytic, "lateral_strain");
        form->stress[0] = number(analytic, "sigma_xx");
    }
    return 1;
}

/* --- comparing ------------------------------------------------------------------------------------- */

static void raise_to(double *largest, double value)
{
    if (!(value <= *largest)) *largest = isnan(value) ? INFINITY : value;
}

/* |da| / (a + 1e-5) */
static double peeq_error(double peeq, double expected) { return fabs(peeq - expected) / (expected + 1e-5); }

/* Largest component of |u - expected|; infinite where the node is not there (n < 0). */
static double node_error(const history *h, int s, int n, const double expected[3])
{
    double error = 0;
    for (int i = 0; i < 3; i++)
        raise_to(&error, n < 0 ? INFINITY : fabs(h->step[s].displacement[3 * n + i] - expected[i]));
    return error;
}

static double probe_error(const reference *ref, const json_t *step, const fe_result *result, int s)
{
    const json_t *probes = json_object_get(step, "probes"),
                 *nodes = json_object_get(ref->root, "probe_nodes");
    double error = (int)json_object_size(probes) == result->problem->n_probe ? 0 : INFINITY;
    for (int p = 0; p < result->problem->n_probe; p++) {
        const char *name = result->problem->probe[p].name;
        const json_t *u = json_object_get(probes, name);
        const json_int_t tag = json_integer_value(json_object_get(json_object_get(nodes, name), "tag"));
        if (!u || tag != result->mesh->node_tag[result->boundary->probe[p]]) raise_to(&error, INFINITY);
        for (size_t i = 0; i < 3; i++)
            raise_to(&error, fabs(result->step[s].probe[p][i] - json_number_value(json_array_get(u, i))));
    }
    return error;
}

static double displacement_error(const reference *ref, const json_t *step, const fe_result *result,
                                 const history *h, int s)
{
    uniform form;
    double error = probe_error(ref, step, result, s);
    for (int row = 0; row < ref->n_displacement; row++) {
        const reference_displacement *d = &ref->displacement[row];
        if (d->step == s + 1) raise_to(&error, node_error(h, s, fe_tag_find(&h->node, d->tag), d->u));
    }
    const int closed = closed_form(ref, s, &form);
    for (int n = 0; closed && n < h->mesh->n_node; n++) {
        const double *x = h->mesh->x + 3 * n;
        double u[3];
        for (int i = 0; i < 3; i++) u[i] = form.A[i][0] * x[0] + form.A[i][1] * x[1] + form.A[i][2] * x[2];
        raise_to(&error, node_error(h, s, n, u));
    }
    return error / number(step, "max_abs_u");
}

/* Largest component of the resultant of all loads at a step's factors. */
static double applied_force(const fe_result *result, int s)
{
    double force[3], largest = 0;
    fe_result_applied(result, &result->step[s], force);
    for (int i = 0; i < 3; i++) raise_to(&largest, fabs(force[i]));
    return largest;
}

/* Load on component i of node n at a step's factors. */
static double load_at(const fe_result *result, int s, int n, int i)
{
    double load = 0;
    for (int p = 0; p < result->boundary->n_path; p++)
        if (result->boundary->load[p])
            load += result->step[s].factor[p] * result->boundary->load[p][3 * n + i];
    return load;
}

/* Forces and moments about the origin of reactions and loads. Returns the norm of both. */
static double sum_forces(const fe_result *result, const history *h, int s, double sum[6])
{
    const double *reaction = h->step[s].reaction_force;
    double square = 0, free_force = 0;
    memset(sum, 0, 6 * sizeof *sum);
    for (int n = 0, f = 0; n < h->mesh->n_node; n++) {
        const double *x = h->mesh->x + 3 * n;
        double force[3];
        for (int i = 0; i < 3; i++) {
            const double load = load_at(result, s, n, i), held = reaction[3 * n + i];
            const int fixed = f < result->boundary->n_fixed && result->boundary->fixed[f] == 3 * n + i;
            f += fixed;
            if (!fixed) raise_to(&free_force, fabs(held));
            square += load * load + held * held;
            sum[i] += force[i] = load + held;
        }
        for (int i = 0; i < 3; i++)
            sum[3 + i] += x[(i + 1) % 3] * force[(i + 2) % 3] - x[(i + 2) % 3] * force[(i + 1) % 3];
    }
    return free_force == 0 ? sqrt(square) : NAN;
}

static double balance_error(const fe_result *result, const history *h)
{
    double sum[6], size = 0, error = 0, radius = 0;
    for (int n = 0; n < 3 * h->mesh->n_node; n++) raise_to(&radius, fabs(h->mesh->x[n]));
    for (int s = 0; s < result->n_step && s < h->n_step; s++) {
        double applied[3];
        raise_to(&size, sum_forces(result, h, s, sum));
        fe_result_applied(result, &result->step[s], applied);
        for (int i = 0; i < 3; i++) {
            raise_to(&error, fabs(sum[i]));
            raise_to(&error, fabs(sum[3 + i]) / radius);
            raise_to(&error, fabs(result->step[s].total_reaction[i] + applied[i]));
        }
    }
    return error / (size * sqrt(3.0 * h->mesh->n_node));
}

/* What reactions are measured against: the largest reaction or applied force of the run, 1 N below 1e-6 N. */
static double force_scale(const reference *ref, const fe_result *result)
{
    double largest = 0;
    size_t s;
    const json_t *step, *components, *value;
    const char *key;
    json_array_foreach(json_object_get(ref->root, "steps"), s, step)
        json_object_foreach(json_object_get(step, "reactions"), key, components)
            json_object_foreach((json_t *)components, key, value)
                raise_to(&largest, fabs(json_number_value(value)));
    for (int t = 0; t < result->n_step; t++) raise_to(&largest, applied_force(result, t));
    return largest < 1e-6 ? 1 : largest;
}

static double reaction_error(const json_t *step, const fe_result *result, int s)
{
    static const char *const axis[3] = {"x", "y", "z"};
    const json_t *reactions = json_object_get(step, "reactions"), *components;
    const char *key;
    double error = 0;
    int n_expected = 0;
    json_object_foreach((json_t *)reactions, key, components) n_expected += (int)json_object_size(components);
    if (n_expected != result->boundary->n_reaction) return INFINITY;
    for (int i = 0; i < result->boundary->n_reaction; i++) {
        const fe_reaction *r = &result->boundary->reaction[i];
        const double expected = number(json_object_get(reactions, r->group), axis[r->component]);
        double applied = 0;
        for (int k = 0; k < r->n; k++) applied += load_at(result, s, r->node[k], r->component);
        raise_to(&error, fabs(result->step[s].reaction[i] + applied - expected));
    }
    return error;
}

/* Mean stress and peeq of elements at step s, against the closed form or, at the last step, the file. */
static void element_errors(const reference *ref, const history *h, int s, reference_errors *errors)
{
    uniform form;
    const int closed = closed_form(ref, s, &form);
    const int n = closed ? h->mesh->n_elem : s == ref->n_step - 1 ? ref->n_element : 0;
    double error = 0, scale = 0;
    for (int row = 0; row < n; row++) {
        const reference_element *given = closed ? NULL : &ref->element[row];
        const double *stress = closed ? form.stress : given->stress;
        const int e = closed ? row : fe_tag_find(&h->elem, given->tag);
        if (e < 0) error = INFINITY;
        for (int i = 0; i < 6 && e >= 0; i++) {
            raise_to(&error, fabs(h->step[s].stress[6 * e + i] - stress[i]));
            raise_to(&scale, fabs(stress[i]));
        }
        if (e < 0) continue;
        raise_to(&errors->element_peeq, peeq_error(h->step[s].peeq[e], closed ? form.peeq : given->peeq));
        raise_to(&errors->element_peeq,
                 peeq_error(h->step[s].peeq_max[e], closed ? form.peeq : given->peeq_max));
    }
    if (n) raise_to(&errors->stress, error / scale);
}

/* Largest value of a key over all steps, 1 where it is zero throughout. */
static double largest_of(const reference *ref, const char *key)
{
    double largest = 0;
    size_t s;
    const json_t *step;
    json_array_foreach(json_object_get(ref->root, "steps"), s, step)
        raise_to(&largest, fabs(number(step, key)));
    return largest > 0 ? largest : 1;
}

static void scalar_errors(const reference *ref, const json_t *step, const fe_step_result *r,
                          reference_errors *errors)
{
    const struct {
        const char *key;
        double value, *error;
    } scalars[] = {{"max_mises", r->max_mises, &errors->mises},
                   {"elastic_energy", r->elastic_energy, &errors->elastic_energy},
                   {"plastic_work", r->plastic_work, &errors->plastic_work},
                   {"int_peeq", r->int_peeq, &errors->int_peeq},
                   {"max_abs_u", r->max_abs_u, &errors->norm_u},
                   {"norm_u", r->norm_u, &errors->norm_u}};
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++)
        raise_to(scalars[i].error,
                 fabs(scalars[i].value - number(step, scalars[i].key)) / largest_of(ref, scalars[i].key));
    raise_to(&errors->peeq, peeq_error(r->max_peeq, number(step, "max_peeq")));
    const int64_t difference = llabs(r->plastic_gp - json_integer_value(json_object_get(step, "plastic_gp")));
    if (difference > errors->plastic_gp) errors->plastic_gp = difference;
}

reference_errors reference_compare(const reference *ref, const fe_result *result, const history *h)
{
    reference_errors errors = {0};
    const double scale = force_scale(ref, result), volume = number(ref->root, "volume");
    raise_to(&errors.volume, fabs(result->volume - volume) / volume);
    raise_to(&errors.balance, balance_error(result, h));
    for (int s = 0; s < ref->n_step && s < result->n_step && s < h->n_step; s++) {
        const json_t *step = json_array_get(json_object_get(ref->root, "steps"), (size_t)s);
        raise_to(&errors.displacement, displacement_error(ref, step, result, h, s));
        raise_to(&errors.reaction, reaction_error(step, result, s) / scale);
        scalar_errors(ref, step, &result->step[s], &errors);
        element_errors(ref, h, s, &errors);
    }
    return errors;
}
