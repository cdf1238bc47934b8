/* Result files of `solve`, and other JSON. A missing key fails the calling cmocka test. */
#ifndef RESULT_H
#define RESULT_H

#include <jansson.h>

json_t *result_load(const char *path);
/* The same, with its status, and its steps numbered 1 to n_step. */
json_t *result_load_checked(const char *path, const char *status, size_t n_step);
json_t *result_at(const json_t *o, const char *key);
double result_number(const json_t *o, const char *key);
json_t *result_step(const json_t *root, size_t i);
/* Component i of the displacement at (1, 1, 1). */
double result_probe(const json_t *step, size_t i);
/* How many steps a result file has; 0 where it is not there yet. Whenever it is there, it is complete. */
size_t result_steps(const char *path);
/* Every number of every step is the same, to a tolerance relative to the step's largest of its kind; or to
 * the bit, with the histories of Newton's method, but without times. */
void result_assert_close(const char *what, const json_t *result, const json_t *reference, double tolerance);
void result_assert_same(const json_t *a, const json_t *b);

/* |value - expected| <= bound, else the calling test fails. */
void result_near(const char *what, double value, double expected, double bound);

#endif
