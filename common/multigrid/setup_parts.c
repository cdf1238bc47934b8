#include "common/multigrid/setup_steps.h"

fe_multigrid_part fe_multigrid_tell_part;

void fe_setup_part(fe_setup *k, const char *name)
{
    if (!fe_multigrid_tell_part || k->d->ops->wait(k->d) != FE_OK) return;
    const double now = fe_seconds();
    if (name) fe_multigrid_tell_part(k->m->comm->rank, k->level, name, now - k->part_began);
    k->part_began = fe_seconds();
}
