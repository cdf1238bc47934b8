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
/* A launch may overlap with the end of the kernel before it: that was asked for, a recording goes on, the
 * last thing in it is a kernel, and the build's code for this device knows fe_wait_for_last_kernel. */
int fe_cuda_may_overlap(fe_device *d);
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

#ifdef __CUDACC__
/* Kernels launched by FE_LAUNCH_OVERLAPPED begin while the kernel before them still runs: their blocks take
 * the places that its last blocks leave. Each of them calls this before it reads anything that an earlier
 * kernel wrote, and before it writes anything: it returns when all earlier kernels have ended. CUDA
 * programming guide, "Programmatic dependent launch". */
__device__ __forceinline__ void fe_wait_for_last_kernel(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents; griddepcontrol.wait;" ::: "memory");
#endif
}

template <typename... Parameters, typename... Arguments>
cudaError_t fe_launch_overlapped(fe_device *d, unsigned grid, unsigned block_size, size_t shared,
                                 void (*kernel)(Parameters...), Arguments &&...arguments)
{
    cudaLaunchAttribute overlap = {};
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(grid), config.blockDim = dim3(block_size), config.dynamicSmemBytes = shared;
    config.stream = fe_cuda_stream(d);
    config.attrs = &overlap, config.numAttrs = fe_cuda_may_overlap(d) ? 1 : 0;
    return cudaLaunchKernelEx(&config, kernel, arguments...);
}

/* FE_LAUNCH of a kernel that calls fe_wait_for_last_kernel. */
#define FE_LAUNCH_OVERLAPPED(device, n, block_size, kernel, ...)                                             \
    do {                                                                                                     \
        if ((n) > 0)                                                                                         \
            CUDA_TRY(                                                                                        \
                fe_launch_overlapped(device, fe_grid(n, block_size), block_size, 0, kernel, __VA_ARGS__));   \
    } while (0)
#endif

#endif
