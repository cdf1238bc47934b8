/* Problems at the edge of what doubles hold: flat elements, a material that hardly changes its volume, steps
 * that are tiny or far beyond yield, bodies without supports. `solve` gives the right answer, or a line that
 * says why not. The answers are exact: a bar under uniform tension, whatever its mesh. */
#include "common/mesh/mesh.h"
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

/* Supports that move the whole body, forward, farther, back and to rest: it follows without stress. The
 * corner (1, 1, 1) tells where it is; its stress is less than that of a strain of 1e-12. */
static void bodies_that_supports_carry_along(void **state)
{
    (void)state;
    static const char *const moves[] = {
        "\"x\": 0.02, \"y\": 0.01, \"z\": -0.3",
        "\"x\": \"0.03*z - 0.02*y\", \"y\": \"0.02*x - 0.05*z + 0.7\", \"z\": \"0.05*y - 0.03*x\""};
    static const double corner[][3] = {{0.02, 0.01, -0.3}, {0.01, 0.67, 0.02}},
                        factor[] = {1, 3, 1, 0, 0, -1};
    static const char *const ways[] = {"", "--precondition multigrid", "--ranks 2", "--krylov gmres",
                                       "--variant element_atomic --predictor elastic"};
    for (int i = 0; i < 2 * 2 * 5; i++) {
        const int move = i % 2, kind = i / 2 % 2, cells = i % 3 ? 1 + i % 5 : 12;
        char supports[256];
        snprintf(supports, sizeof supports, "{\"group\": \"x0\", \"u\": {%s}}", moves[move]);
        child_write_problem("move.json", (problem){.material = i < 10 ? MATERIAL("0.3") : PERFECT,
                                                   .supports = supports,
                                                   .loads = "",
                                                   .factors = "1, 3, 1, 0, 0, -1"});
        child_run("meshgen box -e %s -c %d -d 0.1 -o moved.msh", elements[kind], cells);
        if (child_run("solve move.json --mesh moved.msh --threads 1 --result r.json %s",
                      cells == 1 ? "" : ways[i / 4]))
            fail_msg("case %d: %s", i, child_said);
        json_t *root = result_load_checked("r.json", "converged", 6);
        for (size_t k = 0; k < 6; k++) {
            const json_t *step = result_step(root, k);
            for (size_t c = 0; c < 3; c++)
                result_near("corner", result_probe(step, c), factor[k] * corner[move][c], 1e-12);
            result_near("stress", result_number(step, "max_mises"), 0, 1e-12 * YOUNG);
            assert_int_equal(result_number(step, "plastic_gp"), 0);
        }
        json_decref(root);
    }
}

/* A base that moves by the body's size under a load that moves it by a billionth of that, and back: nothing
 * unusual is said, and the reaction carries the load as far as there are digits. Back at its place the body
 * is as one that has not been away. */
static void small_loads_on_moved_bodies(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        write_file(
            "base.json",
            "{\"meshes\": [\"box.msh\"], \"material\": {" MATERIAL(
                "0.3") "}, \"dirichlet\": "
                       "[{\"group\": \"x0\", \"u\": {\"x\": 1, \"y\": 0, \"z\": 0}, \"path\": \"base\"}], "
                       "\"neumann\": [{\"group\": \"x1\", \"traction\": [0, 0, 1e-4], \"path\": \"load\"}], "
                       "\"paths\": {\"base\": [1, 1, 1, 0], \"load\": [0, 1, 2, 2]}, "
                       "\"probes\": {\"corner\": [1, 1, 1]}}");
        child_write_problem("rest.json", (problem){.material = MATERIAL("0.3"),
                                                   .loads = "{\"group\": \"x1\", \"traction\": [0, 0, 1e-4]}",
                                                   .factors = "2"});
        child_run("meshgen box -e %s -c 6 -d 0.1 -o base.msh", elements[k]);
        child_must(0, "solve rest.json --mesh base.msh --threads 1 --result rest.r.json");
        child_must(0, "solve base.json --mesh base.msh --threads 1 --result r.json");
        assert_string_equal(child_said, "");
        json_t *root = result_load_checked("r.json", "converged", 4),
               *rest = result_load_checked("rest.r.json", "converged", 1);
        static const double load[] = {0, 1e-4, 2e-4, 2e-4};
        for (size_t i = 0; i < 4; i++)
            result_near("reaction",
                        result_number(result_at(result_at(result_step(root, i), "reactions"), "x0"), "z"),
                        -load[i], 1e-4 * 1e-4);
        for (size_t c = 0; c < 3; c++)
            result_near("corner", result_probe(result_step(root, 3), c),
                        result_probe(result_step(rest, 0), c),
                        1e-6 * result_number(result_step(rest, 0), "max_abs_u"));
        json_decref(root), json_decref(rest);
    }
}

/* Beside a load of 1 one of 1e-8 is less than what --tolerance leaves: that is said, once; a smaller
 * tolerance finds it. Sums of loads that cancel are no loads. */
