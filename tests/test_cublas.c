/* cuBLAS is loaded by the first call of one of its functions, and not before. */
#include "have/cuda.h"
#include "tests/common.h"

#include <stdlib.h>
#include <string.h>

#if FE_HAVE_CUDA
#include <cublas_v2.h>

static int is_loaded(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[4096];
    int found = 0;
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps)) found |= strstr(line, "/libcublas.so") != NULL;
    fclose(maps);
    return found;
}

/* What a handle is on a machine without a GPU is the library's to say. */
static void test_loaded_when_called(void **state)
{
    (void)state;
    cublasHandle_t handle = NULL;
    assert_false(is_loaded());
    const cublasStatus_t status = cublasCreate(&handle);
    assert_true(is_loaded());
    assert_int_equal(status == CUBLAS_STATUS_SUCCESS, handle != NULL);
    assert_string_equal(cublasGetStatusString(CUBLAS_STATUS_INVALID_VALUE),
                        "an unsupported value or parameter was passed to the function");
    if (handle) assert_int_equal(cublasDestroy(handle), CUBLAS_STATUS_SUCCESS);
}
#else
static void test_loaded_when_called(void **state)
{
    (void)state;
    skip_if("this build has no CUDA", "cuBLAS");
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_loaded_when_called)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
