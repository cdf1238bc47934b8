/* element_team on the device: element_team_elements() elements per warp. */
#define FE_STARTS_EARLY
#include "common/problem/kernels.h"
#include "variants/element_team/assembly.h"

/* 80 registers with 8 lanes per Hex8, 128 with 4 and 168 with 2: the most that a kernel uses without
 * spilling. 128 of quadratic elements. */
enum { BLOCK_SIZE = HEX8_TEAM == 2 ? 64 : 128 };
#define BLOCKS(kind) (HEX8_TEAM == 4 || (kind) == FE_TET10 || (kind) == FE_HEX27 ? 4 : 6)

#define FORCES(KIND, name, OP, operation)                                                                    \
    __global__ void __launch_bounds__(BLOCK_SIZE, BLOCKS(KIND)) element_team_##operation##_##name(           \
        fe_view m, int first, int last, const fe_number *displacement, fe_number *y)                         \
    {                                                                                                        \
        fe_wait_for_earlier();                                                                               \
        const int e = first + fe_warp_first(element_team_elements(KIND));                                    \
        if (e < last) element_team_forces(KIND, OP, &m, e, last, 1, displacement, y);                        \
    }
#define KERNEL(KIND, name)                                                                                   \
    FE_EACH_OPERATION(FORCES, KIND, name)                                                                    \
    __global__ void __launch_bounds__(BLOCK_SIZE) element_team_diagonal_##name(fe_view m, fe_number *d)      \
    {                                                                                                        \
        fe_wait_for_earlier();                                                                               \
        const int e = fe_warp_first(element_team_elements(KIND));                                            \
        if (e < m.n_elem) element_team_diagonal(KIND, &m, e, m.n_elem, 1, d);                                \
    }
FE_EACH_KIND(KERNEL)
#undef KERNEL
#undef FORCES

/* Lanes of n elements. */
static size_t lanes(const fe_problem *p, int n) { return (size_t)n * element_team_lanes(p->kind); }

static fe_status forces(const fe_problem *p, void *work, int op, fe_part part, const fe_number *displacement,
                        fe_number *y)
{
    (void)work;
    int first, last;
    fe_part_elements(&p->view, part, &first, &last);
    const size_t n = lanes(p, last - first);
    FE_LAUNCH_OPERATION(p, op, n, BLOCK_SIZE, element_team, p->view, first, last, displacement, y);
    return FE_OK;
}
FE_FORCE_OPERATIONS(forces)

static fe_status diagonal(const fe_problem *p, void *work, void *d)
{
    (void)work;
    FE_LAUNCH_KIND(p, lanes(p, p->view.n_elem), BLOCK_SIZE, element_team_diagonal, p->view, (fe_number *)d);
    return FE_OK;
}

FE_TABLE(element_team_cuda, .residual = residual, .material = fe_material_cuda, .jacvec = jacvec,
         .diagonal = diagonal, .traits = FE_INDEPENDENT)
