/* Meshes of second order as Gmsh writes them, and ours as Gmsh reads them (tests/gmsh_second_order.py). */
#include "common/problem/boundary.h"
#include "tests/common.h"
#include "tests/draft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

typedef struct facts {
    int n_node, n_elem;
    double volume, area, length;
} facts;

/* Exit code of the script under the first Python that has Gmsh; 77 where none has. */
static int run_script(const char *arguments, const char *output)
{
    const char *pythons[] = {getenv("PYTHON"), "python3", "/usr/bin/python3"};
    int code = 77;
    for (int i = 0; i < 3 && code == 77; i++) {
        char command[8 * FOLDER_LENGTH];
        if (!pythons[i]) continue;
        snprintf(command, sizeof command, "'%s' tests/gmsh_second_order.py %s >'%s' 2>'%s.log'", pythons[i],
                 arguments, output, output);
        const int status = system(command);
        code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
        if (code == 127) code = 77; /* no such interpreter */
    }
    if (code && code != 77) {
        char log[2048], path[2 * FOLDER_LENGTH];
        snprintf(path, sizeof path, "%s.log", output);
        read_into(path, sizeof log, log);
        fail_msg("gmsh_second_order.py %s: exit code %d: %s", arguments, code, log);
    }
    return code;
}

static const char no_gmsh[] = "no python3 with Gmsh (Debian: python3-gmsh); set PYTHON";

/* The sum of a uniform traction of 1 over the group "outer", and of a line load of 1 along "edge". */
static void measure_sides(const fe_mesh *mesh, double *area, double *length)
{
    draft d;
    fe_boundary b;
    double force[3], moment[3], virial;
    open_draft(&d);
    add_support(&d, "bottom", "0", "0", "0", 0);
    add_traction(&d, "outer", 0, 0, 1, 0);
    add_nodal(&d, "edge", 1, 0, 0);
    must(fe_boundary_apply(&d.c, mesh, &b));
    resultant(mesh, b.load[0], force, moment, &virial);
    *area = force[2], *length = force[0];
    fe_boundary_close(&b);
}

static void check_facts(const char *path, int kind, const facts *f)
{
    fe_mesh mesh;
    fe_quality q;
    double area, length;
    must(fe_mesh_read(path, 0, &mesh));
    assert_int_equal(mesh.kind, kind);
    assert_int_equal(mesh.n_node, f->n_node);
    assert_int_equal(mesh.n_elem, f->n_elem);
    must(fe_mesh_quality(&mesh, &q));
    assert_true(q.min_jacobian > 0);
    /* Gmsh's weights of tetrahedra have 13 digits. */
    if (!(fabs(q.volume / f->volume - 1) < 1e-12)) fail_msg("%s: %.17g, %.17g", path, q.volume, f->volume);
    measure_sides(&mesh, &area, &length);
    /* No polynomials: both rules are near enough. */
    if (!(fabs(area / f->area - 1) < 1e-7)) fail_msg("%s: area %.17g, %.17g", path, area, f->area);
    if (!(fabs(length / f->length - 1) < 1e-7)) fail_msg("%s: length %.17g, %.17g", path, length, f->length);
    fe_mesh_close(&mesh);
}

static const struct {
    const char *name;
    int kind;
    facts f; /* of Gmsh 4.8 */
} part[] = {
    {"tet10", FE_TET10, {566, 266, 3.534307382361294, 4.7123824266524075, 3.1415843885296364}},
    {"hex27", FE_HEX27, {225, 16, 3.5341174312918064, 4.712273642488169, 3.1415157616587797}},
};

static void parts_of_second_order_are_read(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        char path[128];
        snprintf(path, sizeof path, "tests/validation/second_order/tube_%s.msh", part[k].name);
        check_facts(path, part[k].kind, &part[k].f);
    }
}

/* Text and binary, 2.2 and 4.1, as the Gmsh that is here writes them. */
static void gmsh_writes_what_is_read(void **state)
{
    (void)state;
    char arguments[2 * FOLDER_LENGTH], path[2 * FOLDER_LENGTH];
    snprintf(arguments, sizeof arguments, "make '%s'", test_folder);
    snprintf(path, sizeof path, "%s/out", test_folder);
    skip_if(run_script(arguments, path) == 77 ? no_gmsh : NULL, "meshes of second order");
    for (int k = 0; k < 2; k++) {
        facts f;
        char text[512];
        snprintf(path, sizeof path, "%s/%s.facts", test_folder, part[k].name);
        read_into(path, sizeof text, text);
        assert_int_equal(
            sscanf(text, "%d %d %lf %lf %lf", &f.n_node, &f.n_elem, &f.volume, &f.area, &f.length), 5);
        for (int spelling = 0; spelling < 4; spelling++) {
            snprintf(path, sizeof path, "%s/%s.%s.%d.msh", test_folder, part[k].name,
                     spelling / 2 ? "2.2" : "4.1", spelling % 2);
            check_facts(path, part[k].kind, &f);
        }
    }
}

/* Distorted boxes, which no wrong order of nodes leaves with their volume. */
static void gmsh_reads_what_is_written(void **state)
{
    (void)state;
    char arguments[8 * FOLDER_LENGTH] = "measure", path[2 * FOLDER_LENGTH], text[512];
    for (int k = 0; k < 4; k++) {
        fe_mesh mesh = make_box(part[k / 2].kind, (const int[]){2, 3, 2}, (const double[]){1, 2, 3}, 0.15, 5);
        snprintf(path, sizeof path, "%s/box%d.msh", test_folder, k);
        must(fe_mesh_write(&mesh, path, k % 2));
        fe_mesh_close(&mesh);
        strcat(strcat(strcat(arguments, " '"), path), "'");
    }
    snprintf(path, sizeof path, "%s/out", test_folder);
    skip_if(run_script(arguments, path) == 77 ? no_gmsh : NULL, "meshes of second order");
    read_into(path, sizeof text, text);
    const char *at = text;
    for (int k = 0; k < 4; k++) {
        double volume, least;
        int n;
        assert_int_equal(sscanf(at, "%lf %lf%n", &volume, &least, &n), 2);
        at += n;
        if (!(fabs(volume / 6 - 1) < 1e-11 && least > 0)) fail_msg("box %d: %.17g, %g", k, volume, least);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_of_second_order_are_read),
        cmocka_unit_test(gmsh_writes_what_is_read),
        cmocka_unit_test(gmsh_reads_what_is_written),
    };
    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
