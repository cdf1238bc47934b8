/* A backend: memory, vector operations and a clock; and one opened device of it.
 *
 * Operations enqueue work in order and do not wait, except those that bring something to the host. Vectors
 * are backend memory; a "scalar" is one double in backend memory, so that iterations need no round trip. */
#ifndef FE_DEVICE_H
#define FE_DEVICE_H

#include "common/fe.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fe_device fe_device;

/* Where time goes: every call belongs to the phase that was named last. */
enum {
    FE_PHASE_MATERIAL,
    FE_PHASE_RESIDUAL,
    FE_PHASE_JACVEC,
    FE_PHASE_ORTHOGONALIZATION,
    FE_PHASE_PRECONDITION,
    FE_PHASE_EXCHANGE,
    FE_PHASE_OTHER,
    FE_N_PHASE
};

typedef struct fe_backend {
    const char *name;
    fe_status (*open)(int ordinal, int threads, fe_device **d);
    void (*close)(fe_device *d);
    /* memory */
    /* zeroed; a multiple of 64 bytes, which fe_device_allocate counts, and release counts back */
    fe_status (*allocate)(fe_device *d, size_t bytes, void **memory);
    void (*release)(fe_device *d, void *memory);
    fe_status (*zero)(fe_device *d, size_t bytes, void *memory);
    fe_status (*upload)(fe_device *d, size_t bytes, const void *host, void *memory);
    fe_status (*download)(fe_device *d, size_t bytes, const void *memory, void *host); /* waits */
    fe_status (*wait)(fe_device *d); /* also reports errors of enqueued work */
    /* vectors of n doubles */
    fe_status (*copy)(fe_device *d, size_t n, const double *x, double *y);           /* y = x            */
    fe_status (*axpy)(fe_device *d, size_t n, double a, const double *x, double *y); /* y += a x         */
    fe_status (*scale)(fe_device *d, size_t n, double a, double *x);                 /* x = a x          */
    fe_status (*axpy_scalar)(fe_device *d, size_t n, double sign, const double *a, const double *x,
                             double *y); /* y += sign *a x   */
    fe_status (*xpay_scalar)(fe_device *d, size_t n, const double *x, const double *a,
                             double *y); /* y = x + *a y */
    fe_status (*divide)(fe_device *d, size_t n, const double *x, const double *a,
                        double *y); /* y = x / *a, 0 where *a is 0 */
    /* V: k columns of n doubles, ld apart. out[j] = V_j · w;  y += sign V h. Sums have a fixed order. */
    fe_status (*dots)(fe_device *d, size_t n, int k, const double *V, size_t ld, const double *w,
                      double *out);
    fe_status (*combine)(fe_device *d, size_t n, int k, double sign, const double *V, size_t ld,
                         const double *h, double *y);
    /* u and w are the last two of V's k columns, read with the others in one pass: out[0][j] = V_j · u,
     * out[1][j] = V_j · w */
    fe_status (*dots_pair)(fe_device *d, size_t n, int k, const double *V, size_t ld, double *out);
    /* indexed by n entries of `at` */
    fe_status (*put)(fe_device *d, int n, const int *at, double a, const double *values,
                     double *x); /* x[at] = a values, 0 where values is NULL */
    fe_status (*take)(fe_device *d, int n, const int *at, const double *x, double *out); /* out = x[at] */
    fe_status (*take_nodes)(fe_device *d, int n, const int *node, const double *x,
                            double *out); /* out [n][3] = rows of x */
    fe_status (*take_sum)(fe_device *d, int n, const int *at, const double *x,
                          double *out);                                         /* *out = sum of x[at] */
    fe_status (*largest)(fe_device *d, size_t n, const double *x, double *out); /* largest |x_i| */
    /* *out += a hash of the bits of n 64-bit words; another order of additions does not change it */
    fe_status (*fingerprint)(fe_device *d, size_t n, const void *memory, uint64_t *out);
    /* 3×3 blocks [n_node][3][3]: constrained components become the identity, inverse in place, y = D x */
    fe_status (*constrain_blocks)(fe_device *d, int n, const int *at, double *D);
    fe_status (*invert_blocks)(fe_device *d, int n_node, double *D);
    fe_status (*apply_blocks)(fe_device *d, int n_node, const double *D, const double *x, double *y);
    /* scalars */
    fe_status (*ratio)(fe_device *d, const double *a, const double *b,
                       double *out); /* *a / *b, 0 where *b is 0 */
    fe_status (*square_root)(fe_device *d, double *a);
    /* column j of GMRES's Hessenberg matrix (fe_hessenberg_column), and its triangular solve */
    fe_status (*hessenberg_column)(fe_device *d, int j, int restart, double *workspace);
    fe_status (*hessenberg_solve)(fe_device *d, int k, int restart, double *workspace, double *y);
    /* Column j with delayed normalization (hessenberg.h), from dots_pair of the j + 2 columns V = (Q, u, w),
     * of which the last two become the next of the basis; and the end of column j - 1 alone */
    fe_status (*delayed_column)(fe_device *d, size_t n, int j, int restart, double *workspace, double *V,
                                size_t ld, const double *pair);
    fe_status (*delayed_finish)(fe_device *d, int j, int restart, double *workspace, const double *s);
    /* One iteration of conjugate gradients (conjugate.h): out[0] = r·u and out[1] = w·u in one pass; and the
     * update of p, s, x and r with the scalars `from`, which leaves those of the next iteration, r·r of this
     * rank among them, in `to` */
    fe_status (*cg_sums)(fe_device *d, size_t n, const double *r, const double *u, const double *w,
                         double *out);
    fe_status (*cg_update)(fe_device *d, size_t n, const double *from, const double *u, const double *w,
                           double *p, double *s, double *x, double *r, double *to);
    /* Work between begin and end goes beside what follows until `join`, and is to be small: it goes first
     * where both have some. Nothing waits in between. NULL in backends without. */
    fe_status (*beside_begin)(fe_device *d);
    fe_status (*beside_end)(fe_device *d);
    fe_status (*join)(fe_device *d);
    /* Between begin and end work is recorded instead of enqueued; replay enqueues all of it at once. A
     * recording is forgotten with `forget`, or with the device. NULL in backends without. Time of a recording
     * is that of the phase in which it is replayed. */
    fe_status (*record_begin)(fe_device *d);
    fe_status (*record_end)(fe_device *d, void **recording);
    fe_status (*replay)(fe_device *d, void *recording);
    /* One double on its way to the host beside further work, which may not change it: begun, and awaited
     * later. slot: 0 or 1, each for one number at a time. NULL like the others. */
    fe_status (*read_begin)(fe_device *d, int slot, const double *x);
    fe_status (*read_end)(fe_device *d, int slot, double *host);
    void (*forget)(fe_device *d, void *recording);
    /* From here on time counts for `phase`. seconds() waits and returns the sums since the last call. */
    fe_status (*phase)(fe_device *d, int phase);
    fe_status (*seconds)(fe_device *d, double seconds[FE_N_PHASE]);
} fe_backend;

