/* The patches: pieces of a recursive bisection, halved again where a piece has too many nodes or slots. Runs
 * once, on the host. */
#include "common/backend/device.h"
#include "common/mesh/bisect.h"
#include "variants/patch/assembly.h"

#include <stdlib.h>
#include <string.h>

/* In a mesh that is sorted in compact pieces, the patches are these pieces, so the data of a patch's elements
 * lie together in memory. */
_Static_assert(PATCH_ELEMENTS(FE_HEX8) == FE_PIECE_ELEMENTS(FE_HEX8), "patches of Hex8 are pieces of a mesh");
_Static_assert(PATCH_ELEMENTS(FE_TET4) == FE_PIECE_ELEMENTS(FE_TET4), "patches of Tet4 are pieces of a mesh");

typedef struct draft {
    const fe_view *m;
    int kind, n_corner, threads;
    size_t scalar, number; /* bytes of a coordinate in records, and of a sum */
    patch_form form;
    patch_plan *plan;
    int *conn;      /* [n_corner][ld] */
    double *x;      /* [n_local][3] */
    int *valence;   /* [n_local] elements at a node */
    double *centre; /* [n_elem][3] */
    int *order;     /* [n_elem] patch after patch, interior elements first */
    uint8_t *opens; /* [n_elem] a patch begins here */
    int *start;     /* [n_patch + 1] where each patch starts in `order` */
} draft;

enum { HASH = 1024 }; /* > 2 PATCH_MOST_NODES */

/* One patch: its nodes, its elements with corners as indices of these nodes, and its slots. */
typedef struct patch_piece {
    int n_elem, n_node, n_slot;
    int n_inner; /* nodes [0, n_inner) belong to no other patch */
    int node[PATCH_MOST_NODES + 8];
    uint16_t conn[PATCH_MOST_ELEMENTS][8];
    int elem[PATCH_MOST_ELEMENTS][PATCH_FAN];   /* [slot] elements of the piece; -1: none */
    uint16_t slot_node[PATCH_MOST_ELEMENTS][8]; /* [slot] nodes of the piece */
} patch_piece;

static int ascending(const void *p, const void *q)
{
    const int a = *(const int *)p, b = *(const int *)q;
    return (a > b) - (a < b);
}

static int node_of(const draft *k, int e, int corner) { return k->conn[(size_t)corner * k->m->ld + e]; }

/* Where a node is in the hash table of a piece's nodes, or the free entry where it belongs. */
static int find(const int16_t table[HASH], const int *node, int n)
{
    int at = (int)((unsigned)n * 2654435769u >> 22);
    while (table[at] >= 0 && node[table[at]] != n) at = (at + 1) % HASH;
    return at;
}

/* Moves the inner nodes of a piece, all of whose elements it has, to the front. Neighbouring threads then sum
 * about equally many corners and write in the same way. Inner nodes and border nodes are sorted by number. */
static void sort_nodes(const draft *k, const int *here, patch_piece *s)
{
    int border[PATCH_MOST_NODES], n = 0;
    s->n_inner = 0;
    for (int i = 0; i < s->n_node; i++)
        if (here[i] == k->valence[s->node[i]])
            s->node[s->n_inner++] = s->node[i];
        else
            border[n++] = s->node[i];
    memcpy(s->node + s->n_inner, border, sizeof *border * (size_t)n);
    qsort(s->node, (size_t)s->n_inner, sizeof *s->node, ascending);
    qsort(s->node + s->n_inner, (size_t)n, sizeof *s->node, ascending);
}

/* Collects the nodes of n elements, and the elements' corners as indices of these nodes. Returns 0 where
 * there are too many nodes. */
static int collect(const draft *k, const int *elem, int n, patch_piece *s)
{
    int16_t table[HASH];
    int here[PATCH_MOST_NODES] = {0}; /* elements at a node */
    s->n_elem = n, s->n_node = 0;
    memset(table, -1, sizeof table);
    for (int i = 0; i < n; i++)
        for (int a = 0; a < k->n_corner; a++) {
            const int node = node_of(k, elem[i], a), at = find(table, s->node, node);
            if (table[at] < 0) {
                if (s->n_node == patch_most_nodes(k->kind)) return 0;
                table[at] = (int16_t)s->n_node, s->node[s->n_node++] = node;
            }
            here[table[at]]++;
        }
    sort_nodes(k, here, s);
    memset(table, -1, sizeof table);
    for (int i = 0; i < s->n_node; i++) table[find(table, s->node, s->node[i])] = (int16_t)i;
    for (int i = 0; i < n; i++)
        for (int a = 0; a < k->n_corner; a++)
            s->conn[i][a] = (uint16_t)table[find(table, s->node, node_of(k, elem[i], a))];
    return 1;
}

