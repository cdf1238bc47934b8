/* GATHER on the device: the first pass stores each transposed product, the second one adds those of each row.
 * No atomics: the same bits every time. */
#include "bench/forms/product_cuda.h"

static fe_status setup(fe_problem *p, void **work)
{
    return form_gather_set_up(p, BSR_UPPER_WARP, FE_PRECISION, work);
}
static fe_status setup_from(fe_problem *p, void *in_double, void **work)
{
    FE_TRY(form_gather_set_up_from(p, BSR_UPPER_WARP, in_double, work));
    return FE_PRECISE(bsr_elastic_cuda)(p, (const bsr_matrix *)*work);
}

static __global__ void __launch_bounds__(BLOCK_SIZE)
    assembled_symmetric_product(bsr_rows r, const int *__restrict__ to, fe_scalar *product, int n_owned,
                                const fe_number *__restrict__ direction, fe_number *y)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i / SLICE * SLICE < r.n_row)
        form_row_product(
            &r, n_owned, i, true, direction,
            [&](int, size_t at, const fe_real back[3]) {
                form_each_together(product, __ldcs(to + at), back,
                                   [](fe_scalar *place, fe_scalar a) { *place = a; });
            },
            [&](int node, const fe_real sum[3]) {
                form_each_together(y, node, sum, [](fe_number *place, fe_number a) { *place = a; });
            });
}

/* Number `at` of the rows in their order: one component of a row. */
static __global__ void __launch_bounds__(BLOCK_SIZE)
    assembled_symmetric_gather(form_list list, int n_row, const fe_scalar *__restrict__ product, fe_number *y)
{
    const int at = blockIdx.x * blockDim.x + threadIdx.x, i = at / 3, slice = i / SLICE;
    if (i >= n_row) return;
    const int first = list.first[slice], end = list.first[slice + 1];
    fe_number sum = 0.0f;
#pragma unroll 4
    for (int place = first; place < end; place++)
        sum += __ldcs(product + (size_t)place * (3 * SLICE) + at % (3 * SLICE));
    y[3 * (size_t)list.node[i] + at % 3] += sum;
}

/* Rows of the border also add products of the interior part, which runs first. */
static fe_status jacvec(const fe_problem *p, void *work, fe_part part, const void *direction, void *y)
{
    const form_gather *w = (const form_gather *)work;
    const bsr_rows r = w->matrix.part[part];
    const form_list list = w->part[part];
    fe_scalar *product = (fe_scalar *)w->product;
    FE_LAUNCH(p->device, r.n_row, BLOCK_SIZE, assembled_symmetric_product, r, list.to, product,
              p->view.n_owned, (const fe_number *)direction, (fe_number *)y);
    FE_LAUNCH(p->device, 3 * (size_t)r.n_row, BLOCK_SIZE, assembled_symmetric_gather, list, r.n_row, product,
              (fe_number *)y);
    return FE_OK;
}

FE_TABLE(assembled_symmetric_cuda, .setup = setup, .setup_from = FE_SETUP_FROM(setup_from),
         .residual = bsr_residual, .material = FE_PRECISE(bsr_material_cuda), .jacvec = jacvec,
         .diagonal = FE_PRECISE(bsr_diagonal_cuda), .matrix_bytes = form_gather_bytes,
         .traits = FE_STORES | FE_ASSEMBLED)
