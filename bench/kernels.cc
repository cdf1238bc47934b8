/* The program `kernels`: Google Benchmark over variant × element × mesh × operation × backend.
 *
 * Points that share a backend, an element and a mesh form a group: one resident case, or one for each order,
 * every variant checked on it before any is timed, then all of them interleaved at random. */
#include "bench/point.h" /* first */

#include "bench/arguments.h"
#include "bench/ceiling.h"
#include "bench/reporter.h"
#include "bench/timing.h"
#include "common/base/cores.h"
#include "common/report/version.h"
#include "have/cuda.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace
{

using namespace bench;

int threads_of(const arguments &a) { return a.threads > 0 ? a.threads : fe_host_threads(); }

bool has_full(const arguments &a)
{
    return std::count(a.operations.begin(), a.operations.end(), BENCH_JACVEC_FULL) > 0;
}

fe_status add_group(const arguments &a, const bench_mesh *mesh, const fe_backend *backend, int precision,
                    int hardening, int kind, int dofs, const bench_part *part,
                    std::vector<std::unique_ptr<group>> &groups)
{
    char name[160];
    if (part && part->n_point != fe_points(kind))
        return fe_fail(FE_BAD_INPUT, "%s: points of an element: %d; of --fe_elements=%s: %d", a.state.c_str(),
                       part->n_point, fe_kind_name(kind), fe_points(kind));
    auto g = std::make_unique<group>();
    g->box = {};
    g->mesh = mesh, g->asked_dof = dofs;
    bench_mesh_cells(mesh, kind, dofs, g->box.cells);
    FE_TRY(bench_mesh_size(mesh, kind, dofs, &g->n_elem, &g->n_dof));
    bench_mesh_name(mesh, kind, dofs, sizeof name, name);
    g->mesh_name = name;
    if (a.materials > 1) g->mesh_name += "-materials" + std::to_string(a.materials);
    g->box.kind = kind, g->box.order = a.order, g->box.backend = backend;
    g->box.plastic = part ? part->flows : a.plastic, g->box.pattern = part ? BENCH_PART : a.pattern;
    g->box.part = part, g->box.operand = a.operand;
    g->box.threads = threads_of(a), g->box.precision = precision, g->box.hardening = hardening;
    g->box.materials = a.materials, g->box.full = has_full(a);
    for (const double contact : a.contacts) g->box.contact[g->box.n_contact++] = contact;
    g->how = a.sustained > 0.0 ? SUSTAINED : a.cold ? COLD : BURST;
    g->sustained = a.sustained, g->slower = a.slower, g->process = a.process;
    const std::string prefix =
        std::string(backend->name) + "/" + fe_kind_name(kind) + "/" +
        (mesh->shape == BENCH_BOX && a.materials == 1 ? "" : g->mesh_name + "/") + std::to_string(g->n_dof) +
        "/" + (precision == FE_DOUBLE ? "" : std::string(fe_precision_name(precision)) + "/") +
        (a.operand == BENCH_RANDOM ? "" : std::string(bench_operand_names[a.operand]) + "/") +
        (hardening == FE_LINEAR ? "" : std::string(fe_hardening_names[hardening]) + "/");
    for (const fe_variant *v : a.variants) {
        const fe_assembly *assembly = fe_variant_table(v, backend->on_gpu, precision);
        if (!assembly || (fe_is_quadratic(kind) && !assembly->quadratic)) continue;
        entrant e = {};
        e.variant = v, e.assembly = assembly;
        e.pieces = a.order == FE_ORDER_AUTO && fe_wants_pieces(assembly, kind);
        g->entrants.push_back(e);
        for (const bench_operation op : a.operations) {
            if (v == &bench_element_only && (op == BENCH_MATERIAL || op == BENCH_DIAGONAL)) continue;
            if (precision != FE_DOUBLE && op == BENCH_MATERIAL) continue; /* that of double precision */
            for (int i = 0; i < g->box.n_contact; i++) {
                char share[32] = "";
                if (g->box.contact[i] > 0.0 && op == BENCH_MATERIAL) continue; /* it has none */
                if (g->box.contact[i] > 0.0)
                    std::snprintf(share, sizeof share, "_contact%g", g->box.contact[i]);
                point p = {};
                p.of = g.get(), p.entrant = g->entrants.size() - 1, p.operation = op, p.contact = i;
                p.said = std::string(bench_operation_names[op]) + share;
                p.name = prefix + p.said + "/" + v->name;
                g->points.push_back(p);
            }
        }
    }
    groups.push_back(std::move(g));
    return FE_OK;
}

/* Full tangents are of one material, because operations on several are compiled apart. */
fe_status check_full(const arguments &a)
{
    for (const int precision : a.precisions)
        for (const int kind : a.kinds)
            if (has_full(a) && !(fe_full_has(precision, kind) && a.materials == 1))
                return fe_fail(FE_BAD_INPUT, "--fe_operations=jacvec_full: not of %s in %s precision with %s",
                               fe_kind_name(kind), fe_precision_name(precision),
                               a.materials == 1 ? "one material" : "several materials");
    return FE_OK;
}

/* Which kinds a precision lacks is an error; strategies that lack it are named. */
fe_status check_precisions(const arguments &a)
{
    for (const int kind : a.kinds) FE_TRY(bench_kind_check("--fe_elements", kind));
    for (const int precision : a.precisions)
        for (const int kind : a.kinds)
            if (!fe_precision_has(precision, kind))
                return fe_fail(FE_BAD_INPUT, "--fe_precision=%s: %s has double precision alone",
                               fe_precision_name(precision), fe_kind_name(kind));
    for (const int hardening : a.hardenings)
        for (const int precision : a.precisions)
            for (const int kind : a.kinds)
                if (hardening == FE_VOCE && !fe_voce_has(precision, kind))
                    return fe_fail(FE_BAD_INPUT, "--fe_hardening=voce: not of %s in %s precision",
                                   fe_kind_name(kind), fe_precision_name(precision));
    for (const int kind : a.kinds)
        if (a.materials > 1 && !fe_several_has(kind))
            return fe_fail(FE_BAD_INPUT, "--fe_materials=%d: not of %s", a.materials, fe_kind_name(kind));
    for (const double contact : a.contacts)
        for (const int precision : a.precisions)
            if (contact > 0.0 && precision == FE_SINGLE)
                return fe_fail(FE_BAD_INPUT, "--fe_contact=%g: not in single precision, which has no contact",
                               contact);
    for (const int precision : a.precisions)
        for (const fe_variant *v : a.variants)
            if (!fe_variant_table(v, 0, precision))
                fe_note("%s does not compute in %s precision: it is left out", v->name,
                        fe_precision_name(precision));
    for (const int kind : a.kinds)
        for (const fe_variant *v : a.variants)
            if (fe_is_quadratic(kind) && !v->host->quadratic)
                fe_note("%s does not compute %s: it is left out", v->name, fe_kind_name(kind));
    return FE_OK;
}

/* The elements of meshes from files, where no others are named. */
void take_kinds(const std::vector<std::unique_ptr<bench_mesh>> &meshes, arguments &a)
{
    std::vector<int> held;
    if (a.given.count("fe_elements") || meshes.empty()) return;
    for (const auto &mesh : meshes) {
        if (mesh->shape != BENCH_FILE) return;
        if (std::find(held.begin(), held.end(), mesh->file.kind) == held.end())
            held.push_back(mesh->file.kind);
    }
    a.kinds = held;
}

/* Meshes × backends × elements × sizes × precisions × laws of hardening; a file has one kind of elements and
 * one size. Shares of contact are of one group, so that they are timed in turns. */
fe_status add_groups(const arguments &a, const std::vector<std::unique_ptr<bench_mesh>> &meshes,
                     const bench_part *part, std::vector<std::unique_ptr<group>> &groups)
{
    FE_TRY(check_precisions(a));
    FE_TRY(check_full(a));
    for (const auto &mesh : meshes) {
        const bool sized = mesh->shape != BENCH_FILE && mesh->shape != BENCH_CELLS;
        const size_t before = groups.size();
        for (const fe_backend *backend : a.backends)
            for (const int kind : a.kinds)
                for (const int dofs : sized ? a.dofs : std::vector<int>{0})
                    for (const int precision : a.precisions)
                        for (const int hardening : a.hardenings)
                            if (bench_mesh_holds(mesh.get(), kind))
                                FE_TRY(add_group(a, mesh.get(), backend, precision, hardening, kind, dofs,
                                                 part, groups));
        if (groups.size() == before)
            return fe_fail(FE_BAD_INPUT, "%s: holds %s, which --fe_elements does not name", mesh->path,
                           fe_kind_name(mesh->file.kind));
    }
    return FE_OK;
}

/* On the host, and to two digits, so that rows of all backends and precisions say the same. */
fe_status count_flowing(const arguments &a, const fe_mesh &mesh, bench_part *part)
{
    bench_box box = {};
    bench_workload c = {};
    box.kind = mesh.kind == FE_TET4 && part->n_point == 4 ? FE_TET4_P4 : mesh.kind;
    box.mesh = &mesh, box.order = a.order, box.backend = &fe_backend_host, box.threads = threads_of(a);
    box.precision = FE_DOUBLE, box.pattern = BENCH_PART, box.part = part;
    const fe_status status = bench_workload_open(&box, &c);
    char text[32];
    std::snprintf(text, sizeof text, "%.2g", (double)c.n_softened / mesh.n_elem);
    part->flows = std::strtod(text, nullptr);
    bench_workload_close(&c);
    return status;
}

fe_status open_part(const arguments &a, const bench_mesh &mesh, bench_part *part)
{
    if (mesh.shape != BENCH_FILE)
        return fe_fail(FE_BAD_INPUT, "--fe_mesh=%s: is not the mesh file that --fe_state was left for",
                       a.meshes[0].c_str());
    FE_TRY(bench_part_open(a.problem.c_str(), a.state.c_str(), &mesh.file, part));
    return count_flowing(a, mesh.file, part);
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
    FE_TRY(fe_machine_find(0, m));
    m->host_threads = a.threads > 0 ? a.threads : fe_threads_of(m->cores);
    if (a.slug || !a.give_up.empty() || a.machine.empty()) return FE_OK;
    if (std::ifstream(a.machine).good()) return fe_machine_read(a.machine.c_str(), m);
    FE_TRY(measure_ceilings(&fe_backend_host, m->host_threads, &m->host_copy, &m->host_flop));
#if FE_HAVE_CUDA
    if (fe_cuda_devices() > 0) FE_TRY(measure_ceilings(&fe_backend_cuda, 0, &m->cuda_copy, &m->cuda_flop));
#endif
    return fe_machine_write(m, a.machine.c_str());
}

/* Counters of a backend's energy, and its power with nothing to do, once the device is opened. */
fe_status open_meter(const arguments &a, const fe_backend *backend, bench_energy *meter)
{
    constexpr double idle_seconds = 2.0;
    fe_device *d = nullptr;
    FE_TRY(backend->open(0, threads_of(a), &d));
    fe_status status = bench_energy_open(backend, meter);
    if (status == FE_OK) status = bench_energy_idle(meter, idle_seconds, &meter->idle);
    backend->close(d);
    return status;
}

/* The backends whose energy can be read, with their counters, and a line about each of the others. */
std::map<const fe_backend *, bench_energy> open_meters(const arguments &a)
{
    std::map<const fe_backend *, bench_energy> meters;
    if (a.energy > 0.0 && a.give_up.empty())
        for (const fe_backend *backend : a.backends)
            if (open_meter(a, backend, &meters[backend]) != FE_OK) {
                fe_note("--fe_energy: the energy of %s is not measured: %s", backend->name, fe_message());
                meters.erase(backend);
            }
    return meters;
}

/* Google Benchmark takes the samples; a cold one is a single call, and a sustained run takes its own. */
void announce(point &p)
{
    auto *const b = benchmark::RegisterBenchmark(p.name.c_str(), run_point, &p);
    b->UseManualTime()->Unit(benchmark::kMillisecond);
    if (p.of->how != BURST) b->Iterations(1);
    if (p.of->how == SUSTAINED) b->Repetitions(1);
}

/* By the name that Google Benchmark gives it. */
bool is_wanted(const arguments &a, const point &p)
{
    static const char *const suffixes[] = {"/manual_time", "/iterations:1/repeats:1/manual_time",
                                           "/iterations:1/manual_time"};
    return matches(a.filter, p.name + suffixes[p.of->how]);
}

fe_status run_groups(const arguments &a, const fe_machine &machine,
                     std::vector<std::unique_ptr<group>> &groups)
{
    benchmark::AddCustomContext("febench", fe_commit());
    benchmark::AddCustomContext("machine", machine.slug);
    reporter r(a, machine);
    FE_TRY(r.status());
    int n_point = 0, n_match = 0;
    for (auto &g : groups)
        for (const point &p : g->points) n_point++, n_match += is_wanted(a, p);
    if (!n_match && a.give_up.empty())
        return fe_fail(FE_BAD_INPUT, "--benchmark_filter=%s: matches none of %d points", a.filter.c_str(),
                       n_point);
    const auto meters = open_meters(a);
    std::map<const fe_backend *, bench_conditions> around;
    for (auto &g : groups) {
        if (r.status() != FE_OK) break;
        for (point &p : g->points)
            if (!a.give_up.empty()) p.status = a.give_up.c_str(), r.write(p, {});
        if (!a.give_up.empty()) continue;
        const auto meter = meters.find(g->box.backend);
        if (meter != meters.end()) g->meter = &meter->second;
        if (!around.count(g->box.backend)) bench_conditions_open(g->box.backend, &around[g->box.backend]);
        g->around = &around[g->box.backend];
        for (point &p : g->points)
            if (is_wanted(a, p)) p.energy_seconds = a.energy;
        benchmark::ClearRegisteredBenchmarks();
        for (point &p : g->points) announce(p);
        r.begin(*g);
        if (std::any_of(g->points.begin(), g->points.end(), [&](const point &p) { return is_wanted(a, p); }))
            benchmark::RunSpecifiedBenchmarks(&r);
        g.reset();
    }
    r.finish();
    return r.status();
}

fe_status run(int argc, char **argv)
{
    using benchmark_run = benchmark::BenchmarkReporter::Run;
    std::string repetitions = "--benchmark_repetitions=9",
                interleave = "--benchmark_enable_random_interleaving=true",
                least = times_have_units<benchmark_run>(0) ? "--benchmark_min_time=0.02s"
                                                           : "--benchmark_min_time=0.02";
    arguments a;
    fe_machine machine;
    std::vector<char *> rest = {argv[0], repetitions.data(), least.data(), interleave.data()};
    FE_TRY(parse(argc, argv, a, rest));
    if (a.done) return FE_OK;
    std::vector<std::unique_ptr<bench_mesh>> meshes;
    std::vector<std::unique_ptr<group>> groups;
    bench_part part = {};
    const auto close = [&](fe_status status) {
        for (auto &m : meshes) bench_mesh_close(m.get());
        bench_part_close(&part);
        return status;
    };
    int n = (int)rest.size();
    rest.push_back(nullptr);
    benchmark::Initialize(&n, rest.data());
    if (n > 1) return fe_fail(FE_BAD_INPUT, "%s: is not an option; kernels --help lists them", rest[1]);
    FE_TRY(know_machine(a, &machine));
    if (a.slug) return std::printf("%s\n", machine.slug), FE_OK;
    for (const std::string &word : a.meshes) {
        meshes.push_back(std::make_unique<bench_mesh>());
        const fe_status status = bench_mesh_open(word.c_str(), a.refine, a.order, meshes.back().get());
        if (status != FE_OK) return close(status);
    }
    take_kinds(meshes, a);
    fe_status status = a.state.empty() ? FE_OK : open_part(a, *meshes[0], &part);
    if (status == FE_OK) status = add_groups(a, meshes, a.state.empty() ? nullptr : &part, groups);
    if (status == FE_OK) status = run_groups(a, machine, groups);
    groups.clear();
    return close(status);
}

} // namespace

int main(int argc, char **argv)
{
    fe_program_begin();
    return fe_exit_code(run(argc, argv), "kernels");
}
