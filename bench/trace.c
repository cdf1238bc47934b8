/* build/trace.so: time by kernel of a program that CUDA loads it into, within CUDA graphs, too, by CUPTI's
 * activity API.
 *
 *   CUDA_INJECTION64_PATH=build/trace.so FE_TRACE=FILE.csv PROGRAM ...
 *
 * FE_TRACE_MARKS="residual_ material": only what runs between the beginning of the first and the end of the
 * last kernel of a device whose name holds one of these words; without it, all of the program. Graph-level
 * tracing stays off, so that CUPTI records the nodes of a graph one by one. What fails is one line on stderr;
 * the program goes on, and there is no file.
 *
 * A row for each device, kernel or copy, and whether a graph launched it. total_ns: of its launches.
 * divided_ns: the same, with a moment at which k of them run counted 1/k for each; these add up to busy_ns.
 * alone_ns: while nothing else ran on the device. Of the device, the same in each of its rows: first_ns,
 * last_ns, and busy_ns, while anything ran. */
#include "common/base/hash.h"

#include <cupti.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BUFFER_BYTES = 8 << 20,
    BUFFER_ALIGN = 8,
    N_DEVICE = 64,
    N_KEY = 1 << 12,        /* kernels and copies, in and out of graphs */
    MOST_RECORDS = 1 << 25, /* 0.8 GB */
    MOST_RUNNING = 4096     /* at a time on a device */
};

typedef struct record {
    uint64_t start, end; /* ns */
    int key;
} record;

typedef struct records {
    size_t n, room;
    record *at;
} records;

typedef struct key {
    char *name;
    int in_graph, is_mark;
} key;

typedef struct sums {
    int64_t launches;
    uint64_t total, alone;
    double divided;
} sums;

static struct {
    pthread_mutex_t lock;
    records of[N_DEVICE];
    size_t n_record, n_untimed, n_row;
    key keys[N_KEY]; /* a hash table; name NULL: free */
    const char *path, *marks;
    const char *failed; /* why there will be no file */
} trace = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void say(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fputs("trace: ", stderr);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
}

static int works(CUptiResult result, const char *what)
{
    const char *why = "unknown error";
    if (result == CUPTI_SUCCESS) return 1;
    cuptiGetResultString(result, &why);
    say("%s: %s: no trace is written", what, why);
    return 0;
}

static int is_mark(const char *name)
{
    for (const char *word = trace.marks; word && *word;) {
        const size_t length = strcspn(word, " ");
        if (length && memmem(name, strlen(name), word, length)) return 1;
        word += length + strspn(word + length, " ");
    }
    return 0;
}

/* Its place in trace.keys; -1 where there is no room. */
static int key_of(const char *name, int in_graph)
{
    fe_hash hash = {.n = 0};
    fe_hash_add(&hash, strlen(name), name);
    for (int i = 0; i < N_KEY; i++) {
        const int place = (int)((fe_hash_value(&hash) + (uint64_t)in_graph + (uint64_t)i) % N_KEY);
        key *k = &trace.keys[place];
        if (k->name && k->in_graph == in_graph && !strcmp(k->name, name)) return place;
        if (k->name) continue;
        k->name = strdup(name), k->in_graph = in_graph, k->is_mark = is_mark(name);
        return k->name ? place : -1;
    }
    return -1;
}

static void keep(uint32_t device, const char *name, int in_graph, uint64_t start, uint64_t end)
{
    if (trace.failed) return;
    if (!start || end < start) {
        trace.n_untimed++;
        return;
    }
    if (device >= N_DEVICE) {
        trace.failed = "a device's number is too large";
        return;
    }
    if (trace.n_record == MOST_RECORDS) {
        trace.failed = "more than 33 million kernels and copies: trace less work";
        return;
    }
    records *r = &trace.of[device];
    if (r->n == r->room) {
        const size_t room = r->room ? 2 * r->room : 1 << 16;
        record *more = realloc(r->at, room * sizeof *more);
        if (!more) {
            trace.failed = "out of memory";
            return;
        }
        r->at = more, r->room = room;
    }
    const int k = key_of(name ? name : "unnamed", in_graph);
    if (k < 0) {
        trace.failed = "too many different kernels, or out of memory";
        return;
    }
    r->at[r->n++] = (record){start, end, k};
    trace.n_record++;
}

