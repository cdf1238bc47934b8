/* Products and transposes of matrices of blocks on the device: the twin of sparse.c. */
#include "common/multigrid/ghost_rows.h"
#include "common/multigrid/setup_cuda.h"

#include <cuda_pipeline.h>
#include <limits.h>

enum { THREADS = 128, WARP = 32 };

fe_status fe_sparse_take_first_cuda(fe_scratch *s, int n_row, fe_sparse *A, int **found)
{
    FE_TRY(fe_scratch_take(s, (size_t)n_row + 3, &A->first));
    *found = A->first + n_row + 1;
    return s->d->ops->memory.zero(s->d, 2 * sizeof **found, *found);
}

/* Starts, and their total with what was found. */
static fe_status read_starts(fe_scratch *s, fe_sparse *A, const int *found, int host[2])
{
    enum { MOST = 64 };
    const int apart = (int)(found - (A->first + A->n_row));
    int read[MOST + 2];
    FE_TRY(fe_scratch_sums(s, A->n_row, A->first));
    if (apart > MOST) {
        FE_TRY(s->d->ops->memory.download(s->d, sizeof *read, A->first + A->n_row, read));
        FE_TRY(s->d->ops->memory.download(s->d, 2 * sizeof *read, found, host));
    } else {
        FE_TRY(
            s->d->ops->memory.download(s->d, ((size_t)apart + 2) * sizeof *read, A->first + A->n_row, read));
        host[0] = read[apart], host[1] = read[apart + 1];
    }
    A->n_block = read[0];
    return read[0] >= 0 ? FE_OK : fe_fail(FE_OUT_OF_MEMORY, "set-up on the device: more than 2^31 entries");
}

static fe_status take_blocks(fe_scratch *s, fe_sparse *A)
{
    FE_TRY(fe_scratch_take(s, (size_t)A->n_block * A->rows * A->columns, &A->value));
    return fe_scratch_take(s, (size_t)A->n_block, &A->column);
}

fe_status fe_sparse_open_cuda(fe_scratch *s, fe_sparse *A, const int *found, int host[2])
{
    FE_TRY(read_starts(s, A, found, host));
    return take_blocks(s, A);
}

fe_status fe_sparse_open_over_cuda(fe_scratch *s, fe_scratch_mark mark, fe_sparse *A, const int *found,
                                   int host[2])
{
    const size_t spare = (size_t)A->n_row * FE_SPARE * sizeof *A->column;
    FE_TRY(read_starts(s, A, found, host));
    const size_t bytes = (size_t)A->n_block * A->rows * A->columns * sizeof *A->value;
    if (bytes >= spare && fe_scratch_now(s).chunk == mark.chunk) fe_scratch_return(s, mark);
    return take_blocks(s, A);
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

/* Which columns of a row of A B are wanted: from that of the diagonal on; or from the first column of B's own
 * row on, but all of a row that other ranks need, which `sent` marks, or NULL. */
typedef struct wanted {
    bool from_diagonal;
    const uint8_t *sent;
} wanted;

FE_BODY int least_column(const fe_sparse &B, wanted which, int i)
{
    if (which.from_diagonal) return i;
    if (which.sent && which.sent[i]) return 0;
    return B.first[i] < B.first[i + 1] ? B.column[B.first[i]] : INT_MAX;
}

/* The wanted columns of rows of A B: a block of threads per row. */
template <bool FILL>
__global__ void __launch_bounds__(THREADS)
    long_columns(fe_sparse A, fe_sparse B, wanted which, fe_sparse C, int *spare, int *found)
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
    const int least = least_column(B, which, i);
    for (int k = A.first[i] + threadIdx.x; k < A.first[i + 1]; k += blockDim.x)
        for (int l = B.first[A.column[k]]; l < B.first[A.column[k] + 1]; l++)
            if (B.column[l] >= least) fe_row_set_insert(&set, slots, B.column[l]);
    const int n = fe_row_set_sort(&set, slots, FILL ? C.column + C.first[i] : spare + (size_t)i * FE_SPARE,
                                  FILL ? FE_ROW_SLOTS : FE_SPARE);
    if (threadIdx.x == 0 && !FILL) fe_keep_count(C, i, n, set.full, found);
}

