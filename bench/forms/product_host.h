/* The product of rows on the host, for all forms, as in variants/assembled_symmetric/host.c. */
#ifndef BENCH_FORMS_PRODUCT_HOST_H
#define BENCH_FORMS_PRODUCT_HOST_H

#include "bench/forms/forms.h"
#include "common/backend/device.h"
#include "common/problem/loops.h"

enum { SLICE = BSR_LINE_ROWS };

/* Of FE_LANES rows from `first` on those in [from, last). GATHER: y of these rows becomes their sums, and the
 * transposed products are stored where the list says. COLORS, where it is NULL: both are added, because no
 * other row that is computed at the same time adds to these rows. */
FE_BODY void form_rows_product(const bsr_rows *r, const form_list *list, fe_scalar *product, int n_owned,
                               int first, int from, int last, const fe_number *direction, fe_number *y)
{
    const int gathers = list != NULL;
    const int begin = from > first ? from - first : 0,
              end = last - first < FE_LANES ? last - first : FE_LANES;
    const fe_index node = bsr_nodes_from(r, first), lanes = fe_lanes_from(first % SLICE);
    fe_real own[3], sum[3];
    fe_read3(direction, node, own);
    FE_UNROLL_FOR (int c = 0; c < 3; c++) sum[c] = fe_splat(0.0f);
    for (int place = r->first[first / SLICE]; place < r->first[first / SLICE + 1]; place++) {
        const size_t at = bsr_column_at(r, place, 0);
        const fe_index column = fe_read_index(r->column, lanes, at);
        fe_real x[3], K[9], back[3];
        if (FE_PRECISION == FE_MIXED)
            fe_read3_from(direction, column, node, x);
        else
            fe_read3(direction, column, x);
        FE_UNROLL_FOR (int c = 0; c < 9; c++) K[c] = fe_read(r->value, lanes, bsr_value_at(r, place, c, 0));
        FE_UNROLL_FOR (int c = 0; c < 3; c++)
            FE_UNROLL_FOR (int k = 0; k < 3; k++) sum[c] += K[3 * c + k] * x[k];
        FE_UNROLL_FOR (int k = 0; k < 3; k++)
            back[k] = FE_PRECISION == FE_MIXED ? -(K[k] * x[0] + K[3 + k] * x[1] + K[6 + k] * x[2])
                                               : K[k] * own[0] + K[3 + k] * own[1] + K[6 + k] * own[2];
        for (int l = begin; l < end; l++) {
            const int j = column.lane[l];
            if (j == node.lane[l] || j >= n_owned) continue;
            if (gathers)
                for (int k = 0; k < 3; k++)
                    product[3 * (size_t)list->to[at + (size_t)lanes.lane[l]] + k] = back[k][l];
            else
                for (int k = 0; k < 3; k++) y[3 * (size_t)j + k] += back[k][l];
        }
    }
    for (int l = begin; l < end; l++)
        for (int k = 0; k < 3; k++) {
            fe_number *to = y + 3 * (size_t)node.lane[l] + k;
            *to = gathers ? sum[k][l] : *to + sum[k][l];
        }
}

#endif
