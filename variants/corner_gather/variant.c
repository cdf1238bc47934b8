#include "common/tables.h"

FE_DECLARE_TABLES(corner_gather);

const fe_variant fe_variant_corner_gather = {
    .name = "corner_gather",
    .summary = "elements store corner forces, then each node sums its own, no atomics",
    .deterministic = 1,
    FE_TABLES(corner_gather),
};