static void loads_beside_much_larger_ones(void **state)
{
    (void)state;
    static const struct {
        const char *factors, *flags;
        int said;
    } runs[] = {{"1, 1e-8", "--tolerance 1e-6", 1},
                {"1, 1e-8", "--tolerance 1e-13 --krylov-tolerance 1e-13", 0},
                {"1, 0.5, 1e-17, 0", "", 0},
                {"1, 0.01", "", 0}};
    for (size_t k = 0; k < sizeof runs / sizeof *runs; k++) {
        char command[160];
        child_write_problem(
            "small.json", (problem){.material = MATERIAL("0.3"),
                                    .supports = "{\"group\": \"x0\", \"u\": {\"x\": 0, \"y\": 0, \"z\": 0}}",
                                    .loads = "{\"group\": \"x1\", \"traction\": [0.5, 1, 0]}",
                                    .factors = runs[k].factors});
        child_must(0, "meshgen box -e hex8 -c 8,2,2 -l 8,1,1 -d 0.1 -o small.msh");
        snprintf(command, sizeof command, "solve small.json --mesh small.msh --threads 1 %s", runs[k].flags);
        child_must(0, command);
        const char *said = strstr(child_said, "from what supports take");
        assert_int_equal(said != NULL, runs[k].said);
        if (!said) continue;
        assert_holds(child_said, "note: load step 2: loads of ");
        assert_null(strstr(said + 1, "from what supports take"));
    }
}

/* A sum that cancels is no load: what is left of it by rounding does not make a note. */
static void loads_in_balance(void **state)
{
    (void)state;
    child_write_problem(
        "balance.json",
        (problem){.material = MATERIAL("0.3"),
                  .supports = ROLLERS,
                  .loads = "{\"group\": \"z1\", \"traction\": [0, 0, -1]}, {\"group\": \"z0\", \"traction\": "
                           "[0, 0, 1]}, "
                           "{\"group\": \"x1\", \"pressure\": 1}, {\"group\": \"x0\", \"pressure\": 1}",
                  .factors = "1, 0.3"});
    static const char *const meshes[] = {"-e hex8 -c 4 -d 0.2", "-e tet4 -c 4", "-e hex8 -c 3"};
    for (size_t k = 0; k < sizeof meshes / sizeof *meshes; k++) {
        char command[80];
        snprintf(command, sizeof command, "meshgen box %s -o balance.msh", meshes[k]);
        child_must(0, command);
        child_must(0, "solve balance.json --mesh balance.msh --threads 1");
        child_assert_silent();
    }
}

/* Moves all nodes of a mesh file along x. */
static void move_mesh(const char *from, const char *to, double by)
{
    fe_mesh mesh;
    assert_int_equal(fe_mesh_read(from, 1, &mesh), FE_OK);
    for (int n = 0; n < mesh.n_node; n++) mesh.x[3 * (size_t)n] += by;
    assert_int_equal(fe_mesh_write(&mesh, to, 0), FE_OK);
    fe_mesh_close(&mesh);
}

/* Strains are differences of coordinates: that few digits of them are left is said. */
static void meshes_far_from_the_origin(void **state)
{
    (void)state;
    static const struct {
        double by;
        const char *said;
    } runs[] = {
        {0x1p20, NULL},
        {0x1p30,
         "note: coordinates reach 1.07e+09, and there are elements of 0.866: strains keep about 6 digits"}};
    child_write_problem("moved.json", (problem){.factors = "1"});
    child_must(0, "meshgen box -e hex8 -c 2 -o moved.msh");
    for (size_t k = 0; k < sizeof runs / sizeof *runs; k++) {
        move_mesh("moved.msh", "far.msh", runs[k].by);
        child_must(0, "solve moved.json --mesh far.msh --threads 1");
        assert_int_equal(strstr(child_said, "note: coordinates reach") != NULL, runs[k].said != NULL);
        if (runs[k].said) assert_holds(child_said, runs[k].said);
    }
}

/* A probe takes the nearest node; that it is farther than its elements reach is said. The probe is at 1,
 * 1, 1. */
static void probes_far_from_the_mesh(void **state)
{
    (void)state;
    static const struct {
        const char *mesh;
        int said;
    } runs[] = {{"-e hex8 -c 2 -l 0.5", 1},
                {"-e hex8 -c 2 -l 0.9", 0},
                {"-e tet4 -c 2 -l 0.5", 1},
                {"-e tet4 -c 1 -l 0.6", 0},
                {"-e hex8 -c 2 -l 1", 0}};
    child_write_problem("far.json", (problem){.factors = "1"});
    for (size_t k = 0; k < sizeof runs / sizeof *runs; k++) {
        char command[80];
        snprintf(command, sizeof command, "meshgen box %s -o far.msh", runs[k].mesh);
        child_must(0, command);
        child_must(0, "solve far.json --mesh far.msh --threads 1");
        if (!runs[k].said)
            child_assert_silent();
        else
            assert_holds(child_said,
                         "note: \"probes.corner\": the nearest node, at (0.5, 0.5, 0.5), is 0.866 away");
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
        cmocka_unit_test(bodies_that_supports_carry_along),
        cmocka_unit_test(small_loads_on_moved_bodies),
        cmocka_unit_test(loads_beside_much_larger_ones),
        cmocka_unit_test(probes_far_from_the_mesh),
        cmocka_unit_test(loads_in_balance),
        cmocka_unit_test(meshes_far_from_the_origin),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, child_open, child_close);
}
