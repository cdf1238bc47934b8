/* Energy counters of GPUs and hosts; see energy.h. */
#include "bench/energy.h"
#include "have/cuda.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* --- host -------------------------------------------------------------------------------------------- */

static fe_status read_number(const char *path, uint64_t *out)
{
    FILE *file = fopen(path, "r");
    if (!file) return fe_fail(FE_FAILED, "%s: %s", path, strerror(errno));
    const int n = fscanf(file, "%" SCNu64, out);
    fclose(file);
    return n == 1 ? FE_OK : fe_fail(FE_FAILED, "%s: holds no number", path);
}

/* Whether a zone is a package or the memory beside one. The others would count twice: core and uncore are
 * parts of their package, psys has all packages in it. */
static int is_counted(const char *zone)
{
    char path[BENCH_COUNTER_PATH + 32], name[32] = "";
    snprintf(path, sizeof path, "%s/name", zone);
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    const int n = fscanf(file, "%31s", name);
    fclose(file);
    return n == 1 && (!strncmp(name, "package", strlen("package")) || !strcmp(name, "dram"));
}

static fe_status add_zone(const char *zone, bench_energy *e)
{
    char path[BENCH_COUNTER_PATH + 32];
    if (!is_counted(zone)) return FE_OK;
    if (e->n == BENCH_MOST_COUNTERS)
        return fe_fail(FE_FAILED, "%s: is one of more than %d zones", zone, BENCH_MOST_COUNTERS);
    snprintf(path, sizeof path, "%s/max_energy_range_uj", zone);
    FE_TRY(read_number(path, &e->range[e->n]));
    snprintf(e->path[e->n], sizeof e->path[e->n], "%s/energy_uj", zone);
    e->n++;
    return FE_OK;
}

fe_status bench_energy_open_host(const char *folder, bench_energy *e)
{
    char pattern[BENCH_COUNTER_PATH];
    uint64_t now[BENCH_MOST_COUNTERS];
    glob_t zones;
    *e = (bench_energy){0};
    snprintf(pattern, sizeof pattern, "%s/intel-rapl:*", folder); /* AMD's processors, too */
    fe_status status = FE_OK;
    if (!glob(pattern, 0, NULL, &zones)) {
        for (size_t i = 0; i < zones.gl_pathc && status == FE_OK; i++)
            status = add_zone(zones.gl_pathv[i], e);
        globfree(&zones);
    }
    if (status == FE_OK && !e->n) status = fe_fail(FE_FAILED, "%s: there are no counters of RAPL", folder);
    return status == FE_OK ? bench_energy_read(e, now) : status;
}

/* --- GPU --------------------------------------------------------------------------------------------- */

#if FE_HAVE_CUDA
static fe_status open_card(bench_energy *e)
{
    uint64_t now;
    *e = (bench_energy){.n = 1};
    FE_TRY(bench_nvml_open_first(&e->nvml));
    if (!e->nvml.energy) return fe_fail(FE_FAILED, "NVML: lacks the counter of energy");
    return bench_energy_read(e, &now);
}
#endif

/* --- both -------------------------------------------------------------------------------------------- */

fe_status bench_energy_open(const fe_backend *backend, bench_energy *e)
{
#if FE_HAVE_CUDA
    if (backend->on_gpu) return open_card(e);
#endif
    (void)backend;
    return bench_energy_open_host("/sys/class/powercap", e);
}

fe_status bench_energy_read(const bench_energy *e, uint64_t *microjoules)
{
    if (e->nvml.energy) {
        unsigned long long millijoules = 0;
        const int code = e->nvml.energy(e->nvml.card, &millijoules);
        *microjoules = 1000 * (uint64_t)millijoules;
        return code ? fe_fail(FE_FAILED, "NVML: the counter of energy: %s", e->nvml.explain(code)) : FE_OK;
    }
    for (int i = 0; i < e->n; i++) FE_TRY(read_number(e->path[i], &microjoules[i]));
    return FE_OK;
}

double bench_energy_between(const bench_energy *e, const uint64_t *before, const uint64_t *after)
{
    double microjoules = 0.0;
    for (int i = 0; i < e->n; i++)
        microjoules += (double)(after[i] - before[i] + (after[i] < before[i] ? e->range[i] : 0));
    return 1e-6 * microjoules;
}

