/* Compact pieces of a mesh by recursive coordinate bisection. */
#ifndef FE_BISECT_H
#define FE_BISECT_H

#include "common/base/fe.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Elements of a compact piece in the order `bisection` and in the shares of such a mesh: 4 × 4 × 8 cells of a
 * box of Hex8, 60 cells of six Tet4. Pieces of quadratic elements have about as many nodes: 2 × 2 × 4 cells
 * of Hex27, 64 Tet10. */
#define FE_PIECE_ELEMENTS(kind)                                                                              \
    (FE_CORNERS(kind) == 8 ? 128 : FE_CORNERS(kind) == 4 ? 360 : FE_CORNERS(kind) == 27 ? 16 : 64)
FE_BOTH int fe_piece_elements(int kind) { return FE_PIECE_ELEMENTS(kind); }

/* Sorts order [n], items at centre [item][3], into compact pieces of `most` consecutive items; only the last
 * piece may be smaller. Each cut is across the longest side and leaves whole pieces on both sides (Berger,
 * Bokhari 1987). Within a piece, items keep their order; of items at the same place the first ones go to the
 * first piece. Coordinates are compared in steps of at most 2^-31 of the longest side of all items. The
 * result does not depend on `threads`. */
fe_status fe_bisect(const double *centre, int *order, int n, int most, int threads);

#ifdef __cplusplus
}
#endif
#endif