/* The same: a warp per row, each lane reads a row of B. */
template <bool FILL>
__global__ void __launch_bounds__(THREADS)
    short_columns(fe_sparse A, fe_sparse B, wanted which, fe_sparse C, int *spare, int *found)
{
    __shared__ int lists[THREADS / WARP][FE_ROW_SLOTS];
    const int i = (int)((blockIdx.x * (size_t)THREADS + threadIdx.x) / WARP), lane = threadIdx.x % WARP;
    if (i >= A.n_row) return;
    int *const list = lists[threadIdx.x / WARP], least = least_column(B, which, i);
    const int n = fe_list_columns<FE_ROW_SLOTS>(list, [&](int slots) {
        bool fits = true;
        for (int k = A.first[i] + lane; fits && k < A.first[i + 1]; k += WARP)
            for (int l = B.first[A.column[k]]; fits && l < B.first[A.column[k] + 1]; l++)
                fits = B.column[l] < least || fe_insert_column(list, slots, B.column[l]);
        return fits;
    });
    fe_keep_list<FILL>(list, n, C, i, spare, found);
}

template <bool FILL>
static fe_status find_columns(fe_device *d, const fe_sparse *A, const fe_sparse *B, wanted which,
                              const fe_sparse *C, int *spare, int *found)
{
    if (A->rows == 3)
        FE_LAUNCH(d, (size_t)A->n_row * WARP, THREADS, short_columns<FILL>, *A, *B, which, *C, spare, found);
    else
        FE_LAUNCH(d, (size_t)A->n_row * THREADS, THREADS, long_columns<FILL>, *A, *B, which, *C, spare,
                  found);
    return FE_OK;
}

/* A team of threads has a row of C, a chunk of blocks of it at a time, and takes blocks of A's row in batches
 * of WARP. The products of a batch, in the order of C's columns and then of A's row, are dealt out to groups
 * of three threads in runs of equal length, so that no group waits for a block of C that has more of them. A
 * thread of a group sums two neighbouring columns of numbers. TOGETHER: columns of a row of B that a thread
 * reads before it looks for the first of them in C. */
enum { TOGETHER = 4 };
#define WAIT(team) ((team) == WARP ? __syncwarp() : __syncthreads())

/* What a team has in shared memory: `sum`, the chunk of C; `a`, the batch of A's blocks; `rest`, what a
 * group's run adds to a block of C that an earlier run began. A row of B has a block of C's columns once at
 * most: at [block of A][block of C] is its place in B's row, where `has` has a bit. B's blocks have K rows
 * and 6 columns. */
template <int R, int K, int TEAM> struct __align__(16) product_row
{
    enum { CHUNK = R == 6 ? 32 : 24 }; /* longer ones open fewer batches, and take more memory */
    double2 sum[CHUNK][R][3], rest[TEAM / 3][R][3];
    double a[WARP][R * K + 2];                /* two more: neighbours are in other banks */
    int columns[CHUNK], first[WARP], n[WARP]; /* first, n: rows of B */
    int start[CHUNK + 1];                     /* products of the blocks of C before this one */
    int rest_of[TEAM / 3];                    /* whose block of C the rest belongs to, -1: none */
    unsigned has[CHUNK];
    short at[WARP][CHUNK];
    static_assert((int)CHUNK <= (int)WARP, "a warp adds up the products of a chunk");
};
static_assert(FE_ROW_SLOTS <= 32768, "a place in a row of B is a short");

/* Places of columns that are among n ascending ones, TOGETHER at a time; any place for one that is not. */
FE_BODY void find_places(const int *columns, int n, const int column[TOGETHER], int place[TOGETHER])
{
#pragma unroll
    for (int u = 0; u < TOGETHER; u++) place[u] = 0;
    for (int left = n; left > 1;) {
        const int half = left / 2;
#pragma unroll
        for (int u = 0; u < TOGETHER; u++)
            if (columns[place[u] + half] <= column[u]) place[u] += half;
        left -= half;
    }
}

