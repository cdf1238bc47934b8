/* patch on the device. A block computes a few patches: while one is computed, the next one's record and
 * values and the nodes of the one after that are on their way to shared memory. */
#include "common/problem/kernels.h"
#include "variants/patch/elements.h"
#include "variants/patch/sum.h"

#define LEAST_BLOCKS(kind, op) ((op) == PATCH_DIAGONAL ? 1 : PATCH_BLOCKS(kind, sizeof(fe_scalar)))

/* Patches of n that a block computes before it ends, where the device holds so many blocks. Measured on H100,
 * 6.4 M DoF: jacvec_elastic of Hex8 is then 1.10 times as fast as with persistent blocks (4 patches: 1.04),
 * that of Tet4 1.02 times (2: 0.99). 0.3 M DoF: Hex8 with one patch 1.09 times, Tet4 0.98. */
static int patch_rounds(int kind, int n, int blocks) { return fe_is_tet(kind) ? 4 : n < 4 * blocks ? 1 : 2; }

/* The patches of a block: a few of [first, last), `step` apart. Blocks end early, and the next block starts
 * on whichever multiprocessor is free first. So no block waits for a multiprocessor that is slow or was busy
 * at the start, and the border part, in a stream of higher priority, gets in between. */
typedef struct patch_span {
    int first, last, step, rounds;
} patch_span;
FE_BODY patch_span patch_span_of(int block, patch_span all)
{
    const int group = all.step * all.rounds, start = all.first + block / all.step * group;
    const patch_span own = {start + block % all.step, min(start + group, all.last), all.step, all.rounds};
    return own;
}

FE_BODY void patch_body(int kind, int op, const fe_view *m, const patch_plan *plan, patch_span span,
                        const fe_number *displacement, fe_number *y)
{
    const patch_memory s = patch_memory_open(kind, plan);
    const int halves = op == PATCH_DIAGONAL ? 2 : 1, fetched = patch_fetches(kind, op);
    const int step = span.step, last = span.last;
    int ahead[PATCH_FAN], patch = span.first;
    fe_number first[3];                     /* mixed precision: the input at the first node of the patch */
    if (plan->ordered) fe_let_next_start(); /* the second pass, which waits */
    patch_clear_padding(kind, &s);
    patch_fetch_head(&s, plan, 0, patch, last);
    __pipeline_commit();
    patch_fetch_head(&s, plan, 1, patch + step, last);
    patch_fetch_rest(&s, plan, 0, patch, last);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    if (op != PATCH_DIAGONAL) patch_fetch_values(&s, plan, 0, patch, last, displacement, first);
    __pipeline_commit();
    patch_here here = patch_open(&s, plan, 0);
    if (fetched && patch < last) patch_look_ahead(kind, op, m, &here, ahead);
    for (int i = 0; patch < last; i++, patch += step) {
        __pipeline_wait_prior(0);
        if (FE_PRECISION == FE_MIXED && op != PATCH_DIAGONAL) patch_round_values(&s, plan, i, first);
        __syncthreads();
        here = patch_open(&s, plan, i);
        if (fetched) patch_fetch_start(kind, op, m, &here, ahead);
        if (op != PATCH_DIAGONAL)
            patch_fetch_values(&s, plan, i + 1, patch + step, last, displacement, first);
        patch_fetch_rest(&s, plan, i + 1, patch + step, last);
        patch_fetch_head(&s, plan, i + 2, patch + 2 * step, last);
        __pipeline_commit();
        if (fetched && patch_fanned(kind)) { /* the point data of all threads */
            __pipeline_wait_prior(1);
            __syncthreads();
        }
        if (patch_transposes(kind, op)) {
            if (threadIdx.x < here.head->n_slot) patch_fan_strains(kind, plan, &here, threadIdx.x);
            __syncthreads();
            patch_full_stresses(kind, m, &here);
            __syncthreads();
        }
        for (int half = 0; half < halves; half++) {
            if (half) __syncthreads();
            if (op == PATCH_DIAGONAL)
                patch_elements_blocks(kind, half, m, plan, &here);
            else
                patch_elements_forces(kind, op, m, plan, &here);
            __syncthreads();
            const patch_here there = patch_open(&s, plan, i + 1);
            if (fetched && patch + step < last) patch_look_ahead(kind, op, m, &there, ahead);
            if (patch == span.first) fe_wait_for_earlier(); /* the output is cleared */
            patch_sum(kind, op, half, plan, &here, y);
        }
    }
}

