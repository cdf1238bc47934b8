/* The plan: which rows of its border a patch adds to, and a record for each patch. Runs once, on the host. */
#include "variants/patch/plan.h"
#include "common/backend/device.h"
#include "common/base/sort.h"

#include <stdlib.h>
#include <string.h>

enum { LATER = PATCH_ADDERS + 1 }; /* in `adders`: the node has rows of partial sums */

/* Lists the corner forces that each node sums by their places. The rest of a list is places of zeros. */
static void write_lists(const patch_draft *k, const patch_cut *s, uint16_t *first, uint16_t *corner)
{
    uint16_t next[PATCH_MOST_NODES + 1];
    const int n = patch_start_lists(k, s, first);
    memcpy(next, first, sizeof *next * (size_t)s->n_node);
    for (int i = 0; i < n; i++) corner[i] = (uint16_t)k->form.slots;
    for (int i = 0; i < s->n_slot; i++)
        for (int a = 0; a < k->form.nodes; a++)
            if (patch_has_node(k, s, i, a))
                corner[next[s->conn[k->form.width * i + a]]++] = (uint16_t)(3 * a * k->form.row + i);
    patch_spread_corners(k->kind, patch_banks(k->scalar), s->n_node, first, corner);
}

static int ascends(const patch_plan *plan, const patch_form *form)
{
    return patch_gathers(plan) && form->together > 1;
}

/* Coordinates of a node; floats are those from another one. */
static void write_coordinates(const patch_draft *k, int from, int node, char *to)
{
    const double *x = k->x + 3 * (size_t)node, *start = k->x + 3 * (size_t)from;
    if (k->scalar == sizeof *x)
        memcpy(to, x, 3 * sizeof *x);
    else
        for (int c = 0; c < 3; c++) ((float *)to)[c] = (float)(x[c] - start[c]);
}

/* Puts the nodes that have rows of partial sums, ~node so far, behind the others. */
static void put_rows_last(const patch_draft *k, patch_cut *s)
{
    uint16_t at[PATCH_MOST_NODES];
    int added = s->n_inner, later = s->n_added;
    for (int i = 0; i < s->n_node; i++) {
        at[i] = (uint16_t)(i < s->n_inner ? i : s->node[i] < 0 ? later++ : added++);
        s->node[i] = patch_node(s->node[i]);
    }
    patch_renumber(k, at, s);
}

/* Chooses, patch after patch, which border nodes a patch adds to the output and which have rows of partial
 * sums. */
static fe_status choose_rows(patch_draft *k)
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
static int row_of(const patch_draft *k, const patch_cut *s, int node)
{
    return patch_gathers(k->plan) ? s->place[node] : node;
}

