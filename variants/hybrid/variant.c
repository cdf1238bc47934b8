#include "common/tables.h"

FE_DECLARE_TABLES(hybrid);

const fe_variant fe_variant_hybrid = {
    .name = "hybrid",
    .summary = "times four of the others at set-up and takes the fastest for each operation",
    .deterministic = 0,
    FE_TABLES(hybrid),
};
