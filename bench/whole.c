/* Problems, answers and rows of whole solves; see whole.h. */
#include "bench/whole.h"
#include "bench/options.h"
#include "bench/timed_mesh.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

const char *const whole_load_names[WHOLE_N_LOAD] = {"steps", "linear", "fixed"};
const double whole_linear_tolerance = 1e-8;

static fe_status open_mesh(const whole_choice *c, fe_mesh *mesh)
{
    const fe_box box = {.kind = c->element,
                        .cells = {c->cells, c->cells, c->cells},
                        .length = {1.0, 1.0, 1.0},
                        .distort = 0.15,
                        .seed = 1};
    return c->mesh ? fe_mesh_read(c->mesh, 1, mesh) : fe_mesh_box(&box, mesh);
}

static void name_case(const whole_choice *c, whole_problem *p)
{
    const char *load = whole_load_names[c->load];
    const char *file = c->mesh && strrchr(c->mesh, '/') ? strrchr(c->mesh, '/') + 1 : c->mesh;
    if (file)
        snprintf(p->name, sizeof p->name, "%.*s-%s", (int)strcspn(file, "."), file, load);
    else
        snprintf(p->name, sizeof p->name, "box%d-%s-%s", c->cells, p->problem.name, load);
}

static fe_status read_element(const char *flag, const char *text, whole_choice *choice)
{
    static const char *const elements[] = {"hex8", "tet4", "tet10", "hex27"};
    static const int kinds[] = {FE_HEX8, FE_TET4, FE_TET10, FE_HEX27};
    int index = 0;
    FE_TRY(option_choice(flag, text, elements, 4, &index));
    choice->element = kinds[index];
    return bench_kind_check("--element", choice->element);
}

fe_status whole_flag(int key, const char *flag, const char *text, whole_choice *choice)
{
    switch (key) {
    case WHOLE_FLAG_MESH: choice->mesh = text; return FE_OK;
    case WHOLE_FLAG_CELLS: return option_whole(flag, text, 2, 1000, &choice->cells);
    case WHOLE_FLAG_ELEMENT: return read_element(flag, text, choice);
    }
    return FE_OK;
}

fe_status whole_complete(const char *program, int n, char **words, whole_choice *choice)
{
    if (n == 0) return fe_fail(FE_BAD_INPUT, "no problem file; %s --help has the usage", program);
    if (n > 1) return fe_fail(FE_BAD_INPUT, "%s: a second problem file", words[1]);
    if (!choice->mesh == !choice->cells) return fe_fail(FE_BAD_INPUT, "one of --mesh and --cells is needed");
    choice->problem = words[0];
    return FE_OK;
}

fe_status whole_open(const whole_choice *c, fe_order order, whole_problem *p)
{
    FE_TRY(fe_case_read(c->problem, &p->problem));
    if (c->load == WHOLE_LINEAR) p->problem.n_step = 1, p->problem.material->sigma_y = INFINITY;
    FE_TRY(open_mesh(c, &p->mesh));
    FE_TRY(fe_mesh_reorder(&p->mesh, order, 1));
    FE_TRY(fe_boundary_apply(&p->problem, &p->mesh, &p->boundary));
    name_case(c, p);
    return FE_OK;
}

void whole_close(whole_problem *p)
{
    fe_boundary_close(&p->boundary);
    fe_mesh_close(&p->mesh);
    fe_case_close(&p->problem);
}

double whole_error(size_t n, const double *u, const double *reference)
{
    double most = 0.0, largest = 0.0;
    for (size_t i = 0; i < n; i++) {
        const double off = fabs(u[i] - reference[i]), size = fabs(reference[i]);
        if (!isnan(most) && !(off <= most)) most = off; /* what is no number stays */
        if (size > largest) largest = size;
    }
    return most == 0.0 ? 0.0 : most / largest;
}

