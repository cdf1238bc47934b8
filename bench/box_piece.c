/* Sizes of benchmark boxes and the piece of one that a rank holds; see box_piece.h. */
#include "bench/box_piece.h"
#include "bench/timed_mesh.h"

const char *const bench_pattern_names[BENCH_N_PATTERN] = {"clustered", "scattered", "zones", "part"};
const char *const bench_operand_names[BENCH_N_OPERAND] = {"random", "smooth"};

double bench_box_cell(const bench_box *box)
{
    int most = box->cells[0] > box->cells[1] ? box->cells[0] : box->cells[1];
    if (box->cells[2] > most) most = box->cells[2];
    return 1.0 / most;
}

void bench_box_cells(const bench_box *box, int cells[3])
{
    for (int i = 0; i < 3; i++) cells[i] = box->cells[i] * (box->weak ? box->grid[i] : 1);
}

/* The first of n nodes of an axis that rank r of g owns: node i belongs to rank i g / n. */
static int first_owned(int64_t r, int64_t g, int64_t n) { return (int)((r * n + g - 1) / g); }

/* A box is numbered along its grid, which is its lexicographic order. Quadratic ones are sorted by the
 * coordinates of their nodes instead, also where strategies choose an order (auto). */
static fe_status sort_piece(const bench_box *b, fe_mesh *mesh)
{
    const int is_sorted = b->order == FE_ORDER_LEXICOGRAPHIC || b->order == FE_ORDER_AUTO;
    if (is_sorted && !fe_is_quadratic(b->kind)) return FE_OK;
    return fe_mesh_reorder(mesh, is_sorted ? FE_ORDER_LEXICOGRAPHIC : b->order, 1);
}

fe_status bench_box_piece(const bench_box *b, int rank, fe_mesh *mesh, fe_partition *p)
{
    fe_box box = {.kind = fe_plain_kind(b->kind), .distort = 0.2, .seed = 1};
    const int steps = bench_steps(b->kind);
    int first[3], last[3], n_node[3];
    bench_box_cells(b, box.cells);
    p->n_rank = 1;
    for (int i = 0; i < 3; i++) {
        const int g = b->grid[i], n = steps * box.cells[i] + 1, place = rank % g;
        if (g > n)
            return fe_fail(FE_BAD_INPUT, "box: %d ranks along an axis of %d nodes, of which each needs one",
                           g, n);
        /* Nodes low to high, and the cells that these touch */
        const int low = first_owned(place, g, n), high = first_owned(place + 1, g, n) - 1;
        first[i] = low > 0 ? (low - 1) / steps : 0;
        last[i] = high < n - 1 ? high / steps + 1 : box.cells[i];
        n_node[i] = n;
        box.length[i] = box.cells[i] * bench_box_cell(b);
        rank /= g, p->n_rank *= g;
    }
    FE_TRY(fe_mesh_box_piece(&box, first, last, mesh));
    FE_TRY(sort_piece(b, mesh));
    FE_ALLOCATE(p->owner, mesh->n_node, "owners");
    for (int k = 0; k < mesh->n_node; k++) {
        int64_t number = mesh->node_tag[k] - 1;
        for (int i = 0, stride = 1; i < 3; i++) {
            p->owner[k] += stride * (int)(number % n_node[i] * b->grid[i] / n_node[i]);
            number /= n_node[i], stride *= b->grid[i];
        }
    }
    return FE_OK;
}
