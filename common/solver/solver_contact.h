/* Contact within the solver: each function does nothing where the problem has none. */
#ifndef FE_SOLVER_CONTACT_H
#define FE_SOLVER_CONTACT_H

#include "common/solver/solver.h"

/* This rank's lists, one for each entry of the problem, all open. */
fe_status fe_solver_contact_open(fe_solver *s);
void fe_solver_contact_close(fe_solver *s);

/* Whether closed nodes stay closed in forces and tangent, also where the obstacle pulls them. */
void fe_solver_contact_bilateral(fe_solver *s, int bilateral);
/* An increment begins: obstacles move to where the load factors `to` put them, pressures are the accepted
 * ones. Contact is unilateral. */
fe_status fe_solver_contact_begin(fe_solver *s, const double *to);
/* f -= forces of the obstacles at a displacement. */
fe_status fe_solver_contact_forces(fe_solver *s, const double *displacement, double *f);
/* The tangent at a displacement, and which nodes are closed there: how many, and how many have changed since
 * the last one, are in s->contact. */
fe_status fe_solver_contact_linearize(fe_solver *s, const double *displacement);
/* y += K v, D += diagonal blocks of K, with that tangent. */
fe_status fe_solver_contact_product(fe_solver *s, const double *v, double *y);
fe_status fe_solver_contact_diagonal(fe_solver *s, double *D);
/* *around: `precondition`, which knows nothing of contact, made to respect it. Returns what to use. */
const fe_operator *fe_solver_contact_around(fe_solver *s, const fe_operator *precondition,
                                            fe_operator *around);
/* 1, or how many times stiffer closed nodes are than the body: a displacement that is off in the direction of
 * contact leaves a residual so many times as large. */
double fe_solver_contact_scale(const fe_solver *s);
/* Force, area, pressure of each entry, and s->contact.list[].out. */
fe_status fe_solver_contact_summarize(fe_solver *s, fe_step_result *record);
/* Multipliers become those of the accepted state; or zero, as before the first load step. */
fe_status fe_solver_contact_accept(fe_solver *s);
fe_status fe_solver_contact_reset(fe_solver *s);

/* The accepted multipliers of all nodes, [fe_contact_count], one entry after the other: from the ranks, and
 * back to them. FE_BAD_INPUT where n is another number. */
fe_status fe_solver_contact_keep(fe_solver *s, double *multiplier);
fe_status fe_solver_contact_restore(fe_solver *s, int n, const double *multiplier);
/* This rank's entries of the mesh's fields [n_node], as they were last summarized; other nodes are left. Of a
 * node in several entries: the least gap, the largest pressure and status. */
fe_status fe_solver_contact_fields(fe_solver *s, double *gap, double *pressure, double *status);

#endif
