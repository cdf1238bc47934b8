/* Files as other programs leave them: mirrored and unmerged meshes, names of another spelling, byte order
 * marks, files that cannot be read. */
#include "common/base/alike.h"
#include "tests/child.h"
#include "tests/common.h"
#include "tests/mesh_text.h"
#include "tests/result.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The command ends with this code and says one line of `program` with this text. */
static void says(int code, const char *command, const char *program, const char *text)
{
    child_must(code, command);
    child_assert_said(command, program, PARTS(text));
}

/* The command ends with 0, and this is what it prints. */
static void prints(const char *command, const char *text)
{
    char said[256];
    child_must(0, command);
    child_assert_silent();
    read_into("out", sizeof said, said);
    assert_string_equal(said, text);
}

static void names_that_look_the_same_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *name, *other, *said; /* NULL: nothing */
    } pair[] = {
        {"Tr\u00e4ger", "Tra\u0308ger", "has U+0061 U+0308 instead of U+00E4: Unicode writes"},
        {"Tra\u0308ger", "Tr\u00e4ger",
         "its \"Tr\u00e4ger\" looks the same, but has U+00E4 instead of U+0061 U+0308"},
        {"caf\u00e9", "cafe\u0301", "U+0065 U+0301 instead of U+00E9"},
        {"x0", "x\u200b0", "has U+0078 U+200B instead of U+0078"},
        {"x0", "\ufeffx0", "has U+FEFF U+0078 instead of U+0078"},
        {"x0 ", "x0", "has nothing instead of U+0020"},
        {"left side", "left\u00a0side", "has U+00A0 instead of U+0020"},
        {"a-b", "a\u2013b", "has U+2013 instead of U+002D"},
        {"fix", "\u0444ix", "has U+0444 instead of U+0066"},
        {"Tr\u00e4ger", "Tr\xe4ger", "has byte E4 (not UTF-8) instead of U+00E4"},
        {"x0", "x0", NULL},
        {"x0", "X0", NULL},
        {"x0", "x1", NULL},
        {"x0", "x00", NULL},
        {"x0", "x", NULL},
        {"", "", NULL},
        {"ab", "a b", NULL},
        {"e", "\u00e9", NULL},
        {"e", "e\u0301", NULL},
        {"\u00e9", "\u00e8", NULL},
        {"a", "\xe4", NULL},
    };
    for (size_t i = 0; i < sizeof pair / sizeof *pair; i++) {
        const char *said = fe_alike(pair[i].name, pair[i].other);
        if (!said != !pair[i].said || (said && !strstr(said, pair[i].said)))
            fail_msg("\"%s\" and \"%s\": %s", pair[i].name, pair[i].other, said ? said : "nothing");
    }
}

static void groups_and_paths_of_another_spelling_are_told(void **state)
{
    (void)state;
    char *mesh = edit(good_41, "", "\"left\"", "\"Tra\u0308ger\"");
    write_file("nfd.msh", "%s", mesh);
    free(mesh);
    child_write_problem("nfd.json", (problem){.supports = "{\"group\": \"Tr\u00e4ger\", \"u\": {\"x\": 0}}"});
    says(2, "solve nfd.json --mesh nfd.msh", "solve",
         "; its \"Tra\u0308ger\" looks the same, but has U+0061 U+0308 instead of U+00E4");
    child_write_problem(
        "nfd.json", (problem){.supports = "{\"group\": \"x0\", \"u\": {\"x\": 0}, \"path\": \"l\u043ead\"}"});
    says(2, "solve nfd.json", "solve",
         "the paths are: load; its \"load\" looks the same, but has U+006F instead of U+043E");
}

