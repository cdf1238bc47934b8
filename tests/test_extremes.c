/* Problems at the edge of what doubles hold: flat elements, a material that hardly changes its volume, steps
 * that are tiny or far beyond yield, bodies without supports. `solve` gives the right answer, or a line that
 * says why not. The answers are exact: a bar under uniform tension, whatever its mesh. */
#include "tests/child.h"
#include "tests/common.h"
#include "tests/result.h"

#include <math.h>
#include <string.h>

#define YOUNG 210000.0
#define YIELD 355.0
#define HARDENING 1500.0
#define MATERIAL(nu) "\"E\": 210000, \"nu\": " nu ", \"sigma_y\": 355, \"H\": 1500"
/* Pulled at x = 1 by a displacement of 1 times the step's factor. */
#define PULLED                                                                                               \
    "{\"group\": \"x0\", \"u\": {\"x\": 0}}, {\"group\": \"y0\", \"u\": {\"y\": 0}}, "                       \
    "{\"group\": \"z0\", \"u\": {\"z\": 0}}, {\"group\": \"x1\", \"u\": {\"x\": 1}}"

/* Force on the end and equivalent plastic strain of step i against those of a bar of this cross section, to a
 * part `bound` of the force, and of the strain. */
static void assert_bar(const char *path, size_t n_step, double area, double bound)
{
    json_t *root = result_load_checked(path, "converged", n_step);
    for (size_t i = 0; i < n_step; i++) {
        const json_t *step = result_step(root, i);
        const double strain = result_number(result_at(step, "factors"), "load");
        const double stress = YOUNG * strain <= YIELD
                                  ? YOUNG * strain
                                  : (strain + YIELD / HARDENING) / (1.0 / YOUNG + 1.0 / HARDENING);
        const double peeq = stress > YIELD ? (stress - YIELD) / HARDENING : 0.0;
        result_near("force", result_number(result_at(result_at(step, "reactions"), "x1"), "x"), area * stress,
                    bound * area * stress);
        result_near("equivalent plastic strain", result_number(step, "max_peeq"), peeq, bound * strain);
    }
    json_decref(root);
}

static const char *const elements[2] = {"hex8", "tet4"};

/* Cells 10 000 times as long as thick, with their nodes moved. The residual's digits end before 1e-9 of the
 * force; a tolerance that can be reached gives the answer. */
static void flat_elements(void **state)
{
    (void)state;
    child_write_problem(
        "flat.json",
        (problem){.material = MATERIAL("0.3"), .supports = PULLED, .loads = "", .factors = "0.001, 0.004"});
    for (int k = 0; k < 2; k++) {
        child_run("meshgen box -e %s -c 6 -l 1,1,1e-4 -d 0.1 -o flat.msh", elements[k]);
        if (child_run("solve flat.json --mesh flat.msh --threads 1 --result flat.r.json"))
            assert_non_null(strstr(child_said, "--tolerance 1e-09 asks for more digits than there are here"));
        else
            assert_bar("flat.r.json", 2, 1e-4, 1e-6);
        child_must(0, "solve flat.json --mesh flat.msh --threads 1 --tolerance 1e-6 --result flat.r.json");
        assert_bar("flat.r.json", 2, 1e-4, 1e-4);
    }
}

/* A Poisson's ratio of 0.4999: the bulk modulus is 5000 times the shear modulus. */
static void hardly_compressible(void **state)
{
    (void)state;
    child_write_problem("stiff.json", (problem){.material = MATERIAL("0.4999"),
                                                .supports = PULLED,
                                                .loads = "",
                                                .factors = "0.001, 0.004"});
    for (int k = 0; k < 2; k++) {
        child_run("meshgen box -e %s -c 5 -d 0.1 -o stiff.msh", elements[k]);
        child_must(0, "solve stiff.json --mesh stiff.msh --threads 1 --result stiff.r.json");
        assert_bar("stiff.r.json", 2, 1.0, 1e-6);
    }
}

/* A millionth of the yield strain; from there on a thousand times of it in one step. */
static void tiny_and_huge_steps(void **state)
{
    (void)state;
    child_write_problem("steps.json",
                        (problem){.material = MATERIAL("0.3"),
                                  .supports = PULLED,
                                  .loads = "",
                                  .factors = "1.69e-9, 3.38e-9, 0.001690477, 0.001690479, 1.69"});
    for (int k = 0; k < 2; k++) {
        child_run("meshgen box -e %s -c 5 -d 0.1 -o steps.msh", elements[k]);
        child_must(0, "solve steps.json --mesh steps.msh --threads 1 --result steps.r.json");
        assert_non_null(strstr(child_said, "small strains hold below 0.1"));
        assert_bar("steps.r.json", 5, 1.0, 1e-6);
    }
}

/* Loads in balance do not hold a body: what is free to move is named. */
static void bodies_without_supports(void **state)
{
    (void)state;
    static const char *const supports[][2] = {
        {"{\"group\": \"x0\", \"u\": {\"x\": 0}}", "(3 of its 6 rigid motions are free)"},
        {"{\"group\": \"x0\", \"u\": {\"x\": 0, \"y\": 0}}", "it can move along (0, 0, 1)"},
    };
    for (size_t i = 0; i < sizeof supports / sizeof *supports; i++) {
        child_write_problem("free.json", (problem){.supports = supports[i][0],
                                                   .loads = "{\"group\": \"y1\", \"traction\": [0, 0, 5]}, "
                                                            "{\"group\": \"y0\", \"traction\": [0, 0, -5]}"});
        child_must(2, "solve free.json --threads 1");
        child_assert_said("solve free.json", "solve", PARTS("free.json: key \"dirichlet\"", supports[i][1]));
    }
}

/* An argument selects tests by name. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flat_elements),
        cmocka_unit_test(hardly_compressible),
        cmocka_unit_test(tiny_and_huge_steps),
        cmocka_unit_test(bodies_without_supports),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, child_open, child_close);
}
