/* Blocks of elements: compact pieces, cut where they have too many nodes, with nodes, corners and colours of
 * their own. */
#include "common/backend/device.h"
#include "variants/element_color/draft.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(FE_PIECE_ELEMENTS(FE_HEX8) <= ELEMENT_COLOR_MOST_ELEMENTS, "blocks of Hex8");
_Static_assert(FE_PIECE_ELEMENTS(FE_TET4) <= ELEMENT_COLOR_MOST_ELEMENTS, "blocks of Tet4");

enum {
    HASH = 1024, /* > 2 nodes */
    BITS = 64,
    PASSES = 5,
    WORDS = (ELEMENT_COLOR_MOST_ELEMENTS + BITS - 1) / BITS
};

/* The nodes of a block in the order in which elements meet them, and elements' corners as places among
 * them. */
typedef struct room {
    int n_elem, n_node;
    int node[ELEMENT_COLOR_MOST_NODES];
    int16_t table[HASH];
    uint16_t corner[ELEMENT_COLOR_MOST_ELEMENTS][FE_MOST_CORNERS];
} room;

static int node_of(const element_color_draft *k, int e, int c) { return k->mesh.conn[(size_t)c * k->ld + e]; }

/* The place of a node, a new one if there is room; otherwise -1. */
static int place_of(room *r, int node, int most)
{
    int at = (int)((unsigned)node * 2654435769u >> 22);
    while (r->table[at] >= 0 && r->node[r->table[at]] != node) at = (at + 1) % HASH;
    if (r->table[at] < 0 && r->n_node < most) r->table[at] = (int16_t)r->n_node, r->node[r->n_node++] = node;
    return r->table[at];
}

/* Takes elements elem [n] until there is no room for the nodes of the next one. */
static void collect(const element_color_draft *k, const int *elem, int n, room *r)
{
    r->n_elem = r->n_node = 0;
    memset(r->table, -1, sizeof r->table);
    for (int i = 0; i < n; i++) {
        const int before = r->n_node;
        for (int c = 0; c < k->n_corner; c++) {
            const int place = place_of(r, node_of(k, elem[i], c), k->nodes);
            if (place < 0) {
                r->n_node = before;
                return;
            }
            r->corner[i][c] = (uint16_t)place;
        }
        r->n_elem = i + 1;
    }
}

/* Gives element i the first colour that no element at its nodes has. mask [node]: colours at the nodes. */
static int first_fit(const element_color_draft *k, const room *r, int i, uint64_t mask[][WORDS])
{
    uint64_t taken = UINT64_MAX;
    int w = -1;
    while (taken == UINT64_MAX) {
        taken = 0, w++;
        for (int c = 0; c < k->n_corner; c++) taken |= mask[r->corner[i][c]][w];
    }
    const int bit = __builtin_ctzll(~taken);
    for (int c = 0; c < k->n_corner; c++) mask[r->corner[i][c]][w] |= UINT64_C(1) << bit;
    return BITS * w + bit;
}

/* Elements in the order of their n colours, the last colour first. */
static void sort_reversed(int n_elem, int n, const uint16_t *color, int *order)
{
    int next[ELEMENT_COLOR_MOST_ELEMENTS + 1] = {0};
    for (int i = 0; i < n_elem; i++) next[n - color[i]]++;
    for (int c = 1; c <= n; c++) next[c] += next[c - 1];
    for (int i = 0; i < n_elem; i++) order[next[n - 1 - color[i]]++] = i;
}

/* Colours of the elements, first fit; later passes take them colour by colour. Returns their number. */
static int color_elements(const element_color_draft *k, const room *r, uint16_t *color)
{
    uint64_t mask[ELEMENT_COLOR_MOST_NODES][WORDS];
    int order[ELEMENT_COLOR_MOST_ELEMENTS], n = 0;
    for (int i = 0; i < r->n_elem; i++) order[i] = i;
    for (int pass = 0; pass < PASSES; pass++) {
        memset(mask, 0, sizeof *mask * (size_t)r->n_node);
        if (pass) sort_reversed(r->n_elem, n, color, order);
        n = 0;
        for (int i = 0; i < r->n_elem; i++) {
            const int own = first_fit(k, r, order[i], mask);
            color[order[i]] = (uint16_t)own;
            if (own >= n) n = own + 1;
        }
    }
    return n;
}

static int compare_nodes(const void *p, const void *q)
{
    const uint64_t a = *(const uint64_t *)p, b = *(const uint64_t *)q;
    return (a > b) - (a < b);
}

/* Nodes in ascending order; to [place]: their new places. */
static void sort_nodes(const room *r, int *node, uint16_t *to)
{
    uint64_t word[ELEMENT_COLOR_MOST_NODES];
    for (int i = 0; i < r->n_node; i++) word[i] = (uint64_t)r->node[i] << 32 | (uint64_t)i;
    qsort(word, (size_t)r->n_node, sizeof *word, compare_nodes);
    for (int i = 0; i < r->n_node; i++) {
        node[i] = (int)(word[i] >> 32);
        to[(uint32_t)word[i]] = (uint16_t)i;
    }
}

/* Writes a block of elements elem, whose nodes begin at first_node. */
static void keep(const element_color_draft *k, const int *elem, const room *r, int number, int first_node)
{
    const size_t start = (size_t)k->elements * number;
    uint16_t color[ELEMENT_COLOR_MOST_ELEMENTS] = {0}, to[ELEMENT_COLOR_MOST_NODES];
    int n_color = 1, place = 0;
    if (k->by_color) n_color = color_elements(k, r, color);
    sort_nodes(r, k->node + first_node, to);
    for (int now = 0; now < n_color; now++)
        for (int i = 0; i < r->n_elem; i++) {
            if (color[i] != now) continue;
            k->elem[start + place] = elem[i], k->color[start + place] = color[i];
            for (int c = 0; c < k->n_corner; c++)
                k->corner[(start * k->n_corner) + (size_t)c * k->elements + place] = to[r->corner[i][c]];
            place++;
        }
    k->block[number] = (element_color_block){.n_elem = r->n_elem,
                                             .n_node = r->n_node,
                                             .n_color = n_color,
                                             .place = number,
                                             .first_node = first_node};
}

