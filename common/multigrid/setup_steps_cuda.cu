/* Steps of the set-up on the device, where all of it stays: the twin of setup_steps_host.c. */
#include "common/multigrid/dense_inverse.h"
#include "common/multigrid/ghost_rows.h"
#include "common/multigrid/rank_steps.h"
#include "common/multigrid/rigid_modes.h"
#include "common/multigrid/setup_cuda.h"
#include "common/multigrid/shared_level.h"

#include <stdlib.h>

enum { THREADS = 128, WARP = 32 };

static fe_scratch *scratch(const fe_setup *k) { return (fe_scratch *)k->own; }

/* What a kernel reads of the level at hand. */
typedef struct level {
    int n, block, n_own;
    fe_sparse A;
    const double *x, *size;
    const uint8_t *absent;
    double *inverse;
    const int *of;
    double *next_x, *next_size;
    uint8_t *next_absent;
} level;

static level level_of(const fe_setup *k)
{
    const level l = {k->n,      k->block,   k->n_own, k->A,      k->x,         k->size,
                     k->absent, k->inverse, k->of,    k->next_x, k->next_size, k->next_absent};
    return l;
}

/* Per node: its blocks of the matrix, of P and of their product, with what sorts them. 128³ cells take about
 * 5000. Several ranks have whole rows of the product, and rows of ghosts: 161³ cells on two GPUs and 203³ on
 * four take about 5900. */
enum { BYTES_PER_NODE = 5300, BYTES_PER_NODE_WITH_GHOSTS = 6500 };

static fe_status open_cuda(fe_setup *k)
{
    fe_scratch *s = NULL;
    FE_ALLOCATE(s, 1, "set-up on the device");
    k->own = s;
    const size_t bytes = k->m->comm->size > 1 ? BYTES_PER_NODE_WITH_GHOSTS : BYTES_PER_NODE;
    return fe_scratch_open(k->d, (size_t)k->m->problem->view.n_owned * bytes + (1 << 24), s);
}

static void close_cuda(fe_setup *k)
{
    if (!k->own) return;
    fe_scratch_close(scratch(k));
    free(k->own);
    k->own = NULL;
}

static void descend(fe_setup *k, const fe_sparse *next)
{
    k->x = k->next_x, k->size = k->next_size, k->absent = k->next_absent, k->A = *next;
    k->n = k->n_next, k->block = 6, k->shared = k->next_shared;
}

/* --- the level at hand ------------------------------------------------------------------------------- */

__global__ void mark_fixed(int n, const int *at, uint8_t *fixed)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n) fixed[at[i]] = 1;
}

static fe_status finest(fe_setup *k, int n_fixed, const int *at, fe_sample *sample)
{
    fe_device *d = k->d;
    const fe_problem *p = k->m->problem;
    const size_t n = 3 * (size_t)p->view.n_local;
    k->n = p->view.n_owned;
    k->x = (double *)p->view.x;
    FE_TRY(fe_scratch_take(scratch(k), n, &k->absent));
    FE_TRY(d->ops->memory.zero(d, n, k->absent));
    FE_LAUNCH(d, n_fixed, THREADS, mark_fixed, n_fixed, at, k->absent);
    return fe_elastic_rows_cuda(scratch(k), p, k->absent, &k->A, sample);
}

__global__ void __launch_bounds__(THREADS) invert_blocks(level l)
{
    const int i = blockIdx.x * THREADS + threadIdx.x, square = l.block * l.block;
    if (i >= l.n) return;
    const int first = l.A.first[i], n = l.A.first[i + 1] - first;
    const double *block = l.A.value + (size_t)(first + fe_find_column(l.A.column + first, n, i)) * square;
    double D[36];
    for (int c = 0; c < square; c++) D[c] = block[c];
    fe_small_invert(l.block, D);
    for (int c = 0; c < square; c++) l.inverse[(size_t)i * square + c] = D[c];
}

