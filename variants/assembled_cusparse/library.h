/* What both strategies need of cuSPARSE. */
#ifndef ASSEMBLED_CUSPARSE_LIBRARY_H
#define ASSEMBLED_CUSPARSE_LIBRARY_H

#include "common/backend/cuda.h"
#include "variants/assembled_bsr/matrix.h"

#include <cusparse.h>

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

/* The library offers several ways to a product. way(work, part, i, direction, y) is the i-th one. */
typedef fe_status library_way(const void *work, fe_part part, int i, const fe_number *direction,
                              fe_number *y);
enum { LIBRARY_MOST_WAYS = 4, LIBRARY_CALLS = 5, LIBRARY_ROUNDS = 3 };

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
