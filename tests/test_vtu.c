/* ParaView files against VTK's own reader (tests/check_vtu.py), and the result file. */
#include "common/mesh/vtu.h"
#include "common/base/file.h"
#include "common/report/result.h"

#include <dirent.h>
#include <jansson.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { PATH_LENGTH = 512 };

static void make_folder(char folder[PATH_LENGTH])
{
    const char *base = getenv("TMPDIR");
    snprintf(folder, PATH_LENGTH, "%s/febench-vtu-XXXXXX", base ? base : "/tmp");
    assert_non_null(mkdtemp(folder));
}

/* Files in a folder; removes them, and the folder, when asked to. */
static int count_files(const char *folder, int remove_them)
{
    int n = 0;
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (entry->d_name[0] == '.') continue;
        n++;
        char path[2 * PATH_LENGTH];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (remove_them) assert_int_equal(unlink(path), 0);
    }
    closedir(directory);
    if (remove_them) assert_int_equal(rmdir(folder), 0);
    return n;
}

static void open_box(int kind, int cells, fe_mesh *mesh)
{
    const fe_box box = {.kind = kind,
                        .cells = {cells, cells, cells},
                        .length = {1, 2, 3},
                        .distort = cells > 1 ? 0.1 : 0,
                        .seed = 7};
    *mesh = (fe_mesh){0};
    if (fe_mesh_box(&box, mesh) != FE_OK) fail_msg("%s", fe_message());
    for (int n = 0; n < mesh->n_node; n++) mesh->node_tag[n] = 5000000000 + 3 * n; /* needs 64 bits */
    for (int e = 0; e < mesh->n_elem; e++) mesh->elem_tag[e] = 7000000000 - e;
}

/* One allocation for all fields; numbers of many sizes and signs, no pattern that a wrong order would keep.
 */
static double *make_fields(const fe_mesh *mesh, double time, fe_fields *f)
{
    const size_t n_node = (size_t)mesh->n_node, n_elem = (size_t)mesh->n_elem, n = 6 * n_node + 15 * n_elem;
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
    double *at = value;
    *f = (fe_fields){.time = time, .rank = rank};
    f->displacement = at;
    f->reaction_force = at += 3 * n_node;
    f->stress = at += 3 * n_node;
    f->plastic_strain = at += 6 * n_elem;
    f->von_mises = at += 6 * n_elem;
    f->peeq = at += n_elem;
    f->peeq_max = at + n_elem;
    return value;
}

static void print_array(FILE *out, const char *where, const char *name, int n_component, int n,
                        const double *value)
{
    fprintf(out, "array %s %s %d %d\n", where, name, n_component, n);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n_component; k++)
            fprintf(out, "%.17g%c", value[(size_t)i * n_component + k], k + 1 < n_component ? ' ' : '\n');
}

static void print_tags(FILE *out, const char *where, const char *name, int n, const int64_t *value)
{
    fprintf(out, "array %s %s 1 %d\n", where, name, n);
    for (int i = 0; i < n; i++) fprintf(out, "%lld\n", (long long)value[i]);
}

static void print_numbers(FILE *out, const char *where, const char *name, int n_component, int n,
                          const int *value)
{
    fprintf(out, "array %s %s %d %d\n", where, name, n_component, n);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n_component; k++)
            fprintf(out, "%d%c", value[(size_t)i * n_component + k], k + 1 < n_component ? ' ' : '\n');
}

/* What check_vtu.py compares NAME_step.vtu with. */
static void print_expected(const char *folder, const char *name, int step, const fe_mesh *mesh,
                           const fe_fields *f)
{
    char path[2 * PATH_LENGTH];
    snprintf(path, sizeof path, "%s/%s_%04d.expected", folder, name, step);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    print_array(out, "points", "xyz", 3, mesh->n_node, mesh->x);
    print_array(out, "point", "displacement", 3, mesh->n_node, f->displacement);
    print_array(out, "point", "reaction_force", 3, mesh->n_node, f->reaction_force);
    print_tags(out, "point", "node_tag", mesh->n_node, mesh->node_tag);
    print_array(out, "cell", "stress", 6, mesh->n_elem, f->stress);
    print_array(out, "cell", "plastic_strain", 6, mesh->n_elem, f->plastic_strain);
    print_array(out, "cell", "von_mises", 1, mesh->n_elem, f->von_mises);
    print_array(out, "cell", "peeq", 1, mesh->n_elem, f->peeq);
    print_array(out, "cell", "peeq_max", 1, mesh->n_elem, f->peeq_max);
    print_numbers(out, "cell", "physical_group", 1, mesh->n_elem, mesh->elem_group);
    print_tags(out, "cell", "element_tag", mesh->n_elem, mesh->elem_tag);
    print_numbers(out, "cell", "rank", 1, mesh->n_elem, f->rank);
    print_numbers(out, "topology", "connectivity", fe_corners(mesh->kind), mesh->n_elem, mesh->conn);
    fprintf(out, "array topology types 1 %d\n", mesh->n_elem);
    for (int e = 0; e < mesh->n_elem; e++) fprintf(out, "%d\n", fe_corners(mesh->kind) == 4 ? 10 : 12);
    assert_int_equal(fclose(out), 0);
}

