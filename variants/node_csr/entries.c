/* The lists that kernels read on the device. Tet4: they hold what it would otherwise look up corner by
 * corner. Hex8: the corners of a warp's rows by element. */
#include "common/backend/device.h"
#include "common/problem/row_order.h"
#include "variants/node_csr/assembly.h"

#include <stdlib.h>

enum { WARP = NODE_CSR_WARP };

/* --- fields by component ---------------------------------------------------------------------------------
 */

typedef struct coordinates {
    double *x; /* [n_local][3] */
    double *component;
    float *rounded; /* of component, in single precision */
} coordinates;

/* In single precision those from the first node. */
static fe_status upload_coordinates(coordinates *k, fe_device *d, int precision, node_csr_fields *w)
{
    const size_t n = 3 * w->n;
    if (precision != FE_SINGLE)
        return fe_device_upload(d, n, sizeof *k->component, k->component, "node_csr: coordinates",
                                (void **)&w->x);
    FE_ALLOCATE(k->rounded, n, "node_csr: coordinates");
    for (size_t i = 0; i < n; i++) k->rounded[i] = (float)(k->component[i] - k->component[i / w->n * w->n]);
    return fe_device_upload(d, n, sizeof *k->rounded, k->rounded, "node_csr: coordinates", (void **)&w->x);
}

static fe_status build_fields(coordinates *k, fe_problem *p, int precision, node_csr_fields *w)
{
    const size_t n = (size_t)p->view.n_local;
    fe_device *d = p->device;
    w->n = (n + 15) / 16 * 16;
    FE_RESERVE(k->x, 3 * n, "node_csr: coordinates");
    FE_TRY(d->ops->memory.download(d, 3 * n * sizeof *k->x, p->view.x, k->x));
    FE_ALLOCATE(k->component, 3 * w->n, "node_csr: coordinates");
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++)
        for (int c = 0; c < 3; c++) k->component[c * w->n + i] = k->x[3 * i + c];
    FE_TRY(upload_coordinates(k, d, precision, w));
    FE_TRY(fe_device_allocate(d, 3 * w->n, precision == FE_SINGLE ? sizeof(float) : sizeof(double),
                              "node_csr: input by component", (void **)&w->displacement));
    return d->ops->wait(d);
}

static fe_status open_fields(fe_problem *p, int precision, node_csr_fields *w)
{
    coordinates k = {0};
    const fe_status status = build_fields(&k, p, precision, w);
    free(k.x), free(k.component), free(k.rounded);
    return status;
}

/* --- Tet4 ------------------------------------------------------------------------------------------------
 */

typedef struct draft {
    int *first, *corner, *conn; /* the view's */
    int *row;                   /* [n_owned] */
    int *slice;                 /* [n_slice + 1] */
    node_csr_entry *entry;
    size_t n_entry;
    int n_slice;
} draft;

static int length_of(const draft *k, int row) { return k->first[row + 1] - k->first[row]; }

/* A slice is as long as its longest row takes rounds. */
static fe_status size_slices(draft *k, int n_row, int team)
{
    const int rows = WARP / team;
    k->n_slice = (n_row + rows - 1) / rows;
    FE_ALLOCATE(k->slice, k->n_slice + 1, "node_csr: lists");
    for (int s = 0; s < k->n_slice; s++) {
        int rounds = 0;
        for (int i = rows * s; i < rows * (s + 1) && i < n_row; i++) {
            const int own = (length_of(k, k->row[i]) + team - 1) / team;
            if (own > rounds) rounds = own;
        }
        if (k->n_entry + (size_t)WARP * rounds > INT32_MAX)
            return fe_fail(FE_BAD_INPUT, "node_csr: more than %d element corners on one rank; use more ranks",
                           INT32_MAX);
        k->n_entry += (size_t)WARP * rounds;
        k->slice[s + 1] = (int)k->n_entry;
    }
    return FE_OK;
}

static void fill_slices(draft *k, const fe_view *m, int n_row, int team)
{
    const int rows = WARP / team;
#pragma omp parallel for schedule(static)
    for (int at = 0; at < n_row; at++) {
        const int row = k->row[at], start = k->slice[at / rows] + at % rows * team;
        for (int i = 0; i < length_of(k, row); i++) {
            const int corner = k->corner[k->first[row] + i], e = corner >> 3, a = corner & 7;
            node_csr_entry *to = &k->entry[start + WARP * (i / team) + i % team];
            to->corner = corner;
            for (int b = 1; b < 4; b++) to->node[b - 1] = k->conn[(size_t)(b ^ a) * m->ld + e];
        }
    }
}

static fe_status build_lists(draft *k, fe_problem *p, node_csr_lists *w)
{
    const fe_view *m = &p->view;
    fe_device *d = p->device;
    const size_t corners = 4 * (size_t)m->ld;
    FE_RESERVE(k->first, m->n_owned + 1, "node_csr: lists");
    FE_TRY(
        d->ops->memory.download(d, ((size_t)m->n_owned + 1) * sizeof *k->first, m->corner_first, k->first));
    const size_t n_corner = (size_t)k->first[m->n_owned];
    FE_RESERVE(k->corner, n_corner, "node_csr: lists");
    FE_RESERVE(k->conn, corners, "node_csr: lists");
    FE_TRY(d->ops->memory.download(d, n_corner * sizeof *k->corner, m->corner, k->corner));
    FE_TRY(d->ops->memory.download(d, corners * sizeof *k->conn, m->conn, k->conn));
    FE_RESERVE(k->row, m->n_owned, "node_csr: lists");
    fe_rows_by_length(m, k->first, w->team, k->row);
    FE_TRY(size_slices(k, m->n_node_interior, w->team));
    FE_ALLOCATE(k->entry, k->n_entry, "node_csr: lists");
    fill_slices(k, m, m->n_node_interior, w->team);
    FE_TRY(fe_device_upload(d, (size_t)m->n_node_interior, sizeof *k->row, k->row, "node_csr: lists",
                            (void **)&w->row));
    FE_TRY(fe_device_upload(d, (size_t)k->n_slice + 1, sizeof *k->slice, k->slice, "node_csr: lists",
                            (void **)&w->slice));
    FE_TRY(
        fe_device_upload(d, k->n_entry, sizeof *k->entry, k->entry, "node_csr: lists", (void **)&w->entry));
    return d->ops->wait(d);
}

