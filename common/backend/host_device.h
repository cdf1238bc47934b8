/* What a device of the host backend holds, for the files of this backend. */
#ifndef FE_HOST_DEVICE_H
#define FE_HOST_DEVICE_H

#include "common/backend/device.h"

enum { BLOCK = 4096 }; /* rows of one partial sum: 32 KB of each vector */

typedef struct allocation {
    struct allocation *next;
    size_t bytes;
    char pad[48]; /* keeps the memory after it 64-byte aligned */
} allocation;

typedef struct host_device {
    fe_device base;
    allocation *memory;
    double *partial; /* [n_partial] sums of blocks */
    size_t n_partial;
    int phase;
    double since, seconds[FE_N_PHASE];
} host_device;

static inline host_device *self(fe_device *d) { return (host_device *)d; }
static inline size_t n_block(size_t n) { return (n + BLOCK - 1) / BLOCK; }
static inline size_t block_rows(size_t n, size_t b) { return n - b * BLOCK < BLOCK ? n - b * BLOCK : BLOCK; }

/* Room for n partial sums, and out [width] = the sums over the blocks of n rows of their partial sums. */
fe_status fe_host_reserve_partial(host_device *d, size_t n);
void fe_host_add_blocks(const host_device *d, size_t n, size_t width, double *out);

#endif