/* Writes three steps and, beside them, what a reader must find. */
static void write_series(const char *folder, const char *name, int kind, int cells)
{
    static const double times[] = {0, 1, 2.5};
    fe_mesh mesh;
    fe_series series = {0};
    char path[2 * PATH_LENGTH];
    open_box(kind, cells, &mesh);
    snprintf(path, sizeof path, "%s/%s.times", folder, name);
    FILE *list = fopen(path, "w");
    assert_non_null(list);
    if (fe_series_open(&series, folder, name) != FE_OK) fail_msg("%s", fe_message());
    for (int step = 0; step < 3; step++) {
        fe_fields fields;
        double *memory = make_fields(&mesh, times[step], &fields);
        if (fe_series_write(&series, &mesh, &fields) != FE_OK) fail_msg("%s", fe_message());
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
        char command[2 * PATH_LENGTH];
        if (!pythons[i]) continue;
        /* Sanitizers of this process are not the interpreter's business. */
        snprintf(command, sizeof command, "'%s' tests/check_vtu.py '%s' 2>'%s/log'", pythons[i], folder,
                 folder);
        const int status = system(command);
        code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
        if (code == 127) code = 77; /* no such interpreter */
    }
    return code;
}

/* What the checker said last. */
static void read_log(const char *folder, char text[1024])
{
    char path[2 * PATH_LENGTH];
    snprintf(path, sizeof path, "%s/log", folder);
    FILE *log = fopen(path, "r");
    assert_non_null(log);
    text[fread(text, 1, 1023, log)] = 0;
    fclose(log);
}

static void vtk_reads_what_was_written(void **state)
{
    (void)state;
    char folder[PATH_LENGTH];
    make_folder(folder);
    write_series(folder, "one_hex", FE_HEX8, 1);
    write_series(folder, "one_tet", FE_TET4, 1);
    write_series(folder, "hex", FE_HEX8, 18); /* 280 KB of stress: two compressed blocks */
    write_series(folder, "tet", FE_TET4, 10);
    const int code = run_checker(folder);
    char log[1024];
    read_log(folder, log);
    if (code) fputs(log, stderr);
    if (code == 77) fprintf(stderr, "SKIPPED: no python3 with VTK (Debian: python3-vtk9); set PYTHON\n");
    count_files(folder, 1);
    if (code == 77) skip();
    assert_int_equal(code, 0);
}

/* The checker must see a change of one number in the last place, or its silence means nothing. */
static void checker_sees_a_wrong_number(void **state)
{
    (void)state;
    char folder[PATH_LENGTH];
    fe_mesh mesh;
    fe_fields fields;
    make_folder(folder);
    write_series(folder, "one", FE_HEX8, 1);
    open_box(FE_HEX8, 1, &mesh);
    double *memory = make_fields(&mesh, 1, &fields);
    ((double *)fields.stress)[3] = nextafter(fields.stress[3], INFINITY);
    print_expected(folder, "one", 1, &mesh, &fields);
    const int code = run_checker(folder);
    char log[1024];
    read_log(folder, log);
    free(memory);
    free((void *)fields.rank);
    fe_mesh_close(&mesh);
    count_files(folder, 1);
    if (code == 77) skip();
    assert_int_equal(code, 1);
    assert_non_null(strstr(log, "one_0001.vtu: ('cell', 'stress')[0] is ("));
}

