/* Problem files: JSON to fe_case, with every key, type and range checked.
 *
 * A message names file, key and value: `bar.json: key "material.nu": 0.5 is not below 0.5`. */
#include "common/problem/case.h"
#include "common/base/alike.h"
#include "common/base/file.h"
#include "common/base/hash.h"
#include "common/problem/case_json.h"
#include "common/problem/expression.h"

#include <errno.h>
#include <unistd.h>

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
    return fe_case_find_path(c, where, entry, moves, &support->path);
}

/* A number or an expression. */
static fe_status read_value(const fe_case *c, const char *key, const json_t *value, double *number,
                            char **expression)
{
    return json_is_string(value) ? read_expression(c, key, value, expression)
                                 : read_number(c, key, value, number);
}

/* Three of them. */
static fe_status read_values(const fe_case *c, const char *key, const json_t *list, fe_load *load)
{
    if (!json_is_array(list) || json_array_size(list) != 3)
        return refuse(c, key, "%s is not a list of three numbers or expressions", shown(list));
    for (int i = 0; i < 3; i++) {
        char item[KEY_LENGTH + 32];
        snprintf(item, sizeof item, "%s[%d]", key, i);
        FE_TRY(read_value(c, item, json_array_get(list, (size_t)i), &load->value[i], &load->expression[i]));
    }
    return FE_OK;
}

/* Of "body_force" and "nodal"; a body force without a group is on all elements. */
static fe_status read_force(const fe_case *c, const char *where, json_t *entry, fe_load *load)
{
    static const char *const known[] = {"group", "force", "path", NULL};
    char key[KEY_LENGTH + 16];
    FE_TRY(check_keys(c, where, entry, known));
    snprintf(key, sizeof key, "%s.group", where);
    const json_t *group = json_object_get(entry, "group"), *force = json_object_get(entry, "force");
    if (group || load->kind != FE_LOAD_BODY) FE_TRY(read_text(c, key, group, &load->group));
    snprintf(key, sizeof key, "%s.force", where);
    if (!force) return refuse(c, key, "is missing");
    FE_TRY(read_values(c, key, force, load));
    return fe_case_find_path(c, where, entry, 1, &load->path);
}

static fe_status read_load(const fe_case *c, const char *where, json_t *entry, fe_load *load)
{
    if (load->kind == FE_LOAD_BODY || load->kind == FE_LOAD_NODAL) return read_force(c, where, entry, load);
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
    load->kind = pressure ? FE_LOAD_PRESSURE : FE_LOAD_TRACTION;
    if (pressure)
        FE_TRY(read_value(c, key, pressure, &load->value[0], &load->expression[0]));
    else
        FE_TRY(read_values(c, key, traction, load));
    return fe_case_find_path(c, where, entry, 1, &load->path);
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

const char *fe_load_list(int kind)
{
    return kind == FE_LOAD_BODY ? "body_force" : kind == FE_LOAD_NODAL ? "nodal" : "neumann";
}

/* The entries of one list, after those of others. */
static fe_status read_loads(fe_case *c, const json_t *root, int kind)
{
    const char *list = fe_load_list(kind);
    const json_t *entries = json_object_get(root, list);
    int n = 0;
    if (!entries) return FE_OK;
    FE_TRY(count_list(c, list, entries, &n));
    fe_load *grown = realloc(c->load, ((size_t)c->n_load + (size_t)n + 1) * sizeof *grown);
    if (!grown) return fe_fail(FE_OUT_OF_MEMORY, "%s: no host memory for loads", c->file);
    c->load = grown;
    for (int i = 0; i < n; i++) {
        char where[KEY_LENGTH];
        fe_load *load = &c->load[c->n_load++];
        *load = (fe_load){.kind = kind, .entry = i};
        snprintf(where, sizeof where, "%s[%d]", list, i);
        FE_TRY(read_load(c, where, json_array_get(entries, (size_t)i), load));
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
    static const char *const known[] = {"name",      "description", "meshes",    "units",   "material",
                                        "materials", "elastic",     "dirichlet", "neumann", "body_force",
                                        "nodal",     "contact",     "paths",     "probes",  NULL};
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
    FE_TRY(fe_case_read_materials(c, root));
    FE_TRY(fe_case_read_paths(c, json_object_get(root, "paths")));
    FE_TRY(read_supports(c, json_object_get(root, "dirichlet")));
    FE_TRY(read_loads(c, root, FE_LOAD_TRACTION));
    FE_TRY(read_loads(c, root, FE_LOAD_BODY));
    FE_TRY(read_loads(c, root, FE_LOAD_NODAL));
    FE_TRY(fe_case_read_contact(c, json_object_get(root, "contact")));
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
    for (int i = 0; i < c->n_load; i++) {
        free(c->load[i].group);
        for (int k = 0; k < 3; k++) free(c->load[i].expression[k]);
    }
    for (int i = 0; i < c->n_contact; i++) free(c->contact[i].group);
    for (int i = 0; c->volume && i < c->n_material; i++) free(c->volume[i]);
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
    free(c->contact);
    free(c->material);
    free(c->volume);
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
