/* Scenes for tests of boundary conditions: a problem under construction, and meshes to put it on. */
#ifndef DRAFT_H
#define DRAFT_H

#include "common/problem/case.h"

enum { MAX_ENTRY = 8 };

/* A problem under construction in plain memory: nothing to release. */
typedef struct draft {
    fe_case c;
    fe_material material;
    fe_support support[MAX_ENTRY];
    fe_load load[MAX_ENTRY];
    fe_path path[2];
    fe_probe probe[MAX_ENTRY];
} draft;

void open_draft(draft *d); /* paths "load" and "hold" of two steps, nothing else */
/* Expressions may be NULL: that component is free. */
void add_support(draft *d, const char *group, const char *x, const char *y, const char *z, int path);
void add_traction(draft *d, const char *group, double x, double y, double z, int path);
void add_pressure(draft *d, const char *group, double pressure);
void add_body_force(draft *d, const char *group, double x, double y, double z); /* NULL: all elements */
void add_nodal(draft *d, const char *group, double x, double y, double z);

/* A box whose nodes have the tags 100, 102, ... */
fe_mesh tagged_box(int kind, const int *cells, const double *length, double distort);
/* Bends a box so that its sides are neither flat nor made of flat quadrangles. */
void warp(fe_mesh *mesh);
/* One element with group "top" of one face; all nodes are in group "all". Nothing to release. */
void one_element(int kind, double *x, int *facet, fe_mesh *mesh, fe_group group[2]);

/* Force, moment about the origin and Σ x·f of nodal loads. */
void resultant(const fe_mesh *mesh, const double *f, double force[3], double moment[3], double *virial);

#endif
