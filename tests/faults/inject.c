/* A library to be loaded before all others (LD_PRELOAD): one call of a kind fails, as FE_FAULT says. A
 * program with the address sanitizer bears it by ASAN_OPTIONS=verify_asan_link_order=0; its operator new
 * never fails.
 *
 *   FE_FAULT=KIND:N   the N-th call fails, counted from 1; 0: none
 *
 * Calls before main do not count: libraries set themselves up then, and CUDA's runtime crashes without
 * memory. Nor do allocations of LLVM's OpenMP, which ends the program without memory. Kinds: memory (malloc
 * and its relatives), write (also fwrite, fflush and fclose of streams), sync, rename, lock, read (half of
 * what was asked for, which is allowed to happen). FE_FAULT_COUNT=FILE: there the number of calls is written
 * when the program ends. FE_FAULT_OWN=1: of memory, calls of the program itself alone, and of no library:
 * those of NVIDIA's make 100 000 where a GPU is there. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *kind = "";
static long wanted, seen;
static int begun, own_alone;
static __thread int spared; /* this thread's calls are not counted */
static int (*program)(int, char **, char **);

__attribute__((constructor)) static void begin(void)
{
    const char *text = getenv("FE_FAULT");
    const char *colon = text ? strchr(text, ':') : NULL;
    if (!colon) return;
    wanted = strtol(colon + 1, NULL, 10);
    kind = text;
    own_alone = getenv("FE_FAULT_OWN") != NULL;
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("FE_FAULT_COUNT");
    if (!path) return;
    char text[32];
    const int n = snprintf(text, sizeof text, "%ld\n", seen);
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    kind = "";
    if (file >= 0 && write(file, text, (size_t)n) == n) close(file);
}

/* Whether this call is the one. */
static int fails(const char *what)
{
    const size_t n = strlen(what);
    if (!begun || spared || strncmp(kind, what, n) || kind[n] != ':') return 0;
    return __atomic_add_fetch(&seen, 1, __ATOMIC_RELAXED) == wanted;
}

/* Whether the memory that is asked for counts: not LLVM's OpenMP's, and the program's own where that alone
 * does. */
static int counts(const void *caller)
{
    Dl_info of, own;
    if (!begun || !dladdr(caller, &of)) return 1;
    if (own_alone && dladdr((const void *)(uintptr_t)program, &own) && of.dli_fbase != own.dli_fbase)
        return 0;
    return !of.dli_fname || !strstr(of.dli_fname, "/libomp");
}
#define MEMORY_FAILS() (counts(__builtin_return_address(0)) && fails("memory"))

#define REAL(result, name, ...)                                                                              \
    static result (*real)(__VA_ARGS__);                                                                      \
    if (!real) real = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

static void *out_of_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

/* The next library's: glibc's, or the address sanitizer's where a program has that. */
void *malloc(size_t n)
{
    REAL(void *, malloc, size_t);
    return MEMORY_FAILS() ? out_of_memory() : real(n);
}
void *calloc(size_t n, size_t size)
{
    REAL(void *, calloc, size_t, size_t);
    return MEMORY_FAILS() ? out_of_memory() : real(n, size);
}
void *realloc(void *p, size_t n)
{
    REAL(void *, realloc, void *, size_t);
    return MEMORY_FAILS() ? out_of_memory() : real(p, n);
}
void *aligned_alloc(size_t a, size_t n)
{
    REAL(void *, aligned_alloc, size_t, size_t);
    return MEMORY_FAILS() ? out_of_memory() : real(a, n);
}
int posix_memalign(void **p, size_t a, size_t n)
{
    REAL(int, posix_memalign, void **, size_t, size_t);
    return MEMORY_FAILS() ? ENOMEM : real(p, a, n);
}
/* The sanitizer's would not call malloc. */
char *strdup(const char *text)
{
    const size_t n = strlen(text) + 1;
    char *copy = malloc(n);
    return copy ? memcpy(copy, text, n) : NULL;
}

ssize_t write(int file, const void *bytes, size_t n)
{
    REAL(ssize_t, write, int, const void *, size_t);
    if (file > 2 && fails("write")) return errno = ENOSPC, -1;
    return real(file, bytes, n);
}

ssize_t pwrite(int file, const void *bytes, size_t n, off_t at)
{
    REAL(ssize_t, pwrite, int, const void *, size_t, off_t);
    if (fails("write")) return errno = ENOSPC, -1;
    return real(file, bytes, n, at);
}

int flock(int file, int operation)
{
    REAL(int, flock, int, int);
    if (fails("lock")) return errno = ENOLCK, -1;
    return real(file, operation);
}

/* The address sanitizer asks for this when a thread begins, and cannot go on without an answer. */
int pthread_getattr_np(pthread_t thread, pthread_attr_t *attributes)
{
    REAL(int, pthread_getattr_np, pthread_t, pthread_attr_t *);
    spared = 1;
    const int code = real(thread, attributes);
    spared = 0;
    return code;
}

/* Streams: glibc's own call of write is not seen here. */
static int stream_fails(FILE *stream)
{
    if (!stream || fileno(stream) <= 2 || !fails("write")) return 0;
    stream->_flags |= 0x20; /* what ferror looks at */
    errno = ENOSPC;
    return 1;
}
size_t fwrite(const void *bytes, size_t size, size_t n, FILE *stream)
{
    REAL(size_t, fwrite, const void *, size_t, size_t, FILE *);
    return stream_fails(stream) ? 0 : real(bytes, size, n, stream);
}
int fflush(FILE *stream)
{
    REAL(int, fflush, FILE *);
    return stream_fails(stream) ? EOF : real(stream);
}
int fclose(FILE *stream)
{
    REAL(int, fclose, FILE *);
    const int failed = stream_fails(stream), code = real(stream);
    if (failed) errno = ENOSPC;
    return failed ? EOF : code;
}

ssize_t read(int file, void *bytes, size_t n)
{
    REAL(ssize_t, read, int, void *, size_t);
    return real(file, bytes, n > 1 && fails("read") ? n / 2 : n);
}
/* Fortified builds call this one. */
ssize_t __read_chk(int file, void *bytes, size_t n, size_t room)
{
    if (n > room) abort();
    return read(file, bytes, n);
}

int fsync(int file)
{
    REAL(int, fsync, int);
    return fails("sync") ? (errno = EIO, -1) : real(file);
}

int rename(const char *from, const char *to)
{
    REAL(int, rename, const char *, const char *);
    return fails("rename") ? (errno = EIO, -1) : real(from, to);
}

int renameat2(int a, const char *from, int b, const char *to, unsigned flags)
{
    REAL(int, renameat2, int, const char *, int, const char *, unsigned);
    return fails("rename") ? (errno = EIO, -1) : real(a, from, b, to, flags);
}

static int begin_main(int argc, char **argv, char **environment)
{
    begun = 1;
    return program(argc, argv, environment);
}

/* glibc calls the program's main through this. */
int __libc_start_main(int (*start)(int, char **, char **), int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end)
{
    REAL(int, __libc_start_main, int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void),
         void (*)(void), void *);
    program = start;
    return real(begin_main, argc, argv, init, fini, rtld_fini, stack_end);
}
