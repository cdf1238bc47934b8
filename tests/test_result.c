/* The result file: every number, the keys of the reference results, and what happens where it cannot be
 * written. */
#include "common/base/file.h"
#include "common/report/result.h"
#include "tests/common.h"
#include "tests/result.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
    s->mesh = make_box(FE_HEX8, (const int[]){1, 1, 1}, (const double[]){1, 2, 3}, 0, 7);
    tag_nodes(&s->mesh, 5000000000, 3);
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
    step->max_gradient = 0.25;
    step->extrapolated = 1;
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

/* The whole result in one write. */
static fe_status write_once(const sample *s, const char *path)
{
    fe_result_file file;
    fe_status status = fe_result_open(&file, path);
    if (status == FE_OK) status = fe_result_write(&file, &s->result);
    fe_result_file_close(&file);
    return status;
}

static void result_holds_every_number(void **state)
{
    (void)state;
    char folder[FOLDER_LENGTH], path[FOLDER_LENGTH + 16];
    sample s;
    assert_int_equal(folder_make(folder), 0);
    snprintf(path, sizeof path, "%s/r.json", folder);
    open_sample(&s);
    fe_result_file file;
    must(fe_result_open(&file, path));
    for (int n = 0; n < 3; n++) {
        if (n) add_sample_step(&s);
        if (n == 1) { /* a step that was not accepted leaves no trace */
            add_sample_step(&s);
            fe_result_drop_step(&s.result);
        }
        must(fe_result_write(&file, &s.result));
        json_error_t error;
        json_t *root = json_load_file(path, 0, &error); /* complete after every step */
        if (!root) fail_msg("%s", error.text);
        assert_int_equal(json_array_size(result_at(root, "steps")), n);
        json_decref(root);
    }
    fe_result_file_close(&file);
    json_t *root = json_load_file(path, 0, NULL), *run = result_at(root, "run"),
           *step = json_array_get(result_at(root, "steps"), 1);
    assert_string_equal(json_string_value(result_at(root, "problem")), "bar");
    assert_string_equal(json_string_value(result_at(root, "mesh")), "bar?.msh"); /* not UTF-8 */
    assert_string_equal(json_string_value(result_at(root, "status")), "not_converged");
    assert_int_equal(json_integer_value(result_at(root, "nodes")), 8);
    assert_int_equal(json_integer_value(result_at(root, "elements")), 1);
    assert_int_equal(
        json_integer_value(result_at(result_at(result_at(root, "probe_nodes"), "corner"), "tag")),
        5000000021);
    assert_true(json_number_value(json_array_get(
                    result_at(result_at(result_at(root, "probe_nodes"), "corner"), "wanted"), 2)) == 3.5);
    assert_true(
        json_number_value(result_at(result_at(result_at(root, "probe_nodes"), "corner"), "distance")) == 0.5);

    assert_int_equal(json_integer_value(result_at(step, "step")), 2);
    assert_true(json_number_value(result_at(result_at(step, "factors"), "load")) == 0.1);
    assert_true(json_number_value(result_at(result_at(step, "factors"), "hold")) == -2);
    assert_true(json_number_value(json_array_get(result_at(result_at(step, "probes"), "corner"), 2)) ==
                1. / 3);
    assert_true(json_number_value(result_at(result_at(result_at(step, "reactions"), "x0"), "x")) == 10);
    assert_true(json_number_value(result_at(result_at(result_at(step, "reactions"), "y0"), "y")) == 20);
    assert_true(json_is_null(result_at(result_at(result_at(step, "reactions"), "x0"), "z")));
    assert_true(json_number_value(result_at(step, "max_peeq")) == 5e-324);
    assert_true(json_number_value(result_at(step, "max_gradient")) == 0.25);
    assert_true(json_is_false(result_at(step, "small_strain")));
    assert_int_equal(json_integer_value(result_at(result_at(step, "newton"), "extrapolated")), 1);
    assert_int_equal(json_integer_value(result_at(result_at(step, "newton"), "krylov_iterations")), 77);
    assert_true(json_number_value(json_array_get(result_at(result_at(step, "newton"), "residuals"), 2)) ==
                1e-12);
    assert_int_equal(json_array_size(result_at(result_at(step, "newton"), "residuals")), 3);
    assert_true(json_number_value(json_array_get(result_at(result_at(step, "newton"), "line_search"), 1)) ==
                0.5);
    assert_int_equal(json_integer_value(result_at(result_at(step, "newton"), "substeps")), 1);
    assert_true(json_number_value(result_at(result_at(step, "seconds"), "jacvec")) == 0.25);
    assert_int_equal(json_object_size(result_at(step, "seconds")), FE_N_PHASE - 1 - FE_PHASE_LEVELS);

    assert_string_equal(json_string_value(result_at(run, "flags")), "--ranks 2");
    assert_string_equal(json_string_value(result_at(run, "device")), "cpu");
    assert_int_equal(json_integer_value(result_at(result_at(run, "bytes_from_device"), "setup")), 24);
    assert_int_equal(json_integer_value(result_at(result_at(run, "bytes_from_device"), "output")),
                     (int64_t)1 << 40);
    assert_true(json_is_string(result_at(run, "commit")));
    assert_true(json_is_string(result_at(result_at(run, "versions"), "compiler")));
    json_decref(root);
    fe_result_close(&s.result);
    fe_mesh_close(&s.mesh);
    assert_int_equal(folder_count(folder), 1); /* no temporary file stays */
    assert_int_equal(folder_remove(folder), 0);
}

