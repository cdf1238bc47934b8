/* patch on the device. Blocks stay for many patches: while one is computed, the next one's values and the
 * record of the one after that are on their way to shared memory. Two threads share a Hex8, a plane of points
 * each. */
#include "common/backend/cuda.h"
#include "common/problem/state.h"
#include "variants/patch/assembly.h"

#include <cuda_pipeline.h>

FE_BOTH int patch_team(int kind) { return kind == FE_HEX8 ? 2 : 1; }
#define PATCH_THREADS(kind) ((kind) == FE_TET4 || (kind) == FE_TET4_P4 ? 96 : 128)
/* Blocks of a multiprocessor that registers must suffice for. Hex8, 6.4 M DoF: 3 blocks of 168 registers are
 * 1.05 times faster than 4 of 128. */
enum { PATCH_DIAGONAL = FE_JACVEC_ELASTIC + 1, PATCH_N_OPERATION };
#define PATCH_BLOCKS(kind, op)                                                                               \
    ((op) == PATCH_DIAGONAL ? 1 : (kind) == FE_HEX8 ? 3 : (kind) == FE_HEX8_NAIVE ? 2 : 6)

/* Shared memory of a block: corner forces, two sets of input values, three records. */
typedef struct patch_memory {
    double *force, *value;
    char *record;
} patch_memory;
FE_BOTH int patch_values(const patch_plan *plan) { return 3 * plan->most_nodes + (plan->most_nodes & 1); }
FE_BOTH int patch_forces(int kind) { return 3 * fe_corners(kind) * patch_row(kind) + 1; }
static size_t patch_shared_bytes(int kind, const patch_plan *plan)
{
    return (patch_forces(kind) / 2 * 2 + 2 * patch_values(plan)) * sizeof(double) + 3 * (size_t)plan->stride;
}
FE_BODY patch_memory patch_memory_open(int kind, const patch_plan *plan)
{
    extern __shared__ double2 shared[]; /* aligned to 16 bytes */
    patch_memory s;
    s.force = (double *)shared;
    s.value = s.force + patch_forces(kind) / 2 * 2;
    s.record = (char *)(s.value + 2 * patch_values(plan));
    return s;
}

/* Starts the copy of a patch's record. */
FE_BODY void patch_fetch(const patch_plan *plan, int patch, int last, char *to)
{
    const char *from = plan->record + (size_t)patch * plan->stride;
    if (patch < last)
        for (int i = 16 * threadIdx.x; i < plan->stride; i += 16 * blockDim.x)
            __pipeline_memcpy_async(to + i, from + i, 16);
}

/* Starts the copies of v at the nodes of a record. */
FE_BODY void patch_stage(const patch_plan *plan, const char *record, int patch, int last, const double *v,
                         double *to)
{
    if (patch >= last) return;
    const int n = ((const patch_head *)record)->n_node, *node = (const int *)(record + plan->node);
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        for (int c = 0; c < 3; c++) __pipeline_memcpy_async(to + 3 * i + c, v + 3 * (size_t)node[i] + c, 8);
}

/* Nodes of a slot's corners in the patch, turned by 0 or 4. */
FE_BODY void patch_nodes(int kind, const char *conn, int slot, int turn, fe_index node[8])
{
    const int fours = fe_corners(kind) / 4;
    FE_UNROLL for (int i = 0; i < fours; i++)
    {
        const uint2 four = ((const uint2 *)conn)[fours * slot + (i ^ turn / 4)];
        node[4 * i] = four.x & 0xffff, node[4 * i + 1] = four.x >> 16;
        node[4 * i + 2] = four.y & 0xffff, node[4 * i + 3] = four.y >> 16;
    }
}

/* Corner forces of all elements of the patch. */
FE_BODY void patch_elements_forces(int kind, int op, const fe_view *m, const patch_plan *plan,
                                   const char *record, const double *value, double *force)
{
    const int team = patch_team(kind), held = fe_corners(kind) / team, row = patch_row(kind);
    FE_UNROLL for (int t = threadIdx.x, r = 0; r < patch_elements(kind) * team; r += PATCH_THREADS(kind))
    {
        const int slot = (t + r) / team, turn = (t + r) % team * held;
        fe_index node[8];
        fe_real x[8][3], v[8][3], y[8][3];
        const fe_element e = fe_element_open(m, ((const int *)(record + plan->elem))[slot], turn);
        patch_nodes(kind, record + plan->conn, slot, turn, node);
        fe_element_read(kind, node, (const double *)(record + plan->x), x);
        fe_element_read(kind, node, value, v);
        fe_points_forces(kind, op, m, e, fe_planes(kind) / team, fe_plane_points(kind), x, v, y);
        if (team == 2) /* the neighbour is turned by 4 more: its corner b + 4 is our corner b */
            FE_UNROLL for (int b = 0; b < 4; b++) FE_UNROLL for (int c = 0; c < 3; c++) y[b][c] +=
                __shfl_xor_sync(0xffffffffu, y[b + 4][c], 1);
        FE_UNROLL for (int b = 0; b < held; b++) FE_UNROLL for (int c = 0; c < 3; c++)
            force[(3 * (b + turn) + c) * row + slot] = y[b][c];
    }
}

