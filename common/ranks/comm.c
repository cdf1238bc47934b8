/* Messages of ranks about each other's failures, the same for all communicators. */
#include "common/ranks/comm.h"

#include <string.h>

double fe_comm_timeout = 60.0;

static const char relayed[] = "another rank failed: ";

fe_status fe_comm_relay(fe_status status, const char *message)
{
    return fe_fail(status, "%s%s", relayed, message);
}

const char *fe_comm_cause(const char *message)
{
    const size_t length = sizeof relayed - 1;
    return strncmp(message, relayed, length) ? NULL : message + length;
}

fe_status fe_comm_overdue(int rank)
{
    return rank >= 0
               ? fe_fail(FE_FAILED, "rank %d has not answered for %g s (--timeout)", rank, fe_comm_timeout)
               : fe_fail(FE_FAILED, "all ranks answer, but have waited for each other for %g s (--timeout)",
                         fe_comm_timeout);
}
