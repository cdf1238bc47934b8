/* patch: a block of threads owns a patch of elements. It brings the patch's nodes into fast memory, computes
 * the elements from there, sums their corner forces node by node, and writes each inner node once: only the
 * nodes on the patch's border, which other patches add to as well, need atomics. */
#ifndef PATCH_ASSEMBLY_H
#define PATCH_ASSEMBLY_H

#include "common/physics/element.h"

/* Elements of a patch: 4 × 4 × 8 cells of a box of Hex8, 4 × 4 × 2 cells of six Tet4. A patch ends early
 * where it would have more nodes than PATCH_NODES. */
FE_BOTH int patch_elements(int kind) { return fe_corners(kind) == 8 ? 128 : 192; }
enum { PATCH_NODES = 400 };

/* Corner forces of a patch stand as [corner][3][patch_row]; 5 places between the rows keep the three
 * components of a node in different banks of shared memory. */
FE_BOTH int patch_row(int kind) { return patch_elements(kind) + 5; }

typedef struct patch_head {
    int n_node, n_inner, n_elem, unused;
} patch_head;

/* All patches, each a record of `stride` bytes with its parts at these offsets:
 *   head    patch_head
 *   x       double   [n_node][3]    coordinates; inner nodes come first
 *   node    int      [n_node]       local node
 *   elem    int      [E]            element of each slot; slots beyond n_elem repeat the last one
 *   conn    uint16_t [E][n_corner]  node of the patch
 *   first   uint16_t [n_node + 1]   start of a node's corners in:
 *   corner  uint16_t [E × n_corner] place of a corner's first component among the corner forces */
typedef struct patch_plan {
    const char *record;
    int stride, most_nodes; /* most_nodes of any patch */
    int x, node, elem, conn, first, corner;
    int n_patch, n_patch_interior; /* patches [0, n_patch_interior) are of interior elements */
} patch_plan;

/* First and one past last patch of a part. */
FE_BOTH void patch_range(const patch_plan *plan, fe_part part, int *first, int *last)
{
    *first = part == FE_INTERIOR ? 0 : plan->n_patch_interior;
    *last = part == FE_INTERIOR ? plan->n_patch_interior : plan->n_patch;
}

#ifdef __cplusplus
extern "C" {
#endif
/* Cuts the elements into compact patches and uploads the records. */
fe_status patch_plan_open(fe_problem *p, patch_plan *plan);
#ifdef __cplusplus
}
#endif
#endif
