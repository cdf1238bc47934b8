/* Commit and versions of this build. */
#include "common/report/version.h"
#include "common/fe.h"

#include <stdio.h>

#if FE_HAVE_CUDA
#include <cuda_runtime_api.h>
#endif

#define STRING_(x) #x
#define STRING(x) STRING_(x)

const char *fe_commit(void) { return FE_COMMIT; }

int fe_simd_lanes(void)
{
#ifdef __AVX512F__
    return 8;
#else
    return 4;
#endif
}

const char *fe_version_text(void)
{
    static char text[512];
    snprintf(text, sizeof text,
             "febench %s\ncompiler: gcc %s (%s)\nSIMD: %d doubles a lane group\nCUDA: %s\nNCCL: none\n"
             "MPI: none (ranks are threads)\nMETIS: %s\n",
             FE_COMMIT, __VERSION__, FE_FLAGS, fe_simd_lanes(), FE_NVCC, FE_HAVE_METIS ? "yes" : "no");
    return text;
}
