/* The order of an element's corners: Gmsh's in meshes, the view's in operations (common/physics/view.h). */
#ifndef FE_CORNERS_H
#define FE_CORNERS_H

#include "common/base/fe.h"

/* Gmsh's corner of the view's corner c: binary order of Hex8, ternary of Hex27; tetrahedra are the same. */
static inline int fe_mesh_corner(int kind, int c)
{
    static const signed char hex8[8] = {0, 1, 3, 2, 4, 5, 7, 6};
    static const signed char hex27[27] = {0,  8,  1,  9,  20, 11, 3, 13, 2,  10, 21, 12, 22, 26,
                                          23, 15, 24, 14, 4,  16, 5, 17, 25, 18, 7,  19, 6};
    return kind == FE_HEX27 ? hex27[c] : fe_is_tet(kind) ? c : hex8[c];
}

#endif
