/* What a benchmark workload is made of, and the piece of a box that a rank holds. */
#ifndef BENCH_BOX_PIECE_H
#define BENCH_BOX_PIECE_H

#include "bench/part.h"
#include "common/mesh/mesh.h"
#include "common/problem/share.h"
#include "common/variant.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which elements are plastic, see workload_fields.h. */
typedef enum bench_pattern {
    BENCH_CLUSTERED,
    BENCH_SCATTERED,
    BENCH_ZONES,
    BENCH_PART,
    BENCH_N_PATTERN
} bench_pattern;
extern const char *const bench_pattern_names[BENCH_N_PATTERN];
/* What displacements and directions are made of, see workload_fields.h. */
typedef enum bench_operand { BENCH_RANDOM, BENCH_SMOOTH, BENCH_N_OPERAND } bench_operand;
extern const char *const bench_operand_names[BENCH_N_OPERAND];

enum { BENCH_MOST_CONTACTS = 8 };

typedef struct bench_box {
    int kind;
    int cells[3];                  /* of a box; of all ranks, or of each rank where it is weak */
    const fe_mesh *mesh;           /* another mesh, whole on each rank, and its partition; NULL: the box */
    const fe_partition *partition; /* NULL: one rank */
    fe_order order;                /* of a mesh: auto, or what the caller has renumbered it by */
    int pieces;                    /* order auto: strategies want pieces (FE_PIECES) */
    double plastic;                /* share of elements */
    bench_pattern pattern;
    const bench_part *part; /* of BENCH_PART, otherwise NULL */
    bench_operand operand;  /* smooth: of one rank */
    const fe_backend *backend;
    int threads;
    int precision; /* of the strategies on it: FE_DOUBLE, FE_MIXED or FE_SINGLE */
    int hardening; /* law of the material: FE_LINEAR or FE_VOCE */
    int full;      /* memory for BENCH_JACVEC_FULL */
    int materials; /* layers of different materials (layers.h); 0 or 1: one */
    int n_contact; /* shares of nodes in contact, one after the other (contact.h); 0: none */
    double contact[BENCH_MOST_CONTACTS];
    int grid[3]; /* ranks along the axes; 0: one */
    int weak;    /* 1: cells are those of each rank's box, and these are placed side by side */
} bench_box;

/* Length of a cell: a rank's box, or the whole, is 1 long. */
double bench_box_cell(const bench_box *box);

/* Cells of the whole box, of all ranks. */
void bench_box_cells(const bench_box *box, int cells[3]);

/* Makes the piece of the box around a rank's nodes, and the owners of all nodes of the piece. No rank makes
 * the whole box. FE_BAD_INPUT: more ranks along an axis than nodes. */
fe_status bench_box_piece(const bench_box *b, int rank, fe_mesh *mesh, fe_partition *p);

#ifdef __cplusplus
}
#endif
#endif
