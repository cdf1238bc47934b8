#include "common/backend/cuda_scratch.h"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

enum { ALIGNMENT = 256 };

static void push_chunk(fe_scratch *s, void *memory, size_t bytes, bool lent)
{
    s->chunk[s->n_chunk].memory = (char *)memory;
    s->chunk[s->n_chunk].bytes = bytes;
    s->chunk[s->n_chunk].lent = lent;
    s->chunk[s->n_chunk++].used = 0;
}

static fe_status add_chunk(fe_scratch *s, size_t bytes)
{
    if (s->n_chunk == FE_MOST_CHUNKS)
        return fe_fail(FE_OUT_OF_MEMORY, "set-up on the device: %d pieces of memory are all in use",
                       s->n_chunk);
    void *memory;
    FE_TRY(fe_device_reserve(s->d, bytes + ALIGNMENT, 1, "set-up on the device", &memory));
    push_chunk(s, memory, bytes, false);
    return FE_OK;
}

static void release_last(fe_scratch *s)
{
    s->n_chunk--;
    if (!s->chunk[s->n_chunk].lent) s->d->ops->memory.release(s->d, s->chunk[s->n_chunk].memory);
}

fe_status fe_scratch_open(fe_device *d, size_t expected, fe_scratch *s)
{
    void *memory;
    s->d = d;
    s->n_chunk = 0;
    FE_TRY(fe_cuda_take_spare(d, expected + ALIGNMENT, "set-up on the device", &memory));
    push_chunk(s, memory, expected, false);
    return FE_OK;
}

void fe_scratch_close(fe_scratch *s)
{
    while (s->n_chunk > 1) release_last(s);
    if (s->n_chunk == 0) return;
    s->n_chunk = 0;
    fe_cuda_leave_spare(s->d, s->chunk[0].memory);
}

fe_status fe_scratch_bytes(fe_scratch *s, size_t bytes, void **memory)
{
    bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    int last = s->n_chunk - 1;
    if (s->chunk[last].bytes - s->chunk[last].used < bytes) {
        const size_t least = s->chunk[0].bytes / 4;
        FE_TRY(add_chunk(s, bytes > least ? bytes : least));
        last++;
    }
    *memory = s->chunk[last].memory + s->chunk[last].used;
    s->chunk[last].used += bytes;
    return FE_OK;
}

void fe_scratch_lend(fe_scratch *s, void *memory, size_t bytes)
{
    const size_t left = s->chunk[s->n_chunk - 1].bytes - s->chunk[s->n_chunk - 1].used;
    if (s->n_chunk < FE_MOST_CHUNKS && bytes > left)
        push_chunk(s, memory, bytes / ALIGNMENT * ALIGNMENT, true);
}

fe_scratch_mark fe_scratch_now(const fe_scratch *s)
{
    const fe_scratch_mark mark = {s->n_chunk - 1, s->chunk[s->n_chunk - 1].used};
    return mark;
}

void fe_scratch_return(fe_scratch *s, fe_scratch_mark mark)
{
    while (s->n_chunk - 1 > mark.chunk) release_last(s);
    s->chunk[mark.chunk].used = mark.used;
}

fe_status fe_scratch_sums(fe_scratch *s, int n, int *first)
{
    cudaStream_t stream = fe_cuda_stream(s->d);
    const fe_scratch_mark mark = fe_scratch_now(s);
    size_t bytes = 0;
    void *temporary = NULL;
    CUDA_TRY(cudaMemsetAsync(first, 0, sizeof *first, stream));
    CUDA_TRY(cub::DeviceScan::InclusiveSum(temporary, bytes, first + 1, first + 1, n, stream));
    FE_TRY(fe_scratch_bytes(s, bytes, &temporary));
    CUDA_TRY(cub::DeviceScan::InclusiveSum(temporary, bytes, first + 1, first + 1, n, stream));
    fe_scratch_return(s, mark);
    return FE_OK;
}

fe_status fe_scratch_starts(fe_scratch *s, int n, int *first, int *total)
{
    FE_TRY(fe_scratch_sums(s, n, first));
    FE_TRY(s->d->ops->memory.download(s->d, sizeof *total, first + n, total));
    return *total >= 0 ? FE_OK : fe_fail(FE_OUT_OF_MEMORY, "set-up on the device: more than 2^31 entries");
}

fe_status fe_scratch_sort(fe_scratch *s, int n, int bits, uint64_t **key, int **value)
{
    cudaStream_t stream = fe_cuda_stream(s->d);
    size_t bytes = 0;
    void *temporary = NULL;
    uint64_t *other_key;
    int *other_value;
    FE_TRY(fe_scratch_take(s, (size_t)n, &other_key));
    FE_TRY(fe_scratch_take(s, (size_t)n, &other_value));
    const fe_scratch_mark mark = fe_scratch_now(s);
    cub::DoubleBuffer<uint64_t> keys(*key, other_key);
    cub::DoubleBuffer<int> values(*value, other_value);
    CUDA_TRY(cub::DeviceRadixSort::SortPairs(temporary, bytes, keys, values, n, 0, bits, stream));
    FE_TRY(fe_scratch_bytes(s, bytes, &temporary));
    CUDA_TRY(cub::DeviceRadixSort::SortPairs(temporary, bytes, keys, values, n, 0, bits, stream));
    *key = keys.Current(), *value = values.Current();
    fe_scratch_return(s, mark);
    return FE_OK;
}
