/* The program `kernels`: Google Benchmark over variant × element × size × operation × backend.
 *
 * Points that share a backend, an element and a size form a group: one resident case, every variant checked
 * on it before any is timed, then all of them interleaved at random. */
#include "bench/flop_count.h" /* first: it takes the place of fe_real */

#include "bench/case_box.h"
#include "bench/ceiling.h"
#include "common/backend/device.h"
#include "common/report/machine.h"
#include "common/report/row.h"
#include "common/report/version.h"

#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace
{

const char help[] =
    "usage: kernels [options] [Google Benchmark's options]\n"
    "Checks and times the operations of all assembly strategies on distorted boxes.\n"
    "\n"
    "  --fe_dofs=LIST         sizes, about so many degrees of freedom each (100000)\n"
    "  --fe_backend=LIST      host, cuda (host, and cuda where a device is found)\n"
    "  --fe_variants=LIST     strategies (all); --fe_list prints them\n"
    "  --fe_elements=LIST     tet4, hex8, tet4_p4, hex8_naive (tet4,hex8)\n"
    "  --fe_operations=LIST   residual, material, jacvec_elastic, jacvec, diagonal (all)\n"
    "  --fe_order=ORDER       node order: as-is, lexicographic, rcm, morton, random (lexicographic)\n"
    "  --fe_plastic=FRACTION  share of plastic elements, one slab (1)\n"
    "  --fe_threads=N         OpenMP threads of the host backend (all cores)\n"
    "  --fe_rows=FILE         result rows, CSV\n"
    "  --fe_samples=FILE      raw samples, CSV\n"
    "  --fe_machine=FILE      machine record: read where it exists, else ceilings are measured and it is "
    "written\n"
    "  --fe_slug              print the machine's short name and stop\n"
    "  --fe_list --help --version\n"
    "\n"
    "Sizes, rows and samples are described in results/README.md. Defaults of Google Benchmark's options:\n"
    "--benchmark_repetitions=9 --benchmark_min_time=0.02 --benchmark_enable_random_interleaving=true\n"
    "exit: 0 done, with failed checks and full memory recorded in their rows; 1 the run failed; 2 bad "
    "input\n";

struct arguments {
    std::vector<int> dofs = {100000};
    std::vector<const fe_backend *> backends;
    std::vector<const fe_variant *> variants;
    std::vector<int> kinds = {FE_TET4, FE_HEX8};
    std::vector<bench_operation> operations;
    fe_order order = FE_ORDER_LEXICOGRAPHIC;
    double plastic = 1.0;
    int threads = 0;
    std::string rows, samples, machine, out, out_format = "json";
    bool own_table = true, slug = false, done = false;
};

/* --- one group --------------------------------------------------------------------------------------- */

struct group;

/* One strategy on one group's case. */
struct entrant {
    const fe_variant *variant;
    const fe_assembly *assembly;
    void *work = nullptr;
    double setup_seconds = 0.0, bytes = 0.0;
    bool full = false; /* its setup found no memory */
};

/* One benchmark: an entrant's operation. */
struct point {
    group *of;
    size_t entrant;
    bench_operation operation;
    std::string name;
    const char *status = nullptr; /* nullptr until it was checked */
    std::string message;
    double error = 0.0;
    int64_t batch = 0; /* calls between two readings of the clock */
};

struct group {
    bench_box box;
    bench_case c = {};
    bool opened = false;
    std::vector<entrant> entrants;
    std::vector<point> points;
    ~group() { bench_case_close(&c); }
};

/* --- the model --------------------------------------------------------------------------------------- */

double flop(const group &g, bench_operation op)
{
    const double n = g.c.problem.view.n_elem;
    const double plastic = op == BENCH_JACVEC_ELASTIC ? 0.0 : g.c.n_softened;
    return plastic * (double)flop_count::of_element(g.box.kind, op, true) +
           (n - plastic) * (double)flop_count::of_element(g.box.kind, op, false);
}

/* Bytes that an operation has to move where caches hold everything that is used twice: the model of
 * results/README.md. */
double bytes_moved(const group &g, bench_operation op)
{
    const fe_view &v = g.c.problem.view;
    const double n_node = v.n_owned, n_elem = v.n_elem, point = 8.0 * fe_points(g.box.kind);
    const double conn = 4.0 * fe_corners(g.box.kind) + 1.0; /* and the flags */
    const double yielded = point * FE_STATE * g.c.n_yielded, softened = point * FE_TANGENT * g.c.n_softened;
    switch (op) {
    case BENCH_RESIDUAL: return n_node * (24 + 24 + 48) + n_elem * conn + yielded;
    case BENCH_MATERIAL: return n_node * (24 + 24) + n_elem * (conn + 1) + 2 * yielded + softened;
    case BENCH_JACVEC_ELASTIC: return n_node * (24 + 24 + 48) + n_elem * conn;
    case BENCH_JACVEC: return n_node * (24 + 24 + 48) + n_elem * conn + softened;
    default: return n_node * (24 + 144) + n_elem * conn + softened;
    }
}

/* The later of what memory and arithmetic allow; 0 where the ceilings are unknown. */
double ceiling_seconds(const group &g, const fe_machine &m, bench_operation op)
{
    const bool cuda = g.c.device->ops != &fe_backend_host;
    const double copy = cuda ? m.cuda_copy : m.host_copy, peak = cuda ? m.cuda_flop : m.host_flop;
    if (!(copy > 0.0 && peak > 0.0)) return 0.0;
    return fmax(bytes_moved(g, op) / copy, flop(g, op) / peak);
}

/* --- checks and times -------------------------------------------------------------------------------- */

/* A failure becomes the status of a point, and the sweep goes on. */
void record(point &p, fe_status status)
{
    p.status = status == FE_OUT_OF_MEMORY ? "out_of_memory" : "failed";
    p.message = fe_message();
}

fe_status set_up(group &g, entrant &e)
{
    const size_t before = g.c.device->bytes_resident;
    const double start = fe_seconds();
    FE_TRY(fe_assembly_set_up(e.assembly, &g.c.problem, &e.work));
    FE_TRY(g.c.device->ops->wait(g.c.device));
    e.setup_seconds = fe_seconds() - start;
    e.bytes = (double)(g.c.device->bytes_resident - before);
    return FE_OK;
}

/* Opens the case and sets up all entrants. Where one finds no memory, the case is opened again without it, so
 * that what it took is free for the others. */
fe_status open_case(group &g)
{
    for (;;) {
        bench_case_close(&g.c);
        FE_TRY(bench_case_open(&g.box, &g.c));
        fe_status status = FE_OK;
        for (entrant &e : g.entrants) {
            if (e.full) continue;
            status = set_up(g, e);
            if (status == FE_OUT_OF_MEMORY) e.full = true;
            if (status != FE_OK) break;
        }
        if (status != FE_OUT_OF_MEMORY) return status;
    }
}

void check(group &g, point &p)
{
    const entrant &e = g.entrants[p.entrant];
    if (e.full) {
        p.status = "out_of_memory", p.message = "setup";
        return;
    }
    const fe_status status = bench_verify(&g.c, e.assembly, e.work, p.operation, &p.error);
    if (status != FE_OK) return record(p, status);
    p.status = p.error <= BENCH_TOLERANCE ? "ok" : "check_failed";
    if (p.error > BENCH_TOLERANCE) {
        char text[96];
        std::snprintf(text, sizeof text, "error %.3e is above %.0e", p.error, BENCH_TOLERANCE);
        p.message = text;
    }
}

void open_group(group &g)
{
    g.opened = true;
    const fe_status status = open_case(g);
    for (point &p : g.points) {
        if (status == FE_OK)
            check(g, p);
        else
            record(p, status);
        if (strcmp(p.status, "ok"))
            std::fprintf(stderr, "kernels: %s: %s: %s\n", p.name.c_str(), p.status, p.message.c_str());
    }
}

/* Seconds of `calls` calls in a row. */
fe_status time_calls(const group &g, const point &p, int64_t calls, double *seconds)
{
    const entrant &e = g.entrants[p.entrant];
    FE_TRY(bench_clock_start(g.c.device));
    for (int64_t i = 0; i < calls; i++) FE_TRY(bench_apply(&g.c, e.assembly, e.work, p.operation));
    return bench_clock_stop(g.c.device, seconds);
}

/* State for the operation, one warm call, and, the first time, a batch of at least 2 ms. */
fe_status warm_up(const group &g, point &p)
{
    const entrant &e = g.entrants[p.entrant];
    double seconds = 0.0;
    FE_TRY(bench_prepare(&g.c, e.assembly, e.work, p.operation));
    FE_TRY(time_calls(g, p, 1, &seconds));
    if (p.batch) return FE_OK;
    for (p.batch = 1; p.batch < 1000000; p.batch *= 2) {
        FE_TRY(time_calls(g, p, p.batch, &seconds));
        if (seconds > 2e-3) break;
    }
    return FE_OK;
}

void count(benchmark::State &state, const point &p)
{
    const group &g = *p.of;
    const double calls = (double)state.iterations(), dofs = (double)bench_box_dofs(g.c.cells);
    state.SetItemsProcessed((int64_t)(calls * dofs)); /* items_per_second: DoF/s */
    state.SetBytesProcessed((int64_t)(calls * bytes_moved(g, p.operation)));
    state.counters["dofs"] = dofs;
    state.counters["flop_per_second"] =
        benchmark::Counter(calls * flop(g, p.operation), benchmark::Counter::kIsRate);
    state.counters["plastic"] = (double)g.c.n_softened / g.c.problem.view.n_elem;
    state.counters["error"] = p.error;
}

void run_point(benchmark::State &state, point *p)
{
    group &g = *p->of;
    if (!g.opened) open_group(g);
    fe_status status = FE_OK;
    if (!strcmp(p->status, "ok")) status = warm_up(g, *p);
    if (status != FE_OK) record(*p, status);
    if (strcmp(p->status, "ok")) {
        state.SkipWithError((std::string(p->status) + ": " + p->message).c_str());
        return;
    }
    while (state.KeepRunningBatch(p->batch)) {
        double seconds = 0.0;
        status = time_calls(g, *p, p->batch, &seconds);
        if (status != FE_OK) {
            record(*p, status);
            state.SkipWithError(p->message.c_str());
            return;
        }
        state.SetIterationTime(seconds);
    }
    count(state, *p);
}

/* --- reports ----------------------------------------------------------------------------------------- */

/* Text without the characters that end a CSV field. */
std::string plain(const char *text)
{
    std::string s = text;
    for (char &c : s)
        if (c == ',' || c == '"' || c == '\n') c = ' ';
    return s;
}

fe_row row_of(const point &p, const fe_machine &m, const std::string &device, const std::string &mesh)
{
    const group &g = *p.of;
    const entrant &e = g.entrants[p.entrant];
    const int cells = bench_box_cells(g.box.n_dof);
    const bool known = g.c.device != nullptr && g.c.oracle != nullptr;
    fe_row row = {};
    row.machine = m.slug, row.backend = g.box.backend->name, row.device = device.c_str();
    row.ranks = 1, row.threads = known ? g.c.device->threads : g.box.threads;
    row.variant = e.variant->name, row.element = fe_kind_name(g.box.kind), row.mesh = mesh.c_str();
    row.order = fe_order_names[g.box.order], row.plastic = g.box.plastic;
    row.n_elem = (int64_t)cells * cells * cells * (fe_corners(g.box.kind) == 4 ? 6 : 1);
    row.n_dof = bench_box_dofs(cells), row.operation = bench_operation_names[p.operation];
    row.calls = p.batch, row.status = p.status, row.error = p.error;
    row.deterministic = e.variant->deterministic;
    if (!known) return row;
    row.bytes_moved = bytes_moved(g, p.operation), row.flop = flop(g, p.operation);
    row.ceiling_seconds = ceiling_seconds(g, m, p.operation);
    row.bytes = (double)g.c.bytes + e.bytes, row.bytes_work = e.bytes, row.setup_seconds = e.setup_seconds;
    row.plastic_measured = (double)g.c.n_softened / g.c.problem.view.n_elem;
    return row;
}

/* Rows, samples, a table for people, and Google Benchmark's own formats, all from one stream of runs. Groups
 * run one after another, so contexts and ends of all but the first and last are swallowed. */
class reporter : public benchmark::BenchmarkReporter
{
  public:
    reporter(const arguments &a, const fe_machine &m) : machine(m)
    {
        rows = open(a.rows);
        samples = open(a.samples);
        if (rows) fe_row_write_header(rows);
        if (samples)
            std::fputs(
                "schema,commit,machine,backend,threads,variant,element,case,order,plastic,n_dof,operation,"
                "repetition,calls,seconds\n",
                samples);
        if (!a.own_table) others.emplace_back(benchmark::CreateDefaultDisplayReporter());
        table = a.own_table;
        if (a.out.empty()) return;
        out.open(a.out);
        others.emplace_back(a.out_format == "json"
                                ? (BenchmarkReporter *)new benchmark::JSONReporter
                                : new benchmark::ConsoleReporter(benchmark::ConsoleReporter::OO_None));
        others.back()->SetOutputStream(&out);
    }
    ~reporter() override
    {
        if (rows) std::fclose(rows);
        if (samples) std::fclose(samples);
    }

    bool ReportContext(const Context &context) override
    {
        if (started) return true;
        started = true;
        if (table)
            std::printf("%-52s %11s %22s %9s %9s %9s  %s\n", "backend/element/DoF/operation/variant",
                        "median ms", "95 % interval ms", "MDoF/s", "GB/s", "GFLOP/s", "error");
        for (auto &o : others)
            if (!o->ReportContext(context)) return false;
        return true;
    }

    void ReportRuns(const std::vector<Run> &runs) override
    {
        for (auto &o : others) o->ReportRuns(runs);
        if (runs.empty() || runs[0].run_type != Run::RT_Iteration) return;
        for (point &p : current->points)
            if (p.name == runs[0].run_name.function_name) write(p, runs);
    }

    void finish()
    {
        for (auto &o : others) o->Finalize();
        out.flush();
    }
    bool healthy() const
    {
        return good && (!rows || !std::ferror(rows)) && (!samples || !std::ferror(samples)) &&
               (!out.is_open() || out.good());
    }

    group *current = nullptr;

  private:
    FILE *open(const std::string &path)
    {
        if (path.empty()) return nullptr;
        FILE *file = std::fopen(path.c_str(), "w");
        if (!file) {
            std::fprintf(stderr, "kernels: %s: %s\n", path.c_str(), std::strerror(errno));
            good = false;
        }
        return file;
    }

    void write(const point &p, const std::vector<Run> &runs)
    {
        const group &g = *p.of;
        const std::string device = plain(g.c.device ? g.c.device->name : ""),
                          mesh = "box" + std::to_string(bench_box_cells(g.box.n_dof)) + "-distorted";
        fe_row row = row_of(p, machine, device, mesh);
        std::vector<double> seconds;
        for (const Run &r : runs)
            if (!r.error_occurred && r.iterations > 0)
                seconds.push_back(r.real_accumulated_time / (double)r.iterations);
        row.calls = runs[0].iterations;
        for (size_t i = 0; samples && i < seconds.size(); i++)
            std::fprintf(samples, "%d,%s,%s,%s,%d,%s,%s,%s,%s,%g,%lld,%s,%zu,%lld,%.9e\n", FE_ROW_SCHEMA,
                         fe_commit(), row.machine, row.backend, row.threads, row.variant, row.element,
                         row.mesh, row.order, row.plastic, (long long)row.n_dof, row.operation, i,
                         (long long)row.calls, seconds[i]);
        row.seconds = fe_statistics_of((int)seconds.size(), seconds.data());
        if (rows) fe_row_write(rows, &row), std::fflush(rows);
        if (samples) std::fflush(samples);
        if (table) print(p, row);
    }

    void print(const point &p, const fe_row &row)
    {
        const fe_statistics &s = row.seconds;
        if (strcmp(p.status, "ok"))
            std::printf("%-52s %s: %s\n", p.name.c_str(), p.status, p.message.c_str());
        else
            std::printf("%-52s %11.4f %10.4f … %9.4f %9.1f %9.1f %9.1f  %.1e\n", p.name.c_str(),
                        1e3 * s.median, 1e3 * s.low, 1e3 * s.high, 1e-6 * (double)row.n_dof / s.median,
                        1e-9 * row.bytes_moved / s.median, 1e-9 * row.flop / s.median, row.error);
        std::fflush(stdout);
    }

    const fe_machine &machine;
    FILE *rows = nullptr, *samples = nullptr;
    std::ofstream out;
    std::vector<std::unique_ptr<BenchmarkReporter>> others;
    bool table = true, started = false, good = true;
};

/* --- arguments --------------------------------------------------------------------------------------- */

std::vector<std::string> split(const std::string &list)
{
    std::vector<std::string> parts(1);
    for (const char c : list) {
        if (c == ',')
            parts.emplace_back();
        else
            parts.back() += c;
    }
    return parts;
}

fe_status number(const char *flag, const std::string &text, double least, double most, double *out)
{
    char *end;
    *out = std::strtod(text.c_str(), &end);
    if (end == text.c_str() || *end || !(*out >= least && *out <= most))
        return fe_fail(FE_BAD_INPUT, "--%s=%s: is not a number from %g to %g", flag, text.c_str(), least,
                       most);
    return FE_OK;
}

/* Index of text among n names. */
fe_status choice(const char *flag, const std::string &text, int n, const char *(*name)(int), int *out)
{
    for (*out = 0; *out < n; ++*out)
        if (text == name(*out)) return FE_OK;
    return fe_fail(FE_BAD_INPUT, "--%s: there is no %s; kernels --help lists them", flag, text.c_str());
}
const char *kind_name(int i) { return fe_kind_name(i); }
const char *operation_name(int i) { return bench_operation_names[i]; }
const char *order_name(int i) { return fe_order_names[i]; }
const char *variant_name(int i) { return fe_variant_at(i)->name; }

fe_status set_flag(arguments &a, const std::string &flag, const std::string &value)
{
    double x;
    int i;
    if (flag == "fe_rows") return a.rows = value, FE_OK;
    if (flag == "fe_samples") return a.samples = value, FE_OK;
    if (flag == "fe_machine") return a.machine = value, FE_OK;
    if (flag == "fe_order") {
        FE_TRY(choice("fe_order", value, FE_N_ORDER, order_name, &i));
        return a.order = (fe_order)i, FE_OK;
    }
    if (flag == "fe_plastic") return number("fe_plastic", value, 0.0, 1.0, &a.plastic);
    if (flag == "fe_threads") {
        FE_TRY(number("fe_threads", value, 1, 4096, &x));
        return a.threads = (int)x, FE_OK;
    }
    if (flag == "fe_dofs") a.dofs.clear();
    if (flag == "fe_elements") a.kinds.clear();
    for (const std::string &part : split(value)) {
        if (flag == "fe_dofs") {
            FE_TRY(number("fe_dofs", part, 1, 1e9, &x));
            a.dofs.push_back((int)x);
        } else if (flag == "fe_backend") {
            const fe_backend *backend;
            FE_TRY(fe_backend_find(part.c_str(), &backend));
            a.backends.push_back(backend);
        } else if (flag == "fe_variants") {
            FE_TRY(choice("fe_variants", part, fe_variant_count(), variant_name, &i));
            a.variants.push_back(fe_variant_at(i));
        } else if (flag == "fe_elements") {
            FE_TRY(choice("fe_elements", part, FE_N_KIND, kind_name, &i));
            a.kinds.push_back(i);
        } else if (flag == "fe_operations") {
            FE_TRY(choice("fe_operations", part, BENCH_N_OPERATION, operation_name, &i));
            a.operations.push_back((bench_operation)i);
        } else {
            return fe_fail(FE_BAD_INPUT, "--%s: is not an option; kernels --help lists them", flag.c_str());
        }
    }
    return FE_OK;
}

void set_defaults(arguments &a)
{
    if (a.backends.empty()) {
        a.backends.push_back(&fe_backend_host);
#if FE_HAVE_CUDA
        if (fe_cuda_devices() > 0) a.backends.push_back(&fe_backend_cuda);
#endif
    }
    if (a.variants.empty())
        for (int i = 0; i < fe_variant_count(); i++) a.variants.push_back(fe_variant_at(i));
    if (a.operations.empty())
        for (int op = 0; op < BENCH_N_OPERATION; op++) a.operations.push_back((bench_operation)op);
}

/* Takes febench's flags out of argv, and the output file: groups run one after another, so the program itself
 * keeps that file open. */
fe_status parse(int argc, char **argv, arguments &a, std::vector<char *> &rest)
{
    for (int i = 1; i < argc; i++) {
        const std::string text = argv[i];
        const size_t equals = text.find('=');
        const std::string flag = text.substr(0, equals),
                          value = equals == std::string::npos ? "" : text.substr(equals + 1);
        if (flag == "--benchmark_out") {
            a.out = value;
        } else if (flag == "--benchmark_out_format") {
            if (value != "json" && value != "console")
                return fe_fail(FE_BAD_INPUT, "%s: is neither json nor console", argv[i]);
            a.out_format = value;
        } else if (text == "--fe_slug") {
            a.slug = true;
        } else if (text == "--fe_list") {
            for (int v = 0; v < fe_variant_count(); v++)
                std::printf("%-16s %s\n", fe_variant_at(v)->name, fe_variant_at(v)->summary);
            a.done = true;
        } else if (text == "--version") {
            std::fputs(fe_version_text(), stdout);
            a.done = true;
        } else if (flag.compare(0, 5, "--fe_") == 0) {
            if (value.empty()) return fe_fail(FE_BAD_INPUT, "%s: needs =VALUE", argv[i]);
            FE_TRY(set_flag(a, flag.substr(2), value));
        } else {
            if (flag == "--benchmark_format") a.own_table = false;
            rest.push_back(argv[i]);
        }
    }
    set_defaults(a);
    return FE_OK;
}

/* --- main -------------------------------------------------------------------------------------------- */

void add_group(const arguments &a, const fe_backend *backend, int kind, int dofs,
               std::vector<std::unique_ptr<group>> &groups)
{
    auto g = std::make_unique<group>();
    g->box = bench_box{kind, dofs, a.order, a.plastic, backend, a.threads > 0 ? a.threads : fe_host_cores()};
    const std::string prefix = std::string(backend->name) + "/" + fe_kind_name(kind) + "/" +
                               std::to_string(bench_box_dofs(bench_box_cells(dofs))) + "/";
    for (const fe_variant *v : a.variants) {
        const fe_assembly *assembly = backend == &fe_backend_host ? v->host : v->cuda;
        if (!assembly) continue;
        entrant e = {};
        e.variant = v, e.assembly = assembly;
        g->entrants.push_back(e);
        for (const bench_operation op : a.operations) {
            point p = {};
            p.of = g.get(), p.entrant = g->entrants.size() - 1, p.operation = op;
            p.name = prefix + bench_operation_names[op] + "/" + v->name;
            g->points.push_back(p);
        }
    }
    groups.push_back(std::move(g));
}

fe_status measure_ceilings(const fe_backend *backend, int threads, double *copy, double *flops)
{
    fe_device *d = nullptr;
    FE_TRY(backend->open(0, threads, &d));
    const fe_status status = bench_ceilings(d, copy, flops);
    backend->close(d);
    return status;
}

/* The record's ceilings, or new ones. */
fe_status know_machine(const arguments &a, fe_machine *m)
{
    const int threads = a.threads > 0 ? a.threads : fe_host_cores();
    FE_TRY(fe_machine_find(m));
    if (a.slug || a.machine.empty()) return FE_OK;
    if (std::ifstream(a.machine).good()) return fe_machine_read(a.machine.c_str(), m);
    FE_TRY(measure_ceilings(&fe_backend_host, threads, &m->host_copy, &m->host_flop));
#if FE_HAVE_CUDA
    if (fe_cuda_devices() > 0) FE_TRY(measure_ceilings(&fe_backend_cuda, 0, &m->cuda_copy, &m->cuda_flop));
#endif
    return fe_machine_write(m, a.machine.c_str());
}

void print_help()
{
    std::fputs(help, stdout);
    std::fputs("\nGoogle Benchmark's options:\n", stdout);
    benchmark::PrintDefaultHelp();
}

fe_status run_groups(const arguments &a, const fe_machine &machine)
{
    std::vector<std::unique_ptr<group>> groups;
    for (const fe_backend *backend : a.backends)
        for (const int kind : a.kinds)
            for (const int dofs : a.dofs) add_group(a, backend, kind, dofs, groups);
    benchmark::AddCustomContext("febench", fe_commit());
    benchmark::AddCustomContext("machine", machine.slug);
    reporter r(a, machine);
    if (!r.healthy()) return fe_fail(FE_BAD_INPUT, "a file of rows, samples or results cannot be written");
    for (auto &g : groups) {
        benchmark::ClearRegisteredBenchmarks();
        for (point &p : g->points)
            benchmark::RegisterBenchmark(p.name.c_str(), run_point, &p)
                ->UseManualTime()
                ->Unit(benchmark::kMillisecond);
        r.current = g.get();
        if (!g->points.empty()) benchmark::RunSpecifiedBenchmarks(&r);
        g.reset();
    }
    r.finish();
    return r.healthy() ? FE_OK
                       : fe_fail(FE_FAILED, "a file of rows, samples or results could not be written");
}

fe_status run(int argc, char **argv)
{
    static char repetitions[] = "--benchmark_repetitions=9", least[] = "--benchmark_min_time=0.02",
                interleave[] = "--benchmark_enable_random_interleaving=true";
    arguments a;
    fe_machine machine;
    std::vector<char *> rest = {argv[0], repetitions, least, interleave};
    FE_TRY(parse(argc, argv, a, rest));
    if (a.done) return FE_OK;
    int n = (int)rest.size();
    rest.push_back(nullptr);
    benchmark::Initialize(&n, rest.data(), print_help);
    if (n > 1) return fe_fail(FE_BAD_INPUT, "%s: is not an option; kernels --help lists them", rest[1]);
    FE_TRY(know_machine(a, &machine));
    if (a.slug) return std::printf("%s\n", machine.slug), FE_OK;
    return run_groups(a, machine);
}

} // namespace

int main(int argc, char **argv) { return fe_exit_code(run(argc, argv), "kernels"); }
