/* assembled_symmetric on the host: the rows of a slice are the SIMD lanes, as in assembled_bsr; sums are
 * added atomically where several threads work. */
#include "common/problem/loops.h"
#include "variants/assembled_bsr/matrix.h"

enum { SLICE = BSR_LINE_ROWS };

static fe_status setup(fe_problem *p, void **work)
{
    return bsr_set_up(p, BSR_UPPER_LINE, FE_PRECISION, work);
}
static fe_status setup_from(fe_problem *p, void *in_double, void **work)
{
    return bsr_set_up_from(p, BSR_UPPER_LINE, in_double, FE_PRECISE(bsr_elastic_host), work);
}

/* Rows [first, first + FE_LANES) of the matrix, `active` of them; the last one repeated. */
FE_BODY void rows_product(const bsr_rows *r, int n_owned, int first, int active, int contended,
                          const fe_number *direction, fe_number *y)
{
    const fe_index node = bsr_nodes_from(r, first), lanes = fe_lanes_from(first % SLICE);
    fe_real own[3], sum[3];
    fe_read3(direction, node, own);
    FE_UNROLL_FOR (int c = 0; c < 3; c++) sum[c] = fe_splat(0.0f);
    for (int place = r->first[first / SLICE]; place < r->first[first / SLICE + 1]; place++) {
        const fe_index column = fe_read_index(r->column, lanes, bsr_column_at(r, place, 0));
        fe_real x[3], K[9], back[3];
        if (FE_PRECISION == FE_MIXED)
            fe_read3_from(direction, column, node, x);
        else
            fe_read3(direction, column, x);
        FE_UNROLL_FOR (int c = 0; c < 9; c++) K[c] = fe_read(r->value, lanes, bsr_value_at(r, place, c, 0));
        FE_UNROLL_FOR (int c = 0; c < 3; c++)
            FE_UNROLL_FOR (int k = 0; k < 3; k++) sum[c] += K[3 * c + k] * x[k];
        FE_UNROLL_FOR (int k = 0; k < 3; k++)
            back[k] = FE_PRECISION == FE_MIXED ? -(K[k] * x[0] + K[3 + k] * x[1] + K[6 + k] * x[2])
                                               : K[k] * own[0] + K[3 + k] * own[1] + K[6 + k] * own[2];
        for (int l = 0; l < active; l++) { /* neither the diagonal, nor what fills up, nor ghosts */
            const int j = column.lane[l];
            if (j == node.lane[l] || j >= n_owned) continue;
            fe_number *to = y + 3 * (size_t)j;
            for (int k = 0; k < 3; k++)
                if (contended) {
                    _Pragma("omp atomic") to[k] += back[k][l];
                } else {
                    to[k] += back[k][l];
                }
        }
    }
    fe_add3(y, node, active, contended, sum);
}

static fe_status jacvec(const fe_problem *p, void *work, fe_part part, const void *direction, void *y)
{
    const bsr_matrix *matrix = work;
    const bsr_rows *r = &matrix->part[part];
    const int threads = p->device->threads, n_owned = p->view.n_owned;
    FE_PARALLEL_FOR (first, 0, r->n_row, FE_LANES, threads)
        rows_product(r, n_owned, first, r->n_row - first < FE_LANES ? r->n_row - first : FE_LANES,
                     threads > 1, direction, y);
    return FE_OK;
}

FE_TABLE(assembled_symmetric_host, .setup = setup, .setup_from = FE_SETUP_FROM(setup_from),
         .residual = bsr_residual, .material = FE_PRECISE(bsr_material_host), .jacvec = jacvec,
         .diagonal = FE_PRECISE(bsr_diagonal_host), .matrix_bytes = bsr_matrix_bytes, .traits = FE_ASSEMBLED)