/* What all devices share; a backend's own struct begins with it. */
struct fe_device {
    const fe_backend *ops;
    char name[128]; /* "NVIDIA H100 80GB HBM3", or the processor's name */
    int threads;    /* OpenMP threads of this rank, host */
    void *kept;     /* host memory of fe_device_keep */
    /* Asked from time to time while the host waits for this device since `since`; a failure ends the wait. */
    fe_status (*watch)(void *watcher, double since);
    void *watcher;
    size_t bytes_resident, bytes_peak;
    int64_t bytes_to_device, bytes_from_device;
};

extern const fe_backend fe_backend_host;
#if FE_HAVE_CUDA
extern const fe_backend fe_backend_cuda;
#endif

/* "host" or "cuda"; FE_BAD_INPUT says why a backend is not there (not built, no device). */
fe_status fe_backend_find(const char *name, const fe_backend **backend);
/* GPUs found; 0 in a build without CUDA. */
int fe_cuda_devices(void);
/* Cores this process may run on, all of them also where OMP_PROC_BIND ties the calling thread to one. */
int fe_host_cores(void);

/* Zeroed resident memory, released with the device. FE_OUT_OF_MEMORY names `what` and the bytes. */
fe_status fe_device_allocate(fe_device *d, size_t count, size_t size, const char *what, void **memory);
/* The same, filled from host memory. Both pad by 64 bytes. */
fe_status fe_device_upload(fe_device *d, size_t count, size_t size, const void *host, const char *what,
                           void **memory);
/* Zeroed host memory that lives as long as the device: a strategy's own struct of pointers into the device.
 */
fe_status fe_device_keep(fe_device *d, size_t size, const char *what, void **host);
/* The same, and release(*host) is called before the memory goes: for handles of libraries. It must accept
 * what is still zero. */
fe_status fe_device_keep_open(fe_device *d, size_t size, const char *what, void (*release)(void *host),
                              void **host);
/* Called by a backend's close, before memory and stream go. */
void fe_device_release_kept(fe_device *d);
/* Vector of n_local nodes (3 doubles each, padded). */
fe_status fe_device_vector(fe_device *d, int n_node, const char *what, double **x);

#ifdef __cplusplus
}
#endif
#endif
