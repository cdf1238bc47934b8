/* Tiles of rows, for the device: consecutive rows with the elements at them. Runs once, on the host. */
#include "variants/two_phase/tiles.h"
#include "common/backend/device.h"
#include "common/mesh/bisect.h"

#include <stdlib.h>
#include <string.h>

enum { HASH = 4096 }; /* > 2 TWO_PHASE_PLACES */

typedef struct draft {
    const fe_problem *p;
    int n_corner, threads;
    fe_host_mesh mesh;
    two_phase_tile *tile;
    int *elem, *long_row;
    uint16_t *place;
    int n_tile, n_long, n_elem;
} draft;

static int length_of(const draft *k, int row)
{
    return k->mesh.corner_first[row + 1] - k->mesh.corner_first[row];
}

/* Rows of one piece of elements follow each other where the mesh is in pieces: the piece of a row's first
 * element. */
static int piece_of(const draft *k, int row)
{
    return fe_code_element(k->p->kind, k->mesh.corner[k->mesh.corner_first[row]]) /
           fe_piece_elements(k->p->kind);
}

/* One past the last row, below `end`, that fits a tile which begins at `row`: whole pieces, or what fits of
 * the first one. */
static int tile_end(const draft *k, int row, int end)
{
    const int most = k->mesh.corner_first[row] + TWO_PHASE_PLACES;
    int last = row, whole = row;
    while (last < end && k->mesh.corner_first[last + 1] <= most) {
        last++;
        if (last == end || piece_of(k, last) != piece_of(k, last - 1)) whole = last;
    }
    return whole > row ? whole : last;
}

/* Rows of a part. */
static void cut_rows(draft *k, int first, int end)
{
    for (int row = first; row < end;) {
        if (length_of(k, row) > TWO_PHASE_PLACES) {
            k->long_row[k->n_long++] = row++;
            continue;
        }
        const int last = tile_end(k, row, end);
        k->tile[k->n_tile++] =
            (two_phase_tile){.row = row, .n_row = last - row, .first_corner = k->mesh.corner_first[row]};
        row = last;
    }
}

/* The elements at a tile's rows in the order in which rows meet them, and their corners' places; returns how
 * many there are. elem NULL: counts. */
static int collect(const draft *k, const two_phase_tile *t, int *elem, uint16_t *place)
{
    int16_t table[HASH];
    int found[TWO_PHASE_PLACES], n = 0;
    memset(table, -1, sizeof table);
    for (int i = t->first_corner; i < k->mesh.corner_first[t->row + t->n_row]; i++) {
        const int e = fe_code_element(k->p->kind, k->mesh.corner[i]);
        unsigned at = (unsigned)e * 2654435769u >> 20;
        while (table[at] >= 0 && found[table[at]] != e) at = (at + 1) % HASH;
        if (table[at] < 0) {
            table[at] = (int16_t)n, found[n] = e;
            for (int c = 0; elem && c < k->n_corner; c++) place[n * k->n_corner + c] = TWO_PHASE_NO_PLACE;
            n++;
        }
        if (elem)
            place[table[at] * k->n_corner + fe_code_corner(k->p->kind, k->mesh.corner[i])] =
                (uint16_t)two_phase_skewed(i - t->first_corner);
    }
    if (elem) memcpy(elem, found, (size_t)n * sizeof *elem);
    return n;
}

static fe_status fill(draft *k)
{
#pragma omp parallel for schedule(dynamic, 16) num_threads(k->threads)
    for (int i = 0; i < k->n_tile; i++) k->tile[i].n_elem = collect(k, &k->tile[i], NULL, NULL);
    for (int i = 0; i < k->n_tile; i++) k->tile[i].elem = k->n_elem, k->n_elem += k->tile[i].n_elem;
    FE_RESERVE(k->elem, k->n_elem, "tiles");
    FE_RESERVE(k->place, (size_t)k->n_elem * k->n_corner, "tiles");
#pragma omp parallel for schedule(dynamic, 16) num_threads(k->threads)
    for (int i = 0; i < k->n_tile; i++) {
        const two_phase_tile *t = &k->tile[i];
        collect(k, t, k->elem + t->elem, k->place + (size_t)t->elem * k->n_corner);
    }
    return FE_OK;
}

static fe_status upload(const draft *k, two_phase *w)
{
    fe_device *d = k->p->device;
    FE_TRY(fe_device_upload(d, (size_t)k->n_tile, sizeof *k->tile, k->tile, "tiles", (void **)&w->tile));
    FE_TRY(fe_device_upload(d, (size_t)k->n_elem, sizeof *k->elem, k->elem, "elements of tiles",
                            (void **)&w->tile_elem));
    FE_TRY(fe_device_upload(d, (size_t)k->n_elem * k->n_corner, sizeof *k->place, k->place, "places in tiles",
                            (void **)&w->place));
    if (k->n_long == 0) return FE_OK;
    return fe_device_upload(d, (size_t)k->n_long, sizeof *k->long_row, k->long_row, "long rows",
                            (void **)&w->long_row);
}

static fe_status build(draft *k, two_phase *w)
{
    const fe_view *m = &k->p->view;
    const int node[3] = {0, m->n_node_interior, m->n_owned};
    FE_TRY(fe_problem_host_mesh(k->p, &k->mesh));
    FE_RESERVE(k->tile, m->n_owned, "tiles");
    FE_RESERVE(k->long_row, m->n_owned, "tiles");
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++) {
        cut_rows(k, node[part], node[part + 1]);
        w->first_tile[part + 1] = k->n_tile, w->first_long[part + 1] = k->n_long;
    }
    FE_TRY(fill(k));
    return upload(k, w);
}

fe_status two_phase_open_tiles(const fe_problem *p, two_phase *w)
{
    draft k = {.p = p, .n_corner = fe_corners(p->kind), .threads = fe_device_host_threads(p->device)};
    const fe_status status = build(&k, w);
    free(k.tile), free(k.elem), free(k.long_row), free(k.place);
    return status;
}
