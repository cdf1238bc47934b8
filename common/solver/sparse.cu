/* Products and transposes of matrices of blocks on the device: the twin of sparse.c. */
#include "common/solver/setup_cuda.h"

enum { THREADS = 128, WARP = 32 };

fe_status fe_sparse_open_cuda(fe_scratch *s, fe_sparse *A)
{
    FE_TRY(fe_scratch_starts(s, A->n_row, A->first, &A->n_block));
    FE_TRY(fe_scratch_take(s, (size_t)A->n_block, &A->column));
    return fe_scratch_take(s, (size_t)A->n_block * A->rows * A->columns, &A->value);
}

/* --- product ----------------------------------------------------------------------------------------- */

/* The columns of row blockIdx.x of A B: counts into C->first, or sorted into C->column. found: whether a row
 * was too long, and the longest. */
template <bool FILL> __global__ void product_columns(fe_sparse A, fe_sparse B, fe_sparse C, int *found)
{
    __shared__ fe_row_set set;
    __shared__ int candidates;
    const int i = blockIdx.x;
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
    const int n = fe_row_set_sort(&set, slots, FILL ? C.column + C.first[i] : NULL);
    if (threadIdx.x > 0 || FILL) return;
    C.first[i + 1] = n;
    if (set.full) found[0] = 1;
    if (n > found[1]) atomicMax(found + 1, n);
}

/* Row blockIdx.x of C = A B, up to TEAMS × EACH of its blocks from the chunk blockIdx.y on. A team of R × N
 * threads has a number each of the same EACH blocks, and adds A_ik B_kj to them in the order of A's row, of
 * which BATCH blocks at a time are in shared memory, with where B's rows have the chunk's columns. */
template <int R, int K, int N, int TEAMS, int EACH, int BATCH>
__global__ void __launch_bounds__(R *N *TEAMS) product_values(fe_sparse A, fe_sparse B, fe_sparse C)
{
    enum { SIZE = R * N, T = SIZE * TEAMS, CHUNK = TEAMS * EACH, LANES = 8 }; /* lanes: of a row of B */
    __shared__ double a[BATCH][R * K];
    __shared__ int columns[CHUNK], place[BATCH][CHUNK]; /* place in B of a column of the chunk, -1: none */
    const int from = C.first[blockIdx.x] + blockIdx.y * CHUNK, left = C.first[blockIdx.x + 1] - from;
    const int n = left < CHUNK ? left : CHUNK, end = A.first[blockIdx.x + 1];
    if (n <= 0) return;
    const int team = threadIdx.x / SIZE, r = threadIdx.x % SIZE / N, c = threadIdx.x % N;
    double sum[EACH] = {0.0};
    for (int t = threadIdx.x; t < n; t += T) columns[t] = C.column[from + t];
    for (int first = A.first[blockIdx.x]; first < end; first += BATCH) {
        const int count = end - first < BATCH ? end - first : BATCH;
        __syncthreads();
        for (int t = threadIdx.x; t < count * CHUNK; t += T) place[t / CHUNK][t % CHUNK] = -1;
        for (int t = threadIdx.x; t < count * R * K; t += T)
            a[t / (R * K)][t % (R * K)] = A.value[(size_t)first * R * K + t];
        __syncthreads();
        for (int k = threadIdx.x / LANES; k < count; k += T / LANES) {
            const int row = A.column[first + k];
            for (int l = B.first[row] + threadIdx.x % LANES; l < B.first[row + 1]; l += LANES) {
                const int at = fe_find_column(columns, n, B.column[l]);
                if (at >= 0) place[k][at] = l;
            }
        }
        __syncthreads();
        for (int k = 0; k < count; k++)
#pragma unroll
            for (int j = 0; j < EACH; j++) {
                const int at = team + j * TEAMS;
                if (at >= n || place[k][at] < 0) continue;
                const double *b = B.value + (size_t)place[k][at] * (K * N) + c;
#pragma unroll
                for (int i = 0; i < K; i++) sum[j] += a[k][r * K + i] * b[i * N];
            }
    }
#pragma unroll
    for (int j = 0; j < EACH; j++) {
        const int at = team + j * TEAMS;
        if (at < n) C.value[(size_t)(from + at) * SIZE + r * N + c] = sum[j];
    }
}

template <int R, int K, int N, int TEAMS, int EACH, int BATCH>
static fe_status values(fe_device *d, int longest, const fe_sparse *A, const fe_sparse *B, const fe_sparse *C)
{
    const dim3 grid(A->n_row, fe_grid((size_t)longest, TEAMS * EACH));
    if (A->n_row == 0 || longest == 0) return FE_OK;
    product_values<R, K, N, TEAMS, EACH, BATCH><<<grid, R * N * TEAMS, 0, fe_cuda_stream(d)>>>(*A, *B, *C);
    CUDA_TRY(cudaGetLastError());
    return FE_OK;
}

fe_status fe_sparse_product_cuda(fe_scratch *s, const fe_sparse *A, const fe_sparse *B, fe_sparse *C)
{
    fe_device *d = s->d;
    const fe_sparse empty = {A->n_row, B->n_column, A->rows, B->columns};
    const int threads = A->rows == 3 ? WARP : THREADS;
    int *found, host[2];
    *C = empty;
    FE_TRY(fe_scratch_take(s, 2, &found));
    FE_TRY(d->ops->memory.zero(d, sizeof host, found));
    FE_TRY(fe_scratch_take(s, (size_t)A->n_row + 1, &C->first));
    FE_LAUNCH(d, (size_t)A->n_row * threads, threads, product_columns<false>, *A, *B, *C, found);
    FE_TRY(fe_sparse_open_cuda(s, C));
    FE_TRY(d->ops->memory.download(d, sizeof host, found, host));
    if (host[0])
        return fe_fail(FE_OUT_OF_MEMORY, "set-up on the device: a row has more than %d blocks", FE_ROW_SLOTS);
    FE_LAUNCH(d, (size_t)A->n_row * threads, threads, product_columns<true>, *A, *B, *C, found);
    if (A->rows == 3 && A->columns == 3) return values<3, 3, 6, 4, 8, 32>(d, host[1], A, B, C);
    if (A->rows == 6 && A->columns == 3) return values<6, 3, 6, 8, 8, 16>(d, host[1], A, B, C);
    return values<6, 6, 6, 8, 8, 16>(d, host[1], A, B, C);
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
