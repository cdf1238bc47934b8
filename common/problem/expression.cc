/* Formulas by muParser, whose interface for C lets exceptions through. */
#include "common/problem/expression.h"

#include <cstring>
#include <exception>
#include <muParser.h>
#include <new>

struct fe_expression {
    mu::Parser parser;
    double x[3];
};

namespace
{

/* Streams take bad_alloc for a number that cannot be read: whether memory ran out is remembered here. */
thread_local bool starved;

void run_out()
{
    starved = true;
    throw std::bad_alloc();
}

/* run_out is called where memory runs out. */
struct watch {
    std::new_handler before = std::set_new_handler(run_out);
    watch() { starved = false; }
    ~watch() { std::set_new_handler(before); }
};

/* Runs what may throw. */
template <typename body> fe_status guarded(const body &run)
{
    const watch memory;
    try {
        return run();
    } catch (const mu::ParserError &error) {
        if (starved) return fe_fail(FE_OUT_OF_MEMORY, ": no host memory for the parser");
        return fe_fail(FE_BAD_INPUT, ": %s", error.GetMsg().c_str());
    } catch (const std::bad_alloc &) {
        return fe_fail(FE_OUT_OF_MEMORY, ": no host memory for the parser");
    } catch (const std::exception &error) {
        return fe_fail(FE_FAILED, ": muParser: %s", error.what());
    }
}

} // namespace

extern "C" {

fe_status fe_expression_open(const char *text, fe_expression **e)
{
    *e = nullptr;
    return guarded([&] {
        *e = new fe_expression;
        for (int i = 0; i < 3; i++) (*e)->parser.DefineVar(std::string(1, "xyz"[i]), &(*e)->x[i]);
        (*e)->parser.SetExpr(text);
        return FE_OK;
    });
}

fe_status fe_expression_value(fe_expression *e, const double x[3], double *value)
{
    return guarded([&] {
        int n = 0;
        std::memcpy(e->x, x, sizeof e->x);
        const double *values = e->parser.Eval(n);
        if (n != 1) return fe_fail(FE_BAD_INPUT, " has %d values, not one", n);
        if (std::memcmp(e->x, x, sizeof e->x)) return fe_fail(FE_BAD_INPUT, " assigns to a coordinate");
        *value = values[0];
        return FE_OK;
    });
}

void fe_expression_close(fe_expression *e) { delete e; }
}
