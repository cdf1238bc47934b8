/* Input files in one piece; output files that appear whole: temporary name, fsync, rename. */
#include "common/base/file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- input ------------------------------------------------------------------------------------------- */

static fe_status read_error(const char *path, int reason)
{
    const fe_status status = reason == ENOMEM                                        ? FE_OUT_OF_MEMORY
                             : reason == EIO || reason == EMFILE || reason == ENFILE ? FE_FAILED
                                                                                     : FE_BAD_INPUT;
    return fe_fail(status, "%s: %s", path, strerror(reason));
}

static fe_status read_all(int file, const char *path, char **text, size_t *n)
{
    struct stat info;
    if (fstat(file, &info)) return read_error(path, errno);
    if (S_ISDIR(info.st_mode)) return read_error(path, EISDIR);
    if (!S_ISREG(info.st_mode)) return fe_fail(FE_BAD_INPUT, "%s: not a regular file", path);
    const size_t size = (size_t)info.st_size;
    char *bytes = malloc(size + 1);
    if (!bytes) return fe_fail(FE_OUT_OF_MEMORY, "%s: no host memory for %zu bytes", path, size);
    size_t got = 0;
    while (got < size) {
        const ssize_t some = read(file, bytes + got, size - got);
        if (some < 0 && errno == EINTR) continue;
        if (some > 0) {
            got += (size_t)some;
            continue;
        }
        const int reason = errno;
        free(bytes);
        return some < 0 ? read_error(path, reason)
                        : fe_fail(FE_BAD_INPUT, "%s: only %zu of %zu bytes could be read", path, got, size);
    }
    bytes[size] = 0;
    *text = bytes;
    *n = size;
    return FE_OK;
}

fe_status fe_file_read(const char *path, char **text, size_t *n)
{
    *text = NULL;
    *n = 0;
    /* Without O_NONBLOCK the open of a pipe waits for a writer. */
    const int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return read_error(path, errno);
    const fe_status status = read_all(file, path, text, n);
    close(file);
    return status;
}

fe_status fe_file_text(const char *path, const char *bytes, size_t n, const char **start)
{
    static const struct {
        const char *name, *mark;
        size_t n;
    } other[] = {{"UTF-32", "\xff\xfe\0\0", 4},
                 {"UTF-32", "\0\0\xfe\xff", 4},
                 {"UTF-16", "\xff\xfe", 2},
                 {"UTF-16", "\xfe\xff", 2}};
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (n >= other[i].n && !memcmp(bytes, other[i].mark, other[i].n))
            return fe_fail(FE_BAD_INPUT, "%s: begins with the byte order mark of %s; save it as UTF-8", path,
                           other[i].name);
    *start = bytes + (n >= 3 && !memcmp(bytes, "\xef\xbb\xbf", 3) ? 3 : 0);
    return FE_OK;
}

/* The parts of a path behind a folder; those that are empty or "." lead nowhere. */
static char *behind(char *folder, char *parts)
{
    char *rest = NULL;
    for (char *part = strtok_r(parts, "/", &rest); folder && part; part = strtok_r(NULL, "/", &rest)) {
        char *longer = NULL;
        if (!strcmp(part, ".")) continue;
        if (asprintf(&longer, "%s/%s", strcmp(folder, "/") ? folder : "", part) < 0) longer = NULL;
        free(folder);
        folder = longer;
    }
    return folder;
}

char *fe_file_place(const char *path)
{
    char *copy = NULL, *folder = NULL;
    if (asprintf(&copy, "%s%s", *path == '/' ? "" : "./", path) < 0) return NULL;
    for (char *end = strrchr(copy, '/'); end; end = memrchr(copy, '/', (size_t)(end - copy))) {
        char *parts = strdup(end + 1), kept = *(end + 1);
        if (!parts) break;
        end[1] = 0; /* the folder, and its slash */
        folder = realpath(copy, NULL);
        end[1] = kept;
        if (folder) {
            folder = behind(folder, parts);
            free(parts);
            break;
        }
        free(parts);
        if (errno == ENOMEM) break;
    }
    if (!folder && errno != ENOMEM) return copy; /* this process's folder is gone */
    free(copy);
    return folder;
}

int fe_file_same(const char *a, const char *b)
{
    struct stat s, t;
    const int there = stat(a, &s) == 0, other = stat(b, &t) == 0;
    if (there && other) return s.st_dev == t.st_dev && s.st_ino == t.st_ino;
    if (there || other) return 0;
    char *place = fe_file_place(a), *other_place = fe_file_place(b);
    const int same = place && other_place && !strcmp(place, other_place);
    free(place), free(other_place);
    return same;
}

/* --- temporary files --------------------------------------------------------------------------------- */

