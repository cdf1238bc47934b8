/* patch on the host: one patch per thread at a time, with its nodes and sums in the thread's own cache. */
#define FE_UNROLL_ROWS
#include "common/problem/loops.h"
#include "variants/patch/assembly.h"

#include <stdlib.h>

/* Input and sums at the nodes of a patch. Rows have four numbers, like the record's coordinates, so that a
 * row is one load or one addition; sums of the diagonal have nine. One more row receives what slots after the
 * last add. */
enum { ROW = 4, ROWS = PATCH_MOST_NODES + 1, LINE = 64 }; /* LINE: bytes of a cache line */
typedef struct patch_nodes {
    const fe_scalar *x;
    _Alignas(64) fe_scalar u[ROW * ROWS], y[ROW * ROWS];
} patch_nodes;

/* Nodes of the slots from s on, one per lane: the starts of their rows of `row` numbers. */
FE_BODY void slots_at(int kind, const uint16_t *conn, int s, int row, fe_index at[])
{
    const patch_form form = patch_form_of(kind);
    conn += s * form.width;
    FE_UNROLL_FOR (int b = 0; b < form.nodes; b++)
        for (int l = 0; l < FE_LANES; l++) at[b].lane[l] = row * conn[b * FE_LANES + l];
}

/* Element i of the slots from s on. `here` masks those that have one; the others get one of another slot. */
FE_BODY fe_element slots_element(int kind, const fe_view *m, const int *elem, int s, int i, fe_mask *here)
{
    fe_index e;
    elem += s * patch_form_of(kind).together;
    for (int l = 0; l < FE_LANES; l++) {
        const int entry = elem[i * FE_LANES + l];
        (*here)[l] = entry < 0 ? 0 : -1;
        e.lane[l] = entry < 0 ? elem[0] : entry;
    }
    return fe_element_open(m, e, fe_no_turn());
}

/* The plan; the nodes [n_local] to which patches of several threads add within one part; the patches
 * [n_patch] that have such nodes. */
typedef struct patch_work {
    patch_plan plan;
    char *contested, *careful;
} patch_work;

/* Patches of a thread. */
FE_BODY void thread_range(const patch_plan *plan, fe_part part, int thread, int threads, int *from, int *to)
{
    int first, last;
    patch_range(plan, part, &first, &last);
    *from = first + (int)((int64_t)(last - first) * thread / threads);
    *to = first + (int)((int64_t)(last - first) * (thread + 1) / threads);
}

/* Adds the patch's sums to rows of y with `width` numbers each, or stores those that the second pass adds; in
 * `sum` the rows are `apart` numbers apart. Rows of inner nodes are zero before. So where no other thread
 * adds, one addition without a branch serves all rows of y. */
FE_BODY void write_rows(const patch_work *work, int patch, int width, int apart, const fe_scalar *sum,
                        fe_number *y)
{
    const patch_plan *plan = &work->plan;
    const char *record = plan->record + (size_t)patch * plan->stride;
    const patch_head *head = (const patch_head *)record;
    const int *node = (const int *)(record + plan->node);
    for (int i = 0; i < head->n_added; i++) {
        fe_number *restrict to = patch_row(plan, head, node, i, width, y);
        if (work->careful[patch] && work->contested[patch_node(node[i])])
            for (int c = 0; c < width; c++) _Pragma("omp atomic") to[c] += sum[apart * i + c];
        else
            for (int c = 0; c < width; c++) to[c] += sum[apart * i + c];
    }
    for (int i = head->n_added; i < head->n_node; i++) {
        fe_number *restrict to = patch_row(plan, head, node, i, width, y);
        for (int c = 0; c < width; c++) to[c] = sum[apart * i + c];
    }
}

