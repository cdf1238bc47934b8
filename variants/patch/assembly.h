/* patch: a block of threads owns a patch of elements. It copies the patch's nodes into fast memory, computes
 * the elements from there, sums their corner forces node by node, and writes each inner node once. Only nodes
 * on the border of the patch, to which other patches add as well, need atomics. With patch_ordered only the
 * first two patches of a node add to it; a second pass adds what the others found. */
#ifndef PATCH_ASSEMBLY_H
#define PATCH_ASSEMBLY_H

#include "common/mesh/bisect.h"
#include "common/physics/element.h"
#include "common/variant.h"

/* A slot is a unit of work: an element, or a fan of up to PATCH_FAN Tet4 around an edge. Element i of a fan
 * is nodes 4 5 i i+1 of the slot: the edge, and two that follow each other around it. So for three elements
 * six nodes are read and summed instead of twelve. */
enum { PATCH_FAN = 3, PATCH_FAN_NODES = 6 };
/* The most slots of a patch, and corners of one of its nodes: a fan of three Tet4 that close around their
 * edge has the node where it begins and ends twice. */
enum { PATCH_MOST_SLOTS = 128, PATCH_MOST_CORNERS = 2 * PATCH_MOST_SLOTS };
FE_BOTH int patch_fanned(int kind) { return fe_corners(kind) == 4; }
/* Elements of a patch: 128 Hex8, computed by one or two threads each, about 128 fans of Tet4, 16 Hex27, or 64
 * Tet10 that a thread each computes. In a mesh that is sorted in compact pieces, the patches are these
 * pieces, so the data of a patch's elements lie together in memory. */
#define PATCH_ELEMENTS(kind) FE_PIECE_ELEMENTS(kind)
typedef struct patch_form {
    int elements, slots; /* upper limits of a patch */
    int together;        /* upper limit of elements of a slot */
    int nodes;           /* of a slot */
    int width;           /* of a slot's row in conn */
    int row;             /* corner forces stand as [node][3][row]; padded against bank conflicts */
} patch_form;
FE_BOTH patch_form patch_form_of(int kind)
{
    const int n = PATCH_ELEMENTS(kind), fanned = patch_fanned(kind);
    const int slots = fanned ? PATCH_MOST_SLOTS : n; /* some fans are shorter */
    const int padding = kind == FE_HEX27 ? 1 : 2, nodes = fe_corners(kind);
    const patch_form form = {n,
                             slots,
                             fanned ? PATCH_FAN : 1,
                             fanned ? PATCH_FAN_NODES : nodes,
                             fanned ? 8 : (nodes + 3) / 4 * 4,
                             slots + padding};
    return form;
}

/* Which node of a slot is corner b of its element i. */
FE_BOTH int patch_corner(int kind, int i, int b)
{
    return !patch_fanned(kind) ? b : b < 2 ? PATCH_FAN + 1 + b : i + b - 2;
}

/* Threads of a slot: two share a factored Hex8, a warp a Hex27; one computes a Tet10 or a fan of Tet4. */
FE_BOTH int patch_team(int kind) { return kind == FE_HEX8 ? 2 : kind == FE_HEX27 ? 32 : 1; }
/* A thread reads its corners of a slot one after the other, and all threads the same one at the same time;
 * those of a Hex27 read one each, as many at once as there are banks. Number of such reads, the read that has
 * a node of a slot, and the slots that are read at the same time. */
FE_BOTH int patch_reads(int kind, int banks)
{
    const int nodes = patch_form_of(kind).nodes;
    return kind == FE_HEX27 ? (nodes + banks - 1) / banks : nodes;
}
FE_BOTH int patch_read_of(int kind, int banks, int node) { return kind == FE_HEX27 ? node / banks : node; }
FE_BOTH int patch_slots_together(int kind, int banks)
{
    return kind == FE_HEX27 ? 1 : banks / patch_team(kind);
}

/* Nodes of a patch. What blocks of the largest patch need limits how many fit a multiprocessor (fit.c). */
FE_BOTH int patch_most_nodes(int kind) { return patch_fanned(kind) ? 200 : 330; }
enum { PATCH_MOST_NODES = 330, PATCH_MOST_ELEMENTS = PATCH_ELEMENTS(FE_TET4) };
/* Numbers of conn of a patch. */
enum { PATCH_MOST_CONN = 8 * PATCH_MOST_ELEMENTS };

/* Corners of a node that are summed at a time: lists are filled up with places of zeros, which the padding of
 * the row holds. */
enum { PATCH_TOGETHER = 4 };

/* patch_ordered: the first patches of a border node, this many, add to it atomically. The sum of two numbers
 * does not depend on their order, and the output is zero before. Further patches store what they would add in
 * rows of partial_sums, and a second pass adds these in the patches' order. */
enum { PATCH_ADDERS = 2 };

