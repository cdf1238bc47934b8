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

void bench_box_shape(const bench_box *box, int cells[3], int64_t *n_dof)
{
    *n_dof = 3;
    for (int i = 0; i < 3; i++) {
        cells[i] = box->cells[i] * (box->weak ? box->grid[i] : 1);
        *n_dof *= bench_steps(box->kind) * cells[i] + 1;
    }
}

/* The first of n nodes of an axis that rank r of g owns: node i belongs to rank i g / n. */
static int first_owned(int64_t r, int64_t g, int64_t n) { return (int)((r * n + g - 1) / g); }

/* Its middle nodes are numbered behind the vertices. `auto` stands for the lexicographic order instead. */
static fe_status quadratic_box(const bench_box *b, const fe_box *box, fe_mesh *mesh, fe_partition *p)
{
    if (p->n_rank > 1)
        return fe_fail(FE_BAD_INPUT,
                       "boxes of %s are of one rank; on several take --mesh irregular or a file of meshgen",
                       fe_kind_name(b->kind));
    FE_TRY(fe_mesh_box(box, mesh));
    FE_TRY(fe_mesh_reorder(mesh, b->order == FE_ORDER_AUTO ? FE_ORDER_LEXICOGRAPHIC : b->order, 1));
    FE_ALLOCATE(p->owner, mesh->n_node, "owners");
    return FE_OK;
}

fe_status bench_box_piece(const bench_box *b, int rank, fe_mesh *mesh, fe_partition *p)
{
    fe_box box = {.kind = fe_plain_kind(b->kind), .distort = 0.2, .seed = 1};
    int first[3], last[3];
    int64_t n_dof;
    bench_box_shape(b, box.cells, &n_dof);
    p->n_rank = 1;
    for (int i = 0; i < 3; i++) {
        const int g = b->grid[i], n = box.cells[i] + 1, place = rank % g;
        const int low = first_owned(place, g, n), high = first_owned(place + 1, g, n);
        first[i] = low > 0 ? low - 1 : 0, last[i] = high < n ? high : n - 1;
        box.length[i] = box.cells[i] * bench_box_cell(b);
        rank /= g, p->n_rank *= g;
    }
    if (fe_is_quadratic(b->kind)) return quadratic_box(b, &box, mesh, p);
    FE_TRY(fe_mesh_box_piece(&box, first, last, mesh));
    if (b->order != FE_ORDER_LEXICOGRAPHIC && b->order != FE_ORDER_AUTO) /* it is lexicographic */
        FE_TRY(fe_mesh_reorder(mesh, b->order, 1));
    FE_ALLOCATE(p->owner, mesh->n_node, "owners");
    for (int k = 0; k < mesh->n_node; k++) {
        int64_t number = mesh->node_tag[k] - 1;
        for (int i = 0, stride = 1; i < 3; i++) {
            const int n = box.cells[i] + 1;
            p->owner[k] += stride * (int)(number % n * b->grid[i] / n);
            number /= n, stride *= b->grid[i];
        }
    }
    return FE_OK;
}