static fe_status invert_diagonal(fe_setup *k)
{
    FE_TRY(fe_scratch_take(scratch(k), (size_t)(k->n * k->block) * (size_t)k->block, &k->inverse));
    FE_LAUNCH(k->d, k->n, THREADS, invert_blocks, level_of(k));
    return FE_OK;
}

/* --- aggregates -------------------------------------------------------------------------------------- */

/* Nodes that supports hold, or that no element uses, are in no aggregate. */
__global__ void find_left_out(level l, uint8_t *left_out)
{
    const int i = blockIdx.x * THREADS + threadIdx.x, b = l.block;
    if (i >= l.n) return;
    bool is_free = false;
    for (int c = 0; c < b; c++)
        is_free |= !l.absent[(size_t)i * b + c] && l.inverse[(size_t)i * b * b + c * (b + 1)] > 0.0;
    left_out[i] = !is_free;
}

static fe_status aggregate(fe_setup *k, fe_cut cut)
{
    uint8_t *left_out;
    FE_TRY(fe_scratch_take(scratch(k), (size_t)k->n, &k->of));
    FE_TRY(fe_scratch_take(scratch(k), (size_t)k->n, &left_out));
    FE_LAUNCH(k->d, k->n, THREADS, find_left_out, level_of(k), left_out);
    return fe_aggregate_cuda(scratch(k), &k->A, k->x, left_out,
                             k->m->problem->view.materials ? k->inverse : NULL, cut, k->of, &k->n_own);
}

__global__ void member_keys(level l, uint64_t *key, int *node, int *count)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= l.n) return;
    const int group = l.of[i] < 0 ? l.n_own : l.of[i]; /* the last list: nodes of none */
    key[i] = (uint64_t)group, node[i] = i;
    atomicAdd(count + group, 1);
}

FE_BODY double warp_sum(double x)
{
    for (int half = WARP / 2; half > 0; half /= 2) x += __shfl_xor_sync(0xffffffffu, x, half);
    return x;
}

FE_BODY void node_modes(const level *l, int a, int i, double *T)
{
    fe_rigid_modes(l->block, l->x + 3 * (size_t)i, l->size ? l->size[i] : 0.0,
                   l->absent + (size_t)i * l->block, l->next_x + 3 * (size_t)a, l->next_size[a], T);
}

/* A warp per aggregate: mean position, root of the mean square distance from it, and missing modes. extremes,
 * zero before: INT32_MAX less the fewest nodes, and the most. */
__global__ void __launch_bounds__(THREADS)
    measure_aggregates(level l, const int *first, const int *member, int *extremes)
{
    const int a = (int)((blockIdx.x * (size_t)THREADS + threadIdx.x) / WARP), lane = threadIdx.x % WARP;
    if (a >= l.n_own) return;
    const int n = first[a + 1] - first[a], *const node = member + first[a];
    double centre[3] = {0.0}, square = 0.0, G[6][6] = {{0.0}};
    for (int t = lane; t < n; t += WARP)
        for (int c = 0; c < 3; c++) centre[c] += l.x[3 * (size_t)node[t] + c];
    for (int c = 0; c < 3; c++) centre[c] = warp_sum(centre[c]) / n;
    for (int t = lane; t < n; t += WARP)
        for (int c = 0; c < 3; c++) {
            const double r = l.x[3 * (size_t)node[t] + c] - centre[c];
            square += r * r;
        }
    const double size = sqrt(warp_sum(square) / n);
    if (lane == 0) {
        for (int c = 0; c < 3; c++) l.next_x[3 * (size_t)a + c] = centre[c];
        l.next_size[a] = size > 0.0 ? size : 1.0; /* one node */
        atomicMax(extremes, INT32_MAX - n);
        atomicMax(extremes + 1, n);
    }
    __syncwarp();
    for (int t = lane; t < n; t += WARP) {
        double T[36];
        node_modes(&l, a, node[t], T);
        for (int r = 0; r < l.block; r++)
            for (int c = 0; c < 36; c++) G[c / 6][c % 6] += T[6 * r + c / 6] * T[6 * r + c % 6];
    }
    for (int c = 0; c < 36; c++) G[c / 6][c % 6] = warp_sum(G[c / 6][c % 6]);
    if (lane == 0) fe_rigid_absent(G, l.next_absent + 6 * (size_t)a);
}

