/* Programs of this build as child processes, in a folder of their own. A failure here fails the calling
 * cmocka test. */
#ifndef CHILD_H
#define CHILD_H

#include <stddef.h>
#include <sys/types.h>

/* Fixtures of a group of tests: a new folder to work in, with p.json (the default problem), box.msh (Hex8)
 * and tet.msh (Tet4); the programs of the folder FE_BUILD (this build's) in front of PATH; no CUDA device
 * visible. */
int child_open(void **state);
int child_close(void **state);

/* Runs a shell command, with its output in the files out and err; SIGALRM ends it after child_seconds
 * (60), times PATIENCE. */
extern unsigned child_seconds;
pid_t child_start(const char *command);
/* Its exit code, or minus the signal that ended it; child_said is its stderr. Fails if a temporary file is
 * left. */
int child_finish(pid_t child);
/* Whether a child has ended; child_finish is still to be called. */
int child_has_ended(pid_t child);
/* How many temporary files that fit a pattern are of processes that are gone. (The number of a killed process
 * may be another's by now: then its file waits for the next run.) */
int child_left_behind(const char *pattern);
int child_run(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Runs a command that has to end with this exit code. */
void child_must(int code, const char *command);

/* The last load step that `solve` has shown in the file out; 0: none. */
size_t child_steps_shown(void);

extern char child_said[8192];
/* child_said is one line, "program: ...", with each part that is not NULL; a note on locking is dropped. */
void child_assert_said(const char *command, const char *program, const char *const part[3]);
/* It said nothing, or only that elements lock. */
void child_assert_silent(void);
#define PARTS(...) ((const char *const[3]){__VA_ARGS__})

/* Sections of a problem file; NULL takes the default: a unit cube clamped at x = 0, pulled and bent at x = 1
 * with factors 1 (elastic), -2.2 and 2.2 (plastic). */
typedef struct problem {
    const char *material, *supports, *loads, *factors;
} problem;
void child_write_problem(const char *path, problem p);
/* Thousands of load steps, each with the load or half of it, of this material. */
enum { LONG_PROBLEM = 5000 };
void child_write_long_problem(const char *path, const char *material);

/* Parts of problems: rollers on three sides of a box, traction on a fourth, and a material that does not
 * harden. */
#define ROLLERS                                                                                              \
    "{\"group\": \"x0\", \"u\": {\"x\": 0}}, {\"group\": \"y0\", \"u\": {\"y\": 0}}, "                       \
    "{\"group\": \"z0\", \"u\": {\"z\": 0}}"
#define PERFECT "\"E\": 200000, \"nu\": 0.3, \"sigma_y\": 250, \"H\": 0"
#define PULL "{\"group\": \"x1\", \"traction\": [1, 0, 0]}"

#endif
