#include "common/tables.h"
#include "variants/assembled_symmetric/forms.h"

FE_DECLARE_TABLES(assembled_symmetric);

const fe_variant fe_variant_assembled_symmetric = {
    .name = "assembled_symmetric",
#if SYMMETRIC_FORM == SYMMETRIC_GATHER
    .summary = "the upper half of the matrix in 3x3 blocks, each read once for two rows, products gathered",
#elif SYMMETRIC_FORM == SYMMETRIC_COLORS
    .summary = "the upper half of the matrix in 3x3 blocks, each read once for two rows, rows coloured",
#else
    .summary = "the upper half of the matrix in 3x3 blocks, each read once for two rows, atomics",
#endif
    .deterministic = SYMMETRIC_FORM != SYMMETRIC_ATOMICS,
    FE_TABLES(assembled_symmetric),
};
