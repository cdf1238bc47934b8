/* What a run goes on from after an accepted load step, and the file that holds it beside the result.
 *
 * The file belongs to one result: it tells how many bytes of that hold the steps so far. It is written after
 * the result and after the fields, so it may be older than they are, never newer. */
#ifndef FE_CHECKPOINT_H
#define FE_CHECKPOINT_H

#include "common/base/fe.h"
#include "common/mesh/mesh.h"
#include "common/problem/case.h"

/* What a state is good for. */
typedef struct fe_identity {
    char version[64];          /* commit of the program */
    uint64_t problem, mesh;    /* hashes of the problem file's bytes and of what the mesh file means */
    int64_t order, tet_points; /* how nodes and elements are numbered; points of Tet4 */
} fe_identity;
/* Of this program: version and hashes. */
fe_identity fe_identity_of(uint64_t problem, uint64_t mesh, int order, int tet_points);
/* Problem and mesh in one number, as 16 digits. */
enum { FE_INPUT_HASH = 17 };
void fe_identity_inputs(const fe_identity *identity, char text[FE_INPUT_HASH]);

/* All of 8 bytes each: written as it is. */
typedef struct fe_checkpoint_head {
    fe_identity identity;
    int64_t n_step; /* accepted load steps; where it is 0, the sizes are, too */
    int64_t n_path, n_node, n_elem, n_point, n_yielded; /* n_point: of an element */
    int64_t n_contact;                                  /* nodes of all entries of "contact" */
    uint64_t result_bytes, result_hash;                 /* the result up to these steps */
    int64_t first_field; /* the series has the steps from this one on, -1: none */
    int64_t precondition_asked, precondition;
    double scale, largest_load, compliance, plastic_work, warned_gradient, warned_error;
} fe_checkpoint_head;

/* Nodes and elements are the mesh's, whatever the ranks. */
typedef struct fe_checkpoint {
    fe_checkpoint_head head;
    double *factor, *change;          /* [n_path] load factors, and what the last increment added to them */
    double *displacement, *increment; /* [n_node][3] the same of displacements */
    double *multiplier;               /* [n_contact] pressures, of one entry after the other */
    uint8_t *flags;                   /* [n_elem] FE_YIELDED, FE_SOFTENED */
    double *point; /* [n_yielded][n_point][FE_N_STATE] elements with FE_YIELDED, ascending */
    char *memory;  /* of all of them where they were read, else NULL: each has its own */
} fe_checkpoint;

/* Writes the file, which appears whole (fe_file_commit). */
fe_status fe_checkpoint_write(const fe_checkpoint *c, const char *path);
/* FE_BAD_INPUT where there is no such file, or none that this version could have written, or it is damaged.
 */
fe_status fe_checkpoint_read(const char *path, fe_checkpoint *c);
/* FE_BAD_INPUT where the state that was read from `path` is another version's, problem's or mesh's. */
fe_status fe_checkpoint_belongs(const fe_checkpoint *c, const char *path, const fe_identity *to,
                                const fe_case *problem, const fe_mesh *mesh);
/* Accepts a zeroed object. */
void fe_checkpoint_close(fe_checkpoint *c);

#endif
