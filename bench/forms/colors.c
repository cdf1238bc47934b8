/* Colours of the rows for COLORS, and the matrix with its rows sorted by them. Runs once, on the host. */
#include "bench/forms/forms.h"
#include "common/backend/device.h"
#include "common/base/sort.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS = FORM_MOST_COLORS / 64 };
typedef struct set {
    uint64_t word[WORDS];
} set;

/* Of a part; rows as they were. */
typedef struct draft {
    const fe_problem *p;
    form_rows rows;
    set *taken;                      /* [n_owned] colours of the rows that add to each row */
    int *color, *length;             /* [n_row] colours and numbers of blocks of the nodes' rows */
    int count[FORM_MOST_COLORS];     /* rows of each colour */
    int *node, *at, *first, *column; /* sorted: see bsr_rows */
} draft;

/* The first colour that no row has that adds to one of the same rows. A row ends in blocks at its own column,
 * which fill up; its diagonal is its first one. */
static fe_status color_row(draft *k, int row)
{
    const form_rows *s = &k->rows;
    const int i = s->at[row], first = s->first[i / s->slice], end = s->first[i / s->slice + 1];
    const int n_owned = k->p->view.n_owned;
    set taken = {{0}};
    int color = 0;
    for (int place = first; place < end; place++) {
        const int j = s->column[bsr_column_at(s->r, place, i % s->slice)];
        if (j == s->node[i] && place > first) break;
        k->length[row] = place - first + 1;
        for (int w = 0; w < WORDS && j < n_owned; w++) taken.word[w] |= k->taken[j].word[w];
    }
    while (color < FORM_MOST_COLORS && (taken.word[color / 64] >> color % 64 & 1)) color++;
    if (color == FORM_MOST_COLORS)
        return fe_fail(FE_BAD_INPUT, "assembled_symmetric: more than %d colours of rows", FORM_MOST_COLORS);
    for (int place = first; place < first + k->length[row]; place++) {
        const int j = s->column[bsr_column_at(s->r, place, i % s->slice)];
        if (j < n_owned) k->taken[j].word[color / 64] |= (uint64_t)1 << color % 64;
    }
    k->color[row] = color, k->count[color]++;
    return FE_OK;
}

/* By colour, and within BSR_WINDOW rows of a colour by length, the longest row first. */
static fe_status sort_rows(draft *k)
{
    const int n = k->rows.r->n_row, row = k->rows.r->row;
    int next[FORM_MOST_COLORS], windows = 0, most = 0;
    uint64_t *word = NULL;
    FE_RESERVE(word, n, "colours");
    for (int c = 0; c < FORM_MOST_COLORS && k->count[c] > 0; c++)
        next[c] = windows * BSR_WINDOW, windows += (k->count[c] + BSR_WINDOW - 1) / BSR_WINDOW;
    for (int i = 0; i < n; i++)
        if (k->length[i] > most) most = k->length[i];
    for (int i = 0; i < n; i++)
        word[i] = fe_word_of((uint32_t)(next[k->color[i]]++ / BSR_WINDOW * most + most - k->length[i]), i);
    const fe_status status = fe_sort_words(word, n, fe_device_host_threads(k->p->device));
    for (int i = 0; i < n; i++) k->node[i] = row + fe_item_of(word[i]), k->at[k->node[i] - row] = i;
    free(word);
    return status;
}

/* Rows as wide as the longest of their slice; lanes beyond the last row have the part's first row for a
 * column, as in matrix.c. */
static fe_status fill_rows(draft *k, int *n_place)
{
    const form_rows *s = &k->rows;
    const int n = s->r->n_row, row = s->r->row;
    FE_RESERVE(k->first, (size_t)s->n_slice + 1, "colours");
    *n_place = 0;
    for (int i = 0, widest = 0; i < n; i++) {
        if (i % s->slice == 0) widest = 0, k->first[i / s->slice] = *n_place;
        const int length = k->length[k->node[i] - row];
        if (length > widest) *n_place += length - widest, widest = length;
    }
    k->first[s->n_slice] = *n_place;
    FE_RESERVE(k->column, (size_t)*n_place * s->slice, "colours");
    for (int i = 0; i < s->n_slice * s->slice; i++) {
        const int node = i < n ? k->node[i] : row, length = i < n ? k->length[node - row] : 0,
                  old = s->at[node - row];
        for (int place = k->first[i / s->slice], b = 0; place < k->first[i / s->slice + 1]; place++, b++)
            k->column[bsr_column_at(s->r, place, i % s->slice)] =
                b < length ? s->column[bsr_column_at(s->r, s->first[old / s->slice] + b, old % s->slice)]
                           : node;
    }
    return FE_OK;
}

