/* The command line of the program `kernels`. C++. */
#ifndef BENCH_ARGUMENTS_H
#define BENCH_ARGUMENTS_H

#include "bench/point.h"

#include <list>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace bench
{

struct arguments {
    std::vector<int> dofs = {100000};
    std::vector<const fe_backend *> backends;
    std::vector<const fe_variant *> variants;
    std::vector<int> kinds = {FE_TET4, FE_HEX8};
    std::vector<bench_operation> operations;
    std::vector<int> precisions, hardenings;
    std::vector<double> contacts;
    std::vector<std::string> meshes;
    int materials = 1;
    fe_order order = FE_ORDER_AUTO;
    bench_pattern pattern = BENCH_CLUSTERED;
    bench_operand operand = BENCH_RANDOM;
    double plastic = 1.0, energy = 0.0, sustained = 0.0;
    int threads = 0, refine = 0, process = 1, slower = 0; /* per cent */
    std::map<std::string, std::string> given;             /* febench's flags and their values */
    std::string problem, state;                           /* of a part; neither, or both */
    std::string rows, samples, machine, give_up, out, out_format = "json", format, filter;
    std::list<std::string> least; /* each --benchmark_min_time, which Google Benchmark reads later */
    bool slug = false, done = false, cold = false;
};

/* Since Google Benchmark 1.8 runs are "skipped", and the least time of a sample has a unit: 0.02s or 10x. */
template <typename run> constexpr auto times_have_units(int) -> decltype(std::declval<run>().skipped, true)
{
    return true;
}
template <typename run> constexpr bool times_have_units(long) { return false; }

/* Whether a name passes Google Benchmark's filter: a regular expression of POSIX, negated behind a '-'. */
bool matches(const std::string &filter, const std::string &name);
/* Takes febench's flags out of argv, and the output file: groups run one after another, so the program itself
 * keeps that file open. `rest` gets the others, which may point into `a`. FE_BAD_INPUT, with a message, where
 * a value is none. */
fe_status parse(int argc, char **argv, arguments &a, std::vector<char *> &rest);

} // namespace bench
#endif
