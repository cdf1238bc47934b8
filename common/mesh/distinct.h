/* Short lists of numbers without repetitions. */
#ifndef FE_DISTINCT_H
#define FE_DISTINCT_H

#include <string.h>

enum { FE_DISTINCT_MOST = 1 << 11 };

/* Keeps the first of equal numbers, none of them negative, among number [n], n <= FE_DISTINCT_MOST. Returns
 * how many are left. By a hash table that is at most half full. */
static inline int fe_distinct(int *number, int n)
{
    int table[2 * FE_DISTINCT_MOST], bits = 6, count = 0;
    while (1 << bits < 2 * n) ++bits;
    memset(table, -1, sizeof *table << bits);
    for (int i = 0; i < n; ++i) {
        const int item = number[i];
        unsigned at = (unsigned)item * 2654435769u >> (32 - bits);
        while (table[at] >= 0 && table[at] != item) at = (at + 1) & ((1u << bits) - 1);
        if (table[at] >= 0) continue;
        table[at] = item;
        number[count++] = item;
    }
    return count;
}

#endif
