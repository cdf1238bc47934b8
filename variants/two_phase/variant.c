#include "common/tables.h"

FE_DECLARE_TABLES(two_phase);

const fe_variant fe_variant_two_phase = {
    .name = "two_phase",
    .summary = "stress stored by integration point, then gathered by node, no atomics",
    .deterministic = 1,
    FE_TABLES(two_phase),
};
