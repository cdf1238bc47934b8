/* COLORS on the host: a parallel loop per colour. */
#include "bench/forms/product_host.h"

static fe_status setup(fe_problem *p, void **work)
{
    return form_colors_set_up(p, BSR_UPPER_LINE, FE_PRECISION, work);
}
static fe_status setup_from(fe_problem *p, void *in_double, void **work)
{
    FE_TRY(form_colors_set_up_from(p, BSR_UPPER_LINE, in_double, work));
    return FE_PRECISE(bsr_elastic_host)(p, *work);
}

static fe_status jacvec(const fe_problem *p, void *work, fe_part part, const void *direction, void *y)
{
    const form_colors *w = work;
    const bsr_rows *r = &w->matrix.part[part];
    const int threads = p->device->threads, n_owned = p->view.n_owned;
    for (int color = 0; color < w->n[part]; color++) {
        const int from = w->first[part][color], last = w->first[part][color + 1];
        FE_PARALLEL_FOR (first, from / FE_LANES * FE_LANES, last, FE_LANES, threads)
            form_rows_product(r, NULL, NULL, n_owned, first, from, last, direction, y);
    }
    return FE_OK;
}

FE_TABLE(assembled_symmetric_host, .setup = setup, .setup_from = FE_SETUP_FROM(setup_from),
         .residual = bsr_residual, .material = FE_PRECISE(bsr_material_host), .jacvec = jacvec,
         .diagonal = FE_PRECISE(bsr_diagonal_host), .matrix_bytes = bsr_matrix_bytes, .traits = FE_ASSEMBLED)
