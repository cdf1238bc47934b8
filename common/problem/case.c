/* Problem files: JSON to fe_case, with every key, type and range checked.
 *
 * A message names file, key and value: `bar.json: key "material.nu": 0.5 is not below 0.5`. */
#include "common/problem/case.h"
#include "common/base/alike.h"
#include "common/base/file.h"
#include "common/base/hash.h"
#include "common/problem/expression.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEY_LENGTH = 256 };

static fe_status refuse(const fe_case *c, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static fe_status refuse(const fe_case *c, const char *key, const char *format, ...)
{
    char text[640];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return fe_fail(FE_BAD_INPUT, "%s: key \"%s\": %s", c->file, key, text);
}

/* The value as compact JSON, shortened to fit a message. */
static const char *shown(const json_t *value)
{
    static _Thread_local char text[64];
    char *dump = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    const int cut = dump && strlen(dump) >= sizeof text;
    snprintf(text, sizeof text, cut ? "%.56s ..." : "%s", dump ? dump : "a value");
    free(dump);
    return text;
}

/* Joins n names, `stride` bytes apart in memory: "a, b, c". */
static const char *joined(int n, const void *name, size_t stride)
{
    static _Thread_local char text[256];
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < n && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? ", " : "",
                                 *(char *const *)((const char *)name + (size_t)i * stride));
    return text;
}

/* `known` ends with NULL. `where` is the key of the object, "" for the top level. */
static fe_status check_keys(const fe_case *c, const char *where, json_t *object, const char *const *known)
{
    int n_known = 0;
    while (known[n_known]) n_known++;
    if (!json_is_object(object))
        return *where ? refuse(c, where, "%s is not an object", shown(object))
                      : fe_fail(FE_BAD_INPUT, "%s: the top level is not an object", c->file);
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        int i = 0;
        while (i < n_known && strcmp(key, known[i])) i++;
        if (i == n_known)
            return fe_fail(FE_BAD_INPUT, "%s: unknown key \"%s%s%.100s\"; known here: %s", c->file, where,
                           *where ? "." : "", key, joined(n_known, known, sizeof *known));
    }
    return FE_OK;
}

static fe_status read_text(const fe_case *c, const char *key, const json_t *value, char **text)
{
    if (!value) return refuse(c, key, "is missing");
    if (!json_is_string(value)) return refuse(c, key, "%s is not a string", shown(value));
    const size_t length = json_string_length(value);
    if (!length) return refuse(c, key, "the string is empty");
    FE_ALLOCATE(*text, length + 1, key);
    memcpy(*text, json_string_value(value), length);
    return FE_OK;
}

static fe_status read_number(const fe_case *c, const char *key, const json_t *value, double *number)
{
    if (!value) return refuse(c, key, "is missing");
    if (!json_is_number(value)) return refuse(c, key, "%s is not a number", shown(value));
    *number = json_number_value(value);
    /* 1e100: squares and products of two such values stay finite */
    if (!(fabs(*number) <= 1e100)) return refuse(c, key, "%g is beyond 1e100", *number);
    return FE_OK;
}

static fe_status read_vector(const fe_case *c, const char *key, const json_t *value, double x[3])
{
    if (!json_is_array(value) || json_array_size(value) != 3)
        return refuse(c, key, "%s is not a list of three numbers", shown(value));
    for (int i = 0; i < 3; i++) {
        char item[KEY_LENGTH + 32];
        snprintf(item, sizeof item, "%s[%d]", key, i);
        FE_TRY(read_number(c, item, json_array_get(value, (size_t)i), &x[i]));
    }
    return FE_OK;
}

static fe_status count_list(const fe_case *c, const char *key, const json_t *value, int *n)
{
    if (!json_is_array(value)) return refuse(c, key, "%s is not a list", shown(value));
    if (json_array_size(value) > INT_MAX) return refuse(c, key, "%zu entries", json_array_size(value));
    *n = (int)json_array_size(value);
    return FE_OK;
}