/* Opens `count` blocks of A's row from the k0-th on. */
template <int R, int K, int TEAM, typename Row>
FE_BODY void open_batch(Row *w, const fe_sparse &A, const fe_sparse &B, int k0, int count, int n, int member)
{
    for (int t = member; t < n; t += TEAM) w->has[t] = 0;
    for (int t = member; t < count * R * K; t += TEAM)
        __pipeline_memcpy_async(&w->a[t / (R * K)][t % (R * K)],
                                fe_sparse_number<R, K>(A, k0 + t / (R * K), t % (R * K)), sizeof(double));
    __pipeline_commit(); /* they arrive while columns are looked for */
    if (member < count) {
        const int *const row = B.first + A.column[k0 + member];
        w->first[member] = row[0], w->n[member] = row[1] - row[0];
    }
    WAIT(TEAM);
    const int k = member % WARP, first = w->columns[0], last = w->columns[n - 1];
    for (int l = member / WARP; k < count && l < w->n[k]; l += TOGETHER * (TEAM / WARP)) {
        int column[TOGETHER], place[TOGETHER];
#pragma unroll
        for (int u = 0; u < TOGETHER; u++) {
            const int at = l + u * (TEAM / WARP);
            column[u] = at < w->n[k] ? B.column[w->first[k] + at] : -1; /* of a ghost's row, in no order */
        }
        find_places(w->columns, n, column, place);
#pragma unroll
        for (int u = 0; u < TOGETHER; u++) {
            if (column[u] < first || column[u] > last) continue; /* of another chunk */
            w->at[k][place[u]] = (short)(l + u * (TEAM / WARP));
            atomicOr(w->has + place[u], 1u << k);
        }
    }
    WAIT(TEAM);
    if (member < WARP) {
        int sum = member < n ? __popc(w->has[member]) : 0;
        for (int step = 1; step < WARP; step *= 2) {
            const int before = __shfl_up_sync(0xffffffffu, sum, step);
            if (member >= step) sum += before;
        }
        if (member < n) w->start[member + 1] = sum;
        if (member == 0) w->start[0] = 0;
    }
    __pipeline_wait_prior(0);
    WAIT(TEAM);
}

/* A product of a run: C's block p gets A's block k times its block of B. `mask`: blocks of A whose products
 * with p are still to come. */
typedef struct cursor {
    int p, k;
    unsigned mask;
} cursor;
FE_BODY void advance(const unsigned *has, cursor *c)
{
    while (!c->mask) c->mask = has[++c->p];
    c->k = __ffs(c->mask) - 1;
    c->mask &= c->mask - 1;
}
/* The product of C's block p behind its first `skip`. */
FE_BODY cursor cursor_at(const unsigned *has, int p, int skip)
{
    cursor c = {p, 0, has[p]};
    for (int i = 0; i < skip; i++) c.mask &= c.mask - 1;
    advance(has, &c);
    return c;
}

/* Two columns of B's block for the product. */
template <int K, typename Row>
FE_BODY void load(const Row *w, const double2 *B, cursor c, int column, double2 b[K])
{
    const double2 *const from = B + ((size_t)(w->first[c.k] + w->at[c.k][c.p]) * 3 + column) * K;
#pragma unroll
    for (int i = 0; i < K; i++) b[i] = from[i];
}

template <int R, int K> FE_BODY void add_times(const double *a, const double2 b[K], double2 sum[R])
{
#pragma unroll
    for (int r = 0; r < R; r++)
#pragma unroll
        for (int i = 0; i < K; i++) sum[r].x += a[r * K + i] * b[i].x, sum[r].y += a[r * K + i] * b[i].y;
}

/* The products of a batch from the begin-th on, to the row or to the group's rest. */
template <int R, int K, int TEAM, typename Row>
FE_BODY void add_run(Row *w, const double2 *B, int begin, int n_product, int n, int group, int column)
{
    const int p = fe_first_column(w->start, n + 1, begin + 1) - 1, skip = begin - w->start[p];
    cursor now = cursor_at(w->has, p, skip);
    bool is_rest = skip > 0;
    double2 sum[R] = {}, b[K];
    load<K>(w, B, now, column, b);
    if (is_rest && column == 0) w->rest_of[group] = p;
    for (int left = n_product; left > 0; left--) {
        cursor next = now;
        double2 then[K] = {};
        if (left > 1) {
            advance(w->has, &next);
            load<K>(w, B, next, column, then);
        }
        add_times<R, K>(w->a[now.k], b, sum);
        if (left == 1 || next.p != now.p) {
#pragma unroll
            for (int r = 0; r < R; r++) {
                double2 *const to = is_rest ? &w->rest[group][r][column] : &w->sum[now.p][r][column];
                const double2 before = is_rest ? make_double2(0.0, 0.0) : *to;
                *to = make_double2(before.x + sum[r].x, before.y + sum[r].y);
                sum[r] = make_double2(0.0, 0.0);
            }
            is_rest = false;
        }
        now = next;
#pragma unroll
        for (int i = 0; i < K; i++) b[i] = then[i];
    }
}

