#include "common/ranks/abandon.h"

#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int fe_join_within(pthread_t thread, double seconds)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    const int64_t ns = end.tv_nsec + (int64_t)(1e9 * seconds);
    end.tv_sec += ns / 1000000000, end.tv_nsec = ns % 1000000000;
    return pthread_timedjoin_np(thread, NULL, &end) == 0;
}

static const void *abandoned;
void fe_abandon(const void *memory) { abandoned = memory; }
int fe_ranks_stranded(void) { return abandoned != NULL; }
void fe_ranks_leave(int exit_code)
{
    if (!abandoned) return;
    fflush(NULL);
    _exit(exit_code);
}