/* The second pass. */
static void add_partial_sums(const patch_plan *plan, int width, int threads, fe_number *y)
{
    FE_PARALLEL_FOR (i, 0, plan->n_border, 1, threads)
        for (int c = 0; c < width; c++) {
            fe_number *to = y + (size_t)width * plan->border[i] + c, sum = *to;
            for (int k = plan->partial_first[i]; k < plan->partial_first[i + 1]; k++)
                sum += plan->partial_sums[(size_t)width * plan->partial_row[k] + c];
            *to = sum;
        }
}

/* Adds the forces on the elements of the slots from s on; slots from n_slot on add to a row of their own. */
FE_BODY void slots_forces(int kind, int op, const fe_view *m, const int *elem, int n_slot, int s,
                          fe_index at[], patch_nodes *p)
{
    fe_mask here;
    fe_real x[FE_MOST_CORNERS][3], u[FE_MOST_CORNERS][3], y[FE_MOST_CORNERS][3];
    FE_UNROLL_FOR (int b = 0; b < fe_corners(kind); b++) {
        fe_read_rows(p->x, 1, at[b], x[b]);
        fe_read_rows(p->u, 1, at[b], u[b]);
    }
    fe_element_forces(kind, op, m, slots_element(kind, m, elem, s, 0, &here), x, u, y);
    FE_UNROLL_FOR (int b = 0; b < fe_corners(kind); b++) {
        for (int l = n_slot - s; l < FE_LANES; l++) at[b].lane[l] = ROW * PATCH_MOST_NODES;
        fe_add4(p->y, at[b], y[b]);
    }
}

/* Adds the forces on the fans of the slots from s on. Their elements follow each other around the edge of
 * corners 0 and 1. After each element the force on one node is complete. */
FE_BODY void fans_forces(int kind, int op, const fe_view *m, const int *elem, int s, const fe_index at[],
                         patch_nodes *p)
{
    const fe_real none = fe_splat(0.0f);
    fe_mask here;
    fe_real x[8][3], u[8][3], y[4][3], f[8][3];
    FE_UNROLL_FOR (int b = 0; b < 3; b++) {
        fe_read_rows(p->x, 1, at[patch_corner(kind, 0, b)], x[b]);
        fe_read_rows(p->u, 1, at[patch_corner(kind, 0, b)], u[b]);
        FE_UNROLL_FOR (int c = 0; c < 3; c++) y[b][c] = none;
    }
    fe_element e = slots_element(kind, m, elem, s, 0, &here);
    int i = 0;
    do {
        fe_read_rows(p->x, 1, at[i + 1], x[3]);
        fe_read_rows(p->u, 1, at[i + 1], u[3]);
        fe_element_forces(kind, op, m, e, x, u, f);
        FE_UNROLL_FOR (int b = 0; b < 4; b++)
            FE_UNROLL_FOR (int c = 0; c < 3; c++) {
                f[b][c] = fe_select(here, f[b][c], none);
                y[b][c] = b < 3 ? y[b][c] + f[b][c] : f[b][c];
            }
        fe_add4(p->y, at[i], y[2]);
        FE_UNROLL_FOR (int c = 0; c < 3; c++) x[2][c] = x[3][c], u[2][c] = u[3][c], y[2][c] = y[3][c];
        i++;
        if (i < PATCH_FAN) e = slots_element(kind, m, elem, s, i, &here);
    } while (i < PATCH_FAN && fe_any(here)); /* the shortest fans are the last */
    fe_add4(p->y, at[i], y[2]);
    fe_add4(p->y, at[patch_corner(kind, 0, 0)], y[0]);
    fe_add4(p->y, at[patch_corner(kind, 0, 1)], y[1]);
}

/* Prefetches the part of the record `next` that belongs to the slots from s on, and the point data of their
 * elements, each cache line once. The data arrive while the slots of this patch are computed. They go to the
 * level-2 cache (hint 2), because level 1 has no room for two patches. */
