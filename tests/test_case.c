/* Problem files: what they hold, against the reference problems, and every refusal by its text. */
#include "common/problem/case.h"
#include "tests/common.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads a problem from text, by way of the file "bad.json". */
static fe_status read_text(const char *text, fe_case *c)
{
    char path[FOLDER_LENGTH + 16];
    snprintf(path, sizeof path, "%s/bad.json", test_folder);
    write_bytes(path, strlen(text), text);
    return fe_case_read(path, c);
}

static const fe_support *support_of(const fe_case *c, const char *group)
{
    for (int s = 0; s < c->n_support; s++)
        if (strcmp(c->support[s].group, group) == 0) return &c->support[s];
    fail_msg("%s: no support of %s", c->file, group);
    return NULL;
}

static void reads_validation_problems(void **state)
{
    (void)state;
    glob_t found;
    skip_if(glob("tests/validation/problems/*.json", 0, NULL, &found) ? "not below the working directory"
                                                                      : NULL,
            "tests/validation");
    assert_true(found.gl_pathc >= 6);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        fe_case c;
        must(fe_case_read(found.gl_pathv[i], &c));
        assert_int_equal(c.n_mesh, 2);
        assert_string_equal(c.units, "mm, N, MPa");
        for (int m = 0; m < c.n_mesh; m++) {
            char *path;
            must(fe_case_mesh_path(&c, c.mesh[m], &path));
            assert_int_equal(access(path, R_OK), 0);
            free(path);
        }
        fe_case_close(&c);
    }
    globfree(&found);
}

#define VOCE(keys) "{\"E\": 1, \"nu\": 0.3, \"sigma_y\": 1, \"H\": 0, " keys "}"

static void reads_numbers_and_names(void **state)
{
    (void)state;
    fe_case c;
    skip_if(access("tests/validation/problems/cylinder.json", R_OK) ? "not below the working directory"
                                                                    : NULL,
            "tests/validation");
    must(fe_case_read("tests/validation/problems/cylinder.json", &c));
    assert_string_equal(c.name, "cylinder");
    assert_true(c.material->E == 210000 && c.material->nu == 0.3 && c.material->sigma_y == 240 &&
                c.material->H == 0);
    assert_false(c.elastic);
    assert_int_equal(c.n_support, 4);
    assert_string_equal(support_of(&c, "z1")->expression[2], "0");
    assert_null(support_of(&c, "z1")->expression[0]);
    assert_int_equal(c.n_load, 1);
    assert_true(c.load[0].kind == FE_LOAD_PRESSURE && c.load[0].value[0] == 1);
    assert_int_equal(c.n_path, 1);
    assert_string_equal(c.path[0].name, "load");
    assert_int_equal(c.n_step, 6);
    assert_true(c.path[0].factor[4] == 187 && c.path[0].factor[5] == 0);
    assert_int_equal(c.n_probe, 2);
    assert_string_equal(c.probe[1].name, "outer");
    assert_true(c.probe[1].x[0] == 200);
    fe_case_close(&c);

    must(fe_case_read("tests/validation/problems/patch_elastic.json", &c));
    assert_true(c.elastic && c.material->sigma_y == INFINITY);
    assert_true(c.material->sigma_inf == 0 && c.material->delta == 0); /* linear hardening */
    assert_string_equal(c.support[0].expression[1], "1e-3*(0.2*x-0.5*y+0.25*z)");
    fe_case_close(&c);
}

static void reads_voces_law(void **state)
{
    (void)state;
    fe_case c;
    must(read_text("{\"material\": " VOCE(
                       "\"sigma_inf\": 1.5, \"delta\": 20") ","
                                                            " \"dirichlet\": [{\"group\": \"a\", \"u\": "
                                                            "{\"z\": 1}}], \"paths\": {\"load\": [1]}}",
                   &c));
    assert_true(c.material->sigma_y == 1 && c.material->sigma_inf == 1.5 && c.material->delta == 20);
    fe_case_close(&c);
}

