/* Rows of results, and medians with their intervals. */
#include "common/report/row.h"
#include "common/base/file.h"
#include "common/base/lock.h"
#include "common/report/version.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int ascending(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Samples to leave out at each end: the largest k with P(Binomial(n, 1/2) < k + 1) <= 2.5 %. */
static int samples_outside(int n)
{
    double term = ldexp(1.0, -n), tail = term; /* P(X = 0), P(X <= k) */
    int k = 0;
    while (2 * (k + 1) < n) {
        term *= (double)(n - k) / (k + 1);
        if (tail + term > 0.025) break;
        tail += term, k++;
    }
    return k;
}

fe_statistics fe_statistics_of(int n, double *x)
{
    if (n == 0) return (fe_statistics){0};
    qsort(x, (size_t)n, sizeof *x, ascending);
    const int k = n < 1000 ? samples_outside(n) : (int)(0.5 * n - 0.98 * sqrt((double)n));
    const double median = n % 2 ? x[n / 2] : 0.5 * (x[n / 2 - 1] + x[n / 2]);
    return (fe_statistics){n, median, x[k], x[n - 1 - k], x[0]};
}

static fe_status claim(int file, const char *path)
{
    struct stat info;
    FE_TRY(fe_lock_file(file, path));
    if (!fstat(file, &info) && S_ISREG(info.st_mode) && ftruncate(file, 0))
        return fe_file_refuse(path, errno);
    return FE_OK;
}

/* The buffer holds more than a row, so that fflush hands it on in one piece; O_APPEND keeps it in one. */
fe_status fe_rows_open(const char *path, FILE **rows)
{
    *rows = NULL;
    const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file < 0) return fe_file_refuse(path, errno);
    fe_status status = claim(file, path);
    if (status == FE_OK && !(*rows = fdopen(file, "a"))) status = fe_file_refuse(path, errno);
    if (*rows) setvbuf(*rows, NULL, _IOFBF, 1 << 16);
    if (status != FE_OK) close(file);
    return status;
}

void fe_row_write_header(FILE *file)
{
    fputs("schema,commit,machine,backend,device,ranks,threads,variant,element,case,order,plastic,"
          "plastic_pattern,n_elem,n_dof,operation,repetitions,calls,median_s,ci95_low_s,ci95_high_s,min_s,"
          "dof_per_s,gb_per_s,gflop_per_s,ceiling_share,bytes_moved,flop,bytes,bytes_work,setup_s,"
          "plastic_measured,error,orthogonality_loss,deterministic,nj_per_dof,numbering,precision,hardening,"
          "status\n",
          file);
}

int fe_row_write(FILE *file, const fe_row *r)
{
    fprintf(file, "%d,%s,%s,%s,%s,%d,%d,%s,%s,%s,%s,", FE_ROW_SCHEMA, fe_commit(), r->machine, r->backend,
            r->device, r->ranks, r->threads, r->variant, r->element, r->mesh, r->order);
    if (!isnan(r->plastic)) fprintf(file, "%g", r->plastic);
    fprintf(file, ",%s,%lld,%lld,%s,", r->plastic_pattern, (long long)r->n_elem, (long long)r->n_dof,
            r->operation);
    const fe_statistics *s = &r->seconds;
    if (strcmp(r->status, "ok") || s->n == 0) {
        fputs(",,,,,,,,,,", file);
    } else {
        fprintf(file, "%d,%lld,%.6e,%.6e,%.6e,%.6e,%.6e,", s->n, (long long)r->calls, s->median, s->low,
                s->high, s->least, (double)r->n_dof / s->median);
        if (r->bytes_moved > 0.0) fprintf(file, "%.4f", 1e-9 * r->bytes_moved / s->median);
        fputc(',', file);
        if (r->flop > 0.0) fprintf(file, "%.4f", 1e-9 * r->flop / s->median);
        fputc(',', file);
        if (r->ceiling_seconds > 0.0) fprintf(file, "%.4f", r->ceiling_seconds / s->median);
        fputc(',', file);
    }
    if (r->bytes > 0.0) {
        if (r->bytes_moved > 0.0) fprintf(file, "%.0f", r->bytes_moved);
        fputc(',', file);
        if (r->flop > 0.0) fprintf(file, "%.0f", r->flop);
        fprintf(file, ",%.0f,%.0f,%.6e,%.6f,", r->bytes, r->bytes_work, r->setup_seconds,
                r->plastic_measured);
    } else {
        fputs(",,,,,,", file);
    }
    if ((!strcmp(r->status, "ok") || !strcmp(r->status, "check_failed")) && !isnan(r->error))
        fprintf(file, "%.3e", r->error);
    fputc(',', file);
    if (r->orthogonality_loss > 0.0) fprintf(file, "%.3e", r->orthogonality_loss);
    fputc(',', file);
    if (r->deterministic >= 0) fprintf(file, "%d", r->deterministic);
    fputc(',', file);
    if (!strcmp(r->status, "ok") && r->nj_per_dof > 0.0) fprintf(file, "%.4g", r->nj_per_dof);
    fprintf(file, ",%s,%s,%s,%s\n", r->numbering ? r->numbering : r->order,
            r->precision ? r->precision : "double", r->hardening ? r->hardening : "linear", r->status);
    return fflush(file);
}

void fe_row_write_samples_header(FILE *file)
{
    fputs("backend,threads,variant,element,case,order,plastic,plastic_pattern,n_dof,operation,precision,"
          "hardening,calls,seconds\n",
          file);
}

void fe_row_write_samples(FILE *file, const fe_row *r, int n, const double *seconds)
{
    fprintf(file, "%s,%d,%s,%s,%s,%s,%g,%s,%lld,%s,%s,%s,%lld,", r->backend, r->threads, r->variant,
            r->element, r->mesh, r->order, r->plastic, r->plastic_pattern, (long long)r->n_dof, r->operation,
            r->precision ? r->precision : "double", r->hardening ? r->hardening : "linear",
            (long long)r->calls);
    for (int i = 0; i < n; i++) fprintf(file, "%s%.5e", i ? " " : "", seconds[i]);
    fputc('\n', file);
}
