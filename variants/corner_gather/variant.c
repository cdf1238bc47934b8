#include "common/variant.h"

extern const fe_assembly corner_gather_host, corner_gather_cuda;

const fe_variant fe_variant_corner_gather = {
    .name = "corner_gather",
    .summary = "elements store corner forces, then each node sums its own, no atomics",
    .deterministic = 1,
    .host = &corner_gather_host,
    .cuda = FE_CUDA_TABLE(corner_gather_cuda),
};
