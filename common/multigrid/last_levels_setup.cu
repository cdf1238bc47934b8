/* Q = (I - S A) P of the last two levels: the sweeps, with a right-hand side of zero, of all columns of P at
 * once. Which blocks of a row are not zero is known by bits. */
#include "common/multigrid/block_rows.h"
#include "common/multigrid/setup_cuda.h"

enum { WORDS = 256 / 32, STAGED = 32, NUMBERS = FE_BLOCK_STRIDE(36) / 2 };

/* [n][6][6 m] numbers, and [n][WORDS] bits of the blocks that are there; others are not set. */
typedef struct columns {
    int m;
    float *x;
    unsigned *bits;
} columns;
FE_BODY float *block_of(const columns &X, int i, int j) { return X.x + ((size_t)i * 6 * X.m + j) * 6; }
FE_BODY bool has_block(const unsigned *bits, int j) { return bits[j / 32] >> (j % 32) & 1; }

FE_BODY float entry_of_block(const fe_block_matrix &M, int k, int at)
{
    const int16_t *const block = M.value + (size_t)FE_BLOCK_STRIDE(36) * k;
    return (float)block[at] * *(const float *)(block + 36);
}

/* A block of threads per row. */
__global__ void __launch_bounds__(THREADS) open_columns(fe_block_matrix P, columns X)
{
    const int i = blockIdx.x, first = P.first[i], n = P.first[i + 1] - first;
    __shared__ unsigned bits[WORDS];
    if (threadIdx.x < WORDS) bits[threadIdx.x] = 0;
    __syncthreads();
    for (int t = threadIdx.x; t < 36 * n; t += THREADS) {
        const int j = P.column[first + t / 36], at = t % 36;
        block_of(X, i, j)[at / 6 * 6 * X.m + at % 6] = entry_of_block(P, first + t / 36, at);
        if (at == 0) atomicOr(bits + j / 32, 1u << (j % 32));
    }
    __syncthreads();
    if (threadIdx.x < WORDS) X.bits[(size_t)i * WORDS + threadIdx.x] = bits[threadIdx.x];
}

/* The columns of a row whose bits are set, in order, by the first warp; their number. */
FE_BODY int list_bits(const unsigned bits[WORDS], short *list)
{
    int n = 0;
    for (int w = 0; w < WORDS; w++) {
        const int lane = threadIdx.x, at = n + __popc(bits[w] & ((1u << lane) - 1));
        if (bits[w] >> lane & 1) list[at] = (short)(w * 32 + lane);
        n += __popc(bits[w]);
    }
    return n;
}

/* Y = X + direction, direction = - new D^-1 A X + old direction, of a row: a block of threads, each with a
 * column at a time. first: there is no old direction. */