/* A mirrored mesh, and one of two boxes that were not merged. */
static void meshes_of_others_are_told(void **state)
{
    (void)state;
    fe_mesh mesh = make_box(FE_HEX8, (const int[]){3, 2, 2}, (const double[]){1, 1, 1}, 0.1, 3);
    for (int k = 0; k < mesh.n_node; k++) mesh.x[3 * k] = 1 - mesh.x[3 * k];
    must(fe_mesh_write(&mesh, "mirrored.msh", 0));
    fe_mesh_close(&mesh);
    says(2, "solve p.json --mesh mirrored.msh", "solve",
         ": 12 of 12 elements are inverted, all: the mesh is mirrored; meshgen turn OLD.msh -o NEW.msh");
    prints("meshgen turn mirrored.msh -o turned.msh", "mirrored.msh: 12 of 12 elements are turned\n");
    child_must(0, "solve p.json --mesh turned.msh --threads 1");
    child_assert_silent();
    prints("meshgen turn turned.msh -b -o again.msh", "turned.msh: 0 of 12 elements are turned\n");
    says(2, "meshgen turn turned.msh", "meshgen", "turn: --output is missing");
    says(2, "meshgen turn -o again.msh", "meshgen", "turn: a mesh file is needed");
    says(2, "meshgen turn turned.msh -c 2 -o again.msh", "meshgen", "turn: --cells is a flag of box");
    says(2, "meshgen turn turned.msh -L 2 -o again.msh", "meshgen", "turn: --levels is a flag of refine");

    write_file(
        "two.msh",
        "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n1\n3 1 \"x0\"\n$EndPhysicalNames\n$Nodes\n8\n"
        "1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n5 0 0 0\n6 1 0 0\n7 0 1.00001 0\n8 0 0 -1\n$EndNodes\n"
        "$Elements\n2\n1 4 2 1 1 1 2 3 4\n2 4 2 1 1 5 7 6 8\n$EndElements\n"
        "$Periodic\n1\n0 1 2\n1\n1 2\n$EndPeriodic\n");
    child_must(0, "meshgen info two.msh");
    assert_non_null(
        strstr(child_said, "note: two.msh: $Periodic is not read: its periodic sides are not tied"));
    assert_non_null(strstr(child_said,
                           "note: two.msh: its 2 parts share no nodes, but 3 nodes lie on nodes of "
                           "another part (5 on 1)"));
    child_write_problem("two.json", (problem){.loads = ""});
    child_must(0, "solve two.json --mesh two.msh --threads 1");
    assert_non_null(strstr(child_said, "note: two.msh: $Periodic is not read"));
    assert_non_null(strstr(child_said, "note: two.msh: its 2 parts share no nodes"));
}

/* A copy of a file behind the UTF-8 mark. */
static void mark_file(const char *from, const char *to)
{
    char *text = read_file(from, NULL);
    write_file(to, "\xef\xbb\xbf%s", text);
    free(text);
}

static void byte_order_marks_are_read_over_or_named(void **state)
{
    (void)state;
    mark_file("p.json", "bom.json");
    mark_file("box.msh", "bom.msh");
    child_must(0, "solve bom.json --mesh bom.msh --threads 1");
    child_assert_silent();
    write_bytes("bom.json", 6, "\xff\xfe{\0}\0");
    says(2, "solve bom.json", "solve",
         "bom.json: begins with the byte order mark of UTF-16; save it as UTF-8");
}

/* A problem whose mesh is of this name. */
static void write_problem_of(const char *mesh)
{
    char *text = read_file("p.json", NULL), *changed = edit(text, "", "box.msh", mesh);
    write_file("closed.json", "%s", changed);
    free(text);
    free(changed);
}

/* A file that is there is not "neither here nor there". The superuser reads all files, but no circle of
 * links. */
static void files_that_cannot_be_read_say_why(void **state)
{
    (void)state;
    char path[FOLDER_LENGTH + 16];
    snprintf(path, sizeof path, "%s/closed.msh", test_folder);
    assert_int_equal(symlink("closed.msh", "closed.msh"), 0);
    write_problem_of("closed.msh");
    says(2, "solve closed.json", "solve", "./closed.msh: Too many levels of symbolic links");
    write_problem_of(path);
    says(2, "solve closed.json", "solve", "/closed.msh: Too many levels of symbolic links");
    assert_int_equal(unlink("closed.msh"), 0);
}