static void series_refuses_bad_input(void **state)
{
    (void)state;
    char folder[PATH_LENGTH], deep[PATH_LENGTH + 8], file[PATH_LENGTH + 8];
    fe_mesh mesh;
    fe_fields fields;
    fe_series series;
    make_folder(folder);
    open_box(FE_TET4, 1, &mesh);
    double *memory = make_fields(&mesh, 1, &fields);

    snprintf(deep, sizeof deep, "%s/a/b", folder); /* folders are made, names are tamed */
    assert_int_equal(fe_series_open(&series, deep, "a b/c"), FE_OK);
    assert_string_equal(series.name, "a_b_c");
    assert_int_equal(fe_series_write(&series, &mesh, &fields), FE_OK);
    assert_int_equal(fe_series_write(&series, &mesh, &fields), FE_FAILED); /* time does not rise */
    assert_non_null(strstr(fe_message(), "time 1 does not follow 1"));
    fields.time = 2;
    ((double *)fields.peeq)[2] = NAN;
    assert_int_equal(fe_series_write(&series, &mesh, &fields), FE_FAILED);
    assert_non_null(strstr(fe_message(), "peeq is nan at tag 6999999998"));
    assert_int_equal(series.n, 1);
    fe_series_close(&series);
    assert_int_equal(count_files(deep, 1), 2); /* one step, one collection, no leftovers */
    snprintf(deep, sizeof deep, "%s/a", folder);
    assert_int_equal(rmdir(deep), 0);

    snprintf(file, sizeof file, "%s/file", folder);
    fclose(fopen(file, "w"));
    assert_int_equal(fe_series_open(&series, file, "x"), FE_BAD_INPUT);
    assert_non_null(strstr(fe_message(), file));
    fe_series_close(&series);
    free(memory);
    free((void *)fields.rank);
    fe_mesh_close(&mesh);
    count_files(folder, 1);
}

/* Lets this process write at most `bytes` a file: like a disk that fills up half way through a file. */
static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void full_disk_leaves_no_half_step(void **state)
{
    (void)state;
    char folder[PATH_LENGTH];
    fe_mesh mesh;
    fe_fields fields;
    fe_series series;
    make_folder(folder);
    open_box(FE_HEX8, 12, &mesh);
    double *memory = make_fields(&mesh, 0, &fields);
    assert_int_equal(fe_series_open(&series, folder, "x"), FE_OK);
    assert_int_equal(fe_series_write(&series, &mesh, &fields), FE_OK);
    fields.time = 1;
    limit_files(100000);
    const fe_status status = fe_series_write(&series, &mesh, &fields);
    limit_files(RLIM_INFINITY);
    assert_int_equal(status, FE_FAILED);
    assert_non_null(strstr(fe_message(), "x_0001.vtu: cannot be written: File too large"));
    assert_int_equal(series.n, 1);
    fe_series_close(&series);
    free(memory);
    free((void *)fields.rank);
    fe_mesh_close(&mesh);
    assert_int_equal(count_files(folder, 1), 2); /* step 0 and the collection */
}

/* --- result file ------------------------------------------------------------------------------------- */

/* Two groups, three reactions, one probe and two paths on a one-element mesh, by hand. */
typedef struct sample {
    fe_mesh mesh;
    fe_case problem;
    fe_boundary boundary;
    fe_result result;
} sample;

static fe_path sample_paths[] = {{.name = "load"}, {.name = "hold"}};
static fe_probe sample_probes[] = {{.name = "corner", .x = {1, 2, 3.5}}};
static fe_reaction sample_reactions[] = {
    {.group = "x0", .component = 0}, {.group = "y0", .component = 1}, {.group = "x0", .component = 2}};
static int sample_probe_node[] = {7};
static double sample_distance[] = {0.5};

static void open_sample(sample *s)
{
    *s = (sample){0};
    open_box(FE_HEX8, 1, &s->mesh);
    s->problem = (fe_case){.name = "bar",
                           .units = "mm, N, MPa",
                           .n_path = 2,
                           .path = sample_paths,
                           .n_probe = 1,
                           .probe = sample_probes};
    s->boundary = (fe_boundary){.n_reaction = 3,
                                .reaction = sample_reactions,
                                .n_probe = 1,
                                .probe = sample_probe_node,
                                .probe_distance = sample_distance};
    s->result = (fe_result){.problem = &s->problem,
                            .mesh = &s->mesh,
                            .boundary = &s->boundary,
                            .mesh_name = "bar\xff.msh",
                            .element = "hex8",
                            .status = "not_converged",
                            .variant = "node_csr",
                            .backend = "host",
                            .device = "cpu",
                            .partition = "metis",
                            .command = "build/solve -- bar.json --ranks 2",
                            .flags = "--ranks 2",
                            .ranks = 2,
                            .threads = 3,
                            .volume = 6,
                            .bytes_to_device = 1 << 20,
                            .bytes_from_device_setup = 24,
                            .bytes_from_device_solve = 8,
                            .bytes_from_device_output = (int64_t)1 << 40,
                            .bytes_resident = 12345};
}