/* Adds the batch to the row. Of a block of C whose products are in several runs, the first run adds to the
 * row, and the others leave their rests, which are then added in the order of the runs. */
template <int R, int K, int TEAM, typename Row>
FE_BODY void add_batch(Row *w, const double2 *B, int n, int member)
{
    enum { GROUPS = TEAM / 3 };
    const int group = member / 3, column = member % 3, total = w->start[n],
              each = (total + GROUPS - 1) / GROUPS, begin = group * each, left = total - begin;
    if (group < GROUPS && column == 0) w->rest_of[group] = -1;
    if (group < GROUPS && left > 0)
        add_run<R, K, TEAM>(w, B, begin, left < each ? left : each, n, group, column);
    WAIT(TEAM);
    if (group >= GROUPS) return;
    const int p = w->rest_of[group];
    if (p < 0 || (group > 0 && w->rest_of[group - 1] == p)) return;
    for (int g = group; g < GROUPS && w->rest_of[g] == p; g++)
#pragma unroll
        for (int r = 0; r < R; r++)
            w->sum[p][r][column].x += w->rest[g][r][column].x,
                w->sum[p][r][column].y += w->rest[g][r][column].y;
}

/* Where the diagonal block of a row is, or the first one behind it. */
FE_BODY int diagonal_place(const fe_sparse &C, int row)
{
    const int first = C.first[row];
    return first + fe_first_column(C.column + first, C.first[row + 1] - first, row);
}

/* C = A P; or, LAST, the upper triangle of C = R (A P): a team of threads takes the chunk blockIdx.y of a row
 * of C. P and A P are by pairs of columns. */
template <int R, int K, int TEAM, int TEAMS, bool LAST>
__global__ void __launch_bounds__(TEAM *TEAMS) product_values(fe_sparse A, fe_sparse B, fe_sparse C)
{
    enum { CHUNK = product_row<R, K, TEAM>::CHUNK };
    __shared__ product_row<R, K, TEAM> rows[TEAMS];
    product_row<R, K, TEAM> *const w = rows + threadIdx.x / TEAM;
    const int row = blockIdx.x * TEAMS + threadIdx.x / TEAM, member = threadIdx.x % TEAM;
    if (row >= C.n_row) return; /* whole teams */
    const int start = LAST ? diagonal_place(C, row) : C.first[row], from = start + blockIdx.y * CHUNK,
              left = C.first[row + 1] - from;
    const int n = left < CHUNK ? left : CHUNK, begin = A.first[row], end = A.first[row + 1];
    if (n <= 0) return;
    double2 *const sum = &w->sum[0][0][0];
    for (int t = member; t < n; t += TEAM) w->columns[t] = C.column[from + t];
    for (int t = member; t < n * 3 * R; t += TEAM) sum[t] = make_double2(0.0, 0.0);
    for (int k0 = begin; k0 < end; k0 += WARP) {
        WAIT(TEAM);
        open_batch<R, K, TEAM>(w, A, B, k0, end - k0 < WARP ? end - k0 : WARP, n, member);
        add_batch<R, K, TEAM>(w, (const double2 *)B.value, n, member);
    }
    WAIT(TEAM);
    double2 *const out = (double2 *)C.value + (size_t)from * (3 * R);
    for (int t = member; t < n * 3 * R; t += TEAM)
        out[t] = LAST ? sum[t] : w->sum[t / (3 * R)][t % R][t / R % 3];
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

/* longest: blocks of a row of C that are computed, at most */
template <int R, int K, int TEAM, int TEAMS, bool LAST>
static fe_status fill_values(fe_device *d, const fe_sparse *A, const fe_sparse *B, const fe_sparse *C,
                             int longest)
{
    const int chunk = product_row<R, K, TEAM>::CHUNK;
    const dim3 grid(fe_grid((size_t)A->n_row, TEAMS), fe_grid((size_t)longest, chunk));
    if (A->n_row == 0 || longest == 0) return FE_OK;
    product_values<R, K, TEAM, TEAMS, LAST><<<grid, TEAM * TEAMS, 0, fe_cuda_stream(d)>>>(*A, *B, *C);
    CUDA_TRY(cudaGetLastError());
    return FE_OK;
}

/* The wanted columns of C = A B, whose memory is opened: with room for rows of ghosts, unless k is NULL.
 * longest: the most of them in a row */
static fe_status open_columns(fe_scratch *s, const fe_sparse *A, const fe_sparse *B, wanted which,
                              fe_setup *k, fe_sparse *C, int *longest)
{
    fe_device *d = s->d;
    int *found, *spare, host[2];
    FE_TRY(fe_sparse_take_first_cuda(s, k ? A->n_column : A->n_row, C, &found));
    const fe_scratch_mark mark = fe_scratch_now(s);
    FE_TRY(fe_scratch_take(s, (size_t)A->n_row * FE_SPARE, &spare));
    FE_TRY(find_columns<false>(d, A, B, which, C, spare, found));
    if (k) FE_TRY(fe_ghost_counts(k, C));
    FE_TRY(k ? fe_sparse_open_cuda(s, C, found, host) : fe_sparse_open_over_cuda(s, mark, C, found, host));
    if (host[0])
        return fe_fail(FE_OUT_OF_MEMORY, "set-up on the device: a row has more than %d blocks", FE_ROW_SLOTS);
    *longest = host[1];
    fe_sparse own = *C; /* without rows of ghosts */
    own.n_row = A->n_row;
    return host[1] <= FE_SPARE ? fe_sparse_keep_columns_cuda(d, &own, spare)
                               : find_columns<true>(d, A, B, which, C, spare, found);
}

__global__ void mark_rows(int n, const int *row, uint8_t *mark)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n) mark[row[i]] = 1;
}

