/* What results are made of: statistics, rows, machine records, tables, and documents that link to them. */
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

static fe_row some_row(void)
{
    double x[9] = {5e-3, 1e-3, 9e-3, 2e-3, 8e-3, 3e-3, 7e-3, 4e-3, 6e-3};
    return (fe_row){.machine = "m",
                    .backend = "host",
                    .device = "d",
                    .ranks = 1,
                    .threads = 2,
                    .variant = "v",
                    .element = "tet4",
                    .mesh = "box",
                    .order = "rcm",
                    .plastic = 0.25,
                    .plastic_pattern = "scattered",
                    .n_elem = 10,
                    .n_dof = 1000,
                    .operation = "jacvec",
                    .calls = 7,
                    .seconds = fe_statistics_of(9, x),
                    .bytes_moved = 5e6,
                    .flop = 1e7,
                    .ceiling_seconds = 1e-3,
                    .bytes = 4000,
                    .bytes_work = 100,
                    .setup_seconds = 0.5,
                    .plastic_measured = 0.24,
                    .error = 1e-15,
                    .deterministic = 1,
                    .nj_per_dof = 23.4567,
                    .status = "ok"};
}

typedef struct cells {
    char text[4096], *at[MOST_COLUMNS];
    int n;
} cells;

/* The cells of a header or a row. */
static void split(cells *c, void (*write)(FILE *, const fe_row *), const fe_row *row)
{
    FILE *file = fmemopen(c->text, sizeof c->text, "w");
    assert_non_null(file);
    if (write)
        write(file, row);
    else
        fe_row_write_header(file);
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
    fe_row_write_samples_header(file);
    fe_row_write_samples(file, &row, 3, seconds);
    fclose(file);
    assert_string_equal(text,
                        "backend,threads,variant,element,case,order,plastic,plastic_pattern,n_dof,operation,"
                        "precision,hardening,calls,seconds\n"
                        "host,2,v,tet4,box,rcm,0.25,scattered,1000,jacvec,double,linear,7,3.00000e-03 "
                        "1.00000e-03 2.00000e-03\n");
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

/* --- tables ------------------------------------------------------------------------------------------ */

/* A file of rows, and the tables of it once all rows are written. */
static FILE *open_rows(void)
{
    char path[FOLDER_LENGTH + 16];
    snprintf(path, sizeof path, "%s/kernels.csv", test_folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fe_row_write_header(file);
    return file;
}
static char *table_of(FILE *rows)
{
    fclose(rows);
    return read_success("LC_ALL=C awk -f results/break_even.awk -f bench/table.awk '%s/kernels.csv' 2>&1",
                        test_folder);
}

/* Three strategies: the intervals of a and b overlap in jacvec and not in residual, where only b is
 * reproducible; c failed. */
static void test_table_names_a_winner_only_where_intervals_part(void **state)
{
    (void)state;
    static const struct {
        const char *variant, *operation, *status;
        double median, low, high;
        int deterministic;
    } rows[] = {{"a", "residual", "ok", 1.0e-3, 0.9e-3, 1.1e-3, 0},
                {"b", "residual", "ok", 2.0e-3, 1.9e-3, 2.1e-3, 1},
                {"a", "jacvec", "ok", 1.0e-3, 0.9e-3, 1.3e-3, 1}, /* by luck */
                {"b", "jacvec", "ok", 1.4e-3, 1.2e-3, 1.5e-3, 1},
                {"c", "residual", "check_failed", 0, 0, 0, -1},
                {"c", "jacvec", "out_of_memory", 0, 0, 0, -1},
                {"bound", "jacvec", "ok", 0.9e-3, 0.9e-3, 0.9e-3, 1}}; /* its name up to schema 2 */
    FILE *file = open_rows();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fe_row row = some_row();
        row.variant = rows[i].variant, row.operation = rows[i].operation, row.status = rows[i].status;
        row.deterministic = rows[i].deterministic;
        row.seconds = (fe_statistics){9, rows[i].median, rows[i].low, rows[i].high, rows[i].low};
        fe_row_write(file, &row);
    }
    char *table = table_of(file);
    assert_holds(table, "## tet4 on host, 1000 DoF: MDoF/s");
    assert_holds(table, "rcm order, 25 % plastic, scattered.");
    assert_holds(table, "| `a` | **1.000 (0.909–1.111)** |  |  | 1.000 (0.769–1.111) |  | 4 | 0 | 500.00 |");
    assert_holds(table, "| `b` | 0.500 (0.476–0.526) |  |  | 0.714 (0.667–0.833) |");
    assert_holds(table, "| `c` | check_failed |  |  | out_of_memory |");
    assert_holds(table, "| `element_only` |  |  |  | 1.111 (1.111–1.111) † |");
    assert_holds(table, "| *ceiling* | 1.000 |  |  | 1.000 |");
    assert_holds(table, "\n†: above its ceiling.");
    assert_null(strstr(table, "(0.909–1.111) †")); /* a is at its ceiling */
    assert_holds(table, " | not residual |\n");    /* a */
    assert_holds(table, " | yes |\n| `c` |");
    assert_holds(table, " |  |\n| `element_only` |"); /* c: unknown */
    assert_holds(
        table,
        "| *best reproducible / best of all* | 0.50 (0.43–0.58) `b` |  |  | 0.71 (0.60–1.08) `b` |  |");
    free(table);
}

/* A row of a box in the order auto, all plastic, with an interval of a tenth on each side. */
static fe_row plastic_row(double median)
{
    fe_row row = some_row();
    row.mesh = "box5-distorted", row.order = "auto", row.numbering = "bisection";
    row.plastic = 1.0, row.plastic_pattern = "clustered";
    row.seconds = (fe_statistics){9, median, 0.9 * median, 1.1 * median, median};
    return row;
}

/* Rows of mixed and single precision do not mix with those of double precision; a table compares them. */
static void test_table_compares_precisions(void **state)
{
    (void)state;
    static const struct {
        const char *precision;
        double median, error;
    } rows[] = {{"double", 4e-3, 1e-15}, {"mixed", 2e-3, 3e-6}, {"single", 1e-3, 4e-6}};
    FILE *file = open_rows();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fe_row row = plastic_row(rows[i].median);
        row.precision = rows[i].precision, row.error = rows[i].error;
        fe_row_write(file, &row);
    }
    char *table = table_of(file);
    assert_holds(table, "| `v` |  |  |  | 0.250 (0.227–0.278) |  | 4 | 0 | 500.00 | 1.0e-15 |");
    assert_holds(table, "## tet4 on host, 1000 DoF: jacvec in each precision, MDoF/s");
    assert_holds(
        table, "| `v` | 0.250 (0.227–0.278) | 0.500 (0.455–0.556) | 1.000 (0.909–1.111) | 2.00 (1.64–2.44) | "
               "4.00 (3.27–4.89) | 3.0e-06 | 4.0e-06 |");
    assert_null(strstr(table, "over meshes"));
    free(table);
}

