/* One result row: the schema that all benchmarks share, and the statistics of its samples.
 *
 * results/README.md defines every column. Rows are CSV by RFC 4180, one line each. */
#ifndef FE_ROW_H
#define FE_ROW_H

#include "common/base/fe.h"
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { FE_ROW_SCHEMA = 11 };
#define FE_ROW_COLUMNS                                                                                       \
    "schema,commit,machine,backend,device,ranks,threads,variant,element,case,order,plastic,plastic_pattern," \
    "n_elem,n_dof,operation,repetitions,calls,median_s,ci95_low_s,ci95_high_s,min_s,dof_per_s,gb_per_s,"     \
    "gflop_per_s,ceiling_share,bytes_moved,flop,bytes,bytes_work,setup_s,plastic_measured,error,"            \
    "orthogonality_loss,deterministic,nj_per_dof,nj_low,nj_high,nj_by_power,busy_w,idle_w,operand,"          \
    "numbering,precision,hardening,condition,process,noise,status"
#define FE_SAMPLE_COLUMNS                                                                                    \
    "backend,threads,variant,element,case,order,plastic,plastic_pattern,n_dof,operation,operand,precision,"  \
    "hardening,ranks,condition,process,sample,start,calls,seconds,sm_mhz,memory_mhz,watt,celsius,throttle,"  \
    "load,cpu_mhz"
/* Rows with a larger share of their ceiling are marked: ceilings are medians, which vary by two per cent. */
#define FE_ROW_ABOVE 1.02
/* What makes a row noisy: an interval whose ends have a larger ratio, a larger share of the cores in use by
 * other processes. */
#define FE_ROW_WIDE 1.25
#define FE_ROW_LOADED 0.1

typedef struct fe_statistics {
    int n;
    double median, low, high; /* [low, high] covers the median with at least 95 % where n >= 6 */
    double least;
} fe_statistics;

/* Median of x [n] (sorted in place) and its interval by order statistics: the narrowest pair of samples
 * (k-th, k-th from the end) with P(Binomial(n, 1/2) < k) <= 2.5 %. With fewer than 6 samples no pair
 * reaches that: low and high are then the extremes. */
fe_statistics fe_statistics_of(int n, double *x);

/* Seconds by which counters of idle cores advance: of a shorter window they say nothing. */
#define FE_ROW_TICK 0.01

/* NVML's reasons for a lower clock (clocks event reasons), those of power and heat. */
enum {
    FE_THROTTLE_POWER_CAP = 0x4,
    FE_THROTTLE_SLOWDOWN = 0x8,
    FE_THROTTLE_HEAT = 0x20,
    FE_THROTTLE_HEAT_SLOWDOWN = 0x40,
    FE_THROTTLE_POWER_BRAKE = 0x80,
    FE_THROTTLES = FE_THROTTLE_POWER_CAP | FE_THROTTLE_SLOWDOWN | FE_THROTTLE_HEAT |
                   FE_THROTTLE_HEAT_SLOWDOWN | FE_THROTTLE_POWER_BRAKE
};

/* A sample, and the conditions under which it was taken. NAN, of throttle -1, of cores 0: not known. */
typedef struct fe_sample {
    double start; /* UTC, seconds since the epoch; NAN: not known */
    int64_t calls;
    double seconds;                           /* of one call */
    double sm_mhz, memory_mhz, watt, celsius; /* of a GPU */
    int64_t throttle;                         /* bits of NVML, 0: nothing lowers the clock */
    int cores;                                /* that this process may use, */
    double window, others; /* for so many seconds, core-seconds of them that other processes took */
    double cpu_mhz;
} fe_sample;
/* One of which nothing is known. */
fe_sample fe_sample_unknown(void);

/* The energy of one call over degrees of freedom, in nanojoules; 0: not measured. */
typedef struct fe_row_energy {
    double nj, low, high; /* by a counter of energy: median of some windows, and its interval */
    double by_power;      /* the same windows by power over time */
    double busy, idle;    /* watts in the windows, and of the device with nothing to do */
} fe_row_energy;

typedef struct fe_row {
    /* what was run */
    const char *machine, *backend, *device;
    int ranks, threads;
    const char *variant, *element, *mesh, *order;
    const char *numbering;       /* the order in force; NULL: that of `order` */
    double plastic;              /* share of plastic elements that was asked for; NAN: none was */
    const char *plastic_pattern; /* clustered, scattered */
    int64_t n_elem, n_dof;
    const char *operation;
    const char *operand;   /* what products are taken with: random (NULL), smooth */
    const char *precision; /* NULL: double */
    const char *hardening; /* law of hardening; NULL: linear */
    /* what came out; seconds of one call */
    int64_t calls; /* of one sample */
    fe_statistics seconds;
    double bytes_moved, flop, ceiling_seconds; /* modelled, of one call; 0 where unknown */
    double bytes, bytes_work, setup_seconds;   /* resident memory: all, and the variant's own */
    double plastic_measured, error;            /* error: of status ok or check_failed */
    double orthogonality_loss;                 /* of a GMRES cycle; 0 where it was not measured */
    int deterministic;                         /* as measured; below 0: unknown */
    fe_row_energy energy;

    const char *condition; /* burst, sustained, cold; NULL: burst */
    int process;           /* number among those that measure the same; 0: the first */
    int loaded, throttled; /* others used cores meanwhile; a GPU's clock was lowered: fe_row_judge */
    const char *status;    /* ok, check_failed, out_of_memory, failed, killed */
} fe_row;

/* Sets loaded and throttled by a row's samples. Only rows of the host can be loaded: on a GPU time is counted
 * by events. Counters of idle cores advance in steps, so the excess has to be beyond what these can feign. */
void fe_row_judge(fe_row *row, int n, const fe_sample *samples);
/* Why a row is noisy: some of the words wide, loaded, throttled with blanks between them; "": it is not, or
 * it has no times. */
const char *fe_row_noise(const fe_row *row);

/* Opens a file to add rows to, behind those that it holds; a new one begins with the names of the columns.
 * FE_BAD_INPUT where it begins with another line, or another run writes it; then it stays as it is. Lines are
 * appended whole. */
fe_status fe_rows_open(const char *path, const char *columns, FILE **rows);
/* A row whose status is not ok holds no times, and one whose case was never resident (bytes 0) no sizes. It
 * stands in the file when this returns, so a run that is killed keeps it. 0, or EOF where it could not be
 * written, with errno. */
int fe_row_write(FILE *file, const fe_row *row);

/* The n samples behind a row, one line each, behind what `before` has of further columns, "" or with a comma
 * at its end. As fe_row_write. */
int fe_row_write_samples(FILE *file, const char *before, const fe_row *row, int n, const fe_sample *samples);

#ifdef __cplusplus
}
#endif
#endif
