/* One rank's solver: the resident problem, its supports and loads, and the vectors of Newton's method. */
#ifndef FE_SOLVER_H
#define FE_SOLVER_H

#include "common/contact/contact.h"
#include "common/multigrid/multigrid.h"
#include "common/solver/direct.h"
#include "common/solver/run.h"
#include "common/variant.h"

/* Constrained components of one load path, resident: at = 3 local node + component. */
typedef struct fe_fixed {
    int n;
    int *at;
    double *value;
} fe_fixed;

/* Contact (solver_contact.h); n 0: there is none. */
typedef struct fe_contact {
    int n;
    fe_contact_list *list; /* [n] by entry of the problem */
    const fe_contact_operations *ops;
    double *ones;             /* [most nodes of a list] */
    double *projected;        /* [length] what a preconditioner sees of a residual, */
    const fe_operator *inner; /* and that preconditioner */
    int closed, changed;      /* nodes of all ranks, at the last linearization */
} fe_contact;

typedef struct fe_anderson {
    int depth, filled, next;
    double *steps, *displacements; /* [depth][length] differences of steps and of displacements */
    double *last_step, *last_displacement, *small;
} fe_anderson;

/* The rank's supports, resident. */
typedef struct fe_supports {
    int n; /* owned constrained components, ascending */
    int *at;
    uint8_t *held;     /* [n of the vectors] 1 at these */
    fe_fixed *by_path; /* [n_path] */
    uint8_t *moving;   /* [n_path] supports whose displacement is not zero at any factor */
} fe_supports;

/* The end of the last accepted increment. */
typedef struct fe_accepted {
    double *displacement, *increment; /* and what the increment added to it */
    double *factor, *change; /* [n_path] load factors, host memory, and the same; zero before the first */
} fe_accepted;

/* What residuals are held against, and what is known of the body's stiffness. */
typedef struct fe_force_scales {
    double load;         /* |f_ext| of the load factors in force, */
    double largest_load; /* and the largest so far */
    double accepted;     /* the largest external force, reaction or first residual of accepted increments, */
    double scale;        /* and the same with the current iterate */
    double compliance;   /* largest |elastic displacement| / |load| of an increment so far */
} fe_force_scales;

/* Of a finite difference: displacement + eps × direction, and |displacement|, which decides eps. */
typedef struct fe_difference {
    double *perturbed, displacement_norm;
} fe_difference;

/* What a step's summary and an observer's fields are gathered in. */
typedef struct fe_output {
    uint8_t *counted; /* [n_elem] resident */
    double *partial;  /* scratch of the summary */
    double *fields;   /* [FE_N_OUT][ld], only where output is wanted; */
    double *points;   /* [FE_N_OUT_POINT][point][ld], and */
    double *nodal;    /* [n_owned][6], where stresses of points or nodes are */
} fe_output;

typedef struct fe_preconditioner {
    int kind;               /* FE_PRECONDITION_…, none of them auto */
    double *blocks;         /* [n_local][3][3] block-Jacobi: the tangent's diagonal blocks, */
    float *inverse;         /* [n_owned][6] and their inverses */
    fe_multigrid multigrid; /* where that is in use */
    int exact;              /* its cycle is in double precision */
    fe_direct *direct;      /* of the process, for its ranks together */
    double *landing;        /* [n] in host memory, where that is in use */
    int direct_refused;     /* it does not fit, or is not in this build */
} fe_preconditioner;

/* Products of linear solves in mixed precision (refinement.c); assembly NULL: they are in double precision.
 */
typedef struct fe_mixed_products {
    const fe_assembly *assembly;
    void *work;
    double *residual, *correction; /* [n_all] */
} fe_mixed_products;

/* Where the solver is, and when it says so next. */
typedef struct fe_progress {
    int load_step, iteration; /* of Newton's method, from 1 */
    double last, interval;    /* when the last line was due, and seconds to the next one */
} fe_progress;

/* The displacement gradient that was warned of last, and the error of an increment. */
typedef struct fe_warned {
    double gradient, error;
} fe_warned;

