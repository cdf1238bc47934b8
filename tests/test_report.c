/* What results are made of: statistics, rows, machine records, and documents that link to them. */
#include <dlfcn.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/cold.h"
#include "bench/conditions.h"
#include "bench/energy.h"
#include "common/backend/device.h"
#include "common/base/cores.h"
#include "common/report/machine.h"
#include "common/report/row.h"
#include "common/report/version.h"
#include "tests/common.h"
#include "tests/row.h"

enum { MOST_COLUMNS = 64 };

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
                    {"nj_per_dof", 23.46},     {"nj_low", 22.5},
                    {"nj_high", 24.25},        {"nj_by_power", 23.75},
                    {"busy_w", 698.5},         {"idle_w", 71.25}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const double value = atof(cell(&row, expected[i].name));
        if (fabs(value - expected[i].value) > 1e-6 * expected[i].value)
            fail_msg("%s is %g, expected %g", expected[i].name, value, expected[i].value);
    }
    assert_string_equal(cell(&row, "commit"), fe_commit());
    assert_string_equal(cell(&row, "plastic_pattern"), "scattered");
    assert_string_equal(cell(&row, "operand"), "random");
    assert_string_equal(cell(&row, "precision"), "double");
    assert_string_equal(cell(&row, "hardening"), "linear");
    assert_string_equal(cell(&row, "condition"), "burst");
    assert_string_equal(cell(&row, "process"), "1");
    assert_string_equal(cell(&row, "noise"), "wide"); /* 2 to 8 ms */
    assert_string_equal(cell(&row, "status"), "ok");
}

static const char *const energies[] = {"nj_per_dof", "nj_low", "nj_high", "nj_by_power", "busy_w", "idle_w"};

static void test_failed_row_holds_no_times(void **state)
{
    (void)state;
    static const char *const times[] = {"repetitions", "calls",        "median_s",  "ci95_low_s",
                                        "ci95_high_s", "min_s",        "dof_per_s", "gb_per_s",
                                        "gflop_per_s", "ceiling_share"};
    fe_row row = some_row();
    row.status = "check_failed", row.error = 1e-3;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) assert_string_equal(cell(&row, times[i]), "");
    for (size_t i = 0; i < sizeof energies / sizeof *energies; i++)
        assert_string_equal(cell(&row, energies[i]), "");
    assert_string_equal(cell(&row, "noise"), "");
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
    row.energy = (fe_row_energy){0}; /* it was not measured */
    for (size_t i = 0; i < sizeof energies / sizeof *energies; i++)
        assert_string_equal(cell(&row, energies[i]), "");
    assert_string_equal(cell(&row, "status"), "ok");
}

/* One line each, with what is known of it. */
static void test_samples_stand_in_their_order(void **state)
{
    (void)state;
    char text[2000];
    fe_row row = some_row();
    fe_sample s[3];
    for (int i = 0; i < 3; i++) s[i] = fe_sample_unknown();
    s[0].start = 1e9 + 0.25, s[0].calls = 7, s[0].seconds = 3e-3;
    s[1] = (fe_sample){.start = 1e9 + 1.0,
                       .calls = 7,
                       .seconds = 1e-3,
                       .sm_mhz = 1785,
                       .memory_mhz = 2619,
                       .watt = 699.96,
                       .celsius = 61,
                       .throttle = FE_THROTTLE_POWER_CAP | FE_THROTTLE_HEAT,
                       .cores = 4,
                       .window = 0.5,
                       .others = 0.25,
                       .cpu_mhz = 2596.1};
    s[2] = s[1], s[2].throttle = 0, s[2].window = 0.009, s[2].seconds = 2e-3; /* shorter than a tick */
    row.process = 3, row.condition = "sustained";
    FILE *file = fmemopen(text, sizeof text, "w");
    assert_non_null(file);
    fputs(FE_SAMPLE_COLUMNS "\n", file);
    assert_int_equal(fe_row_write_samples(file, "", &row, 3, s), 0);
    fclose(file);
#define KEY "host,2,v,tet4,box,rcm,0.25,scattered,1000,jacvec,random,double,linear,1,sustained,3,"
    assert_string_equal(
        text,
        "backend,threads,variant,element,case,order,plastic,plastic_pattern,n_dof,operation,"
        "operand,precision,hardening,ranks,condition,process,sample,start,calls,seconds,sm_mhz,"
        "memory_mhz,watt,celsius,throttle,load,cpu_mhz\n" KEY "1,1000000000.250000,7,3.00000e-03,,,,,,,\n" KEY
        "2,1000000001.000000,7,1.00000e-03,1785,2619,700.0,61,power_cap heat,0.125,2596\n" KEY
        "3,1000000001.000000,7,2.00000e-03,1785,2619,700.0,61,none,,2596\n");
#undef KEY
}

