/* What results are made of: statistics, rows, machine records, tables, and a sweep that is interrupted. */
#include <glob.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/report/machine.h"
#include "common/report/row.h"
#include "common/report/version.h"
#include "common/variant.h"

enum { MOST_COLUMNS = 40 };

static char folder[200]; /* of this run, removed at its end */

static void try(fe_status status)
{
    if (status != FE_OK) fail_msg("%s", fe_message());
}

static int make_folder(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/febench-report-XXXXXX", base ? base : "/tmp");
    return mkdtemp(folder) ? 0 : 1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[300];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command);
}

/* All that a file or a pipe holds. */
static char *read_all(FILE *file)
{
    char *text = NULL;
    size_t size = 0;
    assert_non_null(file);
    if (getdelim(&text, &size, '\0', file) < 0) {
        free(text);
        text = strdup("");
    }
    return text;
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = read_all(file);
    fclose(file);
    return text;
}

static void assert_holds(const char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("this lacks \"%s\":\n%s", part, text);
}

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
                    {"error", 1e-15},          {"deterministic", 1}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const double value = atof(cell(&row, expected[i].name));
        if (fabs(value - expected[i].value) > 1e-6 * expected[i].value)
            fail_msg("%s is %g, expected %g", expected[i].name, value, expected[i].value);
    }
    assert_string_equal(cell(&row, "commit"), fe_commit());
    assert_string_equal(cell(&row, "plastic_pattern"), "scattered");
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
    assert_string_equal(
        text, "backend,threads,variant,element,case,order,plastic,plastic_pattern,n_dof,operation,"
              "calls,seconds\n"
              "host,2,v,tet4,box,rcm,0.25,scattered,1000,jacvec,7,3.00000e-03 1.00000e-03 2.00000e-03\n");
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
    char path[256];
    fe_machine m, back;
    snprintf(path, sizeof path, "%s/machine.csv", folder);
    try(fe_machine_find(&m));
    assert_true(m.slug[0] && m.cpu[0] && m.cores > 0 && m.memory > 1e8 && m.host_copy == 0.0);
    m.host_copy = 12.34e9, m.host_flop = 56.78e9;
    try(fe_machine_write(&m, path));
    try(fe_machine_find(&back));
    try(fe_machine_read(path, &back));
    assert_true(fabs(back.host_copy - 12.34e9) < 1 && fabs(back.host_flop - 56.78e9) < 1 &&
                back.cuda_copy == 0.0);
}

static void test_record_of_another_machine_is_refused(void **state)
{
    (void)state;
    char path[256];
    fe_machine m;
    snprintf(path, sizeof path, "%s/other.csv", folder);
    try(fe_machine_find(&m));
    try(fe_machine_write(&m, path));
    m.host_threads++;
    assert_int_equal(fe_machine_read(path, &m), FE_BAD_INPUT);
    assert_holds(fe_message(), "host_threads is ");
    try(fe_machine_find(&m));
    strcpy(m.slug, "another");
    assert_int_equal(fe_machine_read(path, &m), FE_BAD_INPUT);
    assert_holds(fe_message(), path);
    assert_holds(fe_message(), " there and another here");
    assert_int_equal(fe_machine_read("/does/not/exist.csv", &m), FE_BAD_INPUT);
}

/* --- tables ------------------------------------------------------------------------------------------ */

/* Three strategies: the intervals of a and b overlap in jacvec and not in residual, where only b repeats
 * itself; c failed. */
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
                {"c", "jacvec", "out_of_memory", 0, 0, 0, -1}};
    char path[256], command[400];
    snprintf(path, sizeof path, "%s/kernels.csv", folder);
    snprintf(command, sizeof command, "LC_ALL=C awk -f bench/table.awk '%s' 2>&1", path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fe_row_write_header(file);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fe_row row = some_row();
        row.variant = rows[i].variant, row.operation = rows[i].operation, row.status = rows[i].status;
        row.deterministic = rows[i].deterministic;
        row.seconds = (fe_statistics){9, rows[i].median, rows[i].low, rows[i].high, rows[i].low};
        fe_row_write(file, &row);
    }
    fclose(file);
    FILE *pipe = popen(command, "r");
    char *table = read_all(pipe);
    assert_int_equal(pclose(pipe), 0);
    assert_holds(table, "## tet4 on host, 1000 DoF: MDoF/s");
    assert_holds(table, "rcm order, 25 % plastic, scattered.");
    assert_holds(table, "| `a` | **1.000 (0.909–1.111)** |  |  | 1.000 (0.769–1.111) |  | 4 | 0 | 500.00 |");
    assert_holds(table, "| `b` | 0.500 (0.476–0.526) |  |  | 0.714 (0.667–0.833) |");
    assert_holds(table, "| `c` | check_failed |  |  | out_of_memory |");
    assert_holds(table, "| *ceiling* | 1.000 |  |  | 1.000 |");
    assert_holds(table, " | not residual |\n"); /* a */
    assert_holds(table, " | yes |\n| `c` |");
    assert_holds(table, " |  |\n| *ceiling* |"); /* c: unknown */
    assert_holds(
        table,
        "| *best that repeats / best of all* | 0.50 (0.43–0.58) `b` |  |  | 0.71 (0.60–1.08) `b` |  |");
    free(table);
}

