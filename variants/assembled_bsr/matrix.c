/* The structure of the matrix. Runs once, on the host. */
#include "variants/assembled_bsr/matrix.h"
#include "common/backend/device.h"
#include "common/base/sort.h"

#include <omp.h>
#include <stdlib.h>

typedef struct draft {
    const fe_view *m;
    int kind, n_corner, threads;
    size_t value_bytes;
    fe_host_mesh mesh;
    int most_columns; /* of a row */
    int upper;        /* see bsr_rows */
    uint8_t *seen;    /* [threads][n_local] set for the nodes in `columns` */
    int *columns;     /* [threads][most_columns] of the row at which a thread is */
    /* of the current part: see bsr_rows */
    int *node, *at, *first, *column, *diagonal;
} draft;

static size_t value_bytes(int precision) { return precision == FE_DOUBLE ? sizeof(double) : sizeof(float); }

static fe_status read_view(draft *k, const fe_problem *p)
{
    const fe_view *m = k->m;
    int most = 0;
    FE_TRY(fe_problem_host_mesh(p, &k->mesh));
#pragma omp parallel for schedule(static) num_threads(k->threads) reduction(max : most)
    for (int i = 0; i < m->n_owned; i++) {
        const int valence = k->mesh.corner_first[i + 1] - k->mesh.corner_first[i];
        if (valence > most) most = valence;
    }
    k->most_columns = k->n_corner * most + 1;
    FE_ALLOCATE(k->seen, (size_t)k->threads * m->n_local, "matrix");
    FE_ALLOCATE(k->columns, (size_t)k->threads * k->most_columns, "matrix");
    return FE_OK;
}

/* Of the calling thread. */
static int *columns_of(const draft *k) { return k->columns + (size_t)omp_get_thread_num() * k->most_columns; }

/* The row's columns in any order; returns their number. A node without elements has its diagonal. */
static int find_columns(const draft *k, int row)
{
    uint8_t *seen = k->seen + (size_t)omp_get_thread_num() * k->m->n_local;
    int *columns = columns_of(k), n = 0;
    columns[n++] = row, seen[row] = 1;
    const fe_host_mesh *mesh = &k->mesh;
    for (int at = mesh->corner_first[row]; at < mesh->corner_first[row + 1]; at++)
        for (int b = 0; b < k->n_corner; b++) {
            const int node = mesh->conn[(size_t)b * k->m->ld + fe_code_element(k->kind, mesh->corner[at])];
            if (seen[node] || (k->upper && node < row)) continue;
            columns[n++] = node, seen[node] = 1;
        }
    for (int i = 0; i < n; i++) seen[columns[i]] = 0;
    return n;
}

/* The same, ascending. */
static int sort_columns(const draft *k, int row)
{
    const int n = find_columns(k, row);
    int *columns = columns_of(k);
    for (int i = 1; i < n; i++) {
        const int node = columns[i];
        int at = i;
        for (; at > 0 && columns[at - 1] > node; at--) columns[at] = columns[at - 1];
        columns[at] = node;
    }
    return n;
}

/* The order of rows, and how many blocks each has. Within a window, the longest row first; equal ones stay in
 * the nodes' order. */
static fe_status order_rows(draft *k, const bsr_rows *r, int *length)
{
    uint64_t *word = NULL;
    FE_RESERVE(k->node, r->n_row, "matrix");
    FE_RESERVE(k->at, r->n_row, "matrix");
#pragma omp parallel for schedule(static) num_threads(k->threads)
    for (int i = 0; i < r->n_row; i++) {
        length[i] = find_columns(k, r->row + i);
        k->node[i] = r->row + i, k->at[i] = i;
    }
    if (r->shift == 0) return FE_OK;
    FE_RESERVE(word, r->n_row, "matrix");
#pragma omp parallel for schedule(static) num_threads(k->threads)
    for (int i = 0; i < r->n_row; i++)
        word[i] = fe_word_of((uint32_t)(i / BSR_WINDOW * k->most_columns + k->most_columns - length[i]), i);
    const fe_status status = fe_sort_words(word, r->n_row, k->threads);
#pragma omp parallel for schedule(static) num_threads(k->threads)
    for (int i = 0; i < r->n_row; i++) {
        k->node[i] = r->row + fe_item_of(word[i]), k->at[fe_item_of(word[i])] = i;
        length[i] = k->most_columns - (int)(word[i] >> 32) % k->most_columns;
    }
    free(word);
    return status;
}

