/* Limits of cores and threads; see cores.h. */
#include "common/base/cores.h"

#include <limits.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int least(int a, int b) { return a < b ? a : b; }

/* A positive number in the environment; otherwise INT_MAX. */
static int limit(const char *name)
{
    const char *text = getenv(name);
    const long value = text ? strtol(text, NULL, 10) : 0; /* of "4,2", OpenMP's nested levels, the first */
    return value > 0 && value < INT_MAX ? (int)value : INT_MAX;
}

/* --- control groups ---------------------------------------------------------------------------------- */

/* The first two words of a file, the second one of another file where `second` is given. */
static int read_two(const char *folder, const char *first, const char *second, char a[32], char b[32])
{
    char path[PATH_MAX + 32];
    int n = 0;
    snprintf(path, sizeof path, "%s/%s", folder, first);
    FILE *file = fopen(path, "re");
    if (!file) return 0;
    n = fscanf(file, second ? "%31s" : "%31s %31s", a, b);
    fclose(file);
    if (!second) return n == 2;
    snprintf(path, sizeof path, "%s/%s", folder, second);
    file = n == 1 ? fopen(path, "re") : NULL;
    if (!file) return 0;
    n = fscanf(file, "%31s", b);
    fclose(file);
    return n == 1;
}

/* Cores of one group: quota / period, where the quota is neither "max" nor -1. */
static int quota_of(const char *folder, int version)
{
    char quota[32], period[32];
    if (!read_two(folder, version == 2 ? "cpu.max" : "cpu.cfs_quota_us",
                  version == 2 ? NULL : "cpu.cfs_period_us", quota, period))
        return INT_MAX;
    const double cores = atof(period) > 0.0 ? atof(quota) / atof(period) : 0.0;
    return !(cores > 0.0) || cores > INT_MAX / 2 ? INT_MAX : cores < 1.0 ? 1 : (int)cores;
}

/* Least quota of a group and those above it. In a container the folder is its own group's: names above it
 * lead nowhere. */
static int quota_above(const char *root, const char *controller, char *group, int version)
{
    char folder[PATH_MAX];
    int cores = INT_MAX;
    for (char *end = group + strlen(group); end; end = strrchr(group, '/')) {
        *end = 0;
        if (snprintf(folder, sizeof folder, "%s%s%s%s", root, *controller ? "/" : "", controller, group) <
            (int)sizeof folder)
            cores = least(cores, quota_of(folder, version));
    }
    return cores;
}

/* Lines of a group: "0::/PATH" of version 2, "N:cpu,cpuacct:/PATH" of version 1. */
int fe_cores_quota(const char *groups, const char *root)
{
    char line[PATH_MAX];
    int cores = INT_MAX;
    FILE *file = fopen(groups, "re");
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group) continue;
        *controllers++ = 0, *group++ = 0;
        if (!*controllers)
            cores = least(cores, quota_above(root, "", group, 2));
        else if (!strncmp(controllers, "cpu", 3) && (controllers[3] == ',' || !controllers[3]))
            cores = least(cores, quota_above(root, "cpu", group, 1));
    }
    if (file) fclose(file);
    return cores;
}

static int own_quota;
static void find_own_quota(void) { own_quota = fe_cores_quota("/proc/self/cgroup", "/sys/fs/cgroup"); }

/* --- limits ------------------------------------------------------------------------------------------ */

int fe_cores_here(int cores)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_own_quota);
    return least(cores, least(own_quota, limit("SLURM_CPUS_ON_NODE")));
}

int fe_cores_of_task(int cores) { return least(cores, limit("SLURM_CPUS_PER_TASK")); }

int fe_threads_of(int cores)
{
    const int threads = least(cores, least(limit("OMP_NUM_THREADS"), limit("OMP_THREAD_LIMIT")));
    return threads > 0 ? threads : 1;
}

int fe_threads_asked(void)
{
    const int asked = limit("OMP_NUM_THREADS");
    return asked < INT_MAX ? asked : 0;
}

/* OpenMP's places are all cores of the process where it binds threads; otherwise it has none. */
int fe_cores_set(cpu_set_t *cores)
{
    CPU_ZERO(cores);
    const int n_place = omp_get_num_places();
    for (int place = 0; place < n_place; place++) {
        int id[CPU_SETSIZE];
        const int n = omp_get_place_num_procs(place);
        if (n > CPU_SETSIZE) return 0;
        omp_get_place_proc_ids(place, id);
        for (int i = 0; i < n; i++)
            if (id[i] >= 0 && id[i] < CPU_SETSIZE) CPU_SET(id[i], cores);
    }
    return n_place > 0 || sched_getaffinity(0, sizeof *cores, cores) == 0;
}

/* Of a thread that is bound, LLVM's OpenMP counts its own place alone. */
int fe_cores(void)
{
    cpu_set_t set;
    const int known = omp_get_num_places() > 0 && fe_cores_set(&set);
    return fe_cores_of_task(fe_cores_here(known ? CPU_COUNT(&set) : omp_get_num_procs()));
}

int fe_cores_shared(int n, const cpu_set_t *set, int own)
{
    double cores = 0.0;
    for (int c = 0; c < CPU_SETSIZE; c++) {
        int users = 0;
        for (int i = 0; i < n && CPU_ISSET(c, &set[own]); i++) users += CPU_ISSET(c, &set[i]) != 0;
        if (users) cores += 1.0 / users;
    }
    return cores < 1.0 ? 1 : (int)(cores + 1e-6);
}
