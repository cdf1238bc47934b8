/* Programs that run as several processes at once, in the folder of child.h: started, found and ended. */
#ifndef PROCESS_H
#define PROCESS_H

#include <stddef.h>
#include <sys/types.h>

enum { ANYONE = -1, LONG = 300 /* seconds that a busy machine may take */ };

/* Why mpirun starts no processes here, NULL: it does. Makes it do so: see the settings. */
const char *processes_missing(void);

extern pid_t running; /* the command that was started last; 0: it has ended */

/* Starts a shell command; the result file r.json is removed before. */
void start(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Its exit code, or minus the signal that ended it, when all processes have ended, which may take so many
 * seconds. */
int finish(double seconds);

/* A process of ours: the program `solve` of one rank, or anyone. 0: there is none. */
pid_t find_process(int rank);
/* The first `size` bytes of /proc/PID/NAME; empty where it cannot be read. Returns the length. */
size_t read_proc(pid_t pid, const char *name, size_t size, char *text);

/* Teardown of a test. Ends what a failed test left behind: by the launcher, which cleans up after itself, or
 * by force. */
int clean_up(void **state);

#endif
