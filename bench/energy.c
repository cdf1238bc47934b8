/* Energy counters of GPUs and hosts; see energy.h. */
#include "bench/energy.h"
#include "have/cuda.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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
    if (backend == &fe_backend_cuda) return open_card(e);
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

double bench_energy_per(const bench_energy *e, const uint64_t *before, const uint64_t *after, double n)
{
    double microjoules = 0.0;
    for (int i = 0; i < e->n; i++)
        microjoules += (double)(after[i] - before[i] + (after[i] < before[i] ? e->range[i] : 0));
    return 1e3 * microjoules / n;
}
