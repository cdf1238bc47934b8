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

/* C = A B: a warp takes a chunk of a row of C, sums it in shared memory, and goes through A's row. It reads
 * whole rows of B as they lie in memory: a lane has one column of numbers of one of B's blocks, multiplies it
 * by the block of A, and adds that to its place in the row of C. No two lanes have the same place at a time.
 * Blocks of A go TOGETHER at a time, so that many reads are under way; WIDTH blocks of each row of B, which
 * are ROUNDS columns a lane. */
template <int R, int K, int WIDTH> struct product_form {
    enum {
        TOGETHER = WARP / WIDTH * 3 / K, /* as many numbers of B for each K */
        ROUNDS = (6 * WIDTH + WARP - 1) / WARP,
        WARPS = R == 3 ? 4 : 2,
        RESIDENT = R == 3   ? 5
                   : K == 3 ? 8
                            : 6, /* blocks of threads that have registers */
        A_STRIDE = (R * K + 1) / 2 * 2,
        STRIDE = 6 * R + (R == 3 ? 4 : 2), /* from one block of C to the next: six banks on */
        MOST = 64                          /* blocks in a chunk */
    };
    static size_t bytes(int chunk)
    {
        return WARPS *
               ((TOGETHER * A_STRIDE + (size_t)STRIDE * chunk) * sizeof(double) + sizeof(int) * chunk);
    }
};

/* Adds A's block times a column of numbers to a column of a block of C. */
template <int R, int K> FE_BODY void add_times(const double a[R * K], const double b[K], double *sum)
{
    double value[R];
#pragma unroll
    for (int r = 0; r < R; r++) value[r] = sum[6 * r];
#pragma unroll
    for (int r = 0; r < R; r++)
#pragma unroll
        for (int i = 0; i < K; i++) value[r] += a[r * K + i] * b[i];
#pragma unroll
    for (int r = 0; r < R; r++) sum[6 * r] = value[r];
}

template <int R, int K, int WIDTH>
__global__ void __launch_bounds__(WARP *product_form<R, K, WIDTH>::WARPS, product_form<R, K, WIDTH>::RESIDENT)
    product_values(fe_sparse A, fe_sparse B, fe_sparse C, int chunk)
{
    typedef product_form<R, K, WIDTH> form;
    enum { TOGETHER = form::TOGETHER, ROUNDS = form::ROUNDS, STRIDE = form::STRIDE, BLOCK = 6 * R };
    extern __shared__ double2 shared[];
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, row = blockIdx.x * form::WARPS + warp;
    double *const a = (double *)shared + (size_t)warp * (TOGETHER * form::A_STRIDE + STRIDE * chunk),
                  *const sum = a + TOGETHER * form::A_STRIDE;
    int *const columns =
        (int *)((double *)shared + (size_t)form::WARPS * (TOGETHER * form::A_STRIDE + STRIDE * chunk)) +
        warp * chunk;
    if (row >= C.n_row) return; /* whole warps */
    const int from = C.first[row] + blockIdx.y * chunk, left = C.first[row + 1] - from;
    const int n = left < chunk ? left : chunk, end = A.first[row + 1], own = lane / WIDTH;
    if (n <= 0) return;
    for (int t = lane; t < n; t += WARP) columns[t] = C.column[from + t];
    for (int t = lane; t < STRIDE * n; t += WARP) sum[t] = 0.0;
    for (int k0 = A.first[row]; k0 < end; k0 += TOGETHER) {
        const int count = min((int)TOGETHER, end - k0);
        __syncwarp();
        for (int t = lane; t < count * R * K; t += WARP)
            a[t / (R * K) * form::A_STRIDE + t % (R * K)] = A.value[(size_t)k0 * (R * K) + t];
        __syncwarp();
        int first = 0, length = 0; /* the row of B that this lane's block of A meets */
        if (own < count) {
            const int j = A.column[k0 + own];
            first = B.first[j], length = B.first[j + 1] - first;
        }
        for (int l0 = 0; __any_sync(0xffffffffu, l0 < length); l0 += WIDTH) {
            const int l = l0 + lane % WIDTH;
            const int place =
                own < count && l < length ? fe_find_column(columns, n, B.column[first + l]) : -1;
            int at[TOGETHER][ROUNDS];
            double b[TOGETHER][ROUNDS][K];
#pragma unroll
            for (int k = 0; k < TOGETHER; k++)
#pragma unroll
                for (int round = 0; round < ROUNDS; round++) {
                    const int t = lane + round * WARP, block = t / 6 < WIDTH ? t / 6 : 0;
                    const int its = __shfl_sync(0xffffffffu, place, k * WIDTH + block),
                              start = __shfl_sync(0xffffffffu, first, k * WIDTH) + l0 + block;
                    at[k][round] = t < 6 * WIDTH ? its : -1;
                    if (at[k][round] < 0) continue; /* of another chunk, or behind the row's end */
                    const double *from_b = B.value + (size_t)start * (6 * K) + t % 6;
#pragma unroll
                    for (int i = 0; i < K; i++) b[k][round][i] = from_b[6 * i];
                }
#pragma unroll
            for (int k = 0; k < TOGETHER; k++) {
                double block[R * K];
#pragma unroll
                for (int i = 0; i < R * K; i += 2) {
                    const double2 two = ((const double2 *)(a + k * form::A_STRIDE))[i / 2];
                    block[i] = two.x;
                    if (i + 1 < R * K) block[i + 1] = two.y;
                }
                __syncwarp(); /* other lanes may have had the place before */
#pragma unroll
                for (int round = 0; round < ROUNDS; round++)
                    if (at[k][round] >= 0)
                        add_times<R, K>(block, b[k][round],
                                        sum + at[k][round] * STRIDE + (lane + round * WARP) % 6);
            }
        }
    }
    __syncwarp();
    double *const out = C.value + (size_t)from * BLOCK;
    for (int t = lane; t < BLOCK * n; t += WARP) out[t] = sum[t / BLOCK * STRIDE + t % BLOCK];
}

