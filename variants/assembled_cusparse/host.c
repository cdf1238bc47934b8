/* assembled_cusparse on the host: the rows of the same BSR matrix, one after the other. */
#include "common/problem/loops.h"
#include "variants/assembled_bsr/matrix.h"

static fe_status setup(fe_problem *p, void **work)
{
    FE_TRY(fe_device_keep(p->device, sizeof(bsr_matrix), "assembled_cusparse", work));
    return bsr_open(p, 0, *work);
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

static fe_status jacvec(const fe_problem *p, void *work, fe_part part, const double *direction, double *y)
{
    const bsr_matrix *matrix = work;
    const bsr_rows *r = &matrix->part[part];
    const int threads = p->device->threads;
    FE_PARALLEL_FOR (i, 0, r->n_row, 1, threads) row_product(r, i, direction, y);
    return FE_OK;
}

const fe_assembly assembled_cusparse_host = {.setup = setup,
                                             .residual = bsr_residual_host,
                                             .material = bsr_material_host,
                                             .jacvec = jacvec,
                                             .diagonal = bsr_diagonal_host,
                                             .traits = FE_ASSEMBLED};
