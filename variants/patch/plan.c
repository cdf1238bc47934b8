/* The patches: pieces of a recursive bisection, halved again where a piece has too many nodes or slots. Runs
 * once, on the host. */
#include "common/backend/device.h"
#include "common/base/sort.h"
#include "common/mesh/bisect.h"
#include "variants/patch/assembly.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* In a mesh that is sorted in compact pieces, the patches are these pieces, so the data of a patch's elements
 * lie together in memory. */
_Static_assert(PATCH_ELEMENTS(FE_HEX8) == FE_PIECE_ELEMENTS(FE_HEX8), "patches of Hex8 are pieces of a mesh");
_Static_assert(PATCH_ELEMENTS(FE_TET4) == FE_PIECE_ELEMENTS(FE_TET4), "patches of Tet4 are pieces of a mesh");

/* One patch: its nodes, and its slots. */
typedef struct patch_cut {
    struct patch_cut *next;
    int first, n_elem; /* elements [first, first + n_elem) of `order` */
    int n_node, n_slot;
    int n_inner;                /* nodes [0, n_inner) belong to no other patch */
    int n_added, first_row;     /* see patch_head */
    int n_corner;               /* places of corners in all lists */
    int *node;                  /* [n_node] */
    uint16_t *place;            /* [n_node] row of a node's coordinates and value */
    int16_t (*elem)[PATCH_FAN]; /* [n_slot] elements of the patch; -1: none */
    uint16_t (*conn)[8];        /* [n_slot] nodes of the patch */
} patch_cut;

typedef struct draft {
    const fe_view *m;
    int kind, n_corner, threads, in_pieces;
    size_t scalar, number; /* bytes of a coordinate in records, and of a sum */
    patch_form form;
    patch_plan *plan;
    int *conn;         /* [n_corner][ld] */
    double *x;         /* [n_local][3] */
    int *valence;      /* [n_local] elements at a node */
    int *order;        /* [n_elem] patch after patch, interior elements first */
    int n_piece[2];    /* of the interior and of the border, each of form.elements, the last ones of fewer */
    patch_cut **piece; /* [n_piece[0] + n_piece[1]] the patches that each was cut into, a list */
    patch_cut **patch; /* [n_patch] */
    uint8_t *adders;   /* [n_local] patches that add to a border node, or LATER; NULL unless ordered */
    int n_row;         /* of partial sums */
} draft;

enum { HASH = 1024 };              /* > 2 PATCH_MOST_NODES */
enum { LATER = PATCH_ADDERS + 1 }; /* in `adders`: the node has rows of partial sums */
enum { MOST_STEPS = PATCH_MOST_CORNERS / PATCH_TOGETHER }; /* of the sum at a node */

/* A patch with the room that any can need, and its elements with corners as indices of its nodes. */
typedef struct patch_room {
    patch_cut cut;
    int node[PATCH_MOST_NODES];
    uint16_t place[PATCH_MOST_NODES];
    uint16_t corner[PATCH_MOST_ELEMENTS][8];
    int16_t elem[PATCH_MOST_ELEMENTS][PATCH_FAN];
    uint16_t conn[PATCH_MOST_ELEMENTS][8];
} patch_room;

static int node_of(const draft *k, int e, int corner) { return k->conn[(size_t)corner * k->m->ld + e]; }

/* Where a node is in the hash table of nodes, or the free entry where it belongs. */
static int find(const int16_t table[HASH], const int *node, int n)
{
    int at = (int)((unsigned)n * 2654435769u >> 22);
    while (table[at] >= 0 && node[table[at]] != n) at = (at + 1) % HASH;
    return at;
}

/* Sorts numbers of a patch's nodes by counting their digits of 8 bits. */
static void sort_few(int *node, int n)
{
    int other[PATCH_MOST_NODES], low = INT_MAX, high = 0;
    for (int i = 0; i < n; i++) low = node[i] < low ? node[i] : low, high = node[i] > high ? node[i] : high;
    for (int shift = 0; n > 0 && (high - low) >> shift > 0; shift += 8) {
        int place[257] = {0};
        for (int i = 0; i < n; i++) place[((node[i] - low) >> shift & 255) + 1]++;
        for (int b = 1; b < 256; b++) place[b] += place[b - 1];
        for (int i = 0; i < n; i++) other[place[(node[i] - low) >> shift & 255]++] = node[i];
        memcpy(node, other, sizeof *node * (size_t)n);
    }
}

