/* dof_csr on the device: one entry of the vector per thread, the three of a node side by side. */
#include "common/problem/kernels.h"
#include "common/problem/row_order.h"
#include "common/problem/visits.h"
#include "variants/dof_csr/assembly.h"

#include <cstdlib>

/* Threads that share an entry, each with every so manieth element. */
enum { BLOCK_SIZE = 128, TET4_BLOCK_SIZE = 96 };
FE_BOTH int block_size(int kind) { return fe_corners(kind) == 8 ? BLOCK_SIZE : TET4_BLOCK_SIZE; }

template <int TEAM>
static __device__ __forceinline__ fe_number part_force(int kind, int op, const fe_view *m, int row, int part,
                                                       int axis, const fe_number *displacement)
{
    fe_number sum = 0.0f;
    fe_real own[2][3];
    const int from = dof_csr_turns(kind, op) ? axis : 0;
    dof_csr_read3(fe_coordinates(m), row, from, own[0]);
    dof_csr_read3(displacement, row, from, own[1]);
    for (int k = m->corner_first[row] + part; k < m->corner_first[row + 1]; k += TEAM) {
        const int corner = m->corner[k];
        sum += dof_csr_force(kind, op, m, corner >> 3, corner & 7, axis, displacement, own);
    }
    return sum;
}

/* Entries of the block's rows. The parts of an entry are summed in a fixed order. */
template <int TEAM>
static __device__ __forceinline__ void block_forces(int kind, int op, const fe_view *m, const int *row, int n,
                                                    const fe_number *displacement, fe_number *part,
                                                    fe_number *y)
{
    const int rows = blockDim.x / (3 * TEAM), thread = threadIdx.x, own = thread / (3 * TEAM),
              at = blockIdx.x * rows + own;
    const bool active = own < rows && at < n;
    const int to = active ? row[at] : 0;
    if (active)
        part[thread] = part_force<TEAM>(kind, op, m, to, thread % (3 * TEAM) / 3, thread % 3, displacement);
    if (TEAM > 1) __syncthreads();
    if (!active || thread % (3 * TEAM) >= 3) return;
    fe_number sum = part[thread];
    FE_UNROLL_FOR (int i = 1; i < TEAM; i++) sum += part[thread + 3 * i];
    y[3 * (size_t)to + thread % 3] = sum;
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

#define FORCES(KIND, name, OP, operation)                                                                    \
    FORCES_OF(1, KIND, name, OP, operation)                                                                  \
    FORCES_OF(2, KIND, name, OP, operation) FORCES_OF(4, KIND, name, OP, operation)
#define FORCES_OF(TEAM, KIND, name, OP, operation)                                                           \
    static __global__ void __launch_bounds__(BLOCK_SIZE) dof_csr##TEAM##_##operation##_##name(               \
        fe_view m, const int *row, int n, const fe_number *displacement, fe_number *y)                       \
    {                                                                                                        \
        __shared__ fe_number part[BLOCK_SIZE];                                                               \
        block_forces<TEAM>(KIND, OP, &m, row, n, displacement, part, y);                                     \
    }
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

/* by visits */
enum { MOST_HEX8 = 256, MOST_TET4 = 96, WARP = 32 };
FE_BOTH int most_of(int kind) { return fe_corners(kind) == 8 ? MOST_HEX8 : MOST_TET4; }
template <int MOST> struct places {
    enum { N = 3 * MOST + 3 * MOST / 8 };
};