/* The keys of the reference results, in the same places. */
static void result_has_the_keys_of_the_references(void **state)
{
    (void)state;
    static const char *const extra[] = {"group_facts", "agreement_between_codes", "computed_with",
                                        "reaction_moments"};
    char folder[FOLDER_LENGTH], path[FOLDER_LENGTH + 16];
    json_t *reference = json_load_file("tests/validation/reference/strip.strip_hex.json", 0, NULL);
    skip_if(reference ? NULL : "not below the working directory", "tests/validation");
    sample s;
    assert_int_equal(folder_make(folder), 0);
    snprintf(path, sizeof path, "%s/r.json", folder);
    open_sample(&s);
    add_sample_step(&s);
    assert_int_equal(write_once(&s, path), FE_OK);
    json_t *root = json_load_file(path, 0, NULL);
    json_t *pair[2][2] = {
        {reference, root},
        {json_array_get(result_at(reference, "steps"), 0), json_array_get(result_at(root, "steps"), 0)}};
    for (int p = 0; p < 2; p++) {
        const char *key;
        json_t *value;
        json_object_foreach(pair[p][0], key, value)
        {
            int is_extra = 0;
            for (int i = 0; i < 4; i++) is_extra |= strcmp(key, extra[i]) == 0;
            if (is_extra) continue;
            const json_t *mine = result_at(pair[p][1], key);
            if (json_is_number(value) != json_is_number(mine) ||
                (!json_is_number(value) && json_typeof(value) != json_typeof(mine)))
                fail_msg("key %s has another type", key);
        }
    }
    json_decref(reference);
    json_decref(root);
    fe_result_close(&s.result);
    fe_mesh_close(&s.mesh);
    assert_int_equal(folder_remove(folder), 0);
}

static void assert_steps(const char *path, int n)
{
    json_t *root = result_load(path);
    assert_int_equal(json_array_size(result_at(root, "steps")), n);
    json_decref(root);
}

static void result_says_where_it_cannot_write(void **state)
{
    (void)state;
    char folder[FOLDER_LENGTH], path[FOLDER_LENGTH + 32];
    sample s;
    assert_int_equal(folder_make(folder), 0);
    open_sample(&s);
    snprintf(path, sizeof path, "%s/missing/r.json", folder);
    assert_int_equal(write_once(&s, path), FE_BAD_INPUT);
    assert_message(path);
    assert_message("No such file or directory");
    assert_int_equal(write_once(&s, folder), FE_BAD_INPUT);
    assert_message("Is a directory");
    assert_int_equal(write_once(&s, "/dev/full"), FE_FAILED);
    assert_string_equal(fe_message(), "/dev/full: cannot be written: No space left on device");
    assert_int_equal(write_once(&s, "/dev/null"), FE_OK); /* in place: the device stays one */
    struct stat device;
    assert_int_equal(stat("/dev/null", &device), 0);
    assert_true(S_ISCHR(device.st_mode));

    snprintf(path, sizeof path, "%s/r.json", folder); /* a failed rewrite keeps the step before */
    fe_result_file file;
    must(fe_result_open(&file, path));
    must(fe_result_write(&file, &s.result));
    for (int n = 1; n < 4; n++) {
        add_sample_step(&s);
        limit_files(256);
        const fe_status status = fe_result_write(&file, &s.result);
        limit_files(RLIM_INFINITY);
        assert_int_equal(status, FE_FAILED);
        assert_message("File too large");
        assert_steps(path, n - 1);
        must(fe_result_write(&file, &s.result)); /* there is room again */
        assert_steps(path, n);
    }
    fe_result_file_close(&file);
    fe_result_close(&s.result);
    fe_mesh_close(&s.mesh);
    assert_int_equal(folder_count(folder), 1);
    assert_int_equal(folder_remove(folder), 0);
}

