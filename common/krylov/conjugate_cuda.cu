/* One iteration of conjugate gradients on the device: conjugate.h. Where no other rank adds to the sums it is
 * one kernel, else one for the sums and one for the update. */
#include "common/backend/cuda_device.h"
#include "common/krylov/conjugate.h"
#include "common/krylov/krylov_cuda.h"

#include <cooperative_groups.h>

enum { THREADS = 256, RESIDENT = 4, EACH = 3, CHUNK = EACH * THREADS };

/* fe_cg_vectors, and the same of floats for Lanczos' method, without p and x. */
template <typename T> struct vectors {
    size_t n;
    const T *u;
    T *w, *p, *s, *x, *r;
    bool clear;
    const uint8_t *held;
    fe_fine_start start; /* n 0: none */
    double *partial;     /* [3][FE_WAVE_BLOCKS] sums of blocks: of gamma, delta, r·r */
    unsigned *finished;
    double *landing; /* [2] r·r goes there in turn, too; NULL: nowhere */
    const float
        *inverse; /* Lanczos: [n / 6][6][6], of which the new z is made; NULL: it is not, or by start */
    float *z;
};

__device__ double warp_sum(double value)
{
#pragma unroll
    for (int half = 16; half > 0; half /= 2) value += __shfl_xor_sync(0xffffffffu, value, half);
    return value;
}

/* Sum over the block, in all of its threads; the order is fixed. */
__device__ double block_sum(double value)
{
    __shared__ double shared[THREADS / 32];
    value = warp_sum(value);
    __syncthreads(); /* shared may still be read from the call before */
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
    __syncthreads();
    double sum = 0.0;
#pragma unroll
    for (int i = 0; i < THREADS / 32; i++) sum += shared[i];
    return sum;
}

/* Each block stores its sums: partial [N][FE_WAVE_BLOCKS]. */
template <int N> __device__ void store_sums(const double value[N], double *partial)
{
#pragma unroll
    for (int k = 0; k < N; k++) {
        const double sum = block_sum(value[k]);
        if (threadIdx.x == 0) __stcg(partial + k * FE_WAVE_BLOCKS + blockIdx.x, sum);
    }
}

/* One of these sums over the grid, in the order of blocks, in all threads of the block that asks. */
__device__ double stored_sum(const double *partial)
{
    double sum = 0.0;
    for (unsigned i = threadIdx.x; i < gridDim.x; i += THREADS) sum += __ldcg(partial + i);
    return block_sum(sum);
}

/* The block that ends last adds the sums of all blocks. landing: NULL, or where the first goes, too. */
template <int N>
__device__ void grid_sum(const double value[N], double *partial, unsigned *finished, double *out,
                         double *landing = NULL)
{
    __shared__ bool last;
    store_sums<N>(value, partial);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd(finished, 1u) == gridDim.x - 1;
    __syncthreads();
    if (!last) return;
    __threadfence();
#pragma unroll
    for (int k = 0; k < N; k++) {
        const double sum = stored_sum(partial + k * FE_WAVE_BLOCKS);
        if (threadIdx.x == 0) out[k] = sum;
        if (threadIdx.x == 0 && k == 0 && landing) *(volatile double *)landing = sum;
    }
    if (threadIdx.x == 0) *finished = 0;
}

/* gamma and delta of this thread. */
template <typename T> __device__ void products(const vectors<T> &v, double sum[2])
{
    sum[0] = sum[1] = 0.0;
    for (size_t base = blockIdx.x * (size_t)CHUNK; base < v.n; base += gridDim.x * (size_t)CHUNK) {
        T r[EACH], u[EACH], w[EACH];
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const size_t i = base + k * THREADS + threadIdx.x;
            const bool inside = i < v.n;
            r[k] = inside ? v.r[i] : 0, u[k] = inside ? v.u[i] : 0, w[k] = inside ? v.w[i] : 0;
        }
#pragma unroll
        for (int k = 0; k < EACH; k++)
            sum[0] += (double)r[k] * (double)u[k], sum[1] += (double)w[k] * (double)u[k];
    }
}

/* The preconditioner's first step for a chunk, whose residual is in shared memory [CHUNK]: a thread has a
 * node, and then stores numbers side by side. */
