/* The colouring of blocks: first fit in their order with a mask of colours at each node, then blocks move
 * from full colours to the emptiest one that their nodes allow. Runs once, on the host. */
#include "common/backend/device.h"
#include "common/base/sort.h"
#include "variants/element_color/draft.h"

#include <stdlib.h>
#include <string.h>

/* Classes of more than FEW blocks are shared by threads. */
enum { BITS = 64, PASSES = 5, FEW = 64 };

typedef struct coloring {
    const element_color_draft *draft;
    int n_local, n_word, n_color, threads;
    uint64_t *mask; /* [n_local][n_word] colours at a node */
    int *color;     /* [n_block] */
    int *count;     /* [BITS × n_word] blocks of each colour */
} coloring;

static void flip(coloring *k, int b, int color)
{
    const element_color_block *block = &k->draft->block[b];
    const int *node = k->draft->node + block->first_node;
    for (int i = 0; i < block->n_node; i++)
        k->mask[(size_t)node[i] * k->n_word + color / BITS] ^= UINT64_C(1) << color % BITS;
}

/* Colours at the nodes of block b, word w. */
static uint64_t taken(const coloring *k, int b, int w)
{
    const element_color_block *block = &k->draft->block[b];
    const int *node = k->draft->node + block->first_node;
    uint64_t mask = 0;
    for (int i = 0; i < block->n_node; i++) mask |= k->mask[(size_t)node[i] * k->n_word + w];
    return mask;
}

/* Gives b the first colour that no block at its nodes has. Returns 0 where masks have no room for it. */
static int first_fit(coloring *k, int b)
{
    int w = 0;
    uint64_t mask;
    while ((mask = taken(k, b, w)) == UINT64_MAX)
        if (++w == k->n_word) return 0;
    k->color[b] = BITS * w + __builtin_ctzll(~mask);
    flip(k, b, k->color[b]);
    return 1;
}

/* Blocks of each colour among [first, last), and how many colours there are. */
static void count_colors(coloring *k, int first, int last)
{
    const int n = BITS * k->n_word;
    memset(k->count, 0, (size_t)n * sizeof *k->count);
    for (int b = first; b < last; b++) k->count[k->color[b]]++;
    for (k->n_color = 0; k->n_color < n && k->count[k->n_color] > 0;) k->n_color++;
}

/* The emptiest colour that b may have. */
static void move(coloring *k, int b)
{
    int best = k->color[b];
    for (int w = 0; BITS * w < k->n_color; w++) {
        const uint64_t mask = taken(k, b, w);
        for (int color = BITS * w; color < k->n_color && color < BITS * (w + 1); color++)
            if (!(mask >> color % BITS & 1) && k->count[color] < k->count[best] - 1) best = color;
    }
    if (best == k->color[b]) return;
    flip(k, b, k->color[b]), flip(k, b, best);
    k->count[k->color[b]]--, k->count[best]++;
    k->color[b] = best;
}

/* Blocks [first, last) colour by colour, the last colour first if `reversed`; starts [n_color + 1]: their
 * places. */
static fe_status sort_by_color(const coloring *k, int first, int last, int reversed, int *starts, int *order)
{
    const int top = k->n_color - 1, n = last - first;
    uint64_t *word = NULL;
    starts[0] = first;
    for (int c = 0; c <= top; c++) starts[c + 1] = starts[c] + k->count[reversed ? top - c : c];
    FE_RESERVE(word, n, "colours");
    for (int i = 0; i < n; i++) {
        const int color = k->color[first + i];
        word[i] = fe_word_of((uint32_t)(reversed ? top - color : color), first + i);
    }
    const fe_status status = fe_sort_words(word, n, k->threads);
    for (int i = 0; i < n; i++) order[first + i] = fe_item_of(word[i]);
    free(word);
    return status;
}

/* Colours blocks [first, last), in the first pass one after the other, then class after class. Blocks of a
 * class have no common node: what each gets does not depend on the others, so threads share them. Returns 0
 * where masks have no room. */
static int fit(coloring *k, int pass, const int *starts, const int *order, int first, int last)
{
    int fits = 1;
    memset(k->mask, 0, (size_t)k->n_local * k->n_word * sizeof *k->mask);
    for (int b = first; pass == 0 && b < last && fits; b++) fits = first_fit(k, b);
    for (int c = 0; pass > 0 && c < k->n_color; c++) {
#pragma omp parallel for schedule(static) num_threads(k->threads) if (starts[c + 1] - starts[c] > FEW)
        for (int i = starts[c]; i < starts[c + 1]; i++) first_fit(k, order[i]);
    }
    if (fits) count_colors(k, first, last);
    return fits;
}

/* Memory for as many colours as n_word words hold. */
static fe_status make_room(coloring *k, int n_word)
{
    free(k->mask), free(k->count);
    k->mask = NULL, k->count = NULL, k->n_word = n_word;
    FE_RESERVE(k->mask, (size_t)k->n_local * n_word, "colours");
    FE_RESERVE(k->count, BITS * n_word, "colours");
    return FE_OK;
}

/* A pass over the blocks colour by colour needs no more colours than the last one, and mostly fewer. */
static fe_status color_blocks(coloring *k, int first, int last, int *order, int *n_color, const int **starts)
{
    int *at = NULL;
    FE_TRY(make_room(k, 1));
    while (!fit(k, 0, NULL, NULL, first, last)) FE_TRY(make_room(k, 2 * k->n_word));
    FE_TRY(
        fe_device_keep(k->draft->p->device, ((size_t)k->n_color + 1) * sizeof *at, "colours", (void **)&at));
    for (int pass = 1; pass < PASSES; pass++) {
        FE_TRY(sort_by_color(k, first, last, 1, at, order));
        fit(k, pass, at, order, first, last);
    }
    for (int b = first; b < last; b++)
        if (k->count[k->color[b]] > (last - first) / k->n_color) move(k, b);
    FE_TRY(sort_by_color(k, first, last, 0, at, order));
    *starts = at, *n_color = k->n_color;
    return FE_OK;
}

fe_status element_color_blocks(element_color_draft *draft, int first, int last, int *order, int *n_color,
                               const int **starts)
{
    coloring k = {.draft = draft, .n_local = draft->p->view.n_local, .threads = draft->threads};
    FE_RESERVE(k.color, draft->n_block, "colours");
    const fe_status status = color_blocks(&k, first, last, order, n_color, starts);
    free(k.mask), free(k.color), free(k.count);
    return status;
}
