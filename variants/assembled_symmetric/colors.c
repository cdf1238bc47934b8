/* Colours of the rows for COLORS. Runs once, on the host. */
#include "common/backend/device.h"
#include "variants/assembled_symmetric/forms.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS = SYMMETRIC_MOST_COLORS / 64 };
typedef struct set {
    uint64_t word[WORDS];
} set;

typedef struct draft {
    const fe_view *m;
    int kind, n_corner;
    fe_host_mesh mesh;
    set *taken;                       /* [n_owned] colours of the rows that add to each row */
    int *color;                       /* [n_owned] */
    int count[SYMMETRIC_MOST_COLORS]; /* rows of each colour in the current part */
} draft;

/* Of all rows that a row adds to: *taken becomes the colours that they have, or they get a color. */
static void visit(draft *k, int row, int color, set *taken)
{
    const fe_host_mesh *mesh = &k->mesh;
    for (int at = mesh->corner_first[row]; at < mesh->corner_first[row + 1]; at++)
        for (int b = 0; b < k->n_corner; b++) {
            const int node = mesh->conn[(size_t)b * k->m->ld + fe_code_element(k->kind, mesh->corner[at])];
            if (node < row || node >= k->m->n_owned) continue;
            if (color >= 0)
                k->taken[node].word[color / 64] |= (uint64_t)1 << color % 64;
            else
                for (int i = 0; i < WORDS; i++) taken->word[i] |= k->taken[node].word[i];
        }
}

static fe_status color_row(draft *k, int row)
{
    set taken = {{0}};
    int color = 0;
    visit(k, row, -1, &taken);
    while (color < SYMMETRIC_MOST_COLORS && (taken.word[color / 64] >> color % 64 & 1)) color++;
    if (color == SYMMETRIC_MOST_COLORS)
        return fe_fail(FE_BAD_INPUT, "assembled_symmetric: more than %d colours of rows",
                       SYMMETRIC_MOST_COLORS);
    visit(k, row, color, NULL);
    k->color[row] = color, k->count[color]++;
    return FE_OK;
}

/* Colours of a part's rows, their first rows, and windows of BSR_WINDOW rows of one colour. */
static fe_status color_part(draft *k, const fe_problem *p, fe_part part, symmetric_colors *colors,
                            int *window)
{
    int row, last, next[SYMMETRIC_MOST_COLORS], n = 0;
    fe_part_nodes(k->m, part, &row, &last);
    memset(k->taken, 0, (size_t)k->m->n_owned * sizeof *k->taken);
    memset(k->count, 0, sizeof k->count);
    for (int i = row; i < last; i++) FE_TRY(color_row(k, i));
    while (n < SYMMETRIC_MOST_COLORS && k->count[n] > 0) n++;
    FE_TRY(
        fe_device_keep(p->device, ((size_t)n + 1) * sizeof(int), "colours", (void **)&colors->first[part]));
    colors->n[part] = n;
    for (int c = 0, windows = 0; c < n; c++) {
        colors->first[part][c + 1] = colors->first[part][c] + k->count[c];
        next[c] = windows * BSR_WINDOW, windows += (k->count[c] + BSR_WINDOW - 1) / BSR_WINDOW;
    }
    for (int i = row; i < last; i++) window[i] = next[k->color[i]]++ / BSR_WINDOW;
    return FE_OK;
}

fe_status symmetric_open_colors(const fe_problem *p, symmetric_colors *colors, bsr_matrix *matrix)
{
    draft k = {.m = &p->view, .kind = p->kind, .n_corner = fe_corners(p->kind)};
    const size_t n = (size_t)k.m->n_owned;
    int *window;
    FE_TRY(fe_problem_host_mesh(p, &k.mesh));
    FE_TRY(fe_device_keep(p->device, n * sizeof *window, "colours", (void **)&window));
    fe_status status = fe_allocate(n, sizeof *k.taken, "colours", (void **)&k.taken);
    if (status == FE_OK) status = fe_allocate(n, sizeof *k.color, "colours", (void **)&k.color);
    for (int part = FE_INTERIOR; part <= FE_BORDER && status == FE_OK; part++)
        status = color_part(&k, p, (fe_part)part, colors, window);
    free(k.taken), free(k.color);
    matrix->window = window;
    return status;
}