__device__ void start_chunk(const fe_fine_start &start, size_t base, float *shared)
{
    const size_t node = base / 3 + threadIdx.x;
    __syncthreads();
    if (node < (size_t)start.n) {
        float D[6], y[3], *const own = shared + 3 * threadIdx.x;
#pragma unroll
        for (int c = 0; c < 3; c++) {
            const float2 two = ((const float2 *)(start.inverse + 6 * node))[c];
            D[2 * c] = two.x, D[2 * c + 1] = two.y;
        }
        const float r[3] = {own[0], own[1], own[2]};
        fe_apply_six(D, r, y);
#pragma unroll
        for (int c = 0; c < 3; c++) own[c] = start.sweep.new_factor * y[c];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        const int place = k * THREADS + threadIdx.x;
        if (base + place >= 3 * (size_t)start.n) break;
        start.x[base + place] = shared[place];
        if (start.direction) start.direction[base + place] = shared[place];
    }
    __syncthreads(); /* the next chunk writes there */
}

/* z of a chunk from the residual in shared memory, with 6 × 6 blocks. */
template <typename T> __device__ void invert_chunk(const vectors<T> &v, size_t base, const float *shared)
{
    __syncthreads();
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        const int place = k * THREADS + threadIdx.x;
        if (base + place >= v.n) break;
        const float2 *const row = (const float2 *)(v.inverse + 6 * (base + place));
        const float *const own = shared + place / 6 * 6;
        float sum = 0.0f;
#pragma unroll
        for (int c = 0; c < 3; c++) {
            const float2 two = row[c];
            sum += two.x * own[2 * c] + two.y * own[2 * c + 1];
        }
        v.z[base + place] = sum;
    }
    __syncthreads();
}

/* The update of this thread's entries; its part of r·r. */
template <typename T> __device__ double update(const vectors<T> &v, const fe_cg_step &step)
{
    __shared__ float shared[CHUNK];
    const T alpha = (T)step.alpha, beta = (T)step.beta, zero = 0;
    double sum = 0.0;
    for (size_t base = blockIdx.x * (size_t)CHUNK; base < v.n; base += gridDim.x * (size_t)CHUNK) {
        T w[EACH], s[EACH], r[EACH], u[EACH], p[EACH], x[EACH];
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const size_t i = base + k * THREADS + threadIdx.x;
            const bool inside = i < v.n, follows = inside && beta != zero, moves = inside && v.x;
            const bool held = inside && v.held && v.held[i];
            const T wi = inside ? v.w[i] : zero;
            w[k] = held ? zero : wi;
            s[k] = follows ? v.s[i] : zero, r[k] = inside ? v.r[i] : zero;
            u[k] = moves ? v.u[i] : zero, p[k] = moves && follows ? v.p[i] : zero,
            x[k] = moves ? v.x[i] : zero;
        }
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const int place = k * THREADS + threadIdx.x;
            const size_t i = base + place;
            if (i >= v.n) break;
            const T si = w[k] + beta * s[k], ri = r[k] - alpha * si;
            v.s[i] = si, v.r[i] = ri;
            if (v.clear) v.w[i] = zero;
            if (v.x) {
                const T pi = u[k] + beta * p[k];
                v.p[i] = pi, v.x[i] = x[k] + alpha * pi;
            }
            if (v.start.n || v.inverse) shared[place] = (float)ri;
            if (v.start.b) v.start.b[i] = (float)ri;
            sum += (double)ri * (double)ri;
        }
        if (v.start.n) start_chunk(v.start, base, shared);
        if (v.inverse) invert_chunk(v, base, shared);
    }
    return sum;
}

/* r·r after so many iterations from those of threads. */
template <typename T>
__device__ void sum_square(const vectors<T> &v, double sum, double iterations, double *to)
{
    grid_sum<1>(&sum, v.partial + 2 * FE_WAVE_BLOCKS, v.finished, to + FE_CG_SQUARE,
                v.landing ? fe_cg_landing(v.landing, iterations) : NULL);
}