/* Every reason has a word, and one that has none stands as a number. */
static void test_reasons_of_a_lower_clock_are_words(void **state)
{
    (void)state;
    char text[2000];
    const fe_row row = some_row();
    fe_sample s = fe_sample_unknown();
    s.throttle = 0x7ff;
    FILE *file = fmemopen(text, sizeof text, "w");
    assert_non_null(file);
    fe_row_write_samples(file, "", &row, 1, &s);
    fclose(file);
    assert_holds(
        text, ",idle clocks_set power_cap slowdown sync_boost heat heat_slowdown power_brake display 0x600,");
}

/* --- noise ------------------------------------------------------------------------------------------- */

/* n samples of 20 ms on four cores, of which others took a share. */
static const char *noise_of(const char *backend, double high, int n, double share, int64_t throttle)
{
    fe_sample s[99];
    fe_row row = some_row();
    row.backend = backend;
    row.seconds = (fe_statistics){.n = n, .median = 1.0, .low = 1.0, .high = high, .least = 1.0};
    for (int i = 0; i < n; i++) {
        s[i] = fe_sample_unknown();
        s[i].cores = 4, s[i].window = 0.02, s[i].others = share * 4 * 0.02;
        if (i == n / 2) s[i].throttle = throttle; /* one of them is enough */
    }
    fe_row_judge(&row, n, s);
    return fe_row_noise(&row);
}

static void test_noise_is_named(void **state)
{
    (void)state;
    assert_string_equal(noise_of("host", 1.25, 9, 0.0, -1), "");
    assert_string_equal(noise_of("host", 1.26, 9, 0.0, -1), "wide");
    assert_string_equal(noise_of("host", 1.0, 9, 0.3, -1), "loaded");
    assert_string_equal(noise_of("cuda", 1.0, 9, 0.3, -1), ""); /* its clock is the device's */
    assert_string_equal(noise_of("cuda", 1.0, 9, 0.0, 0), "");
    assert_string_equal(noise_of("cuda", 1.0, 9, 0.0, 0x1 | 0x2 | 0x10 | 0x100),
                        ""); /* neither power nor heat */
    static const int64_t throttles[] = {0x4, 0x8, 0x20, 0x40, 0x80};
    for (size_t i = 0; i < sizeof throttles / sizeof *throttles; i++)
        assert_string_equal(noise_of("cuda", 1.0, 9, 0.0, throttles[i] | 0x1), "throttled");
    assert_string_equal(noise_of("host", 2.0, 9, 1.0, 0x4), "wide loaded throttled");
    /* Ticks of 10 ms feign up to 2 sqrt(4 n / 6) of them: 0.068 of 9 samples, 0.021 of 99. */
    assert_string_equal(noise_of("host", 1.0, 9, 0.16, -1), "");
    assert_string_equal(noise_of("host", 1.0, 99, 0.13, -1), "loaded");
    assert_string_equal(noise_of("host", 1.0, 99, 0.10, -1), "");
}

/* --- conditions -------------------------------------------------------------------------------------- */

/* What a library of tests/faults/nvml.c says of its card. */
struct fake_card {
    unsigned sm_mhz, memory_mhz, milliwatts_now, milliwatts_mean, celsius, type;
    unsigned long long reasons;
    int code;
    unsigned step_ms;
};

static struct fake_card *open_fake(const char *name, bench_conditions *c)
{
    char path[FOLDER_LENGTH + 32];
    snprintf(path, sizeof path, "%s/tests/%s", build_folder(), name);
    bench_conditions_open(&fe_backend_host, c);
    must(bench_nvml_open(path, "0000:41:00.0", &c->nvml));
    assert_non_null(c->nvml.energy);
    void *library = dlopen(path, RTLD_NOW);
    assert_non_null(library);
    struct fake_card *card = dlsym(library, "card");
    assert_non_null(card);
    *card = (struct fake_card){1635, 2619, 698765, 512000, 67, BENCH_NVML_UINT, 0x5, 0, 100};
    return card;
}

static fe_sample conditions_now(bench_conditions *c)
{
    fe_sample s = fe_sample_unknown();
    bench_conditions_begin(c);
    bench_conditions_end(c, &s);
    return s;
}

