/* ParaView files against VTK's own reader (tests/check_vtu.py). */
#include "common/base/file.h"
#include "common/mesh/vtu.h"
#include "tests/common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Tags need 64 bits. */
static fe_mesh tagged_box(int kind, int cells)
{
    fe_mesh mesh =
        make_box(kind, (const int[]){cells, cells, cells}, (const double[]){1, 2, 3}, cells > 1 ? 0.1 : 0, 7);
    tag_nodes(&mesh, 5000000000, 3);
    for (int e = 0; e < mesh.n_elem; e++) mesh.elem_tag[e] = 7000000000 - e;
    return mesh;
}

/* One allocation for all fields; numbers of many sizes and signs, no pattern that a wrong order would keep.
 */
static double *make_fields(const fe_mesh *mesh, double time, fe_fields *f)
{
    const int n_point = fe_is_tet(mesh->kind) ? 0 : fe_points(mesh->kind); /* of tetrahedra none are wanted */
    const size_t n_node = (size_t)mesh->n_node, n_elem = (size_t)mesh->n_elem,
                 n = 12 * n_node + (22 + 6 * (size_t)n_point) * n_elem;
    double *value = malloc(n * sizeof *value);
    int *rank = malloc(n_elem * sizeof *rank);
    assert_non_null(value);
    assert_non_null(rank);
    uint64_t state = 88172645463325252u + (uint64_t)time;
    for (size_t i = 0; i < n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        value[i] = ldexp((double)(int64_t)state / 9.3e18, (int)(state >> 20) % 60 - 30);
    }
    for (size_t e = 0; e < n_elem; e++) rank[e] = (int)(e % 5);
    *f = (fe_fields){.time = time, .rank = rank, .n_point = n_point};
    const struct {
        const double **field;
        size_t n;
    } fields[] = {{&f->displacement, 3 * n_node},
                  {&f->reaction_force, 3 * n_node},
                  {&f->nodal_stress, 6 * n_node},
                  {&f->stress, 6 * n_elem},
                  {&f->plastic_strain, 6 * n_elem},
                  {&f->strain, 6 * n_elem},
                  {&f->von_mises, n_elem},
                  {&f->von_mises_max, n_elem},
                  {&f->peeq, n_elem},
                  {&f->peeq_max, n_elem},
                  {&f->point_stress, n_point ? 6 * (size_t)n_point * n_elem : 0}};
    const double *at = value;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; at += fields[i++].n)
        *fields[i].field = fields[i].n ? at : NULL;
    return value;
}

enum { REAL, TAG, NUMBER }; /* double, int64_t, int */

/* value [n][n_component] of one of these types. */
static void print_array(FILE *out, const char *where, const char *name, int type, int n_component, int n,
                        const void *value)
{
    const double *real = value;
    const int64_t *tag = value;
    const int *number = value;
    fprintf(out, "array %s %s %d %d\n", where, name, n_component, n);
    for (int i = 0; i < n * n_component; i++) {
        const char *end = (i + 1) % n_component ? " " : "\n";
        if (type == REAL)
            fprintf(out, "%.17g%s", real[i], end);
        else
            fprintf(out, "%lld%s", type == TAG ? (long long)tag[i] : number[i], end);
    }
}

/* Nodes of elements in VTK's order, to be freed: of Tet10 the last two edges change places; Hex27's edges are
 * those of the bottom, of the top, and the upright ones, its faces x0 x1 y0 y1 z0 z1. */
static int *vtk_nodes(const fe_mesh *mesh)
{
    static const int hex27[27] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  11, 13, 9,  16, 18,
                                  19, 17, 10, 12, 14, 15, 22, 23, 21, 24, 20, 25, 26};
    static const int tet10[10] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 8};
    const int n = fe_corners(mesh->kind);
    int *node = malloc((size_t)mesh->n_elem * (size_t)n * sizeof *node);
    assert_non_null(node);
    for (int k = 0; k < mesh->n_elem * n; k++) {
        const int a = k % n;
        node[k] = mesh->conn[k - a +
                             (mesh->kind == FE_HEX27   ? hex27[a]
                              : mesh->kind == FE_TET10 ? tet10[a]
                                                       : a)];
    }
    return node;
}

