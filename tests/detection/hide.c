/* Hides files from the programs that load this library (LD_PRELOAD): a header from compilers, a command from
 * shells. What lies on the machine is not changed.
 *
 * FE_HIDE: ends of paths, separated by colons: "metis.h:/mpicc". A path that ends so does not exist.
 *
 * FE_HIDE_BY: a file that is opened instead of each of them, for a header that does not compile. Optional.
 *
 * FE_HIDE_NOT: a folder in which nothing is hidden.
 *
 * make itself sees everything, since it compares the times of headers of builds made before. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int ends_with(const char *path, size_t length, const char *end, size_t n)
{
    return n > 0 && length >= n && memcmp(path + length - n, end, n) == 0 &&
           (*end == '/' || length == n || path[length - n - 1] == '/');
}
static int hidden(const char *path)
{
    const char *end = getenv("FE_HIDE"), *folder = getenv("FE_HIDE_NOT");
    if (!end || !path || strcmp(program_invocation_short_name, "make") == 0) return 0;
    if (folder && *folder && strncmp(path, folder, strlen(folder)) == 0) return 0;
    for (const size_t length = strlen(path); *end;) {
        const size_t n = strcspn(end, ":");
        if (ends_with(path, length, end, n)) return 1;
        end += n + (end[n] == ':');
    }
    return 0;
}
/* Each function in front of the C library's own. */
#define OWN(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* The path to open: itself, another in its place if it exists, or NULL: it does not exist. */
static const char *shown(const char *path)
{
    if (!hidden(path)) return path;
    const char *other = getenv("FE_HIDE_BY");
    if (other && *other) return OWN(access)(path, F_OK) == 0 ? other : path;
    errno = ENOENT;
    return NULL;
}
#define OPEN(name, BEFORE, GIVEN)                                                                            \
    int name(BEFORE const char *path, int flags, ...)                                                        \
    {                                                                                                        \
        va_list rest;                                                                                        \
        va_start(rest, flags);                                                                               \
        const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;                        \
        va_end(rest);                                                                                        \
        return (path = shown(path)) ? OWN(name)(GIVEN path, flags, mode) : -1;                               \
    }
#define COMMA ,
OPEN(open, , )
OPEN(open64, , )
OPEN(openat, int folder COMMA, folder COMMA)
OPEN(openat64, int folder COMMA, folder COMMA)

#define FOPEN(name)                                                                                          \
    FILE *name(const char *path, const char *mode)                                                           \
    {                                                                                                        \
        return (path = shown(path)) ? OWN(name)(path, mode) : NULL;                                          \
    }
FOPEN(fopen)
FOPEN(fopen64)

#define LOOK(name, TAKES, ...)                                                                               \
    int name TAKES { return shown(path) ? OWN(name)(__VA_ARGS__) : -1; }
LOOK(stat, (const char *path, struct stat *s), path, s)
LOOK(lstat, (const char *path, struct stat *s), path, s)
LOOK(stat64, (const char *path, struct stat64 *s), path, s)
LOOK(lstat64, (const char *path, struct stat64 *s), path, s)
LOOK(fstatat, (int folder, const char *path, struct stat *s, int flags), folder, path, s, flags)
LOOK(fstatat64, (int folder, const char *path, struct stat64 *s, int flags), folder, path, s, flags)
LOOK(access, (const char *path, int mode), path, mode)
LOOK(faccessat, (int folder, const char *path, int mode, int flags), folder, path, mode, flags)
LOOK(execve, (const char *path, char *const *arguments, char *const *environment), path, arguments,
     environment)
