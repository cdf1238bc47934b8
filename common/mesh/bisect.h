/* Compact pieces of a mesh by recursive coordinate bisection. */
#ifndef FE_BISECT_H
#define FE_BISECT_H

#include "common/base/fe.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Elements of a compact piece in the order `bisection` and in the shares of such a mesh: 4 × 4 × 8 cells of a
 * box of Hex8, 60 cells of six Tet4. */
#define FE_PIECE_ELEMENTS(kind) (FE_CORNERS(kind) == 8 ? 128 : 360)
FE_BOTH int fe_piece_elements(int kind) { return FE_PIECE_ELEMENTS(kind); }

/* Sorts order [n], items at centre [item][3], so that each `most` items that follow each other are compact;
 * only the last piece may be smaller. Halves are cut across the longest side, always to whole pieces (Berger,
 * Bokhari 1987). In a piece items ascend. `threads` share the work; the result does not depend on them. */
void fe_bisect(const double *centre, int *order, int n, int most, int threads);

#ifdef __cplusplus
}
#endif
#endif