static void add_sample_step(sample *s)
{
    fe_step_result *step = fe_result_add_step(&s->result);
    assert_non_null(step);
    step->factor[0] = 0.1;
    step->factor[1] = -2;
    step->probe[0][2] = 1. / 3;
    step->reaction[0] = 10;
    step->reaction[1] = 20;
    step->reaction[2] = INFINITY;
    step->max_peeq = 5e-324;
    step->plastic_gp = 1;
    step->newton_iterations = 2;
    step->krylov_iterations = 77;
    step->n_residual = 3;
    step->residual = calloc(3, sizeof(double));
    step->taken = calloc(2, sizeof *step->taken);
    step->residual[2] = 1e-12;
    step->taken[1].length = 0.5;
    step->seconds[FE_PHASE_JACVEC] = 0.25;
}

static json_t *at(json_t *o, const char *key)
{
    json_t *value = json_object_get(o, key);
    if (!value) fail_msg("key %s is missing", key);
    return value;
}

static void result_holds_every_number(void **state)
{
    (void)state;
    char folder[PATH_LENGTH], path[PATH_LENGTH + 16];
    sample s;
    make_folder(folder);
    snprintf(path, sizeof path, "%s/r.json", folder);
    open_sample(&s);
    for (int n = 0; n < 3; n++) {
        if (n) add_sample_step(&s);
        if (n == 1) { /* a step that was not accepted leaves no trace */
            add_sample_step(&s);
            fe_result_drop_step(&s.result);
        }
        if (fe_result_write(&s.result, path) != FE_OK) fail_msg("%s", fe_message());
        json_error_t error;
        json_t *root = json_load_file(path, 0, &error); /* complete after every step */
        if (!root) fail_msg("%s", error.text);
        assert_int_equal(json_array_size(at(root, "steps")), n);
        json_decref(root);
    }
    json_t *root = json_load_file(path, 0, NULL), *run = at(root, "run"),
           *step = json_array_get(at(root, "steps"), 1);
    assert_string_equal(json_string_value(at(root, "problem")), "bar");
    assert_string_equal(json_string_value(at(root, "mesh")), "bar?.msh"); /* not UTF-8 */
    assert_string_equal(json_string_value(at(root, "status")), "not_converged");
    assert_int_equal(json_integer_value(at(root, "nodes")), 8);
    assert_int_equal(json_integer_value(at(root, "elements")), 1);
    assert_int_equal(json_integer_value(at(at(at(root, "probe_nodes"), "corner"), "tag")), 5000000021);
    assert_true(json_number_value(json_array_get(at(at(at(root, "probe_nodes"), "corner"), "wanted"), 2)) ==
                3.5);
    assert_true(json_number_value(at(at(at(root, "probe_nodes"), "corner"), "distance")) == 0.5);

    assert_int_equal(json_integer_value(at(step, "step")), 2);
    assert_true(json_number_value(at(at(step, "factors"), "load")) == 0.1);
    assert_true(json_number_value(at(at(step, "factors"), "hold")) == -2);
    assert_true(json_number_value(json_array_get(at(at(step, "probes"), "corner"), 2)) == 1. / 3);
    assert_true(json_number_value(at(at(at(step, "reactions"), "x0"), "x")) == 10);
    assert_true(json_number_value(at(at(at(step, "reactions"), "y0"), "y")) == 20);
    assert_true(json_is_null(at(at(at(step, "reactions"), "x0"), "z")));
    assert_true(json_number_value(at(step, "max_peeq")) == 5e-324);
    assert_int_equal(json_integer_value(at(at(step, "newton"), "krylov_iterations")), 77);
    assert_true(json_number_value(json_array_get(at(at(step, "newton"), "residuals"), 2)) == 1e-12);
    assert_int_equal(json_array_size(at(at(step, "newton"), "residuals")), 3);
    assert_true(json_number_value(json_array_get(at(at(step, "newton"), "line_search"), 1)) == 0.5);
    assert_int_equal(json_integer_value(at(at(step, "newton"), "substeps")), 1);
    assert_true(json_number_value(at(at(step, "seconds"), "jacvec")) == 0.25);
    assert_int_equal(json_object_size(at(step, "seconds")), FE_N_PHASE);

    assert_string_equal(json_string_value(at(run, "flags")), "--ranks 2");
    assert_string_equal(json_string_value(at(run, "device")), "cpu");
    assert_int_equal(json_integer_value(at(at(run, "bytes_from_device"), "setup")), 24);
    assert_int_equal(json_integer_value(at(at(run, "bytes_from_device"), "output")), (int64_t)1 << 40);
    assert_true(json_is_string(at(run, "commit")));
    assert_true(json_is_string(at(at(run, "versions"), "compiler")));
    json_decref(root);
    fe_result_close(&s.result);
    fe_mesh_close(&s.mesh);
    assert_int_equal(count_files(folder, 1), 1); /* no temporary file stays */
}

