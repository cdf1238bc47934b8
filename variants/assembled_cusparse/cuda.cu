/* assembled_cusparse on the device: each part of the matrix is a BSR matrix of cuSPARSE. The library has two
 * functions for its product, and each takes blocks by rows or by columns; the fastest of these on this matrix
 * is taken. */
#include "variants/assembled_cusparse/library.h"

#include <stdio.h>

/* cuSPARSE has no product of a matrix of floats with vectors of doubles: there is no mixed precision. */
#if FE_PRECISION != FE_MIXED

static const fe_number one = 1.0f, zero = 0.0f;

/* The generic function takes BSR since CUDA 13.0 Update 1 (cuSPARSE 12.6.3), which deprecates the other one
 * soon after. */
#define GENERIC (CUSPARSE_VERSION >= 12603)
enum { N_WAY = GENERIC ? 4 : 2 };
static int by_columns(int way) { return way & 1; }
static int is_generic(int way) { return way >= 2; }
static const char *const names[] = {"bsrmv, blocks by rows", "bsrmv, blocks by columns",
                                    "SpMV, blocks by rows", "SpMV, blocks by columns"};

typedef struct library_rows {
    cusparseSpMatDescr_t matrix[2]; /* blocks by rows and by columns */
    cusparseDnVecDescr_t direction, product;
    void *workspace[2];
} library_rows;

typedef struct assembled_cusparse {
    bsr_matrix matrix;
    cusparseHandle_t library;
    cusparseMatDescr_t general; /* base 0; of bsrmv */
    library_rows part[2];
    int choice;
    char note[96];
} assembled_cusparse;

static void release(void *work)
{
    assembled_cusparse *w = (assembled_cusparse *)work;
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++) {
        library_rows *l = &w->part[part];
        for (int i = 0; i < 2; i++)
            if (l->matrix[i]) cusparseDestroySpMat(l->matrix[i]);
        if (l->direction) cusparseDestroyDnVec(l->direction);
        if (l->product) cusparseDestroyDnVec(l->product);
    }
    if (w->general) cusparseDestroyMatDescr(w->general);
    if (w->library) cusparseDestroy(w->library);
}

#if GENERIC
/* Descriptors need an address before there are vectors: the address of the values serves. */
static fe_status open_rows(const fe_problem *p, cusparseHandle_t library, const bsr_rows *r, library_rows *l)
{
    const int64_t n_column = 3 * (int64_t)p->view.n_local, n_row = 3 * (int64_t)r->n_row;
    CUSPARSE_TRY(cusparseCreateDnVec(&l->direction, n_column, r->value, LIBRARY_NUMBER));
    CUSPARSE_TRY(cusparseCreateDnVec(&l->product, n_row, r->value, LIBRARY_NUMBER));
    for (int i = 0; i < 2; i++) {
        size_t bytes = 0;
        CUSPARSE_TRY(cusparseCreateBsr(&l->matrix[i], r->n_row, p->view.n_local, r->n_place, 3, 3,
                                       (void *)r->first, (void *)r->column, r->value, CUSPARSE_INDEX_32I,
                                       CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, LIBRARY_NUMBER,
                                       i ? CUSPARSE_ORDER_COL : CUSPARSE_ORDER_ROW));
        CUSPARSE_TRY(cusparseSpMV_bufferSize(library, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, l->matrix[i],
                                             l->direction, &zero, l->product, LIBRARY_NUMBER,
                                             CUSPARSE_SPMV_BSR_ALG1, &bytes));
        FE_TRY(fe_device_allocate(p->device, bytes, 1, "cuSPARSE", &l->workspace[i]));
        CUSPARSE_TRY(cusparseSpMV_preprocess(library, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, l->matrix[i],
                                             l->direction, &zero, l->product, LIBRARY_NUMBER,
                                             CUSPARSE_SPMV_BSR_ALG1, l->workspace[i]));
    }
    return FE_OK;
}