static fe_status measure(fe_setup *k)
{
    fe_device *d = k->d;
    fe_scratch *s = scratch(k);
    const size_t n_list = (size_t)k->n_own + 2;
    uint64_t *key;
    int *node, *first, *extremes, host[2];
    FE_TRY(fe_scratch_take(s, 3 * (size_t)k->n_own, &k->next_x));
    FE_TRY(fe_scratch_take(s, (size_t)k->n_own, &k->next_size));
    FE_TRY(fe_scratch_take(s, 6 * (size_t)k->n_own, &k->next_absent));
    const fe_scratch_mark mark = fe_scratch_now(s);
    FE_TRY(fe_scratch_take(s, (size_t)k->n, &key));
    FE_TRY(fe_scratch_take(s, (size_t)k->n, &node));
    FE_TRY(fe_scratch_take(s, n_list + 2, &first));
    extremes = first + n_list;
    FE_TRY(d->ops->memory.zero(d, (n_list + 2) * sizeof *first, first));
    FE_LAUNCH(d, k->n, THREADS, member_keys, level_of(k), key, node, first + 1);
    FE_TRY(fe_scratch_sums(s, k->n_own + 1, first));
    FE_TRY(fe_scratch_sort(s, k->n, fe_bits_of(k->n_own + 1), &key, &node));
    FE_LAUNCH(d, (size_t)k->n_own * WARP, THREADS, measure_aggregates, level_of(k), first, node, extremes);
    if (k->level == 0) { /* the others are not reported */
        FE_TRY(d->ops->memory.download(d, sizeof host, extremes, host));
        k->smallest = INT32_MAX - host[0], k->largest = host[1];
    }
    fe_scratch_return(s, mark);
    return FE_OK;
}

/* --- the next level ---------------------------------------------------------------------------------- */

__global__ void count_modes(level l, int *first)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < l.n) first[i + 1] = l.of[i] >= 0;
}

/* T: one block for each node that has an aggregate, ghosts too. The blocks of neighbouring nodes are
 * neighbours in memory, which a block of threads writes side by side from shared memory. */
enum { NODES = 64 };
template <int BLOCK> __global__ void __launch_bounds__(NODES) fill_modes(level l, fe_sparse T)
{
    enum { SIZE = 6 * BLOCK };
    __shared__ double entry[NODES][SIZE + 1];
    const int begin = blockIdx.x * NODES, i = begin + threadIdx.x, end = min(begin + NODES, l.n);
    const int first = T.first[begin], n = T.first[end] - first;
    if (i < l.n && l.of[i] >= 0) {
        double t[36];
        l.block = BLOCK; /* a constant */
        node_modes(&l, l.of[i], i, t);
        T.column[T.first[i]] = l.of[i];
#pragma unroll
        for (int c = 0; c < SIZE; c++)
            entry[T.first[i] - first][c] = l.next_absent[6 * (size_t)l.of[i] + c % 6] ? 0.0 : t[c];
    }
    __syncthreads();
    double *const out = T.value + (size_t)first * SIZE;
    for (int t = threadIdx.x; t < n * SIZE; t += NODES) out[t] = entry[t / SIZE][t % SIZE];
}

__global__ void complete_diagonal(fe_sparse A, const uint8_t *absent)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= A.n_row) return;
    const int first = A.first[i], place = fe_find_column(A.column + first, A.first[i + 1] - first, i);
    fe_complete_diagonal(absent + 6 * (size_t)i, A.value + 36 * (size_t)(first + place));
}

