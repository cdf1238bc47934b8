/* Scenes for tests of mesh files: MSH files as text, edits of them, and reading what must be refused. */
#ifndef MESH_TEXT_H
#define MESH_TEXT_H

#include "common/mesh/mesh.h"

#define MESHES "tests/validation/meshes/"

/* Two unit cubes in 4.1; the second node block is empty, the third parametric; "left" is overlapped by "both
 * sides". */
extern const char good_41[];
/* The same in 2.2: the element of two groups is there once for each; tags after the first are ignored. */
extern const char good_22[];
/* Nodes and elements of one hexahedron in 2.2, without a header. */
extern const char one_hexahedron[];

/* Fixture of a group of tests: folder_open, and `scratch` is a file in that folder. */
int open_scratch(void **state);
extern char scratch[];

void read_text(const char *text, fe_mesh *mesh);
/* The text must be refused as bad input, with a message that holds `what`. */
void refuse_bytes(const char *text, size_t n, const char *what);
void refuse(const char *text, const char *what);
/* A copy of text, to be freed, in which the first `old` after `after` is `new`; and one that is refused. */
char *edit(const char *text, const char *after, const char *old, const char *new);
void refuse_edit(const char *text, const char *after, const char *old, const char *new, const char *what);

#endif
