/* See summary.h. */
#include "bench/point.h" /* first */

#include "bench/summary.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <strings.h>

namespace bench
{

namespace
{

/* Of lines, in columns of a terminal; of a column with a time and a ratio; of throughputs behind the first.
 */
constexpr size_t WIDTH = 100, CELL = 14, RATE = 8;

/* Where an operation stands in a table. */
size_t place_of(const point &p)
{
    static const bench_operation order[] = {BENCH_JACVEC,   BENCH_JACVEC_FULL, BENCH_JACVEC_ELASTIC,
                                            BENCH_RESIDUAL, BENCH_MATERIAL,    BENCH_DIAGONAL};
    const size_t at =
        (size_t)(std::find(std::begin(order), std::end(order), p.operation) - std::begin(order));
    return at * BENCH_MOST_CONTACTS + (size_t)p.contact;
}

/* Three digits, where they are enough. */
std::string number(double x)
{
    char text[32];
    const int behind = x < 0.1 ? 4 : x < 1.0 ? 3 : x < 10.0 ? 2 : x < 100.0 ? 1 : 0;
    std::snprintf(text, sizeof text, "%.*f", behind, x);
    return text;
}

/* Where it is run, and what is not as it is by default. */
std::string title_of(const fe_row &row)
{
    std::string text = std::string(row.element) + ", " + row.mesh + ", " + std::to_string(row.n_dof) +
                       " DoF, " + row.backend;
    if (strcmp(row.backend, "host"))
        text += *row.device ? std::string(" (") + row.device + ")" : "";
    else
        text += " with " + std::to_string(row.threads) + (row.threads == 1 ? " thread" : " threads");
    if (strcmp(row.precision, "double")) text += std::string(", ") + row.precision + " precision";
    if (strcmp(row.operand, "random")) text += std::string(", ") + row.operand;
    if (strcmp(row.hardening, "linear")) text += std::string(", ") + row.hardening;
    if (strcmp(row.condition, "burst")) text += std::string(", ") + row.condition;
    return text;
}

size_t width_of(const std::string &operation) { return std::max(CELL, operation.size() + 2); }

/* Behind blanks, up to so many columns. */
void right(size_t width, const std::string &text)
{
    std::printf("%*s%s", (int)(width - std::min(width, text.size())), "", text.c_str());
}

} // namespace

void summary::begin(const group &g)
{
    std::map<size_t, std::string> operations;
    block b = {};
    b.n_dof = g.n_dof;
    for (const point &p : g.points) operations[place_of(p)] = p.said;
    for (const auto &o : operations) b.operations.push_back(o.second);
    for (const entrant &e : g.entrants)
        b.lines.push_back({e.variant->name, e.variant != &bench_element_only, {}});
    blocks.push_back(b);
}

void summary::add(const point &p, const fe_row &row)
{
    if (blocks.empty()) return;
    block &b = blocks.back();
    const entrant &e = p.of->entrants[p.entrant];
    const bool ok = !strcmp(row.status, "ok") && row.seconds.n > 0;
    const char *const noise = fe_row_noise(&row);
    const bool is_loaded = strstr(noise, "loaded"), is_noisy = is_loaded || strstr(noise, "wide");
    if (b.title.empty()) b.title = title_of(row);
    b.lines[p.entrant].of[p.said] = {ok ? row.seconds.median : 0.0, is_noisy, row.status};
    n_row++, n_noisy += is_noisy, n_loaded += is_loaded;
    if (ok && !b.lines[p.entrant].is_strategy) yardstick = true;
    if (ok && p.operation == BENCH_MATERIAL && e.assembly->traits & FE_ASSEMBLED) assembled = true;
}

/* Seconds of the fastest strategy; 0: none was timed. */
double summary::fastest(const block &b, const std::string &operation)
{
    double least = 0.0;
    for (const line &l : b.lines) {
        const auto c = l.of.find(operation);
        if (!l.is_strategy || c == l.of.end() || !(c->second.seconds > 0.0)) continue;
        if (!(least > 0.0 && least <= c->second.seconds)) least = c->second.seconds;
    }
    return least;
}

/* Sorted by the first operation; element_only, which is no strategy, comes last. */
void summary::print_table(const block &b, const std::vector<std::string> &operations)
{
    const std::string &first = operations[0];
    const auto seconds = [](const line &l, const std::string &operation) {
        const auto c = l.of.find(operation);
        return c == l.of.end() ? 0.0 : c->second.seconds;
    };
    std::vector<const line *> lines;
    size_t name = 0;
    double shortest = INFINITY;
    for (const line &l : b.lines) {
        name = std::max(name, l.name.size());
        if (std::any_of(operations.begin(), operations.end(),
                        [&](const std::string &o) { return seconds(l, o) > 0.0; }))
            lines.push_back(&l);
        if (seconds(l, first) > 0.0) shortest = std::min(shortest, seconds(l, first));
    }
    if (lines.empty()) return;
    std::stable_sort(lines.begin(), lines.end(), [&](const line *l, const line *r) {
        const double a = seconds(*l, first), c = seconds(*r, first);
        if (l->is_strategy != r->is_strategy) return l->is_strategy;
        return a > 0.0 && (!(c > 0.0) || a < c);
    });
    const bool is_fast = (double)b.n_dof / shortest >= 1e9;
    right(name, "");
    for (const std::string &o : operations) {
        right(width_of(o), o);
        if (&o == &first) right(RATE, "");
    }
    std::printf("\n");
    right(name, "");
    for (const std::string &o : operations) {
        right(width_of(o) - CELL, "");
        std::printf("     ms      ×");
        if (&o == &first) right(RATE, is_fast ? "GDoF/s" : "MDoF/s");
    }
    std::printf("\n");
    for (const line *l : lines) {
        std::string text = l->name;
        text.resize(name, ' ');
        for (const std::string &o : operations) {
            const double x = seconds(*l, o), least = fastest(b, o);
            text.resize(text.size() + width_of(o) - CELL, ' ');
            char cells[64];
            std::snprintf(cells, sizeof cells, "%7s%c%6s", x > 0.0 ? number(1e3 * x).c_str() : "-",
                          x > 0.0 && l->of.at(o).noisy ? '~' : ' ',
                          x > 0.0 && least > 0.0 ? number(x / least).c_str() : "");
            text += cells;
            if (&o != &first) continue;
            std::snprintf(cells, sizeof cells, "%*s", (int)RATE,
                          x > 0.0 ? number((is_fast ? 1e-9 : 1e-6) * (double)b.n_dof / x).c_str() : "");
            text += cells;
        }
        text.resize(text.find_last_not_of(' ') + 1);
        std::printf("%s\n", text.c_str());
    }
}

/* A line for each status of each strategy, or one for all. */
void summary::print_failures(const block &b)
{
    std::map<std::string, int> all;
    for (const line &l : b.lines)
        for (const auto &c : l.of) all[c.second.status]++;
    if (all.size() == 1 && all.begin()->first != "ok")
        return (void)std::printf("%s: all strategies\n", all.begin()->first.c_str());
    for (const line &l : b.lines) {
        std::map<std::string, std::vector<std::string>> by_status;
        for (const std::string &o : b.operations) {
            const auto c = l.of.find(o);
            if (c != l.of.end() && c->second.status != "ok") by_status[c->second.status].push_back(o);
        }
        for (const auto &s : by_status) {
            std::printf("%s: %s", s.first.c_str(), l.name.c_str());
            if (s.second.size() < l.of.size())
                for (const std::string &o : s.second)
                    std::printf("%s %s", &o == &s.second[0] ? ":" : ",", o.c_str());
            std::printf("\n");
        }
    }
}

/* In as many tables as the width of a terminal needs. */
void summary::print_block(const block &b)
{
    std::vector<std::string> operations;
    size_t name = 0, width = 0;
    std::printf("\n%s\n", b.title.c_str());
    for (const line &l : b.lines) name = std::max(name, l.name.size());
    for (const std::string &o : b.operations) {
        if (std::none_of(b.lines.begin(), b.lines.end(), [&](const line &l) { return l.of.count(o) > 0; }))
            continue;
        if (!operations.empty() && width + width_of(o) > WIDTH) {
            print_table(b, operations);
            operations.clear();
        }
        width = operations.empty() ? name + width_of(o) + RATE : width + width_of(o);
        operations.push_back(o);
    }
    print_table(b, operations);
    print_failures(b);
}

void summary::print_notes() const
{
    const char *const policy = std::getenv("OMP_WAIT_POLICY");
    std::printf(
        "\nms: median time of one call; ×: how many times the fastest strategy's; sorted by the first "
        "column\n");
    if (yardstick) std::printf("element_only: the element kernel without sums, for comparison\n");
    if (assembled) std::printf("material: with assembled_*, the assembly of the matrix, too\n");
    if (n_noisy)
        std::printf("~: noisy, %d of %d rows: do not compare them (docs/method.md, Conditions)\n", n_noisy,
                    n_row);
    if (n_loaded)
        std::printf("Other processes use the cores: %swait until the machine is idle\n",
                    policy && !strcasecmp(policy, "passive") ? "" : "set OMP_WAIT_POLICY=passive, or ");
}

void summary::print() const
{
    if (!n_row) return;
    for (const block &b : blocks)
        if (!b.title.empty()) print_block(b);
    print_notes();
    std::fflush(stdout);
}

} // namespace bench
