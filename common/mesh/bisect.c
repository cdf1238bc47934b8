/* Recursive bisection. Items are moved with their coordinates, so all passes read memory in order. A cut is
 * found by counting coordinates and keeps the order of the items on either side, so the result does not
 * depend on how the work is shared among threads. */
#include "common/mesh/bisect.h"
#include "common/base/chunk.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Coordinates from the lowest on, in units of 2^-32 of a power of two above the longest side of all items:
 * whole numbers stay such, and equal lengths stay equal. */
typedef struct item {
    uint32_t x[3];
    int index;
} item;

/* Items from `at` on, and as many places for them in the other array. */
typedef struct range {
    item *at, *to;
    int n;
} range;

/* Ranges of at least SHARED items are cut by all threads together; FEW items need no memory of the heap. */
enum { MOST_BINS = 1024, SHARED = 1 << 15, FEW = 512, MOST_THREADS = 256, MOST_RANGES = 32 * MOST_THREADS };

/* statement for each chunk t, items [first, end), of n. */
#define IN_CHUNKS(n, threads, statement)                                                                     \
    do {                                                                                                     \
        if (threads == 1) {                                                                                  \
            const int t = 0, first = 0, end = n;                                                             \
            statement;                                                                                       \
        } else {                                                                                             \
            _Pragma("omp parallel for schedule(static, 1) num_threads(threads)") for (int t = 0;             \
                                                                                      t < threads; t++)      \
            {                                                                                                \
                const int first = fe_chunk(n, t, threads), end = fe_chunk(n, t + 1, threads);                \
                statement;                                                                                   \
            }                                                                                                \
        }                                                                                                    \
    } while (0)

/* --- where to cut ----------------------------------------------------------------------------------------
 */

typedef uint32_t four __attribute__((vector_size(16)));
typedef struct extent {
    four low, high; /* of coordinates; the last entry is of no use */
} extent;

static extent unite(extent a, extent b)
{
    const four below = (four)(b.low < a.low), above = (four)(b.high > a.high);
    return (extent){(below & b.low) | (~below & a.low), (above & b.high) | (~above & a.high)};
}

static extent extent_of(const item *items, int first, int end)
{
    extent all = {~(four){0}, {0}};
    for (int i = first; i < end; i++) {
        four x;
        memcpy(&x, &items[i], sizeof x);
        all = unite(all, (extent){x, x});
    }
    return all;
}

/* Keys of items are their coordinates on an axis from the lowest one on, numbers of so many bits. They are
 * compared by digits of `digit` bits, the highest first. */
typedef struct keys {
    int axis, bits, digit;
    uint32_t low;
} keys;

static keys keys_of(const range *r, int threads)
{
    extent part[MOST_THREADS];
    IN_CHUNKS(r->n, threads, part[t] = extent_of(r->at, first, end));
    for (int t = 1; t < threads; t++) part[0] = unite(part[0], part[t]);
    const four side = part[0].high - part[0].low;
    const int axis = side[2] >= side[1] && side[2] >= side[0] ? 2 : side[1] >= side[0] ? 1 : 0;
    return (keys){.axis = axis,
                  .bits = side[axis] ? 32 - __builtin_clz(side[axis]) : 0,
                  .digit = r->n < 4096 ? 7 : 10,
                  .low = part[0].low[axis]};
}

static uint32_t key_of(const keys *k, const item *i) { return i->x[k->axis] - k->low; }
static int after_digit(const keys *k, int bits) { return bits > k->digit ? bits - k->digit : 0; }

/* The digit of number *left; *left becomes its number among the keys with this digit. */
static uint32_t find_digit(const int *count, int *left)
{
    uint32_t digit = 0;
    while (*left >= count[digit]) *left -= count[digit++];
    return digit;
}

static void count_chunk(const range *r, const keys *k, int shift, int first, int end, int *count)
{
    for (int i = first; i < end; i++) count[key_of(k, &r->at[i]) >> shift]++;
}

/* Into count, which other threads count into, too. */
static void count_shared_chunk(const range *r, const keys *k, int shift, int first, int end, int *count)
{
    int here[MOST_BINS] = {0};
    count_chunk(r, k, shift, first, end, here);
    for (int b = 0; b < 1 << k->digit; b++) {
#pragma omp atomic
        count[b] += here[b];
    }
}

