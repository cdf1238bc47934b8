/* Tables of strategies in mixed and in single precision that have no operations, instead of files that take
 * two fifths of the time to build. The first look of `make bench` is in doubles: its program,
 * $(BUILD)/first/kernels, is linked with these and runs before the others are built. */
#include "common/variant.h"
#include "have/cuda.h"

#define EMPTY(name, kind)                                                                                    \
    extern const fe_assembly name;                                                                           \
    const fe_assembly name = {.precision = kind};
#if FE_HAVE_CUDA
#define FE_VARIANT(name)                                                                                     \
    EMPTY(name##_host_mixed, FE_MIXED)                                                                       \
    EMPTY(name##_host_single, FE_SINGLE)                                                                     \
    EMPTY(name##_cuda_mixed, FE_MIXED)                                                                       \
    EMPTY(name##_cuda_single, FE_SINGLE)
#else
#define FE_VARIANT(name)                                                                                     \
    EMPTY(name##_host_mixed, FE_MIXED)                                                                       \
    EMPTY(name##_host_single, FE_SINGLE)
#endif
#include "variants/variants.def"
FE_VARIANT(bench_element_only)