static fe_status build_tentative(fe_setup *k, fe_sparse *T)
{
    const fe_sparse empty = {k->n, k->numbering.total, k->block, 6};
    *T = empty;
    FE_TRY(fe_scratch_take(scratch(k), (size_t)k->A.n_column + 1, &T->first));
    FE_LAUNCH(k->d, k->n, THREADS, count_modes, level_of(k), T->first);
    FE_TRY(fe_ghost_counts(k, T));
    T->n_block = T->n_row; /* at most */
    FE_TRY(fe_scratch_sums(scratch(k), T->n_row, T->first));
    FE_TRY(fe_scratch_take(scratch(k), (size_t)T->n_block * 6 * k->block, &T->value));
    FE_TRY(fe_scratch_take(scratch(k), (size_t)T->n_block, &T->column));
    if (k->block == 3)
        FE_LAUNCH(k->d, k->n, NODES, fill_modes<3>, level_of(k), *T);
    else
        FE_LAUNCH(k->d, k->n, NODES, fill_modes<6>, level_of(k), *T);
    return fe_ghost_rows(k, T);
}

static fe_status coarsen(fe_setup *k, fe_sparse *next)
{
    fe_device *d = k->d;
    fe_scratch *s = scratch(k);
    fe_sparse T, AP;
    FE_TRY(build_tentative(k, &T));
    fe_setup_part(k, "T");
    FE_TRY(fe_prolongator_cuda(s, k, &T));
    fe_setup_part(k, "P");
    FE_TRY(fe_sparse_transpose_cuda(s, &k->P, &k->R));
    k->R.n_row = k->n_own; /* its own aggregates, of the nodes of all ranks */
    if (k->shared) FE_TRY(d->ops->memory.download(d, sizeof(int), k->R.first + k->n_own, &k->R.n_block));
    fe_setup_part(k, "R");
    FE_TRY(fe_sparse_product_cuda(s, &k->A, &k->P, k, &AP));
    fe_setup_part(k, "A P");
    FE_TRY(fe_ghost_rows(k, &AP));
    fe_setup_part(k, "A P ghosts");
    fe_scratch_lend(s, k->A.value, (size_t)k->A.n_block * k->A.rows * k->A.columns * sizeof *k->A.value);
    FE_TRY(fe_sparse_symmetric_product_cuda(s, &k->R, &AP, next));
    FE_LAUNCH(d, (size_t)next->n_row, THREADS, complete_diagonal, *next, k->next_absent);
    fe_setup_part(k, "R (A P)");
    FE_TRY(fe_share_or_gather(k, next));
    fe_setup_part(k, "share");
    if (!k->shared || k->next_shared) return FE_OK;
    return fe_sparse_transpose_cuda(s, &k->P, &k->R); /* all aggregates, of its own nodes */
}

/* --- what stays -------------------------------------------------------------------------------------- */

static fe_status keep_floats(const fe_setup *k, size_t n, const double *x, const char *what, float **kept)
{
    FE_TRY(fe_device_allocate(k->d, n, sizeof **kept, what, (void **)kept));
    return k->d->ops->vector.narrow(k->d, n, x, *kept);
}

static fe_status copy_ints(const fe_setup *k, size_t n, const int *x, const int *kept)
{
    CUDA_TRY(cudaMemcpyAsync((void *)kept, x, n * sizeof *x, cudaMemcpyDeviceToDevice, fe_cuda_stream(k->d)));
    return FE_OK;
}

/* As fe_round_block. Blocks of entries and of numbers are neighbours in memory, which a block of threads
 * reads and writes side by side; a thread finds the largest entry of one block in shared memory. */
