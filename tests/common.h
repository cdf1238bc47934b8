/* What several test programs need: random numbers, meshes, files, folders, commands. A failure here fails the
 * calling cmocka test. */
#ifndef TESTS_COMMON_H
#define TESTS_COMMON_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "common/base/fe.h"
#include "common/mesh/mesh.h"

/* How many times as long as usual something may take: a sanitizer is slow. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { PATIENCE = 5 };
#else
enum { PATIENCE = 1 };
#endif

/* Fails with fe_message() unless all went well. */
void must(fe_status status);
/* Skips the test where there is a reason, which is printed with the name of what is skipped. */
void skip_if(const char *why, const char *what);
/* Why a variant cannot run on a backend, "host" or "cuda"; NULL where it can. */
struct fe_variant;
const char *variant_missing(const struct fe_variant *variant, const char *backend);

/* The text holds the part. */
void assert_holds(const char *text, const char *part);
/* The last error's message holds the part. */
void assert_message(const char *part);

/* Uniform in [-1, 1). Set random_state to draw the same numbers again. */
extern uint64_t random_state;
double uniform(void);

/* A checked box of fe_mesh_box; three cells, three lengths (as [3], gcc 11 warns where they are literals). */
fe_mesh make_box(int kind, const int *cells, const double *length, double distort, uint64_t seed);
/* One of 1.5 × 2 × 0.7. */
fe_mesh small_box(int kind, int nx, int ny, int nz, double distort);
fe_quality quality_of(const fe_mesh *mesh);
/* Gives the nodes the tags first, first + stride, ... */
void tag_nodes(fe_mesh *mesh, int64_t first, int64_t stride);
/* Each number below n stands in order [n] once. */
void require_permutation(const int *order, int n);

enum { FOLDER_LENGTH = 256 };
/* Makes a new folder in TMPDIR (default: /tmp) and gives its path without links; removes one with all that is
 * in it. 0, or -1 on failure. */
int folder_make(char folder[FOLDER_LENGTH]);
int folder_remove(const char *folder);
/* Fixtures of a group of tests: test_folder is there while they run. */
extern char test_folder[FOLDER_LENGTH];
int folder_open(void **state);
int folder_close(void **state);
/* How many files and folders a folder holds. */
int folder_count(const char *folder);

void write_file(const char *path, const char *format, ...) __attribute__((format(printf, 2, 3)));
void write_bytes(const char *path, size_t n, const void *bytes);
/* A whole file, to be freed, with a 0 behind it. n: its length, or NULL. */
char *read_file(const char *path, size_t *n);
/* The first size - 1 bytes of a file at most, and a 0. */
void read_into(const char *path, size_t size, char *text);
/* Limits the size of files that this process writes, as a disk does that fills up in the middle of a file. */
void limit_files(rlim_t bytes);

/* What a shell command prints, to be freed, and its exit code, or minus the signal that ended it. */
char *read_command(int *code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same of a command that must succeed. */
char *read_success(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The folder of this build's programs: FE_BUILD, default build. */
const char *build_folder(void);
/* Skips the test where a program was not built. */
void skip_without(const char *program, const char *what);

#endif
