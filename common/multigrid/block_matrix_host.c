/* Block matrices on the host: a thread owns block rows. */
#include "common/multigrid/block_exact.h"

#include <cblas.h>
#include <string.h>

/* Blocks are multiplied eight numbers at a time, each with its own sum: numbers 8 m + l of all blocks of a
 * row with the entries of x that belong to them. A block's last eight overlap the eight before: there an
 * empty entry of x stands for those that are counted already. */
typedef float eight __attribute__((vector_size(32)));
typedef int16_t eight_short __attribute__((vector_size(16)));
typedef int32_t eight_int __attribute__((vector_size(32)));
#if defined __clang__ || __GNUC__ >= 12
#define SHUFFLE(x, ...) __builtin_shufflevector(x, x, __VA_ARGS__)
#else
#define SHUFFLE(x, ...) __builtin_shuffle(x, (eight_int){__VA_ARGS__})
#endif
enum { EMPTY = 7, MOST_EIGHTS = 5 };

static inline __attribute__((always_inline)) void add_eight(const int16_t *value, eight x, eight *sum)
{
    eight_short number;
    memcpy(&number, value, sizeof number);
    *sum += __builtin_convertvector(number, eight) * x;
}

/* sum += a block; x: its entries, times the block's scale, and zeros. */
static inline __attribute__((always_inline)) void add_block(int rows, int columns, const int16_t *value,
                                                            eight x, eight sum[MOST_EIGHTS])
{
    if (columns == 3) {
        add_eight(value, SHUFFLE(x, 0, 1, 2, 0, 1, 2, 0, 1), &sum[0]);
        add_eight(value + 8, SHUFFLE(x, 2, 0, 1, 2, 0, 1, 2, 0), &sum[1]);
        add_eight(value + 10, SHUFFLE(x, EMPTY, EMPTY, EMPTY, EMPTY, EMPTY, EMPTY, 1, 2), &sum[2]);
        return;
    }
    add_eight(value, SHUFFLE(x, 0, 1, 2, 3, 4, 5, 0, 1), &sum[0]);
    add_eight(value + 8, SHUFFLE(x, 2, 3, 4, 5, 0, 1, 2, 3), &sum[1]);
    if (rows == 3) {
        add_eight(value + 10, SHUFFLE(x, EMPTY, EMPTY, EMPTY, EMPTY, EMPTY, EMPTY, 4, 5), &sum[2]);
        return;
    }
    add_eight(value + 16, SHUFFLE(x, 4, 5, 0, 1, 2, 3, 4, 5), &sum[2]);
    add_eight(value + 24, SHUFFLE(x, 0, 1, 2, 3, 4, 5, 0, 1), &sum[3]);
    add_eight(value + 28, SHUFFLE(x, EMPTY, EMPTY, EMPTY, EMPTY, 2, 3, 4, 5), &sum[4]);
}

/* The sums of the rows of a block. */
static inline __attribute__((always_inline)) void add_up(int rows, int columns, const eight sum[MOST_EIGHTS],
                                                         float row[6])
{
    const int n = rows * columns;
    float each[36];
    for (int m = 0; 8 * m < n; m++)
        for (int l = 0; l < 8; l++) {
            const int first = 8 * m + 8 <= n ? 8 * m : n - 8;
            if (first + l >= 8 * m) each[first + l] = sum[m][l];
        }
    for (int r = 0; r < rows; r++) {
        row[r] = 0.0f;
        for (int c = 0; c < columns; c++) row[r] += each[columns * r + c];
    }
}

/* The numbers of block k of M; *scale: what they are to be multiplied by. */
static inline __attribute__((always_inline)) const int16_t *block_at(const fe_block_matrix *M, int n, int k,
                                                                     float *scale)
{
    const int16_t *value = M->value + (size_t)FE_BLOCK_STRIDE(n) * (size_t)k;
    memcpy(scale, value + n, sizeof *scale);
    return value;
}

