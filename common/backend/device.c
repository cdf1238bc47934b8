/* Threads of a device, and memory that is released with it. */
#include "common/backend/device.h"
#include "common/base/cores.h"

#include <stdlib.h>
#include <string.h>

int fe_host_cores(void) { return fe_cores(); }

int fe_host_threads(void) { return fe_threads_of(fe_host_cores()); }

int fe_device_host_threads(const fe_device *d) { return d->threads > 0 ? d->threads : fe_host_threads(); }

static fe_status allocate(fe_device *d, fe_status (*from)(fe_device *, size_t, void **), size_t count,
                          size_t size, const char *what, void **memory)
{
    *memory = NULL;
    if (size && count > (SIZE_MAX - 128) / size)
        return fe_fail(FE_OUT_OF_MEMORY, "%s: %zu x %zu bytes is more than an address space", what, count,
                       size);
    const size_t bytes = (count * size + 64 + 63) / 64 * 64;
    const fe_status status = from(d, bytes, memory);
    if (status == FE_OUT_OF_MEMORY)
        return fe_fail(FE_OUT_OF_MEMORY, "%s: no memory for %.3f GB on %s (%.3f GB are in use by this run)",
                       what, 1e-9 * (double)bytes, d->name, 1e-9 * (double)d->bytes_resident);
    if (status != FE_OK) return status;
    d->bytes_resident += bytes;
    if (d->bytes_resident > d->bytes_peak) d->bytes_peak = d->bytes_resident;
    return FE_OK;
}

fe_status fe_device_allocate(fe_device *d, size_t count, size_t size, const char *what, void **memory)
{
    return allocate(d, d->ops->memory.allocate, count, size, what, memory);
}

fe_status fe_device_reserve(fe_device *d, size_t count, size_t size, const char *what, void **memory)
{
    return allocate(d, d->ops->memory.reserve, count, size, what, memory);
}

static size_t padded_bytes(const fe_array *a) { return (a->count * a->size + 64 + 255) / 256 * 256; }

fe_status fe_device_reserve_arrays(fe_device *d, int n, const fe_array *array, const char *what)
{
    const int each = d->ops->on_gpu ? n : 1; /* arrays of a piece */
    for (int first = 0; first < n; first += each) {
        size_t bytes = 0;
        char *memory;
        for (int i = first; i < first + each; i++) bytes += padded_bytes(&array[i]);
        FE_TRY(fe_device_reserve(d, bytes, 1, what, (void **)&memory));
        for (int i = first; i < first + each; i++) {
            *array[i].memory = memory;
            memory += padded_bytes(&array[i]);
        }
    }
    return FE_OK;
}

fe_status fe_device_upload(fe_device *d, size_t count, size_t size, const void *host, const char *what,
                           void **memory)
{
    FE_TRY(fe_device_allocate(d, count, size, what, memory));
    return d->ops->memory.upload(d, count * size, host, *memory);
}

enum { BATCH_BYTES = 1 << 22 };

/* Pieces [first, end) are a batch: as many as it holds, or one that is larger. */
static int end_of_batch(const fe_pieces *p, int first)
{
    int end = first + (first < p->n);
    while (end < p->n && p->begin(p->of, end + 1) - p->begin(p->of, first) <= BATCH_BYTES) end++;
    return end;
}

/* room: for two batches of up to `most` bytes. */
static fe_status upload_batches(fe_device *d, const fe_pieces *p, size_t most, char *room, char *memory)
{
    fe_status status = FE_OK;
    for (int before = 0, first = 0, turn = 0; before < p->n && status == FE_OK; turn = !turn) {
        const int end = end_of_batch(p, first);
        const size_t written = p->begin(p->of, before), start = p->begin(p->of, first);
        char *to = room + most * turn;
#pragma omp parallel num_threads(fe_device_host_threads(d))
        {
#pragma omp master
            if (first > before)
                status = d->ops->memory.upload(d, start - written, room + most * !turn, memory + written);
#pragma omp for schedule(dynamic, 8)
            for (int i = first; i < end; i++) p->write(p->of, i, to + (p->begin(p->of, i) - start));
        }
        before = first, first = end;
    }
    return status;
}

fe_status fe_device_upload_pieces(fe_device *d, const fe_pieces *pieces, const char *what, void **memory)
{
    size_t most = BATCH_BYTES;
    char *room = NULL;
    for (int i = 0; i < pieces->n; i++) {
        const size_t bytes = pieces->begin(pieces->of, i + 1) - pieces->begin(pieces->of, i);
        if (bytes > most) most = bytes;
    }
    FE_TRY(fe_device_reserve(d, pieces->begin(pieces->of, pieces->n), 1, what, memory));
    FE_RESERVE(room, 2 * most, what);
    const fe_status status = upload_batches(d, pieces, most, room, *memory);
    free(room);
    return status;
}

/* Kept blocks form a list through their headers. */
typedef struct kept {
    void *next;
    void (*release)(void *host);
} kept;
enum { KEPT_HEADER = 64 };

fe_status fe_device_keep_open(fe_device *d, size_t size, const char *what, void (*release)(void *host),
                              void **host)
{
    char *block = NULL;
    *host = NULL;
    FE_ALLOCATE(block, KEPT_HEADER + size, what);
    *(kept *)block = (kept){d->kept, release};
    d->kept = block;
    *host = block + KEPT_HEADER;
    return FE_OK;
}

fe_status fe_device_keep(fe_device *d, size_t size, const char *what, void **host)
{
    return fe_device_keep_open(d, size, what, NULL, host);
}

void fe_device_release_kept(fe_device *d)
{
    while (d->kept) {
        const kept k = *(kept *)d->kept;
        if (k.release) k.release((char *)d->kept + KEPT_HEADER);
        free(d->kept);
        d->kept = k.next;
    }
}

fe_status fe_device_vector(fe_device *d, int n_node, const char *what, double **x)
{
    return fe_device_allocate(d, 3 * (size_t)n_node + 8, sizeof **x, what, (void **)x);
}
