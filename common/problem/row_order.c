/* The order in which threads take rows. */
#include "common/problem/row_order.h"
#include "common/backend/device.h"

#include <stdlib.h>

/* A row's rounds, most of them first, and its place. */
typedef struct item {
    int rounds, row;
} item;

static int compare(const void *p, const void *q)
{
    const item *a = p, *b = q;
    if (a->rounds != b->rounds) return a->rounds > b->rounds ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

static void sort_window(const int *corner_first, int lanes, int first, int last, int *row)
{
    item items[FE_ROW_WINDOW];
    const int n = last - first;
    for (int i = 0; i < n; i++) {
        const int length = corner_first[first + i + 1] - corner_first[first + i];
        items[i] = (item){(length + lanes - 1) / lanes, first + i};
    }
    qsort(items, (size_t)n, sizeof *items, compare);
    for (int i = 0; i < n; i++) row[first + i] = items[i].row;
}

static void sort_part(const fe_view *m, fe_part part, const int *corner_first, int lanes, int *row)
{
    int first, last;
    fe_part_nodes(m, part, &first, &last);
#pragma omp parallel for schedule(static)
    for (int i = first; i < last; i += FE_ROW_WINDOW)
        sort_window(corner_first, lanes, i, i + FE_ROW_WINDOW < last ? i + FE_ROW_WINDOW : last, row);
}

void fe_rows_by_length(const fe_view *m, const int *corner_first, int lanes, int *row)
{
    sort_part(m, FE_INTERIOR, corner_first, lanes, row);
    sort_part(m, FE_BORDER, corner_first, lanes, row);
    if (getenv("FE_NO_WINDOW"))
        for (int i = 0; i < m->n_owned; i++) row[i] = i;
}

static fe_status sort_and_upload(const fe_problem *p, int lanes, int *first, int *order, const int **row)
{
    const fe_view *m = &p->view;
    fe_device *d = p->device;
    FE_TRY(d->ops->memory.download(d, ((size_t)m->n_owned + 1) * sizeof *first, m->corner_first, first));
    fe_rows_by_length(m, first, lanes, order);
    FE_TRY(fe_device_upload(d, (size_t)m->n_owned, sizeof *order, order, "order of rows", (void **)row));
    return d->ops->wait(d);
}

fe_status fe_rows_by_length_open(const fe_problem *p, int lanes, const int **row)
{
    int *first = NULL, *order = NULL;
    FE_RESERVE(first, p->view.n_owned + 1, "order of rows");
    fe_status status = fe_reserve((size_t)p->view.n_owned, sizeof *order, "order of rows", (void **)&order);
    if (status == FE_OK) status = sort_and_upload(p, lanes, first, order, row);
    free(first), free(order);
    return status;
}
