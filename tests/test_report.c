/* What results are made of: statistics, rows, machine records, and documents that link to them. */
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "bench/energy.h"
#include "common/backend/device.h"
#include "common/report/machine.h"
#include "common/report/row.h"
#include "common/report/version.h"
#include "tests/common.h"
#include "tests/row.h"

enum { MOST_COLUMNS = 40 };

/* --- statistics -------------------------------------------------------------------------------------- */

/* 1 .. n in an order that is not sorted, for n that 7 does not divide. */
static fe_statistics statistics_of_first(int n)
{
    double x[100];
    for (int i = 0; i < n; i++) x[i] = (n % 7 ? 7 * i % n : (5 * i + 3) % n) + 1;
    return fe_statistics_of(n, x);
}

/* The usual table of 95 % intervals of a median: from the k-th sample to the k-th from the end. */
static void test_interval_is_that_of_the_binomial_table(void **state)
{
    (void)state;
    static const int table[][2] = {{1, 1},  {2, 1},   {5, 1},   {6, 1},   {8, 1},  {9, 2},
                                   {11, 2}, {12, 3},  {14, 3},  {15, 4},  {17, 5}, {20, 6},
                                   {25, 8}, {30, 10}, {50, 18}, {100, 40}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const int n = table[i][0], k = table[i][1];
        const fe_statistics s = statistics_of_first(n);
        if (s.n != n || s.low != k || s.high != n + 1 - k || s.median != 0.5 * (n + 1) || s.least != 1)
            fail_msg("%d samples: %g in [%g, %g], expected %g in [%d, %d]", n, s.median, s.low, s.high,
                     0.5 * (n + 1), k, n + 1 - k);
    }
    assert_int_equal(fe_statistics_of(0, NULL).n, 0);
}

/* --- rows -------------------------------------------------------------------------------------------- */

typedef struct cells {
    char text[4096], *at[MOST_COLUMNS];
    int n;
} cells;

/* The cells of a header or a row. */
static void split(cells *c, int (*write)(FILE *, const fe_row *), const fe_row *row)
{
    FILE *file = fmemopen(c->text, sizeof c->text, "w");
    assert_non_null(file);
    if (write)
        write(file, row);
    else
        fputs(FE_ROW_COLUMNS "\n", file);
    fclose(file);
    c->text[strcspn(c->text, "\n")] = 0;
    char *rest = c->text;
    for (c->n = 0; rest; c->n++) {
        assert_in_range(c->n, 0, MOST_COLUMNS - 1);
        c->at[c->n] = strsep(&rest, ",");
    }
}

static const char *cell(const fe_row *row, const char *name)
{
    static cells header, line;
    split(&header, NULL, NULL);
    split(&line, fe_row_write, row);
    assert_int_equal(header.n, line.n);
    for (int i = 0; i < header.n; i++)
        if (!strcmp(header.at[i], name)) return line.at[i];
    fail_msg("there is no column %s", name);
    return NULL;
}

static void test_row_holds_its_times(void **state)
{
    (void)state;
    const fe_row row = some_row();
    static const struct {
        const char *name;
        double value;
    } expected[] = {{"schema", FE_ROW_SCHEMA}, {"n_dof", 1000},
                    {"repetitions", 9},        {"calls", 7},
                    {"median_s", 5e-3},        {"ci95_low_s", 2e-3},
                    {"ci95_high_s", 8e-3},     {"min_s", 1e-3},
                    {"dof_per_s", 2e5},        {"gb_per_s", 1.0},
                    {"gflop_per_s", 2.0},      {"ceiling_share", 0.2},
                    {"bytes_moved", 5e6},      {"bytes", 4000},
                    {"bytes_work", 100},       {"setup_s", 0.5},
                    {"plastic", 0.25},         {"plastic_measured", 0.24},
                    {"error", 1e-15},          {"deterministic", 1},
                    {"nj_per_dof", 23.46}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const double value = atof(cell(&row, expected[i].name));
        if (fabs(value - expected[i].value) > 1e-6 * expected[i].value)
            fail_msg("%s is %g, expected %g", expected[i].name, value, expected[i].value);
    }
    assert_string_equal(cell(&row, "commit"), fe_commit());
    assert_string_equal(cell(&row, "plastic_pattern"), "scattered");
    assert_string_equal(cell(&row, "precision"), "double");
    assert_string_equal(cell(&row, "hardening"), "linear");
    assert_string_equal(cell(&row, "status"), "ok");
}

