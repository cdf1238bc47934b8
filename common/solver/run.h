/* One problem from its files to its result: the options of `solve` and the run itself. */
#ifndef FE_RUN_H
#define FE_RUN_H

#include "common/base/fe.h"
#include "common/krylov/krylov.h"
#include "common/mesh/mesh.h"
#include "common/mesh/vtu.h"
#include "common/problem/case.h"
#include "common/problem/share.h"
#include "common/report/checkpoint.h"
#include "common/report/result.h"

enum { FE_JACOBIAN_TANGENT, FE_JACOBIAN_DIFFERENCE, FE_JACOBIAN_ELASTIC };
enum { FE_KRYLOV_AUTO, FE_KRYLOV_GMRES, FE_KRYLOV_CG };
/* Where the iterations of an increment begin: the last increment continued while the load goes on in its
 * direction, else an elastic step; or always that. */
enum { FE_PREDICTOR_EXTRAPOLATED, FE_PREDICTOR_ELASTIC };

enum {
    FE_PRECONDITION_AUTO,
    FE_PRECONDITION_NONE,
    FE_PRECONDITION_BLOCK_JACOBI,
    FE_PRECONDITION_CHEBYSHEV,
    FE_PRECONDITION_MULTIGRID,
    FE_PRECONDITION_DIRECT,
    FE_N_PRECONDITION
};
extern const char *const fe_precondition_names[FE_N_PRECONDITION]; /* "auto", "none", … */
/* Whether it is a multigrid hierarchy, with coarser levels or without. */
static inline int fe_uses_hierarchy(int precondition)
{
    return precondition == FE_PRECONDITION_CHEBYSHEV || precondition == FE_PRECONDITION_MULTIGRID;
}

/* auto: where the backend records; on: the same, refused where it cannot */
enum { FE_GRAPHS_AUTO, FE_GRAPHS_OFF, FE_GRAPHS_ON };

typedef struct fe_options {
    const char *variant, *backend; /* names; backend "host" or "cuda" */
    int ranks, threads;            /* threads of one rank; 0: cores ÷ ranks */
    fe_mpi mpi;                    /* ranks are its processes; size 0: threads of this one */
    int transport;                 /* between GPUs: ranks.h */
    int partition, tet_points;
    fe_order order; /* of nodes and elements in shares: auto (default) as the strategy wants it; the mesh
                       keeps its numbers, which results and partitions use */
    int jacobian, predictor, krylov, restart, orthogonalization, basis, precondition;
    int products;            /* of linear solves: FE_DOUBLE or FE_MIXED */
    double krylov_tolerance; /* 0: Eisenstat-Walker */
    int krylov_iterations;   /* of one linear solve */
    double tolerance;
    int newton_iterations, line_search, anderson, substep, verbose;
    double progress; /* seconds into a load step after which it says where it is, then twice as long, … */
    int graphs;      /* Krylov iterations are recorded and replayed: FE_GRAPHS_... */
    const fe_checkpoint
        *resume; /* go on from there, a state of the same mesh and problem; NULL: undeformed */
} fe_options;

/* The defaults of interface and README. */
fe_options fe_default_options(void);

/* The preconditioner that a run on a mesh with so many nodes begins with: for auto block-jacobi below 1000
 * nodes, else multigrid. */
int fe_precondition_of(const fe_options *o, int n_node);

/* Called on rank 0 before the first step (undeformed or resumed, result NULL) and after every accepted step.
 * `fields` has what is wanted; NULL: nothing is. `keep`, which may be NULL, follows each step with what the
 * run could be resumed from; the program adds what it knows to the head. stress: what the fields have besides
 * the mean of each element, which takes memory and time: the stress at nodes, and that of every point. */
enum { FE_STRESS_MEAN, FE_STRESS_AT_NODES, FE_STRESS_OF_POINTS };
enum { FE_FIELDS_NONE, FE_FIELDS_DISPLACEMENT, FE_FIELDS_ALL };
typedef struct fe_observer {
    void *context;
    int wants_fields; /* FE_FIELDS_... */
    fe_status (*step)(void *context, const fe_step_result *step, const fe_fields *fields);
    fe_status (*keep)(void *context, fe_checkpoint *state);
    int stress;
} fe_observer;

/* What benchmarks ask of a run, and users do not. */
typedef struct fe_benchmark {
    int fixed_work;   /* every linear solve takes krylov_iterations and every load step newton_iterations,
                         whatever comes out, each step whole */
    int repetitions;  /* of all load steps, from the undeformed state each time; the observer hears of each as
                         of the first */
    int recorded;     /* of these so many at the end with recorded iterations, those before without
                         (fe_options.graphs: FE_GRAPHS_OFF) */
    int setups;       /* at the end multigrid is set up again, until it has been so often */
    int only_setup;   /* ends behind the set-up of mesh and strategy, whose times the result has */
    int tells_levels; /* times of multigrid's coarser levels one by one, for which CUDA records an event at
                         each change of level */
    int measure_orthogonality; /* at the end of each cycle of GMRES; for looking, not for timing */
    /* Called on every rank before each further repetition, while nothing is at work on its device, until
     * *may_go is set. It waits for a second at most. NULL: a repetition begins at once. */
    fe_status (*wait)(void *context, int rank, int *may_go);
    void *context;
} fe_benchmark;

/* Runs the problem, or with MPI this process's rank of it; then every process has read the same, and rank 0's
 * result is the run's. Fills result (zeroed by the caller; problem, mesh and boundary stay the caller's and
 * must outlive it) with every accepted step and its status, also when it fails. FE_OK only when every load
 * step converged. */
fe_status fe_run_case(const fe_case *c, const fe_mesh *mesh, const fe_boundary *b, const fe_options *o,
                      const fe_observer *observer, fe_result *result);
/* The same as a benchmark. */
fe_status fe_run_benchmark(const fe_case *c, const fe_mesh *mesh, const fe_boundary *b, const fe_options *o,
                           const fe_benchmark *benchmark, const fe_observer *observer, fe_result *result);
#endif
