/* element_color on the device: one launch per colour, one element per thread. */
#define FE_STARTS_EARLY
#include "common/problem/kernels.h"
#include "variants/element_color/assembly.h"

enum { BLOCK_SIZE = 128 };

/* Tet4: elements of one colour stand apart, so each of their nodes is in a cache line of its own. If a thread
 * read the nodes of its element, a warp would visit 32 lines per load, and each of them three times. So the
 * block reads and writes the rows of all its corners together, three neighbouring threads per row. On Hex8
 * this is slower (HISTORY.md). */
enum { CORNERS = 4, ROWS = CORNERS * BLOCK_SIZE };
typedef struct corner_rows {
    int node[ROWS]; /* [corner][thread] */
    fe_number x[ROWS][3];
    fe_number u[ROWS][3]; /* displacement, then forces */
} corner_rows;

/* Calls f(j, slot, c, i) for each number that the thread reads and writes, where number c of the row of this
 * slot is entry i of a vector. n: elements of the block. */
template <typename Function> FE_BODY void each_number(const corner_rows *s, int n, Function f)
{
    FE_UNROLL_FOR (int j = 0; j < 3 * CORNERS; j++) {
        const int k = j * BLOCK_SIZE + threadIdx.x, slot = k / 3;
        if (slot % BLOCK_SIZE < n) f(j, slot, k % 3, 3 * (size_t)s->node[slot] + k % 3);
    }
}

/* Forces of the thread's element, whose rows are in shared memory, take the place of its displacement. In
 * mixed precision corner 0 is subtracted before rounding, as in fe_element_read. */
FE_BODY void element_forces(int kind, int op, const fe_view *m, fe_element element, corner_rows *s)
{
    fe_real x[8][3], u[8][3], force[8][3];
    FE_UNROLL_FOR (int i = 0; i < 3 * CORNERS; i++) {
        const int slot = i / 3 * BLOCK_SIZE + threadIdx.x, c = i % 3;
        const bool from = FE_PRECISION == FE_MIXED;
        x[i / 3][c] = (fe_real)(from ? s->x[slot][c] - s->x[threadIdx.x][c] : s->x[slot][c]);
        u[i / 3][c] = (fe_real)(from ? s->u[slot][c] - s->u[threadIdx.x][c] : s->u[slot][c]);
    }
    fe_element_forces(kind, op, m, element, x, u, force);
    FE_UNROLL_FOR (int i = 0; i < 3 * CORNERS; i++)
        s->u[i / 3 * BLOCK_SIZE + threadIdx.x][i % 3] = force[i / 3][i % 3];
}

/* y[node] += corner forces of the elements at places [first, first + n), one per thread. The residual reads
 * the committed state. */
FE_BODY void block_forces(int kind, int op, const fe_view *m, const int *elem, int first, int n,
                          const fe_number *displacement, fe_number *y)
{
    __shared__ corner_rows s;
    const int t = threadIdx.x;
    if (t < n)
        FE_UNROLL_FOR (int b = 0; b < CORNERS; b++)
            s.node[b * BLOCK_SIZE + t] = m->conn[fe_corner_place(b, 0, m->ld, first + t)];
    __syncthreads();
    each_number(&s, n, [&](int, int slot, int c, size_t i) {
        s.x[slot][c] = fe_coordinates(m)[i], s.u[slot][c] = displacement[i];
    });
    __syncthreads();
    if (t < n) {
        const int e = fe_is_residual(op) ? elem[first + t] : first + t;
        fe_element element = fe_element_open(m, e, fe_no_turn());
        if (op == FE_JACVEC_FULL) element.e = elem[first + t]; /* full tangents stay in its order */
        element_forces(kind, op, m, element, &s);
    }
    __syncthreads();
    fe_number sum[3 * CORNERS];
    each_number(&s, n, [&](int j, int, int, size_t i) { sum[j] = y[i]; });
    each_number(&s, n, [&](int j, int slot, int c, size_t i) { y[i] = sum[j] + s.u[slot][c]; });
}

