/* assembled_bsr on the device: one block row per thread, slices of a warp. */
#include "common/backend/cuda.h"
#include "variants/assembled_bsr/matrix.h"

enum { SLICE = 32, BLOCK_SIZE = 128 };

static fe_status setup(fe_problem *p, void **work) { return bsr_set_up(p, BSR_WARP, FE_PRECISION, work); }
static fe_status setup_from(fe_problem *p, void *in_double, void **work)
{
    return bsr_set_up_from(p, BSR_WARP, in_double, FE_PRECISE(bsr_elastic_cuda), work);
}

/* Blocks are read once and bypass the cache, which is kept for `direction`. In mixed precision the product
 * with differences from the row's own value, which are taken before they are rounded: a translation gives no
 * force. */
FE_BODY void row_product(const bsr_rows *r, int i, const fe_number *__restrict__ direction,
                         fe_number *__restrict__ y)
{
    const int node = r->node[i], first = r->first[i / SLICE], end = r->first[i / SLICE + 1];
    const int *__restrict__ column = r->column + (size_t)first * SLICE + i % SLICE;
    const fe_scalar *__restrict__ value = r->value + 9 * (size_t)first * SLICE + i % SLICE;
    fe_real sum[3] = {0.0f, 0.0f, 0.0f};
#pragma unroll 2
    for (int place = first; place < end; place++) {
        fe_real x[3], K[9];
        if (FE_PRECISION == FE_MIXED)
            fe_read3_from(direction, __ldcs(column), node, x);
        else
            fe_read3(direction, __ldcs(column), x);
        FE_UNROLL_FOR (int c = 0; c < 9; c++) K[c] = __ldcs(value + c * SLICE);
        FE_UNROLL_FOR (int c = 0; c < 3; c++)
            FE_UNROLL_FOR (int j = 0; j < 3; j++) sum[c] += K[3 * c + j] * x[j];
        column += SLICE, value += 9 * SLICE;
    }
    for (int c = 0; c < 3; c++) y[3 * (size_t)node + c] = sum[c];
}

static __global__ void __launch_bounds__(BLOCK_SIZE)
    assembled_bsr_product(bsr_rows r, const fe_number *__restrict__ direction, fe_number *__restrict__ y)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < r.n_row) row_product(&r, i, direction, y);
}

static fe_status jacvec(const fe_problem *p, void *work, fe_part part, const void *direction, void *y)
{
    const bsr_rows r = ((const bsr_matrix *)work)->part[part];
    FE_LAUNCH(p->device, r.n_row, BLOCK_SIZE, assembled_bsr_product, r, (const fe_number *)direction,
              (fe_number *)y);
    return FE_OK;
}

FE_TABLE(assembled_bsr_cuda, .setup = setup, .setup_from = FE_SETUP_FROM(setup_from),
         .residual = bsr_residual, .material = FE_PRECISE(bsr_material_cuda), .jacvec = jacvec,
         .diagonal = FE_PRECISE(bsr_diagonal_cuda), .matrix_bytes = bsr_matrix_bytes,
         .traits = FE_STORES | FE_INDEPENDENT | FE_ASSEMBLED)