static void test_failed_row_holds_no_times(void **state)
{
    (void)state;
    static const char *const times[] = {"repetitions", "calls",        "median_s",  "ci95_low_s",
                                        "ci95_high_s", "min_s",        "dof_per_s", "gb_per_s",
                                        "gflop_per_s", "ceiling_share"};
    fe_row row = some_row();
    row.status = "check_failed", row.error = 1e-3;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) assert_string_equal(cell(&row, times[i]), "");
    assert_string_equal(cell(&row, "nj_per_dof"), "");
    assert_string_equal(cell(&row, "error"), "1.000e-03");
    assert_string_equal(cell(&row, "bytes"), "4000");

    row.status = "killed", row.bytes = 0.0; /* was never resident, never checked */
    assert_string_equal(cell(&row, "median_s"), "");
    assert_string_equal(cell(&row, "bytes_moved"), "");
    assert_string_equal(cell(&row, "plastic_measured"), "");
    assert_string_equal(cell(&row, "error"), "");
    assert_string_equal(cell(&row, "status"), "killed");

    row.deterministic = -1; /* never measured */
    assert_string_equal(cell(&row, "deterministic"), "");
}

static void test_row_without_a_model_has_none_of_its_numbers(void **state)
{
    (void)state;
    static const char *const modelled[] = {"gb_per_s", "gflop_per_s", "ceiling_share", "bytes_moved", "flop"};
    fe_row row = some_row();
    row.bytes_moved = row.flop = row.ceiling_seconds = 0.0; /* a product with an assembled matrix */
    for (size_t i = 0; i < sizeof modelled / sizeof *modelled; i++)
        assert_string_equal(cell(&row, modelled[i]), "");
    assert_string_equal(cell(&row, "bytes_work"), "100");
    row.nj_per_dof = 0.0; /* its energy was not measured */
    assert_string_equal(cell(&row, "nj_per_dof"), "");
    assert_string_equal(cell(&row, "status"), "ok");
}

static void test_samples_stand_in_their_order(void **state)
{
    (void)state;
    char text[2000];
    const fe_row row = some_row();
    const double seconds[3] = {3e-3, 1e-3, 2e-3};
    FILE *file = fmemopen(text, sizeof text, "w");
    assert_non_null(file);
    fputs(FE_SAMPLE_COLUMNS "\n", file);
    fe_row_write_samples(file, &row, 3, seconds);
    fclose(file);
    assert_string_equal(text,
                        "backend,threads,variant,element,case,order,plastic,plastic_pattern,n_dof,operation,"
                        "precision,hardening,calls,seconds\n"
                        "host,2,v,tet4,box,rcm,0.25,scattered,1000,jacvec,double,linear,7,3.00000e-03 "
                        "1.00000e-03 2.00000e-03\n");
}

/* Takes the first field of RFC 4180 off a line. */
static char *next_field(char **line)
{
    char *field = *line, *to = *line, *at = *line;
    const int quoted = *at == '"';
    for (at += quoted; *at && (quoted ? *at != '"' || at[1] == '"' : !strchr(",\n", *at)); *to++ = *at++)
        if (quoted && *at == '"') at++;
    at += quoted;
    if (*at != ',' && *at != '\n') fail_msg("no comma behind a field: %s", at);
    *line = at + 1, *to = 0;
    return field;
}

/* Whatever a mesh, a machine or a device is called: a line of as many fields, with the name in its place. */
static void test_names_are_one_field(void **state)
{
    (void)state;
    static const struct {
        const char *name, *read;
    } names[] = {{"mesh, mit Komma", NULL}, {"a \"b\"", NULL}, {"\"", NULL},    {",", NULL},
                 {"\",\"", NULL},           {"", NULL},        {"a\nb", "a b"}, {"a,\r\nb", "a,  b"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *expected = names[i].read ? names[i].read : names[i].name;
        fe_row row = some_row();
        row.mesh = row.machine = row.device = names[i].name;
        char text[2000], header[] = FE_ROW_COLUMNS "\n", *columns = header, *line = text;
        FILE *file = fmemopen(text, sizeof text, "w");
        assert_non_null(file);
        fe_row_write(file, &row);
        fclose(file);
        assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
        while (*columns) {
            const char *column = next_field(&columns), *field = next_field(&line);
            const int is_name =
                !strcmp(column, "case") || !strcmp(column, "machine") || !strcmp(column, "device");
            if (is_name) assert_string_equal(field, expected);
            if (!strcmp(column, "status")) assert_string_equal(field, "ok");
        }
        assert_int_equal(*line, 0);
    }
}

/* Rows are added to those that a file holds; a file of something else stays as it is. */
static void test_rows_are_added(void **state)
{
    (void)state;
    static const struct {
        const char *before, *after; /* NULL: refused */
    } files[] = {{"", "a,b\nnew\n"},
                 {"a,b\n", "a,b\nnew\n"},
                 {"a,b\n1,2\n", "a,b\n1,2\nnew\n"},
                 {"a,b\n1,", "a,b\n1,\nnew\n"}, /* its writer was killed */
                 {"a,b,c\n1,2,3\n", NULL},
                 {"a\n1\n", NULL},
                 {"a,b", NULL},
                 {"\n", NULL}};
    char path[FOLDER_LENGTH + 16];
    snprintf(path, sizeof path, "%s/added.csv", test_folder);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        FILE *rows;
        write_file(path, "%s", files[i].before);
        const fe_status status = fe_rows_open(path, "a,b", &rows);
        assert_int_equal(status, files[i].after ? FE_OK : FE_BAD_INPUT);
        if (status == FE_OK)
            fputs("new\n", rows), fclose(rows);
        else
            assert_message("added.csv: its first line is not that of the rows to be added");
        char *text = read_file(path, NULL);
        assert_string_equal(text, files[i].after ? files[i].after : files[i].before);
        free(text);
    }
}