/* What check_vtu.py compares NAME_step.vtu with. */
static void print_expected(const char *folder, const char *name, int step, const fe_mesh *mesh,
                           const fe_fields *f)
{
    char path[2 * FOLDER_LENGTH];
    static const int cell_type[] = {[FE_TET4] = 10, [FE_HEX8] = 12, [FE_TET10] = 24, [FE_HEX27] = 29};
    snprintf(path, sizeof path, "%s/%s_%04d.expected", folder, name, step);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    print_array(out, "points", "xyz", REAL, 3, mesh->n_node, mesh->x);
    print_array(out, "point", "displacement", REAL, 3, mesh->n_node, f->displacement);
    print_array(out, "point", "reaction_force", REAL, 3, mesh->n_node, f->reaction_force);
    print_array(out, "point", "nodal_stress", REAL, 6, mesh->n_node, f->nodal_stress);
    print_array(out, "point", "node_tag", TAG, 1, mesh->n_node, mesh->node_tag);
    print_array(out, "cell", "stress", REAL, 6, mesh->n_elem, f->stress);
    print_array(out, "cell", "plastic_strain", REAL, 6, mesh->n_elem, f->plastic_strain);
    print_array(out, "cell", "strain", REAL, 6, mesh->n_elem, f->strain);
    if (f->point_stress)
        print_array(out, "cell", "point_stress", REAL, 6 * f->n_point, mesh->n_elem, f->point_stress);
    print_array(out, "cell", "von_mises", REAL, 1, mesh->n_elem, f->von_mises);
    print_array(out, "cell", "von_mises_max", REAL, 1, mesh->n_elem, f->von_mises_max);
    print_array(out, "cell", "peeq", REAL, 1, mesh->n_elem, f->peeq);
    print_array(out, "cell", "peeq_max", REAL, 1, mesh->n_elem, f->peeq_max);
    print_array(out, "cell", "physical_group", NUMBER, 1, mesh->n_elem, mesh->elem_group);
    print_array(out, "cell", "element_tag", TAG, 1, mesh->n_elem, mesh->elem_tag);
    print_array(out, "cell", "rank", NUMBER, 1, mesh->n_elem, f->rank);
    int *node = vtk_nodes(mesh);
    print_array(out, "topology", "connectivity", NUMBER, fe_corners(mesh->kind), mesh->n_elem, node);
    free(node);
    fprintf(out, "array topology types 1 %d\n", mesh->n_elem);
    for (int e = 0; e < mesh->n_elem; e++) fprintf(out, "%d\n", cell_type[mesh->kind]);
    assert_int_equal(fclose(out), 0);
}

/* Writes three steps and, beside them, what a reader must find. */
static void write_series(const char *folder, const char *name, int kind, int cells)
{
    static const double times[] = {0, 1, 2.5};
    fe_series series = {0};
    char path[2 * FOLDER_LENGTH];
    fe_mesh mesh = tagged_box(kind, cells);
    snprintf(path, sizeof path, "%s/%s.times", folder, name);
    FILE *list = fopen(path, "w");
    assert_non_null(list);
    must(fe_series_open(&series, folder, name));
    for (int step = 0; step < 3; step++) {
        fe_fields fields;
        double *memory = make_fields(&mesh, times[step], &fields);
        must(fe_series_write(&series, &mesh, &fields));
        print_expected(folder, name, step, &mesh, &fields);
        fprintf(list, "%.17g\n", times[step]);
        free(memory);
        free((void *)fields.rank);
    }
    assert_int_equal(fclose(list), 0);
    fe_series_close(&series);
    fe_mesh_close(&mesh);
}

/* Exit code of check_vtu.py under the first Python that has VTK; 77 where none has. */
static int run_checker(const char *folder)
{
    const char *pythons[] = {getenv("PYTHON"), "python3", "/usr/bin/python3"};
    int code = 77;
    for (int i = 0; i < 3 && code == 77; i++) {
        char command[2 * FOLDER_LENGTH];
        if (!pythons[i]) continue;
        /* The interpreter must not load the sanitizers of this process. */
        snprintf(command, sizeof command, "'%s' tests/check_vtu.py '%s' 2>'%s/log'", pythons[i], folder,
                 folder);
        const int status = system(command);
        code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
        if (code == 127) code = 77; /* no such interpreter */
    }
    return code;
}

static const char no_vtk[] = "no python3 with VTK (Debian: python3-vtk9); set PYTHON";

static void vtk_reads_what_was_written(void **state)
{
    (void)state;
    char folder[FOLDER_LENGTH];
    assert_int_equal(folder_make(folder), 0);
    write_series(folder, "one_hex", FE_HEX8, 1);
    write_series(folder, "one_tet", FE_TET4, 1);
    write_series(folder, "hex", FE_HEX8, 18); /* 280 KB of stress: two compressed blocks */
    write_series(folder, "tet", FE_TET4, 10);
    write_series(folder, "one_hex27", FE_HEX27, 1);
    write_series(folder, "one_tet10", FE_TET10, 1);
    write_series(folder, "hex27", FE_HEX27, 4);
    write_series(folder, "tet10", FE_TET10, 3);
    const int code = run_checker(folder);
    char log[1024], path[2 * FOLDER_LENGTH];
    snprintf(path, sizeof path, "%s/log", folder);
    read_into(path, sizeof log, log);
    if (code) fputs(log, stderr);
    assert_int_equal(folder_remove(folder), 0);
    skip_if(code == 77 ? no_vtk : NULL, "VTU files");
    assert_int_equal(code, 0);
}