/* Three entries of the corners' diagonal blocks: xx yy zz, or xy yz xz. */
FE_BODY void patch_elements_blocks(int kind, int half, const fe_view *m, const patch_plan *plan,
                                   const char *record, double *force)
{
    const int row = patch_row(kind);
    for (int slot = threadIdx.x; slot < patch_elements(kind); slot += PATCH_THREADS(kind)) {
        fe_index node[8];
        fe_real x[8][3], block[6];
        const fe_element e = fe_element_open(m, ((const int *)(record + plan->elem))[slot], 0);
        patch_nodes(kind, record + plan->conn, slot, 0, node);
        fe_element_read(kind, node, (const double *)(record + plan->x), x);
        FE_UNROLL for (int b = 0; b < fe_corners(kind); b++)
        {
            fe_element_diagonal(kind, m, e, x, b, block);
            FE_UNROLL for (int c = 0; c < 3; c++) force[(3 * b + c) * row + slot] =
                half ? block[3 + c] : block[c];
        }
    }
}

FE_BODY void patch_put(int inner, double *to, double sum)
{
    if (inner)
        *to = sum;
    else
        atomicAdd(to, sum);
}

/* Sums the corners of each node. A row of y is `width` numbers; place: where in it the three sums go, and the
 * two more places of a symmetric block's off-diagonal entries. */
FE_BODY void patch_sum(int kind, int op, int half, const patch_plan *plan, const char *record,
                       const double *force, double *y)
{
    const patch_head head = *(const patch_head *)record;
    const int *node = (const int *)(record + plan->node), row = patch_row(kind);
    const uint16_t *first = (const uint16_t *)(record + plan->first),
                   *corner = (const uint16_t *)(record + plan->corner);
    for (int i = threadIdx.x; i < head.n_node; i += PATCH_THREADS(kind)) {
        double sum[3] = {0.0, 0.0, 0.0};
        for (int k = first[i]; k < first[i + 1]; k++)
            for (int c = 0; c < 3; c++) sum[c] += force[corner[k] + c * row];
        const int inner = i < head.n_inner;
        if (op != PATCH_DIAGONAL) {
            for (int c = 0; c < 3; c++) patch_put(inner, y + 3 * (size_t)node[i] + c, sum[c]);
        } else {
            const int upper[3] = {1, 5, 2}, lower[3] = {3, 7, 6};
            double *to = y + 9 * (size_t)node[i];
            for (int c = 0; c < 3; c++) {
                patch_put(inner, to + (half ? upper[c] : 4 * c), sum[c]);
                if (half) patch_put(inner, to + lower[c], sum[c]);
            }
        }
    }
}

/* Patches first + blockIdx, and then each gridDim-th. */
FE_BODY void patch_body(int kind, int op, const fe_view *m, const patch_plan *plan, int first, int last,
                        const double *v, double *y)
{
    const patch_memory s = patch_memory_open(kind, plan);
    const int step = gridDim.x, halves = op == PATCH_DIAGONAL ? 2 : 1;
    int patch = first + blockIdx.x;
    patch_fetch(plan, patch, last, s.record);
    __pipeline_commit();
    patch_fetch(plan, patch + step, last, s.record + plan->stride);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    if (op != PATCH_DIAGONAL) patch_stage(plan, s.record, patch, last, v, s.value);
    __pipeline_commit();
    for (int i = 0; patch < last; patch += step, i++) {
        const char *record = s.record + i % 3 * plan->stride;
        __pipeline_wait_prior(0);
        __syncthreads();
        if (op != PATCH_DIAGONAL)
            patch_stage(plan, s.record + (i + 1) % 3 * plan->stride, patch + step, last, v,
                        s.value + (~i & 1) * patch_values(plan));
        patch_fetch(plan, patch + 2 * step, last, s.record + (i + 2) % 3 * plan->stride);
        __pipeline_commit();
        for (int half = 0; half < halves; half++) {
            if (half) __syncthreads();
            if (op == PATCH_DIAGONAL)
                patch_elements_blocks(kind, half, m, plan, record, s.force);
            else
                patch_elements_forces(kind, op, m, plan, record, s.value + (i & 1) * patch_values(plan),
                                      s.force);
            __syncthreads();
            patch_sum(kind, op, half, plan, record, s.force, y);
        }
    }
}

