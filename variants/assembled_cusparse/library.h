/* What both strategies need of cuSPARSE. */
#ifndef ASSEMBLED_CUSPARSE_LIBRARY_H
#define ASSEMBLED_CUSPARSE_LIBRARY_H

#include "common/backend/cuda.h"
#include "variants/assembled_bsr/matrix.h"

#include <cusparse.h>
#include <stdio.h>

/* The number of matrices and vectors. */
#define LIBRARY_NUMBER (FE_PRECISION == FE_DOUBLE ? CUDA_R_64F : CUDA_R_32F)

#define CUSPARSE_TRY(call)                                                                                   \
    do {                                                                                                     \
        const cusparseStatus_t cusparse_try_status = (call);                                                 \
        if (cusparse_try_status != CUSPARSE_STATUS_SUCCESS)                                                  \
            return fe_fail(                                                                                  \
                cusparse_try_status == CUSPARSE_STATUS_ALLOC_FAILED ? FE_OUT_OF_MEMORY : FE_FAILED,          \
                "%s:%d: cuSPARSE: %s", __FILE__, __LINE__, cusparseGetErrorString(cusparse_try_status));     \
    } while (0)

static const fe_number library_one = 1.0f, library_zero = 0.0f;

/* The library offers several ways to a product. way(work, part, i, direction, y) is the i-th one. */
typedef fe_status library_way(const void *work, fe_part part, int i, const fe_number *direction,
                              fe_number *y);
enum { LIBRARY_MOST_WAYS = 4, LIBRARY_CALLS = 5, LIBRARY_ROUNDS = 3 };

/* --- the matrix and its products ----------------------------------------------------------------------- */

/* Descriptors of a part: of two matrices, because what the library finds out about a matrix belongs to one
 * algorithm, and a layout of blocks to one matrix. */
enum { LIBRARY_MATRICES = 2 };
typedef struct library_rows {
    cusparseSpMatDescr_t matrix[LIBRARY_MATRICES];
    cusparseDnVecDescr_t direction, product;
    void *workspace[LIBRARY_MATRICES];
} library_rows;

typedef struct library_matrix {
    bsr_matrix matrix;
    cusparseHandle_t library;
    cusparseMatDescr_t general; /* base 0; of bsrmv */
    library_rows part[2];
    int choice; /* of the ways */
    char note[96];
} library_matrix;

static void library_release(void *work)
{
    library_matrix *w = (library_matrix *)work;
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++) {
        library_rows *l = &w->part[part];
        for (int i = 0; i < LIBRARY_MATRICES; i++)
            if (l->matrix[i]) cusparseDestroySpMat(l->matrix[i]);
        if (l->direction) cusparseDestroyDnVec(l->direction);
        if (l->product) cusparseDestroyDnVec(l->product);
    }
    if (w->general) cusparseDestroyMatDescr(w->general);
    if (w->library) cusparseDestroy(w->library);
}

static const char *library_note(const void *work) { return ((const library_matrix *)work)->note; }

/* Vectors need an address before there are any: the address of the values serves. */
static inline fe_status library_open_vectors(const bsr_rows *r, library_rows *l)
{
    CUSPARSE_TRY(cusparseCreateDnVec(&l->direction, 3 * (int64_t)r->n_column, r->value, LIBRARY_NUMBER));
    CUSPARSE_TRY(cusparseCreateDnVec(&l->product, 3 * (int64_t)r->n_row, r->value, LIBRARY_NUMBER));
    return FE_OK;
}

/* Prepares products with matrix i by an algorithm. Values may change afterwards, the structure may not. */
static inline fe_status library_prepare(const fe_problem *p, cusparseHandle_t library, library_rows *l, int i,
                                        cusparseSpMVAlg_t algorithm)
{
    size_t bytes = 0;
    CUSPARSE_TRY(cusparseSpMV_bufferSize(library, CUSPARSE_OPERATION_NON_TRANSPOSE, &library_one,
                                         l->matrix[i], l->direction, &library_zero, l->product,
                                         LIBRARY_NUMBER, algorithm, &bytes));
    FE_TRY(fe_device_allocate(p->device, bytes, 1, "cuSPARSE", &l->workspace[i]));
#if CUSPARSE_VERSION >= 12300 /* CUDA 12.4 */
    CUSPARSE_TRY(cusparseSpMV_preprocess(library, CUSPARSE_OPERATION_NON_TRANSPOSE, &library_one,
                                         l->matrix[i], l->direction, &library_zero, l->product,
                                         LIBRARY_NUMBER, algorithm, l->workspace[i]));
#endif
    return FE_OK;
}

