/* node_csr on the host: one corner of the CSR a SIMD lane, so that lanes stay full whatever the valences;
 * each thread owns blocks of rows and adds the lanes to them in the CSR's order. */
#include "common/backend/device.h"
#include "common/problem/state.h"
#include "variants/node_csr/assembly.h"

enum {
    ROWS = 64
}; /* rows of one block: 1500 corners of Tet4, so that the last, partly filled lanes vanish */

/* Corners at, at + 1, … of the CSR; beyond `last` the last one is repeated. */
FE_BODY void corners_at(const fe_view *m, int at, int last, fe_index *e, fe_index *turn)
{
    for (int l = 0; l < FE_LANES; l++) {
        const int corner = m->corner[at + l < last ? at + l : last - 1];
        e->lane[l] = corner >> 3, turn->lane[l] = corner & 7;
    }
}

/* y rows [first, last) += forces on their corners. */
FE_BODY void rows_forces(int kind, int op, const fe_view *m, int first, int last, const double *v, double *y)
{
    const int end = m->corner_first[last];
    for (int at = m->corner_first[first], row = first; at < end; at += FE_LANES) {
        fe_index e, turn;
        fe_real force[3];
        corners_at(m, at, end, &e, &turn);
        node_csr_corner(kind, op, m, e, turn, v, force);
        for (int l = 0; l < FE_LANES && at + l < end; l++) {
            while (at + l >= m->corner_first[row + 1]) row++;
            for (int c = 0; c < 3; c++) y[3 * (size_t)row + c] += force[c][l];
        }
    }
}

FE_BODY void rows_diagonal(int kind, const fe_view *m, int first, int last, double *d)
{
    static const int place[9] = {0, 3, 5, 3, 1, 4, 5, 4, 2};
    const int end = m->corner_first[last];
    for (int at = m->corner_first[first], row = first; at < end; at += FE_LANES) {
        fe_index e, turn;
        fe_real block[6];
        corners_at(m, at, end, &e, &turn);
        node_csr_block(kind, m, e, turn, block);
        for (int l = 0; l < FE_LANES && at + l < end; l++) {
            while (at + l >= m->corner_first[row + 1]) row++;
            for (int i = 0; i < 9; i++) d[9 * (size_t)row + i] += block[place[i]][l];
        }
    }
}

#define EACH_BLOCK(...) FE_PARALLEL_FOR(i, first, last, ROWS, threads) __VA_ARGS__
#define BLOCK_END (i + ROWS < last ? i + ROWS : last)

static fe_status forces(const fe_problem *p, void *work, int op, fe_part part, const double *v, double *y)
{
    (void)work;
    const fe_view *m = &p->view;
    const int threads = p->device->threads;
    int first, last;
    fe_part_nodes(m, part, &first, &last);
#define CASE(KIND, name)                                                                                     \
    case KIND:                                                                                               \
        if (op == FE_RESIDUAL)                                                                               \
            EACH_BLOCK(rows_forces(KIND, FE_RESIDUAL, m, i, BLOCK_END, v, y));                               \
        else if (op == FE_JACVEC)                                                                            \
            EACH_BLOCK(rows_forces(KIND, FE_JACVEC, m, i, BLOCK_END, v, y));                                 \
        else                                                                                                 \
            EACH_BLOCK(rows_forces(KIND, FE_JACVEC_ELASTIC, m, i, BLOCK_END, v, y));                         \
        break;
    switch (p->kind) {
        FE_EACH_KIND(CASE)
    }
#undef CASE
    return FE_OK;
}
FE_FORCE_OPERATIONS(forces)

static fe_status diagonal(const fe_problem *p, void *work, double *d)
{
    (void)work;
    const fe_view *m = &p->view;
    const int threads = p->device->threads, first = 0, last = m->n_owned;
#define CASE(KIND, name)                                                                                     \
    case KIND: EACH_BLOCK(rows_diagonal(KIND, m, i, BLOCK_END, d)); break;
    switch (p->kind) {
        FE_EACH_KIND(CASE)
    }
#undef CASE
    return FE_OK;
}

const fe_assembly node_csr_host = {NULL, residual, fe_material_host, jacvec, diagonal};