__global__ void __launch_bounds__(THREADS)
    sweep_columns(fe_block_matrix A, const float *__restrict__ inverse, fe_sweep sweep, columns X,
                  float *direction, int first, columns Y)
{
    __shared__ __align__(16) float a[STAGED][36];
    __shared__ unsigned all[WORDS], own[WORDS], bits[STAGED][WORDS];
    __shared__ int column[STAGED], n_list;
    __shared__ short list[32 * WORDS];
    const int i = blockIdx.x, begin = A.first[i], end = A.first[i + 1], width = 6 * X.m;
    if (threadIdx.x < WORDS) all[threadIdx.x] = 0, own[threadIdx.x] = X.bits[(size_t)i * WORDS + threadIdx.x];
    __syncthreads();
    for (int t = threadIdx.x; t < (end - begin) * WORDS; t += THREADS)
        atomicOr(all + t % WORDS, X.bits[(size_t)A.column[begin + t / WORDS] * WORDS + t % WORDS]);
    __syncthreads();
    if (threadIdx.x < WARP) {
        const int n = list_bits(all, list);
        if (threadIdx.x == 0) n_list = n;
        if (threadIdx.x < WORDS) Y.bits[(size_t)i * WORDS + threadIdx.x] = all[threadIdx.x];
    }
    __syncthreads();
    for (int from = 0; from < 6 * n_list; from += THREADS) {
        const int t = from + threadIdx.x, j = t < 6 * n_list ? list[t / 6] : -1, at = 6 * j + t % 6;
        float sum[6] = {};
        for (int k0 = begin; k0 < end; k0 += STAGED) {
            const int n = min((int)STAGED, end - k0);
            __syncthreads();
            for (int s = threadIdx.x; s < 36 * n; s += THREADS)
                a[s / 36][s % 36] = entry_of_block(A, k0 + s / 36, s % 36);
            for (int s = threadIdx.x; s < WORDS * n; s += THREADS)
                bits[s / WORDS][s % WORDS] = X.bits[(size_t)A.column[k0 + s / WORDS] * WORDS + s % WORDS];
            if (threadIdx.x < n) column[threadIdx.x] = A.column[k0 + threadIdx.x];
            __syncthreads();
            for (int k = 0; k < n && j >= 0; k++) {
                if (!has_block(bits[k], j)) continue;
                const float *const x = X.x + (size_t)column[k] * 6 * width + at;
                float value[6];
#pragma unroll
                for (int c = 0; c < 6; c++) value[c] = x[(size_t)c * width];
#pragma unroll
                for (int r = 0; r < 6; r++)
#pragma unroll
                    for (int c = 0; c < 6; c++) sum[r] += a[k][6 * r + c] * value[c];
            }
        }
        if (j < 0) continue;
        const bool there = has_block(own, j);
#pragma unroll
        for (int r = 0; r < 6; r++) {
            const size_t place = ((size_t)i * 6 + r) * width + at;
            float y = 0.0f;
#pragma unroll
            for (int c = 0; c < 6; c++) y += inverse[36 * (size_t)i + 6 * r + c] * sum[c];
            float step = -sweep.new_factor * y;
            if (!first && there) step += sweep.old_factor * direction[place];
            direction[place] = step;
            Y.x[place] = (there ? X.x[place] : 0.0f) + step;
        }
    }
}

/* Q's rows: a block of threads per row, a block of Q per thread. */
__global__ void __launch_bounds__(THREADS) round_columns(columns X, fe_roomy_matrix Q)
{
    __shared__ short list[32 * WORDS];
    __shared__ unsigned bits[WORDS];
    __shared__ int n_list;
    const int i = blockIdx.x;
    if (threadIdx.x < WORDS) bits[threadIdx.x] = X.bits[(size_t)i * WORDS + threadIdx.x];
    __syncthreads();
    if (threadIdx.x < WARP) {
        const int n = list_bits(bits, list);
        if (threadIdx.x == 0) n_list = Q.count[i] = n;
    }
    __syncthreads();
    for (int t = threadIdx.x; t < n_list; t += THREADS) {
        const float *const x = block_of(X, i, list[t]);
        const size_t k = (size_t)i * Q.room + t;
        int16_t *const value = (int16_t *)Q.M.value + FE_BLOCK_STRIDE(36) * k;
        double largest = 0.0;
        for (int at = 0; at < 36; at++)
            largest = fe_block_largest(largest, (double)x[at / 6 * 6 * X.m + at % 6]);
        const float scale = fe_block_scale(largest);
        for (int at = 0; at < 36; at++)
            value[at] = fe_block_number((double)x[at / 6 * 6 * X.m + at % 6], scale);
        *(float *)(value + 36) = scale;
        ((int *)Q.M.column)[k] = list[t];
    }
}

