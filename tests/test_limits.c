/* Limit loads of perfect plasticity. `solve` says that a load is one only where it is, and how much of it can
 * be carried; a body whose elements lock at large strains gets its answer, whatever the method. */
#include "tests/child.h"
#include "tests/common.h"
#include "tests/result.h"

#include <math.h>
#include <string.h>

#define THICKNESS 0.05 /* of the ring */

static void quadrangle(FILE *f, int *tag, int group, const int node[4])
{
    fprintf(f, "%d 3 2 %d %d %d %d %d %d\n", ++*tag, group, group, node[0], node[1], node[2], node[3]);
}

/* A quarter of a ring between the radii 1 and 2 around z, n elements from inside to outside and a single one
 * around. */
static void write_ring(const char *path, int n)
{
    static const char *const sides[] = {"x0", "y0", "z0", "z1", "inner"};
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n6\n");
    for (int g = 0; g < 5; g++) fprintf(f, "2 %d \"%s\"\n", g + 1, sides[g]);
    fprintf(f, "3 6 \"body\"\n$EndPhysicalNames\n$Nodes\n%d\n", 4 * (n + 1));
    for (int j = 0; j <= n; j++)
        for (int k = 0; k < 4; k++) { /* on the axes x and y; below and above */
            const double radius = 1 + (double)j / n;
            fprintf(f, "%d %.17g %.17g %g\n", 4 * j + k + 1, k % 2 ? 0 : radius, k % 2 ? radius : 0,
                    k / 2 * THICKNESS);
        }
    fprintf(f, "$EndNodes\n$Elements\n%d\n", 5 * n + 1);
    int tag = 0;
    for (int j = 0; j < n; j++) {
        const int a = 4 * j + 1, b = a + 4;
        quadrangle(f, &tag, 1, (const int[]){a + 1, b + 1, b + 3, a + 3});
        quadrangle(f, &tag, 2, (const int[]){a, b, b + 2, a + 2});
        quadrangle(f, &tag, 3, (const int[]){a, b, b + 1, a + 1});
        quadrangle(f, &tag, 4, (const int[]){a + 2, b + 2, b + 3, a + 3});
        fprintf(f, "%d 5 2 6 6 %d %d %d %d %d %d %d %d\n", ++tag, a, b, b + 1, a + 1, a + 2, b + 2, b + 3,
                a + 3);
    }
    quadrangle(f, &tag, 5, (const int[]){1, 2, 4, 3});
    fprintf(f, "$EndElements\n");
    assert_int_equal(fclose(f), 0);
}

/* Elements that cannot keep their volume lock at strains of 13 and carry the load: 3700 times the elastic
 * displacement, and still no limit load. 7.4785539 is the answer of an independent code, whose digits end
 * there. */
static void bodies_that_lock_have_an_answer(void **state)
{
    (void)state;
    static const char *const ways[] = {"",
                                       "--substep",
                                       "--precondition multigrid",
                                       "--precondition none",
                                       "--precondition chebyshev --variant element_atomic",
                                       "--predictor elastic",
                                       "--krylov gmres",
                                       "--ranks 2",
                                       "--jacobian difference"};
    child_write_problem("ring.json", (problem){.material = PERFECT,
                                               .supports = ROLLERS ", {\"group\": \"z1\", \"u\": {\"z\": 0}}",
                                               .loads = "{\"group\": \"inner\", \"pressure\": 1}",
                                               .factors = "100, 200, 400"});
    for (int n = 24; n > 6; n -= 14) {
        double expected = n == 24 ? 7.4785539 : 0;
        write_ring("ring.msh", n);
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            assert_int_equal(
                child_run("solve ring.json --mesh ring.msh --threads 1 --result r.json %s", ways[i]), 0);
            json_t *root = result_load_checked("r.json", "converged", 3);
            const double u = result_number(result_step(root, 2), "max_abs_u");
            if (!expected) expected = u;
            result_near(ways[i], u, expected, 1e-7 * expected);
            json_decref(root);
        }
    }
    assert_int_equal(child_run("solve ring.json --mesh ring.msh --threads 1 --jacobian elastic"), 1);
    assert_non_null(strstr(child_said, ": not converged: "));
}

/* `carried` and `carriable` hold the share that can be carried between them, the latter at most `above` it.
 */
static void assert_share(const char *what, double share, double carried, double above)
{
    json_t *root = result_load_checked("r.json", "limit_load", 1);
    const json_t *failed = result_at(root, "failed_step");
    const double was = result_number(failed, "carried"), can = result_number(failed, "carriable");
    if (!(was <= share && was >= carried && can >= share && can <= share + above))
        fail_msg("%s: of %.6g was carried %.6g, can be %.6g", what, share, was, can);
    json_decref(root);
}

/* A bar carries sigma_y = 250, whatever its elements: far above it or close to it, in pieces or not. */
static void bars_carry_the_yield_stress(void **state)
{
    (void)state;
    static const double beyond[] = {255, 250.1, 380};
    static const char *const meshes[] = {"box.msh", "tet.msh"}, *const ways[] = {
                                                                    "",
                                                                    "--substep",
                                                                    "--precondition multigrid --substep",
                                                                    "--ranks 2",
                                                                    "--predictor elastic",
                                                                    "--jacobian difference"};
    for (int i = 0; i < 3; i++) {
        char factors[64];
        snprintf(factors, sizeof factors, "249.99, %g", beyond[i]);
        child_write_problem(
            "bar.json",
            (problem){.material = PERFECT, .supports = ROLLERS, .loads = PULL, .factors = factors});
        const double share = 0.01 / (beyond[i] - 249.99);
        for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
            const char *way = ways[k], *mesh = meshes[(k + (size_t)i) % 2];
            assert_int_equal(child_run("solve bar.json --mesh %s --threads 1 --result r.json %s", mesh, way),
                             1);
            assert_non_null(
                strstr(child_said, "solve: load step 2: limit load: displacements grow without bound"));
            assert_non_null(strstr(child_said, "at most "));
            assert_share(way, share, strstr(way, "--substep") ? share - 2.0 / 256 : 0, 1e-3);
        }
    }
}

/* What a clamped cube carries in shear is between the same two loads, however it gets there. */
static void shares_agree(void **state)
{
    (void)state;
    static const double to[] = {150, 200, 400};
    double low = 0, high = INFINITY;
    child_must(0, "meshgen box -c 3 -d 0.1 -o cube.msh");
    for (int i = 0; i < 6; i++) {
        char factors[64];
        snprintf(factors, sizeof factors, "100, %g", to[i / 2]);
        child_write_problem("cube.json", (problem){.material = PERFECT,
                                                   .loads = "{\"group\": \"x1\", \"traction\": [0, 0, 1]}",
                                                   .factors = factors});
        assert_int_equal(child_run("solve cube.json --mesh cube.msh --threads 1 --result r.json %s",
                                   i % 2 ? "--substep" : ""),
                         1);
        json_t *root = result_load_checked("r.json", "limit_load", 1);
        const json_t *failed = result_at(root, "failed_step");
        low = fmax(low, 100 + (to[i / 2] - 100) * result_number(failed, "carried"));
        high = fmin(high, 100 + (to[i / 2] - 100) * result_number(failed, "carriable"));
        json_decref(root);
    }
    assert_true(low <= high && high < low + 1);
}

/* An argument selects tests by name. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bodies_that_lock_have_an_answer),
        cmocka_unit_test(bars_carry_the_yield_stress),
        cmocka_unit_test(shares_agree),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, child_open, child_close);
}
