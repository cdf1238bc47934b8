/* Reads result files; see result.h. */
#include "tests/result.h"
#include "tests/common.h"

#include <math.h>
#include <string.h>
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

static double largest_of(const json_t *value)
{
    const char *key;
    json_t *entry;
    size_t k;
    double largest = json_is_number(value) ? fabs(json_number_value(value)) : 0;
    if (json_is_object(value))
        json_object_foreach((json_t *)value, key, entry) largest = fmax(largest, largest_of(entry));
    json_array_foreach(value, k, entry) largest = fmax(largest, largest_of(entry));
    return largest;
}

/* Largest difference of all numbers of two values of the same shape. */
static double difference_of(const json_t *a, const json_t *b)
{
    const char *key;
    json_t *entry;
    size_t k;
    double largest = 0;
    assert_int_equal(json_is_number(a), json_is_number(b));
    if (json_is_number(a)) return fabs(json_number_value(a) - json_number_value(b));
    assert_int_equal(json_typeof(a), json_typeof(b));
    assert_int_equal(json_object_size(a), json_object_size(b));
    assert_int_equal(json_array_size(a), json_array_size(b));
    json_object_foreach((json_t *)a, key, entry) largest =
        fmax(largest, difference_of(entry, result_at(b, key)));
    json_array_foreach(a, k, entry) largest = fmax(largest, difference_of(entry, json_array_get(b, k)));
    return largest;
}

void result_assert_close(const char *what, const json_t *result, const json_t *reference, double tolerance)
{
    static const char *const keys[] = {"factors",        "probes",      "reactions", "max_abs_u",
                                       "norm_u",         "max_peeq",    "max_mises", "int_peeq",
                                       "elastic_energy", "plastic_work"};
    assert_int_equal(json_array_size(result_at(result, "steps")),
                     json_array_size(result_at(reference, "steps")));
    assert_true(result_number(result, "volume") == result_number(reference, "volume"));
    for (size_t i = 0; i < json_array_size(result_at(reference, "steps")); i++) {
        const json_t *a = result_step(result, i), *b = result_step(reference, i);
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            const double difference = difference_of(result_at(a, keys[k]), result_at(b, keys[k]));
            const double scale = largest_of(result_at(b, keys[k]));
            if (!(difference <= tolerance * scale))
                fail_msg("%s, step %zu: %s differs by %.2e of %.2e", what, i + 1, keys[k], difference, scale);
        }
        assert_int_equal(result_number(a, "plastic_gp"), result_number(b, "plastic_gp"));
    }
}

void result_assert_same(const json_t *a, const json_t *b)
{
    assert_int_equal(json_array_size(result_at(a, "steps")), json_array_size(result_at(b, "steps")));
    for (size_t i = 0; i < json_array_size(result_at(b, "steps")); i++) {
        const char *key;
        json_t *value;
        json_object_foreach(result_step(b, i), key,
                            value) if (strcmp(key, "seconds") &&
                                       !json_equal(value, result_at(result_step(a, i), key)))
            fail_msg("step %zu: %s has other bits", i + 1, key);
    }
}

void result_near(const char *what, double value, double expected, double bound)
{
    if (!(fabs(value - expected) <= bound)) fail_msg("%s: %.15g is not %.15g", what, value, expected);
}
