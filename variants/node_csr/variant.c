#include "common/variant.h"

extern const fe_assembly node_csr_host, node_csr_cuda;

const fe_variant fe_variant_node_csr = {
    .name = "node_csr",
    .summary = "thread per node, gathers over the elements at it, no atomics",
    .deterministic = 1,
    .host = &node_csr_host,
    .cuda = FE_CUDA_TABLE(node_csr_cuda),
};