void whole_row_open(const whole_problem *p, const char *machine, const char *device, whole_row *row)
{
    snprintf(row->device, sizeof row->device, "%s", device);
    row->newton_iterations = -1, row->interface = -1.0, row->work = NAN, row->jacobian = "tangent";
    const fe_j2 material = fe_j2_of(p->problem.material);
    row->row = (fe_row){.machine = machine,
                        .backend = "host",
                        .device = row->device,
                        .ranks = 1,
                        .variant = "none",
                        .element = fe_kind_name(p->mesh.kind),
                        .mesh = p->name,
                        .order = "as-is",
                        .plastic = NAN,
                        .plastic_pattern = "",
                        .n_elem = p->mesh.n_elem,
                        .n_dof = 3 * (int64_t)p->mesh.n_node,
                        .error = NAN,
                        .deterministic = -1,
                        .hardening = fe_hardening_names[fe_hardening_of(&material)],
                        .status = "ok"};
}

double whole_work(const whole_problem *p, const double *factor, const double *u)
{
    double work = 0.0;
    int is_loaded = 0;
    for (int k = 0; k < p->boundary.n_path; k++) {
        const double *load = p->boundary.load[k];
        is_loaded |= load && factor[k] != 0.0;
        for (size_t i = 0; load && i < 3 * (size_t)p->mesh.n_node; i++) work += factor[k] * load[i] * u[i];
    }
    return is_loaded ? work : NAN;
}

/* Evaluations in the phase of this name; below 0: they are not counted. */
static int64_t evaluations_of(const whole_row *r)
{
    for (int p = 0; p < FE_N_OWN; p++)
        if (!strcmp(r->row.operation, fe_phase_names[p])) return r->moved.evaluations[p];
    return -1;
}

static void write_moved(FILE *file, const whole_row *r)
{
    const fe_moved *m = &r->moved;
    const int64_t evaluations = evaluations_of(r);
    if (m->setup == 0.0) {
        fputs(",,,,,,,", file);
        return;
    }
    if (evaluations >= 0) fprintf(file, "%lld", (long long)evaluations);
    fprintf(file, ",%.0f,%.0f,%.0f,%lld,%lld,", m->setup, m->back, m->halo, (long long)m->exchanges,
            (long long)m->sums);
    if (r->interface >= 0.0) fprintf(file, "%.6f", r->interface);
    fputc(',', file);
}

static void write_row(FILE *file, const whole_row *r)
{
    fprintf(file, "%s,%s,%s,%d,", r->krylov, r->precondition, r->jacobian, r->anderson);
    if (r->newton_iterations >= 0)
        fprintf(file, "%d,%lld,", r->newton_iterations, (long long)r->krylov_iterations);
    else
        fputs(",,", file);
    write_moved(file, r);
    if (!isnan(r->work)) fprintf(file, "%.12g", r->work);
    fputc(',', file);
    fe_row_write(file, &r->row);
}

void whole_row_write(FILE *file, FILE *sample_file, whole_row *r, const char *operation, int n,
                     const fe_sample *samples)
{
    char before[64];
    double seconds[WHOLE_MOST_REPETITIONS];
    const int ok = !strcmp(r->row.status, "ok");
    if (!ok) n = 0;
    for (int i = 0; i < n; i++) seconds[i] = samples[i].seconds;
    r->row.operation = operation, r->row.calls = 1;
    r->row.seconds = fe_statistics_of(n, seconds);
    fe_row_judge(&r->row, n, samples);
    snprintf(before, sizeof before, "%s,%s,%s,%d,", r->krylov, r->precondition, r->jacobian, r->anderson);
    if (sample_file) fe_row_write_samples(sample_file, before, &r->row, n, samples);
    if (file) write_row(file, r);
    const fe_statistics *s = &r->row.seconds;
    if (ok)
        printf("%-18s %-20s %12.3f %10.3f … %9.3f%s%s\n", r->row.variant, operation, 1e3 * s->median,
               1e3 * s->low, 1e3 * s->high, *fe_row_noise(&r->row) ? "  " : "", fe_row_noise(&r->row));
    else
        fprintf(stderr, "solves: %s: %s: error %.3e\n", r->row.variant, r->row.status, r->row.error);
    fflush(stdout);
}

void whole_row_write_seconds(FILE *file, whole_row *row, const char *operation, int n, const double *seconds)
{
    fe_sample samples[WHOLE_MOST_REPETITIONS];
    for (int i = 0; i < n; i++) samples[i] = fe_sample_unknown(), samples[i].seconds = seconds[i];
    whole_row_write(file, NULL, row, operation, n, samples);
}

double whole_user_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_utime.tv_sec + 1e-6 * (double)u.ru_utime.tv_usec;
}
