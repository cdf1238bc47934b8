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

enum { FE_ROW_SCHEMA = 5 };
#define FE_ROW_COLUMNS                                                                                       \
    "schema,commit,machine,backend,device,ranks,threads,variant,element,case,order,plastic,plastic_pattern," \
    "n_elem,n_dof,operation,repetitions,calls,median_s,ci95_low_s,ci95_high_s,min_s,dof_per_s,gb_per_s,"     \
    "gflop_per_s,ceiling_share,bytes_moved,flop,bytes,bytes_work,setup_s,plastic_measured,error,"            \
    "orthogonality_loss,deterministic,nj_per_dof,numbering,precision,hardening,status"
#define FE_SAMPLE_COLUMNS                                                                                    \
    "backend,threads,variant,element,case,order,plastic,plastic_pattern,n_dof,operation,precision,"          \
    "hardening,calls,seconds"
/* Rows with a larger share of their ceiling are marked: ceilings are medians, which vary by two per cent. */
#define FE_ROW_ABOVE 1.02

typedef struct fe_statistics {
    int n;
    double median, low, high; /* [low, high] covers the median with at least 95 % where n >= 6 */
    double least;
} fe_statistics;

/* Median of x [n] (sorted in place) and its interval by order statistics: the narrowest pair of samples
 * (k-th, k-th from the end) with P(Binomial(n, 1/2) < k) <= 2.5 %. With fewer than 6 samples no pair
 * reaches that: low and high are then the extremes. */
fe_statistics fe_statistics_of(int n, double *x);

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
    double nj_per_dof;                         /* energy of one call; 0 where it was not measured */

    const char *status; /* ok, check_failed, out_of_memory, failed, killed */
} fe_row;

/* Opens a file to add rows to, behind those that it holds; a new one begins with the names of the columns.
 * FE_BAD_INPUT where it begins with another line, or another run writes it; then it stays as it is. Lines are
 * appended whole. */
fe_status fe_rows_open(const char *path, const char *columns, FILE **rows);
/* A row whose status is not ok holds no times, and one whose case was never resident (bytes 0) no sizes. It
 * stands in the file when this returns, so a run that is killed keeps it. 0, or EOF where it could not be
 * written, with errno. */
int fe_row_write(FILE *file, const fe_row *row);

/* The n samples behind a row, in the order in which they were taken: one line, seconds between blanks. */
void fe_row_write_samples(FILE *file, const fe_row *row, int n, const double *seconds);

#ifdef __cplusplus
}
#endif
#endif
