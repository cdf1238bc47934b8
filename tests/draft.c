/* Scenes of boundary conditions; see draft.h. */
#include "tests/draft.h"
#include "tests/common.h"

#include <math.h>
#include <string.h>

void open_draft(draft *d)
{
    static double factors[2] = {1, 2};
    *d = (draft){.path = {{.name = "load", .factor = factors}, {.name = "hold", .factor = factors}}};
    d->c = (fe_case){.file = "draft.json",
                     .name = "draft",
                     .n_material = 1,
                     .material = &d->material,
                     .n_path = 2,
                     .n_step = 2,
                     .support = d->support,
                     .load = d->load,
                     .path = d->path,
                     .probe = d->probe};
}

void add_support(draft *d, const char *group, const char *x, const char *y, const char *z, int path)
{
    d->support[d->c.n_support++] =
        (fe_support){.group = (char *)group, .expression = {(char *)x, (char *)y, (char *)z}, .path = path};
}

static void add_load(draft *d, int kind, const char *group, const double value[3], int path)
{
    int entry = 0;
    for (int i = 0; i < d->c.n_load; i++) entry += !strcmp(fe_load_list(d->load[i].kind), fe_load_list(kind));
    d->load[d->c.n_load++] = (fe_load){.kind = kind,
                                       .entry = entry,
                                       .group = (char *)group,
                                       .value = {value[0], value[1], value[2]},
                                       .path = path};
}

void add_traction(draft *d, const char *group, double x, double y, double z, int path)
{
    add_load(d, FE_LOAD_TRACTION, group, (const double[]){x, y, z}, path);
}

void add_pressure(draft *d, const char *group, double pressure)
{
    add_load(d, FE_LOAD_PRESSURE, group, (const double[]){pressure, 0, 0}, 0);
}

void add_body_force(draft *d, const char *group, double x, double y, double z)
{
    add_load(d, FE_LOAD_BODY, group, (const double[]){x, y, z}, 0);
}

void add_nodal(draft *d, const char *group, double x, double y, double z)
{
    add_load(d, FE_LOAD_NODAL, group, (const double[]){x, y, z}, 0);
}

fe_mesh tagged_box(int kind, const int *cells, const double *length, double distort)
{
    fe_mesh mesh = make_box(kind, cells, length, distort, 3);
    tag_nodes(&mesh, 100, 2);
    return mesh;
}

void resultant(const fe_mesh *mesh, const double *f, double force[3], double moment[3], double *virial)
{
    memset(force, 0, 3 * sizeof *force);
    memset(moment, 0, 3 * sizeof *moment);
    *virial = 0;
    for (int n = 0; n < mesh->n_node; n++)
        for (int i = 0; i < 3; i++) {
            const double *x = mesh->x + 3 * n, *g = f + 3 * n;
            force[i] += g[i];
            moment[i] += x[(i + 1) % 3] * g[(i + 2) % 3] - x[(i + 2) % 3] * g[(i + 1) % 3];
            *virial += x[i] * g[i];
        }
}

void one_element(int kind, double *x, int *facet, fe_mesh *mesh, fe_group group[2])
{
    static int conn[8] = {0, 1, 2, 3, 4, 5, 6, 7}, elem_group[1], elem[1] = {0};
    static int64_t tag[8] = {11, 12, 13, 14, 15, 16, 17, 18};
    group[0] = (fe_group){.name = (char *)"top", .dim = 2, .number = 1, .n_facet = 1, .facet = facet};
    group[1] = (fe_group){.name = (char *)"all", .dim = 3, .number = 2, .n_facet = 1, .facet = elem};
    *mesh = (fe_mesh){.kind = kind,
                      .n_node = fe_corners(kind),
                      .n_elem = 1,
                      .x = x,
                      .node_tag = tag,
                      .conn = conn,
                      .elem_tag = tag,
                      .elem_group = elem_group,
                      .n_group = 2,
                      .group = group};
}

void warp(fe_mesh *mesh)
{
    for (int n = 0; n < mesh->n_node; n++) {
        double *x = mesh->x + 3 * n;
        const double y[3] = {x[0], x[1], x[2]};
        x[0] = y[0] + 0.1 * sin(2 * y[1] + y[2]);
        x[1] = y[1] + 0.1 * sin(3 * y[2] * y[0]) - 0.05 * y[0] * y[0];
        x[2] = y[2] + 0.1 * cos(y[0] - 2 * y[1]);
    }
    must(fe_mesh_check(mesh));
}