static const char *copy_name(unsigned kind)
{
    switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD: return "memcpy HtoD";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH: return "memcpy DtoH";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD: return "memcpy DtoD";
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP: return "memcpy PtoP";
    default: return "memcpy";
    }
}

/* Newer Toolkits add fields behind those of the oldest that is supported, 12.4, whose structures these are.
 */
static void take(const CUpti_Activity *activity)
{
    switch (activity->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
        const CUpti_ActivityKernel9 *k = (const CUpti_ActivityKernel9 *)activity;
        keep(k->deviceId, k->name, k->graphId || k->graphNodeId, k->start, k->end);
        break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
        const CUpti_ActivityMemcpy5 *m = (const CUpti_ActivityMemcpy5 *)activity;
        keep(m->deviceId, copy_name(m->copyKind), m->graphId || m->graphNodeId, m->start, m->end);
        break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY2: {
        const CUpti_ActivityMemcpyPtoP4 *m = (const CUpti_ActivityMemcpyPtoP4 *)activity;
        keep(m->deviceId, copy_name(m->copyKind), m->graphId || m->graphNodeId, m->start, m->end);
        break;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
        const CUpti_ActivityMemset4 *m = (const CUpti_ActivityMemset4 *)activity;
        keep(m->deviceId, "memset", m->graphId || m->graphNodeId, m->start, m->end);
        break;
    }
    default: break;
    }
}

static void CUPTIAPI give_buffer(uint8_t **buffer, size_t *size, size_t *most_records)
{
    *buffer = aligned_alloc(BUFFER_ALIGN, BUFFER_BYTES);
    *size = *buffer ? BUFFER_BYTES : 0, *most_records = 0;
    if (*buffer) return;
    pthread_mutex_lock(&trace.lock);
    trace.failed = "out of memory";
    pthread_mutex_unlock(&trace.lock);
}

static void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                                 size_t valid)
{
    CUpti_Activity *activity = NULL;
    size_t dropped = 0;
    (void)size;
    pthread_mutex_lock(&trace.lock);
    while (valid && cuptiActivityGetNextRecord(buffer, valid, &activity) == CUPTI_SUCCESS) take(activity);
    if (cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS && dropped)
        trace.failed = "CUPTI had no memory for all records";
    pthread_mutex_unlock(&trace.lock);
    free(buffer);
}

static int by_start(const void *a, const void *b)
{
    const record *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

/* Keeps what begins and ends between the marks, in the order of starts. */
static void cut(records *r)
{
    uint64_t from = 0, to = UINT64_MAX;
    qsort(r->at, r->n, sizeof *r->at, by_start);
    if (trace.marks && *trace.marks) {
        from = UINT64_MAX, to = 0;
        for (size_t i = 0; i < r->n; i++) {
            if (!trace.keys[r->at[i].key].is_mark) continue;
            if (r->at[i].start < from) from = r->at[i].start;
            if (r->at[i].end > to) to = r->at[i].end;
        }
    }
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++)
        if (r->at[i].start >= from && r->at[i].end <= to) r->at[n++] = r->at[i];
    r->n = n;
}

/* What runs at the moment `now`. */
typedef struct running {
    int n;
    uint64_t now, busy;
    record at[MOST_RUNNING];
} running;

/* Goes on to a moment and gives the time until then to what ran. */
static void advance(running *a, uint64_t to, sums *of)
{
    while (a->n) {
        int first = 0;
        for (int i = 1; i < a->n; i++)
            if (a->at[i].end < a->at[first].end) first = i;
        const uint64_t until = a->at[first].end < to ? a->at[first].end : to, time = until - a->now;
        for (int i = 0; i < a->n; i++) of[a->at[i].key].divided += (double)time / a->n;
        if (a->n == 1) of[a->at[0].key].alone += time;
        a->busy += time, a->now = until;
        if (a->at[first].end > to) return;
        a->at[first] = a->at[--a->n];
    }
    a->now = to;
}

static void write_name(FILE *file, const char *name)
{
    fputc('"', file);
    for (const char *c = name; *c; c++) {
        if (*c == '"') fputc('"', file);
        fputc(*c == '\n' ? ' ' : *c, file);
    }
    fputc('"', file);
}

