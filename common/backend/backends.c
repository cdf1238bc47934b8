/* Backends by name. */
#include "common/backend/device.h"
#include "have/cuda.h"

#include <string.h>

fe_status fe_backend_find(const char *name, const fe_backend **backend)
{
    *backend = NULL;
    if (!strcmp(name, "host")) {
        *backend = &fe_backend_host;
        return FE_OK;
    }
    if (strcmp(name, "cuda")) return fe_fail(FE_BAD_INPUT, "--backend %s: is neither host nor cuda", name);
#if FE_HAVE_CUDA
    if (fe_cuda_devices() == 0) return fe_fail(FE_BAD_INPUT, "--backend cuda: no CUDA device was found");
    *backend = &fe_backend_cuda;
    return FE_OK;
#else
    return fe_fail(FE_BAD_INPUT, "--backend cuda: this build has no CUDA (nvcc was not found by make)");
#endif
}

#if !FE_HAVE_CUDA
int fe_cuda_devices(void) { return 0; }
#endif