typedef struct patch_head {
    uint16_t n_node, n_slot, n_elem;
    uint16_t n_added; /* the patch writes nodes [0, n_added) to the output; sums of the others are rows */
    int first_row;    /* of n_node - n_added rows of partial_sums */
    int unused;
} patch_head;

/* Bytes of shared memory of a multiprocessor, and those that it reserves for itself of each block's. */
typedef struct patch_processor {
    int shared, reserved;
} patch_processor;

/* Thread blocks that a multiprocessor must have registers for, with numbers of so many bytes. Hex8, 6.4 M
 * DoF: 3 blocks of 168 registers are 1.05 times faster than 4 of 128. With floats 5 blocks have room, of 96
 * registers, which suffice. Hex27: 128 registers, as element_team. Tet10: 255, in blocks of
 * half as many threads, or 128 for floats. */
#define PATCH_BLOCKS(kind, scalar)                                                                           \
    ((kind) == FE_TET10           ? (scalar) != sizeof(double) ? 8 : 4                                       \
     : (kind) == FE_HEX27         ? 4                                                                        \
     : (scalar) != sizeof(double) ? 5                                                                        \
     : (kind) == FE_HEX8          ? 3                                                                        \
     : (kind) == FE_HEX8_NAIVE    ? 2                                                                        \
                                  : 4)

/* All patches, each a record of `stride` bytes with its parts at these offsets. The parts before x are needed
 * earlier than the rest.
 *   head       patch_head
 *   node       int      [n_node] local node, inner ones first, those with rows of partial_sums last; ~node
 *              where other patches add to it
 *   place      uint16_t [n_node] row of a node's coordinates and value (device)
 *   elem       int      [slots / group][together][group] elements of each slot, -1 where it has fewer
 *   ascending  uint16_t [elements] entries of elem, sorted by the elements' numbers (device, fans)
 *   x          fe_scalar [n_node][x_row] coordinates; floats are those from the first node of the patch
 *   conn       uint16_t [slots / group][width][group] nodes of each slot: their rows of x
 *   first      uint16_t [n_node + 1] starts of nodes' corners, multiples of PATCH_TOGETHER (device)
 *   corner     uint16_t [n_corner + 4] where a corner's first component stands, or a 0 (device)
 *
 * Slots beyond n_slot repeat the last one's nodes; fans have no elements there, a Hex8 is the last one. */
typedef struct patch_plan {
    const char *record;
    int stride, most_nodes, most_corners; /* largest of any patch */
    int node, place, elem, ascending, x, conn, first, corner;
    int x_row, group;          /* host: rows of four numbers, a vector of slots side by side; device: 3, 1 */
    patch_processor processor; /* host: 0 */
    int n_patch, n_patch_interior; /* patches [0, n_patch_interior) are of interior elements */
    /* The second pass of patch_ordered. Otherwise ordered is 0 and the rest NULL. */
    int ordered;
    const int *border; /* [n_border] nodes of more than PATCH_ADDERS patches */
    int n_border;
    const int *partial_first, *partial_row; /* [n_border + 1] rows of: the partial sums of a node */
    fe_number *partial_sums;                /* [rows][3], or [rows][9] for the diagonal */
} patch_plan;

/* Index of number j of the `width` numbers of a slot, where slots stand in groups. */
FE_BOTH int patch_in_group(int group, int width, int slot, int j)
{
    return (slot / group * width + j) * group + slot % group;
}

/* Record `patch` of `to`, a plan for single precision, from that of `from`, one for double precision;
 * `thread` of `threads` that share the work. */
FE_BOTH void patch_narrow_record(int kind, const patch_plan *from, const patch_plan *to, int patch,
                                 int thread, int threads)
{
    const patch_form form = patch_form_of(kind);
    const char *record = from->record + (size_t)patch * from->stride;
    char *out = (char *)to->record + (size_t)patch * to->stride;
    const int n = from->x_row * ((const patch_head *)record)->n_node;
    const int *elem = (const int *)(record + from->elem);
    const double *x = (const double *)(record + from->x);
    const uint16_t *conn = (const uint16_t *)(record + from->conn),
                   *place = (const uint16_t *)(record + from->place);
    const int behind = from->conn + form.slots * form.width * (int)sizeof *conn;
    const double *origin = x + from->x_row * (from->place ? place[0] : 0);
    for (int i = thread; i < from->x / 4; i += threads) ((int *)out)[i] = ((const int *)record)[i];
    for (int i = thread; i < form.slots * form.together; i += threads) {
        const int slot = i / form.together, j = i % form.together;
        ((int *)(out + to->elem))[patch_in_group(to->group, form.together, slot, j)] =
            elem[patch_in_group(from->group, form.together, slot, j)];
    }
    for (int i = thread; i < n; i += threads) {
        const int c = i % from->x_row;
        ((float *)(out + to->x))[i] = c < 3 ? (float)(x[i] - origin[c]) : 0.0f;
    }
    for (int i = thread; i < form.slots * form.width; i += threads) {
        const int slot = i / form.width, j = i % form.width;
        ((uint16_t *)(out + to->conn))[patch_in_group(to->group, form.width, slot, j)] =
            conn[patch_in_group(from->group, form.width, slot, j)];
    }
    for (int i = thread; i < (from->stride - behind) / 4; i += threads)
        ((int *)(out + to->stride - from->stride + behind))[i] = ((const int *)(record + behind))[i];
}

