#include "common/tables.h"

FE_DECLARE_TABLES(element_team);

const fe_variant fe_variant_element_team = {
    .name = "element_team",
    .summary = "8 lanes per Hex8, one corner and one point per lane, butterfly gradients, atomics",
    .deterministic = 0,
    FE_TABLES(element_team),
};