/* R's rows from Q's: a block of threads per row, each of whose threads looks at a row of Q at a time. */
__global__ void __launch_bounds__(THREADS)
    turn_columns(columns X, int n, fe_roomy_matrix Q, fe_roomy_matrix R)
{
    __shared__ int before[THREADS / WARP];
    const int j = blockIdx.x, lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    int found = 0;
    for (int from = 0; from < n; from += THREADS) {
        const int i = from + threadIdx.x;
        const unsigned *const bits = X.bits + (size_t)i * WORDS;
        const bool has = i < n && has_block(bits, j);
        const unsigned lanes = __ballot_sync(0xffffffffu, has);
        __syncthreads();
        if (lane == 0) before[warp] = __popc(lanes);
        __syncthreads();
        int at = found + __popc(lanes & ((1u << lane) - 1));
        for (int w = 0; w < THREADS / WARP; w++) {
            if (w < warp) at += before[w];
            found += before[w];
        }
        if (!has) continue;
        int place = __popc(bits[j / 32] & ((1u << (j % 32)) - 1));
        for (int w = 0; w < j / 32; w++) place += __popc(bits[w]);
        const int16_t *const one = Q.M.value + FE_BLOCK_STRIDE(36) * ((size_t)i * Q.room + place);
        const size_t k = (size_t)j * R.room + at;
        int16_t *const two = (int16_t *)R.M.value + FE_BLOCK_STRIDE(36) * k;
        for (int e = 0; e < 36; e++) two[e] = one[e % 6 * 6 + e / 6];
        *(float *)(two + 36) = *(const float *)(one + 36);
        ((int *)R.M.column)[k] = i;
    }
    if (threadIdx.x == 0) R.count[j] = found;
}

static fe_status open_last(fe_device *d, int n, int m, fe_last_levels *w)
{
    const size_t blocks = (size_t)n * (size_t)m, size = FE_BLOCK_STRIDE(36) * sizeof(int16_t);
    *w = {};
    w->parts = (int)fe_grid((size_t)n, THREADS);
    w->Q.room = m, w->R.room = n;
    w->Q.M.rows = w->Q.M.columns = w->R.M.rows = w->R.M.columns = 6;
    w->Q.M.n_row = n, w->R.M.n_row = m;
    const size_t part = 6 * (size_t)m * (size_t)w->parts;
    const fe_array array[] = {
        {(size_t)n, sizeof(int), (void **)&w->Q.count}, {blocks, sizeof(int), (void **)&w->Q.M.column},
        {blocks, size, (void **)&w->Q.M.value},         {(size_t)m, sizeof(int), (void **)&w->R.count},
        {blocks, sizeof(int), (void **)&w->R.M.column}, {blocks, size, (void **)&w->R.M.value},
        {part, sizeof(float), (void **)&w->part},       {6 * (size_t)m, sizeof(float), (void **)&w->y}};
    FE_TRY(fe_device_reserve_arrays(d, sizeof array / sizeof *array, array, "multigrid level"));
    FE_TRY(d->ops->memory.zero(d, part * sizeof(float), w->part));
    w->n = n, w->m = m;
    return FE_OK;
}

static fe_status take_columns(fe_scratch *s, int n, int m, columns *X)
{
    X->m = m;
    FE_TRY(fe_scratch_take(s, 36 * (size_t)n * (size_t)m, &X->x));
    return fe_scratch_take(s, (size_t)n * WORDS, &X->bits);
}

fe_status fe_last_levels_cuda(fe_scratch *s, const fe_multigrid *m, const fe_coarse_level *l,
                              const fe_coarse_level *next, fe_last_levels *w)
{
    fe_device *d = s->d;
    const fe_scratch_mark mark = fe_scratch_now(s);
    columns X, Y;
    float *direction;
    FE_TRY(open_last(d, l->n, next->n, w));
    FE_TRY(take_columns(s, l->n, next->n, &X));
    FE_TRY(take_columns(s, l->n, next->n, &Y));
    FE_TRY(fe_scratch_take(s, 36 * (size_t)l->n * (size_t)next->n, &direction));
    const size_t threads = (size_t)l->n * THREADS;
    FE_LAUNCH(d, threads, THREADS, open_columns, next->P, X);
    for (int i = 0; i < m->degree; i++) {
        FE_LAUNCH(d, threads, THREADS, sweep_columns, l->A, l->inverse, l->sweep[i], X, direction, i == 0, Y);
        const columns swap = X;
        X = Y, Y = swap;
    }
    FE_LAUNCH(d, threads, THREADS, round_columns, X, w->Q);
    FE_LAUNCH(d, (size_t)next->n * THREADS, THREADS, turn_columns, X, l->n, w->Q, w->R);
    fe_scratch_return(s, mark);
    return FE_OK;
}
