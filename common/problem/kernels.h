/* Kernels of strategies: one for each element kind and operation, and the launch of the one that is asked
 * for. The twin of loops.h. */
#ifndef FE_KERNELS_H
#define FE_KERNELS_H

#include "common/backend/cuda.h"
#include "common/problem/state.h"
#include "common/variant.h"

/* Enqueues the kernel of the problem's element kind, NAME_tet4 … NAME_hex8_naive, for n items. */
#define FE_LAUNCH_KIND(p, n, block_size, kernel, ...)                                                        \
    do {                                                                                                     \
        switch ((p)->kind) {                                                                                 \
            FE_EACH_KIND(FE_LAUNCH_CASE, p, n, block_size, kernel, __VA_ARGS__)                              \
        }                                                                                                    \
    } while (0)
#define FE_LAUNCH_CASE(KIND, name, p, n, block_size, kernel, ...)                                            \
    case KIND: FE_LAUNCH((p)->device, n, block_size, kernel##_##name, __VA_ARGS__); break;

/* X(KIND, name, OPERATION, operation) for each body of forces, and the launch of the one that op asks for:
 * PREFIX_residual_tet4 … */
#define FE_EACH_OPERATION(X, KIND, name)                                                                     \
    X(KIND, name, FE_RESIDUAL, residual)                                                                     \
    X(KIND, name, FE_JACVEC, jacvec)                                                                         \
    X(KIND, name, FE_JACVEC_ELASTIC, jacvec_elastic)
#define FE_LAUNCH_OPERATION(p, op, n, block_size, prefix, ...)                                               \
    do {                                                                                                     \
        if ((op) == FE_RESIDUAL)                                                                             \
            FE_LAUNCH_KIND(p, n, block_size, prefix##_residual, __VA_ARGS__);                                \
        else if ((op) == FE_JACVEC)                                                                          \
            FE_LAUNCH_KIND(p, n, block_size, prefix##_jacvec, __VA_ARGS__);                                  \
        else                                                                                                 \
            FE_LAUNCH_KIND(p, n, block_size, prefix##_jacvec_elastic, __VA_ARGS__);                          \
    } while (0)

#endif