static void reads_a_minimal_problem(void **state)
{
    (void)state;
    fe_case c;
    must(read_text("{\"description\": \"any\", \"elastic\": true, \"material\": {\"E\": 1, \"nu\": -0.5},"
                   " \"dirichlet\": [{\"group\": \"a\", \"u\": {\"z\": -1.5e-7}, \"path\": \"b\"}],"
                   " \"paths\": {\"load\": [1, 2], \"b\": [3, 4]}}",
                   &c));
    assert_string_equal(c.name, "bad"); /* after the file */
    assert_int_equal(c.n_mesh + c.n_load + c.n_probe, 0);
    assert_true(atof(c.support[0].expression[2]) == -1.5e-7);
    assert_int_equal(c.support[0].path, 1);
    assert_true(c.path[1].factor[1] == 4);
    char *path;
    assert_int_equal(fe_case_mesh_path(&c, c.mesh[0], &path), FE_BAD_INPUT); /* the first of none */
    assert_message("bad.json: key \"meshes\": no mesh is listed");
    assert_int_equal(fe_case_mesh_path(&c, "no.msh", &path), FE_BAD_INPUT);
    assert_message("bad.json: mesh \"no.msh\" is neither in ");
    assert_null(path);
    assert_int_equal(fe_case_mesh_path(&c, "/no/no.msh", &path), FE_BAD_INPUT);
    assert_message("mesh \"/no/no.msh\" is not there");
    fe_case_close(&c);
}

/* No factor changes a support whose values are all 0; one that is not needs a path that is there. */
static void zero_supports_need_no_path(void **state)
{
    (void)state;
    static const char *const zeros[] = {"0", "0.0", "-0", "\"0\"", "\"0e5\"", "0, \"y\": \"0.\""},
                             *const others[] = {"1", "\"0*x\"", "\"x\"", "0, \"y\": 1e-30"};
    for (size_t i = 0; i < 10; i++) {
        char text[512];
        fe_case c;
        const int zero = i < 6;
        snprintf(text, sizeof text,
                 "{\"elastic\": true, \"material\": {\"E\": 1, \"nu\": 0}, \"dirichlet\": [{\"group\": "
                 "\"a\", \"u\": {\"x\": %s}}], \"paths\": {\"pull\": [1], \"push\": [2]}}",
                 zero ? zeros[i] : others[i - 6]);
        const fe_status status = read_text(text, &c);
        if (status != (zero ? FE_OK : FE_BAD_INPUT)) fail_msg("%s: %s", text, fe_message());
        if (!zero)
            assert_message("key \"dirichlet[0].path\": absent, and the default \"load\" is not a path");
        fe_case_close(&c);
    }
}

/* A problem with one section replaced (NULL: the good one; "": left out). */
typedef struct variation {
    const char *section, *text, *message;
} variation;

