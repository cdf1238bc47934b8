#include "common/tables.h"

FE_DECLARE_TABLES(node_csr);

const fe_variant fe_variant_node_csr = {
    .name = "node_csr",
    .summary = "thread per node, gathers over the elements at it, no atomics",
    .deterministic = 1,
    FE_TABLES(node_csr),
};