/* Nor do rows of another law of hardening, which would be the slowest here; a table compares them, by the
 * operations that return stresses. */
static void test_table_compares_laws(void **state)
{
    (void)state;
    static const char *const operations[3] = {"residual", "material", "jacvec"};
    static const double medians[6] = {2e-3, 4e-3, 1e-3, 8e-3, 4e-3, 5e-3}; /* linear, voce, linear, ... */
    FILE *file = open_rows();
    for (int i = 0; i < 6; i++) {
        fe_row row = plastic_row(medians[i]);
        row.operation = operations[i / 2], row.hardening = i % 2 ? "voce" : "linear";
        fe_row_write(file, &row);
    }
    char *table = table_of(file);
    assert_holds(table, "| `v` | 0.500 (0.455–0.556) | 1.000 (0.909–1.111) |  | 0.250 (0.227–0.278) |  |");
    assert_holds(table, "## tet4 on host, 1000 DoF: laws of hardening, MDoF/s");
    assert_holds(table, "| variant | residual linear | residual voce | voce / linear | material linear | "
                        "material voce | voce / linear |");
    assert_holds(table, "| `v` | 0.500 (0.455–0.556) | 0.250 (0.227–0.278) | 0.50 (0.41–0.61) | "
                        "1.000 (0.909–1.111) | 0.125 (0.114–0.139) | 0.12 (0.10–0.15) |");
    assert_null(strstr(table, "over meshes"));
    free(table);
}

