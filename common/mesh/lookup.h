/* Hash tables of the mesh code: tag → index, and rows of nodes that hold the same set. */
#ifndef FE_LOOKUP_H
#define FE_LOOKUP_H

#include "common/base/fe.h"

/* Index of each of n tags. Tags that count up by one need no table (slot stays NULL). */
typedef struct fe_tag_map {
    const int64_t *tag; /* [n], the caller's */
    int n;
    uint32_t mask;
    uint64_t seed;
    int *slot; /* [mask + 1] index + 1, 0 where free */
} fe_tag_map;

/* *repeated becomes the index of a tag that occurred before, -1 where all differ. */
fe_status fe_tag_map_open(fe_tag_map *map, const int64_t *tag, int n, int *repeated);
void fe_tag_map_close(fe_tag_map *map);
/* Index of a tag, -1 where it is not there. */
int fe_tag_find(const fe_tag_map *map, int64_t tag);

/* first [n]: the lowest row that holds the same nodes as row i, in any order; i itself where there is none
 * before. row [n][width], width <= FE_MOST_CORNERS. */
fe_status fe_first_rows(const int *row, int width, int n, int *first);

#endif