#define FORCES(KIND, name, OP, operation)                                                                    \
    __global__ void __launch_bounds__(BLOCK_SIZE) element_color_##operation##_##name(                        \
        fe_view m, const int *elem, int first, int last, const fe_number *displacement, fe_number *y)        \
    {                                                                                                        \
        fe_wait_for_earlier();                                                                               \
        const int start = first + blockIdx.x * blockDim.x, i = start + threadIdx.x;                          \
        if (FE_CORNERS(KIND) == CORNERS)                                                                     \
            block_forces(KIND, OP, &m, elem, start, min(last - start, BLOCK_SIZE), displacement, y);         \
        else if (i < last)                                                                                   \
            element_color_forces(KIND, OP, &m, elem, i, 1, displacement, y);                                 \
    }
#define KERNEL(KIND, name)                                                                                   \
    FE_EACH_OPERATION(FORCES, KIND, name)                                                                    \
    __global__ void __launch_bounds__(BLOCK_SIZE)                                                            \
        element_color_diagonal_##name(fe_view m, int first, int last, fe_number *d)                          \
    {                                                                                                        \
        fe_wait_for_earlier();                                                                               \
        const int i = first + blockIdx.x * blockDim.x + threadIdx.x;                                         \
        if (i < last) element_color_diagonal(KIND, &m, i, 1, d);                                             \
    }
FE_EACH_KIND(KERNEL)
#undef KERNEL
#undef FORCES

static __global__ void __launch_bounds__(BLOCK_SIZE)
    element_color_material(int kind, fe_view m, element_color_order order, int n_row)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < m.ld)
        for (int k = 0; k < n_row; k++)
            element_color_sort(kind, &m, &order, k / fe_points(kind), k % fe_points(kind), i);
}

/* The common update; then what jacvec reads is copied in the order of the places. */
static fe_status material(fe_problem *p, void *work, fe_linearization mode, const double *displacement)
{
    const element_color_order order = *(const element_color_order *)work;
    const int n_row = mode == FE_LINEARIZATION_ELASTIC ? 1 : FE_N_TANGENT * fe_points(p->kind);
    FE_TRY(fe_material_cuda(p, NULL, mode, displacement));
    FE_LAUNCH(p->device, p->view.ld, BLOCK_SIZE, element_color_material, p->kind,
              fe_problem_in(p, FE_PRECISION).view, order, n_row);
    return FE_OK;
}

static fe_status forces(const fe_problem *p, void *work, int op, fe_part part, const fe_number *displacement,
                        fe_number *y)
{
    const element_color_order *order = (const element_color_order *)work;
    const fe_view view = element_color_view(p, fe_is_residual(op), order);
    for (int color = 0; color < order->n_color[part]; color++) {
        const int first = order->first[part][color], last = order->first[part][color + 1];
        FE_LAUNCH_OPERATION(p, op, last - first, BLOCK_SIZE, element_color, view, order->elem, first, last,
                            displacement, y);
    }
    return FE_OK;
}
FE_FORCE_OPERATIONS(forces)

static fe_status diagonal(const fe_problem *p, void *work, void *blocks)
{
    const element_color_order *order = (const element_color_order *)work;
    const fe_view view = element_color_view(p, 0, order);
    for (int part = FE_INTERIOR; part <= FE_BORDER; part++)
        for (int color = 0; color < order->n_color[part]; color++) {
            const int first = order->first[part][color], last = order->first[part][color + 1];
            FE_LAUNCH_KIND(p, last - first, BLOCK_SIZE, element_color_diagonal, view, first, last,
                           (fe_number *)blocks);
        }
    return FE_OK;
}

FE_TABLE(element_color_cuda, .setup = element_color_setup,
         .setup_from = FE_SETUP_FROM(element_color_setup_from), .residual = residual, .material = material,
         .jacvec = jacvec, .diagonal = diagonal)