/* Rows that other ranks have as ghosts; NULL where no rank shares the level. */
static fe_status mark_sent(fe_scratch *s, const fe_setup *k, const uint8_t **sent)
{
    uint8_t *mark;
    *sent = NULL;
    if (!k->shared) return FE_OK;
    FE_TRY(fe_scratch_take(s, (size_t)k->n, &mark));
    FE_TRY(s->d->ops->memory.zero(s->d, (size_t)k->n, mark));
    FE_LAUNCH(s->d, k->ghosts.n_send, THREADS, mark_rows, k->ghosts.n_send, k->ghosts.send_there, mark);
    *sent = mark;
    return FE_OK;
}

fe_status fe_sparse_product_cuda(fe_scratch *s, const fe_sparse *A, const fe_sparse *P, fe_setup *k,
                                 fe_sparse *AP)
{
    wanted which = {};
    int longest;
    *AP = {A->n_row, P->n_column, A->rows, P->columns};
    AP->paired = 1;
    FE_TRY(mark_sent(s, k, &which.sent));
    FE_TRY(open_columns(s, A, P, which, k->shared ? k : NULL, AP, &longest));
    fe_sparse own = *AP;
    own.n_row = A->n_row;
    if (A->rows == 3) return fill_values<3, 3, WARP, 2, false>(s->d, A, P, &own, longest);
    return fill_values<6, 6, 2 * WARP, 1, false>(s->d, A, P, &own, longest);
}

/* Rows of C, of which `upper` has the columns from the diagonal on: where row i has column j beyond it, row j
 * has column i, if it is one of C's. Columns are counted; or those of `upper` are placed, and those before
 * the diagonal are listed in `below`, in any order. A warp per row. */
template <bool COUNT>
__global__ void __launch_bounds__(THREADS) list_below(fe_sparse upper, fe_sparse C, int *n_below, int *below)
{
    const int i = (int)((blockIdx.x * (size_t)THREADS + threadIdx.x) / WARP), lane = threadIdx.x % WARP;
    if (i >= C.n_row) return;
    const int first = upper.first[i], n = upper.first[i + 1] - first;
    if (COUNT && lane == 0) atomicAdd(C.first + i + 1, n);
    for (int t = lane; t < n; t += WARP) {
        const int j = upper.column[first + t];
        if (!COUNT) C.column[C.first[i + 1] - n + t] = j;
        if (j == i || j >= C.n_row) continue;
        if (COUNT)
            atomicAdd(C.first + j + 1, 1);
        else
            below[C.first[j] + atomicAdd(n_below + j, 1)] = i;
    }
}

__global__ void __launch_bounds__(THREADS) sort_below(fe_sparse C, const int *n_below, const int *below)
{
    const int i = (int)((blockIdx.x * (size_t)THREADS + threadIdx.x) / WARP);
    if (i < C.n_row) fe_list_sort(below + C.first[i], n_below[i], C.column + C.first[i]);
}

