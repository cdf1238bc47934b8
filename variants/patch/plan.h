/* A plan in the making, on the host: pieces of the mesh, cut into patches (cut.c), whose records are then
 * written (plan.c). */
#ifndef PATCH_PLAN_H
#define PATCH_PLAN_H

#include "variants/patch/assembly.h"

/* One patch: its nodes, and its slots. */
typedef struct patch_cut {
    struct patch_cut *next;
    int first, n_elem; /* elements [first, first + n_elem) of `order` */
    int n_node, n_slot;
    int n_inner;                /* nodes [0, n_inner) belong to no other patch */
    int n_added, first_row;     /* see patch_head */
    int n_corner;               /* places of corners in all lists */
    int *node;                  /* [n_node] */
    uint16_t *place;            /* [n_node] row of a node's coordinates and value */
    int16_t (*elem)[PATCH_FAN]; /* [n_slot] elements of the patch; -1: none */
    uint16_t *conn;             /* [n_slot][form.width] nodes of the patch */
} patch_cut;

typedef struct patch_draft {
    const fe_view *m;
    int kind, n_corner, threads, in_pieces;
    size_t scalar, number; /* bytes of a coordinate in records, and of a sum */
    patch_form form;
    patch_plan *plan;
    int most_nodes;    /* limit of a patch */
    const int *conn;   /* [n_corner][ld] */
    const double *x;   /* [n_local][3] */
    int *valence;      /* [n_local] elements at a node */
    int *order;        /* [n_elem] patch after patch, interior elements first */
    int n_piece[2];    /* of the interior and of the border, each of form.elements, the last ones of fewer */
    patch_cut **piece; /* [n_piece[0] + n_piece[1]] the patches that each was cut into, a list */
    patch_cut **patch; /* [n_patch] */
    uint8_t *adders;   /* [n_local] patches that add to a border node, or LATER; NULL unless ordered */
    int n_row;         /* of partial sums */
} patch_draft;

/* Only the device sums corner forces node by node, and fetches point data before it computes fans. */
static inline int patch_gathers(const patch_plan *plan) { return plan->group == 1; }

/* Sets k->order, piece and patch, and in the plan the number of patches and their largest sizes. The rest of
 * k but adders and n_row is given. */
fe_status patch_cut_mesh(patch_draft *k);
/* Frees a list of patches. */
void patch_forget(patch_cut **list);
/* Where the parts of a record are, for patches as large as plan says and coordinates of so many bytes. */
void patch_lay_out(patch_plan *plan, int kind, size_t scalar);
/* Lowers the limit of patches where few are so large that fewer blocks fit a multiprocessor than it has
 * registers for. */
void patch_lower_limit(patch_draft *k);
/* Whether a node of a slot belongs to one of its elements: in a shorter fan the last nodes around the edge do
 * not. */
int patch_has_node(const patch_draft *k, const patch_cut *s, int slot, int node);
/* Writes the starts of the nodes' lists of corners, each filled up to a multiple of PATCH_TOGETHER. Returns
 * their end. first: room for n_node + 1. */
int patch_start_lists(const patch_draft *k, const patch_cut *s, uint16_t *first);
/* Moves each node i of a patch to at[i]. */
void patch_renumber(const patch_draft *k, const uint16_t *at, patch_cut *s);

#endif