static void test_conditions_of_a_card(void **state)
{
    (void)state;
    bench_conditions c;
    struct fake_card *card = open_fake("nvml.so", &c);
    for (int type = 0; type < 4; type += type == 1 ? 2 : 1) { /* how a driver writes power */
        card->type = (unsigned)type;
        const fe_sample s = conditions_now(&c);
        assert_true(s.sm_mhz == 1635 && s.memory_mhz == 2619 && s.celsius == 67 && s.throttle == 5);
        assert_true(fabs(s.watt - 698.765) < 1e-9);
    }
    card->code = 3; /* not supported */
    const fe_sample s = conditions_now(&c);
    assert_true(isnan(s.sm_mhz) && isnan(s.memory_mhz) && isnan(s.celsius) && isnan(s.watt) &&
                s.throttle == -1);
}

static void test_conditions_of_a_card_with_an_old_driver(void **state)
{
    (void)state;
    bench_conditions c;
    open_fake("nvml-old.so", &c);
    const fe_sample s = conditions_now(&c);
    assert_true(s.sm_mhz == 1635 && s.throttle == 5);
    assert_true(s.watt == 512); /* the mean */
}

static void test_lack_of_a_card_is_named(void **state)
{
    (void)state;
    char path[FOLDER_LENGTH + 32];
    bench_nvml nvml;
    snprintf(path, sizeof path, "%s/tests/nvml.so", build_folder());
    assert_int_equal(bench_nvml_open(path, "0000:01:00.0", &nvml), FE_FAILED);
    assert_message("NVML: 0000:01:00.0: Not Found");
    assert_int_equal(bench_nvml_open("libnvidia-none.so.1", "0000:41:00.0", &nvml), FE_FAILED);
    assert_message("libnvidia-none.so.1");
    assert_int_equal(bench_nvml_open("libm.so.6", "0000:41:00.0", &nvml), FE_FAILED);
    assert_message("libm.so.6: is not NVML");
}

static double own_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Two cores of a list that never were idle, 0 and 2, while this process works on one: the rest is of others.
 * Then they were idle for a second, which is more than there was. Core 1 does not belong to the process, and
 * a list of zeros, as containers have it, says nothing. */
static void test_load_is_what_others_take(void **state)
{
    (void)state;
    char path[FOLDER_LENGTH + 16];
    bench_conditions c;
    bench_conditions_open(&fe_backend_host, &c);
    snprintf(path, sizeof path, "%s/stat", test_folder);
    CPU_ZERO(&c.cores);
    CPU_SET(0, &c.cores);
    CPU_SET(2, &c.cores);
    c.stat = path;
    static const char busy[] =
        "cpu  7 0 0 0 0 0 0 0 0 0\ncpu0 10 1 1 500 3 1 0 0 0 0\ncpu1 1 1 1 900 1 0 0 0 0 0\n"
        "cpu2 10 1 1 %d 3 1 0 0 0 0\nintr 1 2\ncpu3 1 1 1 1 1\n";
    write_file(path, busy, 700);
    fe_sample s = fe_sample_unknown();
    const double start = fe_seconds(), own = own_seconds();
    bench_conditions_begin(&c);
    while (fe_seconds() - start < 0.2) {}
    bench_conditions_end(&c, &s);
    const double around = fe_seconds() - start - s.window, worked = own_seconds() - own; /* one thread */
    assert_int_equal(s.cores, 2);
    assert_true(s.window > 0.0 && around >= 0.0);
    assert_true(s.others >= 2 * s.window - worked - 1e-3 &&
                s.others <= 2 * s.window - worked + around + 1e-3);

    bench_conditions_begin(&c);
    write_file(path, busy, 700 + (int)sysconf(_SC_CLK_TCK));
    bench_conditions_end(&c, &s);
    assert_true(s.others <= 2 * s.window - 1.0 + 1e-9 && s.others >= s.window - 1.0 - 1e-3);

    write_file(path, "%s", "cpu  0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0\ncpu2 0 0 0 0 0 0 0\n");
    assert_int_equal(conditions_now(&c).cores, 0);
    c.stat = "/does/not/exist";
    assert_int_equal(conditions_now(&c).cores, 0);
}

