/* Locking of plain linear elements: what `solve` says of it, and the numbers of docs/models.md. */
#include "tests/child.h"
#include "tests/common.h"
#include "tests/result.h"

#include <string.h>

#define CLAMPED "{\"group\": \"x0\", \"u\": {\"x\": 0, \"y\": 0, \"z\": 0}}"

/* How often a text holds a word. */
static int count_of(const char *text, const char *word)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, word)); at++) n++;
    return n;
}

/* A cube that is bent: what locks is said once, with the reason. */
static void locking_is_said(void **state)
{
    (void)state;
    static const struct {
        const char *material, *said;
    } runs[] = {
        {"\"E\": 1000, \"nu\": 0.4999, \"sigma_y\": 1e6, \"H\": 1000", "note: nu = 0.4999: plain linear"},
        {"\"E\": 1000, \"nu\": 0.45, \"sigma_y\": 1e6, \"H\": 0", NULL},
        {"\"E\": 1000, \"nu\": 0.3, \"sigma_y\": 1, \"H\": 1", "note: load step 2: "},
        {"\"E\": 1000, \"nu\": 0.3, \"sigma_y\": 1, \"H\": 0, \"sigma_inf\": 1.5, \"delta\": 1e3",
         "note: load step 3: "}, /* the law has saturated by then */
        {"\"E\": 1000, \"nu\": 0.3, \"sigma_y\": 1, \"H\": 100", NULL},
    };
    for (size_t k = 0; k < sizeof runs / sizeof *runs; k++) {
        child_write_problem("lock.json",
                            (problem){.material = runs[k].material,
                                      .supports = "{\"group\": \"x0\", \"u\": {\"x\": 0, \"y\": 0, "
                                                  "\"z\": 0}}, {\"group\": \"x1\", \"u\": "
                                                  "{\"y\": 0.001}}",
                                      .loads = "",
                                      .factors = "0.1, 2, 20"});
        child_must(0, "solve lock.json --threads 1");
        assert_int_equal(count_of(child_said, "linear elements lock"), runs[k].said != NULL);
        if (runs[k].said) assert_holds(child_said, runs[k].said);
    }
}

/* Quadratic elements: Hex27 alone, and only where hardly any change of volume is left. */
static void locking_of_quadratic_elements_is_said(void **state)
{
    (void)state;
    static const struct {
        const char *element, *nu;
        int said;
    } runs[] = {{"hex27", "0.4999", 1}, {"hex27", "0.499", 0}, {"tet10", "0.4999", 0}};
    for (size_t k = 0; k < sizeof runs / sizeof *runs; k++) {
        char command[96], material[96], words[64];
        snprintf(command, sizeof command, "meshgen box --element %s --cells 2 -o lock.msh", runs[k].element);
        snprintf(material, sizeof material, "\"E\": 1000, \"nu\": %s, \"sigma_y\": 1e6, \"H\": 0",
                 runs[k].nu);
        snprintf(words, sizeof words, "note: nu = %s: hex27 locks", runs[k].nu);
        child_must(0, command);
        child_write_problem("lock.json", (problem){.material = material,
                                                   .supports = CLAMPED,
                                                   .loads = "{\"group\": \"x1\", \"traction\": [1, 0, 0]}",
                                                   .factors = "1, 2"});
        child_must(0, "solve lock.json --mesh lock.msh --threads 1");
        assert_int_equal(count_of(child_said, words), runs[k].said);
        assert_int_equal(count_of(child_said, " lock"), runs[k].said);
    }
}

/* A result of the beam of 10 x 1 x 1 with two elements across. */
static json_t *bend(const char *element, const char *material, const char *supports, const char *loads,
                    const char *factors)
{
    char command[128];
    snprintf(command, sizeof command, "meshgen box --element %s --cells 20,2,2 --length 10,1,1 -o beam.msh",
             element);
    child_must(0, command);
    child_write_problem(
        "beam.json",
        (problem){.material = material, .supports = supports, .loads = loads, .factors = factors});
    child_must(0, "solve beam.json --mesh beam.msh --threads 1 --result beam.r.json");
    return result_load("beam.r.json");
}

/* Largest displacement over that of beam theory, 4 + 0.024 (1 + nu), and the force over the limit load. */
static void documented_factors_hold(void **state)
{
    (void)state;
    static const struct {
        const char *element;
        double nu, factor;
    } elastic[] = {{"hex8", 0.3, 0.87}, {"hex8", 0.4999, 0.19}, {"tet4", 0.3, 0.50}, {"tet4", 0.499, 0.021}};
    for (size_t k = 0; k < sizeof elastic / sizeof *elastic; k++) {
        char material[96];
        snprintf(material, sizeof material, "\"E\": 1000, \"nu\": %g, \"sigma_y\": 1e6, \"H\": 0",
                 elastic[k].nu);
        json_t *r =
            bend(elastic[k].element, material, CLAMPED, "{\"group\": \"x1\", \"traction\": [0, 1, 0]}", "1");
        const double theory = 4 + 0.024 * (1 + elastic[k].nu);
        result_near("displacement", result_number(result_step(r, 0), "max_abs_u") / theory, elastic[k].factor,
                    0.03 * elastic[k].factor);
        json_decref(r);
    }
    static const double factors[] = {1.41, 1.73}; /* moved by twice and ten times 0.1 */
    json_t *r =
        bend("hex8", "\"E\": 1000, \"nu\": 0.3, \"sigma_y\": 1, \"H\": 0",
             CLAMPED ", {\"group\": \"x1\", \"u\": {\"y\": 0.1}}", "", "0.5, 1, 1.5, 2, 3, 4, 6, 8, 10");
    for (int k = 0; k < 2; k++) {
        const json_t *reaction = result_at(result_at(result_step(r, k ? 8 : 3), "reactions"), "x1");
        result_near("force", result_number(reaction, "y") / 0.025, factors[k], 0.01);
    }
    json_decref(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(locking_is_said),
        cmocka_unit_test(locking_of_quadratic_elements_is_said),
        cmocka_unit_test(documented_factors_hold),
    };
    return cmocka_run_group_tests(tests, child_open, child_close);
}
