/* Where corner_gather stores forces: on the host a place for each corner of each element. */
#include "common/backend/device.h"
#include "variants/corner_gather/assembly.h"

#include <stdlib.h>

enum { SLICE = CORNER_GATHER_SLICE };

typedef struct places {
    fe_host_mesh mesh;
    int *place;   /* [n_corner][ld] */
    int *valence; /* [n_local] corners of a node */
    int *slice;   /* [n_slice + 1] */
    int n_slice, threads;
} places;

/* A slice is as wide as its longest row. */
static fe_status size_slices(const fe_view *m, places *s)
{
    int64_t n = 0;
    for (int i = 0; i < s->n_slice; i++) {
        int width = 0;
        for (int row = SLICE * i; row < SLICE * (i + 1) && row < m->n_local; row++)
            if (s->valence[row] > width) width = s->valence[row];
        s->slice[i] = (int)n;
        n += SLICE * width;
        if (n > INT32_MAX - SLICE)
            return fe_fail(FE_BAD_INPUT,
                           "corner_gather: more than %d element corners on one rank; use more ranks",
                           INT32_MAX);
    }
    s->slice[s->n_slice] = (int)n;
    return FE_OK;
}

static int place_of(const places *s, int row, int i)
{
    return s->slice[row / SLICE] + SLICE * i + row % SLICE;
}

/* Corners get their places element by element, which is the order of the view's rows; those of ghosts, which
 * have no row there, are corners of the border's elements. Lanes beyond the last element share one place
 * after all others. */
static void fill_slices(const fe_view *m, int kind, places *s)
{
    const int n_corner = fe_corners(kind);
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int row = 0; row < m->n_owned; row++)
        for (int k = s->mesh.corner_first[row]; k < s->mesh.corner_first[row + 1]; k++)
            s->place[(size_t)fe_code_corner(kind, s->mesh.corner[k]) * m->ld +
                     fe_code_element(kind, s->mesh.corner[k])] =
                place_of(s, row, k - s->mesh.corner_first[row]);
    for (int row = m->n_owned; row < m->n_local; row++) s->valence[row] = 0; /* those that have their place */
    for (int e = m->n_elem_interior; e < m->n_elem; e++)
        for (int a = 0; a < n_corner; a++) {
            const int row = s->mesh.conn[(size_t)a * m->ld + e];
            if (row >= m->n_owned) s->place[(size_t)a * m->ld + e] = place_of(s, row, s->valence[row]++);
        }
    for (int e = m->n_elem; e < m->ld; e++)
        for (int a = 0; a < n_corner; a++) s->place[(size_t)a * m->ld + e] = s->slice[s->n_slice];
}

static fe_status build_places(fe_problem *p, corner_gather *w, places *s)
{
    static const char what[] = "corner_gather: places";
    fe_device *d = p->device;
    const fe_view *m = &p->view;
    const size_t n = (size_t)fe_corners(p->kind) * m->ld;
    s->n_slice = (m->n_local + SLICE - 1) / SLICE;
    FE_TRY(fe_problem_host_mesh(p, &s->mesh));
    FE_RESERVE(s->place, n, what);
    FE_RESERVE(s->slice, s->n_slice + 1, what);
    FE_TRY(fe_problem_valence(p, &s->mesh, s->threads, &s->valence));
    FE_TRY(size_slices(m, s));
    fill_slices(m, p->kind, s);
    w->n_slot = (size_t)s->slice[s->n_slice] + SLICE; /* components stay aligned */
    FE_TRY(fe_device_upload(d, n, sizeof *s->place, s->place, what, (void **)&w->place));
    FE_TRY(fe_device_upload(d, (size_t)s->n_slice + 1, sizeof *s->slice, s->slice, what, (void **)&w->slice));
    return d->ops->wait(d);
}

fe_status corner_gather_make(fe_problem *p, int on_device, size_t value_bytes, void **work)
{
    corner_gather *w;
    FE_TRY(fe_device_keep(p->device, sizeof *w, "corner_gather", work));
    w = *work;
    if (on_device) { /* numbers of corners fit an int: see fe_corner_code */
        *w = (corner_gather){.n_slot = (size_t)fe_corners(p->kind) * (size_t)p->view.n_elem};
    } else {
        places s = {.threads = fe_device_host_threads(p->device)};
        const fe_status status = build_places(p, w, &s);
        free(s.place), free(s.valence), free(s.slice);
        FE_TRY(status);
    }
    /* The device stores every entry before one is read; on the host, empty ones stay 0. */
    return (on_device ? fe_device_reserve : fe_device_allocate)(
        p->device, 6 * w->n_slot, value_bytes, "corner_gather: corner forces", (void **)&w->value);
}
