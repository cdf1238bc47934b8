/* The structure of a matrix in host memory. */
#include "bench/forms/forms.h"
#include "common/backend/device.h"

#include <stdlib.h>

static fe_status download(const fe_problem *p, size_t n, const int *from, int **to)
{
    FE_RESERVE(*to, n, "matrix");
    return p->device->ops->memory.download(p->device, n * sizeof **to, from, *to);
}

fe_status form_rows_read(const fe_problem *p, const bsr_rows *r, form_rows *rows)
{
    *rows = (form_rows){.r = r, .slice = 1 << r->shift};
    rows->n_slice = (r->n_row + rows->slice - 1) / rows->slice;
    if (r->n_row == 0) return FE_OK;
    FE_TRY(download(p, (size_t)r->n_row, r->node, &rows->node));
    FE_TRY(download(p, (size_t)rows->n_slice + 1, r->first, &rows->first));
    FE_TRY(download(p, (size_t)r->n_place * rows->slice, r->column, &rows->column));
    FE_RESERVE(rows->at, r->n_row, "matrix");
    for (int i = 0; i < r->n_row; i++) rows->at[rows->node[i] - r->row] = i;
    return FE_OK;
}

void form_rows_close(form_rows *rows)
{
    free(rows->node), free(rows->first), free(rows->column), free(rows->at);
    *rows = (form_rows){0};
}
