#include "common/tables.h"

FE_DECLARE_TABLES(dof_csr);

const fe_variant fe_variant_dof_csr = {
    .name = "dof_csr",
    .summary = "thread per node and direction, gathers over the elements at it, no atomics",
    .deterministic = 1,
    FE_TABLES(dof_csr),
};