static void write_device(FILE *file, int device, records *r, sums *of, running *a)
{
    uint64_t last = 0;
    if (r->n) cut(r);
    if (!r->n) return;
    memset(of, 0, N_KEY * sizeof *of);
    a->n = 0, a->now = r->at[0].start, a->busy = 0;
    for (size_t i = 0; i < r->n; i++) {
        advance(a, r->at[i].start, of);
        if (a->n == MOST_RUNNING) {
            trace.failed = "too many kernels run at a time";
            return;
        }
        a->at[a->n++] = r->at[i];
        sums *s = &of[r->at[i].key];
        s->launches++, s->total += r->at[i].end - r->at[i].start;
        if (r->at[i].end > last) last = r->at[i].end;
    }
    advance(a, last, of);
    for (int k = 0; k < N_KEY; k++) {
        if (!of[k].launches) continue;
        trace.n_row++;
        fprintf(file, "%d,", device);
        write_name(file, trace.keys[k].name);
        fprintf(file, ",%d,%lld,%llu,%.0f,%llu,%llu,%llu,%llu\n", trace.keys[k].in_graph,
                (long long)of[k].launches, (unsigned long long)of[k].total, of[k].divided,
                (unsigned long long)of[k].alone, (unsigned long long)r->at[0].start, (unsigned long long)last,
                (unsigned long long)a->busy);
    }
}

/* Written elsewhere and renamed: a file is whole. */
static void write_all(void)
{
    char part[4096];
    sums *of = calloc(N_KEY, sizeof *of);
    running *a = malloc(sizeof *a);
    FILE *file = NULL;
    if ((size_t)snprintf(part, sizeof part, "%s.new", trace.path) >= sizeof part)
        trace.failed = "the name of the file is too long";
    else if (!of || !a)
        trace.failed = "out of memory";
    else if (!(file = fopen(part, "w")))
        trace.failed = strerror(errno);
    if (file) {
        fputs("device,name,graph,launches,total_ns,divided_ns,alone_ns,first_ns,last_ns,busy_ns\n", file);
        for (int d = 0; d < N_DEVICE && !trace.failed; d++) write_device(file, d, &trace.of[d], of, a);
        if (!trace.failed && !trace.n_row) trace.failed = "no kernel runs between the marks";
        const int wrong = ferror(file);
        if (fclose(file) || wrong) trace.failed = "the file could not be written";
        if (!trace.failed && rename(part, trace.path)) trace.failed = strerror(errno);
        if (trace.failed) remove(part);
    }
    free(of), free(a);
}

/* The program has waited for its kernels. */
static void end(void)
{
    if (!works(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "CUPTI's last records")) return;
    pthread_mutex_lock(&trace.lock);
    if (!trace.failed && !trace.n_record) trace.failed = "no kernel was recorded";
    if (!trace.failed) write_all();
    if (trace.failed)
        say("%s: %s", trace.path, trace.failed);
    else if (trace.n_untimed)
        say("%zu kernels or copies have no times and are left out", trace.n_untimed);
    pthread_mutex_unlock(&trace.lock);
}

/* Room for 800,000 launches on each device from the beginning, instead of 300,000: no rank may allocate
 * device memory while another one's kernel waits for it (common/ranks/comm_peer.cu). Where this is refused,
 * the default stays. */
static void make_room(void)
{
    size_t buffers = 8, size = sizeof buffers;
    cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE, &size, &buffers);
}

/* Called by CUDA when it starts; 1: done. */
int InitializeInjection(void);
int InitializeInjection(void)
{
    static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                               CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2,
                                               CUPTI_ACTIVITY_KIND_MEMSET};
    trace.path = getenv("FE_TRACE"), trace.marks = getenv("FE_TRACE_MARKS");
    if (!trace.path || !*trace.path) {
        say("FE_TRACE names no file: nothing is traced");
        return 1;
    }
    if (!works(cuptiActivityRegisterCallbacks(give_buffer, take_buffer), "CUPTI")) return 1;
    make_room();
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!works(cuptiActivityEnable(kinds[i]), "CUPTI")) return 1;
    if (atexit(end)) say("atexit failed: no trace is written");
    return 1;
}