static fe_status open_whole(fe_scratch *s, const fe_sparse *upper, fe_sparse *C)
{
    fe_device *d = s->d;
    const size_t threads = (size_t)C->n_row * WARP, n = (size_t)C->n_row + 1;
    int *n_below, *below;
    FE_TRY(fe_scratch_take(s, n, &C->first));
    FE_TRY(d->ops->memory.zero(d, n * sizeof *C->first, C->first));
    FE_LAUNCH(d, threads, THREADS, list_below<true>, *upper, *C, NULL, NULL);
    FE_TRY(fe_scratch_starts(s, C->n_row, C->first, &C->n_block));
    FE_TRY(take_blocks(s, C));
    const fe_scratch_mark mark = fe_scratch_now(s);
    FE_TRY(fe_scratch_take(s, n, &n_below));
    FE_TRY(d->ops->memory.zero(d, n * sizeof *n_below, n_below));
    FE_TRY(fe_scratch_take(s, (size_t)C->n_block, &below));
    FE_LAUNCH(d, threads, THREADS, list_below<false>, *upper, *C, n_below, below);
    FE_LAUNCH(d, threads, THREADS, sort_below, *C, n_below, below);
    fe_scratch_return(s, mark);
    return FE_OK;
}

fe_status fe_sparse_symmetric_product_cuda(fe_scratch *s, const fe_sparse *R, const fe_sparse *AP,
                                           fe_sparse *C)
{
    fe_device *d = s->d;
    fe_sparse upper = {R->n_row, AP->n_column}; /* without values */
    int longest;
    *C = {R->n_row, AP->n_column, 6, 6};
    FE_TRY(open_columns(s, R, AP, {true}, NULL, &upper, &longest));
    FE_TRY(open_whole(s, &upper, C));
    if (R->columns == 3)
        FE_TRY((fill_values<6, 3, 2 * WARP, 1, true>(d, R, AP, C, longest)));
    else
        FE_TRY((fill_values<6, 6, 2 * WARP, 1, true>(d, R, AP, C, longest)));
    FE_LAUNCH(d, (size_t)C->n_row * WARP, THREADS, mirror, *C);
    return FE_OK;
}

/* --- transpose --------------------------------------------------------------------------------------- */

/* A warp per row. */
__global__ void transpose_keys(fe_sparse P, uint64_t *key, int *place, int *row_of, int *count)
{
    const int i = (int)((blockIdx.x * (size_t)THREADS + threadIdx.x) / WARP);
    if (i >= P.n_row) return;
    for (int k = P.first[i] + threadIdx.x % WARP; k < P.first[i + 1]; k += WARP) {
        key[k] = (uint64_t)P.column[k], place[k] = k, row_of[k] = i;
        atomicAdd(count + P.column[k], 1);
    }
}

__global__ void transpose_places(int n, const int *place, const int *row_of, fe_sparse R)
{
    const int t = blockIdx.x * THREADS + threadIdx.x;
    if (t < n) R.place[t] = place[t], R.column[t] = row_of[place[t]];
}

fe_status fe_sparse_transpose_cuda(fe_scratch *s, const fe_sparse *P, fe_sparse *R)
{
    fe_device *d = s->d;
    uint64_t *key;
    int *place, *row_of;
    *R = {P->n_column, P->n_row, P->columns, P->rows};
    R->value = P->value;
    FE_TRY(fe_scratch_take(s, (size_t)R->n_row + 1, &R->first));
    FE_TRY(d->ops->memory.zero(d, ((size_t)R->n_row + 1) * sizeof *R->first, R->first));
    FE_TRY(fe_scratch_take(s, (size_t)P->n_block, &R->column));
    FE_TRY(fe_scratch_take(s, (size_t)P->n_block, &R->place));
    const fe_scratch_mark mark = fe_scratch_now(s);
    FE_TRY(fe_scratch_take(s, (size_t)P->n_block, &key));
    FE_TRY(fe_scratch_take(s, (size_t)P->n_block, &place));
    FE_TRY(fe_scratch_take(s, (size_t)P->n_block, &row_of));
    FE_LAUNCH(d, (size_t)P->n_row * WARP, THREADS, transpose_keys, *P, key, place, row_of, R->first + 1);
    R->n_block = P->n_block;
    FE_TRY(fe_scratch_sums(s, R->n_row, R->first));
    FE_TRY(fe_scratch_sort(s, P->n_block, fe_bits_of(P->n_column), &key, &place));
    FE_LAUNCH(d, P->n_block, THREADS, transpose_places, P->n_block, place, row_of, *R);
    fe_scratch_return(s, mark);
    return FE_OK;
}