static void files_without_permission_say_so(void **state)
{
    (void)state;
    skip_if(geteuid() ? NULL : "the superuser reads all files", "a mesh without permission");
    write_problem_of("closed.msh");
    write_file("closed.msh", "%s", good_22);
    assert_int_equal(chmod("closed.msh", 0), 0);
    says(2, "solve closed.json", "solve", "./closed.msh: Permission denied");
}

/* A line, a point on it and another point hold a cube. Pulled at both ends it has the stress of the traction.
 */
static void points_and_lines_are_supports(void **state)
{
    (void)state;
    write_file(
        "points.msh",
        "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n5\n0 1 \"corner\"\n0 2 \"other\"\n1 1 "
        "\"edge\"\n"
        "2 1 \"right\"\n2 2 \"left\"\n$EndPhysicalNames\n$Nodes\n8\n1 0 0 0\n2 1 0 0\n3 1 1 0\n4 0 1 0\n"
        "5 0 0 1\n6 1 0 1\n7 1 1 1\n8 0 1 1\n$EndNodes\n$Elements\n6\n1 15 2 1 1 1\n2 15 2 2 4 4\n"
        "3 1 2 1 1 1 2\n4 3 2 1 1 2 3 7 6\n5 3 2 2 2 1 4 8 5\n6 5 2 1 1 1 2 3 4 5 6 7 8\n$EndElements\n");
    child_write_problem("points.json",
                        (problem){.supports = "{\"group\": \"edge\", \"u\": {\"y\": 0, \"z\": 0}}, "
                                              "{\"group\": \"corner\", \"u\": {\"x\": 0}}, "
                                              "{\"group\": \"other\", \"u\": {\"z\": 0}}",
                                  .loads = "{\"group\": \"right\", \"traction\": [200, 0, 0]}, "
                                           "{\"group\": \"left\", \"traction\": [-200, 0, 0]}",
                                  .factors = "1"});
    child_must(0, "solve points.json --mesh points.msh --threads 1 --result r.json");
    json_t *root = result_load_checked("r.json", "converged", 1);
    const json_t *step = result_step(root, 0);
    result_near("u_x = 200 / E", result_probe(step, 0), 1e-3, 1e-10);
    result_near("u_y = -nu u_x", result_probe(step, 1), -3e-4, 1e-10);
    result_near("u_z = -nu u_x", result_probe(step, 2), -3e-4, 1e-10);
    json_decref(root);
    char *text = read_file("points.json", NULL), *loose = edit(text, "", "\"other\"", "\"corner\"");
    write_file("points.json", "%s", loose);
    says(2, "solve points.json --mesh points.msh", "solve", "it can rotate about the axis through ");
    free(text);
    free(loose);
}

/* Whatever ended the step, here the limit of iterations. */
static void nearly_incompressible_materials_are_named(void **state)
{
    (void)state;
    static const char *const material[] = {"\"E\": 1000, \"nu\": 0.499999, \"sigma_y\": 1, \"H\": 20",
                                           "\"E\": 1000, \"nu\": 0.49, \"sigma_y\": 1, \"H\": 20"};
    static const char said[] =
        "; key \"material.nu\" is 0.499999: near 0.5 linear solves lose digits (the bulk "
        "modulus is 5.0e+05 times the shear modulus)";
    for (int i = 0; i < 2; i++) {
        child_write_problem("nu.json", (problem){.material = material[i]});
        child_must(1, "solve nu.json --threads 1 --newton-iterations 1");
        assert_non_null(strstr(child_said, "not converged"));
        assert_true(!strstr(child_said, said) == (i == 1));
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_that_look_the_same_are_told),
        cmocka_unit_test(groups_and_paths_of_another_spelling_are_told),
        cmocka_unit_test(meshes_of_others_are_told),
        cmocka_unit_test(byte_order_marks_are_read_over_or_named),
        cmocka_unit_test(files_that_cannot_be_read_say_why),
        cmocka_unit_test(files_without_permission_say_so),
        cmocka_unit_test(points_and_lines_are_supports),
        cmocka_unit_test(nearly_incompressible_materials_are_named),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, child_open, child_close);
}
