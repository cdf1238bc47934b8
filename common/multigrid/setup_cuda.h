/* Set-up of the multigrid on the device: what its files share. The order of a row's sums
 * follows from the pattern of the matrices alone, so that results repeat. */
#ifndef FE_SETUP_CUDA_H
#define FE_SETUP_CUDA_H

#include "common/backend/cuda_scratch.h"
#include "common/multigrid/setup_steps.h"

enum { FE_ROW_SLOTS = 1024 };

/* Puts a column into a table of slots in shared memory, by open addressing; the number of slots is a power of
 * two, and -1 is an empty one. Whether it is there now: otherwise all slots have others. */
FE_BODY bool fe_insert_column(int *slot, int slots, int column)
{
    unsigned at = (unsigned)column * 2654435761u >> 16;
    for (int i = 0; i < slots; i++, at++) {
        int *const here = slot + (at & (slots - 1));
        int found = *(volatile int *)here;
        if (found == -1) found = atomicCAS(here, -1, column);
        if (found == -1 || found == column) return true;
    }
    return false;
}

/* A set of columns, built by all threads of a block in shared memory. For long rows. */
typedef struct fe_row_set {
    int slot[FE_ROW_SLOTS], list[FE_ROW_SLOTS], n, full;
} fe_row_set;

/* Slots in use for rows with at most so many candidates: fewer are faster to clear. */
FE_BODY int fe_row_slots(int candidates)
{
    int slots = 64;
    while (slots < 2 * candidates && slots < FE_ROW_SLOTS) slots *= 2;
    return slots;
}

FE_BODY void fe_row_set_clear(fe_row_set *s, int slots)
{
    for (int i = threadIdx.x; i < slots; i += blockDim.x) s->slot[i] = -1;
    if (threadIdx.x == 0) s->n = s->full = 0;
    __syncthreads();
}

FE_BODY void fe_row_set_insert(fe_row_set *s, int slots, int column)
{
    if (!fe_insert_column(s->slot, slots, column)) s->full = 1;
}

/* After all have inserted: their number, and where that is at most `room` the columns in `sorted`, ascending.
 */
FE_BODY int fe_row_set_sort(fe_row_set *s, int slots, int *sorted, int room)
{
    __syncthreads();
    for (int i = threadIdx.x; i < slots; i += blockDim.x)
        if (s->slot[i] != -1) s->list[atomicAdd(&s->n, 1)] = s->slot[i];
    __syncthreads();
    for (int i = threadIdx.x; i < s->n && s->n <= room; i += blockDim.x) {
        int rank = 0;
        for (int j = 0; j < s->n; j++) rank += s->list[j] < s->list[i];
        sorted[rank] = s->list[i];
    }
    return s->n;
}

/* Distinct numbers, listed in shared memory by a warp: the faster way where candidates are few, as the nodes
 * of a node's elements. `value` of each lane joins the n that are listed, unless it is among them or -1;
 * their number after it. `most` are kept. */
FE_BODY int fe_list_add(int *list, int most, int n, int value)
{
    const unsigned all = 0xffffffffu, before = (1u << threadIdx.x % 32) - 1,
                   same = __match_any_sync(all, value);
    bool is_new = value >= 0 && (same & before) == 0;
    for (int l = 0; l < n && l < most; l++) is_new = is_new && list[l] != value;
    const unsigned added = __ballot_sync(all, is_new);
    const int at = n + __popc(added & before);
    if (is_new && at < most) list[at] = value;
    __syncwarp();
    return n + __popc(added);
}

/* Distinct columns, found by a warp in a table in shared memory: the faster way where candidates are many.
 * There is room for MOST, a power of two. insert(slots) puts all of them into so many slots, and says whether
 * this lane's fitted; if not, it is called again with more slots. Returns their number, with them at the
 * table's beginning in any order, or MOST + 1 if there are more. */
enum { FE_FEW_SLOTS = 64 };
template <int MOST, typename Insert> FE_BODY int fe_list_columns(int *table, Insert insert)
{
    static_assert(MOST >= FE_FEW_SLOTS && (MOST & (MOST - 1)) == 0, "slots are found by a mask");
    const unsigned all = 0xffffffffu, lane = threadIdx.x % 32, before = (1u << lane) - 1;
    for (int slots = FE_FEW_SLOTS;; slots = min(4 * slots, (int)MOST)) {
        for (int t = lane; t < slots; t += 32) table[t] = -1;
        __syncwarp();
        const bool fitted = insert(slots);
        __syncwarp();
        if (!__all_sync(all, fitted)) {
            if (slots == MOST) return MOST + 1;
            continue;
        }
        int n = 0;
        for (int t = lane; t < slots; t += 32) {
            const int column = table[t];
            const unsigned used = __ballot_sync(all, column != -1);
            __syncwarp();
            if (column != -1) table[n + __popc(used & before)] = column;
            n += __popc(used);
        }
        __syncwarp();
        return n;
    }
}

FE_BODY void fe_list_sort(const int *list, int n, int *sorted) /* ascending, in any memory */
{
    for (int t = threadIdx.x % 32; t < n; t += 32) {
        int rank = 0;
        for (int l = 0; l < n; l++) rank += list[l] < list[t];
        sorted[rank] = list[t];
    }
    __syncwarp();
}

