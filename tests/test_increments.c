/* The error of an increment: what `solve` estimates of it, against closed paths of strain whose answer is
 * known. A unit cube is sheared in two directions, so that its strain is uniform and prescribed. */
#include "tests/child.h"
#include "tests/common.h"
#include "tests/result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEGS = 4 };
static const double corners[LEGS + 1][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 0}};

/* Both shears where part of n of a leg is done, as a share of the largest. */
static double shear_at(int leg, int part, int n, int c)
{
    return corners[leg][c] + (corners[leg + 1][c] - corners[leg][c]) * part / n;
}

/* Equivalent plastic strain after the path around a square of shears `size`, by so many increments that their
 * error is below 1e-4 of it. */
static double exact(double size, double hardening)
{
    enum { FINE = 20000 };
    const double mu = 200000 / 2.6;
    double stress[2] = {0, 0}, p = 0;
    for (int i = 1; i <= LEGS * FINE; i++) {
        const int leg = (i - 1) / FINE, part = i - leg * FINE;
        for (int c = 0; c < 2; c++)
            stress[c] += mu * size * (shear_at(leg, part, FINE, c) - shear_at(leg, part - 1, FINE, c));
        const double q = sqrt(3) * hypot(stress[0], stress[1]);
        const double more = fmax(0, (q - 250 - hardening * p) / (3 * mu + hardening));
        for (int c = 0; c < 2; c++) stress[c] *= 1 - (q > 0 ? 3 * mu * more / q : 0);
        p += more;
    }
    return p;
}

/* Appends the factors of one path, n for each leg, to a list. */
static void write_factors(char *list, int legs, int n, int c)
{
    for (int i = 1; i <= legs * n; i++)
        list += sprintf(list, "%s%.17g", i > 1 ? ", " : "", shear_at((i - 1) / n, i - (i - 1) / n * n, n, c));
}

#define SIDE(group)                                                                                          \
    "{\"group\": \"" group "\", \"u\": {\"x\": \"%g*y\", \"y\": 0}, \"path\": \"a\"}, "                      \
    "{\"group\": \"" group "\", \"u\": {\"z\": \"%g*y\"}, \"path\": \"b\"}"

static void write_path(const char *path, double size, double hardening, int legs, int n)
{
    char a[4096], b[4096];
    write_factors(a, legs, n, 0), write_factors(b, legs, n, 1);
    write_file(path,
               "{\"meshes\": [\"one.msh\"], \"material\": {\"E\": 200000, \"nu\": 0.3, \"sigma_y\": 250, "
               "\"H\": %g}, "
               "\"dirichlet\": [" SIDE("x0") ", " SIDE("x1") "], \"paths\": {\"a\": [%s], \"b\": [%s]}, "
                                                             "\"probes\": {}}",
               hardening, size, size, size, size, a, b);
}

/* What the estimates of all steps say of the equivalent plastic strain at the end, which is *peeq. */
static double estimate(const json_t *root, double *peeq)
{
    double sum = 0;
    *peeq = 0;
    for (size_t i = 0; i < json_array_size(result_at(root, "steps")); i++) {
        const json_t *step = result_step(root, i);
        const double now = result_number(step, "int_peeq");
        sum += result_number(step, "increment_error") * (now - *peeq);
        *peeq = now;
    }
    return sum;
}

static const char said[] = "the plastic flow turns within the increment, which is off by about ";

/* From one increment a leg to sixteen: the true error is between a third and three times the estimate, and
 * both halve in the end. */
static void closed_paths(void **state)
{
    (void)state;
    static const double hardening[] = {0, 2000}, size[] = {0.0035, 0.005, 0.01};
    static const char *const ways[] = {"", "--mesh one_tet.msh --ranks 2",
                                       "--mesh one_tet.msh --tet-points 4"};
    for (int i = 0; i < 6; i++) {
        const double right = exact(size[i / 2], hardening[i % 2]);
        double before = 0;
        for (int n = 1; n <= 16; n *= 4) {
            write_path("path.json", size[i / 2], hardening[i % 2], LEGS, n);
            assert_int_equal(
                child_run("solve path.json --threads 1 --no-state --result r.json %s", ways[(i + n) % 3]), 0);
            json_t *root = result_load_checked("r.json", "converged", (size_t)(LEGS * n));
            double peeq;
            const double estimated = estimate(root, &peeq), error = right - peeq;
            if (!(error > 0 && estimated > error / 3 && estimated < error * 3))
                fail_msg("%d, %d increments a leg: error %.3e, estimated %.3e", i, n, error, estimated);
            if (n == 1 && size[i / 2] < 0.01) assert_non_null(strstr(child_said, said));
            if (n == 16) assert_true(estimated < 0.6 * before);
            before = estimated;
            json_decref(root);
        }
    }
}

/* Flow that does not turn has no error, in one increment or two, with the elastic strain in front. */
static void straight_paths(void **state)
{
    (void)state;
    for (int n = 1; n <= 2; n++) {
        write_path("straight.json", 0.02, 2000, 1, n);
        child_must(0, "solve straight.json --threads 1 --result r.json");
        child_assert_silent();
        json_t *root = result_load_checked("r.json", "converged", (size_t)n);
        assert_true(result_number(result_step(root, 0), "max_peeq") > 0.001);
        for (int i = 0; i < n; i++)
            result_near("error", result_number(result_step(root, (size_t)i), "increment_error"), 0, 1e-10);
        json_decref(root);
    }
}

/* A single cell, all of whose nodes are on two sides. */
static int open_folder(void **state)
{
    return child_open(state) || child_run("meshgen box -c 1 -o one.msh") ||
           child_run("meshgen box -c 1 -e tet4 -o one_tet.msh");
}

/* An argument selects tests by name. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(closed_paths), cmocka_unit_test(straight_paths)};
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, open_folder, child_close);
}
