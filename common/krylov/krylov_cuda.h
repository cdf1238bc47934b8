/* Entries of fe_krylov_steps_cuda that are in another file than the table: conjugate_cuda.cu. */
#ifndef FE_KRYLOV_CUDA_H
#define FE_KRYLOV_CUDA_H

#include "common/krylov/krylov_steps.h"

extern "C" {
fe_status fe_cuda_cg_begin(fe_device *d, const fe_cg_vectors *v, const double *b, double share,
                           double *scalars);
fe_status fe_cuda_cg_sums(fe_device *d, const fe_cg_vectors *v, double *from);
fe_status fe_cuda_cg_update(fe_device *d, const fe_cg_vectors *v, const double *from, double *to);
fe_status fe_cuda_cg_step(fe_device *d, const fe_cg_vectors *v, double *from, double *to);
fe_status fe_cuda_lanczos_step(fe_device *d, const fe_lanczos_vectors *l, double *from, double *to);
fe_status fe_cuda_lanczos_sums(fe_device *d, size_t n, const float *r, const float *u, const float *w,
                               double *out);
fe_status fe_cuda_lanczos_update(fe_device *d, size_t n, const double *from, float *w, int clear, float *s,
                                 float *r, double *to);
}

#endif