static fe_status read_meshes(fe_case *c, const json_t *list)
{
    int n = 0;
    if (list) FE_TRY(count_list(c, "meshes", list, &n));
    FE_ALLOCATE(c->mesh, (size_t)n + 1, "meshes"); /* NULL after the last */
    for (c->n_mesh = 0; c->n_mesh < n; c->n_mesh++) {
        char key[KEY_LENGTH];
        snprintf(key, sizeof key, "meshes[%d]", c->n_mesh);
        FE_TRY(read_text(c, key, json_array_get(list, (size_t)c->n_mesh), &c->mesh[c->n_mesh]));
    }
    return FE_OK;
}

/* Of Voce's law both or none. */
static fe_status read_voce(const fe_case *c, const json_t *sigma_inf, const json_t *delta, fe_material *m)
{
    if (!sigma_inf && !delta) return FE_OK;
    FE_TRY(read_number(c, "material.sigma_inf", sigma_inf, &m->sigma_inf));
    if (!(m->sigma_inf >= m->sigma_y))
        return refuse(c, "material.sigma_inf", "%.17g is below \"material.sigma_y\", %.17g", m->sigma_inf,
                      m->sigma_y);
    FE_TRY(read_number(c, "material.delta", delta, &m->delta));
    if (!(m->delta > 0)) return refuse(c, "material.delta", "%.17g is not above 0", m->delta);
    if (!((m->sigma_inf - m->sigma_y) * m->delta <= FE_VOCE_STEEPEST * m->E))
        return refuse(c, "material.delta", "%.17g hardens by %g at first, more than %g times E", m->delta,
                      (m->sigma_inf - m->sigma_y) * m->delta, FE_VOCE_STEEPEST);
    return FE_OK;
}

static fe_status read_material(fe_case *c, json_t *object)
{
    static const char *const known[] = {"E", "nu", "sigma_y", "H", "sigma_inf", "delta", NULL};
    fe_material *m = &c->material;
    if (!object) return refuse(c, "material", "is missing");
    FE_TRY(check_keys(c, "material", object, known));
    FE_TRY(read_number(c, "material.E", json_object_get(object, "E"), &m->E));
    if (!(m->E > 0)) return refuse(c, "material.E", "%.17g is not above 0", m->E);
    FE_TRY(read_number(c, "material.nu", json_object_get(object, "nu"), &m->nu));
    if (!(m->nu < 0.5)) return refuse(c, "material.nu", "%.17g is not below 0.5", m->nu);
    if (!(m->nu > -1)) return refuse(c, "material.nu", "%.17g is not above -1", m->nu);

    const json_t *sigma_y = json_object_get(object, "sigma_y"), *H = json_object_get(object, "H");
    if (sigma_y || !c->elastic) {
        FE_TRY(read_number(c, "material.sigma_y", sigma_y, &m->sigma_y));
        if (!(m->sigma_y > 0)) return refuse(c, "material.sigma_y", "%.17g is not above 0", m->sigma_y);
    }
    if (H || !c->elastic) {
        FE_TRY(read_number(c, "material.H", H, &m->H));
        if (!(m->H >= 0)) return refuse(c, "material.H", "%.17g is below 0", m->H);
    }
    FE_TRY(read_voce(c, json_object_get(object, "sigma_inf"), json_object_get(object, "delta"), m));
    if (c->elastic) m->sigma_y = INFINITY;
    return FE_OK;
}

static fe_status read_path(const fe_case *c, const char *key, const json_t *list, fe_path *path, int *n_step)
{
    FE_TRY(count_list(c, key, list, n_step));
    if (!*n_step) return refuse(c, key, "has no load step");
    FE_ALLOCATE(path->factor, *n_step, key);
    for (int i = 0; i < *n_step; i++) {
        char item[KEY_LENGTH + 32];
        snprintf(item, sizeof item, "%s[%d]", key, i);
        FE_TRY(read_number(c, item, json_array_get(list, (size_t)i), &path->factor[i]));
    }
    return FE_OK;
}

static fe_status read_paths(fe_case *c, json_t *object)
{
    if (!object) return refuse(c, "paths", "is missing");
    if (!json_is_object(object)) return refuse(c, "paths", "%s is not an object", shown(object));
    if (!json_object_size(object)) return refuse(c, "paths", "names no path");
    FE_ALLOCATE(c->path, json_object_size(object), "paths");
    const char *name;
    json_t *list;
    json_object_foreach(object, name, list)
    {
        char key[KEY_LENGTH];
        int n_step = 0;
        snprintf(key, sizeof key, "paths.%s", name);
        fe_path *path = &c->path[c->n_path++];
        FE_ALLOCATE(path->name, strlen(name) + 1, "paths");
        strcpy(path->name, name);
        FE_TRY(read_path(c, key, list, path, &n_step));
        if (c->n_path > 1 && n_step != c->n_step)
            return refuse(c, key, "%d factors, but \"paths.%s\" has %d", n_step, c->path[0].name, c->n_step);
        c->n_step = n_step;
    }
    return FE_OK;
}

