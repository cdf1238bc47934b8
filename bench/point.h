/* What the program `kernels` times: points, in groups that share a backend, an element and a mesh; the model
 * of their bytes and flop; their checks. C++. */
#ifndef BENCH_POINT_H
#define BENCH_POINT_H

#include "bench/flop_count.h" /* first, because it replaces fe_real */

#include "bench/ceiling.h"
#include "bench/cold.h"
#include "bench/conditions.h"
#include "bench/contact.h"
#include "bench/energy.h"
#include "bench/timed_mesh.h"
#include "bench/verify.h"
#include "common/backend/device.h"
#include "common/report/machine.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace bench
{

/* --- one group --------------------------------------------------------------------------------------- */

struct group;

/* One strategy on one of its group's workloads. */
struct entrant {
    const fe_variant *variant;
    const fe_assembly *assembly;
    int pieces; /* the workload that it is on */
    void *work = nullptr;
    double setup_seconds = 0.0, bytes = 0.0;
    bool full = false; /* not enough memory for its set-up */
};

/* One benchmark: an entrant's operation. */
struct point {
    group *of;
    size_t entrant;
    bench_operation operation;
    std::string said, name;       /* said: the operation, with the share of nodes in contact */
    const char *status = nullptr; /* nullptr until it was checked */
    std::string message;
    double error = 0.0;
    int deterministic = -1;         /* as measured; -1: unknown */
    int64_t batch = 0;              /* calls between two readings of the clock */
    double energy_seconds = 0.0;    /* length of a window of its energy; 0: none is measured */
    fe_row_energy energy = {};      /* of one call; 0: not measured */
    std::vector<fe_sample> samples; /* in their order; those with which a batch was looked for come first */
};

/* burst: short samples of all points in turns. sustained: one point without pause, seconds long. cold: single
 * calls behind data that fill the cache. */
enum condition { BURST, SUSTAINED, COLD };
inline const char *const condition_names[] = {"burst", "sustained", "cold"};

/* In the order auto, strategies that want pieces have a workload of their own: the same mesh and state in
 * another order. All are resident at the same time. */
struct group {
    bench_box box;
    const bench_mesh *mesh;
    int asked_dof;
    int64_t n_elem, n_dof; /* exact */
    std::string mesh_name;
    bench_workload cases[2] = {};
    bool opened = false, ready = false;  /* tried, and done: the workloads are resident */
    const bench_energy *meter = nullptr; /* nullptr: energy is not measured */
    bench_conditions *around = nullptr;  /* of the backend, while anything is timed */
    bench_cold cold[2] = {};             /* of the workloads; opened with the first cold call */
    condition how = BURST;
    double sustained = 0.0; /* seconds without pause */
    int process = 1;
    std::vector<entrant> entrants;
    std::vector<point> points;
    bench_workload &of(const entrant &e) { return cases[e.pieces]; }
    bench_workload &of(const point &p) { return of(entrants[p.entrant]); }
    const bench_workload &of(const point &p) const { return cases[entrants[p.entrant].pieces]; }
    ~group()
    {
        for (bench_workload &c : cases) bench_workload_close(&c);
    }
};

/* --- the model --------------------------------------------------------------------------------------- */

inline double flop(const bench_workload &c, bench_operation op)
{
    const double n = c.problem.view.n_elem;
    const double plastic = op == BENCH_JACVEC_ELASTIC ? 0.0 : c.n_softened;
    return plastic * (double)flop_count::of_element(c.box.kind, op, c.box.hardening, true) +
           (n - plastic) * (double)flop_count::of_element(c.box.kind, op, c.box.hardening, false);
}

/* Whether an operation uses a stored matrix: the model below is not of such a product. Its product reads that
 * matrix once, and a vector; it writes a vector. */
inline bool by_matrix(const entrant &e, bench_operation op)
{
    return (e.assembly->traits & FE_ASSEMBLED) && op != BENCH_RESIDUAL && op != BENCH_MATERIAL;
}

inline double matrix_bytes(const bench_workload &c, const entrant &e, bench_operation op)
{
    const double vectors = (c.box.precision == FE_SINGLE ? 24.0 : 48.0) * c.problem.view.n_owned;
    return op == BENCH_DIAGONAL ? 0.0 : e.assembly->matrix_bytes(e.work) + vectors;
}

/* The least bytes that an operation without a matrix has to move where caches hold everything that is used
 * twice: the model of results/README.md. Results are stored once; numbers of corners take 16 bits, as they do
 * within a part of the mesh; a flag is read where one is needed, and where there are several materials the
 * number of each element's. */
inline double bytes_moved(const bench_workload &c, bench_operation op)
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

/* The same of an operation of a strategy, with a matrix or without. */
inline double bytes_of(const bench_workload &c, const entrant &e, bench_operation op)
{
    return by_matrix(e, op) ? matrix_bytes(c, e, op) : bytes_moved(c, op);
}

/* The longer of the times that memory and arithmetic need; 0 where the ceilings are unknown. The ceiling of
 * arithmetic is one of doubles: with floats that of memory is all. */
inline double ceiling_seconds(const bench_workload &c, const fe_machine &m, bench_operation op)
{
    const bool cuda = c.device->ops->on_gpu;
    const double copy = cuda ? m.cuda_copy : m.host_copy, peak = cuda ? m.cuda_flop : m.host_flop;
    if (!(copy > 0.0 && peak > 0.0)) return 0.0;
    return fmax(bytes_moved(c, op) / copy, c.box.precision == FE_DOUBLE ? flop(c, op) / peak : 0.0);
}

/* --- set-up and checks ------------------------------------------------------------------------------- */

/* A failure becomes the status of a point, and the sweep goes on. */
inline void record(point &p, fe_status status)
{
    p.status = status == FE_OUT_OF_MEMORY ? "out_of_memory" : "failed";
    p.message = fe_message();
}

/* The time includes that of the order that the strategy wants. */
inline fe_status set_up(group &g, entrant &e)
{
    bench_workload &c = g.of(e);
    const size_t before = c.device->bytes_resident;
    const double start = fe_seconds();
    FE_TRY(fe_assembly_set_up(e.assembly, &c.problem, &e.work));
    FE_TRY(c.device->ops->wait(c.device));
    e.setup_seconds = fe_seconds() - start + (e.pieces ? c.arrange_seconds : 0.0);
    if (e.assembly->note)
        std::fprintf(stderr, "kernels: %s on %s, %s: %s\n", e.variant->name, g.box.backend->name,
                     fe_kind_name(g.box.kind), e.assembly->note(e.work));
    e.bytes = (double)(c.device->bytes_resident - before);
    return FE_OK;
}

/* The cases that entrants are on. */
inline fe_status open_cases(group &g)
{
    for (const entrant &e : g.entrants) {
        bench_box box = g.box;
        box.pieces = e.pieces;
        if (!e.full && !g.of(e).device) FE_TRY(bench_workload_open(&box, &g.of(e)));
    }
    return FE_OK;
}

inline fe_status set_up_all(group &g, const fe_mesh *mesh)
{
    g.box.mesh = mesh;
    FE_TRY(open_cases(g));
    for (entrant &e : g.entrants) {
        if (e.full) continue;
        const fe_status status = set_up(g, e);
        e.full = status == FE_OUT_OF_MEMORY;
        FE_TRY(status);
    }
    return FE_OK;
}

/* Opens the workloads and sets up all entrants. Where memory does not suffice for one, the workloads are
 * opened again without it, so that its memory is free for the others. */
inline fe_status open_on(group &g, const fe_mesh *mesh)
{
    for (;;) {
        const auto count = [&] {
            return std::count_if(g.entrants.begin(), g.entrants.end(),
                                 [](const entrant &e) { return e.full; });
        };
        const auto before = count();
        for (bench_workload &c : g.cases) bench_workload_close(&c);
        const fe_status status = set_up_all(g, mesh);
        if (status != FE_OUT_OF_MEMORY || count() == before) return status;
    }
}

inline fe_status open_case(group &g)
{
    const int kind = fe_corners(g.box.kind) == 4 ? FE_TET4 : FE_HEX8;
    if (g.mesh->shape == BENCH_FILE) return open_on(g, &g.mesh->file);
    if (g.mesh->shape != BENCH_IRREGULAR) return open_on(g, nullptr);
    fe_mesh mesh = {};
    FE_TRY(fe_mesh_irregular(kind, g.asked_dof / 3, BENCH_SEED, &mesh));
    fe_status status = g.box.order == FE_ORDER_AUTO ? FE_OK : fe_mesh_reorder(&mesh, g.box.order, 1);
    if (status == FE_OK) status = open_on(g, &mesh);
    g.box.mesh = nullptr;
    fe_mesh_close(&mesh);
    return status;
}

inline void fail_check(point &p, const char *format, double x, double y)
{
    char text[128];
    std::snprintf(text, sizeof text, format, x, y);
    p.status = "check_failed", p.message = text;
}

inline void check(group &g, point &p)
{
    const entrant &e = g.entrants[p.entrant];
    int other = 0;
    if (e.full) {
        p.status = "out_of_memory", p.message = "set-up";
        return;
    }
    if (e.variant == &bench_element_only) {
        p.status = "ok", p.error = NAN;
        return;
    }
    fe_status status = bench_verify(&g.of(p), e.assembly, e.work, p.operation, &p.error);
    if (status != FE_OK) return record(p, status);
    const double tolerance = bench_tolerance(&g.of(p));
    if (p.error > tolerance) return fail_check(p, "error %.3e is above %.2g", p.error, tolerance);
    status = bench_repeat(&g.of(p), e.assembly, e.work, p.operation, BENCH_RUNS, &other);
    if (status != FE_OK) return record(p, status);
    p.deterministic = other == 0;
    p.status = "ok";
    if (other && e.variant->deterministic)
        fail_check(p, "declared deterministic, but run %.0f of %.0f differs from the first in some bits",
                   other, BENCH_RUNS);
}

/* Once more when the point has been timed: the row has the larger one of both errors. */
inline void check_after(group &g, point &p)
{
    const entrant &e = g.entrants[p.entrant];
    double error = 0.0;
    if (!p.status || std::strcmp(p.status, "ok") || e.variant == &bench_element_only) return;
    const fe_status status = bench_verify(&g.of(p), e.assembly, e.work, p.operation, &error);
    if (status != FE_OK) return record(p, status);
    if (!(error <= p.error)) p.error = error;
    if (!(p.error <= bench_tolerance(&g.of(p))))
        fail_check(p, "error %.3e is above %.2g after it was timed", p.error, bench_tolerance(&g.of(p)));
}

} // namespace bench
#endif