/* --- energy ------------------------------------------------------------------------------------------ */

/* A zone of RAPL as Linux shows it, in test_folder. */
static void make_zone(const char *zone, const char *name, const char *energy, const char *range)
{
    free(read_success("mkdir -p '%s/%s' && cd '%s/%s' && echo %s >name && echo %s >energy_uj && "
                      "echo %s >max_energy_range_uj",
                      test_folder, zone, test_folder, zone, name, energy, range));
}

/* Packages and their memory count, each once; one of the counters begins at 0 again. */
static void test_energy_is_that_of_packages_and_their_memory(void **state)
{
    (void)state;
    uint64_t before[BENCH_MOST_COUNTERS], after[BENCH_MOST_COUNTERS];
    bench_energy e;
    make_zone("intel-rapl:0", "package-0", "65532610987", "65532610999");
    make_zone("intel-rapl:0:0", "core", "1", "99");
    make_zone("intel-rapl:0:1", "dram", "100", "9999");
    make_zone("intel-rapl:1", "package-1", "5000000", "262143328850");
    make_zone("intel-rapl:2", "psys", "1", "99");
    must(bench_energy_open_host(test_folder, &e));
    assert_int_equal(e.n, 3);
    must(bench_energy_read(&e, before));
    make_zone("intel-rapl:0", "package-0", "88", "65532610999"); /* 100 further, past its end */
    make_zone("intel-rapl:0:0", "core", "90", "99");
    make_zone("intel-rapl:0:1", "dram", "120", "9999");
    make_zone("intel-rapl:1", "package-1", "5003000", "262143328850");
    must(bench_energy_read(&e, after));
    assert_true(bench_energy_per(&e, before, after, 40.0) == 1e3 * (100 + 20 + 3000) / 40.0);
    assert_true(bench_energy_per(&e, after, after, 40.0) == 0.0);
    write_file(e.path[1], "%s", "");
    assert_int_equal(bench_energy_read(&e, after), FE_FAILED);
    assert_message("/intel-rapl:0:1/energy_uj: holds no number");
    free(read_success("rm -r '%s'/intel-rapl:*", test_folder));
}

/* Where a counter is not there, none is left out silently. */
static void test_lack_of_counters_is_named(void **state)
{
    (void)state;
    char zone[32];
    bench_energy e;
    assert_int_equal(bench_energy_open_host("/does/not/exist", &e), FE_FAILED);
    assert_message("/does/not/exist: there are no counters of RAPL");
    make_zone("intel-rapl:0", "psys", "1", "99");
    assert_int_equal(bench_energy_open_host(test_folder, &e), FE_FAILED);
    assert_message("there are no counters of RAPL");
    make_zone("intel-rapl:1", "package-0", "1", "99");
    must(bench_energy_open_host(test_folder, &e));
    free(read_success("rm '%s/intel-rapl:1/energy_uj'", test_folder));
    assert_int_equal(bench_energy_open_host(test_folder, &e), FE_FAILED);
    assert_message("/intel-rapl:1/energy_uj: No such file or directory");
    for (int i = 0; i <= BENCH_MOST_COUNTERS; i++) {
        snprintf(zone, sizeof zone, "intel-rapl:%d", i);
        make_zone(zone, "package-0", "1", "99");
    }
    assert_int_equal(bench_energy_open_host(test_folder, &e), FE_FAILED);
    assert_message(": is one of more than 32 zones");
    free(read_success("rm -r '%s'/intel-rapl:*", test_folder));
}