/* From the scalars `from`, which every block has, and which no block changes. */
template <typename T> __device__ void update_and_pass(const vectors<T> &v, const double *from, double *to)
{
    const fe_cg_step step = fe_cg_step_of(from);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        fe_cg_pass(from, &step, to);
        if (step.end) to[FE_CG_SQUARE] = step.square;
        if (step.end && v.landing)
            *(volatile double *)fe_cg_landing(v.landing, from[FE_CG_COUNT] + 1.0) = step.square;
    }
    if (step.end) return;
    const double iterations = from[FE_CG_COUNT] + 1.0; /* in the other block, or a copy */
    sum_square(v, update(v, step), iterations, to);
}

__global__ void __launch_bounds__(THREADS, RESIDENT)
    cg_begin(vectors<double> v, const double *b, double share, double *to)
{
    __shared__ float shared[CHUNK];
    double sum = 0.0;
    for (size_t base = blockIdx.x * (size_t)CHUNK; base < v.n; base += gridDim.x * (size_t)CHUNK) {
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const int place = k * THREADS + threadIdx.x;
            const size_t i = base + place;
            if (i >= v.n) break;
            const double r = b[i];
            v.r[i] = r, v.x[i] = v.w[i] = 0.0;
            if (v.start.n) shared[place] = v.start.b[i] = (float)r;
            sum += r * r;
        }
        if (v.start.n) start_chunk(v.start, base, shared);
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) fe_cg_begin(share, to);
    sum_square(v, sum, 0.0, to);
}

template <typename T> __global__ void __launch_bounds__(THREADS, RESIDENT) cg_sums(vectors<T> v, double *out)
{
    double sum[2];
    products(v, sum);
    grid_sum<2>(sum, v.partial, v.finished, out);
}

template <typename T>
__global__ void __launch_bounds__(THREADS, RESIDENT) cg_update(vectors<T> v, const double *from, double *to)
{
    update_and_pass(v, from, to);
}

/* All blocks are there at the same time: each waits for the sums of all. */
template <typename T>
__global__ void __launch_bounds__(THREADS, RESIDENT) cg_step(vectors<T> v, double *from, double *to)
{
    __shared__ double now[FE_CG_SIZE];
    double sum[2];
    if (threadIdx.x < FE_CG_SIZE && threadIdx.x > FE_CG_DELTA) now[threadIdx.x] = from[threadIdx.x];
    products(v, sum);
    store_sums<2>(sum, v.partial);
    cooperative_groups::this_grid().sync();
    sum[0] = stored_sum(v.partial), sum[1] = stored_sum(v.partial + FE_WAVE_BLOCKS);
    if (threadIdx.x == 0) now[FE_CG_GAMMA] = sum[0], now[FE_CG_DELTA] = sum[1];
    __syncthreads();
    if (blockIdx.x == 0 && threadIdx.x == 0) from[FE_CG_GAMMA] = sum[0], from[FE_CG_DELTA] = sum[1];
    update_and_pass(v, now, to);
}

static unsigned blocks_of(size_t n)
{
    const unsigned chunks = fe_grid(n, CHUNK);
    return chunks < 1 ? 1 : chunks < FE_WAVE_BLOCKS ? chunks : FE_WAVE_BLOCKS;
}

/* Blocks of the kernels of a whole iteration that the device has at a time; 0: it cannot start them together.
 */
static fe_status ask_resident(cuda_device *c)
{
    int wide = 0, narrow = 0, cooperates = 0;
    CUDA_TRY(cudaDeviceGetAttribute(&cooperates, cudaDevAttrCooperativeLaunch, c->ordinal));
    CUDA_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&wide, cg_step<double>, THREADS, 0));
    CUDA_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&narrow, cg_step<float>, THREADS, 0));
    c->cg_resident = cooperates ? min(wide, narrow) * c->multiprocessors : 0;
    return FE_OK;
}

static vectors<double> vectors_of(cuda_device *c, const fe_cg_vectors *v)
{
    return {v->n,          v->u,           v->w,          v->p,    v->s,
            v->x,          v->r,           v->clear != 0, v->held, v->start ? *v->start : fe_fine_start{},
            c->cg_partial, c->cg_finished, v->landing};
}

