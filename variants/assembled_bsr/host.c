/* assembled_bsr on the host: a slice has as many rows as a cache line has numbers. The rows of a slice are
 * the SIMD lanes. */
#include "common/problem/loops.h"
#include "common/problem/rows.h"
#include "variants/assembled_bsr/matrix.h"

enum { SLICE = BSR_LINE_ROWS, VECTORS = SLICE / FE_LANES };

static fe_status setup(fe_problem *p, void **work) { return bsr_set_up(p, BSR_LINE, FE_PRECISION, work); }
static fe_status setup_from(fe_problem *p, void *in_double, void **work)
{
    return bsr_set_up_from(p, BSR_LINE, in_double, FE_PRECISE(bsr_elastic_host), work);
}

/* In mixed precision the product with differences from the row's own value, which are taken before they are
 * rounded: a translation gives no force. */
FE_BODY void slice_product(const bsr_rows *r, int slice, const fe_number *direction, fe_number *y)
{
    fe_real sum[VECTORS][3];
    FE_UNROLL_FOR (int i = 0; i < 3 * VECTORS; i++) sum[i / 3][i % 3] = fe_splat(0.0f);
    for (int place = r->first[slice]; place < r->first[slice + 1]; place++)
        FE_UNROLL_FOR (int i = 0; i < VECTORS; i++) {
            const fe_index lanes = fe_lanes_from(i * FE_LANES);
            const fe_index column = fe_read_index(r->column, lanes, bsr_column_at(r, place, 0));
            fe_real x[3];
            if (FE_PRECISION == FE_MIXED)
                fe_read3_from(direction, column, bsr_nodes_from(r, SLICE * slice + i * FE_LANES), x);
            else
                fe_read3(direction, column, x);
            FE_UNROLL_FOR (int c = 0; c < 3; c++)
                FE_UNROLL_FOR (int j = 0; j < 3; j++)
                    sum[i][c] += fe_read(r->value, lanes, bsr_value_at(r, place, 3 * c + j, 0)) * x[j];
        }
    for (int i = 0; i < VECTORS; i++) {
        const int first = SLICE * slice + i * FE_LANES;
        fe_add3(y, bsr_nodes_from(r, first), r->n_row - first, 0, sum[i]);
    }
}

static fe_status jacvec(const fe_problem *p, void *work, fe_part part, const void *direction, void *y)
{
    const bsr_matrix *matrix = work;
    const bsr_rows *r = &matrix->part[part];
    const int threads = p->device->threads, n_slice = (r->n_row + SLICE - 1) / SLICE;
    FE_PARALLEL_FOR (slice, 0, n_slice, 1, threads) slice_product(r, slice, direction, y);
    return FE_OK;
}

FE_TABLE(assembled_bsr_host, .setup = setup, .setup_from = FE_SETUP_FROM(setup_from),
         .residual = bsr_residual, .material = FE_PRECISE(bsr_material_host), .jacvec = jacvec,
         .diagonal = FE_PRECISE(bsr_diagonal_host), .matrix_bytes = bsr_matrix_bytes, .traits = FE_ASSEMBLED)
