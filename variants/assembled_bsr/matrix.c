/* The structure of the matrix. Runs once, on the host. */
#include "variants/assembled_bsr/matrix.h"
#include "common/backend/device.h"

#include <stdlib.h>

typedef struct draft {
    const fe_view *m;
    int n_corner;
    size_t value_bytes;
    int *conn, *corner_first, *corner; /* the view's, on the host */
    uint8_t *seen;                     /* [n_local] set for the nodes in `node` */
    int *node;                         /* columns of the current row */
    int *first, *column, *diagonal;    /* of the current part: see bsr_rows */
} draft;

static fe_status read_view(draft *k, fe_device *d)
{
    const fe_view *m = k->m;
    const size_t n_conn = (size_t)k->n_corner * m->ld, n_first = (size_t)m->n_owned + 1;
    int most = 0;
    FE_ALLOCATE(k->conn, n_conn, "matrix");
    FE_ALLOCATE(k->corner_first, n_first, "matrix");
    FE_TRY(d->ops->memory.download(d, n_conn * sizeof *k->conn, m->conn, k->conn));
    FE_TRY(d->ops->memory.download(d, n_first * sizeof *k->corner_first, m->corner_first, k->corner_first));
    const size_t n = (size_t)k->corner_first[m->n_owned];
    FE_ALLOCATE(k->corner, n, "matrix");
    FE_TRY(d->ops->memory.download(d, n * sizeof *k->corner, m->corner, k->corner));
    for (int i = 0; i < m->n_owned; i++) {
        const int valence = k->corner_first[i + 1] - k->corner_first[i];
        if (valence > most) most = valence;
    }
    FE_ALLOCATE(k->seen, m->n_local, "matrix");
    FE_ALLOCATE(k->node, (size_t)k->n_corner * most + 1, "matrix");
    return FE_OK;
}

/* The row's columns in any order; returns their number. A node without elements has its diagonal. */
static int find_columns(draft *k, int row)
{
    int n = 0;
    k->node[n++] = row, k->seen[row] = 1;
    for (int at = k->corner_first[row]; at < k->corner_first[row + 1]; at++)
        for (int b = 0; b < k->n_corner; b++) {
            const int node = k->conn[(size_t)b * k->m->ld + (k->corner[at] >> 3)];
            if (!k->seen[node]) k->node[n++] = node, k->seen[node] = 1;
        }
    for (int i = 0; i < n; i++) k->seen[k->node[i]] = 0;
    return n;
}

/* The same, ascending. */
static int sort_columns(draft *k, int row)
{
    const int n = find_columns(k, row);
    for (int i = 1; i < n; i++) {
        const int node = k->node[i];
        int at = i;
        for (; at > 0 && k->node[at - 1] > node; at--) k->node[at] = k->node[at - 1];
        k->node[at] = node;
    }
    return n;
}

/* A slice is as wide as its longest row. */
static fe_status count_places(draft *k, bsr_rows *r)
{
    const int slice = 1 << r->shift, n_slice = (int)(((int64_t)r->n_row + slice - 1) / slice);
    int64_t n_place = 0;
    FE_ALLOCATE(k->first, (size_t)n_slice + 1, "matrix");
    for (int s = 0; s < n_slice; s++) {
        int widest = 0;
        for (int i = s * slice; i < r->n_row && i < (s + 1) * slice; i++) {
            const int n = find_columns(k, r->row + i);
            if (n > widest) widest = n;
        }
        n_place += widest;
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
    for (int i = 0; i < r->n_row || bsr_lane(r, i) != 0; i++) {
        const int row = i < r->n_row ? r->row + i : r->row, n = i < r->n_row ? sort_columns(k, row) : 0;
        const int first = k->first[bsr_slice(r, i)], end = k->first[bsr_slice(r, i) + 1];
        for (int place = first; place < end; place++) {
            const int at = place - first;
            k->column[((size_t)place * slice) + bsr_lane(r, i)] = at < n ? k->node[at] : row;
            if (at < n && k->node[at] == row) k->diagonal[i] = at;
        }
    }
}

static fe_status build_rows(draft *k, fe_device *d, bsr_rows *r)
{
    const size_t slice = (size_t)1 << r->shift;
    FE_TRY(count_places(k, r));
    const size_t n_slice = ((size_t)r->n_row + slice - 1) >> r->shift, n = (size_t)r->n_place * slice;
    FE_ALLOCATE(k->column, n, "matrix");
    FE_ALLOCATE(k->diagonal, r->n_row, "matrix");
    fill_columns(k, r);
    FE_TRY(fe_device_upload(d, n_slice + 1, sizeof *k->first, k->first, "matrix", (void **)&r->first));
    FE_TRY(fe_device_upload(d, n, sizeof *k->column, k->column, "matrix", (void **)&r->column));
    FE_TRY(fe_device_upload(d, (size_t)r->n_row, sizeof *k->diagonal, k->diagonal, "matrix",
                            (void **)&r->diagonal));
    return fe_device_allocate(d, 9 * n, k->value_bytes, "matrix", (void **)&r->value);
}

fe_status bsr_open(fe_problem *p, bsr_form form, int precision, bsr_matrix *matrix)
{
    const int shift[] = {
        [BSR_WARP] = 5, [BSR_LINE] = precision == FE_DOUBLE ? 3 : 4, [BSR_PLAIN] = 0, [BSR_CSR] = 0};
    const fe_variant *gather = fe_variant_find("node_csr");
    matrix->gather = fe_variant_table(gather, p->device->ops != &fe_backend_host, precision);
    FE_TRY(fe_assembly_set_up(matrix->gather, p, &matrix->gather_work));
    draft k = {.m = &p->view,
               .n_corner = fe_corners(p->kind),
               .value_bytes = precision == FE_DOUBLE ? sizeof(double) : sizeof(float)};
    fe_status status = read_view(&k, p->device);
    for (int part = FE_INTERIOR; part <= FE_BORDER && status == FE_OK; part++) {
        bsr_rows *r = &matrix->part[part];
        int last;
        fe_part_nodes(&p->view, (fe_part)part, &r->row, &last);
        r->n_row = last - r->row, r->shift = shift[form], r->scalar = form == BSR_CSR;
        if (r->n_row > 0) status = build_rows(&k, p->device, r);
        free(k.first), free(k.column), free(k.diagonal);
        k.first = k.column = k.diagonal = NULL;
    }
    free(k.conn), free(k.corner_first), free(k.corner), free(k.seen), free(k.node);
    return status;
}

fe_status bsr_residual(const fe_problem *p, void *work, fe_part part, const void *displacement, void *r)
{
    const bsr_matrix *matrix = work;
    return matrix->gather->residual(p, matrix->gather_work, part, displacement, r);
}
