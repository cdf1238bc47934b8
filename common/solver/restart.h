/* Taking a run's state between two load steps from the ranks, and giving it back to others (restart.c). */
#ifndef FE_RESTART_H
#define FE_RESTART_H

#include "common/report/checkpoint.h"
#include "common/solver/solver.h"

/* Arrays for a state of a run on a mesh with so many load paths and nodes in "contact"; what was allocated
 * before a failure is closed with it. */
fe_status fe_checkpoint_open(const fe_mesh *mesh, int kind, int n_path, int n_contact, fe_checkpoint *c);
/* Every rank calls it once a load step is accepted. Ranks of one process share the arrays of c; rank 0's are
 * then whole, with the numbers of the head that come from the solver. */
fe_status fe_solver_keep(fe_solver *s, fe_checkpoint *c);
/* The state of this rank's share, before the next load step. */
fe_status fe_solver_restore(fe_solver *s, const fe_checkpoint *c);

#endif
