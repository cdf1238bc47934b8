/* A benchmark case: a distorted box with a chosen share of plastic elements, or one rank's piece of it,
 * resident on a device, and what every strategy's results are checked against.
 *
 * The box is [0, 1]³ of steel (MPa). Clustered: a displacement that shears the slab z < plastic takes that
 * slab to twice the yield strain (committed) and then to four times (trial); elsewhere, and on top, nodes
 * move at random by a tenth of the yield strain. Scattered: nodes only move at random, and each element is
 * chosen with probability `plastic` to hold a committed plastic strain of three times the yield strain, as if
 * it had been left behind by such a shear: the stress of that takes it, and no neighbour, beyond yield.
 * Either way the plastic elements have a committed state and a softened tangent, the others neither. The
 * direction vectors of jacvec are random. */
#ifndef BENCH_CASE_BOX_H
#define BENCH_CASE_BOX_H

#include "common/mesh/mesh.h"
#include "common/problem/share.h"
#include "common/variant.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum bench_operation {
    BENCH_RESIDUAL,
    BENCH_MATERIAL,       /* consistent */
    BENCH_JACVEC_ELASTIC, /* after material in elastic mode: no tangent is read */
    BENCH_JACVEC,
    BENCH_DIAGONAL,
    BENCH_N_OPERATION
} bench_operation;
extern const char *const bench_operation_names[BENCH_N_OPERATION];

typedef struct bench_box {
    int kind, n_dof; /* n_dof: about so many; the nearest cube of cells is taken */
    fe_order order;
    double plastic; /* share of elements */
    int scatter;    /* 0: clustered */
    const fe_backend *backend;
    int threads;
    int grid[3]; /* ranks along the axes; 0: one */
    int weak;    /* n_dof is of each rank, whose cube is set beside the others; else of the whole */
} bench_box;

/* A result whose error is above this is recorded with its error and without a time. Tangents in single
 * precision are exact to 6e-8. */
#define BENCH_TOLERANCE (FE_STORAGE == FE_STORAGE_FLOATS ? 1e-6 : 1e-12)
/* A strategy whose output has the same bits in so many runs more counts as deterministic. */
#define BENCH_RUNS 20

struct bench_oracle;
typedef struct bench_case {
    bench_box box;
    int cells; /* an axis of the cube [0, 1]³ */
    fe_device *device;
    int owns_device;
    fe_comm *comm; /* NULL without ranks: nothing is exchanged */
    fe_share share;
    fe_problem problem;
    double *u, *v,
        *out;     /* device; out [n_local][9]: residual, jacvec [n_local][3] or diagonal [n_local][9] */
    size_t bytes; /* resident: mesh, state and tangent, without vectors */
    int n_yielded, n_softened; /* elements: committed, and at u */
    struct bench_oracle *oracle;
} bench_case;

/* Not a strategy: what one would reach if sums cost nothing. It has no result to check, and neither diagonal
 * nor a material update of its own. bound.h */
extern const fe_variant bench_bound;

/* Cells an axis of the box with about n_dof degrees of freedom, and how many that makes. */
int bench_box_cells(int n_dof);
int64_t bench_box_dofs(int cells);

/* Cells and degrees of freedom of the whole box, of all ranks. */
void bench_box_shape(const bench_box *box, int cells[3], int64_t *n_dof);

fe_status bench_case_open(const bench_box *box, bench_case *c);
/* One rank's piece: no rank makes the whole box. comm and device stay the caller's and outlive the case. */
fe_status bench_case_open_rank(const bench_box *box, fe_comm *comm, fe_device *device, bench_case *c);
void bench_case_close(bench_case *c);

/* Brings trial state and tangent into the form that the operation starts from. */
fe_status bench_prepare(bench_case *c, const fe_assembly *a, void *work, bench_operation op);
/* One call as a solver makes it: output zeroed unless the strategy stores it, then the operation on the whole
 * share, whose interior runs while ghosts travel. Enqueues only. */
fe_status bench_apply(bench_case *c, const fe_assembly *a, void *work, bench_operation op);
/* The same from x to y, [n_local][3] each, for residual and jacvec. */
fe_status bench_forces(bench_case *c, const fe_assembly *a, void *work, bench_operation op, double *x,
                       double *y);

/* Runs the operation on cleared state and output, and measures its error: the largest of
 * |difference from the oracle| / (sum over elements of |element contribution|), over rows (or points) of a
 * random sample of nodes, and |difference from the first strategy that was checked| / (the largest such sum),
 * over all rows. material: |difference| / largest plastic strain over the points of sampled elements, and
 * infinity where a flag is wrong. */
fe_status bench_verify(bench_case *c, const fe_assembly *a, void *work, bench_operation op, double *error);

/* After bench_verify: runs the operation again from the same input. *other is the first of the runs whose
 * output (of material: state, flags and tangent) has other bits than the run that was checked, 0 where none
 * has. Bits are compared by a hash of 64 bits, on the device. */
fe_status bench_repeat(bench_case *c, const fe_assembly *a, void *work, bench_operation op, int runs,
                       int *other);

#ifdef __cplusplus
}
#endif
#endif
