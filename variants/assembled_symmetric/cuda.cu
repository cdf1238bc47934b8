/* assembled_symmetric on the device: one block row per thread, slices of a warp. A block off the diagonal is
 * read once and serves two rows: its own, whose sum is in registers, and that of its column, to which its
 * transposed product is added atomically. */
#include "common/physics/lanes.h"
#include "common/problem/kernels.h"
#include "variants/assembled_bsr/matrix.h"

enum { SLICE = 32, BLOCK_SIZE = 128 };

static fe_status setup(fe_problem *p, void **work)
{
    return bsr_set_up(p, BSR_UPPER_WARP, FE_PRECISION, work);
}
static fe_status setup_from(fe_problem *p, void *in_double, void **work)
{
    return bsr_set_up_from(p, BSR_UPPER_WARP, in_double, FE_PRECISE(bsr_elastic_cuda), work);
}

/* Row i, called by all lanes of its slice; those past the last row only help to add. In mixed precision both
 * products are those with differences, taken before they are rounded: a translation gives no force. Rows of
 * ghosts are another rank's, which has their blocks. */
FE_BODY void row_product(const bsr_rows *r, int n_owned, int i, const fe_number *__restrict__ direction,
                         fe_number *y)
{
    const int slice = i / SLICE, lane = i % SLICE;
    const bool from = FE_PRECISION == FE_MIXED, lasting = i < r->n_row;
    const int node = r->node[lasting ? i : r->n_row - 1], first = r->first[slice], end = r->first[slice + 1];
    const int *__restrict__ column = r->column + (size_t)first * SLICE + lane;
    const fe_scalar *__restrict__ value = r->value + 9 * (size_t)first * SLICE + lane;
    fe_real own[3], sum[3] = {0.0f, 0.0f, 0.0f};
    fe_read3(direction, node, own);
#pragma unroll 2
    for (int place = first; place < end; place++) {
        const int j = __ldcs(column);
        fe_real x[3], K[9], back[3];
        if (from)
            fe_read3_from(direction, j, node, x);
        else
            fe_read3(direction, j, x);
        FE_UNROLL_FOR (int c = 0; c < 9; c++) K[c] = __ldcs(value + c * SLICE);
        FE_UNROLL_FOR (int c = 0; c < 3; c++)
            FE_UNROLL_FOR (int k = 0; k < 3; k++) sum[c] += K[3 * c + k] * x[k];
        FE_UNROLL_FOR (int k = 0; k < 3; k++) {
            const fe_real a = from ? -x[0] : own[0], b = from ? -x[1] : own[1], c = from ? -x[2] : own[2];
            back[k] = K[k] * a + K[3 + k] * b + K[6 + k] * c;
        }
        fe_add3_together(y, lasting && j != node && j < n_owned ? j : -1, back);
        column += SLICE, value += 9 * SLICE;
    }
    fe_add3_together(y, lasting ? node : -1, sum);
}

static __global__ void __launch_bounds__(BLOCK_SIZE)
    assembled_symmetric_product(bsr_rows r, int n_owned, const fe_number *__restrict__ direction,
                                fe_number *y)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i / SLICE * SLICE < r.n_row) row_product(&r, n_owned, i, direction, y);
}

static fe_status jacvec(const fe_problem *p, void *work, fe_part part, const void *direction, void *y)
{
    const bsr_rows r = ((const bsr_matrix *)work)->part[part];
    FE_LAUNCH(p->device, r.n_row, BLOCK_SIZE, assembled_symmetric_product, r, p->view.n_owned,
              (const fe_number *)direction, (fe_number *)y);
    return FE_OK;
}

FE_TABLE(assembled_symmetric_cuda, .setup = setup, .setup_from = FE_SETUP_FROM(setup_from),
         .residual = bsr_residual, .material = FE_PRECISE(bsr_material_cuda), .jacvec = jacvec,
         .diagonal = FE_PRECISE(bsr_diagonal_cuda), .matrix_bytes = bsr_matrix_bytes,
         .traits = FE_INDEPENDENT | FE_ASSEMBLED)