/* Enqueues product_values, in chunks of the longest row. */
template <int R, int K, int WIDTH>
static fe_status launch(fe_device *d, int longest, const fe_sparse *A, const fe_sparse *B, const fe_sparse *C)
{
    typedef product_form<R, K, WIDTH> form;
    const int chunk = longest < form::MOST ? longest : form::MOST;
    if (A->n_row == 0 || longest == 0) return FE_OK;
    const dim3 grid(fe_grid((size_t)A->n_row, form::WARPS), fe_grid((size_t)longest, chunk));
    product_values<R, K, WIDTH>
        <<<grid, WARP * form::WARPS, form::bytes(chunk), fe_cuda_stream(d)>>>(*A, *B, *C, chunk);
    CUDA_TRY(cudaGetLastError());
    return FE_OK;
}

/* Rows of T have one block, those of P about five, those of A P more. */
enum { SHORT_ROW = 5, LONG_ROW = 16 };

fe_status fe_sparse_product_cuda(fe_scratch *s, const fe_sparse *A, const fe_sparse *B, fe_setup *shared,
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
    const int longest = host[1];
    fe_sparse own = *C; /* without rows of ghosts */
    own.n_row = A->n_row;
    if (longest <= FE_SPARE)
        FE_TRY(fe_sparse_keep_columns_cuda(d, &own, spare));
    else
        FE_LAUNCH(d, (size_t)A->n_row * threads, threads, product_columns<true>, *A, *B, *C, spare, found);
    if (A->rows == 3) return launch<3, 3, SHORT_ROW>(d, longest, A, B, &own);
    if (A->columns == 3) return launch<6, 3, LONG_ROW>(d, longest, A, B, &own);
    if (A->n_row == A->n_column) return launch<6, 6, SHORT_ROW>(d, longest, A, B, &own);
    return launch<6, 6, LONG_ROW>(d, longest, A, B, &own);
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

/* --- application ------------------------------------------------------------------------------------- */

/* A warp per row: lane r + 6 * part takes row r and every fifth block. */
__global__ void __launch_bounds__(THREADS) apply_rows(fe_sparse A, const double *x, double *y)
{
    enum { PARTS = WARP / 6 };
    const int i = (int)((blockIdx.x * (size_t)THREADS + threadIdx.x) / WARP), lane = threadIdx.x % WARP;
    if (i >= A.n_row) return;
    double sum = 0.0;
    if (lane < 6 * PARTS)
        for (int k = A.first[i] + lane / 6; k < A.first[i + 1]; k += PARTS) {
            const double *value = A.value + 36 * (size_t)k + 6 * (lane % 6),
                         *xk = x + 6 * (size_t)A.column[k];
#pragma unroll
            for (int c = 0; c < 6; c++) sum += value[c] * xk[c];
        }
    double total = 0.0;
#pragma unroll
    for (int part = 0; part < PARTS; part++) total += __shfl_sync(0xffffffffu, sum, lane % 6 + 6 * part);
    if (lane < 6) y[6 * (size_t)i + lane] = total;
}

fe_status fe_sparse_apply_cuda(fe_device *d, const fe_sparse *A, const double *x, double *y)
{
    FE_LAUNCH(d, (size_t)A->n_row * WARP, THREADS, apply_rows, *A, x, y);
    return FE_OK;
}
