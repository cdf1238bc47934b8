#include "common/variant.h"

FE_DECLARE_TABLES(element_color);

const fe_variant fe_variant_element_color = {
    .name = "element_color",
    .summary = "thread per element, one launch per colour, no atomics",
    .deterministic = 1,
    FE_TABLES(element_color),
};
