/* ParaView output: one .vtu per load step (base64, zlib-compressed, Float64) and a .pvd that lists them. */
#ifndef FE_VTU_H
#define FE_VTU_H

#include "common/base/growing.h"
#include "common/mesh/mesh.h"

/* Fields of one step, by the mesh's node and element order. Tensors are in VTK's order xx yy zz xy yz xz
 * with tensor shears. */
typedef struct fe_fields {
    double time;                  /* step number; strictly increasing over the calls */
    const double *displacement;   /* [n_node][3] */
    const double *reaction_force; /* [n_node][3] forces of supports on the body, 0 elsewhere */
    const double *nodal_stress;   /* [n_node][6] mean of the points around a node (fe_node_stress_host) */
    const double *contact[3]; /* [n_node] gap to the obstacle, pressure, and 0: no node of contact, 1: open,
                                 2: closed. NULL: there is no contact */
    const double *stress;     /* [n_elem][6] mean over the element's points */
    const double *plastic_strain;  /* [n_elem][6] the same */
    const double *strain;          /* [n_elem][6] the same of the total strain */
    const double *von_mises;       /* [n_elem] of the mean stress */
    const double *von_mises_max;   /* [n_elem] largest of a point */
    const double *peeq;            /* [n_elem] mean */
    const double *peeq_max;        /* [n_elem] */
    const double *point_stress;    /* [n_elem][n_point][6], NULL: not wanted */
    const unsigned char *material; /* [n_elem] number of its entry in "materials"; NULL where there is one */
    const int *rank;               /* [n_elem] */
    int n_point;                   /* of an element */
} fe_fields;

/* FE_BAD_INPUT where a file of a series of so many steps is `input`. */
fe_status fe_series_spares(const char *directory, const char *name, int n_step, const char *input);

/* A series of steps in folder `directory` (made where missing), files NAME_0000.vtu … and NAME.pvd. */
typedef struct fe_series {
    char *directory, *name;
    int n;
    double time;  /* of the last step */
    uint64_t run; /* which run it is of, set before the first step; it stands in the list. 0: nobody's */
    fe_growing list;
} fe_series;

fe_status fe_series_open(fe_series *s, const char *directory, const char *name);
/* FE_BAD_INPUT where the list of another run is there. */
fe_status fe_series_belongs(const fe_series *s, uint64_t run);
/* Writes one .vtu and then the .pvd, each complete when it appears under its name. */
fe_status fe_series_write(fe_series *s, const fe_mesh *mesh, const fe_fields *f);
/* After it was opened: the list gets the steps `first` to `last` of an earlier run, at their numbers as
 * times, and the next step follows; first -1: the list begins with that. FE_BAD_INPUT where a step's file is
 * missing.
 */
fe_status fe_series_resume(fe_series *s, int first, int last);
void fe_series_close(fe_series *s);
#endif
