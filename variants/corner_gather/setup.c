/* Where corner_gather stores forces: a place for each corner of each element. */
#include "common/backend/device.h"
#include "common/base/sort.h"
#include "common/problem/visits.h"
#include "variants/corner_gather/assembly.h"

#include <stdlib.h>

enum { SLICE = CORNER_GATHER_SLICE };

typedef struct slots {
    fe_host_mesh mesh;
    int *place;       /* [n_corner][ld] */
    int *sorted;      /* [n_block][block_corners] places in the order in which blocks store, */
    uint16_t *source; /* and the corners that belong there */
    int *valence;     /* [n_local] corners of a node */
    int *slice;       /* [n_slice + 1] */
    size_t n_sorted;
    int run, n_slice, n_block, threads;
} slots;

/* A slice is as wide as its longest row, in whole runs. */
static fe_status size_slices(const fe_view *m, slots *s)
{
    int64_t n = 0;
    for (int i = 0; i < s->n_slice; i++) {
        int width = 0;
        for (int row = SLICE * i; row < SLICE * (i + 1) && row < m->n_local; row++)
            if (s->valence[row] > width) width = s->valence[row];
        s->slice[i] = (int)n;
        n += SLICE * ((width + s->run - 1) / s->run * s->run);
        if (n > INT32_MAX - SLICE)
            return fe_fail(FE_BAD_INPUT,
                           "corner_gather: more than %d element corners on one rank; use more ranks",
                           INT32_MAX);
    }
    s->slice[s->n_slice] = (int)n;
    return FE_OK;
}

static int slot_of(const slots *s, int row, int i)
{
    return s->slice[row / SLICE] + SLICE * (i - i % s->run) + s->run * (row % SLICE) + i % s->run;
}

/* Corners get their places element by element, which is the order of the view's rows; those of ghosts, which
 * have no row there, are corners of the border's elements. Lanes beyond the last element share one slot after
 * all others. */
static void fill_slices(const fe_view *m, int kind, slots *s)
{
    const int n_corner = fe_corners(kind);
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int row = 0; row < m->n_owned; row++)
        for (int k = s->mesh.corner_first[row]; k < s->mesh.corner_first[row + 1]; k++)
            s->place[(size_t)fe_code_corner(kind, s->mesh.corner[k]) * m->ld +
                     fe_code_element(kind, s->mesh.corner[k])] =
                slot_of(s, row, k - s->mesh.corner_first[row]);
    for (int row = m->n_owned; row < m->n_local; row++) s->valence[row] = 0; /* those that have their slot */
    for (int e = m->n_elem_interior; e < m->n_elem; e++)
        for (int a = 0; a < n_corner; a++) {
            const int row = s->mesh.conn[(size_t)a * m->ld + e];
            if (row >= m->n_owned) s->place[(size_t)a * m->ld + e] = slot_of(s, row, s->valence[row]++);
        }
    for (int e = m->n_elem; e < m->ld; e++)
        for (int a = 0; a < n_corner; a++) s->place[(size_t)a * m->ld + e] = s->slice[s->n_slice];
}

/* Which of a block's corners is corner a of its element number i: thread + threads × corner of the thread. */
static int source_of(int kind, int i, int a)
{
    const int team = corner_gather_device_team(kind), held = fe_corners(kind) / team,
              place = fe_is_quadratic(kind) ? fe_spread_place(kind, a) : a / held + team * (a % held);
    return i * team + place % team + CORNER_GATHER_THREADS * (place / team);
}

/* The corners of elements [first, last) by slot, as a block of the device has them. */
static void sort_block(const fe_view *m, int kind, int first, int last, const slots *s, size_t block)
{
    const int n_corner = fe_corners(kind);
    const size_t start = corner_gather_block_corners(kind) * block;
    uint64_t word[CORNER_GATHER_BLOCK];
    int n = 0;
    for (int e = first; e < last; e++)
        for (int a = 0; a < n_corner; a++)
            word[n++] =
                (uint64_t)s->place[(size_t)a * m->ld + e] << 32 | (unsigned)source_of(kind, e - first, a);
    qsort(word, (size_t)n, sizeof *word, fe_compare_words);
    for (int i = 0; i < n; i++)
        s->sorted[start + i] = (int)(word[i] >> 32), s->source[start + i] = (uint16_t)word[i];
}

