/* Rows of a curve; see curve.h. */
#include "common/report/curve.h"
#include "common/base/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Columns: step, factor_PATH …, u_PROBE_x …, reaction_GROUP_x …, then these. No two have one name: what comes
 * from files stands behind a word that begins none of the others. */
static const char last_columns[] =
    "total_reaction_x,total_reaction_y,total_reaction_z,applied_x,applied_y,applied_z,elastic_energy,"
    "plastic_work,int_peeq,max_abs_u,norm_u,max_mises,max_peeq,max_gradient,plastic_gp,newton_iterations,"
    "krylov_iterations,seconds\n";
static const char axes[] = "xyz";

/* A column that is named after something in a file. */
static void put_name(FILE *to, const char *before, const char *name, int axis)
{
    const int quoted = name[strcspn(name, ",\"\r\n")] != 0;
    fprintf(to, quoted ? ",\"%s" : ",%s", before);
    for (const char *c = name; *c; c++) fprintf(to, *c == '"' ? "\"\"" : "%c", *c);
    if (axis >= 0) fprintf(to, "_%c", axes[axis]);
    if (quoted) fputc('"', to);
}

static void put_head(FILE *to, const fe_result *r)
{
    const fe_boundary *b = r->boundary;
    fputs("step", to);
    for (int p = 0; p < r->problem->n_path; p++) put_name(to, "factor_", r->problem->path[p].name, -1);
    for (int p = 0; p < b->n_probe; p++)
        for (int i = 0; i < 3; i++) put_name(to, "u_", r->problem->probe[p].name, i);
    for (int k = 0; k < b->n_reaction; k++)
        put_name(to, "reaction_", b->reaction[k].group, b->reaction[k].component);
    fprintf(to, ",%s", last_columns);
}

/* All digits, so that a reader gets the same number. */
static void put_number(FILE *to, double value) { fprintf(to, ",%.17g", value); }

static void put_row(FILE *to, const fe_result *r, const fe_step_result *s)
{
    double applied[3], seconds = 0.0;
    fprintf(to, "%d", s->step);
    for (int p = 0; p < r->problem->n_path; p++) put_number(to, s->factor[p]);
    for (int p = 0; p < r->boundary->n_probe; p++)
        for (int i = 0; i < 3; i++) put_number(to, s->probe[p][i]);
    for (int k = 0; k < r->boundary->n_reaction; k++) put_number(to, s->reaction[k]);
    fe_result_applied(r, s, applied);
    for (int i = 0; i < 3; i++) put_number(to, s->total_reaction[i]);
    for (int i = 0; i < 3; i++) put_number(to, applied[i]);
    const double scalars[] = {s->elastic_energy, s->plastic_work, s->int_peeq, s->max_abs_u,
                              s->norm_u,         s->max_mises,    s->max_peeq, s->max_gradient};
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++) put_number(to, scalars[i]);
    for (int p = 0; p < FE_N_PHASE; p++) seconds += s->seconds[p];
    fprintf(to, ",%" PRId64 ",%d,%" PRId64 ",%.6f\n", s->plastic_gp, s->newton_iterations,
            s->krylov_iterations, seconds);
}

/* The row of a step in which nothing has happened. */
static fe_status put_undeformed(FILE *to, const fe_result *r)
{
    fe_result none = {.problem = r->problem, .mesh = r->mesh, .boundary = r->boundary};
    fe_step_result *s = fe_result_add_step(&none);
    if (!s) return fe_fail(FE_OUT_OF_MEMORY, "curve: no host memory for a row");
    s->step = 0;
    put_row(to, r, s);
    fe_result_close(&none);
    return FE_OK;
}

/* Text that is written to a stream. */
typedef struct text {
    FILE *stream;
    char *bytes;
    size_t n;
} text;

static fe_status open_text(text *t)
{
    *t = (text){0};
    t->stream = open_memstream(&t->bytes, &t->n);
    return t->stream ? FE_OK : fe_fail(FE_OUT_OF_MEMORY, "curve: no host memory for a row");
}

/* Its bytes are whole after this. */
static fe_status end_text(text *t)
{
    const int failed = ferror(t->stream) | fclose(t->stream);
    return failed ? fe_fail(FE_OUT_OF_MEMORY, "curve: no host memory for a row") : FE_OK;
}

fe_status fe_curve_open(fe_curve *c, const char *path)
{
    *c = (fe_curve){0};
    return fe_growing_open(&c->file, path);
}

/* Bytes of the whole rows of the steps up to `last`, with *step the last of them; behind the head no field
 * holds an end of a line. */
static size_t rows_until(const char *rows, int last, int *step)
{
    const char *row = rows;
    *step = -1;
    for (const char *end; (end = strchr(row, '\n')); row = end + 1) {
        const long number = strtol(row, NULL, 10);
        if (number > last || number <= *step) break;
        *step = (int)number;
    }
    return (size_t)(row - rows);
}

static fe_status take_over(fe_curve *c, const text *head, int last, size_t n, const char *old)
{
    int step;
    const char *name = c->file.name;
    if (n < head->n || memcmp(old, head->bytes, head->n))
        return fe_fail(FE_BAD_INPUT, "--curve %s: has other columns than this run", name);
    const size_t rows = rows_until(old + head->n, last, &step);
    if (step != last)
        return fe_fail(FE_BAD_INPUT, "--curve %s: has no row of load step %d, after which the run goes on",
                       name, last);
    FE_TRY(fe_growing_resume(&c->file, head->n + rows, old));
    c->has_head = 1;
    return FE_OK;
}

fe_status fe_curve_resume(fe_curve *c, const fe_result *r, int last)
{
    text head;
    char *old = NULL;
    size_t n = 0;
    if (!c->file.temporary || access(c->file.path, F_OK)) return FE_OK; /* it begins with the next step */
    FE_TRY(open_text(&head));
    put_head(head.stream, r);
    fe_status status = end_text(&head);
    if (status == FE_OK) status = fe_file_read(c->file.path, &old, &n);
    if (status == FE_OK) status = take_over(c, &head, last, n, old);
    free(old), free(head.bytes);
    return status;
}

fe_status fe_curve_write(fe_curve *c, const fe_result *r, const fe_step_result *step)
{
    text more;
    FE_TRY(open_text(&more));
    fe_status status = FE_OK;
    if (!c->has_head) put_head(more.stream, r);
    if (step)
        put_row(more.stream, r, step);
    else
        status = put_undeformed(more.stream, r);
    const fe_status ended = end_text(&more);
    if (status == FE_OK) status = ended;
    if (status == FE_OK) status = fe_growing_write(&c->file, more.n, more.bytes, 0, "");
    if (status == FE_OK) c->has_head = 1;
    if (!c->file.temporary) c->file.n_body = 0; /* a device or pipe gets each row once */
    free(more.bytes);
    return status;
}

void fe_curve_close(fe_curve *c) { fe_growing_close(&c->file); }
