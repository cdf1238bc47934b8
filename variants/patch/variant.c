#include "common/variant.h"

extern const fe_assembly patch_host, patch_cuda, patch_ordered_host, patch_ordered_cuda;

const fe_variant fe_variant_patch = {
    .name = "patch",
    .summary = "block of threads per patch of elements, summed in shared memory, atomics on its border only",
    .deterministic = 0,
    .host = &patch_host,
    .cuda = FE_CUDA_TABLE(patch_cuda),
};

const fe_variant fe_variant_patch_ordered = {
    .name = "patch_ordered",
    .summary = "patch, with its border summed by a second pass instead of atomics",
    .deterministic = 1,
    .host = &patch_ordered_host,
    .cuda = FE_CUDA_TABLE(patch_ordered_cuda),
};