/* The nodes of a patch from those found: first the inner ones, all of whose elements (`here`) it has.
 * Neighbouring threads then sum about equally many corners and write in the same way. Inner nodes and border
 * nodes are sorted by number. */
static void sort_nodes(const draft *k, const int *found, const int *here, patch_cut *s)
{
    int border = s->n_node;
    s->n_inner = 0;
    for (int i = s->n_node - 1; i >= 0; i--)
        if (here[i] == k->valence[found[i]])
            s->node[s->n_inner++] = found[i];
        else
            s->node[--border] = found[i];
    sort_few(s->node, s->n_inner);
    sort_few(s->node + s->n_inner, s->n_node - s->n_inner);
    s->n_added = s->n_node;
}

/* Collects the nodes of n elements, and the elements' corners as indices of these nodes. Returns 0 where
 * there are too many nodes. */
static int collect(const draft *k, int first, int n, patch_room *r)
{
    int16_t table[HASH], place[PATCH_MOST_NODES];
    int found[PATCH_MOST_NODES], here[PATCH_MOST_NODES] = {0}, n_node = 0; /* here: elements at a node */
    memset(table, -1, sizeof table);
    for (int i = 0; i < n; i++)
        for (int a = 0; a < k->n_corner; a++) {
            const int node = node_of(k, k->order[first + i], a), at = find(table, found, node);
            if (table[at] < 0) {
                if (n_node == patch_most_nodes(k->kind)) return 0;
                table[at] = (int16_t)n_node, found[n_node++] = node;
            }
            here[table[at]]++;
            r->corner[i][a] = (uint16_t)table[at];
        }
    r->cut = (patch_cut){.first = first,
                         .n_elem = n,
                         .n_node = n_node,
                         .node = r->node,
                         .place = r->place,
                         .elem = r->elem,
                         .conn = r->conn};
    sort_nodes(k, found, here, &r->cut);
    for (int i = 0; i < n_node; i++) place[table[find(table, found, r->node[i])]] = (int16_t)i;
    for (int i = 0; i < n_node; i++) r->place[i] = (uint16_t)i;
    for (int i = 0; i < n; i++)
        for (int a = 0; a < k->n_corner; a++) r->corner[i][a] = (uint16_t)place[r->corner[i][a]];
    return 1;
}

static void find_centre(const draft *k, int e, double centre[3])
{
    double sum[3] = {0};
    for (int a = 0; a < k->n_corner; a++)
        for (int i = 0; i < 3; i++) sum[i] += k->x[3 * (size_t)node_of(k, e, a) + i] / k->n_corner;
    memcpy(centre, sum, sizeof sum);
}

/* Makes the slots of a patch: its elements, or fans of them. Returns 0 where there are too many. */
static int make_slots(const draft *k, patch_room *r)
{
    patch_cut *s = &r->cut;
    if (!patch_fanned(k->kind)) {
        s->n_slot = s->n_elem;
        memcpy(r->conn, r->corner, sizeof *r->conn * (size_t)s->n_elem);
        for (int i = 0; i < s->n_elem; i++) r->elem[i][0] = (int16_t)i;
        return 1;
    }
    patch_fan fan[PATCH_MOST_ELEMENTS];
    s->n_slot = patch_fans((const uint16_t(*)[8])r->corner, s->n_elem, fan);
    memset(r->conn, 0, sizeof *r->conn * (size_t)s->n_slot);
    for (int i = 0; i < s->n_slot; i++) {
        for (int j = 0; j < PATCH_FAN; j++) r->elem[i][j] = (int16_t)fan[i].elem[j];
        memcpy(r->conn[i], fan[i].node, sizeof fan[i].node);
    }
    return s->n_slot <= k->form.slots;
}

/* Whether a node of a slot belongs to one of its elements: in a shorter fan the last nodes around the edge do
 * not. */
static int has_node(const draft *k, const patch_cut *s, int slot, int node)
{
    return !patch_fanned(k->kind) || node < 2 || node > PATCH_FAN || s->elem[slot][node - 1] >= 0;
}

/* Writes the starts of the nodes' lists of corners, each filled up to a multiple of PATCH_TOGETHER. Returns
 * their end. */
