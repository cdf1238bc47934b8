/* patch on the host: one patch a thread at a time, with its nodes and sums in the thread's own cache. */
#include "common/backend/device.h"
#include "common/problem/state.h"
#include "variants/patch/assembly.h"

/* A patch's nodes: input and sums; padded for wide loads. */
typedef struct patch_sums {
    double v[3 * PATCH_MOST_NODES + 8], y[9 * PATCH_MOST_NODES];
} patch_sums;

FE_BODY void slots_at(int kind, const uint16_t *conn, const int *elem, int s, fe_index *e, fe_index node[8])
{
    const int n = fe_corners(kind);
    for (int l = 0; l < FE_LANES; l++) e->lane[l] = elem[s + l];
    FE_UNROLL for (int b = 0; b < n; b++) for (int l = 0; l < FE_LANES; l++) node[b].lane[l] =
        conn[(s + l) * n + b];
}

/* y rows of the patch's nodes, `width` numbers each: inner ones stored, the others added, or their shares
 * stored. */
FE_BODY void write_rows(const patch_plan *plan, const char *record, int width, int shared, const double *sum,
                        double *y)
{
    const int n = ((const patch_head *)record)->n_node, *node = (const int *)(record + plan->node),
              *share = (const int *)(record + plan->share);
    for (int i = 0; i < n; i++) {
        const int inner = node[i] >= 0, alone = inner || plan->ordered;
        double *to = plan->ordered && !inner ? plan->shares + (size_t)width * share[i]
                                             : y + (size_t)width * patch_node(node[i]);
        for (int c = 0; c < width; c++) {
            if (alone)
                to[c] = sum[width * i + c];
            else if (shared)
                _Pragma("omp atomic") to[c] += sum[width * i + c];
            else
                to[c] += sum[width * i + c];
        }
    }
}

/* The second pass. */
static void sum_shares(const patch_plan *plan, int width, int threads, double *y)
{
    FE_PARALLEL_FOR(i, 0, plan->n_border, 1, threads)
    for (int c = 0; c < width; c++) {
        double sum = 0.0;
        for (int k = plan->share_first[i]; k < plan->share_first[i + 1]; k++)
            sum += plan->shares[(size_t)width * plan->share_row[k] + c];
        y[(size_t)width * plan->border[i] + c] = sum;
    }
}

FE_BODY void patch_forces(int kind, int op, const fe_view *m, const patch_plan *plan, int patch, int shared,
                          const double *v, double *y)
{
    const char *record = plan->record + (size_t)patch * plan->stride;
    const patch_head *head = (const patch_head *)record;
    const int *node = (const int *)(record + plan->node), *elem = (const int *)(record + plan->elem);
    const uint16_t *conn = (const uint16_t *)(record + plan->conn);
    patch_sums p;
    for (int i = 0; i < head->n_node; i++)
        for (int c = 0; c < 3; c++)
            p.v[3 * i + c] = v[3 * (size_t)patch_node(node[i]) + c], p.y[3 * i + c] = 0.0;
    for (int s = 0; s < head->n_slot; s += FE_LANES) {
        fe_index e, at[8];
        fe_real x[8][3], f[8][3], force[8][3];
        slots_at(kind, conn, elem, s, &e, at);
        fe_element_read(kind, at, (const double *)(record + plan->x), x);
        fe_element_read(kind, at, p.v, f);
        fe_element_forces(kind, op, m, fe_element_open(m, e, fe_no_turn()), x, f, force);
        FE_UNROLL for (int b = 0; b < fe_corners(kind); b++)
            fe_add3(p.y, at[b], head->n_slot - s, 0, force[b]);
    }
    write_rows(plan, record, 3, shared, p.y, y);
}

FE_BODY void patch_diagonal(int kind, const fe_view *m, const patch_plan *plan, int patch, int shared,
                            double *d)
{
    const char *record = plan->record + (size_t)patch * plan->stride;
    const patch_head *head = (const patch_head *)record;
    const int *elem = (const int *)(record + plan->elem);
    const uint16_t *conn = (const uint16_t *)(record + plan->conn);
    patch_sums p;
    for (int i = 0; i < 9 * head->n_node; i++) p.y[i] = 0.0;
    for (int s = 0; s < head->n_slot; s += FE_LANES) {
        fe_index e, at[8];
        fe_real x[8][3], block[6], rows[3][3];
        slots_at(kind, conn, elem, s, &e, at);
        fe_element_read(kind, at, (const double *)(record + plan->x), x);
        const fe_element element = fe_element_open(m, e, fe_no_turn());
        FE_UNROLL for (int b = 0; b < fe_corners(kind); b++)
        {
            fe_element_diagonal(kind, m, element, x, b, block);
            fe_block_rows(block, rows);
            FE_UNROLL for (int i = 0; i < 3; i++)
                fe_add3(p.y, fe_times3(at[b], i), head->n_slot - s, 0, rows[i]);
        }
    }
    write_rows(plan, record, 9, shared, p.y, d);
}

static fe_status forces(const fe_problem *p, void *work, int op, fe_part part, const double *v, double *y)
{
    const patch_plan *plan = work;
    const fe_view *m = &p->view;
    const int threads = p->device->threads;
    int first, last;
    patch_range(plan, part, &first, &last);
#define FORCES(KIND, OP)                                                                                     \
    FE_PARALLEL_FOR(i, first, last, 1, threads)                                                              \
    patch_forces(KIND, OP, m, plan, i, threads > 1, v, y)
    FE_FOR_OPERATION(p->kind, op, FORCES)
#undef FORCES
    if (plan->ordered && last == plan->n_patch) sum_shares(plan, 3, threads, y);
    return FE_OK;
}
FE_FORCE_OPERATIONS(forces)

static fe_status diagonal(const fe_problem *p, void *work, double *d)
{
    const patch_plan *plan = work;
    const fe_view *m = &p->view;
    const int threads = p->device->threads;
#define DIAGONAL(KIND)                                                                                       \
    FE_PARALLEL_FOR(i, 0, plan->n_patch, 1, threads)                                                         \
    patch_diagonal(KIND, m, plan, i, threads > 1, d)
    FE_FOR_KIND(p->kind, DIAGONAL)
#undef DIAGONAL
    if (plan->ordered) sum_shares(plan, 9, threads, d);
    return FE_OK;
}

static fe_status open_patches(fe_problem *p, int ordered, void **work)
{
    FE_TRY(fe_device_keep(p->device, sizeof(patch_plan), "patches", work));
    return patch_plan_open(p, 0, ordered, *work);
}
static fe_status setup(fe_problem *p, void **work) { return open_patches(p, 0, work); }
static fe_status setup_ordered(fe_problem *p, void **work) { return open_patches(p, 1, work); }
const fe_assembly patch_host = {setup, residual, fe_material_host, jacvec, diagonal};
const fe_assembly patch_ordered_host = {setup_ordered, residual, fe_material_host, jacvec, diagonal, 1};
