/* A communicator for tests: ranks that are threads, whatever device each has, even the same one. Messages go
 * by way of host memory, so that several ranks can be tested on a machine with one GPU. */
#ifndef TESTS_STAGED_H
#define TESTS_STAGED_H

#include "common/ranks/comm.h"

/* host: a communicator for host memory, the caller's. Close this one, and then the device, after a barrier.
 */
fe_status staged_comm(fe_comm *host, fe_device *device, fe_comm **comm);

#endif
