/* Rows of results, and medians with their intervals. */
#include "common/report/row.h"
#include "common/base/file.h"
#include "common/base/lock.h"
#include "common/report/version.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

static int has_first_line(FILE *file, const char *line)
{
    int c;
    rewind(file);
    while ((c = getc(file)) == (unsigned char)*line && *line) line++;
    return !*line && c == '\n';
}

/* Behind what is there; a last line that was cut off ends here. */
static fe_status find_end(FILE *file, const char *path, const char *columns)
{
    struct stat info;
    if (fstat(fileno(file), &info)) return fe_file_refuse(path, errno);
    if (!S_ISREG(info.st_mode) || info.st_size == 0) return fprintf(file, "%s\n", columns), FE_OK;
    if (!has_first_line(file, columns))
        return fe_fail(FE_BAD_INPUT,
                       "%s: its first line is not that of the rows to be added; name another file", path);
    const int cut = fseek(file, -1, SEEK_END) || getc(file) != '\n';
    if (fseek(file, 0, SEEK_END)) return fe_file_refuse(path, errno);
    if (cut) fputc('\n', file);
    return FE_OK;
}

/* The buffer holds more than a row, so that fflush hands it on in one piece; a file to append to keeps it in
 * one. */
fe_status fe_rows_open(const char *path, const char *columns, FILE **rows)
{
    struct stat info;
    const int is_file = stat(path, &info) || S_ISREG(info.st_mode); /* what is not may not be readable */
    FILE *file = fopen(path, is_file ? "a+e" : "we");
    *rows = NULL;
    if (!file) return fe_file_refuse(path, errno);
    setvbuf(file, NULL, _IOFBF, 1 << 16);
    fe_status status = is_file ? fe_lock_file(fileno(file), path) : FE_OK;
    if (status == FE_OK) status = find_end(file, path, columns);
    if (status == FE_OK)
        *rows = file;
    else
        fclose(file);
    return status;
}

/* A field and the comma behind it, by RFC 4180: quoted where it has to be. A row stays one line: what would
 * end it becomes a blank. */
static void write_text(FILE *file, const char *text)
{
    const int quoted = strpbrk(text, ",\"") != NULL;
    if (quoted) fputc('"', file);
    for (; *text; text++) {
        if (*text == '"') fputc('"', file);
        fputc(*text == '\n' || *text == '\r' ? ' ' : *text, file);
    }
    fputs(quoted ? "\"," : ",", file);
}

int fe_row_write(FILE *file, const fe_row *r)
{
    fprintf(file, "%d,%s,", FE_ROW_SCHEMA, fe_commit());
    write_text(file, r->machine), write_text(file, r->backend), write_text(file, r->device);
    fprintf(file, "%d,%d,%s,%s,", r->ranks, r->threads, r->variant, r->element);
    write_text(file, r->mesh);
    fprintf(file, "%s,", r->order);
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

void fe_row_write_samples(FILE *file, const fe_row *r, int n, const double *seconds)
{
    fprintf(file, "%s,%d,%s,%s,", r->backend, r->threads, r->variant, r->element);
    write_text(file, r->mesh);
    fprintf(file, "%s,%g,%s,%lld,%s,%s,%s,%lld,", r->order, r->plastic, r->plastic_pattern,
            (long long)r->n_dof, r->operation, r->precision ? r->precision : "double",
            r->hardening ? r->hardening : "linear", (long long)r->calls);
    for (int i = 0; i < n; i++) fprintf(file, "%s%.5e", i ? " " : "", seconds[i]);
    fputc('\n', file);
}
