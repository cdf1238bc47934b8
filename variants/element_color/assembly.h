/* element_color: blocks of neighbouring elements of one colour share no node, so that they add to it by plain
 * reads and writes. Colours follow each other in a fixed order: no atomics, the same bits every time. On the
 * device the elements of a block are coloured in the same way, and add to its nodes in shared memory. */
#ifndef ELEMENT_COLOR_ASSEMBLY_H
#define ELEMENT_COLOR_ASSEMBLY_H

#include "common/mesh/bisect.h"
#include "common/physics/element.h"
#include "common/variant.h"

/* The most elements and nodes of a block: a compact piece of the mesh, or on the device half of one of Tet4;
 * of Tet10 fewer, since four threads share one. Cut where it has more nodes. */
#define ELEMENT_COLOR_ELEMENTS(kind)                                                                         \
    (FE_CORNERS(kind) == 10                  ? 45                                                            \
     : FE_ON_DEVICE && FE_CORNERS(kind) == 4 ? FE_PIECE_ELEMENTS(kind) / 2                                   \
                                             : FE_PIECE_ELEMENTS(kind))
#define ELEMENT_COLOR_NODES(kind) (FE_CORNERS(kind) == 8 || FE_CORNERS(kind) == 27 ? 384 : 192)
enum { ELEMENT_COLOR_MOST_ELEMENTS = 360, ELEMENT_COLOR_MOST_NODES = 384 };

typedef struct element_color_block {
    int n_elem, n_node, n_color; /* colours of its elements */
    int place;                   /* number of the block: its elements are at `place` × the most elements */
    int first_node;              /* place of its nodes */
} element_color_block;

/* Elements by block, on the device by colour within it. */
typedef struct element_color_order {
    int n_color[2];                   /* of blocks of the interior and of the border part */
    const int *first[2];              /* [n_color + 1] blocks of each colour; host memory */
    const element_color_block *block; /* [n_block] by part and colour */
    const int *elem;                  /* [n_block][elements] */
    const uint16_t *corner;           /* [n_block][n_corner][elements] nodes, as places in the block */
    const uint16_t *color;            /* [n_block][elements] ascending */
    const int *node;                  /* of each block, ascending; ~node: no block before it adds to it */
} element_color_order;

#ifdef __cplusplus
extern "C" {
#endif
/* Cuts both parts into blocks of at most so many elements and nodes, and colours them; *work becomes an
 * element_color_order that lives as long as the device. by_color: colours the elements of a block and sorts
 * them. */
fe_status element_color_open(fe_problem *p, int elements, int nodes, int by_color, void **work);
#ifdef __cplusplus
}
#endif

/* The same order serves all precisions. */
static inline fe_status element_color_setup_from(fe_problem *p, void *in_double, void **work)
{
    (void)p;
    *work = in_double;
    return FE_OK;
}

FE_BOTH int element_color_node(int entry) { return entry < 0 ? ~entry : entry; }

#endif
