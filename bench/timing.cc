/* See timing.h. */
#include "bench/point.h" /* first */

#include "bench/ceiling.h"
#include "bench/contact.h"
#include "bench/model.h"
#include "bench/timing.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

namespace bench
{

namespace
{

fe_status call(group &g, const point &p, int64_t calls)
{
    const entrant &e = g.entrants[p.entrant];
    const int64_t more = calls * g.slower / 100; /* whole: a batch is so long (warm_up) */
    for (int64_t i = 0; i < calls + more; i++) {
        FE_TRY(bench_apply(&g.of(p), e.assembly, e.work, p.operation));
        FE_TRY(bench_contact_apply(&g.of(p), p.contact, p.operation));
    }
    return FE_OK;
}

/* Seconds of `calls` calls in a row, and of those beside them that make them slower. */
fe_status time_calls(group &g, const point &p, int64_t calls, double *seconds)
{
    fe_device *d = g.of(p).device;
    FE_TRY(bench_clock_start(d));
    FE_TRY(call(g, p, calls));
    FE_TRY(bench_clock_mark(d));
    return bench_clock_read(d, seconds);
}

/* The same, and the conditions. NVML takes time and tells what is now, so on a GPU one more
 * batch runs behind the mark, which is not timed, and the card is read meanwhile. On the host nothing else
 * runs: what is read there covers the time up to here. */
fe_status time_last(group &g, const point &p, int64_t calls, double *seconds, fe_sample *s)
{
    fe_device *d = g.of(p).device;
    FE_TRY(bench_clock_start(d));
    FE_TRY(call(g, p, calls));
    FE_TRY(bench_clock_mark(d));
    if (d->ops->on_gpu) FE_TRY(call(g, p, p.batch));
    FE_TRY(bench_clock_read(d, seconds));
    bench_conditions_end(g.around, s);
    return FE_OK;
}

/* State for the operation, one warm call, and, the first time, a batch of at least 2 ms. */
fe_status warm_up(group &g, point &p)
{
    const entrant &e = g.entrants[p.entrant];
    double seconds = 0.0;
    FE_TRY(bench_prepare(&g.of(p), e.assembly, e.work, p.operation));
    FE_TRY(time_calls(g, p, 1, &seconds));
    if (p.batch) return FE_OK;
    for (p.batch = g.slower ? 100 : 1; p.batch < 1000000; p.batch *= 2) {
        FE_TRY(time_calls(g, p, p.batch, &seconds));
        if (seconds > 2e-3) break;
    }
    return FE_OK;
}

/* --- energy ------------------------------------------------------------------------------------------ */

/* A batch, and on a GPU one more that is still at work when this returns: one is at the beginning of a window
 * as well as at its end, so their number is right. */
fe_status work_of_point(void *context, int64_t *calls)
{
    const point &p = *(const point *)context;
    group &g = *p.of;
    fe_device *d = g.of(p).device;
    const bool goes_on = d->ops->on_gpu;
    double seconds;
    FE_TRY(bench_clock_start(d));
    FE_TRY(call(g, p, p.batch));
    FE_TRY(bench_clock_mark(d));
    if (goes_on) FE_TRY(call(g, p, p.batch));
    *calls = goes_on ? 2 * p.batch : p.batch;
    return bench_clock_read(d, &seconds);
}

fe_status measure_energy(group &g, point &p)
{
    bench_energy_window w[BENCH_N_WINDOW];
    double nj[BENCH_N_WINDOW], by_power[BENCH_N_WINDOW], watts[BENCH_N_WINDOW];
    FE_TRY(warm_up(g, p));
    FE_TRY(bench_energy_windows(g.meter, p.energy_seconds, work_of_point, &p, w));
    for (int i = 0; i < BENCH_N_WINDOW; i++) {
        const double n = 1e-9 * w[i].calls * (double)g.n_dof;
        nj[i] = w[i].joules / n, by_power[i] = w[i].by_power / n, watts[i] = w[i].joules / w[i].seconds;
    }
    const fe_statistics s = fe_statistics_of(BENCH_N_WINDOW, nj);
    p.energy = {s.median,
                s.low,
                s.high,
                fe_statistics_of(BENCH_N_WINDOW, by_power).median,
                fe_statistics_of(BENCH_N_WINDOW, watts).median,
                g.meter->idle};
    return g.of(p).device->ops->wait(g.of(p).device);
}

/* Cases, checks of all points, and energies before any time, so that they disturb none. */
void open_group(group &g)
{
    g.opened = true;
    const fe_status status = open_workloads(g);
    g.ready = status == FE_OK;
    for (point &p : g.points) {
        if (g.ready)
            check(g, p);
        else
            record(p, status);
        if (strcmp(p.status, "ok"))
            std::fprintf(stderr, "kernels: %s: %s: %s\n", p.name.c_str(), p.status, p.message.c_str());
    }
    if (!g.meter) return;
    for (point &p : g.points)
        if (p.energy_seconds > 0.0 && !strcmp(p.status, "ok") && measure_energy(g, p) != FE_OK)
            fe_note("--fe_energy: the energy of %s is not measured: %s", p.name.c_str(), fe_message());
}

/* --- samples ----------------------------------------------------------------------------------------- */

/* A sample is what Google Benchmark takes for one: batches until their time is long enough. */
fe_status take_burst(benchmark::State &state, group &g, point &p)
{
    fe_sample s = fe_sample_unknown();
    double seconds = 0.0, total = 0.0;
    bench_conditions_begin(g.around);
    FE_TRY(warm_up(g, p));
    s.start = bench_utc();
    while (state.KeepRunningBatch(p.batch)) {
        const bool last = state.iterations() >= state.max_iterations;
        FE_TRY(last ? time_last(g, p, p.batch, &seconds, &s) : time_calls(g, p, p.batch, &seconds));
        state.SetIterationTime(seconds);
        total += seconds;
    }
    s.calls = (int64_t)state.iterations(), s.seconds = total / (double)s.calls;
    p.samples.push_back(s);
    return FE_OK;
}

/* One call behind the data that fill the cache. On a GPU they are read while the call is enqueued, so no
 * launch is waited for. */
fe_status take_cold(benchmark::State &state, group &g, point &p)
{
    fe_sample s = fe_sample_unknown();
    bench_cold &cold = g.cold[g.entrants[p.entrant].pieces];
    if (!cold.device) FE_TRY(bench_cold_open(g.of(p).device, &cold));
    bench_conditions_begin(g.around);
    FE_TRY(warm_up(g, p));
    s.start = bench_utc();
    while (state.KeepRunning()) {
        FE_TRY(bench_cold_fill(&cold));
        FE_TRY(time_last(g, p, 1, &s.seconds, &s));
        state.SetIterationTime(s.seconds);
    }
    s.calls = 1;
    p.samples.push_back(s);
    return FE_OK;
}

/* Samples of a tenth of a second, one behind the other, for so many seconds. The first fifth of the time does
 * not count: clocks, power and the sums of NVML settle. */
fe_status take_sustained(benchmark::State &state, group &g, point &p)
{
    double seconds;
    FE_TRY(warm_up(g, p));
    FE_TRY(time_calls(g, p, p.batch, &seconds));
    const int64_t calls = std::max(p.batch, (int64_t)(0.1 * (double)p.batch / seconds));
    const double begin = fe_seconds();
    p.samples.clear();
    while (state.KeepRunning()) {
        for (double at = 0.0; at < g.sustained || p.samples.empty(); at = fe_seconds() - begin) {
            fe_sample s = fe_sample_unknown();
            bench_conditions_begin(g.around);
            s.start = bench_utc(), s.calls = calls;
            FE_TRY(time_last(g, p, calls, &seconds, &s));
            s.seconds = seconds / (double)calls;
            if (at >= 0.2 * g.sustained) p.samples.push_back(s);
        }
        state.SetIterationTime(p.samples.back().seconds);
    }
    return FE_OK;
}

void count(benchmark::State &state, const point &p)
{
    const bench_workload &c = p.of->of(p);
    const double calls = (double)state.iterations(), dofs = (double)p.of->n_dof;
    state.SetItemsProcessed((int64_t)(calls * dofs)); /* items_per_second: DoF/s */
    state.SetBytesProcessed((int64_t)(calls * bytes_of(c, p.of->entrants[p.entrant], p.operation)));
    state.counters["dofs"] = dofs;
    state.counters["flop_per_second"] =
        benchmark::Counter(calls * flop(c, p.operation), benchmark::Counter::kIsRate);
    state.counters["plastic"] = (double)c.n_softened / c.problem.view.n_elem;
    state.counters["error"] = p.error;
    state.counters["deterministic"] = p.deterministic;
}

} // namespace

void run_point(benchmark::State &state, point *p)
{
    static fe_status (*const take[])(benchmark::State &, group &, point &) = {take_burst, take_sustained,
                                                                              take_cold};
    group &g = *p->of;
    if (!g.opened) open_group(g);
    if (!strcmp(p->status, "ok")) {
        fe_status status = take[g.how](state, g, *p);
        if (status == FE_OK) status = g.of(*p).device->ops->wait(g.of(*p).device);
        if (status != FE_OK) record(*p, status);
    }
    if (strcmp(p->status, "ok"))
        state.SkipWithError((std::string(p->status) + ": " + p->message).c_str());
    else
        count(state, *p);
}

} // namespace bench
