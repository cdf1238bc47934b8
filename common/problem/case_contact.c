/* The key "contact" of a problem file. */
#include "common/problem/case_json.h"

enum { WHERE = 32 }; /* characters of "contact[N]"; keys within it are longer */

/* A direction, of length 1. */
static fe_status read_direction(const fe_case *c, const char *key, const json_t *value, double axis[3])
{
    FE_TRY(read_vector(c, key, value, axis));
    const double length = sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]);
    if (!(length > 0.0)) return refuse(c, key, "%s has no direction", shown(value));
    for (int i = 0; i < 3; i++) axis[i] /= length;
    return FE_OK;
}

static fe_status read_positive(const fe_case *c, const char *key, const json_t *value, double *number)
{
    FE_TRY(read_number(c, key, value, number));
    return *number > 0.0 ? FE_OK : refuse(c, key, "%g is not above 0", *number);
}

/* A kind of obstacle: its key, and those of its point, direction and radius, NULL where it has none. */
static const struct {
    const char *name, *at, *axis, *radius;
} kinds[FE_N_OBSTACLE] = {[FE_PLANE] = {"plane", "point", "normal", NULL},
                          [FE_SPHERE] = {"sphere", "center", NULL, "radius"},
                          [FE_CYLINDER] = {"cylinder", "point", "axis", "radius"}};

static fe_status read_shape(const fe_case *c, const char *where, json_t *shape, int kind, fe_obstacle *o)
{
    char key[WHERE + 96];
    const char *known[4] = {kinds[kind].at};
    int n = 1;
    if (kinds[kind].axis) known[n++] = kinds[kind].axis;
    if (kinds[kind].radius) known[n++] = kinds[kind].radius;
    o->kind = kind;
    FE_TRY(check_keys(c, where, shape, known));
    snprintf(key, sizeof key, "%s.%s", where, kinds[kind].at);
    if (!json_object_get(shape, kinds[kind].at)) return refuse(c, key, "is missing");
    FE_TRY(read_vector(c, key, json_object_get(shape, kinds[kind].at), o->at));
    if (kinds[kind].axis) {
        snprintf(key, sizeof key, "%s.%s", where, kinds[kind].axis);
        if (!json_object_get(shape, kinds[kind].axis)) return refuse(c, key, "is missing");
        FE_TRY(read_direction(c, key, json_object_get(shape, kinds[kind].axis), o->axis));
    }
    if (!kinds[kind].radius) return FE_OK;
    snprintf(key, sizeof key, "%s.%s", where, kinds[kind].radius);
    return read_positive(c, key, json_object_get(shape, kinds[kind].radius), &o->radius);
}

static fe_status read_obstacle(const fe_case *c, const char *where, json_t *object, fe_obstacle *o)
{
    static const char *const known[] = {"plane", "sphere", "cylinder", NULL};
    char key[WHERE + 64];
    if (!object) return refuse(c, where, "is missing");
    FE_TRY(check_keys(c, where, object, known));
    if (json_object_size(object) != 1) return refuse(c, where, "%s is not one obstacle", shown(object));
    for (int kind = 0; kind < FE_N_OBSTACLE; kind++) {
        json_t *shape = json_object_get(object, kinds[kind].name);
        if (!shape) continue;
        snprintf(key, sizeof key, "%s.%s", where, kinds[kind].name);
        return read_shape(c, key, shape, kind, o);
    }
    return FE_OK;
}

/* How the obstacle moves. *moves: it does. */
static fe_status read_move(const fe_case *c, const char *where, json_t *u, double move[3], int *moves)
{
    static const char *const axes[] = {"x", "y", "z", NULL};
    char key[WHERE + 48];
    *moves = 0;
    if (!u) return FE_OK;
    FE_TRY(check_keys(c, where, u, axes));
    if (!json_object_size(u)) return refuse(c, where, "names no component");
    for (int i = 0; i < 3; i++) {
        const json_t *value = json_object_get(u, axes[i]);
        if (!value) continue;
        snprintf(key, sizeof key, "%s.%s", where, axes[i]);
        FE_TRY(read_number(c, key, value, &move[i]));
        *moves |= move[i] != 0.0;
    }
    return FE_OK;
}

static fe_status read_method(const fe_case *c, const char *where, const json_t *entry, fe_contact_entry *to)
{
    char key[WHERE + 32];
    const json_t *method = json_object_get(entry, "method"), *penalty = json_object_get(entry, "penalty");
    const char *name = method ? json_string_value(method) : "augmented";
    snprintf(key, sizeof key, "%s.method", where);
    if (!name || (strcmp(name, "augmented") && strcmp(name, "penalty")))
        return refuse(c, key, "%s is neither \"augmented\" nor \"penalty\"", shown(method));
    to->augmented = !strcmp(name, "augmented");
    to->stiffness = 100.0;
    if (!penalty) return FE_OK;
    snprintf(key, sizeof key, "%s.penalty", where);
    FE_TRY(read_positive(c, key, penalty, &to->stiffness));
    return to->stiffness <= 1e8 ? FE_OK : refuse(c, key, "%g is above 1e8", to->stiffness);
}

static fe_status read_entry(const fe_case *c, const char *where, json_t *entry, fe_contact_entry *to)
{
    static const char *const known[] = {"group", "obstacle", "u", "path", "method", "penalty", NULL};
    char key[WHERE + 32];
    int moves;
    FE_TRY(check_keys(c, where, entry, known));
    snprintf(key, sizeof key, "%s.group", where);
    FE_TRY(read_text(c, key, json_object_get(entry, "group"), &to->group));
    snprintf(key, sizeof key, "%s.obstacle", where);
    FE_TRY(read_obstacle(c, key, json_object_get(entry, "obstacle"), &to->obstacle));
    snprintf(key, sizeof key, "%s.u", where);
    FE_TRY(read_move(c, key, json_object_get(entry, "u"), to->move, &moves));
    FE_TRY(read_method(c, where, entry, to));
    return fe_case_find_path(c, where, entry, moves, &to->path);
}

fe_status fe_case_read_contact(fe_case *c, json_t *list)
{
    int n = 0;
    if (!list) return FE_OK;
    FE_TRY(count_list(c, "contact", list, &n));
    FE_ALLOCATE(c->contact, n, "contact");
    while (c->n_contact < n) {
        char where[WHERE];
        snprintf(where, sizeof where, "contact[%d]", c->n_contact);
        json_t *entry = json_array_get(list, (size_t)c->n_contact);
        FE_TRY(read_entry(c, where, entry, &c->contact[c->n_contact++]));
    }
    return FE_OK;
}
