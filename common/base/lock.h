/* Locks of outputs: two runs never write the same one. Beside an output stands PATH.lock, which the system
 * locks for as long as the run has it open, so that a run that is killed leaves no lock behind, though it may
 * leave the file, which the next run takes over.
 *
 * The locks are flock's, which Linux hands on to NFS and to parallel file systems. Where a file system has
 * none, or the file cannot be made, a run goes on without; where it has none, a note says so. */
#ifndef FE_LOCK_H
#define FE_LOCK_H

#include "common/base/fe.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fe_lock {
    int file;
    char *path; /* of the lock; NULL: not locked */
} fe_lock;

/* FE_BAD_INPUT where another run writes `path`, with the process and the machine that do, and where what is
 * called PATH.lock is no lock of a run: it stays as it is. A device or pipe has no lock. */
fe_status fe_lock_open(fe_lock *l, const char *path);
/* Accepts a zeroed object. */
void fe_lock_close(fe_lock *l);

/* Locks an open file itself, until it is closed: one that is written in place, and not a device or a pipe.
 * FE_BAD_INPUT as above. */
fe_status fe_lock_file(int file, const char *path);

#ifdef __cplusplus
}
#endif
#endif