template <typename T> static fe_status sums(fe_device *d, const vectors<T> &v, double *out)
{
    cg_sums<<<blocks_of(v.n), THREADS, 0, fe_cuda_stream(d)>>>(v, out);
    CUDA_TRY(cudaGetLastError());
    return FE_OK;
}

template <typename T>
static fe_status update(fe_device *d, const vectors<T> &v, const double *from, double *to)
{
    cg_update<<<blocks_of(v.n), THREADS, 0, fe_cuda_stream(d)>>>(v, from, to);
    CUDA_TRY(cudaGetLastError());
    return FE_OK;
}

extern "C" fe_status fe_cuda_cg_begin(fe_device *d, const fe_cg_vectors *v, const double *b, double share,
                                      double *scalars)
{
    cg_begin<<<blocks_of(v->n), THREADS, 0, fe_cuda_stream(d)>>>(vectors_of(self(d), v), b, share, scalars);
    CUDA_TRY(cudaGetLastError());
    return FE_OK;
}

extern "C" fe_status fe_cuda_cg_sums(fe_device *d, const fe_cg_vectors *v, double *from)
{
    return sums(d, vectors_of(self(d), v), from + FE_CG_GAMMA);
}

extern "C" fe_status fe_cuda_cg_update(fe_device *d, const fe_cg_vectors *v, const double *from, double *to)
{
    return update(d, vectors_of(self(d), v), from, to);
}

template <typename T> static fe_status step(fe_device *d, vectors<T> v, double *from, double *to)
{
    cuda_device *c = self(d);
    void *arguments[] = {&v, &from, &to};
    if (c->cg_resident < 0) FE_TRY(ask_resident(c));
    if (c->cg_resident < 1) {
        double *const copy = c->cg_partial + 3 * FE_WAVE_BLOCKS; /* `to` may be `from` */
        FE_TRY(sums(d, v, from + FE_CG_GAMMA));
        CUDA_TRY(cudaMemcpyAsync(copy, from, FE_CG_SIZE * sizeof *copy, cudaMemcpyDeviceToDevice, c->stream));
        return update(d, v, copy, to);
    }
    const unsigned blocks = blocks_of(v.n), most = (unsigned)c->cg_resident;
    CUDA_TRY(cudaLaunchCooperativeKernel(cg_step<T>, blocks < most ? blocks : most, THREADS, arguments, 0,
                                         c->stream));
    return FE_OK;
}

extern "C" fe_status fe_cuda_cg_step(fe_device *d, const fe_cg_vectors *v, double *from, double *to)
{
    return step(d, vectors_of(self(d), v), from, to);
}

extern "C" fe_status fe_cuda_lanczos_step(fe_device *d, const fe_lanczos_vectors *l, double *from, double *to)
{
    cuda_device *c = self(d);
    vectors<float> v = {};
    v.n = l->n, v.r = l->r, v.u = l->z, v.w = l->w, v.s = l->s, v.clear = l->clear != 0;
    v.partial = c->cg_partial, v.finished = c->cg_finished;
    if (l->block == 3)
        v.start.n = (int)(l->n / 3), v.start.inverse = l->inverse, v.start.sweep.new_factor = 1.0f,
        v.start.x = l->z;
    else
        v.inverse = l->inverse, v.z = l->z;
    return step(d, v, from, to);
}

extern "C" fe_status fe_cuda_lanczos_sums(fe_device *d, size_t n, const float *r, const float *u,
                                          const float *w, double *out)
{
    cuda_device *c = self(d);
    vectors<float> v = {};
    v.n = n, v.r = (float *)r, v.u = u, v.w = (float *)w, v.partial = c->cg_partial,
    v.finished = c->cg_finished;
    return sums(d, v, out);
}

extern "C" fe_status fe_cuda_lanczos_update(fe_device *d, size_t n, const double *from, float *w, int clear,
                                            float *s, float *r, double *to)
{
    cuda_device *c = self(d);
    vectors<float> v = {};
    v.n = n, v.r = r, v.s = s, v.w = w, v.clear = clear != 0, v.partial = c->cg_partial,
    v.finished = c->cg_finished;
    return update(d, v, from, to);
}
