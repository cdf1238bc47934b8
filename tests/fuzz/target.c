/* Files of the fuzzers; see target.h. */
#include "tests/fuzz/target.h"
#include "common/base/fe.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[128];
static pid_t owner;

static void remove_folder(void)
{
    char command[256];
    if (getpid() != owner) return;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command)) fprintf(stderr, "%s stays\n", folder);
}

const char *fuzz_folder(void)
{
    if (owner == getpid()) return folder;
    const char *memory = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
    snprintf(folder, sizeof folder, "%s/febench-fuzz-XXXXXX", memory);
    CHECK(mkdtemp(folder));
    owner = getpid();
    atexit(remove_folder);
    return folder;
}

void fuzz_path(const char *name, char path[256]) { snprintf(path, 256, "%s/%s", fuzz_folder(), name); }

void fuzz_write(const char *path, size_t n, const void *bytes)
{
    FILE *file = fopen(path, "wb");
    CHECK(file);
    CHECK(fwrite(bytes, 1, n, file) == n);
    CHECK(fclose(file) == 0);
}

char *fuzz_read(const char *path, size_t *n)
{
    struct stat info;
    FILE *file = fopen(path, "rb");
    CHECK(file && fstat(fileno(file), &info) == 0);
    char *text = malloc((size_t)info.st_size + 1);
    CHECK(text);
    *n = fread(text, 1, (size_t)info.st_size, file);
    text[*n] = 0;
    fclose(file);
    return text;
}

/* The address sanitizer's, where it is built in. */
extern int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void *, size_t),
                                                     void (*)(const volatile void *)) __attribute__((weak));
extern size_t __sanitizer_get_allocated_size(const volatile void *) __attribute__((weak));

static long held, most_held;

static void note_malloc(const volatile void *p, size_t n)
{
    (void)p;
    const long now = __atomic_add_fetch(&held, (long)n, __ATOMIC_RELAXED);
    if (now > most_held) most_held = now; /* a target has one thread */
}
static void note_free(const volatile void *p)
{
    if (p) __atomic_sub_fetch(&held, (long)__sanitizer_get_allocated_size(p), __ATOMIC_RELAXED);
}

/* The buffer that files are read through is 1 MiB; tables begin with a few entries each. */
enum { FIXED = (1 << 20) + (1 << 16), PER_BYTE = 20, LARGE = 4096 };
static struct {
    long most, of;   /* most bytes for a file, and that file's size */
    double per_byte; /* most for a byte of a file of at least LARGE bytes */
} memory;

static void say_memory(void)
{
    if (getpid() == owner)
        fprintf(stderr,
                "memory: at most %ld bytes, for a file of %ld; "
                "at most %.1f above %d for a byte of a file of %d or more\n",
                memory.most, memory.of, memory.per_byte, FIXED, LARGE);
}

void fuzz_memory_begin(void)
{
    static int begun;
    if (!__sanitizer_install_malloc_and_free_hooks) return;
    if (!begun) {
        begun = 1;
        CHECK(__sanitizer_install_malloc_and_free_hooks(note_malloc, note_free));
        char *volatile probe = malloc(FIXED);
        free(probe);
        CHECK(most_held >= FIXED && held < FIXED); /* it counts, both ways */
        fuzz_folder();
        if (getenv("MEMORY")) atexit(say_memory);
    }
    held = most_held = 0;
}

void fuzz_memory_end(size_t n)
{
    if (!__sanitizer_install_malloc_and_free_hooks) return;
    const long most = most_held, allowed = FIXED + PER_BYTE * (long)n;
    if (most > memory.most) memory.most = most, memory.of = (long)n;
    if (n >= LARGE && (double)(most - FIXED) / (double)n > memory.per_byte)
        memory.per_byte = (double)(most - FIXED) / (double)n;
    if (most > allowed) fprintf(stderr, "%ld bytes for a file of %zu\n", most, n);
    CHECK(most <= allowed);
}

void fuzz_check_message(void)
{
    const char *text = fe_message();
    CHECK(*text && strlen(text) < FE_MESSAGE_LENGTH);
    for (; *text; text++) CHECK((unsigned char)*text >= ' ' && *text != 127);
}
