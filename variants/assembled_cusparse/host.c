/* assembled_cusparse and assembled_csr on the host: the rows of the same matrix, one after the other. */
#include "common/problem/loops.h"
#include "variants/assembled_bsr/matrix.h"

static fe_status setup(fe_problem *p, void **work)
{
    FE_TRY(fe_device_keep(p->device, sizeof(bsr_matrix), "assembled_cusparse", work));
    return bsr_open(p, BSR_PLAIN, *work);
}

static fe_status setup_csr(fe_problem *p, void **work)
{
    FE_TRY(fe_device_keep(p->device, sizeof(bsr_matrix), "assembled_csr", work));
    return bsr_open(p, BSR_CSR, *work);
}

static void row_product(const bsr_rows *r, int i, const double *direction, double *y)
{
    double sum[3] = {0.0, 0.0, 0.0};
    for (int place = r->first[i]; place < r->first[i + 1]; place++) {
        const double *K = r->value + 9 * (size_t)place, *x = direction + 3 * (size_t)r->column[place];
        for (int c = 0; c < 3; c++) sum[c] += K[3 * c] * x[0] + K[3 * c + 1] * x[1] + K[3 * c + 2] * x[2];
    }
    for (int c = 0; c < 3; c++) y[3 * (size_t)(r->row + i) + c] += sum[c];
}

/* The same of rows of scalars. */
static void scalar_product(const bsr_rows *r, int i, const double *direction, double *y)
{
    const int *column = r->column + r->first[i], n = r->first[i + 1] - r->first[i];
    for (int c = 0; c < 3; c++) {
        const double *K = r->value + bsr_entry(r, i, 0, 3 * c);
        double sum = 0.0;
        for (int k = 0; k < n; k++) {
            const double *x = direction + 3 * (size_t)column[k];
            sum += K[3 * k] * x[0] + K[3 * k + 1] * x[1] + K[3 * k + 2] * x[2];
        }
        y[3 * (size_t)(r->row + i) + c] += sum;
    }
}

static fe_status jacvec(const fe_problem *p, void *work, fe_part part, const double *direction, double *y)
{
    const bsr_matrix *matrix = work;
    const bsr_rows *r = &matrix->part[part];
    const int threads = p->device->threads;
    FE_PARALLEL_FOR (i, 0, r->n_row, 1, threads)
        if (r->scalar)
            scalar_product(r, i, direction, y);
        else
            row_product(r, i, direction, y);
    return FE_OK;
}

const fe_assembly assembled_cusparse_host = {.setup = setup,
                                             .residual = bsr_residual,
                                             .material = bsr_material_host,
                                             .jacvec = jacvec,
                                             .diagonal = bsr_diagonal_host,
                                             .traits = FE_ASSEMBLED};

const fe_assembly assembled_csr_host = {.setup = setup_csr,
                                        .residual = bsr_residual,
                                        .material = bsr_material_host,
                                        .jacvec = jacvec,
                                        .diagonal = bsr_diagonal_host,
                                        .traits = FE_ASSEMBLED};