enum { TOGETHER = THREADS / 2 };
template <int ROWS, int COLUMNS>
__global__ void __launch_bounds__(THREADS) round_blocks(fe_sparse A, int16_t *value)
{
    enum { N = ROWS * COLUMNS, WORDS = FE_BLOCK_STRIDE(N) / 2 }; /* of a block, two numbers each */
    __shared__ double entry[TOGETHER][N + 1];
    __shared__ float scale[TOGETHER];
    const int first = blockIdx.x * TOGETHER, n = min((int)TOGETHER, A.n_block - first);
    for (int t = threadIdx.x; t < N * n; t += THREADS)
        entry[t / N][t % N] = *fe_sparse_number<ROWS, COLUMNS>(A, first + t / N, t % N);
    __syncthreads();
    if (threadIdx.x < n) {
        double largest = 0.0;
        for (int i = 0; i < N; i++) largest = fe_block_largest(largest, entry[threadIdx.x][i]);
        scale[threadIdx.x] = fe_block_scale(largest);
    }
    __syncthreads();
    unsigned *out = (unsigned *)value + (size_t)WORDS * first;
    for (int t = threadIdx.x; t < WORDS * n; t += THREADS) {
        const double *two = entry[t / WORDS] + 2 * (t % WORDS);
        const float own = scale[t / WORDS];
        if (t % WORDS < N / 2)
            out[t] = (uint16_t)fe_block_number(two[0], own) | (unsigned)(uint16_t)fe_block_number(two[1], own)
                                                                  << 16;
        else
            out[t] = t % WORDS == N / 2 ? __float_as_uint(own) : 0;
    }
}

/* Block k of `to`, of 6 rows, becomes the transpose of block place[k] of `from`, with the same scale. Through
 * shared memory, as in round_blocks. */
template <int N>
__global__ void __launch_bounds__(THREADS)
    transpose_blocks(int n_block, const int *place, const int16_t *from, int16_t *to)
{
    enum { WORDS = FE_BLOCK_STRIDE(N) / 2, COLUMNS = N / 6 };
    __shared__ unsigned word[TOGETHER][WORDS + 1];
    const int first = blockIdx.x * TOGETHER, n = min((int)TOGETHER, n_block - first);
    for (int t = threadIdx.x; t < WORDS * n; t += THREADS)
        word[t / WORDS][t % WORDS] =
            ((const unsigned *)from)[(size_t)WORDS * place[first + t / WORDS] + t % WORDS];
    __syncthreads();
    unsigned *const out = (unsigned *)to + (size_t)WORDS * first;
    for (int t = threadIdx.x; t < WORDS * n; t += THREADS) {
        const int w = t % WORDS, one = 2 * w, two = one + 1;
        const uint16_t *const block = (const uint16_t *)word[t / WORDS];
        out[t] = w < N / 2 ? block[one % COLUMNS * 6 + one / COLUMNS] |
                                 (unsigned)block[two % COLUMNS * 6 + two / COLUMNS] << 16
                           : word[t / WORDS][w];
    }
}

/* A's pattern, and room for its blocks. */
static fe_status open_kept(fe_setup *k, const fe_sparse *A, fe_block_matrix *kept, int16_t **value)
{
    FE_TRY(fe_block_matrix_open(k->d, A->n_row, A->rows, A->columns, A->n_block, kept));
    *value = (int16_t *)kept->value;
    FE_TRY(copy_ints(k, (size_t)A->n_row + 1, A->first, kept->first));
    return copy_ints(k, (size_t)A->n_block, A->column, kept->column);
}

static fe_status keep(fe_setup *k, const fe_sparse *A, fe_block_matrix *kept)
{
    const size_t threads = 2 * (size_t)A->n_block;
    int16_t *value;
    FE_TRY(open_kept(k, A, kept, &value));
    if (A->rows == 3)
        FE_LAUNCH(k->d, threads, THREADS, (round_blocks<3, 6>), *A, value);
    else if (A->columns == 3)
        FE_LAUNCH(k->d, threads, THREADS, (round_blocks<6, 3>), *A, value);
    else
        FE_LAUNCH(k->d, threads, THREADS, (round_blocks<6, 6>), *A, value);
    return FE_OK;
}

