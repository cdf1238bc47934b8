/* Reading of values in problem files, with messages that name file, key and value; for the files that read a
 * part of them. */
#ifndef FE_CASE_JSON_H
#define FE_CASE_JSON_H

#include "common/problem/case.h"

#include <jansson.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The keys "material" and "materials" of the file's object; c->elastic is set. */
fe_status fe_case_read_materials(fe_case *c, const json_t *root);
/* The value of the key "paths": names and factors, as many for each. */
fe_status fe_case_read_paths(fe_case *c, json_t *object);
/* The value of the key "contact", NULL where there is none; paths were read. */
fe_status fe_case_read_contact(fe_case *c, json_t *list);
/* Index of the path of an entry, whose default is "load". An entry that no factor changes needs none: it gets
 * the first. */
fe_status fe_case_find_path(const fe_case *c, const char *where, const json_t *entry, int needed, int *index);

enum { KEY_LENGTH = 256 };

__attribute__((format(printf, 3, 4))) static inline fe_status refuse(const fe_case *c, const char *key,
                                                                     const char *format, ...)
{
    char text[640];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return fe_fail(FE_BAD_INPUT, "%s: key \"%s\": %s", c->file, key, text);
}

/* The value as compact JSON, shortened to fit a message. */
static inline const char *shown(const json_t *value)
{
    static _Thread_local char text[64];
    char *dump = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    const int cut = dump && strlen(dump) >= sizeof text;
    snprintf(text, sizeof text, cut ? "%.56s ..." : "%s", dump ? dump : "a value");
    free(dump);
    return text;
}

/* Joins n names, `stride` bytes apart in memory: "a, b, c". */
static inline const char *joined(int n, const void *name, size_t stride)
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
static inline fe_status check_keys(const fe_case *c, const char *where, json_t *object,
                                   const char *const *known)
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

static inline fe_status read_text(const fe_case *c, const char *key, const json_t *value, char **text)
{
    if (!value) return refuse(c, key, "is missing");
    if (!json_is_string(value)) return refuse(c, key, "%s is not a string", shown(value));
    const size_t length = json_string_length(value);
    if (!length) return refuse(c, key, "the string is empty");
    FE_ALLOCATE(*text, length + 1, key);
    memcpy(*text, json_string_value(value), length);
    return FE_OK;
}

static inline fe_status read_number(const fe_case *c, const char *key, const json_t *value, double *number)
{
    if (!value) return refuse(c, key, "is missing");
    if (!json_is_number(value)) return refuse(c, key, "%s is not a number", shown(value));
    *number = json_number_value(value);
    /* 1e100: squares and products of two such values stay finite */
    if (!(fabs(*number) <= 1e100)) return refuse(c, key, "%g is beyond 1e100", *number);
    return FE_OK;
}

static inline fe_status read_vector(const fe_case *c, const char *key, const json_t *value, double x[3])
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

static inline fe_status count_list(const fe_case *c, const char *key, const json_t *value, int *n)
{
    if (!json_is_array(value)) return refuse(c, key, "%s is not a list", shown(value));
    if (json_array_size(value) > INT_MAX) return refuse(c, key, "%zu entries", json_array_size(value));
    *n = (int)json_array_size(value);
    return FE_OK;
}

#endif
