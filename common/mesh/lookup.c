/* Open addressing with linear probing, at most half full. */
#include "common/mesh/lookup.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

/* A random number of this process: no file can be made so that all its tags collide. What the tables find
 * does not depend on it. */
static uint64_t seed_of_process(void)
{
    uint64_t seed = 0;
    const void *random = (const void *)getauxval(AT_RANDOM);
    if (random) memcpy(&seed, random, sizeof seed);
    return seed;
}

static uint64_t hash_of(uint64_t word, uint64_t seed) { return fe_mix(fe_mix(word) ^ seed); }

/* Smallest 2^k - 1 that leaves half of the slots free. */
static uint32_t mask_for(int n)
{
    uint32_t size = 16;
    while (size < 2 * (uint32_t)n && size < 1u << 31) size *= 2;
    return size - 1;
}

static int counts_up(const int64_t *tag, int n)
{
    for (int i = 1; i < n; ++i)
        if (tag[i - 1] == INT64_MAX || tag[i] != tag[i - 1] + 1) return 0;
    return 1;
}

fe_status fe_tag_map_open(fe_tag_map *map, const int64_t *tag, int n, int *repeated)
{
    *map = (fe_tag_map){.tag = tag, .n = n, .mask = mask_for(n), .seed = seed_of_process()};
    *repeated = -1;
    if (counts_up(tag, n)) return FE_OK;
    FE_ALLOCATE(map->slot, (size_t)map->mask + 1, "table of tags");
    for (int i = 0; i < n; ++i) {
        uint32_t s = (uint32_t)hash_of((uint64_t)tag[i], map->seed) & map->mask;
        while (map->slot[s] && tag[map->slot[s] - 1] != tag[i]) s = (s + 1) & map->mask;
        if (map->slot[s] && *repeated < 0) *repeated = i;
        if (!map->slot[s]) map->slot[s] = i + 1;
    }
    return FE_OK;
}

void fe_tag_map_close(fe_tag_map *map)
{
    free(map->slot);
    *map = (fe_tag_map){0};
}

int fe_tag_find(const fe_tag_map *map, int64_t tag)
{
    if (!map->slot) {
        if (map->n == 0 || tag < map->tag[0] || tag > map->tag[map->n - 1]) return -1;
        return (int)(tag - map->tag[0]);
    }
    uint32_t s = (uint32_t)hash_of((uint64_t)tag, map->seed) & map->mask;
    while (map->slot[s] && map->tag[map->slot[s] - 1] != tag) s = (s + 1) & map->mask;
    return map->slot[s] - 1;
}

static void sorted_row(const int *row, int width, int *sorted)
{
    for (int a = 0; a < width; ++a) {
        int b = a;
        for (; b > 0 && sorted[b - 1] > row[a]; --b) sorted[b] = sorted[b - 1];
        sorted[b] = row[a];
    }
}

static int same_nodes(const int *p, const int *q, int width)
{
    int a[FE_MOST_CORNERS], b[FE_MOST_CORNERS];
    sorted_row(p, width, a);
    sorted_row(q, width, b);
    return memcmp(a, b, (size_t)width * sizeof *a) == 0;
}

typedef struct slot {
    uint32_t hash;
    int row; /* + 1, 0 where free */
} slot;

fe_status fe_first_rows(const int *row, int width, int n, int *first)
{
    const uint32_t mask = mask_for(n);
    const uint64_t seed = seed_of_process();
    slot *table = NULL;
    FE_ALLOCATE(table, (size_t)mask + 1, "table of elements");
    for (int i = 0; i < n; ++i) {
        const int *mine = row + (size_t)i * width;
        uint64_t sum = 0; /* a sum does not know the order of the nodes */
        for (int a = 0; a < width; ++a) sum += hash_of((uint64_t)(int64_t)mine[a], seed);
        const uint64_t mixed = fe_mix(sum);
        const uint32_t hash = (uint32_t)(mixed >> 32);
        uint32_t s = (uint32_t)mixed & mask;
        while (table[s].row &&
               !(table[s].hash == hash && same_nodes(row + (size_t)(table[s].row - 1) * width, mine, width)))
            s = (s + 1) & mask;
        if (!table[s].row) table[s] = (slot){hash, i + 1};
        first[i] = table[s].row - 1;
    }
    free(table);
    return FE_OK;
}
