/* Launchers of processes; see launch.h. */
#include "common/ranks/launch.h"

#include <stdlib.h>

/* Variables with a process's number and with how many there are, the innermost launcher first. Slurm sets its
 * own whether it helps MPI (srun --mpi) or not. PMIx has no variable for the number of processes. */
static const struct launcher {
    const char *rank, *size;
    int joins;
} launchers[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", 1},
                 {"PMI_RANK", "PMI_SIZE", 1},
                 {"PMIX_RANK", NULL, 1},
                 {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", 0}};
enum { N_LAUNCHER = sizeof launchers / sizeof *launchers };

static int number(const char *name)
{
    const char *text = name ? getenv(name) : NULL;
    return text ? (int)strtol(text, NULL, 10) : 0;
}

int fe_launch_joins(void)
{
    for (int i = 0; i < N_LAUNCHER; i++)
        if (launchers[i].joins && getenv(launchers[i].rank)) return 1;
    return 0;
}

/* The first launcher that tells how many processes it has started. */
static const struct launcher *teller(void)
{
    for (int i = 0; i < N_LAUNCHER; i++)
        if (number(launchers[i].size) > 0) return &launchers[i];
    return NULL;
}

int fe_launch_rank(void)
{
    const struct launcher *l = teller();
    return l ? number(l->rank) : 0;
}

fe_status fe_launch_refuse(int ranks, const char *why, int joins)
{
    const struct launcher *l = teller();
    const int n = l ? number(l->size) : 1;
    if (n < 2 || ranks == 1) return FE_OK;
    return fe_fail(FE_BAD_INPUT,
                   "%s=%d: several processes were started, but %s, and each would do all the work: %s; "
                   "--ranks 1 lets each run on its own",
                   l->size, n, why,
                   !joins     ? "--ranks N runs ranks as threads of one process"
                   : l->joins ? "start them by the launcher of this program's MPI"
                              : "srun --mpi=pmix joins them (srun --mpi=list shows what there is)");
}
