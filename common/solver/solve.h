/* One problem from its files to its result: the options of `solve` and the run itself. */
#ifndef FE_SOLVE_H
#define FE_SOLVE_H

#include "common/base/fe.h"
#include "common/mesh/mesh.h"
#include "common/mesh/vtu.h"
#include "common/problem/case.h"
#include "common/problem/share.h"
#include "common/report/result.h"
#include "common/solver/krylov.h"

enum { FE_JACOBIAN_TANGENT, FE_JACOBIAN_DIFFERENCE, FE_JACOBIAN_ELASTIC };
enum { FE_KRYLOV_AUTO, FE_KRYLOV_GMRES, FE_KRYLOV_CG };

enum {
    FE_PRECONDITION_AUTO,
    FE_PRECONDITION_NONE,
    FE_PRECONDITION_BLOCK_JACOBI,
    FE_PRECONDITION_CHEBYSHEV,
    FE_PRECONDITION_MULTIGRID,
    FE_N_PRECONDITION
};
extern const char *const fe_precondition_names[FE_N_PRECONDITION]; /* "auto", "none", … */

typedef struct fe_options {
    const char *variant, *backend; /* names; backend "host" or "cuda" */
    int ranks, threads;            /* threads of one rank; 0: cores ÷ ranks */
    fe_mpi mpi;                    /* ranks are its processes; size 0: threads of this one */
    int transport;                 /* between GPUs: launch.h */
    int partition, tet_points;
    int jacobian, krylov, restart, orthogonalization, precondition;
    double krylov_tolerance; /* 0: Eisenstat-Walker */
    int krylov_iterations;   /* of one linear solve */
    double tolerance;
    int newton_iterations, line_search, anderson, substep, verbose;
    int graphs; /* Krylov iterations are recorded and replayed */
} fe_options;

/* The defaults of interface and README. */
fe_options fe_default_options(void);

/* The preconditioner with which a run on a mesh of so many nodes begins, and its name. auto: multigrid on the
 * host from 1000 nodes on; otherwise block-jacobi, which a device replaces by multigrid after 4000
 * iterations. */
int fe_precondition_of(const fe_options *o, int n_node);
const char *fe_precondition_name(const fe_options *o, int n_node);

/* Called on rank 0 after step 0 (undeformed, result NULL) and every accepted step. `fields` is NULL
 * unless wanted. */
typedef struct fe_observer {
    void *context;
    int wants_fields;
    fe_status (*step)(void *context, const fe_step_result *step, const fe_fields *fields);
} fe_observer;

/* Runs the problem, or with MPI this process's rank of it; then every process has read the same, and rank 0's
 * result is the run's. Fills result (zeroed by the caller; problem, mesh and boundary stay the caller's and
 * must outlive it) with every accepted step and its status, also when it fails. FE_OK only when every load
 * step converged. */
fe_status fe_solve(const fe_case *c, const fe_mesh *mesh, const fe_boundary *b, const fe_options *o,
                   const fe_observer *observer, fe_result *result);
#endif