#define BODY(KIND, OP, kernel)                                                                               \
    __global__ void __launch_bounds__(PATCH_THREADS(KIND), LEAST_BLOCKS(KIND, OP))                           \
        kernel(fe_view m, patch_plan plan, patch_span span, const fe_number *displacement, fe_number *y)     \
    {                                                                                                        \
        patch_body(KIND, OP, &m, &plan, patch_span_of(blockIdx.x, span), displacement, y);                   \
    }
#define OPERATION(KIND, name, OP, operation) BODY(KIND, OP, patch_##operation##_##name)
#define KERNEL(KIND, name)                                                                                   \
    FE_EACH_OPERATION(OPERATION, KIND, name)                                                                 \
    BODY(KIND, PATCH_DIAGONAL, patch_diagonal_##name)
FE_EACH_KIND(KERNEL)
#undef KERNEL
#undef OPERATION
#undef BODY

typedef void patch_kernel(fe_view, patch_plan, patch_span, const fe_number *, fe_number *);
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
        FE_EACH_OPERATION(TAKE, KIND, name)                                                                  \
        w->kernel[PATCH_DIAGONAL] = patch_diagonal_##name;                                                   \
        break;
#define TAKE(KIND, name, OP, operation) w->kernel[OP] = patch_##operation##_##name;
    switch (kind) {
        FE_EACH_KIND(CASE)
    }
#undef TAKE
#undef CASE
}

/* Kernels, and how many of their blocks the device holds. */
static fe_status fit_kernels(const fe_problem *p, patch_work *w)
{
    choose_kernels(p->kind, w);
    w->shared = (size_t)patch_shared_bytes(p->kind, &w->plan, (int)sizeof(fe_scalar), (int)sizeof(fe_number));
    int device = 0, processors = 0, most = 0;
    CUDA_TRY(cudaGetDevice(&device));
    CUDA_TRY(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
    CUDA_TRY(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    if (w->shared > (size_t)most)
        return fe_fail(FE_FAILED, "patch: %zu bytes of shared memory per block are needed, the device has %d",
                       w->shared, most);
    for (int i = 0; i < PATCH_N_OPERATION; i++) {
        if (!w->kernel[i]) continue; /* the kind has no kernel of Voce's law */
        int blocks = 0;              /* the limit is set per kernel, for all plans */
        CUDA_TRY(cudaFuncSetAttribute(w->kernel[i], cudaFuncAttributeMaxDynamicSharedMemorySize, most));
        CUDA_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, w->kernel[i], PATCH_THREADS(p->kind),
                                                               w->shared));
        w->blocks[i] = blocks * processors;
    }
    return FE_OK;
}

static fe_status open_patches(fe_problem *p, int ordered, void **work)
{
    int device = 0;
    FE_TRY(fe_device_keep(p->device, sizeof(patch_work), "patches", work));
    patch_work *w = (patch_work *)*work;
    patch_processor *s = &w->plan.processor;
    w->plan.ordered = ordered, w->plan.x_row = 3, w->plan.group = 1;
    CUDA_TRY(cudaGetDevice(&device));
    CUDA_TRY(cudaDeviceGetAttribute(&s->shared, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device));
    CUDA_TRY(cudaDeviceGetAttribute(&s->reserved, cudaDevAttrReservedSharedMemoryPerBlock, device));
    FE_TRY(patch_plan_open(p, FE_PRECISION, &w->plan));
    return fit_kernels(p, w);
}

static __global__ void patch_narrow(int kind, patch_plan from, patch_plan to)
{
    patch_narrow_record(kind, &from, &to, blockIdx.x, threadIdx.x, blockDim.x);
}

static fe_status setup_from(fe_problem *p, void *in_double, void **work)
{
    const patch_plan *from = &((const patch_work *)in_double)->plan;
    FE_TRY(fe_device_keep(p->device, sizeof(patch_work), "patches", work));
    patch_work *w = (patch_work *)*work;
    w->plan.x_row = 3, w->plan.group = 1;
    FE_TRY(patch_plan_narrow(p, from, &w->plan));
    FE_LAUNCH(p->device, (size_t)PATCH_BLOCK_SIZE * w->plan.n_patch, PATCH_BLOCK_SIZE, patch_narrow, p->kind,
              *from, w->plan);
    return fit_kernels(p, w);
}

