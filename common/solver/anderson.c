/* Anderson acceleration of the outer iteration u → u + step(u) of displacements, depth m.
 *
 * With differences D of the last steps and X of the last displacements, the mixed step is
 * step - (X + D) gamma, gamma = argmin |step - D gamma|. Walker & Ni, SIAM J. Numer. Anal. 49 (2011). */
#include "common/solver/solver.h"

#include <lapacke.h>

enum { DEEPEST = 16 };

fe_status fe_anderson_open(fe_solver *s, int depth)
{
    fe_anderson *a = &s->anderson;
    *a = (fe_anderson){.depth = depth};
    if (depth == 0) return FE_OK;
    if (depth > DEEPEST) return fe_fail(FE_BAD_INPUT, "--anderson %d: is above %d", depth, DEEPEST);
    const size_t columns = (size_t)depth * s->krylov.stride;
    FE_TRY(fe_device_allocate(s->device, columns, sizeof(double), "Anderson history", (void **)&a->steps));
    FE_TRY(fe_device_allocate(s->device, columns, sizeof(double), "Anderson history",
                              (void **)&a->displacements));
    FE_TRY(
        fe_device_allocate(s->device, s->n_all, sizeof(double), "Anderson history", (void **)&a->last_step));
    FE_TRY(fe_device_allocate(s->device, s->n_all, sizeof(double), "Anderson history",
                              (void **)&a->last_displacement));
    return fe_device_allocate(s->device, (size_t)(depth + 1) * depth, sizeof(double), "Anderson matrix",
                              (void **)&a->small);
}

/* filled counts differences; -1 before the first step is known. */
void fe_anderson_reset(fe_solver *s) { s->anderson.filled = -1, s->anderson.next = 0; }

/* Replaces the oldest column by the newest differences. */
static fe_status push(fe_solver *s, const double *step)
{
    fe_device *d = s->device;
    fe_anderson *a = &s->anderson;
    if (a->filled >= 0) {
        double *D = a->steps + (size_t)a->next * s->krylov.stride;
        double *X = a->displacements + (size_t)a->next * s->krylov.stride;
        FE_TRY(d->ops->vector.copy(d, s->n, step, D));
        FE_TRY(d->ops->vector.axpy(d, s->n, -1.0, a->last_step, D));
        FE_TRY(d->ops->vector.copy(d, s->n, s->displacement, X));
        FE_TRY(d->ops->vector.axpy(d, s->n, -1.0, a->last_displacement, X));
        a->next = (a->next + 1) % a->depth;
    }
    if (a->filled < a->depth) a->filled++;
    FE_TRY(d->ops->vector.copy(d, s->n, step, a->last_step));
    return d->ops->vector.copy(d, s->n, s->displacement, a->last_displacement);
}

/* gamma of the normal equations D^T D gamma = D^T step, least norm where they are near singular. */
static fe_status solve_gamma(fe_solver *s, const double *step, int k, double *gamma)
{
    fe_device *d = s->device;
    fe_anderson *a = &s->anderson;
    const fe_columns steps = fe_columns_of(a->steps, s->krylov.stride);
    double matrix[DEEPEST * (DEEPEST + 1)], singular[DEEPEST];
    lapack_int rank;
    for (int j = 0; j < k; j++)
        FE_TRY(fe_krylov_steps_of(d)->dots(d, s->n, k, steps, a->steps + (size_t)j * steps.ld,
                                           a->small + j * k));
    FE_TRY(fe_krylov_steps_of(d)->dots(d, s->n, k, steps, step, a->small + k * k));
    FE_TRY(fe_comm_sum(s->comm, d, k * (k + 1), a->small));
    FE_TRY(d->ops->memory.download(d, (size_t)k * (k + 1) * sizeof *matrix, a->small, matrix));
    for (int i = 0; i < k; i++) gamma[i] = matrix[k * k + i];
    const lapack_int info =
        LAPACKE_dgelsd(LAPACK_COL_MAJOR, k, k, 1, matrix, k, gamma, k, singular, 1e-12, &rank);
    return info == 0 ? FE_OK
                     : fe_fail(FE_FAILED, "LAPACK dgelsd returned %d on Anderson's matrix", (int)info);
}

fe_status fe_anderson_mix(fe_solver *s, double *step)
{
    fe_device *d = s->device;
    fe_anderson *a = &s->anderson;
    double gamma[DEEPEST];
    FE_TRY(push(s, step));
    const int k = a->filled;
    if (k == 0) return FE_OK;
    FE_TRY(solve_gamma(s, step, k, gamma));
    FE_TRY(d->ops->memory.upload(d, (size_t)k * sizeof *gamma, gamma, a->small));
    const fe_columns steps = fe_columns_of(a->steps, s->krylov.stride),
                     displacements = fe_columns_of(a->displacements, s->krylov.stride);
    FE_TRY(fe_krylov_steps_of(d)->combine(d, s->n, k, -1.0, steps, a->small, step));
    return fe_krylov_steps_of(d)->combine(d, s->n, k, -1.0, displacements, a->small, step);
}
