/* One iteration of conjugate gradients on the device in two kernels: conjugate.h. */
#include "common/algebra/conjugate.h"
#include "common/backend/cuda_device.h"

enum { THREADS = 256, RESIDENT = 4 };

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

/* The block that ends last adds the sums of all blocks, partial [N][FE_CG_BLOCKS], in the order of blocks. */
template <int N>
__device__ void grid_sum(const double value[N], double *partial, unsigned *finished, double *out)
{
    __shared__ bool last;
#pragma unroll
    for (int k = 0; k < N; k++) {
        const double sum = block_sum(value[k]);
        if (threadIdx.x == 0) __stcg(partial + k * FE_CG_BLOCKS + blockIdx.x, sum);
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd(finished, 1u) == gridDim.x - 1;
    __syncthreads();
    if (!last) return;
    __threadfence();
#pragma unroll
    for (int k = 0; k < N; k++) {
        double sum = 0.0;
        for (unsigned i = threadIdx.x; i < gridDim.x; i += THREADS)
            sum += __ldcg(partial + k * FE_CG_BLOCKS + i);
        sum = block_sum(sum);
        if (threadIdx.x == 0) out[k] = sum;
    }
    if (threadIdx.x == 0) *finished = 0;
}

template <typename T>
__global__ void __launch_bounds__(THREADS, RESIDENT)
    cg_sums(size_t n, const T *__restrict__ r, const T *__restrict__ u, const T *__restrict__ w,
            double *partial, unsigned *finished, double *out)
{
    double sum[2] = {0.0, 0.0};
    const size_t step = gridDim.x * (size_t)THREADS;
    for (size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x; i < n; i += step) {
        const double ui = u[i];
        sum[0] += (double)r[i] * ui, sum[1] += (double)w[i] * ui;
    }
    grid_sum<2>(sum, partial, finished, out);
}

/* Without p and x if x is NULL. */
template <typename T>
__global__ void __launch_bounds__(THREADS, RESIDENT)
    cg_update(size_t n, const double *from, const T *__restrict__ u, T *__restrict__ w, bool clear,
              const uint8_t *__restrict__ held, T *__restrict__ p, T *__restrict__ s, T *__restrict__ x,
              T *__restrict__ r, double *partial, unsigned *finished, double *to)
{
    const fe_cg_step step = fe_cg_step_of(from);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        fe_cg_pass(from, &step, to);
        if (step.end) to[FE_CG_SQUARE] = step.square;
    }
    if (step.end) return;
    double sum = 0.0;
    const T alpha = (T)step.alpha, beta = (T)step.beta, zero = 0;
    const size_t stride = gridDim.x * (size_t)THREADS;
    for (size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x; i < n; i += stride) {
        const T wi = held && held[i] ? zero : w[i], si = beta != zero ? wi + beta * s[i] : wi;
        const T ri = r[i] - alpha * si;
        s[i] = si, r[i] = ri;
        if (clear) w[i] = zero;
        if (x) {
            const T pi = beta != zero ? u[i] + beta * p[i] : u[i];
            p[i] = pi, x[i] += alpha * pi;
        }
        sum += (double)ri * (double)ri;
    }
    grid_sum<1>(&sum, partial, finished, to + FE_CG_SQUARE);
}

static unsigned blocks_of(size_t n)
{
    const unsigned chunks = fe_grid(n, THREADS);
    return chunks < 1 ? 1 : chunks < FE_CG_BLOCKS ? chunks : FE_CG_BLOCKS;
}

template <typename T>
static fe_status sums(fe_device *d, size_t n, const T *r, const T *u, const T *w, double *out)
{
    cuda_device *c = self(d);
    cg_sums<<<blocks_of(n), THREADS, 0, c->stream>>>(n, r, u, w, c->cg_partial, c->cg_finished, out);
    CUDA_TRY(cudaGetLastError());
    return FE_OK;
}

template <typename T>
static fe_status update(fe_device *d, size_t n, const double *from, const T *u, T *w, int clear,
                        const uint8_t *held, T *p, T *s, T *x, T *r, double *to)
{
    cuda_device *c = self(d);
    cg_update<<<blocks_of(n), THREADS, 0, c->stream>>>(n, from, u, w, clear, held, p, s, x, r, c->cg_partial,
                                                       c->cg_finished, to);
    CUDA_TRY(cudaGetLastError());
    return FE_OK;
}

extern "C" fe_status fe_cuda_cg_sums(fe_device *d, size_t n, const double *r, const double *u,
                                     const double *w, double *out)
{
    return sums(d, n, r, u, w, out);
}

extern "C" fe_status fe_cuda_cg_update(fe_device *d, size_t n, const double *from, const double *u, double *w,
                                       int clear, const uint8_t *held, double *p, double *s, double *x,
                                       double *r, double *to)
{
    return update(d, n, from, u, w, clear, held, p, s, x, r, to);
}

extern "C" fe_status fe_cuda_lanczos_sums(fe_device *d, size_t n, const float *r, const float *u,
                                          const float *w, double *out)
{
    return sums(d, n, r, u, w, out);
}

extern "C" fe_status fe_cuda_lanczos_update(fe_device *d, size_t n, const double *from, float *w, int clear,
                                            float *s, float *r, double *to)
{
    return update<float>(d, n, from, NULL, w, clear, NULL, NULL, s, NULL, r, to);
}
