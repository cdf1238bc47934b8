#include "common/tables.h"

FE_DECLARE_TABLES(assembled_bsr);

const fe_variant fe_variant_assembled_bsr = {
    .name = "assembled_bsr",
    .summary = "the matrix itself in 3x3 blocks, own product: thread per block row, slices of a warp",
    .deterministic = 1,
    FE_TABLES(assembled_bsr),
};
