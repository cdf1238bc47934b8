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

#endif