static void count_first_digits(const range *r, const keys *k, int shift, int threads, int *count)
{
    memset(count, 0, sizeof *count << k->digit);
    if (threads == 1)
        count_chunk(r, k, shift, 0, r->n, count);
    else
        IN_CHUNKS(r->n, threads, ((void)t, count_shared_chunk(r, k, shift, first, end, count)));
}

/* Keys of items [first, end) that begin with a digit; returns their number. */
static int collect_chunk(const range *r, const keys *k, int shift, uint32_t digit, int first, int end,
                         uint32_t *key)
{
    int n = 0;
    for (int i = first; i < end; i++) {
        const uint32_t one = key_of(k, &r->at[i]);
        if (one >> shift == digit) key[n++] = one;
    }
    return n;
}

static int collect_keys(const range *r, const keys *k, int shift, uint32_t digit, int threads, uint32_t *key)
{
    int part[MOST_THREADS], n;
    IN_CHUNKS(r->n, threads, part[t] = collect_chunk(r, k, shift, digit, first, end, key + first));
    n = part[0];
    for (int t = 1; t < threads; n += part[t++])
        memmove(key + n, key + fe_chunk(r->n, t, threads), (size_t)part[t] * sizeof *key);
    return n;
}

/* Items whose key is below this one go to the left, and the first `equal` of those with the same key. */
typedef struct cut {
    uint32_t key;
    int equal;
} cut;

/* The cut that leaves `left` items on the left. The key is their number `left` in ascending order, found
 * digit by digit. */
static cut find_cut(const range *r, const keys *k, int left, int threads)
{
    uint32_t *key = (uint32_t *)r->to;
    int count[MOST_BINS], shift = after_digit(k, k->bits);
    count_first_digits(r, k, shift, threads, count);
    int n = collect_keys(r, k, shift, find_digit(count, &left), threads, key);
    while (shift > 0) {
        const int next = after_digit(k, shift);
        const uint32_t rest = (UINT32_C(1) << shift) - 1;
        memset(count, 0, sizeof *count << k->digit);
        for (int i = 0; i < n; i++) count[(key[i] & rest) >> next]++;
        const uint32_t digit = find_digit(count, &left);
        int kept = 0;
        for (int i = 0; i < n; i++)
            if ((key[i] & rest) >> next == digit) key[kept++] = key[i];
        n = kept, shift = next;
    }
    return (cut){*key, left};
}

/* --- cutting ---------------------------------------------------------------------------------------------
 */

/* Items of a chunk whose keys are below that of the cut, and those with the same key. */
typedef struct sides {
    int below, equal;
} sides;
static sides count_sides(const range *r, const keys *k, cut at, int first, int end)
{
    sides n = {0};
    for (int i = first; i < end; i++) {
        const uint32_t key = key_of(k, &r->at[i]);
        n.below += key < at.key, n.equal += key == at.key;
    }
    return n;
}

/* Moves items [first, end) to the places from `left` on, and from `right` on. */
static void move_chunk(const range *r, const keys *k, cut at, int first, int end, int left, int right)
{
    const item *from = r->at;
    item *to = r->to;
    const keys here = *k; /* a copy: what is written below might change *k */
    for (int i = first; i < end; i++) {
        const uint32_t key = key_of(&here, &from[i]);
        const int same = key == at.key, goes_left = (key < at.key) | (same & (at.equal > 0));
        at.equal -= same;
        to[right ^ ((left ^ right) & -goes_left)] =
            from[i]; /* ?: would be a branch that cannot be predicted */
        left += goes_left, right += !goes_left;
    }
}

/* Moves `left` items of the range to the first places of the other array, the rest behind them. */
static void move_items(const range *r, const keys *k, cut at, int left, int threads)
{
    sides side[MOST_THREADS];
    int place[MOST_THREADS], equal[MOST_THREADS], n = 0;
    if (threads == 1) {
        move_chunk(r, k, at, 0, r->n, 0, left);
        return;
    }
    IN_CHUNKS(r->n, threads, side[t] = count_sides(r, k, at, first, end));
    for (int t = 0, rest = at.equal; t < threads; t++) {
        const int taken = side[t].equal < rest ? side[t].equal : rest;
        place[t] = n, equal[t] = rest;
        n += side[t].below + taken, rest -= taken;
    }
    IN_CHUNKS(r->n, threads,
              move_chunk(r, k, ((cut){at.key, equal[t]}), first, end, place[t], left + first - place[t]));
}

