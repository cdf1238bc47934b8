/* assembled_bsr on the host: a slice has as many rows as a cache line has numbers. The rows of a slice are
 * the SIMD lanes. */
#include "common/problem/loops.h"
#include "common/problem/rows.h"
#include "variants/assembled_bsr/matrix.h"

enum { SLICE = 64 / sizeof(fe_scalar), VECTORS = SLICE / FE_LANES };

static fe_status setup(fe_problem *p, void **work)
{
    FE_TRY(fe_device_keep(p->device, sizeof(bsr_matrix), "assembled_bsr", work));
    return bsr_open(p, BSR_LINE, FE_PRECISION, *work);
}

/* Only in single precision. */
static fe_status setup_from(fe_problem *p, void *in_double, void **work)
{
    FE_TRY(fe_device_keep(p->device, sizeof(bsr_matrix), "assembled_bsr", work));
    FE_TRY(bsr_open_elastic(p, BSR_LINE, in_double, *work));
    return FE_PRECISE(bsr_elastic_host)(p, *work);
}

/* Nodes of rows from `first` on, the last one repeated. */
FE_BODY fe_index nodes_from(const bsr_rows *r, int first)
{
    fe_index nodes;
    for (int l = 0; l < FE_LANES; l++)
        nodes.lane[l] = r->node[first + l < r->n_row ? first + l : r->n_row - 1];
    return nodes;
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
                fe_read3_from(direction, column, nodes_from(r, SLICE * slice + i * FE_LANES), x);
            else
                fe_read3(direction, column, x);
            FE_UNROLL_FOR (int c = 0; c < 3; c++)
                FE_UNROLL_FOR (int j = 0; j < 3; j++)
                    sum[i][c] += fe_read(r->value, lanes, bsr_value_at(r, place, 3 * c + j, 0)) * x[j];
        }
    for (int i = 0; i < VECTORS; i++) {
        const int first = SLICE * slice + i * FE_LANES;
        fe_add3(y, nodes_from(r, first), r->n_row - first, 0, sum[i]);
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