static fe_status generic(const assembled_cusparse *w, const library_rows *l, int columns,
                         const fe_number *direction, fe_number *y)
{
    CUSPARSE_TRY(cusparseDnVecSetValues(l->direction, (void *)direction));
    CUSPARSE_TRY(cusparseDnVecSetValues(l->product, y));
    CUSPARSE_TRY(cusparseSpMV(w->library, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, l->matrix[columns],
                              l->direction, &zero, l->product, LIBRARY_NUMBER, CUSPARSE_SPMV_BSR_ALG1,
                              l->workspace[columns]));
    return FE_OK;
}
#else
static fe_status open_rows(const fe_problem *p, cusparseHandle_t library, const bsr_rows *r, library_rows *l)
{
    (void)p, (void)library, (void)r, (void)l;
    return FE_OK;
}
static fe_status generic(const assembled_cusparse *w, const library_rows *l, int columns,
                         const fe_number *direction, fe_number *y)
{
    (void)w, (void)l, (void)columns, (void)direction, (void)y;
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
    const assembled_cusparse *w = (const assembled_cusparse *)work;
    const bsr_rows *r = &w->matrix.part[part];
    if (r->n_row == 0) return FE_OK;
    y += 3 * (size_t)r->row;
    if (is_generic(way)) return generic(w, &w->part[part], by_columns(way), direction, y);
    CUSPARSE_TRY(bsr_product(w->library, by_columns(way) ? CUSPARSE_DIRECTION_COLUMN : CUSPARSE_DIRECTION_ROW,
                             CUSPARSE_OPERATION_NON_TRANSPOSE, r->n_row, r->n_column, r->n_place, &one,
                             w->general, r->value, r->first, r->column, 3, direction, &zero, y));
    return FE_OK;
}

static fe_status open_library(const fe_problem *p, assembled_cusparse *w)
{
    double ahead;
    CUSPARSE_TRY(cusparseCreate(&w->library));
    CUSPARSE_TRY(cusparseSetStream(w->library, fe_cuda_stream(p->device)));
    CUSPARSE_TRY(cusparseCreateMatDescr(&w->general));
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++)
        if (w->matrix.part[part].n_row > 0)
            FE_TRY(open_rows(p, w->library, &w->matrix.part[part], &w->part[part]));
    FE_TRY(library_choose(p, multiply, w, N_WAY, &w->choice, &ahead));
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++)
        w->matrix.part[part].by_columns = by_columns(w->choice);
    snprintf(w->note, sizeof w->note, "%s, %.3g times as fast as the next of %d ways", names[w->choice],
             ahead, N_WAY);
    return FE_OK;
}

static fe_status setup(fe_problem *p, void **work)
{
    FE_TRY(fe_device_keep_open(p->device, sizeof(assembled_cusparse), "assembled_cusparse", release, work));
    assembled_cusparse *w = (assembled_cusparse *)*work;
    FE_TRY(bsr_open(p, BSR_PLAIN, FE_PRECISION, &w->matrix));
    return open_library(p, w);
}

/* Only in single precision. */
static fe_status setup_from(fe_problem *p, void *in_double, void **work)
{
    FE_TRY(fe_device_keep_open(p->device, sizeof(assembled_cusparse), "assembled_cusparse", release, work));
    assembled_cusparse *w = (assembled_cusparse *)*work;
    FE_TRY(bsr_open_elastic(p, BSR_PLAIN, (const bsr_matrix *)in_double, &w->matrix));
    FE_TRY(open_library(p, w));
    return FE_PRECISE(bsr_elastic_cuda)(p, &w->matrix);
}

static const char *note(const void *work) { return ((const assembled_cusparse *)work)->note; }

static fe_status jacvec(const fe_problem *p, void *work, fe_part part, const void *direction, void *y)
{
    (void)p;
    const assembled_cusparse *w = (const assembled_cusparse *)work;
    return multiply(w, part, w->choice, (const fe_number *)direction, (fe_number *)y);
}

FE_TABLE(assembled_cusparse_cuda, .setup = setup, .setup_from = FE_SETUP_FROM(setup_from),
         .residual = bsr_residual, .material = FE_PRECISE(bsr_material_cuda), .jacvec = jacvec,
         .diagonal = FE_PRECISE(bsr_diagonal_cuda), .matrix_bytes = bsr_matrix_bytes,
         .traits = FE_STORES | FE_ASSEMBLED, .note = note)

#endif
