/* The colouring: first fit in the elements' order with a mask of colours at each node, then elements move
 * from full colours to the emptiest one that their nodes allow. Runs once, on the host. */
#include "common/backend/device.h"
#include "common/base/sort.h"
#include "variants/element_color/assembly.h"

#include <stdlib.h>
#include <string.h>

/* Classes of more than FEW elements are shared by threads. */
enum { BITS = 64, PASSES = 5, FEW = 1000, FEW_WORDS = 16 };

typedef struct coloring {
    int n_corner, n_word, n_color, threads;
    size_t ld;
    int *conn;      /* [n_corner][ld] */
    uint64_t *mask; /* [n_local][n_word] colours at a node */
    int *color;     /* [ld] of each element */
    int *count;     /* [BITS × n_word] elements of each colour */
} coloring;

/* Words of a mask with room for one colour more than an element can have neighbours. */
static fe_status count_words(coloring *k, const fe_problem *p)
{
    int *valence = NULL, largest = 1;
    const fe_status status = fe_problem_valence(p, k->conn, k->threads, &valence);
    for (int i = 0; status == FE_OK && i < p->view.n_local; i++)
        if (valence[i] > largest) largest = valence[i];
    free(valence);
    k->n_word = (k->n_corner * (largest - 1) + 1 + BITS - 1) / BITS;
    return status;
}

static void flip(coloring *k, int e, int color)
{
    for (int c = 0; c < k->n_corner; c++)
        k->mask[(size_t)k->conn[c * k->ld + e] * k->n_word + color / BITS] ^= UINT64_C(1) << color % BITS;
}

/* Colours at the nodes of e, word w. */
static uint64_t taken(const coloring *k, int e, int w)
{
    uint64_t mask = 0;
    for (int c = 0; c < k->n_corner; c++) mask |= k->mask[(size_t)k->conn[c * k->ld + e] * k->n_word + w];
    return mask;
}

/* Gives e the first colour that no element at its nodes has. */
static void first_fit(coloring *k, int e)
{
    int w = 0;
    uint64_t mask;
    while ((mask = taken(k, e, w)) == UINT64_MAX) w++;
    k->color[e] = BITS * w + __builtin_ctzll(~mask);
    flip(k, e, k->color[e]);
}

/* Elements of each colour among [first, last), and how many colours there are. */
static void count_colors(coloring *k, int first, int last)
{
    const int n = BITS * k->n_word, *color = k->color;
    int *count = k->count;
    memset(count, 0, (size_t)n * sizeof *count);
    if (k->n_word > FEW_WORDS) /* counts of each thread might not fit its stack */
        for (int e = first; e < last; e++) count[color[e]]++;
    else {
#pragma omp parallel for schedule(static) num_threads(k->threads) reduction(+ : count[:n])
        for (int e = first; e < last; e++) count[color[e]]++;
    }
    for (k->n_color = 0; k->n_color < n && count[k->n_color] > 0;) k->n_color++;
}

/* The emptiest colour that e may have. */
static void move(coloring *k, int e)
{
    int best = k->color[e];
    for (int w = 0; BITS * w < k->n_color; w++) {
        const uint64_t mask = taken(k, e, w);
        for (int color = BITS * w; color < k->n_color && color < BITS * (w + 1); color++)
            if (!(mask >> color % BITS & 1) && k->count[color] < k->count[best] - 1) best = color;
    }
    if (best == k->color[e]) return;
    flip(k, e, k->color[e]), flip(k, e, best);
    k->count[k->color[e]]--, k->count[best]++;
    k->color[e] = best;
}

/* Elements [first, last) colour by colour, the last colour first if `reversed`; starts [n_color + 1]: their
 * places. */
static fe_status sort_by_color(const coloring *k, int first, int last, int reversed, int *starts, int *elem)
{
    const int top = k->n_color - 1, n = last - first;
    uint64_t *word = NULL;
    starts[0] = first;
    for (int c = 0; c <= top; c++) starts[c + 1] = starts[c] + k->count[reversed ? top - c : c];
    FE_RESERVE(word, n, "colours");
#pragma omp parallel for schedule(static) num_threads(k->threads)
    for (int i = 0; i < n; i++) {
        const int color = k->color[first + i];
        word[i] = fe_word_of((uint32_t)(reversed ? top - color : color), first + i);
    }
    const fe_status status = fe_sort_words(word, n, k->threads);
#pragma omp parallel for schedule(static) num_threads(k->threads)
    for (int i = 0; i < n; i++) elem[first + i] = fe_item_of(word[i]);
    free(word);
    return status;
}

/* Colours elements [first, last), in the first pass one after the other, then class after class. Elements of
 * a class have no common node: what each gets does not depend on the others, so threads share them. */
static void fit(coloring *k, int n_local, int pass, const int *starts, const int *elem, int first, int last)
{
    memset(k->mask, 0, (size_t)n_local * k->n_word * sizeof *k->mask);
    for (int e = first; pass == 0 && e < last; e++) first_fit(k, e);
    for (int c = 0; pass > 0 && c < k->n_color; c++) {
#pragma omp parallel for schedule(static) num_threads(k->threads) if (starts[c + 1] - starts[c] > FEW)
        for (int i = starts[c]; i < starts[c + 1]; i++) first_fit(k, elem[i]);
    }
    count_colors(k, first, last);
}

