/* What a strategy's variant.c needs to name its tables. It alone depends on whether there is CUDA, so that a
 * build without does not compile the tables of hosts again. */
#ifndef FE_TABLES_H
#define FE_TABLES_H

#include "common/variant.h"
#include "have/cuda.h"

/* The tables of a strategy in its fe_variant, and their declarations before it. */
#define FE_DECLARE_TABLES(name)                                                                              \
    extern const fe_assembly name##_host, name##_host_mixed, name##_host_single, name##_cuda,                \
        name##_cuda_mixed, name##_cuda_single
#define FE_TABLES(name)                                                                                      \
    .host = &name##_host, .host_mixed = &name##_host_mixed, .host_single = &name##_host_single,              \
    .cuda = FE_CUDA_TABLE(name##_cuda), .cuda_mixed = FE_CUDA_TABLE(name##_cuda_mixed),                      \
    .cuda_single = FE_CUDA_TABLE(name##_cuda_single)

#if FE_HAVE_CUDA
#define FE_CUDA_TABLE(table) &(table)
#else
#define FE_CUDA_TABLE(table) NULL
#endif

#endif
