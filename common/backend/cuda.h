/* What files share that call CUDA: error relay, the stream of a device, and launches. */
#ifndef FE_CUDA_H
#define FE_CUDA_H

#include "common/backend/device.h"
#include "common/variant.h"

#include <cuda_runtime.h>

#define CUDA_TRY(call)                                                                                       \
    do {                                                                                                     \
        const cudaError_t cuda_try_error = (call);                                                           \
        if (cuda_try_error != cudaSuccess)                                                                   \
            return fe_fail(FE_FAILED, "%s:%d: CUDA: %s", __FILE__, __LINE__,                                 \
                           cudaGetErrorString(cuda_try_error));                                              \
    } while (0)

#ifdef __cplusplus
extern "C" {
#endif
cudaStream_t fe_cuda_stream(fe_device *d);
/* A stream for exchanges beside the device's own, whose work goes first where both have some; and the events
 * at which it begins and has ended. */
fe_status fe_cuda_side_stream(cudaStream_t *stream, cudaEvent_t *begin, cudaEvent_t *end);
void fe_cuda_side_stream_close(cudaStream_t *stream, cudaEvent_t *begin, cudaEvent_t *end);
#ifdef __cplusplus
}
#endif

static inline unsigned fe_grid(size_t n, int threads) { return (unsigned)((n + threads - 1) / threads); }

/* Enqueues kernel(...) for n items. An empty launch is nothing. */
#define FE_LAUNCH(device, n, threads, kernel, ...)                                                           \
    do {                                                                                                     \
        if ((n) > 0) kernel<<<fe_grid(n, threads), threads, 0, fe_cuda_stream(device)>>>(__VA_ARGS__);       \
        CUDA_TRY(cudaGetLastError());                                                                        \
    } while (0)

/* Enqueues the kernel of the problem's element kind, NAME_tet4 … NAME_hex8_naive, for n items. */
#define FE_LAUNCH_KIND(p, n, threads, kernel, ...)                                                           \
    switch ((p)->kind) {                                                                                     \
        FE_EACH_KIND(FE_LAUNCH_CASE, p, n, threads, kernel, __VA_ARGS__)                                     \
    }
#define FE_LAUNCH_CASE(KIND, name, p, n, threads, kernel, ...)                                               \
    case KIND: FE_LAUNCH((p)->device, n, threads, kernel##_##name, __VA_ARGS__); break;

/* X(KIND, name, OPERATION, operation) for each body of forces, and the launch of the one that op asks for:
 * PREFIX_residual_tet4 … */
#define FE_EACH_OPERATION(X, KIND, name)                                                                     \
    X(KIND, name, FE_RESIDUAL, residual)                                                                     \
    X(KIND, name, FE_JACVEC, jacvec)                                                                         \
    X(KIND, name, FE_JACVEC_ELASTIC, jacvec_elastic)
#define FE_LAUNCH_OPERATION(p, op, n, threads, prefix, ...)                                                  \
    if ((op) == FE_RESIDUAL)                                                                                 \
        FE_LAUNCH_KIND(p, n, threads, prefix##_residual, __VA_ARGS__)                                        \
    else if ((op) == FE_JACVEC)                                                                              \
        FE_LAUNCH_KIND(p, n, threads, prefix##_jacvec, __VA_ARGS__)                                          \
    else                                                                                                     \
        FE_LAUNCH_KIND(p, n, threads, prefix##_jacvec_elastic, __VA_ARGS__)

#endif