/* The keys of the reference results, in the same places. */
static void result_has_the_keys_of_the_references(void **state)
{
    (void)state;
    static const char *const extra[] = {"group_facts", "agreement_between_codes", "computed_with",
                                        "reaction_moments"};
    char folder[PATH_LENGTH], path[PATH_LENGTH + 16];
    json_t *reference = json_load_file("tests/validation/reference/strip.strip_hex.json", 0, NULL);
    if (!reference) {
        fprintf(stderr, "SKIPPED: tests/validation/reference is not below the working directory\n");
        skip();
    }
    sample s;
    make_folder(folder);
    snprintf(path, sizeof path, "%s/r.json", folder);
    open_sample(&s);
    add_sample_step(&s);
    assert_int_equal(fe_result_write(&s.result, path), FE_OK);
    json_t *root = json_load_file(path, 0, NULL);
    json_t *pair[2][2] = {{reference, root},
                          {json_array_get(at(reference, "steps"), 0), json_array_get(at(root, "steps"), 0)}};
    for (int p = 0; p < 2; p++) {
        const char *key;
        json_t *value;
        json_object_foreach(pair[p][0], key, value)
        {
            int is_extra = 0;
            for (int i = 0; i < 4; i++) is_extra |= strcmp(key, extra[i]) == 0;
            if (is_extra) continue;
            const json_t *mine = at(pair[p][1], key);
            if (json_is_number(value) != json_is_number(mine) ||
                (!json_is_number(value) && json_typeof(value) != json_typeof(mine)))
                fail_msg("key %s has another type", key);
        }
    }
    json_decref(reference);
    json_decref(root);
    fe_result_close(&s.result);
    fe_mesh_close(&s.mesh);
    count_files(folder, 1);
}

static void result_says_where_it_cannot_write(void **state)
{
    (void)state;
    char folder[PATH_LENGTH], path[PATH_LENGTH + 32];
    sample s;
    make_folder(folder);
    open_sample(&s);
    snprintf(path, sizeof path, "%s/missing/r.json", folder);
    assert_int_equal(fe_result_write(&s.result, path), FE_BAD_INPUT);
    assert_non_null(strstr(fe_message(), path));
    assert_non_null(strstr(fe_message(), "No such file or directory"));
    assert_int_equal(fe_result_write(&s.result, folder), FE_BAD_INPUT);
    assert_non_null(strstr(fe_message(), "Is a directory"));
    assert_int_equal(fe_result_write(&s.result, "/dev/full"), FE_FAILED);
    assert_string_equal(fe_message(), "/dev/full: cannot be written: No space left on device");
    assert_int_equal(fe_result_write(&s.result, "/dev/null"), FE_OK); /* in place: the device stays one */
    struct stat device;
    assert_int_equal(stat("/dev/null", &device), 0);
    assert_true(S_ISCHR(device.st_mode));

    snprintf(path, sizeof path, "%s/r.json", folder); /* a failed rewrite keeps the step before */
    assert_int_equal(fe_result_write(&s.result, path), FE_OK);
    add_sample_step(&s);
    limit_files(256);
    const fe_status status = fe_result_write(&s.result, path);
    limit_files(RLIM_INFINITY);
    assert_int_equal(status, FE_FAILED);
    assert_non_null(strstr(fe_message(), "File too large"));
    json_t *root = json_load_file(path, 0, NULL);
    assert_non_null(root);
    assert_int_equal(json_array_size(at(root, "steps")), 0);
    json_decref(root);
    fe_result_close(&s.result);
    fe_mesh_close(&s.mesh);
    assert_int_equal(count_files(folder, 1), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vtk_reads_what_was_written),
        cmocka_unit_test(checker_sees_a_wrong_number),
        cmocka_unit_test(series_refuses_bad_input),
        cmocka_unit_test(full_disk_leaves_no_half_step),
        cmocka_unit_test(result_holds_every_number),
        cmocka_unit_test(result_has_the_keys_of_the_references),
        cmocka_unit_test(result_says_where_it_cannot_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
