/* A backend: memory, vector operations and a clock; and one opened device of it.
 *
 * Operations enqueue work in order and do not wait, except those that bring something to the host. Vectors
 * are backend memory; a "scalar" is one double in backend memory, so that iterations need no round trip. */
#ifndef FE_DEVICE_H
#define FE_DEVICE_H

#include "common/base/fe.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fe_device fe_device;

/* Where time goes: every call belongs to the phase that was named last. Sums over ranks are told apart from
 * the Krylov method's own vectors; of the preconditioner the strategy's products on the finest level, and the
 * coarser levels with all transfers, which on request are transfers and a phase for each level, the last one
 * with all below it. A device counts as host the time in which it waits for a number to get there; the host
 * backend never does. */
enum { FE_PHASE_LEVELS = 6 };
enum {
    FE_PHASE_MATERIAL,
    FE_PHASE_RESIDUAL,
    FE_PHASE_JACVEC,
    FE_N_OWN, /* operations of the strategy */
    FE_PHASE_ORTHOGONALIZATION = FE_N_OWN,
    FE_PHASE_REDUCTION,
    FE_PHASE_PRECONDITION,
    FE_PHASE_PRECONDITION_PRODUCT,
    FE_PHASE_PRECONDITION_COARSE,
    FE_PHASE_PRECONDITION_TRANSFER,
    FE_PHASE_PRECONDITION_LEVEL, /* the first of FE_PHASE_LEVELS */
    FE_PHASE_EXCHANGE = FE_PHASE_PRECONDITION_LEVEL + FE_PHASE_LEVELS,
    FE_PHASE_HOST,
    FE_PHASE_OTHER,
    FE_N_PHASE
};

typedef struct fe_memory_operations {
    /* zeroed, or not; a multiple of 64 bytes, which fe_device_allocate and _reserve count, and release counts
     * back */
    fe_status (*allocate)(fe_device *d, size_t bytes, void **memory);
    fe_status (*reserve)(fe_device *d, size_t bytes, void **memory);
    void (*release)(fe_device *d, void *memory);
    fe_status (*zero)(fe_device *d, size_t bytes, void *memory);
    /* the same for an output. Sets `overlaps` where the kernel that is enqueued next may start meanwhile */
    fe_status (*clear)(fe_device *d, size_t bytes, void *memory);
    fe_status (*upload)(fe_device *d, size_t bytes, const void *host, void *memory);
    fe_status (*download)(fe_device *d, size_t bytes, const void *memory, void *host); /* waits */
    /* *out += a hash of the bits of n 64-bit words; it does not depend on the order of additions */
    fe_status (*fingerprint)(fe_device *d, size_t n, const void *memory, uint64_t *out);
} fe_memory_operations;

/* A scalar product x · y of n entries: of those `at`, or where that is NULL of the first n. */
typedef struct fe_scalar_product {
    size_t n;
    const int *at;
    const double *x, *y;
} fe_scalar_product;
enum { FE_MOST_PRODUCTS = 8 };

/* Groups of entries of a vector: at [first[n]], those of group g from first[g] on. */
typedef struct fe_groups {
    int n;
    int *first, *at;
} fe_groups;

