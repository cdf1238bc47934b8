/* The lists that the Tet4 kernel reads on the device. They hold what it would otherwise look up corner by
 * corner. */
#include "common/backend/device.h"
#include "variants/node_csr/assembly.h"

#include <stdlib.h>

enum { SLICE = NODE_CSR_SLICE };

typedef struct draft {
    int *first, *corner, *conn; /* the view's */
    int *slice;                 /* [n_slice + 1] */
    node_csr_entry *entry;
    double *x; /* [n_local][3] */
    double *component;
    float *rounded; /* of component, in single precision */
    size_t n_entry;
    int n_slice;
} draft;

/* A slice is as long as its longest row. */
static fe_status size_slices(draft *k, int n_owned)
{
    k->n_slice = (n_owned + SLICE - 1) / SLICE;
    FE_ALLOCATE(k->slice, k->n_slice + 1, "node_csr: lists");
    for (int s = 0; s < k->n_slice; s++) {
        int longest = 0;
        for (int row = SLICE * s; row < SLICE * (s + 1) && row < n_owned; row++)
            if (k->first[row + 1] - k->first[row] > longest) longest = k->first[row + 1] - k->first[row];
        if (k->n_entry + (size_t)SLICE * longest > INT32_MAX)
            return fe_fail(FE_BAD_INPUT, "node_csr: more than %d element corners on one rank; use more ranks",
                           INT32_MAX);
        k->n_entry += (size_t)SLICE * longest;
        k->slice[s + 1] = (int)k->n_entry;
    }
    return FE_OK;
}

static void fill_slices(draft *k, const fe_view *m)
{
#pragma omp parallel for schedule(static)
    for (int row = 0; row < m->n_owned; row++)
        for (int i = k->first[row]; i < k->first[row + 1]; i++) {
            const int e = k->corner[i] >> 3, a = k->corner[i] & 7;
            node_csr_entry *to = &k->entry[k->slice[row / SLICE] + SLICE * (i - k->first[row]) + row % SLICE];
            to->corner = k->corner[i];
            for (int b = 1; b < 4; b++) to->node[b - 1] = k->conn[(size_t)(b ^ a) * m->ld + e];
        }
}

/* The coordinates by component, in single precision those from the first node. */
static fe_status upload_coordinates(draft *k, fe_device *d, int precision, node_csr_lists *w)
{
    const size_t n = 3 * w->n;
    if (precision != FE_SINGLE)
        return fe_device_upload(d, n, sizeof *k->component, k->component, "node_csr: coordinates",
                                (void **)&w->x);
    FE_ALLOCATE(k->rounded, n, "node_csr: coordinates");
    for (size_t i = 0; i < n; i++) k->rounded[i] = (float)(k->component[i] - k->component[i / w->n * w->n]);
    return fe_device_upload(d, n, sizeof *k->rounded, k->rounded, "node_csr: coordinates", (void **)&w->x);
}

static fe_status build(draft *k, fe_problem *p, int precision, node_csr_lists *w)
{
    const fe_view *m = &p->view;
    fe_device *d = p->device;
    const size_t corners = 4 * (size_t)m->ld, n = (size_t)m->n_local;
    FE_RESERVE(k->first, m->n_owned + 1, "node_csr: lists");
    FE_TRY(
        d->ops->memory.download(d, ((size_t)m->n_owned + 1) * sizeof *k->first, m->corner_first, k->first));
    const size_t n_corner = (size_t)k->first[m->n_owned];
    FE_RESERVE(k->corner, n_corner, "node_csr: lists");
    FE_RESERVE(k->conn, corners, "node_csr: lists");
    FE_RESERVE(k->x, 3 * n, "node_csr: lists");
    FE_TRY(d->ops->memory.download(d, n_corner * sizeof *k->corner, m->corner, k->corner));
    FE_TRY(d->ops->memory.download(d, corners * sizeof *k->conn, m->conn, k->conn));
    FE_TRY(d->ops->memory.download(d, 3 * n * sizeof *k->x, m->x, k->x));
    FE_TRY(size_slices(k, m->n_owned));
    FE_ALLOCATE(k->entry, k->n_entry, "node_csr: lists");
    fill_slices(k, m);
    w->n = (n + 15) / 16 * 16;
    FE_ALLOCATE(k->component, 3 * w->n, "node_csr: coordinates");
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++)
        for (int c = 0; c < 3; c++) k->component[c * w->n + i] = k->x[3 * i + c];
    FE_TRY(fe_device_upload(d, (size_t)k->n_slice + 1, sizeof *k->slice, k->slice, "node_csr: lists",
                            (void **)&w->slice));
    FE_TRY(
        fe_device_upload(d, k->n_entry, sizeof *k->entry, k->entry, "node_csr: lists", (void **)&w->entry));
    FE_TRY(upload_coordinates(k, d, precision, w));
    FE_TRY(fe_device_allocate(d, 3 * w->n, precision == FE_SINGLE ? sizeof(float) : sizeof(double),
                              "node_csr: input by component", (void **)&w->displacement));
    return d->ops->wait(d);
}

fe_status node_csr_open(fe_problem *p, int precision, void **work)
{
    draft k = {0};
    if (p->kind != FE_TET4) return FE_OK;
    FE_TRY(fe_device_keep(p->device, sizeof(node_csr_lists), "node_csr", work));
    const fe_status status = build(&k, p, precision, *work);
    free(k.first), free(k.corner), free(k.conn), free(k.slice), free(k.entry), free(k.x), free(k.component);
    free(k.rounded);
    return status;
}