/* --- machine records --------------------------------------------------------------------------------- */

static void test_slug(void **state)
{
    (void)state;
    char slug[24];
    fe_machine_slug("NVIDIA H100 80GB HBM3", sizeof slug, slug);
    assert_string_equal(slug, "nvidia-h100-80gb-hbm3");
    fe_machine_slug("  Intel(R) Xeon(R)  @ 2.1 ", sizeof slug, slug);
    assert_string_equal(slug, "intel-r-xeon-r-2-1");
    fe_machine_slug("a name that is longer than its place", sizeof slug, slug);
    assert_string_equal(slug, "a-name-that-is-longer-t");
}

static void test_machine_record_comes_back(void **state)
{
    (void)state;
    char path[FOLDER_LENGTH + 16];
    fe_machine m, back;
    snprintf(path, sizeof path, "%s/machine.csv", test_folder);
    must(fe_machine_find(0, &m));
    assert_true(m.slug[0] && m.cpu[0] && m.cores > 0 && m.memory > 1e8 && m.host_copy == 0.0);
    m.host_copy = 12.34e9, m.host_flop = 56.78e9;
    must(fe_machine_write(&m, path));
    must(fe_machine_find(0, &back));
    must(fe_machine_read(path, &back));
    assert_true(fabs(back.host_copy - 12.34e9) < 1 && fabs(back.host_flop - 56.78e9) < 1 &&
                back.cuda_copy == 0.0);
}

/* A process that its launcher bound to one core names the same machine as one that is not bound, and stays
 * bound. */
static void test_bound_process_names_the_machine(void **state)
{
    (void)state;
    fe_machine free_one, bound;
    cpu_set_t all, one, after;
    skip_if(fe_host_cores() < 2 ? "there is one core" : NULL, "bound process");
    must(fe_machine_find(0, &free_one));
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
        if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    const fe_status status = fe_machine_find(1, &bound);
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    must(status);
    assert_string_equal(bound.slug, free_one.slug);
    assert_int_equal(bound.cores, free_one.cores);
    assert_true(CPU_EQUAL(&one, &after));
}

static void test_record_of_another_machine_is_refused(void **state)
{
    (void)state;
    char path[FOLDER_LENGTH + 16];
    fe_machine m;
    snprintf(path, sizeof path, "%s/other.csv", test_folder);
    must(fe_machine_find(0, &m));
    must(fe_machine_write(&m, path));
    m.host_threads++;
    assert_int_equal(fe_machine_read(path, &m), FE_BAD_INPUT);
    assert_holds(fe_message(), "host_threads is ");
    must(fe_machine_find(0, &m));
    strcpy(m.slug, "another");
    assert_int_equal(fe_machine_read(path, &m), FE_BAD_INPUT);
    assert_holds(fe_message(), path);
    assert_holds(fe_message(), " there and another here");
    assert_int_equal(fe_machine_read("/does/not/exist.csv", &m), FE_BAD_INPUT);
}

/* --- documents ------------------------------------------------------------------------------------- */

/* Links in documents lead to files: figures and rows move to new folders with each sweep. */
static void test_links_of_documents_lead_to_files(void **state)
{
    (void)state;
    char *text = read_success(
        "%s", "n=0; for d in $(find . -name '*.md' -not -path './build*'); do"
              "  for l in $(grep -o '](\\([^)#:]*\\))' \"$d\" | sed 's/^](//; s/)$//'); do"
              "    n=$((n + 1)); [ -e \"$(dirname \"$d\")/$l\" ] || echo \"$d: $l is not there\";"
              "  done; done; [ $n -gt 10 ] || echo \"$n links were found\"");
    if (*text) fail_msg("%s", text);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interval_is_that_of_the_binomial_table),
        cmocka_unit_test(test_row_holds_its_times),
        cmocka_unit_test(test_failed_row_holds_no_times),
        cmocka_unit_test(test_row_without_a_model_has_none_of_its_numbers),
        cmocka_unit_test(test_samples_stand_in_their_order),
        cmocka_unit_test(test_names_are_one_field),
        cmocka_unit_test(test_rows_are_added),
        cmocka_unit_test(test_energy_is_that_of_packages_and_their_memory),
        cmocka_unit_test(test_lack_of_counters_is_named),
        cmocka_unit_test(test_slug),
        cmocka_unit_test(test_machine_record_comes_back),
        cmocka_unit_test(test_bound_process_names_the_machine),
        cmocka_unit_test(test_record_of_another_machine_is_refused),
        cmocka_unit_test(test_links_of_documents_lead_to_files),
    };
    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
