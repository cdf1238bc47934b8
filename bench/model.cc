/* See model.h. */
#include "bench/point.h" /* first */

#include "bench/model.h"

namespace bench
{

namespace
{

double matrix_bytes(const bench_workload &c, const entrant &e, bench_operation op)
{
    const double vectors = (c.box.precision == FE_SINGLE ? 24.0 : 48.0) * c.problem.view.n_owned;
    return op == BENCH_DIAGONAL ? 0.0 : e.assembly->matrix_bytes(e.work) + vectors;
}

/* The least bytes that an operation without a matrix has to move where caches hold everything that is used
 * twice: the model of results/README.md. Results are stored once; numbers of corners take 16 bits, as they do
 * within a part of the mesh; a flag is read where one is needed, and where there are several materials the
 * number of each element's. */
double bytes_moved(const bench_workload &c, bench_operation op)
{
    const fe_view &m = c.problem.view;
    const bool rounded = c.box.precision != FE_DOUBLE;
    const double n_node = m.n_owned, n_elem = m.n_elem, point = 8.0 * fe_points(c.box.kind);
    const double x = rounded ? 12 : 24, vector = c.box.precision == FE_SINGLE ? 12 : 24;
    const double conn = 2.0 * fe_corners(c.box.kind) + (m.materials ? 1.0 : 0.0), flag = 1.0;
    const double yielded = point * FE_N_STATE * c.n_yielded, tangents = point / 8.0 * c.n_softened;
    const double softened = tangents * FE_N_TANGENT * (rounded ? sizeof(float) : sizeof(fe_stored_number));
    switch (op) {
    case BENCH_RESIDUAL: return n_node * (x + 2 * vector) + n_elem * (conn + flag) + yielded;
    case BENCH_MATERIAL: return n_node * (24 + 24) + n_elem * (conn + 2 * flag) + 2 * yielded + softened;
    case BENCH_JACVEC_ELASTIC: return n_node * (x + 2 * vector) + n_elem * conn;
    case BENCH_JACVEC: return n_node * (x + 2 * vector) + n_elem * (conn + flag) + softened;
    case BENCH_JACVEC_FULL:
        return n_node * (x + 2 * vector) + n_elem * (conn + flag) + tangents * FE_N_FULL * sizeof(double);
    default: return n_node * (x + 3 * vector) + n_elem * (conn + flag) + softened;
    }
}

} // namespace

double flop(const bench_workload &c, bench_operation op)
{
    const double n = c.problem.view.n_elem;
    const double plastic = op == BENCH_JACVEC_ELASTIC ? 0.0 : c.n_softened;
    return plastic * (double)flop_count::of_element(c.box.kind, op, c.box.hardening, true) +
           (n - plastic) * (double)flop_count::of_element(c.box.kind, op, c.box.hardening, false);
}

bool by_matrix(const entrant &e, bench_operation op)
{
    return (e.assembly->traits & FE_ASSEMBLED) && op != BENCH_RESIDUAL && op != BENCH_MATERIAL;
}

double bytes_of(const bench_workload &c, const entrant &e, bench_operation op)
{
    return by_matrix(e, op) ? matrix_bytes(c, e, op) : bytes_moved(c, op);
}

double ceiling_seconds(const bench_workload &c, const fe_machine &m, bench_operation op)
{
    const bool cuda = c.device->ops->on_gpu;
    const double copy = cuda ? m.cuda_copy : m.host_copy, peak = cuda ? m.cuda_flop : m.host_flop;
    if (!(copy > 0.0 && peak > 0.0)) return 0.0;
    return fmax(bytes_moved(c, op) / copy, c.box.precision == FE_DOUBLE ? flop(c, op) / peak : 0.0);
}

} // namespace bench
