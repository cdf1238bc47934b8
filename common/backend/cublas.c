/* The functions of cuBLAS that are used here, under their own names: the library is loaded when the first of
 * them is called. Linked, it would be loaded whenever a program starts, also where no GPU is used, and with
 * the library below it that takes 0.1 s of processor time (13.0; two thirds of what `solve --version` took).
 */
#include "have/cuda.h"

#if FE_HAVE_CUDA
#include <cublas_v2.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#define TEXT_OF(x) #x
#define NAME_OF(major) "libcublas.so." TEXT_OF(major)

#define EACH_FUNCTION(DO)                                                                                    \
    DO(cublasCreate_v2)                                                                                      \
    DO(cublasDestroy_v2)                                                                                     \
    DO(cublasSetStream_v2)                                                                                   \
    DO(cublasSetPointerMode_v2)                                                                              \
    DO(cublasDdot_v2_64)                                                                                     \
    DO(cublasDgemv_v2_64)                                                                                    \
    DO(cublasGetStatusString)

#define POINTER(name) __typeof__(&name) name;
static struct {
    EACH_FUNCTION(POINTER)
} of;
static char why_not[256]; /* empty: all functions are there */

static void look_up(void *library, const char *name, void *function)
{
    void *const found = library ? dlsym(library, name) : NULL;
    if (!found && !*why_not) snprintf(why_not, sizeof why_not, "%s", dlerror());
    *(void **)function = found;
}

static void load(void)
{
    void *const library = dlopen(NAME_OF(CUBLAS_VER_MAJOR), RTLD_NOW | RTLD_LOCAL);
#define LOOK_UP(name) look_up(library, #name, &of.name);
    EACH_FUNCTION(LOOK_UP)
}

/* Nothing else is called before this has succeeded. */
cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return *why_not ? CUBLAS_STATUS_NOT_INITIALIZED : of.cublasCreate_v2(handle);
}

const char *cublasGetStatusString(cublasStatus_t status)
{
    return *why_not ? why_not : of.cublasGetStatusString(status);
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) { return of.cublasDestroy_v2(handle); }

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream)
{
    return of.cublasSetStream_v2(handle, stream);
}

cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode)
{
    return of.cublasSetPointerMode_v2(handle, mode);
}

cublasStatus_t cublasDdot_v2_64(cublasHandle_t handle, int64_t n, const double *x, int64_t step_x,
                                const double *y, int64_t step_y, double *result)
{
    return of.cublasDdot_v2_64(handle, n, x, step_x, y, step_y, result);
}

cublasStatus_t cublasDgemv_v2_64(cublasHandle_t handle, cublasOperation_t transposed, int64_t m, int64_t n,
                                 const double *alpha, const double *matrix, int64_t stride, const double *x,
                                 int64_t step_x, const double *beta, double *y, int64_t step_y)
{
    return of.cublasDgemv_v2_64(handle, transposed, m, n, alpha, matrix, stride, x, step_x, beta, y, step_y);
}
#endif