/* Cuts a range into two of whole pieces, whose items are then in the other array. */
static void halve(const range *r, int most, int threads, range half[2])
{
    const int n_piece = (r->n + most - 1) / most, left = n_piece / 2 * most;
    const keys k = keys_of(r, threads);
    move_items(r, &k, find_cut(r, &k, left, threads), left, threads);
    half[0] = (range){r->to, r->at, left};
    half[1] = (range){r->to + left, r->at + left, r->n - left};
}

/* Cuts a range into pieces, and writes their items to order. */
static void cut_range(range r, int most, int *order)
{
    range half[2];
    while (r.n > most) {
        halve(&r, most, 1, half);
        cut_range(half[0], most, order);
        order += half[0].n, r = half[1];
    }
    for (int i = 0; i < r.n; i++) order[i] = r.at[i].index;
}

/* Large ranges are cut one after the other, by all threads; then each thread cuts ranges of its own. Both
 * halves of a range have at least a third of it, except where the last piece is one of them: far fewer than
 * MOST_RANGES. */
static void cut_all(range all, int most, int threads, int *order)
{
    const int share = all.n / threads / 8, small = share > SHARED ? share : SHARED;
    range ranges[MOST_RANGES] = {all};
    int first[MOST_RANGES], n = 1;
    for (int i = 0; i < n;) {
        if (ranges[i].n <= small || ranges[i].n <= most) {
            i++;
            continue;
        }
        range half[2];
        halve(&ranges[i], most, threads, half);
        memmove(ranges + i + 1, ranges + i, sizeof *ranges * (size_t)(n++ - i));
        memcpy(ranges + i, half, sizeof half);
    }
    for (int i = 0, next = 0; i < n; next += ranges[i++].n) first[i] = next;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (int i = 0; i < n; i++) cut_range(ranges[i], most, order + first[i]);
}

/* --- items -----------------------------------------------------------------------------------------------
 */

typedef struct cube {
    double low[3], side;
} cube;
static cube cube_around(const double *centre, const int *order, int n, int threads)
{
    double l0 = INFINITY, l1 = INFINITY, l2 = INFINITY, h0 = -INFINITY, h1 = -INFINITY, h2 = -INFINITY;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(min                                 \
                                                                         : l0, l1, l2)                       \
    reduction(max                                                                                            \
              : h0, h1, h2) if (threads > 1)
    for (int i = 0; i < n; i++) {
        const double *x = centre + 3 * (size_t)order[i];
        l0 = x[0] < l0 ? x[0] : l0, l1 = x[1] < l1 ? x[1] : l1, l2 = x[2] < l2 ? x[2] : l2;
        h0 = x[0] > h0 ? x[0] : h0, h1 = x[1] > h1 ? x[1] : h1, h2 = x[2] > h2 ? x[2] : h2;
    }
    return (cube){{l0, l1, l2}, fmax(h0 - l0, fmax(h1 - l1, h2 - l2))};
}

static void make_items(const double *centre, const int *order, int n, int threads, item *items)
{
    const cube all = cube_around(centre, order, n, threads);
    int exponent;
    frexp(all.side, &exponent); /* side < 2^exponent */
    const double scale = ldexp(1.0, 32 - exponent);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int i = 0; i < n; i++) {
        const double *x = centre + 3 * (size_t)order[i];
        for (int c = 0; c < 3; c++) items[i].x[c] = (uint32_t)((x[c] - all.low[c]) * scale);
        items[i].index = order[i];
    }
}

fe_status fe_bisect(const double *centre, int *order, int n, int most, int threads)
{
    item few[2 * FEW], *items = few;
    if (n <= most) return FE_OK;
    if (n > FEW) FE_TRY(fe_reserve(2 * (size_t)n, sizeof *items, "bisection", (void **)&items));
    if (threads > MOST_THREADS) threads = MOST_THREADS;
    make_items(centre, order, n, threads, items);
    const range all = {items, items + n, n};
    if (threads == 1)
        cut_range(all, most, order);
    else
        cut_all(all, most, threads, order);
    if (items != few) free(items);
    return FE_OK;
}
