/* corner_gather on the device: one element per thread, of quadratic ones one point, then one number of a row
 * per thread. */
#include "common/problem/kernels.h"
#include "variants/corner_gather/assembly.h"

enum { BLOCK_SIZE = 128, WARPS = BLOCK_SIZE / FE_WARP, ROW_BLOCK_SIZE = 256 };

/* Numbers that are stored at once. */
template <int N> struct alignas(N * sizeof(fe_scalar)) together {
    fe_scalar a[N];
};

/* The warp's elements e, e + 1, … < last from shared memory to `value`, neighbours by neighbouring lanes. All
 * lanes call it. */
FE_BODY void store_elements(int kind, int width, int e, int last, const fe_scalar *kept, fe_scalar *value)
{
    const int size = width * fe_corners(kind), stride = corner_gather_stride(kind, width),
              elements = corner_gather_elements(kind), most = size * elements,
              n = size * min(last - e, elements);
    enum { N = 2 };
    fe_scalar *to = value + (size_t)size * e;
    __syncwarp();
    if (size % N == 0) {
        FE_UNROLL_FOR (int r = 0; r < most; r += N * FE_WARP) {
            const int i = r + N * fe_lane(), from = i + (stride - size) * (i / size);
            if (i < most && i < n) *(together<N> *)(to + i) = {kept[from], kept[from + 1]};
        }
    } else {
        FE_UNROLL_FOR (int r = 0; r < most; r += FE_WARP) {
            const int i = r + fe_lane();
            if (i < most && i < n) to[i] = kept[i + (stride - size) * (i / size)];
        }
    }
}

/* Number `at` of the rows from `first` on: the sum over the row's corners, in the view's order. out: numbers
 * of a row, three components or nine entries of a block. */
template <int OUT>
static __global__ void __launch_bounds__(ROW_BLOCK_SIZE)
    corner_gather_rows(fe_view m, const fe_scalar *value, int kind, int first, int last, fe_number *y)
{
    const int at = blockIdx.x * blockDim.x + threadIdx.x, row = first + at / OUT, i = at % OUT;
    if (row >= last) return;
    const int width = OUT == 3 ? 3 : 6, corners = fe_corners(kind), bits = fe_corner_bits(kind);
    const int c = OUT == 3 ? i : 0x245413530 >> 4 * i & 15; /* as fe_block_rows */
    const int start = m.corner_first[row], n = m.corner_first[row + 1] - start;
    const int *corner = m.corner + start;
    fe_number sum = 0.0f;
#pragma unroll 8
    for (int k = 0; k < n; k++) {
        const int code = corner[k], slot = corners * (code >> bits) + (code & ((1 << bits) - 1));
        sum += value[width * (size_t)slot + c];
    }
    y[OUT * (size_t)first + at] = sum;
}

/* Numbers of a warp in shared memory: those of three components of 32 Tet4, which no other kind exceeds. */
enum { KEPT = 13 * FE_WARP };

#define FORCES(KIND, name, OP, operation)                                                                    \
    __global__ void __launch_bounds__(BLOCK_SIZE) corner_gather_##operation##_##name(                        \
        fe_view m, corner_gather w, int first, int last, const fe_number *displacement)                      \
    {                                                                                                        \
        __shared__ fe_scalar kept[WARPS][KEPT];                                                              \
        fe_scalar *own = kept[threadIdx.x / FE_WARP];                                                        \
        const int e = first + fe_warp_first(corner_gather_elements(KIND));                                   \
        if (e >= last) return;                                                                               \
        if (fe_is_quadratic(KIND))                                                                           \
            corner_gather_spread_forces(KIND, OP, &m, e, last, displacement, own);                           \
        else                                                                                                 \
            corner_gather_forces(KIND, OP, &m, &w, e, last, displacement, own);                              \
        store_elements(KIND, 3, e, last, own, w.value);                                                      \
    }
#define KERNEL(KIND, name)                                                                                   \
    FE_EACH_OPERATION(FORCES, KIND, name)                                                                    \
    __global__ void __launch_bounds__(BLOCK_SIZE)                                                            \
        corner_gather_diagonal_##name(fe_view m, corner_gather w, int first, int last)                       \
    {                                                                                                        \
        __shared__ fe_scalar kept[WARPS][2 * KEPT];                                                          \
        fe_scalar *own = kept[threadIdx.x / FE_WARP];                                                        \
        const int e = first + fe_warp_first(corner_gather_elements(KIND));                                   \
        if (e >= last) return;                                                                               \
        if (fe_is_quadratic(KIND))                                                                           \
            corner_gather_spread_diagonal(KIND, &m, e, last, own);                                           \
        else                                                                                                 \
            corner_gather_diagonal(KIND, &m, &w, e, last, own);                                              \
        store_elements(KIND, 6, e, last, own, w.value);                                                      \
    }
FE_EACH_KIND(KERNEL)
#undef KERNEL
#undef FORCES

/* Lanes of n elements. */
static size_t lanes(const fe_problem *p, int n) { return (size_t)n * corner_gather_team(p->kind); }

static fe_status forces(const fe_problem *p, void *work, int op, fe_part part, const fe_number *displacement,
                        fe_number *y)
{
    const corner_gather *w = (const corner_gather *)work;
    int first, last;
    fe_part_elements(&p->view, part, &first, &last);
    FE_LAUNCH_OPERATION(p, op, lanes(p, last - first), BLOCK_SIZE, corner_gather, p->view, *w, first, last,
                        displacement);
    fe_part_nodes(&p->view, part, &first, &last);
    FE_LAUNCH(p->device, 3 * (size_t)(last - first), ROW_BLOCK_SIZE, corner_gather_rows<3>, p->view, w->value,
              p->kind, first, last, y);
    return FE_OK;
}
FE_FORCE_OPERATIONS(forces)

static fe_status diagonal(const fe_problem *p, void *work, void *d)
{
    const corner_gather *w = (const corner_gather *)work;
    FE_LAUNCH_KIND(p, lanes(p, p->view.n_elem), BLOCK_SIZE, corner_gather_diagonal, p->view, *w, 0,
                   p->view.n_elem);
    FE_LAUNCH(p->device, 9 * (size_t)p->view.n_owned, ROW_BLOCK_SIZE, corner_gather_rows<9>, p->view,
              w->value, p->kind, 0, p->view.n_owned, (fe_number *)d);
    return FE_OK;
}

FE_TABLE(corner_gather_cuda, .setup = corner_gather_setup,
         .setup_from = FE_SETUP_FROM(corner_gather_setup_from), .residual = residual,
         .material = fe_material_cuda, .jacvec = jacvec, .diagonal = diagonal, .traits = FE_STORES)
