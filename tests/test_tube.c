/* Lamé's tube on Gmsh's meshes of second order: a few curved elements come near the closed form, with
 * supports and pressure on curved sides. */
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
    write_file(
        "tube.json",
        "{\"name\": \"tube\", \"meshes\": [\"none.msh\"],\n"
        " \"material\": {\"E\": 1000, \"nu\": 0.3}, \"elastic\": true,\n"
        " \"dirichlet\": [{\"group\": \"x0\", \"u\": {\"x\": 0}}, {\"group\": \"y0\", \"u\": {\"y\": 0}},\n"
        "  {\"group\": \"bottom\", \"u\": {\"z\": 0}}, {\"group\": \"top\", \"u\": {\"z\": 0}}],\n"
        " \"neumann\": [{\"group\": \"inner\", \"pressure\": 10}],\n \"paths\": {\"load\": [1]},\n"
        " \"probes\": {\"inner\": [1, 0, 0], \"outer\": [0, 2, 1.5]}}\n");
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(curved_elements_solve_lames_tube)};
    return cmocka_run_group_tests(tests, open_tube, child_close);
}
