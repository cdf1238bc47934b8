/* Block matrices on the host: a thread owns block rows. */
#include "common/backend/block_matrix.h"

#include <cblas.h>
#include <string.h>

/* sum += row i of M times x; constants where it is inlined. */
static inline __attribute__((always_inline)) void add_row(int rows, int columns, const fe_block_matrix *M,
                                                          int i, const float *x, float sum[6])
{
    for (int k = M->first[i]; k < M->first[i + 1]; k++) {
        const float *value = M->value + (size_t)k * rows * columns, *xk = x + (size_t)columns * M->column[k];
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < columns; c++) sum[r] += value[r * columns + c] * xk[c];
    }
}

static fe_status fine_sweep(fe_device *d, int n, const float *inverse, fe_sweep sweep, const double *b,
                            const double *Ax, float *direction, double *x, double *clear)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (int i = 0; i < n; i++) {
        float r[3], y[3];
        for (size_t j = 3 * (size_t)i, c = 0; c < 3; j++, c++) r[c] = (float)(Ax ? b[j] - Ax[j] : b[j]);
        fe_apply_six(inverse + 6 * (size_t)i, r, y);
        for (size_t j = 3 * (size_t)i, c = 0; c < 3; j++, c++) {
            direction[j] = sweep.new_factor * y[c] + (Ax ? sweep.old_factor * direction[j] : 0.0f);
            x[j] = (Ax ? x[j] : 0.0) + (double)direction[j];
            if (clear) clear[j] = 0.0;
        }
    }
    return FE_OK;
}

static fe_status fine_restrict(fe_device *d, const fe_block_matrix *R, const double *b, const double *Ax,
                               float *coarse)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (int i = 0; i < R->n_row; i++) {
        float sum[6] = {0};
        for (int k = R->first[i]; k < R->first[i + 1]; k++) {
            const float *value = R->value + 18 * (size_t)k;
            const size_t j = 3 * (size_t)R->column[k];
            for (int c = 0; c < 3; c++) {
                const float r = (float)(b[j + (size_t)c] - Ax[j + (size_t)c]);
                for (int row = 0; row < 6; row++) sum[row] += value[3 * row + c] * r;
            }
        }
        memcpy(coarse + 6 * (size_t)i, sum, sizeof sum);
    }
    return FE_OK;
}

static fe_status fine_prolong(fe_device *d, const fe_block_matrix *P, const float *coarse, double *x,
                              double *clear)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (int i = 0; i < P->n_row; i++) {
        float sum[6] = {0};
        add_row(3, 6, P, i, coarse, sum);
        for (size_t j = 3 * (size_t)i, c = 0; c < 3; j++, c++) {
            x[j] += (double)sum[c];
            if (clear) clear[j] = 0.0;
        }
    }
    return FE_OK;
}

static fe_status sweep_coarse(fe_device *d, const fe_block_matrix *A, const float *inverse, fe_sweep sweep,
                              const float *b, const float *x, float *direction, float *out)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (int i = 0; i < A->n_row; i++) {
        const size_t at = 6 * (size_t)i;
        float product[6] = {0}, r[6];
        if (x) add_row(6, 6, A, i, x, product);
        for (int c = 0; c < 6; c++) r[c] = b[at + (size_t)c] - product[c];
        for (int c = 0; c < 6; c++) {
            const float *row = inverse + 6 * at + 6 * c;
            float y = 0.0f;
            for (int j = 0; j < 6; j++) y += row[j] * r[j];
            const size_t j = at + (size_t)c;
            direction[j] = sweep.new_factor * y + (x ? sweep.old_factor * direction[j] : 0.0f);
            out[j] = (x ? x[j] : 0.0f) + direction[j];
        }
    }
    return FE_OK;
}

static fe_status residual(fe_device *d, const fe_block_matrix *A, const float *b, const float *x, float *r)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (int i = 0; i < A->n_row; i++) {
        float sum[6] = {0};
        add_row(6, 6, A, i, x, sum);
        for (size_t j = 6 * (size_t)i, c = 0; c < 6; j++, c++) r[j] = b[j] - sum[c];
    }
    return FE_OK;
}

static fe_status product(fe_device *d, const fe_block_matrix *M, const float *x, float *y)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (int i = 0; i < M->n_row; i++) {
        float sum[6] = {0};
        add_row(6, 6, M, i, x, sum);
        memcpy(y + 6 * (size_t)i, sum, sizeof sum);
    }
    return FE_OK;
}

static fe_status add_product(fe_device *d, const fe_block_matrix *M, const float *x, float *y)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (int i = 0; i < M->n_row; i++) {
        float sum[6] = {0};
        add_row(6, 6, M, i, x, sum);
        for (size_t j = 6 * (size_t)i, c = 0; c < 6; j++, c++) y[j] += sum[c];
    }
    return FE_OK;
}

static fe_status dense(fe_device *d, int n, const float *M, const float *x, float *y)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (int i = 0; i < n; i++) y[i] = cblas_sdot(n, M + (size_t)i * n, 1, x, 1);
    return FE_OK;
}

static fe_status widen(fe_device *d, size_t n, const float *x, double *y)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (size_t i = 0; i < n; i++) y[i] = (double)x[i];
    return FE_OK;
}

static fe_status narrow(fe_device *d, size_t n, const double *x, float *y)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (size_t i = 0; i < n; i++) y[i] = (float)x[i];
    return FE_OK;
}

static fe_status noise(fe_device *d, size_t n, double *x)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (size_t i = 0; i < n; i++) x[i] = fe_noise(i);
    return FE_OK;
}

const fe_block_ops fe_block_ops_host = {
    .fine_sweep = fine_sweep,
    .fine_restrict = fine_restrict,
    .fine_prolong = fine_prolong,
    .sweep = sweep_coarse,
    .residual = residual,
    .product = product,
    .add_product = add_product,
    .dense = dense,
    .widen = widen,
    .narrow = narrow,
    .noise = noise,
};
