/* assembled_symmetric on the host: the rows of a slice are the SIMD lanes, as in assembled_bsr. Each thread
 * has a share of the rows, and adds what goes to other rows to sums of its own, which are added to the output
 * when all threads are done: there are no atomics, and the bits depend on the number of threads alone. */
#include "common/backend/device.h"
#include "common/base/chunk.h"
#include "common/problem/loops.h"
#include "variants/assembled_bsr/matrix.h"

#include <string.h>

enum { SLICE = BSR_LINE_ROWS };

/* Rows [first, last) of a part, and sums for nodes [from, to), none of which is a node of these rows alone.
 */
typedef struct share {
    int first, last, from, to;
    fe_number *sum; /* [to - from][3] */
} share;

typedef struct symmetric {
    bsr_matrix matrix; /* first: operations of assembled_bsr take it for their work */
    share *share[2];   /* [threads] of each part */
} symmetric;

/* Whether the row of an owned node is one of the share's. */
static inline int is_own(const bsr_rows *r, const share *s, int node)
{
    const int i = node - r->row;
    return i >= 0 && i < r->n_row && r->at[i] >= s->first && r->at[i] < s->last;
}

/* Slices with about as many blocks for each thread, and the nodes that they add to beside their own. */
static fe_status open_shares(const fe_problem *p, const bsr_rows *r, share *s)
{
    const int threads = p->device->threads, n_slice = (r->n_row + SLICE - 1) / SLICE;
    for (int t = 0, slice = 0; t < threads; t++, s++) {
        s->first = slice * SLICE;
        while (slice < n_slice && r->first[slice + 1] <= (int64_t)r->n_place * (t + 1) / threads) slice++;
        if (t == threads - 1) slice = n_slice;
        s->last = slice * SLICE < r->n_row ? slice * SLICE : r->n_row;
        s->from = p->view.n_owned, s->to = 0;
        for (int i = s->first; i < s->last; i++)
            for (int place = r->first[i / SLICE]; place < r->first[i / SLICE + 1]; place++) {
                const int j = r->column[bsr_column_at(r, place, i % SLICE)];
                if (j >= p->view.n_owned || is_own(r, s, j)) continue;
                if (j < s->from) s->from = j;
                if (j >= s->to) s->to = j + 1;
            }
        if (s->to < s->from) s->to = s->from;
        FE_TRY(fe_device_allocate(p->device, 3 * (size_t)(s->to - s->from), sizeof *s->sum, "matrix",
                                  (void **)&s->sum));
    }
    return FE_OK;
}

static fe_status open_work(fe_problem *p, const bsr_matrix *in_double, symmetric **work)
{
    FE_TRY(fe_device_keep(p->device, sizeof **work, "matrix", (void **)work));
    symmetric *w = *work;
    FE_TRY(in_double ? bsr_open_elastic(p, BSR_UPPER_LINE, in_double, &w->matrix)
                     : bsr_open(p, BSR_UPPER_LINE, FE_PRECISION, &w->matrix));
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++) {
        FE_TRY(fe_device_keep(p->device, (size_t)p->device->threads * sizeof(share), "matrix",
                              (void **)&w->share[part]));
        if (w->matrix.part[part].n_row > 0) FE_TRY(open_shares(p, &w->matrix.part[part], w->share[part]));
    }
    return FE_OK;
}

static fe_status setup(fe_problem *p, void **work) { return open_work(p, NULL, (symmetric **)work); }
static fe_status setup_from(fe_problem *p, void *in_double, void **work)
{
    FE_TRY(open_work(p, in_double, (symmetric **)work));
    return FE_PRECISE(bsr_elastic_host)(p, *work);
}

