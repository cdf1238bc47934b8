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

/* A number and the comma behind it; none where it is 0, not measured. */
static void write_measured(FILE *file, double x)
{
    if (x > 0.0) fprintf(file, "%.4g", x);
    fputc(',', file);
}

static const char *operand_of(const fe_row *r) { return r->operand ? r->operand : "random"; }
static const char *precision_of(const fe_row *r) { return r->precision ? r->precision : "double"; }
static const char *hardening_of(const fe_row *r) { return r->hardening ? r->hardening : "linear"; }
static const char *condition_of(const fe_row *r) { return r->condition ? r->condition : "burst"; }
static int process_of(const fe_row *r) { return r->process ? r->process : 1; }

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
    const fe_row_energy none = {0}, *e = strcmp(r->status, "ok") ? &none : &r->energy;
    write_measured(file, e->nj), write_measured(file, e->low), write_measured(file, e->high);
    write_measured(file, e->by_power), write_measured(file, e->busy), write_measured(file, e->idle);
    fprintf(file, "%s,%s,%s,%s,%s,%d,%s,%s\n", operand_of(r), r->numbering ? r->numbering : r->order,
            precision_of(r), hardening_of(r), condition_of(r), process_of(r), fe_row_noise(r), r->status);
    return fflush(file);
}

/* --- conditions -------------------------------------------------------------------------------------- */

fe_sample fe_sample_unknown(void)
{
    return (fe_sample){.start = NAN,
                       .seconds = NAN,
                       .sm_mhz = NAN,
                       .memory_mhz = NAN,
                       .watt = NAN,
                       .celsius = NAN,
                       .throttle = -1,
                       .cpu_mhz = NAN};
}

/* A counter of idle time is cut off to ticks at both ends of a window: variance tick^2 / 6 for each core. */
void fe_row_judge(fe_row *row, int n, const fe_sample *s)
{
    double others = 0.0, all = 0.0, variance = 0.0;
    row->throttled = 0;
    for (int i = 0; i < n; i++) {
        if (s[i].throttle > 0 && s[i].throttle & FE_THROTTLES) row->throttled = 1;
        if (s[i].cores == 0) continue;
        others += s[i].others, all += s[i].cores * s[i].window;
        variance += s[i].cores * FE_ROW_TICK * FE_ROW_TICK / 6.0;
    }
    row->loaded =
        !strcmp(row->backend, "host") && all > 0.0 && others > FE_ROW_LOADED * all + 2.0 * sqrt(variance);
}

const char *fe_row_noise(const fe_row *r)
{
    static const char *const words[] = {
        "",          "wide",           "loaded",           "wide loaded",
        "throttled", "wide throttled", "loaded throttled", "wide loaded throttled"};
    if (strcmp(r->status, "ok") || r->seconds.n == 0) return "";
    const int wide = r->seconds.high > FE_ROW_WIDE * r->seconds.low;
    return words[(wide ? 1 : 0) + (r->loaded ? 2 : 0) + (r->throttled ? 4 : 0)];
}

/* --- samples ----------------------------------------------------------------------------------------- */

static void write_number(FILE *file, const char *format, double x)
{
    if (!isnan(x)) fprintf(file, format, x);
    fputc(',', file);
}

/* Reasons as words with blanks between them, and as a number what has no word; "none": there are none. */
static void write_throttle(FILE *file, int64_t throttle)
{
    static const struct {
        int64_t bit;
        const char *word;
    } reasons[] = {{0x1, "idle"},
                   {0x2, "clocks_set"},
                   {FE_THROTTLE_POWER_CAP, "power_cap"},
                   {FE_THROTTLE_SLOWDOWN, "slowdown"},
                   {0x10, "sync_boost"},
                   {FE_THROTTLE_HEAT, "heat"},
                   {FE_THROTTLE_HEAT_SLOWDOWN, "heat_slowdown"},
                   {FE_THROTTLE_POWER_BRAKE, "power_brake"},
                   {0x100, "display"}};
    const char *blank = "";
    if (throttle == 0) fputs("none", file);
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons && throttle > 0; i++)
        if (throttle & reasons[i].bit) {
            fprintf(file, "%s%s", blank, reasons[i].word);
            throttle &= ~reasons[i].bit, blank = " ";
        }
    if (throttle > 0) fprintf(file, "%s0x%llx", blank, (unsigned long long)throttle);
    fputc(',', file);
}

int fe_row_write_samples(FILE *file, const char *before, const fe_row *r, int n, const fe_sample *samples)
{
    for (int i = 0; i < n; i++) {
        const fe_sample *s = &samples[i];
        fprintf(file, "%s%s,%d,%s,%s,", before, r->backend, r->threads, r->variant, r->element);
        write_text(file, r->mesh);
        fprintf(file, "%s,", r->order);
        write_number(file, "%g", r->plastic);
        fprintf(file, "%s,%lld,%s,%s,%s,%s,%d,%s,%d,%d,", r->plastic_pattern, (long long)r->n_dof,
                r->operation, operand_of(r), precision_of(r), hardening_of(r), r->ranks, condition_of(r),
                process_of(r), i + 1);
        write_number(file, "%.6f", s->start);
        fprintf(file, "%lld,%.5e,", (long long)s->calls, s->seconds);
        write_number(file, "%.0f", s->sm_mhz);
        write_number(file, "%.0f", s->memory_mhz);
        write_number(file, "%.1f", s->watt);
        write_number(file, "%.0f", s->celsius);
        write_throttle(file, s->throttle);
        const int is_known = s->cores > 0 && s->window >= FE_ROW_TICK;
        write_number(file, "%.3f", is_known ? s->others / (s->cores * s->window) : NAN);
        if (!isnan(s->cpu_mhz)) fprintf(file, "%.0f", s->cpu_mhz);
        fputc('\n', file);
    }
    return fflush(file);
}