/* Index of the path of an entry, whose default is "load". An entry that no factor changes needs none: it gets
 * the first. */
static fe_status find_path(const fe_case *c, const char *where, const json_t *entry, int needed, int *index)
{
    char key[KEY_LENGTH];
    snprintf(key, sizeof key, "%s.path", where);
    const json_t *value = json_object_get(entry, "path");
    if (value && !json_is_string(value)) return refuse(c, key, "%s is not a string", shown(value));
    const char *name = value ? json_string_value(value) : "load", *alike = NULL;
    for (int i = 0; i < c->n_path; i++) {
        if (strcmp(name, c->path[i].name)) continue;
        *index = i;
        return FE_OK;
    }
    if (!value && !needed) return FE_OK;
    for (int i = 0; i < c->n_path && !alike; i++) alike = fe_alike(name, c->path[i].name);
    return refuse(c, key, "%s\"%.100s\" is not a path; the paths are: %s%s",
                  value ? "" : "absent, and the default ", name,
                  joined(c->n_path, &c->path->name, sizeof *c->path), alike ? alike : "");
}

/* A component's value: an expression, or a number that becomes one. */
static fe_status read_expression(const fe_case *c, const char *key, const json_t *value, char **expression)
{
    if (json_is_string(value) && json_string_length(value) > FE_EXPRESSION_LENGTH)
        return refuse(c, key, "%s has %zu characters, an expression has at most %d", shown(value),
                      json_string_length(value), FE_EXPRESSION_LENGTH);
    if (json_is_string(value)) return read_text(c, key, value, expression);
    if (!json_is_number(value)) return refuse(c, key, "%s is not a number or an expression", shown(value));
    double number;
    FE_TRY(read_number(c, key, value, &number));
    FE_ALLOCATE(*expression, 32, key);
    snprintf(*expression, 32, "%.17g", number);
    return FE_OK;
}

static int is_zero(const char *expression)
{
    char *end;
    return strtod(expression, &end) == 0.0 && end > expression && !*end;
}

static fe_status read_support(const fe_case *c, const char *where, json_t *entry, fe_support *support)
{
    static const char *const known[] = {"group", "u", "path", NULL}, *const axes[] = {"x", "y", "z", NULL};
    char key[KEY_LENGTH + 16];
    FE_TRY(check_keys(c, where, entry, known));
    snprintf(key, sizeof key, "%s.group", where);
    FE_TRY(read_text(c, key, json_object_get(entry, "group"), &support->group));
    snprintf(key, sizeof key, "%s.u", where);
    json_t *u = json_object_get(entry, "u");
    if (!u) return refuse(c, key, "is missing");
    FE_TRY(check_keys(c, key, u, axes));
    if (!json_object_size(u)) return refuse(c, key, "names no component");
    int moves = 0;
    for (int i = 0; i < 3; i++) {
        snprintf(key, sizeof key, "%s.u.%s", where, axes[i]);
        const json_t *value = json_object_get(u, axes[i]);
        if (!value) continue;
        FE_TRY(read_expression(c, key, value, &support->expression[i]));
        moves |= !is_zero(support->expression[i]);
    }
    return find_path(c, where, entry, moves, &support->path);
}