FE_BODY void prefetch_slots(int kind, int op, const fe_view *m, const patch_plan *plan, const char *next,
                            int s)
{
    const patch_form form = patch_form_of(kind);
    const int lines = plan->stride / LINE, to = (s + FE_LANES) * lines / form.slots;
    for (int i = s * lines / form.slots; i < to; i++) __builtin_prefetch(next + LINE * i, 0, 2);
    if (fe_is_elastic(op)) return;
    const uint8_t *flags = fe_is_residual(op) ? m->committed.flags : m->trial.flags;
    const int *elem = (const int *)(next + plan->elem) + s * form.together;
    const int bytes = fe_is_residual(op) ? sizeof(double) : sizeof(fe_tangent_number);
    for (int i = 0, e = -1; i < FE_LANES * form.together; i++) {
        const int follows = patch_fanned(kind) || elem[i] == e + 1; /* most likely in another's line */
        e = elem[i];
        if (e < 0 || (follows && e % (LINE / bytes) > 0)) continue;
        if (!(flags[e] & (fe_is_residual(op) ? FE_YIELDED : FE_SOFTENED))) continue;
        for (int c = 0; c < FE_N_NUMBER; c++)
            for (int q = 0; q < fe_points(kind); q++) {
                const size_t at = fe_point_index(kind, c, q, e);
                const void *number =
                    fe_is_residual(op) ? (const void *)(m->committed.point + at) : fe_tangents(m) + at;
                __builtin_prefetch(number, 0, 2);
            }
    }
}

/* Prefetches the rows of displacement and y at the nodes of `next`. Each vector of slots in the second half
 * of n prefetches some of them; by then the list of nodes has arrived. */
FE_BODY void prefetch_nodes(const patch_plan *plan, const char *next, int s, int n,
                            const fe_number *displacement, const fe_number *y)
{
    int n_node;
    const int *node = patch_nodes_of(plan, next, 0, &n_node);
    const int from = n_node * (2 * s - n) / n, to = n_node * (2 * (s + FE_LANES) - n) / n;
    for (int i = from > 0 ? from : 0; i < to && i < n_node; i++) {
        const size_t at = 3 * (size_t)patch_node(node[i]);
        __builtin_prefetch(displacement + at, 0, 2), __builtin_prefetch(y + at, 1, 2);
    }
}

/* A row of the input; in mixed precision minus that of the patch's first node, as fe_element_read. */
FE_BODY fe_four input_row(const fe_number *displacement, int node, int first)
{
    const fe_number *row = displacement + 3 * (size_t)node;
    if (FE_PRECISION != FE_MIXED) return fe_load_four(row);
    return fe_load_four_from(row, displacement + 3 * (size_t)first);
}

FE_BODY void patch_forces(int kind, int op, const fe_view *m, const patch_work *work, int patch, int last,
                          const fe_number *displacement, fe_number *y)
{
    const patch_plan *plan = &work->plan;
    const char *record = plan->record + (size_t)patch * plan->stride;
    const patch_head *head = (const patch_head *)record;
    const char *next = patch < last ? record + plan->stride : NULL;
    const int *node = (const int *)(record + plan->node), *elem = (const int *)(record + plan->elem);
    const uint16_t *conn = (const uint16_t *)(record + plan->conn);
    patch_nodes p;
    p.x = (const fe_scalar *)(record + plan->x);
    /* rows of three are read as four: the vector is padded */
    for (int i = 0; i < head->n_node; i++) {
        fe_store_four(p.u + ROW * i, input_row(displacement, patch_node(node[i]), patch_node(node[0])));
        fe_store_four(p.y + ROW * i, (fe_four){0});
    }
    for (int s = 0; s < head->n_slot; s += FE_LANES) {
        fe_index at[FE_MOST_CORNERS];
        if (next) {
            prefetch_slots(kind, op, m, plan, next, s);
            if (2 * (s + FE_LANES) > head->n_slot)
                prefetch_nodes(plan, next, s, head->n_slot, displacement, y);
        }
        slots_at(kind, conn, s, ROW, at);
        if (patch_fanned(kind))
            fans_forces(kind, op, m, elem, s, at, &p);
        else
            slots_forces(kind, op, m, elem, head->n_slot, s, at, &p);
    }
    write_rows(work, patch, 3, ROW, p.y, y);
}

