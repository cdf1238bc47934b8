/* Cuts a mesh into patches: pieces of a recursive bisection, halved again where a piece has too many nodes or
 * slots. */
#include "common/base/sort.h"
#include "common/mesh/bisect.h"
#include "variants/patch/plan.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(28 * PATCH_ELEMENTS(FE_HEX27) <= PATCH_MOST_CONN &&
                   12 * PATCH_ELEMENTS(FE_TET10) <= PATCH_MOST_CONN,
               "rows of conn");

enum { HASH = 1024 };                                      /* > 2 PATCH_MOST_NODES */
enum { MOST_STEPS = PATCH_MOST_CORNERS / PATCH_TOGETHER }; /* of the sum at a node */

/* A patch with the room that any can need, and its elements with corners as indices of its nodes. */
typedef struct patch_room {
    patch_cut cut;
    int node[PATCH_MOST_NODES];
    uint16_t place[PATCH_MOST_NODES];
    uint16_t corner[PATCH_MOST_CONN]; /* [element][width] */
    int16_t elem[PATCH_MOST_ELEMENTS][PATCH_FAN];
    uint16_t conn[PATCH_MOST_CONN];
} patch_room;

static int node_of(const patch_draft *k, int e, int corner) { return k->conn[(size_t)corner * k->m->ld + e]; }

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
static void sort_nodes(const patch_draft *k, const int *found, const int *here, patch_cut *s)
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
static int collect(const patch_draft *k, int first, int n, patch_room *r)
{
    int16_t table[HASH], place[PATCH_MOST_NODES];
    int found[PATCH_MOST_NODES], here[PATCH_MOST_NODES] = {0}, n_node = 0; /* here: elements at a node */
    memset(table, -1, sizeof table);
    for (int i = 0; i < n; i++)
        for (int a = 0; a < k->n_corner; a++) {
            const int node = node_of(k, k->order[first + i], a), at = find(table, found, node);
            if (table[at] < 0) {
                if (n_node == k->most_nodes) return 0;
                table[at] = (int16_t)n_node, found[n_node++] = node;
            }
            here[table[at]]++;
            r->corner[k->form.width * i + a] = (uint16_t)table[at];
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
        for (int a = 0; a < k->n_corner; a++) {
            uint16_t *corner = &r->corner[k->form.width * i + a];
            *corner = (uint16_t)place[*corner];
        }
    return 1;
}

static void find_centre(const patch_draft *k, int e, double centre[3])
{
    double sum[3] = {0};
    for (int a = 0; a < k->n_corner; a++)
        for (int i = 0; i < 3; i++) sum[i] += k->x[3 * (size_t)node_of(k, e, a) + i] / k->n_corner;
    memcpy(centre, sum, sizeof sum);
}

/* Makes the slots of a patch: its elements, or fans of them. Returns 0 where there are too many. */
static int make_slots(const patch_draft *k, patch_room *r)
{
    patch_cut *s = &r->cut;
    if (!patch_fanned(k->kind)) {
        s->n_slot = s->n_elem;
        for (int i = 0; i < s->n_elem; i++) {
            uint16_t *conn = r->conn + k->form.width * i;
            memset(conn, 0, sizeof *conn * (size_t)k->form.width);
            memcpy(conn, r->corner + k->form.width * i, sizeof *conn * (size_t)k->n_corner);
        }
        for (int i = 0; i < s->n_elem; i++) r->elem[i][0] = (int16_t)i;
        return 1;
    }
    patch_fan fan[PATCH_MOST_ELEMENTS];
    s->n_slot = patch_fans((const uint16_t(*)[8])r->corner, s->n_elem, fan);
    memset(r->conn, 0, sizeof *r->conn * (size_t)(k->form.width * s->n_slot));
    for (int i = 0; i < s->n_slot; i++) {
        for (int j = 0; j < PATCH_FAN; j++) r->elem[i][j] = (int16_t)fan[i].elem[j];
        memcpy(r->conn + k->form.width * i, fan[i].node, sizeof fan[i].node);
    }
    return s->n_slot <= k->form.slots;
}

int patch_has_node(const patch_draft *k, const patch_cut *s, int slot, int node)
{
    return !patch_fanned(k->kind) || node < 2 || node > PATCH_FAN || s->elem[slot][node - 1] >= 0;
}

int patch_start_lists(const patch_draft *k, const patch_cut *s, uint16_t *first)
{
    memset(first, 0, ((size_t)s->n_node + 1) * sizeof *first);
    for (int i = 0; i < s->n_slot; i++)
        for (int a = 0; a < k->form.nodes; a++)
            first[s->conn[k->form.width * i + a] + 1] += patch_has_node(k, s, i, a);
    for (int i = 1; i <= s->n_node; i++)
        first[i] =
            (uint16_t)(first[i - 1] + (first[i] + PATCH_TOGETHER - 1) / PATCH_TOGETHER * PATCH_TOGETHER);
    return first[s->n_node];
}

void patch_renumber(const patch_draft *k, const uint16_t *at, patch_cut *s)
{
    int node[PATCH_MOST_NODES];
    uint16_t place[PATCH_MOST_NODES];
    memcpy(node, s->node, sizeof *node * (size_t)s->n_node);
    memcpy(place, s->place, sizeof *place * (size_t)s->n_node);
    for (int i = 0; i < s->n_node; i++) s->node[at[i]] = node[i], s->place[at[i]] = place[i];
    for (int i = 0; i < s->n_slot; i++)
        for (int a = 0; a < k->form.nodes; a++) {
            uint16_t *conn = &s->conn[k->form.width * i + a];
            *conn = at[*conn];
        }
}

/* Sorts inner nodes, and border nodes, by the number of steps in which their corners are summed, the most
 * first: neighbouring threads then take about equally many. */
static void sort_by_steps(const patch_draft *k, patch_cut *s)
{
    uint16_t first[PATCH_MOST_NODES + 1], at[PATCH_MOST_NODES];
    patch_start_lists(k, s, first);
    for (int border = 0; border < 2; border++) {
        const int from = border ? s->n_inner : 0, end = border ? s->n_node : s->n_inner;
        int next[MOST_STEPS + 2] = {from};
        for (int i = from; i < end; i++) next[MOST_STEPS - (first[i + 1] - first[i]) / PATCH_TOGETHER + 1]++;
        for (int i = 0; i < MOST_STEPS; i++) next[i + 1] += next[i];
        for (int i = from; i < end; i++)
            at[i] = (uint16_t)next[MOST_STEPS - (first[i + 1] - first[i]) / PATCH_TOGETHER]++;
    }
    patch_renumber(k, at, s);
}

/* A copy of a patch in memory of its size, at the end of a list. */
static fe_status keep(const patch_draft *k, const patch_room *r, patch_cut ***end)
{
    const patch_cut *s = &r->cut;
    const size_t nodes = sizeof *s->node * (size_t)s->n_node, places = sizeof *s->place * (size_t)s->n_node,
                 conn = sizeof *s->conn * (size_t)(k->form.width * s->n_slot),
                 elem = sizeof *s->elem * (size_t)s->n_slot;
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
static fe_status halve(patch_draft *k, int first, int n, int half)
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
static fe_status cut(patch_draft *k, int first, int n, patch_cut ***end)
{
    patch_room r;
    if (collect(k, first, n, &r) && make_slots(k, &r)) {
        uint16_t list[PATCH_MOST_NODES + 1];
        if (patch_gathers(k->plan)) {
            sort_by_steps(k, &r.cut);
            patch_find_places(k->kind, patch_banks(k->scalar), r.cut.n_node, r.cut.n_slot, r.conn, r.place);
        }
        r.cut.n_corner = patch_start_lists(k, &r.cut, list);
        return keep(k, &r, end);
    }
    const int half = (n + 1) / 2;
    FE_TRY(halve(k, first, n, half));
    FE_TRY(cut(k, first, half, end));
    return cut(k, first + half, n - half, end);
}

/* Sorts elements [first, end) of the view into pieces, unless they are. */
static fe_status sort_pieces(patch_draft *k, int first, int end)
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

static int is_too_large(const patch_draft *k, const patch_cut *s)
{
    for (; s; s = s->next)
        if (s->n_node > k->most_nodes) return 1;
    return 0;
}

void patch_forget(patch_cut **list)
{
    for (patch_cut *s = *list, *next; s; s = next) next = s->next, free(s);
    *list = NULL;
}

/* Cuts pieces into patches: those that are not cut, and those with patches above the limit. Numbers of
 * patches and their largest sizes go to the plan. */
static fe_status cut_pieces(patch_draft *k)
{
    const int most = k->form.elements, n_interior = k->n_piece[0], n = n_interior + k->n_piece[1];
    int nodes = 0, corners = 0, n_patch = 0, n_patch_interior = 0, failed = 0;
#pragma omp parallel for schedule(dynamic, 16) num_threads(k->threads) reduction(max : nodes, corners)       \
    reduction(+ : n_patch, n_patch_interior, failed)
    for (int i = 0; i < n; i++) {
        const int first = i < n_interior ? i * most : k->m->n_elem_interior + (i - n_interior) * most,
                  last = i < n_interior ? k->m->n_elem_interior : k->m->n_elem;
        if (is_too_large(k, k->piece[i])) patch_forget(&k->piece[i]);
        patch_cut **end = &k->piece[i];
        if (!k->piece[i]) failed += cut(k, first, last - first < most ? last - first : most, &end) != FE_OK;
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

fe_status patch_cut_mesh(patch_draft *k)
{
    const fe_view *m = k->m;
    FE_RESERVE(k->order, m->n_elem, "patches");
    FE_TRY(sort_pieces(k, 0, m->n_elem_interior));
    FE_TRY(sort_pieces(k, m->n_elem_interior, m->n_elem));
    FE_ALLOCATE(k->piece, k->n_piece[0] + k->n_piece[1], "patches");
    FE_TRY(cut_pieces(k));
    patch_lower_limit(k);
    if (k->plan->most_nodes > k->most_nodes) FE_TRY(cut_pieces(k));
    FE_RESERVE(k->patch, k->plan->n_patch, "patches");
    for (int i = 0, n = 0; i < k->n_piece[0] + k->n_piece[1]; i++)
        for (patch_cut *s = k->piece[i]; s; s = s->next) k->patch[n++] = s;
    return FE_OK;
}