static fe_status open_lists(fe_problem *p, int precision, void **work)
{
    draft k = {0};
    FE_TRY(fe_device_keep(p->device, sizeof(node_csr_lists), "node_csr", work));
    ((node_csr_lists *)*work)->team = getenv("NODE_CSR_TEAM") ? atoi(getenv("NODE_CSR_TEAM")) : 4;
    const fe_status status = build_lists(&k, p, *work);
    free(k.first), free(k.corner), free(k.conn), free(k.slice), free(k.entry), free(k.row);
    FE_TRY(status);
    return open_fields(p, precision, &((node_csr_lists *)*work)->by);
}

/* --- Hex8 ------------------------------------------------------------------------------------------------
 */

typedef struct visits {
    int *first, *corner; /* the view's */
    int *warp;           /* [n_warp + 1] first row of each */
    uint16_t *own;
    int n_interior, n_warp, unit, cap;
} visits;

/* Gives warps as many rows of a part as they can have. 0: a row is too long for any. */
static int divide_rows(const fe_view *m, fe_part part, visits *v)
{
    int first, last;
    fe_part_nodes(m, part, &first, &last);
    for (int row = first; row < last;) {
        const int start = row;
        while (row < last && row - start < v->unit && v->first[row + 1] - v->first[start] <= v->cap) row++;
        if (row == start) return 0;
        v->warp[++v->n_warp] = row;
    }
    return 1;
}

static int compare_words(const void *p, const void *q)
{
    const uint64_t a = *(const uint64_t *)p, b = *(const uint64_t *)q;
    return (a > b) - (a < b);
}

static void sort_visits(visits *v)
{
#pragma omp parallel for schedule(static)
    for (int w = 0; w < v->n_warp; w++) {
        uint64_t word[NODE_CSR_VISITS];
        const int start = v->first[v->warp[w]], n = v->first[v->warp[w + 1]] - start;
        for (int i = 0; i < n; i++) word[i] = (uint64_t)v->corner[start + i] << 32 | (unsigned)i;
        qsort(word, (size_t)n, sizeof *word, compare_words);
        for (int i = 0; i < n; i++)
            v->corner[start + i] = (int)(word[i] >> 32), v->own[start + i] = (uint16_t)word[i];
    }
}

static fe_status build_visits(visits *v, fe_problem *p, int precision, void **work)
{
    const fe_view *m = &p->view;
    fe_device *d = p->device;
    FE_RESERVE(v->first, m->n_owned + 1, "node_csr: lists");
    FE_TRY(
        d->ops->memory.download(d, ((size_t)m->n_owned + 1) * sizeof *v->first, m->corner_first, v->first));
    const size_t n = (size_t)v->first[m->n_owned];
    FE_RESERVE(v->corner, n, "node_csr: lists");
    FE_RESERVE(v->own, n, "node_csr: lists");
    FE_ALLOCATE(v->warp, m->n_owned + 1, "node_csr: lists");
    FE_TRY(d->ops->memory.download(d, n * sizeof *v->corner, m->corner, v->corner));
    if (!divide_rows(m, FE_INTERIOR, v)) return FE_OK;
    v->n_interior = v->n_warp;
    if (!divide_rows(m, FE_BORDER, v)) return FE_OK;
    sort_visits(v);
    FE_TRY(fe_device_keep(d, sizeof(node_csr_visits), "node_csr", work));
    node_csr_visits *w = *work;
    w->n_interior = v->n_interior, w->n_warp = v->n_warp, w->unit = v->unit, w->cap = v->cap;
    w->comp = p->kind == FE_TET4 || getenv("NODE_CSR_COMP") != NULL;
    if (w->comp) FE_TRY(open_fields(p, precision, &w->by));
    FE_TRY(fe_device_upload(d, (size_t)v->n_warp + 1, sizeof *v->warp, v->warp, "node_csr: lists",
                            (void **)&w->first));
    FE_TRY(fe_device_upload(d, n, sizeof *v->corner, v->corner, "node_csr: lists", (void **)&w->corner));
    FE_TRY(fe_device_upload(d, n, sizeof *v->own, v->own, "node_csr: lists", (void **)&w->own));
    return d->ops->wait(d);
}

static fe_status open_visits(fe_problem *p, int precision, void **work)
{
    visits v = {.unit = getenv("NODE_CSR_UNIT") ? atoi(getenv("NODE_CSR_UNIT")) : 32};
    v.cap = p->kind == FE_TET4 ? (getenv("NODE_CSR_CAP") ? atoi(getenv("NODE_CSR_CAP")) : 288) : 8 * v.unit;
    const fe_status status = build_visits(&v, p, precision, work);
    free(v.first), free(v.corner), free(v.warp), free(v.own);
    return status;
}

fe_status node_csr_open(fe_problem *p, int precision, void **work)
{
    if (p->kind == FE_TET4 && !getenv("NODE_CSR_CAP")) return open_lists(p, precision, work);
    return (p->kind == FE_HEX8 || p->kind == FE_TET4) && !getenv("NODE_CSR_ROWS")
               ? open_visits(p, precision, work)
               : FE_OK;
}
