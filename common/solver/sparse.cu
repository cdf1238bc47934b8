/* Products and transposes of matrices of blocks on the device: the twin of sparse.c. */
#include "common/solver/multigrid_ranks.h"
#include "common/solver/setup_cuda.h"

enum { THREADS = 128, WARP = 32 };

fe_status fe_sparse_open_cuda(fe_scratch *s, fe_sparse *A)
{
    FE_TRY(fe_scratch_starts(s, A->n_row, A->first, &A->n_block));
    FE_TRY(fe_scratch_take(s, (size_t)A->n_block, &A->column));
    return fe_scratch_take(s, (size_t)A->n_block * A->rows * A->columns, &A->value);
}

/* A warp per row. */
__global__ void __launch_bounds__(THREADS) keep_columns(fe_sparse A, const int *spare)
{
    const int i = (int)((blockIdx.x * (size_t)THREADS + threadIdx.x) / WARP);
    if (i >= A.n_row) return;
    for (int t = threadIdx.x % WARP; t < A.first[i + 1] - A.first[i]; t += WARP)
        A.column[A.first[i] + t] = spare[(size_t)i * FE_SPARE + t];
}

fe_status fe_sparse_keep_columns_cuda(fe_device *d, const fe_sparse *A, const int *spare)
{
    FE_LAUNCH(d, (size_t)A->n_row * WARP, THREADS, keep_columns, *A, spare);
    return FE_OK;
}

/* --- product ----------------------------------------------------------------------------------------- */

/* The columns of row blockIdx.x of A B. Without FILL: their number into C.first, and the columns into `spare`
 * as far as they have room there; found: whether a row was too long, and the longest. With FILL: into
 * C.column. */
template <bool FILL>
__global__ void product_columns(fe_sparse A, fe_sparse B, fe_sparse C, int *spare, int *found)
{
    __shared__ fe_row_set set;
    __shared__ int candidates;
    const int i = blockIdx.x;
    if (FILL && fe_row_from_spare(spare, C.first[i + 1] - C.first[i], C.column + C.first[i])) return;
    if (threadIdx.x == 0) candidates = 0;
    __syncthreads();
    for (int k = A.first[i] + threadIdx.x; k < A.first[i + 1]; k += blockDim.x)
        atomicAdd(&candidates, B.first[A.column[k] + 1] - B.first[A.column[k]]);
    __syncthreads();
    const int slots = fe_row_slots(candidates);
    fe_row_set_clear(&set, slots);
    for (int k = A.first[i] + threadIdx.x; k < A.first[i + 1]; k += blockDim.x)
        for (int l = B.first[A.column[k]]; l < B.first[A.column[k] + 1]; l++)
            fe_row_set_insert(&set, slots, B.column[l]);
    const int n = fe_row_set_sort(&set, slots, FILL ? C.column + C.first[i] : fe_spare_row(spare),
                                  FILL ? FE_ROW_SLOTS : FE_SPARE);
    if (threadIdx.x > 0 || FILL) return;
    C.first[i + 1] = n;
    if (set.full) found[0] = 1;
    if (n > found[1]) atomicMax(found + 1, n);
}

/* A warp has a row of C, CHUNK blocks of it at a time, and BATCH blocks of A's row; products of these blocks
 * with B's that belong to the chunk are listed, then computed one after the other by the whole warp. */
enum { CHUNK = WARP, BATCH = 16, LIST = 128, AHEAD = 4, WARPS = 2 };
template <int R, int K> struct product_row {
    double2 sum[CHUNK][3 * R]; /* neighbouring numbers of a block's rows */
    double a[BATCH][R * K];
    struct {
        int from;       /* block of B */
        short place, k; /* of C in the chunk, of A in the batch */
    } list[LIST];
    int columns[CHUNK];
};

/* c += A B for matrices of up to 8 × 4 and 4 × 8 numbers. Lane l has number l % 4 of A's row l / 4 and of B's
 * column l / 4, and of C's row l / 4 numbers 2 (l % 4) and the next one (PTX ISA, mma.m8n8k4). */
FE_BODY void multiply_add(double a, double b, double2 *c)
{
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(c->x), "+d"(c->y)
        : "d"(a), "d"(b));
