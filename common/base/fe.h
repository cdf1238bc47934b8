/* Status codes, the host/device spelling and fe_real: used by every file of febench.
 *
 * Functions that can fail return fe_status and leave one line of explanation in a thread's own buffer
 * (fe_message). FE_TRY returns a failure to the caller; only main makes it an exit code. */
#ifndef FE_H
#define FE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/precision.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum fe_status {
    FE_OK = 0,
    FE_FAILED = 1,        /* the run failed: no convergence, limit load, device or rank fault */
    FE_BAD_INPUT = 2,     /* usage, a file or a value that is refused */
    FE_OUT_OF_MEMORY = 3, /* host or device memory; programs exit 1, benchmarks record a row */
    FE_INTERRUPTED = 130
} fe_status;

/* Records "text" (printf) as this thread's message and returns status, so that a failure is one line: control
 * characters become '?', and words that make it too long are cut in the middle. */
enum { FE_MESSAGE_LENGTH = 1024 };
fe_status fe_fail(fe_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *fe_message(void);

/* "note: text" as one line on stderr. */
void fe_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Makes control characters of a text, and bytes that are not UTF-8, '?', so that names from files cannot
 * steer a terminal. Returns the text. */
char *fe_printable(char *text);

/* The exit code of a program that ends with this status; "program: message" on stderr where it is not 0, or
 * nothing where program is NULL. A
 * standard output that could not be written (a full disk) is a failure, too. */
int fe_exit_code(fe_status status, const char *program);

#define FE_TRY(call)                                                                                         \
    do {                                                                                                     \
        const fe_status fe_try_status = (call);                                                              \
        if (fe_try_status != FE_OK) return fe_try_status;                                                    \
    } while (0)

/* Allocation of count × size bytes of host memory, zeroed and checked for overflow; *out stays NULL on
 * failure. Aligned to 64 bytes. Released by free(). */
fe_status fe_allocate(size_t count, size_t size, const char *what, void **out);
/* The same, not zeroed: for large arrays whose entries are all written before they are read. Their pages
 * become resident where the threads write them. */
fe_status fe_reserve(size_t count, size_t size, const char *what, void **out);
#define FE_ALLOCATE(pointer, count, what)                                                                    \
    FE_TRY(fe_allocate((size_t)(count), sizeof *(pointer), (what), (void **)&(pointer)))
#define FE_RESERVE(pointer, count, what)                                                                     \
    FE_TRY(fe_reserve((size_t)(count), sizeof *(pointer), (what), (void **)&(pointer)))

/* Seconds of a steady clock. */
double fe_seconds(void);

/* First call of every main: a limit on the size of files becomes an error of write, not a signal. */
void fe_program_begin(void);

/* Set by SIGINT or SIGTERM once fe_catch_interrupts was called; long loops look at it. One that comes more
 * than a second after the first ends the process at once. */
int fe_interrupted(void);
void fe_catch_interrupts(void);

#ifdef __cplusplus
}
#endif

/* Element kinds. The kind fixes the corners, the quadrature rule and the form of the gradients; bodies take
 * it as a constant int and are inlined, so each caller compiles to code for one kind. */
enum {
    FE_TET4 = 0,       /* linear tetrahedron, one point                                   */
    FE_TET4_P4 = 1,    /* the same with the four-point rule: same answer, four times the work */
    FE_HEX8 = 2,       /* trilinear hexahedron, 2x2x2 Gauss points, sum-factorised gradients  */
    FE_HEX8_NAIVE = 3, /* the same with shape gradients summed corner by corner           */
    FE_TET10 = 4,      /* quadratic tetrahedron, four points                              */
    FE_HEX27 = 5,      /* triquadratic hexahedron, 3x3x3 Gauss points, sum-factorised     */
    FE_N_KIND = 6
};
/* FE_BODY: inlined. FE_BOTH: inlined, for host and device. FE_CALLED: a call, which saves registers and build
 * time. */
#ifdef __CUDACC__
#define FE_BODY static __device__ __forceinline__
#define FE_BOTH static __host__ __device__ __forceinline__
#define FE_ON_DEVICE 1
#define FE_CALLED static __device__ __noinline__
#else
#define FE_BODY static inline __attribute__((always_inline))
#define FE_BOTH static inline __attribute__((always_inline))
#define FE_ON_DEVICE 0
#define FE_CALLED static __attribute__((noinline, unused))
#endif

/* Whether this build has quadratic elements, and whether this file has them: FE_QUADRATIC. One that is not
 * made for them defines FE_LINEAR_KINDS before it includes anything. */
#ifndef FE_HAVE_QUADRATIC
#define FE_HAVE_QUADRATIC 1
#endif
#if FE_HAVE_QUADRATIC && !defined FE_LINEAR_KINDS && FE_PRECISION != FE_MIXED
#define FE_QUADRATIC 1
#else
#define FE_QUADRATIC 0
#endif