/* The checker must find a change of one number in the last place; otherwise its success would mean
 * nothing. */
static void checker_sees_a_wrong_number(void **state)
{
    (void)state;
    char folder[FOLDER_LENGTH];
    fe_mesh mesh;
    fe_fields fields;
    assert_int_equal(folder_make(folder), 0);
    write_series(folder, "one", FE_HEX8, 1);
    mesh = tagged_box(FE_HEX8, 1);
    double *memory = make_fields(&mesh, 1, &fields);
    ((double *)fields.stress)[3] = nextafter(fields.stress[3], INFINITY);
    print_expected(folder, "one", 1, &mesh, &fields);
    const int code = run_checker(folder);
    char log[1024], path[2 * FOLDER_LENGTH];
    snprintf(path, sizeof path, "%s/log", folder);
    read_into(path, sizeof log, log);
    free(memory);
    free((void *)fields.rank);
    fe_mesh_close(&mesh);
    assert_int_equal(folder_remove(folder), 0);
    skip_if(code == 77 ? no_vtk : NULL, "VTU files");
    assert_int_equal(code, 1);
    assert_holds(log, "one_0001.vtu: ('cell', 'stress')[0] is (");
}

static void series_refuses_bad_input(void **state)
{
    (void)state;
    char folder[FOLDER_LENGTH], deep[FOLDER_LENGTH + 8], file[FOLDER_LENGTH + 8];
    fe_mesh mesh;
    fe_fields fields;
    fe_series series;
    assert_int_equal(folder_make(folder), 0);
    mesh = tagged_box(FE_TET4, 1);
    double *memory = make_fields(&mesh, 1, &fields);

    snprintf(deep, sizeof deep, "%s/a/b", folder); /* folders are made, names are made safe */
    assert_int_equal(fe_series_open(&series, deep, "a b/c"), FE_OK);
    assert_string_equal(series.name, "a_b_c");
    assert_int_equal(fe_series_write(&series, &mesh, &fields), FE_OK);
    assert_int_equal(fe_series_write(&series, &mesh, &fields), FE_FAILED); /* time does not rise */
    assert_message("time 1 does not follow 1");
    fields.time = 2;
    ((double *)fields.peeq)[2] = NAN;
    assert_int_equal(fe_series_write(&series, &mesh, &fields), FE_FAILED);
    assert_message("peeq is nan at tag 6999999998");
    assert_int_equal(series.n, 1);
    fe_series_close(&series);
    assert_int_equal(folder_count(deep), 2); /* one step, one collection, no leftovers */
    assert_int_equal(folder_remove(deep), 0);
    snprintf(deep, sizeof deep, "%s/a", folder);
    assert_int_equal(rmdir(deep), 0);

    snprintf(file, sizeof file, "%s/file", folder);
    fclose(fopen(file, "w"));
    assert_int_equal(fe_series_open(&series, file, "x"), FE_BAD_INPUT);
    assert_message(file);
    fe_series_close(&series);
    free(memory);
    free((void *)fields.rank);
    fe_mesh_close(&mesh);
    assert_int_equal(folder_remove(folder), 0);
}

static void full_disk_leaves_no_half_step(void **state)
{
    (void)state;
    char folder[FOLDER_LENGTH];
    fe_mesh mesh;
    fe_fields fields;
    fe_series series;
    assert_int_equal(folder_make(folder), 0);
    mesh = tagged_box(FE_HEX8, 12);
    double *memory = make_fields(&mesh, 0, &fields);
    assert_int_equal(fe_series_open(&series, folder, "x"), FE_OK);
    assert_int_equal(fe_series_write(&series, &mesh, &fields), FE_OK);
    fields.time = 1;
    limit_files(100000);
    const fe_status status = fe_series_write(&series, &mesh, &fields);
    limit_files(RLIM_INFINITY);
    assert_int_equal(status, FE_FAILED);
    assert_message("x_0001.vtu: cannot be written: File too large");
    assert_int_equal(series.n, 1);
    fe_series_close(&series);
    free(memory);
    free((void *)fields.rank);
    fe_mesh_close(&mesh);
    assert_int_equal(folder_count(folder), 2); /* step 0 and the collection */
    assert_int_equal(folder_remove(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vtk_reads_what_was_written),
        cmocka_unit_test(checker_sees_a_wrong_number),
        cmocka_unit_test(series_refuses_bad_input),
        cmocka_unit_test(full_disk_leaves_no_half_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