/* Three neighbours of a warp compute the directions of one visit. */
template <int MOST>
static __device__ __forceinline__ void group_forces(int kind, int op, const fe_view *m, const fe_visits *v,
                                                    int group, fe_number *force,
                                                    const fe_number *displacement, fe_number *y)
{
    const int lane = threadIdx.x % WARP, row = v->first[group], last = v->first[group + 1];
    const int start = m->corner_first[row], n = m->corner_first[last] - start;
    for (int at = 0; at < n; at += MOST) {
        const int part = n - at < MOST ? n - at : MOST;
        for (int i = lane; i < 3 * part; i += WARP) {
            const int axis = i % 3, corner = v->corner[start + at + i / 3],
                      to = 3 * v->place[start + at + i / 3] + axis;
            const int from = dof_csr_turns(kind, op) ? axis : 0;
            const int e = corner >> 3, turn = corner & 7, own_node = m->conn[(size_t)turn * m->ld + e];
            fe_real own[2][3];
            dof_csr_read3(fe_coordinates(m), own_node, from, own[0]);
            dof_csr_read3(displacement, own_node, from, own[1]);
            force[to + to / 24] = (fe_number)dof_csr_force(kind, op, m, e, turn, axis, displacement, own);
        }
        __syncwarp();
        for (int i = lane; i < 3 * (last - row); i += WARP) {
            const int r = row + i / 3, first = m->corner_first[r] - start - at,
                      end = m->corner_first[r + 1] - start - at;
            fe_number sum = at > 0 ? y[3 * (size_t)row + i] : 0.0f;
            for (int k = first > 0 ? first : 0; k < end && k < MOST; k++) {
                const int from = 3 * k + i % 3;
                sum += force[from + from / 24];
            }
            y[3 * (size_t)row + i] = sum;
        }
        __syncwarp();
    }
}
#define FORCES(KIND, name, OP, operation)                                                                    \
    static __global__ void __launch_bounds__(BLOCK_SIZE) dof_csrv_##operation##_##name(                      \
        fe_view m, fe_visits v, int first, int last, const fe_number *displacement, fe_number *y)            \
    {                                                                                                        \
        enum { MOST = KIND == FE_HEX8 || KIND == FE_HEX8_NAIVE ? MOST_HEX8 : MOST_TET4 };                    \
        __shared__ fe_number force[BLOCK_SIZE / WARP][places<MOST>::N];                                      \
        const int own = threadIdx.x / WARP, group = first + blockIdx.x * (BLOCK_SIZE / WARP) + own;          \
        if (group < last) group_forces<MOST>(KIND, OP, &m, &v, group, force[own], displacement, y);          \
    }
#define KERNEL(KIND, name) FE_EACH_OPERATION(FORCES, KIND, name)
FE_EACH_KIND(KERNEL)
#undef KERNEL
#undef FORCES

static fe_status forces(const fe_problem *p, void *work, int op, fe_part part, const fe_number *displacement,
                        fe_number *y)
{
    if (getenv("DOF_CSR_VISITS")) {
        const fe_visits *v = (const fe_visits *)work;
        int first, last;
        fe_part_groups(v, part, &first, &last);
        FE_LAUNCH_OPERATION(p, op, (size_t)WARP * (last - first), BLOCK_SIZE, dof_csrv, p->view, *v, first,
                            last, displacement, y);
        return FE_OK;
    }
    const int *row = *(const int *const *)work;
    const int team = getenv("DOF_CSR_TEAM") ? atoi(getenv("DOF_CSR_TEAM")) : 1;
    const int size = block_size(p->kind), rows = size / (3 * team);
    int first, last;
    fe_part_nodes(&p->view, part, &first, &last);
    const size_t n = (size_t)size * ((last - first + rows - 1) / rows);
    if (team == 1)
        FE_LAUNCH_OPERATION(p, op, n, size, dof_csr1, p->view, row + first, last - first, displacement, y);
    else if (team == 2)
        FE_LAUNCH_OPERATION(p, op, n, size, dof_csr2, p->view, row + first, last - first, displacement, y);
    else
        FE_LAUNCH_OPERATION(p, op, n, size, dof_csr4, p->view, row + first, last - first, displacement, y);
    return FE_OK;
}
FE_FORCE_OPERATIONS(forces)

static fe_status diagonal(const fe_problem *p, void *work, void *d)
{
    (void)work;
    FE_LAUNCH_KIND(p, 3 * (size_t)p->view.n_owned, BLOCK_SIZE, dof_csr_diagonal, p->view, (fe_number *)d);
    return FE_OK;
}

/* *work: the rows in the order in which threads take them. */
static fe_status setup(fe_problem *p, void **work)
{
    if (getenv("DOF_CSR_VISITS")) {
        FE_TRY(fe_device_keep(p->device, sizeof(fe_visits), "dof_csr", work));
        return fe_visits_open(p, most_of(p->kind), (fe_visits *)*work);
    }
    FE_TRY(fe_device_keep(p->device, sizeof(const int *), "dof_csr", work));
    return fe_rows_by_length_open(p, getenv("DOF_CSR_TEAM") ? atoi(getenv("DOF_CSR_TEAM")) : 1,
                                  (const int **)*work);
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