static fe_status keep_matrix(fe_setup *k, fe_block_matrix *A) { return keep(k, &k->A, A); }

/* Where no rank shares the level, all blocks of R are those of P. */
static fe_status keep_transfers(fe_setup *k, fe_block_matrix *P, fe_block_matrix *R)
{
    const fe_sparse *const from = &k->R;
    const size_t threads = 2 * (size_t)from->n_block;
    int16_t *value;
    FE_TRY(keep(k, &k->P, P));
    if (k->shared) return keep(k, from, R);
    FE_TRY(open_kept(k, from, R, &value));
    if (from->columns == 3)
        FE_LAUNCH(k->d, threads, THREADS, transpose_blocks<18>, from->n_block, from->place, P->value, value);
    else
        FE_LAUNCH(k->d, threads, THREADS, transpose_blocks<36>, from->n_block, from->place, P->value, value);
    return FE_OK;
}

static fe_status keep_inverse(fe_setup *k, float **kept)
{
    return keep_floats(k, (size_t)k->n * (size_t)(k->block * k->block), k->inverse, "multigrid level", kept);
}

__global__ void take_six(int n, const double *inverse, float *six, double *beyond)
{
    const size_t t = blockIdx.x * (size_t)THREADS + threadIdx.x;
    if (t >= 6 * (size_t)n) return;
    const double value = inverse[9 * (t / 6) + fe_six_place((int)(t % 6))];
    six[t] = (float)value;
    if (t % 6 < 3 && !fe_fits_single(value)) *beyond = value;
}

static fe_status keep_six(fe_setup *k, float **kept, double *beyond)
{
    double *found;
    FE_TRY(fe_scratch_take(scratch(k), 1, &found));
    FE_TRY(k->d->ops->memory.zero(k->d, sizeof *found, found));
    FE_TRY(fe_device_allocate(k->d, 6 * (size_t)k->n, sizeof **kept, "multigrid level", (void **)kept));
    FE_LAUNCH(k->d, 6 * (size_t)k->n, THREADS, take_six, k->n, k->inverse, *kept, found);
    return k->d->ops->memory.download(k->d, sizeof *beyond, found, beyond);
}

/* A warp per row of blocks. */
__global__ void __launch_bounds__(THREADS) spread(fe_sparse A, double *M)
{
    const int i = (int)((blockIdx.x * (size_t)THREADS + threadIdx.x) / WARP), n = 6 * A.n_row;
    if (i >= A.n_row) return;
    for (int t = 36 * A.first[i] + threadIdx.x % WARP; t < 36 * A.first[i + 1]; t += WARP)
        M[(size_t)(6 * i + t % 36 / 6) * n + 6 * A.column[t / 36] + t % 6] = A.value[t];
}

/* Rounding leaves the inverse unsymmetric by some of its last digits. */
template <typename number> __global__ void keep_symmetric(int n, const double *M, number *kept)
{
    const size_t t = blockIdx.x * (size_t)THREADS + threadIdx.x;
    if (t < (size_t)n * n) kept[t] = (number)(0.5 * (M[t] + M[t % n * n + t / n]));
}

/* The largest sum of absolute values of a row, a warp per row. Numbers that are not negative are in the order
 * of their bits. */
__global__ void __launch_bounds__(THREADS) largest_row(int n, const double *M, unsigned long long *largest)
{
    const int i = (int)((blockIdx.x * (size_t)THREADS + threadIdx.x) / WARP), lane = threadIdx.x % WARP;
    double sum = 0.0;
    if (i >= n) return;
    for (int j = lane; j < n; j += WARP) sum += fabs(M[(size_t)i * n + j]);
#pragma unroll
    for (int apart = WARP / 2; apart > 0; apart /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, apart);
    if (lane == 0) atomicMax(largest, (unsigned long long)__double_as_longlong(sum));
}

