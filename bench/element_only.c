/* element_only on the host: one element per SIMD lane. */
#include "bench/element_only.h"
#include "common/problem/loops.h"

#define FORCES(KIND, OP)                                                                                     \
    FE_PARALLEL_FOR (e, first, last, FE_LANES, threads)                                                      \
    bench_element_only_forces(KIND, OP, m, fe_lanes_from(e), displacement, y)
FE_HOST_FORCES(fe_part_elements, FORCES)
#undef FORCES

FE_TABLE(bench_element_only_host, .residual = residual, .material = fe_material_host, .jacvec = jacvec,
         .traits = FE_STORES)
