/* Input files as a whole, and output files that are either the old text or the new one, never half of it:
 * written under another name, flushed to the disk, then renamed. Devices and pipes (/dev/stdout) are written
 * in place. */
#ifndef FE_FILE_H
#define FE_FILE_H

#include "common/base/fe.h"
#include <stdio.h>

/* The bytes of a regular file and a 0 behind them, to be freed. FE_BAD_INPUT where there is none or it is
 * something else: a folder, a pipe that nobody may ever write to, a device without an end. */
fe_status fe_file_read(const char *path, char **text, size_t *n);

/* Where the text of a file's n bytes starts: behind a UTF-8 byte order mark, which some editors write.
 * FE_BAD_INPUT names the mark of UTF-16 or UTF-32. */
fe_status fe_file_text(const char *path, const char *bytes, size_t n, const char **start);

/* The place of a file that may not be there yet: the path from the root, symbolic links of its folders
 * followed as far as there are folders. To be freed; NULL: no host memory. */
char *fe_file_place(const char *path);

/* Whether two names lead to the same file, or would once it is there. */
int fe_file_same(const char *a, const char *b);

typedef struct fe_file {
    FILE *stream;
    char *path;      /* the final name, symbolic links followed */
    char *temporary; /* the name during writing; NULL: written in place */
} fe_file;

/* Opens `path` for writing. FE_BAD_INPUT names a path that cannot be written, FE_FAILED a full disk. */
fe_status fe_file_open(fe_file *f, const char *path);

/* Flushes, checks every write since fe_file_open, renames and closes. On FE_FAILED (disk full: path and
 * reason) the old file stays as it was. */
fe_status fe_file_commit(fe_file *f);

/* Closes, and removes what was not committed; accepts a zeroed object. */
void fe_file_close(fe_file *f);

/* What fe_file_open does, in parts. The path behind symbolic links; whether it is written in place; the
 * temporary name beside it, which is also removed where a library ends this process; the status and message
 * for an errno. */
fe_status fe_file_resolve(const char *path, char **real, int *in_place);
fe_status fe_file_temporary(const char *real, char **temporary);
void fe_file_forget(char *temporary); /* removes the file and frees the name; NULL is accepted */
fe_status fe_file_refuse(const char *path, int reason);

/* Removes temporary files of processes that are gone, for all outputs whose path starts with `prefix`. */
void fe_file_sweep(const char *prefix);

#endif
