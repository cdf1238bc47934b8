/* A benchmark workload: a distorted box or another mesh with a chosen share of plastic elements, or one
 * rank's piece of it, resident on a device, and operations on it. workload_fields.h says how it is deformed,
 * verify.h checks results. */
#ifndef BENCH_WORKLOAD_H
#define BENCH_WORKLOAD_H

#include "bench/box_piece.h"
#include "common/contact/contact.h"
#include "common/variant.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum bench_operation {
    BENCH_RESIDUAL,
    BENCH_MATERIAL,       /* consistent */
    BENCH_JACVEC_ELASTIC, /* after material in elastic mode: no tangent is read */
    BENCH_JACVEC,
    BENCH_JACVEC_FULL, /* reads the 21 numbers of any symmetric tangent; box.full, where fe_full_has */
    BENCH_DIAGONAL,
    BENCH_N_OPERATION
} bench_operation;
extern const char *const bench_operation_names[BENCH_N_OPERATION];

struct bench_oracle;
/* In mixed and single precision the state and the tangent are made in double precision, as in the others. In
 * single precision all fields are those that floats can hold. */
typedef struct bench_workload {
    bench_box box;
    const char *numbering;  /* the order in force */
    double arrange_seconds; /* for the order auto */
    fe_device *device;
    int owns_device;
    fe_comm *comm; /* NULL without ranks: nothing is exchanged */
    fe_share share;
    fe_problem problem;
    double *displacement, *direction,
        *out; /* device; out [n_local][9]: residual, jacvec [n_local][3] or diagonal [n_local][9] */
    struct {
        float *displacement, *direction, *out;
    } floats;                                      /* the same in single precision; else NULL */
    fe_contact_list *contact[BENCH_MOST_CONTACTS]; /* of each share in box.contact; NULL where that is 0 */
    double *full;              /* box.full: full tangents, which the view has during that operation alone */
    double across;             /* longest side of the mesh / least height of an element (of a box: cell) */
    size_t bytes;              /* resident: mesh, state and tangent (also in floats), without vectors */
    int n_yielded, n_softened; /* elements: committed, and at u */
    struct bench_deformation *deformation; /* while it is opened (workload_fields.h) */
    struct bench_layers *layers;           /* the same (layers.h) */
    struct bench_oracle *oracle;
} bench_workload;

/* Not a strategy, but the element kernel without sums (element_only.h). It has no result to check, no
 * diagonal, and no material update of its own. */
extern const fe_variant bench_element_only;

/* Numbers in the result of an operation: rows of n_node nodes. */
static inline size_t bench_entries(bench_operation op, int n_node)
{
    return (size_t)(op == BENCH_DIAGONAL ? 9 : 3) * (size_t)n_node;
}

fe_status bench_workload_open(const bench_box *box, bench_workload *c);
/* One rank's piece: no rank makes the whole box. The caller keeps comm and device, which must outlive the
 * case. */
fe_status bench_workload_open_rank(const bench_box *box, fe_comm *comm, fe_device *device, bench_workload *c);
void bench_workload_close(bench_workload *c);

/* Brings trial state and tangent into the form that the operation starts from. */
fe_status bench_prepare(bench_workload *c, const fe_assembly *a, void *work, bench_operation op);
/* One call as a solver makes it: the output is zeroed unless the strategy stores it; then the operation runs
 * on the whole share, and the interior part runs during the exchange of ghosts. Only enqueues. */
fe_status bench_apply(bench_workload *c, const fe_assembly *a, void *work, bench_operation op);
/* The same from x to y, [n_local][3] each, for residual and jacvec in double and mixed precision. */
fe_status bench_forces(bench_workload *c, const fe_assembly *a, void *work, bench_operation op, double *x,
                       double *y);

#ifdef __cplusplus
}
#endif
#endif
