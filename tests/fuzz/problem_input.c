/* Any bytes as a problem file, on a box of eight cells. */
#include "common/problem/case.h"
#include "tests/fuzz/target.h"

#include <math.h>

static void check_boundary(const fe_case *c, const fe_mesh *mesh, const fe_boundary *b)
{
    CHECK(b->n_fixed > 0 && b->n_fixed <= 3 * mesh->n_node && b->n_path == c->n_path);
    for (int k = 0; k < b->n_fixed; k++) {
        CHECK(b->fixed[k] >= 0 && b->fixed[k] < 3 * mesh->n_node &&
              (k == 0 || b->fixed[k - 1] < b->fixed[k]));
        CHECK(isfinite(b->value[k]) && b->path[k] >= 0 && b->path[k] < c->n_path);
    }
    for (int r = 0; r < b->n_reaction; r++) CHECK(b->reaction[r].n > 0 && b->reaction[r].component < 3);
    for (int p = 0; p < b->n_probe; p++)
        CHECK(b->probe[p] >= 0 && b->probe[p] < mesh->n_node && b->probe_distance[p] >= 0);
}

static void check_case(const fe_case *c)
{
    CHECK(c->name && c->n_path > 0 && c->n_step > 0);
    CHECK(c->n_material > 0);
    for (int i = 0; i < c->n_material; i++) {
        const fe_material *m = &c->material[i];
        CHECK(m->E > 0 && m->nu > -1 && m->nu < 0.5 && m->sigma_y > 0 && m->H >= 0 && m->delta >= 0);
        CHECK(c->elastic || m->delta == 0 || m->sigma_inf >= m->sigma_y);
        CHECK(!c->volume || c->volume[i]);
    }
    for (int p = 0; p < c->n_path; p++)
        for (int s = 0; s < c->n_step; s++) CHECK(isfinite(c->path[p].factor[s]));
}

void fuzz_problem(const uint8_t *bytes, size_t n)
{
    static fe_mesh mesh;
    char path[256];
    fe_case c;
    fe_boundary b;
    const fe_box box = {.kind = FE_HEX8, .cells = {2, 2, 2}, .length = {1, 1, 1}};
    if (!mesh.x) CHECK(fe_mesh_box(&box, &mesh) == FE_OK);
    fuzz_path("problem.json", path);
    fuzz_write(path, n, bytes);
    fuzz_memory_begin();
    fe_status status = fe_case_read(path, &c);
    if (status == FE_OK) {
        check_case(&c);
        status = fe_boundary_apply(&c, &mesh, &b);
        if (status == FE_OK) check_boundary(&c, &mesh, &b);
        fe_boundary_close(&b);
        fe_case_close(&c);
    }
    fuzz_memory_end(n);
    CHECK(status == FE_OK || status == FE_BAD_INPUT);
    if (status != FE_OK) fuzz_check_message();
}
