/* The end of a run in words; see answer.h. */
#include "bench/answer.h"

#include <stdio.h>
#include <string.h>

enum { MOST_LINES = 20, NAME_WIDTH = 33 };

/* A name from a file, which may hold anything. */
static const char *shown(const char *name)
{
    static char text[FE_NAME_LENGTH + 1];
    snprintf(text, sizeof text, "%s", name);
    return fe_printable(text);
}

static void print_vector(const char *what, const double v[3])
{
    printf("  %-*s %14.6e %14.6e %14.6e\n", NAME_WIDTH, what, v[0], v[1], v[2]);
}

static void print_probes(const fe_result *r, const fe_step_result *s)
{
    const int n = r->boundary->n_probe;
    for (int p = 0; p < n && p < MOST_LINES; p++) {
        char what[FE_NAME_LENGTH + 64];
        snprintf(what, sizeof what, "u of %s", shown(r->problem->probe[p].name));
        print_vector(what, s->probe[p]);
    }
    if (n > MOST_LINES) printf("  ... and %d more probes: --result has all\n", n - MOST_LINES);
}

/* The components of one group in one line; those that are free have a dash. */
static void print_reaction(const fe_result *r, const fe_step_result *s, int first)
{
    const fe_reaction *reaction = r->boundary->reaction;
    char what[FE_NAME_LENGTH + 64];
    snprintf(what, sizeof what, "reaction of %s", shown(reaction[first].group));
    printf("  %-*s", NAME_WIDTH, what);
    for (int i = 0; i < 3; i++) {
        int at = -1;
        for (int k = first; k < r->boundary->n_reaction; k++)
            if (reaction[k].component == i && !strcmp(reaction[k].group, reaction[first].group)) at = k;
        if (at < 0)
            printf(" %14s", "-");
        else
            printf(" %14.6e", s->reaction[at]);
    }
    printf("\n");
}

static void print_reactions(const fe_result *r, const fe_step_result *s)
{
    const fe_reaction *reaction = r->boundary->reaction;
    int n = 0;
    double applied[3];
    for (int k = 0; k < r->boundary->n_reaction; k++) {
        int first = 0; /* reaction of the same group */
        while (strcmp(reaction[first].group, reaction[k].group)) first++;
        if (first == k && n++ < MOST_LINES) print_reaction(r, s, k);
    }
    if (n > MOST_LINES) printf("  ... and %d more groups: --result has all\n", n - MOST_LINES);
    fe_result_applied(r, s, applied);
    print_vector("all reactions", s->total_reaction);
    print_vector("all loads", applied);
}

static void print_state(const fe_result *r, const fe_step_result *s)
{
    printf("after load step %d of %d (", s->step, r->problem->n_step);
    for (int p = 0; p < r->problem->n_path && p < 4; p++)
        printf("%s%s %.6g", p ? ", " : "", shown(r->problem->path[p].name), s->factor[p]);
    printf("%s)", r->problem->n_path > 4 ? ", ..." : "");
    if (r->problem->units) printf(", units %s", shown(r->problem->units));
    printf(":\n  %-*s %14.6e\n", NAME_WIDTH, "largest displacement", s->max_abs_u);
    printf("  %-*s %14.6e\n", NAME_WIDTH, "largest von Mises stress", s->max_mises);
    printf("  %-*s %14.6e\n", NAME_WIDTH, "largest equivalent plastic strain", s->max_peeq);
    if (r->boundary->n_probe || r->boundary->n_reaction)
        printf("  %-*s %14s %14s %14s\n", NAME_WIDTH, "", "x", "y", "z");
    print_probes(r, s);
    print_reactions(r, s);
}

void answer_print(const fe_result *r, double seconds, int moved)
{
    double setup = 0.0, solve = 0.0;
    long long newton = 0, krylov = 0;
    for (int i = 0; i < FE_N_SETUP; i++) setup += r->setup_seconds[i];
    for (int k = 0; k < r->n_step; k++) {
        newton += r->step[k].newton_iterations, krylov += r->step[k].krylov_iterations;
        solve += r->step[k].wall;
    }
    if (r->n_step) print_state(r, &r->step[r->n_step - 1]);
    if (moved)
        printf(
            "moved: %.3f MB to the device, back %.3f MB in set-up, %.6f MB in the solve, %.3f MB for output; "
            "%.3f MB resident\n",
            1e-6 * (double)r->bytes_to_device, 1e-6 * (double)r->bytes_from_device_setup,
            1e-6 * (double)r->bytes_from_device_solve, 1e-6 * (double)r->bytes_from_device_output,
            1e-6 * (double)r->bytes_resident);
    printf(
        "%s on %s: %lld Newton and %lld Krylov iterations; %.3f s, of which set-up %.3f s, load steps %.3f "
        "s\n",
        r->status, r->device, newton, krylov, seconds, setup, solve);
}
