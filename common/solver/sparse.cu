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

#define WAIT(team) ((team) == WARP ? __syncwarp() : __syncthreads())

/* What a team of threads has of its rows in shared memory: up to CHUNK blocks of the sum, BATCH blocks of A's
 * row, and of STAGE rows of B up to LONG blocks each. B has blocks of K rows and 6 columns. */
template <int R, int K, int CHUNK, int BATCH, int STAGE, int LONG> struct __align__(16) product_row
{
    double sum[CHUNK][R][6], a[BATCH][R][K];
    double2 b[STAGE][LONG][K][3];
    int columns[CHUNK], first[BATCH], n[BATCH]; /* first, n: rows of B */
    short place[BATCH][LONG];                   /* of B's blocks among the chunk's, -1: none */
};

/* B's k-th row from its block l0 on. */
template <int K, int TEAM, int LONG, typename Row>
FE_BODY void read_row(Row *w, int k, int stage, int l0, int member, const double *value)
{
    const int left = w->n[k] - l0, n = left < LONG ? left : LONG;
    const double2 *const from = (const double2 *)(value + ((size_t)w->first[k] + l0) * (6 * K));
    for (int t = member; t < n * 3 * K; t += TEAM) (&w->b[stage][0][0][0])[t] = from[t];
}

/* sum += A_ik B_k: a thread takes one row of one of B's blocks. */
template <int R, int K, int TEAM, int LONG, typename Row>
FE_BODY void add_row(Row *w, int k, int stage, int l0, int member)
{
    const int left = w->n[k] - l0, n = left < LONG ? left : LONG;
    for (int t = member; t < n * R; t += TEAM) {
        const int l = t / R, r = t % R, place = w->place[k][l];
        if (place < 0) continue;
        double2 *const sum = (double2 *)w->sum[place][r];
        double2 add[3] = {sum[0], sum[1], sum[2]};
#pragma unroll
        for (int i = 0; i < K; i++) {
            const double a = w->a[k][r][i];
#pragma unroll
            for (int c = 0; c < 3; c++) {
                const double2 b = w->b[stage][l][i][c];
                add[c].x += a * b.x, add[c].y += a * b.y;
            }
        }
        sum[0] = add[0], sum[1] = add[1], sum[2] = add[2];
    }
}

/* C = A B: a team of threads takes a row of C, of which CHUNK blocks, the chunk blockIdx.y, and goes through
 * A's row in its order. */
template <int R, int K, int TEAM, int TEAMS, int CHUNK, int BATCH, int STAGE, int LONG>
__global__ void __launch_bounds__(TEAM *TEAMS) product_values(fe_sparse A, fe_sparse B, fe_sparse C)
{
    __shared__ product_row<R, K, CHUNK, BATCH, STAGE, LONG> rows[TEAMS];
    product_row<R, K, CHUNK, BATCH, STAGE, LONG> *const w = rows + threadIdx.x / TEAM;
    const int row = blockIdx.x * TEAMS + threadIdx.x / TEAM, member = threadIdx.x % TEAM;
    if (row >= C.n_row) return; /* whole teams */
    const int from = C.first[row] + blockIdx.y * CHUNK, left = C.first[row + 1] - from;
    const int n = left < CHUNK ? left : CHUNK, end = A.first[row + 1];
    if (n <= 0) return;
    for (int t = member; t < n; t += TEAM) w->columns[t] = C.column[from + t];
    for (int t = member; t < n * R * 6; t += TEAM) (&w->sum[0][0][0])[t] = 0.0;
    for (int k0 = A.first[row]; k0 < end; k0 += BATCH) {
        const int count = end - k0 < BATCH ? end - k0 : BATCH;
        int longest = 0;
        WAIT(TEAM);
        for (int t = member; t < count; t += TEAM) {
            w->first[t] = B.first[A.column[k0 + t]];
            w->n[t] = B.first[A.column[k0 + t] + 1] - w->first[t];
        }
        for (int t = member; t < count * R * K; t += TEAM)
            (&w->a[0][0][0])[t] = A.value[(size_t)k0 * R * K + t];
        WAIT(TEAM);
        for (int k = 0; k < count; k++) longest = w->n[k] > longest ? w->n[k] : longest;
        for (int l0 = 0; l0 < longest; l0 += LONG) {
            for (int t = member; t < count * LONG; t += TEAM) {
                const int k = t / LONG, l = t % LONG;
                if (l0 + l < w->n[k])
                    w->place[k][l] = (short)fe_find_column(w->columns, n, B.column[w->first[k] + l0 + l]);
            }
            for (int k = 0; k < count; k += STAGE) {
                for (int s = 0; s < STAGE && k + s < count; s++)
                    read_row<K, TEAM, LONG>(w, k + s, s, l0, member, B.value);
                WAIT(TEAM);
                for (int s = 0; s < STAGE && k + s < count; s++) {
                    add_row<R, K, TEAM, LONG>(w, k + s, s, l0, member);
                    WAIT(TEAM);
                }
            }
        }
    }
    for (int t = member; t < n * R * 6; t += TEAM)
        C.value[(size_t)from * (R * 6) + t] = (&w->sum[0][0][0])[t];
}