typedef struct scaling_row {
    int ranks;
    const char *variant, *operation, *status;
    double median, low, high, bytes;
} scaling_row;

static char *scaling_table(const scaling_row *rows, size_t n)
{
    char path[256], command[400];
    snprintf(path, sizeof path, "%s/scaling.csv", folder);
    snprintf(command, sizeof command, "LC_ALL=C awk -f bench/scaling.awk '%s' 2>&1", path);
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
    FILE *pipe = popen(command, "r");
    char *table = read_all(pipe);
    assert_int_equal(pclose(pipe), 0);
    return table;
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
    assert_holds(table, "d, 1 thread a rank, rcm order, 9 repetitions.");
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

/* --- a sweep ----------------------------------------------------------------------------------------- */

/* Starts bench/sweep.sh over three small boxes, and with `ranks` over two more on each number of ranks of
 * that list ("0": none), its output in `log`. */
static pid_t start_sweep(const char *log, const char *ranks)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child) return child;
    setpgid(0, 0);
    signal(SIGINT, SIG_DFL); /* a shell cannot trap what was ignored when it started */
    if (!freopen(log, "w", stdout) || dup2(fileno(stdout), 2) < 0) _exit(99);
    const char *build = getenv("FE_BUILD");
    setenv("BUILD", build ? build : "build", 1);
    setenv("RESULTS", folder, 1);
    setenv("BACKENDS", "host", 1);
    setenv("ELEMENTS", "tet4", 1);
    setenv("SIZES_host", "300 1000 2000", 1);
    setenv("VARIANTS", fe_variant_at(0)->name, 1);
    setenv("THREADS", "1", 1);
    setenv("RANKS_host", ranks, 1);
    setenv("STRONG_host", "300", 1);
    setenv("WEAK_host", "300", 1);
    unsetenv("FULL");
    unsetenv("REPETITIONS");
    execlp("sh", "sh", "bench/sweep.sh", (char *)NULL);
    _exit(99);
}

static int end_sweep(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* How many files match; the first one's path. */
static int find(const char *pattern, size_t size, char *path)
{
    char whole[300];
    glob_t found;
    snprintf(whole, sizeof whole, "%s/*/*/%s", folder, pattern);
    const int n = glob(whole, 0, NULL, &found) ? 0 : (int)found.gl_pathc;
    if (n && path) snprintf(path, size, "%s", found.gl_pathv[0]);
    globfree(&found);
    return n;
}

static int count(const char *text, const char *part)
{
    int n = 0;
    for (; (text = strstr(text, part)); text++) n++;
    return n;
}

/* Interrupts a sweep when files match. */
static void interrupt_sweep(pid_t child, const char *log, const char *pattern)
{
    for (int i = 0; i < 1200 && !find(pattern, 0, NULL); i++) {
        usleep(50000);
        if (waitpid(child, NULL, WNOHANG))
            fail_msg("the sweep ended before %s was there:\n%s", pattern, read_file(log));
    }
    kill(child, SIGINT);
    assert_int_equal(end_sweep(child), 130);
}

static void skip_without(const char *program)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", getenv("FE_BUILD") ? getenv("FE_BUILD") : "build", program);
    if (!access(path, X_OK)) return;
    print_message("skipped: sweep: %s was not built\n", path);
    skip();
}

