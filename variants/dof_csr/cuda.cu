/* dof_csr on the device: one entry of a corner's force per thread, the three of a corner side by side. */
#include "common/problem/kernels.h"
#include "common/problem/visits.h"
#include "variants/dof_csr/assembly.h"

#include <cstdlib>

enum { BLOCK_SIZE = 128, MOST_HEX8 = 1024, MOST_TET4 = 512 };
#define MOST(KIND) (KIND == FE_HEX8 || KIND == FE_HEX8_NAIVE ? MOST_HEX8 : MOST_TET4)

/* Force along `axis` on corner 0 of a turned element. */
FE_BODY fe_real corner_force(int kind, int op, const fe_view *m, int corner, int axis,
                             const fe_number *displacement)
{
    const int e = corner >> 3, turn = corner & 7, from = dof_csr_turns(kind, op) ? axis : 0;
    const int node = m->conn[(size_t)turn * m->ld + e];
    fe_real own[2][3];
    dof_csr_read3(fe_coordinates(m), node, from, own[0]);
    dof_csr_read3(displacement, node, from, own[1]);
    return dof_csr_force(kind, op, m, e, turn, axis, displacement, own);
}

template <int PIPE>
static __device__ __forceinline__ void group_forces(int kind, int op, const fe_view *m, const fe_visits *v,
                                                    int group, int most, fe_number *force,
                                                    const fe_number *displacement, fe_number *y)
{
    const int row = v->first[group], last = v->first[group + 1];
    const int start = m->corner_first[row], n = m->corner_first[last] - start;
    for (int from = 0; from < n; from += most) {
        const int part = n - from < most ? n - from : most;
        const int *corner = v->corner + start + from;
        const uint16_t *place = v->place + start + from;
        int next = 0, to = 0;
        if (PIPE && (int)threadIdx.x < 3 * part) next = corner[threadIdx.x / 3], to = place[threadIdx.x / 3];
#pragma unroll 1
        for (int i = threadIdx.x; i < 3 * part; i += BLOCK_SIZE) {
            if (!PIPE) next = corner[i / 3], to = place[i / 3];
            const int now = next, at = fe_visit_place(to) + i % 3;
            if (PIPE && i + BLOCK_SIZE < 3 * part)
                next = corner[(i + BLOCK_SIZE) / 3], to = place[(i + BLOCK_SIZE) / 3];
            force[at] = (fe_number)corner_force(kind, op, m, now, i % 3, displacement);
        }
        __syncthreads();
        fe_sum_visits(m, row, last, from, most, force, y);
        if (n > most) __syncthreads();
    }
}

FE_BODY void entry_diagonal(int kind, const fe_view *m, int row, int axis, fe_number *d)
{
    fe_real sum[3] = {0.0f, 0.0f, 0.0f}, own[3];
    fe_read3(fe_coordinates(m), row, own);
    for (int k = m->corner_first[row]; k < m->corner_first[row + 1]; k++) {
        const int corner = m->corner[k];
        fe_real block_row[3];
        dof_csr_block_row(kind, m, corner >> 3, corner & 7, axis, own, block_row);
        for (int i = 0; i < 3; i++) sum[i] += block_row[i];
    }
    for (int i = 0; i < 3; i++) d[9 * (size_t)row + 3 * axis + i] = sum[i];
}

#define FORCES_OF(PIPE, KIND, name, OP, operation)                                                           \
    __global__ void __launch_bounds__(BLOCK_SIZE) dof_csr##PIPE##_##operation##_##name(                      \
        fe_view m, fe_visits v, int first, const fe_number *displacement, fe_number *y)                      \
    {                                                                                                        \
        __shared__ fe_number force[FE_VISIT_PLACES(MOST(KIND))];                                             \
        group_forces<PIPE>(KIND, OP, &m, &v, first + blockIdx.x, MOST(KIND), force, displacement, y);        \
    }
#define FORCES(KIND, name, OP, operation)                                                                    \
    FORCES_OF(0, KIND, name, OP, operation) FORCES_OF(1, KIND, name, OP, operation)
#define KERNEL(KIND, name)                                                                                   \
    FE_EACH_OPERATION(FORCES, KIND, name)                                                                    \
    __global__ void __launch_bounds__(BLOCK_SIZE) dof_csr_diagonal_##name(fe_view m, fe_number *d)           \
    {                                                                                                        \
        const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                                            \
        if (i < 3 * (unsigned)m.n_owned) entry_diagonal(KIND, &m, i / 3, i % 3, d);                          \
    }
FE_EACH_KIND(KERNEL)
#undef KERNEL
#undef FORCES

static fe_status forces(const fe_problem *p, void *work, int op, fe_part part, const fe_number *displacement,
                        fe_number *y)
{
    const fe_visits *v = (const fe_visits *)work;
    int first, last;
    fe_part_groups(v, part, &first, &last);
    if (getenv("DOF_CSR_PIPE"))
        FE_LAUNCH_OPERATION(p, op, (size_t)BLOCK_SIZE * (last - first), BLOCK_SIZE, dof_csr1, p->view, *v,
                            first, displacement, y);
    else
        FE_LAUNCH_OPERATION(p, op, (size_t)BLOCK_SIZE * (last - first), BLOCK_SIZE, dof_csr0, p->view, *v,
                            first, displacement, y);
    return FE_OK;
}
FE_FORCE_OPERATIONS(forces)

static fe_status diagonal(const fe_problem *p, void *work, void *d)
{
    (void)work;
    FE_LAUNCH_KIND(p, 3 * (size_t)p->view.n_owned, BLOCK_SIZE, dof_csr_diagonal, p->view, (fe_number *)d);
    return FE_OK;
}

static fe_status setup(fe_problem *p, void **work)
{
    FE_TRY(fe_device_keep(p->device, sizeof(fe_visits), "dof_csr", work));
    return fe_visits_open(p, MOST(p->kind), (fe_visits *)*work);
}
static fe_status setup_from(fe_problem *p, void *in_double, void **work)
{
    (void)p;
    *work = in_double;
    return FE_OK;
}

FE_TABLE(dof_csr_cuda, .setup = setup, .setup_from = FE_SETUP_FROM(setup_from), .residual = residual,
         .material = fe_material_cuda, .jacvec = jacvec, .diagonal = diagonal,
         .traits = FE_STORES | FE_INDEPENDENT)