/* Vectors of n doubles, and scalars. */
typedef struct fe_vector_operations {
    fe_status (*copy)(fe_device *d, size_t n, const double *x, double *y);           /* y = x   */
    fe_status (*axpy)(fe_device *d, size_t n, double a, const double *x, double *y); /* y += a x */
    fe_status (*scale)(fe_device *d, size_t n, double a, double *x);                 /* x = a x */
    /* out = x + a y */
    fe_status (*add)(fe_device *d, size_t n, const double *x, double a, const double *y, double *out);
    fe_status (*dot)(fe_device *d, size_t n, const double *x, const double *y, double *out); /* x · y */
    /* out [n] = up to FE_MOST_PRODUCTS of them */
    fe_status (*dots)(fe_device *d, int n, const fe_scalar_product *product, double *out);
    fe_status (*largest)(fe_device *d, size_t n, const double *x, double *out); /* largest |x_i| */
    /* Of n entries `at`: x[at] = a values, 0 where values is NULL; out = x[at] */
    fe_status (*put)(fe_device *d, int n, const int *at, double a, const double *values, double *x);
    fe_status (*take)(fe_device *d, int n, const int *at, const double *x, double *out);
    /* out [groups] = the sum of x - y over each group's entries; y NULL: zero */
    fe_status (*take_sums)(fe_device *d, const fe_groups *groups, const double *x, const double *y,
                           double *out);
    /* out [n][3] = rows of x */
    fe_status (*take_nodes)(fe_device *d, int n, const int *node, const double *x, double *out);
    /* out [n][3] in single precision = rows of x minus row `origin` */
    fe_status (*round_nodes)(fe_device *d, int n, int origin, const double *x, float *out);
    fe_status (*square_root)(fe_device *d, double *a); /* scalar: *a = sqrt(*a) */
    /* y = x, between vectors of floats and of doubles */
    fe_status (*widen)(fe_device *d, size_t n, const float *x, double *y);
    fe_status (*narrow)(fe_device *d, size_t n, const double *x, float *y);
} fe_vector_operations;

/* 3×3 blocks D [n_node][3][3]. */
typedef struct fe_block_operations {
    /* Replaces rows and columns of n constrained components by those of the identity. */
    fe_status (*constrain)(fe_device *d, int n, const int *at, double *D);
    /* inverse [n_node][6] = *scale D^-1 as xx yy zz xy yz xz, in single precision; and y = inverse x */
    fe_status (*invert)(fe_device *d, int n_node, const double *D, const double *scale, float *inverse);
    fe_status (*apply)(fe_device *d, int n_node, const float *inverse, const double *x, double *y);
    /* y = |D| |x|, entry by entry */
    fe_status (*apply_absolute)(fe_device *d, int n_node, const double *D, const double *x, double *y);
} fe_block_operations;

/* Work on a side stream. All entries are NULL in backends that have none. */
typedef struct fe_side_operations {
    /* Work between begin and end runs on the side stream until `join`. It should be short: where both streams
     * have work, that of the side stream goes first. No call in between may wait. */
    fe_status (*begin)(fe_device *d);
    fe_status (*end)(fe_device *d);
    fe_status (*join)(fe_device *d);
    /* Copies one double to the host while further work runs, which must not change it: read_begin starts,
     * read_end waits. slot: 0 or 1, each for one number at a time. */
    fe_status (*read_begin)(fe_device *d, int slot, const double *x);
    fe_status (*read_end)(fe_device *d, int slot, double *host);
    /* The places of both slots, where work may leave the number itself, which takes less time. Then `expect`,
     * before that work is enqueued, takes the place of read_begin. */
    double *(*landing)(fe_device *d);
    void (*expect)(fe_device *d, int slot);
} fe_side_operations;

/* Between begin and end work is recorded instead of enqueued; replay enqueues all of it at once. `forget`
 * releases a recording, as does closing the device. Its time counts for the phase in which it is replayed.
 * All entries are NULL in backends that cannot record. */
typedef struct fe_recording_operations {
    fe_status (*begin)(fe_device *d);
    fe_status (*end)(fe_device *d, void **recording);
    fe_status (*replay)(fe_device *d, void *recording);
    void (*forget)(fe_device *d, void *recording);
} fe_recording_operations;

typedef struct fe_backend {
    const char *name;
    int on_gpu; /* memory is a GPU's, and work CUDA's; also the place of its table where there is one for each
                 */
    fe_status (*open)(int ordinal, int threads, fe_device **d);
    void (*close)(fe_device *d);
    fe_status (*wait)(fe_device *d); /* also reports errors of enqueued work */
    /* From now on time counts for `phase`. seconds() waits and returns the sums since the last call. */
    fe_status (*phase)(fe_device *d, int phase);
    fe_status (*seconds)(fe_device *d, double seconds[FE_N_PHASE]);
    fe_memory_operations memory;
    fe_vector_operations vector;
    fe_block_operations block;
    fe_side_operations side;
    fe_recording_operations recording;
} fe_backend;

