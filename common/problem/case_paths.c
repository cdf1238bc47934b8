/* Load paths of problem files, and which one an entry names. */
#include "common/base/alike.h"
#include "common/problem/case_json.h"

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

fe_status fe_case_read_paths(fe_case *c, json_t *object)
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

fe_status fe_case_find_path(const fe_case *c, const char *where, const json_t *entry, int needed, int *index)
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
