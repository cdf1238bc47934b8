/* Sorting of whole numbers by counting their digits, by several threads. */
#ifndef FE_SORT_H
#define FE_SORT_H

#include "common/base/fe.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sorts word [n] by the upper 32 bits of each; words that have these in common keep their order. The result
 * does not depend on `threads`. */
fe_status fe_sort_words(uint64_t *word, int n, int threads);

/* For qsort: numbers of type int, and words of type uint64_t, ascending. */
int fe_compare_ints(const void *p, const void *q);
int fe_compare_words(const void *p, const void *q);

/* A word of a key and an item, and its item. */
static inline uint64_t fe_word_of(uint32_t key, int item) { return (uint64_t)key << 32 | (uint32_t)item; }
static inline int fe_item_of(uint64_t word) { return (int)(uint32_t)word; }

/* The items of words. */
void fe_items_of(const uint64_t *word, int n, int threads, int *item);

#ifdef __cplusplus
}
#endif
#endif
