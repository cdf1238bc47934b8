#include "common/variant.h"

extern const fe_assembly element_team_host, element_team_cuda;

const fe_variant fe_variant_element_team = {
    .name = "element_team",
    .summary = "8 lanes per Hex8, one corner and one point per lane, butterfly gradients, atomics",
    .deterministic = 0,
    .host = &element_team_host,
    .cuda = FE_CUDA_TABLE(element_team_cuda),
};
