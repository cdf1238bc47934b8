#include "common/variant.h"

extern const fe_assembly element_atomic_host, element_atomic_cuda;

const fe_variant fe_variant_element_atomic = {
    .name = "element_atomic",
    .summary = "thread per element, corner forces added to the nodes with atomics",
    .deterministic = 0,
    .host = &element_atomic_host,
    .cuda = FE_CUDA_TABLE(element_atomic_cuda),
};
