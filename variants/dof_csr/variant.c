#include "common/variant.h"

extern const fe_assembly dof_csr_host, dof_csr_cuda;

const fe_variant fe_variant_dof_csr = {
    .name = "dof_csr",
    .summary = "thread per node and direction, gathers over the elements at it, no atomics",
    .deterministic = 1,
    .host = &dof_csr_host,
    .cuda = FE_CUDA_TABLE(dof_csr_cuda),
};