/* The same where B's rows have one block or none, as those of modes: a lane computes a row of one A_ik B_k,
 * then lanes add them up in A's order. A team is a warp. */
template <int R, int K, int CHUNK> struct single_row {
    double sum[CHUNK][R][6], part[WARP][R][6];
    int columns[CHUNK], place[WARP];
};
template <int R, int K, int TEAMS, int CHUNK>
__global__ void __launch_bounds__(WARP *TEAMS) single_values(fe_sparse A, fe_sparse B, fe_sparse C)
{
    __shared__ single_row<R, K, CHUNK> rows[TEAMS];
    single_row<R, K, CHUNK> *const w = rows + threadIdx.x / WARP;
    const int row = blockIdx.x * TEAMS + threadIdx.x / WARP, lane = threadIdx.x % WARP;
    if (row >= C.n_row) return;
    const int from = C.first[row] + blockIdx.y * CHUNK, left = C.first[row + 1] - from;
    const int n = left < CHUNK ? left : CHUNK, end = A.first[row + 1];
    if (n <= 0) return;
    for (int t = lane; t < n; t += WARP) w->columns[t] = C.column[from + t];
    for (int t = lane; t < n * R * 6; t += WARP) (&w->sum[0][0][0])[t] = 0.0;
    for (int k0 = A.first[row]; k0 < end; k0 += WARP) {
        const int count = end - k0 < WARP ? end - k0 : WARP;
        __syncwarp();
        if (lane < count) {
            const int l = B.first[A.column[k0 + lane]], none = B.first[A.column[k0 + lane] + 1] == l;
            w->place[lane] = none ? -1 : fe_find_column(w->columns, n, B.column[l]);
        }
        __syncwarp();
        for (int t = lane; t < count * R; t += WARP) {
            const int k = t / R, r = t % R;
            if (w->place[k] < 0) continue;
            const double *a = A.value + ((size_t)(k0 + k) * R + r) * K,
                         *b = B.value + (size_t)B.first[A.column[k0 + k]] * (6 * K);
            double part[6] = {0.0};
#pragma unroll
            for (int i = 0; i < K; i++)
#pragma unroll
                for (int c = 0; c < 6; c++) part[c] += a[i] * b[6 * i + c];
#pragma unroll
            for (int c = 0; c < 6; c++) w->part[k][r][c] = part[c];
        }
        __syncwarp();
        for (int t = lane; t < n * R * 6; t += WARP) {
            double sum = (&w->sum[0][0][0])[t];
            for (int k = 0; k < count; k++)
                if (w->place[k] == t / (R * 6)) sum += (&w->part[k][0][0])[t % (R * 6)];
            (&w->sum[0][0][0])[t] = sum;
        }
    }
    __syncwarp();
    for (int t = lane; t < n * R * 6; t += WARP) C.value[(size_t)from * (R * 6) + t] = (&w->sum[0][0][0])[t];
}

/* Enqueues kernel(A, B, C) with `teams` rows a block of threads, in chunks of the longest row. */
static fe_status launch(fe_device *d, void (*kernel)(fe_sparse, fe_sparse, fe_sparse), int teams, int threads,
                        int chunk, int longest, const fe_sparse *A, const fe_sparse *B, const fe_sparse *C)
{
    const dim3 grid(fe_grid((size_t)A->n_row, teams), fe_grid((size_t)longest, chunk));
    fe_sparse own = *C; /* without rows of ghosts */
    own.n_row = A->n_row;
    if (A->n_row == 0 || longest == 0) return FE_OK;
    kernel<<<grid, threads, 0, fe_cuda_stream(d)>>>(*A, *B, own);
    CUDA_TRY(cudaGetLastError());
    return FE_OK;
}

fe_status fe_sparse_product_cuda(fe_scratch *s, const fe_sparse *A, const fe_sparse *B, int single,
                                 fe_setup *shared, fe_sparse *C)
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
    FE_LAUNCH(d, (size_t)A->n_row * threads, threads, product_columns<true>, *A, *B, *C, spare, found);
    const int longest = host[1];
    if (single && A->rows == 3)
        return launch(d, single_values<3, 3, 4, 16>, 4, 4 * WARP, 16, longest, A, B, C);
    if (single) return launch(d, single_values<6, 6, 2, 16>, 2, 2 * WARP, 16, longest, A, B, C);
    if (A->rows == 3)
        return launch(d, product_values<3, 3, WARP, 4, 32, 16, 2, 10>, 4, 4 * WARP, 32, longest, A, B, C);
    if (A->columns == 3)
        return launch(d, product_values<6, 3, 192, 1, 64, 16, 2, 32>, 1, 192, 64, longest, A, B, C);
    return launch(d, product_values<6, 6, 192, 1, 64, 16, 1, 32>, 1, 192, 64, longest, A, B, C);
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
