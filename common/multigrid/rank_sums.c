#include "common/multigrid/rank_sums.h"

enum { CHUNK = 1 << 20 };

fe_status fe_setup_failure(fe_status status)
{
    return status == FE_OUT_OF_MEMORY ? fe_fail(FE_FAILED, "%s", fe_message()) : status;
}

fe_status fe_multigrid_sum(fe_device *d, fe_comm *comm, size_t n, double *x)
{
    double *all = NULL;
    if (comm->size == 1 || n == 0) return FE_OK;
    const size_t chunk = n < CHUNK ? n : CHUNK;
    FE_TRY(fe_setup_failure(fe_device_allocate(d, chunk, sizeof *all, "multigrid set-up", (void **)&all)));
    FE_TRY(comm->ops->barrier(comm));
    fe_status status = FE_OK;
    for (size_t first = 0; first < n && status == FE_OK; first += chunk) {
        const size_t count = n - first < chunk ? n - first : chunk, bytes = count * sizeof *x;
        status = d->ops->memory.upload(d, bytes, x + first, all);
        if (status == FE_OK) status = fe_comm_sum(comm, d, (int)count, all);
        if (status == FE_OK) status = d->ops->memory.download(d, bytes, all, x + first);
    }
    d->ops->memory.release(d, all);
    return status;
}

fe_status fe_setup_agree(fe_setup *k, fe_status status, int *most)
{
    fe_comm *comm = k->m->comm;
    double words[2] = {status == FE_OUT_OF_MEMORY, most ? *most : 0};
    if (comm->size == 1 || k->agreed || (status != FE_OK && status != FE_OUT_OF_MEMORY)) return status;
    if (!k->agreement)
        FE_TRY(fe_setup_failure(
            fe_device_allocate(k->d, 2, sizeof *words, "multigrid set-up", (void **)&k->agreement)));
    FE_TRY(k->d->ops->memory.upload(k->d, sizeof words, words, k->agreement));
    FE_TRY(comm->ops->barrier(comm)); /* none allocates while another one's device waits for it */
    FE_TRY(fe_comm_largest(comm, k->d, 2, k->agreement));
    FE_TRY(k->d->ops->memory.download(k->d, sizeof words, k->agreement, words));
    if (most) *most = (int)words[1];
    k->agreed = words[0] > 0.0;
    if (!k->agreed || status != FE_OK) return status;
    return fe_fail(FE_OUT_OF_MEMORY, "multigrid set-up: another rank has too little memory");
}
