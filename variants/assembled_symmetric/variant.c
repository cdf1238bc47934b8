#include "common/tables.h"

FE_DECLARE_TABLES(assembled_symmetric);

const fe_variant fe_variant_assembled_symmetric = {
    .name = "assembled_symmetric",
    .summary = "the upper half of the matrix in 3x3 blocks, each read once for two rows, atomics",
    .deterministic = 0,
    FE_TABLES(assembled_symmetric),
};
