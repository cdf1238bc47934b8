/* What the program `kernels` prints at its end: for each backend, element and mesh a table with a line for
 * each strategy, the fastest first. C++. */
#ifndef BENCH_SUMMARY_H
#define BENCH_SUMMARY_H

#include "bench/point.h"

#include <map>
#include <string>
#include <vector>

namespace bench
{

class summary
{
  public:
    /* The rows that follow are of this group; what is needed of it is kept. */
    void begin(const group &g);
    void add(const point &p, const fe_row &row);
    /* On stdout; nothing where there are no rows. */
    void print() const;

  private:
    /* A strategy's operation. */
    struct cell {
        double seconds; /* median; 0: it has none, since its status is not ok */
        bool noisy;
        std::string status;
    };
    struct line {
        std::string name;
        bool is_strategy;
        std::map<std::string, cell> of; /* operations that were run */
    };
    struct block {
        std::string title; /* "": no row came */
        int64_t n_dof;
        std::vector<std::string> operations; /* columns: that of products with tangents comes first */
        std::vector<line> lines;             /* one for each entrant, in their order */
    };

    static double fastest(const block &b, const std::string &operation);
    static void print_table(const block &b, const std::vector<std::string> &operations);
    static void print_failures(const block &b);
    static void print_block(const block &b);
    void print_notes() const;

    std::vector<block> blocks;
    int n_row = 0, n_noisy = 0, n_loaded = 0;
    bool yardstick = false, assembled = false; /* among the rows: element_only, a matrix's material */
};

} // namespace bench
#endif
