/* Symmetric 3×3 diagonal blocks, one body for both backends. */
#ifndef FE_BLOCKS_H
#define FE_BLOCKS_H

#include "common/base/fe.h"

#include <math.h>

/* Replaces row and column of component c by those of the identity. */
FE_BOTH void fe_block_constrain(double *b, int c)
{
    for (int i = 0; i < 3; i++) b[3 * c + i] = b[3 * i + c] = i == c ? 1.0 : 0.0;
}

/* scale × inverse as xx yy zz xy yz xz; a singular block becomes the identity, which leaves its rows
 * unscaled.
 */
FE_BOTH void fe_block_invert(const double *b, double scale, float six[6])
{
    const double a00 = b[4] * b[8] - b[5] * b[7], a01 = b[5] * b[6] - b[3] * b[8],
                 a02 = b[3] * b[7] - b[4] * b[6];
    const double det = b[0] * a00 + b[1] * a01 + b[2] * a02, factor = scale / det;
    const double inverse[6] = {a00,
                               b[0] * b[8] - b[2] * b[6],
                               b[0] * b[4] - b[1] * b[3],
                               b[2] * b[7] - b[1] * b[8],
                               b[2] * b[3] - b[0] * b[5],
                               b[1] * b[5] - b[2] * b[4]};
    for (int i = 0; i < 6; i++) six[i] = (float)(det != 0.0 ? factor * inverse[i] : i < 3 ? 1.0 : 0.0);
}

/* y = |B| |x|, entry by entry */
FE_BOTH void fe_block_apply_absolute(const double *b, const double *x, double *y)
{
    for (int i = 0; i < 3; i++)
        y[i] =
            fabs(b[3 * i]) * fabs(x[0]) + fabs(b[3 * i + 1]) * fabs(x[1]) + fabs(b[3 * i + 2]) * fabs(x[2]);
}

FE_BOTH void fe_block_apply(const float *six, const double *x, double *y)
{
    y[0] = (double)six[0] * x[0] + (double)six[3] * x[1] + (double)six[5] * x[2];
    y[1] = (double)six[3] * x[0] + (double)six[1] * x[1] + (double)six[4] * x[2];
    y[2] = (double)six[5] * x[0] + (double)six[4] * x[1] + (double)six[2] * x[2];
}

#endif