/* Row i of M times x, [rows]; M has blocks of 3 × 6 or 6 × 6. Constants where it is inlined. */
static inline __attribute__((always_inline)) void times_row(int rows, const fe_block_matrix *M, int i,
                                                            const float *x, float row[6])
{
    eight sum[MOST_EIGHTS] = {{0}};
    for (int k = M->first[i]; k < M->first[i + 1]; k++) {
        const float *from = x + 6 * (size_t)M->column[k];
        const eight xk = {from[0], from[1], from[2], from[3], from[4], from[5]};
        float scale;
        const int16_t *value = block_at(M, 6 * rows, k, &scale);
        add_block(rows, 6, value, scale * xk, sum);
    }
    add_up(rows, 6, sum, row);
}

static fe_status fine_start(fe_device *d, const fe_fine_start *start, const double *exact_b)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (int i = 0; i < start->n; i++) fe_fine_start_node(start, i, exact_b + 3 * (size_t)i);
    return FE_OK;
}

static fe_status fine_sweep(fe_device *d, int n, const float *inverse, fe_sweep sweep, const float *b,
                            const float *Ax, float *direction, float *x, float *clear, double *out)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (int i = 0; i < n; i++) {
        float r[3], y[3];
        for (size_t j = 3 * (size_t)i, c = 0; c < 3; j++, c++) r[c] = b[j] - Ax[j];
        fe_apply_six(inverse + 6 * (size_t)i, r, y);
        for (size_t j = 3 * (size_t)i, c = 0; c < 3; j++, c++) {
            direction[j] = sweep.new_factor * y[c] + sweep.old_factor * direction[j];
            x[j] += direction[j];
            if (clear) clear[j] = 0.0f;
            if (out) out[j] = (double)x[j];
        }
    }
    return FE_OK;
}

static fe_status fine_inverse(fe_device *d, int n, const float *inverse, const float *x, float *y)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (int i = 0; i < n; i++) fe_apply_six(inverse + 6 * (size_t)i, x + 3 * (size_t)i, y + 3 * (size_t)i);
    return FE_OK;
}

static fe_status fine_residual(fe_device *d, int n, const float *b, const float *Ax, float *r)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (size_t i = 0; i < 3 * (size_t)n; i++) r[i] = b[i] - Ax[i];
    return FE_OK;
}

/* Of row i, whose b is given. */
static void sweep_first(const fe_first_sweep *first, int i, const float b[6])
{
    for (size_t j = 6 * (size_t)i, c = 0; c < 6; j++, c++) {
        float y = 0.0f;
        for (int k = 0; k < 6; k++) y += first->inverse[6 * j + (size_t)k] * b[k];
        first->direction[j] = first->x[j] = first->sweep.new_factor * y;
    }
}

static fe_status fine_restrict(fe_device *d, const fe_block_matrix *R, const float *r, const float *Ax,
                               const fe_first_sweep *first, float *coarse)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (int i = 0; i < R->n_row; i++) {
        eight sum[MOST_EIGHTS] = {{0}};
        for (int k = R->first[i]; k < R->first[i + 1]; k++) {
            const size_t at = 3 * (size_t)R->column[k];
            eight rk = {r[at], r[at + 1], r[at + 2]};
            if (Ax) rk -= (eight){Ax[at], Ax[at + 1], Ax[at + 2]};
            float scale;
            const int16_t *value = block_at(R, 18, k, &scale);
            add_block(6, 3, value, scale * rk, sum);
        }
        add_up(6, 3, sum, coarse + 6 * (size_t)i);
        if (first) sweep_first(first, i, coarse + 6 * (size_t)i);
    }
    return FE_OK;
}

static fe_status fine_prolong(fe_device *d, const fe_block_matrix *P, const float *coarse, float *x,
                              float *clear)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (int i = 0; i < P->n_row; i++) {
        float sum[6];
        times_row(3, P, i, coarse, sum);
        for (size_t j = 3 * (size_t)i, c = 0; c < 3; j++, c++) {
            x[j] += sum[c];
            if (clear) clear[j] = 0.0f;
        }
    }
    return FE_OK;
}