#else
    const int lane = threadIdx.x % WARP;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const double ak = __shfl_sync(0xffffffffu, a, lane / 4 * 4 + k);
        c->x += ak * __shfl_sync(0xffffffffu, b, lane % 4 * 8 + k);
        c->y += ak * __shfl_sync(0xffffffffu, b, lane % 4 * 8 + 4 + k);
    }
#endif
}

/* The first n products of the list; blocks of B are read AHEAD products at a time. */
template <int R, int K> FE_BODY void add_list(product_row<R, K> *w, const double *B, int n, int lane)
{
    enum { STEPS = (K + 3) / 4 };
    const int i = lane / 4, j = lane % 4;
    for (int t = 0; t < n; t += AHEAD) {
        double b[AHEAD][STEPS];
#pragma unroll
        for (int u = 0; u < AHEAD; u++) {
            if (t + u >= n) break;
            const double *const from = B + (size_t)w->list[t + u].from * (6 * K);
#pragma unroll
            for (int s = 0; s < STEPS; s++)
                b[u][s] = 4 * s + j < K && i < 6 ? from[6 * (4 * s + j) + i] : 0.0;
        }
#pragma unroll
        for (int u = 0; u < AHEAD; u++) {
            if (t + u >= n) break;
            const bool sums = i < R && j < 3;
            const double *const a = w->a[w->list[t + u].k];
            double2 *const at = w->sum[w->list[t + u].place] + (sums ? 3 * i + j : 0);
            double2 c = sums ? *at : make_double2(0.0, 0.0);
#pragma unroll
            for (int s = 0; s < STEPS; s++)
                multiply_add(i < R && 4 * s + j < K ? a[K * i + 4 * s + j] : 0.0, b[u][s], &c);
            if (sums) *at = c;
        }
    }
}

/* The products of `count` blocks of A from the k0-th on. A lane looks at every second block of a row of B. */
template <int R, int K>
FE_BODY void add_batch(product_row<R, K> *w, const fe_sparse &A, const fe_sparse &B, int k0, int count, int n,
                       int lane)
{
    const int k = lane % BATCH;
    int first = 0, many = 0, listed = 0;
    for (int t = lane; t < count * R * K; t += WARP)
        w->a[t / (R * K)][t % (R * K)] = A.value[(size_t)k0 * (R * K) + t];
    if (k < count) first = B.first[A.column[k0 + k]], many = B.first[A.column[k0 + k] + 1] - first;
    for (int l = lane / BATCH; __any_sync(0xffffffffu, l < many); l += WARP / BATCH) {
        const int column = l < many ? B.column[first + l] : -1; /* of a ghost's row, in no order */
        const bool here = column >= w->columns[0] && column <= w->columns[n - 1];
        const unsigned found = __ballot_sync(0xffffffffu, here);
        if (here) {
            const int at = listed + __popc(found & ((1u << lane) - 1));
            w->list[at].from = first + l, w->list[at].k = (short)k;
            w->list[at].place = (short)fe_find_column(w->columns, n, column);
        }
        listed += __popc(found);
        if (listed <= LIST - WARP) continue;
        __syncwarp();
        add_list<R, K>(w, B.value, listed, lane);
        __syncwarp();
        listed = 0;
    }
    __syncwarp();
    add_list<R, K>(w, B.value, listed, lane);
    __syncwarp();
}

/* Where the diagonal block of a row is, or the first one behind it. */
FE_BODY int diagonal_place(const fe_sparse &C, int row)
{
    const int first = C.first[row];
    return first + fe_first_column(C.column + first, C.first[row + 1] - first, row);
}

