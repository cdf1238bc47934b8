/* See arguments.h. */
#include "bench/point.h" /* first */

#include "bench/arguments.h"
#include "bench/layers.h"
#include "common/report/version.h"
#include "have/cuda.h"

#include <benchmark/benchmark.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <regex>

namespace bench
{

namespace
{

#if FE_HAVE_QUADRATIC
#define QUADRATIC_KINDS ", tet10, hex27"
#else
#define QUADRATIC_KINDS
#endif
const char help[] =
    "usage: kernels [options] [Google Benchmark's options]\n"
    "Checks and times the operations of all assembly strategies on meshes.\n"
    "\n"
    "  --fe_mesh=LIST         box: a distorted cube; slender: a distorted box, 16 times as long as wide;\n"
    "                         119x119x119: a distorted box of these cells; irregular: an unstructured,\n"
    "                         graded mesh, as meshgen irregular makes it; FILE.msh: a mesh of Gmsh (box)\n"
    "  --fe_refine=N          makes eight elements of each of a FILE.msh, N times (0)\n"
    "  --fe_dofs=LIST         sizes in degrees of freedom, approximately, of box, slender and irregular\n"
    "                         (100000)\n"
    "  --fe_backend=LIST      host, cuda (host, and cuda where a device is found)\n"
    "  --fe_variants=LIST     strategies (all, and element_only, the element kernel without sums);\n"
    "                         --fe_list prints them\n"
    "  --fe_elements=LIST     tet4, hex8, tet4_p4, hex8_naive" QUADRATIC_KINDS " (tet4,hex8; of a\n"
    "                         FILE.msh what it holds)\n"
    "  --fe_operations=LIST   residual, material, jacvec_elastic, jacvec, diagonal (all), and\n"
    "                         jacvec_full, the product with tangents of 21 numbers as any material has\n"
    "                         them: tet4, hex8, tet10, hex27, double, one material\n"
    "  --fe_precision=LIST    double, mixed (arithmetic in floats, vectors and sums into them in\n"
    "                         doubles), single (all in floats); mixed and single: tet4 and hex8, without\n"
    "                         material (double)\n"
    "  --fe_hardening=LIST    law of hardening: linear, or voce, whose return iterates; voce: tet4, hex8,\n"
    "                         tet10, hex27, double (linear)\n"
    "  --fe_materials=N       N layers of different materials, 2 to 16, which elements look up; not of\n"
    "                         hex8_naive (1)\n"
    "  --fe_contact=LIST      shares of nodes in contact with a plane, whose pass is timed with each\n"
    "                         operation (0)\n"
    "  --fe_order=ORDER       order of nodes and elements: auto (what each strategy wants), as-is,\n"
    "                         lexicographic, rcm, morton, bisection, random (auto)\n"
    "  --fe_plastic=FRACTION  share of plastic elements (1)\n"
    "  --fe_pattern=PATTERN   which: clustered: in one slab; scattered: at random places; zones: a few\n"
    "                         connected zones, as in a part under load (clustered)\n"
    "  --fe_problem=FILE.json --fe_state=FILE.json.state\n"
    "                         instead of these two: the state of a part that `solve --steps N` left beside\n"
    "                         its result, with the material of its problem, on the mesh of the solve\n"
    "                         (--fe_mesh=FILE.msh)\n"
    "  --fe_operand=OPERAND   displacements and directions: random, or smooth as in a solve, which moves\n"
    "                         the power of a card (random)\n"
    "  --fe_threads=N         OpenMP threads of the host backend (all cores, at most OMP_NUM_THREADS)\n"
    "  --fe_energy=SECONDS    before any time is taken runs each operation six times for so long and\n"
    "                         reads the energy that the card (NVML) or the processors (RAPL) took, and\n"
    "                         before that what they take with nothing to do; at most 60 (0: not measured)\n"
    "  --fe_sustained=SECONDS runs each operation for so long without pause, 10 s or more say what a card\n"
    "                         holds; rows are of the samples after the first fifth (0: short samples of\n"
    "                         all in turns)\n"
    "  --fe_cold              times single calls that find none of their data in the last cache\n"
    "  --fe_slower=PERCENT    does 1, 2 or 5 per cent more calls than it counts: operations that are slower "
    "by a\n"
    "                         known share, which a comparison of runs must see (0)\n"
    "  --fe_process=N         number of this process among those that measure the same, for rows and\n"
    "                         samples (1)\n"
    "  --fe_rows=FILE         adds result rows to a file, CSV\n"
    "  --fe_samples=FILE      adds raw samples to a file, CSV\n"
    "  --fe_machine=FILE      machine record: read if it exists, otherwise measured and written\n"
    "  --fe_give_up=STATUS    run nothing: write every row with this status, as a sweep does after a crash\n"
    "  --fe_slug              print the machine's short name and stop\n"
    "  --fe_list --help --version\n"
    "\n"
    "Sizes, rows and samples are described in results/README.md. Defaults of Google Benchmark's options:\n"
    "--benchmark_repetitions=9 --benchmark_min_time=0.02 --benchmark_enable_random_interleaving=true\n"
    "\n"
    "Google Benchmark's options (its own documentation has all of them):\n"
    "  --benchmark_filter=REGEX --benchmark_list_tests --benchmark_repetitions=N\n"
    "  --benchmark_min_time=SECONDS\n"
    "  --benchmark_format=console|json|csv  --benchmark_out=FILE --benchmark_out_format=console|json\n"
    "  --benchmark_enable_random_interleaving=BOOL --benchmark_counters_tabular=BOOL\n"
    "\n"
    "exit: 0 done (failed checks and full memory are recorded in their rows); 1 the run failed;\n"
    "      2 bad input\n";

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
const char *precision_name(int i) { return fe_precision_name(i); }
const char *hardening_name(int i) { return fe_hardening_names[i]; }
const char *operation_name(int i) { return bench_operation_names[i]; }
const char *order_name(int i) { return fe_order_names[i]; }
const char *pattern_name(int i) { return bench_pattern_names[i]; }
const char *operand_name(int i) { return bench_operand_names[i]; }
const char *variant_name(int i) { return fe_variant_at(i)->name; }

fe_status set_flag(arguments &a, const std::string &flag, const std::string &value)
{
    double x;
    int i;
    a.given[flag] = value;
    if (flag == "fe_problem") return a.problem = value, FE_OK;
    if (flag == "fe_state") return a.state = value, FE_OK;
    if (flag == "fe_rows") return a.rows = value, FE_OK;
    if (flag == "fe_samples") return a.samples = value, FE_OK;
    if (flag == "fe_machine") return a.machine = value, FE_OK;
    if (flag == "fe_give_up") return a.give_up = value, FE_OK;
    if (flag == "fe_order") {
        FE_TRY(choice("fe_order", value, FE_N_ORDER + 1, order_name, &i));
        return a.order = (fe_order)i, FE_OK;
    }
    if (flag == "fe_pattern") {
        FE_TRY(choice("fe_pattern", value, BENCH_N_PATTERN, pattern_name, &i));
        return a.pattern = (bench_pattern)i, FE_OK;
    }
    if (flag == "fe_operand") {
        FE_TRY(choice("fe_operand", value, BENCH_N_OPERAND, operand_name, &i));
        return a.operand = (bench_operand)i, FE_OK;
    }
    if (flag == "fe_refine") {
        FE_TRY(number("fe_refine", value, 0, 10, &x));
        return a.refine = (int)x, FE_OK;
    }
    if (flag == "fe_materials") {
        FE_TRY(number("fe_materials", value, 1, BENCH_MOST_LAYERS, &x));
        return a.materials = (int)x, FE_OK;
    }
    if (flag == "fe_plastic") return number("fe_plastic", value, 0.0, 1.0, &a.plastic);
    /* Small counters of RAPL begin again after 65 kJ: at less than 1 kW once a minute at most. */
    if (flag == "fe_energy") return number("fe_energy", value, 0.0, 60.0, &a.energy);
    if (flag == "fe_sustained") return number("fe_sustained", value, 0.0, 3600.0, &a.sustained);
    if (flag == "fe_slower") {
        FE_TRY(number("fe_slower", value, 0, 5, &x));
        if (x != 0 && x != 1 && x != 2 && x != 5)
            return fe_fail(FE_BAD_INPUT, "--fe_slower=%s: is not 0, 1, 2 or 5", value.c_str());
        return a.slower = (int)x, FE_OK;
    }
    if (flag == "fe_process") {
        FE_TRY(number("fe_process", value, 1, 1e6, &x));
        if (x != (int)x)
            return fe_fail(FE_BAD_INPUT, "--fe_process=%s: is not a whole number", value.c_str());
        return a.process = (int)x, FE_OK;
    }
    if (flag == "fe_threads") {
        FE_TRY(number("fe_threads", value, 1, 4096, &x));
        return a.threads = (int)x, FE_OK;
    }
    if (flag == "fe_dofs") a.dofs.clear();
    if (flag == "fe_elements") a.kinds.clear();
    for (const std::string &part : split(value)) {
        if (flag == "fe_mesh") {
            a.meshes.push_back(part);
        } else if (flag == "fe_dofs") {
            FE_TRY(number("fe_dofs", part, 1, 1e9, &x));
            a.dofs.push_back((int)x);
        } else if (flag == "fe_backend") {
            const fe_backend *backend;
            FE_TRY(fe_backend_find(part.c_str(), &backend));
            a.backends.push_back(backend);
        } else if (flag == "fe_variants") {
            if (part == bench_element_only.name) {
                a.variants.push_back(&bench_element_only);
                continue;
            }
            FE_TRY(choice("fe_variants", part, fe_variant_count(), variant_name, &i));
            a.variants.push_back(fe_variant_at(i));
        } else if (flag == "fe_elements") {
            FE_TRY(choice("fe_elements", part, FE_N_KIND, kind_name, &i));
            a.kinds.push_back(i);
        } else if (flag == "fe_precision") {
            FE_TRY(choice("fe_precision", part, FE_N_PRECISION, precision_name, &i));
            a.precisions.push_back(i);
        } else if (flag == "fe_hardening") {
            FE_TRY(choice("fe_hardening", part, FE_N_HARDENING, hardening_name, &i));
            a.hardenings.push_back(i);
        } else if (flag == "fe_contact") {
            FE_TRY(number("fe_contact", part, 0.0, 1.0, &x));
            a.contacts.push_back(x);
            if (a.contacts.size() > BENCH_MOST_CONTACTS)
                return fe_fail(FE_BAD_INPUT, "--fe_contact=%s: is more than %d shares", value.c_str(),
                               BENCH_MOST_CONTACTS);
        } else if (flag == "fe_operations") {
            FE_TRY(choice("fe_operations", part, BENCH_N_OPERATION, operation_name, &i));
            a.operations.push_back((bench_operation)i);
        } else {
            return fe_fail(FE_BAD_INPUT, "--%s: is not an option; kernels --help lists them", flag.c_str());
        }
    }
    return FE_OK;
}

/* The state of a part says what it is on, and of which material. */
fe_status check_state(const arguments &a)
{
    if (a.state.empty() && a.problem.empty())
        return a.pattern == BENCH_PART ? fe_fail(FE_BAD_INPUT, "--fe_pattern=part: is that of --fe_state")
                                       : FE_OK;
    if (a.problem.empty())
        return fe_fail(FE_BAD_INPUT, "--fe_state=%s: needs --fe_problem, the file that was solved",
                       a.state.c_str());
    if (a.state.empty())
        return fe_fail(FE_BAD_INPUT, "--fe_problem=%s: needs --fe_state, which was left by its solve",
                       a.problem.c_str());
    for (const char *flag :
         {"fe_plastic", "fe_pattern", "fe_materials", "fe_hardening", "fe_refine", "fe_dofs"})
        if (a.given.count(flag))
            return fe_fail(FE_BAD_INPUT,
                           "--%s=%s: not with --fe_state, whose mesh, material and points are given", flag,
                           a.given.at(flag).c_str());
    if (a.order != FE_ORDER_AUTO && a.order != FE_ORDER_AS_IS)
        return fe_fail(FE_BAD_INPUT,
                       "--fe_order=%s: not with --fe_state, which has the numbers of its mesh's file",
                       fe_order_names[a.order]);
    if (a.meshes.size() != 1)
        return fe_fail(FE_BAD_INPUT, "--fe_state=%s: needs --fe_mesh=FILE.msh, the one mesh of the solve",
                       a.state.c_str());
    return FE_OK;
}

void set_defaults(arguments &a)
{
    if (a.meshes.empty()) a.meshes.push_back("box");
    if (a.backends.empty()) {
        a.backends.push_back(&fe_backend_host);
#if FE_HAVE_CUDA
        if (fe_cuda_devices() > 0) a.backends.push_back(&fe_backend_cuda);
#endif
    }
    if (a.variants.empty()) {
        a.variants.push_back(&bench_element_only);
        for (int i = 0; i < fe_variant_count(); i++) a.variants.push_back(fe_variant_at(i));
    }
    if (a.precisions.empty()) a.precisions.push_back(FE_DOUBLE);
    if (a.contacts.empty()) a.contacts.push_back(0.0);
    if (a.hardenings.empty()) a.hardenings.push_back(FE_LINEAR);
    if (a.operations.empty())
        for (int op = 0; op < BENCH_N_OPERATION; op++)
            if (op != BENCH_JACVEC_FULL) a.operations.push_back((bench_operation)op);
}

fe_status is_one_of(const char *text, const std::string &value, std::initializer_list<const char *> known)
{
    std::string list;
    for (const char *k : known) {
        if (value == k) return FE_OK;
        list += (list.empty() ? "" : ", ") + std::string(k);
    }
    return fe_fail(FE_BAD_INPUT, "%s: is none of %s", text, list.c_str());
}

/* Values of Google Benchmark's flags: it says lines of its own about some and takes others for something
 * else. Flags that are not here are left to it. */
fe_status check_google(const char *text, const std::string &flag, std::string value)
{
    double x;
    const char *const name = flag.c_str() + 2;
    if (flag == "--benchmark_repetitions") {
        FE_TRY(number(name, value, 1, 1e6, &x));
        return x == (int)x ? FE_OK : fe_fail(FE_BAD_INPUT, "%s: is not a whole number", text);
    }
    if (flag == "--benchmark_min_time" || flag == "--benchmark_min_warmup_time") {
        const bool units =
            times_have_units<benchmark::BenchmarkReporter::Run>(0) && flag == "--benchmark_min_time";
        if (units && !value.empty() && (value.back() == 's' || value.back() == 'x')) value.pop_back();
        return number(name, value, 0, 1e6, &x);
    }
    if (flag == "--benchmark_format" || flag == "--benchmark_out_format")
        return is_one_of(text, value, {"console", "json", "csv"});
    if (flag == "--benchmark_color")
        return is_one_of(text, value, {"auto", "true", "false", "yes", "no", "on", "off", "1", "0"});
    if (flag == "--benchmark_list_tests" || flag == "--benchmark_enable_random_interleaving" ||
        flag == "--benchmark_report_aggregates_only" || flag == "--benchmark_display_aggregates_only" ||
        flag == "--benchmark_counters_tabular")
        return std::strchr(text, '=')
                   ? is_one_of(text, value, {"true", "false", "yes", "no", "on", "off", "1", "0"})
                   : FE_OK;
    if (flag != "--benchmark_filter") return FE_OK;
    try {
        matches(value, "");
    } catch (const std::regex_error &error) {
        return fe_fail(FE_BAD_INPUT, "%s: %s", text, error.what());
    }
    return FE_OK;
}

} // namespace

bool matches(const std::string &filter, const std::string &name)
{
    if (filter.empty() || filter == "all") return true;
    const bool negated = filter[0] == '-';
    return std::regex_search(name, std::regex(filter.substr(negated), std::regex::extended)) != negated;
}

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
        } else if (text == "--fe_cold") {
            a.cold = true;
        } else if (text == "--fe_list") {
            for (int v = 0; v < fe_variant_count(); v++)
                std::printf("%-16s %s\n", fe_variant_at(v)->name, fe_variant_at(v)->summary);
            a.done = true;
        } else if (text == "--help") {
            std::fputs(help, stdout);
            a.done = true;
        } else if (text == "--version") {
            std::fputs(fe_version_text(), stdout);
            a.done = true;
        } else if (flag.compare(0, 5, "--fe_") == 0) {
            if (value.empty()) return fe_fail(FE_BAD_INPUT, "%s: needs =VALUE", argv[i]);
            FE_TRY(set_flag(a, flag.substr(2), value));
        } else {
            FE_TRY(check_google(argv[i], flag, value));
            if (flag == "--benchmark_format") a.format = value;
            if (flag == "--benchmark_filter") a.filter = value;
            const bool bare = flag == "--benchmark_min_time" && std::isdigit((unsigned char)value.back());
            /* a newer Google Benchmark takes seconds without their unit, too, but says a line about it */
            if (bare)
                a.least.push_back(text + (times_have_units<benchmark::BenchmarkReporter::Run>(0) ? "s" : ""));
            rest.push_back(bare ? a.least.back().data() : argv[i]);
        }
    }
    if (a.cold && a.sustained > 0.0)
        return fe_fail(FE_BAD_INPUT,
                       "--fe_cold: not with --fe_sustained, since a cold call is one behind a pause");
    if (a.slower && (a.cold || a.sustained > 0.0 || a.energy > 0.0))
        return fe_fail(FE_BAD_INPUT, "--fe_slower: not with --fe_cold, --fe_sustained or --fe_energy");
    FE_TRY(check_state(a));
    set_defaults(a);
    return FE_OK;
}

} // namespace bench
