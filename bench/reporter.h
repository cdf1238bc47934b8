/* What the program `kernels` writes: rows, samples, lines and tables for people, Google Benchmark's own
 * formats. C++. */
#ifndef BENCH_REPORTER_H
#define BENCH_REPORTER_H

#include "bench/arguments.h"
#include "bench/point.h"
#include "bench/summary.h"
#include "common/report/machine.h"

#include <benchmark/benchmark.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace bench
{

/* Everything from one stream of runs. Groups run one after another, so only the first context and the last
 * end are passed on. */
class reporter : public benchmark::BenchmarkReporter
{
  public:
    /* The machine must outlive it. */
    reporter(const arguments &a, const fe_machine &m);
    ~reporter() override;

    bool ReportContext(const Context &context) override;
    void ReportRuns(const std::vector<Run> &runs) override;
    /* A point's row, and its samples in the order in which they were taken. */
    void write(const point &p, const std::vector<Run> &runs);
    /* Ends all, with the summary where stdout is for people. */
    void finish();
    /* Of the files: FE_BAD_INPUT where one could not be opened, FE_FAILED where writing failed. */
    fe_status status() const;

    /* The points that run are this group's. */
    void begin(group &g);

  private:
    FILE *open(const std::string &path, const char *columns);

    const fe_machine &machine;
    group *current = nullptr;
    summary sum;
    FILE *rows = nullptr, *samples = nullptr;
    std::ofstream out;
    std::vector<std::unique_ptr<BenchmarkReporter>> others;
    fe_status unopened = FE_OK; /* of the first file that cannot be written, and why */
    std::string why;
    int reason = 0;                                    /* errno of the first failure */
    bool table = true, summed = true, started = false; /* what stdout gets: rows, and their summary */
};

} // namespace bench
#endif
