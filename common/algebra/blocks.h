/* Symmetric 3×3 diagonal blocks, one body for both backends. */
#ifndef FE_BLOCKS_H
#define FE_BLOCKS_H

#include "common/base/fe.h"

/* Replaces row and column of component c by those of the identity. */
FE_BOTH void fe_block_constrain(double *b, int c)
{
    for (int i = 0; i < 3; i++) b[3 * c + i] = b[3 * i + c] = i == c ? 1.0 : 0.0;
}

/* Inverse in place; a singular block becomes the identity, which leaves its rows unscaled. */
FE_BOTH void fe_block_invert(double *b)
{
    const double a00 = b[4] * b[8] - b[5] * b[7], a01 = b[5] * b[6] - b[3] * b[8],
                 a02 = b[3] * b[7] - b[4] * b[6];
    const double det = b[0] * a00 + b[1] * a01 + b[2] * a02;
    const double inverse[9] = {a00, b[2] * b[7] - b[1] * b[8], b[1] * b[5] - b[2] * b[4],
                               a01, b[0] * b[8] - b[2] * b[6], b[2] * b[3] - b[0] * b[5],
                               a02, b[1] * b[6] - b[0] * b[7], b[0] * b[4] - b[1] * b[3]};
    for (int i = 0; i < 9; i++) b[i] = det != 0.0 ? inverse[i] / det : i % 4 == 0 ? 1.0 : 0.0;
}

FE_BOTH void fe_block_apply(const double *b, const double *x, double *y)
{
    for (int i = 0; i < 3; i++) y[i] = b[3 * i] * x[0] + b[3 * i + 1] * x[1] + b[3 * i + 2] * x[2];
}

#endif