static fe_status launch(const fe_problem *p, const patch_work *w, int operation, int first, int last,
                        const fe_number *displacement, fe_number *y)
{
    const int n = last - first, step = n < w->blocks[operation] ? n : w->blocks[operation];
    if (n == 0) return FE_OK;
    const patch_span span = {first, last, step, patch_rounds(p->kind, n, step)};
    const int group = step * span.rounds, rest = n % group;
    const int blocks = n / group * step + (rest < step ? rest : step);
    const cudaLaunchConfig_t config = fe_cuda_early(p->device, blocks, PATCH_THREADS(p->kind), w->shared);
    CUDA_TRY(cudaLaunchKernelEx(&config, w->kernel[operation], p->view, w->plan, span, displacement, y));
    return FE_OK;
}

/* The second pass: one number of a border row per thread. Few nodes have more than four rows. */
static __global__ void __launch_bounds__(PATCH_BLOCK_SIZE)
    patch_add_partial_sums(patch_plan plan, int width, fe_number *y)
{
    const int i = (blockIdx.x * blockDim.x + threadIdx.x) / width,
              c = (blockIdx.x * blockDim.x + threadIdx.x) % width, few = 4;
    if (i >= plan.n_border) return;
    const int first = plan.partial_first[i], last = plan.partial_first[i + 1];
    fe_number *to = y + (size_t)width * plan.border[i] + c, part[few];
    int row[few];
    FE_UNROLL_FOR (int k = 0; k < few; k++) row[k] = first + k < last ? plan.partial_row[first + k] : 0;
    fe_wait_for_earlier();
    fe_number sum = *to;
    FE_UNROLL_FOR (int k = 0; k < few; k++)
        if (first + k < last) part[k] = plan.partial_sums[(size_t)width * row[k] + c];
    FE_UNROLL_FOR (int k = 0; k < few; k++)
        if (first + k < last) sum += part[k];
    for (int k = first + few; k < last; k++)
        sum += plan.partial_sums[(size_t)width * plan.partial_row[k] + c];
    *to = sum;
}
static fe_status add_partial_sums(const fe_problem *p, const patch_plan *plan, int width, fe_number *y)
{
    p->device->overlaps = 1; /* with the last patches */
    FE_LAUNCH_EARLY(p->device, (size_t)width * plan->n_border, PATCH_BLOCK_SIZE, patch_add_partial_sums,
                    *plan, width, y);
    return FE_OK;
}

static fe_status forces(const fe_problem *p, void *work, int op, fe_part part, const fe_number *displacement,
                        fe_number *y)
{
    const patch_work *w = (const patch_work *)work;
    const patch_plan *plan = &w->plan;
    int first, last;
    patch_range(plan, part, &first, &last);
    FE_TRY(launch(p, w, op, first, last, displacement, y));
    return patch_adds_rows(plan, first, last) ? add_partial_sums(p, plan, 3, y) : FE_OK;
}
FE_FORCE_OPERATIONS(forces)

static fe_status diagonal(const fe_problem *p, void *work, void *blocks)
{
    fe_number *d = (fe_number *)blocks;
    const patch_work *w = (const patch_work *)work;
    FE_TRY(launch(p, w, PATCH_DIAGONAL, 0, w->plan.n_patch, NULL, d));
    return w->plan.ordered ? add_partial_sums(p, &w->plan, 9, d) : FE_OK;
}

static fe_status setup(fe_problem *p, void **work) { return open_patches(p, 0, work); }
static fe_status setup_ordered(fe_problem *p, void **work) { return open_patches(p, 1, work); }
FE_TABLE(patch_cuda, .setup = setup, .setup_from = FE_SETUP_FROM(setup_from), .residual = residual,
         .material = fe_material_cuda, .jacvec = jacvec, .diagonal = diagonal,
         .traits = FE_INDEPENDENT | FE_PIECES)
FE_TABLE(patch_ordered_cuda, .setup = setup_ordered, .setup_from = FE_SETUP_FROM(setup_from),
         .residual = residual, .material = fe_material_cuda, .jacvec = jacvec, .diagonal = diagonal,
         .traits = FE_PIECES)
