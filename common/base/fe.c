/* Messages, checked allocation, the steady clock and interruption. */
#include "common/base/fe.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static _Thread_local char message[1024];

fe_status fe_fail(fe_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return status;
}

const char *fe_message(void) { return message; }

int fe_exit_code(fe_status status, const char *program)
{
    errno = 0;
    if ((fflush(stdout) || ferror(stdout)) && status == FE_OK)
        status = fe_fail(FE_FAILED, "standard output cannot be written%s%s", errno ? ": " : "",
                         errno ? strerror(errno) : "");
    if (status == FE_OK) return 0;
    if (program) fprintf(stderr, "%s: %s\n", program, message[0] ? message : "failed without a message");
    return status == FE_BAD_INPUT ? 2 : status == FE_INTERRUPTED ? 130 : 1;
}

fe_status fe_allocate(size_t count, size_t size, const char *what, void **out)
{
    *out = NULL;
    if (size && count > (SIZE_MAX - 64) / size)
        return fe_fail(FE_OUT_OF_MEMORY, "%s: %zu x %zu bytes is more than an address space", what, count,
                       size);
    const size_t bytes = (count * size + 63) / 64 * 64;
    void *memory = aligned_alloc(64, bytes ? bytes : 64);
    if (!memory) return fe_fail(FE_OUT_OF_MEMORY, "%s: no host memory for %zu bytes", what, bytes);
    memset(memory, 0, bytes ? bytes : 64);
    *out = memory;
    return FE_OK;
}

double fe_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

int fe_interrupted(void) { return interrupted; }

void fe_catch_interrupts(void)
{
    struct sigaction action = {0};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESETHAND; /* a second signal ends the process at once */
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}