/* Columns are found twice. First they are counted, into A.first [row + 1], and rows of up to FE_SPARE are
 * kept meanwhile in spare [row][FE_SPARE]; found: whether a row was too long, and the longest. Where one was
 * longer than FE_SPARE all are found again, with FILL, into A.column. */
enum { FE_SPARE = 64 };
FE_BODY void fe_keep_count(const fe_sparse &A, int i, int n, bool too_long, int *found)
{
    A.first[i + 1] = n;
    if (too_long) found[0] = 1;
    if (n > found[1]) atomicMax(found + 1, n);
}
/* The end of a row whose columns a warp has listed, with room for FE_ROW_SLOTS. */
template <bool FILL>
FE_BODY void fe_keep_list(const int *list, int n, const fe_sparse &A, int i, int *spare, int *found)
{
    if (FILL) {
        fe_list_sort(list, n, A.column + A.first[i]);
        return;
    }
    if (n <= FE_SPARE) fe_list_sort(list, n, spare + (size_t)i * FE_SPARE);
    if (threadIdx.x % 32 == 0) fe_keep_count(A, i, n, n > FE_ROW_SLOTS, found);
}

/* Number `at`, row by row, of block k of ROWS × COLUMNS numbers. */
template <int ROWS, int COLUMNS> FE_BODY const double *fe_sparse_number(const fe_sparse &A, int k, int at)
{
    const int r = at / COLUMNS, c = at % COLUMNS;
    const double *const block = A.value + (size_t)(A.place ? A.place[k] : k) * (ROWS * COLUMNS);
    return block + (A.place ? fe_pair_place(COLUMNS, c, r) : A.paired ? fe_pair_place(ROWS, r, c) : at);
}

/* What a search for columns finds beside their counts: whether a row was too long, and the longest. They
 * stand behind A->first with room for n_row rows, so that the host reads all at once; zero after this. */
fe_status fe_sparse_take_first_cuda(fe_scratch *s, int n_row, fe_sparse *A, int **found);
/* Allocates column and value for the counts in A->first [1 ..], which become starts; what was found, in host
 * memory. */
fe_status fe_sparse_open_cuda(fe_scratch *s, fe_sparse *A, const int *found, int host[2]);
/* The same after `spare` for A's rows, which was taken last, at `mark`. Its memory is taken back, mostly:
 * `spare` can be read until the values are set. */
fe_status fe_sparse_open_over_cuda(fe_scratch *s, fe_scratch_mark mark, fe_sparse *A, const int *found,
                                   int host[2]);
/* The columns of all rows from `spare`, where no row has more than FE_SPARE. */
fe_status fe_sparse_keep_columns_cuda(fe_device *d, const fe_sparse *A, const int *spare);
/* A P of this set-up's level, by pairs of columns, in scratch memory. Where ranks share the level it has room
 * for the rows of ghosts. A row that no other rank needs has only what the upper half of R (A P) needs: the
 * columns from the first one of P's row on. FE_OUT_OF_MEMORY where a row has more than FE_ROW_SLOTS columns.
 */
fe_status fe_sparse_product_cuda(fe_scratch *s, const fe_sparse *A, const fe_sparse *P, fe_setup *k,
                                 fe_sparse *AP);
/* C = R (A P), whose first n_row columns are symmetric: half of them is computed. Columns beyond are of other
 * ranks. FE_OUT_OF_MEMORY where a row has more than FE_ROW_SLOTS from the diagonal on. */
fe_status fe_sparse_symmetric_product_cuda(fe_scratch *s, const fe_sparse *R, const fe_sparse *AP,
                                           fe_sparse *C);
/* k->P of the tentative prolongator T, by pairs of columns, in scratch memory; also its rows of ghosts.
 * FE_OUT_OF_MEMORY where a node meets too many aggregates for the device. */
fe_status fe_prolongator_cuda(fe_scratch *s, fe_setup *k, const fe_sparse *T);
/* R = P^T, in scratch memory: with places in P's blocks, which are not copied. */
fe_status fe_sparse_transpose_cuda(fe_scratch *s, const fe_sparse *P, fe_sparse *R);

/* Q of the last two levels, l and the dense one, in memory that stays; m: the number of sweeps. */
fe_status fe_last_levels_cuda(fe_scratch *s, const fe_multigrid *m, const fe_coarse_level *l,
                              const fe_coarse_level *next, fe_last_levels *w);

/* Rows of the problem's elastic matrix, zero at supports, which are in fixed [n_local][3]; and the sample. */
fe_status fe_elastic_rows_cuda(fe_scratch *s, const fe_problem *p, const uint8_t *fixed, fe_sparse *A,
                               fe_sample *sample);

/* Aggregates of the nodes of a matrix's graph that are not left out; see fe_aggregate. Pieces have at most 32
 * nodes. inverse: of the diagonal blocks, where nodes that are not alike in softness are to be apart; else
 * NULL. of [n]. */
fe_status fe_aggregate_cuda(fe_scratch *s, const fe_sparse *A, const double *x, const uint8_t *left_out,
                            const double *inverse, fe_cut cut, int *of, int *n_aggregate);

#endif