FE_BODY void patch_diagonal(int kind, const fe_view *m, const patch_work *work, int patch, fe_number *d)
{
    const patch_plan *plan = &work->plan;
    const char *record = plan->record + (size_t)patch * plan->stride;
    const patch_head *head = (const patch_head *)record;
    const int *elem = (const int *)(record + plan->elem);
    const uint16_t *conn = (const uint16_t *)(record + plan->conn);
    fe_scalar sum[9 * ROWS];
    for (int i = 0; i < 9 * head->n_node; i++) sum[i] = 0.0f;
    for (int s = 0; s < head->n_slot; s += FE_LANES) {
        fe_index slot[FE_MOST_CORNERS];
        slots_at(kind, conn, s, 1, slot);
        for (int i = 0; i < patch_form_of(kind).together; i++) {
            fe_index at[FE_MOST_CORNERS];
            fe_mask here;
            fe_real x[FE_MOST_CORNERS][3], block[6], rows[3][3];
            FE_UNROLL_FOR (int b = 0; b < fe_corners(kind); b++) at[b] = slot[patch_corner(kind, i, b)];
            FE_UNROLL_FOR (int b = 0; b < fe_corners(kind); b++)
                fe_read_rows((const fe_scalar *)(record + plan->x), ROW, at[b], x[b]);
            const fe_element e = slots_element(kind, m, elem, s, i, &here);
            if (!fe_any(here)) break; /* the shortest fans are the last */
            FE_UNROLL_LARGE_FOR (int b = 0; b < fe_corners(kind); b++) {
                fe_element_diagonal(kind, m, e, x, b, block);
                FE_UNROLL_FOR (int c = 0; c < 6; c++) block[c] = fe_select(here, block[c], fe_splat(0.0f));
                fe_block_rows(block, rows);
                FE_UNROLL_FOR (int j = 0; j < 3; j++)
                    fe_add3(sum, fe_times3(at[b], j), head->n_slot - s, 0, rows[j]);
            }
        }
    }
    write_rows(work, patch, 9, 9, sum, d);
}

FE_BODY void thread_forces(int kind, int op, const fe_view *m, const patch_work *work, fe_part part,
                           int thread, int threads, const fe_number *displacement, fe_number *y)
{
    int from, to;
    thread_range(&work->plan, part, thread, threads, &from, &to);
    for (int i = from; i < to; i++) patch_forces(kind, op, m, work, i, to - 1, displacement, y);
}

FE_BODY void thread_diagonal(int kind, const fe_view *m, const patch_work *work, fe_part part, int thread,
                             int threads, fe_number *d)
{
    int from, to;
    thread_range(&work->plan, part, thread, threads, &from, &to);
    for (int i = from; i < to; i++) patch_diagonal(kind, m, work, i, d);
}

static fe_status forces(const fe_problem *p, void *work, int op, fe_part part, const fe_number *displacement,
                        fe_number *y)
{
    const patch_work *w = work;
    const fe_view *m = &p->view;
    const int threads = p->device->threads;
#define FORCES(KIND, OP)                                                                                     \
    FE_PARALLEL_FOR (t, 0, threads, 1, threads)                                                              \
    thread_forces(KIND, OP, m, w, part, t, threads, displacement, y)
    FE_FOR_OPERATION(p->kind, op, FORCES);
#undef FORCES
    int first, last;
    patch_range(&w->plan, part, &first, &last);
    if (patch_adds_rows(&w->plan, first, last)) add_partial_sums(&w->plan, 3, threads, y);
    return FE_OK;
}
FE_FORCE_OPERATIONS(forces)

