#include "common/variant.h"

extern const fe_assembly element_warp_host, element_warp_cuda;

const fe_variant fe_variant_element_warp = {
    .name = "element_warp",
    .summary =
        "warp per element, one lane per point, corner forces summed by shuffles and added with atomics",
    .deterministic = 0,
    .host = &element_warp_host,
    .cuda = FE_CUDA_TABLE(element_warp_cuda),
};
