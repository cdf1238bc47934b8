/* Ranks of a run: threads of this process, or this process as one of MPI's; each with its communicator and
 * its device. */
#ifndef FE_RANKS_H
#define FE_RANKS_H

#include "common/ranks/abandon.h"
#include "common/ranks/comm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What carries device memory between GPUs. AUTO: peer memory where NVLink joins all GPUs of one process,
 * where it is faster; otherwise NCCL. */
enum { FE_TRANSPORT_AUTO, FE_TRANSPORT_NCCL, FE_TRANSPORT_PEER, FE_N_TRANSPORT };
extern const char *const fe_transport_names[FE_N_TRANSPORT]; /* auto, nccl, peer */

typedef struct fe_ranks {
    const fe_backend *backend;
    int n_rank, threads; /* threads: of OpenMP for each rank; 0: fe_ranks_threads chooses */
    fe_mpi mpi;          /* ranks are its processes where its size is not 0 */
    int transport;
    int abandoned; /* out: a thread hangs, or MPI may still use a context; the program should end */
} fe_ranks;

/* OpenMP threads of a rank: those asked for, else its share of the cores, no more than OpenMP allows
 * (common/base/cores.h). */
int fe_ranks_threads(const fe_ranks *r);

/* The transport that is taken. */
int fe_ranks_transport(const fe_ranks *r);

/* Refuses what cannot be: more ranks than GPUs, several GPUs without NCCL, peers without GPUs. */
fe_status fe_ranks_check(const fe_ranks *r);

/* body(context, comm, device) on every rank of this process, each in a thread of its own if there are
 * several. When a rank fails, the others fail, too (comm.h); one that does not end then is abandoned. The
 * message is that of the first cause; it names the rank if not all failed in the same way. */
typedef fe_status (*fe_rank_body)(void *context, fe_comm *comm, fe_device *device);
fe_status fe_ranks_run(fe_ranks *r, fe_rank_body body, void *context);

/* body(argument) on rank 0 alone, which may take its time: a silent rank counts as hung, so rank 0 works in a
 * thread of its own and tells the others again and again that it still does. All ranks call it. */
fe_status fe_ranks_first(fe_comm *comm, void *(*body)(void *), void *argument);

#ifdef __cplusplus
}
#endif
#endif