/* Energies have a table at each size that has any, rows without them none. */
static void test_table_has_energies(void **state)
{
    (void)state;
    FILE *file = open_rows();
    for (int i = 0; i < 4; i++) {
        fe_row row = some_row();
        row.variant = i == 3 ? "w" : "v", row.operation = i == 1 ? "jacvec_elastic" : "jacvec";
        row.n_dof = i == 2 ? 2000 : 1000, row.nj_per_dof = i == 0 ? 23.456 : i == 1 ? 7.5 : 0.0;
        fe_row_write(file, &row);
    }
    char *table = table_of(file);
    assert_holds(
        table, "\n## tet4 on host, 1000 DoF: energy, nJ/DoF\n\nd, 2 threads, 9 repetitions, rcm order, 25 % "
               "plastic, scattered.\n\n"
               "| variant | residual | material | jacvec_elastic | jacvec | diagonal |\n"
               "|---|---:|---:|---:|---:|---:|\n| `v` |  |  | 7.500 | 23.46 |  |\n");
    assert_null(strstr(table, "2000 DoF: energy"));
    free(table);
}

/* Meshes that are no cubes have a table for each size, with the ratio to the box of nearest size; their
 * orders, shares of plastic elements and precisions have tables as those of boxes do. */
static void test_table_has_all_meshes(void **state)
{
    (void)state;
    static const struct {
        const char *mesh, *order, *precision;
        double dof, median, plastic;
    } rows[] = {{"box5-distorted", "auto", "double", 1000, 1e-3, 1},
                {"box9-distorted", "auto", "double", 3000, 1e-3, 1},
                {"irregular", "auto", "double", 2500, 1e-3, 1},
                {"irregular", "auto", "double", 1200, 2e-3, 1},
                {"irregular", "random", "double", 1200, 4e-3, 1},
                {"irregular", "auto", "double", 1200, 1e-3, 0.5},
                {"irregular", "auto", "mixed", 1200, 1e-3, 1},
                {"box5x6x9-distorted", "auto", "double", 1100, 1e-3, 1}};
    FILE *file = open_rows();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fe_row row = some_row();
        const double median = rows[i].median;
        row.precision = rows[i].precision, row.mesh = rows[i].mesh, row.n_dof = (int64_t)rows[i].dof;
        row.order = rows[i].order, row.plastic = rows[i].plastic, row.plastic_pattern = "clustered";
        row.seconds = (fe_statistics){9, median, median, median, median};
        fe_row_write(file, &row);
    }
    char *table = table_of(file);
    assert_holds(table, "## tet4 on host, irregular, 1200 DoF, and the box of 1000 DoF: MDoF/s");
    assert_holds(
        table,
        "| variant | residual | material | jacvec_elastic | of the box | jacvec | of the box | diagonal |");
    assert_holds(table, "| `v` |  |  |  |  | 0.600 (0.600–0.600) | 0.60 (0.60–0.60) |  |");
    assert_holds(table, "## tet4 on host, irregular, 2500 DoF, and the box of 3000 DoF: MDoF/s");
    assert_holds(table, "| `v` |  |  |  |  | 2.500 (2.500–2.500) | 0.83 (0.83–0.83) |  |");
    assert_holds(table, "## tet4 on host, box5x6x9-distorted, 1100 DoF, and the box of 1000 DoF: MDoF/s");
    assert_holds(table, "## tet4 on host, irregular, 1200 DoF: jacvec over node orders, MDoF/s");
    assert_holds(
        table,
        "## tet4 on host, irregular, 1200 DoF: jacvec over shares of plastic elements, clustered, MDoF/s");
    assert_holds(table, "## tet4 on host, irregular, 1200 DoF: jacvec in each precision, MDoF/s");
    assert_holds(table, "| `v` | 0.600 (0.600–0.600) | 1.200 (1.200–1.200) | 2.00 (2.00–2.00) |");
    free(table);
}