static int start_lists(const draft *k, const patch_cut *s, uint16_t *first)
{
    memset(first, 0, ((size_t)s->n_node + 1) * sizeof *first);
    for (int i = 0; i < s->n_slot; i++)
        for (int a = 0; a < k->form.nodes; a++) first[s->conn[i][a] + 1] += has_node(k, s, i, a);
    for (int i = 1; i <= s->n_node; i++)
        first[i] =
            (uint16_t)(first[i - 1] + (first[i] + PATCH_TOGETHER - 1) / PATCH_TOGETHER * PATCH_TOGETHER);
    return first[s->n_node];
}

/* Only the device sums corner forces node by node, and fetches point data before it computes fans. */
static int gathers(const patch_plan *plan) { return plan->group == 1; }

/* Moves each node i of a patch to at[i]. */
static void renumber(const draft *k, const uint16_t *at, patch_cut *s)
{
    int node[PATCH_MOST_NODES];
    uint16_t place[PATCH_MOST_NODES];
    memcpy(node, s->node, sizeof *node * (size_t)s->n_node);
    memcpy(place, s->place, sizeof *place * (size_t)s->n_node);
    for (int i = 0; i < s->n_node; i++) s->node[at[i]] = node[i], s->place[at[i]] = place[i];
    for (int i = 0; i < s->n_slot; i++)
        for (int a = 0; a < k->form.nodes; a++) s->conn[i][a] = at[s->conn[i][a]];
}

/* Sorts inner nodes, and border nodes, by the number of steps in which their corners are summed, the most
 * first: neighbouring threads then take about equally many. */
static void sort_by_steps(const draft *k, patch_cut *s)
{
    uint16_t first[PATCH_MOST_NODES + 1], at[PATCH_MOST_NODES];
    start_lists(k, s, first);
    for (int border = 0; border < 2; border++) {
        const int from = border ? s->n_inner : 0, end = border ? s->n_node : s->n_inner;
        int next[MOST_STEPS + 2] = {from};
        for (int i = from; i < end; i++) next[MOST_STEPS - (first[i + 1] - first[i]) / PATCH_TOGETHER + 1]++;
        for (int i = 0; i < MOST_STEPS; i++) next[i + 1] += next[i];
        for (int i = from; i < end; i++)
            at[i] = (uint16_t)next[MOST_STEPS - (first[i + 1] - first[i]) / PATCH_TOGETHER]++;
    }
    renumber(k, at, s);
}

/* A copy of a patch in memory of its size, at the end of a list. */
static fe_status keep(const patch_room *r, patch_cut ***end)
{
    const patch_cut *s = &r->cut;
    const size_t nodes = sizeof *s->node * (size_t)s->n_node, places = sizeof *s->place * (size_t)s->n_node,
                 conn = sizeof *s->conn * (size_t)s->n_slot, elem = sizeof *s->elem * (size_t)s->n_slot;
    char *memory = NULL;
    FE_RESERVE(memory, sizeof *s + nodes + conn + elem + places, "patches");
    patch_cut *copy = (patch_cut *)memory;
    *copy = *s;
    copy->node = memcpy(memory + sizeof *s, s->node, nodes);
    copy->conn = memcpy(memory + sizeof *s + nodes, s->conn, conn);
    copy->elem = memcpy(memory + sizeof *s + nodes + conn, s->elem, elem);
    copy->place = memcpy(memory + sizeof *s + nodes + conn + elem, s->place, places);
    **end = copy, *end = &copy->next;
    return FE_OK;
}

/* Sorts n elements of the order into two halves. */
static fe_status halve(draft *k, int first, int n, int half)
{
    double centre[PATCH_MOST_ELEMENTS][3];
    int place[PATCH_MOST_ELEMENTS], elem[PATCH_MOST_ELEMENTS];
    memcpy(elem, k->order + first, sizeof *elem * (size_t)n);
    for (int i = 0; i < n; i++) place[i] = i, find_centre(k, elem[i], centre[i]);
    FE_TRY(fe_bisect(*centre, place, n, half, 1));
    for (int i = 0; i < n; i++) k->order[first + i] = elem[place[i]];
    return FE_OK;
}

