/* A hash of 64 bits of bytes that come in pieces of any length: it tells whether files and arrays are those
 * of an earlier run. It is no protection against intent. */
#ifndef FE_HASH_H
#define FE_HASH_H

#include "common/base/fe.h"
#include <string.h>

/* Zeroed, a hash of nothing. */
typedef struct fe_hash {
    uint64_t sum, word, n; /* of whole words; the bytes behind them, n % 8 in use; bytes so far */
} fe_hash;

static inline void fe_hash_add(fe_hash *h, size_t n, const void *bytes)
{
    if (!n) return; /* bytes may be NULL */
    const unsigned char *at = bytes, *end = at + n;
    while (at < end) {
        if (h->n % 8 == 0 && end - at >= 8) {
            uint64_t word;
            memcpy(&word, at, 8);
            h->sum = fe_mix(h->sum ^ word);
            at += 8, h->n += 8;
            continue;
        }
        h->word |= (uint64_t)*at++ << 8 * (h->n++ % 8);
        if (h->n % 8 == 0) h->sum = fe_mix(h->sum ^ h->word), h->word = 0;
    }
}

/* Bytes of `word` come in the order of the machine, which has to be little-endian for both ways to agree. */
static inline uint64_t fe_hash_value(const fe_hash *h) { return fe_mix(fe_mix(h->sum ^ h->word) ^ h->n); }

#endif
