/* The product of a row on the device, for all forms, as in variants/assembled_symmetric/cuda.cu. */
#ifndef BENCH_FORMS_PRODUCT_CUDA_H
#define BENCH_FORMS_PRODUCT_CUDA_H

#include "bench/forms/forms.h"
#include "common/physics/lanes.h"
#include "common/problem/kernels.h"

enum { SLICE = 32, BLOCK_SIZE = 128 };

/* use(y + 3 to + c, f[c]) for each lane with to >= 0 and each component c, called by all lanes of a warp at
 * once, components of a row side by side as in fe_add3_together (common/physics/lanes.h), which adds
 * atomically. */
template <typename number, typename function>
FE_BODY void form_each_together(number *y, int to, const fe_real f[3], function use)
{
    const int lane = fe_lane();
    fe_real sent[3];
    FE_UNROLL_FOR (int c = 0; c < 3; c++) {
        const int round = (2 * c + lane) % 3; /* in which component c of a lane arrives here */
        sent[c] = __shfl_sync(0xffffffffu, f[c], (FE_WARP * round + lane - c) / 3);
    }
    FE_UNROLL_FOR (int i = 0; i < 3; i++) {
        const int k = FE_WARP * i + lane, c = k % 3, row = __shfl_sync(0xffffffffu, to, k / 3);
        if (row >= 0) use(y + 3 * (size_t)row + c, (number)(c == 0 ? sent[0] : c == 1 ? sent[1] : sent[2]));
    }
}

/* Row i, called by all lanes of its slice; those past the last row, or whose row is not asked for, only help
 * to add. give(to, at, back) for each block: its transposed product, the row that this is added to, and where
 * the block stands among the columns; at last add(to, sum). `to` is -1 where nothing is to be added: rows of
 * ghosts are another rank's, which has their blocks. In mixed precision both products are those with
 * differences, taken before they are rounded: a translation gives no force. */
template <typename giving, typename adding>
FE_BODY void form_row_product(const bsr_rows *r, int n_owned, int i, bool is_asked,
                              const fe_number *__restrict__ direction, giving give, adding add)
{
    const int slice = i / SLICE, lane = i % SLICE;
    const bool from = FE_PRECISION == FE_MIXED, lasting = is_asked && i < r->n_row;
    const int node = r->node[lasting ? i : r->n_row - 1], first = r->first[slice], end = r->first[slice + 1];
    const int *__restrict__ column = r->column + (size_t)first * SLICE + lane;
    const fe_scalar *__restrict__ value = r->value + 9 * (size_t)first * SLICE + lane;
    fe_real own[3], sum[3] = {0.0f, 0.0f, 0.0f};
    fe_read3(direction, node, own);
#pragma unroll 2
    for (int place = first; place < end; place++) {
        const int j = __ldcs(column);
        fe_real x[3], K[9], back[3];
        if (from)
            fe_read3_from(direction, j, node, x);
        else
            fe_read3(direction, j, x);
        FE_UNROLL_FOR (int c = 0; c < 9; c++) K[c] = __ldcs(value + c * SLICE);
        FE_UNROLL_FOR (int c = 0; c < 3; c++)
            FE_UNROLL_FOR (int k = 0; k < 3; k++) sum[c] += K[3 * c + k] * x[k];
        FE_UNROLL_FOR (int k = 0; k < 3; k++) {
            const fe_real a = from ? -x[0] : own[0], b = from ? -x[1] : own[1], c = from ? -x[2] : own[2];
            back[k] = K[k] * a + K[3 + k] * b + K[6 + k] * c;
        }
        give(lasting && j != node && j < n_owned ? j : -1, column - r->column, back);
        column += SLICE, value += 9 * SLICE;
    }
    add(lasting ? node : -1, sum);
}

#endif
