#include "common/variant.h"

extern const fe_assembly assembled_bsr_host, assembled_bsr_cuda;

const fe_variant fe_variant_assembled_bsr = {
    .name = "assembled_bsr",
    .summary = "the matrix itself in 3x3 blocks, own product: thread per block row, slices of a warp",
    .deterministic = 1,
    .host = &assembled_bsr_host,
    .cuda = FE_CUDA_TABLE(assembled_bsr_cuda),
};
