/* What several ranks need of a table of set-up's steps: rows of ghosts as numbers that an exchange carries,
 * and matrices that ranks put together from their rows. Bodies for both backends. */
#ifndef FE_RANK_STEPS_H
#define FE_RANK_STEPS_H

#include "common/multigrid/setup_steps.h"

#ifdef __cplusplus
extern "C" {
#endif

/* While set-up works on them, columns are the aggregates of all ranks. Every rank counts from its own: then
 * those of the ranks after it follow, then those of the ranks before it. So its own come first in each row.
 */
FE_BOTH int fe_global_number(fe_numbering n, int column)
{
    return column < n.total - n.offset ? column + n.offset : column + n.offset - n.total;
}
FE_BOTH int fe_own_number(fe_numbering n, int global)
{
    return global >= n.offset ? global - n.offset : global - n.offset + n.total;
}

/* What is said of a row in numbers: the count of its blocks, which stands in C.first [row + 1]; or numbers
 * from `begin` on of its blocks, each a column and its values. */
enum { FE_GHOST_COUNT, FE_GHOST_BLOCKS };
typedef struct fe_ghost_item {
    int what, begin;
    fe_numbering numbering;
    fe_sparse C;
} fe_ghost_item;

FE_BOTH double fe_ghost_number(const fe_ghost_item *g, int row, int w)
{
    if (g->what == FE_GHOST_COUNT) return w == 0 ? g->C.first[row + 1] : 0.0;
    const int square = g->C.rows * g->C.columns, t = g->begin + w, c = t % (square + 1),
              place = g->C.first[row] + t / (square + 1);
    if (place >= g->C.first[row + 1]) return 0.0;
    return c == 0 ? fe_global_number(g->numbering, g->C.column[place])
                  : g->C.value[(size_t)place * (size_t)square + (size_t)(c - 1)];
}
FE_BOTH void fe_ghost_accept(const fe_ghost_item *g, int row, int w, double number)
{
    if (g->what == FE_GHOST_COUNT) {
        if (w == 0) g->C.first[row + 1] = (int)number;
        return;
    }
    const int square = g->C.rows * g->C.columns, t = g->begin + w, c = t % (square + 1),
              place = g->C.first[row] + t / (square + 1);
    if (place >= g->C.first[row + 1]) return;
    if (c == 0)
        g->C.column[place] = fe_own_number(g->numbering, (int)number);
    else
        g->C.value[(size_t)place * (size_t)square + (size_t)(c - 1)] = number;
}

/* A rank's rows among those of all: block k of own row i goes to place fe_whole_place, so that columns
 * ascend. */
FE_BOTH int fe_whole_place(fe_numbering n, const fe_sparse *own, const fe_sparse *whole, int i, int k)
{
    const int first = own->first[i], count = own->first[i + 1] - first, wrap = n.total - n.offset;
    int low = 0, high = count; /* columns from `wrap` on are of ranks before this one */
    while (low < high) {
        const int middle = (low + high) / 2;
        if (own->column[first + middle] < wrap)
            low = middle + 1;
        else
            high = middle;
    }
    return whole->first[n.offset + i] + (k < low ? k + count - low : k - low);
}

struct fe_rank_steps {
    /* Memory of the table: zeroed; free; from and to the host. */
    fe_status (*take)(fe_setup *k, size_t bytes, void **memory);
    void (*give)(void *memory);
    fe_status (*put)(fe_setup *k, size_t bytes, const void *host, void *memory);
    fe_status (*fetch)(fe_setup *k, size_t bytes, const void *memory, void *host);
    /* Rows of the nodes that are sent into k->ghosts.numbers, and those of ghosts from there */
    fe_status (*pack)(fe_setup *k, const fe_ghost_item *item);
    fe_status (*unpack)(fe_setup *k, const fe_ghost_item *item);
    /* marks [column] = 1, and column = map [column], of n blocks */
    fe_status (*mark)(fe_setup *k, int n, const int *column, uint8_t *marks);
    fe_status (*renumber)(fe_setup *k, int n, const int *map, int *column);
    /* This rank's rows of a matrix of 6 × 6 blocks into that of all, which is zero elsewhere; columns into
     * number [whole->n_block], in the numbering of all */
    fe_status (*place)(fe_setup *k, const fe_sparse *own, const fe_sparse *whole, double *number);
    /* x [n] becomes its sum over the ranks; column = number */
    fe_status (*sum)(fe_setup *k, size_t n, double *x);
    fe_status (*to_columns)(fe_setup *k, int n, const double *number, int *column);
};

extern const fe_rank_steps fe_rank_steps_host;
#if FE_HAVE_CUDA
extern const fe_rank_steps fe_rank_steps_cuda;
#endif

#ifdef __cplusplus
}
#endif
#endif