/* X(KIND, name, further arguments) for each kind that this file and its precision have. */
#define FE_EACH_KIND(X, ...) FE_EACH_LINEAR(X, ##__VA_ARGS__) FE_EACH_QUADRATIC(X, ##__VA_ARGS__)
#if FE_PRECISION == FE_DOUBLE
#define FE_EACH_LINEAR(X, ...)                                                                               \
    X(FE_TET4, tet4, ##__VA_ARGS__)                                                                          \
    X(FE_TET4_P4, tet4_p4, ##__VA_ARGS__)                                                                    \
    X(FE_HEX8, hex8, ##__VA_ARGS__) X(FE_HEX8_NAIVE, hex8_naive, ##__VA_ARGS__)
#elif FE_PRECISION == FE_MIXED
#define FE_EACH_LINEAR(X, ...) X(FE_TET4, tet4_mixed, ##__VA_ARGS__) X(FE_HEX8, hex8_mixed, ##__VA_ARGS__)
#else
#define FE_EACH_LINEAR(X, ...) X(FE_TET4, tet4_single, ##__VA_ARGS__) X(FE_HEX8, hex8_single, ##__VA_ARGS__)
#endif
#if !FE_QUADRATIC
#define FE_EACH_QUADRATIC(X, ...)
#elif FE_PRECISION == FE_DOUBLE
#define FE_EACH_QUADRATIC(X, ...) X(FE_TET10, tet10, ##__VA_ARGS__) X(FE_HEX27, hex27, ##__VA_ARGS__)
#else
#define FE_EACH_QUADRATIC(X, ...)                                                                            \
    X(FE_TET10, tet10_single, ##__VA_ARGS__) X(FE_HEX27, hex27_single, ##__VA_ARGS__)
#endif
/* Whether a precision has all operations of a kind. Of quadratic elements single precision has what multigrid
 * smooths with, elastic products (fe_assembly_set_up_elastic; FE_PLASTIC_NAME in common/physics/view.h). */
FE_BOTH int fe_precision_has(int precision, int kind)
{
    return precision == FE_DOUBLE || kind == FE_TET4 || kind == FE_HEX8;
}
/* Whether bodies of a precision and a kind know Voce's law of hardening. */
FE_BOTH int fe_voce_has(int precision, int kind)
{
    return precision == FE_DOUBLE && kind != FE_TET4_P4 && kind != FE_HEX8_NAIVE;
}
FE_BOTH const char *fe_precision_name(int precision)
{
    return precision == FE_DOUBLE ? "double" : precision == FE_MIXED ? "mixed" : "single";
}

/* Added to a word before it is mixed, depending on its place: equal words at two places then differ. */
#define FE_WORD_STEP 0xd1342543de82ef95u
/* One step of the splitmix64 generator (Steele, Lea, Flood 2014), which is also a good hash of its state. */
FE_BOTH uint64_t fe_mix(uint64_t z)
{
    z += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Corners and points of a kind: as constants, for sizes of arrays and enums, and as functions. */
#define FE_CORNERS(kind)                                                                                     \
    ((kind) == FE_TET4 || (kind) == FE_TET4_P4 ? 4 : (kind) == FE_TET10 ? 10 : (kind) == FE_HEX27 ? 27 : 8)
#define FE_POINTS(kind)                                                                                      \
    ((kind) == FE_TET4 ? 1 : (kind) == FE_TET4_P4 || (kind) == FE_TET10 ? 4 : (kind) == FE_HEX27 ? 27 : 8)
enum { FE_MOST_CORNERS = 27, FE_MOST_POINTS = 27 }; /* of all kinds */
FE_BOTH int fe_corners(int kind) { return FE_CORNERS(kind); }
/* The kind with the same elastic operator that every precision has. */
FE_BOTH int fe_plain_kind(int kind)
{
    return kind == FE_TET4_P4 ? FE_TET4 : kind == FE_HEX8_NAIVE ? FE_HEX8 : kind;
}
FE_BOTH int fe_is_quadratic(int kind) { return kind == FE_TET10 || kind == FE_HEX27; }
FE_BOTH int fe_is_tet(int kind) { return kind == FE_TET4 || kind == FE_TET4_P4 || kind == FE_TET10; }
/* The kind of the element of a kind's vertices alone. */
FE_BOTH int fe_linear_kind(int kind)
{
    return kind == FE_TET10 ? FE_TET4 : kind == FE_HEX27 ? FE_HEX8 : kind;
}
FE_BOTH int fe_vertices(int kind) { return FE_CORNERS(fe_linear_kind(kind)); }
FE_BOTH int fe_points(int kind) { return FE_POINTS(kind); }
FE_BOTH const char *fe_kind_name(int kind)
{
    return kind == FE_TET4      ? "tet4"
           : kind == FE_TET4_P4 ? "tet4_p4"
           : kind == FE_HEX8    ? "hex8"
           : kind == FE_TET10   ? "tet10"
           : kind == FE_HEX27   ? "hex27"
                                : "hex8_naive";
}

#endif