static void write_record(const patch_draft *k, const patch_cut *s, char *record)
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
    if (patch_gathers(plan)) memcpy(record + plan->place, s->place, sizeof *s->place * (size_t)s->n_node);
    for (int i = 0; i < form.slots; i++) {
        const int from = i < s->n_slot ? i : s->n_slot - 1, behind = from < i && patch_fanned(k->kind);
        for (int j = 0; j < form.together; j++)
            slot[patch_in_group(plan->group, form.together, i, j)] =
                behind || s->elem[from][j] < 0 ? -1 : elem[s->elem[from][j]];
        for (int a = 0; a < form.width; a++)
            conn[patch_in_group(plan->group, form.width, i, a)] =
                (uint16_t)row_of(k, s, s->conn[form.width * from + a]);
    }
    if (ascends(plan, &form))
        for (int i = 0; i < s->n_slot; i++) /* the elements of a patch are in ascending order */
            for (int j = 0; j < form.together; j++)
                if (s->elem[i][j] >= 0)
                    ((uint16_t *)(record + plan->ascending))[s->elem[i][j]] =
                        (uint16_t)patch_in_group(plan->group, form.together, i, j);
    if (patch_gathers(plan))
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
void patch_lay_out(patch_plan *plan, int kind, size_t scalar)
{
    const patch_form form = patch_form_of(kind);
    const size_t n = (size_t)plan->most_nodes, slots = (size_t)form.slots, together = (size_t)form.together;
    const size_t corners = (size_t)plan->most_corners + PATCH_TOGETHER;
    int at = 0;
    place(plan, &at, sizeof(patch_head));
    plan->node = place(plan, &at, n * sizeof(int));
    if (patch_gathers(plan)) plan->place = place(plan, &at, n * sizeof(uint16_t));
    plan->elem = place(plan, &at, slots * together * sizeof(int));
    if (ascends(plan, &form)) plan->ascending = place(plan, &at, (size_t)form.elements * sizeof(uint16_t));
    plan->x = place(plan, &at, (size_t)plan->x_row * n * scalar);
    plan->conn = place(plan, &at, slots * (size_t)form.width * sizeof(uint16_t));
    if (patch_gathers(plan)) plan->first = place(plan, &at, (n + 1) * sizeof(uint16_t));
    if (patch_gathers(plan)) plan->corner = place(plan, &at, corners * sizeof(uint16_t));
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
static fe_status list_rows(const patch_draft *k, border_lists *b)
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

static fe_status upload_border(const patch_draft *k, fe_device *d, border_lists *b)
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

static size_t begin_of_record(const void *draft, int i)
{
    return (size_t)((const patch_draft *)draft)->plan->stride * (size_t)i;
}
static void write_record_of(const void *draft, int i, char *to)
{
    const patch_draft *k = (const patch_draft *)draft;
    write_record(k, k->patch[i], to);
}
static fe_status write_records(const patch_draft *k, fe_device *d)
{
    const fe_pieces records = {k->plan->n_patch, k, begin_of_record, write_record_of};
    FE_TRY(fe_device_upload_pieces(d, &records, "patches", (void **)&k->plan->record));
    border_lists b = {0};
    const fe_status status = upload_border(k, d, &b);
    free(b.place), free(b.node), free(b.first), free(b.row), free(b.word);
    return status;
}

static fe_status build(patch_draft *k, const fe_problem *p)
{
    fe_device *d = p->device;
    fe_host_mesh mesh;
    FE_TRY(fe_problem_host_mesh(p, &mesh));
    k->conn = mesh.conn, k->x = mesh.x;
    FE_TRY(fe_problem_valence(p, &mesh, k->threads, &k->valence));
    FE_TRY(patch_cut_mesh(k));
    FE_TRY(choose_rows(k));
    patch_lay_out(k->plan, k->kind, k->scalar);
    return write_records(k, d);
}

static void close_draft(patch_draft *k)
{
    for (int i = 0; k->piece && i < k->n_piece[0] + k->n_piece[1]; i++) patch_forget(&k->piece[i]);
    free(k->valence), free(k->order), free(k->piece), free(k->patch), free(k->adders);
}

fe_status patch_plan_open(fe_problem *p, int precision, patch_plan *plan)
{
    const fe_view *m = &p->view;
    const patch_form form = patch_form_of(p->kind);
    const int most = form.elements;
    patch_draft k = {.m = m,
                     .kind = p->kind,
                     .n_corner = fe_corners(p->kind),
                     .threads = fe_device_host_threads(p->device),
                     .in_pieces = p->in_pieces,
                     .scalar = precision == FE_DOUBLE ? sizeof(double) : sizeof(float),
                     .number = precision == FE_SINGLE ? sizeof(float) : sizeof(double),
                     .form = form,
                     .most_nodes = patch_most_nodes(p->kind),
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
    const patch_plan own = *plan;
    int n_row = 0;
    *plan = *from;
    plan->x_row = own.x_row, plan->group = own.group;
    patch_lay_out(plan, p->kind, sizeof(float));
    if (plan->ordered) {
        FE_TRY(d->ops->memory.download(d, sizeof n_row, plan->partial_first + plan->n_border, &n_row));
        FE_TRY(fe_device_allocate(d, 3 * (size_t)n_row, sizeof(float),
                                  "patches: partial sums of border nodes", (void **)&plan->partial_sums));
    }
    return fe_device_allocate(d, (size_t)plan->n_patch, (size_t)plan->stride, "patches",
                              (void **)&plan->record);
}
