/* Commit and versions of this build. */
#include "common/report/version.h"
#include "common/base/fe.h"
#include "have/cuda.h"
#include "have/metis.h"
#include "have/mpi.h"
#include "have/nccl.h"
#include "have/superlu.h"

#include <stdio.h>

#if FE_HAVE_CUDA
#include <cuda_runtime_api.h>
#endif

#if FE_HAVE_NCCL
#include <nccl.h>
#endif
#if FE_HAVE_MPI
#include <mpi.h>
#endif

const char *fe_commit(void) { return FE_COMMIT; }

int fe_simd_lanes(void)
{
#ifdef __AVX512F__
    return 8;
#else
    return 4;
#endif
}

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#if FE_HAVE_NCCL
#define NCCL TEXT(NCCL_MAJOR) "." TEXT(NCCL_MINOR) "." TEXT(NCCL_PATCH)
#else
#define NCCL "none (one GPU)"
#endif
#if !FE_HAVE_MPI
#define MPI "none (ranks are threads)"
#elif defined OMPI_MAJOR_VERSION
#define MPI "Open MPI " TEXT(OMPI_MAJOR_VERSION) "." TEXT(OMPI_MINOR_VERSION) "." TEXT(OMPI_RELEASE_VERSION)
#elif defined MPICH_VERSION
#define MPI "MPICH " MPICH_VERSION
#else
#define MPI "standard " TEXT(MPI_VERSION) "." TEXT(MPI_SUBVERSION)
#endif

const char *fe_version_text(void)
{
    static char text[512];
    snprintf(text, sizeof text,
             "febench %s\ncompiler: gcc %s (%s)\nSIMD: %d doubles per vector\nCUDA: %s\nNCCL: %s\nMPI: %s\n"
             "METIS: %s\nSuperLU: %s\n",
             FE_COMMIT, __VERSION__, FE_FLAGS, fe_simd_lanes(), FE_NVCC, NCCL, MPI,
             FE_HAVE_METIS ? "yes" : "no", FE_HAVE_SUPERLU ? "yes" : "no");
    return text;
}
