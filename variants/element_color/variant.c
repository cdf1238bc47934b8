#include "common/tables.h"

FE_DECLARE_TABLES(element_color);

const fe_variant fe_variant_element_color = {
    .name = "element_color",
    .summary = "block of elements in shared memory, one launch per colour of blocks, no atomics",
    .deterministic = 1,
    FE_TABLES(element_color),
};
