/* Cores and threads that this process may use: the least of what the system, Slurm and OpenMP allow. */
#ifndef FE_CORES_H
#define FE_CORES_H

#include <sched.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Cores that this process may use by all of these limits, even where OMP_PROC_BIND binds the calling thread
 * to one. */
int fe_cores(void);
/* The least of `cores` and of what the processes of this machine may use together: the quota of their control
 * groups, and what Slurm gave the job here (SLURM_CPUS_ON_NODE). */
int fe_cores_here(int cores);
/* The least of `cores` and of what Slurm gave a task (SLURM_CPUS_PER_TASK). */
int fe_cores_of_task(int cores);
/* The least of `cores`, OMP_NUM_THREADS and OMP_THREAD_LIMIT, at least 1. */
int fe_threads_of(int cores);
/* Threads that OMP_NUM_THREADS asks for, 0: it does not. */
int fe_threads_asked(void);

/* The cores that the system lets this process run on. 0: more than a cpu_set_t holds. */
int fe_cores_set(cpu_set_t *cores);
/* Cores for each of n processes that may run on the cores in set [n], as process `own` has them: a core that
 * several may use is shared. */
int fe_cores_shared(int n, const cpu_set_t *set, int own);

/* Cores by the quotas (cpu.max of cgroup v2, cpu.cfs_quota_us of v1) of the groups that the file `groups`
 * (/proc/self/cgroup) names and of those above them, in the folder `root` (/sys/fs/cgroup). A part of a core
 * does not count, unless it is the first. INT_MAX: there is no quota. */
int fe_cores_quota(const char *groups, const char *root);

#ifdef __cplusplus
}
#endif
#endif