/* --- windows ----------------------------------------------------------------------------------------- */

/* Of a run of the work: what has been done, and the power over time since `begun`. */
typedef struct course {
    const bench_energy *e;
    bench_energy_work work;
    void *context;
    double calls;
    double power, at, joules; /* watts when they were last read, at this time; and over the time until then */
} course;

enum { COUNTER_STEP_MS = 100, POWER_MS = 10, SETTLE_MS = 300, LATE_MS = 1000 };

/* Power counts from one reading to the next as their mean. */
static void read_power(course *c)
{
    const double before = c->power, since = c->at;
    c->power = bench_nvml_watt(&c->e->nvml), c->at = fe_seconds();
    c->joules += 0.5 * (before + c->power) * (c->at - since);
}

static void begin_power(course *c)
{
    const int is_card = c->e->nvml.card != NULL;
    c->joules = 0.0, c->at = fe_seconds();
    c->power = is_card ? bench_nvml_watt(&c->e->nvml) : NAN;
}

static fe_status go_on(course *c)
{
    int64_t calls;
    FE_TRY(c->work(c->context, &calls));
    c->calls += (double)calls;
    if (c->e->nvml.card && fe_seconds() - c->at > 1e-3 * POWER_MS) read_power(c);
    return FE_OK;
}

static fe_status go_on_for(course *c, double seconds)
{
    for (const double end = fe_seconds() + seconds; fe_seconds() < end;) FE_TRY(go_on(c));
    return FE_OK;
}

/* Goes on until the counters advance, which they have when this returns: counter [n], *at: when. */
static fe_status await_step(course *c, uint64_t *counter, double *at)
{
    uint64_t before[BENCH_MOST_COUNTERS];
    const double begin = fe_seconds();
    FE_TRY(bench_energy_read(c->e, before));
    do {
        FE_TRY(go_on(c));
        FE_TRY(bench_energy_read(c->e, counter));
        *at = fe_seconds();
        if (bench_energy_between(c->e, before, counter) > 0.0) return FE_OK;
    } while (*at - begin < 1e-3 * LATE_MS);
    return fe_fail(FE_FAILED, "the counter did not advance in %g s", 1e-3 * LATE_MS);
}

static fe_status take_window(course *c, double seconds, bench_energy_window *w)
{
    uint64_t before[BENCH_MOST_COUNTERS], after[BENCH_MOST_COUNTERS];
    double begin, end;
    FE_TRY(await_step(c, before, &begin));
    begin_power(c);
    c->calls = 0.0;
    FE_TRY(go_on_for(c, seconds));
    FE_TRY(await_step(c, after, &end));
    if (c->e->nvml.card) read_power(c);
    *w = (bench_energy_window){.seconds = end - begin,
                               .calls = c->calls,
                               .joules = bench_energy_between(c->e, before, after),
                               .by_power = c->e->nvml.card ? c->joules : NAN};
    return FE_OK;
}

fe_status bench_energy_windows(const bench_energy *e, double seconds, bench_energy_work work, void *context,
                               bench_energy_window *window)
{
    course c = {.e = e, .work = work, .context = context, .at = fe_seconds()};
    FE_TRY(go_on_for(&c, 1e-3 * SETTLE_MS));
    for (int i = 0; i < BENCH_N_WINDOW; i++) {
        FE_TRY(go_on_for(&c, 1e-3 * COUNTER_STEP_MS * i / BENCH_N_WINDOW)); /* another start for each */
        FE_TRY(take_window(&c, seconds, &window[i]));
    }
    return FE_OK;
}

static fe_status wait_a_millisecond(void *context, int64_t *calls)
{
    (void)context;
    *calls = 0;
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return FE_OK;
}

fe_status bench_energy_idle(const bench_energy *e, double seconds, double *watts)
{
    course c = {.e = e, .work = wait_a_millisecond, .at = fe_seconds()};
    bench_energy_window w;
    FE_TRY(go_on_for(&c, 1.0));
    FE_TRY(take_window(&c, seconds, &w));
    *watts = w.joules / w.seconds;
    return FE_OK;
}