/* What all devices share; a backend's own struct begins with it. */
struct fe_device {
    const fe_backend *ops;
    char name[128]; /* "NVIDIA H100 80GB HBM3", or the processor's name */
    int threads;    /* OpenMP threads of this rank, host */
    void *kept;     /* host memory of fe_device_keep */
    /* Called from time to time while the host waits for this device, since `since`. A failure ends the
     * wait. */
    fe_status (*watch)(void *watcher, double since);
    void *watcher;
    size_t bytes_resident, bytes_peak;
    int64_t bytes_to_device,
        bytes_from_device; /* of uploads and downloads; of the host copies in its memory */
    int overlaps;          /* the next kernel may start before the one ahead of it has ended (cuda.h) */
    int untold;            /* phases are not told apart for a while, which takes time on a device */
};

extern const fe_backend fe_backend_host;
extern const fe_backend fe_backend_cuda; /* only in a build with CUDA */

/* "host" or "cuda"; FE_BAD_INPUT says why a backend is not available (not built, no device). */
fe_status fe_backend_find(const char *name, const fe_backend **backend);
/* GPUs found; 0 in a build without CUDA. */
int fe_cuda_devices(void);
/* Cores that this process may use (common/base/cores.h), even where OMP_PROC_BIND binds the calling thread to
 * one. */
int fe_host_cores(void);
/* Threads that it may use: no more than OpenMP allows. */
int fe_host_threads(void);

/* Threads of work in host memory for a device: its own, or all that there may be. */
int fe_device_host_threads(const fe_device *d);

/* Zeroed resident memory, released with the device. FE_OUT_OF_MEMORY names `what` and the bytes. */
fe_status fe_device_allocate(fe_device *d, size_t count, size_t size, const char *what, void **memory);
/* The same, not zeroed. */
fe_status fe_device_reserve(fe_device *d, size_t count, size_t size, const char *what, void **memory);
/* The same, filled from host memory. Both pad by 64 bytes. */
fe_status fe_device_upload(fe_device *d, size_t count, size_t size, const void *host, const char *what,
                           void **memory);
/* An array that the host writes in n pieces: piece i are the bytes [begin(of, i), begin(of, i + 1)), and
 * write(of, i, to) fills `to` with them. Any thread calls it, and `to` holds anything before. */
typedef struct fe_pieces {
    int n;
    const void *of;
    size_t (*begin)(const void *of, int i);
    void (*write)(const void *of, int i, char *to);
} fe_pieces;
/* Resident memory filled with them, padded by 64 bytes. Pieces are written in batches that stay in the caches,
 * and one batch is uploaded while the next is written: as a whole they would take new pages of host memory,
 * which cost more than the work. */
fe_status fe_device_upload_pieces(fe_device *d, const fe_pieces *pieces, const char *what, void **memory);
/* One or more arrays that live and die together, not zeroed, each padded by 64 bytes. On a GPU they are one
 * piece of memory, since CUDA takes its time for every piece, milliseconds where other GPUs reach it; on the
 * host each is its own, whose pages lie near the threads that use them. Release each of them. */
typedef struct fe_array {
    size_t count, size; /* items, below 2^32, and bytes of each, below 2^16 */
    void **memory;
} fe_array;
fe_status fe_device_reserve_arrays(fe_device *d, int n, const fe_array *array, const char *what);
/* Zeroed host memory that lives as long as the device: a strategy's own struct of pointers into the device.
 */
fe_status fe_device_keep(fe_device *d, size_t size, const char *what, void **host);
/* The same, and release(*host) is called before the memory is freed: for handles of libraries. It must accept
 * a struct of zeros. */
fe_status fe_device_keep_open(fe_device *d, size_t size, const char *what, void (*release)(void *host),
                              void **host);
/* Called when a backend closes, before memory and stream are released. */
void fe_device_release_kept(fe_device *d);
/* Vector of n_local nodes (3 doubles each, padded). */
fe_status fe_device_vector(fe_device *d, int n_node, const char *what, double **x);

#ifdef __cplusplus
}
#endif
#endif
