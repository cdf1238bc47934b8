/* Lamé's tube on Gmsh's meshes of second order and on those of meshgen: a few curved elements come near the
 * closed form, with supports and pressure on curved sides, and `solves` tells it in the work of the pressure.
 */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/child.h"
#include "tests/common.h"
#include "tests/result.h"

static char meshes[PATH_MAX]; /* absolute: the tests run in a folder of their own */

static int open_tube(void **state)
{
    return realpath("tests/validation/second_order", meshes) ? child_open(state) : -1;
}

/* Radii a = 1 and b = 2, pressure p inside, plane strain: u_r = (1 + nu) p a² / (E (b² - a²)) ((1 - 2 nu) r +
 * b² / r). */
static double lame(double r)
{
    const double E = 1000, nu = 0.3, p = 10;
    return (1 + nu) * p / (E * 3) * ((1 - 2 * nu) * r + 4 / r);
}

static double probe(const json_t *step, const char *name, size_t i)
{
    return json_number_value(json_array_get(result_at(result_at(step, "probes"), name), i));
}

/* Its ends, z = const, are groups of these names. */
static void write_problem(const char *path, const char *bottom, const char *top)
{
    char text[1024];
    snprintf(
        text, sizeof text,
        "{\"name\": \"tube\", \"meshes\": [\"none.msh\"],\n"
        " \"material\": {\"E\": 1000, \"nu\": 0.3}, \"elastic\": true,\n"
        " \"dirichlet\": [{\"group\": \"x0\", \"u\": {\"x\": 0}}, {\"group\": \"y0\", \"u\": {\"y\": 0}},\n"
        "  {\"group\": \"%s\", \"u\": {\"z\": 0}}, {\"group\": \"%s\", \"u\": {\"z\": 0}}],\n"
        " \"neumann\": [{\"group\": \"inner\", \"pressure\": 10}],\n \"paths\": {\"load\": [1]},\n"
        " \"probes\": {\"inner\": [1, 0, 0], \"outer\": [0, 2, 1.5]}}\n",
        bottom, top);
    write_file(path, text);
}

static void curved_elements_solve_lames_tube(void **state)
{
    (void)state;
    skip_if(FE_HAVE_QUADRATIC ? NULL : "quadratic elements are not in this build", "Lame's tube");
    /* Two Hex27 through the wall, four along the arc, and Tet10 of that size. Linear elements of the same
     * size are 4 % (Hex8) and 9 % (Tet4) off. */
    static const struct {
        const char *name;
        double bound;
    } mesh[] = {{"hex27", 0.002}, {"tet10", 0.005}};
    write_problem("tube.json", "bottom", "top");
    for (int k = 0; k < 2; k++) {
        const int code =
            child_run("solve tube.json --variant element_atomic --precondition block-jacobi --mesh "
                      "%s/tube_%s.msh --result tube.r.json --output tube",
                      meshes, mesh[k].name);
        if (code) fail_msg("%s: exit code %d: %s", mesh[k].name, code, child_said);
        json_t *root = result_load_checked("tube.r.json", "converged", 1);
        const json_t *step = result_step(root, 0);
        result_near("inner wall", probe(step, "inner", 0) / lame(1), 1, mesh[k].bound);
        result_near("outer wall", probe(step, "outer", 1) / lame(2), 1, mesh[k].bound);
        result_near("along y0", probe(step, "inner", 1), 0, 1e-12);
        json_decref(root);
    }
}

/* The column `work` of the row of the solve. */
static double work_of(const char *path)
{
    char *text = read_success("awk -F, 'FNR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next } "
                              "$c[\"operation\"] == \"solve\" { print $c[\"work\"] }' '%s'",
                              path);
    char *end;
    const double work = strtod(text, &end);
    if (end == text || strcmp(end, "\n") != 0) fail_msg("%s: the work is \"%s\"", path, text);
    free(text);
    return work;
}

/* With half the distance between nodes the error of the work of the pressure becomes at most this part: it
 * has twice the order of the displacements' derivatives, 2 (linear elements) and 4 (quadratic ones). Coarse
 * ones are only near that. */
static void work_of_the_pressure_converges_to_lames(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int is_quadratic;
        double bound, part; /* of the coarse mesh's error; of that the finer one's */
    } element[] = {{"tet4", 0, 0.05, 0.35},
                   {"hex8", 0, 0.02, 0.3},
                   {"tet10", 1, 0.001, 0.12},
                   {"hex27", 1, 0.002, 0.12}};
    const double exact = 10 * 0.5 * acos(-1.0) * 0.5 * lame(1); /* of a quarter of the wall, 0.5 high */
    write_problem("quarter.json", "z0", "z1");
    for (int k = 0; k < 4; k++) {
        if (element[k].is_quadratic && !FE_HAVE_QUADRATIC) continue; /* the other test says so */
        double error[2];
        for (int fine = 0; fine < 2; fine++) {
            const int n = (element[k].is_quadratic ? 2 : 4) << fine;
            const char *name = element[k].name;
            const int made = child_run("meshgen tube -e %s -c %d,%d,%d -o q.msh", name, n, 2 * n, n / 2);
            if (made) fail_msg("%s: meshgen: exit code %d: %s", name, made, child_said);
            remove("rows.csv");
            const int code =
                child_run("solves quarter.json --mesh q.msh --load linear --repetitions 1 --threads 1 "
                          "--variants element_atomic --rows rows.csv");
            if (code) fail_msg("%s: solves: exit code %d: %s", name, code, child_said);
            error[fine] = fabs(work_of("rows.csv") / exact - 1);
        }
        if (!(error[0] < element[k].bound && error[1] < element[k].part * error[0]))
            fail_msg("%s: errors %g and %g", element[k].name, error[0], error[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(curved_elements_solve_lames_tube),
                                       cmocka_unit_test(work_of_the_pressure_converges_to_lames)};
    return cmocka_run_group_tests(tests, open_tube, child_close);
}
