/* GATHER and COLORS on the host, a part of host.c. */

static fe_status setup(fe_problem *p, void **work)
{
    return symmetric_forms_set_up(p, BSR_UPPER_LINE, FE_PRECISION, work);
}
static fe_status setup_from(fe_problem *p, void *in_double, void **work)
{
    FE_TRY(symmetric_forms_set_up_from(p, BSR_UPPER_LINE, in_double, work));
    return FE_PRECISE(bsr_elastic_host)(p, *work);
}

/* Of FE_LANES rows from `first` on those in [from, last). GATHER: y of these rows becomes their sums, and the
 * transposed products are stored where the list says. COLORS: both are added, because no other row that is
 * computed at the same time adds to these rows. */
FE_BODY void rows_product(const bsr_rows *r, const symmetric_list *list, fe_scalar *product, int n_owned,
                          int first, int from, int last, const fe_number *direction, fe_number *y)
{
    const int gathers = SYMMETRIC_FORM == SYMMETRIC_GATHER;
    const int begin = from > first ? from - first : 0,
              end = last - first < FE_LANES ? last - first : FE_LANES;
    const fe_index node = bsr_nodes_from(r, first), lanes = fe_lanes_from(first % SLICE);
    fe_real own[3], sum[3];
    fe_read3(direction, node, own);
    FE_UNROLL_FOR (int c = 0; c < 3; c++) sum[c] = fe_splat(0.0f);
    for (int place = r->first[first / SLICE]; place < r->first[first / SLICE + 1]; place++) {
        const size_t at = bsr_column_at(r, place, 0);
        const fe_index column = fe_read_index(r->column, lanes, at);
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
        for (int l = begin; l < end; l++) {
            const int j = column.lane[l];
            if (j == node.lane[l] || j >= n_owned) continue;
            if (gathers)
                for (int k = 0; k < 3; k++)
                    product[3 * (size_t)list->to[at + (size_t)lanes.lane[l]] + k] = back[k][l];
            else
                for (int k = 0; k < 3; k++) y[3 * (size_t)j + k] += back[k][l];
        }
    }
    for (int l = begin; l < end; l++)
        for (int k = 0; k < 3; k++) {
            fe_number *to = y + 3 * (size_t)node.lane[l] + k;
            *to = gathers ? sum[k][l] : *to + sum[k][l];
        }
}

#if SYMMETRIC_FORM == SYMMETRIC_GATHER

static void gather(const symmetric_list *list, const fe_scalar *product, int slice, int n_row, fe_number *y)
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
    const symmetric_forms *w = work;
    const bsr_rows *r = &w->matrix.part[part];
    const symmetric_list *list = &w->gather.part[part];
    fe_scalar *product = w->gather.product;
    const int threads = p->device->threads, n_owned = p->view.n_owned,
              n_slice = (r->n_row + SLICE - 1) / SLICE;
    FE_PARALLEL_FOR (first, 0, r->n_row, FE_LANES, threads)
        rows_product(r, list, product, n_owned, first, 0, r->n_row, direction, y);
    FE_PARALLEL_FOR (slice, 0, n_slice, 1, threads) gather(list, product, slice, r->n_row, y);
    return FE_OK;
}
enum { TRAITS = FE_STORES | FE_ASSEMBLED };

#else

static fe_status jacvec(const fe_problem *p, void *work, fe_part part, const void *direction, void *y)
{
    const symmetric_forms *w = work;
    const bsr_rows *r = &w->matrix.part[part];
    const int threads = p->device->threads, n_owned = p->view.n_owned;
    for (int color = 0; color < w->colors.n[part]; color++) {
        const int from = w->colors.first[part][color], last = w->colors.first[part][color + 1];
        FE_PARALLEL_FOR (first, from / FE_LANES * FE_LANES, last, FE_LANES, threads)
            rows_product(r, NULL, NULL, n_owned, first, from, last, direction, y);
    }
    return FE_OK;
}
enum { TRAITS = FE_ASSEMBLED };

#endif

FE_TABLE(assembled_symmetric_host, .setup = setup, .setup_from = FE_SETUP_FROM(setup_from),
         .residual = bsr_residual, .material = FE_PRECISE(bsr_material_host), .jacvec = jacvec,
         .diagonal = FE_PRECISE(bsr_diagonal_host), .matrix_bytes = symmetric_forms_bytes, .traits = TRAITS)