/* Colours [first, last). A pass over the elements colour by colour needs no more colours than the last one,
 * and mostly fewer: 17 becomes 14 on a Hex8 box in random order. */
static fe_status color_part(coloring *k, fe_device *d, int n_local, int first, int last, int *elem,
                            int *n_color, const int **starts)
{
    int *at = NULL;
    FE_TRY(fe_device_keep(d, ((size_t)BITS * k->n_word + 1) * sizeof *at, "colours", (void **)&at));
    for (int pass = 0; pass < PASSES; pass++) {
        fit(k, n_local, pass, at, elem, first, last);
        if (pass < PASSES - 1) FE_TRY(sort_by_color(k, first, last, 1, at, elem));
    }
    for (int e = first; e < last; e++)
        if (k->count[k->color[e]] > (last - first) / k->n_color) move(k, e);
    FE_TRY(sort_by_color(k, first, last, 0, at, elem));
    *starts = at, *n_color = k->n_color;
    return FE_OK;
}

/* Colours both parts, then writes conn in the order of the sorted list to sorted [n_corner][ld]. Places
 * beyond the end repeat the last element: they are read, never added. */
static fe_status sort_elements(coloring *k, const fe_problem *p, int *elem, int *sorted,
                               element_color_order *order)
{
    const fe_view *m = &p->view;
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++) {
        int first, last;
        fe_part_elements(m, (fe_part)part, &first, &last);
        FE_TRY(color_part(k, p->device, m->n_local, first, last, elem, &order->n_color[part],
                          &order->first[part]));
    }
    for (int i = m->n_elem; i < m->ld; i++) elem[i] = elem[m->n_elem - 1];
#pragma omp parallel for schedule(static) num_threads(k->threads) collapse(2)
    for (int c = 0; c < k->n_corner; c++)
        for (int i = 0; i < m->ld; i++) sorted[c * k->ld + i] = k->conn[c * k->ld + elem[i]];
    return FE_OK;
}

/* The materials of the sorted elements. */
static fe_status sort_materials(const fe_problem *p, const int *elem, element_color_order *order)
{
    const size_t ld = (size_t)p->view.ld;
    uint8_t *own = NULL, *sorted = NULL;
    if (!p->view.materials) return FE_OK;
    fe_status status = fe_allocate(ld, 1, "materials by colour", (void **)&own);
    if (status == FE_OK) status = fe_allocate(ld, 1, "materials by colour", (void **)&sorted);
    if (status == FE_OK) status = p->device->ops->memory.download(p->device, ld, p->view.material_of, own);
    for (size_t i = 0; i < ld && status == FE_OK; i++) sorted[i] = own[elem[i]];
    if (status == FE_OK)
        status =
            fe_device_upload(p->device, ld, 1, sorted, "materials by colour", (void **)&order->material_of);
    free(own), free(sorted);
    return status;
}

static fe_status build_order(coloring *k, const fe_problem *p, size_t tangent_bytes, int **elem, int **sorted,
                             element_color_order *order)
{
    const fe_view *m = &p->view;
    const size_t n = k->n_corner * k->ld;
    fe_device *d = p->device;
    FE_RESERVE(k->conn, n, "colours");
    FE_TRY(d->ops->memory.download(d, n * sizeof *k->conn, m->conn, k->conn));
    FE_TRY(count_words(k, p));
    FE_ALLOCATE(k->mask, (size_t)m->n_local * k->n_word, "colours");
    FE_RESERVE(k->color, k->ld, "colours");
    FE_ALLOCATE(k->count, BITS * k->n_word, "colours");
    FE_RESERVE(*elem, k->ld, "colours");
    FE_RESERVE(*sorted, n, "colours");
    FE_TRY(sort_elements(k, p, *elem, *sorted, order));
    FE_TRY(fe_device_upload(d, k->ld, sizeof **elem, *elem, "elements by colour", (void **)&order->elem));
    FE_TRY(fe_device_upload(d, n, sizeof **sorted, *sorted, "elements by colour", (void **)&order->conn));
    FE_TRY(sort_materials(p, *elem, order));
    FE_TRY(fe_device_allocate(d, k->ld, sizeof *order->flags, "flags by colour", (void **)&order->flags));
    return fe_device_allocate(d, (size_t)FE_N_TANGENT * fe_points(p->kind) * k->ld, tangent_bytes,
                              "tangent by colour", (void **)&order->tangent);
}

fe_status element_color_open(fe_problem *p, size_t tangent_bytes, void **work)
{
    coloring k = {.n_corner = fe_corners(p->kind),
                  .ld = (size_t)p->view.ld,
                  .threads = fe_device_host_threads(p->device)};
    int *elem = NULL, *sorted = NULL;
    FE_TRY(fe_device_keep(p->device, sizeof(element_color_order), "element_color", work));
    const fe_status status = build_order(&k, p, tangent_bytes, &elem, &sorted, *work);
    free(k.conn), free(k.mask), free(k.color), free(k.count), free(elem), free(sorted);
    return status;
}
