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

/* Numbers of a row of C that a team of threads has in shared memory, and of A's row what they are made of. */
template <int R, int K, int CHUNK, int BATCH, int LONG> struct __align__(16) product_row {
    double sum[CHUNK][R][6], a[BATCH][R][K];
    int columns[CHUNK], first[BATCH], n[BATCH]; /* first, n: rows of B */
    short place[BATCH][LONG];                   /* of a row of B's blocks among the chunk's, -1: none */
};

/* sum += A_ik B_k: a thread takes one row of one of B's blocks. */
template <int R, int K, int TEAM, typename Row>
FE_BODY void add_row(Row *w, int k, int from, int n, int member, const double *value)
{
    for (int t = member; t < n * R; t += TEAM) {
        const int l = t / R, r = t % R, place = w->place[k][l];
        if (place < 0) continue;
        const double2 *b = (const double2 *)(value + ((size_t)w->first[k] + from + l) * (6 * K));
        double2 *const sum = (double2 *)w->sum[place][r];
        double2 add[3] = {sum[0], sum[1], sum[2]};
#pragma unroll
        for (int i = 0; i < K; i++) {
            const double a = w->a[k][r][i];
#pragma unroll
            for (int c = 0; c < 3; c++) {
                const double2 bc = b[3 * i + c];
                add[c].x += a * bc.x, add[c].y += a * bc.y;
            }
        }
        sum[0] = add[0], sum[1] = add[1], sum[2] = add[2];
    }
}

/* C = A B: a team of threads takes a row of C, of which CHUNK blocks, the chunk blockIdx.y, and goes through
 * A's row in its order. BATCH rows of B at a time are looked up, LONG blocks of each. B has blocks of 6
 * columns. */
template <int R, int K, int TEAM, int TEAMS, int CHUNK, int BATCH, int LONG>
__global__ void __launch_bounds__(TEAM *TEAMS) product_values(fe_sparse A, fe_sparse B, fe_sparse C)
{
    __shared__ __align__(16) product_row<R, K, CHUNK, BATCH, LONG> rows[TEAMS];
    product_row<R, K, CHUNK, BATCH, LONG> *const w = rows + threadIdx.x / TEAM;
    const int row = blockIdx.x * TEAMS + threadIdx.x / TEAM, member = threadIdx.x % TEAM;
    if (row >= C.n_row) return; /* whole teams */
    const int from = C.first[row] + blockIdx.y * CHUNK, left = C.first[row + 1] - from;
    const int n = left < CHUNK ? left : CHUNK, end = A.first[row + 1];
    if (n <= 0) return;
#define WAIT() (TEAM == WARP ? __syncwarp() : __syncthreads())
    for (int t = member; t < n; t += TEAM) w->columns[t] = C.column[from + t];
    for (int t = member; t < n * R * 6; t += TEAM) (&w->sum[0][0][0])[t] = 0.0;
    for (int k0 = A.first[row]; k0 < end; k0 += BATCH) {
        const int count = end - k0 < BATCH ? end - k0 : BATCH;
        int longest = 0;
        WAIT();
        for (int t = member; t < count; t += TEAM) {
            w->first[t] = B.first[A.column[k0 + t]];
            w->n[t] = B.first[A.column[k0 + t] + 1] - w->first[t];
        }
        for (int t = member; t < count * R * K; t += TEAM)
            (&w->a[0][0][0])[t] = A.value[(size_t)k0 * R * K + t];
        WAIT();
        for (int k = 0; k < count; k++) longest = w->n[k] > longest ? w->n[k] : longest;
        for (int l0 = 0; l0 < longest; l0 += LONG) {
            for (int t = member; t < count * LONG; t += TEAM) {
                const int k = t / LONG, l = t % LONG;
                if (l0 + l < w->n[k])
                    w->place[k][l] = (short)fe_find_column(w->columns, n, B.column[w->first[k] + l0 + l]);
            }
            WAIT();
            for (int k = 0; k < count; k++) {
                const int rest = w->n[k] - l0;
                add_row<R, K, TEAM>(w, k, l0, rest < LONG ? rest : LONG, member, B.value);
                WAIT();
            }
        }
    }
    for (int t = member; t < n * R * 6; t += TEAM)
        C.value[(size_t)from * (R * 6) + t] = (&w->sum[0][0][0])[t];
#undef WAIT
}

template <int R, int K, int TEAM, int TEAMS, int CHUNK, int BATCH, int LONG>
static fe_status values(fe_device *d, int longest, const fe_sparse *A, const fe_sparse *B, const fe_sparse *C)
{
    const dim3 grid(fe_grid((size_t)A->n_row, TEAMS), fe_grid((size_t)longest, CHUNK));
    if (A->n_row == 0 || longest == 0) return FE_OK;
    product_values<R, K, TEAM, TEAMS, CHUNK, BATCH, LONG>
        <<<grid, TEAM * TEAMS, 0, fe_cuda_stream(d)>>>(*A, *B, *C);
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
    if (A->rows == 3 && A->columns == 3) return values<3, 3, WARP, 4, 32, 16, 16>(d, host[1], A, B, C);
    if (A->rows == 6 && A->columns == 3) return values<6, 3, 192, 1, 64, 16, 32>(d, host[1], A, B, C);
    return values<6, 6, 192, 1, 64, 16, 32>(d, host[1], A, B, C);
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