static int blocks_of(int n, int most) { return (n + most - 1) / most; }

/* Blocks of the interior, then those of the border. */
static fe_status sort_blocks(const fe_view *m, int kind, slots *s)
{
    const int most = corner_gather_block_elements(kind), interior = blocks_of(m->n_elem_interior, most);
    s->n_block = interior + blocks_of(m->n_elem - m->n_elem_interior, most);
    s->n_sorted = (size_t)corner_gather_block_corners(kind) * s->n_block;
    FE_RESERVE(s->sorted, s->n_sorted, "corner_gather: slots");
    FE_RESERVE(s->source, s->n_sorted, "corner_gather: slots");
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int b = 0; b < s->n_block; b++) {
        const int first = b < interior ? b * most : m->n_elem_interior + (b - interior) * most,
                  end = b < interior ? m->n_elem_interior : m->n_elem;
        sort_block(m, kind, first, first + most < end ? first + most : end, s, (size_t)b);
    }
    return FE_OK;
}

static fe_status upload_places(fe_device *d, const slots *s, size_t n_corners, corner_gather *w)
{
    static const char what[] = "corner_gather: slots";
    if (s->run == 1)
        return fe_device_upload(d, n_corners, sizeof *s->place, s->place, what, (void **)&w->place);
    FE_TRY(fe_device_upload(d, s->n_sorted, sizeof *s->sorted, s->sorted, what, (void **)&w->place));
    return fe_device_upload(d, s->n_sorted, sizeof *s->source, s->source, what, (void **)&w->source);
}

static fe_status build_slots(fe_problem *p, int on_device, corner_gather *w, slots *s)
{
    fe_device *d = p->device;
    const fe_view *m = &p->view;
    const int n_corner = fe_corners(p->kind);
    const size_t n = (size_t)n_corner * m->ld;
    s->n_slice = (m->n_local + SLICE - 1) / SLICE;
    FE_TRY(fe_problem_host_mesh(p, &s->mesh));
    FE_RESERVE(s->place, n, "corner_gather: slots");
    FE_RESERVE(s->slice, s->n_slice + 1, "corner_gather: slots");
    if (on_device && (fe_is_tet(p->kind) || fe_is_quadratic(p->kind) ||
                      !fe_rows_are_regular(s->mesh.corner_first, s->mesh.corner, m->n_owned)))
        s->run = corner_gather_run(p->kind);
    FE_TRY(fe_problem_valence(p, &s->mesh, s->threads, &s->valence));
    FE_TRY(size_slices(m, s));
    fill_slices(m, p->kind, s);
    w->n_slot = (size_t)s->slice[s->n_slice] + SLICE; /* components stay aligned */
    if (s->run > 1) FE_TRY(sort_blocks(m, p->kind, s));
    FE_TRY(upload_places(d, s, n, w));
    FE_TRY(fe_device_upload(d, (size_t)s->n_slice + 1, sizeof *s->slice, s->slice, "corner_gather: slots",
                            (void **)&w->slice));
    return d->ops->wait(d);
}

fe_status corner_gather_make(fe_problem *p, int on_device, size_t value_bytes, void **work)
{
    corner_gather *w;
    slots s = {.run = 1, .threads = fe_device_host_threads(p->device)};
    FE_TRY(fe_device_keep(p->device, sizeof *w, "corner_gather", work));
    w = *work;
    const fe_status status = build_slots(p, on_device, w, &s);
    free(s.place), free(s.valence), free(s.slice);
    free(s.sorted), free(s.source);
    FE_TRY(status);
    w->run = s.run;
    return fe_device_allocate(p->device, 6 * w->n_slot, value_bytes, "corner_gather: corner forces",
                              (void **)&w->value);
}
