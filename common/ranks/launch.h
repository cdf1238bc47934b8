/* What launchers of several processes (mpirun, srun) leave in the environment of each. */
#ifndef FE_LAUNCH_H
#define FE_LAUNCH_H

#include "common/base/fe.h"

/* Whether a launcher wants MPI to join this process to others; without one, MPI would start a daemon for
 * nothing. */
int fe_launch_joins(void);
/* This process's number among those that were started with it. */
int fe_launch_rank(void);

/* FE_BAD_INPUT where several processes were started, of which each would do all the work and write the same
 * files, for the reason `why`, unless the user asked for one rank of each (ranks 1; 0: for nothing). joins:
 * whether another launcher would help. */
fe_status fe_launch_refuse(int ranks, const char *why, int joins);

#endif