/* Names whose files are removed where a library calls exit: libgomp does when memory runs out. */
enum { MOST_TEMPORARIES = 16 };
static char *temporaries[MOST_TEMPORARIES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void replace(char *old, char *new)
{
    pthread_mutex_lock(&lock);
    int i = 0;
    while (i < MOST_TEMPORARIES && temporaries[i] != old) i++;
    if (i < MOST_TEMPORARIES) temporaries[i] = new;
    pthread_mutex_unlock(&lock);
}

static void remove_temporaries(void)
{
    for (int i = 0; i < MOST_TEMPORARIES; i++)
        if (temporaries[i]) unlink(temporaries[i]);
}

static void call_at_exit(void) { atexit(remove_temporaries); }

fe_status fe_file_temporary(const char *real, char **temporary)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (asprintf(temporary, "%s.%ld.tmp", real, (long)getpid()) < 0) {
        *temporary = NULL;
        return fe_fail(FE_OUT_OF_MEMORY, "%s: no host memory for a path", real);
    }
    pthread_once(&once, call_at_exit);
    replace(NULL, *temporary);
    return FE_OK;
}

void fe_file_forget(char *temporary)
{
    if (!temporary) return;
    if (*temporary) unlink(temporary);
    replace(temporary, NULL);
    free(temporary);
}

/* Whether no process has this number, or one that has ended and that its parent has not waited for: the first
 * process of a container, which inherits those of killed launchers, may do so late or never. */
static int has_ended(pid_t pid)
{
    char path[64], text[256];
    if (kill(pid, 0)) return errno == ESRCH;
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid); /* PID (NAME) STATE ... */
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0) close(file);
    text[n > 0 ? n : 0] = 0;
    const char *name_end = strrchr(text, ')');
    return name_end && strlen(name_end) > 2 && strchr("ZX", name_end[2]);
}

/* Whether a name is PREFIX*.PID.tmp of a process of this machine that is gone. */
static int is_stale(const char *name, const char *prefix)
{
    const size_t n = strlen(name);
    if (strncmp(name, prefix, strlen(prefix)) || n < 6 || strcmp(name + n - 4, ".tmp")) return 0;
    const char *digits = name + n - 4;
    while (digits > name && isdigit((unsigned char)digits[-1])) digits--;
    if (digits == name + n - 4 || digits == name || digits[-1] != '.') return 0;
    errno = 0;
    const long pid = strtol(digits, NULL, 10);
    return !errno && pid > 0 && pid == (pid_t)pid && has_ended((pid_t)pid);
}

/* A process of another machine or container cannot be seen, but it locks what it writes. */
static void remove_unless_locked(int folder, const char *name)
{
    const int file = openat(folder, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return;
    struct stat info;
    if (!fstat(file, &info) && S_ISREG(info.st_mode) && !flock(file, LOCK_EX | LOCK_NB))
        unlinkat(folder, name, 0);
    close(file);
}

void fe_file_sweep(const char *prefix)
{
    const char *slash = strrchr(prefix, '/'), *base = slash ? slash + 1 : prefix;
    char *folder = slash ? strndup(prefix, (size_t)(slash - prefix) + 1) : strdup(".");
    DIR *entries = folder ? opendir(folder) : NULL;
    for (struct dirent *entry; entries && (entry = readdir(entries));)
        if (is_stale(entry->d_name, base)) remove_unless_locked(dirfd(entries), entry->d_name);
    if (entries) closedir(entries);
    free(folder);
}

/* --- output ------------------------------------------------------------------------------------------ */

fe_status fe_file_refuse(const char *path, int reason)
{
    const fe_status status = reason == ENOMEM ? FE_OUT_OF_MEMORY
                             : reason == ENOSPC || reason == EDQUOT || reason == EIO || reason == EMFILE ||
                                     reason == ENFILE || reason == EFBIG
                                 ? FE_FAILED
                                 : FE_BAD_INPUT;
    return fe_fail(status, "%s: cannot be written: %s", path, strerror(reason));
}

fe_status fe_file_resolve(const char *path, char **real, int *in_place)
{
    *in_place = 0;
    errno = 0;
    *real = realpath(path, NULL);
    if (!*real && errno != ENOENT) return fe_file_refuse(path, errno);
    if (!*real) *real = strdup(path); /* there is no such file yet */
    if (!*real) return fe_fail(FE_OUT_OF_MEMORY, "%s: no host memory for a path", path);
    struct stat status;
    *in_place = stat(*real, &status) == 0 && !S_ISREG(status.st_mode);
    return FE_OK;
}

fe_status fe_file_open(fe_file *f, const char *path)
{
    int in_place;
    *f = (fe_file){0};
    FE_TRY(fe_file_resolve(path, &f->path, &in_place));
    const fe_status status = in_place ? FE_OK : fe_file_temporary(f->path, &f->temporary);
    if (status == FE_OK) f->stream = fopen(in_place ? f->path : f->temporary, "wb");
    if (f->stream && !in_place) flock(fileno(f->stream), LOCK_EX | LOCK_NB);
    if (f->stream) return FE_OK;
    const int reason = errno;
    fe_file_close(f);
    return status != FE_OK ? status : fe_file_refuse(path, reason);
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
    fe_file_forget(f->temporary);
    free(f->path);
    *f = (fe_file){0};
}
