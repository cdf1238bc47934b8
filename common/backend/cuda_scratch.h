/* Memory on the device that is taken piece by piece and given back all at once, and CUB's sorting and
 * scanning with it: what set-up on the device computes in. */
#ifndef FE_CUDA_SCRATCH_H
#define FE_CUDA_SCRATCH_H

#include "common/backend/cuda.h"

enum { FE_MOST_CHUNKS = 32 };

typedef struct fe_scratch {
    fe_device *d;
    int n_chunk;
    struct {
        char *memory;
        size_t bytes, used;
        bool lent; /* a part of an earlier one */
    } chunk[FE_MOST_CHUNKS];
} fe_scratch;

/* `expected` bytes are reserved at once; more come as they are needed. */
fe_status fe_scratch_open(fe_device *d, size_t expected, fe_scratch *s);
/* Accepts what is zeroed. */
void fe_scratch_close(fe_scratch *s);
/* Not set to zero; aligned to 256 bytes. */
fe_status fe_scratch_bytes(fe_scratch *s, size_t bytes, void **memory);
template <typename T> fe_status fe_scratch_take(fe_scratch *s, size_t count, T **memory)
{
    return fe_scratch_bytes(s, (count + 1) * sizeof(T), (void **)memory);
}
/* A piece that was taken and is not needed any more: what comes next is taken from it, while it has room, if
 * it is larger than what is left. */
void fe_scratch_lend(fe_scratch *s, void *memory, size_t bytes);
/* What was taken since `mark` may be taken again. */
typedef struct fe_scratch_mark {
    int chunk;
    size_t used;
} fe_scratch_mark;
fe_scratch_mark fe_scratch_now(const fe_scratch *s);
void fe_scratch_return(fe_scratch *s, fe_scratch_mark mark);

/* Counts in first [1 .. n] become starts: first[0] = 0, first[i + 1] = the sum of the counts up to i. */
fe_status fe_scratch_sums(fe_scratch *s, int n, int *first);
/* The same, and *total is first[n], on the host: this call waits. FE_OUT_OF_MEMORY where an int cannot hold
 * it. */
fe_status fe_scratch_starts(fe_scratch *s, int n, int *first, int *total);

/* Bits of the numbers below n. */
static inline int fe_bits_of(int n)
{
    int bits = 1;
    while (bits < 31 && 1 << bits < n) bits++;
    return bits;
}
/* Sorts pairs by the lowest `bits` bits of their keys; equal keys keep their order. Both arrays change. */
fe_status fe_scratch_sort(fe_scratch *s, int n, int bits, uint64_t **key, int **value);

#endif
