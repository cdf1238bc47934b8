/* assembled_cusparse and assembled_csr on the host: the rows of the same matrix, one after the other. */
#include "common/problem/loops.h"
#include "variants/assembled_bsr/matrix.h"

/* cuSPARSE has no product of a matrix of floats with vectors of doubles: there is no mixed precision. */
#if FE_PRECISION != FE_MIXED

static fe_status setup(fe_problem *p, void **work) { return bsr_set_up(p, BSR_PLAIN, FE_PRECISION, work); }
static fe_status setup_from(fe_problem *p, void *in_double, void **work)
{
    return bsr_set_up_from(p, BSR_PLAIN, in_double, FE_PRECISE(bsr_elastic_host), work);
}
static fe_status setup_csr(fe_problem *p, void **work) { return bsr_set_up(p, BSR_CSR, FE_PRECISION, work); }
static fe_status setup_csr_from(fe_problem *p, void *in_double, void **work)
{
    return bsr_set_up_from(p, BSR_CSR, in_double, FE_PRECISE(bsr_elastic_host), work);
}

static void row_product(const bsr_rows *r, int i, const fe_number *direction, fe_number *y)
{
    fe_number sum[3] = {0.0, 0.0, 0.0};
    for (int place = r->first[i]; place < r->first[i + 1]; place++) {
        const fe_scalar *K = r->value + 9 * (size_t)place;
        const fe_number *x = direction + 3 * (size_t)r->column[place];
        for (int c = 0; c < 3; c++) sum[c] += K[3 * c] * x[0] + K[3 * c + 1] * x[1] + K[3 * c + 2] * x[2];
    }
    for (int c = 0; c < 3; c++) y[3 * (size_t)(r->row + i) + c] += sum[c];
}

/* The same of rows of scalars. */
static void scalar_product(const bsr_rows *r, int i, const fe_number *direction, fe_number *y)
{
    const int *column = r->column + r->first[i], n = r->first[i + 1] - r->first[i];
    for (int c = 0; c < 3; c++) {
        const fe_scalar *K = r->value + bsr_entry(r, i, 0, 3 * c);
        fe_number sum = 0.0f;
        for (int k = 0; k < n; k++) {
            const fe_number *x = direction + 3 * (size_t)column[k];
            sum += K[3 * k] * x[0] + K[3 * k + 1] * x[1] + K[3 * k + 2] * x[2];
        }
        y[3 * (size_t)(r->row + i) + c] += sum;
    }
}

static fe_status jacvec(const fe_problem *p, void *work, fe_part part, const void *direction, void *y)
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

FE_TABLE(assembled_cusparse_host, .setup = setup, .setup_from = FE_SETUP_FROM(setup_from),
         .residual = bsr_residual, .material = FE_PRECISE(bsr_material_host), .jacvec = jacvec,
         .diagonal = FE_PRECISE(bsr_diagonal_host), .matrix_bytes = bsr_matrix_bytes, .traits = FE_ASSEMBLED)

FE_TABLE(assembled_csr_host, .setup = setup_csr, .setup_from = FE_SETUP_FROM(setup_csr_from),
         .residual = bsr_residual, .material = FE_PRECISE(bsr_material_host), .jacvec = jacvec,
         .diagonal = FE_PRECISE(bsr_diagonal_host), .matrix_bytes = bsr_matrix_bytes, .traits = FE_ASSEMBLED)

#endif
