/* What files share that call CUDA: error relay, the stream of a device, and launches. */
#ifndef FE_CUDA_H
#define FE_CUDA_H

#include "common/backend/device.h"

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
/* A second stream for exchanges, of higher priority; and the events at which its work begins and has
 * ended. */
fe_status fe_cuda_side_stream(cudaStream_t *stream, cudaEvent_t *begin, cudaEvent_t *end);
void fe_cuda_side_stream_close(cudaStream_t *stream, cudaEvent_t *begin, cudaEvent_t *end);
#ifdef __cplusplus
}
#endif

static inline unsigned fe_grid(size_t n, int block_size)
{
    return (unsigned)((n + block_size - 1) / block_size);
}

/* Enqueues kernel(...) for n items. An empty launch is nothing. */
#define FE_LAUNCH(device, n, block_size, kernel, ...)                                                        \
    do {                                                                                                     \
        if ((n) > 0) kernel<<<fe_grid(n, block_size), block_size, 0, fe_cuda_stream(device)>>>(__VA_ARGS__); \
        CUDA_TRY(cudaGetLastError());                                                                        \
    } while (0)

#endif
