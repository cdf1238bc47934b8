/* Reads result files; see result.h. */
#include "tests/result.h"
#include "tests/common.h"

#include <unistd.h>

json_t *result_at(const json_t *o, const char *key)
{
    json_t *value = json_object_get(o, key);
    if (!value) fail_msg("key %s is missing", key);
    return value;
}

json_t *result_load(const char *path)
{
    json_error_t error;
    json_t *root = json_load_file(path, 0, &error);
    if (!root) fail_msg("%s: line %d: %s", path, error.line, error.text);
    return root;
}

json_t *result_step(const json_t *root, size_t i) { return json_array_get(result_at(root, "steps"), i); }
double result_number(const json_t *o, const char *key) { return json_number_value(result_at(o, key)); }

double result_probe(const json_t *step, size_t i)
{
    return json_number_value(json_array_get(result_at(result_at(step, "probes"), "corner"), i));
}

json_t *result_load_checked(const char *path, const char *status, size_t n_step)
{
    json_t *root = result_load(path);
    assert_string_equal(json_string_value(result_at(root, "status")), status);
    assert_int_equal(json_array_size(result_at(root, "steps")), n_step);
    for (size_t i = 0; i < n_step; i++) assert_int_equal(result_number(result_step(root, i), "step"), i + 1);
    return root;
}

size_t result_steps(const char *path)
{
    if (access(path, R_OK)) return 0;
    json_t *root = result_load(path);
    const size_t n = json_array_size(result_at(root, "steps"));
    json_decref(root);
    return n;
}