static void test_interrupted_sweep_goes_on(void **state)
{
    (void)state;
    char log[256], path[512];
    snprintf(log, sizeof log, "%s/sweep.log", folder);
    skip_without("kernels");
    interrupt_sweep(start_sweep(log, "0"), log, "scratch/*.rows.csv");
    char *text = read_file(log);
    assert_holds(text, "point 1 of 3");
    assert_holds(text, "interrupted; finished points are kept");
    free(text);
    assert_in_range(find("scratch/*.rows.csv", sizeof path, path), 1, 2);
    assert_int_equal(find("scratch/*.part", 0, NULL), 0);
    char *first = read_file(path);

    assert_int_equal(end_sweep(start_sweep(log, "0")), 0);
    text = read_file(log);
    assert_null(strstr(text, "point 1 of 3"));
    assert_holds(text, "point 3 of 3");
    free(text);
    char *again = read_file(path);
    assert_string_equal(first, again); /* not measured a second time */
    free(first), free(again);
    assert_int_equal(find("kernels.csv", sizeof path, path), 1); /* one folder */
    text = read_file(path);
    assert_int_equal(count(text, "\n"), 1 + 3 * 5); /* a header, and all operations of all sizes */
    assert_null(strstr(text, "failed"));
    free(text);
    assert_int_equal(find("table.md", 0, NULL), 1);

    assert_int_equal(end_sweep(start_sweep(log, "0")), 0);
    text = read_file(log);
    assert_holds(text, "all points were there");
    free(text);
}

/* The same with points on ranks: 1 and 2, one box for all and one for each. */
static void test_interrupted_sweep_of_ranks_goes_on(void **state)
{
    (void)state;
    char log[256], path[512];
    snprintf(log, sizeof log, "%s/sweep.log", folder);
    skip_without("kernels");
    skip_without("scaling");
    interrupt_sweep(start_sweep(log, "1 2"), log, "scratch/scaling-*.rows.csv");
    assert_in_range(find("scratch/scaling-*.rows.csv", sizeof path, path), 1, 3);
    assert_int_equal(find("scratch/*.part", 0, NULL), 0);
    char *first = read_file(path);

    assert_int_equal(end_sweep(start_sweep(log, "1 2")), 0);
    char *text = read_file(log);
    assert_null(strstr(text, "point 4 of 7"));
    assert_holds(text, "point 7 of 7: host tet4, 300 DoF a rank, weak, 2 ranks; about ");
    free(text);
    char *again = read_file(path);
    assert_string_equal(first, again); /* not measured a second time */
    free(first), free(again);
    assert_int_equal(find("scaling.csv", sizeof path, path), 1); /* one folder */
    text = read_file(path);
    assert_int_equal(count(text, "schema"), 1);
    assert_int_equal(count(text, ",exchange,"), 4);
    assert_int_equal(count(text, ",gmres_cgs2,"), 4);
    assert_int_equal(count(text, ",ok\n") + 1, count(text, "\n"));
    assert_holds(text, ",weak-1x1x2-threads-box");
    free(text);
    assert_int_equal(find("scaling.md", sizeof path, path), 1);
    text = read_file(path);
    assert_holds(text, " speed-up on 2 |");
    assert_holds(text, " efficiency on 2 |");
    free(text);
    const int drawn = system("command -v gnuplot >/dev/null") == 0;
    assert_int_equal(find("scaling-host.svg", 0, NULL), drawn);
    assert_int_equal(find("scaling-host.png", 0, NULL), drawn);
}

/* What became of points that never came to their end stands in the table, too. */
static void test_lost_points_on_ranks_have_rows(void **state)
{
    (void)state;
    char command[600];
    skip_without("scaling");
    snprintf(command, sizeof command,
             "%s/scaling --ranks 2 --weak --dofs 300 --variants %s --give-up killed --rows '%s/lost.csv' && "
             "LC_ALL=C awk -f bench/scaling.awk '%s/lost.csv'",
             getenv("FE_BUILD") ? getenv("FE_BUILD") : "build", fe_variant_at(0)->name, folder, folder);
    FILE *pipe = popen(command, "r");
    char *text = read_all(pipe);
    assert_int_equal(pclose(pipe), 0);
    assert_holds(text, "## hex8 on host, weak: ");
    assert_holds(text, "| `jacvec` | killed |  |  |  |\n");
    free(text);
}

/* Scattered plastic elements, and none, agree with the oracle; about as many are plastic as were asked for.
 */