static fe_status read_load(const fe_case *c, const char *where, json_t *entry, fe_load *load)
{
    static const char *const known[] = {"group", "pressure", "traction", "path", NULL};
    char key[KEY_LENGTH + 16];
    FE_TRY(check_keys(c, where, entry, known));
    snprintf(key, sizeof key, "%s.group", where);
    FE_TRY(read_text(c, key, json_object_get(entry, "group"), &load->group));
    const json_t *pressure = json_object_get(entry, "pressure"),
                 *traction = json_object_get(entry, "traction");
    if (pressure && traction) return refuse(c, where, "has both \"pressure\" and \"traction\"");
    if (!pressure && !traction) return refuse(c, where, "has neither \"pressure\" nor \"traction\"");
    snprintf(key, sizeof key, "%s.%s", where, pressure ? "pressure" : "traction");
    load->is_pressure = pressure != NULL;
    if (pressure)
        FE_TRY(read_number(c, key, pressure, &load->pressure));
    else
        FE_TRY(read_vector(c, key, traction, load->traction));
    return find_path(c, where, entry, 1, &load->path);
}

static fe_status read_supports(fe_case *c, const json_t *list)
{
    int n = 0;
    if (!list) return refuse(c, "dirichlet", "is missing");
    FE_TRY(count_list(c, "dirichlet", list, &n));
    FE_ALLOCATE(c->support, n, "dirichlet");
    while (c->n_support < n) {
        char where[KEY_LENGTH];
        snprintf(where, sizeof where, "dirichlet[%d]", c->n_support);
        json_t *entry = json_array_get(list, (size_t)c->n_support);
        FE_TRY(read_support(c, where, entry, &c->support[c->n_support++]));
    }
    return FE_OK;
}

static fe_status read_loads(fe_case *c, const json_t *list)
{
    int n = 0;
    if (!list) return FE_OK;
    FE_TRY(count_list(c, "neumann", list, &n));
    FE_ALLOCATE(c->load, n, "neumann");
    while (c->n_load < n) {
        char where[KEY_LENGTH];
        snprintf(where, sizeof where, "neumann[%d]", c->n_load);
        json_t *entry = json_array_get(list, (size_t)c->n_load);
        FE_TRY(read_load(c, where, entry, &c->load[c->n_load++]));
    }
    return FE_OK;
}

static fe_status read_probes(fe_case *c, json_t *object)
{
    if (!object) return FE_OK;
    if (!json_is_object(object)) return refuse(c, "probes", "%s is not an object", shown(object));
    FE_ALLOCATE(c->probe, json_object_size(object), "probes");
    const char *name;
    json_t *point;
    json_object_foreach(object, name, point)
    {
        char key[KEY_LENGTH];
        snprintf(key, sizeof key, "probes.%s", name);
        fe_probe *probe = &c->probe[c->n_probe++];
        FE_ALLOCATE(probe->name, strlen(name) + 1, "probes");
        strcpy(probe->name, name);
        FE_TRY(read_vector(c, key, point, probe->x));
    }
    return FE_OK;
}

/* The problem's name: as given, or the file's without folder and ".json". */
static fe_status read_name(fe_case *c, const json_t *value)
{
    if (value) {
        FE_TRY(read_text(c, "name", value, &c->name));
    } else {
        const char *slash = strrchr(c->file, '/'), *base = slash ? slash + 1 : c->file;
        FE_ALLOCATE(c->name, strlen(base) + 1, "name");
        strcpy(c->name, base);
        char *dot = strrchr(c->name, '.');
        if (dot && dot != c->name) *dot = 0;
    }
    if (strlen(c->name) <= FE_NAME_LENGTH) return FE_OK;
    return refuse(c, "name", "%s%.50s ... has %zu characters, a name has at most %d",
                  value ? "" : "absent, and the file's name ", c->name, strlen(c->name), FE_NAME_LENGTH);
}

static fe_status read_case(fe_case *c, json_t *root)
{
    static const char *const known[] = {"name",      "description", "meshes", "units",  "material", "elastic",
                                        "dirichlet", "neumann",     "paths",  "probes", NULL};
    FE_TRY(check_keys(c, "", root, known));
    FE_TRY(read_name(c, json_object_get(root, "name")));
    const json_t *description = json_object_get(root, "description"), *units = json_object_get(root, "units");
    if (description && !json_is_string(description))
        return refuse(c, "description", "%s is not a string", shown(description));
    if (units) FE_TRY(read_text(c, "units", units, &c->units));
    const json_t *elastic = json_object_get(root, "elastic");
    if (elastic && !json_is_boolean(elastic))
        return refuse(c, "elastic", "%s is not true or false", shown(elastic));
    c->elastic = json_is_true(elastic);
    FE_TRY(read_meshes(c, json_object_get(root, "meshes")));
    FE_TRY(read_material(c, json_object_get(root, "material")));
    FE_TRY(read_paths(c, json_object_get(root, "paths")));
    FE_TRY(read_supports(c, json_object_get(root, "dirichlet")));
    FE_TRY(read_loads(c, json_object_get(root, "neumann")));
    return read_probes(c, json_object_get(root, "probes"));
}

