#include "common/multigrid/rank_sums.h"

enum { CHUNK = 1 << 20 };

/* Memory of a set-up's sums: it comes once, because CUDA takes its time for every piece. */
static fe_status open_sums(fe_setup *k)
{
    if (k->sums) return FE_OK;
    return fe_setup_failure(
        fe_device_reserve(k->d, CHUNK, sizeof *k->sums, "multigrid set-up", (void **)&k->sums));
}

fe_status fe_setup_failure(fe_status status)
{
    return status == FE_OUT_OF_MEMORY ? fe_fail(FE_FAILED, "%s", fe_message()) : status;
}

fe_status fe_multigrid_sum(fe_setup *k, size_t n, double *x)
{
    fe_comm *comm = k->m->comm;
    fe_device *d = k->d;
    if (comm->size == 1 || n == 0) return FE_OK;
    FE_TRY(open_sums(k));
    FE_TRY(comm->ops->barrier(comm)); /* none allocates while another one's device waits for it */
    for (size_t first = 0; first < n; first += CHUNK) {
        const size_t count = n - first < CHUNK ? n - first : CHUNK, bytes = count * sizeof *x;
        FE_TRY(d->ops->memory.upload(d, bytes, x + first, k->sums));
        FE_TRY(fe_comm_sum(comm, d, (int)count, k->sums));
        FE_TRY(d->ops->memory.download(d, bytes, k->sums, x + first));
    }
    return FE_OK;
}

fe_status fe_setup_agree(fe_setup *k, fe_status status, int *most)
{
    fe_comm *comm = k->m->comm;
    double words[2] = {status == FE_OUT_OF_MEMORY, most ? *most : 0};
    if (comm->size == 1 || k->agreed || (status != FE_OK && status != FE_OUT_OF_MEMORY)) return status;
    FE_TRY(open_sums(k));
    FE_TRY(k->d->ops->memory.upload(k->d, sizeof words, words, k->sums));
    FE_TRY(comm->ops->barrier(comm)); /* none allocates while another one's device waits for it */
    FE_TRY(fe_comm_largest(comm, k->d, 2, k->sums));
    FE_TRY(k->d->ops->memory.download(k->d, sizeof words, k->sums, words));
    if (most) *most = (int)words[1];
    k->agreed = words[0] > 0.0;
    if (!k->agreed || status != FE_OK) return status;
    return fe_fail(FE_OUT_OF_MEMORY, "multigrid set-up: another rank has too little memory");
}
