/* The problem file: material, supports, loads, load paths and probes, as JSON; and the same applied to a
 * mesh: constrained components, nodal loads, reaction groups and probe nodes. Host memory only. */
#ifndef FE_CASE_H
#define FE_CASE_H

#include "common/base/fe.h"
#include "common/contact/obstacle.h"
#include "common/mesh/mesh.h"
#include "common/physics/material.h"

typedef struct fe_support {
    char *group;
    char *expression[3]; /* in x, y, z; NULL where the component is free */
    int path;
} fe_support;

/* PRESSURE (positive pushes into the body) and TRACTION: force per undeformed area, entries of "neumann".
 * BODY: force per undeformed volume, of "body_force". NODAL: force per undeformed length on a line, force on
 * each node of points, of "nodal". */
enum { FE_LOAD_PRESSURE, FE_LOAD_TRACTION, FE_LOAD_BODY, FE_LOAD_NODAL };
typedef struct fe_load {
    int kind, entry;     /* which one of the list in the file */
    char *group;         /* NULL: all elements, of a body force */
    double value[3];     /* of a pressure the first */
    char *expression[3]; /* in x, y, z, instead of the value; NULL where that holds */
    int path;
} fe_load;
/* The key whose entries are loads of a kind. */
const char *fe_load_list(int kind);

/* Frictionless contact of a surface's nodes with a rigid obstacle. */
typedef struct fe_contact_entry {
    char *group;
    fe_obstacle obstacle; /* at factor 0 */
    double move[3];       /* its displacement at factor 1 */
    int path;
    int augmented;    /* augmented Lagrangian, otherwise penalty alone */
    double stiffness; /* of the penalty, over E / sqrt(area of the node) */
} fe_contact_entry;

typedef struct fe_path {
    char *name;
    double *factor; /* [n_step] at the end of each load step */
} fe_path;

typedef struct fe_probe {
    char *name;
    double x[3];
} fe_probe;

typedef struct fe_case {
    char *file, *name, *units;
    uint64_t hash; /* of the file's bytes */
    int elastic;
    int n_material;
    fe_material *material; /* [n_material] */
    char **volume;         /* [n_material] the physical volume that has it; NULL: one for all elements */
    int n_mesh, n_support, n_load, n_contact, n_path, n_step, n_probe;
    char **mesh; /* names as listed */
    fe_support *support;
    fe_load *load;
    fe_contact_entry *contact;
    fe_path *path; /* all of n_step factors */
    fe_probe *probe;
} fe_case;

/* Characters of a problem's name at most: names of output files begin with it. */
enum { FE_NAME_LENGTH = 200 };

/* Reads and checks a problem file. Unknown keys, wrong types, E <= 0, nu outside (-1, 0.5), sigma_y <= 0,
 * H < 0, sigma_inf < sigma_y, delta <= 0 or beyond FE_VOCE_STEEPEST, an obstacle without direction or
 * radius, a path that is not there, paths of unequal length, too long a name or expression: FE_BAD_INPUT with
 * file, key (and line for syntax) and value.
 */
fe_status fe_case_read(const char *path, fe_case *c);
void fe_case_close(fe_case *c);

/* Finds a mesh of the problem: in the folder of the problem file, then in the sibling folder meshes/. *path
 * is allocated. FE_BAD_INPUT lists the places that were tried; a file that is there, but cannot be read, is
 * found and refused when it is read, with the reason. */
fe_status fe_case_mesh_path(const fe_case *c, const char *mesh_name, char **path);

/* Components of one group whose support forces are summed. */
typedef struct fe_reaction {
    const char *group;
    int component; /* 0 1 2 = x y z */
    int n;
    int *node; /* [n] nodes of the group */
} fe_reaction;

/* Nodes of one entry of "contact". */
typedef struct fe_contact_side {
    int n;
    int *node;     /* [n] ascending */
    double *area;  /* [n] tributary area: its share of the group's faces */
    double *young; /* [n] E of the elements behind these, in the mean over the area */
} fe_contact_side;

/* A case applied to a mesh. Node numbers are the mesh's. */
typedef struct fe_boundary {
    int n_fixed;
    int *fixed;    /* [n_fixed] 3 × node + component, ascending; the first support that names it wins */
    double *value; /* [n_fixed] displacement at factor 1 */
    int *path;     /* [n_fixed] path whose factor scales it */
    int n_path;
    double **load;      /* [n_path] each [n_node][3] consistent nodal forces at factor 1, NULL where none, */
    double (*total)[3]; /* [n_path] and their sum */
    int n_reaction;
    fe_reaction *reaction; /* by support in the file's order, then component; a group that several supports
                              name has each component once */
    int n_contact;
    fe_contact_side *contact; /* [n_contact] by entry */
    int n_probe;
    int *probe; /* [n_probe] nearest node */
    double *probe_distance;
    unsigned char *material_of; /* [n_elem] which of the materials an element has; NULL where there is one */
    char *material_note;        /* one material for several volumes; NULL: nothing */
    char *contact_note; /* nodes that supports hold, and contact therefore leaves out; NULL: nothing */
    char *note; /* what is worth telling though it is accepted: supports that contradict each other; NULL:
                   nothing */
} fe_boundary;

/* Evaluates supports and loads on a mesh. FE_BAD_INPUT: unknown group (lists the groups that exist),
 * expression that does not parse or is not finite at a node, load on a group of the wrong dimension, no
 * support at all, a connected part of the mesh, or a body on hinges, that the supports let move (contact
 * holds nothing); an element with no material or two; contact of nodes that are supported in that direction,
 * an obstacle that the body begins in, or behind the surface. */
fe_status fe_boundary_apply(const fe_case *c, const fe_mesh *mesh, fe_boundary *b);
void fe_boundary_close(fe_boundary *b);

/* Nodes of all entries of "contact" together. */
static inline int fe_contact_count(const fe_boundary *b)
{
    int n = 0;
    for (int i = 0; i < b->n_contact; i++) n += b->contact[i].n;
    return n;
}
/* The materials of the mesh's elements. */
static inline fe_materials fe_materials_of(const fe_case *c, const fe_boundary *b)
{
    return (fe_materials){c->n_material, c->material, b->material_of};
}
/* A material is perfectly plastic, so there may be a limit load. */
static inline int fe_case_has_limit(const fe_case *c)
{
    int has = 0;
    for (int i = 0; i < c->n_material; i++)
        has |= c->material[i].H == 0.0 && isfinite(c->material[i].sigma_y);
    return has;
}

#endif
