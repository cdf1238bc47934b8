/* Files that grow, by two copies that exchange their names; see growing.h. */
#include "common/base/growing.h"
#include "common/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

fe_status fe_growing_open(fe_growing *g, const char *path)
{
    int in_place;
    *g = (fe_growing){.named.file = -1, .spare.file = -1};
    FE_TRY(fe_file_resolve(path, &g->path, &in_place));
    g->name = strdup(path);
    if (!g->name) return fe_fail(FE_OUT_OF_MEMORY, "%s: no host memory for a path", path);
    if (in_place) return FE_OK;
    fe_file_sweep(g->path);
    return fe_file_temporary(g->path, &g->temporary);
}

static fe_status add(fe_growing *g, size_t n, const char *text)
{
    if (n > g->capacity - g->n_body) {
        const size_t least = g->n_body + n, capacity = least > 2 * g->capacity ? least : 2 * g->capacity;
        char *body = realloc(g->body, capacity);
        if (!body) return fe_fail(FE_OUT_OF_MEMORY, "%s: no host memory for %zu bytes", g->name, capacity);
        g->body = body, g->capacity = capacity;
    }
    memcpy(g->body + g->n_body, text, n);
    g->n_body += n;
    return FE_OK;
}

fe_status fe_growing_resume(fe_growing *g, size_t n, const char *body) { return add(g, n, body); }

/* 0, or the errno. */
static int write_at(int file, size_t n, const char *text, off_t at)
{
    while (n) {
        const ssize_t some = pwrite(file, text, n, at);
        if (some < 0 && errno == EINTR) continue;
        if (some < 0) return errno;
        if (some == 0) return ENOSPC;
        text += some, at += some, n -= (size_t)some;
    }
    return 0;
}

/* A write lease is granted only where nobody else has the file open. SIGURG, which does nothing, would tell
 * that somebody opens it before the lease is given back. */
static int is_ours_alone(int file, const char *name)
{
    struct stat own, there;
    if (fstat(file, &own) || stat(name, &there) || own.st_nlink != 1 || own.st_ino != there.st_ino ||
        own.st_dev != there.st_dev)
        return 0;
    if (fcntl(file, F_SETSIG, SIGURG) || fcntl(file, F_SETLEASE, F_WRLCK)) return 0;
    return fcntl(file, F_SETLEASE, F_UNLCK) == 0;
}

/* The spare copy, ready to be written: a new one at first, and where somebody still reads the old one. */
static int ready_spare(fe_growing *g)
{
    if (g->spare.file >= 0 && is_ours_alone(g->spare.file, g->temporary)) return 0;
    if (g->spare.file >= 0) close(g->spare.file);
    g->spare.file = -1, g->spare.body = 0;
    if (unlink(g->temporary) && errno != ENOENT) return errno;
    g->spare.file = open(g->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (g->spare.file < 0) return errno;
    flock(g->spare.file, LOCK_EX | LOCK_NB); /* for fe_file_sweep */
    return 0;
}

fe_status fe_growing_probe(fe_growing *g)
{
    const int reason = g->temporary ? ready_spare(g) : 0;
    return reason ? fe_file_refuse(g->name, reason) : FE_OK;
}

/* The spare copy gets the name, and the one that had it becomes the spare. Where names cannot be exchanged it
 * is given up: the next version is written as a whole. */
static int exchange(fe_growing *g)
{
    const int exchanged =
        g->named.file >= 0 && renameat2(AT_FDCWD, g->temporary, AT_FDCWD, g->path, RENAME_EXCHANGE) == 0;
    if (!exchanged && rename(g->temporary, g->path)) return errno;
    if (!exchanged && g->named.file >= 0) close(g->named.file), g->named.file = -1;
    const int file = g->named.file;
    const size_t body = g->named.body;
    g->named = g->spare;
    g->spare.file = file, g->spare.body = body;
    return 0;
}

static int write_spare(fe_growing *g, size_t n, const char *end)
{
    const size_t held = g->spare.body;
    int reason = write_at(g->spare.file, g->n_body - held, g->body + held, (off_t)held);
    if (!reason) reason = write_at(g->spare.file, n, end, (off_t)g->n_body);
    if (!reason && ftruncate(g->spare.file, (off_t)(g->n_body + n))) reason = errno;
    if (!reason && fsync(g->spare.file)) reason = errno;
    if (!reason) g->spare.body = g->n_body;
    return reason;
}

static int write_in_place(fe_growing *g, size_t n, const char *end)
{
    FILE *stream = fopen(g->path, "wb");
    if (!stream) return errno;
    int reason =
        fwrite(g->body, 1, g->n_body, stream) < g->n_body || fwrite(end, 1, n, stream) < n || fflush(stream)
            ? errno
            : 0;
    if (fclose(stream) && !reason) reason = errno;
    return reason;
}

fe_status fe_growing_write(fe_growing *g, size_t n_more, const char *more, size_t n_end, const char *end)
{
    int reason = 0;
    FE_TRY(add(g, n_more, more));
    if (!g->temporary) {
        reason = write_in_place(g, n_end, end);
    } else {
        reason = ready_spare(g);
        if (!reason) reason = write_spare(g, n_end, end);
        if (!reason) reason = exchange(g);
    }
    if (!reason) return FE_OK;
    g->n_body -= n_more;
    if (g->spare.body > g->n_body) g->spare.body = g->n_body;
    return fe_file_refuse(g->name, reason);
}

void fe_growing_close(fe_growing *g)
{
    if (!g->path) return;
    if (g->named.file >= 0) close(g->named.file);
    if (g->spare.file >= 0) close(g->spare.file);
    if (g->temporary) fe_file_forget(g->temporary);
    free(g->name);
    free(g->path);
    free(g->body);
    *g = (fe_growing){0};
}
