/* Output files that appear whole: temporary name, fsync, rename. */
#include "common/base/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

fe_status fe_file_open(fe_file *f, const char *path)
{
    *f = (fe_file){0};
    char *real = realpath(path, NULL); /* NULL where there is no such file yet */
    f->path = real ? real : strdup(path);
    if (!f->path) return fe_fail(FE_OUT_OF_MEMORY, "%s: no host memory for a path", path);
    struct stat status;
    const int in_place = stat(f->path, &status) == 0 && !S_ISREG(status.st_mode);
    if (!in_place && asprintf(&f->temporary, "%s.%ld.tmp", f->path, (long)getpid()) < 0) {
        f->temporary = NULL;
        fe_file_close(f);
        return fe_fail(FE_OUT_OF_MEMORY, "%s: no host memory for a path", path);
    }
    f->stream = fopen(in_place ? f->path : f->temporary, "wb");
    if (f->stream) return FE_OK;
    const int reason = errno;
    fe_file_close(f);
    const int machine =
        reason == ENOSPC || reason == EDQUOT || reason == EIO || reason == EMFILE || reason == ENFILE;
    return fe_fail(machine ? FE_FAILED : FE_BAD_INPUT, "%s: cannot be written: %s", path, strerror(reason));
}

fe_status fe_file_commit(fe_file *f)
{
    /* The errno of an earlier write error is lost; the most likely one is assumed. */
    int reason = ferror(f->stream) ? (errno ? errno : ENOSPC) : 0;
    if (!reason && fflush(f->stream)) reason = errno;
    if (!reason && f->temporary && fsync(fileno(f->stream))) reason = errno;
    if (fclose(f->stream) && !reason) reason = errno;
    f->stream = NULL;
    if (!reason && f->temporary) {
        if (rename(f->temporary, f->path))
            reason = errno;
        else
            f->temporary[0] = 0; /* renamed: fe_file_close has nothing to remove */
    }
    const fe_status status =
        reason ? fe_fail(FE_FAILED, "%s: cannot be written: %s", f->path, strerror(reason)) : FE_OK;
    fe_file_close(f);
    return status;
}

void fe_file_close(fe_file *f)
{
    if (f->stream) fclose(f->stream);
    if (f->temporary && f->temporary[0]) unlink(f->temporary);
    free(f->temporary);
    free(f->path);
    *f = (fe_file){0};
}
