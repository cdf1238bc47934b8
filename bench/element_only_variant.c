#include "bench/workload.h"
#include "common/tables.h"

FE_DECLARE_TABLES(bench_element_only);

const fe_variant bench_element_only = {
    .name = "element_only",
    .summary = "not a strategy: the element kernel without any sums",
    FE_TABLES(bench_element_only),
};
