/* What a CUDA device holds, for the files of this backend. */
#ifndef FE_CUDA_DEVICE_H
#define FE_CUDA_DEVICE_H

#include "common/backend/cuda.h"

#include <cublas_v2.h>

/* FE_CG_BLOCKS: largest number of blocks in a kernel of conjugate gradients, four per multiprocessor of an
 * H100. */
enum { N_EVENT = 1024, FE_CG_BLOCKS = 528 };

struct allocation {
    allocation *next;
    void *memory;
    size_t bytes;
};

struct cuda_device {
    fe_device base;
    int ordinal;
    cudaStream_t stream, side; /* side: the side stream */
    cudaEvent_t forked, ended; /* where its work begins and has ended */
    cublasHandle_t blas;
    allocation *memory;
    double *constants;  /* 1, -1, 0: cuBLAS factors that live on the device */
    double *pinned;     /* [64] landing place of scalars */
    double *partial;    /* [panels][PAIR_BLOCKS][32] sums of blocks */
    unsigned *finished; /* [panels] blocks that have stored theirs */
    int panels;
    double *cg_partial; /* [2][FE_CG_BLOCKS] sums of blocks */
    unsigned *cg_finished;
    cudaEvent_t event[N_EVENT];
    int phase[N_EVENT]; /* phase that began at the event */
    int n_event;
    int recording;       /* work goes into a graph */
    int overlaps;        /* kernels know fe_wait_for_last_kernel */
    double *arrived;     /* [2] pinned */
    cudaEvent_t read[2]; /* a number has arrived */
    double seconds[FE_N_PHASE];
};

static inline cuda_device *self(fe_device *d) { return (cuda_device *)d; }

/* Operations of fe_backend (device.h) in cuda_krylov.cu, */
extern "C" {
fe_status fe_cuda_dots_pair(fe_device *d, size_t n, int k, const double *V, size_t ld, double *out);
fe_status fe_cuda_hessenberg_column(fe_device *d, int j, int restart, double *workspace);
fe_status fe_cuda_hessenberg_solve(fe_device *d, int k, int restart, double *workspace, double *y);
fe_status fe_cuda_delayed_column(fe_device *d, size_t n, int j, int restart, double *workspace, double *V,
                                 size_t ld, const double *pair);
fe_status fe_cuda_delayed_finish(fe_device *d, int j, int restart, double *workspace, const double *s);
/* and in cuda_conjugate.cu */
fe_status fe_cuda_cg_sums(fe_device *d, size_t n, const double *r, const double *u, const double *w,
                          double *out);
fe_status fe_cuda_cg_update(fe_device *d, size_t n, const double *from, const double *u, const double *w,
                            double *p, double *s, double *x, double *r, double *to);
}

#endif