static inline fe_status library_multiply(const library_matrix *w, fe_part part, int i,
                                         cusparseSpMVAlg_t algorithm, const fe_number *direction,
                                         fe_number *y)
{
    const library_rows *l = &w->part[part];
    CUSPARSE_TRY(cusparseDnVecSetValues(l->direction, (void *)direction));
    CUSPARSE_TRY(cusparseDnVecSetValues(l->product, y));
    CUSPARSE_TRY(cusparseSpMV(w->library, CUSPARSE_OPERATION_NON_TRANSPOSE, &library_one, l->matrix[i],
                              l->direction, &library_zero, l->product, LIBRARY_NUMBER, algorithm,
                              l->workspace[i]));
    return FE_OK;
}

/* --- set-up --------------------------------------------------------------------------------------------- */

/* Opens the descriptors of a part that has rows, and what remains when all parts have theirs. */
typedef struct library_strategy {
    bsr_form form;
    fe_status (*open_rows)(const fe_problem *p, cusparseHandle_t library, const bsr_rows *r, library_rows *l);
    fe_status (*choose)(const fe_problem *p, library_matrix *w);
} library_strategy;

static fe_status library_keep(fe_problem *p, void **work)
{
    return fe_device_keep_open(p->device, sizeof(library_matrix), "matrix of cuSPARSE", library_release,
                               work);
}

static fe_status library_open(const library_strategy *s, const fe_problem *p, library_matrix *w)
{
    CUSPARSE_TRY(cusparseCreate(&w->library));
    CUSPARSE_TRY(cusparseSetStream(w->library, fe_cuda_stream(p->device)));
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++)
        if (w->matrix.part[part].n_row > 0)
            FE_TRY(s->open_rows(p, w->library, &w->matrix.part[part], &w->part[part]));
    return s->choose(p, w);
}

static fe_status library_set_up(const library_strategy *s, fe_problem *p, void **work)
{
    FE_TRY(library_keep(p, work));
    library_matrix *w = (library_matrix *)*work;
    FE_TRY(bsr_open(p, s->form, FE_PRECISION, &w->matrix));
    return library_open(s, p, w);
}

/* Only in single precision. The layout of values is chosen before there are any. */
static fe_status library_set_up_from(const library_strategy *s, fe_problem *p, void *in_double, void **work)
{
    FE_TRY(library_keep(p, work));
    library_matrix *w = (library_matrix *)*work;
    FE_TRY(bsr_open_elastic(p, s->form, (const bsr_matrix *)in_double, &w->matrix));
    FE_TRY(library_open(s, p, w));
    return FE_PRECISE(bsr_elastic_cuda)(p, &w->matrix);
}

/* --- the fastest way ------------------------------------------------------------------------------------ */

/* Seconds of a product, in the fastest of some rounds; the first one warms up. */
static fe_status library_measure(fe_device *d, library_way *way, const void *work, int i,
                                 const fe_number *direction, fe_number *y, double *seconds)
{
    *seconds = INFINITY;
    for (int round = 0; round <= LIBRARY_ROUNDS; round++) {
        FE_TRY(d->ops->wait(d));
        const double start = fe_seconds();
        for (int call = 0; call < LIBRARY_CALLS; call++)
            for (int part = FE_INTERIOR; part <= FE_BORDER; part++)
                FE_TRY(way(work, (fe_part)part, i, direction, y));
        FE_TRY(d->ops->wait(d));
        if (round > 0) *seconds = fmin(*seconds, (fe_seconds() - start) / LIBRARY_CALLS);
    }
    return FE_OK;
}

/* The fastest of n ways on this matrix, and how many times as fast as the next one it is. */
static fe_status library_choose(const fe_problem *p, library_way *way, const void *work, int n, int *choice,
                                double *ahead)
{
    fe_device *d = p->device;
    double *direction = NULL, *y = NULL, seconds[LIBRARY_MOST_WAYS], next = INFINITY;
    fe_status status = fe_device_vector(d, p->view.n_local, "cuSPARSE", &direction);
    if (status == FE_OK) status = fe_device_vector(d, p->view.n_local, "cuSPARSE", &y);
    *choice = 0;
    for (int i = 0; i < n && status == FE_OK; i++) {
        status = library_measure(d, way, work, i, (const fe_number *)direction, (fe_number *)y, &seconds[i]);
        if (seconds[i] < seconds[*choice]) *choice = i;
    }
    for (int i = 0; i < n; i++)
        if (i != *choice) next = fmin(next, seconds[i]);
    *ahead = next / seconds[*choice];
    if (direction) d->ops->memory.release(d, direction);
    if (y) d->ops->memory.release(d, y);
    return status;
}

#endif
