/* Contact in a benchmark workload: what a pass over contact nodes costs behind a strategy's operation. */
#ifndef BENCH_CONTACT_H
#define BENCH_CONTACT_H

#include "bench/workload.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A list for each share in box.contact of the mesh's nodes, which are in contact: the uppermost ones, all of
 * them closed on a plane. Not in single precision. */
fe_status bench_contact_open(bench_workload *c);
/* The pass that a solver makes behind the operation, over the nodes of list `which`; nothing behind
 * `material`, and where there is no such list. Checks of operations are without it. */
fe_status bench_contact_apply(bench_workload *c, int which, bench_operation op);

#ifdef __cplusplus
}
#endif
#endif