/* A slice is as wide as its longest row. */
static fe_status count_places(draft *k, bsr_rows *r, const int *length)
{
    const int slice = 1 << r->shift, n_slice = (int)(((int64_t)r->n_row + slice - 1) / slice);
    int64_t n_place = 0;
    FE_RESERVE(k->first, (size_t)n_slice + 1, "matrix");
    k->first[0] = 0;
#pragma omp parallel for schedule(static) num_threads(k->threads)
    for (int s = 0; s < n_slice; s++) {
        int widest = 0;
        for (int64_t i = (int64_t)s * slice; i < r->n_row && i < ((int64_t)s + 1) * slice; i++)
            if (length[i] > widest) widest = length[i];
        k->first[s + 1] = widest;
    }
    for (int s = 0; s < n_slice; s++) {
        n_place += k->first[s + 1];
        if (n_place > INT32_MAX)
            return fe_fail(FE_BAD_INPUT, "matrix: more than %d blocks on one rank; use more ranks",
                           INT32_MAX);
        if (r->scalar && n_place > INT32_MAX / 9)
            return fe_fail(FE_OUT_OF_MEMORY, "matrix: more than %d values on one rank; use more ranks",
                           INT32_MAX);
        k->first[s + 1] = (int)n_place;
    }
    r->n_place = (int)n_place;
    return FE_OK;
}

/* Lanes beyond the last row take the part's first row for a column: they are read, never stored. */
static void fill_columns(draft *k, const bsr_rows *r)
{
    const int slice = 1 << r->shift;
#pragma omp parallel for schedule(static) num_threads(k->threads)
    for (int64_t i = 0; i < ((int64_t)r->n_row + slice - 1) / slice * slice; i++) {
        const int is_row = i < r->n_row, row = is_row ? k->node[i] : r->row,
                  n = is_row ? sort_columns(k, row) : 0, lane = (int)(i % slice);
        const int *columns = columns_of(k);
        for (int place = k->first[i / slice], at = 0; place < k->first[i / slice + 1]; place++, at++) {
            k->column[bsr_column_at(r, place, lane)] = at < n ? columns[at] : row;
            if (at < n && columns[at] == row) k->diagonal[i] = at;
        }
    }
}

static fe_status build_rows(draft *k, fe_device *d, bsr_rows *r)
{
    const size_t slice = (size_t)1 << r->shift;
    int *length = NULL;
    FE_RESERVE(length, r->n_row, "matrix");
    fe_status status = order_rows(k, r, length);
    if (status == FE_OK) status = count_places(k, r, length);
    free(length);
    FE_TRY(status);
    const size_t n_slice = ((size_t)r->n_row + slice - 1) >> r->shift, n = (size_t)r->n_place * slice;
    FE_RESERVE(k->column, n, "matrix");
    FE_RESERVE(k->diagonal, r->n_row, "matrix");
    fill_columns(k, r);
    if (r->shift > 0) { /* what is sorted */
        FE_TRY(fe_device_upload(d, (size_t)r->n_row, sizeof *k->node, k->node, "matrix", (void **)&r->node));
        if (!d->ops->on_gpu)
            FE_TRY(fe_device_upload(d, (size_t)r->n_row, sizeof *k->at, k->at, "matrix", (void **)&r->at));
    }
    FE_TRY(fe_device_upload(d, n_slice + 1, sizeof *k->first, k->first, "matrix", (void **)&r->first));
    FE_TRY(fe_device_upload(d, n, sizeof *k->column, k->column, "matrix", (void **)&r->column));
    FE_TRY(fe_device_upload(d, (size_t)r->n_row, sizeof *k->diagonal, k->diagonal, "matrix",
                            (void **)&r->diagonal));
    return fe_device_allocate(d, 9 * n, k->value_bytes, "matrix", (void **)&r->value);
}