/* Rows [first, first + FE_LANES) of the matrix, `active` of them; the last one repeated. */
FE_BODY void rows_product(const bsr_rows *r, const share *s, int n_owned, int first, int active,
                          const fe_number *direction, fe_number *y)
{
    const int is_alone = s->from == s->to; /* all rows that it adds to are its own */
    const fe_index node = bsr_nodes_from(r, first), lanes = fe_lanes_from(first % SLICE);
    fe_real own[3], sum[3];
    fe_read3(direction, node, own);
    FE_UNROLL_FOR (int c = 0; c < 3; c++) sum[c] = fe_splat(0.0f);
    for (int place = r->first[first / SLICE]; place < r->first[first / SLICE + 1]; place++) {
        const fe_index column = fe_read_index(r->column, lanes, bsr_column_at(r, place, 0));
        fe_real x[3], K[9], back[3];
        if (FE_PRECISION == FE_MIXED)
            fe_read3_from(direction, column, node, x);
        else
            fe_read3(direction, column, x);
        FE_UNROLL_FOR (int c = 0; c < 9; c++) K[c] = fe_read(r->value, lanes, bsr_value_at(r, place, c, 0));
        FE_UNROLL_FOR (int c = 0; c < 3; c++)
            FE_UNROLL_FOR (int k = 0; k < 3; k++) sum[c] += K[3 * c + k] * x[k];
        FE_UNROLL_FOR (int k = 0; k < 3; k++)
            back[k] = FE_PRECISION == FE_MIXED ? -(K[k] * x[0] + K[3 + k] * x[1] + K[6 + k] * x[2])
                                               : K[k] * own[0] + K[3 + k] * own[1] + K[6 + k] * own[2];
        for (int l = 0; l < active; l++) { /* neither the diagonal, nor what fills up, nor ghosts */
            const int j = column.lane[l];
            if (j == node.lane[l] || j >= n_owned) continue;
            fe_number *to =
                is_alone || is_own(r, s, j) ? y + 3 * (size_t)j : s->sum + 3 * (size_t)(j - s->from);
            for (int k = 0; k < 3; k++) to[k] += back[k][l];
        }
    }
    fe_add3(y, node, active, 0, sum);
}

static void share_product(const bsr_rows *r, const share *s, int n_owned, const fe_number *direction,
                          fe_number *y)
{
    memset(s->sum, 0, 3 * (size_t)(s->to - s->from) * sizeof *s->sum);
    for (int first = s->first; first < s->last; first += FE_LANES)
        rows_product(r, s, n_owned, first, s->last - first < FE_LANES ? s->last - first : FE_LANES, direction,
                     y);
}

/* y of nodes [from, to) += the sums of all shares, in their order. */
static void add_sums(const share *s, int n, int from, int to, fe_number *y)
{
    for (int t = 0; t < n; t++, s++) {
        const int first = s->from > from ? s->from : from, last = s->to < to ? s->to : to;
        for (int i = 3 * first; i < 3 * last; i++) y[i] += s->sum[i - 3 * s->from];
    }
}

static fe_status jacvec(const fe_problem *p, void *work, fe_part part, const void *direction, void *y)
{
    const symmetric *w = work;
    const bsr_rows *r = &w->matrix.part[part];
    const share *shares = w->share[part];
    const int threads = p->device->threads, n_owned = p->view.n_owned;
    int is_alone = 1;
    if (r->n_row == 0) return FE_OK;
    FE_PARALLEL_FOR (t, 0, threads, 1, threads) share_product(r, &shares[t], n_owned, direction, y);
    for (int t = 0; t < threads; t++) is_alone &= shares[t].from == shares[t].to;
    if (is_alone) return FE_OK;
    FE_PARALLEL_FOR (t, 0, threads, 1, threads)
        add_sums(shares, threads, fe_chunk(n_owned, t, threads), fe_chunk(n_owned, t + 1, threads), y);
    return FE_OK;
}

FE_TABLE(assembled_symmetric_host, .setup = setup, .setup_from = FE_SETUP_FROM(setup_from),
         .residual = bsr_residual, .material = FE_PRECISE(bsr_material_host), .jacvec = jacvec,
         .diagonal = FE_PRECISE(bsr_diagonal_host), .matrix_bytes = bsr_matrix_bytes, .traits = FE_ASSEMBLED)
