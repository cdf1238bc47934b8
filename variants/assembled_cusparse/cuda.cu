/* assembled_cusparse on the device: each part of the matrix is a BSR matrix of cuSPARSE. */
#include "variants/assembled_cusparse/library.h"

/* cuSPARSE has no product of a matrix of floats with vectors of doubles: there is no mixed precision. */
#if FE_PRECISION != FE_MIXED

static const fe_number one = 1.0f, zero = 0.0f;

/* The generic product takes BSR since CUDA 13.0 Update 1 (cuSPARSE 12.6.3), which deprecates the other one
 * soon after. */
#if CUSPARSE_VERSION >= 12603

typedef struct library_rows {
    cusparseSpMatDescr_t matrix;
    cusparseDnVecDescr_t direction, product;
    void *workspace;
} library_rows;

static void close_rows(library_rows *l)
{
    if (l->matrix) cusparseDestroySpMat(l->matrix);
    if (l->direction) cusparseDestroyDnVec(l->direction);
    if (l->product) cusparseDestroyDnVec(l->product);
}

/* Descriptors need an address before there are vectors: the address of the values serves. */
static fe_status open_rows(const fe_problem *p, cusparseHandle_t library, const bsr_rows *r, library_rows *l)
{
    const int64_t n_column = 3 * (int64_t)p->view.n_local, n_row = 3 * (int64_t)r->n_row;
    size_t bytes = 0;
    CUSPARSE_TRY(cusparseCreateBsr(&l->matrix, r->n_row, p->view.n_local, r->n_place, 3, 3, (void *)r->first,
                                   (void *)r->column, r->value, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                   CUSPARSE_INDEX_BASE_ZERO, LIBRARY_NUMBER, CUSPARSE_ORDER_ROW));
    CUSPARSE_TRY(cusparseCreateDnVec(&l->direction, n_column, r->value, LIBRARY_NUMBER));
    CUSPARSE_TRY(cusparseCreateDnVec(&l->product, n_row, r->value, LIBRARY_NUMBER));
    CUSPARSE_TRY(cusparseSpMV_bufferSize(library, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, l->matrix,
                                         l->direction, &zero, l->product, LIBRARY_NUMBER,
                                         CUSPARSE_SPMV_BSR_ALG1, &bytes));
    return fe_device_allocate(p->device, bytes, 1, "cuSPARSE", &l->workspace);
}

static fe_status product(cusparseHandle_t library, const fe_problem *p, const bsr_rows *r,
                         const library_rows *l, const fe_number *direction, fe_number *y)
{
    (void)p, (void)r;
    CUSPARSE_TRY(cusparseDnVecSetValues(l->direction, (void *)direction));
    CUSPARSE_TRY(cusparseDnVecSetValues(l->product, y));
    CUSPARSE_TRY(cusparseSpMV(library, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, l->matrix, l->direction, &zero,
                              l->product, LIBRARY_NUMBER, CUSPARSE_SPMV_BSR_ALG1, l->workspace));
    return FE_OK;
}

#else

typedef struct library_rows {
    cusparseMatDescr_t matrix;
} library_rows;

static void close_rows(library_rows *l)
{
    if (l->matrix) cusparseDestroyMatDescr(l->matrix);
}

static fe_status open_rows(const fe_problem *p, cusparseHandle_t library, const bsr_rows *r, library_rows *l)
{
    (void)p, (void)library, (void)r;
    CUSPARSE_TRY(cusparseCreateMatDescr(&l->matrix)); /* general, base 0 */
    return FE_OK;
}

#if FE_PRECISION == FE_DOUBLE
#define bsr_product cusparseDbsrmv
#else
#define bsr_product cusparseSbsrmv
#endif

static fe_status product(cusparseHandle_t library, const fe_problem *p, const bsr_rows *r,
                         const library_rows *l, const fe_number *direction, fe_number *y)
{
    CUSPARSE_TRY(bsr_product(library, CUSPARSE_DIRECTION_ROW, CUSPARSE_OPERATION_NON_TRANSPOSE, r->n_row,
                             p->view.n_local, r->n_place, &one, l->matrix, r->value, r->first, r->column, 3,
                             direction, &zero, y));
    return FE_OK;
}

#endif

typedef struct assembled_cusparse {
    bsr_matrix matrix;
    cusparseHandle_t library;
    library_rows part[2];
} assembled_cusparse;

static void release(void *work)
{
    assembled_cusparse *w = (assembled_cusparse *)work;
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++) close_rows(&w->part[part]);
    if (w->library) cusparseDestroy(w->library);
}

static fe_status open_library(const fe_problem *p, assembled_cusparse *w)
{
    CUSPARSE_TRY(cusparseCreate(&w->library));
    CUSPARSE_TRY(cusparseSetStream(w->library, fe_cuda_stream(p->device)));
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++)
        if (w->matrix.part[part].n_row > 0)
            FE_TRY(open_rows(p, w->library, &w->matrix.part[part], &w->part[part]));
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
    FE_TRY(FE_PRECISE(bsr_elastic_cuda)(p, &w->matrix));
    return open_library(p, w);
}

static fe_status jacvec(const fe_problem *p, void *work, fe_part part, const void *direction, void *y)
{
    const assembled_cusparse *w = (const assembled_cusparse *)work;
    const bsr_rows *r = &w->matrix.part[part];
    if (r->n_row == 0) return FE_OK;
    return product(w->library, p, r, &w->part[part], (const fe_number *)direction,
                   (fe_number *)y + 3 * (size_t)r->row);
}

FE_TABLE(assembled_cusparse_cuda, .setup = setup, .setup_from = FE_SETUP_FROM(setup_from),
         .residual = bsr_residual, .material = FE_PRECISE(bsr_material_cuda), .jacvec = jacvec,
         .diagonal = FE_PRECISE(bsr_diagonal_cuda), .traits = FE_STORES | FE_ASSEMBLED)

#endif