#define OPERATION(KIND, name, OP, operation)                                                                 \
    __global__ void __launch_bounds__(PATCH_THREADS(KIND), PATCH_BLOCKS(KIND, OP))                           \
        patch_##operation##_##name(fe_view m, patch_plan plan, int first, int last, const double *v,         \
                                   double *y)                                                                \
    {                                                                                                        \
        patch_body(KIND, OP, &m, &plan, first, last, v, y);                                                  \
    }
#define KERNEL(KIND, name)                                                                                   \
    FE_EACH_OPERATION(OPERATION, KIND, name)                                                                 \
    OPERATION(KIND, name, PATCH_DIAGONAL, diagonal)
FE_EACH_KIND(KERNEL)
#undef KERNEL
#undef OPERATION

typedef void patch_kernel(fe_view, patch_plan, int, int, const double *, double *);
typedef struct patch_work {
    patch_plan plan;
    patch_kernel *kernel[PATCH_N_OPERATION];
    int blocks[PATCH_N_OPERATION]; /* that the device holds at a time */
    size_t shared;
} patch_work;

static void choose_kernels(int kind, patch_work *w)
{
#define CASE(KIND, name)                                                                                     \
    case KIND:                                                                                               \
        w->kernel[FE_RESIDUAL] = patch_residual_##name;                                                      \
        w->kernel[FE_JACVEC] = patch_jacvec_##name;                                                          \
        w->kernel[FE_JACVEC_ELASTIC] = patch_jacvec_elastic_##name;                                          \
        w->kernel[PATCH_DIAGONAL] = patch_diagonal_##name;                                                   \
        break;
    switch (kind) {
        FE_EACH_KIND(CASE)
    }
#undef CASE
}

static fe_status setup(fe_problem *p, void **work)
{
    FE_TRY(fe_device_keep(p->device, sizeof(patch_work), "patches", work));
    patch_work *w = (patch_work *)*work;
    FE_TRY(patch_plan_open(p, &w->plan));
    choose_kernels(p->kind, w);
    w->shared = patch_shared_bytes(p->kind, &w->plan);
    int device = 0, processors = 0;
    CUDA_TRY(cudaGetDevice(&device));
    CUDA_TRY(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
    for (int i = 0; i < PATCH_N_OPERATION; i++) {
        int blocks = 0;
        CUDA_TRY(
            cudaFuncSetAttribute(w->kernel[i], cudaFuncAttributeMaxDynamicSharedMemorySize, (int)w->shared));
        CUDA_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, w->kernel[i], PATCH_THREADS(p->kind),
                                                               w->shared));
        w->blocks[i] = blocks * processors;
    }
    return FE_OK;
}

static fe_status launch(const fe_problem *p, const patch_work *w, int operation, int first, int last,
                        const double *v, double *y)
{
    const int blocks = last - first < w->blocks[operation] ? last - first : w->blocks[operation];
    if (blocks > 0)
        w->kernel[operation]<<<blocks, PATCH_THREADS(p->kind), w->shared, fe_cuda_stream(p->device)>>>(
            p->view, w->plan, first, last, v, y);
    CUDA_TRY(cudaPeekAtLastError());
    return FE_OK;
}

static fe_status forces(const fe_problem *p, void *work, int op, fe_part part, const double *v, double *y)
{
    const patch_work *w = (const patch_work *)work;
    int first, last;
    patch_range(&w->plan, part, &first, &last);
    return launch(p, w, op, first, last, v, y);
}
FE_FORCE_OPERATIONS(forces)

static fe_status diagonal(const fe_problem *p, void *work, double *d)
{
    const patch_work *w = (const patch_work *)work;
    return launch(p, w, PATCH_DIAGONAL, 0, w->plan.n_patch, NULL, d);
}

extern "C" const fe_assembly patch_cuda = {setup, residual, fe_material_cuda, jacvec, diagonal};
