#include "common/tables.h"

FE_DECLARE_TABLES(patch);
FE_DECLARE_TABLES(patch_ordered);

const fe_variant fe_variant_patch = {
    .name = "patch",
    .summary = "block of threads per patch of elements, summed in shared memory, atomics on its border only",
    .deterministic = 0,
    FE_TABLES(patch),
};

const fe_variant fe_variant_patch_ordered = {
    .name = "patch_ordered",
    .summary = "patch, with a second pass for nodes of more than two patches, in order",
    .deterministic = 1,
    FE_TABLES(patch_ordered),
};
