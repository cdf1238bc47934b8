/* Messages, checked allocation, the steady clock and interruption. */
#include "common/base/fe.h"
#include "common/base/cores.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <omp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static _Thread_local char message[FE_MESSAGE_LENGTH];

/* Number of bytes of the UTF-8 character at p, 0 if these bytes are none. (An 8-bit terminal takes a single
 * byte from 0x80 to 0x9f for a control character.) */
static int character_bytes(const unsigned char *p)
{
    const int n = *p < 0x80 ? 1 : *p < 0xc2 ? 0 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : *p < 0xf5 ? 4 : 0;
    for (int i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    return n;
}

/* C0 controls and DEL, C1 controls of UTF-8, and bytes that are no UTF-8. */
char *fe_printable(char *text)
{
    for (unsigned char *p = (unsigned char *)text; *p;) {
        const int n = character_bytes(p);
        if (!n || *p < ' ' || *p == 127) *p = '?';
        if (p[0] == 0xc2 && p[1] < 0xa0) p[0] = p[1] = '?';
        p += n ? n : 1;
    }
    return text;
}

/* The longest word of a text, with its length in *n. */
static char *longest_word(char *text, size_t *n)
{
    char *longest = text;
    *n = 0;
    for (char *p = text; *p;) {
        const size_t length = strcspn(p, " ");
        if (length > *n) longest = p, *n = length;
        p += length + strspn(p + length, " ");
    }
    return longest;
}

/* Shortens a text to less than `size` bytes. What makes it long is a path or an expression, and what matters
 * stands before and behind it: the middle of the longest word gives way, again and again while there is a
 * long one. */
static void shorten(char *text, size_t size)
{
    enum { LEAST = 64 };
    for (size_t length; (length = strlen(text)) >= size;) {
        size_t n;
        char *word = longest_word(text, &n);
        if (n < LEAST + 4) break;
        const size_t excess = length - size + 1 + 3, cut = excess < n - LEAST ? excess : n - LEAST;
        char *middle = word + (n - cut) / 2;
        memmove(middle + 3, middle + cut, strlen(middle + cut) + 1);
        memcpy(middle, "...", 3);
    }
    if (strlen(text) >= size) strcpy(text + size - 4, "...");
}

fe_status fe_fail(fe_status status, const char *format, ...)
{
    char text[4 * PATH_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    shorten(text, sizeof message); /* may cut a character of several bytes */
    strcpy(message, fe_printable(text));
    return status;
}

void fe_note(const char *format, ...)
{
    char text[4 * PATH_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "note: %s\n", fe_printable(text));
}

const char *fe_message(void) { return message; }

int fe_exit_code(fe_status status, const char *program)
{
    errno = 0;
    if ((fflush(stdout) || ferror(stdout)) && status == FE_OK)
        status = fe_fail(FE_FAILED, "standard output cannot be written%s%s", errno ? ": " : "",
                         errno ? strerror(errno) : "");
    if (status == FE_OK) return 0;
    if (program) fprintf(stderr, "%s: %s\n", program, message[0] ? message : "failed without a message");
    return status == FE_BAD_INPUT ? 2 : status == FE_INTERRUPTED ? 130 : 1;
}

/* Pages of large arrays are asked to be large: the first write to each of 512 small ones instead takes longer
 * than what is written. 0.8 M degrees of freedom of Tet4, two cores: mesh on the device 110 to 63 ms. */
static const size_t LARGE_PAGE = 2 << 20, LARGE_ARRAY = 8 << 20;

fe_status fe_reserve(size_t count, size_t size, const char *what, void **out)
{
    *out = NULL;
    if (size && count > (SIZE_MAX - LARGE_PAGE) / size)
        return fe_fail(FE_OUT_OF_MEMORY, "%s: %zu x %zu bytes is more than an address space", what, count,
                       size);
    const size_t unit = count * size < LARGE_ARRAY ? 64 : LARGE_PAGE;
    const size_t bytes = (count * size + unit - 1) / unit * unit;
    *out = aligned_alloc(unit, bytes ? bytes : unit);
    if (!*out) return fe_fail(FE_OUT_OF_MEMORY, "%s: no host memory for %zu bytes", what, bytes);
#ifdef MADV_HUGEPAGE
    if (unit == LARGE_PAGE) madvise(*out, bytes, MADV_HUGEPAGE); /* where it is refused, pages are small */
#endif
    return FE_OK;
}

static void clear(char *bytes, size_t n)
{
    if (n < LARGE_ARRAY) {
        memset(bytes, 0, n);
        return;
    }
#pragma omp parallel for schedule(static) num_threads(omp_get_max_threads())
    for (size_t at = 0; at < n; at += LARGE_PAGE)
        memset(bytes + at, 0, n - at < LARGE_PAGE ? n - at : LARGE_PAGE);
}

fe_status fe_allocate(size_t count, size_t size, const char *what, void **out)
{
    FE_TRY(fe_reserve(count, size, what, out));
    clear(*out, (count * size + 63) / 64 * 64);
    return FE_OK;
}

static int64_t nanoseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

double fe_seconds(void) { return 1e-9 * (double)nanoseconds(); }

static atomic_int interrupted; /* the handler writes it, every rank's thread reads it */

/* Launchers and Slurm pass one signal on by several ways, milliseconds apart: what comes within a second is
 * the same. A later one ends the process at once. */
static void on_signal(int number)
{
    static _Atomic int64_t first;
    const int64_t second = 1000000000, now = nanoseconds();
    int64_t begun = 0;
    interrupted = 1;
    if (atomic_compare_exchange_strong(&first, &begun, now) || now - begun < second) return;
    signal(number, SIG_DFL);
    raise(number);
}

int fe_interrupted(void) { return interrupted; }

void fe_program_begin(void)
{
    signal(SIGXFSZ, SIG_IGN);
#ifdef M_MMAP_THRESHOLD
    /* Memory that was freed stays with the process: fresh pages cost a set-up of multigrid a tenth of its
     * time. */
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
    /* A number that OMP_NUM_THREADS asks for is bounded: libgomp crashes for some ten thousand threads. */
    omp_set_num_threads(fe_threads_of(fe_cores()));
    /* A help text is written in one piece at the end, where a full disk is noticed with its reason. */
    static char text[1 << 16];
    if (!isatty(STDOUT_FILENO)) setvbuf(stdout, text, _IOFBF, sizeof text);
}

void fe_catch_interrupts(void)
{
    struct sigaction action = {0};
    action.sa_handler = on_signal;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}
