/* Reads the state of a part; see part.h. */
#include "bench/part.h"
#include "common/physics/view.h"
#include "common/report/checkpoint.h"

#include <stdlib.h>

/* Whose order and integration points does not matter: arrays are in the mesh's numbers, and what is timed on
 * them has to have as many points. */
static fe_status check_state(const bench_part *p, const char *path, const fe_case *problem,
                             const fe_mesh *mesh)
{
    const fe_checkpoint_head *h = &p->state->head;
    const fe_identity to = fe_identity_of(problem->hash, fe_mesh_hash(mesh), (int)h->identity.order,
                                          (int)h->identity.tet_points);
    FE_TRY(fe_checkpoint_belongs(p->state, path, &to, problem, mesh));
    if (h->n_step == 0) return fe_fail(FE_BAD_INPUT, "%s: is from before the first load step", path);
    size_t moved = 0;
    for (size_t i = 0; i < 3 * (size_t)h->n_node; i++) moved += p->state->increment[i] != 0.0;
    if (moved) return FE_OK;
    return fe_fail(FE_BAD_INPUT,
                   "%s: load step %d moved nothing, so that points are at yield, between two tangents", path,
                   (int)h->n_step);
}

static fe_status check_material(const fe_case *problem)
{
    if (problem->n_material > 1)
        return fe_fail(FE_BAD_INPUT, "%s: has %d materials; --fe_state takes a problem of one", problem->file,
                       problem->n_material);
    if (problem->material[0].delta > 0.0)
        return fe_fail(FE_BAD_INPUT, "%s: has Voce's law; --fe_state takes linear hardening", problem->file);
    return FE_OK;
}

static fe_status take_arrays(bench_part *p)
{
    const fe_checkpoint *c = p->state;
    int n_yielded = 0;
    FE_ALLOCATE(p->place, c->head.n_elem, "state of the part");
    for (int64_t e = 0; e < c->head.n_elem; e++) p->place[e] = c->flags[e] & FE_YIELDED ? n_yielded++ : -1;
    p->n_point = (int)c->head.n_point;
    p->displacement = c->displacement, p->increment = c->increment, p->point = c->point;
    return FE_OK;
}

fe_status bench_part_open(const char *problem, const char *state, const fe_mesh *mesh, bench_part *p)
{
    fe_case c = {0};
    *p = (bench_part){0};
    FE_ALLOCATE(p->state, 1, "state of the part");
    FE_TRY(fe_case_read(problem, &c));
    fe_status status = fe_checkpoint_read(state, p->state);
    if (status == FE_OK) status = check_state(p, state, &c, mesh);
    if (status == FE_OK) status = check_material(&c);
    if (status == FE_OK) p->material = c.material[0];
    fe_case_close(&c);
    return status == FE_OK ? take_arrays(p) : status;
}

void bench_part_close(bench_part *p)
{
    if (p->state) fe_checkpoint_close(p->state);
    free(p->state), free(p->place);
    *p = (bench_part){0};
}
