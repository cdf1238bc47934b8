/* The lists that kernels read on the device. On Tet4 they hold what it would otherwise look up corner by
 * corner. */
#include "common/backend/device.h"
#include "common/problem/visits.h"
#include "variants/node_csr/assembly.h"

#include <stdlib.h>

enum { WARP = NODE_CSR_WARP, WINDOW = 128 };

typedef struct draft {
    fe_host_mesh mesh;
    double *component;
    float *rounded; /* of component, in single precision */
    const fe_view *m;
    int threads;
} draft;

/* A list for teams of this many threads. */
typedef struct list_draft {
    const draft *of;
    int team;
    int *row;   /* [rows of the interior] */
    int *slice; /* [n_slice + 1] first entry of each */
    int n_slice;
} list_draft;

static int length_of(const draft *k, int row)
{
    return k->mesh.corner_first[row + 1] - k->mesh.corner_first[row];
}
static int rounds_of(const draft *k, int team, int row) { return (length_of(k, row) + team - 1) / team; }

/* Sorts rows [first, last) by rounds, the longest first; others keep their order. By insertion: most are in
 * place. */
static void sort_window(const draft *k, int team, int first, int last, int *row)
{
    for (int i = first; i < last; i++) {
        int at = i;
        for (; at > first && rounds_of(k, team, row[at - 1]) < rounds_of(k, team, i); at--)
            row[at] = row[at - 1];
        row[at] = i;
    }
}

/* Sorted within windows, so that neighbours stay close in memory (SELL-C-sigma: Kreutzer et al. 2014). */
static void sort_rows(const draft *k, int n_row, list_draft *l)
{
#pragma omp parallel for schedule(static) num_threads(k->threads)
    for (int first = 0; first < n_row; first += WINDOW)
        sort_window(k, l->team, first, first + WINDOW < n_row ? first + WINDOW : n_row, l->row);
}

/* A slice has as many rounds as its longest row. */
static fe_status size_slices(const draft *k, int n_row, list_draft *l)
{
    const int rows = WARP / l->team;
    l->n_slice = (n_row + rows - 1) / rows;
    FE_ALLOCATE(l->slice, l->n_slice + 1, "node_csr: lists");
    size_t n_entry = 0;
    for (int s = 0; s < l->n_slice; s++) {
        int rounds = 0;
        for (int i = rows * s; i < rows * (s + 1) && i < n_row; i++) {
            const int own = rounds_of(k, l->team, l->row[i]);
            if (own > rounds) rounds = own;
        }
        if (n_entry + (size_t)WARP * rounds > INT32_MAX)
            return fe_fail(FE_BAD_INPUT, "node_csr: more than %d element corners on one rank; use more ranks",
                           INT32_MAX);
        n_entry += (size_t)WARP * rounds;
        l->slice[s + 1] = (int)n_entry;
    }
    return FE_OK;
}

static size_t begin_of_slice(const void *list, int slice)
{
    return (size_t)((const list_draft *)list)->slice[slice] * sizeof(node_csr_entry);
}

/* Behind the last element of a row entries are not read. */
static void write_slice(const void *list, int slice, char *to)
{
    const list_draft *l = (const list_draft *)list;
    const draft *k = l->of;
    const int rows = WARP / l->team, n_row = k->m->n_node_interior;
    for (int at = rows * slice; at < rows * (slice + 1) && at < n_row; at++) {
        const int row = l->row[at];
        node_csr_entry *own = (node_csr_entry *)to + at % rows * l->team;
        for (int i = 0; i < length_of(k, row); i++) {
            const int corner = k->mesh.corner[k->mesh.corner_first[row] + i], e = corner >> 3, a = corner & 7;
            node_csr_entry *entry = &own[WARP * (i / l->team) + i % l->team];
            entry->corner = corner;
            for (int b = 1; b < 4; b++) entry->node[b - 1] = k->mesh.conn[(size_t)(b ^ a) * k->m->ld + e];
        }
    }
}

static fe_status build_list(const draft *k, fe_problem *p, list_draft *l, node_csr_list *w)
{
    const int n_row = p->view.n_node_interior;
    fe_device *d = p->device;
    FE_RESERVE(l->row, n_row, "node_csr: lists");
    for (int i = 0; i < n_row; i++) l->row[i] = i;
    if (l->team > 1) sort_rows(k, n_row, l);
    FE_TRY(size_slices(k, n_row, l));
    if (l->team > 1)
        FE_TRY(
            fe_device_upload(d, (size_t)n_row, sizeof *l->row, l->row, "node_csr: lists", (void **)&w->row));
    FE_TRY(fe_device_upload(d, (size_t)l->n_slice + 1, sizeof *l->slice, l->slice, "node_csr: lists",
                            (void **)&w->slice));
    const fe_pieces slices = {l->n_slice, l, begin_of_slice, write_slice};
    FE_TRY(fe_device_upload_pieces(d, &slices, "node_csr: lists", (void **)&w->entry));
    return d->ops->wait(d);
}

static fe_status open_list(const draft *k, fe_problem *p, int team, node_csr_list *w)
{
    list_draft l = {.of = k, .team = team};
    const fe_status status = build_list(k, p, &l, w);
    free(l.row), free(l.slice);
    return status;
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
    const size_t n = (size_t)m->n_local;
    FE_TRY(fe_problem_host_mesh(p, &k->mesh));
    FE_TRY(open_list(k, p, 1, &w->single));
    FE_TRY(open_list(k, p, NODE_CSR_TEAM, &w->team));
    w->n = (n + 15) / 16 * 16;
    FE_ALLOCATE(k->component, 3 * w->n, "node_csr: coordinates");
#pragma omp parallel for schedule(static) num_threads(k->threads)
    for (size_t i = 0; i < n; i++)
        for (int c = 0; c < 3; c++) k->component[c * w->n + i] = k->mesh.x[3 * i + c];
    FE_TRY(upload_coordinates(k, d, precision, w));
    FE_TRY(fe_device_allocate(d, 3 * w->n, precision == FE_SINGLE ? sizeof(float) : sizeof(double),
                              "node_csr: input by component", (void **)&w->displacement));
    return d->ops->wait(d);
}

static fe_status open_lists(fe_problem *p, int precision, void **work)
{
    draft k = {.m = &p->view, .threads = fe_device_host_threads(p->device)};
    FE_TRY(fe_device_keep(p->device, sizeof(node_csr_lists), "node_csr", work));
    const fe_status status = build(&k, p, precision, *work);
    free(k.component), free(k.rounded);
    return status;
}

fe_status node_csr_open(fe_problem *p, int precision, void **work)
{
    if (p->kind == FE_TET4) return open_lists(p, precision, work);
    return p->kind == FE_HEX8 || p->kind == FE_TET10 ? fe_visits_open(p, NODE_CSR_MOST, (fe_visits **)work)
                                                     : FE_OK;
}