/* The local node of an entry of `node`. */
FE_BOTH int patch_node(int entry) { return entry < 0 ? ~entry : entry; }

/* Entries of `node` of a patch, in host memory. */
static inline const int *patch_nodes_of(const patch_plan *plan, const char *records, int patch, int *n)
{
    records += (size_t)patch * plan->stride;
    *n = ((const patch_head *)records)->n_node;
    return (const int *)(records + plan->node);
}

/* What a patch adds to node i of it goes to: its row of the output y, or a row of partial_sums. Rows have
 * `width` numbers. */
FE_BOTH fe_number *patch_row(const patch_plan *plan, const patch_head *head, const int *node, int i,
                             int width, fe_number *y)
{
    const int later = i - head->n_added, row = later < 0 ? patch_node(node[i]) : head->first_row + later;
    return (later < 0 ? y : plan->partial_sums) + (size_t)width * row;
}

/* First and one past last patch of a part. */
FE_BOTH void patch_range(const patch_plan *plan, fe_part part, int *first, int *last)
{
    *first = part == FE_INTERIOR ? 0 : plan->n_patch_interior;
    *last = part == FE_INTERIOR ? plan->n_patch_interior : plan->n_patch;
}

#ifdef __cplusplus
extern "C" {
#endif
/* Whether the second pass follows patches [first, last): once, after the last part that has patches. */
FE_BOTH int patch_adds_rows(const patch_plan *plan, int first, int last)
{
    return plan->ordered && first < last && last == plan->n_patch;
}

/* Shared memory of a block: corner forces, two sets of input values, three heads with nodes, two rests of
 * records. Numbers of each, in whole pieces of 16 bytes; scalar, number: bytes of a force and of a value. */
FE_BOTH int patch_whole(int n, int bytes) { return (n + 16 / bytes - 1) / (16 / bytes) * (16 / bytes); }
FE_BOTH int patch_force_numbers(int kind, int scalar)
{
    const patch_form form = patch_form_of(kind);
    return patch_whole(3 * form.nodes * form.row, scalar);
}
FE_BOTH int patch_value_numbers(const patch_plan *plan, int number)
{
    return patch_whole(3 * plan->most_nodes, number);
}
FE_BOTH int patch_shared_bytes(int kind, const patch_plan *plan, int scalar, int number)
{
    return patch_force_numbers(kind, scalar) * scalar + 2 * patch_value_numbers(plan, number) * number +
           3 * plan->x + 2 * (plan->stride - plan->x);
}

/* Cuts the elements into compact patches and uploads the records; the caller has set plan's ordered, x_row,
 * group and processor, and all else is 0. precision: of the operations that read it. */
fe_status patch_plan_open(fe_problem *p, int precision, patch_plan *plan);

/* The plan for single precision of a problem whose plan for double precision is `from`: the same patches,
 * with coordinates as floats. It needs no search, and shares lists with `from`. The caller has set x_row and
 * group, and converts all records by patch_narrow_record afterwards. */
fe_status patch_plan_narrow(fe_problem *p, const patch_plan *from, patch_plan *plan);

/* Covers n tetrahedra, conn [n][4 of 8], by fans, the longest first; returns the number of fans. The last
 * nodes of a shorter fan repeat others, so that the missing elements have a volume, too. */
typedef struct patch_fan {
    int elem[PATCH_FAN]; /* -1 after the last */
    uint16_t node[PATCH_FAN_NODES];
} patch_fan;
int patch_fans(const uint16_t (*conn)[8], int n, patch_fan *fan);

/* Banks of shared memory for numbers of so many bytes: as many lanes read at a time. */
int patch_banks(size_t scalar);
/* Rows of nodes' coordinates and values, place [n_node], a permutation: such that lanes which read corners of
 * their slots at the same time, conn [n_slot][width], find them in different banks. */
void patch_find_places(int kind, int banks, int n_node, int n_slot, const uint16_t *conn, uint16_t *place);
/* Sorts the corners of each node, corner [first[i] … first[i + 1]), such that nodes which are summed at the
 * same time find them in different banks. What a list is filled up with stays at its end. */
void patch_spread_corners(int kind, int banks, int n_node, const uint16_t *first, uint16_t *corner);
#ifdef __cplusplus
}
#endif
#endif