static fe_status sweep_coarse(fe_device *d, const fe_block_matrix *A, const float *inverse, fe_sweep sweep,
                              const float *b, const float *x, float *direction, float *out)
{
    const fe_first_sweep first = {inverse, sweep, direction, out};
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (int i = 0; i < A->n_row; i++) {
        const size_t at = 6 * (size_t)i;
        float product[6], r[6];
        if (!x) {
            sweep_first(&first, i, b + at);
            continue;
        }
        times_row(6, A, i, x, product);
        for (int c = 0; c < 6; c++) r[c] = b[at + (size_t)c] - product[c];
        for (int c = 0; c < 6; c++) {
            const float *row = inverse + 6 * at + 6 * c;
            float y = 0.0f;
            for (int j = 0; j < 6; j++) y += row[j] * r[j];
            const size_t j = at + (size_t)c;
            direction[j] = sweep.new_factor * y + sweep.old_factor * direction[j];
            out[j] = x[j] + direction[j];
        }
    }
    return FE_OK;
}

static fe_status residual(fe_device *d, const fe_block_matrix *A, const float *b, const float *x, float *r)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (int i = 0; i < A->n_row; i++) {
        float sum[6];
        times_row(6, A, i, x, sum);
        for (size_t j = 6 * (size_t)i, c = 0; c < 6; j++, c++) r[j] = b[j] - sum[c];
    }
    return FE_OK;
}

static fe_status coarse_restrict(fe_device *d, const fe_block_matrix *R, const float *r,
                                 const fe_first_sweep *first, float *coarse)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (int i = 0; i < R->n_row; i++) {
        times_row(6, R, i, r, coarse + 6 * (size_t)i);
        if (first) sweep_first(first, i, coarse + 6 * (size_t)i);
    }
    return FE_OK;
}

static fe_status product(fe_device *d, const fe_block_matrix *M, const float *x, float *y)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (int i = 0; i < M->n_row; i++) { times_row(6, M, i, x, y + 6 * (size_t)i); }
    return FE_OK;
}

static fe_status add_product(fe_device *d, const fe_block_matrix *M, const float *x, float *y)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (int i = 0; i < M->n_row; i++) {
        float sum[6];
        times_row(6, M, i, x, sum);
        for (size_t j = 6 * (size_t)i, c = 0; c < 6; j++, c++) y[j] += sum[c];
    }
    return FE_OK;
}

/* In double precision row i of M. */
static double exact_row(const fe_dense *M, int i, const float *x)
{
    const double *row = M->exact + (size_t)i * (size_t)M->n;
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (int j = 0; j < M->n; j++) sum += row[j] * (double)x[j];
    return sum;
}

static fe_status dense(fe_device *d, const fe_dense *M, const float *x, float *y)
{
    const int n = M->n;
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (int i = 0; i < n; i++)
        y[i] = M->exact ? (float)exact_row(M, i, x) : cblas_sdot(n, M->single + (size_t)i * n, 1, x, 1);
    return FE_OK;
}

static fe_status noise(fe_device *d, size_t n, float *x)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (size_t i = 0; i < n; i++) x[i] = (float)fe_noise(i);
    return FE_OK;
}

const fe_block_ops fe_block_ops_host = {
    .fine_start = fine_start,
    .fine_sweep = fine_sweep,
    .fine_inverse = fine_inverse,
    .fine_residual = fine_residual,
    .fine_restrict = fine_restrict,
    .fine_prolong = fine_prolong,
    .sweep = sweep_coarse,
    .residual = residual,
    .coarse_restrict = coarse_restrict,
    .product = product,
    .add_product = add_product,
    .dense = dense,
    .exact_product = fe_host_exact_product,
    .exact_inverse = fe_host_exact_inverse,
    .exact_dense = fe_host_exact_dense,
    .noise = noise,
};
