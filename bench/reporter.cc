/* See reporter.h. */
#include "bench/point.h" /* first */

#include "bench/model.h"
#include "bench/reporter.h"
#include "common/report/row.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace bench
{

namespace
{

const char *condition_name(const group &g)
{
    static const char *const names[] = {"burst", "sustained", "cold"};
    static const char *const slower[] = {"burst", "slower1", "slower2", "", "", "slower5"};
    return g.how == BURST ? slower[g.slower] : names[g.how];
}

/* What is known of a point besides its times. device has to live as long as the row. */
fe_row row_of(const point &p, const fe_machine &m, const std::string &device)
{
    const group &g = *p.of;
    const entrant &e = g.entrants[p.entrant];
    const bench_workload &c = g.of(p);
    fe_row row = {};
    row.machine = m.slug, row.backend = g.box.backend->name, row.device = device.c_str();
    row.ranks = 1, row.threads = g.ready && c.device ? c.device->threads : g.box.threads;
    row.variant = e.variant->name, row.element = fe_kind_name(g.box.kind), row.mesh = g.mesh_name.c_str();
    row.order = fe_order_names[g.box.order], row.plastic = g.box.plastic;
    row.plastic_pattern = bench_pattern_names[g.box.pattern];
    row.n_elem = g.n_elem, row.n_dof = g.n_dof, row.operation = p.said.c_str();
    row.calls = p.batch, row.status = p.status, row.error = p.error;
    row.deterministic = p.deterministic, row.energy = p.energy;
    row.operand = bench_operand_names[g.box.operand];
    row.precision = fe_precision_name(g.box.precision);
    row.hardening = fe_hardening_names[g.box.hardening];
    row.condition = condition_name(g), row.process = g.process;
    if (!g.ready || !c.device) return row;
    row.numbering = c.numbering;
    row.bytes_moved = bytes_of(c, e, p.operation);
    if (!by_matrix(e, p.operation)) {
        row.flop = flop(c, p.operation);
        row.ceiling_seconds = ceiling_seconds(c, m, p.operation);
    }
    row.bytes = (double)c.bytes + e.bytes, row.bytes_work = e.bytes, row.setup_seconds = e.setup_seconds;
    row.plastic_measured = (double)c.n_softened / c.problem.view.n_elem;
    return row;
}

/* Whether a run was skipped: the member is called differently in Google Benchmark up to 1.7 and since 1.8. */
template <typename run> auto skipped(const run &r, int) -> decltype(r.error_occurred)
{
    return r.error_occurred;
}
template <typename run> bool skipped(const run &r, long) { return r.skipped; }

/* The samples of a point's runs: the last ones, since the first runs may have looked for their length. Of a
 * sustained run they are all of one. */
std::vector<fe_sample> samples_of(const point &p, const std::vector<benchmark::BenchmarkReporter::Run> &runs)
{
    size_t n = 0;
    for (const auto &r : runs) n += !skipped(r, 0) && r.iterations > 0;
    if (n && p.of->how == SUSTAINED) n = p.samples.size();
    return {p.samples.end() - (ptrdiff_t)std::min(n, p.samples.size()), p.samples.end()};
}

/* Google Benchmark's reporter for standard output. */
std::unique_ptr<benchmark::BenchmarkReporter> own_format(const std::string &format)
{
    if (format == "json") return std::make_unique<benchmark::JSONReporter>();
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* it works */
    if (format == "csv") return std::make_unique<benchmark::CSVReporter>();
#pragma GCC diagnostic pop
    return std::make_unique<benchmark::ConsoleReporter>();
}

void print(const point &p, const fe_row &row)
{
    const fe_statistics &s = row.seconds;
    if (strcmp(p.status, "ok"))
        std::printf("%-52s %s: %s\n", p.name.c_str(), p.status, p.message.c_str());
    else
        std::printf("%-52s %11.4f %10.4f … %9.4f %9.1f %9.1f %9.1f  %.1e%s%s\n", p.name.c_str(),
                    1e3 * s.median, 1e3 * s.low, 1e3 * s.high, 1e-6 * (double)row.n_dof / s.median,
                    1e-9 * row.bytes_moved / s.median, 1e-9 * row.flop / s.median, row.error,
                    *fe_row_noise(&row) ? "  " : "", fe_row_noise(&row));
    std::fflush(stdout);
}

} // namespace

reporter::reporter(const arguments &a, const fe_machine &m) : machine(m)
{
    rows = open(a.rows, FE_ROW_COLUMNS);
    samples = open(a.samples, FE_SAMPLE_COLUMNS);
    table = a.format.empty(), summed = table || a.format == "console";
    if (!table) others.push_back(own_format(a.format));
    if (a.out.empty()) return;
    out.open(a.out);
    if (!out && unopened == FE_OK)
        unopened = FE_BAD_INPUT, why = a.out + ": cannot be written: " + std::strerror(errno);
    others.emplace_back(a.out_format == "json"
                            ? (BenchmarkReporter *)new benchmark::JSONReporter
                            : new benchmark::ConsoleReporter(benchmark::ConsoleReporter::OO_None));
    others.back()->SetOutputStream(&out);
}

reporter::~reporter()
{
    if (rows) std::fclose(rows);
    if (samples) std::fclose(samples);
}

FILE *reporter::open(const std::string &path, const char *columns)
{
    if (path.empty()) return nullptr;
    FILE *file = nullptr;
    const fe_status status = fe_rows_open(path.c_str(), columns, &file);
    if (status != FE_OK && unopened == FE_OK) unopened = status, why = fe_message();
    return file;
}

void reporter::begin(group &g)
{
    current = &g;
    sum.begin(g);
}

bool reporter::ReportContext(const Context &context)
{
    if (started) return true;
    started = true;
    if (table)
        std::printf("%-52s %11s %22s %9s %9s %9s  %s\n", "backend/element/DoF/operation/variant", "median ms",
                    "95 % interval ms", "MDoF/s", "GB/s", "GFLOP/s", "error");
    for (auto &o : others)
        if (!o->ReportContext(context)) return false;
    return true;
}

void reporter::ReportRuns(const std::vector<Run> &runs)
{
    for (auto &o : others) o->ReportRuns(runs);
    if (runs.empty() || runs[0].run_type != Run::RT_Iteration) return;
    for (point &p : current->points)
        if (p.name == runs[0].run_name.function_name) check_after(*current, p), write(p, runs);
}

void reporter::write(const point &p, const std::vector<Run> &runs)
{
    const group &g = *p.of;
    const bench_workload &c = g.of(p);
    const std::string device = c.device ? c.device->name : "";
    fe_row row = row_of(p, machine, device);
    const std::vector<fe_sample> taken = samples_of(p, runs);
    std::vector<double> seconds;
    for (const fe_sample &x : taken) seconds.push_back(x.seconds);
    if (!taken.empty()) row.calls = taken[0].calls;
    row.seconds = fe_statistics_of((int)seconds.size(), seconds.data());
    fe_row_judge(&row, (int)taken.size(), taken.data());
    if ((samples && fe_row_write_samples(samples, "", &row, (int)taken.size(), taken.data())) ||
        (rows && fe_row_write(rows, &row))) {
        if (!reason) reason = errno;
    }
    if (table) print(p, row);
    sum.add(p, row);
    if (row.seconds.n > 0 && row.ceiling_seconds > FE_ROW_ABOVE * row.seconds.median)
        std::fprintf(stderr,
                     "kernels: %s: %.2f times its ceiling: caches hold more than the model says, or the "
                     "machine was slower while its ceilings were measured\n",
                     p.name.c_str(), row.ceiling_seconds / row.seconds.median);
}

void reporter::finish()
{
    for (auto &o : others) o->Finalize();
    out.flush();
    if (summed) sum.print();
}

fe_status reporter::status() const
{
    if (unopened != FE_OK) return fe_fail(unopened, "%s", why.c_str());
    if (reason || (out.is_open() && !out.good()))
        return fe_fail(FE_FAILED, "a file of rows, samples or results is incomplete: %s",
                       std::strerror(reason ? reason : EIO));
    return FE_OK;
}

} // namespace bench
