/* Where the transposed products of GATHER are stored. Runs once, on the host. */
#include "bench/forms/forms.h"
#include "common/backend/device.h"
#include "common/base/sort.h"

#include <stdlib.h>
#include <string.h>

typedef struct draft {
    const fe_problem *p;
    int n_owned;
    int *count; /* [n_owned] products that each node gathers */
    int *start; /* [n_owned] where its next product is stored */
    form_rows rows[2];
    struct {
        int *to, *node, *first;
    } list[2]; /* see form_list */
} draft;

static void count_products(draft *k, const form_rows *s)
{
    for (int i = 0; i < s->r->n_row; i++)
        for (int place = s->first[i / s->slice]; place < s->first[i / s->slice + 1]; place++) {
            const int j = s->column[bsr_column_at(s->r, place, i % s->slice)];
            if (form_gives(s, k->n_owned, i, j)) k->count[j]++;
        }
}

/* The order in which the rows of a part gather, and the places of their slices from *n_place on. */
static fe_status order_rows(draft *k, int part, int *n_place)
{
    const form_rows *s = &k->rows[part];
    const int n = s->r->n_row, row = s->r->row;
    int most = 0, *node, *first;
    int64_t places = *n_place;
    uint64_t *word = NULL;
    FE_RESERVE(k->list[part].node, n, "products");
    FE_RESERVE(k->list[part].first, (size_t)s->n_slice + 1, "products");
    FE_RESERVE(word, n, "products");
    node = k->list[part].node, first = k->list[part].first;
    for (int i = 0; i < n; i++)
        if (k->count[row + i] > most) most = k->count[row + i];
    for (int i = 0; i < n; i++)
        word[i] = fe_word_of((uint32_t)(i / BSR_WINDOW * (most + 1) + most - k->count[row + i]), i);
    const fe_status status = fe_sort_words(word, n, fe_device_host_threads(k->p->device));
    for (int i = 0; i < n; i++) node[i] = row + fe_item_of(word[i]);
    free(word);
    FE_TRY(status);
    for (int i = 0; i < n; i += s->slice) {
        int widest = 0;
        for (int l = i; l < n && l < i + s->slice; l++) {
            k->start[node[l]] = (int)places * s->slice + l - i;
            if (k->count[node[l]] > widest) widest = k->count[node[l]];
        }
        first[i / s->slice] = (int)places;
        places += widest;
        if (places * s->slice > INT32_MAX)
            return fe_fail(FE_BAD_INPUT,
                           "assembled_symmetric: more than %d products on one rank; use more ranks",
                           INT32_MAX);
    }
    first[s->n_slice] = *n_place = (int)places;
    return FE_OK;
}

/* By ascending nodes, from which the products come. */
static fe_status place_products(draft *k, int part)
{
    const form_rows *s = &k->rows[part];
    const size_t n = (size_t)s->r->n_place * s->slice;
    FE_RESERVE(k->list[part].to, n, "products");
    memset(k->list[part].to, -1, n * sizeof(int));
    for (int row = 0; row < s->r->n_row; row++) {
        const int i = s->at[row];
        for (int place = s->first[i / s->slice]; place < s->first[i / s->slice + 1]; place++) {
            const size_t at = bsr_column_at(s->r, place, i % s->slice);
            if (!form_gives(s, k->n_owned, i, s->column[at])) continue;
            k->list[part].to[at] = k->start[s->column[at]];
            k->start[s->column[at]] += s->slice;
        }
    }
    return FE_OK;
}

static fe_status upload(const draft *k, int part, form_gather *form)
{
    const form_rows *s = &k->rows[part];
    fe_device *d = k->p->device;
    form_list *list = &form->part[part];
    const size_t places = (size_t)s->r->n_place * s->slice, n_row = (size_t)s->r->n_row,
                 n_slice = (size_t)s->n_slice;
    form->bytes += (double)((places + n_row + n_slice) * sizeof(int));
    FE_TRY(fe_device_upload(d, places, sizeof(int), k->list[part].to, "products", (void **)&list->to));
    FE_TRY(fe_device_upload(d, n_row, sizeof(int), k->list[part].node, "products", (void **)&list->node));
    return fe_device_upload(d, n_slice + 1, sizeof(int), k->list[part].first, "products",
                            (void **)&list->first);
}

static fe_status build(draft *k, form_gather *form)
{
    const bsr_matrix *matrix = &form->matrix;
    FE_ALLOCATE(k->count, k->n_owned, "products");
    FE_ALLOCATE(k->start, k->n_owned, "products");
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++) {
        FE_TRY(form_rows_read(k->p, &matrix->part[part], &k->rows[part]));
        count_products(k, &k->rows[part]);
    }
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++)
        if (matrix->part[part].n_row > 0) FE_TRY(order_rows(k, part, &form->n_place));
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++)
        if (matrix->part[part].n_row > 0) {
            FE_TRY(place_products(k, part));
            FE_TRY(upload(k, part, form));
        }
    const size_t n = (size_t)form->n_place * k->rows[FE_INTERIOR].slice, row = 3 * matrix->value_bytes;
    form->bytes += (double)(n * row);
    for (int i = 0; i < k->n_owned; i++) form->bytes += (double)(k->count[i] * row);
    return fe_device_allocate(k->p->device, n, row, "products", &form->product);
}

fe_status form_open_gather(const fe_problem *p, form_gather *form)
{
    draft k = {.p = p, .n_owned = p->view.n_owned};
    form->n_place = 0, form->bytes = 0;
    const fe_status status = build(&k, form);
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++) {
        form_rows_close(&k.rows[part]);
        free(k.list[part].to), free(k.list[part].node), free(k.list[part].first);
    }
    free(k.count), free(k.start);
    return status;
}

fe_status form_gather_set_up(fe_problem *p, bsr_form form, int precision, void **work)
{
    FE_TRY(fe_device_keep(p->device, sizeof(form_gather), "matrix", work));
    FE_TRY(bsr_open(p, form, precision, &((form_gather *)*work)->matrix));
    return form_open_gather(p, *work);
}

/* On a device the list is the same, and the products of double precision serve both: their operations follow
 * each other. */
fe_status form_gather_set_up_from(fe_problem *p, bsr_form form, const void *in_double, void **work)
{
    FE_TRY(fe_device_keep(p->device, sizeof(form_gather), "matrix", work));
    form_gather *w = *work;
    if (p->device->ops->on_gpu) *w = *(const form_gather *)in_double;
    FE_TRY(bsr_open_elastic(p, form, in_double, &w->matrix));
    return p->device->ops->on_gpu ? FE_OK : form_open_gather(p, w);
}

double form_gather_bytes(const void *work)
{
    return bsr_matrix_bytes(work) + ((const form_gather *)work)->bytes;
}
