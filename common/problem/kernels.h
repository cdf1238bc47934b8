/* Kernels of strategies: one for each element kind and operation, and the launch of the one that is asked
 * for. The twin of loops.h. */
#ifndef FE_KERNELS_H
#define FE_KERNELS_H

#include "common/backend/cuda.h"
#include "common/problem/state.h"
#include "common/variant.h"

/* In a file that defines FE_STARTS_EARLY these macros launch by FE_LAUNCH_EARLY: each kernel calls
 * fe_wait_for_earlier() before it writes. In one that defines FE_CHAINED, whether the kernel follows another
 * one of a chain, they launch by FE_LAUNCH_CHAINED. */
#ifdef FE_STARTS_EARLY
#define FE_LAUNCH_ONE FE_LAUNCH_EARLY
#elif defined FE_CHAINED
#define FE_LAUNCH_ONE(device, ...) FE_LAUNCH_CHAINED(device, FE_CHAINED, __VA_ARGS__)
#else
#define FE_LAUNCH_ONE FE_LAUNCH
#endif

/* Enqueues the kernel of the problem's element kind, NAME_tet4 … NAME_hex8_naive, for n items. */
#define FE_LAUNCH_KIND(...) FE_LAUNCH_WHERE(FE_LAUNCH_CASE, __VA_ARGS__)
#define FE_LAUNCH_CASE(KIND, name, p, n, block_size, kernel, ...)                                            \
    case KIND: FE_LAUNCH_ONE((p)->device, n, block_size, kernel##_##name, __VA_ARGS__); break;
/* The same of kernels that kinds with plasticity have, with several materials, with both, with Voce's law,
 * and with full tangents. */
#define FE_LAUNCH_PLASTIC(...) FE_LAUNCH_WHERE(FE_LAUNCH_PLASTIC_CASE, __VA_ARGS__)
#define FE_LAUNCH_PLASTIC_CASE(KIND, name, ...) FE_PLASTIC_##name(FE_LAUNCH_CASE, KIND, name, __VA_ARGS__)
#define FE_LAUNCH_SEVERAL(...) FE_LAUNCH_WHERE(FE_LAUNCH_SEVERAL_CASE, __VA_ARGS__)
#define FE_LAUNCH_SEVERAL_CASE(KIND, name, ...) FE_SEVERAL_##name(FE_LAUNCH_CASE, KIND, name, __VA_ARGS__)
#define FE_LAUNCH_PLASTIC_SEVERAL(...) FE_LAUNCH_WHERE(FE_LAUNCH_PLASTIC_SEVERAL_CASE, __VA_ARGS__)
#define FE_LAUNCH_PLASTIC_SEVERAL_CASE(KIND, name, ...)                                                      \
    FE_PLASTIC_##name(FE_SEVERAL_##name, FE_LAUNCH_CASE, KIND, name, __VA_ARGS__)
#define FE_LAUNCH_VOCE(...) FE_LAUNCH_WHERE(FE_LAUNCH_VOCE_CASE, __VA_ARGS__)
#define FE_LAUNCH_VOCE_CASE(KIND, name, ...) FE_VOCE_##name(FE_LAUNCH_CASE, KIND, name, __VA_ARGS__)
#define FE_LAUNCH_FULL(...) FE_LAUNCH_WHERE(FE_LAUNCH_FULL_CASE, __VA_ARGS__)
#define FE_LAUNCH_FULL_CASE(KIND, name, ...) FE_FULL_##name(FE_LAUNCH_CASE, KIND, name, __VA_ARGS__)
#define FE_LAUNCH_WHERE(CASE, p, n, block_size, kernel, ...)                                                 \
    do {                                                                                                     \
        switch ((p)->kind) {                                                                                 \
            FE_EACH_KIND(CASE, p, n, block_size, kernel, __VA_ARGS__)                                        \
        }                                                                                                    \
    } while (0)

/* X(KIND, name, OPERATION, operation) for each body of forces, and the launch of the one that op asks for:
 * PREFIX_residual_tet4 … */
#define FE_EACH_OPERATION(X, KIND, name)                                                                     \
    X(KIND, name, FE_JACVEC_ELASTIC, jacvec_elastic)                                                         \
    FE_SEVERAL_##name(X, KIND, name, FE_JACVEC_ELASTIC_SEVERAL, jacvec_elastic_several)                      \
        FE_PLASTIC_##name(X, KIND, name, FE_RESIDUAL, residual)                                              \
            FE_PLASTIC_##name(X, KIND, name, FE_JACVEC, jacvec)                                              \
                FE_PLASTIC_##name(FE_SEVERAL_##name, X, KIND, name, FE_RESIDUAL_SEVERAL, residual_several)   \
                    FE_PLASTIC_##name(FE_SEVERAL_##name, X, KIND, name, FE_JACVEC_SEVERAL, jacvec_several)   \
                        FE_VOCE_##name(X, KIND, name, FE_RESIDUAL_VOCE, residual_voce)                       \
                            FE_FULL_##name(X, KIND, name, FE_JACVEC_FULL, jacvec_full)
#define FE_LAUNCH_OPERATION(p, op, n, block_size, prefix, ...)                                               \
    do {                                                                                                     \
        if ((op) == FE_RESIDUAL)                                                                             \
            FE_LAUNCH_PLASTIC(p, n, block_size, prefix##_residual, __VA_ARGS__);                             \
        else if ((op) == FE_JACVEC)                                                                          \
            FE_LAUNCH_PLASTIC(p, n, block_size, prefix##_jacvec, __VA_ARGS__);                               \
        else if ((op) == FE_JACVEC_ELASTIC)                                                                  \
            FE_LAUNCH_KIND(p, n, block_size, prefix##_jacvec_elastic, __VA_ARGS__);                          \
        else if ((op) == FE_RESIDUAL_SEVERAL)                                                                \
            FE_LAUNCH_PLASTIC_SEVERAL(p, n, block_size, prefix##_residual_several, __VA_ARGS__);             \
        else if ((op) == FE_JACVEC_SEVERAL)                                                                  \
            FE_LAUNCH_PLASTIC_SEVERAL(p, n, block_size, prefix##_jacvec_several, __VA_ARGS__);               \
        else if ((op) == FE_JACVEC_ELASTIC_SEVERAL)                                                          \
            FE_LAUNCH_SEVERAL(p, n, block_size, prefix##_jacvec_elastic_several, __VA_ARGS__);               \
        else if ((op) == FE_JACVEC_FULL)                                                                     \
            FE_LAUNCH_FULL(p, n, block_size, prefix##_jacvec_full, __VA_ARGS__);                             \
        else                                                                                                 \
            FE_LAUNCH_VOCE(p, n, block_size, prefix##_residual_voce, __VA_ARGS__);                           \
    } while (0)

/* X(...) for the kinds and the precision that know Voce's law (fe_voce_has), otherwise nothing. The problem
 * refuses the other kinds, FE_FORCE_OPERATIONS the other precisions. */
#if FE_PRECISION == FE_DOUBLE
#define FE_VOCE_tet4(X, ...) X(__VA_ARGS__)
#else
#define FE_VOCE_tet4(X, ...)
#endif
#define FE_VOCE_hex8 FE_VOCE_tet4
#define FE_VOCE_tet10 FE_VOCE_tet4
#define FE_VOCE_hex27 FE_VOCE_tet4
#define FE_VOCE_tet4_p4(X, ...)
#define FE_VOCE_hex8_naive(X, ...)
#define FE_VOCE_tet4_mixed(X, ...)
#define FE_VOCE_hex8_mixed(X, ...)
#define FE_VOCE_tet4_single(X, ...)
#define FE_VOCE_hex8_single(X, ...)
#define FE_VOCE_tet10_single(X, ...)
#define FE_VOCE_hex27_single(X, ...)

#endif
