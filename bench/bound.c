/* bound on the host: one element a SIMD lane. */
#include "bench/bound.h"
#include "bench/case_box.h"
#include "common/problem/loops.h"

static fe_status forces(const fe_problem *p, void *work, int op, fe_part part, const double *v, double *y)
{
    (void)work;
    const fe_view *m = &p->view;
    const int threads = p->device->threads;
    int first, last;
    fe_part_elements(m, part, &first, &last);
#define FORCES(KIND, OP)                                                                                     \
    FE_PARALLEL_FOR(e, first, last, FE_LANES, threads)                                                       \
    bench_bound_forces(KIND, OP, m, fe_lanes_from(e), v, y)
    FE_FOR_OPERATION(p->kind, op, FORCES)
#undef FORCES
    return FE_OK;
}
FE_FORCE_OPERATIONS(forces)

static const fe_assembly bench_bound_host = {NULL, residual, fe_material_host, jacvec, NULL, 1};
extern const fe_assembly bench_bound_cuda;

const fe_variant bench_bound = {
    .name = "bound",
    .summary = "not a strategy: the element kernel without any sums",
    .host = &bench_bound_host,
    .cuda = FE_CUDA_TABLE(bench_bound_cuda),
};
