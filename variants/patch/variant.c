#include "common/variant.h"

extern const fe_assembly patch_host, patch_cuda;

const fe_variant fe_variant_patch = {
    .name = "patch",
    .summary = "block of threads per patch of elements, summed in shared memory, atomics on its border only",
    .deterministic = 0,
    .host = &patch_host,
    .cuda = FE_CUDA_TABLE(patch_cuda),
};
