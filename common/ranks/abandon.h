/* Ranks that do not end: a thread is waited for only so long, and then left to itself. */
#ifndef FE_ABANDON_H
#define FE_ABANDON_H

#include <pthread.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Waits at most so long for a thread to end. Returns whether it did. */
int fe_join_within(pthread_t thread, double seconds);

/* A run of ranks is abandoned. Its threads may still use `memory`, which stays. */
void fe_abandon(const void *memory);
/* Whether any run of ranks was abandoned: the program then has to end by _exit, because abandoned threads may
 * use any of its memory. */
int fe_ranks_stranded(void);
/* Ends the program so, and here, if a run was abandoned. */
void fe_ranks_leave(int exit_code);

#ifdef __cplusplus
}
#endif
#endif
