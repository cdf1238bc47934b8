/* element_warp on the host: a vector is the warp, its lanes are the points of one element, or quadratic
 * elements.
 */
#include "common/problem/loops.h"
#include "variants/element_warp/assembly.h"

#define FORCES(KIND, OP)                                                                                     \
    FE_PARALLEL_FOR (e, first, last, element_warp_elements(KIND), threads)                                   \
    element_warp_forces(KIND, OP, m, e, last, threads > 1, displacement, y)
FE_HOST_FORCES(fe_part_elements, FORCES)
#undef FORCES

#define DIAGONAL(KIND)                                                                                       \
    FE_PARALLEL_FOR (e, first, last, element_warp_elements(KIND), threads)                                   \
    element_warp_diagonal(KIND, m, e, last, threads > 1, d)
FE_HOST_DIAGONAL(n_elem, DIAGONAL)
#undef DIAGONAL

FE_TABLE(element_warp_host, .residual = residual, .material = fe_material_host, .jacvec = jacvec,
         .diagonal = diagonal)