/* C = A B, or its upper triangle: the chunk blockIdx.y of each row. */
template <int R, int K>
__global__ void __launch_bounds__(WARPS *WARP)
    product_values(fe_sparse A, fe_sparse B, fe_sparse C, bool upper)
{
    __shared__ product_row<R, K> rows[WARPS];
    product_row<R, K> *const w = rows + threadIdx.x / WARP;
    const int row = blockIdx.x * WARPS + threadIdx.x / WARP, lane = threadIdx.x % WARP;
    if (row >= C.n_row) return; /* whole warps */
    const int start = upper ? diagonal_place(C, row) : C.first[row], from = start + blockIdx.y * CHUNK,
              left = C.first[row + 1] - from;
    const int n = left < CHUNK ? left : CHUNK, begin = A.first[row], end = A.first[row + 1];
    if (n <= 0) return;
    if (lane < n) w->columns[lane] = C.column[from + lane];
    double2 *const sum = &w->sum[0][0];
    for (int t = lane; t < n * 3 * R; t += WARP) sum[t] = make_double2(0.0, 0.0);
    __syncwarp();
    for (int k0 = begin; k0 < end; k0 += BATCH)
        add_batch<R, K>(w, A, B, k0, end - k0 < BATCH ? end - k0 : BATCH, n, lane);
    double2 *const out = (double2 *)C.value + (size_t)from * (3 * R);
    for (int t = lane; t < n * 3 * R; t += WARP) out[t] = sum[t];
}

/* What is left of the diagonal, from the right. A warp per row, which looks for the places of WARP blocks at
 * a time. */
__global__ void __launch_bounds__(THREADS) mirror(fe_sparse C)
{
    const int i = (int)((blockIdx.x * (size_t)THREADS + threadIdx.x) / WARP), lane = threadIdx.x % WARP;
    if (i >= C.n_row) return;
    const int first = C.first[i], n = diagonal_place(C, i) - first, width = C.columns, size = width * width;
    for (int begin = 0; begin < n; begin += WARP) {
        const int count = n - begin < WARP ? n - begin : WARP;
        int place = 0;
        if (lane < count) {
            const int j = C.column[first + begin + lane], row = C.first[j];
            place = row + fe_find_column(C.column + row, C.first[j + 1] - row, i);
        }
        for (int l = 0; l < count; l++) {
            const double *const from = C.value + (size_t)size * __shfl_sync(0xffffffffu, place, l);
            double *const to = C.value + (size_t)size * (first + begin + l);
            for (int t = lane; t < size; t += WARP) to[t] = from[t % width * width + t / width];
        }
    }
}

/* longest: blocks of a row of C, at most */
template <int R, int K>
static fe_status launch(fe_device *d, const fe_sparse *A, const fe_sparse *B, const fe_sparse *C, int longest,
                        bool upper)
{
    const dim3 grid(fe_grid((size_t)A->n_row, WARPS), fe_grid((size_t)longest, CHUNK));
    if (A->n_row == 0 || longest == 0) return FE_OK;
    product_values<R, K><<<grid, WARPS * WARP, 0, fe_cuda_stream(d)>>>(*A, *B, *C, upper);
    CUDA_TRY(cudaGetLastError());
    return FE_OK;
}

static fe_status fill_values(fe_device *d, const fe_sparse *A, const fe_sparse *B, const fe_sparse *C,
                             int longest, bool upper)
{
    if (A->rows == 3) return launch<3, 3>(d, A, B, C, longest, upper);
    if (A->columns == 3) return launch<6, 3>(d, A, B, C, longest, upper);
    return launch<6, 6>(d, A, B, C, longest, upper);
}

static fe_status multiply(fe_scratch *s, const fe_sparse *A, const fe_sparse *B, fe_setup *shared, bool upper,
                          fe_sparse *C)
{
    fe_device *d = s->d;
    const fe_sparse empty = {A->n_row, B->n_column, A->rows, B->columns};
    const int threads = A->rows == 3 ? WARP : THREADS;
    int *found, *spare, host[2];
    *C = empty;
    FE_TRY(fe_scratch_take(s, 2, &found));
    FE_TRY(d->ops->memory.zero(d, sizeof host, found));
    FE_TRY(fe_scratch_take(s, (size_t)(shared ? A->n_column : A->n_row) + 1, &C->first));
    FE_TRY(fe_scratch_take(s, (size_t)A->n_row * FE_SPARE, &spare));
    FE_LAUNCH(d, (size_t)A->n_row * threads, threads, product_columns<false>, *A, *B, *C, spare, found);
    if (shared) FE_TRY(fe_ghost_counts(shared, C));
    FE_TRY(fe_sparse_open_cuda(s, C));
    FE_TRY(d->ops->memory.download(d, sizeof host, found, host));
    if (host[0])
        return fe_fail(FE_OUT_OF_MEMORY, "set-up on the device: a row has more than %d blocks", FE_ROW_SLOTS);
    fe_sparse own = *C; /* without rows of ghosts */
    own.n_row = A->n_row;
    if (host[1] <= FE_SPARE)
        FE_TRY(fe_sparse_keep_columns_cuda(d, &own, spare));
    else
        FE_LAUNCH(d, (size_t)A->n_row * threads, threads, product_columns<true>, *A, *B, *C, spare, found);
    return fill_values(d, A, B, &own, host[1], upper);
}