static fe_status diagonal(const fe_problem *p, void *work, void *blocks)
{
    fe_number *d = blocks;
    const patch_work *w = work;
    const fe_view *m = &p->view;
    const int threads = p->device->threads;
#define DIAGONAL(KIND)                                                                                       \
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++)                                                  \
        FE_PARALLEL_FOR (t, 0, threads, 1, threads) thread_diagonal(KIND, m, w, part, t, threads, d)
    FE_FOR_KIND(p->kind, DIAGONAL);
#undef DIAGONAL
    if (w->plan.ordered) add_partial_sums(&w->plan, 9, threads, d);
    return FE_OK;
}

/* The nodes that a patch writes to the output. */
static const int *written_nodes(const patch_plan *plan, int patch, int *n)
{
    const char *record = plan->record + (size_t)patch * plan->stride;
    *n = ((const patch_head *)record)->n_added;
    return (const int *)(record + plan->node);
}

/* Marks the nodes to which patches of several threads add in a part; adder [n_local] is scratch. */
static void find_contested(const patch_work *w, int threads, int *adder)
{
    const patch_plan *plan = &w->plan;
    int n;
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++)
        for (int t = 0; t < threads; t++) {
            const int mark = part * threads + t + 1; /* 0: no thread yet */
            int from, to;
            thread_range(plan, part, t, threads, &from, &to);
            for (int i = from; i < to; i++) {
                const int *node = written_nodes(plan, i, &n);
                for (int k = 0; k < n; k++) {
                    int *a = &adder[patch_node(node[k])];
                    if (*a > part * threads && *a != mark) w->contested[patch_node(node[k])] = 1;
                    *a = mark;
                }
            }
        }
    for (int i = 0; i < plan->n_patch; i++) {
        const int *node = written_nodes(plan, i, &n);
        for (int k = 0; k < n; k++) w->careful[i] |= w->contested[patch_node(node[k])];
    }
}

static fe_status open_patches(fe_problem *p, int ordered, void **work)
{
    patch_work *w;
    int *adder;
    FE_TRY(fe_device_keep(p->device, sizeof *w, "patches", work));
    w = *work;
    w->plan.ordered = ordered, w->plan.x_row = ROW, w->plan.group = FE_LANES;
    FE_TRY(patch_plan_open(p, FE_PRECISION, &w->plan));
    const size_t n = (size_t)p->view.n_local, n_patch = (size_t)w->plan.n_patch;
    FE_TRY(fe_device_allocate(p->device, n, sizeof *w->contested, "patches", (void **)&w->contested));
    FE_TRY(fe_device_allocate(p->device, n_patch, sizeof *w->careful, "patches", (void **)&w->careful));
    FE_ALLOCATE(adder, n, "patches");
    find_contested(w, p->device->threads, adder);
    free(adder);
    return FE_OK;
}
static fe_status setup_from(fe_problem *p, void *in_double, void **work)
{
    const patch_work *from = in_double;
    const int threads = p->device->threads;
    FE_TRY(fe_device_keep(p->device, sizeof *from, "patches", work));
    patch_work *w = *work;
    *w = *from;
    w->plan.x_row = ROW, w->plan.group = FE_LANES;
    FE_TRY(patch_plan_narrow(p, &from->plan, &w->plan));
    FE_PARALLEL_FOR (i, 0, w->plan.n_patch, 1, threads)
        patch_narrow_record(p->kind, &from->plan, &w->plan, i, 0, 1);
    return FE_OK;
}
static fe_status setup(fe_problem *p, void **work) { return open_patches(p, 0, work); }
static fe_status setup_ordered(fe_problem *p, void **work) { return open_patches(p, 1, work); }
FE_TABLE(patch_host, .setup = setup, .setup_from = FE_SETUP_FROM(setup_from), .residual = residual,
         .material = fe_material_host, .jacvec = jacvec, .diagonal = diagonal, .traits = FE_PIECES)
FE_TABLE(patch_ordered_host, .setup = setup_ordered, .setup_from = FE_SETUP_FROM(setup_from),
         .residual = residual, .material = fe_material_host, .jacvec = jacvec, .diagonal = diagonal,
         .traits = FE_PIECES)
