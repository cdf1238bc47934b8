#include "common/variant.h"

extern const fe_assembly element_color_host, element_color_cuda;

const fe_variant fe_variant_element_color = {
    .name = "element_color",
    .summary = "thread per element, one launch per colour, no atomics",
    .deterministic = 1,
    .host = &element_color_host,
    .cuda = FE_CUDA_TABLE(element_color_cuda),
};