typedef struct scaling_row {
    int ranks;
    const char *variant, *operation, *status;
    double median, low, high, bytes;
} scaling_row;

static char *scaling_table(const scaling_row *rows, size_t n)
{
    char path[FOLDER_LENGTH + 16];
    snprintf(path, sizeof path, "%s/scaling.csv", test_folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fe_row_write_header(file);
    for (size_t i = 0; i < n; i++) {
        fe_row row = some_row();
        row.ranks = rows[i].ranks, row.variant = rows[i].variant, row.operation = rows[i].operation;
        row.mesh = row.ranks == 1 ? "strong-1x1x1-threads-box4x4x4" : "strong-1x2x2-threads-box4x4x4";
        row.status = rows[i].status, row.bytes_moved = rows[i].bytes, row.threads = 1;
        row.seconds = (fe_statistics){9, rows[i].median, rows[i].low, rows[i].high, rows[i].low};
        fe_row_write(file, &row);
    }
    fclose(file);
    return read_success("LC_ALL=C awk -f bench/scaling.awk '%s' 2>&1", path);
}

/* On 4 ranks a hides a quarter of its exchange; with b the intervals with and without it overlap; c has no
 * times there, and a status instead. */
static void test_scaling_table_compares_with_one_rank(void **state)
{
    (void)state;
    static const scaling_row rows[] = {{1, "a", "jacvec", "ok", 8e-3, 7e-3, 9e-3, 0},
                                       {4, "a", "jacvec", "ok", 4e-3, 3.9e-3, 4.1e-3, 0},
                                       {4, "a", "jacvec_local", "ok", 2.5e-3, 2.4e-3, 2.6e-3, 0},
                                       {1, "b", "jacvec", "ok", 8e-3, 7e-3, 9e-3, 0},
                                       {4, "b", "jacvec", "ok", 3e-3, 2.9e-3, 3.1e-3, 0},
                                       {4, "b", "jacvec_local", "ok", 2.8e-3, 2.7e-3, 2.95e-3, 0},
                                       {1, "b", "gmres_new", "ok", 9e-3, 9e-3, 9e-3, 0},
                                       {4, "b", "gmres_new", "ok", 6e-3, 5e-3, 8e-3, 0},
                                       {1, "c", "jacvec", "ok", 8e-3, 8e-3, 8e-3, 0},
                                       {4, "c", "jacvec", "out_of_memory", 0, 0, 0, 0},
                                       {4, "none", "exchange", "ok", 2e-3, 1.9e-3, 2.1e-3, 8e6},
                                       {4, "none", "reduce1", "ok", 5e-6, 4e-6, 6e-6, 12},
                                       {4, "none", "reduce32", "ok", 8e-6, 7e-6, 9e-6, 384}};
    char *table = scaling_table(rows, sizeof rows / sizeof *rows);
    assert_holds(table, "## tet4 on host, strong: 1000 DoF in all");
    assert_holds(table, "d, 1 thread per rank, rcm order, 9 repetitions.");
    assert_holds(table,
                 "| variant | operation | 1 rank, ms | 4 ranks, ms | speed-up on 4 | communication on 4 | "
                 "exchange hidden on 4 |");
    assert_holds(table, "| `a` | `jacvec` | 8.000 (7.000–9.000) | 4.000 (3.900–4.100) | 2.00 (1.71–2.31) | "
                        "38 % (33 to 41) | 25 % (11 to 38) |");
    assert_holds(table, "| 2.67 (2.26–3.10) | cannot tell, at most 13 % | cannot tell, at least 79 % |\n");
    assert_holds(
        table,
        "| `b` | `gmres_new` | 9.000 (9.000–9.000) | 6.000 (5.000–8.000) | 1.50 (1.12–1.80) |  |  |\n");
    assert_holds(table, "| `c` | `jacvec` | 8.000 (8.000–8.000) | out_of_memory |  |  |  |\n");
    assert_holds(table, "| 4 | 1x2x2, threads | 1000 | `exchange` | 8000000 | 2000 (1900–2100) | 4 | 4 |\n");
    assert_holds(table, "| `reduce1` | 8 | 5.000 (4.000–6.000) |  |  |\n");
    assert_holds(table, "| `reduce32` | 256 | 8.000 (7.000–9.000) | 0.032 | 0.048 |\n");
    free(table);
}

/* Meshes that are no boxes, and sizes of them, are told apart, in the table and in the figure. */
static void test_scaling_tells_meshes_apart(void **state)
{
    (void)state;
    static const struct {
        const char *mesh;
        int64_t n_dof;
        double one, two;
    } rows[] = {{"irregular", 5000, 8e-3, 4e-3},
                {"irregular", 9000, 9e-3, 6e-3},
                {"bracket_tet4_coarse-refined1", 7000, 5e-3, 4e-3},
                {"box4x4x4", 375, 3e-3, 2e-3}};
    char path[FOLDER_LENGTH + 16], mesh[96];
    snprintf(path, sizeof path, "%s/scaling.csv", test_folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fe_row_write_header(file);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int ranks = 1; ranks <= 2; ranks++) {
            fe_row row = some_row();
            const double t = ranks == 1 ? rows[i].one : rows[i].two;
            snprintf(mesh, sizeof mesh, "strong-1x1x%d-threads-%s", ranks, rows[i].mesh);
            row.ranks = ranks, row.variant = "a", row.operation = "gmres_cgs2", row.mesh = mesh;
            row.n_dof = rows[i].n_dof, row.seconds = (fe_statistics){9, t, t, t, t};
            fe_row_write(file, &row);
        }
    fclose(file);
    char *table = read_success("LC_ALL=C awk -f bench/scaling.awk '%s' 2>&1", path);
    assert_holds(table, "## tet4 on host, strong: irregular, 5000 DoF in all\n");
    assert_holds(table, "| `gmres_cgs2` | 8.000 (8.000–8.000) | 4.000 (4.000–4.000) | 2.00 (2.00–2.00) |");
    assert_holds(table, "## tet4 on host, strong: irregular, 9000 DoF in all\n");
    assert_holds(table, "| `gmres_cgs2` | 9.000 (9.000–9.000) | 6.000 (6.000–6.000) | 1.50 (1.50–1.50) |");
    assert_holds(table, "strong: bracket_tet4_coarse-refined1, 7000 DoF in all\n");
    assert_holds(table, "strong: 375 DoF in all\n");
    free(table);
    char *figure = read_success(
        "LC_ALL=C awk -v backend=host -f plots/scaling.awk variants/variants.def '%s' 2>&1", path);
    assert_holds(figure, "kinds = 'strong strong strong strong'");
    assert_holds(figure,
                 "mesh_1 = ''\nsize_1_tet4 = 375\nmesh_2 = 'irregular, '\nsize_2_tet4 = 5000\n"
                 "mesh_3 = 'bracket_coarse-refined1, '\nsize_3_tet4 = 7000\nmesh_4 = 'irregular, '\n");
    assert_holds(figure, "\ntet4 2 a 2 2 2 2\n");
    assert_holds(figure, "\ntet4 4 a 2 1.5 1.5 1.5\n");
    free(figure);
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
        cmocka_unit_test(test_energy_is_that_of_packages_and_their_memory),
        cmocka_unit_test(test_lack_of_counters_is_named),
        cmocka_unit_test(test_slug),
        cmocka_unit_test(test_machine_record_comes_back),
        cmocka_unit_test(test_bound_process_names_the_machine),
        cmocka_unit_test(test_record_of_another_machine_is_refused),
        cmocka_unit_test(test_table_names_a_winner_only_where_intervals_part),
        cmocka_unit_test(test_table_compares_precisions),
        cmocka_unit_test(test_table_compares_laws),
        cmocka_unit_test(test_table_has_energies),
        cmocka_unit_test(test_table_has_all_meshes),
        cmocka_unit_test(test_scaling_table_compares_with_one_rank),
        cmocka_unit_test(test_scaling_tells_meshes_apart),
        cmocka_unit_test(test_links_of_documents_lead_to_files),
    };
    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
