/* Set-up and checks of points; see point.h. */
#include "bench/point.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace bench
{

void record(point &p, fe_status status)
{
    p.status = status == FE_OUT_OF_MEMORY ? "out_of_memory" : "failed";
    p.message = fe_message();
}

namespace
{

/* The time includes that of the order that the strategy wants. */
fe_status set_up(group &g, entrant &e)
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
fe_status open_cases(group &g)
{
    for (const entrant &e : g.entrants) {
        bench_box box = g.box;
        box.pieces = e.pieces;
        if (!e.full && !g.of(e).device) FE_TRY(bench_workload_open(&box, &g.of(e)));
    }
    return FE_OK;
}

fe_status set_up_all(group &g, const fe_mesh *mesh)
{
    g.box.mesh = mesh;
    FE_TRY(open_cases(g));
    for (entrant &e : g.entrants) {
        if (e.full) continue;
        const fe_status status = set_up(g, e);
        e.full = status == FE_OUT_OF_MEMORY;
        FE_TRY(status);
    }
    for (bench_workload &c : g.cases)
        if (c.device) fe_problem_forget_mesh(&c.problem);
    return FE_OK;
}

/* Opens the workloads and sets up all entrants. Where memory does not suffice for one, the workloads are
 * opened again without it, so that its memory is free for the others. */
fe_status open_on(group &g, const fe_mesh *mesh)
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

void fail_check(point &p, const char *format, double x, double y)
{
    char text[128];
    std::snprintf(text, sizeof text, format, x, y);
    p.status = "check_failed", p.message = text;
}

} // namespace

fe_status open_workloads(group &g)
{
    fe_mesh made = {};
    const fe_mesh *whole = nullptr;
    fe_status status = bench_mesh_whole(g.mesh, g.box.kind, g.asked_dof, g.box.order, &made, &whole);
    if (status == FE_OK) status = open_on(g, whole);
    if (whole == &made) g.box.mesh = nullptr;
    fe_mesh_close(&made);
    return status;
}

void check(group &g, point &p)
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
    for (const point &q : g.points) /* the same without contact, or with another share */
        if (q.status && q.entrant == p.entrant && q.operation == p.operation) {
            p.status = q.status, p.message = q.message, p.error = q.error, p.deterministic = q.deterministic;
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

void check_after(group &g, point &p)
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