static fe_status invert_on_host(fe_setup *k, int n, double *M, double *condition, int *singular)
{
    fe_device *d = k->d;
    double *host = NULL;
    uint8_t *absent = NULL;
    const size_t bytes = (size_t)n * (size_t)n * sizeof *host;
    FE_ALLOCATE(host, (size_t)n * (size_t)n, "coarsest matrix");
    fe_status status = fe_allocate((size_t)n, 1, "coarsest matrix", (void **)&absent);
    if (status == FE_OK) status = d->ops->memory.download(d, (size_t)n, k->absent, absent);
    if (status == FE_OK) status = d->ops->memory.download(d, bytes, M, host);
    if (status == FE_OK) status = fe_dense_invert(n, absent, host, condition, singular);
    if (status == FE_OK) status = d->ops->memory.upload(d, bytes, host, M);
    free(host), free(absent);
    return status;
}

static fe_status norm_of(fe_setup *k, int n, const double *M, double *norm)
{
    FE_TRY(k->d->ops->memory.zero(k->d, sizeof *norm, norm));
    FE_LAUNCH(k->d, (size_t)n * WARP, THREADS, largest_row, n, M, (unsigned long long *)norm);
    return FE_OK;
}

/* M becomes the inverse of A. Where elimination finds a poor pivot, the host does it. */
static fe_status invert(fe_setup *k, int n, double *M, double *condition, int *singular)
{
    fe_device *d = k->d;
    const size_t square = (size_t)n * (size_t)n;
    double *work, *norms, host[2];
    int poor = 0;
    FE_TRY(fe_scratch_take(scratch(k), fe_cuda_invert_size(n), &work));
    FE_TRY(fe_scratch_take(scratch(k), 2, &norms));
    FE_TRY(d->ops->memory.zero(d, square * sizeof *M, M));
    FE_LAUNCH(d, (size_t)k->A.n_row * WARP, THREADS, spread, k->A, M);
    FE_TRY(norm_of(k, n, M, norms));
    FE_TRY(fe_cuda_invert(d, n, M, work, &poor));
    if (poor) {
        FE_TRY(d->ops->memory.zero(d, square * sizeof *M, M));
        FE_LAUNCH(d, (size_t)k->A.n_row * WARP, THREADS, spread, k->A, M);
        return invert_on_host(k, n, M, condition, singular);
    }
    FE_TRY(norm_of(k, n, M, norms + 1));
    FE_TRY(d->ops->memory.download(d, sizeof host, norms, host));
    *condition = host[0] * host[1];
    return FE_OK;
}

static fe_status keep_dense(fe_setup *k, fe_dense *kept, double *condition, int *singular)
{
    fe_device *d = k->d;
    const int n = 6 * k->n;
    const size_t square = (size_t)n * (size_t)n;
    double *M;
    FE_TRY(fe_scratch_take(scratch(k), square, &M));
    FE_TRY(invert(k, n, M, condition, singular));
    FE_TRY(fe_dense_open(d, n, *condition, kept));
    if (kept->exact)
        FE_LAUNCH(d, square, THREADS, keep_symmetric<double>, n, M, kept->exact);
    else
        FE_LAUNCH(d, square, THREADS, keep_symmetric<float>, n, M, kept->single);
    return FE_OK;
}

static fe_status keep_last(fe_setup *k, const fe_coarse_level *l, fe_last_levels *last)
{
    return fe_last_levels_cuda(scratch(k), k->m, l, l + 1, last);
}

extern "C" const fe_setup_steps fe_setup_cuda = {
    .open = open_cuda,
    .close = close_cuda,
    .finest = finest,
    .invert_diagonal = invert_diagonal,
    .aggregate = aggregate,
    .measure = measure,
    .coarsen = coarsen,
    .descend = descend,
    .keep_matrix = keep_matrix,
    .keep_transfers = keep_transfers,
    .keep_inverse = keep_inverse,
    .keep_six = keep_six,
    .keep_dense = keep_dense,
    .keep_last = keep_last,
    .ranks = &fe_rank_steps_cuda,
};
