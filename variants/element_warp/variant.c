#include "common/tables.h"

FE_DECLARE_TABLES(element_warp);

const fe_variant fe_variant_element_warp = {
    .name = "element_warp",
    .summary =
        "warp per element, one lane per point, corner forces summed by shuffles and added with atomics",
    .deterministic = 0,
    FE_TABLES(element_warp),
};