/* Cuts elements [first, first + n) of the order into patches, at the end of a list. */
static fe_status cut(draft *k, int first, int n, patch_cut ***end)
{
    patch_room r;
    if (collect(k, first, n, &r) && make_slots(k, &r)) {
        uint16_t list[PATCH_MOST_NODES + 1];
        if (gathers(k->plan)) {
            sort_by_steps(k, &r.cut);
            patch_find_places(k->kind, patch_banks(k->scalar), r.cut.n_node, r.cut.n_slot,
                              (const uint16_t(*)[8])r.conn, r.place);
        }
        r.cut.n_corner = start_lists(k, &r.cut, list);
        return keep(&r, end);
    }
    const int half = (n + 1) / 2;
    FE_TRY(halve(k, first, n, half));
    FE_TRY(cut(k, first, half, end));
    return cut(k, first + half, n - half, end);
}

/* Sorts elements [first, end) of the view into pieces, unless they are. */
static fe_status sort_pieces(draft *k, int first, int end)
{
    double *centre = NULL;
#pragma omp parallel for schedule(static) num_threads(k->threads)
    for (int e = first; e < end; e++) k->order[e] = e;
    if (k->in_pieces || end - first <= k->form.elements) return FE_OK;
    FE_RESERVE(centre, 3 * (size_t)k->m->n_elem, "patches");
#pragma omp parallel for schedule(static) num_threads(k->threads)
    for (int e = first; e < end; e++) find_centre(k, e, centre + 3 * (size_t)e);
    const fe_status status = fe_bisect(centre, k->order + first, end - first, k->form.elements, k->threads);
    free(centre);
    return status;
}

/* Cuts all pieces into patches. Numbers of patches and their largest sizes go to the plan. */
static fe_status cut_pieces(draft *k)
{
    const int most = k->form.elements, n_interior = k->n_piece[0], n = n_interior + k->n_piece[1];
    int nodes = 0, corners = 0, n_patch = 0, n_patch_interior = 0, failed = 0;
#pragma omp parallel for schedule(dynamic, 16) num_threads(k->threads) reduction(max : nodes, corners)       \
    reduction(+ : n_patch, n_patch_interior, failed)
    for (int i = 0; i < n; i++) {
        const int first = i < n_interior ? i * most : k->m->n_elem_interior + (i - n_interior) * most,
                  last = i < n_interior ? k->m->n_elem_interior : k->m->n_elem;
        patch_cut **end = &k->piece[i];
        failed += cut(k, first, last - first < most ? last - first : most, &end) != FE_OK;
        for (const patch_cut *s = k->piece[i]; s; s = s->next) {
            nodes = s->n_node > nodes ? s->n_node : nodes;
            corners = s->n_corner > corners ? s->n_corner : corners;
            n_patch++, n_patch_interior += i < n_interior;
        }
    }
    k->plan->most_nodes = nodes, k->plan->most_corners = corners;
    k->plan->n_patch = n_patch, k->plan->n_patch_interior = n_patch_interior;
    return failed ? fe_fail(FE_OUT_OF_MEMORY, "patches: no host memory") : FE_OK;
}

/* Lists the corner forces that each node sums by their places. The rest of a list is places of zeros. */
static void write_lists(const draft *k, const patch_cut *s, uint16_t *first, uint16_t *corner)
{
    uint16_t next[PATCH_MOST_NODES + 1];
    const int n = start_lists(k, s, first);
    memcpy(next, first, sizeof *next * (size_t)s->n_node);
    for (int i = 0; i < n; i++) corner[i] = (uint16_t)k->form.slots;
    for (int i = 0; i < s->n_slot; i++)
        for (int a = 0; a < k->form.nodes; a++)
            if (has_node(k, s, i, a)) corner[next[s->conn[i][a]]++] = (uint16_t)(3 * a * k->form.row + i);
    patch_spread_corners(k->kind, patch_banks(k->scalar), s->n_node, first, corner);
}

static int ascends(const patch_plan *plan, const patch_form *form)
{
    return gathers(plan) && form->together > 1;
}

/* Coordinates of a node; floats are those from another one. */
static void write_coordinates(const draft *k, int from, int node, char *to)
{
    const double *x = k->x + 3 * (size_t)node, *start = k->x + 3 * (size_t)from;
    if (k->scalar == sizeof *x)
        memcpy(to, x, 3 * sizeof *x);
    else
        for (int c = 0; c < 3; c++) ((float *)to)[c] = (float)(x[c] - start[c]);
}

