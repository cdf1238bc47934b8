#include "common/multigrid/block_exact.h"

fe_status fe_host_exact_product(fe_device *d, const fe_block_matrix *M, int n_x, const double *x, int n_y,
                                double *y)
{
    const int rows = M->rows, columns = M->columns, size = rows * columns;
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (int i = 0; i < M->n_row; i++) {
        double sum[6] = {0};
        for (int k = M->first[i]; k < M->first[i + 1]; k++) {
            const int16_t *value = M->value + (size_t)FE_BLOCK_STRIDE(size) * (size_t)k;
            float scale;
            memcpy(&scale, value + size, sizeof scale);
            for (int c = 0; c < columns; c++) {
                const double xc = (double)scale * x[fe_exact_place(columns, n_x, M->column[k], c)];
                for (int r = 0; r < rows; r++) sum[r] += value[r * columns + c] * xc;
            }
        }
        for (int r = 0; r < rows; r++) y[fe_exact_place(rows, n_y, i, r)] += sum[r];
    }
    return FE_OK;
}

fe_status fe_host_exact_inverse(fe_device *d, int size, int rows, const float *inverse, int n,
                                const double *x, double *y)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (int i = 0; i < rows; i++)
        for (int r = 0; r < size; r++)
            y[fe_exact_place(size, n, i, r)] = fe_exact_row(size, inverse, n, x, i, r);
    return FE_OK;
}

fe_status fe_host_exact_dense(fe_device *d, const fe_dense *M, int n, const double *x, double *y)
{
#pragma omp parallel for schedule(static) num_threads(d->threads)
    for (int i = 0; i < M->n; i++) {
        double sum = 0.0;
        for (int j = 0; j < M->n; j++) sum += fe_dense_entry(M, i, j) * x[fe_exact_place(6, n, j / 6, j % 6)];
        y[fe_exact_place(6, n, i / 6, i % 6)] = sum;
    }
    return FE_OK;
}