/* Makes the slots of a piece: its elements, or fans of them. Returns 0 where there are too many. */
static int make_slots(const draft *k, patch_piece *s)
{
    if (!patch_fanned(k->kind)) {
        s->n_slot = s->n_elem;
        for (int i = 0; i < s->n_elem; i++) {
            s->elem[i][0] = i;
            memcpy(s->slot_node[i], s->conn[i], sizeof s->conn[i]);
        }
        return 1;
    }
    patch_fan fan[PATCH_MOST_ELEMENTS];
    s->n_slot = patch_fans((const uint16_t(*)[8])s->conn, s->n_elem, fan);
    for (int i = 0; i < s->n_slot; i++) {
        memcpy(s->elem[i], fan[i].elem, sizeof fan[i].elem);
        memset(s->slot_node[i], 0, sizeof s->slot_node[i]);
        memcpy(s->slot_node[i], fan[i].node, sizeof fan[i].node);
    }
    return s->n_slot <= k->form.slots;
}

/* Whether a node of a slot belongs to one of its elements: in a shorter fan the last nodes around the edge do
 * not. */
static int has_node(const draft *k, const patch_piece *s, int slot, int node)
{
    return !patch_fanned(k->kind) || node < 2 || node > PATCH_FAN || s->elem[slot][node - 1] >= 0;
}

/* Writes the starts of the nodes' lists of corners, each filled up to a multiple of PATCH_TOGETHER. Returns
 * their end. */
static int start_lists(const draft *k, const patch_piece *s, uint16_t *first)
{
    memset(first, 0, ((size_t)s->n_node + 1) * sizeof *first);
    for (int i = 0; i < s->n_slot; i++)
        for (int a = 0; a < k->form.nodes; a++) first[s->slot_node[i][a] + 1] += has_node(k, s, i, a);
    for (int i = 1; i <= s->n_node; i++)
        first[i] =
            (uint16_t)(first[i - 1] + (first[i] + PATCH_TOGETHER - 1) / PATCH_TOGETHER * PATCH_TOGETHER);
    return first[s->n_node];
}

/* Largest numbers of nodes and of places of corners of the patches so far. */
typedef struct patch_most {
    int nodes, corners;
} patch_most;

/* Marks where the patches of elements [first, first + n) of the order begin. */
static void cut(draft *k, int first, int n, patch_most *most)
{
    patch_piece s;
    if (collect(k, k->order + first, n, &s) && make_slots(k, &s)) {
        uint16_t list[PATCH_MOST_NODES + 1];
        const int corners = start_lists(k, &s, list);
        k->opens[first] = 1;
        most->nodes = s.n_node > most->nodes ? s.n_node : most->nodes;
        most->corners = corners > most->corners ? corners : most->corners;
        return;
    }
    const int half = (n + 1) / 2;
    fe_bisect(k->centre, k->order + first, n, half, 1);
    cut(k, first, half, most), cut(k, first + half, n - half, most);
}

/* Cuts elements [first, end) of the view into patches. Returns the number of patches so far. */
static int cut_part(draft *k, int n_patch, int first, int end)
{
    const int most = k->form.elements;
    for (int e = first; e < end; e++) k->order[e] = e;
    fe_bisect(k->centre, k->order + first, end - first, most, k->threads);
    int nodes = k->plan->most_nodes, corners = k->plan->most_corners;
#pragma omp parallel for schedule(dynamic, 16) num_threads(k->threads) reduction(max : nodes, corners)
    for (int i = first; i < end; i += most) {
        patch_most here = {nodes, corners};
        cut(k, i, end - i < most ? end - i : most, &here);
        nodes = here.nodes, corners = here.corners;
    }
    k->plan->most_nodes = nodes, k->plan->most_corners = corners;
    for (int i = first; i < end; i++)
        if (k->opens[i]) k->start[n_patch++] = i;
    k->start[n_patch] = end;
    return n_patch;
}

/* Lists the corner forces that each node sums by their places. The rest of a list is places of zeros. */
static void write_lists(const draft *k, const patch_piece *s, uint16_t *first, uint16_t *corner)
{
    uint16_t next[PATCH_MOST_NODES + 1];
    const int n = start_lists(k, s, first);
    memcpy(next, first, sizeof *next * (size_t)s->n_node);
    for (int i = 0; i < n; i++) corner[i] = (uint16_t)k->form.slots;
    for (int i = 0; i < s->n_slot; i++)
        for (int a = 0; a < k->form.nodes; a++)
            if (has_node(k, s, i, a))
                corner[next[s->slot_node[i][a]]++] = (uint16_t)(3 * a * k->form.row + i);
}