/* Puts the nodes that have rows of partial sums, ~node so far, behind the others. */
static void put_rows_last(const draft *k, patch_cut *s)
{
    uint16_t at[PATCH_MOST_NODES];
    int added = s->n_inner, later = s->n_added;
    for (int i = 0; i < s->n_node; i++) {
        at[i] = (uint16_t)(i < s->n_inner ? i : s->node[i] < 0 ? later++ : added++);
        s->node[i] = patch_node(s->node[i]);
    }
    renumber(k, at, s);
}

/* Chooses, patch after patch, which border nodes a patch adds to the output and which have rows of partial
 * sums. */
static fe_status choose_rows(draft *k)
{
    if (!k->plan->ordered) return FE_OK;
    FE_ALLOCATE(k->adders, k->m->n_local, "patches");
    for (int i = 0; i < k->plan->n_patch; i++) {
        patch_cut *s = k->patch[i];
        s->n_added = s->n_inner, s->first_row = k->n_row;
        for (int j = s->n_inner; j < s->n_node; j++) {
            uint8_t *adders = &k->adders[s->node[j]];
            if (*adders < PATCH_ADDERS)
                (*adders)++, s->n_added++;
            else
                *adders = LATER, s->node[j] = ~s->node[j], k->n_row++;
        }
    }
#pragma omp parallel for schedule(static) num_threads(k->threads)
    for (int i = 0; i < k->plan->n_patch; i++) put_rows_last(k, k->patch[i]);
    return FE_OK;
}

/* The row of a node's coordinates. On the host it is its number, as that of its value. */
static int row_of(const draft *k, const patch_cut *s, int node)
{
    return gathers(k->plan) ? s->place[node] : node;
}

static void write_record(const draft *k, const patch_cut *s, char *record)
{
    const patch_plan *plan = k->plan;
    const patch_form form = k->form;
    const int *elem = k->order + s->first;
    int *node = (int *)(record + plan->node), *slot = (int *)(record + plan->elem);
    uint16_t *conn = (uint16_t *)(record + plan->conn);
    memset(record, 0, (size_t)plan->stride);
    *(patch_head *)record = (patch_head){.n_node = (uint16_t)s->n_node,
                                         .n_slot = (uint16_t)s->n_slot,
                                         .n_elem = (uint16_t)s->n_elem,
                                         .n_added = (uint16_t)s->n_added,
                                         .first_row = s->first_row};
    for (int i = 0; i < s->n_node; i++) {
        node[i] = i < s->n_inner ? s->node[i] : ~s->node[i];
        write_coordinates(k, s->node[0], s->node[i],
                          record + plan->x + k->scalar * (size_t)(plan->x_row * row_of(k, s, i)));
    }
    if (gathers(plan)) memcpy(record + plan->place, s->place, sizeof *s->place * (size_t)s->n_node);
    for (int i = 0; i < form.slots; i++) {
        const int from = i < s->n_slot ? i : s->n_slot - 1, behind = from < i && patch_fanned(k->kind);
        for (int j = 0; j < form.together; j++)
            slot[patch_in_group(plan->group, form.together, i, j)] =
                behind || s->elem[from][j] < 0 ? -1 : elem[s->elem[from][j]];
        for (int a = 0; a < PATCH_WIDTH; a++)
            conn[patch_in_group(plan->group, PATCH_WIDTH, i, a)] = (uint16_t)row_of(k, s, s->conn[from][a]);
    }
    if (ascends(plan, &form))
        for (int i = 0; i < s->n_slot; i++) /* the elements of a patch are in ascending order */
            for (int j = 0; j < form.together; j++)
                if (s->elem[i][j] >= 0)
                    ((uint16_t *)(record + plan->ascending))[s->elem[i][j]] =
                        (uint16_t)patch_in_group(plan->group, form.together, i, j);
    if (gathers(plan))
        write_lists(k, s, (uint16_t *)(record + plan->first), (uint16_t *)(record + plan->corner));
}

/* Offsets of a record's parts: multiples of 16 bytes on the device, which copies so many at once, and of a
 * cache line on the host. */
