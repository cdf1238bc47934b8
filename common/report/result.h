/* What a run reports: one record per load step, the machine and the flags; written as JSON. */
#ifndef FE_RESULT_H
#define FE_RESULT_H

#include "common/backend/device.h"
#include "common/base/fe.h"
#include "common/base/growing.h"
#include "common/base/hash.h"
#include "common/mesh/mesh.h"
#include "common/problem/case.h"
#include "common/problem/share.h"
#include "common/report/checkpoint.h"

/* Parts of set-up, rank 0's: the problem on its device, the strategy's own, the preconditioner where it is
 * made before the first step. */
enum { FE_SETUP_PROBLEM, FE_SETUP_STRATEGY, FE_SETUP_PRECONDITIONER, FE_N_SETUP };
extern const char *const fe_setup_names[FE_N_SETUP];
/* Phases of fe_step_result.seconds: common/backend/device.h. */
extern const char *const fe_phase_names[FE_N_PHASE];

/* One linear solve and the step that was taken along its solution. */
typedef struct fe_newton_record {
    double length;          /* of the step, 1: whole */
    double increment;       /* |change of displacement| */
    double krylov_residual; /* of the linear solve, relative */
    double orthogonality;   /* its largest loss of orthogonality (krylov.h), NaN: not measured */
    int krylov_iterations;
    int closed, changed; /* nodes in contact, and those that are so since the solve before or no longer */
} fe_newton_record;

/* Contact of one entry of the problem. */
typedef struct fe_contact_result {
    double force[3];                        /* of the obstacle on the body */
    double area, max_pressure, max_overlap; /* of nodes in contact */
    int64_t closed;                         /* how many these are */
} fe_contact_result;

/* Small strains are those of small displacement gradients: Green's strain differs by |grad u|² / 2, which is
 * 5 % of a strain of 0.1. Beyond it a step is said to have left their range. */
static const double fe_largest_gradient = 0.1;

/* An increment whose estimated error is a larger share of the plastic strain that it adds is said. */
static const double fe_largest_increment_error = 0.05;

typedef struct fe_step_result {
    int step;                 /* 1-based */
    double *factor;           /* [n_path] */
    double (*probe)[3];       /* [n_probe] displacement */
    double *reaction;         /* [n_reaction] sums of support forces, in fe_boundary's order */
    double total_reaction[3]; /* of all supports, each component once: groups may share nodes */
    double max_peeq, max_mises, elastic_energy, plastic_work, int_peeq, max_abs_u, norm_u;
    double max_gradient; /* largest |grad u| of a point */
    double flow,
        flow_error; /* integrals: equivalent plastic strain that the step added, and its estimated error */
    int64_t plastic_gp;
    int newton_iterations; /* linear solves of the step */
    int64_t krylov_iterations;
    fe_contact_result *contact; /* [n_contact] */
    int augmentations;          /* updates of its multipliers that asked for more iterations */
    int n_residual;
    double *residual; /* [n_residual] relative to the acceptance scale: where each increment begins, and
                         after each linear solve */
    fe_newton_record *taken;    /* [newton_iterations] */
    int substeps;               /* 1: the listed increment in one piece */
    double carried;             /* share of the step's increment that was accepted, */
    double carriable;           /* and no larger share can be; NaN: not known */
    int extrapolated;           /* increments that began from the last one's continuation */
    double seconds[FE_N_PHASE]; /* of rank 0 */
    double wall;                /* as the host's clock has it; without output, like seconds */
} fe_step_result;

/* What moves in all load steps, once. Bytes: on the rank that has the most of them. */
typedef struct fe_moved {
    double setup; /* bytes that the host sends to the device before the first load step; 0: not known */
    double back,
        halo; /* bytes from the device to the host, without output; and to other ranks in exchanges */
    int64_t exchanges, sums;       /* of vectors' ghosts, and over ranks; 0 on one rank */
    int64_t evaluations[FE_N_OWN]; /* material updates, residuals and products of the strategy; replayed ones
                                      do not count */
} fe_moved;

typedef struct fe_result {
    const fe_case *problem;
    const fe_mesh *mesh;
    const fe_boundary *boundary;
    const char *mesh_name, *element,
        *status; /* status: running | converged | limit_load | not_converged | interrupted | fault */
    const char *variant, *backend, *partition, *order, *communication, *precondition,
        *products;               /* communication: fe_comm's name; products: the precision of linear solves */
    const char *command, *flags; /* as typed: the whole line, and its flags alone */
    char device[128];
    int ranks, threads;
    fe_partition_quality quality;
    double volume;
    /* of rank 0; in the solve only scalars come back */
    double setup_seconds[FE_N_SETUP];
    int n_hierarchy;           /* times that multigrid's levels were set up, where a benchmark asks: */
    double *hierarchy_seconds; /* [n_hierarchy]; only the first loads the kernels for it */
    int64_t bytes_to_device, bytes_from_device_setup, bytes_from_device_solve, bytes_from_device_output;
    fe_moved moved;
    size_t bytes_resident;      /* of all ranks */
    char inputs[FE_INPUT_HASH]; /* hash of problem and mesh; empty: not known */
    int n_before;               /* load steps of the runs that this one goes on from */
    int n_step;
    fe_step_result *step;   /* [n_step] accepted steps behind them, */
    fe_step_result *failed; /* and the one behind them that was given up, NULL where none was */
} fe_result;

/* Estimated error of a step's plastic strain, as a share of what the step added to it. */
double fe_increment_error(const fe_step_result *step);

/* Appends a zeroed step with its arrays allocated (factor, probe, reaction); NULL when there is not enough
 * memory. */
fe_step_result *fe_result_add_step(fe_result *r);
/* The resultant of all loads at a step's factors. */
void fe_result_applied(const fe_result *r, const fe_step_result *s, double force[3]);
/* Drops the last step: one that was not accepted. */
void fe_result_drop_step(fe_result *r);
/* The same, but keeps its factors and Newton's history as `failed`. */
void fe_result_fail_step(fe_result *r);
void fe_result_close(fe_result *r);

/* A result's file. Each write makes it complete JSON with all steps so far, under its name at once and
 * flushed to the disk before, and costs as much as the steps that are new. Steps that were written stay. */
typedef struct fe_result_file {
    fe_growing file;
    int has_head, n_step; /* what the file holds; n_step: of this run */
    fe_hash hash;         /* of head and steps */
} fe_result_file;
fe_status fe_result_open(fe_result_file *f, const char *path);
/* After it was opened: takes over the steps of the file that is there, as many as the state knows of.
 * FE_BAD_INPUT where the file is not the one that the state belongs to. */
fe_status fe_result_resume(fe_result_file *f, const fe_checkpoint *state);
/* Whether a file is the result, `converged`, of this problem and mesh, whose hash is given. */
fe_status fe_result_is_done(const char *path, const char *inputs, int *done);
fe_status fe_result_write(fe_result_file *f, const fe_result *r);
/* Accepts a zeroed object. */
void fe_result_file_close(fe_result_file *f);

#endif
