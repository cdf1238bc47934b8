/* The order in which threads take rows, so that a warp's rows are equally long. */
#ifndef FE_ROW_ORDER_H
#define FE_ROW_ORDER_H

#include "common/problem/state.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rows are sorted within windows of so many, so that neighbours stay close in memory (SELL-C-sigma: Kreutzer
 * et al. 2014). */
enum { FE_ROW_WINDOW = 128 };

/* row [n_owned]: those of the interior, then those of the border, the longest of each window first. `lanes`
 * threads share a row, so rows with equally many rounds of them are equally long; these keep their order.
 * corner_first: the view's, in host memory. */
void fe_rows_by_length(const fe_view *m, const int *corner_first, int lanes, int *row);

/* The same from the view itself, in backend memory. */
fe_status fe_rows_by_length_open(const fe_problem *p, int lanes, const int **row);

#ifdef __cplusplus
}
#endif
#endif
