/* Locks of outputs; see lock.h. */
#include "common/base/lock.h"
#include "common/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* 1: it is ours; 0: there are no locks here; -1: another run has it. */
static int take(int file, const char *path)
{
    while (flock(file, LOCK_EX | LOCK_NB)) {
        if (errno == EINTR) continue;
        if (errno == EWOULDBLOCK) return -1;
        fe_note("%s: locks do not work here (%s): another run that writes it would not be noticed", path,
                strerror(errno));
        return 0;
    }
    return 1;
}

fe_status fe_lock_file(int file, const char *path)
{
    struct stat info;
    if (fstat(file, &info) || !S_ISREG(info.st_mode) || take(file, path) >= 0) return FE_OK;
    return fe_fail(FE_BAD_INPUT, "%s: another run is writing it", path);
}

/* Who writes: "process PID of HOST". */
static void sign(int file)
{
    char host[256] = "", text[320];
    gethostname(host, sizeof host - 1);
    const int n = snprintf(text, sizeof text, "process %ld of %s\n", (long)getpid(), host);
    if (ftruncate(file, 0) || pwrite(file, text, (size_t)n, 0) < n)
        return; /* it only helps to find the run */
}

static fe_status refuse(int file, const char *path)
{
    char who[320];
    const ssize_t n = pread(file, who, sizeof who - 1, 0);
    who[n > 0 ? n : 0] = 0;
    who[strcspn(who, "\n")] = 0;
    return fe_fail(FE_BAD_INPUT, "%s: another run is writing it%s%s%s", path, *who ? " (" : "", who,
                   *who ? ")" : "");
}

/* Whether the file still has the name: a run removes its lock at its end. */
static int is_named(int file, const char *name)
{
    struct stat own, there;
    return !fstat(file, &own) && !stat(name, &there) && own.st_ino == there.st_ino &&
           own.st_dev == there.st_dev;
}

/* Another's file is not taken for the lock of a run that was killed, whose text may be missing. */
static fe_status check(int file, const char *name)
{
    static const char start[] = "process ";
    char text[sizeof start] = "";
    struct stat own;
    if (!fstat(file, &own) && S_ISREG(own.st_mode) &&
        (own.st_size == 0 ||
         (own.st_size < 320 && pread(file, text, sizeof start - 1, 0) > 0 && !strcmp(text, start))))
        return FE_OK;
    return fe_fail(FE_BAD_INPUT,
                   "%s: is not the lock of a run, which has this name; move it, or write elsewhere", name);
}

/* Opens and locks the file l->path; l->file stays -1 where there are no locks or no such file can be. */
static fe_status take_named(fe_lock *l, const char *path)
{
    while (1) {
        l->file = open(l->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, 0666);
        if (l->file < 0 && errno == ELOOP)
            return fe_fail(FE_BAD_INPUT, "%s: is a link, and no lock of a run; remove it, or write elsewhere",
                           l->path);
        if (l->file < 0) return FE_OK; /* what is written says why it cannot be */
        fe_status status = check(l->file, l->path);
        const int taken = status == FE_OK ? take(l->file, path) : -1;
        if (taken > 0 && is_named(l->file, l->path)) return FE_OK;
        if (status == FE_OK && taken < 0) status = refuse(l->file, path);
        if (taken == 0) unlink(l->path);
        close(l->file);
        l->file = -1;
        if (taken <= 0) return status;
    }
}

fe_status fe_lock_open(fe_lock *l, const char *path)
{
    char *real;
    int in_place;
    *l = (fe_lock){.file = -1};
    FE_TRY(fe_file_resolve(path, &real, &in_place));
    if (!in_place && asprintf(&l->path, "%s.lock", real) < 0) l->path = NULL;
    free(real);
    if (in_place) return FE_OK;
    if (!l->path) return fe_fail(FE_OUT_OF_MEMORY, "%s: no host memory for a path", path);
    const fe_status status = take_named(l, path);
    if (l->file >= 0) {
        sign(l->file);
    } else {
        free(l->path);
        l->path = NULL;
    }
    return status;
}

void fe_lock_close(fe_lock *l)
{
    if (!l->path) return;
    if (is_named(l->file, l->path)) unlink(l->path); /* before others may have it */
    close(l->file);
    free(l->path);
    *l = (fe_lock){0};
}
