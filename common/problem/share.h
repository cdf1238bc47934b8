/* Partition of a mesh by nodes, one rank's share of it, and that share resident on a device. */
#ifndef FE_SHARE_H
#define FE_SHARE_H

#include "common/mesh/mesh.h"
#include "common/ranks/comm.h"
#include "common/variant.h"

#ifdef __cplusplus
extern "C" {
#endif

/* owner [n_node]: rank of each node of the mesh. */
typedef struct fe_partition {
    int n_rank, method; /* the one in use, not auto */
    int *owner;
} fe_partition;

enum {
    FE_PARTITION_AUTO,
    FE_PARTITION_CONTIGUOUS,
    FE_PARTITION_METIS,
    FE_PARTITION_BISECTION,
    FE_N_PARTITION
};
extern const char *const fe_partition_names[FE_N_PARTITION];
/* contiguous: ranges of equal length in the mesh's node order; metis: k-way on the graph of nodes, or of
 * clusters of consecutive nodes where there are many, each weighted by its elements; bisection: compact
 * pieces of equal numbers of nodes. auto: metis, or bisection in a build without it; but contiguous where
 * that computes no more elements more than once, or hardly any. */
fe_status fe_partition_mesh(const fe_mesh *mesh, int n_rank, int method, fe_partition *p);
void fe_partition_close(fe_partition *p);

/* Nodes are numbered owned first, then ghosts by owner and tag. Owned nodes that touch interior elements only
 * come before the other owned nodes; both follow the arrangement, or the mesh's order. Where elements are cut
 * into pieces anew (in_pieces, and several ranks or no arrangement), nodes come as the pieces of their part
 * meet them. The mesh may be a piece of a larger one, with its tags, that holds all elements at the rank's
 * nodes. */
typedef struct fe_share {
    int rank, n_owned, n_local, n_node_interior, n_elem, n_elem_interior;
    int *node;        /* [n_local] node of the mesh */
    int *local;       /* [mesh's n_node] local number, -1 where the rank does not hold the node */
    int *elem;        /* [n_elem] element of the mesh, interior first; all that touch an owned node. Each part
                         follows the arrangement, or is in compact pieces if that is */
    int in_pieces;    /* they are in compact pieces */
    uint8_t *counted; /* [n_elem] set on the lowest rank among the owners of its corners */
    fe_halo halo;
} fe_share;
/* arrangement: NULL for the mesh's own order. */
fe_status fe_share_build(const fe_mesh *mesh, const fe_partition *p, const fe_arrangement *arrangement,
                         int rank, fe_share *s);
void fe_share_close(fe_share *s);

/* What a partition costs, over all ranks; work is counted in elements that a rank computes. */
typedef struct fe_partition_quality {
    double imbalance;   /* most elements on a rank over their mean */
    double ghosts;      /* ghosts over owned nodes, of all ranks */
    double duplicates;  /* elements computed by more than one rank, over elements */
    int most_neighbors; /* of a rank */
} fe_partition_quality;
/* Every rank calls it with its share. */
fe_status fe_share_quality(const fe_share *s, fe_comm *comm, fe_device *d, fe_partition_quality *quality);

/* What bodies compute with, of a material. */
fe_j2 fe_j2_of(const fe_material *material);

/* Uploads a share: view with coordinates, connectivity (hexahedra in the view's order), node→corner rows and
 * zero state. Memory is released with the device. */
fe_status fe_problem_open(const fe_mesh *mesh, const fe_share *s, int kind, const fe_material *material,
                          fe_device *d, fe_problem *p);
/* Room for a view's mesh in host memory, of a problem whose view is made on the device
 * (fe_problem_host_mesh). */
fe_status fe_problem_keep_mesh(fe_problem *p);
/* As fe_problem_open, with several materials. */
fe_status fe_problem_open_materials(const fe_mesh *mesh, const fe_share *s, int kind,
                                    const fe_materials *materials, fe_device *d, fe_problem *p);
/* Every material hardens by `share` of its shear modulus more than it is said to, until the next call; 0: as
 * it is said to. What runs on the device is waited for, if there are several. */
fe_status fe_problem_harden(fe_problem *p, double share);
/* Accepts a load step: trial becomes committed. */
void fe_problem_accept(fe_problem *p);
/* Both states become those of the undeformed material. */
fe_status fe_problem_reset(fe_problem *p);
/* fe_summary_host or _cuda by the problem's device, and fe_flow_ and fe_node_stress_. */
fe_status fe_summary(const fe_problem *p, const double *displacement, const uint8_t *counted, double *partial,
                     double *totals, double *out, double *points);
fe_status fe_flow(const fe_problem *p, const double *displacement, const double *before,
                  const uint8_t *counted, double *partial, double *totals);
fe_status fe_node_stress(const fe_problem *p, const double *points, double *stress);

#ifdef __cplusplus
}
#endif
#endif
