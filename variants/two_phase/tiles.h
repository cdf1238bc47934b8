/* What two_phase keeps: stresses, and on the device tiles of rows. */
#ifndef TWO_PHASE_TILES_H
#define TWO_PHASE_TILES_H

#include "common/variant.h"

/* On the device rows that follow each other are gathered together, as a tile: the elements at them are read
 * once for all of the tile's rows. A row with more corners than a tile has places for is gathered by itself.
 */
enum { TWO_PHASE_PLACES = 1024, TWO_PHASE_NO_PLACE = 0xffff };
typedef struct two_phase_tile {
    int row, n_row;
    int first_corner; /* of its first row, in the view's `corner` */
    int elem, n_elem; /* of tile_elem */
} two_phase_tile;

typedef struct two_phase {
    fe_scalar *value;           /* [ld × 9 × n_point]; the diagonal needs all nine, whatever is stored */
    const two_phase_tile *tile; /* what follows: on the device alone */
    const int *tile_elem;       /* elements of each tile */
    const uint16_t *place;      /* [tile_elem][n_corner] of a corner in its tile, or TWO_PHASE_NO_PLACE */
    const int *long_row;
    int first_tile[3], first_long[3]; /* of both parts, and how many there are */
} two_phase;

/* Where number k of a tile's corners stands: one place in nine is empty, against bank conflicts. */
FE_BOTH int two_phase_skewed(int k) { return k + k / 8; }

#ifdef __cplusplus
extern "C" {
#endif
/* Cuts the rows into tiles. w: zeros. */
fe_status two_phase_open_tiles(const fe_problem *p, two_phase *w);
#ifdef __cplusplus
}
#endif

#endif
