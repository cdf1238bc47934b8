/* patch: a block of threads owns a patch of elements. It brings the patch's nodes into fast memory, computes
 * the elements from there, sums their corner forces node by node, and writes each inner node once: only the
 * nodes on the patch's border, which other patches add to as well, need atomics. */
#ifndef PATCH_ASSEMBLY_H
#define PATCH_ASSEMBLY_H

#include "common/mesh/bisect.h"
#include "common/physics/element.h"

/* A slot is what is computed at a time: an element or, on the device, two Tet4 that share a face. Of such a
 * pair the first is nodes 0 1 2 3 of the slot, the second 4 1 3 2: five nodes are read and summed in place of
 * eight. */
typedef struct patch_form {
    int elements, slots, nodes; /* most of a patch, most of a patch, of a slot */
    int width;                  /* of a slot's row in conn */
    int row;                    /* corner forces stand as [node][3][row]; padded against bank conflicts */
} patch_form;
FE_BOTH patch_form patch_form_of(int kind, int paired)
{
    const int n = fe_piece_elements(kind), nodes = paired ? 5 : fe_corners(kind);
    const int slots = paired ? 128 : n; /* some elements find no partner */
    const patch_form form = {n, slots, nodes, paired ? 8 : nodes, slots + 2};
    return form;
}

/* Nodes of a patch: with more, blocks need so much shared memory that fewer fit a multiprocessor. */
FE_BOTH int patch_most_nodes(int kind) { return fe_corners(kind) == 8 ? 330 : 190; }
enum { PATCH_MOST_NODES = 330, PATCH_MOST_ELEMENTS = 240 };

/* Corners of a node that are summed at a time: lists are filled up with places of zeros, the row's padding.
 */
enum { PATCH_TOGETHER = 4 };

typedef struct patch_head {
    int n_node, n_slot, n_elem;
    int unused;
} patch_head;

/* All patches, each a record of `stride` bytes with its parts at these offsets. What is needed earlier
 * than the rest comes first, up to x.
 *   head    patch_head
 *   node    int      [n_node]       local node, ~node where other patches add to it as well
 *   elem    int      [slots][1]     element of each slot, or [slots][2] of a pair, -1 where it has no second
 *   x       double   [n_node][3]    coordinates
 *   conn    uint16_t [slots][width] nodes of each slot in the patch
 *   first   uint16_t [n_node + 1]   start of a node's corners, a multiple of PATCH_TOGETHER, in:
 *   corner  uint16_t [n_corner + 4] place of a corner's first component among the corner forces, or of a 0
 *   share   int      [n_node]       only with `ordered`: row of `shares` where the node's sum goes, if it is
 * ~node Slots beyond n_slot repeat the last one. */
typedef struct patch_plan {
    const char *record;
    int stride, most_nodes, most_corners; /* of any patch */
    int node, elem, x, conn, first, corner;
    int paired;
    int n_patch, n_patch_interior; /* patches [0, n_patch_interior) are of interior elements */
    /* Without atomics: patches store their shares of border nodes, and a second pass sums them in the
     * patches' order. Otherwise ordered is 0 and the rest NULL. */
    int ordered, share;
    const int *border; /* [n_border] nodes that several patches add to, and those of none */
    int n_border;
    const int *share_first, *share_row; /* [n_border + 1] rows of: the shares of a node */
    double *shares;                     /* [rows][3], or [rows][9] for the diagonal */
} patch_plan;

/* The local node of an entry of `node`. */
FE_BOTH int patch_node(int entry) { return entry < 0 ? ~entry : entry; }

/* First and one past last patch of a part. */
FE_BOTH void patch_range(const patch_plan *plan, fe_part part, int *first, int *last)
{
    *first = part == FE_INTERIOR ? 0 : plan->n_patch_interior;
    *last = part == FE_INTERIOR ? plan->n_patch_interior : plan->n_patch;
}

#ifdef __cplusplus
extern "C" {
#endif
/* Cuts the elements into compact patches and uploads the records. paired: pairs of Tet4; ordered: border sums
 * by a second pass. */
fe_status patch_plan_open(fe_problem *p, int paired, int ordered, patch_plan *plan);

/* Pairs of n tetrahedra, conn [n][4], that share a face: pair [n][2] is element and corner opposite to the
 * face of both, -1 for the second of one that is left alone. Returns the number of pairs, alone ones counted.
 */
typedef struct patch_half {
    int elem, corner;
} patch_half;
int patch_match(const uint16_t (*conn)[8], int n, patch_half (*pair)[2]);
#ifdef __cplusplus
}
#endif
#endif
