/* What the fuzzers share. A target takes any bytes and aborts where something is wrong with what became of
 * them; each is a program of libFuzzer (make fuzz), and test_fuzz.c runs all over the files in corpus/. */
#ifndef TARGET_H
#define TARGET_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Any compiler's release build keeps it. */
#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (condition) break;                                                                                \
        fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                      \
        abort();                                                                                             \
    } while (0)

/* A mesh file: what is accepted is a sound mesh, and the same after it was written and read. */
void fuzz_mesh(const uint8_t *bytes, size_t n);
/* A problem file: expressions are evaluated on a small mesh. */
void fuzz_problem(const uint8_t *bytes, size_t n);
/* The words of a command line of `solve`, one a line. */
void fuzz_command(const uint8_t *bytes, size_t n);
/* Numbers and names for the writers of results and VTU: what they write is read back. */
void fuzz_writer(const uint8_t *bytes, size_t n);

/* A folder of this process for files; removed when the process ends. */
const char *fuzz_folder(void);
/* Path of a file in it, in a buffer of its own for each of the names of one call site. */
void fuzz_path(const char *name, char path[256]);
/* Replaces a file. */
void fuzz_write(const char *path, size_t n, const void *bytes);
/* A whole file and a 0, to be freed. */
char *fuzz_read(const char *path, size_t *n);

/* What is allocated between the two calls, at its most, is at most 20 times a file of n bytes and 17/16 MiB:
 * no small file takes all memory. Counted where the address sanitizer is built in, whose hooks tell of
 * allocations. When the process ends it says how near files came to this (MEMORY in the environment asks for
 * it). */
void fuzz_memory_begin(void);
void fuzz_memory_end(size_t n);

/* One line, no control characters: what a refusal has to say. */
void fuzz_check_message(void);

#endif
