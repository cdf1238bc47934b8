/* Equal shares of items for threads. */
#ifndef FE_CHUNK_H
#define FE_CHUNK_H

#include <stdint.h>

/* First of chunk t of n items, which are shared in equal chunks; n for the chunk behind the last. */
static inline int fe_chunk(int n, int t, int chunks) { return (int)((int64_t)n * t / chunks); }

#endif
