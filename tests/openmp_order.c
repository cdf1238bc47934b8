/* Tells ThreadSanitizer about gcc's OpenMP; compiled and linked only with SANITIZE=thread.
 *
 * libgomp is not instrumented: the sanitizer sees neither that a region begins after what was written before
 * it, nor that it ends before what follows, and reports almost every loop. Suppressing reports by the
 * library's name would hide races, too. Here the call that runs a region (-Wl,--wrap) announces exactly this
 * order, and nothing is suppressed: two threads of one region stay unordered. `omp atomic` and the reduction
 * of one variable are atomic instructions, which the sanitizer sees; the reduction of several takes a lock of
 * the library, whose order is announced here, too. Deferred tasks would need more: only patch's plan of more
 * than 10000 elements has some. */
#include <sanitizer/tsan_interface.h>

typedef struct region {
    void (*body)(void *);
    void *data;
    char begin, end; /* addresses that stand for the order */
} region;

static void run_body(void *of)
{
    region *r = of;
    __tsan_acquire(&r->begin);
    r->body(r->data);
    __tsan_release(&r->end);
}

void __real_GOMP_parallel(void (*body)(void *), void *data, unsigned threads, unsigned flags);
void __wrap_GOMP_parallel(void (*body)(void *), void *data, unsigned threads, unsigned flags);
void __wrap_GOMP_parallel(void (*body)(void *), void *data, unsigned threads, unsigned flags)
{
    region r = {.body = body, .data = data};
    __tsan_release(&r.begin);
    __real_GOMP_parallel(run_body, &r, threads, flags);
    __tsan_acquire(&r.end);
}

static char lock; /* of reductions */
void __real_GOMP_atomic_start(void);
void __wrap_GOMP_atomic_start(void);
void __wrap_GOMP_atomic_start(void)
{
    __real_GOMP_atomic_start();
    __tsan_acquire(&lock);
}
void __real_GOMP_atomic_end(void);
void __wrap_GOMP_atomic_end(void);
void __wrap_GOMP_atomic_end(void)
{
    __tsan_release(&lock);
    __real_GOMP_atomic_end();
}
