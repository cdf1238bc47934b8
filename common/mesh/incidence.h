/* The elements at each node. */
#ifndef FE_INCIDENCE_H
#define FE_INCIDENCE_H

#include "common/base/fe.h"

/* Corner c of element e is node[e * elem_stride + c * corner_stride], one of n_node. */
typedef struct fe_corners_of {
    const int *node;
    int n_node, n_elem, n_corner;
    size_t elem_stride, corner_stride;
    int code_bits; /* of a corner in what is listed, element << code_bits | corner; 0: elements alone */
} fe_corners_of;

/* first [n_node + 1], entry [first[n_node]]: for each node its elements, or elements and corners, ascending.
 * The result does not depend on `threads`. Both are allocated; FE_OUT_OF_MEMORY leaves neither. There are at
 * most INT_MAX entries: the caller sees to it. */
fe_status fe_list_corners(const fe_corners_of *of, int threads, const char *what, int **first, int **entry);

#endif