/* Bytes that this process has written so far, to files and pipes. */
static long long written(void)
{
    long long n = -1;
    FILE *file = fopen("/proc/self/io", "r");
    skip_if(file ? NULL : "cannot be read", "/proc/self/io");
    for (char line[64]; fgets(line, sizeof line, file);) sscanf(line, "wchar: %lld", &n);
    fclose(file);
    assert_true(n >= 0);
    return n;
}

/* The file is complete after each of many steps, and the last steps write no more than the first. */
static void long_results_cost_the_same_each_step(void **state)
{
    (void)state;
    enum { N_STEP = 600, WINDOW = 50 };
    char folder[FOLDER_LENGTH], path[FOLDER_LENGTH + 16];
    sample s;
    fe_result_file file;
    long long at[N_STEP + 1];
    assert_int_equal(folder_make(folder), 0);
    snprintf(path, sizeof path, "%s/r.json", folder);
    open_sample(&s);
    must(fe_result_open(&file, path));
    for (int n = 0; n <= N_STEP; n++) {
        if (n) add_sample_step(&s);
        must(fe_result_write(&file, &s.result));
        at[n] = written();
        if (n % 97 == 0) assert_steps(path, n);
    }
    assert_true(at[N_STEP] - at[N_STEP - WINDOW] < 2 * (at[2 * WINDOW] - at[WINDOW]));
    assert_steps(path, N_STEP);
    fe_result_file_close(&file);
    fe_result_close(&s.result);
    fe_mesh_close(&s.mesh);
    assert_int_equal(folder_count(folder), 1);
    assert_int_equal(folder_remove(folder), 0);
}

/* Who has a version open, or has made a second name for it, keeps what he has; who has moved it away, too. */
static void versions_that_are_held_stay(void **state)
{
    (void)state;
    char folder[FOLDER_LENGTH], path[FOLDER_LENGTH + 16], copy[FOLDER_LENGTH + 16];
    sample s;
    fe_result_file file;
    assert_int_equal(folder_make(folder), 0);
    snprintf(path, sizeof path, "%s/r.json", folder);
    snprintf(copy, sizeof copy, "%s/copy.json", folder);
    open_sample(&s);
    must(fe_result_open(&file, path));
    must(fe_result_write(&file, &s.result));
    for (int way = 0; way < 3; way++) {
        const int n = s.result.n_step;
        FILE *held = fopen(path, "r");
        assert_non_null(held);
        if (way == 1) assert_int_equal(link(path, copy), 0);
        if (way == 2) assert_int_equal(rename(path, copy), 0);
        if (way) fclose(held);
        for (int k = 0; k < 4; k++) {
            add_sample_step(&s);
            must(fe_result_write(&file, &s.result));
            assert_steps(path, n + k + 1);
            if (way) assert_steps(copy, n);
        }
        if (way) continue;
        json_t *root = json_loadf(held, 0, NULL);
        assert_non_null(root);
        assert_int_equal(json_array_size(result_at(root, "steps")), n);
        json_decref(root);
        fclose(held);
    }
    fe_result_file_close(&file);
    fe_result_close(&s.result);
    fe_mesh_close(&s.mesh);
    assert_int_equal(folder_count(folder), 2);
    assert_int_equal(folder_remove(folder), 0);
}

/* A record of 2^31 load factors, with 4 GB at most: what was allocated for it is given back. */
static void records_without_memory_leave_nothing(void **state)
{
    (void)state;
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    skip_if("AddressSanitizer ends the program", "a record without memory");
#endif
    const fe_case problem = {.n_path = INT_MAX};
    const fe_boundary boundary = {0};
    fe_result r = {.problem = &problem, .boundary = &boundary};
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_AS, &limit), 0);
    struct rlimit less = {(rlim_t)1 << 32, limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_AS, &less), 0);
    const fe_step_result *step = fe_result_add_step(&r);
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
    assert_null(step);
    assert_null(r.step); /* a rank that only computes closes no result without steps */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(result_holds_every_number),
        cmocka_unit_test(result_has_the_keys_of_the_references),
        cmocka_unit_test(result_says_where_it_cannot_write),
        cmocka_unit_test(long_results_cost_the_same_each_step),
        cmocka_unit_test(versions_that_are_held_stay),
        cmocka_unit_test(records_without_memory_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