/* Only the device sums corner forces node by node, and fetches point data before it computes fans. */
static int gathers(const patch_plan *plan) { return plan->group == 1; }
static int ascends(const patch_plan *plan, const patch_form *form)
{
    return gathers(plan) && form->together > 1;
}

/* Index of number j of the `width` numbers of a slot. */
static int in_group(const patch_plan *plan, int width, int slot, int j)
{
    return (slot / plan->group * width + j) * plan->group + slot % plan->group;
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

static void write_record(const draft *k, int patch, char *record)
{
    const patch_plan *plan = k->plan;
    const patch_form form = k->form;
    const int *elem = k->order + k->start[patch];
    int *node = (int *)(record + plan->node), *slot = (int *)(record + plan->elem);
    uint16_t *conn = (uint16_t *)(record + plan->conn);
    patch_piece s;
    collect(k, elem, k->start[patch + 1] - k->start[patch], &s);
    make_slots(k, &s);
    *(patch_head *)record = (patch_head){s.n_node, s.n_slot, s.n_elem, 0};
    for (int i = 0; i < s.n_node; i++) {
        node[i] = i < s.n_inner ? s.node[i] : ~s.node[i];
        write_coordinates(k, s.node[0], s.node[i], record + plan->x + k->scalar * (size_t)(plan->x_row * i));
    }
    for (int i = 0; i < form.slots; i++) {
        const int from = i < s.n_slot ? i : s.n_slot - 1, behind = from < i && patch_fanned(k->kind);
        for (int j = 0; j < form.together; j++)
            slot[in_group(plan, form.together, i, j)] =
                behind || s.elem[from][j] < 0 ? -1 : elem[s.elem[from][j]];
        for (int a = 0; a < PATCH_WIDTH; a++) conn[in_group(plan, PATCH_WIDTH, i, a)] = s.slot_node[from][a];
    }
    if (ascends(plan, &form))
        for (int i = 0; i < s.n_slot; i++) /* the elements of a piece are in ascending order */
            for (int j = 0; j < form.together; j++)
                if (s.elem[i][j] >= 0)
                    ((uint16_t *)(record + plan->ascending))[s.elem[i][j]] =
                        (uint16_t)in_group(plan, form.together, i, j);
    if (gathers(plan))
        write_lists(k, &s, (uint16_t *)(record + plan->first), (uint16_t *)(record + plan->corner));
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
    plan->elem = place(plan, &at, slots * together * sizeof(int));
    if (ascends(plan, form)) plan->ascending = place(plan, &at, (size_t)form->elements * sizeof(uint16_t));
    plan->x = place(plan, &at, (size_t)plan->x_row * n * scalar);
    plan->conn = place(plan, &at, slots * PATCH_WIDTH * sizeof(uint16_t));
    if (gathers(plan)) plan->first = place(plan, &at, (n + 1) * sizeof(uint16_t));
    if (gathers(plan)) plan->corner = place(plan, &at, corners * sizeof(uint16_t));
    if (plan->ordered) plan->partial = place(plan, &at, n * sizeof(int));
    plan->stride = at;
}

typedef struct border_lists {
    char *stored; /* [n_local] */
    int *place;   /* [n_local] index of a node in `node` */
    int *node;    /* [n_border] */
    int *first;   /* [n_border + 1] */
    int *row;     /* [first[n_border]] */
    int n, n_row;
} border_lists;

/* Finds the nodes that no patch stores. */
static fe_status find_border(const draft *k, const char *record, border_lists *b)
{
    int n;
    FE_ALLOCATE(b->stored, k->m->n_local, "patches");
    FE_ALLOCATE(b->place, k->m->n_local, "patches");
    FE_ALLOCATE(b->node, k->m->n_local, "patches");
    for (int i = 0; i < k->plan->n_patch; i++) {
        const int *node = patch_nodes_of(k->plan, record, i, &n);
        for (int j = 0; j < n; j++)
            if (node[j] >= 0) b->stored[node[j]] = 1;
    }
    for (int i = 0; i < k->m->n_local; i++)
        if (!b->stored[i]) b->place[i] = b->n, b->node[b->n++] = i;
    return FE_OK;
}

/* Numbers the patches' partial sums of border nodes, and lists them by node. */
static fe_status list_partial_sums(const draft *k, char *record, border_lists *b)
{
    const patch_plan *plan = k->plan;
    int n;
    FE_ALLOCATE(b->first, b->n + 2, "patches");
    for (int i = 0; i < plan->n_patch; i++) {
        const int *node = patch_nodes_of(plan, record, i, &n);
        for (int j = 0; j < n; j++)
            if (node[j] < 0) b->first[b->place[~node[j]] + 2]++, b->n_row++;
    }
    for (int i = 2; i <= b->n + 1; i++) b->first[i] += b->first[i - 1];
    FE_ALLOCATE(b->row, b->n_row, "patches");
    int row = 0;
    for (int i = 0; i < plan->n_patch; i++) {
        const int *node = patch_nodes_of(plan, record, i, &n);
        int *partial = (int *)(record + (size_t)i * plan->stride + plan->partial);
        for (int j = 0; j < n; j++) {
            if (node[j] >= 0) continue;
            b->row[b->first[b->place[~node[j]] + 1]++] = row;
            partial[j] = row++;
        }
    }
    return FE_OK;
}

static fe_status upload_border(const draft *k, fe_device *d, char *record, border_lists *b)
{
    patch_plan *plan = k->plan;
    if (!plan->ordered) return FE_OK;
    FE_TRY(find_border(k, record, b));
    plan->n_border = b->n;
    FE_TRY(fe_device_upload(d, (size_t)b->n, sizeof *b->node, b->node, "patches", (void **)&plan->border));
    FE_TRY(list_partial_sums(k, record, b));
    FE_TRY(fe_device_upload(d, (size_t)b->n + 1, sizeof *b->first, b->first, "patches",
                            (void **)&plan->partial_first));
    FE_TRY(fe_device_upload(d, (size_t)b->n_row, sizeof *b->row, b->row, "patches",
                            (void **)&plan->partial_row));
    return fe_device_allocate(d, 9 * (size_t)b->n_row, k->number, "patches: partial sums of border nodes",
                              (void **)&plan->partial_sums);
}

static fe_status write_records(const draft *k, fe_device *d)
{
    patch_plan *plan = k->plan;
    char *record = NULL;
    FE_ALLOCATE(record, (size_t)plan->n_patch * plan->stride, "patches");
#pragma omp parallel for schedule(static) num_threads(k->threads)
    for (int i = 0; i < plan->n_patch; i++) write_record(k, i, record + (size_t)i * plan->stride);
    border_lists b = {0};
    fe_status status = upload_border(k, d, record, &b);
    free(b.stored), free(b.place), free(b.node), free(b.first), free(b.row);
    if (status == FE_OK)
        status = fe_device_upload(d, (size_t)plan->n_patch, (size_t)plan->stride, record, "patches",
                                  (void **)&plan->record);
    free(record);
    return status;
}

static fe_status build(draft *k, fe_device *d)
{
    const fe_view *m = k->m;
    patch_plan *plan = k->plan;
    const size_t corners = (size_t)k->n_corner * m->ld;
    FE_ALLOCATE(k->conn, corners, "patches");
    FE_ALLOCATE(k->x, 3 * (size_t)m->n_local, "patches");
    FE_ALLOCATE(k->valence, m->n_local, "patches");
    FE_ALLOCATE(k->centre, 3 * (size_t)m->n_elem, "patches");
    FE_ALLOCATE(k->order, m->n_elem, "patches");
    FE_ALLOCATE(k->opens, m->n_elem, "patches");
    FE_ALLOCATE(k->start, (size_t)m->n_elem + 1, "patches");
    FE_TRY(d->ops->memory.download(d, corners * sizeof *k->conn, m->conn, k->conn));
    FE_TRY(d->ops->memory.download(d, 3 * (size_t)m->n_local * sizeof *k->x, m->x, k->x));
    for (int a = 0; a < k->n_corner; a++)
        for (int e = 0; e < m->n_elem; e++) {
            k->valence[node_of(k, e, a)]++;
            for (int i = 0; i < 3; i++)
                k->centre[3 * (size_t)e + i] += k->x[3 * (size_t)node_of(k, e, a) + i] / k->n_corner;
        }
    plan->n_patch_interior = cut_part(k, 0, 0, m->n_elem_interior);
    plan->n_patch = cut_part(k, plan->n_patch_interior, m->n_elem_interior, m->n_elem);
    lay_out(plan, &k->form, k->scalar);
    return write_records(k, d);
}

fe_status patch_plan_open(fe_problem *p, int precision, patch_plan *plan)
{
    draft k = {.m = &p->view,
               .kind = p->kind,
               .n_corner = fe_corners(p->kind),
               .threads = p->device->threads > 0 ? p->device->threads : fe_host_cores(),
               .scalar = precision == FE_DOUBLE ? sizeof(double) : sizeof(float),
               .number = precision == FE_SINGLE ? sizeof(float) : sizeof(double),
               .form = patch_form_of(p->kind),
               .plan = plan};
    const fe_status status = build(&k, p->device);
    free(k.conn), free(k.x), free(k.valence), free(k.centre), free(k.order), free(k.opens), free(k.start);
    return status;
}