/* Frequency in kHz of the process's cores; where the kernel does not tell it, from the list of processors. */
static void test_frequency_of_the_cores(void **state)
{
    (void)state;
    char list[FOLDER_LENGTH + 16];
    bench_conditions c;
    bench_conditions_open(&fe_backend_host, &c);
    snprintf(list, sizeof list, "%s/cpuinfo", test_folder);
    CPU_ZERO(&c.cores);
    CPU_SET(0, &c.cores);
    CPU_SET(2, &c.cores);
    free(read_success("cd '%s' && for i in 0 1 2; do mkdir -p cpu$i/cpufreq && echo ${i}500000 "
                      ">cpu$i/cpufreq/scaling_cur_freq; done",
                      test_folder));
    write_file(
        list, "%s",
        "processor\t: 0\ncpu MHz\t\t: 1000.5\n\nprocessor\t: 1\ncpu MHz\t\t: 99.0\n\nprocessor\t: 2\ncpu "
        "MHz\t\t: 3000.5\n");
    c.cpu = test_folder, c.cpu_info = list;
    assert_true(fabs(conditions_now(&c).cpu_mhz - 1500) < 1e-6);
    c.cpu = "/does/not/exist";
    assert_true(fabs(conditions_now(&c).cpu_mhz - 2000.5) < 1e-6);
    c.cpu_info = "/does/not/exist";
    assert_true(isnan(conditions_now(&c).cpu_mhz));
    free(read_success("rm -r '%s'/cpu?", test_folder));
}

/* The last level's caches, each once, whichever of its cores share it. */
static void test_size_of_the_last_cache(void **state)
{
    (void)state;
    cpu_set_t cores;
    assert_true(fe_cores_set(&cores));
    const int n = CPU_COUNT(&cores);
    free(read_success("rm -rf '%s'/cpu*", test_folder));
    for (int core = 0; core < CPU_SETSIZE; core++)
        if (CPU_ISSET(core, &cores))
            free(read_success(
                "mkdir -p '%s/cpu%d/cache/index0' '%s/cpu%d/cache/index1' && cd '%s/cpu%d/cache' && "
                "echo 2 >index0/level && echo 1024K >index0/size && echo %d >index0/shared_cpu_list && "
                "echo 3 >index1/level && echo 32768K >index1/size && echo 0-%d,%d >index1/shared_cpu_list",
                test_folder, core, test_folder, core, test_folder, core, core, CPU_SETSIZE - 2,
                CPU_SETSIZE - 1));
    assert_true(fabs((double)bench_cache_bytes(test_folder) - 32768.0 * 1024.0) < 1.0);
    free(read_success("rm -r '%s'/cpu*/cache/index1", test_folder));
    assert_true(fabs((double)bench_cache_bytes(test_folder) - 1024.0 * 1024.0 * n) < 1.0);
    free(read_success("rm -r '%s'/cpu*", test_folder));
}

/* What is read behind the data that fill the cache comes from memory: 512 KB, the least time of 30 readings,
 * and of many that follow one another (here 28 and 7 us). */
static void test_cold_data_come_from_memory(void **state)
{
    (void)state;
    enum { N = 1 << 16, ROUNDS = 30, WARM = 50 };
    skip_if(PATIENCE > 1 ? "a sanitizer looks at what is copied" : NULL, "cold data");
    fe_device *d;
    bench_cold cold;
    double *x, *to = calloc(N, sizeof *to), least[2] = {INFINITY, INFINITY};
    assert_non_null(to);
    must(fe_backend_host.open(0, 1, &d));
    must(bench_cold_open(d, &cold));
    must(fe_device_allocate(d, N, sizeof *x, "x", (void **)&x));
    for (int i = 0; i < ROUNDS * WARM; i++) {
        const int is_cold = i % WARM == 0;
        if (is_cold) must(bench_cold_fill(&cold));
        const double start = fe_seconds();
        must(d->ops->memory.download(d, N * sizeof *x, x, to));
        const double seconds = fe_seconds() - start;
        if (seconds < least[is_cold]) least[is_cold] = seconds;
    }
    d->ops->close(d);
    free(to);
    if (!(least[1] > 1.3 * least[0])) fail_msg("cold %g s, warm %g s", least[1], least[0]);
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
    assert_true(bench_energy_between(&e, before, after) == 1e-6 * (100 + 20 + 3000));
    assert_true(bench_energy_between(&e, after, after) == 0.0);
    write_file(e.path[1], "%s", "");
    assert_int_equal(bench_energy_read(&e, after), FE_FAILED);
    assert_message("/intel-rapl:0:1/energy_uj: holds no number");
    free(read_success("rm -r '%s'/intel-rapl:*", test_folder));
}