#define SUPPORT(entry) "dirichlet", "[" entry "]"
#define LOAD(entry) "neumann", "[" entry "]"
static const variation variations[] = {
    {"material", "{\"E\": 0, \"nu\": 0.3, \"sigma_y\": 1, \"H\": 0}", "key \"material.E\": 0 is not above 0"},
    {"material", "{\"E\": -1, \"nu\": 0.3, \"sigma_y\": 1, \"H\": 0}",
     "key \"material.E\": -1 is not above 0"},
    {"material", "{\"E\": \"1\", \"nu\": 0.3, \"sigma_y\": 1, \"H\": 0}",
     "key \"material.E\": \"1\" is not a number"},
    {"material", "{\"E\": 1e101, \"nu\": 0.3, \"sigma_y\": 1, \"H\": 0}",
     "key \"material.E\": 1e+101 is beyond 1e100"},
    {"material", "{\"E\": 1e999, \"nu\": 0.3, \"sigma_y\": 1, \"H\": 0}",
     "real number overflow near '1e999'"},
    {"material", "{\"E\": NaN, \"nu\": 0.3, \"sigma_y\": 1, \"H\": 0}", "invalid token near 'NaN'"},
    {"material", "{\"nu\": 0.3, \"sigma_y\": 1, \"H\": 0}", "key \"material.E\": is missing"},
    {"material", "{\"E\": 1, \"nu\": 0.5, \"sigma_y\": 1, \"H\": 0}",
     "key \"material.nu\": 0.5 is not below 0.5"},
    {"material", "{\"E\": 1, \"nu\": -1, \"sigma_y\": 1, \"H\": 0}",
     "key \"material.nu\": -1 is not above -1"},
    {"material", "{\"E\": 1, \"nu\": 0.3, \"sigma_y\": 0, \"H\": 0}",
     "key \"material.sigma_y\": 0 is not above 0"},
    {"material", "{\"E\": 1, \"nu\": 0.3, \"H\": 0}", "key \"material.sigma_y\": is missing"},
    {"material", "{\"E\": 1, \"nu\": 0.3, \"sigma_y\": 1}", "key \"material.H\": is missing"},
    {"material", "{\"E\": 1, \"nu\": 0.3, \"sigma_y\": 1, \"H\": -2}", "key \"material.H\": -2 is below 0"},
    {"material", "{\"E\": 1, \"E\": 1}", "duplicate object key"},
    {"material", "{\"E\": 1, \"nu\": 0.3, \"sigma_y\": 1, \"H\": 0, \"rho\": 1}",
     "unknown key \"material.rho\"; known here: E, nu, sigma_y, H, sigma_inf, delta"},
    {"material", VOCE("\"sigma_inf\": 3"), "key \"material.delta\": is missing"},
    {"material", VOCE("\"delta\": 3"), "key \"material.sigma_inf\": is missing"},
    {"material", VOCE("\"sigma_inf\": 0.5, \"delta\": 3"),
     "key \"material.sigma_inf\": 0.5 is below \"material.sigma_y\", 1"},
    {"material", VOCE("\"sigma_inf\": null, \"delta\": 3"),
     "key \"material.sigma_inf\": null is not a number"},
    {"material", VOCE("\"sigma_inf\": 3, \"delta\": 0"), "key \"material.delta\": 0 is not above 0"},
    {"material", VOCE("\"sigma_inf\": 3, \"delta\": 1e99"),
     "key \"material.delta\": 9.9999999999999997e+98 hardens by 2e+99 at first, more than 100 times E"},
    {"material", "[1]", "key \"material\": [1] is not an object"},
    {"material", "", "key \"material\": is missing"},
    {"elastic", "1", "key \"elastic\": 1 is not true or false"},
    {"name", "\"\"", "key \"name\": the string is empty"},
    {"units", "7", "key \"units\": 7 is not a string"},
    {"description", "7", "key \"description\": 7 is not a string"},
    {"meshes", "\"a.msh\"", "key \"meshes\": \"a.msh\" is not a list"},
    {"meshes", "[\"a.msh\", 3]", "key \"meshes[1]\": 3 is not a string"},
    {"loads", "[]", "unknown key \"loads\"; known here: name, description, meshes,"},
    {"dirichlet", "", "key \"dirichlet\": is missing"},
    {"dirichlet", "{}", "key \"dirichlet\": {} is not a list"},
    {SUPPORT("3"), "key \"dirichlet[0]\": 3 is not an object"},
    {SUPPORT("{\"u\": {\"x\": 0}}"), "key \"dirichlet[0].group\": is missing"},
    {SUPPORT("{\"group\": \"g\"}"), "key \"dirichlet[0].u\": is missing"},
    {SUPPORT("{\"group\": \"g\", \"u\": {}}"), "key \"dirichlet[0].u\": names no component"},
    {SUPPORT("{\"group\": \"g\", \"u\": 0}"), "key \"dirichlet[0].u\": 0 is not an object"},
    {SUPPORT("{\"group\": \"g\", \"u\": {\"w\": 0}}"),
     "unknown key \"dirichlet[0].u.w\"; known here: x, y, z"},
    {SUPPORT("{\"group\": \"g\", \"u\": {\"x\": true}}"),
     "\"dirichlet[0].u.x\": true is not a number or an expression"},
    {SUPPORT("{\"group\": \"g\", \"u\": {\"x\": \"\"}}"), "key \"dirichlet[0].u.x\": the string is empty"},
    {SUPPORT("{\"group\": \"g\", \"u\": {\"x\": 0}, \"path\": \"q\"}"),
     "key \"dirichlet[0].path\": \"q\" is not a path; the paths are: load, hold"},
    {SUPPORT("{\"group\": \"g\", \"u\": {\"x\": 0}, \"value\": 0}"),
     "unknown key \"dirichlet[0].value\"; known here: group, u, path"},
    {LOAD("{\"group\": \"g\"}"), "key \"neumann[0]\": has neither \"pressure\" nor \"traction\""},
    {LOAD("{\"pressure\": 1}"), "key \"neumann[0].group\": is missing"},
    {LOAD("{\"group\": \"g\", \"pressure\": 1, \"traction\": [1, 2, 3]}"), "key \"neumann[0]\": has both"},
    {LOAD("{\"group\": \"g\", \"traction\": [1, 2]}"),
     "\"neumann[0].traction\": [1,2] is not a list of three numbers or expressions"},
    {LOAD("{\"group\": \"g\", \"traction\": [1, 2, true]}"),
     "key \"neumann[0].traction[2]\": true is not a number"},
    {LOAD("{\"group\": \"g\", \"pressure\": [1]}"), "key \"neumann[0].pressure\": [1] is not a number"},
    {LOAD("{\"group\": \"g\", \"pressure\": 1, \"path\": \"q\"}"),
     "key \"neumann[0].path\": \"q\" is not a path"},
    {"paths", "", "key \"paths\": is missing"},
    {"paths", "{}", "key \"paths\": names no path"},
    {"paths", "{\"load\": []}", "key \"paths.load\": has no load step"},
    {"paths", "{\"load\": 1}", "key \"paths.load\": 1 is not a list"},
    {"paths", "{\"load\": [1, null]}", "key \"paths.load[1]\": null is not a number"},
    {"paths", "{\"load\": [1, 2], \"b\": [1]}", "key \"paths.b\": 1 factors, but \"paths.load\" has 2"},
    {"paths", "{\"a\": [1]}, \"neumann\": [{\"group\": \"g\", \"pressure\": 0}]",
     "\"neumann[0].path\": absent, and the default \"load\" is not a path; the paths are: a"},
    {"probes", "[]", "key \"probes\": [] is not an object"},
    {"probes", "{\"p\": [1, 2]}", "key \"probes.p\": [1,2] is not a list of three numbers"},
    {"probes", "{\"p\": [1, 2, 3], \"p\": [1, 2, 3]}", "duplicate object key"},
};