/* The sorted rows take the place of those that they were, whose memory is released. */
static fe_status replace(draft *k, int n_place, size_t value_bytes, bsr_rows *r)
{
    fe_device *d = k->p->device;
    const form_rows *s = &k->rows;
    const size_t n_row = (size_t)r->n_row, n = (size_t)n_place * s->slice;
    const void *const old[] = {r->node, r->at, r->first, r->column, r->diagonal, r->value};
    for (size_t i = 0; i < sizeof old / sizeof *old; i++)
        if (old[i]) d->ops->memory.release(d, (void *)(uintptr_t)old[i]);
    r->n_place = n_place;
    FE_TRY(fe_device_upload(d, n_row, sizeof(int), k->node, "matrix", (void **)&r->node));
    if (r->at) FE_TRY(fe_device_upload(d, n_row, sizeof(int), k->at, "matrix", (void **)&r->at));
    FE_TRY(fe_device_upload(d, (size_t)s->n_slice + 1, sizeof(int), k->first, "matrix", (void **)&r->first));
    FE_TRY(fe_device_upload(d, n, sizeof(int), k->column, "matrix", (void **)&r->column));
    FE_TRY(fe_device_allocate(d, n_row, sizeof(int), "matrix", (void **)&r->diagonal)); /* 0, see color_row */
    return fe_device_allocate(d, 9 * n, value_bytes, "matrix", (void **)&r->value);
}

static fe_status color_part(draft *k, int part, form_colors *form)
{
    bsr_rows *r = &form->matrix.part[part];
    int n = 0, n_place;
    FE_TRY(form_rows_read(k->p, r, &k->rows));
    FE_ALLOCATE(k->taken, k->p->view.n_owned, "colours");
    FE_RESERVE(k->color, r->n_row, "colours");
    FE_RESERVE(k->length, r->n_row, "colours");
    FE_RESERVE(k->node, r->n_row, "colours");
    FE_RESERVE(k->at, r->n_row, "colours");
    for (int row = 0; row < r->n_row; row++) FE_TRY(color_row(k, row));
    while (n < FORM_MOST_COLORS && k->count[n] > 0) n++;
    FE_TRY(
        fe_device_keep(k->p->device, ((size_t)n + 1) * sizeof(int), "colours", (void **)&form->first[part]));
    form->n[part] = n;
    for (int c = 0; c < n; c++) form->first[part][c + 1] = form->first[part][c] + k->count[c];
    FE_TRY(sort_rows(k));
    FE_TRY(fill_rows(k, &n_place));
    return replace(k, n_place, form->matrix.value_bytes, r);
}

fe_status form_open_colors(const fe_problem *p, form_colors *form)
{
    fe_status status = FE_OK;
    for (int part = FE_INTERIOR; part <= FE_BORDER && status == FE_OK; part++) {
        draft k = {.p = p};
        form->n[part] = 0;
        if (form->matrix.part[part].n_row == 0) continue;
        status = color_part(&k, part, form);
        form_rows_close(&k.rows);
        free(k.taken), free(k.color), free(k.length);
        free(k.node), free(k.at), free(k.first), free(k.column);
    }
    return status;
}

fe_status form_colors_set_up(fe_problem *p, bsr_form form, int precision, void **work)
{
    FE_TRY(fe_device_keep(p->device, sizeof(form_colors), "matrix", work));
    FE_TRY(bsr_open(p, form, precision, &((form_colors *)*work)->matrix));
    return form_open_colors(p, *work);
}

/* On a device the structure is shared, and with it the colours. */
fe_status form_colors_set_up_from(fe_problem *p, bsr_form form, const void *in_double, void **work)
{
    FE_TRY(fe_device_keep(p->device, sizeof(form_colors), "matrix", work));
    form_colors *w = *work;
    if (p->device->ops->on_gpu) *w = *(const form_colors *)in_double;
    FE_TRY(bsr_open_elastic(p, form, in_double, &w->matrix));
    return p->device->ops->on_gpu ? FE_OK : form_open_colors(p, w);
}
