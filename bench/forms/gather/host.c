/* GATHER on the host. */
#include "bench/forms/product_host.h"

static fe_status setup(fe_problem *p, void **work)
{
    return form_gather_set_up(p, BSR_UPPER_LINE, FE_PRECISION, work);
}
static fe_status setup_from(fe_problem *p, void *in_double, void **work)
{
    FE_TRY(form_gather_set_up_from(p, BSR_UPPER_LINE, in_double, work));
    return FE_PRECISE(bsr_elastic_host)(p, *work);
}

static void gather(const form_list *list, const fe_scalar *product, int slice, int n_row, fe_number *y)
{
    fe_number sum[3 * SLICE] = {0};
    for (int place = list->first[slice]; place < list->first[slice + 1]; place++)
        for (int k = 0; k < 3 * SLICE; k++) sum[k] += product[3 * SLICE * (size_t)place + k];
    for (int l = 0; l < SLICE && SLICE * slice + l < n_row; l++)
        for (int k = 0; k < 3; k++) y[3 * (size_t)list->node[SLICE * slice + l] + k] += sum[3 * l + k];
}

/* Rows of the border also add products of the interior part, which runs first. */
static fe_status jacvec(const fe_problem *p, void *work, fe_part part, const void *direction, void *y)
{
    const form_gather *w = work;
    const bsr_rows *r = &w->matrix.part[part];
    const form_list *list = &w->part[part];
    fe_scalar *product = w->product;
    const int threads = p->device->threads, n_owned = p->view.n_owned,
              n_slice = (r->n_row + SLICE - 1) / SLICE;
    FE_PARALLEL_FOR (first, 0, r->n_row, FE_LANES, threads)
        form_rows_product(r, list, product, n_owned, first, 0, r->n_row, direction, y);
    FE_PARALLEL_FOR (slice, 0, n_slice, 1, threads) gather(list, product, slice, r->n_row, y);
    return FE_OK;
}

FE_TABLE(assembled_symmetric_host, .setup = setup, .setup_from = FE_SETUP_FROM(setup_from),
         .residual = bsr_residual, .material = FE_PRECISE(bsr_material_host), .jacvec = jacvec,
         .diagonal = FE_PRECISE(bsr_diagonal_host), .matrix_bytes = form_gather_bytes,
         .traits = FE_STORES | FE_ASSEMBLED)
