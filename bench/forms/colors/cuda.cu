/* COLORS on the device: one launch per colour of rows. Rows of a launch add to different rows, each once, by
 * plain reads and writes. No atomics: the same bits every time. */
#include "bench/forms/product_cuda.h"

static fe_status setup(fe_problem *p, void **work)
{
    return form_colors_set_up(p, BSR_UPPER_WARP, FE_PRECISION, work);
}
static fe_status setup_from(fe_problem *p, void *in_double, void **work)
{
    FE_TRY(form_colors_set_up_from(p, BSR_UPPER_WARP, in_double, work));
    return FE_PRECISE(bsr_elastic_cuda)(p, (const bsr_matrix *)*work);
}

FE_BODY void add3_plainly(fe_number *y, int to, const fe_real f[3])
{
    form_each_together(y, to, f, [](fe_number *at, fe_number a) { *at += a; });
}

/* Rows [first, last). A slice that two colours share is read by both. */
static __global__ void __launch_bounds__(BLOCK_SIZE)
    assembled_symmetric_product(bsr_rows r, int first, int last, int n_owned,
                                const fe_number *__restrict__ direction, fe_number *y)
{
    const int i = first / SLICE * SLICE + blockIdx.x * blockDim.x + threadIdx.x;
    fe_let_next_start();
    fe_wait_for_earlier();
    if (i / SLICE * SLICE < last)
        form_row_product(
            &r, n_owned, i, i >= first && i < last, direction,
            [&](int to, size_t, const fe_real back[3]) { add3_plainly(y, to, back); },
            [&](int to, const fe_real sum[3]) { add3_plainly(y, to, sum); });
}

static fe_status jacvec(const fe_problem *p, void *work, fe_part part, const void *direction, void *y)
{
    const form_colors *w = (const form_colors *)work;
    const bsr_rows r = w->matrix.part[part];
    for (int color = 0; color < w->n[part]; color++) {
        const int first = w->first[part][color], last = w->first[part][color + 1];
        FE_LAUNCH_CHAINED(p->device, color > 0, last - first / SLICE * SLICE, BLOCK_SIZE,
                          assembled_symmetric_product, r, first, last, p->view.n_owned,
                          (const fe_number *)direction, (fe_number *)y);
    }
    return FE_OK;
}

FE_TABLE(assembled_symmetric_cuda, .setup = setup, .setup_from = FE_SETUP_FROM(setup_from),
         .residual = bsr_residual, .material = FE_PRECISE(bsr_material_cuda), .jacvec = jacvec,
         .diagonal = FE_PRECISE(bsr_diagonal_cuda), .matrix_bytes = bsr_matrix_bytes, .traits = FE_ASSEMBLED)