fe_status fe_sparse_product_cuda(fe_scratch *s, const fe_sparse *A, const fe_sparse *B, fe_setup *shared,
                                 fe_sparse *C)
{
    return multiply(s, A, B, shared, false, C);
}

fe_status fe_sparse_symmetric_product_cuda(fe_scratch *s, const fe_sparse *A, const fe_sparse *B,
                                           fe_sparse *C)
{
    FE_TRY(multiply(s, A, B, NULL, true, C));
    FE_LAUNCH(s->d, (size_t)C->n_row * WARP, THREADS, mirror, *C);
    return FE_OK;
}

/* --- transpose --------------------------------------------------------------------------------------- */

/* A warp per row. */
__global__ void transpose_keys(fe_sparse A, uint64_t *key, int *place, int *row_of, int *count)
{
    const int i = (int)((blockIdx.x * (size_t)THREADS + threadIdx.x) / WARP);
    if (i >= A.n_row) return;
    for (int k = A.first[i] + threadIdx.x % WARP; k < A.first[i + 1]; k += WARP) {
        key[k] = (uint64_t)A.column[k], place[k] = k, row_of[k] = i;
        atomicAdd(count + A.column[k], 1);
    }
}

/* A thread per number of T. */
__global__ void transpose_values(fe_sparse A, const int *place, const int *row_of, fe_sparse T)
{
    const int size = A.rows * A.columns;
    const size_t t = blockIdx.x * (size_t)THREADS + threadIdx.x;
    if (t >= (size_t)A.n_block * size) return;
    const size_t to = t / size, from = place[to];
    const int r = (int)(t % size) / T.columns, c = (int)(t % size) % T.columns;
    if (t % size == 0) T.column[to] = row_of[from];
    T.value[t] = A.value[from * size + c * A.columns + r];
}

fe_status fe_sparse_transpose_cuda(fe_scratch *s, const fe_sparse *A, fe_sparse *T)
{
    fe_device *d = s->d;
    const fe_sparse empty = {A->n_column, A->n_row, A->columns, A->rows};
    uint64_t *key;
    int *place, *row_of;
    *T = empty;
    FE_TRY(fe_scratch_take(s, (size_t)T->n_row + 1, &T->first));
    FE_TRY(d->ops->memory.zero(d, ((size_t)T->n_row + 1) * sizeof *T->first, T->first));
    FE_TRY(fe_scratch_take(s, (size_t)A->n_block, &T->column));
    FE_TRY(fe_scratch_take(s, (size_t)A->n_block * A->rows * A->columns, &T->value));
    const fe_scratch_mark mark = fe_scratch_now(s);
    FE_TRY(fe_scratch_take(s, (size_t)A->n_block, &key));
    FE_TRY(fe_scratch_take(s, (size_t)A->n_block, &place));
    FE_TRY(fe_scratch_take(s, (size_t)A->n_block, &row_of));
    FE_LAUNCH(d, (size_t)A->n_row * WARP, THREADS, transpose_keys, *A, key, place, row_of, T->first + 1);
    FE_TRY(fe_scratch_starts(s, T->n_row, T->first, &T->n_block));
    FE_TRY(fe_scratch_sort(s, A->n_block, fe_bits_of(A->n_column), &key, &place));
    FE_LAUNCH(d, (size_t)A->n_block * A->rows * A->columns, THREADS, transpose_values, *A, place, row_of, *T);
    fe_scratch_return(s, mark);
    return FE_OK;
}