static int place(const patch_plan *plan, int *at, size_t bytes)
{
    const size_t piece = plan->group > 1 ? 64 : 16;
    const int here = *at;
    *at += (int)((bytes + piece - 1) / piece * piece);
    return here;
}
static void lay_out(patch_plan *plan, const patch_form *form, size_t scalar)
{
    const size_t n = (size_t)plan->most_nodes, slots = (size_t)form->slots, together = (size_t)form->together;
    const size_t corners = (size_t)plan->most_corners + PATCH_TOGETHER;
    int at = 0;
    place(plan, &at, sizeof(patch_head));
    plan->node = place(plan, &at, n * sizeof(int));
    if (gathers(plan)) plan->place = place(plan, &at, n * sizeof(uint16_t));
    plan->elem = place(plan, &at, slots * together * sizeof(int));
    if (ascends(plan, form)) plan->ascending = place(plan, &at, (size_t)form->elements * sizeof(uint16_t));
    plan->x = place(plan, &at, (size_t)plan->x_row * n * scalar);
    plan->conn = place(plan, &at, slots * PATCH_WIDTH * sizeof(uint16_t));
    if (gathers(plan)) plan->first = place(plan, &at, (n + 1) * sizeof(uint16_t));
    if (gathers(plan)) plan->corner = place(plan, &at, corners * sizeof(uint16_t));
    plan->stride = at;
}

typedef struct border_lists {
    int *place;     /* [n_local] index of a node in `node` */
    int *node;      /* [n_local] those with rows, n of them */
    int *first;     /* [n + 1] */
    int *row;       /* [n_row] */
    uint64_t *word; /* [n_row] place of a node, row */
    int n;
} border_lists;

/* Lists the rows of partial sums by node. */
static fe_status list_rows(const draft *k, border_lists *b)
{
    FE_RESERVE(b->place, k->m->n_local, "patches");
    FE_RESERVE(b->node, k->m->n_local, "patches");
    FE_RESERVE(b->row, k->n_row, "patches");
    FE_RESERVE(b->word, k->n_row, "patches");
    for (int i = 0; i < k->m->n_local; i++)
        if (k->adders[i] == LATER) b->place[i] = b->n, b->node[b->n++] = i;
#pragma omp parallel for schedule(static) num_threads(k->threads)
    for (int i = 0; i < k->plan->n_patch; i++) {
        const patch_cut *s = k->patch[i];
        for (int j = s->n_added, row = s->first_row; j < s->n_node; j++, row++)
            b->word[row] = fe_word_of((uint32_t)b->place[s->node[j]], row);
    }
    FE_TRY(fe_sort_words(b->word, k->n_row, k->threads));
    FE_ALLOCATE(b->first, b->n + 1, "patches");
    for (int i = 0; i < k->n_row; i++) {
        b->row[i] = fe_item_of(b->word[i]);
        b->first[(b->word[i] >> 32) + 1] = i + 1;
    }
    return FE_OK;
}

static fe_status upload_border(const draft *k, fe_device *d, border_lists *b)
{
    patch_plan *plan = k->plan;
    if (!plan->ordered) return FE_OK;
    FE_TRY(list_rows(k, b));
    plan->n_border = b->n;
    FE_TRY(fe_device_upload(d, (size_t)b->n, sizeof *b->node, b->node, "patches", (void **)&plan->border));
    FE_TRY(fe_device_upload(d, (size_t)b->n + 1, sizeof *b->first, b->first, "patches",
                            (void **)&plan->partial_first));
    FE_TRY(fe_device_upload(d, (size_t)k->n_row, sizeof *b->row, b->row, "patches",
                            (void **)&plan->partial_row));
    return fe_device_allocate(d, 9 * (size_t)k->n_row, k->number, "patches: partial sums of border nodes",
                              (void **)&plan->partial_sums);
}

/* Records are written in batches that stay in the caches, and one is uploaded while the next is written: as a
 * whole they would take new pages of memory, which cost more than the work. */
enum { BATCH_BYTES = 1 << 22 };
static fe_status write_records(const draft *k, fe_device *d)
{
    patch_plan *plan = k->plan;
    const size_t stride = (size_t)plan->stride;
    const int n = plan->n_patch, most = BATCH_BYTES / plan->stride + 1, n_batch = (n + most - 1) / most;
    char *room[2] = {NULL}, *record;
    fe_status status = FE_OK;
    FE_TRY(fe_device_reserve(d, (size_t)n, stride, "patches", (void **)&record));
    plan->record = record;
    FE_RESERVE(room[0], 2 * (size_t)most * stride, "patches");
    room[1] = room[0] + (size_t)most * stride;
    for (int batch = 0; batch <= n_batch; batch++) { /* uploads the one before */
        const int first = batch * most, end = first + most < n ? first + most : n, before = first - most;
        const char *from = room[(batch + 1) % 2];
        char *to = room[batch % 2];
#pragma omp parallel num_threads(k->threads)
        {
#pragma omp master
            if (batch > 0 && status == FE_OK)
                status = d->ops->memory.upload(d, (size_t)((first < n ? first : n) - before) * stride, from,
                                               record + (size_t)before * stride);
#pragma omp for schedule(dynamic, 8)
            for (int i = first; i < end; i++) write_record(k, k->patch[i], to + (size_t)(i - first) * stride);
        }
    }
    free(room[0]);
    if (status != FE_OK) return status;
    border_lists b = {0};
    status = upload_border(k, d, &b);
    free(b.place), free(b.node), free(b.first), free(b.row), free(b.word);
    return status;
}

