/* Where the transposed products of GATHER are stored. Runs once, on the host. */
#include "common/backend/device.h"
#include "common/base/sort.h"
#include "variants/assembled_symmetric/forms.h"

#include <stdlib.h>
#include <string.h>

/* A part of the matrix in host memory, and its list. */
typedef struct rows {
    const bsr_rows *r;
    int slice, n_slice;
    int *node, *first, *column; /* see bsr_rows */
    struct {
        int *to, *node, *first;
    } list; /* see symmetric_list */
} rows;

typedef struct draft {
    fe_device *device;
    int n_owned;
    int *row;   /* [n_owned] of each node in its part */
    int *count; /* [n_owned] products that each node gathers */
    int *start; /* [n_owned] where its next product is stored */
    rows part[2];
} draft;

static fe_status download(const draft *k, size_t n, const int *from, int **to)
{
    FE_RESERVE(*to, n, "products");
    return k->device->ops->memory.download(k->device, n * sizeof **to, from, *to);
}

static fe_status read_rows(draft *k, const bsr_rows *r, rows *s)
{
    s->r = r, s->slice = 1 << r->shift, s->n_slice = (r->n_row + s->slice - 1) / s->slice;
    if (r->n_row == 0) return FE_OK;
    FE_TRY(download(k, (size_t)r->n_row, r->node, &s->node));
    FE_TRY(download(k, (size_t)s->n_slice + 1, r->first, &s->first));
    FE_TRY(download(k, (size_t)r->n_place * s->slice, r->column, &s->column));
    for (int i = 0; i < r->n_row; i++) k->row[s->node[i]] = i;
    return FE_OK;
}

/* Whether the product of row i's block at `at` of the columns goes to another row. */
static int is_given(const draft *k, const rows *s, int i, size_t at)
{
    return s->column[at] != s->node[i] && s->column[at] < k->n_owned;
}

static void count_products(draft *k, const rows *s)
{
    for (int i = 0; i < s->r->n_row; i++)
        for (int place = s->first[i / s->slice]; place < s->first[i / s->slice + 1]; place++) {
            const size_t at = bsr_column_at(s->r, place, i % s->slice);
            if (is_given(k, s, i, at)) k->count[s->column[at]]++;
        }
}

/* The order in which rows gather, and the places of their slices from *n_place on. */
static fe_status order_rows(draft *k, rows *s, int *n_place)
{
    uint64_t *word = NULL;
    const int n = s->r->n_row, row = s->r->row;
    int most = 0;
    int64_t places = *n_place;
    FE_RESERVE(s->list.node, n, "products");
    FE_RESERVE(s->list.first, (size_t)s->n_slice + 1, "products");
    FE_RESERVE(word, n, "products");
    for (int i = 0; i < n; i++)
        if (k->count[row + i] > most) most = k->count[row + i];
    for (int i = 0; i < n; i++)
        word[i] = fe_word_of((uint32_t)(i / BSR_WINDOW * (most + 1) + most - k->count[row + i]), i);
    const fe_status status = fe_sort_words(word, n, fe_device_host_threads(k->device));
    for (int i = 0; i < n; i++) s->list.node[i] = row + fe_item_of(word[i]);
    free(word);
    FE_TRY(status);
    for (int i = 0; i < n; i += s->slice) {
        int widest = 0;
        for (int l = i; l < n && l < i + s->slice; l++) {
            k->start[s->list.node[l]] = (int)places * s->slice + l - i;
            if (k->count[s->list.node[l]] > widest) widest = k->count[s->list.node[l]];
        }
        s->list.first[i / s->slice] = (int)places;
        places += widest;
        if (places * s->slice > INT32_MAX)
            return fe_fail(FE_BAD_INPUT,
                           "assembled_symmetric: more than %d products on one rank; use more ranks",
                           INT32_MAX);
    }
    s->list.first[s->n_slice] = *n_place = (int)places;
    return FE_OK;
}

/* By ascending nodes, from which the products come. */
static fe_status place_products(draft *k, rows *s)
{
    const size_t n = (size_t)s->r->n_place * s->slice;
    FE_RESERVE(s->list.to, n, "products");
    memset(s->list.to, -1, n * sizeof *s->list.to);
    for (int node = s->r->row; node < s->r->row + s->r->n_row; node++) {
        const int i = k->row[node];
        for (int place = s->first[i / s->slice]; place < s->first[i / s->slice + 1]; place++) {
            const size_t at = bsr_column_at(s->r, place, i % s->slice);
            if (!is_given(k, s, i, at)) continue;
            s->list.to[at] = k->start[s->column[at]];
            k->start[s->column[at]] += s->slice;
        }
    }
    return FE_OK;
}

static fe_status upload(const draft *k, const rows *s, fe_part part, symmetric_gather *gather)
{
    symmetric_list *list = &gather->part[part];
    fe_device *d = k->device;
    gather->bytes += (double)sizeof(int) * ((double)s->r->n_place * s->slice + s->r->n_row + s->n_slice);
    FE_TRY(fe_device_upload(d, (size_t)s->r->n_place * s->slice, sizeof(int), s->list.to, "products",
                            (void **)&list->to));
    FE_TRY(fe_device_upload(d, (size_t)s->r->n_row, sizeof(int), s->list.node, "products",
                            (void **)&list->node));
    return fe_device_upload(d, (size_t)s->n_slice + 1, sizeof(int), s->list.first, "products",
                            (void **)&list->first);
}

static fe_status build(draft *k, const bsr_matrix *matrix, symmetric_gather *gather)
{
    FE_ALLOCATE(k->row, k->n_owned, "products");
    FE_ALLOCATE(k->count, k->n_owned, "products");
    FE_ALLOCATE(k->start, k->n_owned, "products");
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++) {
        FE_TRY(read_rows(k, &matrix->part[part], &k->part[part]));
        count_products(k, &k->part[part]);
    }
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++)
        if (matrix->part[part].n_row > 0) FE_TRY(order_rows(k, &k->part[part], &gather->n_place));
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++)
        if (matrix->part[part].n_row > 0) {
            FE_TRY(place_products(k, &k->part[part]));
            FE_TRY(upload(k, &k->part[part], (fe_part)part, gather));
        }
    const size_t n = (size_t)gather->n_place * k->part[FE_INTERIOR].slice;
    gather->bytes += 3.0 * (double)(n * matrix->value_bytes);
    for (int i = 0; i < k->n_owned; i++) gather->bytes += 3.0 * k->count[i] * (double)matrix->value_bytes;
    return fe_device_allocate(k->device, 3 * n, matrix->value_bytes, "products", &gather->product);
}

fe_status symmetric_open_gather(const fe_problem *p, const bsr_matrix *matrix, symmetric_gather *gather)
{
    draft k = {.device = p->device, .n_owned = p->view.n_owned};
    *gather = (symmetric_gather){0};
    const fe_status status = build(&k, matrix, gather);
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++) {
        rows *s = &k.part[part];
        free(s->node), free(s->first), free(s->column);
        free(s->list.to), free(s->list.node), free(s->list.first);
    }
    free(k.row), free(k.count), free(k.start);
    return status;
}
