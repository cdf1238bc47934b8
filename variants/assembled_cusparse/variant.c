#include "common/tables.h"
#include "have/cusparse.h"

#if FE_HAVE_CUSPARSE
#define CUSPARSE_TABLE(table) FE_CUDA_TABLE(table)
#else
#define CUSPARSE_TABLE(table) NULL
#endif

FE_DECLARE_TABLES(assembled_cusparse);
FE_DECLARE_TABLES(assembled_csr);

const fe_variant fe_variant_assembled_cusparse = {
    .name = "assembled_cusparse",
    .summary = "the matrix itself in 3x3 blocks, product by cuSPARSE",
    .deterministic = 0,
    .host = &assembled_cusparse_host,
    .host_single = &assembled_cusparse_host_single,
    .cuda = CUSPARSE_TABLE(assembled_cusparse_cuda),
    .cuda_single = CUSPARSE_TABLE(assembled_cusparse_cuda_single),
};

const fe_variant fe_variant_assembled_csr = {
    .name = "assembled_csr",
    .summary = "the matrix itself in scalar rows (CSR), product by cuSPARSE",
    .deterministic = 0,
    .host = &assembled_csr_host,
    .host_single = &assembled_csr_host_single,
    .cuda = CUSPARSE_TABLE(assembled_csr_cuda),
    .cuda_single = CUSPARSE_TABLE(assembled_csr_cuda_single),
};
