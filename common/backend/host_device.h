/* What a device of the host backend holds, for the files of this backend. */
#ifndef FE_HOST_DEVICE_H
#define FE_HOST_DEVICE_H

#include "common/backend/device.h"

enum { BLOCK = 4096 }; /* rows of one partial sum: 32 KB of each vector */

typedef struct allocation {
    struct allocation *next;
    size_t bytes;
    char pad[48]; /* keeps the memory after it 64-byte aligned */
} allocation;

typedef struct host_device {
    fe_device base;
    allocation *memory;
    double *partial; /* [n_partial] sums of blocks */
    size_t n_partial;
    int phase;
    double since, seconds[FE_N_PHASE];
} host_device;

static inline host_device *self(fe_device *d) { return (host_device *)d; }
static inline size_t n_block(size_t n) { return (n + BLOCK - 1) / BLOCK; }
static inline size_t block_rows(size_t n, size_t b) { return n - b * BLOCK < BLOCK ? n - b * BLOCK : BLOCK; }

/* Operations of fe_backend (device.h) in host_krylov.c. */
fe_status fe_host_dot(fe_device *d, size_t n, const double *x, const double *y, double *out);
fe_status fe_host_dots(fe_device *d, size_t n, int k, fe_columns V, const double *w, double *out);
fe_status fe_host_dots_pair(fe_device *d, size_t n, int k, fe_columns V, const double *u, const double *w,
                            double *out);
fe_status fe_host_combine(fe_device *d, size_t n, int k, double sign, fe_columns V, const double *h,
                          double *y);
fe_status fe_host_store(fe_device *d, size_t n, const double *x, const double *a, fe_columns V, double *v);
fe_status fe_host_load(fe_device *d, size_t n, fe_columns V, double *v);
fe_status fe_host_hessenberg_column(fe_device *d, int j, int restart, double *workspace);
fe_status fe_host_hessenberg_solve(fe_device *d, int k, int restart, double *workspace, double *y);
fe_status fe_host_delayed_column(fe_device *d, size_t n, int j, int restart, double *workspace, fe_columns V,
                                 const double *u, double *w, const double *pair);
fe_status fe_host_delayed_finish(fe_device *d, int j, int restart, double *workspace, const double *s);
fe_status fe_host_cg_sums(fe_device *d, const fe_cg_vectors *v, double *from);
fe_status fe_host_cg_update(fe_device *d, const fe_cg_vectors *v, const double *from, double *to);
fe_status fe_host_cg_step(fe_device *d, const fe_cg_vectors *v, double *from, double *to);
fe_status fe_host_lanczos_sums(fe_device *d, size_t n, const float *r, const float *u, const float *w,
                               double *out);
fe_status fe_host_lanczos_update(fe_device *d, size_t n, const double *from, float *w, int clear, float *s,
                                 float *r, double *to);

#endif
