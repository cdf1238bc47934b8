/* What benchmarks run on: boxes, unstructured meshes, files. */
#ifndef BENCH_TIMED_MESH_H
#define BENCH_TIMED_MESH_H

#include "common/mesh/mesh.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { BENCH_SEED = 1 }; /* of irregular */

/* box: a distorted cube. slender: a distorted box, 16 times as long in z as in x and y. cells: a distorted
 * box of these cells. irregular: fe_mesh_irregular. file: a mesh file. */
typedef enum bench_shape { BENCH_BOX, BENCH_SLENDER, BENCH_CELLS, BENCH_IRREGULAR, BENCH_FILE } bench_shape;

typedef struct bench_mesh {
    bench_shape shape;
    int cells[3]; /* of cells */
    char path[1024];
    int refine;
    fe_mesh file; /* in memory, in its own order or the one asked for */
} bench_mesh;

/* Reads "box", "slender", "119x119x119", "irregular" or the name of a mesh file, which is read here and
 * refined `refine` times (fe_mesh_refine), 0: not. FE_BAD_INPUT: an unknown word, a file that is refused. */
fe_status bench_mesh_open(const char *word, int refine, fe_order order, bench_mesh *m);
void bench_mesh_close(bench_mesh *m);

/* Whether it can be made of elements of a kind. */
int bench_mesh_holds(const bench_mesh *m, int kind);
/* Cells of a box with about n_dof degrees of freedom in elements of a kind; 0 0 0 of other shapes. */
void bench_mesh_cells(const bench_mesh *m, int kind, int n_dof, int cells[3]);
/* Its exact size in elements of a kind. */
fe_status bench_mesh_size(const bench_mesh *m, int kind, int n_dof, int64_t *n_elem, int64_t *all_dof);
/* That of a box of so many cells. */
void bench_box_size(int kind, const int cells[3], int64_t *n_elem, int64_t *n_dof);
/* What is no box as a whole mesh in that order: the file's, or an irregular one, which is `made` and to be
 * closed. *whole: NULL where it is a box. */
fe_status bench_mesh_whole(const bench_mesh *m, int kind, int n_dof, fe_order order, fe_mesh *made,
                           const fe_mesh **whole);
/* Name for rows: box46-distorted, box46x46x736-distorted, irregular, or that of the file, with -refined2
 * where it was refined twice. */
void bench_mesh_name(const bench_mesh *m, int kind, int n_dof, size_t size, char *name);

/* Cells along each axis of the cube with about n_dof degrees of freedom. */
int bench_cube_cells(int kind, int n_dof);
/* From one node of a cell's edge to the next: one step of a linear element, two of a quadratic one. */
static inline int bench_steps(int kind) { return fe_is_quadratic(kind) ? 2 : 1; }

/* Refuses a kind that this build leaves out; what: the flag that asks for it. */
static inline fe_status bench_kind_check(const char *what, int kind)
{
    if (FE_HAVE_QUADRATIC || !fe_is_quadratic(kind)) return FE_OK;
    return fe_fail(FE_BAD_INPUT, "%s %s: this build leaves quadratic elements out (make ELEMENTS=...)", what,
                   fe_kind_name(kind));
}

#ifdef __cplusplus
}
#endif
#endif
