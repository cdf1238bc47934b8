/* element_color on the host: blocks of one colour are shared among threads, the elements of a block fill the
 * lanes. */
#include "common/problem/loops.h"
#include "variants/element_color/assembly.h"

static fe_status setup(fe_problem *p, void **work)
{
    return element_color_open(p, ELEMENT_COLOR_ELEMENTS(p->kind), ELEMENT_COLOR_MOST_NODES, 0, work);
}

/* Elements i, i + 1, … of a block, the last one repeated; returns how many there are. */
FE_BODY int take(int kind, const element_color_order *order, const element_color_block *b, int i, fe_index *e)
{
    const int *elem = order->elem + (size_t)ELEMENT_COLOR_ELEMENTS(kind) * b->place;
    for (int l = 0; l < FE_LANES; l++) e->lane[l] = elem[i + l < b->n_elem ? i + l : b->n_elem - 1];
    return b->n_elem - i < FE_LANES ? b->n_elem - i : FE_LANES;
}

/* y[node] += corner forces of a block's elements. Lanes are added one after the other. */
FE_BODY void block_forces(int kind, int op, const fe_view *m, const element_color_order *order, int block,
                          const fe_number *displacement, fe_number *y)
{
    const element_color_block b = order->block[block];
    for (int i = 0; i < b.n_elem; i += FE_LANES) {
        fe_index node[FE_MOST_CORNERS], e;
        fe_real x[FE_MOST_CORNERS][3], f[FE_MOST_CORNERS][3], force[FE_MOST_CORNERS][3];
        const int active = take(kind, order, &b, i, &e);
        const fe_element element = fe_element_load(kind, m, e, fe_no_turn(), node, x);
        fe_element_read(kind, node, displacement, f);
        fe_element_forces(kind, op, m, element, x, f, force);
        FE_UNROLL_FOR (int c = 0; c < fe_corners(kind); c++) fe_add3(y, node[c], active, 0, force[c]);
    }
}

/* d[node] += diagonal blocks of a block's elements. */
FE_BODY void block_diagonal(int kind, const fe_view *m, const element_color_order *order, int block,
                            fe_number *d)
{
    const element_color_block b = order->block[block];
    for (int i = 0; i < b.n_elem; i += FE_LANES) {
        fe_index node[FE_MOST_CORNERS], e;
        fe_real x[FE_MOST_CORNERS][3], entries[6], rows[3][3];
        const int active = take(kind, order, &b, i, &e);
        const fe_element element = fe_element_load(kind, m, e, fe_no_turn(), node, x);
        FE_UNROLL_LARGE_FOR (int c = 0; c < fe_corners(kind); c++) {
            fe_element_diagonal(kind, m, element, x, c, entries);
            fe_block_rows(entries, rows);
            FE_UNROLL_FOR (int r = 0; r < 3; r++) fe_add3(d, fe_times3(node[c], r), active, 0, rows[r]);
        }
    }
}

static fe_status forces(const fe_problem *p, void *work, int op, fe_part part, const fe_number *displacement,
                        fe_number *y)
{
    const element_color_order *order = work;
    const fe_view *m = &p->view;
    const int threads = p->device->threads;
    for (int color = 0; color < order->n_color[part]; color++) {
        const int first = order->first[part][color], last = order->first[part][color + 1];
#define FORCES(KIND, OP)                                                                                     \
    FE_PARALLEL_FOR (i, first, last, 1, threads) block_forces(KIND, OP, m, order, i, displacement, y)
        FE_FOR_OPERATION(p->kind, op, FORCES);
#undef FORCES
    }
    return FE_OK;
}
FE_FORCE_OPERATIONS(forces)

static fe_status diagonal(const fe_problem *p, void *work, void *blocks)
{
    const element_color_order *order = work;
    const fe_view *m = &p->view;
    const int threads = p->device->threads;
    fe_number *d = blocks;
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++)
        for (int color = 0; color < order->n_color[part]; color++) {
            const int first = order->first[part][color], last = order->first[part][color + 1];
#define DIAGONAL(KIND)                                                                                       \
    FE_PARALLEL_FOR (i, first, last, 1, threads) block_diagonal(KIND, m, order, i, d)
            FE_FOR_KIND(p->kind, DIAGONAL);
#undef DIAGONAL
        }
    return FE_OK;
}

FE_TABLE(element_color_host, .setup = setup, .setup_from = FE_SETUP_FROM(element_color_setup_from),
         .residual = residual, .material = fe_material_host, .jacvec = jacvec, .diagonal = diagonal,
         .traits = FE_PIECES)