/* Three milliseconds of work of ten calls, at a power that goes up and down around 500 W. */
static fe_status some_work(void *context, int64_t *calls)
{
    struct fake_card *card = context;
    static int turn;
    card->milliwatts_now = ++turn / 12 % 2 ? 600000 : 400000;
    *calls = 10;
    nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
    return FE_OK;
}

/* Windows that are no longer than two steps of the counter know the energy to some per cent, because they
 * begin and end with a step: else half of them would be wrong by a fifth. Power over time says the same. */
static void test_energy_is_that_of_whole_steps(void **state)
{
    (void)state;
    bench_conditions c;
    bench_energy_window window[BENCH_N_WINDOW];
    double watts, total = 0.0;
    struct fake_card *card = open_fake("nvml.so", &c);
    const bench_energy e = {.n = 1, .nvml = c.nvml};
    must(bench_energy_windows(&e, 0.2, some_work, card, window));
    for (int i = 0; i < BENCH_N_WINDOW; i++) {
        const bench_energy_window *w = &window[i];
        if (!(fabs(w->joules / w->seconds / 500.0 - 1.0) < 0.12))
            fail_msg("window %d: %g J in %g s", i, w->joules, w->seconds);
        if (!(fabs(w->by_power / w->seconds / 500.0 - 1.0) <
              0.2)) /* readings at some of the highs and lows */
            fail_msg("window %d: %g J by power in %g s", i, w->by_power, w->seconds);
        assert_true(w->seconds > 0.2 && w->calls > 0.0 && w->calls < 10.0 * w->seconds / 0.003 + 20.0);
        total += w->by_power / w->joules / BENCH_N_WINDOW;
    }
    if (!(fabs(total - 1.0) < 0.03)) fail_msg("power over time is %g times the counters", total);
    card->milliwatts_now = 71250;
    must(bench_energy_idle(&e, 0.2, &watts));
    assert_true(fabs(watts - 71.25) < 0.05 * 71.25);
    card->step_ms = 1000000; /* a counter that stands still */
    assert_int_equal(bench_energy_windows(&e, 0.2, some_work, card, window), FE_FAILED);
    assert_message("the counter did not advance in 1 s");
    card->code = 3;
    assert_int_equal(bench_energy_idle(&e, 0.2, &watts), FE_FAILED);
    assert_message("NVML: the counter of energy: Not Supported");
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
    fe_machine free_one, bound, beside;
    cpu_set_t all, one, after;
    skip_if(fe_host_cores() < 2 ? "there is one core" : NULL, "bound process");
    must(fe_machine_find(1, &free_one)); /* taskset may have bound this one, too */
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
        if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    const fe_status status = fe_machine_find(1, &bound);
    setenv("FEBENCH_CARD", "0", 1);
    const fe_status on_card = fe_machine_find(0, &beside);
    unsetenv("FEBENCH_CARD");
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    must(status);
    must(on_card);
    assert_string_equal(bound.slug, free_one.slug);
    assert_int_equal(bound.cores, free_one.cores);
    assert_int_equal(beside.cores, free_one.cores);
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
        "%s",
        "n=0; for d in $(find . -name '*.md' -not -path './build*'); do"
        "  for l in $(sed '/^```/,/^```/d' \"$d\" | grep -o '](\\([^)#:]*\\))' | sed 's/^](//; s/)$//'); do"
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
        cmocka_unit_test(test_reasons_of_a_lower_clock_are_words),
        cmocka_unit_test(test_noise_is_named),
        cmocka_unit_test(test_conditions_of_a_card),
        cmocka_unit_test(test_conditions_of_a_card_with_an_old_driver),
        cmocka_unit_test(test_lack_of_a_card_is_named),
        cmocka_unit_test(test_load_is_what_others_take),
        cmocka_unit_test(test_frequency_of_the_cores),
        cmocka_unit_test(test_size_of_the_last_cache),
        cmocka_unit_test(test_cold_data_come_from_memory),
        cmocka_unit_test(test_names_are_one_field),
        cmocka_unit_test(test_rows_are_added),
        cmocka_unit_test(test_energy_is_that_of_packages_and_their_memory),
        cmocka_unit_test(test_energy_is_that_of_whole_steps),
        cmocka_unit_test(test_lack_of_counters_is_named),
        cmocka_unit_test(test_slug),
        cmocka_unit_test(test_machine_record_comes_back),
        cmocka_unit_test(test_bound_process_names_the_machine),
        cmocka_unit_test(test_record_of_another_machine_is_refused),
        cmocka_unit_test(test_links_of_documents_lead_to_files),
    };
    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