static fe_status open_rows(fe_problem *p, bsr_form form, int precision, bsr_matrix *matrix)
{
    const int line = precision == FE_DOUBLE ? 3 : 4,
              shift[BSR_N_FORM] = {
                  [BSR_WARP] = 5, [BSR_UPPER_WARP] = 5, [BSR_LINE] = line, [BSR_UPPER_LINE] = line};
    draft k = {.m = &p->view,
               .kind = p->kind,
               .n_corner = fe_corners(p->kind),
               .threads = fe_device_host_threads(p->device),
               .value_bytes = value_bytes(precision)};
    matrix->value_bytes = k.value_bytes;
    k.upper = form == BSR_UPPER_WARP || form == BSR_UPPER_LINE;
    fe_status status = read_view(&k, p);
    for (int part = FE_INTERIOR; part <= FE_BORDER && status == FE_OK; part++) {
        bsr_rows *r = &matrix->part[part];
        int last;
        fe_part_nodes(&p->view, (fe_part)part, &r->row, &last);
        r->n_row = last - r->row, r->n_column = p->view.n_local, r->shift = shift[form],
        r->scalar = form == BSR_CSR, r->upper = k.upper;
        if (r->n_row > 0) status = build_rows(&k, p->device, r);
        free(k.node), free(k.at), free(k.first), free(k.column), free(k.diagonal);
        k.node = k.at = k.first = k.column = k.diagonal = NULL;
    }
    free(k.seen), free(k.columns);
    return status;
}

fe_status bsr_open(fe_problem *p, bsr_form form, int precision, bsr_matrix *matrix)
{
    const fe_variant *forces = fe_variant_find("patch_ordered");
    matrix->forces = fe_variant_table(forces, p->device->ops->on_gpu, precision);
    FE_TRY(fe_assembly_set_up(matrix->forces, p, &matrix->forces_work));
    return open_rows(p, form, precision, matrix);
}

fe_status bsr_open_elastic(fe_problem *p, bsr_form form, const bsr_matrix *in_double, bsr_matrix *matrix)
{
    if (form == BSR_LINE || form == BSR_UPPER_LINE)
        return open_rows(p, form, FE_SINGLE, matrix); /* other slices */
    matrix->value_bytes = value_bytes(FE_SINGLE);
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++) {
        bsr_rows *r = &matrix->part[part];
        *r = in_double->part[part];
        if (r->n_row > 0)
            FE_TRY(fe_device_allocate(p->device, 9 * ((size_t)r->n_place << r->shift), value_bytes(FE_SINGLE),
                                      "matrix", (void **)&r->value));
    }
    return FE_OK;
}

fe_status bsr_set_up(fe_problem *p, bsr_form form, int precision, void **work)
{
    FE_TRY(fe_device_keep(p->device, sizeof(bsr_matrix), "matrix", work));
    return bsr_open(p, form, precision, *work);
}

fe_status bsr_set_up_from(fe_problem *p, bsr_form form, const void *in_double,
                          fe_status (*elastic)(const fe_problem *p, const bsr_matrix *matrix), void **work)
{
    FE_TRY(fe_device_keep(p->device, sizeof(bsr_matrix), "matrix", work));
    FE_TRY(bsr_open_elastic(p, form, in_double, *work));
    return elastic(p, *work);
}

fe_status bsr_without_plasticity(const fe_problem *p, int precision, fe_problem *elastic)
{
    uint8_t *flags;
    FE_TRY(fe_device_allocate(p->device, (size_t)p->view.ld, sizeof *flags, "matrix", (void **)&flags));
    *elastic = fe_problem_in(p, precision);
    elastic->view.trial.flags = elastic->view.committed.flags = flags;
    return FE_OK;
}

/* patch_ordered adds to its output, and its parts follow each other: where there is a border, its part is the
 * whole. */
fe_status bsr_residual(const fe_problem *p, void *work, fe_part part, const void *displacement, void *r)
{
    const bsr_matrix *matrix = work;
    const fe_assembly *a = matrix->forces;
    const size_t number = a->precision == FE_SINGLE ? sizeof(float) : sizeof(double);
    const int border = fe_has_border(&p->view);
    if (border && part == FE_INTERIOR) return FE_OK;
    FE_TRY(p->device->ops->memory.clear(p->device, 3 * (size_t)p->view.n_local * number, r));
    FE_TRY(a->residual(p, matrix->forces_work, FE_INTERIOR, displacement, r));
    return border ? a->residual(p, matrix->forces_work, FE_BORDER, displacement, r) : FE_OK;
}

/* With BSR_CSR each value has a column of its own. */
double bsr_matrix_bytes(const void *work)
{
    const bsr_matrix *matrix = work;
    double bytes = 0.0;
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++) {
        const bsr_rows *r = &matrix->part[part];
        const double place = (double)((size_t)r->n_place << r->shift), n_row = r->n_row;
        const double n_first = r->scalar ? 3.0 * n_row : n_row / (1 << r->shift);
        bytes += place * 9.0 * (double)matrix->value_bytes +
                 sizeof(int) * (place * (r->scalar ? 9.0 : 1.0) + n_first);
        if (r->node) bytes += sizeof(int) * n_row;
    }
    return bytes;
}
