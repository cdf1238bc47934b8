/* Reads the conditions of samples; see conditions.h. */
#include "bench/conditions.h"
#include "common/base/cores.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double seconds_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double bench_utc(void) { return seconds_of(CLOCK_REALTIME); }

/* --- host -------------------------------------------------------------------------------------------- */

/* Seconds for which the cores of the process have been idle, or waited for a disk, and how many there are: a
 * line of /proc/stat is  cpuN user nice system idle iowait ...,  in ticks. Everything else a core did is work
 * of somebody, the time included that a host of virtual machines gave to another one. Where all is zero
 * nothing is counted. */
static int idle_cores(const bench_conditions *c, double *seconds)
{
    char line[512];
    int n = 0;
    double ticks = 0.0;
    FILE *file = fopen(c->stat, "re");
    while (file && fgets(line, sizeof line, file) && !strncmp(line, "cpu", 3)) {
        int core;
        double user, nice, system, idle, wait;
        if (line[3] == ' ') continue; /* all cores of the machine */
        if (sscanf(line, "cpu%d %lf %lf %lf %lf %lf", &core, &user, &nice, &system, &idle, &wait) != 6)
            continue;
        if (core < 0 || core >= CPU_SETSIZE || !CPU_ISSET(core, &c->cores)) continue;
        if (user + nice + system + idle + wait > 0.0) n++, ticks += idle + wait;
    }
    if (file) fclose(file);
    *seconds = ticks / (double)sysconf(_SC_CLK_TCK);
    return n;
}

static double read_number(const char *path)
{
    double x;
    FILE *file = fopen(path, "re");
    const int n = file ? fscanf(file, "%lf", &x) : 0;
    if (file) fclose(file);
    return n == 1 ? x : NAN;
}

/* The mean of the process's cores in /proc/cpuinfo. */
static double listed_frequency(const bench_conditions *c)
{
    char line[1024];
    int core = -1, n = 0;
    double sum = 0.0, x;
    FILE *file = fopen(c->cpu_info, "re");
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "processor : %d", &core) == 1 || sscanf(line, "cpu MHz : %lf", &x) != 1) continue;
        if (core >= 0 && core < CPU_SETSIZE && CPU_ISSET(core, &c->cores)) sum += x, n++;
    }
    if (file) fclose(file);
    return n ? sum / n : NAN;
}

/* Mean frequency of some of the process's cores, MHz: the kernel interrupts each that it is asked for. */
static double frequency(const bench_conditions *c)
{
    enum { MOST = 8 };
    const int n = CPU_COUNT(&c->cores), step = n > MOST ? n / MOST : 1;
    int seen = 0, n_read = 0;
    double sum = 0.0;
    for (int core = 0; core < CPU_SETSIZE && seen < n; core++) {
        char path[160];
        if (!CPU_ISSET(core, &c->cores) || seen++ % step) continue;
        snprintf(path, sizeof path, "%s/cpu%d/cpufreq/scaling_cur_freq", c->cpu, core);
        const double kilohertz = read_number(path);
        if (isnan(kilohertz)) break;
        sum += 1e-3 * kilohertz, n_read++;
    }
    return n_read ? sum / n_read : listed_frequency(c);
}

/* --- GPU --------------------------------------------------------------------------------------------- */

static double clock_of(const bench_nvml *n, int which)
{
    unsigned megahertz;
    return n->clock && !n->clock(n->card, which, &megahertz) ? megahertz : NAN;
}

static void read_card(const bench_nvml *n, fe_sample *s)
{
    unsigned celsius;
    unsigned long long bits;
    s->sm_mhz = clock_of(n, BENCH_NVML_SM_CLOCK), s->memory_mhz = clock_of(n, BENCH_NVML_MEMORY_CLOCK);
    if (n->reasons && !n->reasons(n->card, &bits)) s->throttle = (int64_t)(bits & INT64_MAX);
    s->watt = bench_nvml_watt(n);
    if (n->temperature && !n->temperature(n->card, 0, &celsius)) s->celsius = celsius; /* 0: of the chip */
}

/* --- both -------------------------------------------------------------------------------------------- */

void bench_conditions_open(const fe_backend *backend, bench_conditions *c)
{
    *c = (bench_conditions){.on_host = !backend->on_gpu,
                            .stat = "/proc/stat",
                            .cpu = "/sys/devices/system/cpu",
                            .cpu_info = "/proc/cpuinfo"};
    if (!fe_cores_set(&c->cores)) CPU_ZERO(&c->cores);
    if (c->on_host) return;
    if (bench_nvml_open_first(&c->nvml) == FE_OK) return;
    fe_note("clocks, power and temperature of the GPU are not known: %s", fe_message());
    c->nvml = (bench_nvml){0};
}

void bench_conditions_begin(bench_conditions *c)
{
    c->start = fe_seconds(), c->own = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    c->n_core = idle_cores(c, &c->idle);
}

void bench_conditions_end(const bench_conditions *c, fe_sample *s)
{
    double idle;
    if (c->nvml.card) read_card(&c->nvml, s); /* first: the device is at work for milliseconds only */
    const int n = idle_cores(c, &idle);
    const double own = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - c->own;
    s->window = fe_seconds() - c->start, s->cores = n == c->n_core ? n : 0;
    s->others = n * s->window - (idle - c->idle) - own;
    if (c->on_host) s->cpu_mhz = frequency(c); /* some kernels take 10 ms for a core that is idle */
}