static fe_status build(draft *k, const fe_problem *p)
{
    const fe_view *m = k->m;
    fe_device *d = p->device;
    const size_t corners = (size_t)k->n_corner * m->ld;
    FE_RESERVE(k->conn, corners, "patches");
    FE_RESERVE(k->x, 3 * (size_t)m->n_local, "patches");
    FE_RESERVE(k->order, m->n_elem, "patches");
    FE_TRY(d->ops->memory.download(d, corners * sizeof *k->conn, m->conn, k->conn));
    FE_TRY(d->ops->memory.download(d, 3 * (size_t)m->n_local * sizeof *k->x, m->x, k->x));
    FE_TRY(fe_problem_valence(p, k->conn, k->threads, &k->valence));
    FE_TRY(sort_pieces(k, 0, m->n_elem_interior));
    FE_TRY(sort_pieces(k, m->n_elem_interior, m->n_elem));
    FE_ALLOCATE(k->piece, k->n_piece[0] + k->n_piece[1], "patches");
    FE_TRY(cut_pieces(k));
    FE_RESERVE(k->patch, k->plan->n_patch, "patches");
    for (int i = 0, n = 0; i < k->n_piece[0] + k->n_piece[1]; i++)
        for (patch_cut *s = k->piece[i]; s; s = s->next) k->patch[n++] = s;
    FE_TRY(choose_rows(k));
    lay_out(k->plan, &k->form, k->scalar);
    return write_records(k, d);
}

static void close_draft(draft *k)
{
    for (int i = 0; k->piece && i < k->n_piece[0] + k->n_piece[1]; i++)
        for (patch_cut *s = k->piece[i], *next; s; s = next) next = s->next, free(s);
    free(k->conn), free(k->x), free(k->valence), free(k->order), free(k->piece), free(k->patch),
        free(k->adders);
}

fe_status patch_plan_open(fe_problem *p, int precision, patch_plan *plan)
{
    const fe_view *m = &p->view;
    const patch_form form = patch_form_of(p->kind);
    const int most = form.elements;
    draft k = {.m = m,
               .kind = p->kind,
               .n_corner = fe_corners(p->kind),
               .threads = fe_device_host_threads(p->device),
               .in_pieces = p->in_pieces,
               .scalar = precision == FE_DOUBLE ? sizeof(double) : sizeof(float),
               .number = precision == FE_SINGLE ? sizeof(float) : sizeof(double),
               .form = form,
               .n_piece = {(m->n_elem_interior + most - 1) / most,
                           (m->n_elem - m->n_elem_interior + most - 1) / most},
               .plan = plan};
    const fe_status status = build(&k, p);
    close_draft(&k);
    return status;
}

fe_status patch_plan_narrow(fe_problem *p, const patch_plan *from, patch_plan *plan)
{
    fe_device *d = p->device;
    const patch_form form = patch_form_of(p->kind);
    const patch_plan own = *plan;
    int n_row = 0;
    *plan = *from;
    plan->x_row = own.x_row, plan->group = own.group;
    lay_out(plan, &form, sizeof(float));
    if (plan->ordered) {
        FE_TRY(d->ops->memory.download(d, sizeof n_row, plan->partial_first + plan->n_border, &n_row));
        FE_TRY(fe_device_allocate(d, 3 * (size_t)n_row, sizeof(float),
                                  "patches: partial sums of border nodes", (void **)&plan->partial_sums));
    }
    return fe_device_allocate(d, (size_t)plan->n_patch, (size_t)plan->stride, "patches",
                              (void **)&plan->record);
}
