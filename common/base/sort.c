/* Digits of 11 bits, the lowest first. Each thread moves words of its own chunk, behind those of earlier
 * chunks that have the same digit. */
#include "common/base/sort.h"
#include "common/base/chunk.h"

#include <stdlib.h>
#include <string.h>

enum { LOWEST = 32, DIGIT = 11, BINS = 1 << DIGIT, MOST_THREADS = 64, WORDS_PER_THREAD = 8192 };

static int digit_of(uint64_t word, int shift) { return (int)(word >> shift & (BINS - 1)); }
static void count_digits(const uint64_t *word, int first, int end, int shift, int count[BINS])
{
    memset(count, 0, BINS * sizeof *count);
    for (int i = first; i < end; i++) count[digit_of(word[i], shift)]++;
}

/* Turns counts [threads][BINS] into places. Returns 1 if all n words have the same digit. */
static int place_digits(int (*count)[BINS], int n, int threads)
{
    int place = 0, same = 0;
    for (int b = 0; b < BINS; b++) {
        const int start = place;
        for (int t = 0; t < threads; t++) {
            const int here = count[t][b];
            count[t][b] = place;
            place += here;
        }
        same |= place - start == n;
    }
    return same;
}

static void move_words(const uint64_t *from, int first, int end, int shift, int place[BINS], uint64_t *to)
{
    for (int i = first; i < end; i++) to[place[digit_of(from[i], shift)]++] = from[i];
}

static void sort(uint64_t *word, uint64_t *other, int n, int threads, int (*count)[BINS])
{
    uint64_t *from = word, *to = other;
    for (int shift = LOWEST; shift < 64; shift += DIGIT) {
#pragma omp parallel for schedule(static, 1) num_threads(threads) if (threads > 1)
        for (int t = 0; t < threads; t++)
            count_digits(from, fe_chunk(n, t, threads), fe_chunk(n, t + 1, threads), shift, count[t]);
        if (place_digits(count, n, threads)) continue;
#pragma omp parallel for schedule(static, 1) num_threads(threads) if (threads > 1)
        for (int t = 0; t < threads; t++)
            move_words(from, fe_chunk(n, t, threads), fe_chunk(n, t + 1, threads), shift, count[t], to);
        uint64_t *swap = from;
        from = to, to = swap;
    }
    if (from == word) return;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int i = 0; i < n; i++) word[i] = from[i];
}

fe_status fe_sort_words(uint64_t *word, int n, int threads)
{
    uint64_t *other = NULL;
    int(*count)[BINS] = NULL;
    const int useful = n / WORDS_PER_THREAD + 1;
    threads = threads < useful ? threads : useful;
    if (threads > MOST_THREADS) threads = MOST_THREADS;
    FE_RESERVE(other, n, "sorting");
    const fe_status status = fe_reserve((size_t)threads, sizeof *count, "sorting", (void **)&count);
    if (status == FE_OK) sort(word, other, n, threads, count);
    free(other), free(count);
    return status;
}

void fe_items_of(const uint64_t *word, int n, int threads, int *item)
{
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int i = 0; i < n; i++) item[i] = fe_item_of(word[i]);
}

int fe_compare_ints(const void *p, const void *q)
{
    const int a = *(const int *)p, b = *(const int *)q;
    return (a > b) - (a < b);
}

int fe_compare_words(const void *p, const void *q)
{
    const uint64_t a = *(const uint64_t *)p, b = *(const uint64_t *)q;
    return (a > b) - (a < b);
}
