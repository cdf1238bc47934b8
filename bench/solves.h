/* What the program `solves` is asked for; solves_options.c reads it from the command line. */
#ifndef BENCH_SOLVES_H
#define BENCH_SOLVES_H

#include "bench/whole.h"

enum { SOLVES_N_JACOBIAN = FE_JACOBIAN_ELASTIC + 1 };
extern const char *const solves_jacobian_names[SOLVES_N_JACOBIAN]; /* by FE_JACOBIAN_... */

typedef struct solves_arguments {
    whole_choice choice;
    const char *backend, *rows, *samples, *give_up;
    int jacobian, anderson, newton_iterations; /* iterations at most; 0: as many as `solve` takes */
    int basis, products, precondition, ranks, asked, threads, transport, repetitions, process, parts,
        done; /* asked: --ranks or 0; done: nothing is to be solved */
    double most_error;
    int n_variant, *variant;
} solves_arguments;

/* Into a, which holds the defaults; free a->variant. FE_BAD_INPUT also for what does not go together. */
fe_status solves_parse(int argc, char **argv, solves_arguments *a);

#endif