static void refuses_bad_values(void **state)
{
    (void)state;
    static const char *const good[][2] = {
        {"material", "{\"E\": 1, \"nu\": 0.3, \"sigma_y\": 1, \"H\": 0}"},
        {"dirichlet", "[{\"group\": \"g\", \"u\": {\"x\": 0}}]"},
        {"paths", "{\"load\": [1, 2], \"hold\": [1, 1]}"},
        {"name", "\"n\""},
    };
    for (size_t v = 0; v < sizeof variations / sizeof *variations; v++) {
        const variation *change = &variations[v];
        char text[2048];
        size_t used = (size_t)snprintf(text, sizeof text, "{");
        if (*change->text)
            used += (size_t)snprintf(text + used, sizeof text - used, "\n \"%s\": %s,", change->section,
                                     change->text);
        for (int s = 0; s < 4; s++)
            if (strcmp(good[s][0], change->section))
                used += (size_t)snprintf(text + used, sizeof text - used, "\n \"%s\": %s,", good[s][0],
                                         good[s][1]);
        strcpy(text + used - 1, "}\n");
        fe_case c;
        if (read_text(text, &c) != FE_BAD_INPUT) fail_msg("accepted: %s", text);
        assert_message(strstr(change->message, "near") ? "/bad.json:2:" : "/bad.json:");
        assert_message(change->message);
        fe_case_close(&c);
    }
}

static void refuses_bad_files(void **state)
{
    (void)state;
    fe_case c;
    assert_int_equal(fe_case_read("/no/such/problem.json", &c), FE_BAD_INPUT);
    assert_message("/no/such/problem.json");
    assert_message("No such file or directory");
    assert_int_equal(fe_case_read("/tmp", &c), FE_BAD_INPUT);
    assert_message("/tmp");
    assert_int_equal(read_text("", &c), FE_BAD_INPUT);
    assert_message("bad.json:1:0: ");
    assert_int_equal(read_text("[]", &c), FE_BAD_INPUT);
    assert_message("bad.json: the top level is not an object");
    assert_int_equal(read_text("{\n\"name\": \"a\",\n", &c), FE_BAD_INPUT);
    assert_message("bad.json:3:0: ");
    assert_int_equal(read_text("{} trailing", &c), FE_BAD_INPUT);
    assert_message("bad.json:1:11: end of file expected");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_validation_problems),
        cmocka_unit_test(reads_numbers_and_names),
        cmocka_unit_test(reads_voces_law),
        cmocka_unit_test(reads_a_minimal_problem),
        cmocka_unit_test(zero_supports_need_no_path),
        cmocka_unit_test(refuses_bad_values),
        cmocka_unit_test(refuses_bad_files),
    };
    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
