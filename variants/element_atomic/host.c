/* element_atomic on the host: one element per SIMD lane, OpenMP over groups of lanes. */
#include "common/problem/loops.h"
#include "variants/element_atomic/assembly.h"

#define FORCES(KIND, OP)                                                                                     \
    FE_PARALLEL_FOR (e, first, last, FE_LANES, threads)                                                      \
    element_atomic_forces(KIND, OP, m, fe_lanes_from(e), last - e, threads > 1, displacement, y)
FE_HOST_FORCES(fe_part_elements, FORCES)
#undef FORCES

#define DIAGONAL(KIND)                                                                                       \
    FE_PARALLEL_FOR (e, first, last, FE_LANES, threads)                                                      \
    element_atomic_diagonal(KIND, m, fe_lanes_from(e), last - e, threads > 1, d)
FE_HOST_DIAGONAL(n_elem, DIAGONAL)
#undef DIAGONAL

FE_TABLE(element_atomic_host, .residual = residual, .material = fe_material_host, .jacvec = jacvec,
         .diagonal = diagonal)
