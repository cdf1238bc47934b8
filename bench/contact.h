/* Contact in a benchmark workload: what a pass over contact nodes costs behind a strategy's operation. */
#ifndef BENCH_CONTACT_H
#define BENCH_CONTACT_H

#include "bench/workload.h"

#ifdef __cplusplus
extern "C" {
#endif

/* box.contact is the share of the mesh's nodes that are in contact, the uppermost ones, all of them closed on
 * a plane; 0: none. Not in single precision. */
fe_status bench_contact_open(bench_workload *c);
/* The pass that a solver makes behind the operation; nothing behind `material`, and where there is no
 * contact. Checks of operations are without it. */
fe_status bench_contact_apply(bench_workload *c, bench_operation op);

#ifdef __cplusplus
}
#endif
#endif