typedef struct fe_solver {
    const fe_options *options;
    fe_benchmark benchmark;
    const fe_case *problem_file;
    const fe_boundary *boundary;
    const fe_share *share;
    const fe_assembly *assembly;
    fe_device *device;
    fe_comm *comm;
    fe_problem problem;
    void *work;
    size_t n, n_all;               /* entries of a vector: owned, and with ghosts */
    int mesh_nodes, mesh_elements; /* of all ranks */

    fe_supports supports;
    double **load;       /* [n_path] resident nodal loads, NULL where none */
    fe_groups reactions; /* [n_reaction + 3] owned components of each; then of all supports in x, y, z */
    fe_groups probes;    /* [3 n_probe] */
    fe_contact contact;

    fe_accepted accepted;
    double *displacement; /* Newton's iterate */
    double *external, *internal, *residual, *step, *trial, *scratch;
    double *scalar; /* [64, or as many as a step's summary has] */
    int jacobian;   /* of the next linear solve */
    fe_difference difference;
    fe_mixed_products mixed;
    fe_krylov krylov;
    int records; /* its iterations, where the backend can */
    fe_anderson anderson;
    fe_preconditioner preconditioner;
    fe_force_scales forces;
    double plastic_work; /* of accepted increments */

    fe_output output;
    fe_progress progress;
    fe_warned warned;
    fe_moved moved; /* bytes, on this rank */
    double setup_seconds[FE_N_SETUP];
} fe_solver;

/* Resident vectors of the solution and what its steps need (run.c). */
fe_status fe_solver_open_vectors(fe_solver *s);
/* Resident lists of supports, loads, reactions and probes (boundary_share.c). */
fe_status fe_solver_boundary(fe_solver *s);

/* Numbers of a step's summary. */
size_t fe_solver_numbers(const fe_solver *s);

/* FE_INTERRUPTED, with the load step, once a signal has come. */
fe_status fe_solver_interrupted(const fe_solver *s);

/* r = f_ext - f_int(displacement) over free components; internal holds f_int. */
fe_status fe_solver_residual(fe_solver *s, double *displacement, double *r);
/* forces = f_int - f_ext of the accepted state at constrained components, 0 elsewhere; in trial and step it
 * leaves numbers of its own. */
fe_status fe_solver_support_forces(fe_solver *s, double *forces);
/* y = K(trial) direction with constrained rows zero: fe_operator's apply with a fe_solver context. */
fe_status fe_solver_apply(void *context, double *direction, double *y);
/* Chooses the preconditioner, and sets it up where that is done once. */
fe_status fe_solver_open_preconditioner(fe_solver *s);
/* After a linear solve has failed: multigrid takes over, and after that a sparse direct solver. *better: what
 * is in use from now on, for a message; NULL: nothing is left. */
fe_status fe_solver_better_preconditioner(fe_solver *s, const char **better);
/* Records iterations anew, where they are recorded: a direct solver waits for the host. */
fe_status fe_solver_record(fe_solver *s);
/* Conjugate gradients take over from GMRES for the rest of the run. */
fe_status fe_solver_take_cg(fe_solver *s);
/* Sets up the products of linear solves where they are not those in double precision. */
fe_status fe_solver_open_products(fe_solver *s);
/* Solves K(trial) step = b with the chosen Krylov method and preconditioner, in `most` iterations, with the
 * products that linear solves have; and to a residual in double precision whatever these are. */
fe_status fe_solver_krylov(fe_solver *s, double *b, double *step, double tolerance, int most,
                           fe_krylov_result *result);
fe_status fe_solver_linear(fe_solver *s, double *b, double *step, double tolerance, fe_krylov_result *result);

/* sum over ranks of x·y, to the host */
fe_status fe_solver_dot(fe_solver *s, const double *x, const double *y, double *out);

/* Why Newton's method gave an increment up; none: it did not, or something else failed. */
typedef enum {
    FE_ENDING_NONE,
    FE_ENDING_LIMIT_LOAD,   /* the load cannot be carried */
    FE_ENDING_OUT_OF_REACH, /* the tolerance asks for more digits than there are */
    FE_ENDING_NOT_CONVERGED
} fe_ending;
/* One backward-Euler increment from s->accepted.displacement to load factors `to` [n_path]. On FE_OK
 * displacement and trial state are the converged state, not yet accepted. */
fe_status fe_newton_step(fe_solver *s, const double *to, fe_step_result *record, fe_ending *ending);
/* The same for a load step of the problem, whose record is filled; with options->substep in pieces where the
 * whole fails, of which all but the last are accepted. */
fe_status fe_solver_load_step(fe_solver *s, const double *to, fe_step_result *record, fe_ending *ending);
/* Accepts the displacement and the trial state at load factors `to`. */
fe_status fe_solver_accept(fe_solver *s, const double *to);

fe_status fe_anderson_open(fe_solver *s, int depth);
void fe_anderson_reset(fe_solver *s);
/* Mixes the step of the fixed-point map displacement → displacement + step with the last ones; step becomes
 * the mixed step. */
fe_status fe_anderson_mix(fe_solver *s, double *step);

#endif
