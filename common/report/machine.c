/* Machine record: read from the system, kept as "key,value" lines. */
#include "common/report/machine.h"
#include "common/backend/device.h"
#include "common/base/cores.h"
#include "common/base/file.h"
#include "common/report/version.h"
#include "have/cuda.h"

#include <ctype.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void fe_machine_slug(const char *name, size_t size, char *slug)
{
    size_t n = 0;
    for (; *name && n + 1 < size; name++) {
        const int c = tolower((unsigned char)*name);
        if (isalnum(c))
            slug[n++] = (char)c;
        else if (n && slug[n - 1] != '-')
            slug[n++] = '-';
    }
    while (n && slug[n - 1] == '-') n--;
    slug[n] = 0;
}

/* Values are separated by commas. */
static void plain(char *text)
{
    for (; *text; text++)
        if (*text == ',' || *text == '"' || *text == '\n') *text = ' ';
}

/* Name of the first device of a backend. */
static fe_status device_name(const fe_backend *backend, size_t size, char *name)
{
    fe_device *d = NULL;
    FE_TRY(backend->open(0, 0, &d));
    snprintf(name, size, "%s", d->name);
    plain(name);
    backend->close(d);
    return FE_OK;
}

#if FE_HAVE_CUDA
static void driver_version(size_t size, char *version)
{
    FILE *pipe = popen("nvidia-smi --query-gpu=driver_version --format=csv,noheader -i 0 2>/dev/null", "r");
    if (!pipe) return;
    if (fgets(version, (int)size, pipe)) version[strcspn(version, "\n")] = 0;
    pclose(pipe);
    plain(version);
}
#endif

/* Cores that the system would let this process run on if nobody had bound it: it asks for all, sees what it
 * gets (containers and control groups give a part), and goes back to where it was. */
static int unbound_cores(void)
{
    cpu_set_t own, all;
    const int cores = fe_host_cores();
    if (sched_getaffinity(0, sizeof own, &own)) return cores;
    memset(&all, 0xff, sizeof all);
    if (sched_setaffinity(0, sizeof all, &all)) return cores;
    const int found = sched_getaffinity(0, sizeof all, &all) ? cores : CPU_COUNT(&all);
    sched_setaffinity(0, sizeof own, &own);
    return found;
}

fe_status fe_machine_find(int launched, fe_machine *m)
{
    const int shares = launched || getenv("FEBENCH_CARD");
    const int cores = shares ? fe_cores_here(unbound_cores()) : fe_host_cores();
    *m = (fe_machine){.cores = cores, .host_threads = cores};
    m->memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    FE_TRY(device_name(&fe_backend_host, sizeof m->cpu, m->cpu));
#if FE_HAVE_CUDA
    if (fe_cuda_devices() > 0) {
        FE_TRY(device_name(&fe_backend_cuda, sizeof m->gpu, m->gpu));
        driver_version(sizeof m->driver, m->driver);
    }
#endif
    char name[192];
    snprintf(name, sizeof name, "%s %d cores", m->cpu, m->cores);
    fe_machine_slug(m->gpu[0] ? m->gpu : name, sizeof m->slug, m->slug);
    return FE_OK;
}

/* The first line of --version that starts with `key`. */
static void version_line(FILE *file, const char *key, const char *name)
{
    const char *line = strstr(fe_version_text(), key);
    if (!line) return;
    line += strlen(key);
    char value[256];
    snprintf(value, sizeof value, "%.*s", (int)strcspn(line, "\n"), line);
    plain(value);
    fprintf(file, "%s,%s\n", name, value);
}

/* What must be the same in a record and on this machine, as "key,value" lines. */
enum { N_IDENTITY = 5 };
static void identity(const fe_machine *m, char line[N_IDENTITY][192])
{
    snprintf(line[0], sizeof line[0], "machine,%s", m->slug);
    snprintf(line[1], sizeof line[1], "cpu,%s", m->cpu);
    snprintf(line[2], sizeof line[2], "cores,%d", m->cores);
    snprintf(line[3], sizeof line[3], "host_threads,%d", m->host_threads);
    snprintf(line[4], sizeof line[4], "gpu,%s", m->gpu);
}

fe_status fe_machine_write(const fe_machine *m, const char *path)
{
    char line[N_IDENTITY][192];
    fe_file f = {0};
    fe_file_sweep(path);
    FE_TRY(fe_file_open(&f, path));
    fputs("key,value\n", f.stream);
    identity(m, line);
    for (int i = 0; i < N_IDENTITY; i++) fprintf(f.stream, "%s\n", line[i]);
    fprintf(f.stream, "driver,%s\nmemory_gb,%.1f\ncommit,%s\n", m->driver, 1e-9 * m->memory, fe_commit());
    version_line(f.stream, "compiler: ", "compiler");
    version_line(f.stream, "SIMD: ", "simd");
    version_line(f.stream, "CUDA: ", "cuda");
    fprintf(f.stream, "host_copy_gb_per_s,%.2f\nhost_fma_gflop_per_s,%.2f\n", 1e-9 * m->host_copy,
            1e-9 * m->host_flop);
    fprintf(f.stream, "cuda_copy_gb_per_s,%.2f\ncuda_fma_gflop_per_s,%.2f\n", 1e-9 * m->cuda_copy,
            1e-9 * m->cuda_flop);
    const fe_status status = fe_file_commit(&f);
    fe_file_close(&f);
    return status;
}

/* One line of a record: a ceiling, something that must be the same on this machine, or another fact. */
static fe_status read_line(const char *path, const char *line, char here[N_IDENTITY][192], fe_machine *m)
{
    static const char *const keys[4] = {"host_copy_gb_per_s,", "host_fma_gflop_per_s,", "cuda_copy_gb_per_s,",
                                        "cuda_fma_gflop_per_s,"};
    double *values[4] = {&m->host_copy, &m->host_flop, &m->cuda_copy, &m->cuda_flop};
    for (int i = 0; i < 4; i++)
        if (!strncmp(line, keys[i], strlen(keys[i]))) *values[i] = 1e9 * atof(line + strlen(keys[i]));
    for (int i = 0; i < N_IDENTITY; i++) {
        const size_t key = strcspn(here[i], ",") + 1;
        if (!strncmp(line, here[i], key) && strcmp(line, here[i]))
            return fe_fail(FE_BAD_INPUT, "%s: %.*s is %s there and %s here", path, (int)key - 1, here[i],
                           line + key, here[i] + key);
    }
    return FE_OK;
}

fe_status fe_machine_read(const char *path, fe_machine *m)
{
    char *text, here[N_IDENTITY][192];
    size_t n;
    identity(m, here);
    FE_TRY(fe_file_read(path, &text, &n));
    fe_status status = FE_OK;
    char *rest = text;
    for (char *line; status == FE_OK && (line = strsep(&rest, "\n"));)
        status = read_line(path, line, here, m);
    free(text);
    return status;
}