/* jansson tells of memory that runs out in many ways, some of them syntax errors: its allocator remembers it.
 */
static _Thread_local int starved;

static void *allocate(size_t n)
{
    void *memory = malloc(n);
    starved |= !memory;
    return memory;
}

fe_status fe_case_read(const char *path, fe_case *c)
{
    *c = (fe_case){0};
    FE_ALLOCATE(c->file, strlen(path) + 1, path);
    strcpy(c->file, path);
    char *text;
    const char *start = NULL;
    size_t n;
    json_error_t error;
    json_set_alloc_funcs(allocate, free);
    starved = 0;
    fe_status status = fe_file_read(path, &text, &n);
    if (status == FE_OK) status = fe_file_text(path, text, n, &start);
    json_t *root = status == FE_OK
                       ? json_loadb(start, n - (size_t)(start - text), JSON_REJECT_DUPLICATES, &error)
                       : NULL;
    fe_hash hash = {0};
    fe_hash_add(&hash, n, text);
    c->hash = fe_hash_value(&hash);
    free(text);
    if (status == FE_OK && !root && starved)
        status = fe_fail(FE_OUT_OF_MEMORY, "%s: no host memory for its JSON", path);
    if (status == FE_OK && !root)
        status = fe_fail(FE_BAD_INPUT, "%s:%d:%d: %s", path, error.line, error.column, error.text);
    if (status == FE_OK) status = read_case(c, root);
    json_decref(root);
    if (status != FE_OK) fe_case_close(c);
    return status;
}

void fe_case_close(fe_case *c)
{
    for (int i = 0; i < c->n_mesh; i++) free(c->mesh[i]);
    for (int i = 0; i < c->n_support; i++) {
        free(c->support[i].group);
        for (int k = 0; k < 3; k++) free(c->support[i].expression[k]);
    }
    for (int i = 0; i < c->n_load; i++) free(c->load[i].group);
    for (int i = 0; i < c->n_path; i++) {
        free(c->path[i].name);
        free(c->path[i].factor);
    }
    for (int i = 0; i < c->n_probe; i++) free(c->probe[i].name);
    free(c->file);
    free(c->name);
    free(c->units);
    free(c->mesh);
    free(c->support);
    free(c->load);
    free(c->path);
    free(c->probe);
    *c = (fe_case){0};
}

/* Whether a mesh is to be read from here: it is there, or there is a reason why it cannot be seen, which
 * reading it will tell. */
static int is_there(const char *path)
{
    return access(path, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

fe_status fe_case_mesh_path(const fe_case *c, const char *mesh_name, char **path)
{
    *path = NULL;
    if (!mesh_name) return fe_fail(FE_BAD_INPUT, "%s: key \"meshes\": no mesh is listed", c->file);
    const size_t length = strlen(c->file) + strlen(mesh_name) + sizeof "/../meshes/";
    const char *slash = strrchr(c->file, '/'), *folder = slash ? c->file : ".";
    const int width = slash ? (int)(slash - c->file) : 1;
    FE_ALLOCATE(*path, length, mesh_name);
    if (mesh_name[0] == '/') {
        strcpy(*path, mesh_name);
        if (is_there(*path)) return FE_OK;
    } else {
        snprintf(*path, length, "%.*s/%s", width, folder, mesh_name);
        if (is_there(*path)) return FE_OK;
        snprintf(*path, length, "%.*s/../meshes/%s", width, folder, mesh_name);
        if (is_there(*path)) return FE_OK;
    }
    free(*path);
    *path = NULL;
    if (mesh_name[0] == '/') return fe_fail(FE_BAD_INPUT, "%s: mesh \"%s\" is not there", c->file, mesh_name);
    return fe_fail(FE_BAD_INPUT, "%s: mesh \"%s\" is neither in %.*s/ nor in %.*s/../meshes/", c->file,
                   mesh_name, width, folder, width, folder);
}
