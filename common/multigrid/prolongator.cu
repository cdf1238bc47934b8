/* The smoothed prolongator on the device, P = (I - 3 / (2 lambda) D^-1 A) T: a row of T has one block at
 * most, so a row of P has a block for each aggregate that the row of A meets. */
#include "common/multigrid/ghost_rows.h"
#include "common/multigrid/rigid_modes.h"
#include "common/multigrid/setup_cuda.h"

#include <cuda_pipeline.h>

enum { THREADS = 128, WARP = 32, TEAMS = THREADS / WARP, MOST = 128 };

/* The aggregate of a node and where its block of T is; -1: it has none. */
FE_BODY int2 tentative_block(const fe_sparse &T, int node)
{
    const int place = T.first[node];
    return T.first[node + 1] > place ? make_int2(T.column[place], place) : make_int2(-1, 0);
}

/* Aggregates that row i of A meets, in any order, as far as MOST of them; their number. By a warp. */
FE_BODY int list_aggregates(const fe_sparse &A, const fe_sparse &T, int i, int *list)
{
    int n = 0;
    for (int k0 = A.first[i]; k0 < A.first[i + 1]; k0 += WARP) {
        const int k = k0 + threadIdx.x % WARP;
        n = fe_list_add(list, MOST, n, k < A.first[i + 1] ? tentative_block(T, A.column[k]).x : -1);
    }
    return n;
}

/* found: whether a row was too long. */
__global__ void __launch_bounds__(THREADS) count_aggregates(fe_sparse A, fe_sparse T, int *first, int *found)
{
    __shared__ int lists[TEAMS][MOST];
    const int i = (int)((blockIdx.x * (size_t)THREADS + threadIdx.x) / WARP);
    if (i >= A.n_row) return;
    const int n = list_aggregates(A, T, i, lists[threadIdx.x / WARP]);
    if (threadIdx.x % WARP > 0) return;
    first[i + 1] = n;
    if (n > MOST) *found = 1;
}

/* What a warp has in shared memory: WARP blocks of A's row at a time. A column of P has a bit for each of
 * them that meets its aggregate. */
template <int BLOCK> struct row {
    double a[WARP * BLOCK * BLOCK];
    int list[MOST], column[MOST], place[WARP]; /* place: of T */
    unsigned has[MOST];
};

/* `count` blocks of A's row from the k0-th on begin to arrive. */
template <int BLOCK> FE_BODY void fetch_blocks(row<BLOCK> *w, const fe_sparse &A, int k0, int count)
{
    __syncwarp();
    for (int t = threadIdx.x % WARP; t < count * BLOCK * BLOCK; t += WARP)
        __pipeline_memcpy_async(w->a + t, A.value + (size_t)k0 * (BLOCK * BLOCK) + t, sizeof(double));
    __pipeline_commit();
}

/* Where they belong in a row of P with n blocks; they have arrived afterwards. */
template <int BLOCK>
FE_BODY void open_blocks(row<BLOCK> *w, const fe_sparse &A, const fe_sparse &T, int k0, int count, int n)
{
    const int lane = threadIdx.x % WARP;
    for (int t = lane; t < n; t += WARP) w->has[t] = 0;
    __syncwarp();
    const int2 block = lane < count ? tentative_block(T, A.column[k0 + lane]) : make_int2(-1, 0);
    w->place[lane] = block.y;
    if (block.x >= 0) atomicOr(w->has + fe_find_column(w->column, n, block.x), 1u << lane);
    __pipeline_wait_prior(0);
    __syncwarp();
}

/* Adds to column c of numbers of (A T)'s block p. */
template <int BLOCK>
FE_BODY void add_blocks(const row<BLOCK> *w, const double *T, int p, int c, double sum[BLOCK])
{
    for (unsigned left = w->has[p]; left; left &= left - 1) {
        const int k = __ffs(left) - 1;
        const double *const t = T + (size_t)w->place[k] * (6 * BLOCK) + c, *const a =
                                                                               w->a + k * BLOCK * BLOCK;
#pragma unroll
        for (int j = 0; j < BLOCK; j++)
#pragma unroll
            for (int r = 0; r < BLOCK; r++) sum[r] += a[r * BLOCK + j] * t[6 * j];
    }
}

/* A warp per row: six lanes have a block of P, a column of numbers each. */
template <int BLOCK>
__global__ void __launch_bounds__(THREADS)
    fill_rows(fe_sparse A, fe_sparse T, const double *inverse, double lambda, const int *of, fe_sparse P)
{
    __shared__ row<BLOCK> rows[TEAMS];
    enum { AT_ONCE = WARP / 6 };
    const int i = (int)((blockIdx.x * (size_t)THREADS + threadIdx.x) / WARP), lane = threadIdx.x % WARP;
    if (i >= A.n_row) return;
    row<BLOCK> *const w = rows + threadIdx.x / WARP;
    const int begin = A.first[i], end = A.first[i + 1], first = P.first[i], n = P.first[i + 1] - first;
    if (n == 0) return;
    fetch_blocks<BLOCK>(w, A, begin, end - begin < WARP ? end - begin : WARP);
    list_aggregates(A, T, i, w->list);
    fe_list_sort(w->list, n, w->column);
    for (int p0 = 0; p0 < n; p0 += AT_ONCE) {
        const int p = p0 + lane / 6, c = lane % 6;
        const bool is_one = p < n && lane < 6 * AT_ONCE;
        double sum[BLOCK] = {};
        for (int k0 = begin; k0 < end; k0 += WARP) {
            const int count = end - k0 < WARP ? end - k0 : WARP;
            if (k0 > begin || (p0 > 0 && end - begin > WARP)) fetch_blocks<BLOCK>(w, A, k0, count);
            if (p0 == 0 || end - begin > WARP) open_blocks<BLOCK>(w, A, T, k0, count, n);
            if (is_one) add_blocks<BLOCK>(w, T.value, p, c, sum);
        }
        if (!is_one) continue;
        const double *const own = w->column[p] == of[i] ? T.value + (size_t)T.first[i] * (6 * BLOCK) : NULL;
        if (c == 0) P.column[first + p] = w->column[p];
        double *const block = P.value + (size_t)(first + p) * (6 * BLOCK);
        fe_smooth_column(BLOCK, inverse + (size_t)i * (BLOCK * BLOCK), lambda, sum, own, c, 2,
                         block + fe_pair_place(BLOCK, 0, c));
    }
}

fe_status fe_prolongator_cuda(fe_scratch *s, fe_setup *k, const fe_sparse *T)
{
    fe_device *d = s->d;
    const size_t threads = (size_t)k->n * WARP;
    const fe_sparse empty = {k->n, T->n_column, k->block, 6};
    int *found, host[2];
    k->P = empty, k->P.paired = 1;
    FE_TRY(fe_sparse_take_first_cuda(s, k->A.n_column, &k->P, &found));
    FE_LAUNCH(d, threads, THREADS, count_aggregates, k->A, *T, k->P.first, found);
    FE_TRY(fe_ghost_counts(k, &k->P));
    FE_TRY(fe_sparse_open_cuda(s, &k->P, found, host));
    if (host[0])
        return fe_fail(FE_OUT_OF_MEMORY, "set-up on the device: a node meets more than %d aggregates", MOST);
    if (k->block == 3)
        FE_LAUNCH(d, threads, THREADS, fill_rows<3>, k->A, *T, k->inverse, k->lambda, k->of, k->P);
    else
        FE_LAUNCH(d, threads, THREADS, fill_rows<6>, k->A, *T, k->inverse, k->lambda, k->of, k->P);
    return fe_ghost_rows(k, &k->P);
}
