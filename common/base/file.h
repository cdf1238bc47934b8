/* Output files that hold either the old text or the whole new one: written under another name, flushed to the
 * disk, then renamed. Devices and pipes (/dev/stdout) are written in place. */
#ifndef FE_FILE_H
#define FE_FILE_H

#include "common/base/fe.h"
#include <stdio.h>

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

#endif
