/* How element_color cuts and colours a mesh, on the host. */
#ifndef ELEMENT_COLOR_DRAFT_H
#define ELEMENT_COLOR_DRAFT_H

#include "variants/element_color/assembly.h"

typedef struct element_color_draft {
    const fe_problem *p;
    int n_corner, elements, nodes; /* the most of a block */
    int by_color, threads;
    size_t ld;
    fe_host_mesh mesh;
    int n_block, n_interior;    /* blocks; those of the interior come first */
    element_color_block *block; /* [n_block] in the order of pieces */
    int *elem;                  /* what follows: as in element_color_order */
    uint16_t *corner, *color;
    int *node; /* without marks */
    int n_node;
} element_color_draft;

/* Cuts both parts into compact blocks, and colours the elements of each. */
fe_status element_color_cut(element_color_draft *k);
/* Colours the blocks [first, last). order [first … last): blocks colour by colour; starts [n_color + 1]:
 * their places in it, which live as long as the device. */
fe_status element_color_blocks(element_color_draft *k, int first, int last, int *order, int *n_color,
                               const int **starts);

#endif
