/* Instead of bench/part.c where a build lacks what reads problem files, and in the first look of `make
 * bench`, which needs no such state. */
#include "bench/part.h"

fe_status bench_part_open(const char *problem, const char *state, const fe_mesh *mesh, bench_part *p)
{
    (void)problem, (void)mesh;
    *p = (bench_part){0};
    return fe_fail(
        FE_BAD_INPUT,
        "--fe_state=%s: this build does not read problem files, for lack of a library; make info says which",
        state);
}

void bench_part_close(bench_part *p) { *p = (bench_part){0}; }