static void test_scattered_elements_pass_the_check(void **state)
{
    (void)state;
    static const char *const shares[] = {"0", "0.1"};
    const char *build = getenv("FE_BUILD") ? getenv("FE_BUILD") : "build";
    char command[500], path[256];
    snprintf(command, sizeof command, "%s/kernels", build);
    if (access(command, X_OK)) {
        print_message("skipped: scattered elements: %s was not built\n", command);
        skip();
    }
    snprintf(path, sizeof path, "%s/scattered.csv", folder);
    for (int i = 0; i < 2; i++) {
        snprintf(command, sizeof command,
                 "%s/kernels --fe_backend=host --fe_threads=1 --fe_variants=%s --fe_dofs=9000 --fe_scatter "
                 "--fe_plastic=%s --fe_rows='%s' --benchmark_repetitions=1 --benchmark_min_time=0.0001 2>&1",
                 build, fe_variant_at(0)->name, shares[i], path);
        FILE *pipe = popen(command, "r");
        free(read_all(pipe));
        assert_int_equal(pclose(pipe), 0);
        char *rows = read_file(path);
        int n = 0;
        for (const char *at = rows; (at = strstr(at, ",ok\n")); at++) n++;
        if (n != 2 * 5) fail_msg("%d rows are ok, not 10:\n%s", n, rows);
        assert_holds(rows, i ? ",0.1,scattered," : ",0,scattered,");
        assert_holds(rows, i ? ",0.09" : ",0.000000,"); /* plastic_measured */
        free(rows);
    }
}

/* A row that cannot be written is a failed run, not a lost row. */
static void test_full_disk_is_reported(void **state)
{
    (void)state;
    char command[400];
    const char *build = getenv("FE_BUILD") ? getenv("FE_BUILD") : "build";
    snprintf(command, sizeof command, "%s/kernels", build);
    if (access(command, X_OK)) {
        print_message("skipped: full disk: %s was not built\n", command);
        skip();
    }
    snprintf(command, sizeof command,
             "%s/kernels --fe_backend=host --fe_threads=1 --fe_variants=%s --fe_elements=tet4 --fe_dofs=300 "
             "--fe_operations=jacvec --fe_rows=/dev/full 2>&1 >/dev/null",
             build, fe_variant_at(0)->name);
    FILE *pipe = popen(command, "r");
    char *text = read_all(pipe);
    assert_int_equal(WEXITSTATUS(pclose(pipe)), 1);
    assert_holds(text, "No space left on device");
    free(text);
}

/* What documents speak of is there: figures and rows move to new folders with each sweep. */
static void test_links_of_documents_lead_to_files(void **state)
{
    (void)state;
    FILE *pipe = popen("n=0; for d in $(find . -name '*.md' -not -path './build*'); do"
                       "  for l in $(grep -o '](\\([^)#:]*\\))' \"$d\" | sed 's/^](//; s/)$//'); do"
                       "    n=$((n + 1)); [ -e \"$(dirname \"$d\")/$l\" ] || echo \"$d: $l is not there\";"
                       "  done; done; [ $n -gt 10 ] || echo \"$n links were found\"",
                       "r");
    char *text = read_all(pipe);
    assert_int_equal(pclose(pipe), 0);
    if (*text) fail_msg("%s", text);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_interval_is_that_of_the_binomial_table),
                                       cmocka_unit_test(test_row_holds_its_times),
                                       cmocka_unit_test(test_failed_row_holds_no_times),
                                       cmocka_unit_test(test_samples_stand_in_their_order),
                                       cmocka_unit_test(test_slug),
                                       cmocka_unit_test(test_machine_record_comes_back),
                                       cmocka_unit_test(test_record_of_another_machine_is_refused),
                                       cmocka_unit_test(test_table_names_a_winner_only_where_intervals_part),
                                       cmocka_unit_test(test_scattered_elements_pass_the_check),
                                       cmocka_unit_test(test_full_disk_is_reported),
                                       cmocka_unit_test(test_interrupted_sweep_goes_on),
                                       cmocka_unit_test(test_scaling_table_compares_with_one_rank),
                                       cmocka_unit_test(test_lost_points_on_ranks_have_rows),
                                       cmocka_unit_test(test_links_of_documents_lead_to_files),
                                       cmocka_unit_test(test_interrupted_sweep_of_ranks_goes_on)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
