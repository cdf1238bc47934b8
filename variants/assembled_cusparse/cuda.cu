/* assembled_cusparse on the device: each part of the matrix is a BSR matrix of cuSPARSE. The library has two
 * functions for its product, and each takes blocks by rows or by columns; the fastest of these on this matrix
 * is taken. */
#include "variants/assembled_cusparse/library.h"

/* cuSPARSE has no product of a matrix of floats with vectors of doubles: there is no mixed precision. */
#if FE_PRECISION != FE_MIXED

/* The generic function takes BSR since CUDA 13.0 Update 1 (cuSPARSE 12.6.3), which deprecates the other one
 * soon after. */
#define GENERIC (CUSPARSE_VERSION >= 12603)
enum { N_WAY = GENERIC ? 4 : 2 };
static int by_columns(int way) { return way & 1; }
static int is_generic(int way) { return way >= 2; }
static const char *const names[] = {"bsrmv, blocks by rows", "bsrmv, blocks by columns",
                                    "SpMV, blocks by rows", "SpMV, blocks by columns"};

#if GENERIC
static fe_status open_rows(const fe_problem *p, cusparseHandle_t library, const bsr_rows *r, library_rows *l)
{
    FE_TRY(library_open_vectors(r, l));
    for (int i = 0; i < 2; i++) {
        CUSPARSE_TRY(cusparseCreateBsr(&l->matrix[i], r->n_row, r->n_column, r->n_place, 3, 3,
                                       (void *)r->first, (void *)r->column, r->value, CUSPARSE_INDEX_32I,
                                       CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, LIBRARY_NUMBER,
                                       i ? CUSPARSE_ORDER_COL : CUSPARSE_ORDER_ROW));
        FE_TRY(library_prepare(p, library, l, i, CUSPARSE_SPMV_BSR_ALG1));
    }
    return FE_OK;
}
static fe_status generic(const library_matrix *w, fe_part part, int columns, const fe_number *direction,
                         fe_number *y)
{
    return library_multiply(w, part, columns, CUSPARSE_SPMV_BSR_ALG1, direction, y);
}
#else
static fe_status open_rows(const fe_problem *p, cusparseHandle_t library, const bsr_rows *r, library_rows *l)
{
    (void)p, (void)library, (void)r, (void)l;
    return FE_OK;
}
static fe_status generic(const library_matrix *w, fe_part part, int columns, const fe_number *direction,
                         fe_number *y)
{
    (void)w, (void)part, (void)columns, (void)direction, (void)y;
    return fe_fail(FE_FAILED, "cuSPARSE has no generic product of blocks");
}
#endif

#if FE_PRECISION == FE_DOUBLE
#define bsr_product cusparseDbsrmv
#else
#define bsr_product cusparseSbsrmv
#endif

static fe_status multiply(const void *work, fe_part part, int way, const fe_number *direction, fe_number *y)
{
    const library_matrix *w = (const library_matrix *)work;
    const bsr_rows *r = &w->matrix.part[part];
    if (r->n_row == 0) return FE_OK;
    y += 3 * (size_t)r->row;
    if (is_generic(way)) return generic(w, part, by_columns(way), direction, y);
    CUSPARSE_TRY(bsr_product(w->library, by_columns(way) ? CUSPARSE_DIRECTION_COLUMN : CUSPARSE_DIRECTION_ROW,
                             CUSPARSE_OPERATION_NON_TRANSPOSE, r->n_row, r->n_column, r->n_place,
                             &library_one, w->general, r->value, r->first, r->column, 3, direction,
                             &library_zero, y));
    return FE_OK;
}

static fe_status choose(const fe_problem *p, library_matrix *w)
{
    double ahead;
    CUSPARSE_TRY(cusparseCreateMatDescr(&w->general));
    FE_TRY(library_choose(p, multiply, w, N_WAY, &w->choice, &ahead));
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++)
        w->matrix.part[part].by_columns = by_columns(w->choice);
    snprintf(w->note, sizeof w->note, "%s, %.3g times as fast as the next of %d ways", names[w->choice],
             ahead, N_WAY);
    return FE_OK;
}

static const library_strategy strategy = {BSR_PLAIN, open_rows, choose};
static fe_status setup(fe_problem *p, void **work) { return library_set_up(&strategy, p, work); }
static fe_status setup_from(fe_problem *p, void *in_double, void **work)
{
    return library_set_up_from(&strategy, p, in_double, work);
}

static fe_status jacvec(const fe_problem *p, void *work, fe_part part, const void *direction, void *y)
{
    (void)p;
    const library_matrix *w = (const library_matrix *)work;
    return multiply(w, part, w->choice, (const fe_number *)direction, (fe_number *)y);
}

FE_TABLE(assembled_cusparse_cuda, .setup = setup, .setup_from = FE_SETUP_FROM(setup_from),
         .residual = bsr_residual, .material = FE_PRECISE(bsr_material_cuda), .jacvec = jacvec,
         .diagonal = FE_PRECISE(bsr_diagonal_cuda), .matrix_bytes = bsr_matrix_bytes,
         .traits = FE_STORES | FE_ASSEMBLED, .note = library_note)

#endif
