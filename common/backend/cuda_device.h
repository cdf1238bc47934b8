/* What a CUDA device holds, for the files of this backend. */
#ifndef FE_CUDA_DEVICE_H
#define FE_CUDA_DEVICE_H

#include "common/backend/cuda.h"

#include <cublas_v2.h>

/* Largest numbers of blocks: of kernels whose blocks all run at a time, four per multiprocessor of an H100;
 * in a panel of sums with columns, two; and of panels in a launch. */
/* FE_FEW: doubles of a download that is quick. */
enum { FE_FEW = 64, N_EVENT = 1024, FE_WAVE_BLOCKS = 528, FE_SUM_BLOCKS = 264, FE_SUM_PANELS = 8 };

/* Places for what goes to the device without a wait. */
enum { FE_STAGED = 64, FE_STAGE_BYTES = 512 };

struct allocation {
    allocation *next;
    void *memory;
    size_t bytes;
};

struct cuda_device {
    fe_device base;
    int ordinal, multiprocessors;
    cudaStream_t stream, side; /* side: the side stream */
    cudaEvent_t forked, ended; /* where its work begins and has ended */
    cublasHandle_t blas;
    allocation *memory, *spare; /* spare: fe_cuda_leave_spare */
    size_t total;               /* bytes of the GPU */
    double *constants;          /* 1, -1, 0: cuBLAS factors that live on the device */
    double *pinned;             /* [FE_FEW] landing place of scalars; and the turn of those that are there, */
    uint64_t turn;              /* and of those that are to come */
    char *staged;               /* [FE_STAGED][FE_STAGE_BYTES] pinned: small uploads on their way */
    int n_staged;               /* places in use since the host last waited */
    double *partial;            /* [FE_SUM_PANELS][FE_SUM_BLOCKS][32] sums of blocks */
    unsigned *finished;         /* [FE_SUM_PANELS] blocks that have stored theirs */
    double *cg_partial;         /* [3][FE_WAVE_BLOCKS] sums of blocks, and room for CG's scalars */
    unsigned *cg_finished;
    int cg_resident; /* blocks of a whole step that the device has at the same time; 0: none; -1: not asked */
    cudaEvent_t event[N_EVENT];
    int phase[N_EVENT]; /* phase that began at the event */
    int n_event;
    int recording;             /* work goes into a graph */
    double unanswered;         /* when the wait began that the watcher ended; 0: none */
    int starts_early;          /* the device can start kernels early, */
    cudaLaunchAttribute early; /* with this (fe_cuda_early) */
    double *arrived;           /* [2] pinned */
    cudaEvent_t read[2];       /* a number has arrived, */
    int lands[2];              /* or it is there when the place is no longer empty */
    double seconds[FE_N_PHASE];
};

static inline cuda_device *self(fe_device *d) { return (cuda_device *)d; }

#define CUBLAS_TRY(call)                                                                                     \
    do {                                                                                                     \
        const cublasStatus_t cublas_try_status = (call);                                                     \
        if (cublas_try_status != CUBLAS_STATUS_SUCCESS)                                                      \
            return fe_fail(FE_FAILED, "%s:%d: cuBLAS: %s", __FILE__, __LINE__,                               \
                           cublasGetStatusString(cublas_try_status));                                        \
    } while (0)

/* Waits for an event, or where it is NULL for all enqueued work. */
fe_status fe_cuda_await(cuda_device *c, cudaEvent_t event);

/* Waits until a word that a kernel writes to the host is no longer `before`. */
fe_status fe_cuda_await_word(cuda_device *c, const volatile uint64_t *word, uint64_t before);

/* Operations of fe_backend (device.h) in cuda_stream.cu. */
extern "C" {
fe_status fe_cuda_phase(fe_device *d, int phase);
fe_status fe_cuda_seconds(fe_device *d, double seconds[FE_N_PHASE]);
fe_status fe_cuda_side_begin(fe_device *d);
fe_status fe_cuda_side_end(fe_device *d);
fe_status fe_cuda_side_join(fe_device *d);
fe_status fe_cuda_read_begin(fe_device *d, int slot, const double *x);
fe_status fe_cuda_read_end(fe_device *d, int slot, double *host);
double *fe_cuda_landing(fe_device *d);
void fe_cuda_expect(fe_device *d, int slot);
fe_status fe_cuda_record_begin(fe_device *d);
fe_status fe_cuda_record_end(fe_device *d, void **recording);
fe_status fe_cuda_replay(fe_device *d, void *recording);
void fe_cuda_forget(fe_device *d, void *recording);
}

#endif
