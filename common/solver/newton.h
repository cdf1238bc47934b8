/* Newton's method for one increment, for its own files. */
#ifndef FE_NEWTON_H
#define FE_NEWTON_H

#include "common/solver/solver.h"

/* An increment under way. */
typedef struct fe_newton {
    double norm, previous_norm; /* of the residual now and one iteration ago, */
    double initial_norm;        /* and where supports have just moved, before anything else has */
    double least_norm;          /* the last residual that was progress, */
    int stagnant;               /* and iterations since */
    double forcing;
    double trial_norm, trial_slope;  /* where a step length was tried: |residual|, and residual · direction,
                                        the  slope of minus the incremental energy; */
    double initial_slope, step_norm; /* that slope where the direction begins, and |direction| */
    int limit_possible;              /* a limit load is */
    int limit_proofs;                /* of one, so far, */
    double carriable; /* and no more than this share of the increment can be carried; NaN: not known */
    int hardened;     /* the tangent has a little hardening */
    fe_krylov_result linear;
    fe_ending ending; /* set by the messages below */
} fe_newton;

/* Scalar products that come to the host in one read: the first n_enqueued are under way. */
typedef struct fe_products {
    int n, n_enqueued;
    fe_scalar_product product[FE_MOST_PRODUCTS];
    double *to[FE_MOST_PRODUCTS];
} fe_products;
/* x · y of n owned entries is to be made. */
void fe_products_add(fe_products *p, size_t n, const double *x, const double *y, double *to);
/* Enqueues what was added, before a vector changes. */
fe_status fe_products_enqueue(fe_solver *s, fe_products *p);
/* The same, sums over the ranks, and brings the products to the host. */
fe_status fe_products_read(fe_solver *s, fe_products *p);

/* Trial state and tangent at a displacement, whose ghosts are refreshed. */
fe_status fe_newton_linearize(fe_solver *s, fe_linearization mode, double *displacement);
/* Residual, f_int and |residual| (`trial_norm`) at a displacement, and the scale that it is held against: the
 * forces of accepted steps and those here. An iterate's own reactions do not outlive it, for with supports
 * just moved they are far too large. */
fe_status fe_newton_evaluate(fe_solver *s, fe_newton *state, double *displacement);
/* The same at displacement + length × step, which becomes the trial, with the slope there; and
 * `initial_slope` and `step_norm` where the residual is still that in which the step begins. */
fe_status fe_newton_try(fe_solver *s, fe_newton *state, double length, int first);
int fe_newton_accepted(const fe_solver *s, double norm);
/* The displacement, the residual and its norm become those of the length of the step that is taken
 * (line_search.c). */
fe_status fe_newton_search_line(fe_solver *s, fe_newton *state, double *length);

/* Newton's method makes do with a linear residual of this share, and asks for none that is larger. */
extern const double fe_newton_most_forcing;

/* Why a linear solve's solution, or its direction, cannot be taken; NULL where it can. */
const char *fe_newton_refuses_solve(const fe_solver *s, const fe_krylov_result *linear);
const char *fe_newton_refuses_direction(const fe_solver *s, const fe_newton *state);

/* Load factors `to` [n_path] come into force, and displacement becomes where the iterations begin: the last
 * increment's continuation while the load goes on in its direction, else accepted + an elastic step. */
fe_status fe_newton_predict(fe_solver *s, const double *to, fe_step_result *record, fe_newton *state);

/* After a step that was taken: *limit, where no displacement is in balance at the load factors `to`, and it
 * is known well enough how much can be carried (limit_load.c). */
fe_status fe_newton_cannot_carry(fe_solver *s, const double *to, fe_newton *state, int *limit);

/* *rounding: the residual is what rounding leaves of a balance, so the displacement is accepted
 * (rounding.c). */
fe_status fe_newton_is_rounding(fe_solver *s, fe_step_result *record, const fe_newton *state, int iterations,
                                int *rounding);

/* The histories of a step, and messages (newton_report.c). */
fe_status fe_newton_record_residual(fe_solver *s, fe_step_result *record, double norm);
/* displacement += taken × the direction */
fe_status fe_newton_record_taken(fe_step_result *record, const fe_newton *state, double taken);
fe_status fe_newton_not_finite(const fe_solver *s, const fe_step_result *record, fe_newton *state);
fe_status fe_newton_no_direction(const fe_solver *s, const fe_step_result *record, fe_newton *state,
                                 const char *why);
fe_status fe_newton_ended(const fe_solver *s, const fe_step_result *record, fe_newton *state,
                          fe_ending ending);
void fe_newton_say_reduced(const fe_solver *s, const fe_step_result *record, const fe_krylov_result *linear);
void fe_newton_say_again(const fe_solver *s, const fe_step_result *record, const fe_krylov_result *linear,
                         const char *why, const char *with);

/* A stress without hardening has lost 8 of its 16 digits at so many times the elastic displacement of the
 * largest load, for it is a share as small of the trial stress. */
static const double fe_newton_far = 1e8;

/* Below this share of the largest force a residual that stands still does so for lack of digits. */
static const double fe_newton_digits = 1e-6;

/* With contact (newton_contact.c). */
/* Forces balance: the augmented Lagrangian takes the pressures as its new multipliers. *again: forces then do
 * not balance any more, so nodes were not where the obstacle has them. */
fe_status fe_newton_augment_contact(fe_solver *s, fe_step_result *record, fe_newton *state, int *again);
/* After an iteration: the same before forces balance, where the nodes that are closed have not
 * changed in the last step. It saves iterations: the multipliers follow the displacement. */
fe_status fe_newton_follow_contact(fe_solver *s, fe_newton *state);
/* The step that was taken last, of its history. */
void fe_newton_record_contact(const fe_solver *s, fe_step_result *record);

#endif
