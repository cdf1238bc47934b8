#include "common/tables.h"

FE_DECLARE_TABLES(element_atomic);

const fe_variant fe_variant_element_atomic = {
    .name = "element_atomic",
    .summary = "thread per element, corner forces added to the nodes with atomics",
    .deterministic = 0,
    FE_TABLES(element_atomic),
};