/* Blocks and nodes of a piece; written from these numbers on where `writes` is set. */
typedef struct count {
    int blocks, nodes;
} count;
static count cut_piece(const element_color_draft *k, const int *elem, int n, int writes, count from)
{
    room r;
    count all = from;
    for (int i = 0; i < n; i += r.n_elem) {
        collect(k, elem + i, n - i, &r);
        if (writes) keep(k, elem + i, &r, all.blocks, all.nodes);
        all.blocks++, all.nodes += r.n_node;
    }
    return all;
}

/* Sorts elements [first, end) into pieces of a block's size: those of the mesh are cut further where they
 * hold a number of blocks. */
static fe_status sort_pieces(const element_color_draft *k, const double *centre, int first, int end,
                             int *elem)
{
    const int piece = fe_piece_elements(k->p->kind);
    int failed = 0;
    for (int e = first; e < end; e++) elem[e] = e;
    if (k->p->in_pieces && k->elements == piece) return FE_OK;
    if (!k->p->in_pieces || piece % k->elements)
        return fe_bisect(centre, elem + first, end - first, k->elements, k->threads);
#pragma omp parallel for schedule(dynamic, 64) num_threads(k->threads) reduction(+ : failed)
    for (int e = first; e < end; e += piece)
        failed += fe_bisect(centre, elem + e, end - e < piece ? end - e : piece, k->elements, 1) != FE_OK;
    return failed ? fe_fail(FE_OUT_OF_MEMORY, "colours: no host memory") : FE_OK;
}

static void find_centres(const element_color_draft *k, double *centre)
{
#pragma omp parallel for schedule(static) num_threads(k->threads)
    for (int e = 0; e < k->p->view.n_elem; e++)
        for (int i = 0; i < 3; i++) {
            double sum = 0;
            for (int c = 0; c < k->n_corner; c++)
                sum += k->mesh.x[3 * (size_t)node_of(k, e, c) + i] / k->n_corner;
            centre[3 * (size_t)e + i] = sum;
        }
}

/* Of both parts. */
static fe_status sort_elements(const element_color_draft *k, int *elem)
{
    const fe_view *m = &k->p->view;
    double *centre = NULL;
    FE_RESERVE(centre, 3 * (size_t)m->n_elem, "colours");
    find_centres(k, centre);
    fe_status status = sort_pieces(k, centre, 0, m->n_elem_interior, elem);
    if (status == FE_OK) status = sort_pieces(k, centre, m->n_elem_interior, m->n_elem, elem);
    free(centre);
    return status;
}

/* Elements of piece i of all pieces, those of the interior first. */
static int piece_of(const element_color_draft *k, int i, int *n)
{
    const fe_view *m = &k->p->view;
    const int n_interior = (m->n_elem_interior + k->elements - 1) / k->elements;
    const int first = i < n_interior ? i * k->elements : m->n_elem_interior + (i - n_interior) * k->elements,
              end = i < n_interior ? m->n_elem_interior : m->n_elem;
    *n = end - first < k->elements ? end - first : k->elements;
    return first;
}

static fe_status cut_pieces(element_color_draft *k, const int *elem, int n_piece, int n_interior, count *from)
{
#pragma omp parallel for schedule(dynamic, 16) num_threads(k->threads)
    for (int i = 0; i < n_piece; i++) {
        int n;
        const int first = piece_of(k, i, &n);
        from[i + 1] = cut_piece(k, elem + first, n, 0, (count){0});
    }
    for (int i = 0; i < n_piece; i++)
        from[i + 1].blocks += from[i].blocks, from[i + 1].nodes += from[i].nodes;
    k->n_block = from[n_piece].blocks, k->n_interior = from[n_interior].blocks,
    k->n_node = from[n_piece].nodes;
    const size_t places = (size_t)k->n_block * k->elements;
    FE_RESERVE(k->block, k->n_block, "colours");
    FE_ALLOCATE(k->elem, places, "colours");
    FE_ALLOCATE(k->color, places, "colours");
    FE_ALLOCATE(k->corner, places * k->n_corner, "colours");
    FE_RESERVE(k->node, k->n_node, "colours");
#pragma omp parallel for schedule(dynamic, 16) num_threads(k->threads)
    for (int i = 0; i < n_piece; i++) {
        int n;
        const int first = piece_of(k, i, &n);
        cut_piece(k, elem + first, n, 1, from[i]);
    }
    return FE_OK;
}

fe_status element_color_cut(element_color_draft *k)
{
    const fe_view *m = &k->p->view;
    const int n_interior = (m->n_elem_interior + k->elements - 1) / k->elements,
              n_piece = n_interior + (m->n_elem - m->n_elem_interior + k->elements - 1) / k->elements;
    int *elem = NULL;
    count *from = NULL;
    FE_RESERVE(elem, m->n_elem, "colours");
    fe_status status = fe_allocate((size_t)n_piece + 1, sizeof *from, "colours", (void **)&from);
    if (status == FE_OK) status = sort_elements(k, elem);
    if (status == FE_OK) status = cut_pieces(k, elem, n_piece, n_interior, from);
    free(elem), free(from);
    return status;
}
